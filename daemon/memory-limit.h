// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory that the cgroup of the daemon leaves it (systemd's MemoryMax=, memory.max and
 * memory.high of cgroup v2, memory.limit_in_bytes of v1; Documentation/admin-guide/cgroup-v2.rst of
 * the kernel). The kernel kills what goes beyond. So vmopd makes its tables as large as the limit
 * allows, limits its own allocations, so that they fail and are counted instead, and drops what it
 * can do without while memory is short.
 *
 * All functions belong to the session's thread.
 */
#ifndef VMOP_DAEMON_MEMORY_LIMIT_H
#define VMOP_DAEMON_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

/* A cgroup of the daemon: its own, or one above, whichever leaves the least memory. */
struct vmop_memory_limit {
	uint64_t limit_bytes; /* 0: none of them has a limit */
	uint64_t left_bytes;  /* without the pages that the kernel can take back from files */
};

/*
 * Read the present limit. root is the parent of /proc and of the cgroups' mount: "". Without
 * cgroups, or without the right to read them, there is no limit.
 */
void vmop_memory_limit_read(const char *root, struct vmop_memory_limit *ret);

/* The least memory that a session needs: VMOP_ERROR_LIMIT if the cgroup leaves less. */
#define VMOP_MEMORY_LEAST_BYTES ((uint64_t)16 << 20)
struct vmop_error *vmop_memory_limit_check(const struct vmop_memory_limit *limit);

/*
 * Return whether memory is short: at most an eighth is left. was_short: until then, it takes a
 * quarter to be enough again.
 */
bool vmop_memory_limit_is_short(const struct vmop_memory_limit *limit, bool was_short);

/*
 * Let allocations of this process fail (RLIMIT_DATA) before the kernel kills it. Call it again with
 * each new reading; without a limit allocations are not limited.
 */
void vmop_memory_limit_guard(const struct vmop_memory_limit *limit);

/*
 * Set whether this process gets no huge pages: the first byte that is written in one takes 2 MiB of
 * the limit. What is huge already stays so.
 */
void vmop_memory_limit_use_small_pages(bool only_small);

#endif
