// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/label.h"

#include <stdio.h>
#include <string.h>

static bool is_any_of(const char *name, const char *const *words)
{
	while (*words && strcmp(name, *words) != 0)
		words++;
	return *words != NULL;
}

/* "NAME #12" */
static bool ends_with_number(const char *name)
{
	const char *mark = strrchr(name, '#');
	return mark && mark > name && mark[-1] == ' ' && mark[1] &&
	       !mark[1 + strspn(mark + 1, "0123456789")];
}

static bool is_like_a_domain(const char *name)
{
	static const char *const words[] = {"host", "dom0", "xen", NULL};
	size_t len = strlen(name);
	return is_any_of(name, words) || ends_with_number(name) || (len && name[len - 1] == ')');
}

/* Module names are identifiers, and no identifier is one of vmop's own words. */
static bool is_module(const char *name)
{
	static const char *const words[] = {"[kernel]",	  "[xen]",     "[vdso]", "[vdso32]",
					    "[vsyscall]", "[unknown]", NULL};
	size_t len = strspn(name + (*name == '['), "abcdefghijklmnopqrstuvwxyz"
						   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	return *name == '[' && len && !strcmp(name + 1 + len, "]") && !is_any_of(name, words);
}

bool vmop_label_is_quoted(enum vmop_label kind, const char *name)
{
	if (kind == VMOP_LABEL_MODULE && *name == '[')
		return !is_module(name);
	if (kind == VMOP_LABEL_SYMBOL && !strcmp(name, "[plt]"))
		return false;
	if (*name == '[' || *name == '\'')
		return true;
	return (kind == VMOP_LABEL_SYMBOL && !strcmp(name, "(no symbols)")) ||
	       (kind == VMOP_LABEL_DOMAIN && is_like_a_domain(name));
}

char *vmop_label(enum vmop_label kind, const char *name)
{
	char *label;
	size_t len = strlen(name);
	if (!vmop_label_is_quoted(kind, name))
		return strdup(name);
	if (kind == VMOP_LABEL_MODULE && *name == '[' && len > 1 && name[len - 1] == ']')
		return asprintf(&label, "['%.*s']", (int)len - 2, name + 1) < 0 ? NULL : label;
	return asprintf(&label, "'%s'", name) < 0 ? NULL : label;
}
