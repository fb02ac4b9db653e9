// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/figures.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "opreport/arrange/rows.h"
#include "opreport/compare/routine.h"
#include "opreport/query/ratio.h"

unsigned vmop_figure_dimensions(const struct vmop_bound *bound)
{
	switch (bound->kind) {
	case VMOP_GATE_DOMAIN:
		return VMOP_BY_DOMAIN;
	case VMOP_GATE_SYMBOL:
		return VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL;
	case VMOP_GATE_TASK:
		return VMOP_BY_DOMAIN | VMOP_BY_TASK;
	case VMOP_GATE_CGROUP:
		return VMOP_BY_DOMAIN | VMOP_BY_CGROUP;
	default:
		return VMOP_BY_DOMAIN | VMOP_BY_IMAGE;
	}
}

/* ---- losses -------------------------------------------------------------------------- */

struct losing {
	const char *name; /* NULL: dropped samples */
	struct vmop_lost *ret;
};

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct vmop_error *add_loss(void *arg, const struct vmop_db_loss *loss)
{
	static const char *const dropped[] = {"lost", "store-full", "store-gone", "sample-rejected",
					      "table-full"};
	const struct losing *losing = arg;
	bool is_wanted = losing->name && !strcmp(losing->name, loss->name);
	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped) && !losing->name; i++)
		is_wanted |= !strcmp(dropped[i], loss->name);
	if (is_wanted)
		losing->ret->lost = add(losing->ret->lost, loss->count);
	return NULL;
}

static struct vmop_error *add_stored(void *arg, const struct vmop_db_total *total)
{
	struct vmop_lost *lost = arg;
	lost->stored = add(lost->stored, total->samples);
	return NULL;
}

struct vmop_error *vmop_figure_lost(const struct vmop_sessions *sessions,
				    const struct vmop_result *result, const char *name,
				    struct vmop_lost *ret)
{
	struct vmop_error *err = NULL;
	*ret = (struct vmop_lost){0};
	for (size_t s = 0; s < sessions->n && !err; s++) {
		const struct vmop_db_filter *chosen = &result->choice.sessions[s].filter;
		const struct vmop_db_filter filter = {.from_ns = chosen->from_ns,
						      .to_ns = chosen->to_ns,
						      .omissions = chosen->omissions,
						      .n_omissions = chosen->n_omissions};
		const uint64_t before = ret->stored;
		struct losing losing = {.name = name, .ret = ret};
		err = vmop_db_each_total(sessions->items[s].db, &filter, add_stored, ret);
		if (!err && (ret->stored != before || !chosen->n_omissions))
			err = vmop_db_each_loss_in(sessions->items[s].db, chosen->from_ns,
						   chosen->to_ns, add_loss, &losing);
	}
	return err;
}

/* ---- rows ---------------------------------------------------------------------------- */

static bool matches(const char *word, const char *text)
{
	return !strcmp(word, text) || !fnmatch(word, text, 0);
}

static bool matches_domain(const char *word, const struct vmop_domain_item *domain)
{
	return matches(word, domain->name) || (*domain->uuid && matches(word, domain->uuid)) ||
	       (domain->is_host && !strcmp(word, "host"));
}

static bool matches_symbol(const char *word, const char *shown)
{
	struct vmop_arena arena = {0};
	const char *function = vmop_routine_function(&arena, shown);
	bool ret = matches(word, shown) || (function && matches(word, function));
	vmop_arena_deinit(&arena);
	return ret;
}

bool vmop_figure_matches(const struct vmop_bound *bound, struct vmop_result *result,
			 struct vmop_row *row)
{
	const char *name;
	switch (bound->kind) {
	case VMOP_GATE_DOMAIN:
		return matches_domain(bound->word, vmop_row_domain(result, row));
	case VMOP_GATE_IMAGE:
		name = vmop_row_image(result, row)->name;
		return matches(bound->word, name) ||
		       matches(bound->word, vmop_image_base_name(name));
	case VMOP_GATE_SYMBOL:
		return matches_symbol(bound->word, vmop_result_symbol_name(result, row));
	case VMOP_GATE_TASK:
		return matches(bound->word, vmop_row_task(result, row)->comm);
	case VMOP_GATE_CGROUP:
		return matches(bound->word, vmop_row_cgroup(result, row));
	default:
		return vmop_row_image(result, row)->kind == VMOP_IMAGE_NONE;
	}
}

/* Return a share by weight, or by samples where the event has no weights. */
static double share(struct vmop_count part, struct vmop_count whole)
{
	if (whole.weight_events || !whole.samples)
		return vmop_share_percent(part, whole);
	return 100 * (double)part.samples / (double)whole.samples;
}

double vmop_figure_of_row(const struct vmop_result *result, const struct vmop_row *row)
{
	return share(vmop_result_sum(result, row->counts, 0), result->base[0]);
}

double vmop_figure_of_rows(const struct vmop_bound *bound, struct vmop_result *result)
{
	struct vmop_count sum = {0};
	for (size_t i = 0; i < result->n_rows; i++) {
		if (!vmop_figure_matches(bound, result, &result->rows[i]))
			continue;
		struct vmop_count count = vmop_result_sum(result, result->rows[i].counts, 0);
		vmop_count_add(&sum, count.samples, count.weight_events);
	}
	return share(sum, result->base[0]);
}

/* ---- ratios -------------------------------------------------------------------------- */

static struct vmop_error *find_ratio(const struct vmop_bound *bound, const struct vmop_words *words,
				     const struct vmop_result *result, struct vmop_ratios *ret,
				     size_t *ret_at)
{
	struct vmop_error *err = vmop_ratios_init(ret, words, result);
	*ret_at = err ? SIZE_MAX : vmop_ratios_find(ret, bound->word);
	return err;
}

struct vmop_error *vmop_figure_of_ratio(const struct vmop_bound *bound,
					const struct vmop_words *ratios,
					const struct vmop_result *result, double *ret)
{
	char *word = bound->word;
	const struct vmop_words only = {.items = &word, .n = 1};
	struct vmop_ratios found = {0};
	size_t at;
	struct vmop_error *err = find_ratio(bound, ratios, result, &found, &at);
	if (!err && at == SIZE_MAX) {
		vmop_ratios_deinit(&found);
		err = find_ratio(bound, &only, result, &found, &at);
	}
	if (!err && at == SIZE_MAX)
		err = vmop_error_new(VMOP_ERROR_USAGE, "there is no ratio '%s'", word);
	if (!err) {
		struct vmop_ratio_value value = vmop_ratio_of_all(&found.items[at], result);
		*ret = value.value;
		if (value.quality < VMOP_RATIO_ROUGH)
			err = vmop_error_new(VMOP_ERROR_USAGE,
					     "nothing to compare: too few samples for %s", word);
	}
	vmop_ratios_deinit(&found);
	return err ? vmop_error_prefix(err, "--fail-if='%s'", bound->text) : NULL;
}
