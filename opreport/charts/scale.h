// SPDX-License-Identifier: GPL-2.0-or-later
/* Scales of charts: round steps, and short texts for numbers and times. */
#ifndef VMOP_OPREPORT_CHARTS_SCALE_H
#define VMOP_OPREPORT_CHARTS_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_SCALE_TEXT_BYTES 32

/* Return 1, 2 or 5 times a power of ten: the least step with at most n_max steps up to max. */
double vmop_scale_step(double max, unsigned n_max);

/* Write value with three digits, as in "0.125", "12.5", "1.25k" or "3.4M". */
void vmop_scale_number(double value, char ret[VMOP_SCALE_TEXT_BYTES]);

/*
 * Return a round step of time (1, 2, 5, 10, 15, 30 seconds or minutes; 1, 2, 3, 6, 12 hours; days)
 * of at least min_ns, and a multiple of unit_ns if it is longer than unit_ns.
 */
uint64_t vmop_scale_time_step(uint64_t min_ns, uint64_t unit_ns);

/* Write a span in one unit that the specs time:+SPAN take: "250ms", "90s", "5m", "2h" or "3d". */
void vmop_scale_time(uint64_t span_ns, char ret[VMOP_SCALE_TEXT_BYTES]);

#endif
