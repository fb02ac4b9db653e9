// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's own kernel: its text, its modules, and code that it generates
 * while it runs (BPF programs, trampolines).  Symbols are stored at once, since
 * /proc/kallsyms can't be read later.
 */
#ifndef VMOP_DAEMON_HOST_KERNEL_H
#define VMOP_DAEMON_HOST_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/code-map.h"
#include "daemon/host/image.h"
#include "vmop/record.h"

struct vmop_kernel {
	const char *root; /* of /proc and /sys; NULL: there is none to look at */
	struct vmop_images *images;
	struct vmop_text_map text;
	/* All of kernel mode, where /proc/kallsyms tells no addresses; else NULL. */
	struct vmop_image *whole;
	struct vmop_image *vsyscall; /* x86-64's fixed page */
	uint64_t modules_hash;	     /* of which modules lie where */
	/* The symbols came from kallsyms-cache.h: generated code is read when samples need it. */
	bool lacks_generated;
	const char *symbols_from; /* for status: what names its functions, or why nothing does */
	char why_hidden[192];	  /* what symbols_from is where they are hidden */
};

/*
 * Finds the kernel, its modules and generated code; their symbols wait in their images
 * to be stored.  Without the right to see addresses it says so in the log, and goes on.
 */
struct vmop_error *vmop_kernel_init(struct vmop_kernel *kernel, const char *root,
				    struct vmop_images *images);
/*
 * Names the kernel's functions by the vmlinux or System.map at path, which must outlive
 * kernel, instead of by kallsyms.  VMOP_ERROR_USAGE: it can't be read, or is another kernel's.
 */
struct vmop_error *vmop_kernel_use_vmlinux(struct vmop_kernel *kernel, const char *path);
void vmop_kernel_deinit(struct vmop_kernel *kernel);

/* The image at a kernel mode address; NULL: none is known. On the per-sample path. */
static inline struct vmop_image *vmop_kernel_find(struct vmop_kernel *kernel, uint64_t address)
{
	struct vmop_image *image = vmop_text_map_find(&kernel->text, address);
	return image ? image : kernel->whole;
}

/* Records: code that came or went, and for replayed streams the kernel itself. */
void vmop_kernel_ksymbol(struct vmop_kernel *kernel, const struct vmop_ksymbol_record *ksymbol);
void vmop_kernel_mmap(struct vmop_kernel *kernel, const struct vmop_mmap_record *mmap);

/*
 * For when samples fell on unknown text: looks whether modules were loaded since,
 * and reads all symbols anew if so.  True: something new was found.
 */
bool vmop_kernel_refresh(struct vmop_kernel *kernel);

#endif
