// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of what guests run at their samples. */
#include <string.h>

#include "libutil/setup-key.h"

static const char *const words[] = {
	[VMOP_SETUP_CONTEXT_AUTO] = "auto",
	[VMOP_SETUP_CONTEXT_ON] = "on",
	[VMOP_SETUP_CONTEXT_OFF] = "off",
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

struct vmop_error *vmop_setup_set_guest_context(struct vmop_setup *setup, const char *key,
						const char *value)
{
	size_t i = 0;
	while (i < N_WORDS && strcmp(words[i], value) != 0)
		i++;
	if (i == N_WORDS)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: '%s' is not one of on, off, auto", key,
				      value);
	setup->guest_context = (enum vmop_setup_context)i;
	return NULL;
}

void vmop_setup_put_guest_context(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->guest_context != VMOP_SETUP_CONTEXT_AUTO)
		fprintf(out, "%s = %s\n", key, words[setup->guest_context]);
}

bool vmop_setup_wants_guest_context(const struct vmop_setup *setup)
{
	const struct vmop_setup_list *guests = &setup->passive_domains;
	bool has_guests = guests->n && strcmp(guests->items[0], "none") != 0;
	return setup->guest_context == VMOP_SETUP_CONTEXT_ON ||
	       (setup->guest_context == VMOP_SETUP_CONTEXT_AUTO && has_guests &&
		setup->guest_cpu_permille);
}
