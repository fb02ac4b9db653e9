// SPDX-License-Identifier: GPL-2.0-or-later
// A PV domain that only runs. It starts at once, while Linux takes a minute under emulation. It is
// one page, without page tables, interrupts or devices of its own. Xen's loader reads the notes
// (xen/include/public/elfnote.h).
#define BASE 0xffffffff80000000

	.macro note type, kind:vararg
	.balign 4
	.long 4, 2f - 1f, \type
	.asciz "Xen"
1:	\kind
2:	.balign 4
	.endm

	.section .note.Xen, "a", @note
	note 1, .quad _start		// entry
	note 3, .quad BASE		// where its memory begins
	note 4, .quad BASE		// physical addresses in the file are virtual ones
	note 5, .asciz "xen-3.0"	// the interface
	note 6, .asciz "spin"		// its name
	note 8, .asciz "generic"	// how it is loaded
	note 9, .asciz "yes"		// PAE

	.text
	.globl _start
_start:
1:	pause
	jmp 1b
