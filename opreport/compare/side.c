// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"

static bool names_session(const char *word)
{
	return !strncmp(word, "session:", 8);
}

static char *join(const struct vmop_side_words *words)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return NULL;
	for (size_t i = 0; i < words->n; i++)
		fprintf(out, "%s%s", i ? " " : "", words->items[i]);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

static bool names_archive(const char *word)
{
	return !strncmp(word, VMOP_SPEC_ARCHIVE, strlen(VMOP_SPEC_ARCHIVE));
}

/* Parse the archive of a list of words, before its times. *ret_found: it has one. */
static struct vmop_error *take_archive(struct vmop_spec *spec, const struct vmop_side_words *words,
				       bool *ret_found)
{
	struct vmop_error *err = NULL;
	*ret_found = false;
	for (size_t i = 0; i < words->n && !err; i++) {
		if (!names_archive(words->items[i]))
			continue;
		err = vmop_spec_parse(spec, words->items[i]);
		*ret_found = true;
	}
	return err;
}

struct vmop_error *vmop_side_init(struct vmop_side *ret, size_t index, const char *session_dir,
				  struct vmop_archive *archive,
				  const struct vmop_side_words *common,
				  const struct vmop_side_words *own)
{
	*ret = (struct vmop_side){.letter = (char)('A' + index), .label = join(own)};
	ret->spec.session_dir = session_dir;
	if (!ret->label)
		return &vmop_error_no_memory;
	bool has_session = false, has_archive = false;
	struct vmop_error *err = take_archive(&ret->spec, own, &has_archive);
	if (!err && !has_archive)
		err = take_archive(&ret->spec, common, &has_archive);
	if (!err && !has_archive)
		ret->spec.archive = vmop_archive_share(archive);
	for (size_t i = 0; i < own->n && !err; i++) {
		has_session |= names_session(own->items[i]);
		if (!names_archive(own->items[i]))
			err = vmop_spec_parse(&ret->spec, own->items[i]);
	}
	for (size_t i = 0; i < common->n && !err; i++)
		if (!names_archive(common->items[i]) &&
		    (!has_session || !names_session(common->items[i])))
			err = vmop_spec_parse(&ret->spec, common->items[i]);
	return err;
}

void vmop_side_deinit(struct vmop_side *side)
{
	vmop_result_deinit(&side->result);
	vmop_sessions_deinit(&side->sessions);
	vmop_spec_deinit(&side->spec);
	free(side->label);
	*side = (struct vmop_side){0};
}

struct vmop_error *vmop_side_call(struct vmop_side *side, const char *label)
{
	char *copy = label ? strdup(label) : NULL;
	if (!label)
		return NULL;
	if (!copy)
		return &vmop_error_no_memory;
	free(side->label);
	side->label = copy;
	return NULL;
}

struct span {
	uint64_t from_ns, to_ns;
};

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Sum the time that at least one session covers, within the bounds of time:. */
static double covered_seconds(const struct vmop_result *result)
{
	const struct vmop_catalog *catalog = &result->catalog;
	const struct vmop_choice *choice = &result->choice;
	struct span spans[VMOP_SESSIONS_MAX];
	size_t n = catalog->n_sessions;
	for (size_t i = 0; i < n; i++) {
		spans[i].from_ns = catalog->sessions[i].start_ns;
		spans[i].to_ns = catalog->sessions[i].end_ns;
		if (spans[i].from_ns < choice->from_ns)
			spans[i].from_ns = choice->from_ns;
		if (choice->to_ns && spans[i].to_ns > choice->to_ns)
			spans[i].to_ns = choice->to_ns;
	}
	qsort(spans, n, sizeof(*spans), compare_spans);
	uint64_t sum_ns = 0, until_ns = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t from_ns = spans[i].from_ns > until_ns ? spans[i].from_ns : until_ns;
		if (spans[i].to_ns <= from_ns)
			continue;
		sum_ns += spans[i].to_ns - from_ns;
		until_ns = spans[i].to_ns;
	}
	return (double)sum_ns / (double)VMOP_NS_PER_S;
}

struct vmop_error *vmop_side_run(struct vmop_side *side, const struct vmop_query *query)
{
	struct vmop_error *err = vmop_sessions_open(&side->spec, &side->sessions);
	if (!err)
		err = vmop_query_run(query, &side->spec, side->sessions.items, side->sessions.n,
				     &side->result);
	if (err)
		return vmop_error_prefix(err, "%c (%s)", side->letter, side->label);
	side->seconds = covered_seconds(&side->result);
	return NULL;
}
