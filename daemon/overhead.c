// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/overhead.h"

#include "libutil/clock.h"

/* The length of a window: five flushes, and at most this long unless flushes are rarer. */
static const uint64_t longest_window_ns = 5 * VMOP_NS_PER_S;
static const unsigned window_flushes = 5;

/* The quiet windows before the rate is raised, and the largest step down. */
static const unsigned quiet_windows = 6, largest_step = 4;

/* At twice the rate, less than this part of the limit may be used. */
static const double raise_below = 0.8;

void vmop_overhead_init(struct vmop_overhead *overhead, unsigned limit_permyriad, uint64_t flush_ns)
{
	uint64_t window_ns = longest_window_ns;
	if (flush_ns < longest_window_ns / window_flushes)
		window_ns = flush_ns * window_flushes;
	*overhead = (struct vmop_overhead){
		.limit_permyriad = limit_permyriad,
		.divisor = 1,
		.window_ns = window_ns,
		.used_permyriad = -1,
	};
}

/* Return the divisor that would meet the limit if the cost followed the rate, by bounded steps. */
static unsigned lowered(const struct vmop_overhead *overhead)
{
	unsigned divisor = overhead->divisor, step = 1;
	while (step < largest_step && divisor * step < VMOP_OVERHEAD_MOST_DIVISOR &&
	       overhead->used_permyriad > (double)overhead->limit_permyriad * step)
		step *= 2;
	return divisor * step;
}

static unsigned decide(struct vmop_overhead *overhead)
{
	double limit = overhead->limit_permyriad;
	overhead->is_beyond =
		overhead->used_permyriad > limit && overhead->divisor == VMOP_OVERHEAD_MOST_DIVISOR;
	if (overhead->used_permyriad > limit) {
		overhead->n_quiet = 0;
		return lowered(overhead);
	}
	bool has_room = overhead->divisor > 1 && overhead->used_permyriad * 2 < limit * raise_below;
	overhead->n_quiet = has_room ? overhead->n_quiet + 1 : 0;
	if (overhead->n_quiet < quiet_windows)
		return overhead->divisor;
	overhead->n_quiet = 0;
	return overhead->divisor / 2;
}

bool vmop_overhead_check(struct vmop_overhead *overhead, uint64_t now_ns, uint64_t cpu_ns,
			 uint32_t n_cpus)
{
	uint64_t begun_ns = overhead->begun_ns, begun_cpu_ns = overhead->begun_cpu_ns;
	if (begun_ns && now_ns - begun_ns < overhead->window_ns)
		return false;
	overhead->begun_ns = now_ns;
	overhead->begun_cpu_ns = cpu_ns;
	if (!begun_ns || now_ns <= begun_ns || !n_cpus)
		return false;
	uint64_t used_ns = cpu_ns > begun_cpu_ns ? cpu_ns - begun_cpu_ns : 0;
	overhead->used_permyriad = (double)used_ns * 10000 / ((double)(now_ns - begun_ns) * n_cpus);
	bool was_warm = overhead->is_warm;
	overhead->is_warm = true;
	if (!was_warm || !overhead->limit_permyriad)
		return false;
	unsigned before = overhead->divisor;
	overhead->divisor = decide(overhead);
	return overhead->divisor != before;
}
