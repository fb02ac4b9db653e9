// SPDX-License-Identifier: GPL-2.0-or-later
/* A line of source, as DWARF names it. */
#ifndef VMOP_LIBSYM_LINE_H
#define VMOP_LIBSYM_LINE_H

#include <stdint.h>

/* Strings are raw bytes of the file's choice. */
struct vmop_line {
	const char *path;   /* as the compiler wrote it, possibly relative to folder; NULL: none */
	const char *folder; /* in which the compiler ran, or "" */
	uint32_t number;    /* from 1; 0: the code is of no line */
};

#endif
