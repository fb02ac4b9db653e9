// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * getgrnam(3) of the static vmopd. That of the C library would load shared libraries for the ways
 * that /etc/nsswitch.conf names, which must be of the very C library that is linked in. This one
 * knows the groups of /etc/group only.
 */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"

struct group *getgrnam(const char *name)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/group", "re");
	struct group *group = NULL;
	while (file && (group = fgetgrent(file)))
		if (strcmp(group->gr_name, name) == 0)
			break;
	return group;
}
