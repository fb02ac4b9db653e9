// SPDX-License-Identifier: GPL-2.0-or-later
/* Looks through a guest's RAM for its kernel; see kernel.h for the ways. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libguest/kallsyms.h"
#include "libguest/kernel.h"
#include "libguest/memory.h"
#include "libguest/vmcoreinfo.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MIB (UINT64_C(1) << 20)
#define PAGE ((uint64_t)VMOP_GUEST_PAGE_BYTES)
#define IMAGE_MAP UINT64_C(0xffffffff80000000) /* __START_KERNEL_map */
#define MAX_KERNELS 8
#define MAX_HITS 64
#define MAX_ROOTS 8
#define SCAN_CHUNK_BYTES MIB
#define SCAN_OVERLAP_BYTES (64u << 10)
#define MAX_SCAN_BYTES (UINT64_C(1) << 40)
#define LIVE_POLLS 50
#define LIVE_POLL_NS 20000000

struct finder {
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget *budget;
	size_t kernels;
	struct vmop_guest_kernel *kernel[MAX_KERNELS];
	size_t notes, tokens;					   /* hits of the scan */
	uint64_t note[MAX_HITS], token[MAX_HITS], index[MAX_HITS]; /* linear */
	bool scanned;
};

static bool is_found(const struct finder *finder, uint64_t root_gpa)
{
	for (size_t i = 0; i < finder->kernels; i++)
		if (finder->kernel[i]->info.root_gpa == root_gpa)
			return true;
	return false;
}

/* Keeps a candidate unless the same kernel was found before. */
static void take(struct finder *finder, struct vmop_guest_kernel *kernel)
{
	if (!kernel)
		return;
	if (finder->kernels == MAX_KERNELS || is_found(finder, kernel->info.root_gpa))
		vmop_guest_kernel_free(kernel);
	else
		finder->kernel[finder->kernels++] = kernel;
}

static void drop_all(struct finder *finder)
{
	for (size_t i = 0; i < finder->kernels; i++)
		vmop_guest_kernel_free(finder->kernel[i]);
	finder->kernels = 0;
}

static void finder_cleanup(struct finder **finder)
{
	if (*finder)
		drop_all(*finder);
	free(*finder);
}

/* --- 0: what its CPUs run on -------------------------------------------------------- */

/* The first that is a kernel's: a CPU runs on it, so it is the one that lives. */
static void find_by_registers(struct finder *finder)
{
	struct vmop_paging root[MAX_ROOTS];
	size_t n = vmop_guest_memory_roots(finder->memory, root, MAX_ROOTS);
	for (size_t i = 0; i < n && !finder->kernels; i++)
		take(finder, vmop_guest_kernel_try_root(finder->memory, finder->budget, root[i],
							"registers"));
}

/* --- 1: the trampoline --------------------------------------------------------- */

/* A page with a last entry and, as page tables have it, otherwise mostly nothing. */
static bool may_be_root(const uint8_t *page)
{
	uint64_t last;
	unsigned int used = 0;
	memcpy(&last, page + 511 * 8, sizeof(last));
	if (!(last & 1) || (last & 0x80) || !(last & UINT64_C(0xffffffffff000)))
		return false;
	for (unsigned int i = 0; i < 511; i++) {
		uint64_t entry;
		memcpy(&entry, page + i * 8, sizeof(entry));
		used += entry != 0;
		if ((entry & 1) == 0 && entry != 0)
			return false;
	}
	return used <= 256;
}

static void find_by_trampoline(struct finder *finder)
{
	for (uint64_t gpa = 0; gpa < MIB && finder->kernels < MAX_KERNELS; gpa += PAGE) {
		const uint8_t *page = vmop_guest_memory_page(finder->memory, gpa);
		if (!page || !may_be_root(page))
			continue;
		for (unsigned int levels = 4; levels <= 5; levels++)
			take(finder, vmop_guest_kernel_try_root(
					     finder->memory, finder->budget,
					     (struct vmop_paging){.arch = VMOP_PAGING_X86_64,
								  .levels = levels,
								  .root_gpa = gpa},
					     "trampoline"));
	}
}

/* --- the scan ------------------------------------------------------------------ */

