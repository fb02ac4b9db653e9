// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libguest/memory/internal.h"
#include "libguest/memory/xen.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define CACHE_PAGES 1024u     /* 4 MiB: a snapshot of some hundred processes */
#define PAGEMAP_ENTRIES 8192u /* 64 KiB of pagemap cover 32 MiB of 4 KiB pages */
/* /proc/PID/pagemap: present or swapped out (kernel: Documentation/admin-guide/mm/pagemap.rst) */
#define PAGEMAP_TOUCHED (UINT64_C(3) << 62)
#define XEN_BYTES (UINT64_C(1) << 52) /* of physical addresses on x86-64 */

struct vmop_guest_memory {
	int mem_fd, pagemap_fd;
	struct vmop_guest_xen *xen; /* NULL: not a Xen domain */
	struct vmop_guest_map map;
	const struct vmop_guest_placement *placement;
	uint64_t linear_bytes, read_bytes;
	struct vmop_guest_budget *budget;
	uint8_t *cache;
	/*
	 * The gpa of each page, with the age of the cache in the low bits: a page of another age
	 * counts as empty. So all pages are forgotten at no cost, as often as threads are read.
	 */
	uint64_t cache_gpa[CACHE_PAGES]; /* NO_ADDRESS: empty */
	uint64_t cache_age;		 /* below PAGE - 1 */
	uint64_t host_page_bytes; /* unit of pagemap; the guest's pages may be smaller or larger */
	uint64_t *pagemap;
	uint64_t pagemap_first, pagemap_count; /* host page numbers of the entries in pagemap */
};

static struct vmop_error *memory_new(struct vmop_guest_memory **ret)
{
	struct vmop_guest_memory *memory = calloc(1, sizeof(*memory));
	if (!memory)
		return &vmop_error_no_memory;
	memory->mem_fd = memory->pagemap_fd = -1;
	memset(memory->cache_gpa, UINT8_MAX, sizeof(memory->cache_gpa));
	memory->host_page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	memory->cache = malloc(CACHE_PAGES * PAGE);
	memory->pagemap = malloc(PAGEMAP_ENTRIES * sizeof(*memory->pagemap));
	*ret = memory;
	return memory->cache && memory->pagemap ? NULL : &vmop_error_no_memory;
}

static void memory_cleanup(struct vmop_guest_memory **memory)
{
	vmop_guest_memory_close(*memory);
}

/* Set up the linear space and the first memory placement, once map is filled. */
static void memory_ready(struct vmop_guest_memory *memory)
{
	memory->linear_bytes = 0;
	for (unsigned int i = 0; i < memory->map.regions; i++)
		memory->linear_bytes += memory->map.region[i].len_bytes;
	vmop_guest_memory_select_placement(memory, 0);
}

struct vmop_error *vmop_guest_memory_open_pid(pid_t pid, const char *qmp_socket,
					      struct vmop_guest_memory **ret)
{
	_cleanup_(memory_cleanup) struct vmop_guest_memory *memory = NULL;
	struct vmop_error *err = memory_new(&memory);
	if (err)
		return err;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (memory->mem_fd < 0)
		return vmop_error_os(errno, "%s", path);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	memory->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (memory->pagemap_fd < 0)
		return vmop_error_os(errno, "%s", path);
	err = vmop_guest_map_of_process(pid, qmp_socket, &memory->map);
	if (err)
		return err;
	memory_ready(memory);
	*ret = vmop_steal(&memory);
	return NULL;
}

struct vmop_error *vmop_guest_memory_open_file(const char *path, struct vmop_guest_memory **ret)
{
	_cleanup_(memory_cleanup) struct vmop_guest_memory *memory = NULL;
	struct vmop_error *err = memory_new(&memory);
	if (err)
		return err;
	err = vmop_guest_map_of_file(path, &memory->map);
	if (err)
		return err;
	memory_ready(memory);
	*ret = vmop_steal(&memory);
	return NULL;
}

