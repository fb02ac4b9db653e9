// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's physical memory, read from outside.
 *
 * RAM is one or more *regions* (host mappings of a VMM process, or a file),
 * kept one after another in a *linear* space from 0 to linear_bytes.  A *layout*
 * places linear spans at guest-physical addresses (gpa).  Where the spans lie
 * is known exactly (QMP), or guessed: then there are several layouts, and the
 * finder of the kernel tries them and keeps the one that holds together.
 *
 * Scanning works in linear space and skips what the guest never touched
 * (/proc/PID/pagemap, SEEK_DATA), so a sparse 64 GiB costs what it holds.
 * Reading an untouched page gives zeros and allocates nothing.
 *
 * Small reads go through a cache of pages: a moment of the guest.  Call
 * vmop_guest_memory_forget() to look at it anew.
 *
 * A Xen domain's memory is one region that holds every address; which frames there are is seen
 * when they are read (xen.h), and it can't be scanned.
 *
 * Host side: /proc/PID/mem, proc(5); pagemap: Documentation/admin-guide/mm/pagemap.rst.
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
#define VMOP_GUEST_MAX_LAYOUTS 16u
#define VMOP_GUEST_NO_ADDRESS UINT64_MAX

/* As vmop_guest_open_pid() and vmop_guest_open_file() in guest.h. */
struct vmop_error *vmop_guest_memory_open_pid(pid_t pid, const char *qmp_socket,
					      struct vmop_guest_memory **ret);
struct vmop_error *vmop_guest_memory_open_file(const char *path, struct vmop_guest_memory **ret);

/*
 * RAM in the caller's own memory at gpa 0, for tests and fuzzing.  data must
 * outlive it; what the caller changes in it is seen after _forget().
 */
struct vmop_error *vmop_guest_memory_open_buffer(const void *data, size_t len_bytes,
						 struct vmop_guest_memory **ret);
/* As vmop_guest_open_xen() in guest.h. */
struct vmop_error *vmop_guest_memory_open_xen(uint32_t domid, struct vmop_guest_memory **ret);
void vmop_guest_memory_close(struct vmop_guest_memory *memory);

uint64_t vmop_guest_memory_linear_bytes(const struct vmop_guest_memory *memory);
/* RAM in the layout in use: what of the linear space it places somewhere. */
uint64_t vmop_guest_memory_ram_bytes(const struct vmop_guest_memory *memory);
/* Bytes read from the guest so far. */
uint64_t vmop_guest_memory_read_bytes(const struct vmop_guest_memory *memory);

/*
 * Page tables that the guest's CPUs run on now, where that can be asked; up to max.
 * Returns how many; 0 says nothing.
 */
size_t vmop_guest_memory_roots(struct vmop_guest_memory *memory, struct vmop_paging *ret,
			       size_t max);
/* False: next_touched finds nothing, though there is something. */
bool vmop_guest_memory_can_scan(const struct vmop_guest_memory *memory);
/*
 * Addresses are the machine's and not the guest's own: what the guest takes for neighbouring
 * frames is anywhere, and a frame number that it keeps is no address here (Xen PV).
 */
bool vmop_guest_memory_is_scattered(const struct vmop_guest_memory *memory);

/* What further reads are charged to; NULL: nothing. The budget must outlive its use. */
void vmop_guest_memory_set_budget(struct vmop_guest_memory *memory,
				  struct vmop_guest_budget *budget);

size_t vmop_guest_memory_layouts(const struct vmop_guest_memory *memory);
/* index < layouts; forgets cached pages. */
void vmop_guest_memory_select_layout(struct vmop_guest_memory *memory, size_t index);

/* The number of the layout in use. */
size_t vmop_guest_memory_layout(const struct vmop_guest_memory *memory);

/*
 * For a guest whose RAM need not begin at 0, once a byte's gpa is known: selects
 * a layout that has linear at gpa.  Where layouts are guessed and none has it so,
 * one is added: the region that linear lies in, in one piece.  False: nothing
 * can be so.  Forgets cached pages.
 */
bool vmop_guest_memory_place(struct vmop_guest_memory *memory, uint64_t linear, uint64_t gpa);

void vmop_guest_memory_forget(struct vmop_guest_memory *memory);

/*
 * Reads len_bytes at gpa.  False, with buf undefined, when a byte of it is not
 * RAM, the VMM is gone, or the budget has run dry.
 */
bool vmop_guest_memory_read(struct vmop_guest_memory *memory, uint64_t gpa, void *buf,
			    size_t len_bytes);

/*
 * For memory that is scattered: copies n whole pages, at any address in each, one behind the other
 * into buf; zeros for those that are not there.  False: the budget has run dry.
 */
bool vmop_guest_memory_gather(struct vmop_guest_memory *memory, const uint64_t *gpa, size_t n,
			      uint8_t *buf);

/*
 * The 4 KiB page at gpa (any address in it), in the cache: valid until the
 * next call on memory.  NULL as above.
 */
const uint8_t *vmop_guest_memory_page(struct vmop_guest_memory *memory, uint64_t gpa);

/* Between linear offsets and gpa in the layout in use; NO_ADDRESS: not RAM. */
uint64_t vmop_guest_memory_to_gpa(const struct vmop_guest_memory *memory, uint64_t linear);
uint64_t vmop_guest_memory_to_linear(const struct vmop_guest_memory *memory, uint64_t gpa);

/*
 * The first span at or after *linear that the guest has touched, at most
 * max_bytes long and within one region.  False: there is none.
 */
bool vmop_guest_memory_next_touched(struct vmop_guest_memory *memory, uint64_t *linear,
				    uint64_t max_bytes, uint64_t *ret_len_bytes);
/* Reads by linear offset, past the cache. */
bool vmop_guest_memory_read_linear(struct vmop_guest_memory *memory, uint64_t linear, void *buf,
				   size_t len_bytes);

#endif
