// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of sampled pages of generated code, which no file has and which are gone with their
 * process. A separate thread reads them from the process's memory (readers.h) after the first
 * samples in a page, and again after later ones, because a just-in-time compiler replaces code. A
 * page is stored (daemon/host/code/code-store.h) when it is new or has changed. Samples that a
 * jitdump placed are at offsets of it, and so the bytes of their pages are read from it.
 *
 * A read may block for ever: the program can back its memory by userfaultfd(2) or FUSE.
 */
#ifndef VMOP_DAEMON_HOST_JIT_CODE_PAGES_H
#define VMOP_DAEMON_HOST_JIT_CODE_PAGES_H

#include "daemon/host/code/code-store.h"
#include "daemon/host/jit/jitdumps.h"
#include "daemon/host/process.h"
#include "libdb/db.h"

struct vmop_code_pages;

/* processes and store must outlive *ret. */
struct vmop_error *vmop_code_pages_create(struct vmop_processes *processes,
					  struct vmop_code_store *store,
					  struct vmop_code_pages **ret);
void vmop_code_pages_destroy(struct vmop_code_pages *pages); /* NULL is allowed */

/*
 * Note that an offset of an image has samples in the interval that is stored next. No effect unless
 * image is generated code of the host, at its address or in a jitdump of dumps. Gives image its id
 * in the session.
 */
void vmop_code_pages_sampled(struct vmop_code_pages *pages, const struct vmop_jitdumps *dumps,
			     struct vmop_image *image, uint64_t offset);

/*
 * Submit reads of the noted pages, and take the finished ones, waiting up to wait_ms for all.
 */
void vmop_code_pages_collect(struct vmop_code_pages *pages, unsigned wait_ms);

#endif
