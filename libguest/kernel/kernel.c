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
#define DIRECT_MAP_DEFAULT UINT64_C(0xffff888000000000) /* 4 levels, not randomized */

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
	vmop_guest_kallsyms_free(kernel->kallsyms);
	free(kernel->layout);
	free(kernel);
}

uint64_t vmop_guest_kernel_symbol(const struct vmop_guest_kernel *kernel, const char *name)
{
	uint64_t address;
	if (kernel->kallsyms && vmop_guest_kallsyms_find(kernel->kallsyms, name, &address))
		return address;
	for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
		if (strcmp(kept_names[i], name) == 0)
			return kernel->kept[i];
	return 0;
}

void vmop_guest_kernel_keep(struct vmop_guest_kernel *kernel, const char *name, uint64_t address)
{
	for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
		if (strcmp(kept_names[i], name) == 0)
			kernel->kept[i] = address;
}

void vmop_guest_kernel_drop_symbols(struct vmop_guest_kernel *kernel)
{
	if (!kernel->kallsyms)
		return;
	for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
		kernel->kept[i] = vmop_guest_kernel_symbol(kernel, kept_names[i]);
	vmop_guest_kallsyms_free(vmop_steal(&kernel->kallsyms));
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
	if (!blob || !layout || !vmop_view_read(&kernel->view, start, blob, end - start)) {
		vmop_view_take_fault(&kernel->view);
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
	if (!vmop_view_read(&kernel->view, banner, text, sizeof(text)))
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
	if (!own && kernel->view.paging.arch == VMOP_PAGING_ARM64)
		own = kernel->vmcoreinfo.swapper_pg_dir;
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
	if (vmop_view_read(&kernel->view, start, notes, len))
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
		uint64_t address = vmop_view_u64(&kernel->view, pointer);
		if (!vmop_view_take_fault(&kernel->view) &&
		    vmop_view_read(&kernel->view, address, text, sizeof(text)) &&
		    vmop_vmcoreinfo_parse(text, sizeof(text), &vmcoreinfo) &&
		    strcmp(vmcoreinfo.release, info->release) == 0)
			kernel->vmcoreinfo = vmcoreinfo;
		vmop_view_take_fault(&kernel->view);
	}
	if (kernel->vmcoreinfo.has_kernel_offset)
		info->kaslr_offset = kernel->vmcoreinfo.kernel_offset;
	else if (kernel->view.paging.arch == VMOP_PAGING_X86_64)
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
	if (!vmop_view_translate(&kernel->view, stext, &info->text_gpa, NULL))
		return false;
	info->text_gpa -= stext - info->text_start;
	return true;
}

static uint64_t read_clock(struct vmop_guest_kernel *kernel)
{
	return kernel->jiffies_address ? vmop_view_u64(&kernel->view, kernel->jiffies_address)
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
		info->cpus = vmop_view_u32(&kernel->view, cpus);
	else if (!info->cpus)
		info->cpus = 1;
	read_build_id(kernel);
	vmop_view_take_fault(&kernel->view);
	read_vmcoreinfo(kernel);
	info->page_bytes = (uint32_t)vmop_paging_page_bytes(&kernel->view.paging);
	if (kernel->view.paging.arch == VMOP_PAGING_ARM64)
		vmop_guest_kernel_describe_arm64(kernel);
	else
		info->architecture = "x86-64";
	kernel->jiffies_address = vmop_guest_kernel_symbol(kernel, "jiffies");
	kernel->clock = read_clock(kernel);
	return !vmop_view_take_fault(&kernel->view);
}

struct vmop_guest_kernel *
vmop_guest_kernel_of_image(struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
			   struct vmop_paging paging, uint64_t start, uint64_t end,
			   const struct vmop_vmcoreinfo *vmcoreinfo, const char *found_by)
{
	_cleanup_(kernel_cleanup) struct vmop_guest_kernel *kernel = calloc(1, sizeof(*kernel));
	_cleanup_free_ struct vmop_guest_image_map *map = malloc(sizeof(*map));
	if (!kernel || !map)
		return NULL;
	vmop_view_init(&kernel->view, memory, budget, paging);
	kernel->memory_layout = vmop_guest_memory_layout(memory);
	kernel->info.found_by = found_by;
	kernel->info.offsets_from = "";
	if (vmcoreinfo)
		kernel->vmcoreinfo = *vmcoreinfo;
	if (!vmop_guest_image_map(&kernel->view, start, end, map))
		return NULL;
	kernel->kallsyms = vmop_guest_image_symbols(&kernel->view, map);
	if (!kernel->kallsyms)
		return NULL;
	if (vmcoreinfo && !vmop_guest_kernel_symbol(kernel, "linux_banner"))
		vmop_guest_variables_find(kernel, map);
	return describe(kernel) ? vmop_steal(&kernel) : NULL;
}

struct vmop_guest_kernel *vmop_guest_kernel_try_root(struct vmop_guest_memory *memory,
						     struct vmop_guest_budget *budget,
						     struct vmop_paging paging,
						     const char *found_by)
{
	return vmop_guest_kernel_of_image(memory, budget, paging, IMAGE_AREA_START, IMAGE_AREA_END,
					  NULL, found_by);
}

/* --- later checks -------------------------------------------------------------- */

enum vmop_guest_kernel_state vmop_guest_kernel_look(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_kernel_info *info = &kernel->info;
	char banner[sizeof(info->banner)];
	uint64_t banner_address = vmop_guest_kernel_symbol(kernel, "linux_banner"), gpa;
	vmop_view_forget(&kernel->view);
	vmop_view_string(&kernel->view, banner_address, banner, sizeof(banner));
	uint64_t clock = read_clock(kernel);
	bool mapped = vmop_view_translate(&kernel->view, banner_address, &gpa, NULL) &&
		      gpa == kernel->banner_gpa;
	if (vmop_view_take_fault(&kernel->view) || !mapped ||
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
 * memory layout ends.
 */
bool vmop_guest_kernel_layout_fits(struct vmop_guest_kernel *kernel)
{
	const uint64_t four_gib = UINT64_C(1) << 32;
	if (kernel->view.paging.arch == VMOP_PAGING_ARM64)
		return vmop_guest_kernel_memblock_fits(kernel);
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
