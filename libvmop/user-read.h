// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instructions that read a hardware counter in user mode: RDPMC, and MRS of PMEVCNTRn_EL0. They
 * fault where the kernel forbids them, which it can do at any time (sysctl kernel.perf_user_access,
 * /sys/bus/event_source/devices/cpu/rdpmc). A handler of that fault makes the function return
 * without a value: the fast way costs nothing for it. The handler finds the instructions in the
 * section "vmop_user_reads": for each place the offsets of the first instruction, of the end, and
 * of the code for a refusal, from themselves.
 */
#ifndef VMOP_LIBVMOP_USER_READ_H
#define VMOP_LIBVMOP_USER_READ_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_user_read {
	uint64_t value;
	uint64_t is_read; /* 0: the instruction was refused; any other number: it was not */
};

#ifdef __aarch64__
/* perf's indexes are 1 to 31 for PMEVCNTR0_EL0 to PMEVCNTR30_EL0, and 32 for PMCCNTR_EL0. */
#define VMOP_USER_READ_INDEXES 32

/* Return whether an instruction reads the counter of that index. 0: the event has no counter. */
static inline bool vmop_user_read_has(uint32_t index)
{
	return index - 1 < VMOP_USER_READ_INDEXES;
}

/*
 * Read a counter: an index that vmop_user_read_has(). The instruction names its register, so there
 * is a table of them, two instructions for each: its address is computed, and stays as the mark of
 * a value. The table is in line, which saves a call and the frame that a call needs.
 */
__attribute__((always_inline)) static inline struct vmop_user_read vmop_user_read(uint32_t index)
{
	struct vmop_user_read bits;
	__asm__ volatile("	adr	%1, 1f\n"
			 "	add	%1, %1, %w2, uxtw #3\n"
			 "	br	%1\n"
			 "1:	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
			 "16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n"
			 "	mrs	%0, pmevcntr\\n\\()_el0\n"
			 "	b	3f\n"
			 "	.endr\n"
			 "	mrs	%0, pmccntr_el0\n"
			 "	b	3f\n"
			 "2:	mov	%0, #0\n"
			 "	mov	%1, #0\n"
			 "3:\n"
			 "	.pushsection vmop_user_reads, \"a\"\n"
			 "	.word	1b - ., 2b - ., 2b - .\n"
			 "	.popsection\n"
			 : "=&r"(bits.value), "=&r"(bits.is_read)
			 : "r"(index - 1)
			 : "memory");
	return bits;
}
#else
static inline bool vmop_user_read_has(uint32_t index)
{
	return index != 0;
}

/* Read a counter: perf's index, from 1. In assembly; both members return in registers. */
struct vmop_user_read vmop_user_read(uint32_t index);
#endif

/* Read the time stamp counter that the page's times refer to. */
static inline uint64_t vmop_user_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
#error "libvmop is for x86-64 and arm64"
#endif
}

/*
 * Install the handler, once in a process, before the first vmop_user_read(). It calls the handler
 * that was there before for faults that are not vmop_user_read()'s. Thread-safe.
 */
void vmop_user_read_prepare(void);

#endif
