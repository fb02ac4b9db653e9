// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time zone of an archive: reports print local times, and an archive's are those of the machine
 * that made it.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_TIME_ZONE_H
#define VMOP_OPREPORT_ARCHIVE_TIME_ZONE_H

#include <stdbool.h>

/*
 * Return this machine's zone with its rule for daylight saving, as a POSIX value of TZ
 * ("CET-1CEST,M3.5.0,M10.5.0/3", tzset(3)), or "" if it is not known. The caller frees it; NULL:
 * out of memory. The rule is that of today; earlier ones are not part of it.
 */
char *vmop_time_zone_find(void);

/* Return whether text is a POSIX value of TZ, which names no file. */
bool vmop_time_zone_is_posix(const char *text);

/* Use this zone in the process, unless the user has set TZ or the zone is "". */
void vmop_time_zone_use(const char *zone);

#endif
