// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/session-facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/json.h"
#include "libutil/protocol.h"

/* The CPU time after which a list reads no further sessions, which can be hostile ones. */
#define LIST_MAX_CPU_NS (10 * VMOP_NS_PER_S)

static json_t *number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *time_text(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	char text[40];
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(text);
}

/* Append item to the array `name` of object, or count it as left off. */
static void append(json_t *object, const char *name, json_t *item)
{
	_cleanup_free_ char *left_off = NULL;
	json_t *list = json_object_get(object, name);
	if (json_array_size(list) < CONTROL_FACTS_MAX) {
		json_array_append_new(list, item);
		return;
	}
	json_decref(item);
	if (asprintf(&left_off, "%s_left_off", name) < 0) {
		left_off = NULL;
		return;
	}
	json_int_t n = json_integer_value(json_object_get(object, left_off));
	json_object_set_new(object, left_off, json_integer(n + 1));
}

/* ---- spans ------------------------------------------------------------------ */

struct spans {
	json_t *facts;
	uint64_t start_ns, end_ns; /* of all; end_ns 0: there are none */
};

static struct vmop_error *add_span(void *arg, const struct vmop_db_detail *detail)
{
	struct spans *spans = arg;
	json_t *span = json_object();
	json_object_set_new(span, "start", time_text(detail->start_ns));
	json_object_set_new(span, "end", time_text(detail->end_ns));
	json_object_set_new(span, "interval_s", json_real((double)detail->longest_ns / 1e9));
	json_object_set_new(span, "intervals", number(detail->n_intervals));
	append(spans->facts, "spans", span);
	if (!spans->end_ns || detail->start_ns < spans->start_ns)
		spans->start_ns = detail->start_ns;
	if (detail->end_ns > spans->end_ns)
		spans->end_ns = detail->end_ns;
	return NULL;
}

/* Put start, end, spans and state. */
static struct vmop_error *put_times(struct vmop_db *db, bool is_current, json_t *facts)
{
	uint64_t start_ns, end_ns;
	struct spans spans = {.facts = facts};
	json_object_set_new(facts, "spans", json_array());
	struct vmop_error *err = vmop_db_get_number(db, "start_ns", &start_ns);
	if (!err)
		err = vmop_db_get_number(db, "end_ns", &end_ns);
	if (!err)
		err = vmop_db_each_detail(db, add_span, &spans);
	if (err)
		return err;
	uint64_t last_ns = end_ns ? end_ns : spans.end_ns;
	json_object_set_new(facts, "start", start_ns ? time_text(start_ns) : json_null());
	json_object_set_new(facts, "end", last_ns ? time_text(last_ns) : json_null());
	json_object_set_new(facts, "state",
			    json_string(end_ns	     ? "finished"
					: is_current ? "current"
						     : "not ended"));
	return NULL;
}

/* ---- one session -------------------------------------------------------------- */

/* Samples by event and domain. Ids beyond the bound are only in the sum of all. */
struct counts {
	json_t *facts;
	uint64_t all, by_event[CONTROL_FACTS_MAX], by_domain[CONTROL_FACTS_MAX];
};

static void add_samples(uint64_t *sum, uint64_t samples)
{
	if (__builtin_add_overflow(*sum, samples, sum))
		*sum = UINT64_MAX;
}

static struct vmop_error *count_total(void *arg, const struct vmop_db_total *total)
{
	struct counts *counts = arg;
	uint32_t event = total->key.event.number, domain = total->key.domain.number;
	add_samples(&counts->all, total->samples);
	if (event < CONTROL_FACTS_MAX)
		add_samples(&counts->by_event[event], total->samples);
	if (domain < CONTROL_FACTS_MAX)
		add_samples(&counts->by_domain[domain], total->samples);
	return NULL;
}

static struct vmop_error *add_event(void *arg, const struct vmop_db_event *event)
{
	struct counts *counts = arg;
	json_t *object = json_object();
	json_object_set_new(object, "name", vmop_json_text(event->name));
	json_object_set_new(object, "unit", vmop_json_text(event->unit));
	json_object_set_new(object, "note",
			    event->note ? vmop_json_text(event->note) : json_null());
	if (event->id.number < CONTROL_FACTS_MAX)
		json_object_set_new(object, "samples", number(counts->by_event[event->id.number]));
	append(counts->facts, "events", object);
	return NULL;
}

