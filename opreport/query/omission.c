// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/omission.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/query/overlap.h"

/* Return domain 0 of a session, or NULL if its file lacks it. */
static const struct vmop_domain_item *host_of(const struct vmop_catalog *catalog, size_t session)
{
	size_t index = vmop_catalog_find_domain(catalog, session, VMOP_DOMAIN_ID_HOST);
	return index ? vmop_catalog_domain(catalog, index) : NULL;
}

static struct vmop_error *append(struct vmop_omissions *omissions,
				 const struct vmop_db_omission *omission)
{
	if (!vmop_array_reserve(omissions->items, omissions->capacity, omissions->n + 1))
		return &vmop_error_no_memory;
	omissions->items[omissions->n++] = *omission;
	return NULL;
}

/* ---- guests with a session of their own -------------------------------------------- */

/* A session whose samples of a guest are left out during another one, of that guest. */
struct guest_pair {
	struct vmop_catalog *catalog;
	size_t session, better;
	uint32_t *marks; /* by event: 1 + the session that marked it last */
};

/* List in the omission the session's events that `better` has too, by name. */
static struct vmop_error *list_events(struct guest_pair *pair, struct vmop_db_omission *omission)
{
	struct vmop_catalog *catalog = pair->catalog;
	const struct vmop_table_part *part = &catalog->events.parts[pair->session];
	const struct vmop_table_part *theirs = &catalog->events.parts[pair->better];
	struct vmop_event_id *events =
		vmop_arena_alloc(&catalog->arena, (part->end - part->first + 1) * sizeof(*events));
	if (!events)
		return &vmop_error_no_memory;
	uint32_t mark = (uint32_t)pair->better + 1;
	for (size_t i = theirs->first; i < theirs->end; i++)
		pair->marks[vmop_catalog_event(catalog, i)->name_row] = mark;
	for (size_t i = part->first; i < part->end; i++) {
		const struct vmop_event_item *event = vmop_catalog_event(catalog, i);
		if (pair->marks[event->name_row] == mark)
			events[omission->n_events++] = event->id;
	}
	omission->events = events;
	return NULL;
}

/* List in the omission the session's domains that are the guest of that row. */
static struct vmop_error *list_domains(const struct guest_pair *pair, uint32_t row,
				       struct vmop_db_omission *omission)
{
	struct vmop_catalog *catalog = pair->catalog;
	const struct vmop_table_part *part = &catalog->domains.parts[pair->session];
	size_t n = 0;
	for (size_t i = part->first; i < part->end; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		n += domain->row == row && !vmop_domain_id_is_host(domain->id);
	}
	if (!n)
		return NULL;
	struct vmop_domain_id *domains = vmop_arena_alloc(&catalog->arena, n * sizeof(*domains));
	if (!domains)
		return &vmop_error_no_memory;
	for (size_t i = part->first; i < part->end; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, i);
		if (domain->row == row && !vmop_domain_id_is_host(domain->id))
			domains[omission->n_domains++] = domain->id;
	}
	omission->domains = domains;
	return NULL;
}

static struct vmop_error *omit_guest(struct guest_pair *pair, uint32_t row,
				     struct vmop_omissions *ret)
{
	const struct vmop_session_facts *better = &pair->catalog->sessions[pair->better];
	struct vmop_db_omission omission = {.from_ns = better->start_ns, .to_ns = better->end_ns};
	struct vmop_error *err = list_domains(pair, row, &omission);
	if (!err && omission.n_domains)
		err = list_events(pair, &omission);
	return err || !omission.n_events ? err : append(ret, &omission);
}

static struct vmop_error *omit_guests(struct vmop_catalog *catalog, struct vmop_omissions *ret)
{
	_cleanup_free_ uint32_t *marks = calloc(catalog->events.n, sizeof(*marks));
	struct vmop_error *err = marks ? NULL : &vmop_error_no_memory;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_domain_item *self = host_of(catalog, s);
		memset(marks, 0, catalog->events.n * sizeof(*marks));
		for (size_t better = 0; better < catalog->n_sessions && !err; better++) {
			const struct vmop_domain_item *host = host_of(catalog, better);
			struct guest_pair pair = {catalog, s, better, marks};
			if (better != s && host && (!self || host->row != self->row))
				err = omit_guest(&pair, host->row, &ret[s]);
		}
	}
	return err;
}