struct vmop_error *vmop_guest_memory_open_buffer(const void *data, size_t len_bytes,
						 struct vmop_guest_memory **ret)
{
	_cleanup_(memory_cleanup) struct vmop_guest_memory *memory = NULL;
	struct vmop_error *err = memory_new(&memory);
	if (err)
		return err;
	uint64_t len = len_bytes & ~(PAGE - 1);
	memory->map.regions = 1;
	memory->map.region[0] = (struct vmop_guest_region){
		.kind = VMOP_GUEST_REGION_BUFFER, .fd = -1, .data = data, .len_bytes = len};
	memory->map.placements = 1;
	memory->map.placement[0] = (struct vmop_guest_placement){
		.spans = 1, .span = {{.gpa = 0, .linear = 0, .len_bytes = len}}};
	memory_ready(memory);
	*ret = vmop_steal(&memory);
	return NULL;
}

struct vmop_error *vmop_guest_memory_open_xen(uint32_t domid, struct vmop_guest_memory **ret)
{
	_cleanup_(memory_cleanup) struct vmop_guest_memory *memory = NULL;
	struct vmop_error *err = memory_new(&memory);
	if (!err)
		err = vmop_guest_xen_open(domid, &memory->xen);
	if (err)
		return err;
	memory->map.regions = memory->map.placements = 1;
	memory->map.region[0] = (struct vmop_guest_region){
		.kind = VMOP_GUEST_REGION_XEN, .fd = -1, .len_bytes = XEN_BYTES};
	memory->map.placement[0] =
		(struct vmop_guest_placement){.spans = 1, .span = {{.len_bytes = XEN_BYTES}}};
	memory_ready(memory);
	*ret = vmop_steal(&memory);
	return NULL;
}

void vmop_guest_memory_close(struct vmop_guest_memory *memory)
{
	if (!memory)
		return;
	for (unsigned int i = 0; i < memory->map.regions; i++)
		if (memory->map.region[i].kind == VMOP_GUEST_REGION_FILE)
			vmop_cleanup_close(&memory->map.region[i].fd);
	vmop_guest_xen_close(memory->xen);
	vmop_cleanup_close(&memory->mem_fd);
	vmop_cleanup_close(&memory->pagemap_fd);
	free(memory->cache);
	free(memory->pagemap);
	free(memory);
}

uint64_t vmop_guest_memory_linear_bytes(const struct vmop_guest_memory *memory)
{
	return memory->linear_bytes;
}

uint64_t vmop_guest_memory_ram_bytes(const struct vmop_guest_memory *memory)
{
	uint64_t bytes = 0;
	if (memory->xen)
		return vmop_guest_xen_ram_bytes(memory->xen);
	for (unsigned int i = 0; i < memory->placement->spans; i++)
		bytes += memory->placement->span[i].len_bytes;
	return bytes;
}

bool vmop_guest_memory_range(const struct vmop_guest_memory *memory, uint64_t *ret_start,
			     uint64_t *ret_end)
{
	const struct vmop_guest_placement *placement = memory->placement;
	if (memory->xen || !placement->spans)
		return false;
	*ret_start = UINT64_MAX;
	*ret_end = 0;
	for (unsigned int i = 0; i < placement->spans; i++) {
		const struct vmop_guest_span *span = &placement->span[i];
		if (span->gpa < *ret_start)
			*ret_start = span->gpa;
		if (span->gpa + span->len_bytes > *ret_end)
			*ret_end = span->gpa + span->len_bytes;
	}
	return *ret_start < *ret_end;
}

uint64_t vmop_guest_memory_read_bytes(const struct vmop_guest_memory *memory)
{
	return memory->read_bytes;
}

size_t vmop_guest_memory_roots(struct vmop_guest_memory *memory, struct vmop_paging *ret,
			       size_t max)
{
	return memory->xen ? vmop_guest_xen_roots(memory->xen, ret, max) : 0;
}

bool vmop_guest_memory_can_scan(const struct vmop_guest_memory *memory)
{
	return !memory->xen;
}

bool vmop_guest_memory_is_scattered(const struct vmop_guest_memory *memory)
{
	return memory->xen && vmop_guest_xen_is_pv(memory->xen);
}

void vmop_guest_memory_set_budget(struct vmop_guest_memory *memory,
				  struct vmop_guest_budget *budget)
{
	memory->budget = budget;
}

