// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small synthetic guest: RAM with page tables, a kernel's symbol table in any of its forms, BTF,
 * modules, processes with mappings, files, a page cache. Unit tests damage it, and the fuzz targets
 * start from it.
 *
 * Everything lies in one "kernel image": symbols, structs, strings. Structs have the members of
 * VMOP_LAYOUT_FIELDS, in that order.
 */
#ifndef VMOP_TESTS_LIBGUEST_SYNTHETIC_H
#define VMOP_TESTS_LIBGUEST_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/kernel/layout.h"

#define SYNTHETIC_RAM_BYTES (16u << 20)
#define SYNTHETIC_TEXT_GPA UINT64_C(0x400000)
#define SYNTHETIC_TEXT UINT64_C(0xffffffff9a000000)
#define SYNTHETIC_TRAMPOLINE_GPA UINT64_C(0x9d000)
#define SYNTHETIC_VMCOREINFO_GPA UINT64_C(0xa00000)
#define SYNTHETIC_VMEMMAP UINT64_C(0xffffea0000000000)
#define SYNTHETIC_USER_PGD_GPA UINT64_C(0xb00000)
#define SYNTHETIC_IMAGE_BYTES (6u << 20)
#define SYNTHETIC_PROCESSES 3 /* swapper, init, worker */
#define SYNTHETIC_FILLERS 5000

enum synthetic_kallsyms {
	SYNTHETIC_BEFORE_NAMES,	    /* to 6.1 */
	SYNTHETIC_BEFORE_WITH_SEQS, /* 6.2, 6.3 */
	SYNTHETIC_AFTER_INDEX,	    /* 6.4 to 6.14: absolute per-CPU symbols */
	SYNTHETIC_ALL_RELATIVE,	    /* 6.15 to 6.19 */
	SYNTHETIC_PLACE_RELATIVE,   /* from 7.0 */
	SYNTHETIC_ADDRESSES,	    /* CONFIG_KALLSYMS_BASE_RELATIVE off */
	SYNTHETIC_BEFORE_RELATIVE,  /* to 6.3 without absolute per-CPU symbols: arm64 */
	SYNTHETIC_KALLSYMS_FORMS,
};

struct synthetic_options {
	enum synthetic_kallsyms kallsyms;
	bool five_levels;
	bool no_trampoline; /* then VMCOREINFO must suffice */
	bool no_vmcoreinfo; /* with no_trampoline: only kallsyms remains */
	bool no_btf;
	/* mappings in a list instead of a maple tree, earlier lists of directories: to 6.0 */
	bool vma_list;
	bool bpf_programs; /* without struct bpf_ksym: a kernel to 5.6 */
	/*
	 * arm64 with 4 KiB pages and 48 bits: no trampoline, and RAM begins at ram_start (0: 1
	 * GiB). text_only: the symbol table names no variables.
	 */
	bool arm64, text_only;
	uint64_t ram_start;
	const char *function; /* the name of one more function; NULL: none */
	bool stacks;	      /* tasks have threads and kernel stacks */
};

struct synthetic_symbol {
	uint64_t address;
	char type;
	char name[96];
};

struct synthetic {
	uint8_t *ram; /* SYNTHETIC_RAM_BYTES */
	struct vmop_layout layout;
	struct synthetic_symbol *symbols; /* by address */
	size_t symbol_count;
	uint64_t used;	    /* bytes used of the image */
	uint64_t ram_start; /* gpa of the start of ram; other gpas count from there */
	uint64_t root_gpa;
	/* virtual addresses of objects */
	uint64_t init_task, task[SYNTHETIC_PROCESSES], mm[SYNTHETIC_PROCESSES];
	uint64_t vma[4], tree_node, file, dentry, module, modules_head, bpf_head, xa_node;
	/* a file on each of the file systems that are mounted on / and on /tmp */
	uint64_t mount_namespace, root, super, mount, inode;
	uint64_t tmp_root, tmp_super, tmp_mount, map_inode;
	uint64_t module_kallsyms, jiffies, btf, btf_bytes, current_task, page;
	uint8_t *page_owner; /* its mapping, in ram */
	uint64_t names_gpa; /* of the packed symbol names */
	uint64_t per_cpu_offsets, init_uts_ns,
		run_queue; /* init_uts_ns only on arm64; run_queue there, and with stacks */
};

void synthetic_make(struct synthetic *guest, const struct synthetic_options *options);
void synthetic_free(struct synthetic *guest);

/*
 * Reserve len bytes of the image, aligned to `to`, and return their address. A name adds a symbol
 * for them. The second function adds only a symbol.
 */
uint64_t synthetic_place(struct synthetic *guest, const char *name, char type, size_t len,
			 size_t to);
void synthetic_name_symbol(struct synthetic *guest, const char *name, char type, uint64_t address);

/*
 * Add the parts that only an arm64 kernel has, before the symbol table is made (synthetic-arm64.c).
 * root is the address of swapper_pg_dir.
 */
void synthetic_make_arm64(struct synthetic *guest, const struct synthetic_options *options,
			  uint64_t root);

/* Return the bytes at a virtual address in the image. */
uint8_t *synthetic_at(struct synthetic *guest, uint64_t address);
void synthetic_put_u64(struct synthetic *guest, uint64_t address, uint64_t value);
void synthetic_put_u32(struct synthetic *guest, uint64_t address, uint32_t value);
uint64_t synthetic_get_u64(struct synthetic *guest, uint64_t address);
/* Return the address of a member of a struct at address. */
uint64_t synthetic_member(const struct synthetic *guest, uint64_t address,
			  enum vmop_layout_field field);

/*
 * Make objects of file systems, before the symbol table is made or after: a dentry (parent 0: its
 * own), an inode of generation 7 with an empty mapping, a superblock, and a mount of it (parent 0:
 * its own) in guest->mount_namespace. synthetic_link() gives an inode one more name.
 */
uint64_t synthetic_dentry(struct synthetic *guest, uint64_t parent, const char *name);
uint64_t synthetic_inode(struct synthetic *guest, uint64_t super, uint32_t number, uint32_t mode);
void synthetic_link(struct synthetic *guest, uint64_t dentry, uint64_t inode);
uint64_t synthetic_super(struct synthetic *guest, uint64_t root);
uint64_t synthetic_mount(struct synthetic *guest, uint64_t super, uint64_t root, uint64_t parent,
			 uint64_t point);

/*
 * Write BTF with all of VMOP_LAYOUT_FIELDS to buf and return its length. Set *layout to the
 * offsets.
 */
size_t synthetic_btf(uint8_t *buf, size_t size, struct vmop_layout *layout);

/*
 * Write the symbol table, as for address, to buf and return its length. Set *ret_names to the
 * offset of the names.
 */
size_t synthetic_kallsyms(const struct synthetic_symbol *symbols, size_t count,
			  enum synthetic_kallsyms form, uint64_t address, uint64_t base,
			  uint8_t *buf, size_t size, size_t *ret_names);

/* Make the page of the file one of another mapping. */
void synthetic_give_page(struct synthetic *guest, uint64_t mapping);

#endif
