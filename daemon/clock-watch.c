// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/clock-watch.h"

#include "libutil/clock.h"

/* Differences below this are noise or leap seconds. */
static const uint64_t noise_ns = 2 * VMOP_NS_PER_S;

/* From this difference on, CLOCK_REALTIME shows another time. */
static const uint64_t step_ns = 3600 * VMOP_NS_PER_S;

struct vmop_clock_reading vmop_clock_watch_read(void)
{
	return (struct vmop_clock_reading){
		.real_ns = vmop_clock_ns(CLOCK_REALTIME),
		.monotonic_ns = vmop_clock_ns(CLOCK_MONOTONIC),
		.boot_ns = vmop_clock_ns(CLOCK_BOOTTIME),
	};
}

static uint64_t asleep_ns(const struct vmop_clock_reading *reading)
{
	return reading->boot_ns > reading->monotonic_ns ? reading->boot_ns - reading->monotonic_ns
							: 0;
}

void vmop_clock_watch_init(struct vmop_clock_watch *watch, const struct vmop_clock_reading *now)
{
	*watch = (struct vmop_clock_watch){.first = *now, .asleep_ns = asleep_ns(now)};
}

bool vmop_clock_watch_check(struct vmop_clock_watch *watch, const struct vmop_clock_reading *now,
			    uint64_t session_ns, uint64_t *ret_forward_ns)
{
	uint64_t asleep = asleep_ns(now), forward_ns = 0;
	/* The three clocks are not read at one moment: less is no suspend. */
	if (asleep > watch->asleep_ns && asleep - watch->asleep_ns > noise_ns) {
		forward_ns = asleep - watch->asleep_ns;
		watch->asleep_ns = asleep;
	}
	session_ns += forward_ns;
	bool is_stepped = now->real_ns >= session_ns ? now->real_ns - session_ns >= step_ns
						     : session_ns - now->real_ns >= step_ns;
	if (!is_stepped && now->real_ns > session_ns && now->real_ns - session_ns > noise_ns)
		forward_ns += now->real_ns - session_ns;
	*ret_forward_ns = forward_ns;
	return is_stepped;
}

bool vmop_clock_is_other_time(uint64_t real_ns, uint64_t joint_ns)
{
	return real_ns > joint_ns ? real_ns - joint_ns > noise_ns / 2
				  : joint_ns - real_ns >= step_ns;
}

uint64_t vmop_clock_watch_cautious_ns(const struct vmop_clock_watch *watch,
				      const struct vmop_clock_reading *now)
{
	uint64_t since_ns =
		now->boot_ns > watch->first.boot_ns ? now->boot_ns - watch->first.boot_ns : 0;
	uint64_t counted_ns = watch->first.real_ns + since_ns;
	return now->real_ns < counted_ns ? now->real_ns : counted_ns;
}
