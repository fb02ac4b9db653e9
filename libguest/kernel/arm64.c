// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/kernel/arm64.h"

#include <endian.h>

#include "libguest/kernel/image.h"
#include "libguest/kernel/kallsyms.h"
#include "libguest/kernel/variables.h"
#include "libguest/memory/memory.h"
#include "libguest/memory/page-table-arm64.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define MAX_MEMBLOCK_REGIONS 512u

/* --- the page table ------------------------------------------------------------------- */

/* Return the shift of a page size; 0: there is no such size. */
static unsigned int page_shift_of(uint64_t page_bytes)
{
	return page_bytes == 4096 ? 12 : page_bytes == 16384 ? 14 : page_bytes == 65536 ? 16 : 0;
}

/*
 * Return the address bits that the tables cover. With 64 KiB pages a kernel for 52 bits has tables
 * for 52 bits on any CPU; a CPU with 48 bits starts in the middle of the first table
 * (arch/arm64/include/asm/assembler.h, offset_ttbr1). With smaller pages such a CPU has one level
 * fewer.
 */
static unsigned int table_va_bits(const struct vmop_vmcoreinfo *vmcoreinfo)
{
	bool by_register =
		vmcoreinfo->page_bytes < 65536 && vmcoreinfo->t1sz && vmcoreinfo->t1sz < 64;
	return by_register ? 64 - vmcoreinfo->t1sz : vmcoreinfo->va_bits;
}

static bool maps(struct vmop_guest_space *space, uint64_t address, uint64_t voffset)
{
	uint64_t gpa;
	return vmop_guest_space_translate(space, address, &gpa, NULL) && gpa == address - voffset;
}

/* --- finding it ------------------------------------------------------------------------- */

struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_uts(struct vmop_guest_memory *memory,
							  struct vmop_guest_budget *budget,
							  const struct vmop_vmcoreinfo *vmcoreinfo,
							  uint64_t uts_linear)
{
	uint64_t voffset = vmcoreinfo->kimage_voffset;
	uint64_t uts = vmcoreinfo->init_uts_ns + vmcoreinfo->uts_name;
	struct vmop_paging paging;
	struct vmop_guest_space space;
	if (!vmop_arm64_paging(page_shift_of(vmcoreinfo->page_bytes), table_va_bits(vmcoreinfo),
			       vmcoreinfo->swapper_pg_dir - voffset, true, &paging) ||
	    !vmop_guest_memory_place(memory, uts_linear, uts - voffset))
		return NULL;
	vmop_guest_space_init(&space, memory, budget, paging);
	if (!maps(&space, uts, voffset) || !maps(&space, vmcoreinfo->stext, voffset))
		return NULL;
	return vmop_guest_kernel_of_image(memory, budget, paging, vmcoreinfo->stext,
					  vmcoreinfo->stext + VMOP_GUEST_IMAGE_MAX_BYTES,
					  vmcoreinfo, "vmcoreinfo");
}

/* Read a variable of the image, located by its distance from the banner. */
static bool read_variable(struct vmop_guest_memory *memory,
			  const struct vmop_guest_kallsyms *kallsyms, const char *name,
			  uint64_t banner_linear, uint64_t *ret)
{
	uint64_t address, banner;
	if (!vmop_guest_kallsyms_find(kallsyms, name, &address) ||
	    !vmop_guest_kallsyms_find(kallsyms, "linux_banner", &banner))
		return false;
	bool read = vmop_guest_memory_read_linear(memory, banner_linear + (address - banner), ret,
						  sizeof(*ret));
	*ret = le64toh(*ret);
	return read;
}

struct vmop_guest_kernel *vmop_guest_kernel_try_arm64_banner(
	struct vmop_guest_memory *memory, struct vmop_guest_budget *budget,
	const struct vmop_guest_kallsyms *kallsyms, uint64_t banner_linear)
{
	/*
	 * arch/arm64/Kconfig: ARM64_VA_BITS, and the bits that remain of 52 on a CPU without LPA2
	 */
	static const struct {
		unsigned int page_shift, va_bits;
	} geometries[] = {{12, 48}, {12, 39}, {12, 52}, {14, 47}, {14, 48},
			  {14, 52}, {14, 36}, {16, 48}, {16, 52}, {16, 42}};
	uint64_t banner, root, voffset, stext;
	if (!vmop_guest_kallsyms_find(kallsyms, "linux_banner", &banner) ||
	    !vmop_guest_kallsyms_find(kallsyms, "swapper_pg_dir", &root) ||
	    !vmop_guest_kallsyms_find(kallsyms, "_stext", &stext) ||
	    !read_variable(memory, kallsyms, "kimage_voffset", banner_linear, &voffset) ||
	    !vmop_guest_memory_place(memory, banner_linear, banner - voffset))
		return NULL;
	for (unsigned int i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++) {
		struct vmop_paging paging;
		struct vmop_guest_space space;
		vmop_arm64_paging(geometries[i].page_shift, geometries[i].va_bits, root - voffset,
				  true, &paging);
		vmop_guest_space_init(&space, memory, budget, paging);
		if (maps(&space, banner, voffset) && maps(&space, stext, voffset) &&
		    maps(&space, root, voffset))
			return vmop_guest_kernel_of_image(memory, budget, paging, stext,
							  stext + VMOP_GUEST_IMAGE_MAX_BYTES, NULL,
							  "kallsyms");
	}
	return NULL;
}