static const char *kind_word(enum vmop_domain_kind kind)
{
	static const char *const words[] = {
		[VMOP_DOMAIN_HOST] = "host",	       [VMOP_DOMAIN_HYPERVISOR] = "hypervisor",
		[VMOP_DOMAIN_PASSIVE] = "passive",     [VMOP_DOMAIN_ACTIVE] = "active",
		[VMOP_DOMAIN_OPAQUE] = "opaque",       [VMOP_DOMAIN_UNSELECTED] = "unselected",
		[VMOP_DOMAIN_UNSAMPLED] = "unsampled",
	};
	size_t i = (size_t)kind;
	return i < sizeof(words) / sizeof(words[0]) && words[i] ? words[i] : "?";
}

static struct vmop_error *add_domain(void *arg, const struct vmop_db_domain *domain)
{
	struct counts *counts = arg;
	json_t *object = json_object();
	json_object_set_new(object, "id", number(domain->id.number));
	json_object_set_new(object, "name", vmop_json_text(domain->name));
	json_object_set_new(object, "kind", json_string(kind_word(domain->kind)));
	if (domain->id.number < CONTROL_FACTS_MAX)
		json_object_set_new(object, "samples",
				    number(counts->by_domain[domain->id.number]));
	append(counts->facts, "domains", object);
	return NULL;
}

static struct vmop_error *add_loss(void *arg, const struct vmop_db_loss *loss)
{
	struct counts *counts = arg;
	json_t *object = json_object();
	json_object_set_new(object, "name", vmop_json_text(loss->name));
	json_object_set_new(object, "domain", number(loss->domain.number));
	json_object_set_new(object, "event", number(loss->event.number));
	json_object_set_new(object, "count", number(loss->count));
	append(counts->facts, "losses", object);
	return NULL;
}

static struct vmop_error *put_counts(struct vmop_db *db, json_t *facts)
{
	_cleanup_free_ struct counts *counts = calloc(1, sizeof(*counts));
	if (!counts)
		return &vmop_error_no_memory;
	counts->facts = facts;
	struct vmop_error *err = vmop_db_each_total(db, NULL, count_total, counts);
	json_object_set_new(facts, "samples", number(counts->all));
	json_object_set_new(facts, "events", json_array());
	json_object_set_new(facts, "domains", json_array());
	json_object_set_new(facts, "losses", json_array());
	if (!err)
		err = vmop_db_each_event(db, add_event, counts);
	if (!err)
		err = vmop_db_each_domain(db, add_domain, counts);
	return err ? err : vmop_db_each_loss(db, add_loss, counts);
}

static struct vmop_error *put_text(struct vmop_db *db, const char *fact, const char *member,
				   json_t *facts)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_db_get_info(db, fact, &text);
	if (!err)
		json_object_set_new(facts, member, text ? vmop_json_text(text) : json_null());
	return err;
}

static struct vmop_error *put_dropped(struct vmop_db *db, json_t *facts)
{
	uint64_t samples, until_ns;
	struct vmop_error *err = vmop_db_get_number(db, "dropped_samples", &samples);
	if (!err)
		err = vmop_db_get_number(db, "dropped_until_ns", &until_ns);
	json_t *dropped = !err && until_ns ? json_object() : json_null();
	if (!err && until_ns) {
		json_object_set_new(dropped, "samples", number(samples));
		json_object_set_new(dropped, "until", time_text(until_ns));
	}
	json_object_set_new(facts, "dropped", dropped);
	return err;
}

/* Put what the daemon used for the session; null: an older version recorded it. */
static struct vmop_error *put_cost(struct vmop_db *db, json_t *facts)
{
	uint64_t cpu_ns, rss_bytes, pause_ns;
	struct vmop_error *err = vmop_db_get_number(db, "cpu_ns", &cpu_ns);
	if (!err)
		err = vmop_db_get_number(db, "peak_rss_bytes", &rss_bytes);
	if (!err)
		err = vmop_db_get_number(db, "longest_pause_ns", &pause_ns);
	json_t *cost = !err && rss_bytes ? json_object() : json_null();
	if (!err && rss_bytes) {
		json_object_set_new(cost, "cpu_s", json_real((double)cpu_ns / 1e9));
		json_object_set_new(cost, "peak_rss_bytes", number(rss_bytes));
		json_object_set_new(cost, "longest_pause_s", json_real((double)pause_ns / 1e9));
	}
	json_object_set_new(facts, "vmopd", cost);
	return err;
}

