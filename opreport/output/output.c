// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/output.h"

#include <string.h>

static const struct vmop_output *const outputs[] = {
	&vmop_output_table,
	&vmop_output_csv,
	&vmop_output_json,
	&vmop_output_xml,
};

struct vmop_error *vmop_output_find(const char *name, bool with_symbol_formats, const char *others,
				    const struct vmop_output **ret)
{
	char accepted[80] = "";
	size_t len = 0;
	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++) {
		if (outputs[i]->by_symbol && !with_symbol_formats)
			continue;
		if (!strcmp(outputs[i]->name, name)) {
			*ret = outputs[i];
			return NULL;
		}
		len += (size_t)snprintf(accepted + len, sizeof(accepted) - len, "%s%s",
					len ? ", " : "", outputs[i]->name);
	}
	return vmop_error_new(VMOP_ERROR_USAGE, "unknown format '%s'; accepted: %s%s", name,
			      accepted, others);
}