size_t vmop_guest_memory_placements(const struct vmop_guest_memory *memory)
{
	return memory->map.placements;
}

void vmop_guest_memory_select_placement(struct vmop_guest_memory *memory, size_t index)
{
	memory->placement = &memory->map.placement[index];
	vmop_guest_memory_forget(memory);
}

static struct vmop_guest_region *region_of(struct vmop_guest_memory *memory, uint64_t linear)
{
	for (unsigned int i = 0; i < memory->map.regions; i++) {
		struct vmop_guest_region *region = &memory->map.region[i];
		if (linear - region->linear < region->len_bytes)
			return region;
	}
	return NULL;
}

size_t vmop_guest_memory_placement(const struct vmop_guest_memory *memory)
{
	return (size_t)(memory->placement - memory->map.placement);
}

bool vmop_guest_memory_place(struct vmop_guest_memory *memory, uint64_t linear, uint64_t gpa)
{
	for (size_t i = 0; i < memory->map.placements; i++) {
		vmop_guest_memory_select_placement(memory, i);
		if (vmop_guest_memory_to_gpa(memory, linear) == gpa)
			return true;
	}
	const struct vmop_guest_region *region = region_of(memory, linear);
	if (memory->map.is_exact || !region || gpa < linear - region->linear)
		return false;
	uint64_t start = gpa - (linear - region->linear);
	if (start % PAGE || start + region->len_bytes < start)
		return false;
	/* When the table is full, replace its last placement. */
	size_t index = memory->map.placements;
	if (index == VMOP_GUEST_MAX_PLACEMENTS)
		index--;
	else
		memory->map.placements++;
	memory->map.placement[index] = (struct vmop_guest_placement){
		.spans = 1,
		.span = {{.gpa = start, .linear = region->linear, .len_bytes = region->len_bytes}}};
	vmop_guest_memory_select_placement(memory, index);
	return true;
}

void vmop_guest_memory_forget(struct vmop_guest_memory *memory)
{
	memory->cache_age = (memory->cache_age + 1) % (PAGE - 1);
	if (!memory->cache_age)
		memset(memory->cache_gpa, UINT8_MAX, sizeof(memory->cache_gpa));
	memory->pagemap_count = 0;
	if (memory->xen)
		vmop_guest_xen_age(memory->xen);
}

/* --- addresses ------------------------------------------------------------ */

uint64_t vmop_guest_memory_to_gpa(const struct vmop_guest_memory *memory, uint64_t linear)
{
	for (unsigned int i = 0; i < memory->placement->spans; i++) {
		const struct vmop_guest_span *span = &memory->placement->span[i];
		if (linear - span->linear < span->len_bytes)
			return span->gpa + (linear - span->linear);
	}
	return VMOP_GUEST_NO_ADDRESS;
}

/*
 * Return the linear offset of gpa, and set *ret_left to the bytes from there to the end of the
 * span.
 */
static uint64_t to_linear(const struct vmop_guest_memory *memory, uint64_t gpa, uint64_t *ret_left)
{
	for (unsigned int i = 0; i < memory->placement->spans; i++) {
		const struct vmop_guest_span *span = &memory->placement->span[i];
		uint64_t offset = gpa - span->gpa;
		if (offset < span->len_bytes) {
			*ret_left = span->len_bytes - offset;
			return span->linear + offset;
		}
	}
	return VMOP_GUEST_NO_ADDRESS;
}

uint64_t vmop_guest_memory_to_linear(const struct vmop_guest_memory *memory, uint64_t gpa)
{
	uint64_t left;
	return to_linear(memory, gpa, &left);
}

/* --- reading -------------------------------------------------------------- */

/*
 * Read the memory of a VMM process. Untouched pages are never read, because the read would make the
 * kernel map a page there.
 */
