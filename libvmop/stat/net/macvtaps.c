// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/macvtaps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define DEVICES_BYTES 8192

/* Each is the name of a class in sysfs, and of a driver in /proc/devices. */
static const char *const classes[] = {"macvtap", "ipvtap"};

void vmop_net_macvtaps_deinit(struct vmop_net_macvtaps *macvtaps)
{
	free(macvtaps->items);
	*macvtaps = (struct vmop_net_macvtaps){0};
}

/* Find the major numbers in lines such as "246 macvtap". */
static void read_majors(struct vmop_net_macvtaps *macvtaps, const char *root)
{
	char text[DEVICES_BYTES], *rest = text, *line;
	macvtaps->majors.n = 0;
	if (vmop_procfs_read(root, text, sizeof(text), "/proc/devices") <= 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		unsigned major;
		char name[32];
		if (!strcmp(line, "Block devices:"))
			break;
		if (sscanf(line, "%u %31s", &major, name) != 2)
			continue;
		for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
			if (!strcmp(name, classes[i]) &&
			    macvtaps->majors.n < sizeof(macvtaps->majors.items) /
							 sizeof(macvtaps->majors.items[0]))
				macvtaps->majors.items[macvtaps->majors.n++] = major;
		}
	}
}

/*
 * Take the interface of a device from its link, ".../net/NAME/CLASS/tapINDEX". A /sys that was
 * mounted in another namespace has the interfaces of that one: their names differ as a rule.
 */
static bool read_macvtap(const char *root, const char *class, const char *entry,
			 struct vmop_net_macvtap *ret)
{
	char link[512], number[32];
	unsigned major, minor;
	int end = 0;
	if (vmop_procfs_readlink(root, link, sizeof(link), "/sys/class/%s/%s", class, entry) <= 0 ||
	    vmop_procfs_read(root, number, sizeof(number), "/sys/class/%s/%s/dev", class, entry) <=
		    0 ||
	    sscanf(number, "%u:%u", &major, &minor) != 2)
		return false;
	const char *name = strstr(link, "/net/");
	if (!name || sscanf(name, "/net/%15[^/]/%*[^/]/tap%u%n", ret->name, &ret->index, &end) != 2)
		return false;
	ret->device = makedev(major, minor);
	return !name[end];
}

static struct vmop_error *read_class(struct vmop_net_macvtaps *macvtaps, const char *root,
				     const char *class)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, "/sys/class/%s", class);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		struct vmop_net_macvtap macvtap;
		if (!read_macvtap(root, class, entry->d_name, &macvtap))
			continue; /* "." and "..", or it has gone */
		if (!vmop_array_reserve(macvtaps->items, macvtaps->capacity, macvtaps->n + 1))
			return &vmop_error_no_memory;
		macvtaps->items[macvtaps->n++] = macvtap;
	}
	return NULL;
}

struct vmop_error *vmop_net_macvtaps_read(struct vmop_net_macvtaps *macvtaps, const char *root)
{
	struct vmop_error *err = NULL;
	read_majors(macvtaps, root);
	macvtaps->n = 0;
	for (size_t i = 0; !err && i < sizeof(classes) / sizeof(classes[0]); i++)
		err = read_class(macvtaps, root, classes[i]);
	return err;
}

bool vmop_net_macvtaps_are(const struct vmop_net_macvtaps *macvtaps, dev_t device)
{
	for (size_t i = 0; i < macvtaps->majors.n; i++) {
		if (macvtaps->majors.items[i] == major(device))
			return true;
	}
	return false;
}

const struct vmop_net_macvtap *vmop_net_macvtaps_find(const struct vmop_net_macvtaps *macvtaps,
						      dev_t device)
{
	for (size_t i = 0; i < macvtaps->n; i++) {
		if (macvtaps->items[i].device == device)
			return &macvtaps->items[i];
	}
	return NULL;
}
