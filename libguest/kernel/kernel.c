// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "libguest/kernel/arm64.h"
#include "libguest/kernel/btf.h"
#include "libguest/kernel/image.h"
#include "libguest/kernel/kallsyms.h"
#include "libguest/kernel/variables.h"
#include "libguest/memory/memory.h"
#include "libguest/memory/note.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

/* arch/x86/include/asm/page_64_types.h: __START_KERNEL_map, KERNEL_IMAGE_SIZE */
#define IMAGE_AREA_START UINT64_C(0xffffffff80000000)
#define IMAGE_AREA_END UINT64_C(0xffffffffc0000000)
/* CONFIG_PHYSICAL_START's default: the link address of _text when VMCOREINFO lacks it */
#define LINKED_TEXT UINT64_C(0xffffffff81000000)
/*
 * arch/x86/include/asm/page_64_types.h, pgtable_64_types.h: the starts of the map of all RAM and of
 * the page structs where they are not randomized, with 4 and with 5 levels
 */
#define DIRECT_MAP_4_LEVELS UINT64_C(0xffff888000000000)
#define DIRECT_MAP_5_LEVELS UINT64_C(0xff11000000000000)
#define PAGE_STRUCTS_4_LEVELS UINT64_C(0xffffea0000000000)
#define PAGE_STRUCTS_5_LEVELS UINT64_C(0xffd4000000000000)

#define NEEDED_NAME(name) name,
static const char *const needed_names[] = {VMOP_GUEST_KERNEL_NAMES(NEEDED_NAME)};

static void kernel_cleanup(struct vmop_guest_kernel **kernel)
{
	vmop_guest_kernel_free(*kernel);
}

void vmop_guest_kernel_free(struct vmop_guest_kernel *kernel)
{
	if (!kernel)
		return;
	vmop_guest_kallsyms_free(kernel->kallsyms);
	free(kernel->layout);
	free(kernel);
}

uint64_t vmop_guest_kernel_symbol(const struct vmop_guest_kernel *kernel, const char *name)
{
	uint64_t address;
	if (kernel->kallsyms && vmop_guest_kallsyms_find(kernel->kallsyms, name, &address))
		return address;
	for (size_t i = 0; i < sizeof(needed_names) / sizeof(needed_names[0]); i++)
		if (strcmp(needed_names[i], name) == 0)
			return kernel->saved[i];
	return 0;
}

void vmop_guest_kernel_save_symbol(struct vmop_guest_kernel *kernel, const char *name,
				   uint64_t address)
{
	for (size_t i = 0; i < sizeof(needed_names) / sizeof(needed_names[0]); i++)
		if (strcmp(needed_names[i], name) == 0)
			kernel->saved[i] = address;
}

void vmop_guest_kernel_drop_symbols(struct vmop_guest_kernel *kernel)
{
	if (!kernel->kallsyms)
		return;
	for (size_t i = 0; i < sizeof(needed_names) / sizeof(needed_names[0]); i++)
		kernel->saved[i] = vmop_guest_kernel_symbol(kernel, needed_names[i]);
	vmop_guest_kallsyms_free(vmop_steal(&kernel->kallsyms));
}

/* --- where it has all RAM, and its page structs --------------------------------- */

/* Return the value of an x86-64 kernel's variable, or what it is where there is no such variable.
 */
static uint64_t base_of(struct vmop_guest_kernel *kernel, const char *variable,
			uint64_t with_4_levels, uint64_t with_5_levels)
{
	uint64_t address = vmop_guest_kernel_symbol(kernel, variable);
	if (address)
		return vmop_guest_space_u64(&kernel->space, address);
	return kernel->space.paging.levels == 5 ? with_5_levels : with_4_levels;
}

uint64_t vmop_guest_kernel_page_structs(struct vmop_guest_kernel *kernel)
{
	if (kernel->space.paging.arch == VMOP_PAGING_X86_64)
		return base_of(kernel, "vmemmap_base", PAGE_STRUCTS_4_LEVELS,
			       PAGE_STRUCTS_5_LEVELS);
	if (!kernel->vmemmap_start)
		return 0;
	return kernel->vmemmap_start - (uint64_t)kernel->first_frame * kernel->page_struct_bytes;
}

