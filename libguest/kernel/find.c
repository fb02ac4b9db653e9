// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches a guest's RAM for its kernel, in the ways that kernel.h lists. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libguest/kernel/arm64.h"
#include "libguest/kernel/kallsyms.h"
#include "libguest/kernel/kernel.h"
#include "libguest/kernel/vmcoreinfo.h"
#include "libguest/memory/memory.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
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
#define SCAN_POLLS 10
#define LIVE_POLL_NS (20 * VMOP_NS_PER_MS)

/* The strings that uname(2) returns: include/uapi/linux/utsname.h. */
#define UTS_FIELD 65u
struct uts {
	uint64_t linear;
	char release[UTS_FIELD];
};

struct finder {
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget *budget;
	bool is_live;
	size_t kernels;
	struct vmop_guest_kernel *kernel[MAX_KERNELS];
	/* hits of the scan, as linear offsets */
	size_t notes, utses, tokens;
	struct vmop_vmcoreinfo note[MAX_HITS];
	struct uts uts[MAX_HITS];
	uint64_t token[MAX_HITS], index[MAX_HITS];
	bool saw_big_endian;
};

static bool is_found(const struct finder *finder, uint64_t root_gpa)
{
	for (size_t i = 0; i < finder->kernels; i++)
		if (finder->kernel[i]->info.root_gpa == root_gpa)
			return true;
	return false;
}

/* Keep a candidate unless the same kernel was found before. */
static void add_candidate(struct finder *finder, struct vmop_guest_kernel *kernel)
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

/* --- 0: the registers of its CPUs --------------------------------------------------- */

/* Take the first page table of a kernel: a CPU uses it, so that kernel runs. */
static void find_by_registers(struct finder *finder)
{
	struct vmop_paging root[MAX_ROOTS];
	size_t n = vmop_guest_memory_roots(finder->memory, root, MAX_ROOTS);
	for (size_t i = 0; i < n && !finder->kernels; i++)
		add_candidate(finder, vmop_guest_kernel_try_root(finder->memory, finder->budget,
								 root[i], "registers"));
}

/* --- 1: the trampoline --------------------------------------------------------- */

/*
 * Return whether a page can be a root page table: a last entry that points to a table, and mostly
 * empty entries otherwise.
 */
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
			add_candidate(finder,
				      vmop_guest_kernel_try_root(
					      finder->memory, finder->budget,
					      (struct vmop_paging){.arch = VMOP_PAGING_X86_64,
								   .levels = levels,
								   .root_gpa = gpa},
					      "trampoline"));
	}
}

/* --- the choice among candidates ---------------------------------------------------- */

/* Keep only kernel[index], and select its memory placement. */
static void keep_only(struct finder *finder, size_t index)
{
	struct vmop_guest_kernel *kernel = finder->kernel[index];
	finder->kernel[index] = finder->kernel[0];
	finder->kernel[0] = kernel;
	for (size_t i = 1; i < finder->kernels; i++)
		vmop_guest_kernel_free(finder->kernel[i]);
	finder->kernels = 1;
	vmop_guest_memory_select_placement(finder->memory, kernel->memory_placement);
}

static bool has_ticked(struct finder *finder, size_t index)
{
	vmop_guest_memory_select_placement(finder->memory, finder->kernel[index]->memory_placement);
	return vmop_guest_kernel_check(finder->kernel[index]) == VMOP_GUEST_KERNEL_CURRENT;
}

/* Wait a short time for a kernel's clock to advance. */
static bool is_ticking(struct finder *finder, size_t index)
{
	for (int poll = 0; poll < SCAN_POLLS; poll++) {
		if (has_ticked(finder, index))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LIVE_POLL_NS}, NULL);
	}
	return false;
}

/*
 * Keep the kernel that runs. RAM outlives resets, so there can be several: the running one is the
 * one whose clock advances. Where no clock does (an image, a paused guest), keep the first found:
 * each boot overwrites the trampoline's page, so it is the latest.
 */
static void keep_live(struct finder *finder)
{
	for (int poll = 0; finder->is_live && finder->kernels > 1 && poll < LIVE_POLLS; poll++) {
		nanosleep(&(struct timespec){.tv_nsec = LIVE_POLL_NS}, NULL);
		for (size_t i = 0; i < finder->kernels; i++) {
			if (has_ticked(finder, i)) {
				keep_only(finder, i);
				return;
			}
		}
	}
	if (finder->kernels)
		keep_only(finder, 0);
}

/* --- the scan ------------------------------------------------------------------ */

static void scan_notes(struct finder *finder, const uint8_t *chunk, size_t len, uint64_t linear)
{
	static const char mark[] = VMOP_VMCOREINFO_MARK;
	const uint8_t *at = chunk, *hit;
	while (finder->notes < MAX_HITS &&
	       (hit = memmem(at, len - (size_t)(at - chunk), mark, sizeof(mark) - 1))) {
		char text[VMOP_VMCOREINFO_MAX_BYTES];
		uint64_t place = linear + (uint64_t)(hit - chunk);
		/* The text never crosses the end of the guest's page, which can be the smallest. */
		size_t some = PAGE - place % PAGE;
		at = hit + 1;
		if (vmop_guest_memory_read_linear(finder->memory, place, text, sizeof(text)))
			some = sizeof(text);
		else if (!vmop_guest_memory_read_linear(finder->memory, place, text, some))
			continue;
		if (vmop_vmcoreinfo_parse(text, some, &finder->note[finder->notes]))
			finder->notes++;
	}
}

