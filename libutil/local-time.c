// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/local-time.h"

#include "libutil/clock.h"

#define DAY_S 86400
#define HOUR_S 3600

static bool has_fields_of(const struct tm *civil, time_t seconds)
{
	struct tm tm;
	return localtime_r(&seconds, &tm) && tm.tm_year == civil->tm_year &&
	       tm.tm_mon == civil->tm_mon && tm.tm_mday == civil->tm_mday &&
	       tm.tm_hour == civil->tm_hour && tm.tm_min == civil->tm_min &&
	       tm.tm_sec == civil->tm_sec;
}

bool vmop_local_to_real(const struct tm *civil, uint64_t *ret_first_ns, uint64_t *ret_last_ns)
{
	struct tm plain = {.tm_year = civil->tm_year,
			   .tm_mon = civil->tm_mon,
			   .tm_mday = civil->tm_mday,
			   .tm_hour = civil->tm_hour,
			   .tm_min = civil->tm_min,
			   .tm_sec = civil->tm_sec};
	struct tm carried = plain, summer = plain, winter = plain;
	if (timegm(&carried) < 0) /* it only carries fields over here */
		return false;
	summer.tm_isdst = 1;
	time_t in_summer = mktime(&summer), in_winter = mktime(&winter);
	if (!has_fields_of(&carried, in_winter) && has_fields_of(&carried, in_summer))
		in_winter = in_summer;
	if (!has_fields_of(&carried, in_summer))
		in_summer = in_winter;
	time_t first = in_summer < in_winter ? in_summer : in_winter;
	time_t last = in_summer < in_winter ? in_winter : in_summer;
	if (first < 0 || last > VMOP_REAL_SECONDS_MAX)
		return false;
	*ret_first_ns = (uint64_t)first * VMOP_NS_PER_S;
	*ret_last_ns = (uint64_t)last * VMOP_NS_PER_S;
	return true;
}

bool vmop_local_midnight(uint64_t time_ns, int days, uint64_t *ret)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	uint64_t last_ns;
	if (!localtime_r(&seconds, &tm))
		return false;
	const struct tm civil = {
		.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = tm.tm_mday + days};
	return vmop_local_to_real(&civil, ret, &last_ns);
}

/* ---- steps ----------------------------------------------------------------------- */

bool vmop_local_step_is_valid(uint64_t step_s)
{
	return step_s &&
	       (step_s <= DAY_S ? DAY_S % step_s == 0
				: step_s % DAY_S == 0 && step_s / DAY_S <= VMOP_LOCAL_DAYS_MAX);
}

/* The local clock at a moment. */
struct reading {
	int64_t offset_s; /* local time minus UTC */
	int64_t day;	  /* number of the local day */
	int64_t of_day_s;
};

static struct reading read_clock(int64_t time_s)
{
	time_t seconds = (time_t)time_s;
	struct tm tm;
	struct reading ret = {0};
	if (localtime_r(&seconds, &tm))
		ret.offset_s = tm.tm_gmtoff;
	int64_t local_s = time_s + ret.offset_s;
	ret.day = local_s / DAY_S - (local_s % DAY_S < 0);
	ret.of_day_s = local_s - ret.day * DAY_S;
	return ret;
}

/* Return whether two moments, between which at most the offset changes, are in one step. */
static bool share_step(int64_t a_s, int64_t b_s, int64_t step_s)
{
	struct reading a = read_clock(a_s), b = read_clock(b_s);
	if (step_s > DAY_S) /* day 0 is a Thursday, and day 4 the first Monday */
		return (a.day + 3) / (step_s / DAY_S) == (b.day + 3) / (step_s / DAY_S);
	return a.day == b.day && a.of_day_s / step_s == b.of_day_s / step_s &&
	       (step_s > HOUR_S || a.offset_s == b.offset_s);
}

/* Return the first second in (from_s, to_s] with another offset than from_s, else to_s. */
static int64_t find_change(int64_t from_s, int64_t to_s)
{
	int64_t offset_s = read_clock(from_s).offset_s, same_s = from_s;
	if (read_clock(to_s).offset_s == offset_s)
		return to_s;
	while (to_s - same_s > 1) {
		int64_t middle_s = same_s + (to_s - same_s) / 2;
		if (read_clock(middle_s).offset_s == offset_s)
			same_s = middle_s;
		else
			to_s = middle_s;
	}
	return to_s;
}

/* Return the next moment after time_s at which the step can end: a multiple, or a change. */
static int64_t next_edge(int64_t time_s, int64_t step_s)
{
	struct reading now = read_clock(time_s);
	int64_t of_day_s = step_s > DAY_S ? DAY_S : step_s;
	return find_change(time_s, time_s + of_day_s - now.of_day_s % of_day_s);
}

/* Return the last such moment at or before time_s, which is the next edge after ret - 1. */
static int64_t edge_before(int64_t time_s, int64_t step_s)
{
	int64_t of_day_s = read_clock(time_s).of_day_s;
	int64_t start_s = time_s - of_day_s % (step_s > DAY_S ? DAY_S : step_s);
	bool is_same = read_clock(start_s).offset_s == read_clock(time_s).offset_s;
	return is_same ? start_s : find_change(start_s, time_s);
}

uint64_t vmop_local_step_start(uint64_t time_ns, uint64_t step_s)
{
	int64_t step = (int64_t)step_s, at_s = (int64_t)(time_ns / VMOP_NS_PER_S);
	for (at_s = edge_before(at_s, step); at_s > 0 && share_step(at_s - 1, at_s, step);)
		at_s = edge_before(at_s - 1, step);
	return at_s > 0 ? (uint64_t)at_s * VMOP_NS_PER_S : 0;
}

uint64_t vmop_local_step_end(uint64_t start_ns, uint64_t step_s)
{
	int64_t step = (int64_t)step_s, at_s = (int64_t)(start_ns / VMOP_NS_PER_S);
	int64_t end_s = next_edge(at_s, step);
	while (end_s < VMOP_REAL_SECONDS_MAX && share_step(end_s - 1, end_s, step))
		end_s = next_edge(end_s, step);
	return (uint64_t)(end_s < VMOP_REAL_SECONDS_MAX ? end_s : VMOP_REAL_SECONDS_MAX) *
	       VMOP_NS_PER_S;
}
