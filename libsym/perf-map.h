// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /tmp/perf-PID.map: where a just-in-time compiler has put which function
 * (the kernel's tools/perf/Documentation/jit-interface.txt).
 */
#ifndef VMOP_LIBSYM_PERF_MAP_H
#define VMOP_LIBSYM_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libsym/symtab.h"

/* Limits for one file.  A program that ran for years writes less. */
#define VMOP_PERF_MAP_MAX_BYTES ((size_t)32 << 20)
#define VMOP_PERF_MAP_MAX_FUNCTIONS ((size_t)256 << 10)
#define VMOP_PERF_MAP_MAX_NAME_BYTES 4096 /* longer names are cut */

/* Identifies the file that was read, to see whether it has changed since.  All 0: none. */
struct vmop_perf_map_state {
	uint64_t inode, size_bytes;
	uint64_t modified_ns; /* CLOCK_REALTIME */
	bool is_cut;	      /* it held more than is read */
};

/*
 * Reads the file at path below dir_fd: symbols by address.  Anybody can write such a file in
 * /tmp, so one that isn't owner's (the user that the process runs as) or root's, or is no
 * regular file, or a link, is VMOP_ERROR_CANT.  A line that can't be read, the last one as it is
 * being written, is passed over.  Where *state shows that the file was read already, *ret
 * becomes NULL; else *state is brought up to date.
 */
struct vmop_error *vmop_perf_map_read(int dir_fd, const char *path, uid_t owner,
				      struct vmop_perf_map_state *state, struct vmop_symtab **ret);

/*
 * Code that is moved or compiled anew is written again: where two functions overlap the later
 * counts.  The earlier one ends there, or goes if its beginning is covered.
 * text has len_bytes and a NUL behind them, and is written to.  *ret_is_cut may be NULL.
 */
struct vmop_error *vmop_perf_map_parse(char *text, size_t len_bytes, struct vmop_symtab **ret,
				       bool *ret_is_cut);

#endif