bool vmop_guest_kernel_direct_map(struct vmop_guest_kernel *kernel, uint64_t *ret)
{
	struct vmop_guest_space *space = &kernel->space;
	uint64_t gpa;
	if (space->paging.arch == VMOP_PAGING_X86_64) {
		*ret = base_of(kernel, "page_offset_base", DIRECT_MAP_4_LEVELS,
			       DIRECT_MAP_5_LEVELS);
	} else {
		/* arch/arm64/include/asm/memory.h: __phys_to_virt */
		unsigned int va_bits = kernel->vmcoreinfo.va_bits ? kernel->vmcoreinfo.va_bits
								  : space->paging.va_bits;
		*ret = -(UINT64_C(1) << va_bits) -
		       ((uint64_t)kernel->first_frame << space->paging.page_shift);
	}
	/* The map has the kernel's own image as well. */
	return !space->fault &&
	       vmop_guest_space_translate(space, *ret + kernel->banner_gpa, &gpa, NULL) &&
	       gpa == kernel->banner_gpa;
}

bool vmop_guest_kernel_locate(struct vmop_guest_kernel *kernel, uint64_t physical,
			      uint64_t *ret_gpa)
{
	struct vmop_guest_space *space = &kernel->space;
	*ret_gpa = physical;
	if (!vmop_guest_memory_is_scattered(space->memory))
		return true;
	uint64_t base =
		base_of(kernel, "page_offset_base", DIRECT_MAP_4_LEVELS, DIRECT_MAP_5_LEVELS);
	return !space->fault && base + physical > base &&
	       vmop_guest_space_translate(space, base + physical, ret_gpa, NULL);
}

bool vmop_guest_kernel_read_btf(struct vmop_guest_kernel *kernel)
{
	uint64_t start = vmop_guest_kernel_symbol(kernel, "__start_BTF");
	uint64_t end = vmop_guest_kernel_symbol(kernel, "__stop_BTF");
	if (kernel->layout)
		return true;
	if (!start || end <= start || end - start > VMOP_BTF_MAX_BYTES)
		return false;
	_cleanup_free_ uint8_t *blob = malloc(end - start);
	_cleanup_free_ struct vmop_layout *layout = malloc(sizeof(*layout));
	struct vmop_btf *btf;
	if (!blob || !layout || !vmop_guest_space_read(&kernel->space, start, blob, end - start)) {
		vmop_guest_space_take_fault(&kernel->space);
		return false;
	}
	struct vmop_error *err = vmop_btf_open(blob, end - start, &btf);
	if (err) {
		vmop_error_destroy(err);
		return false;
	}
	vmop_layout_from_btf(btf, layout);
	vmop_btf_close(btf);
	if (vmop_layout_has_processes(layout))
		kernel->layout = vmop_steal(&layout);
	return kernel->layout;
}

/* --- the kernel's own description --------------------------------------------- */

