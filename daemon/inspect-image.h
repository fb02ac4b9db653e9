// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --inspect-image and --inspect-guest, behind vmopcontrol --inspect=FILE and
 * --inspect=GUEST --stacks: print the kernel and processes in a saved image of a guest's memory, or
 * in the memory of a running guest.
 *
 *	{"image": {"path": "./ram", "ram_bytes": 536870912}, "domain": null, "inside": {...},
 *	 "kernel": {...}, "running": [...], "items": [...], "next": null}
 *
 * The members are those of the reply to an "inspect" request (inspect.h), not split into pages, and
 * on request those of inspect-stacks.h. "image" is null for a running guest.
 */
#ifndef VMOP_DAEMON_INSPECT_IMAGE_H
#define VMOP_DAEMON_INSPECT_IMAGE_H

#include <stdbool.h>

#include "libutil/error.h"

/*
 * Inspect the image at path and print JSON to stdout, after giving up all privileges.
 * VMOP_ERROR_CORRUPT: the file is no image. VMOP_ERROR_NOT_FOUND: the image has no kernel, or with
 * with_stacks no threads that vmop can read.
 */
struct vmop_error *vmop_inspect_image(const char *path, bool with_stacks);

/*
 * The same for a running guest: the pid of its VMM, or "xen:" and the number of a domain. It runs
 * on meanwhile. VMOP_ERROR_USAGE: neither of the two. VMOP_ERROR_CANT: no permission.
 */
struct vmop_error *vmop_inspect_guest(const char *name, bool with_stacks);

#endif
