// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/stack-filter.h"

static bool has_words(const struct vmop_words *words)
{
	return words && words->n;
}

bool vmop_stack_filter_is_empty(const struct vmop_stack_filter *filter)
{
	return !has_words(filter->any) && !has_words(filter->caller) && !has_words(filter->callee);
}

/* As --include-symbols does: the name as shown, or as the image has it. */
static bool matches(const struct vmop_words *words, const char *shown,
		    const struct vmop_symbol *symbol)
{
	return has_words(words) && (vmop_words_match(words, shown) ||
				    (symbol && vmop_words_match(words, symbol->name)));
}

uint8_t vmop_stack_filter_match(const struct vmop_stack_filter *filter, struct vmop_result *result,
				struct vmop_frame *frame)
{
	if (vmop_frame_is_group(frame) || vmop_stack_filter_is_empty(filter))
		return 0;
	const char *name = vmop_frame_symbol_name(result, frame);
	const struct vmop_symbol *symbol = frame->key.symbol;
	return (uint8_t)((matches(filter->any, name, symbol) ? VMOP_MATCHES_ANY : 0) |
			 (matches(filter->caller, name, symbol) ? VMOP_MATCHES_CALLER : 0) |
			 (matches(filter->callee, name, symbol) ? VMOP_MATCHES_CALLEE : 0));
}

bool vmop_stack_filter_passes(const struct vmop_stack_filter *filter, uint8_t callers, uint8_t leaf)
{
	return (!has_words(filter->any) || ((callers | leaf) & VMOP_MATCHES_ANY)) &&
	       (!has_words(filter->caller) || (callers & VMOP_MATCHES_CALLER)) &&
	       (!has_words(filter->callee) || (leaf & VMOP_MATCHES_CALLEE));
}
