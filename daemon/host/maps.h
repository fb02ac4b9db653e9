// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the lines of /proc/PID/maps (proc(5)). */
#ifndef VMOP_DAEMON_HOST_MAPS_H
#define VMOP_DAEMON_HOST_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/proc-text.h"

struct vmop_maps_line {
	uint64_t start, end;
	uint64_t file_offset_bytes;
	bool is_executable;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	char *path; /* "\012" turned back into a newline; "" for anonymous memory */
};

/* Parse one line, which is changed. Return false if it is malformed. */
bool vmop_maps_parse(char *line, struct vmop_maps_line *ret);

/*
 * Call each for every line of process pid's maps below root. Return 0 or an errno value. Lines
 * longer than a page and a path are skipped. reader is that of vmop_proc_text_read.
 */
int vmop_maps_read(struct vmop_proc_text *reader, const char *root, uint32_t pid,
		   void (*each)(void *arg, const struct vmop_maps_line *line), void *arg);

#endif
