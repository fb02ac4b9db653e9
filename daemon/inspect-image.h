// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --inspect-image, which vmopcontrol --inspect=FILE shows: what a saved image of a guest's
 * memory tells.
 *
 *	{"image": {"path": "./ram", "ram_bytes": 536870912}, "domain": null, "inside": {...},
 *	 "kernel": {...}, "running": [...], "items": [...], "next": null}
 *
 * as the reply to an "inspect" request (inspect.h) has it, in one piece.
 */
#ifndef VMOP_DAEMON_INSPECT_IMAGE_H
#define VMOP_DAEMON_INSPECT_IMAGE_H

#include "libutil/error.h"

/*
 * Looks into the image at path and prints JSON to stdout.  Needs no privileges, and gives up
 * those it has.  VMOP_ERROR_CORRUPT: no image; VMOP_ERROR_NOT_FOUND: no kernel in it.
 */
struct vmop_error *vmop_inspect_image(const char *path);

#endif