/* ---- sessions of one machine -------------------------------------------------------- */

/* A set of sessions: a bit for each. */
struct session_set {
	uint64_t words[VMOP_SESSIONS_MAX / 64];
};

/* Sets of sessions of one machine that have an event; further ones are not compared. */
#define SETS_MAX 64

struct machine {
	struct vmop_catalog *catalog;
	uint32_t row;		       /* of the machine's host */
	struct session_set *of_events; /* by name_row: the machine's sessions with that event */
	struct session_set sets[SETS_MAX];
	size_t n_sets;
	bool *left_out; /* room for the intervals of all sessions */
	struct vmop_omissions *ret;
};

static bool has_session(const struct session_set *set, size_t session)
{
	return set->words[session / 64] >> session % 64 & 1;
}

static bool is_of(const struct machine *machine, size_t session)
{
	const struct vmop_domain_item *host = host_of(machine->catalog, session);
	return host && host->row == machine->row;
}

static void find_sets(struct machine *machine)
{
	const struct vmop_catalog *catalog = machine->catalog;
	machine->n_sets = 0;
	memset(machine->of_events, 0, catalog->events.n * sizeof(*machine->of_events));
	for (size_t i = 0; i < catalog->events.n; i++) {
		const struct vmop_event_item *event = vmop_catalog_event(catalog, i);
		if (i && is_of(machine, event->session))
			machine->of_events[event->name_row].words[event->session / 64] |=
				UINT64_C(1) << event->session % 64;
	}
	for (size_t i = 1; i < catalog->events.n && machine->n_sets < SETS_MAX; i++) {
		const struct session_set *set = &machine->of_events[i];
		size_t same = 0;
		while (same < machine->n_sets &&
		       memcmp(&machine->sets[same], set, sizeof(*set)) != 0)
			same++;
		if (same == machine->n_sets)
			machine->sets[machine->n_sets++] = *set;
	}
}

/* List the session's events that exactly the set's sessions have. */
static struct vmop_error *list_events_of_set(const struct machine *machine, size_t session,
					     const struct session_set *set,
					     struct vmop_db_omission *ret)
{
	struct vmop_catalog *catalog = machine->catalog;
	const struct vmop_table_part *part = &catalog->events.parts[session];
	struct vmop_event_id *events =
		vmop_arena_alloc(&catalog->arena, (part->end - part->first + 1) * sizeof(*events));
	if (!events)
		return &vmop_error_no_memory;
	*ret = (struct vmop_db_omission){.events = events};
	for (size_t i = part->first; i < part->end; i++) {
		const struct vmop_event_item *event = vmop_catalog_event(catalog, i);
		if (!memcmp(&machine->of_events[event->name_row], set, sizeof(*set)))
			events[ret->n_events++] = event->id;
	}
	return NULL;
}

/* The middle decides whether an omission covers an interval: see struct vmop_db_omission. */
static uint64_t middle_of(const struct vmop_span *span)
{
	return span->from_ns + (span->to_ns - span->from_ns) / 2;
}

/* Append an omission for each run of intervals that are left out. */
static struct vmop_error *omit_runs(const struct vmop_coverage *coverage,
				    struct vmop_db_omission *omission, struct vmop_omissions *ret)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0, end; i < coverage->n && !err; i = end + 1) {
		end = i;
		if (!coverage->is_left_out[i])
			continue;
		while (end + 1 < coverage->n && coverage->is_left_out[end + 1])
			end++;
		if (ret->n + 1 >= VMOP_OMISSIONS_MAX)
			end = coverage->n - 1;
		omission->from_ns = middle_of(&coverage->spans[i]);
		omission->to_ns = middle_of(&coverage->spans[end]) + 1;
		err = append(ret, omission);
	}
	return err;
}

