// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O counted by a library, vmop-appio.so, which the dynamic linker loads into a command and its
 * children. The library writes its counts into shared memory (preload-layout.h), which this reads.
 * The command can write there what it wants: nothing in it is trusted.
 */
#ifndef VMOP_LIBVMOP_STAT_IO_PRELOAD_H
#define VMOP_LIBVMOP_STAT_IO_PRELOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "hv-interface/bpf/appio.h"
#include "libutil/error.h"
#include "libvmop/stat/io/preload-layout.h"

struct vmop_stat_io_preload;

/*
 * Make the shared memory, and change the environment so that children that are made now load the
 * library. Free with vmop_stat_io_preload_destroy.
 */
struct vmop_error *vmop_stat_io_preload_create(bool has_times, struct vmop_stat_io_preload **ret);
void vmop_stat_io_preload_destroy(struct vmop_stat_io_preload *preload); /* NULL is allowed */

/* Restore the environment: the command, a child, has been made. */
void vmop_stat_io_preload_begin(struct vmop_stat_io_preload *preload, pid_t pid);

/* Pass all counts to the sink. */
struct vmop_error *vmop_stat_io_preload_read(struct vmop_stat_io_preload *preload,
					     const struct vmop_appio_sink *sink,
					     struct vmop_appio_facts *ret);

/* The same for a memory of that layout. */
struct vmop_error *vmop_stat_io_preload_pass(const struct vmop_preload *memory,
					     const struct vmop_appio_sink *sink,
					     struct vmop_appio_facts *ret);

#endif
