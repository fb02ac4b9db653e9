// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of who takes the samples of active guests. */
#include <string.h>

#include "libutil/setup-key.h"

struct vmop_error *vmop_setup_set_active_samples(struct vmop_setup *setup, const char *key,
						 const char *value)
{
	bool is_host = !strcmp(value, "host");
	if (!is_host && strcmp(value, "guest") != 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' is not one of guest, host", key,
				      value);
	setup->active_samples_by_host = is_host;
	return NULL;
}

void vmop_setup_put_active_samples(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->active_samples_by_host)
		fprintf(out, "%s = host\n", key);
}
