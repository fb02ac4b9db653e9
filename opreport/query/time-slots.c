// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/time-slots.h"

#include <stdlib.h>

#include "libutil/array.h"
#include "opreport/query/time-steps.h"

/* The intervals of the sessions while they are read. */
struct reading {
	struct vmop_time_slots *slots;
	uint64_t from_ns, to_ns;    /* that are wanted */
	uint64_t first_ns, last_ns; /* of the wanted intervals */
	size_t session;
};

static uint64_t end_of(const struct vmop_db_interval *interval)
{
	uint64_t end_ns;
	return __builtin_add_overflow(interval->start_ns, interval->len_ns, &end_ns) ? UINT64_MAX
										     : end_ns;
}

static bool is_wanted(const struct reading *reading, const struct vmop_db_interval *interval)
{
	return end_of(interval) > reading->from_ns &&
	       (!reading->to_ns || interval->start_ns < reading->to_ns);
}

static struct vmop_error *find_bounds(void *arg, const struct vmop_db_interval *interval)
{
	struct reading *reading = arg;
	if (!is_wanted(reading, interval))
		return NULL;
	if (interval->start_ns < reading->first_ns)
		reading->first_ns = interval->start_ns;
	if (end_of(interval) > reading->last_ns)
		reading->last_ns = end_of(interval);
	return NULL;
}

/* Return the bin that the middle of the interval is in. */
static size_t bin_of(const struct vmop_time_slots *slots, const struct vmop_db_interval *interval)
{
	uint64_t middle_ns = interval->start_ns + (end_of(interval) - interval->start_ns) / 2;
	if (middle_ns < slots->origin_ns)
		return 0;
	uint64_t bin = (middle_ns - slots->origin_ns) / slots->bin_ns;
	return bin < slots->n_bins ? (size_t)bin : slots->n_bins - 1;
}

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct reading *reading = arg;
	struct vmop_time_slots *slots = reading->slots;
	if (!is_wanted(reading, interval))
		return NULL;
	uint32_t *index =
		&slots->by_bin[reading->session * slots->n_bins + bin_of(slots, interval)];
	if (!*index) {
		if (!vmop_array_reserve(slots->items, slots->capacity, slots->n + 1))
			return &vmop_error_no_memory;
		slots->items[slots->n++] = (struct vmop_time_slot){
			.from_ns = interval->start_ns, .session = (uint32_t)reading->session};
		*index = (uint32_t)slots->n;
	}
	struct vmop_time_slot *slot = &slots->items[*index - 1];
	if (interval->start_ns < slot->from_ns)
		slot->from_ns = interval->start_ns;
	if (end_of(interval) > slot->to_ns)
		slot->to_ns = end_of(interval);
	if (interval->len_ns > slot->longest_ns)
		slot->longest_ns = interval->len_ns;
	return NULL;
}

static struct vmop_error *
each_interval(struct reading *reading, const struct vmop_session_input *sessions, size_t n_sessions,
	      struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval))
{
	struct vmop_error *err = NULL;
	for (size_t s = 0; s < n_sessions && !err; s++) {
		reading->session = s;
		err = vmop_db_each_interval(sessions[s].db, each, reading);
	}
	return err;
}

struct vmop_error *vmop_time_slots_init(struct vmop_time_slots *ret,
					const struct vmop_session_input *sessions,
					size_t n_sessions, uint64_t from_ns, uint64_t to_ns,
					size_t n_max)
{
	struct reading reading = {
		.slots = ret, .from_ns = from_ns, .to_ns = to_ns, .first_ns = UINT64_MAX};
	*ret = (struct vmop_time_slots){0};
	struct vmop_error *err = each_interval(&reading, sessions, n_sessions, find_bounds);
	if (err || reading.last_ns <= reading.first_ns)
		return err;
	ret->n_bins = n_max < VMOP_TIME_SLOTS_MAX ? n_max : VMOP_TIME_SLOTS_MAX;
	ret->origin_ns = reading.first_ns;
	ret->bin_ns = (reading.last_ns - reading.first_ns) / ret->n_bins + 1;
	ret->by_bin = calloc(n_sessions * ret->n_bins, sizeof(*ret->by_bin));
	if (!ret->by_bin)
		return &vmop_error_no_memory;
	return each_interval(&reading, sessions, n_sessions, add_interval);
}

void vmop_time_slots_deinit(struct vmop_time_slots *slots)
{
	free(slots->items);
	free(slots->by_bin);
}

uint32_t vmop_time_slots_find(const struct vmop_time_slots *slots, size_t session,
			      const struct vmop_db_interval *interval)
{
	if (!slots->n)
		return VMOP_NO_TIME_SLOT;
	if (slots->step_s)
		return vmop_time_steps_find(slots, interval);
	uint32_t index = slots->by_bin[session * slots->n_bins + bin_of(slots, interval)];
	return index ? index - 1 : VMOP_NO_TIME_SLOT;
}
