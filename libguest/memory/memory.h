// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's physical memory, read from outside.
 *
 * Callers are kernel/, tasks/ and guest.c. Data meets the files of memory/ in this order:
 *  1. map.c (with qmp.c), file.c or xen.c (with xen-control.c) find where a guest's RAM lies: in a
 *     VMM process, in a saved image, or in a Xen domain.
 *  2. memory.c reads the bytes of RAM by guest-physical address (gpa) through a cache of pages.
 *  3. page-table.c and page-table-arm64.c translate guest-virtual addresses (gva) and read by them.
 *  4. elf-header.c and note.c parse ELF headers and notes out of bytes that were read.
 *
 * RAM consists of one or more *regions* (mappings in the VMM process, or pieces of a file). A
 * *linear* space from 0 to linear_bytes holds them one after another. A *memory placement* puts
 * spans of linear space at guest-physical addresses. QMP and ELF cores give the placement exactly.
 * Otherwise it is guessed: there are several placements, and kernel/find.c tries them and keeps the
 * one that is consistent.
 *
 * A scan works in linear space and skips pages that the guest has never touched
 * (/proc/PID/pagemap, SEEK_DATA). A sparse guest of 64 GiB therefore costs as much as its touched
 * pages. A read of an untouched page returns zeros and allocates nothing.
 *
 * Small reads go through a cache of pages, which shows the guest at one moment.
 * vmop_guest_memory_forget() empties it.
 *
 * The memory of a Xen domain is one region that holds every address. Which frames exist is found
 * only when they are read (xen.h), so the region cannot be scanned.
 *
 * Errors: the out-of-memory error and the errors in its comment, from every function that opens.
 * Thread: one at a time for each vmop_guest_memory.
 *
 * Sources: /proc/PID/mem in proc(5); pagemap in the kernel's
 * Documentation/admin-guide/mm/pagemap.rst.
 */
#ifndef VMOP_LIBGUEST_MEMORY_MEMORY_H
#define VMOP_LIBGUEST_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libguest/budget.h"

struct vmop_error;
struct vmop_guest_memory;
struct vmop_paging;

#define VMOP_GUEST_PAGE_BYTES 4096u
#define VMOP_GUEST_MAX_REGIONS 16u
#define VMOP_GUEST_MAX_PLACEMENTS 16u
#define VMOP_GUEST_NO_ADDRESS UINT64_MAX

/*
 * Open the RAM of a VMM process, or a saved image, as vmop_guest_open_pid() and
 * vmop_guest_open_file() in guest.h. The caller closes *ret.
 */
struct vmop_error *vmop_guest_memory_open_pid(pid_t pid, const char *qmp_socket,
					      struct vmop_guest_memory **ret);
struct vmop_error *vmop_guest_memory_open_file(const char *path, struct vmop_guest_memory **ret);

/*
 * Open RAM in the caller's own memory at gpa 0, for tests and fuzzing. data must outlive *ret.
 * Changes of the caller to it become visible after _forget().
 */
struct vmop_error *vmop_guest_memory_open_buffer(const void *data, size_t len_bytes,
						 struct vmop_guest_memory **ret);
/* Open the memory of a Xen domain, as vmop_guest_open_xen() in guest.h. The caller closes *ret. */
struct vmop_error *vmop_guest_memory_open_xen(uint32_t domid, struct vmop_guest_memory **ret);
void vmop_guest_memory_close(struct vmop_guest_memory *memory); /* NULL is allowed */

/* Return the size of linear space in bytes. */
uint64_t vmop_guest_memory_linear_bytes(const struct vmop_guest_memory *memory);
/* Return the bytes that the selected memory placement places at an address, or a Xen domain's RAM.
 */
uint64_t vmop_guest_memory_ram_bytes(const struct vmop_guest_memory *memory);
/*
 * Set *ret_start and *ret_end to the first address that the selected memory placement places RAM
 * at, and to the address behind the last. Return false for a Xen domain.
 */
