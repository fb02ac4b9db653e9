// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's kernel: its text, its modules, and code that it generates while it runs (BPF programs,
 * trampolines). Symbols are stored with the session, because /proc/kallsyms can't be read later.
 */
#ifndef VMOP_DAEMON_HOST_KERNEL_H
#define VMOP_DAEMON_HOST_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "daemon/host/text-map.h"
#include "vmop/record.h"

struct vmop_kernel {
	const char *root; /* the parent of /proc and /sys; NULL: a replay */
	struct vmop_images *images;
	struct vmop_text_map text;
	/* All of kernel mode if /proc/kallsyms shows no addresses, else NULL. */
	struct vmop_image *whole;
	struct vmop_image *vsyscall; /* x86-64's fixed page */
	uint64_t modules_hash;	     /* of the modules' names and addresses */
	/* The symbols came from kernel-cache.h: generated code is read when samples need it. */
	bool lacks_generated;
	const char *symbols_from; /* for status: the source of symbols, or the reason for none */
	char hidden_reason[192];  /* the text of symbols_from if addresses are hidden */
};

/*
 * Find the kernel, its modules and generated code. Their images keep the symbols until they are
 * stored. If this process may not see addresses, log that and succeed.
 */
struct vmop_error *vmop_kernel_init(struct vmop_kernel *kernel, const char *root,
				    struct vmop_images *images);
/*
 * Replace the kernel's symbols by those of the vmlinux or System.map at path. The string must
 * outlive kernel. VMOP_ERROR_USAGE: the file can't be read, or is of another kernel.
 */
struct vmop_error *vmop_kernel_use_vmlinux(struct vmop_kernel *kernel, const char *path);
void vmop_kernel_deinit(struct vmop_kernel *kernel);

/* Return the image that contains a kernel-mode address, or NULL. On the per-sample path. */
static inline struct vmop_image *vmop_kernel_find(struct vmop_kernel *kernel, uint64_t address)
{
	struct vmop_image *image = vmop_text_map_find(&kernel->text, address);
	return image ? image : kernel->whole;
}

/* Apply a record: code that came or went, and in replayed streams the kernel. */
void vmop_kernel_ksymbol(struct vmop_kernel *kernel, const struct vmop_ksymbol_record *ksymbol);
void vmop_kernel_mmap(struct vmop_kernel *kernel, const struct vmop_mmap_record *mmap);

/*
 * Call this after samples in unknown kernel text. Read all symbols again if modules were loaded
 * since, or if generated code was not read yet. Return true after such a read.
 */
bool vmop_kernel_refresh(struct vmop_kernel *kernel);

#endif
