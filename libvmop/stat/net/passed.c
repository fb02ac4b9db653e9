// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/passed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define PCI "/sys/bus/pci/devices/"
#define PCI_CLASS_NETWORK 0x02 /* Linux, include/linux/pci_ids.h: PCI_BASE_CLASS_NETWORK */

struct list {
	struct vmop_net_passed *items;
	size_t n, capacity;
};

/* Copy the last component of a link's target; false: there is no link, or it is too long. */
static bool last_of_link(const char *root, char *ret, size_t size, const char *path)
{
	char link[512];
	if (vmop_procfs_readlink(root, link, sizeof(link), "%s", path) <= 0)
		return false;
	const char *slash = strrchr(link, '/');
	const char *last = slash ? slash + 1 : link;
	return (size_t)snprintf(ret, size, "%s", last) < size;
}

static bool is_network_device(const char *root, const char *address)
{
	char text[32];
	unsigned class;
	return vmop_procfs_read(root, text, sizeof(text), PCI "%s/class", address) > 0 &&
	       sscanf(text, "0x%x", &class) == 1 && class >> 16 == PCI_CLASS_NETWORK;
}

/* Find which of the physical function's virtfnN links leads to the device. */
static bool find_number(const char *root, struct vmop_net_passed *passed)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, PCI "%s/physfn", passed->address);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char path[512], address[sizeof(passed->address)];
		if (sscanf(entry->d_name, "virtfn%" SCNu32, &passed->number) != 1)
			continue;
		snprintf(path, sizeof(path), PCI "%s/physfn/%s", passed->address, entry->d_name);
		if (last_of_link(root, address, sizeof(address), path) &&
		    !strcmp(address, passed->address))
			return true;
	}
	return false;
}

/*
 * Return whether an interface is a port of a switch in the device that stands for a function:
 * "pf0vf3" or "pf0sf88" (Linux, Documentation/networking/switchdev.rst). They are below the
 * physical function's interfaces too.
 */
static bool is_representor(const char *root, const char *address, const char *name)
{
	char text[64];
	return vmop_procfs_read(root, text, sizeof(text), PCI "%s/physfn/net/%s/phys_port_name",
				address, name) > 0 &&
	       (strstr(text, "vf") || strstr(text, "sf"));
}

static void find_parent(const char *root, struct vmop_net_passed *passed)
{
	_cleanup_closedir_ DIR *dir =
		vmop_procfs_opendir(root, PCI "%s/physfn/net", passed->address);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (*entry->d_name == '.' || strlen(entry->d_name) >= sizeof(passed->parent) ||
		    is_representor(root, passed->address, entry->d_name))
			continue;
		strcpy(passed->parent, entry->d_name);
		return;
	}
}

static struct vmop_error *add_device(struct list *list, const char *root, const char *address)
{
	struct vmop_net_passed passed = {0};
	if ((size_t)snprintf(passed.address, sizeof(passed.address), "%s", address) >=
		    sizeof(passed.address) ||
	    !is_network_device(root, address))
		return NULL;
	passed.is_virtual = find_number(root, &passed);
	if (passed.is_virtual)
		find_parent(root, &passed);
	if (!vmop_array_reserve(list->items, list->capacity, list->n + 1))
		return &vmop_error_no_memory;
	list->items[list->n++] = passed;
	return NULL;
}

static struct vmop_error *add_group(struct list *list, const char *root, uint32_t group)
{
	struct vmop_error *err = NULL;
	_cleanup_closedir_ DIR *dir =
		vmop_procfs_opendir(root, "/sys/kernel/iommu_groups/%" PRIu32 "/devices", group);
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		if (*entry->d_name != '.')
			err = add_device(list, root, entry->d_name);
	}
	return err;
}

struct vmop_error *vmop_net_passed_find(const char *root, const char *path,
					struct vmop_net_passed **ret, size_t *ret_n)
{
	struct vmop_error *err = NULL;
	struct list list = {0};
	uint32_t number;
	char address[sizeof(list.items->address)], device[64];
	if (sscanf(path, "/dev/vfio/devices/vfio%" SCNu32, &number) == 1) {
		snprintf(device, sizeof(device), "/sys/class/vfio-dev/vfio%" PRIu32 "/device",
			 number);
		if (last_of_link(root, address, sizeof(address), device))
			err = add_device(&list, root, address);
	} else if (sscanf(path, "/dev/vfio/%" SCNu32, &number) == 1) {
		err = add_group(&list, root, number);
	}
	if (err) {
		free(list.items);
		return err;
	}
	*ret = list.items;
	*ret_n = list.n;
	return NULL;
}
