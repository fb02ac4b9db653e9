// SPDX-License-Identifier: GPL-2.0-or-later
/* The keys of the set-up by number, for those who read and write them; setup.h is for all others.
 */
#ifndef VMOP_LIBUTIL_SETUP_KEY_H
#define VMOP_LIBUTIL_SETUP_KEY_H

#include <stdio.h>

#include "libutil/setup.h"

#define VMOP_SETUP_KEYS 14 /* how many there are */

/*
 * The number of the key whose name is the len characters at name, which need no end: it may stand
 * in the middle of a line.  VMOP_SETUP_KEYS: there is none.
 */
size_t vmop_setup_key(const char *name, size_t len);

/* VMOP_ERROR_USAGE: says which there are. */
struct vmop_error *vmop_setup_unknown_key(const char *name);

/* The key's value as lines of the file. */
void vmop_setup_put(FILE *out, size_t key, const struct vmop_setup *setup);

#endif
