// SPDX-License-Identifier: GPL-2.0-or-later
/* The plural of a regular noun behind a number: "%zu row%s", n, vmop_plural(n). */
#ifndef VMOP_LIBUTIL_PLURAL_H
#define VMOP_LIBUTIL_PLURAL_H

#include <stdint.h>

static inline const char *vmop_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
