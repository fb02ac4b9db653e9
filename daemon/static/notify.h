// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages to systemd without libsystemd, for the static vmopd (event-loop.c): sd_notify(3), whose
 * header is libsystemd's, and the interval of the watchdog.
 */
#ifndef VMOP_DAEMON_STATIC_NOTIFY_H
#define VMOP_DAEMON_STATIC_NOTIFY_H

#include <stdint.h>

/* Return how often the service's manager wants to be notified, as sd_watchdog_enabled(3); 0: never.
 */
uint64_t vmop_static_watchdog_us(void);

#endif