bool vmop_guest_memory_range(const struct vmop_guest_memory *memory, uint64_t *ret_start,
			     uint64_t *ret_end);
/* Return the number of bytes read from the guest since it was opened. */
uint64_t vmop_guest_memory_read_bytes(const struct vmop_guest_memory *memory);

/*
 * Write the page tables that the guest's CPUs use now to ret, at most max of them, where they can
 * be queried (Xen). Return their number; 0: unknown.
 */
size_t vmop_guest_memory_roots(struct vmop_guest_memory *memory, struct vmop_paging *ret,
			       size_t max);
/* Return false when next_touched() finds nothing although there is RAM. */
bool vmop_guest_memory_can_scan(const struct vmop_guest_memory *memory);
/*
 * Return true when addresses are machine addresses, not the guest's own (Xen PV). Neighbouring
 * frames of the guest then lie anywhere, and a frame number in the guest's data is not an address
 * here.
 */
bool vmop_guest_memory_is_scattered(const struct vmop_guest_memory *memory);

/* Charge further reads to a budget, which must outlive them. NULL: charge nothing. */
void vmop_guest_memory_set_budget(struct vmop_guest_memory *memory,
				  struct vmop_guest_budget *budget);

/* Return the number of memory placements. */
size_t vmop_guest_memory_placements(const struct vmop_guest_memory *memory);
/* Select a memory placement (index < placements) and empty the cache. */
void vmop_guest_memory_select_placement(struct vmop_guest_memory *memory, size_t index);

/* Return the index of the selected memory placement. */
size_t vmop_guest_memory_placement(const struct vmop_guest_memory *memory);

/*
 * Select a memory placement that has the byte at offset linear at address gpa, for a guest whose
 * RAM can begin above 0. Where placements are guessed and none fits, add one that has the region of
 * that byte in one piece. Return false when no placement can fit. Empties the cache.
 */
bool vmop_guest_memory_place(struct vmop_guest_memory *memory, uint64_t linear, uint64_t gpa);

/* Empty the cache: later reads see the guest as it is then. */
void vmop_guest_memory_forget(struct vmop_guest_memory *memory);

/*
 * Read len_bytes at gpa. Return false, with buf undefined, when one of the bytes is not RAM, the
 * VMM is gone, or the budget is exhausted.
 */
bool vmop_guest_memory_read(struct vmop_guest_memory *memory, uint64_t gpa, void *buf,
			    size_t len_bytes);

/*
 * Copy n whole pages of scattered memory into buf, one after another. Each gpa may be any address
 * in its page. Absent pages become zeros. Return false when the budget is exhausted.
 */
bool vmop_guest_memory_gather(struct vmop_guest_memory *memory, const uint64_t *gpa, size_t n,
			      uint8_t *buf);

/*
 * Return the 4 KiB page that contains gpa, from the cache. It is valid until the next call on
 * memory. NULL: for the reasons that make vmop_guest_memory_read() return false.
 */
const uint8_t *vmop_guest_memory_page(struct vmop_guest_memory *memory, uint64_t gpa);

/*
 * Convert between linear offsets and gpa in the selected memory placement. VMOP_GUEST_NO_ADDRESS:
 * not RAM.
 */
uint64_t vmop_guest_memory_to_gpa(const struct vmop_guest_memory *memory, uint64_t linear);
uint64_t vmop_guest_memory_to_linear(const struct vmop_guest_memory *memory, uint64_t gpa);

/*
 * Find the first span at or after *linear that the guest has touched. It is at most max_bytes long
 * and lies within one region. Return false when there is no such span.
 */
bool vmop_guest_memory_next_touched(struct vmop_guest_memory *memory, uint64_t *linear,
				    uint64_t max_bytes, uint64_t *ret_len_bytes);
/* Read by linear offset, without the cache. Return false as vmop_guest_memory_read(). */
bool vmop_guest_memory_read_linear(struct vmop_guest_memory *memory, uint64_t linear, void *buf,
				   size_t len_bytes);

#endif
