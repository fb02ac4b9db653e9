// SPDX-License-Identifier: GPL-2.0-or-later
// A guest that only runs, without interrupts: it is up in seconds, while Linux takes a minute under
// emulation. QEMU's PVH loader reads the note (Xen: public/elfnote.h, XEN_ELFNOTE_PHYS32_ENTRY).
	.section .note.Xen, "a", @note
	.balign 4
	.long 4, 4, 18
	.asciz "Xen"
	.long _start

	.text
	.code32
	.globl _start
_start:
1:	pause
	jmp 1b
