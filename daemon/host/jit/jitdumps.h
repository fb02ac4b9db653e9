// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of generated code, from the jitdumps of just-in-time compilers (libsym/jit/jitdump.h). The
 * runtime maps a page of its jitdump executable, and so the mappings of its process name the file.
 *
 * A jitdump has the times at which functions were at their addresses. A sample in generated code of
 * a process with a jitdump therefore waits until its interval is stored (daemon/profile/
 * jit-samples.h). Then the new records are read, and the sample is of the function that was there
 * at its time. All functions of a jitdump are in one image, at the offset of their code in the
 * file, so a later function never has the samples of an earlier one at its address.
 *
 * A record counts from when it is in the file. A runtime that buffers its records can leave samples
 * unresolved. These stay at their addresses, and such an image gets names by address later.
 *
 * The files are hostile. libsym/jit/jitdump.h bounds the reading of one file, a separate thread
 * reads them (readers.h), this unit bounds their number and memory, and code-names.h the stored
 * names.
 */
#ifndef VMOP_DAEMON_HOST_JIT_JITDUMPS_H
#define VMOP_DAEMON_HOST_JIT_JITDUMPS_H

#include "daemon/host/jit/code-names.h"
#include "daemon/host/process.h"

/* The number of processes whose jitdumps are read, and the memory of all. */
#define VMOP_JITDUMPS_MAX 1024
#define VMOP_JITDUMPS_MAX_BYTES ((size_t)128 << 20)

struct vmop_jitdumps;

/* processes and names must outlive the result. */
struct vmop_error *vmop_jitdumps_create(struct vmop_processes *processes,
					struct vmop_code_names *names, struct vmop_jitdumps **ret);
void vmop_jitdumps_destroy(struct vmop_jitdumps *dumps); /* NULL is allowed */

/* A sampled place in generated code. */
struct vmop_jit_place {
	uint64_t time_ns;
	uint64_t
		process_start_ns; /* of the sample's process, which can be a child of the image's */
	uint32_t pid;
	struct vmop_image *image; /* of generated code of the host */
	uint64_t offset;	  /* the address; after the look-up, in image */
};

/*
 * Read the jitdumps of the places' processes, waiting up to 100 ms, or two seconds if is_last. A
 * place whose function is known gets the image of the jitdump, and the offset there. The others
 * stay as they are.
 */
void vmop_jitdumps_resolve(struct vmop_jitdumps *dumps, struct vmop_jit_place *places, size_t n,
			   bool is_last);

/*
 * Note that image has samples in the interval that is stored next. Return whether a jitdump will
 * name it, so that no perf map is needed.
 */
bool vmop_jitdumps_sampled(struct vmop_jitdumps *dumps, struct vmop_image *image);

/*
 * Submit reads for names that are due, and take the finished ones. The rows of their images are
 * stored again. Call it after vmop_perf_maps_collect. is_last: submit reads of all jitdumps with
 * samples, and wait up to two seconds.
 */
void vmop_jitdumps_collect(struct vmop_jitdumps *dumps, bool is_last);

/*
 * Return a descriptor of the jitdump whose functions are in image, which the caller closes; -1:
 * it has no jitdump, or one that is being read, or is not used.
 */
int vmop_jitdumps_open_file(const struct vmop_jitdumps *dumps, const struct vmop_image *image);

#endif