static bool read_process(struct vmop_guest_memory *memory, uint64_t hva, uint8_t *buf, size_t len)
{
	uint64_t entries[64], host_page = memory->host_page_bytes;
	while (len) {
		uint64_t first = hva / host_page, last = (hva + len - 1) / host_page;
		size_t count = last - first + 1 < 64 ? last - first + 1 : 64;
		if (vmop_io_pread_full(memory->pagemap_fd, entries, count * 8, first * 8) !=
		    (ssize_t)(count * 8))
			return false;
		for (size_t i = 0; i < count && len;) {
			bool touched = entries[i] & PAGEMAP_TOUCHED;
			size_t run = i + 1;
			while (run < count && !!(entries[run] & PAGEMAP_TOUCHED) == touched)
				run++;
			size_t bytes = (first + run) * host_page - hva;
			if (bytes > len)
				bytes = len;
			if (!touched)
				memset(buf, 0, bytes);
			else if (vmop_io_pread_full(memory->mem_fd, buf, bytes, hva) !=
				 (ssize_t)bytes)
				return false;
			buf += bytes, hva += bytes, len -= bytes;
			i = run;
		}
	}
	return true;
}

static bool read_region(struct vmop_guest_memory *memory, const struct vmop_guest_region *region,
			uint64_t offset, void *buf, size_t len)
{
	if (memory->budget && !vmop_guest_budget_bytes(memory->budget, len))
		return false;
	memory->read_bytes += len;
	switch (region->kind) {
	case VMOP_GUEST_REGION_BUFFER:
		memcpy(buf, region->data + offset, len);
		return true;
	case VMOP_GUEST_REGION_FILE:
		return vmop_io_pread_full(region->fd, buf, len, region->host_start + offset) ==
		       (ssize_t)len;
	case VMOP_GUEST_REGION_PROCESS:
		return read_process(memory, region->host_start + offset, buf, len);
	case VMOP_GUEST_REGION_XEN:
		return vmop_guest_xen_read(memory->xen, offset, buf, len);
	}
	return false;
}

bool vmop_guest_memory_read_linear(struct vmop_guest_memory *memory, uint64_t linear, void *buf,
				   size_t len_bytes)
{
	uint8_t *out = buf;
	while (len_bytes) {
		const struct vmop_guest_region *region = region_of(memory, linear);
		if (!region)
			return false;
		uint64_t offset = linear - region->linear;
		size_t chunk = len_bytes < region->len_bytes - offset ? len_bytes
								      : region->len_bytes - offset;
		if (!read_region(memory, region, offset, out, chunk))
			return false;
		out += chunk, linear += chunk, len_bytes -= chunk;
	}
	return true;
}

const uint8_t *vmop_guest_memory_page(struct vmop_guest_memory *memory, uint64_t gpa)
{
	gpa &= ~(PAGE - 1);
	unsigned int slot = (gpa / PAGE) % CACHE_PAGES;
	uint8_t *page = memory->cache + slot * PAGE;
	if (memory->cache_gpa[slot] == (gpa | memory->cache_age))
		return page;
	uint64_t left;
	uint64_t linear = to_linear(memory, gpa, &left);
	if (linear == VMOP_GUEST_NO_ADDRESS || left < PAGE)
		return NULL;
	const struct vmop_guest_region *region = region_of(memory, linear);
	if (region && region->kind == VMOP_GUEST_REGION_BUFFER) {
		memory->read_bytes += PAGE;
		return region->data + (linear - region->linear);
	}
	memory->cache_gpa[slot] = VMOP_GUEST_NO_ADDRESS;
	if (!vmop_guest_memory_read_linear(memory, linear, page, PAGE))
		return NULL;
	memory->cache_gpa[slot] = gpa | memory->cache_age;
	return page;
}

bool vmop_guest_memory_gather(struct vmop_guest_memory *memory, const uint64_t *gpa, size_t n,
			      uint8_t *buf)
{
	if (memory->budget && !vmop_guest_budget_bytes(memory->budget, n * PAGE))
		return false;
	memory->read_bytes += n * PAGE;
	for (size_t done = 0; done < n;) {
		size_t some = n - done < VMOP_GUEST_XEN_GATHER ? n - done : VMOP_GUEST_XEN_GATHER;
		vmop_guest_xen_gather(memory->xen, gpa + done, some, buf + done * PAGE);
		done += some;
	}
	return true;
}

