// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Estimate ratios of a result's events for each row: instructions per cycle, misses per thousand
 * instructions, and others that the user defines.
 *
 * Samples count both sides, so a ratio is an estimate.  The numbers of samples of the two events
 * are taken as independent Poisson counts a and b with the expectations A and B.  Given a + b, a is
 * binomial with p = A / (A + B) (Przyborowski, Wilenski: Homogeneity of results in testing samples
 * from Poisson series, Biometrika 31, 1940).  The ratio's interval is the 95 % score interval of p
 * (Wilson: Probable inference, J. Amer. Statist. Assoc. 22, 1927), converted to odds p / (1 - p)
 * and multiplied by the events of one sample.
 */
#ifndef VMOP_OPREPORT_QUERY_RATIO_H
#define VMOP_OPREPORT_QUERY_RATIO_H

#include "opreport/query/arena.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"

/* How precise a ratio is. */
enum vmop_ratio_quality {
	VMOP_RATIO_NONE,  /* the denominator has fewer than 16 samples */
	VMOP_RATIO_BELOW, /* too few samples of the numerator: only `high` is known */
	VMOP_RATIO_ROUGH, /* the interval reaches farther than 10 % from the value */
	VMOP_RATIO_CLOSE,
};

struct vmop_ratio_value {
	enum vmop_ratio_quality quality;
	bool has_interval;	 /* the denominator has samples, and the next fields are set */
	double value, low, high; /* the estimate, and its 95 % interval */
};

struct vmop_ratio {
	const char *name;	       /* as in columns: "ipc", "mpki:cache-misses", ... */
	size_t numerator, denominator; /* the result's events */
	double factor;		       /* multiplies the quotient: 1, 1000, ... */
};

struct vmop_ratios {
	struct vmop_arena arena; /* names */
	struct vmop_ratio *items;
	size_t n;
};

/*
 * Initialise ratios from words and the result's events:
 *
 *	auto	ipc and mpki, if the result has the events; the same as no words
 *	none	no ratios
 *	ipc	instructions per cycle
 *	cpi	cycles per instruction
 *	mpki	for each event that counts misses: misses per thousand instructions
 *	[NAME=]EVENT/EVENT[:FACTOR]
 *
 * auto, ipc, cpi and mpki pair only events that are counted in the same modes.  EVENT is an event's
 * name, a name that it stands for, or a glob; the first match counts.  Another word, or one without
 * its events, is VMOP_ERROR_USAGE with a list of the events.  The caller deinitialises ratios also
 * after an error.
 */
struct vmop_error *vmop_ratios_init(struct vmop_ratios *ratios, const struct vmop_words *words,
				    const struct vmop_result *result);
void vmop_ratios_deinit(struct vmop_ratios *ratios);

/*
 * Return whether a report with these words could have a ratio of that name: its events decide
 * whether it has one.
 */
bool vmop_ratios_may_have(const char *name, const struct vmop_words *words);

/* Estimate a ratio for a row or a detail, from its counts. */
struct vmop_ratio_value vmop_ratio_of(const struct vmop_ratio *ratio,
				      const struct vmop_result *result,
				      const struct vmop_count *counts);

/* Estimate a ratio for all selected samples. */
struct vmop_ratio_value vmop_ratio_of_all(const struct vmop_ratio *ratio,
					  const struct vmop_result *result);

/*
 * Estimate numerator / denominator * factor.  events_per_sample is the numerator's weight of one
 * sample, used if it has no samples.
 */
struct vmop_ratio_value vmop_ratio_estimate(struct vmop_count numerator,
					    struct vmop_count denominator, double factor,
					    double events_per_sample);

/* Return the result's event that EVENT above means, or SIZE_MAX. */
size_t vmop_ratio_find_event(const struct vmop_result *result, const char *word);

/* Return the index of the ratio named word, else of the first named "word:...", or SIZE_MAX. */
size_t vmop_ratios_find(const struct vmop_ratios *ratios, const char *word);

#endif
