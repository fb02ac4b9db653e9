// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the image of an executable mapping: a file, the vDSO, or generated code, which a program
 * writes into its own memory.
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
	const char *path; /* in the form of /proc/PID/maps or of an mmap2 record */
};

/*
 * Add mapping to process in the place of earlier mappings there. If the program of process is not
 * known yet, the file becomes its program.
 */
void vmop_mapping_add(struct vmop_processes *processes, struct vmop_process *process,
		      const struct vmop_mapping *mapping);

#endif
