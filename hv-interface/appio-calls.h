// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The system calls of application I/O: their numbers in each ABI, and where their arguments are.
 * The numbers are those of the kernel's tables: arch/x86/entry/syscalls/syscall_{64,32}.tbl,
 * scripts/syscall.tbl (arm64) and arch/arm/tools/syscall.tbl.
 */
#ifndef VMOP_HV_INTERFACE_APPIO_CALLS_H
#define VMOP_HV_INTERFACE_APPIO_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define VMOP_APPIO_MAX_CALLS 64	   /* ids are below it; 0 is no call */
#define VMOP_APPIO_MAX_NUMBERS 512 /* numbers of system calls are below it */
#define VMOP_APPIO_MAX_SOCKETCALLS 21

enum vmop_appio_class {
	VMOP_APPIO_NONE,
	VMOP_APPIO_READ,
	VMOP_APPIO_WRITE,
	VMOP_APPIO_COPY, /* from one descriptor to another: a read and a write */
	VMOP_APPIO_PIPE, /* vmsplice(2): the pipe's end decides */
	VMOP_APPIO_SEEK,
	VMOP_APPIO_SELECT,
	VMOP_APPIO_OPEN,
	VMOP_APPIO_CLOSE,
	VMOP_APPIO_URING,    /* io_uring_enter(2) */
	VMOP_APPIO_RESTART,  /* restart_syscall(2) */
	VMOP_APPIO_SOCKETS,  /* socketcall(2) of i386 */
	VMOP_APPIO_COMPLETE, /* no system call: a request that io_uring completed */
};

/* Where a call's descriptors and its wanted size are, by the arguments' indices from 0. */
enum vmop_appio_form {
	VMOP_APPIO_NO_SIZE,
	VMOP_APPIO_SIZE,     /* descriptor 0, size 2 */
	VMOP_APPIO_VECTOR,   /* descriptor 0, vector 1, its length 2 */
	VMOP_APPIO_MESSAGE,  /* descriptor 0, message 1 */
	VMOP_APPIO_MESSAGES, /* descriptor 0, messages 1, their number 2; returns their number */
	VMOP_APPIO_SENDFILE, /* out 0, in 1, size 3 */
	VMOP_APPIO_SPLICE,   /* in 0, out 2, size 4 */
	VMOP_APPIO_TEE,	     /* in 0, out 1, size 2 */
};

enum vmop_appio_abi { VMOP_APPIO_X86_64, VMOP_APPIO_I386, VMOP_APPIO_ARM64, VMOP_APPIO_ARM };
#define VMOP_APPIO_N_ABIS (VMOP_APPIO_ARM + 1)

struct vmop_appio_call {
	const char *name;
	uint8_t class, form;		    /* enum vmop_appio_class, enum vmop_appio_form */
	int16_t numbers[VMOP_APPIO_N_ABIS]; /* -1: the ABI does not have it */
};

/* Return the call with an id from 1 on, or NULL past the last one. */
const struct vmop_appio_call *vmop_appio_call(unsigned id);

/* Return the id of a call by its name, or 0. */
unsigned vmop_appio_call_id(const char *name);

/* Set ret[n] to the id of the call with number n in an ABI; 0: not one of I/O. */
void vmop_appio_calls_of_abi(enum vmop_appio_abi abi, uint8_t ret[VMOP_APPIO_MAX_NUMBERS]);

/* Set ret[n] to the id of the call that socketcall(2) makes for n (linux/net.h). */
void vmop_appio_socketcalls(uint8_t ret[VMOP_APPIO_MAX_SOCKETCALLS]);

#endif
