// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of sampled pages of generated code, which no file has and which are gone with their
 * process. A separate thread reads them from the process's memory (readers.h) after the first
 * samples in a page, and again after later ones, because a just-in-time compiler replaces code. A
 * page is stored when it is new or has changed. Samples that a jitdump placed are at offsets of it,
 * and so the bytes of their pages are read from it.
 *
 * The bytes are hostile, and are stored as they are. A read may block for ever: the program can
 * back its memory by userfaultfd(2) or FUSE. This unit bounds the number and the stored bytes of
 * pages.
 */
#ifndef VMOP_DAEMON_HOST_JIT_CODE_PAGES_H
#define VMOP_DAEMON_HOST_JIT_CODE_PAGES_H

#include "daemon/host/jit/jitdumps.h"
#include "daemon/host/process.h"
#include "libdb/db.h"

/* Pages of a session, pages that are read for one interval, and versions of a page. */
#define VMOP_CODE_PAGES_MAX 65536
#define VMOP_CODE_PAGES_READ_MAX 1024
#define VMOP_CODE_PAGE_VERSIONS_MAX 16

struct vmop_code_pages;

/*
 * max_bytes: of all stored pages, as the session file holds them. processes must outlive *ret.
 */
struct vmop_error *vmop_code_pages_create(struct vmop_processes *processes, uint64_t max_bytes,
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

/*
 * Put the pages that were read. Call it in the transaction of an interval, and
 * vmop_code_pages_stored after its commit; otherwise they are put again.
 */
struct vmop_error *vmop_code_pages_store(struct vmop_code_pages *pages, struct vmop_db *db);
void vmop_code_pages_stored(struct vmop_code_pages *pages);

#endif
