// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/gate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "opreport/gate/figures.h"
#include "opreport/waits/waits.h"

/* A gate while it is checked. */
struct gate {
	const struct vmop_gate_request *request;
	struct vmop_sessions sessions;
	struct vmop_result result; /* of the query with these dimensions; 0: of none */
	unsigned dimensions;
	size_t violations;
};

static void gate_deinit(struct gate *gate)
{
	vmop_result_deinit(&gate->result);
	vmop_sessions_deinit(&gate->sessions);
}

/* Count a violation, and return whether it is to be logged. */
static bool add_violation(struct gate *gate)
{
	return ++gate->violations <= VMOP_GATE_LINES_MAX;
}

static struct vmop_query query_by(const struct vmop_query *query, unsigned dimensions)
{
	struct vmop_query ret = *query;
	ret.dimensions = dimensions;
	ret.by_part = ret.details = ret.by_step = false;
	ret.threshold_percent = 0;
	ret.sink = NULL;
	if (dimensions & VMOP_BY_TASK)
		ret.merge |= VMOP_MERGE_TID | VMOP_MERGE_TGID;
	return ret;
}

/* Make gate->result one with the dimensions. */
static struct vmop_error *run(struct gate *gate, unsigned dimensions)
{
	const struct vmop_gate_request *request = gate->request;
	const struct vmop_query query = query_by(&request->query, dimensions);
	if (gate->dimensions == dimensions)
		return NULL;
	gate_deinit(gate);
	gate->dimensions = dimensions;
	struct vmop_error *err = vmop_sessions_open(request->spec, &gate->sessions);
	return err ? err
		   : vmop_query_run(&query, request->spec, gate->sessions.items, gate->sessions.n,
				    &gate->result);
}

/* ---- bounds -------------------------------------------------------------------------- */

static struct vmop_error *check_each_row(struct gate *gate, const struct vmop_bound *bound)
{
	struct vmop_shares names = {0};
	struct vmop_error *err = vmop_shares_init(&names, &gate->result, gate->dimensions);
	if (!err)
		err = vmop_shares_add_result(&names, &gate->result);
	for (size_t i = 0; i < gate->result.n_rows && !err; i++) {
		struct vmop_row *row = &gate->result.rows[i];
		double percent = vmop_figure_of_row(&gate->result, row);
		if (!vmop_figure_matches(bound, &gate->result, row) ||
		    !vmop_bound_is_crossed(bound, percent) || !add_violation(gate))
			continue;
		_cleanup_free_ char *name = vmop_shares_name(&names.rows[i]);
		if (!name)
			err = &vmop_error_no_memory;
		else
			vmop_log(VMOP_LOG_ERROR, "%s: %s has %.4g %% of %s", bound->text, name,
				 percent, vmop_result_event(&gate->result, 0)->label);
	}
	vmop_shares_deinit(&names);
	return err;
}

static struct vmop_error *check_lost(struct gate *gate, const struct vmop_bound *bound)
{
	struct vmop_lost lost;
	struct vmop_error *err =
		vmop_figure_lost(&gate->sessions, &gate->result, bound->word, &lost);
	if (err)
		return err;
	double all = (double)lost.lost + (double)lost.stored;
	double percent = all > 0 ? 100 * (double)lost.lost / all : 0;
	if (vmop_bound_is_crossed(bound, bound->is_percent ? percent : (double)lost.lost) &&
	    add_violation(gate))
		vmop_log(VMOP_LOG_ERROR, "%s: %" PRIu64 " beside %" PRIu64 " sample%s, %.4g %%",
			 bound->text, lost.lost, lost.stored, vmop_plural(lost.stored), percent);
	return NULL;
}

static struct vmop_error *check_ratio(struct gate *gate, const struct vmop_bound *bound)
{
	double value;
	struct vmop_error *err =
		vmop_figure_of_ratio(bound, gate->request->ratios, &gate->result, &value);
	if (!err && vmop_bound_is_crossed(bound, value) && add_violation(gate))
		vmop_log(VMOP_LOG_ERROR, "%s: it is %.4g", bound->text, value);
	return err;
}

static struct vmop_error *check_steal(struct gate *gate, const struct vmop_bound *bound)
{
	double percent;
	struct vmop_error *err =
		vmop_waits_steal_percent(gate->request->spec, bound->word, &percent);
	if (!err && vmop_bound_is_crossed(bound, percent) && add_violation(gate))
		vmop_log(VMOP_LOG_ERROR, "%s: it is %.4g %% of the vCPUs' time", bound->text,
			 percent);
	return err ? vmop_error_prefix(err, "--fail-if='%s'", bound->text) : NULL;
}

