// SPDX-License-Identifier: GPL-2.0-or-later
/* struct vmop_guest and the budget of its calls, for this folder and for tests. */
#ifndef VMOP_LIBGUEST_GUEST_INTERNAL_H
#define VMOP_LIBGUEST_GUEST_INTERNAL_H

#include "libguest/budget.h"
#include "libguest/guest.h"
#include "libguest/kernel/kernel.h"
#include "libguest/kernel/layout.h"
#include "libguest/kernel/modules.h"
#include "libguest/memory/memory.h"

struct vmop_guest_files;
struct vmop_guest_inodes;

struct vmop_guest {
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget budget; /* of the current call */
	uint64_t max_read_bytes;	 /* 0: the defaults */
	char *profile;
	bool is_live;
	struct vmop_guest_kernel *kernel;      /* NULL: no kernel is known */
	struct vmop_layout layout;	       /* valid while kernel is not NULL */
	struct vmop_guest_module_set *modules; /* as layout */
	struct vmop_guest_files *files;	       /* cache of build-ids */
	struct vmop_guest_inodes *inodes;      /* files that were found by inode */
	struct vmop_guest_cost last, total;
	uint64_t begun_cpu_ns, begun_read_bytes;
};

/* Begin and end the accounting of a public call. read_bytes and steps are its budget. */
void vmop_guest_begin(struct vmop_guest *guest, uint64_t read_bytes, uint64_t steps);
void vmop_guest_end(struct vmop_guest *guest);

#define VMOP_GUEST_SCAN_BYTES (UINT64_C(1) << 40)
#define VMOP_GUEST_CALL_BYTES (UINT64_C(256) << 20)
#define VMOP_GUEST_CALL_STEPS (UINT64_C(8) << 20)
/* Look-ups for single samples: of an inode, a path, a process. */
#define VMOP_GUEST_INODE_BYTES (UINT64_C(8) << 20)
#define VMOP_GUEST_INODE_STEPS (UINT64_C(32) << 10)
#define VMOP_GUEST_PATH_STEPS (UINT64_C(128) << 10)
#define VMOP_GUEST_PROCESS_BYTES (UINT64_C(64) << 20)

/*
 * Open a guest over memory that the caller made (a buffer, for tests and fuzzing). The guest takes
 * ownership of memory, also on error.
 */
struct vmop_error *vmop_guest_open_memory(struct vmop_guest_memory *memory,
					  struct vmop_guest **ret);

#endif
