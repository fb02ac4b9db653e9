// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's key of the largest session that is fetched from an active guest. */
#include <inttypes.h>
#include <string.h>

#include "libutil/parse.h"
#include "libutil/setup-key.h"

#define LEAST_BYTES ((uint64_t)1 << 20)
#define MOST_BYTES ((uint64_t)1 << 32)

struct vmop_error *vmop_setup_set_fetch_size(struct vmop_setup *setup, const char *key,
					     const char *value)
{
	uint64_t bytes = 0;
	bool is_size =
		vmop_parse_size_bytes(value, &bytes) && bytes >= LEAST_BYTES && bytes <= MOST_BYTES;
	if (!is_size && strcmp(value, "off") != 0)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not off, or a size between 1M and 4G", key,
				      value);
	setup->fetch_bytes = is_size ? bytes : 0;
	return NULL;
}

void vmop_setup_put_fetch_size(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (!setup->fetch_bytes)
		fprintf(out, "%s = off\n", key);
	else if (setup->fetch_bytes != VMOP_FETCH_DEFAULT_BYTES)
		fprintf(out, "%s = %" PRIu64 "\n", key, setup->fetch_bytes);
}
