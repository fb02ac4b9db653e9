// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/scale.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "libutil/clock.h"

#define MINUTE_NS (60 * VMOP_NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)

double vmop_scale_step(double max, unsigned n_max)
{
	if (!(max > 0))
		return 1;
	double least = max / n_max, power = pow(10, floor(log10(least)));
	static const double factors[] = {1, 2, 5, 10};
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		if (factors[i] * power >= least * (1 - 1e-9))
			return factors[i] * power;
	}
	return 10 * power;
}

void vmop_scale_number(double value, char ret[VMOP_SCALE_TEXT_BYTES])
{
	static const char units[] = "\0kMGTPE";
	unsigned unit = 0;
	while (value >= (unit ? 999.5 : 9999.5) && unit + 1 < sizeof(units) - 1) {
		value /= 1000;
		unit++;
	}
	const char suffix[2] = {units[unit], '\0'};
	if (value >= 99.95 || value == 0)
		snprintf(ret, VMOP_SCALE_TEXT_BYTES, "%.0f%s", value, suffix);
	else
		snprintf(ret, VMOP_SCALE_TEXT_BYTES, "%.3g%s", value, suffix);
}

uint64_t vmop_scale_time_step(uint64_t min_ns, uint64_t unit_ns)
{
	static const uint64_t steps[] = {1000000,
					 2000000,
					 5000000,
					 10000000,
					 20000000,
					 50000000,
					 100000000,
					 200000000,
					 500000000,
					 VMOP_NS_PER_S,
					 2 * VMOP_NS_PER_S,
					 5 * VMOP_NS_PER_S,
					 10 * VMOP_NS_PER_S,
					 15 * VMOP_NS_PER_S,
					 30 * VMOP_NS_PER_S,
					 MINUTE_NS,
					 2 * MINUTE_NS,
					 5 * MINUTE_NS,
					 10 * MINUTE_NS,
					 15 * MINUTE_NS,
					 30 * MINUTE_NS,
					 HOUR_NS,
					 2 * HOUR_NS,
					 3 * HOUR_NS,
					 6 * HOUR_NS,
					 12 * HOUR_NS,
					 DAY_NS,
					 2 * DAY_NS,
					 7 * DAY_NS,
					 14 * DAY_NS,
					 28 * DAY_NS};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		if (steps[i] >= min_ns &&
		    (!unit_ns || steps[i] <= unit_ns || steps[i] % unit_ns == 0))
			return steps[i];
	}
	uint64_t last = 28 * DAY_NS;
	return (min_ns / last + 1) * last;
}

void vmop_scale_time(uint64_t span_ns, char ret[VMOP_SCALE_TEXT_BYTES])
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{DAY_NS, "d"}, {HOUR_NS, "h"}, {MINUTE_NS, "m"}, {VMOP_NS_PER_S, "s"}};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (span_ns && span_ns % units[i].ns == 0) {
			snprintf(ret, VMOP_SCALE_TEXT_BYTES, "%" PRIu64 "%s", span_ns / units[i].ns,
				 units[i].name);
			return;
		}
	}
	snprintf(ret, VMOP_SCALE_TEXT_BYTES, "%.10gs", (double)span_ns / 1e9);
}
