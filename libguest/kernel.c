// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "libguest/kallsyms.h"
#include "libguest/memory.h"
#include "libguest/note.h"
#include "libguest/vmcoreinfo.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define MIB (UINT64_C(1) << 20)
/* arch/x86/include/asm/page_64_types.h: __START_KERNEL_map, KERNEL_IMAGE_SIZE */
#define IMAGE_AREA_START UINT64_C(0xffffffff80000000)
#define IMAGE_AREA_END UINT64_C(0xffffffffc0000000)
#define MAX_IMAGE_BYTES (256 * MIB)
#define MAX_RUNS 512u
/* CONFIG_PHYSICAL_START's default: where _text is linked when VMCOREINFO does not tell */
#define LINKED_TEXT UINT64_C(0xffffffff81000000)
#define SCAN_CHUNK_BYTES (2 * MIB)
#define SCAN_OVERLAP_BYTES (64u << 10)
#define MAX_TOKEN_TABLES 8
#define GATHER_PAGES 64u
#define DIRECT_MAP_DEFAULT UINT64_C(0xffff888000000000) /* 4 levels, not randomized */

/* A mapped piece of the image area. */
struct run {
	uint64_t start, end;
};

struct image {
	unsigned int runs;
	struct run run[MAX_RUNS];
};

#define KEPT_NAME(name) name,
static const char *const kept_names[] = {VMOP_GUEST_KERNEL_NAMES(KEPT_NAME)};

static void kernel_cleanup(struct vmop_guest_kernel **kernel)
{
	vmop_guest_kernel_free(*kernel);
}

void vmop_guest_kernel_free(struct vmop_guest_kernel *kernel)
{
	if (!kernel)
		return;
	vmop_kallsyms_free(kernel->kallsyms);
	free(kernel);
}

uint64_t vmop_guest_kernel_symbol(const struct vmop_guest_kernel *kernel, const char *name)
{
	uint64_t address;
	if (kernel->kallsyms)
		return vmop_kallsyms_find(kernel->kallsyms, name, &address) ? address : 0;
	for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
		if (strcmp(kept_names[i], name) == 0)
			return kernel->kept[i];
	return 0;
}

void vmop_guest_kernel_drop_symbols(struct vmop_guest_kernel *kernel)
{
	if (!kernel->kallsyms)
		return;
	for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
		kernel->kept[i] = vmop_guest_kernel_symbol(kernel, kept_names[i]);
	vmop_kallsyms_free(vmop_steal(&kernel->kallsyms));
}

bool vmop_guest_kernel_locate(struct vmop_guest_kernel *kernel, uint64_t physical,
			      uint64_t *ret_gpa)
{
	struct vmop_view *view = &kernel->view;
	*ret_gpa = physical;
	if (!vmop_guest_memory_is_scattered(view->memory))
		return true;
	uint64_t symbol = vmop_guest_kernel_symbol(kernel, "page_offset_base");
	uint64_t base = symbol ? vmop_view_u64(view, symbol) : DIRECT_MAP_DEFAULT;
	return !view->fault && base + physical > base &&
	       vmop_view_translate(view, base + physical, ret_gpa, NULL);
}

/* --- the image ---------------------------------------------------------------- */

/*
 * What of the image area is mapped and follows from where the first piece
 * lies: the image is one piece of physical memory (what was freed of it after
 * boot is not mapped any more), but for Xen PV, where each frame is anywhere.
 */
static bool map_image(struct vmop_view *view, struct image *ret)
{
	bool is_scattered = vmop_guest_memory_is_scattered(view->memory);
	uint64_t delta = 0, total = 0, gpa, left;
	ret->runs = 0;
	for (uint64_t at = IMAGE_AREA_START; at < IMAGE_AREA_END && total < MAX_IMAGE_BYTES;
	     at += left) {
		if (!vmop_guest_budget_step(view->budget))
			break;
		bool mapped = vmop_view_translate(view, at, &gpa, &left);
		if (left > IMAGE_AREA_END - at)
			left = IMAGE_AREA_END - at;
		if (!mapped)
			continue;
		if (!ret->runs)
			delta = at - gpa;
		if (at - gpa != delta && !is_scattered)
			continue;
		total += left;
		if (ret->runs && ret->run[ret->runs - 1].end == at) {
			ret->run[ret->runs - 1].end = at + left;
		} else {
			if (ret->runs == MAX_RUNS)
				break;
			ret->run[ret->runs++] = (struct run){.start = at, .end = at + left};
		}
	}
	return ret->runs > 0;
}

