// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files from debuginfod servers, by build-id.  Bounded by what the user has set in
 * DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME and DEBUGINFOD_MAXSIZE; a server that
 * can't be reached is asked once.  Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DEBUGINFOD_CLIENT_H
#define VMOP_LIBSYM_DEBUGINFOD_CLIENT_H

#include <stdbool.h>

#include "libsym/build-id.h"

struct vmop_debuginfod_client;

/*
 * NULL where the build has no libdebuginfod, DEBUGINFOD_URLS is not set, the library is not
 * installed (a warning says so), or memory is short.
 */
struct vmop_debuginfod_client *vmop_debuginfod_client_create(void);
void vmop_debuginfod_client_destroy(struct vmop_debuginfod_client *client); /* NULL is allowed */

enum vmop_debuginfod_what { VMOP_DEBUGINFOD_EXECUTABLE, VMOP_DEBUGINFOD_DEBUG_INFO };

/* A descriptor that the caller closes; -1: none. client may be NULL. */
int vmop_debuginfod_client_find(struct vmop_debuginfod_client *client,
				enum vmop_debuginfod_what what,
				const struct vmop_build_id *build_id);

#endif
