// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest-virtual addresses: the walk of a guest's page tables.
 *
 * x86-64: 4 and 5 levels, 4 KiB, 2 MiB and 1 GiB pages (Intel SDM volume 3A,
 * 4.5; AMD64 APM volume 2, 5.3).  arm64: page-table-arm64.h.
 *
 * A *view* is an address space for reading: every read goes through the walk,
 * and a read that fails sets view->fault and gives zeros.  So a reader gathers
 * what it wants of a structure and looks at the flag once: what was gathered
 * is used only when it is still clear.
 */
#ifndef VMOP_LIBGUEST_MEMORY_PAGE_TABLE_H
#define VMOP_LIBGUEST_MEMORY_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/budget.h"
#include "libguest/memory/paging.h"

struct vmop_guest_memory;

/* The user space whose root table is at pgd_gpa, beside a kernel's own paging. */
struct vmop_paging vmop_paging_of_user(const struct vmop_paging *kernel, uint64_t pgd_gpa);

#define VMOP_VIEW_TLB 256u

struct vmop_view {
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget *budget; /* steps of the reader's loops; never NULL */
	struct vmop_paging paging;
	bool fault;			  /* a read has failed since it was last cleared */
	uint64_t tlb_page[VMOP_VIEW_TLB]; /* virtual page number + 1; 0: empty */
	uint64_t tlb_gpa[VMOP_VIEW_TLB];
};

void vmop_view_init(struct vmop_view *view, struct vmop_guest_memory *memory,
		    struct vmop_guest_budget *budget, struct vmop_paging paging);
/* Drops the remembered translations (and not the memory's pages). */
void vmop_view_forget(struct vmop_view *view);

/*
 * Translates address.  *ret_left (may be NULL) tells how many bytes from it on
 * lie in the same page, whatever its size.  False: not mapped, and *ret_left
 * is how far nothing is mapped at the least; no flag is set.
 */
bool vmop_view_translate(struct vmop_view *view, uint64_t address, uint64_t *ret_gpa,
			 uint64_t *ret_left);

/* Reads bytes; on failure sets the flag, zeroes buf and returns false. */
bool vmop_view_read(struct vmop_view *view, uint64_t address, void *buf, size_t len_bytes);

/* Little-endian numbers; 0 with the flag set on failure. */
uint64_t vmop_view_u64(struct vmop_view *view, uint64_t address);
uint32_t vmop_view_u32(struct vmop_view *view, uint64_t address);
uint8_t vmop_view_u8(struct vmop_view *view, uint64_t address);

/*
 * A string of at most size - 1 bytes as it is, ended with NUL.  A
 * longer one is cut.  Sets the flag and gives "" when it can't be read.
 */
void vmop_view_string(struct vmop_view *view, uint64_t address, char *ret, size_t size);

/* Reads and clears the flag. */
static inline bool vmop_view_take_fault(struct vmop_view *view)
{
	bool fault = view->fault;
	view->fault = false;
	return fault;
}

/*
 * Whether address is in the half of the address space that is the kernel's.
 * arm64: the byte above bit 55 may be a tag (Arm ARM D8.1.3).
 */
static inline bool vmop_view_is_kernel(const struct vmop_view *view, uint64_t address)
{
	return address >> (view->paging.arch == VMOP_PAGING_ARM64 ? 55 : 63) & 1;
}

#endif
