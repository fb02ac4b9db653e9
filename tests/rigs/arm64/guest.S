/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of kvm-burn's guest, which runs with page tables: EL1 above (TTBR1), EL0 below (TTBR0),
 * the same page mapped at both. Registers, set by the VMM and kept:
 * 	x19 iterations at EL1	x20 at EL0	x21 writes to the device per round
 * 	x22 device's address	x23 address of guest_user at EL0
 */
	.text
	.balign	4096
	.global	guest_code, guest_user, guest_vectors, guest_end
guest_code:
	mov	x0, x19
1:	subs	x0, x0, #1
	b.ne	1b
	mov	x0, x21
2:	str	w0, [x22]
	subs	x0, x0, #1
	b.ne	2b
	msr	elr_el1, x23
	mov	x1, #0x3c0		/* EL0t, all interrupts masked */
	msr	spsr_el1, x1
	eret
	.balign	256
guest_user:
	mov	x0, x20
3:	subs	x0, x0, #1
	b.ne	3b
	svc	#0
	.balign	2048
guest_vectors:
	.fill	256, 4, 0x14000000	/* 0x000-0x3ff: "b ." */
	b	guest_code		/* 0x400: synchronous, from EL0 */
	.balign	128
	.fill	224, 4, 0x14000000
guest_end:
	.section .note.GNU-stack, "", %progbits
