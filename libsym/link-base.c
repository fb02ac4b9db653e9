// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/link-base.h"

#include <string.h>

static const struct vmop_symbol *find(const struct vmop_symtab *symtab, const char *name)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(symbols[i].name, name))
			return &symbols[i];
	return NULL;
}

struct vmop_error *vmop_link_base(struct vmop_resolver *resolver, const struct vmop_image_ref *ref,
				  uint64_t *ret, const char **ret_reason)
{
	const struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_resolver_symtab(resolver, ref, &symtab, ret_reason);
	if (err)
		return err;
	const struct vmop_symbol *text = symtab ? find(symtab, "_text") : NULL;
	if (symtab && !text)
		text = find(symtab, "_stext");
	if (text) {
		*ret = text->offset;
		*ret_reason = NULL;
	} else if (symtab) {
		*ret_reason = "it has no symbol _text";
	}
	return NULL;
}
