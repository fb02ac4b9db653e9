// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code of the running kernel, of its modules and of what it generates, as it is in memory:
 * sampled pages of it are stored, because few machines have a vmlinux, no file has what the kernel
 * patches and generates, and reports are made elsewhere. It is read by a BPF program
 * (hv-interface/bpf/kernel-reader.h).
 *
 * All functions belong to the sampling thread; none blocks.
 */
#ifndef VMOP_DAEMON_HOST_KERNEL_CODE_H
#define VMOP_DAEMON_HOST_KERNEL_CODE_H

#include "daemon/host/code/code-store.h"
#include "daemon/host/image.h"

/* A page is read once, at this many samples: pages with fewer are not worth their room. */
#define VMOP_KERNEL_CODE_SAMPLES 32
/* Pages of a session, and pages that are read in an interval: some 5 us each. */
#define VMOP_KERNEL_CODE_PAGES_MAX 512
#define VMOP_KERNEL_CODE_READ_MAX 64

struct vmop_kernel_code;

/*
 * Create *ret. store and images must outlive it. Where the kernel refuses to be read, the reason is
 * logged at the level of information, and *ret is NULL without an error.
 */
struct vmop_error *vmop_kernel_code_create(struct vmop_images *images,
					   struct vmop_code_store *store,
					   struct vmop_kernel_code **ret);
void vmop_kernel_code_destroy(struct vmop_kernel_code *code); /* NULL is allowed */

/*
 * Note samples at an offset of an image in the interval that is stored next, and read its page if
 * there are enough. No effect unless image is code of the host's kernel.
 */
void vmop_kernel_code_sampled(struct vmop_kernel_code *code, struct vmop_image *image,
			      uint64_t offset, uint64_t n_samples);

/* Begin the next interval. */
void vmop_kernel_code_next_interval(struct vmop_kernel_code *code);

#endif