/* --- page structs -------------------------------------------------------------------------- */

/*
 * VMEMMAP_START where VMCOREINFO lacks it: arch/arm64/include/asm/memory.h of 5.4 to 5.10, of 5.11
 * to 6.8, and from 6.9 on.
 */
#define VMEMMAP_RULES 3
static uint64_t vmemmap_start(unsigned int rule, unsigned int va_bits, unsigned int page_shift,
			      unsigned int struct_shift)
{
	unsigned int least = va_bits < 48 ? va_bits : page_shift == 14 && va_bits == 52 ? 47 : 48;
	uint64_t linear_map = (UINT64_C(1) << va_bits) - (UINT64_C(1) << (least - 1));
	uint64_t structs = linear_map >> (page_shift - struct_shift);
	switch (rule) {
	case 0:
		return -structs - 2 * MIB;
	case 1:
		return -(UINT64_C(1) << (va_bits - (page_shift - struct_shift)));
	default:
		return -structs - GIB;
	}
}

static void find_page_structs(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_space *space = &kernel->space;
	unsigned int page_shift = space->paging.page_shift, struct_shift = 0;
	unsigned int va_bits =
		kernel->vmcoreinfo.va_bits ? kernel->vmcoreinfo.va_bits : space->paging.va_bits;
	uint64_t struct_bytes = kernel->vmcoreinfo.page_struct_bytes;
	uint64_t memstart = vmop_guest_kernel_symbol(kernel, "memstart_addr"), gpa;
	if (!kernel->vmcoreinfo.is_arm64 && !memstart)
		return;
	uint64_t phys_offset =
		memstart ? vmop_guest_space_u64(space, memstart) : kernel->vmcoreinfo.phys_offset;
	kernel->first_frame = (int64_t)phys_offset >> page_shift;
	if (!struct_bytes && vmop_guest_kernel_read_btf(kernel) &&
	    vmop_layout_has(kernel->layout, VMOP_LAYOUT_PAGE_SIZE))
		struct_bytes = vmop_layout_value(kernel->layout, VMOP_LAYOUT_PAGE_SIZE);
	kernel->page_struct_bytes = struct_bytes;
	while (struct_shift < 10 && UINT64_C(1) << struct_shift < struct_bytes)
		struct_shift++;
	kernel->vmemmap_start = kernel->vmcoreinfo.vmemmap_start;
	uint64_t frame = (kernel->info.text_gpa >> page_shift) - (uint64_t)kernel->first_frame;
	for (unsigned int rule = 0; struct_shift && !kernel->vmemmap_start && rule < VMEMMAP_RULES;
	     rule++) {
		uint64_t start = vmemmap_start(rule, va_bits, page_shift, struct_shift);
		if (vmop_guest_space_translate(space, start + frame * struct_bytes, &gpa, NULL))
			kernel->vmemmap_start = start;
	}
}

void vmop_guest_kernel_describe_arm64(struct vmop_guest_kernel *kernel)
{
	struct vmop_arm64_leaf leaf;
	uint64_t banner = vmop_guest_kernel_symbol(kernel, "linux_banner");
	kernel->info.architecture = "arm64";
	kernel->info.va_bits = (uint8_t)kernel->space.paging.va_bits;
	/* With KPTI the kernel's pages are not global (arch/arm64/include/asm/pgtable-prot.h). */
	kernel->info.has_kpti = vmop_arm64_walk(&kernel->space, banner, &leaf) &&
				(leaf.descriptor & VMOP_ARM64_NOT_GLOBAL);
	find_page_structs(kernel);
	vmop_guest_space_take_fault(&kernel->space);
}

/* struct memblock, memblock_type, memblock_region: include/linux/memblock.h */
bool vmop_guest_kernel_memblock_fits(struct vmop_guest_kernel *kernel)
{
	struct vmop_guest_space *space = &kernel->space;
	uint64_t memblock = vmop_guest_kernel_symbol(kernel, "memblock");
	if (!memblock)
		return false;
	uint64_t count = vmop_guest_space_u64(space, memblock + 16);
	uint64_t regions = vmop_guest_space_u64(space, memblock + 40);
	bool fits = count > 0 && count <= MAX_MEMBLOCK_REGIONS;
	for (uint64_t i = 0; fits && i < count; i++) {
		uint64_t start = vmop_guest_space_u64(space, regions + 24 * i);
		uint64_t len = vmop_guest_space_u64(space, regions + 24 * i + 8);
		fits = len &&
		       vmop_guest_memory_to_linear(space->memory, start) != VMOP_GUEST_NO_ADDRESS &&
		       vmop_guest_memory_to_linear(space->memory, start + len - 1) !=
			       VMOP_GUEST_NO_ADDRESS;
	}
	return !vmop_guest_space_take_fault(space) && fits;
}
