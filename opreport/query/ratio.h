// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ratios between a result's events, a row each: instructions per cycle, misses per
 * thousand instructions, and whatever else is asked for.
 *
 * Both sides are counted by samples, so a ratio is an estimate.  The numbers of samples of two
 * events are taken as independent Poisson counts a and b; of a + b samples in all, a is then
 * binomial with p = A / (A + B), A and B being the counts' expectations (Przyborowski, Wilenski:
 * Homogeneity of results in testing samples from Poisson series, Biometrika 31, 1940).  The
 * 95 % score interval of p (Wilson: Probable inference, J. Amer. Statist. Assoc. 22, 1927),
 * made odds p / (1 - p), and times the events that a sample stands for, is the ratio's.
 */
#ifndef VMOP_OPREPORT_QUERY_RATIO_H
#define VMOP_OPREPORT_QUERY_RATIO_H

#include "opreport/query/arena.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"

/* How much the samples say of a ratio. */
enum vmop_ratio_quality {
	VMOP_RATIO_NONE,  /* too few samples of the denominator: fewer than 16 */
	VMOP_RATIO_BELOW, /* too few of the numerator: no more than `high` is known */
	VMOP_RATIO_ROUGH, /* the interval reaches farther than 10 % from the value */
	VMOP_RATIO_CLOSE,
};

struct vmop_ratio_value {
	enum vmop_ratio_quality quality;
	bool has_interval;	 /* the denominator has samples at all: what follows is set */
	double value, low, high; /* the estimate, and its 95 % interval */
};

struct vmop_ratio {
	const char *name;	       /* as in columns: "ipc", "mpki:cache-misses", ... */
	size_t numerator, denominator; /* the result's events */
	double factor;		       /* the quotient is times that: 1, 1000, ... */
};

struct vmop_ratios {
	struct vmop_arena arena; /* names */
	struct vmop_ratio *items;
	size_t n;
};

/*
 * The ratios that words ask for, of the result's events:
 *
 *	auto	ipc and mpki, where there are such events; the same as no words
 *	none	no ratios
 *	ipc	instructions per cycle
 *	cpi	cycles per instruction
 *	mpki	of each event that counts misses: per thousand instructions
 *	[NAME=]EVENT/EVENT[:FACTOR]
 *
 * The first four pair only what is counted in the same modes.  EVENT is an event's name, one that
 * it stands for, or a glob; the first that fits.  VMOP_ERROR_USAGE: a word that is none of
 * these, or asks for events that there are not, with those that there are.
 */
struct vmop_error *vmop_ratios_init(struct vmop_ratios *ratios, const struct vmop_words *words,
				    const struct vmop_result *result);
void vmop_ratios_deinit(struct vmop_ratios *ratios);

/* Of a row's or a detail's counts. */
struct vmop_ratio_value vmop_ratio_of(const struct vmop_ratio *ratio,
				      const struct vmop_result *result,
				      const struct vmop_count *counts);

/* Of everything that is selected. */
struct vmop_ratio_value vmop_ratio_of_all(const struct vmop_ratio *ratio,
					  const struct vmop_result *result);

/*
 * numerator / denominator * factor.  events_per_sample: of the numerator, where it has no samples
 * that would tell.
 */
struct vmop_ratio_value vmop_ratio_estimate(struct vmop_count numerator,
					    struct vmop_count denominator, double factor,
					    double events_per_sample);

/* The ratio called word, or the first whose name is word and a colon; SIZE_MAX: none. */
size_t vmop_ratios_find(const struct vmop_ratios *ratios, const char *word);

#endif