/* Compare the sessions of a set. */
static struct vmop_error *compare_set(const struct machine *machine, const struct session_set *set)
{
	const struct vmop_catalog *catalog = machine->catalog;
	struct vmop_coverage coverages[VMOP_SESSIONS_MAX];
	size_t sessions[VMOP_SESSIONS_MAX], n = 0;
	bool *left_out = machine->left_out;
	for (size_t s = 0; s < catalog->n_sessions; s++) {
		const struct vmop_session_facts *facts = &catalog->sessions[s];
		if (!has_session(set, s))
			continue;
		coverages[n] = (struct vmop_coverage){.spans = facts->intervals,
						      .n = facts->n_intervals,
						      .start_ns = facts->start_ns,
						      .is_left_out = left_out};
		left_out += facts->n_intervals;
		sessions[n++] = s;
	}
	struct vmop_error *err = n > 1 ? vmop_overlap_resolve(coverages, n) : NULL;
	for (size_t i = 0; i < n && n > 1 && !err; i++) {
		struct vmop_db_omission omission;
		err = list_events_of_set(machine, sessions[i], set, &omission);
		if (!err)
			err = omit_runs(&coverages[i], &omission, &machine->ret[sessions[i]]);
	}
	return err;
}

/* Compare the sessions of each machine. */
static struct vmop_error *omit_overlaps(struct vmop_catalog *catalog, struct vmop_omissions *ret)
{
	size_t n_intervals = 1;
	for (size_t s = 0; s < catalog->n_sessions; s++)
		n_intervals += catalog->sessions[s].n_intervals;
	_cleanup_free_ bool *left_out = calloc(n_intervals, sizeof(*left_out));
	_cleanup_free_ struct session_set *of_events =
		calloc(catalog->events.n, sizeof(*of_events));
	if (!left_out || !of_events)
		return &vmop_error_no_memory;
	struct machine machine = {
		.catalog = catalog, .of_events = of_events, .left_out = left_out, .ret = ret};
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_domain_item *host = host_of(catalog, s);
		size_t first = 0;
		while (host && first < s &&
		       (!host_of(catalog, first) || host_of(catalog, first)->row != host->row))
			first++;
		if (!host || first < s)
			continue;
		machine.row = host->row;
		find_sets(&machine);
		for (size_t i = 0; i < machine.n_sets && !err; i++)
			err = compare_set(&machine, &machine.sets[i]);
	}
	return err;
}

struct vmop_error *vmop_omissions_find(struct vmop_catalog *catalog, struct vmop_omissions *ret)
{
	if (catalog->n_sessions < 2)
		return NULL;
	struct vmop_error *err = omit_guests(catalog, ret);
	return err ? err : omit_overlaps(catalog, ret);
}

/* Return whether the filter omits so many events at a time. */
static bool omits_at(const struct vmop_db_filter *filter, uint64_t time_ns, size_t n_events)
{
	size_t n = 0;
	for (size_t i = 0; i < filter->n_omissions; i++) {
		const struct vmop_db_omission *omission = &filter->omissions[i];
		if (!omission->n_domains && time_ns >= omission->from_ns &&
		    time_ns < omission->to_ns)
			n += omission->n_events;
	}
	return n >= n_events;
}

bool vmop_omissions_cover(const struct vmop_catalog *catalog, size_t session,
			  const struct vmop_db_filter *filter)
{
	const struct vmop_session_facts *facts = &catalog->sessions[session];
	const struct vmop_table_part *events = &catalog->events.parts[session];
	if (!filter->n_omissions)
		return false;
	for (size_t i = 0; i < facts->n_intervals; i++)
		if (!omits_at(filter, middle_of(&facts->intervals[i]), events->end - events->first))
			return false;
	return true;
}

void vmop_omissions_deinit(struct vmop_omissions *omissions)
{
	free(omissions->items);
	*omissions = (struct vmop_omissions){0};
}
