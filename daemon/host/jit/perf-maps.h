// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of generated code, from the perf maps that just-in-time compilers write to /tmp (of their
 * container, under their pid there). The map of a process is read at the first sample in such code,
 * ever more rarely while more samples come, after its end, and at the end of the session. The names
 * are stored with the images.
 *
 * The files are hostile. libsym/jit/perf-map.h bounds the reading of one file, a separate thread
 * reads them (readers.h), this unit bounds their number, and code-names.h the stored names.
 */
#ifndef VMOP_DAEMON_HOST_JIT_PERF_MAPS_H
#define VMOP_DAEMON_HOST_JIT_PERF_MAPS_H

#include "daemon/host/jit/code-names.h"
#include "daemon/host/process.h"

/* The number of processes whose maps are read. */
#define VMOP_PERF_MAPS_MAX 1024

struct vmop_perf_maps;

/* processes and names must outlive the result. */
struct vmop_error *vmop_perf_maps_create(struct vmop_processes *processes,
					 struct vmop_code_names *names,
					 struct vmop_perf_maps **ret);
void vmop_perf_maps_destroy(struct vmop_perf_maps *maps); /* NULL is allowed */

/*
 * Note that image has samples in the interval that is stored next. No effect unless image is
 * generated code of the host.
 */
void vmop_perf_maps_sampled(struct vmop_perf_maps *maps, struct vmop_image *image);

/*
 * Submit reads of the maps that are due, and take the finished ones. The rows of their images are
 * stored again. is_last: submit reads of all maps, and wait up to two seconds.
 */
void vmop_perf_maps_collect(struct vmop_perf_maps *maps, bool is_last);

#endif
