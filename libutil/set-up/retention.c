// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's keys of how long and how much is kept: keep, max-size, rotate. */
#include <inttypes.h>
#include <string.h>

#include "libutil/clock.h"
#include "libutil/parse.h"
#include "libutil/set-up/span.h"
#include "libutil/setup-key.h"

#define MOST_KEEP_NS (100 * 366 * (86400 * VMOP_NS_PER_S))

struct vmop_error *vmop_setup_set_keep(struct vmop_setup *setup, const char *key, const char *value)
{
	uint64_t ns = 0;
	if (strcmp(value, "off") != 0 &&
	    (!vmop_parse_duration_ns(value, &ns) || !ns || ns > MOST_KEEP_NS))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is neither 'off' nor a time such as 30d", key,
				      value);
	setup->keep_ns = ns;
	return NULL;
}

struct vmop_error *vmop_setup_set_max_size(struct vmop_setup *setup, const char *key,
					   const char *value)
{
	uint64_t bytes = 0;
	if (strcmp(value, "off") != 0 &&
	    (!vmop_parse_size_bytes(value, &bytes) || bytes < VMOP_MAX_SIZE_LEAST_BYTES))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"%s: '%s' is neither 'off' nor a size of at least 16M, such as 2G", key,
			value);
	setup->max_bytes = bytes;
	return NULL;
}

struct vmop_error *vmop_setup_set_rotate(struct vmop_setup *setup, const char *key,
					 const char *value)
{
	struct vmop_setup_rotate rotate = {.is_daily = !strcmp(value, "daily")};
	if (!rotate.is_daily && strcmp(value, "off") != 0 &&
	    (!vmop_parse_size_bytes(value, &rotate.bytes) ||
	     rotate.bytes < VMOP_ROTATE_LEAST_BYTES))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is neither 'off', 'daily' nor a size of at least "
				      "1M, such as 500M",
				      key, value);
	setup->rotate = rotate;
	return NULL;
}

/* An interval that the ladder makes is never longer than its age, so that it is kept at first. */
struct vmop_error *vmop_setup_check_retention(const struct vmop_setup *setup)
{
	struct vmop_span_text keep, flush;
	if (!setup->keep_ns || setup->keep_ns >= setup->flush_ns)
		return NULL;
	vmop_span_text(setup->keep_ns, &keep);
	vmop_span_text(setup->flush_ns, &flush);
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "keep: %s is less than one interval of %s (flush-interval): give "
			      "keep=%s or more",
			      keep.text, flush.text, flush.text);
}

void vmop_setup_put_keep(FILE *out, const char *key, const struct vmop_setup *setup)
{
	struct vmop_span_text keep;
	vmop_span_text(setup->keep_ns, &keep);
	if (setup->keep_ns)
		fprintf(out, "%s = %s\n", key, keep.text);
}

/* Print a size in the largest unit that divides it. */
static void put_size(FILE *out, const char *key, uint64_t bytes)
{
	static const char units[] = "KMGT";
	size_t n = 0;
	while (n < strlen(units) && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		n++;
	}
	fprintf(out, "%s = %" PRIu64 "%.*s\n", key, bytes, n ? 1 : 0, n ? &units[n - 1] : "");
}

void vmop_setup_put_max_size(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->max_bytes)
		put_size(out, key, setup->max_bytes);
}

void vmop_setup_put_rotate(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->rotate.is_daily)
		fprintf(out, "%s = daily\n", key);
	else if (setup->rotate.bytes)
		put_size(out, key, setup->rotate.bytes);
}
