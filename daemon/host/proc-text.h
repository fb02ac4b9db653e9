// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of /proc/PID whose reading a process can hold up: maps waits for the lock of its memory,
 * cmdline reads that memory, which can be a file on a file system that does not answer.  So they
 * are read with a time limit, on a thread that is left behind if it hangs (readers.h).
 */
#ifndef VMOP_DAEMON_HOST_PROC_TEXT_H
#define VMOP_DAEMON_HOST_PROC_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

/* A read that takes longer is given up; when several hang, sooner (see readers.h). */
#define VMOP_PROC_TEXT_MS 500

struct vmop_proc_text;

struct vmop_error *vmop_proc_text_create(struct vmop_proc_text **ret);
void vmop_proc_text_destroy(struct vmop_proc_text *reader); /* NULL is allowed */

/*
 * Reads the file `name` of process pid below root, up to max_bytes, into *ret, which is
 * NUL-terminated and the caller's to free.  Returns its length, or -1 with errno; ETIMEDOUT: it was
 * not read in time, or another process of that user or too many others hang.  reader NULL: without
 * a limit, for a process that is trusted.
 */
ssize_t vmop_proc_text_read(struct vmop_proc_text *reader, const char *root, uint32_t pid,
			    const char *name, size_t max_bytes, char **ret);

#endif
