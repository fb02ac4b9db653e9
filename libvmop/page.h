// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's page of a counter: its value and its times without a system call. The formulas are those
 * in the comments of struct perf_event_mmap_page (linux/perf_event.h). The kernel updates the page
 * on the CPU that reads it, so a compiler barrier is enough for the sequence lock. Only the counted
 * thread may read it.
 */
#ifndef VMOP_LIBVMOP_PAGE_H
#define VMOP_LIBVMOP_PAGE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libvmop/user-read.h"

/* Enough tries for any switch of tasks; a page that changes for ever is not the kernel's. */
#define VMOP_PAGE_TRIES 1000

struct vmop_page_read {
	uint64_t value, enabled_ns, running_ns;
};

#define vmop_page_barrier() __asm__ volatile("" ::: "memory")
#define vmop_page_load(field) (*(const volatile __typeof__(field) *)&(field))

/* Return the counter's bits as an increment of the page's offset: they have a sign. */
static inline uint64_t vmop_page_extend(uint64_t bits, unsigned width)
{
#ifdef __aarch64__
	/* The machine's shifts take the number modulo 64 by themselves. */
	uint64_t extended, shift = 0 - (uint64_t)width;
	__asm__("lsl %0, %1, %2\n\tasr %0, %0, %2" : "=&r"(extended) : "r"(bits), "r"(shift));
	return extended;
#else
	uint64_t shift = (0 - (uint64_t)width) & 63;
	return (uint64_t)((int64_t)(bits << shift) >> shift);
#endif
}

/*
 * Load the lock, and the index after it. One instruction on arm64: the kernel changes the page only
 * in interrupts and switches of this CPU, and an instruction is not interrupted in its middle.
 */
static inline void vmop_page_begin(const struct perf_event_mmap_page *page, uint32_t *ret_lock,
				   uint32_t *ret_index)
{
#ifdef __aarch64__
	_Static_assert(offsetof(struct perf_event_mmap_page, index) ==
			       offsetof(struct perf_event_mmap_page, lock) + 4,
		       "lock and index are a pair");
	__asm__ volatile("ldp %w0, %w1, [%2, %3]"
			 : "=&r"(*ret_lock), "=r"(*ret_index)
			 : "r"(page), "i"(offsetof(struct perf_event_mmap_page, lock))
			 : "memory");
#else
	*ret_lock = vmop_page_load(page->lock);
	vmop_page_barrier();
	*ret_index = vmop_page_load(page->index);
#endif
}

enum vmop_page_result {
	VMOP_PAGE_READ,
	VMOP_PAGE_NOT_NOW, /* the event is not on a counter */
	VMOP_PAGE_CHANGED, /* the kernel changed the page meanwhile */
	VMOP_PAGE_REFUSED, /* the kernel forbids it */
};

/*
 * Try once to read the value. Only after VMOP_PAGE_READ *ret has changed; otherwise read(2) has the
 * value.
 */
static inline enum vmop_page_result vmop_page_try(const struct perf_event_mmap_page *page,
						  uint64_t *ret)
{
	uint32_t lock, index;
	vmop_page_begin(page, &lock, &index);
	if (!vmop_user_read_has(index))
		return VMOP_PAGE_NOT_NOW;
	struct vmop_user_read bits = vmop_user_read(index);
	uint64_t value = (uint64_t)page->offset + vmop_page_extend(bits.value, page->pmc_width);
	vmop_page_barrier();
	if (!bits.is_read)
		return VMOP_PAGE_REFUSED;
	if (vmop_page_load(page->lock) != lock)
		return VMOP_PAGE_CHANGED;
	*ret = value;
	return VMOP_PAGE_READ;
}

/* Read the value as vmop_page_try() does, and again while the kernel changes the page. */
static inline enum vmop_page_result vmop_page_value(const struct perf_event_mmap_page *page,
						    uint64_t *ret)
{
	enum vmop_page_result result = VMOP_PAGE_CHANGED;
	for (unsigned i = 0; i < VMOP_PAGE_TRIES && result == VMOP_PAGE_CHANGED; i++)
		result = vmop_page_try(page, ret);
	return result;
}

/*
 * Return the nanoseconds since the page was written, at that tick of the time stamp counter. page
 * has cap_user_time. Short counters (cap_user_time_short) wrap at time_mask.
 */
uint64_t vmop_page_since_ns(const struct perf_event_mmap_page *page, uint64_t ticks);

/* Read value and times. VMOP_PAGE_NOT_NOW also where the page has no time (cap_user_time). */
enum vmop_page_result vmop_page_read(const struct perf_event_mmap_page *page,
				     struct vmop_page_read *ret);

#endif
