// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwind table of a mapping of a guest's process, built from the file in the guest's page cache
 * or, for the vDSO, from the process's memory. Where pages of the file are absent, the same file of
 * this machine can replace it (host-file.h).
 *
 * Thread: that of the vmop_guest. A table is immutable, and any thread may use and destroy it.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_FILE_TABLES_H
#define VMOP_DAEMON_GUEST_STACKS_FILE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/table.h"
#include "libstack/unwind.h"
#include "libsym/build-id.h"

/* The largest table, which is also what its build may take. */
#define VMOP_GUEST_TABLE_MAX_BYTES ((size_t)64 << 20)

/*
 * The identity of a mapping's code: its build-id, or else the guest's struct file in one process.
 * Two keys are of the same code if their bytes are equal.
 */
struct vmop_guest_code_key {
	uint64_t build_id_len_bytes;
	uint8_t build_id[24];
	/* Without a build-id: */
	uint64_t file, start, pgd_gpa, start_time_ns;
};

void vmop_guest_code_key_init(struct vmop_guest_code_key *key,
			      const struct vmop_guest_process *process,
			      const struct vmop_guest_vma *vma);

/* Set *ret to the build-id in a key. False: it has none. */
bool vmop_guest_code_key_build_id(const struct vmop_guest_code_key *key, struct vmop_build_id *ret);

/* A mapping, as far as its table needs it. */
struct vmop_guest_code_mapping {
	struct vmop_guest_code_key key;
	uint64_t file; /* 0: the vDSO */
	uint64_t start, end, pgd_gpa;
};

/*
 * Set *ret to the mapping. Return false if no file is mapped there, nor the vDSO: it is generated
 * code, which has no table.
 */
bool vmop_guest_code_mapping_init(struct vmop_guest_code_mapping *ret,
				  const struct vmop_guest_process *process,
				  const struct vmop_guest_vma *vma);

/*
 * Build the table of a mapping. host_path: where this machine may have the file; NULL or "": not
 * known. Return VMOP_CODE_HAS_TABLE, and set *ret to the table, which is the caller's and may be
 * partial; VMOP_CODE_NO_TABLE: it has no CFI; or VMOP_CODE_UNREADABLE: the pages with its headers
 * or with all its CFI are not in the guest's memory, or it is too large or damaged. Other results
 * set *ret to NULL.
 */
enum vmop_code_state vmop_guest_table_build(struct vmop_guest *guest,
					    const struct vmop_guest_code_mapping *mapping,
					    const char *host_path, struct vmop_cfi_table **ret);

#endif