bool vmop_guest_memory_read(struct vmop_guest_memory *memory, uint64_t gpa, void *buf,
			    size_t len_bytes)
{
	uint8_t *out = buf;
	while (len_bytes) {
		size_t chunk = PAGE - gpa % PAGE;
		if (chunk == PAGE && len_bytes > PAGE) {
			uint64_t left;
			uint64_t linear = to_linear(memory, gpa, &left);
			if (linear == VMOP_GUEST_NO_ADDRESS)
				return false;
			chunk = len_bytes < left ? len_bytes : left;
			if (!vmop_guest_memory_read_linear(memory, linear, out, chunk))
				return false;
		} else {
			const uint8_t *page = vmop_guest_memory_page(memory, gpa);
			if (!page)
				return false;
			if (chunk > len_bytes)
				chunk = len_bytes;
			memcpy(out, page + gpa % PAGE, chunk);
		}
		out += chunk, gpa += chunk, len_bytes -= chunk;
	}
	return true;
}

/* --- what the guest has touched ------------------------------------------- */

/* Return whether a host page is touched. An unknown page counts as touched. */
static bool pagemap_touched(struct vmop_guest_memory *memory, uint64_t page)
{
	if (page - memory->pagemap_first >= memory->pagemap_count) {
		ssize_t got = vmop_io_pread_full(memory->pagemap_fd, memory->pagemap,
						 PAGEMAP_ENTRIES * 8, page * 8);
		if (got < 8)
			return true;
		memory->pagemap_first = page;
		memory->pagemap_count = (uint64_t)got / 8;
	}
	return memory->pagemap[page - memory->pagemap_first] & PAGEMAP_TOUCHED;
}

/* Narrow [*start, *end) of a process region to its first touched run. */
static bool process_touched(struct vmop_guest_memory *memory,
			    const struct vmop_guest_region *region, uint64_t *start, uint64_t *end)
{
	uint64_t host_page = memory->host_page_bytes, base = region->host_start;
	uint64_t page = (base + *start) / host_page;
	uint64_t last = (base + *end + host_page - 1) / host_page;
	while (page < last && !pagemap_touched(memory, page))
		page++;
	if (page >= last)
		return false;
	if (page * host_page > base + *start)
		*start = page * host_page - base;
	while (page < last && pagemap_touched(memory, page))
		page++;
	if (page * host_page < base + *end)
		*end = page * host_page - base;
	return true;
}

static bool file_touched(const struct vmop_guest_region *region, uint64_t *start, uint64_t *end)
{
	off_t data = lseek(region->fd, (off_t)(region->host_start + *start), SEEK_DATA);
	if (data < 0)
		return errno != ENXIO; /* a file system without SEEK_DATA: all data */
	uint64_t first = ((uint64_t)data - region->host_start) & ~(PAGE - 1);
	if (first >= *end)
		return false;
	if (first > *start)
		*start = first;
	off_t hole = lseek(region->fd, (off_t)(region->host_start + *start), SEEK_HOLE);
	if (hole > 0) {
		uint64_t last = ((uint64_t)hole - region->host_start + PAGE - 1) & ~(PAGE - 1);
		if (last < *end && last > *start)
			*end = last;
	}
	return true;
}

bool vmop_guest_memory_next_touched(struct vmop_guest_memory *memory, uint64_t *linear,
				    uint64_t max_bytes, uint64_t *ret_len_bytes)
{
	for (unsigned int i = 0; i < memory->map.regions; i++) {
		const struct vmop_guest_region *region = &memory->map.region[i];
		if (*linear >= region->linear + region->len_bytes)
			continue;
		uint64_t start = *linear > region->linear ? *linear - region->linear : 0;
		uint64_t end = region->len_bytes;
		bool touched = true;
		if (region->kind == VMOP_GUEST_REGION_PROCESS)
			touched = process_touched(memory, region, &start, &end);
		else if (region->kind == VMOP_GUEST_REGION_FILE)
			touched = file_touched(region, &start, &end);
		else if (region->kind == VMOP_GUEST_REGION_XEN)
			touched = false;
		if (!touched)
			continue;
		*linear = region->linear + start;
		*ret_len_bytes = end - start < max_bytes ? end - start : max_bytes;
		return true;
	}
	return false;
}
