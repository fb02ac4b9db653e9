// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/output.h"

#include <string.h>

static const struct vmop_output *const outputs[] = {
	&vmop_output_table,
	&vmop_output_csv,
	&vmop_output_json,
};

struct vmop_error *vmop_output_find(const char *name, const char *others,
				    const struct vmop_output **ret)
{
	for (size_t i = 0; i < sizeof(outputs) / sizeof(*outputs); i++) {
		if (!strcmp(outputs[i]->name, name)) {
			*ret = outputs[i];
			return NULL;
		}
	}
	return vmop_error_new(VMOP_ERROR_USAGE, "unknown format '%s'; accepted: table, csv, json%s",
			      name, others);
}
