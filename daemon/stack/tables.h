// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwind tables of images (libstack/table.h). A table is built on a thread of its own after the
 * image's first sampled stack, and evicted when all tables together take too much memory. With
 * --callgraph=bpf each table is also copied into the kernel.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_STACK_TABLES_H
#define VMOP_DAEMON_STACK_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "daemon/host/regions.h"
#include "hv-interface/bpf/unwind-maps.h"
#include "libstack/table.h"
#include "libstack/unwind.h"
#include "libutil/error.h"

struct vmop_stack_tables_limits {
	struct vmop_cfi_limits image; /* of one table */
	size_t max_bytes;	      /* of all tables */
	uint32_t max_images;	      /* slots of images */
};

struct vmop_stack_tables;

/*
 * Create a set without tables. vdso is the image of the 64-bit vDSO, whose table is built from that
 * of this program. root is the parent of /proc; NULL: a replay, without files. images and root must
 * outlive the result, which the caller owns.
 */
struct vmop_error *vmop_stack_tables_create(struct vmop_images *images,
					    const struct vmop_image *vdso, const char *root,
					    const struct vmop_stack_tables_limits *limits,
					    struct vmop_stack_tables **ret);
void vmop_stack_tables_destroy(struct vmop_stack_tables *tables); /* NULL is allowed */

/* Copy all tables into maps too, which must outlive tables. Call it once, before any other. */
struct vmop_error *vmop_stack_tables_copy_to(struct vmop_stack_tables *tables,
					     struct vmop_unwind_maps *maps);

/*
 * Return the number of the kernel's table for the code in region, VMOP_UNWIND_NO_TABLE, or
 * VMOP_UNWIND_NOT_YET.
 */
uint32_t vmop_stack_tables_kernel_number(const struct vmop_stack_tables *tables,
					 const struct vmop_region *region);

/*
 * Return the age of that number: 0 for VMOP_UNWIND_NOT_YET, else a larger one for each image whose
 * number was found later, at most that of vmop_stack_tables_facts. On the per-sample path.
 */
uint32_t vmop_stack_tables_kernel_age(const struct vmop_stack_tables *tables,
				      const struct vmop_region *region);

/*
 * Note that no mapping in the kernel has the number of a table that was removed: call it after
 * n_kernel_removed of vmop_stack_tables_facts grew.
 */
void vmop_stack_tables_forgotten(struct vmop_stack_tables *tables);

/* Note that the table of image is in use, so that it is not evicted. On the per-sample path. */
void vmop_stack_tables_touch(struct vmop_stack_tables *tables, struct vmop_image *image);

/*
 * Return the state of the code in region, a region of process pid, and set *ret to its table or to
 * NULL. Without a table yet, the next vmop_stack_tables_collect asks for it. On the per-sample
 * path.
 */
enum vmop_code_state vmop_stack_tables_find(struct vmop_stack_tables *tables,
					    const struct vmop_region *region, uint32_t pid,
					    const struct vmop_cfi_table **ret);

/*
 * Begin to build the wanted tables, and take the finished ones. Wait up to wait_ms for those that
 * are being built. Return whether the state of any code changed.
 */
bool vmop_stack_tables_collect(struct vmop_stack_tables *tables, unsigned wait_ms);

/*
 * Note that an interval was stored. Tables that were not used in it may be evicted from now on, and
 * are if images are short of room.
 */
void vmop_stack_tables_stored(struct vmop_stack_tables *tables);

/* Evict tables that were not used lately, until half of their memory is free. */
void vmop_stack_tables_save_memory(struct vmop_stack_tables *tables);

struct vmop_stack_tables_facts {
	uint32_t n_ready, n_pending;
	uint32_t n_without_cfi, n_unreadable; /* images */
	size_t bytes;			      /* of the ready tables */
	uint64_t n_evicted;
	uint32_t kernel_age;	   /* the last one given */
	uint64_t n_kernel_removed; /* tables that were in the kernel and are not any more */
};
void vmop_stack_tables_facts(const struct vmop_stack_tables *tables,
			     struct vmop_stack_tables_facts *ret);

#endif
