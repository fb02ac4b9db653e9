// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol as the folders hand it to each other: read by libsym (ELF, kallsyms)
 * or libguest (a guest's memory), stored by libdb, resolved by readers.
 */
#ifndef VMOP_SYMBOL_H
#define VMOP_SYMBOL_H

#include <stdint.h>

struct vmop_symbol {
	uint64_t offset;    /* in its image, as enum vmop_image_kind says; or an address */
	uint64_t len_bytes; /* 0: not known, it reaches to the next symbol */
	const char *name;   /* mangled as found; owned by whoever made the array */
	char type;	    /* as nm(1) prints it: 't', 'T', 'w', ...; 0 not known */
};

#endif