/* Look for a struct new_utsname of Linux: "Linux", the name of a node, a release, "#1 SMP ...". */
static void scan_utses(struct finder *finder, const uint8_t *chunk, size_t len, uint64_t linear)
{
	static const char mark[] = "Linux"; /* with its NUL */
	static const uint8_t none[UTS_FIELD - sizeof(mark)];
	const uint8_t *at = chunk, *hit;
	while (finder->utses < MAX_HITS &&
	       (hit = memmem(at, len - (size_t)(at - chunk), mark, sizeof(mark)))) {
		at = hit + 1;
		if (len - (size_t)(hit - chunk) < 5 * UTS_FIELD)
			break;
		const uint8_t *release = hit + 2 * UTS_FIELD;
		if (memcmp(hit + sizeof(mark), none, sizeof(none)) != 0 || release[0] < '1' ||
		    release[0] > '9' || release[UTS_FIELD] != '#' || release[UTS_FIELD - 1])
			continue;
		struct uts *uts = &finder->uts[finder->utses++];
		uts->linear = linear + (uint64_t)(hit - chunk);
		memcpy(uts->release, release, UTS_FIELD);
	}
}

static void scan_tokens(struct finder *finder, const uint8_t *chunk, size_t len, uint64_t linear)
{
	size_t from = 0, tokens, index;
	while (finder->tokens < MAX_HITS &&
	       vmop_guest_kallsyms_find_tokens(chunk, len, &from, &tokens, &index,
					       &finder->saw_big_endian)) {
		finder->token[finder->tokens] = linear + tokens;
		finder->index[finder->tokens++] = linear + index;
	}
}

static void take_arm64(struct finder *finder, const struct vmop_vmcoreinfo *note,
		       const struct uts *uts)
{
	if (!note->is_arm64 || strcmp(note->release, uts->release) != 0)
		return;
	for (size_t i = 0; i < finder->kernels; i++) /* VMCOREINFO is in RAM twice */
		if (finder->kernel[i]->info.root_gpa == note->swapper_pg_dir - note->kimage_voffset)
			return;
	add_candidate(finder, vmop_guest_kernel_try_arm64_uts(finder->memory, finder->budget, note,
							      uts->linear));
}

/*
 * Try the pairs that are new since there were that many notes and utses. Return true when the
 * running kernel is found.
 */
static bool try_pairs(struct finder *finder, size_t notes, size_t utses)
{
	size_t before = finder->kernels;
	for (size_t i = 0; i < finder->notes; i++)
		for (size_t j = i < notes ? utses : 0; j < finder->utses; j++)
			take_arm64(finder, &finder->note[i], &finder->uts[j]);
	return finder->is_live && finder->kernels > before &&
	       is_ticking(finder, finder->kernels - 1);
}

/*
 * Scan the RAM that the guest has touched, once. The scan ends early when it finds an arm64 kernel
 * that runs.
 */
static struct vmop_error *scan(struct finder *finder)
{
	_cleanup_free_ uint8_t *chunk = malloc(SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES);
	if (!chunk)
		return &vmop_error_no_memory;
	uint64_t linear = 0, len;
	while (vmop_guest_memory_next_touched(finder->memory, &linear,
					      SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES, &len)) {
		size_t notes = finder->notes, utses = finder->utses;
		if (!vmop_guest_memory_read_linear(finder->memory, linear, chunk, len))
			return vmop_error_new(VMOP_ERROR_LIMIT,
					      "the guest's RAM cannot be read to its end");
		scan_notes(finder, chunk, len, linear);
		scan_utses(finder, chunk, len, linear);
		scan_tokens(finder, chunk, len, linear);
		if (try_pairs(finder, notes, utses))
			return NULL;
		linear += len > SCAN_CHUNK_BYTES ? SCAN_CHUNK_BYTES : len;
	}
	return NULL;
}

/* --- 2: VMCOREINFO --------------------------------------------------------------- */

static void find_by_vmcoreinfo(struct finder *finder)
{
	for (size_t i = 0; i < finder->notes && finder->kernels < MAX_KERNELS; i++) {
		const struct vmop_vmcoreinfo *info = &finder->note[i];
		if (info->is_arm64)
			continue; /* tried while scanning */
		struct vmop_paging paging = {.arch = VMOP_PAGING_X86_64,
					     .levels = info->has_5_levels ? 5 : 4,
					     .root_gpa = info->swapper_pg_dir - IMAGE_MAP +
							 (uint64_t)info->phys_base};
		if (!is_found(finder, paging.root_gpa)) /* the page often has copies */
			add_candidate(finder,
				      vmop_guest_kernel_try_root(finder->memory, finder->budget,
								 paging, "vmcoreinfo"));
	}
}

/* --- 3: kallsyms ----------------------------------------------------------------- */

