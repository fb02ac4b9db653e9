// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/session-clock.h"

#include <string.h>

/* An improvement by less is not worth a write. */
#define STORED_STEP_NS (10 * VMOP_NS_PER_MS)

/* In the year 2116. The difference of two differences of such times has room. */
#define TIME_MAX (UINT64_C(1) << 62)

static void append(struct vmop_db_clock *clock, const struct vmop_db_clock_part *part)
{
	if (clock->n == VMOP_DB_CLOCK_PARTS_MAX)
		memmove(clock->parts, clock->parts + 1, --clock->n * sizeof(clock->parts[0]));
	clock->parts[clock->n++] = *part;
}

/* Take a report that came later than the best one. */
static bool take_late(struct vmop_session_clock *clock, const struct vmop_db_clock_part *now,
		      uint64_t host_ns)
{
	if (!clock->n_late++) {
		clock->late_since_ns = host_ns;
		clock->late_from_ns = now->from_ns;
		clock->late_add_ns = now->add_ns;
	}
	if (now->add_ns < clock->late_add_ns)
		clock->late_add_ns = now->add_ns;
	if (clock->n_late < VMOP_SESSION_CLOCK_LATE_REPORTS ||
	    host_ns - clock->late_since_ns < VMOP_SESSION_CLOCK_LATE_NS)
		return false;
	const struct vmop_db_clock_part part = {.session_ns = now->session_ns,
						.from_ns = clock->late_from_ns,
						.add_ns = clock->late_add_ns};
	clock->n_late = 0;
	append(&clock->clock, &part);
	return true;
}

bool vmop_session_clock_take(struct vmop_session_clock *clock, uint64_t start_ns, uint64_t guest_ns,
			     uint64_t host_ns)
{
	struct vmop_db_clock_part *last =
		clock->clock.n ? &clock->clock.parts[clock->clock.n - 1] : NULL;
	if (host_ns <= clock->reported_ns || host_ns > TIME_MAX || guest_ns > TIME_MAX)
		return false;
	clock->reported_ns = host_ns;
	const struct vmop_db_clock_part now = {.session_ns = start_ns,
					       .from_ns = guest_ns,
					       .add_ns = (int64_t)host_ns - (int64_t)guest_ns};
	bool is_other = !last || last->session_ns != start_ns;
	int64_t later_ns = is_other ? 0 : now.add_ns - last->add_ns;
	if (!is_other && later_ns > (int64_t)VMOP_SESSION_CLOCK_STEP_NS)
		return take_late(clock, &now, host_ns);
	clock->n_late = 0;
	if (is_other || later_ns < -(int64_t)VMOP_SESSION_CLOCK_STEP_NS) {
		append(&clock->clock, &now);
		return true;
	}
	if (later_ns >= 0)
		return false;
	last->add_ns = now.add_ns;
	return later_ns < -(int64_t)STORED_STEP_NS;
}