static void scan_chunk(struct finder *finder, const uint8_t *chunk, size_t len, uint64_t linear)
{
	static const char mark[] = VMOP_VMCOREINFO_MARK;
	const uint8_t *at = chunk, *hit;
	while (finder->notes < MAX_HITS &&
	       (hit = memmem(at, len - (size_t)(at - chunk), mark, sizeof(mark) - 1))) {
		finder->note[finder->notes++] = linear + (uint64_t)(hit - chunk);
		at = hit + 1;
	}
	size_t from = 0, tokens, index;
	while (finder->tokens < MAX_HITS &&
	       vmop_kallsyms_find_tokens(chunk, len, &from, &tokens, &index)) {
		finder->token[finder->tokens] = linear + tokens;
		finder->index[finder->tokens++] = linear + index;
	}
}

/* One pass over what the guest has touched. */
static struct vmop_error *scan(struct finder *finder)
{
	_cleanup_free_ uint8_t *chunk = malloc(SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES);
	if (!chunk)
		return &vmop_error_no_memory;
	uint64_t linear = 0, len;
	finder->scanned = true;
	while (vmop_guest_memory_next_touched(finder->memory, &linear,
					      SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES, &len)) {
		if (!vmop_guest_memory_read_linear(finder->memory, linear, chunk, len))
			return vmop_error_new(VMOP_ERROR_LIMIT,
					      "the guest's RAM can't be read to its end");
		scan_chunk(finder, chunk, len, linear);
		linear += len > SCAN_CHUNK_BYTES ? SCAN_CHUNK_BYTES : len;
	}
	return NULL;
}

/* --- 2: VMCOREINFO --------------------------------------------------------------- */

static void find_by_vmcoreinfo(struct finder *finder)
{
	for (size_t i = 0; i < finder->notes && finder->kernels < MAX_KERNELS; i++) {
		char text[VMOP_VMCOREINFO_MAX_BYTES];
		struct vmop_vmcoreinfo info;
		uint64_t left = PAGE - finder->note[i] % PAGE; /* it never crosses a page's end */
		if (!vmop_guest_memory_read_linear(finder->memory, finder->note[i], text, left) ||
		    !vmop_vmcoreinfo_parse(text, left, &info))
			continue;
		struct vmop_paging paging = {.arch = VMOP_PAGING_X86_64,
					     .levels = info.has_5_levels ? 5 : 4,
					     .root_gpa = info.swapper_pg_dir - IMAGE_MAP +
							 (uint64_t)info.phys_base};
		if (!is_found(finder, paging.root_gpa)) /* copies of the page are common */
			take(finder, vmop_guest_kernel_try_root(finder->memory, finder->budget,
								paging, "vmcoreinfo"));
	}
}

/* --- 3: kallsyms ----------------------------------------------------------------- */

/*
 * The image is one piece, so what the symbol table says of distances holds in
 * RAM too: the banner near the table tells where address 0 would lie.
 */
static void try_banner(struct finder *finder, const struct vmop_kallsyms *kallsyms,
		       uint64_t banner_linear)
{
	uint64_t banner, root;
	if (!vmop_kallsyms_find(kallsyms, "linux_banner", &banner) ||
	    (banner ^ banner_linear) % PAGE != 0)
		return;
	if (!vmop_kallsyms_find(kallsyms, "init_top_pgt", &root) &&
	    !vmop_kallsyms_find(kallsyms, "swapper_pg_dir", &root))
		return;
	uint64_t gpa = vmop_guest_memory_to_gpa(finder->memory, banner_linear);
	if (gpa == VMOP_GUEST_NO_ADDRESS)
		return;
	for (unsigned int levels = 4; levels <= 5; levels++)
		take(finder, vmop_guest_kernel_try_root(
				     finder->memory, finder->budget,
				     (struct vmop_paging){.arch = VMOP_PAGING_X86_64,
							  .levels = levels,
							  .root_gpa = root - banner + gpa},
				     "kallsyms"));
}

static void try_tokens(struct finder *finder, uint64_t tokens, uint64_t index, uint8_t *window,
		       size_t window_len)
{
	static const char mark[] = "Linux version ";
	uint64_t start = tokens > VMOP_KALLSYMS_BEFORE_BYTES
				 ? (tokens - VMOP_KALLSYMS_BEFORE_BYTES) & ~(PAGE - 1)
				 : 0;
	uint64_t end = vmop_guest_memory_linear_bytes(finder->memory);
	if (window_len > end - start)
		window_len = end - start;
	struct vmop_kallsyms_tables tables;
	struct vmop_kallsyms *kallsyms;
	if (!vmop_guest_memory_read_linear(finder->memory, start, window, window_len) ||
	    !vmop_kallsyms_find_tables(window, window_len, tokens - start, index - start, &tables))
		return;
	struct vmop_error *err =
		vmop_kallsyms_unpack(window, window_len, &tables, start, &kallsyms);
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	/* .rodata, where the banner lies too, is some MiB long. */
	const uint8_t *at = window, *hit;
	for (int hits = 0; hits < MAX_HITS && (hit = memmem(at, window_len - (size_t)(at - window),
							    mark, sizeof(mark) - 1));
	     hits++) {
		try_banner(finder, kallsyms, start + (uint64_t)(hit - window));
		at = hit + 1;
	}
	vmop_kallsyms_free(kallsyms);
}

