// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Converts times of the host to times of this guest, both CLOCK_MONOTONIC, in ns.
 *
 * The guest asks, and the host answers with its time and, where it can, with the value of this
 * guest's time-stamp counter at that time. The guest finds its own time of that value between its
 * readings before the question and after the answer: some 0.1 us of error. Without the counter, the
 * answer lies anywhere between the question and its arrival, and the error is half of that time;
 * the bounds of many answers together make it smaller.
 *
 * Each answer is a point: a host's time, and the guest's time minus it. Between points the
 * difference is interpolated, because both kernels adjust their clocks on their own.
 *
 * The host is not trusted: a bad answer makes times wrong, and nothing else.
 */
#ifndef VMOP_HV_INTERFACE_HANDED_CLOCK_H
#define VMOP_HV_INTERFACE_HANDED_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/active-samples.h"
#include "libutil/tsc.h"

#define VMOP_HANDED_CLOCK_POINTS 64

/* How far two clocks can drift apart at most: the kernel slews by 500 ppm. */
#define VMOP_HANDED_CLOCK_DRIFT_PPM 500

struct vmop_handed_point {
	uint64_t host_ns;
	uint64_t difference_ns; /* guest minus host, modulo 2^64 */
	uint64_t error_ns;
};

/* Zeroed: without a point. */
struct vmop_handed_clock {
	struct vmop_handed_point points[VMOP_HANDED_CLOCK_POINTS]; /* a ring */
	uint64_t n_points;					   /* since the start */
	struct vmop_tsc_pair asked;
	bool has_tsc, is_asked;
	bool is_by_round_trips; /* the last point */
};

/* Return the guest's time of a new question. has_tsc: whether `now` has the counter. */
uint64_t vmop_handed_clock_ask(struct vmop_handed_clock *clock, const struct vmop_tsc_pair *now,
			       bool has_tsc);

/* Take the answer to the question. Return false if it answers none. */
bool vmop_handed_clock_answer(struct vmop_handed_clock *clock,
			      const struct vmop_active_clock *answer,
			      const struct vmop_tsc_pair *now);

/* Return the host's time up to which times can be converted by interpolation; 0: none. */
uint64_t vmop_handed_clock_known_ns(const struct vmop_handed_clock *clock);

/* Return the error of the last point; 0: no point. */
uint64_t vmop_handed_clock_error_ns(const struct vmop_handed_clock *clock);

/* Convert a time. Return false if there is no point yet. */
bool vmop_handed_clock_convert(const struct vmop_handed_clock *clock, uint64_t host_ns,
			       uint64_t *ret_guest_ns, uint64_t *ret_error_ns);

#endif
