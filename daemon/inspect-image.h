// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --inspect-image, behind vmopcontrol --inspect=FILE: prints the kernel and processes in a
 * saved image of a guest's memory.
 *
 *	{"image": {"path": "./ram", "ram_bytes": 536870912}, "domain": null, "inside": {...},
 *	 "kernel": {...}, "running": [...], "items": [...], "next": null}
 *
 * The members are those of the reply to an "inspect" request (inspect.h), not split into pages.
 */
#ifndef VMOP_DAEMON_INSPECT_IMAGE_H
#define VMOP_DAEMON_INSPECT_IMAGE_H

#include "libutil/error.h"

/*
 * Inspect the image at path and print JSON to stdout, after giving up all privileges.
 * VMOP_ERROR_CORRUPT: the file is no image. VMOP_ERROR_NOT_FOUND: the image has no kernel.
 */
struct vmop_error *vmop_inspect_image(const char *path);

#endif