/*
 * Try the kernel of a symbol table with a banner near it. The image is one piece, so distances in
 * the symbol table hold in RAM too, and the banner gives the address of the page table.
 */
static void try_banner(struct finder *finder, const struct vmop_guest_kallsyms *kallsyms,
		       uint64_t banner_linear)
{
	uint64_t banner, root;
	if (!vmop_guest_kallsyms_find(kallsyms, "linux_banner", &banner) ||
	    (banner ^ banner_linear) % PAGE != 0)
		return;
	if (vmop_guest_kallsyms_find(kallsyms, "kimage_voffset", &root)) {
		add_candidate(finder,
			      vmop_guest_kernel_try_arm64_banner(finder->memory, finder->budget,
								 kallsyms, banner_linear));
		return;
	}
	if (!vmop_guest_kallsyms_find(kallsyms, "init_top_pgt", &root) &&
	    !vmop_guest_kallsyms_find(kallsyms, "swapper_pg_dir", &root))
		return;
	uint64_t gpa = vmop_guest_memory_to_gpa(finder->memory, banner_linear);
	if (gpa == VMOP_GUEST_NO_ADDRESS)
		return;
	for (unsigned int levels = 4; levels <= 5; levels++)
		add_candidate(finder, vmop_guest_kernel_try_root(
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
	uint64_t start = tokens > VMOP_GUEST_KALLSYMS_BEFORE_BYTES
				 ? (tokens - VMOP_GUEST_KALLSYMS_BEFORE_BYTES) & ~(PAGE - 1)
				 : 0;
	uint64_t end = vmop_guest_memory_linear_bytes(finder->memory);
	if (window_len > end - start)
		window_len = end - start;
	struct vmop_guest_kallsyms_tables tables;
	struct vmop_guest_kallsyms *kallsyms;
	if (!vmop_guest_memory_read_linear(finder->memory, start, window, window_len) ||
	    !vmop_guest_kallsyms_find_tables(window, window_len, tokens - start, index - start,
					     &tables))
		return;
	struct vmop_error *err =
		vmop_guest_kallsyms_unpack(window, window_len, &tables, start, &kallsyms);
	if (err) {
		vmop_error_destroy(err);
		return;
	}
	/* The banner lies in .rodata as well, which is some MiB long. */
	const uint8_t *at = window, *hit;
	for (int hits = 0; hits < MAX_HITS && (hit = memmem(at, window_len - (size_t)(at - window),
							    mark, sizeof(mark) - 1));
	     hits++) {
		try_banner(finder, kallsyms, start + (uint64_t)(hit - window));
		at = hit + 1;
	}
	vmop_guest_kallsyms_free(kallsyms);
}

static void find_by_kallsyms(struct finder *finder)
{
	size_t len = VMOP_GUEST_KALLSYMS_BEFORE_BYTES + VMOP_GUEST_KALLSYMS_AFTER_BYTES;
	_cleanup_free_ uint8_t *window = malloc(len);
	for (size_t i = 0; window && i < finder->tokens && finder->kernels < MAX_KERNELS; i++)
		try_tokens(finder, finder->token[i], finder->index[i], window, len);
}

/* --- all together ------------------------------------------------------------------ */

static void try_placement(struct finder *finder, size_t placement, bool by_scan)
{
	vmop_guest_memory_select_placement(finder->memory, placement);
	if (!by_scan) {
		find_by_trampoline(finder);
		return;
	}
	find_by_vmcoreinfo(finder);
	if (!finder->kernels)
		find_by_kallsyms(finder);
}

/*
 * Try the memory placements in order. Stop at the first where a kernel is found that agrees with
 * the placement. When no kernel agrees, take the first placement with a kernel.
 */
static void try_placements(struct finder *finder, bool by_scan)
{
	size_t placements = vmop_guest_memory_placements(finder->memory), first = placements;
	for (size_t i = 0; i < placements; i++) {
		try_placement(finder, i, by_scan);
		keep_live(finder);
		if (!finder->kernels)
			continue;
		if (placements == 1 || vmop_guest_kernel_placement_fits(finder->kernel[0]))
			return;
		if (first == placements)
			first = i;
		drop_all(finder);
	}
	if (first < placements) {
		try_placement(finder, first, by_scan);
		keep_live(finder);
	}
}

static struct vmop_error *nothing_found(const struct finder *finder)
{
	if (finder->saw_big_endian)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "the guest has a big-endian kernel; vmop reads only "
				      "little-endian ones");
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "no Linux kernel that vmop supports in the guest's RAM");
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
	finder->is_live = is_live;
	find_by_registers(finder);
	if (!finder->kernels && !vmop_guest_memory_is_scattered(memory))
		try_placements(finder, false);
	if (!finder->kernels && vmop_guest_memory_can_scan(memory)) {
		struct vmop_error *err = scan(finder);
		if (err)
			return err;
		if (finder->kernels)
			keep_live(finder);
		else
			try_placements(finder, true);
	}
	if (!finder->kernels)
		return nothing_found(finder);
	*ret = finder->kernel[0];
	finder->kernels = 0;
	return NULL;
}
