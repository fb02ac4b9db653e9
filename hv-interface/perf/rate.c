// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/rate.h"

#include <errno.h>
#include <sys/ioctl.h>

#include "libutil/clock.h"

/* Return the lowered frequency, at least 1 Hz. */
static uint64_t lower_hz(uint64_t hz, unsigned divisor)
{
	return hz > divisor ? hz / divisor : 1;
}

/* Return the longer period. The kernel refuses one that is negative as a signed number. */
static uint64_t longer_period(uint64_t period, unsigned divisor)
{
	return period < (uint64_t)INT64_MAX / divisor ? period * divisor : INT64_MAX;
}

void vmop_perf_rate_set_attr(unsigned divisor, struct perf_event_attr *attr)
{
	if (divisor <= 1)
		return;
	if (attr->freq)
		attr->sample_freq = lower_hz(attr->sample_freq, divisor);
	else
		attr->sample_period = longer_period(attr->sample_period, divisor);
}

/* Change the period or the frequency of one open event. */
static struct vmop_error *set_event(int fd, const struct vmop_perf_event *event, unsigned divisor,
				    unsigned cpu)
{
	struct perf_event_attr attr = event->attr;
	vmop_perf_rate_set_attr(divisor, &attr);
	uint64_t value = attr.freq ? attr.sample_freq : attr.sample_period;
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_PERIOD, &value) == 0)
		return NULL;
	return vmop_error_os(errno, "changing the rate of event '%s' on CPU %u", event->name, cpu);
}

struct vmop_error *vmop_perf_rate_set_cpu(struct vmop_perf_cpu *cpu,
					  const struct vmop_perf_plan *plan, unsigned divisor)
{
	struct vmop_perf_decoder *decoder = &cpu->cursor.decoder;
	struct vmop_error *err = NULL;
	for (size_t slot = 0; slot < 2 * plan->n_events && !err; slot++)
		err = set_event(cpu->fds[slot], &plan->events[slot % plan->n_events], divisor,
				cpu->cpu);
	decoder->divisor_before = decoder->divisor;
	decoder->divisor = divisor;
	decoder->lowered_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return err;
}