static struct vmop_error *check_bound(struct gate *gate, const struct vmop_bound *bound)
{
	if (bound->kind == VMOP_GATE_STEAL)
		return check_steal(gate, bound);
	struct vmop_error *err = run(gate, vmop_figure_dimensions(bound));
	if (err)
		return err;
	if (bound->each)
		return check_each_row(gate, bound);
	if (bound->kind == VMOP_GATE_LOST)
		return check_lost(gate, bound);
	if (bound->kind == VMOP_GATE_RATIO)
		return check_ratio(gate, bound);
	double percent = vmop_figure_of_rows(bound, &gate->result);
	if (vmop_bound_is_crossed(bound, percent) && add_violation(gate))
		vmop_log(VMOP_LOG_ERROR, "%s: it is %.4g %% of %s", bound->text, percent,
			 vmop_result_event(&gate->result, 0)->label);
	return NULL;
}

/* ---- changes ------------------------------------------------------------------------- */

static struct vmop_error *log_change(struct gate *gate, const struct vmop_shares *now,
				     const struct vmop_changed_row *change)
{
	_cleanup_free_ char *name = vmop_shares_name(change->row);
	char relative[32] = "new";
	if (!name)
		return &vmop_error_no_memory;
	if (change->before.value > 0)
		snprintf(relative, sizeof(relative), "%+.3g %%",
			 100 * change->difference.value / change->before.value);
	if (add_violation(gate))
		vmop_log(VMOP_LOG_ERROR,
			 "changed: %s has %.2f %% of %s, before %.2f %%: %+.2f points (%+.2f to "
			 "%+.2f), %s",
			 name, change->after.value, now->events[change->event].name,
			 change->before.value, change->difference.value, change->difference.low,
			 change->difference.high, relative);
	return NULL;
}

static struct vmop_error *compare(struct gate *gate, const struct vmop_shares *baseline,
				  const struct vmop_shares *now)
{
	struct vmop_changes changes = {0};
	struct vmop_error *err =
		vmop_changes_init(&changes, baseline, now, &gate->request->options->change);
	for (size_t i = 0; i < changes.n && !err; i++)
		err = log_change(gate, now, &changes.items[i]);
	vmop_changes_deinit(&changes);
	return err;
}

/* Set the time of the report: that of time:, else of its sessions. */
static void set_time(const struct vmop_result *result, struct vmop_baseline_request *ret)
{
	ret->from_ns = result->choice.from_ns ? result->choice.from_ns : result->catalog.start_ns;
	ret->to_ns = result->choice.to_ns ? result->choice.to_ns : result->catalog.end_ns;
}

static struct vmop_error *check_changes(struct gate *gate)
{
	const struct vmop_gate_request *request = gate->request;
	unsigned dimensions = (request->by & VMOP_COMPARED_DIMENSIONS) | VMOP_BY_DOMAIN;
	struct vmop_baseline_request of = {.text = request->options->baseline,
					   .common = request->words,
					   .session_dir = request->spec->session_dir,
					   .archive = request->spec->archive,
					   .query = query_by(&request->query, dimensions),
					   .normalised = request->options->normalised};
	struct vmop_shares now = {0}, baseline = {0};
	struct vmop_error *err = run(gate, dimensions);
	if (!err) {
		set_time(&gate->result, &of);
		err = vmop_shares_init(&now, &gate->result, dimensions);
	}
	if (!err)
		err = vmop_shares_add_result(&now, &gate->result);
	vmop_shares_merge(&now);
	if (!err)
		err = vmop_baseline_load(&baseline, &of, &now);
	if (!err)
		err = compare(gate, &baseline, &now);
	vmop_shares_deinit(&baseline);
	vmop_shares_deinit(&now);
	return err;
}

struct vmop_error *vmop_gate_run(const struct vmop_gate_request *request, size_t *ret_violations)
{
	struct gate gate = {.request = request};
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < request->options->n_bounds && !err; i++)
		err = check_bound(&gate, &request->options->bounds[i]);
	if (!err && request->options->has_change)
		err = check_changes(&gate);
	if (gate.violations > VMOP_GATE_LINES_MAX)
		vmop_log(VMOP_LOG_ERROR, "and %zu more", gate.violations - VMOP_GATE_LINES_MAX);
	gate_deinit(&gate);
	*ret_violations = gate.violations;
	return err;
}
