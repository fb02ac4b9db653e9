// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of the time of vCPUs. */
#include <string.h>

#include "libutil/setup-key.h"

struct vmop_error *vmop_setup_set_waits(struct vmop_setup *setup, const char *key,
					const char *value)
{
	bool is_on = !strcmp(value, "on");
	if (!is_on && strcmp(value, "off") != 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' is not on or off", key, value);
	setup->waits = is_on;
	return NULL;
}

void vmop_setup_put_waits(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->waits)
		fprintf(out, "%s = on\n", key);
}