/* Whole pages from address on, gathered; how many bytes: none if the next page isn't whole. */
static size_t read_scattered(struct vmop_view *view, uint64_t address, uint8_t *buf, size_t len)
{
	uint64_t gpa[GATHER_PAGES];
	size_t n = 0;
	const uint64_t page = VMOP_GUEST_PAGE_BYTES;
	if (address % page || !vmop_guest_memory_is_scattered(view->memory))
		return 0;
	for (; n < GATHER_PAGES && (n + 1) * page <= len; n++)
		if (!vmop_view_translate(view, address + n * page, &gpa[n], NULL))
			gpa[n] = VMOP_GUEST_NO_ADDRESS;
	if (!vmop_guest_memory_gather(view->memory, gpa, n, buf))
		memset(buf, 0, n * page);
	return n * page;
}

/* Reads [address, address + len), with zeros for what is not mapped. */
static void read_with_holes(struct vmop_view *view, uint64_t address, uint8_t *buf, size_t len)
{
	while (len) {
		uint64_t gpa, left;
		size_t chunk = read_scattered(view, address, buf, len);
		if (chunk) {
			buf += chunk, address += chunk, len -= chunk;
			continue;
		}
		bool mapped = vmop_view_translate(view, address, &gpa, &left);
		chunk = len < left ? len : left;
		if (!mapped || !vmop_guest_memory_read(view->memory, gpa, buf, chunk))
			memset(buf, 0, chunk);
		buf += chunk, address += chunk, len -= chunk;
	}
}

/* --- symbols ------------------------------------------------------------------ */

/* The symbol table whose token table lies at tokens; NULL when it is none. */
static struct vmop_kallsyms *unpack_around(struct vmop_view *view, const struct image *image,
					   uint64_t tokens, uint64_t index)
{
	uint64_t first = image->run[0].start, last = image->run[image->runs - 1].end;
	uint64_t start = tokens - first > VMOP_KALLSYMS_BEFORE_BYTES
				 ? (tokens - VMOP_KALLSYMS_BEFORE_BYTES) & ~UINT64_C(4095)
				 : first;
	size_t len = last - tokens > VMOP_KALLSYMS_AFTER_BYTES
			     ? tokens - start + VMOP_KALLSYMS_AFTER_BYTES
			     : last - start;
	_cleanup_free_ uint8_t *window = malloc(len);
	if (!window)
		return NULL;
	read_with_holes(view, start, window, len);
	struct vmop_kallsyms_tables tables;
	struct vmop_kallsyms *kallsyms = NULL;
	if (vmop_kallsyms_find_tables(window, len, tokens - start, index - start, &tables))
		vmop_error_destroy(vmop_kallsyms_unpack(window, len, &tables, start, &kallsyms));
	return kallsyms;
}

static struct vmop_kallsyms *find_in_run(struct vmop_view *view, const struct image *image,
					 const struct run *run, uint8_t *chunk, int *tables_left)
{
	for (uint64_t at = run->start; at < run->end; at += SCAN_CHUNK_BYTES) {
		size_t len = SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES;
		if (run->end - at < len)
			len = run->end - at;
		read_with_holes(view, at, chunk, len);
		size_t from = 0, tokens, index;
		while (vmop_kallsyms_find_tokens(chunk, len, &from, &tokens, &index)) {
			if ((*tables_left)-- <= 0)
				return NULL;
			struct vmop_kallsyms *kallsyms =
				unpack_around(view, image, at + tokens, at + index);
			if (kallsyms)
				return kallsyms;
		}
	}
	return NULL;
}

static struct vmop_kallsyms *find_symbols(struct vmop_view *view, const struct image *image)
{
	_cleanup_free_ uint8_t *chunk = malloc(SCAN_CHUNK_BYTES + SCAN_OVERLAP_BYTES);
	struct vmop_kallsyms *kallsyms = NULL;
	int tables_left = MAX_TOKEN_TABLES;
	for (unsigned int i = 0; chunk && i < image->runs && !kallsyms; i++)
		kallsyms = find_in_run(view, image, &image->run[i], chunk, &tables_left);
	return kallsyms;
}

/* --- what it says of itself --------------------------------------------------- */