static void find_by_kallsyms(struct finder *finder)
{
	size_t len = VMOP_KALLSYMS_BEFORE_BYTES + VMOP_KALLSYMS_AFTER_BYTES;
	_cleanup_free_ uint8_t *window = malloc(len);
	for (size_t i = 0; window && i < finder->tokens && finder->kernels < MAX_KERNELS; i++)
		try_tokens(finder, finder->token[i], finder->index[i], window, len);
}

/* --- which of them ----------------------------------------------------------------- */

/* Keeps kernel[index] alone. */
static void keep(struct finder *finder, size_t index)
{
	struct vmop_guest_kernel *kernel = finder->kernel[index];
	finder->kernel[index] = finder->kernel[0];
	finder->kernel[0] = kernel;
	for (size_t i = 1; i < finder->kernels; i++)
		vmop_guest_kernel_free(finder->kernel[i]);
	finder->kernels = 1;
}

/*
 * RAM outlives resets.  The kernel whose clock advances is the one that runs;
 * where no clock does (an image, a paused guest), the one found first: the
 * trampoline's page is overwritten at each boot, so it is the latest.
 */
static void keep_live(struct finder *finder, bool is_live)
{
	for (int poll = 0; is_live && finder->kernels > 1 && poll < LIVE_POLLS; poll++) {
		nanosleep(&(struct timespec){.tv_nsec = LIVE_POLL_NS}, NULL);
		vmop_guest_memory_forget(finder->memory);
		for (size_t i = 0; i < finder->kernels; i++) {
			if (vmop_guest_kernel_look(finder->kernel[i]) ==
			    VMOP_GUEST_KERNEL_CURRENT) {
				keep(finder, i);
				return;
			}
		}
	}
	if (finder->kernels > 1)
		keep(finder, 0);
}

static void try_layout(struct finder *finder, size_t layout, bool by_scan)
{
	vmop_guest_memory_select_layout(finder->memory, layout);
	if (!by_scan) {
		find_by_trampoline(finder);
		return;
	}
	find_by_vmcoreinfo(finder);
	if (!finder->kernels)
		find_by_kallsyms(finder);
}

/*
 * Tries the layouts in order and stops at the first where a kernel is found
 * that agrees on how RAM is laid out.  Where none agrees, the first with a kernel.
 */
static void try_layouts(struct finder *finder, bool is_live, bool by_scan)
{
	size_t layouts = vmop_guest_memory_layouts(finder->memory), first = layouts;
	for (size_t i = 0; i < layouts; i++) {
		try_layout(finder, i, by_scan);
		keep_live(finder, is_live);
		if (!finder->kernels)
			continue;
		if (layouts == 1 || vmop_guest_kernel_layout_fits(finder->kernel[0]))
			return;
		if (first == layouts)
			first = i;
		drop_all(finder);
	}
	if (first < layouts) {
		try_layout(finder, first, by_scan);
		keep_live(finder, is_live);
	}
}

struct vmop_error *vmop_guest_kernel_find(struct vmop_guest_memory *memory,
					  struct vmop_guest_budget *budget, bool is_live,
					  struct vmop_guest_kernel **ret)
{
	_cleanup_(finder_cleanup) struct finder *finder = calloc(1, sizeof(*finder));
	if (!finder)
		return &vmop_error_no_memory;
	finder->memory = memory;
	finder->budget = budget;
	find_by_registers(finder);
	if (!finder->kernels && !vmop_guest_memory_is_scattered(memory))
		try_layouts(finder, is_live, false);
	if (!finder->kernels && vmop_guest_memory_can_scan(memory)) {
		struct vmop_error *err = scan(finder);
		if (err)
			return err;
		try_layouts(finder, is_live, true);
	}
	if (!finder->kernels)
		return vmop_error_new(
			VMOP_ERROR_NOT_FOUND,
			"no Linux kernel that vmop knows was found in the guest's RAM");
	*ret = finder->kernel[0];
	finder->kernels = 0;
	return NULL;
}
