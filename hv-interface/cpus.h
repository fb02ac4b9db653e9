// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sets of CPUs as /sys/devices/system/cpu writes them: "0-3,8,10-11"
 * (Documentation/admin-guide/cputopology.rst).
 */
#ifndef VMOP_HV_INTERFACE_CPUS_H
#define VMOP_HV_INTERFACE_CPUS_H

#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"

#define VMOP_CPUS_ONLINE_PATH "/sys/devices/system/cpu/online"
#define VMOP_CPUS_MAX 65536 /* CPU numbers below this; NR_CPUS is 8192 at most today */

struct vmop_cpus {
	unsigned *cpus; /* ascending, each once */
	size_t n, capacity;
};

/*
 * Parse a list, which may end with a newline. VMOP_ERROR_CORRUPT names the bad part. Free *ret with
 * vmop_cpus_deinit.
 */
struct vmop_error *vmop_cpus_parse(const char *text, struct vmop_cpus *ret);
bool vmop_cpus_has(const struct vmop_cpus *cpus, unsigned cpu);
void vmop_cpus_deinit(struct vmop_cpus *cpus);

/* A watch on the set of online CPUs: one pread while it is unchanged. */
struct vmop_cpus_watch;
struct vmop_error *vmop_cpus_watch_create(const char *path, struct vmop_cpus_watch **ret);
void vmop_cpus_watch_destroy(struct vmop_cpus_watch *watch); /* NULL is allowed */
/*
 * Read the set of online CPUs. Set *ret_changed and fill *ret if the set differs from the last
 * call's; the first call always fills it. The caller frees *ret with vmop_cpus_deinit.
 */
struct vmop_error *vmop_cpus_watch_check(struct vmop_cpus_watch *watch, bool *ret_changed,
					 struct vmop_cpus *ret);

#endif
