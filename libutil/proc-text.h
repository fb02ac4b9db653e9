// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads files of /proc/PID that a process can block: maps waits for the lock of its memory, and
 * cmdline reads that memory, which can be a file on a hanging file system. So they are read with a
 * time limit, on a thread that is abandoned if it hangs (readers.h).
 */
#ifndef VMOP_LIBUTIL_PROC_TEXT_H
#define VMOP_LIBUTIL_PROC_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

/* The time limit of a read, which is shorter while others hang (readers.h). */
#define VMOP_PROC_TEXT_MS 500

struct vmop_proc_text;

struct vmop_error *vmop_proc_text_create(struct vmop_proc_text **ret);
void vmop_proc_text_destroy(struct vmop_proc_text *reader); /* NULL is allowed */

/*
 * Read up to max_bytes of the file `name` of process pid below root into *ret, NUL-terminated. The
 * caller frees *ret. Return the length, or -1 with errno. ETIMEDOUT: the time is over, or another
 * process of that user hangs, or too many others do. With reader NULL there is no time limit, for a
 * trusted process.
 */
ssize_t vmop_proc_text_read(struct vmop_proc_text *reader, const char *root, uint32_t pid,
			    const char *name, size_t max_bytes, char **ret);

#endif
