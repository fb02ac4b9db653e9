// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol, as the folders pass it to each other. libsym (ELF, kallsyms) and libguest (a guest's
 * memory) read symbols, libdb stores them, and readers resolve addresses with them.
 */
#ifndef VMOP_SYMBOL_H
#define VMOP_SYMBOL_H

#include <stdint.h>

struct vmop_symbol {
	uint64_t offset;    /* in its image, as enum vmop_image_kind defines; or an address */
	uint64_t len_bytes; /* 0: unknown; it reaches to the next symbol */
	const char *name;   /* mangled, as read; owned by the maker of the array */
	char type;	    /* as nm(1) prints it: 't', 'T', 'w', ...; 0: unknown */
};

#endif
