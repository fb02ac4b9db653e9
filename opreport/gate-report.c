// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate-report.h"

#include "opreport/gate/gate.h"
#include "opreport/query/ratio.h"

struct vmop_error *vmop_gate_report_check(const struct vmop_settings *settings)
{
	const struct vmop_gate_options *gate = &settings->gate;
	const unsigned by = settings->by & ~(unsigned)VMOP_COMPARED_DIMENSIONS;
	if (!vmop_gate_is_wanted(gate))
		return gate->quiet ? vmop_error_new(VMOP_ERROR_USAGE,
						    "--quiet needs --fail-if or --fail-if-changed")
				   : NULL;
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->braces.n, "{ SPEC... } { SPEC... }"},
		{settings->list_sessions, "--list-sessions"},
		{settings->spec.stacks.n, "stack:"},
		{settings->callers.n || settings->callees.n, "--caller or --callee"},
		{gate->has_change && by, "--by=cpu, vcpu, mode, certainty, session or life"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "a gate does not go with %s",
					      wrong[i].option);
	for (size_t i = 0; i < gate->n_bounds; i++) {
		const struct vmop_bound *bound = &gate->bounds[i];
		if (bound->kind == VMOP_GATE_RATIO &&
		    !vmop_ratios_may_have(bound->word, &settings->ratios))
			return vmop_bound_malformed(bound->text);
	}
	return gate->has_change ? vmop_baseline_check(gate->baseline) : NULL;
}

struct vmop_error *vmop_gate_report(const struct vmop_settings *settings, bool *ret_is_crossed)
{
	const struct vmop_gate_request request = {
		.options = &settings->gate,
		.spec = &settings->spec,
		.words = {(const char *const *)settings->spec_words.items, settings->spec_words.n},
		.ratios = &settings->ratios,
		.query = settings->query,
		.by = settings->query.dimensions,
	};
	size_t violations = 0;
	*ret_is_crossed = false;
	if (!vmop_gate_is_wanted(&settings->gate))
		return NULL;
	struct vmop_error *err = vmop_gate_run(&request, &violations);
	*ret_is_crossed = violations > 0;
	return err;
}
