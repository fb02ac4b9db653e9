// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Read /tmp/perf-PID.map, in which a just-in-time compiler lists its functions (the kernel's
 * tools/perf/Documentation/jit-interface.txt).
 */
#ifndef VMOP_LIBSYM_JIT_PERF_MAP_H
#define VMOP_LIBSYM_JIT_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libsym/symtab.h"

/* Limits for one file. A program that runs for years writes less. */
#define VMOP_PERF_MAP_MAX_BYTES ((size_t)32 << 20)
#define VMOP_PERF_MAP_MAX_FUNCTIONS ((size_t)256 << 10)
#define VMOP_PERF_MAP_MAX_NAME_BYTES 4096 /* longer names are cut */

/* Identity of the file that was read, to detect a change. All 0: none read. */
struct vmop_perf_map_state {
	uint64_t inode, size_bytes;
	uint64_t modified_ns; /* CLOCK_REALTIME */
	bool is_cut;	      /* the file has more than was read */
};

/*
 * Read the symbols, by address, of the file at path relative to dir_fd.
 *
 * Any user can create such a file in /tmp. Therefore the file must be a regular file, not a link,
 * and belong to owner (the user that the process runs as) or root; else VMOP_ERROR_CANT. A
 * malformed line, or the last one while it is being written, is skipped. If *state shows that the
 * file has not changed since the last read, *ret is NULL; else *state is updated.
 */
struct vmop_error *vmop_perf_map_read(int dir_fd, const char *path, uid_t owner,
				      struct vmop_perf_map_state *state, struct vmop_symtab **ret);

/*
 * Parse the text of such a file. A compiler writes a new line when it moves or recompiles code: if
 * two functions overlap, the later line wins. The earlier function ends there, or is dropped if its
 * start is covered. text has len_bytes and a NUL behind them, and is modified. ret_is_cut may be
 * NULL.
 */
struct vmop_error *vmop_perf_map_parse(char *text, size_t len_bytes, struct vmop_symtab **ret,
				       bool *ret_is_cut);

#endif
