// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * getgrnam(3) and getgrgid(3) of the static vmopd. Those of the C library would load shared
 * libraries for the ways that /etc/nsswitch.conf names, which must be of the very C library that is
 * linked in. These know the groups of /etc/group only.
 */
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"

/* Find a group by its name, or by its id if name is NULL. */
static struct group *find_group(const char *name, gid_t gid)
{
	_cleanup_fclose_ FILE *file = fopen("/etc/group", "re");
	struct group *group = NULL;
	while (file && (group = fgetgrent(file)))
		if (name ? strcmp(group->gr_name, name) == 0 : group->gr_gid == gid)
			break;
	return group;
}

struct group *getgrnam(const char *name)
{
	return find_group(name, 0);
}

struct group *getgrgid(gid_t gid)
{
	return find_group(NULL, gid);
}
