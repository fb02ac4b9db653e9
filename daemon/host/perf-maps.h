// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of generated code, from the perf maps that just-in-time compilers leave in /tmp (of their
 * container, under their pid there).  A process with samples in such code has its map read at the
 * first of them, ever more rarely while more come, when it has ended, and at the session's
 * end; the names are stored with its images.
 *
 * The files are hostile: libsym/perf-map.h bounds what is read of one, a thread of its own reads
 * them (readers.h), and this bounds how many there are and what of them is stored.
 */
#ifndef VMOP_DAEMON_HOST_PERF_MAPS_H
#define VMOP_DAEMON_HOST_PERF_MAPS_H

#include "daemon/host/process.h"

/* Processes with generated code that are followed at once. */
#define VMOP_PERF_MAPS_MAX 1024
/* The names that a session may store, with those that are stored again. */
#define VMOP_PERF_MAPS_STORED_MAX_BYTES ((uint64_t)256 << 20)

struct vmop_perf_maps;

/* processes must outlive it. */
struct vmop_error *vmop_perf_maps_create(struct vmop_processes *processes,
					 struct vmop_perf_maps **ret);
void vmop_perf_maps_destroy(struct vmop_perf_maps *maps); /* NULL is allowed */

/*
 * image has samples in the interval that is about to be stored.  Does nothing where it is not
 * generated code of the host's.
 */
void vmop_perf_maps_sampled(struct vmop_perf_maps *maps, struct vmop_image *image);

/*
 * Asks for the maps that are due, and takes up those that were read; their images have their rows
 * stored again.  is_last: asks for all, and waits for them up to two seconds.
 */
void vmop_perf_maps_collect(struct vmop_perf_maps *maps, bool is_last);

#endif
