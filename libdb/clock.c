// SPDX-License-Identifier: GPL-2.0-or-later
/* The clocks of guests that recorded their own sessions, in the time of their host. */
#include "libdb/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/parse.h"

/* ---- the times of a reader ------------------------------------------------------------------ */

void vmop_db_set_clock(struct vmop_db *db, const struct vmop_db_clock *clock, uint64_t session_ns)
{
	db->clock.n = 0;
	for (size_t i = 0; clock && i < clock->n; i++)
		if (clock->parts[i].session_ns == session_ns)
			db->clock.parts[db->clock.n++] = clock->parts[i];
}

bool vmop_db_has_clock(const struct vmop_db *db, int64_t *ret_add_ns)
{
	if (db->clock.n)
		*ret_add_ns = db->clock.parts[db->clock.n - 1].add_ns;
	return db->clock.n > 0;
}

/* Add to a time other than 0, which stays one that SQLite can have. */
static uint64_t add(uint64_t time_ns, int64_t add_ns)
{
	int64_t sum;
	if (time_ns > INT64_MAX)
		return time_ns;
	if (__builtin_add_overflow((int64_t)time_ns, add_ns, &sum))
		return add_ns < 0 ? 1 : INT64_MAX;
	return sum < 1 ? 1 : (uint64_t)sum;
}

uint64_t vmop_db_time(const struct vmop_db *db, uint64_t file_ns)
{
	const struct vmop_db_clock *clock = &db->clock;
	size_t i = 0;
	if (!clock->n || !file_ns)
		return file_ns;
	while (i + 1 < clock->n && file_ns >= clock->parts[i + 1].from_ns)
		i++;
	return add(file_ns, clock->parts[i].add_ns);
}

uint64_t vmop_db_file_time(const struct vmop_db *db, uint64_t time_ns)
{
	const struct vmop_db_clock *clock = &db->clock;
	size_t i = clock->n ? clock->n - 1 : 0;
	if (!clock->n || !time_ns)
		return time_ns;
	while (i && time_ns < add(clock->parts[i].from_ns, clock->parts[i].add_ns))
		i--;
	return add(time_ns, -clock->parts[i].add_ns);
}

/* ---- in the session of the host -------------------------------------------------------------- */

/* Room for the text of all parts: three numbers each. */
#define TEXT_BYTES (VMOP_DB_CLOCK_PARTS_MAX * 64 + 1)

static void name_info(struct vmop_domain_id domain, char ret[32])
{
	snprintf(ret, 32, "domain-%" PRIu32 "-clock", domain.number);
}

struct vmop_error *vmop_db_put_guest_clock(struct vmop_db *db, struct vmop_domain_id domain,
					   const struct vmop_db_clock *clock)
{
	char name[32], text[TEXT_BYTES] = "";
	size_t len = 0;
	name_info(domain, name);
	for (size_t i = 0; i < clock->n; i++) {
		const struct vmop_db_clock_part *part = &clock->parts[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%s%" PRIu64 " %" PRIu64 " %+" PRId64, i ? ";" : "",
					part->session_ns, part->from_ns, part->add_ns);
	}
	return vmop_db_put_info(db, name, text);
}

static bool parse_time(const char *word, uint64_t *ret)
{
	return word && vmop_parse_u64(word, 10, ret) && *ret <= INT64_MAX;
}

static bool parse_part(char *text, struct vmop_db_clock_part *ret)
{
	const char *session = strsep(&text, " "), *from = strsep(&text, " ");
	const char *difference = strsep(&text, " ");
	uint64_t size_ns;
	if (!parse_time(session, &ret->session_ns) || !parse_time(from, &ret->from_ns) ||
	    !difference || (*difference != '+' && *difference != '-') ||
	    !parse_time(difference + 1, &size_ns) || text)
		return false;
	ret->add_ns = *difference == '-' ? -(int64_t)size_ns : (int64_t)size_ns;
	return true;
}

static int compare_parts(const void *a, const void *b)
{
	const struct vmop_db_clock_part *x = a, *y = b;
	if (x->session_ns != y->session_ns)
		return x->session_ns < y->session_ns ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

struct vmop_error *vmop_db_add_guest_clock(struct vmop_db *db, struct vmop_domain_id domain,
					   uint64_t session_ns, struct vmop_db_clock *clock)
{
	char name[32], *part;
	_cleanup_free_ char *text = NULL;
	name_info(domain, name);
	struct vmop_error *err = vmop_db_get_info(db, name, &text);
	for (char *rest = text; !err && (part = strsep(&rest, ";"));) {
		struct vmop_db_clock_part *next = &clock->parts[clock->n];
		if (clock->n < VMOP_DB_CLOCK_PARTS_MAX && parse_part(part, next) &&
		    next->session_ns == session_ns)
			clock->n++;
	}
	qsort(clock->parts, clock->n, sizeof(clock->parts[0]), compare_parts);
	return err;
}
