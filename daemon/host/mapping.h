// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an executable mapping of a process is a mapping of: a file, the vDSO, or
 * memory that a program wrote its code into.
 */
#ifndef VMOP_DAEMON_HOST_MAPPING_H
#define VMOP_DAEMON_HOST_MAPPING_H

#include "daemon/host/process.h"

struct vmop_mapping {
	uint64_t start, end;
	uint64_t file_offset_bytes;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	const struct vmop_build_id *build_id; /* NULL: not known */
	const char *path;		      /* as /proc/PID/maps or an mmap2 record has it */
};

/*
 * Puts mapping over whatever process had there.  What it executes is noted where
 * that is still wanted.
 */
void vmop_mapping_add(struct vmop_processes *processes, struct vmop_process *process,
		      const struct vmop_mapping *mapping);

#endif
