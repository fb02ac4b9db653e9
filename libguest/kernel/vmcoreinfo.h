// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMCOREINFO: the text that a kernel with CONFIG_CRASH_CORE (VMCORE_INFO from
 * 6.9) keeps about itself for crash dumps, in one page of RAM
 * (kernel: kernel/vmcore_info.c, arch/ARCH/kernel/vmcore_info.c,
 * Documentation/admin-guide/kdump/vmcoreinfo.rst).
 */
#ifndef VMOP_LIBGUEST_KERNEL_VMCOREINFO_H
#define VMOP_LIBGUEST_KERNEL_VMCOREINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_vmcoreinfo {
	char release[65];
	uint64_t swapper_pg_dir; /* virtual address */
	uint64_t kernel_offset;	 /* KASLR */
	int64_t phys_base;	 /* gpa = address - 0xffffffff80000000 + phys_base in the image */
	bool has_5_levels, has_kernel_offset;
	uint64_t init_uts_ns; /* virtual address of struct uts_namespace */
	uint64_t uts_name; /* offset of its strings: 4, behind a kref, unless a later kernel says so
			    */
	uint64_t stext;
	uint64_t page_bytes, page_struct_bytes; /* 0: not told */
	/* arm64 alone */
	bool is_arm64;
	uint32_t va_bits;	 /* as configured: half the address space's size */
	uint32_t t1sz;		 /* of TCR_EL1: as in use; 0: a kernel before 5.8 does not tell */
	uint64_t kimage_voffset; /* gpa = address - this in the image */
	uint64_t phys_offset;	 /* memstart_addr; may be below 0 */
	uint64_t vmemmap_start;	 /* 0: a kernel before 6.0 does not tell */
	uint8_t build_id_len_bytes; /* 0: a kernel before 5.14 does not tell */
	uint8_t build_id[20];
};

#define VMOP_VMCOREINFO_MARK "OSRELEASE="
/* It has a page, the guest's; what is there takes about 3500. */
#define VMOP_VMCOREINFO_MAX_BYTES 8192u

/* Reads text that begins with VMOP_VMCOREINFO_MARK; false: it is something else. */
bool vmop_vmcoreinfo_parse(const char *text, size_t len_bytes, struct vmop_vmcoreinfo *ret);

#endif
