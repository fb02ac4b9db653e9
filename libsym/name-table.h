// SPDX-License-Identifier: GPL-2.0-or-later
/* Texts that are kept once each, and what each is shown as.  Inside libsym only. */
#ifndef VMOP_LIBSYM_NAME_TABLE_H
#define VMOP_LIBSYM_NAME_TABLE_H

#include "libsym/resolver.h"

struct vmop_name_table {
	struct vmop_name *by_text;
	enum vmop_demangle demangle;
	size_t work; /* that demangling has taken */
};

/* Of all names together, about 2 s; past it they stay mangled.  A million real ones take half. */
#define VMOP_NAME_TABLE_MAX_WORK ((size_t)1 << 28)

/*
 * As vmop_resolver_name.  Lives until the table is emptied; without memory it is
 * mangled itself.
 */
const char *vmop_name_table_show(struct vmop_name_table *table, const char *mangled);
void vmop_name_table_deinit(struct vmop_name_table *table);

#endif
