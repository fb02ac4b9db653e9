// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files from debuginfod servers, by build-id. Downloads are bounded by the user's
 * DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE. An unreachable server is tried
 * once. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DEBUGINFOD_CLIENT_H
#define VMOP_LIBSYM_DEBUGINFOD_CLIENT_H

#include <stdbool.h>

#include "libsym/build-id.h"

struct vmop_debuginfod_client;

/*
 * Create a client. NULL: the build has no libdebuginfod, DEBUGINFOD_URLS is not set, the library is
 * not installed (logged as a warning), or memory ran out.
 */
struct vmop_debuginfod_client *vmop_debuginfod_client_create(void);
void vmop_debuginfod_client_destroy(struct vmop_debuginfod_client *client); /* NULL is allowed */

enum vmop_debuginfod_what { VMOP_DEBUGINFOD_EXECUTABLE, VMOP_DEBUGINFOD_DEBUG_INFO };

/* Return a descriptor that the caller closes, or -1. client may be NULL. */
int vmop_debuginfod_client_find(struct vmop_debuginfod_client *client,
				enum vmop_debuginfod_what what,
				const struct vmop_build_id *build_id);

/*
 * Do the same for a source file of the program with that build-id. path is absolute, as in its
 * DWARF.
 */
int vmop_debuginfod_client_find_source(struct vmop_debuginfod_client *client,
				       const struct vmop_build_id *build_id, const char *path);

#endif
