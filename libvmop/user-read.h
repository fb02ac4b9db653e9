// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instructions that read a hardware counter in user mode: RDPMC, and MRS of PMEVCNTRn_EL0. They
 * fault where the kernel forbids them, which it can do at any time (sysctl kernel.perf_user_access,
 * /sys/bus/event_source/devices/cpu/rdpmc). A handler of that fault makes the function return
 * without a value: the fast way costs nothing for it.
 */
#ifndef VMOP_LIBVMOP_USER_READ_H
#define VMOP_LIBVMOP_USER_READ_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_user_read {
	uint64_t value;
	uint64_t is_read; /* 0: the instruction was refused */
};

/*
 * Read a counter: perf's index, from 1. In assembly, because the handler continues at a label in
 * it. The two members return in two registers on both machines.
 */
#ifdef __aarch64__
static inline struct vmop_user_read vmop_user_read(uint32_t index)
{
	/* A call that changes no argument's register, so that its caller saves none. */
	register uint64_t value __asm__("x8");
	register uint32_t is_read __asm__("w9") = index;
	__asm__ volatile("bl vmop_user_read_code"
			 : "=r"(value), "+r"(is_read)
			 :
			 : "x16", "x30", "memory");
	return (struct vmop_user_read){value, is_read};
}
#else
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
