// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of names, each stored once with its demangled form. Inside libsym only. */
#ifndef VMOP_LIBSYM_NAME_TABLE_H
#define VMOP_LIBSYM_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "libsym/resolver.h"

struct vmop_name_slot {
	uint64_t hash;		/* of its text */
	struct vmop_name *name; /* NULL: free */
};

/* A zeroed table, with the wanted form of names, is empty. */
struct vmop_name_table {
	struct vmop_name_slot *slots; /* n_slots, a power of two; at most half of them are used */
	size_t n, n_slots;
	uint64_t seed;			/* of the hashes */
	struct vmop_name_block *blocks; /* of memory: the last one first */
	enum vmop_demangle demangle;
	struct vmop_name_cache *cache; /* of earlier runs; NULL: none. Not owned. */
	size_t work;		       /* spent on demangling */
};

/*
 * The limit for all names together, about 2 s; later names stay mangled. A million real names take
 * half of it.
 */
#define VMOP_NAME_TABLE_MAX_WORK ((size_t)1 << 28)

/*
 * Return the name to show, as vmop_resolver_name() does. It lives until the table is emptied.
 * Returns mangled if memory runs out.
 */
const char *vmop_name_table_show(struct vmop_name_table *table, const char *mangled);
void vmop_name_table_deinit(struct vmop_name_table *table);

#endif
