// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of the room for generated code. */
#include <inttypes.h>
#include <string.h>

#include "libutil/parse.h"
#include "libutil/setup-key.h"

#define LEAST_BYTES ((uint64_t)64 << 10)
#define MOST_BYTES ((uint64_t)1 << 30)

struct vmop_error *vmop_setup_set_code(struct vmop_setup *setup, const char *key, const char *value)
{
	uint64_t bytes = 0;
	if (!strcmp(value, "on"))
		bytes = VMOP_CODE_DEFAULT_BYTES;
	else if (strcmp(value, "off") != 0 && (!vmop_parse_size_bytes(value, &bytes) ||
					       bytes < LEAST_BYTES || bytes > MOST_BYTES))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not on, off, or a size between 64K and 1G", key,
				      value);
	setup->code_bytes = bytes;
	return NULL;
}

void vmop_setup_put_code(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (!setup->code_bytes)
		fprintf(out, "%s = off\n", key);
	else if (setup->code_bytes != VMOP_CODE_DEFAULT_BYTES)
		fprintf(out, "%s = %" PRIu64 "\n", key, setup->code_bytes);
}
