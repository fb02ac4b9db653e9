// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/xen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xenforeignmemory.h>

#include "libguest/memory/memory.h"
#include "libguest/memory/xen-control.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/xen/silence.h"

#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define WINDOW_PAGES 32u /* mapped by one call; one bit per page */
#define WINDOW_BYTES (WINDOW_PAGES * PAGE)
#define WINDOWS 256u /* 32 MiB of address space */
#define WAYS 4u	     /* a walk reads four tables, which must not evict each other */
#define MAX_FRAME ((UINT64_C(1) << 40) - WINDOW_PAGES)
#define MAX_VCPUS 4u /* the vCPUs whose registers are read */

static const uint64_t window_age_ns = 5 * VMOP_NS_PER_S;

/* Neighbouring frames of the domain; some may be absent. */
struct window {
	uint64_t number; /* index of the window: first frame / WINDOW_PAGES */
	uint8_t *base;	 /* NULL: nothing mapped */
	uint32_t present;
	uint64_t mapped_ns, used;
};

struct vmop_guest_xen {
	uint32_t domid;
	struct vmop_guest_xen_control *control;
	xenforeignmemory_handle *memory;
	struct vmop_guest_xen_info info;
	uint64_t uses;
	struct window window[WINDOWS]; /* sets of WAYS */
};

static void xen_cleanup(struct vmop_guest_xen **xen)
{
	vmop_guest_xen_close(*xen);
}

struct vmop_error *vmop_guest_xen_open(uint32_t domid, struct vmop_guest_xen **ret)
{
	_cleanup_(xen_cleanup) struct vmop_guest_xen *xen = calloc(1, sizeof(*xen));
	if (!xen)
		return &vmop_error_no_memory;
	xen->domid = domid;
	struct vmop_error *err = vmop_guest_xen_control_open(&xen->control);
	if (!err)
		err = vmop_guest_xen_control_info(xen->control, domid, &xen->info);
	if (err)
		return err;
	xen->memory = xenforeignmemory_open(vmop_xen_silence(), 0);
	if (!xen->memory)
		return vmop_error_os(errno, "/dev/xen/privcmd");
	/* Linux before 4.11 cannot restrict the handle: Xen's own check remains. */
	if (xenforeignmemory_restrict(xen->memory, (domid_t)domid) < 0 && errno != ENOTTY &&
	    errno != EOPNOTSUPP)
		return vmop_error_os(errno, "Xen domain %u: its memory", domid);
	*ret = vmop_steal(&xen);
	return NULL;
}

static void drop(struct vmop_guest_xen *xen, struct window *window)
{
	if (window->base)
		xenforeignmemory_unmap(xen->memory, window->base, WINDOW_PAGES);
	*window = (struct window){0};
}

void vmop_guest_xen_close(struct vmop_guest_xen *xen)
{
	if (!xen)
		return;
	for (size_t i = 0; i < WINDOWS; i++)
		drop(xen, &xen->window[i]);
	if (xen->memory)
		xenforeignmemory_close(xen->memory);
	vmop_guest_xen_control_close(xen->control);
	free(xen);
}

bool vmop_guest_xen_is_pv(const struct vmop_guest_xen *xen)
{
	return !xen->info.is_hvm;
}

uint64_t vmop_guest_xen_ram_bytes(const struct vmop_guest_xen *xen)
{
	return xen->info.ram_pages * PAGE;
}

static void map(struct vmop_guest_xen *xen, struct window *window, uint64_t number)
{
	xen_pfn_t frames[WINDOW_PAGES];
	int errors[WINDOW_PAGES] = {0};
	for (unsigned int i = 0; i < WINDOW_PAGES; i++)
		frames[i] = number * WINDOW_PAGES + i;
	uint8_t *base = xenforeignmemory_map(xen->memory, xen->domid, PROT_READ, WINDOW_PAGES,
					     frames, errors);
	if (!base)
		return;
	*window = (struct window){
		.number = number, .base = base, .mapped_ns = vmop_clock_ns(CLOCK_MONOTONIC)};
	for (unsigned int i = 0; i < WINDOW_PAGES; i++)
		window->present |= errors[i] ? 0 : UINT32_C(1) << i;
}