static bool read_banner(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	uint64_t banner = vmop_guest_kernel_symbol(kernel, "linux_banner");
	if (!banner)
		return false;
	char text[sizeof(info->banner)];
	if (!vmop_guest_space_read(&kernel->space, banner, text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = '\0';
	text[strcspn(text, "\n")] = '\0';
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

/*
 * Switch to the kernel's own page table, found by symbol. Return false unless it maps the banner to
 * the same address as the candidate does.
 */
static bool use_own_root(struct vmop_guest_kernel *kernel)
{
	uint64_t own = vmop_guest_kernel_symbol(kernel, "init_top_pgt");
	uint64_t banner = vmop_guest_kernel_symbol(kernel, "linux_banner");
	uint64_t root, there, here;
	if (!own)
		own = vmop_guest_kernel_symbol(kernel, "swapper_pg_dir");
	if (!own && kernel->space.paging.arch == VMOP_PAGING_ARM64)
		own = kernel->vmcoreinfo.swapper_pg_dir;
	if (!own || !vmop_guest_space_translate(&kernel->space, own, &root, NULL) ||
	    !vmop_guest_space_translate(&kernel->space, banner, &there, NULL))
		return false;
	struct vmop_paging paging = kernel->space.paging;
	paging.root_gpa = root;
	struct vmop_guest_space space;
	vmop_guest_space_init(&space, kernel->space.memory, kernel->space.budget, paging);
	if (!vmop_guest_space_translate(&space, banner, &here, NULL) || here != there)
		return false;
	kernel->space.paging = paging;
	vmop_guest_space_forget(&kernel->space);
	kernel->banner_gpa = here;
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
	if (vmop_guest_space_read(&kernel->space, start, notes, len))
		kernel->info.build_id_len_bytes =
			vmop_note_build_id(notes, len, kernel->info.build_id);
}

/* Read VMCOREINFO, whose text vmcoreinfo_data points to. */
static void read_vmcoreinfo(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	uint64_t pointer = vmop_guest_kernel_symbol(kernel, "vmcoreinfo_data");
	char text[4096]; /* the minimum size */
	struct vmop_vmcoreinfo vmcoreinfo;
	if (pointer) {
		uint64_t address = vmop_guest_space_u64(&kernel->space, pointer);
		if (!vmop_guest_space_take_fault(&kernel->space) &&
		    vmop_guest_space_read(&kernel->space, address, text, sizeof(text)) &&
		    vmop_vmcoreinfo_parse(text, sizeof(text), &vmcoreinfo) &&
		    strcmp(vmcoreinfo.release, info->release) == 0)
			kernel->vmcoreinfo = vmcoreinfo;
		vmop_guest_space_take_fault(&kernel->space);
	}
	if (kernel->vmcoreinfo.has_kernel_offset)
		info->kaslr_offset = kernel->vmcoreinfo.kernel_offset;
	else if (kernel->space.paging.arch == VMOP_PAGING_X86_64)
		info->kaslr_offset = info->text_start - LINKED_TEXT;
	if (!info->build_id_len_bytes) {
		info->build_id_len_bytes = kernel->vmcoreinfo.build_id_len_bytes;
		memcpy(info->build_id, kernel->vmcoreinfo.build_id, sizeof(info->build_id));
	}
}

/* Find where the text and the image begin and end. */
static bool place_image(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	uint64_t stext = vmop_guest_kernel_symbol(kernel, "_stext");
	info->text_start = vmop_guest_kernel_symbol(kernel, "_text");
	if (!info->text_start)
		info->text_start = stext;
	if (!stext)
		stext = info->text_start;
	info->text_end = vmop_guest_kernel_symbol(kernel, "_etext");
	info->image_end = vmop_guest_kernel_symbol(kernel, "_end");
	if (!info->image_end)
		info->image_end = info->text_end;
	/* arm64 has its boot header between _text and _stext and frees it from 5.11 on. */
	if (!vmop_guest_space_translate(&kernel->space, stext, &info->text_gpa, NULL))
		return false;
	info->text_gpa -= stext - info->text_start;
	return true;
}

static uint64_t read_clock(struct vmop_guest_kernel *kernel)
{
	return kernel->jiffies_address
		       ? vmop_guest_space_u64(&kernel->space, kernel->jiffies_address)
		       : vmop_guest_variables_clock(kernel);
}

static bool describe(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	if (!read_banner(kernel) || !use_own_root(kernel) || !place_image(kernel))
		return false;
	info->symbols = vmop_guest_kallsyms_count(kernel->kallsyms);
	uint64_t cpus = vmop_guest_kernel_symbol(kernel, "nr_cpu_ids");
	if (cpus)
		info->cpus = vmop_guest_space_u32(&kernel->space, cpus);
	else if (!info->cpus)
		info->cpus = 1;
	read_build_id(kernel);
	vmop_guest_space_take_fault(&kernel->space);
	read_vmcoreinfo(kernel);
	info->page_bytes = (uint32_t)vmop_paging_page_bytes(&kernel->space.paging);
	if (kernel->space.paging.arch == VMOP_PAGING_ARM64)
		vmop_guest_kernel_describe_arm64(kernel);
	else
		info->architecture = "x86-64";
	kernel->jiffies_address = vmop_guest_kernel_symbol(kernel, "jiffies");
	kernel->clock = read_clock(kernel);
	return !vmop_guest_space_take_fault(&kernel->space);
}

struct vmop_guest_kernel *
vmop_guest_kernel_of_image(struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
			   struct vmop_paging paging, uint64_t start, uint64_t end,
			   const struct vmop_vmcoreinfo *vmcoreinfo, const char *search_method)
{
	_cleanup_(kernel_cleanup) struct vmop_guest_kernel *kernel = calloc(1, sizeof(*kernel));
	_cleanup_free_ struct vmop_guest_image_map *map = malloc(sizeof(*map));
	if (!kernel || !map)
		return NULL;
	vmop_guest_space_init(&kernel->space, memory, budget, paging);
	kernel->memory_placement = vmop_guest_memory_placement(memory);
	kernel->info.search_method = search_method;
	kernel->info.offsets_source = "";
	if (vmcoreinfo)
		kernel->vmcoreinfo = *vmcoreinfo;
	if (!vmop_guest_image_map(&kernel->space, start, end, map))
		return NULL;
	kernel->kallsyms = vmop_guest_image_symbols(&kernel->space, map);
	if (!kernel->kallsyms)
		return NULL;
	if (vmcoreinfo && !vmop_guest_kernel_symbol(kernel, "linux_banner"))
		vmop_guest_variables_find(kernel, map);
	return describe(kernel) ? vmop_steal(&kernel) : NULL;
}

struct vmop_guest_kernel *vmop_guest_kernel_try_root(struct vmop_guest_memory *memory,
						     struct vmop_guest_budget *budget,
						     struct vmop_paging paging,
						     const char *search_method)
{
	return vmop_guest_kernel_of_image(memory, budget, paging, IMAGE_AREA_START, IMAGE_AREA_END,
					  NULL, search_method);
}

bool vmop_guest_kernel_reload_symbols(struct vmop_guest_kernel *kernel)
{
	const struct vmop_guest_kernel_info *info = &kernel->info;
	if (kernel->kallsyms)
		return true;
	_cleanup_free_ struct vmop_guest_image_map *map = malloc(sizeof(*map));
	vmop_guest_space_forget(&kernel->space);
	if (!map || !vmop_guest_image_map(&kernel->space, info->text_start, info->image_end, map))
		return false;
	struct vmop_guest_kallsyms *kallsyms = vmop_guest_image_symbols(&kernel->space, map);
	vmop_guest_space_take_fault(&kernel->space);
	if (kallsyms && vmop_guest_kallsyms_count(kallsyms) == info->symbols)
		kernel->kallsyms = vmop_steal(&kallsyms);
	vmop_guest_kallsyms_free(kallsyms);
	return kernel->kallsyms;
}

/* --- later checks -------------------------------------------------------------- */

enum vmop_guest_kernel_state vmop_guest_kernel_check(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	char banner[sizeof(info->banner)];
	uint64_t banner_address = vmop_guest_kernel_symbol(kernel, "linux_banner"), gpa;
	vmop_guest_space_forget(&kernel->space);
	vmop_guest_space_string(&kernel->space, banner_address, banner, sizeof(banner));
	uint64_t clock = read_clock(kernel);
	bool mapped = vmop_guest_space_translate(&kernel->space, banner_address, &gpa, NULL) &&
		      gpa == kernel->banner_gpa;
	if (vmop_guest_space_take_fault(&kernel->space) || !mapped ||
	    strncmp(banner, info->banner, strlen(info->banner)) != 0 || clock < kernel->clock)
		return VMOP_GUEST_KERNEL_GONE;
	if (clock == kernel->clock)
		return VMOP_GUEST_KERNEL_UNCERTAIN;
	kernel->clock = clock;
	return VMOP_GUEST_KERNEL_CURRENT;
}

/*
 * e820_table (arch/x86/include/asm/e820/types.h) is a u32 count, then packed entries of u64
 * address, u64 size and u32 type, where type 1 is RAM. RAM above 4 GiB must end where the selected
 * memory placement ends.
 */
bool vmop_guest_kernel_placement_fits(struct vmop_guest_kernel *kernel)
{
	const uint64_t four_gib = UINT64_C(1) << 32;
	if (kernel->space.paging.arch == VMOP_PAGING_ARM64)
		return vmop_guest_kernel_memblock_fits(kernel);
	uint64_t symbol = vmop_guest_kernel_symbol(kernel, "e820_table");
	if (!symbol)
		return false;
	uint64_t table = vmop_guest_space_u64(&kernel->space, symbol);
	uint32_t count = vmop_guest_space_u32(&kernel->space, table);
	uint64_t high_end = 0, low_end = 0;
	for (uint32_t i = 0; i < count && i < 512 && !kernel->space.fault; i++) {
		uint64_t entry = table + 4 + 20 * (uint64_t)i;
		uint64_t end = vmop_guest_space_u64(&kernel->space, entry) +
			       vmop_guest_space_u64(&kernel->space, entry + 8);
		if (vmop_guest_space_u32(&kernel->space, entry + 16) != 1)
			continue;
		if (end <= four_gib && end > low_end)
			low_end = end;
		if (end > four_gib && end > high_end)
			high_end = end;
	}
	if (vmop_guest_space_take_fault(&kernel->space) || !low_end)
		return false;
	const struct vmop_guest_memory *memory = kernel->space.memory;
	bool last_fits = !high_end ||
			 vmop_guest_memory_to_linear(memory, high_end - 1) != VMOP_GUEST_NO_ADDRESS;
	bool none_behind = vmop_guest_memory_to_linear(memory, high_end ? high_end : four_gib) ==
			   VMOP_GUEST_NO_ADDRESS;
	return last_fits && none_behind &&
	       vmop_guest_memory_to_linear(memory, low_end - 1) != VMOP_GUEST_NO_ADDRESS;
}
