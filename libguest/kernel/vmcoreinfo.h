// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMCOREINFO: the text that a kernel with CONFIG_CRASH_CORE (VMCORE_INFO from 6.9) keeps for crash
 * dumps, in one page of RAM. Hostile input; any thread.
 *
 * Sources in the kernel: kernel/vmcore_info.c, arch/ARCH/kernel/vmcore_info.c,
 * Documentation/admin-guide/kdump/vmcoreinfo.rst.
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
	int64_t phys_base;	 /* in the image: gpa = address - 0xffffffff80000000 + phys_base */
	bool has_5_levels, has_kernel_offset;
	uint64_t init_uts_ns; /* virtual address of struct uts_namespace */
	uint64_t uts_name;    /* offset of its strings: 4 (after a kref) if not stated */
	uint64_t stext;
	uint64_t page_bytes, page_struct_bytes; /* 0: not stated */
	/* only arm64 */
	bool is_arm64;
	uint32_t va_bits;	    /* as configured: the size of one half */
	uint32_t t1sz;		    /* of TCR_EL1, as in use; 0: not stated (kernels before 5.8) */
	uint64_t kimage_voffset;    /* in the image: gpa = address - kimage_voffset */
	uint64_t phys_offset;	    /* memstart_addr; can be negative */
	uint64_t vmemmap_start;	    /* 0: not stated (kernels before 6.0) */
	uint8_t build_id_len_bytes; /* 0: not stated (kernels before 5.14) */
	uint8_t build_id[20];
};

#define VMOP_VMCOREINFO_MARK "OSRELEASE="
/* The text has one page of the guest; it uses about 3500 bytes. */
#define VMOP_VMCOREINFO_MAX_BYTES 8192u

/* Parse a text that begins with VMOP_VMCOREINFO_MARK. Return false when it is not VMCOREINFO. */
bool vmop_vmcoreinfo_parse(const char *text, size_t len_bytes, struct vmop_vmcoreinfo *ret);

#endif