/*
 * Return the window with that number when it is mapped. Otherwise unmap the least recently used
 * window of its set and return it, with base NULL.
 */
static struct window *find_window(struct vmop_guest_xen *xen, uint64_t number)
{
	struct window *set = &xen->window[number % (WINDOWS / WAYS) * WAYS], *oldest = set;
	for (unsigned int i = 0; i < WAYS; i++) {
		if (set[i].base && set[i].number == number)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	drop(xen, oldest);
	return oldest;
}

/* Return the mapped frame that contains address, or NULL when the domain has none there. */
static const uint8_t *frame_at(struct vmop_guest_xen *xen, uint64_t address)
{
	uint64_t frame = address / PAGE, number = frame / WINDOW_PAGES;
	if (frame > MAX_FRAME)
		return NULL;
	struct window *window = find_window(xen, number);
	if (!window->base)
		map(xen, window, number);
	window->used = ++xen->uses;
	unsigned int index = frame % WINDOW_PAGES;
	return window->present >> index & 1 ? window->base + index * PAGE : NULL;
}

bool vmop_guest_xen_read(struct vmop_guest_xen *xen, uint64_t address, void *buf, size_t len_bytes)
{
	uint8_t *out = buf;
	while (len_bytes) {
		size_t chunk = PAGE - address % PAGE;
		if (chunk > len_bytes)
			chunk = len_bytes;
		const uint8_t *frame = frame_at(xen, address);
		if (!frame)
			return false;
		memcpy(out, frame + address % PAGE, chunk);
		out += chunk, address += chunk, len_bytes -= chunk;
	}
	return true;
}

void vmop_guest_xen_gather(struct vmop_guest_xen *xen, const uint64_t *address, size_t n,
			   uint8_t *buf)
{
	xen_pfn_t frames[VMOP_GUEST_XEN_GATHER];
	int errors[VMOP_GUEST_XEN_GATHER] = {0};
	memset(buf, 0, n * PAGE);
	if (!n || n > VMOP_GUEST_XEN_GATHER)
		return;
	for (size_t i = 0; i < n; i++)
		frames[i] = address[i] / PAGE <= MAX_FRAME ? address[i] / PAGE : MAX_FRAME;
	uint8_t *base = xenforeignmemory_map(xen->memory, xen->domid, PROT_READ, n, frames, errors);
	if (!base)
		return;
	for (size_t i = 0; i < n; i++)
		if (!errors[i] && address[i] / PAGE <= MAX_FRAME)
			memcpy(buf + i * PAGE, base + i * PAGE, PAGE);
	xenforeignmemory_unmap(xen->memory, base, n);
}

void vmop_guest_xen_age(struct vmop_guest_xen *xen)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < WINDOWS; i++)
		if (xen->window[i].base && now_ns - xen->window[i].mapped_ns > window_age_ns)
			drop(xen, &xen->window[i]);
}

size_t vmop_guest_xen_roots(struct vmop_guest_xen *xen, struct vmop_paging *ret, size_t max)
{
	const uint64_t address_bits = UINT64_C(0x000ffffffffff000), kpti_user_bit = 0x1000;
	uint32_t vcpus = xen->info.max_vcpu_id + 1;
	size_t n = 0;
	for (uint32_t i = 0; i < vcpus && i < MAX_VCPUS && n < max; i++) {
		struct vmop_guest_xen_registers registers;
		if (!vmop_guest_xen_control_registers(xen->control, xen->domid, i, &registers))
			continue;
		uint64_t root = registers.cr3 & address_bits;
		unsigned int levels = registers.has_5_levels ? 5 : 4;
		ret[n++] = (struct vmop_paging){
			.arch = VMOP_PAGING_X86_64, .levels = levels, .root_gpa = root};
		if (xen->info.is_hvm && root & kpti_user_bit && n < max)
			ret[n++] = (struct vmop_paging){.arch = VMOP_PAGING_X86_64,
							.levels = levels,
							.root_gpa = root & ~kpti_user_bit};
	}
	return n;
}
