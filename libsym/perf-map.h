// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /tmp/perf-PID.map: where a just-in-time compiler has put which function
 * (the kernel's tools/perf/Documentation/jit-interface.txt).
 */
#ifndef VMOP_LIBSYM_PERF_MAP_H
#define VMOP_LIBSYM_PERF_MAP_H

#include <stddef.h>
#include <sys/types.h>

#include "libsym/symtab.h"

/* What a program of years writes; more of it is not read. */
#define VMOP_PERF_MAP_MAX_BYTES ((size_t)64 << 20)

/*
 * Reads the file at path: symbols by address.  Anybody can write such a file in
 * /tmp, so one that isn't owner's (the user that the process runs as) or root's, or is no
 * regular file, is VMOP_ERROR_CANT.  Code that is moved or compiled anew is
 * written again: where two functions begin at one address the later counts.  A line
 * that can't be read, the last one as it is being written, is passed over.
 */
struct vmop_error *vmop_perf_map_read(const char *path, uid_t owner, struct vmop_symtab **ret);

/* text has len_bytes and a NUL behind them, and is written to. */
struct vmop_error *vmop_perf_map_parse(char *text, size_t len_bytes, struct vmop_symtab **ret);

#endif
