// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/time-extents.h"

#include <stdbool.h>

static bool is_empty(const struct vmop_time_extent *extent)
{
	return extent->to_ns <= extent->from_ns;
}

void vmop_time_extents_add(struct vmop_time_extents *extents, size_t span, uint64_t from_ns,
			   uint64_t to_ns)
{
	struct vmop_time_extent *extent = &extents->spans[span];
	const struct vmop_time_extent added = {from_ns, to_ns};
	if (is_empty(&added))
		return;
	if (is_empty(extent)) {
		*extent = added;
		return;
	}
	if (from_ns < extent->from_ns)
		extent->from_ns = from_ns;
	if (to_ns > extent->to_ns)
		extent->to_ns = to_ns;
}

void vmop_time_extents_halve(struct vmop_time_extents *extents, size_t n_spans)
{
	for (size_t i = 0; i < n_spans; i++) {
		const struct vmop_time_extent extent = extents->spans[i];
		extents->spans[i] = (struct vmop_time_extent){0};
		vmop_time_extents_add(extents, i / 2, extent.from_ns, extent.to_ns);
	}
}

void vmop_time_extents_part(struct vmop_time_extents *extents, size_t n_spans, uint64_t start_ns,
			    uint64_t len_ns)
{
	struct vmop_time_extent *before = NULL;
	for (size_t i = 0; i < n_spans; i++) {
		struct vmop_time_extent *extent = &extents->spans[i];
		if (is_empty(extent))
			continue;
		if (before && before->to_ns > extent->from_ns) {
			uint64_t bound_ns = start_ns + i * len_ns;
			if (bound_ns < extent->from_ns)
				bound_ns = extent->from_ns;
			if (bound_ns > before->to_ns)
				bound_ns = before->to_ns;
			before->to_ns = extent->from_ns = bound_ns;
		}
		before = extent;
	}
}
