// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest-virtual addresses: the walk of a guest's page tables, and reads through it.
 *
 * x86-64: 4 and 5 levels; pages of 4 KiB, 2 MiB and 1 GiB (Intel SDM volume 3A, 4.5; AMD64 APM
 * volume 2, 5.3). arm64: see page-table-arm64.h.
 *
 * A *space* is one address space to read from. Every read goes through the walk. A failed read sets
 * space->fault and returns zeros. A reader therefore collects all members that it needs of a
 * structure, checks the flag once, and uses them only when it is clear.
 */
#ifndef VMOP_LIBGUEST_MEMORY_PAGE_TABLE_H
#define VMOP_LIBGUEST_MEMORY_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/budget.h"
#include "libguest/memory/paging.h"

struct vmop_guest_memory;

/*
 * Return the paging of the user space whose root table is at pgd_gpa, in the guest of the given
 * kernel.
 */
struct vmop_paging vmop_paging_of_user(const struct vmop_paging *kernel, uint64_t pgd_gpa);

#define VMOP_GUEST_SPACE_TLB 256u

struct vmop_guest_space {
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget *budget; /* for steps of the reader's loops; never NULL */
	struct vmop_paging paging;
	bool fault;				 /* a read has failed since the flag was cleared */
	uint64_t tlb_page[VMOP_GUEST_SPACE_TLB]; /* virtual page number + 1; 0: empty */
	uint64_t tlb_gpa[VMOP_GUEST_SPACE_TLB];
};

/* Set up a space with an empty cache of translations. memory and budget must outlive it. */
void vmop_guest_space_init(struct vmop_guest_space *space, struct vmop_guest_memory *memory,
			   struct vmop_guest_budget *budget, struct vmop_paging paging);
/* Drop the cached translations. The cached pages of memory are kept. */
void vmop_guest_space_forget(struct vmop_guest_space *space);

/*
 * Translate address to *ret_gpa and return true. Set *ret_left (may be NULL) to the number of bytes
 * from address to the end of its page, whatever the size of the page. Return false when nothing is
 * mapped; *ret_left is then a lower bound of the unmapped bytes, and the fault flag stays as it
 * was.
 */
bool vmop_guest_space_translate(struct vmop_guest_space *space, uint64_t address, uint64_t *ret_gpa,
				uint64_t *ret_left);

/* Read bytes. On failure set the fault flag, fill buf with zeros and return false. */
bool vmop_guest_space_read(struct vmop_guest_space *space, uint64_t address, void *buf,
			   size_t len_bytes);

/* Read a little-endian number. On failure set the fault flag and return 0. */
uint64_t vmop_guest_space_u64(struct vmop_guest_space *space, uint64_t address);
uint32_t vmop_guest_space_u32(struct vmop_guest_space *space, uint64_t address);
uint8_t vmop_guest_space_u8(struct vmop_guest_space *space, uint64_t address);

/*
 * Read a string of at most size - 1 bytes and end it with NUL. A longer one is cut; its bytes are
 * copied unchanged. On failure set the fault flag and return "".
 */
void vmop_guest_space_string(struct vmop_guest_space *space, uint64_t address, char *ret,
			     size_t size);

/* Return and clear the fault flag. */
static inline bool vmop_guest_space_take_fault(struct vmop_guest_space *space)
{
	bool fault = space->fault;
	space->fault = false;
	return fault;
}

/*
 * Return whether address is in the kernel's half of the address space. On arm64 the byte above bit
 * 55 may be a tag (Arm ARM D8.1.3).
 */
static inline bool vmop_guest_space_is_kernel(const struct vmop_guest_space *space,
					      uint64_t address)
{
	return address >> (space->paging.arch == VMOP_PAGING_ARM64 ? 55 : 63) & 1;
}

#endif
