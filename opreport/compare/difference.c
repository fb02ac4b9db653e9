// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/difference.h"

#include <stdint.h>

struct vmop_interval vmop_difference_side(const struct vmop_comparison *comparison,
					  struct vmop_count count, size_t event, size_t side)
{
	const struct vmop_per *per = &comparison->per;
	const struct vmop_compared_event *of = &comparison->events[event];
	const struct vmop_result *result = &comparison->sides[side].result;
	if (of->slots[side] == SIZE_MAX)
		return (struct vmop_interval){0};
	struct vmop_measure measure = {.row = count,
				       .all = result->selected[of->slots[side]],
				       .exposure = comparison->sides[side].seconds};
	if (per->kind == VMOP_PER_UNITS)
		measure.exposure = per->units[per->n_units == 1 ? 0 : side];
	if (per->kind == VMOP_PER_EVENT) {
		measure.work = result->selected[of->work[side]];
		measure.is_work = of->work[side] == of->slots[side];
	}
	return vmop_per_estimate(per->kind, &measure);
}

static enum vmop_change judge(const struct vmop_difference *difference,
			      const struct vmop_count *counts, size_t other)
{
	if (!difference->difference.is_known || vmop_interval_holds(difference->difference, 0))
		return VMOP_CHANGE_NOISE;
	if (difference->difference.value > 0)
		return counts[0].samples ? VMOP_CHANGE_MORE : VMOP_CHANGE_NEW;
	return counts[other].samples ? VMOP_CHANGE_LESS : VMOP_CHANGE_GONE;
}

struct vmop_difference vmop_difference_of(const struct vmop_comparison *comparison,
					  const struct vmop_count *counts, size_t event,
					  size_t other)
{
	struct vmop_difference ret = {
		.before = vmop_difference_side(comparison, counts[0], event, 0),
		.after = vmop_difference_side(comparison, counts[other], event, other),
	};
	ret.difference = vmop_interval_difference(ret.before, ret.after);
	ret.ratio = vmop_interval_ratio(ret.before, ret.after);
	ret.change = judge(&ret, counts, other);
	return ret;
}

const char *vmop_change_word(enum vmop_change change)
{
	static const char *const words[VMOP_N_CHANGES] = {
		[VMOP_CHANGE_NOISE] = "noise", [VMOP_CHANGE_MORE] = "more",
		[VMOP_CHANGE_LESS] = "less",   [VMOP_CHANGE_NEW] = "new",
		[VMOP_CHANGE_GONE] = "gone",
	};
	return words[change];
}
