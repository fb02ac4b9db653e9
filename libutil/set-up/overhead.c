// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up's keys of the cost of sampling: max-overhead, nice. */
#include <stdlib.h>
#include <string.h>

#include "libutil/parse.h"
#include "libutil/setup-key.h"

/* Parse "0.5%" or "0.5" into 1/10000, independent of the locale: at most two digits follow the
 * point. */
static bool parse_permyriad(const char *value, unsigned *ret)
{
	size_t whole = strspn(value, "0123456789");
	unsigned hundredths = 0;
	const char *rest = value + whole;
	if (!whole || whole > 3)
		return false;
	if (*rest == '.') {
		size_t digits = strspn(rest + 1, "0123456789");
		if (!digits || digits > 2)
			return false;
		hundredths = (unsigned)(rest[1] - '0') * 10 +
			     (digits == 2 ? (unsigned)(rest[2] - '0') : 0);
		rest += 1 + digits;
	}
	if (*rest && strcmp(rest, "%") != 0)
		return false;
	*ret = (unsigned)strtoul(value, NULL, 10) * 100 + hundredths;
	return true;
}

struct vmop_error *vmop_setup_set_max_overhead(struct vmop_setup *setup, const char *key,
					       const char *value)
{
	unsigned permyriad = 0;
	if (strcmp(value, "off") != 0 &&
	    (!parse_permyriad(value, &permyriad) || !permyriad || permyriad > 5000))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is neither 'off' nor a part of all CPUs' time "
				      "between 0.01%% and 50%%, such as 0.5%%",
				      key, value);
	setup->max_overhead_permyriad = permyriad;
	return NULL;
}

void vmop_setup_put_max_overhead(FILE *out, const char *key, const struct vmop_setup *setup)
{
	if (setup->max_overhead_permyriad)
		fprintf(out, "%s = %u.%02u%%\n", key, setup->max_overhead_permyriad / 100,
			setup->max_overhead_permyriad % 100);
}

struct vmop_error *vmop_setup_set_nice(struct vmop_setup *setup, const char *key, const char *value)
{
	uint64_t nice;
	if (!vmop_parse_u64(value, 10, &nice) || nice > 19)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%s: '%s' is not a nice value between 0 and 19", key, value);
	setup->nice = (unsigned)nice;
	return NULL;
}

void vmop_setup_put_nice(FILE *out, const char *key, const struct vmop_setup *setup)
{
	fprintf(out, "%s = %u\n", key, setup->nice);
}
