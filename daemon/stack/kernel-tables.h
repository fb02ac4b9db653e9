// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Copies unwind tables into the kernel, for --callgraph=bpf, on a thread of its own: a copy takes
 * tens of ms. It numbers the tables. The mappings of processes refer to these numbers, so a number
 * is given again only after the mappings are gone.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_STACK_KERNEL_TABLES_H
#define VMOP_DAEMON_STACK_KERNEL_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/ids.h"
#include "hv-interface/bpf/unwind-maps.h"
#include "libstack/table.h"
#include "libutil/error.h"

struct vmop_kernel_tables;

/*
 * Start the thread, which first removes the tables that an earlier user of maps left there. maps
 * must outlive the result, which the caller owns.
 */
struct vmop_error *vmop_kernel_tables_create(struct vmop_unwind_maps *maps,
					     struct vmop_kernel_tables **ret);
/* Wait for the present copy, and drop those that did not begin. NULL is allowed. */
void vmop_kernel_tables_destroy(struct vmop_kernel_tables *tables);

/*
 * Begin to copy the table of the image in that slot. table must live until
 * vmop_kernel_tables_collect reports the copy, or until the destruction. False: there is no number
 * or no memory left; nothing is copied.
 */
bool vmop_kernel_tables_put(struct vmop_kernel_tables *tables, struct vmop_image_slot image,
			    const struct vmop_cfi_table *table);

/* Begin to remove a table. Its number stays in use until vmop_kernel_tables_forgotten. */
void vmop_kernel_tables_remove(struct vmop_kernel_tables *tables, uint32_t number);

/* Note that no mapping refers to the removed tables any longer. */
void vmop_kernel_tables_forgotten(struct vmop_kernel_tables *tables);

/*
 * Call done for each copy that is finished, with the number of the table, or VMOP_UNWIND_NOT_YET:
 * the kernel did not take it.
 */
void vmop_kernel_tables_collect(struct vmop_kernel_tables *tables,
				void (*done)(void *arg, struct vmop_image_slot image,
					     uint32_t number),
				void *arg);

#endif