static bool read_banner(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	uint64_t banner = vmop_guest_kernel_symbol(kernel, "linux_banner");
	if (!banner)
		return false;
	char text[sizeof(info->banner)];
	if (!vmop_view_read(&kernel->view, banner, text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = '\0';
	text[strcspn(text, "\n")] = '\0';
	vmop_view_sanitize(text);
	memcpy(info->banner, text, sizeof(text));
	static const char begin[] = "Linux version ";
	if (strncmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	const char *release = text + sizeof(begin) - 1;
	size_t len = strcspn(release, " ");
	if (len >= sizeof(info->release))
		len = sizeof(info->release) - 1;
	memcpy(info->release, release, len);
	info->release[len] = '\0';
	return true;
}

/* The kernel's own page table, by symbol, has the banner where the candidate's has it. */
static bool use_own_root(struct vmop_guest_kernel *kernel)
{
	uint64_t own = vmop_guest_kernel_symbol(kernel, "init_top_pgt");
	uint64_t banner = vmop_guest_kernel_symbol(kernel, "linux_banner");
	uint64_t root, there, here;
	if (!own)
		own = vmop_guest_kernel_symbol(kernel, "swapper_pg_dir");
	if (!own || !vmop_view_translate(&kernel->view, own, &root, NULL) ||
	    !vmop_view_translate(&kernel->view, banner, &there, NULL))
		return false;
	struct vmop_paging paging = kernel->view.paging;
	paging.root_gpa = root;
	struct vmop_view view;
	vmop_view_init(&view, kernel->view.memory, kernel->view.budget, paging);
	if (!vmop_view_translate(&view, banner, &here, NULL) || here != there)
		return false;
	kernel->view.paging = paging;
	vmop_view_forget(&kernel->view);
	kernel->info.root_gpa = root;
	kernel->info.levels = (uint8_t)paging.levels;
	return true;
}

static void read_build_id(struct vmop_guest_kernel *kernel)
{
	uint64_t start = vmop_guest_kernel_symbol(kernel, "__start_notes");
	uint64_t end = vmop_guest_kernel_symbol(kernel, "__stop_notes");
	uint8_t notes[4096];
	if (!start || end <= start)
		return;
	size_t len = end - start < sizeof(notes) ? end - start : sizeof(notes);
	if (vmop_view_read(&kernel->view, start, notes, len))
		kernel->info.build_id_len_bytes =
			vmop_note_build_id(notes, len, kernel->info.build_id);
}

/* vmcoreinfo_note points to an ELF note whose content is VMCOREINFO's text. */
static void read_vmcoreinfo(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	uint64_t pointer = vmop_guest_kernel_symbol(kernel, "vmcoreinfo_data");
	char text[VMOP_VMCOREINFO_MAX_BYTES];
	struct vmop_vmcoreinfo vmcoreinfo;
	info->kaslr_offset = info->text_start - LINKED_TEXT;
	if (!pointer)
		return;
	uint64_t address = vmop_view_u64(&kernel->view, pointer);
	if (!vmop_view_take_fault(&kernel->view) &&
	    vmop_view_read(&kernel->view, address, text, sizeof(text)) &&
	    vmop_vmcoreinfo_parse(text, sizeof(text), &vmcoreinfo) &&
	    strcmp(vmcoreinfo.release, info->release) == 0) {
		if (vmcoreinfo.has_kernel_offset)
			info->kaslr_offset = vmcoreinfo.kernel_offset;
		if (!info->build_id_len_bytes) {
			info->build_id_len_bytes = vmcoreinfo.build_id_len_bytes;
			memcpy(info->build_id, vmcoreinfo.build_id, sizeof(info->build_id));
		}
	}
	vmop_view_take_fault(&kernel->view);
}

static bool describe(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	if (!read_banner(kernel) || !use_own_root(kernel))
		return false;
	info->symbols = vmop_kallsyms_count(kernel->kallsyms);
	info->text_start = vmop_guest_kernel_symbol(kernel, "_text");
	if (!info->text_start)
		info->text_start = vmop_guest_kernel_symbol(kernel, "_stext");
	info->text_end = vmop_guest_kernel_symbol(kernel, "_etext");
	info->image_end = vmop_guest_kernel_symbol(kernel, "_end");
	if (!info->image_end)
		info->image_end = info->text_end;
	if (!vmop_view_translate(&kernel->view, info->text_start, &info->text_gpa, NULL))
		return false;
	uint64_t cpus = vmop_guest_kernel_symbol(kernel, "nr_cpu_ids");
	info->cpus = cpus ? vmop_view_u32(&kernel->view, cpus) : 1;
	read_build_id(kernel);
	vmop_view_take_fault(&kernel->view);
	read_vmcoreinfo(kernel);
	kernel->jiffies_address = vmop_guest_kernel_symbol(kernel, "jiffies");
	kernel->jiffies =
		kernel->jiffies_address ? vmop_view_u64(&kernel->view, kernel->jiffies_address) : 0;
	return !vmop_view_take_fault(&kernel->view);
}

struct vmop_guest_kernel *vmop_guest_kernel_try_root(struct vmop_guest_memory *memory,
						     struct vmop_guest_budget *budget,
						     struct vmop_paging paging,
						     const char *found_by)
{
	_cleanup_(kernel_cleanup) struct vmop_guest_kernel *kernel = calloc(1, sizeof(*kernel));
	_cleanup_free_ struct image *image = malloc(sizeof(*image));
	if (!kernel || !image)
		return NULL;
	vmop_view_init(&kernel->view, memory, budget, paging);
	kernel->info.found_by = found_by;
	kernel->info.offsets_from = "";
	if (!map_image(&kernel->view, image))
		return NULL;
	kernel->kallsyms = find_symbols(&kernel->view, image);
	if (!kernel->kallsyms || !describe(kernel))
		return NULL;
	return vmop_steal(&kernel);
}

/* --- later looks -------------------------------------------------------------- */

enum vmop_guest_kernel_state vmop_guest_kernel_look(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	char banner[sizeof(info->banner)];
	uint64_t text_gpa;
	vmop_view_forget(&kernel->view);
	vmop_view_string(&kernel->view, vmop_guest_kernel_symbol(kernel, "linux_banner"), banner,
			 sizeof(banner));
	uint64_t jiffies =
		kernel->jiffies_address ? vmop_view_u64(&kernel->view, kernel->jiffies_address) : 0;
	bool mapped = vmop_view_translate(&kernel->view, info->text_start, &text_gpa, NULL);
	if (vmop_view_take_fault(&kernel->view) || !mapped || text_gpa != info->text_gpa ||
	    strncmp(banner, info->banner, strlen(info->banner)) != 0 || jiffies < kernel->jiffies)
		return VMOP_GUEST_KERNEL_GONE;
	if (jiffies == kernel->jiffies)
		return VMOP_GUEST_KERNEL_UNCERTAIN;
	kernel->jiffies = jiffies;
	return VMOP_GUEST_KERNEL_CURRENT;
}

/*
 * e820_table (arch/x86/include/asm/e820/types.h): a u32 count, then packed
 * entries of u64 address, u64 size, u32 type, where 1 is RAM.  What is above
 * 4 GiB must be as long as the layout in use has it.
 */
bool vmop_guest_kernel_layout_fits(struct vmop_guest_kernel *kernel)
{
	const uint64_t four_gib = UINT64_C(1) << 32;
	uint64_t symbol = vmop_guest_kernel_symbol(kernel, "e820_table");
	if (!symbol)
		return false;
	uint64_t table = vmop_view_u64(&kernel->view, symbol);
	uint32_t count = vmop_view_u32(&kernel->view, table);
	uint64_t high_end = 0, low_end = 0;
	for (uint32_t i = 0; i < count && i < 512 && !kernel->view.fault; i++) {
		uint64_t entry = table + 4 + 20 * (uint64_t)i;
		uint64_t end = vmop_view_u64(&kernel->view, entry) +
			       vmop_view_u64(&kernel->view, entry + 8);
		if (vmop_view_u32(&kernel->view, entry + 16) != 1)
			continue;
		if (end <= four_gib && end > low_end)
			low_end = end;
		if (end > four_gib && end > high_end)
			high_end = end;
	}
	if (vmop_view_take_fault(&kernel->view) || !low_end)
		return false;
	const struct vmop_guest_memory *memory = kernel->view.memory;
	bool last_fits = !high_end ||
			 vmop_guest_memory_to_linear(memory, high_end - 1) != VMOP_GUEST_NO_ADDRESS;
	bool none_behind = vmop_guest_memory_to_linear(memory, high_end ? high_end : four_gib) ==
			   VMOP_GUEST_NO_ADDRESS;
	return last_fits && none_behind &&
	       vmop_guest_memory_to_linear(memory, low_end - 1) != VMOP_GUEST_NO_ADDRESS;
}
