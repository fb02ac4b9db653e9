// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/stack-end.h"

#include <stddef.h>

static const struct {
	const char *text, *word;
} ends[VMOP_N_STACK_ENDS] = {
	[VMOP_STACK_END_UNKNOWN] = {"unknown end", "unknown"},
	[VMOP_STACK_COMPLETE] = {"complete", "complete"},
	[VMOP_STACK_DEPTH_LIMIT] = {"too deep", "depth_limit"},
	[VMOP_STACK_COPY_SHORT] = {"copy too small", "copy_short"},
	[VMOP_STACK_NO_CFI] = {"no unwind information", "no_cfi"},
	[VMOP_STACK_UNREADABLE] = {"unwind information unreadable", "unreadable"},
	[VMOP_STACK_TORN] = {"torn", "torn"},
	[VMOP_STACK_NOT_RECORDED] = {"not recorded", "not_recorded"},
	[VMOP_STACK_TABLE_LATE] = {"unwind tables late", "table_late"},
	[VMOP_STACK_TOO_MANY] = {"too many stacks", "too_many"},
	[VMOP_STACK_OUTDATED] = {"unwound by old mappings", "outdated"},
};

const char *vmop_stack_end_text(unsigned end)
{
	return ends[end < VMOP_N_STACK_ENDS ? end : VMOP_STACK_END_UNKNOWN].text;
}

const char *vmop_stack_end_word(unsigned end)
{
	return ends[end < VMOP_N_STACK_ENDS ? end : VMOP_STACK_END_UNKNOWN].word;
}

void vmop_stack_ends_print(FILE *out, const uint64_t n_by_end[VMOP_N_STACK_ENDS], uint64_t n_others)
{
	uint64_t all = n_others;
	for (size_t end = 0; end < VMOP_N_STACK_ENDS; end++)
		all += n_by_end[end];
	double percent = all ? 100 / (double)all : 0;
	fprintf(out, "%.1f %% complete", (double)n_by_end[VMOP_STACK_COMPLETE] * percent);
	for (unsigned end = 0; end < VMOP_N_STACK_ENDS; end++)
		if (n_by_end[end] && end != VMOP_STACK_COMPLETE)
			fprintf(out, ", %.1f %% %s", (double)n_by_end[end] * percent,
				vmop_stack_end_text(end));
}