static struct vmop_error *put_room(struct vmop_db *db, json_t *facts)
{
	struct vmop_db_room room;
	struct vmop_error *err = vmop_db_room(db, &room);
	json_object_set_new(facts, "used_bytes", number(room.used_bytes));
	json_object_set_new(facts, "free_bytes", number(room.free_bytes));
	json_object_set_new(facts, "disk_bytes", number(room.disk_bytes));
	return err;
}

static struct vmop_error *put_all(struct vmop_db *db, bool is_current, json_t *facts)
{
	struct vmop_error *err = put_times(db, is_current, facts);
	if (!err)
		err = put_text(db, "hostname", "hostname", facts);
	if (!err)
		err = put_text(db, "vmop", "version", facts);
	if (!err)
		err = put_text(db, "setup", "setup", facts);
	if (!err)
		err = put_room(db, facts);
	if (!err)
		err = put_cost(db, facts);
	if (!err)
		err = put_counts(db, facts);
	return err ? err : put_dropped(db, facts);
}

/* Open the session of that name. A name that leads to no file is the same error as for --delete. */
static struct vmop_error *open_named(const char *dir, const char *name, const char *path,
				     struct vmop_db **ret)
{
	struct vmop_error *err = vmop_db_open(path, ret);
	if (!err || err->os_errno != ENOENT)
		return err;
	if (access(dir, F_OK) < 0)
		return vmop_error_prefix(err, "session-dir");
	vmop_error_destroy(err);
	return strcmp(name, VMOP_SESSION_CURRENT)
		       ? vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: there is no session '%s'", dir,
					name)
		       : vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: there is no current session",
					dir);
}

struct vmop_error *control_session_facts(const char *dir, const char *name, json_t **ret)
{
	bool is_current = !strcmp(name, VMOP_SESSION_CURRENT);
	struct vmop_error *err = is_current ? NULL : vmop_session_check_name(name);
	if (err)
		return err;
	_cleanup_free_ char *path = vmop_session_path(dir, name);
	_cleanup_(vmop_json_cleanup) json_t *facts = json_object();
	struct vmop_db *db = NULL;
	if (!path || !facts)
		return &vmop_error_no_memory;
	err = open_named(dir, name, path, &db);
	if (err)
		return err;
	json_object_set_new(facts, "name", vmop_json_text(name));
	json_object_set_new(facts, "path", vmop_json_text(path));
	err = vmop_db_begin_snapshot(db);
	if (!err)
		err = put_all(db, is_current, facts);
	if (!err)
		*ret = vmop_steal(&facts);
	vmop_db_close(db);
	return err;
}

/* ---- all sessions --------------------------------------------------------------- */

static struct vmop_error *read_times(const char *dir, const struct vmop_session_entry *entry,
				     json_t *facts)
{
	_cleanup_free_ char *path = vmop_session_path(dir, entry->name);
	struct vmop_db *db = NULL;
	if (!path)
		return &vmop_error_no_memory;
	struct vmop_error *err =
		vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) > LIST_MAX_CPU_NS
			? vmop_error_new(VMOP_ERROR_LIMIT,
					 "not read: the sessions before it took too long")
			: vmop_db_open(path, &db);
	if (!err)
		err = put_times(db, !strcmp(entry->name, VMOP_SESSION_CURRENT), facts);
	vmop_db_close(db);
	return err;
}

static json_t *facts_of(const char *dir, const struct vmop_session_entry *entry)
{
	json_t *facts = json_object();
	json_object_set_new(facts, "name", vmop_json_text(entry->name));
	json_object_set_new(facts, "disk_bytes", number(entry->disk_bytes));
	struct vmop_error *err = read_times(dir, entry, facts);
	if (!err)
		return facts;
	json_object_set_new(facts, "start", json_null());
	json_object_set_new(facts, "end", json_null());
	json_object_set_new(facts, "spans", json_array());
	json_object_set_new(facts, "state", vmop_json_text(err->message));
	vmop_error_destroy(err);
	return facts;
}

struct vmop_error *control_sessions_facts(const char *dir, json_t **ret)
{
	struct vmop_session_entries entries;
	json_t *list = json_array();
	struct vmop_error *err = vmop_session_entries_read(dir, &entries);
	for (size_t i = 0; !err && i < entries.n; i++)
		if (json_array_append_new(list, facts_of(dir, &entries.items[i])) < 0)
			err = &vmop_error_no_memory;
	vmop_session_entries_deinit(&entries);
	if (err)
		json_decref(list);
	else
		*ret = list;
	return err;
}
