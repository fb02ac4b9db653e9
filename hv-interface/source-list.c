// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/source-list.h"

#include <string.h>

#include "hv-interface/handed/handed.h"
#include "hv-interface/perf/perf.h"
#include "hv-interface/replay/replay.h"
#include "hv-interface/xen/link.h"
#include "hv-interface/xen/xen.h"

static const struct vmop_source_ops *const sources[] = {
	&vmop_source_perf_ops,
	&vmop_source_xen_ops,
	&vmop_source_handed_ops,
	&vmop_source_replay_ops,
};

const struct vmop_source_ops *vmop_source_find(const char *name)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	}
	return NULL;
}

const struct vmop_source_ops *vmop_source_pick(const char **ret_note)
{
	*ret_note = NULL;
	if (!vmop_xen_is_control_domain(NULL))
		return &vmop_source_perf_ops;
	if (vmop_xen_has_xenoprof())
		return &vmop_source_xen_ops;
	*ret_note = "this Xen has no xenoprof (off by default since 4.18, gone in 4.22)";
	return &vmop_source_perf_ops;
}
