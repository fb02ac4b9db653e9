// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/name-table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* If memory runs out, HASH_ADD leaves the element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "libsym/demangle.h"
#include "libutil/cleanup.h"

struct vmop_name {
	UT_hash_handle hh;
	const char *shown; /* the text of this or another entry; NULL: not computed yet */
	char text[];
};

static struct vmop_name *intern(struct vmop_name_table *table, const char *text)
{
	struct vmop_name *name;
	size_t len_bytes = strlen(text);
	HASH_FIND(hh, table->by_text, text, len_bytes, name);
	if (name)
		return name;
	name = calloc(1, sizeof(*name) + len_bytes + 1);
	if (!name)
		return NULL;
	memcpy(name->text, text, len_bytes);
	HASH_ADD_KEYPTR(hh, table->by_text, name->text, len_bytes, name);
	if (!name->hh.tbl) {
		free(name);
		return NULL;
	}
	return name;
}

static const char *find_shown(struct vmop_name_table *table, const struct vmop_name *name)
{
	_cleanup_free_ char *demangled = NULL;
	size_t before = VMOP_NAME_TABLE_MAX_WORK - table->work, left = before;
	if (table->demangle == VMOP_DEMANGLE_NONE)
		return name->text;
	bool has_memory = vmop_demangle_name(name->text, table->demangle == VMOP_DEMANGLE_FULL,
					     &left, &demangled);
	table->work += before - left;
	if (!has_memory || !demangled)
		return name->text;
	const struct vmop_name *shown = intern(table, demangled);
	return shown ? shown->text : name->text;
}

const char *vmop_name_table_show(struct vmop_name_table *table, const char *mangled)
{
	struct vmop_name *name = intern(table, mangled);
	if (!name)
		return mangled;
	if (!name->shown)
		name->shown = find_shown(table, name);
	return name->shown;
}

void vmop_name_table_deinit(struct vmop_name_table *table)
{
	struct vmop_name *name, *next;
	HASH_ITER (hh, table->by_text, name, next) {
		HASH_DEL(table->by_text, name);
		free(name);
	}
}
