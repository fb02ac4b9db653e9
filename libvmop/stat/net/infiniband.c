// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/infiniband.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"
#include "libutil/procfs.h"

#define CLASS "/sys/class/infiniband"
#define WORD_BYTES 4u
#define LIMIT_OF(bits) ((UINT64_C(1) << (bits)) - 1)

/* The files of the ports' counters whose width or unit is known. */
static const struct {
	const char *file, *name; /* name: NULL: the file's */
	unsigned bits;		 /* at whose largest value it stops; 0: it has 64 and wraps */
	unsigned unit_bytes;	 /* of one count; 0: it counts no bytes */
	bool is_main;
} known[] = {
	{"port_rcv_data", "rx-bytes", 32, WORD_BYTES, true},
	{"port_xmit_data", "tx-bytes", 32, WORD_BYTES, true},
	{"port_rcv_packets", "rx-packets", 32, 0, true},
	{"port_xmit_packets", "tx-packets", 32, 0, true},
	{"port_rcv_data_64", "rx-bytes", 0, WORD_BYTES, true},
	{"port_xmit_data_64", "tx-bytes", 0, WORD_BYTES, true},
	{"port_rcv_packets_64", "rx-packets", 0, 0, true},
	{"port_xmit_packets_64", "tx-packets", 0, 0, true},
	{"port_xmit_wait", NULL, 32, 0, false},
	{"symbol_error", NULL, 16, 0, false},
	{"link_error_recovery", NULL, 8, 0, false},
	{"link_downed", NULL, 8, 0, false},
	{"port_rcv_errors", "rx-errors", 16, 0, true},
	{"port_rcv_remote_physical_errors", NULL, 16, 0, false},
	{"port_rcv_switch_relay_errors", NULL, 16, 0, false},
	{"port_xmit_discards", "tx-dropped", 16, 0, true},
	{"port_xmit_constraint_errors", NULL, 8, 0, false},
	{"port_rcv_constraint_errors", NULL, 8, 0, false},
	{"local_link_integrity_errors", NULL, 4, 0, false},
	{"excessive_buffer_overrun_errors", NULL, 4, 0, false},
	{"VL15_dropped", NULL, 16, 0, false},
};

/* One folder of counters. */
struct folder {
	const char *root;
	char path[1024];  /* below root */
	char object[600]; /* "mlx5_0/1" */
	unsigned renewed_ms;
	bool is_driver;	 /* hw_counters: the names are the driver's */
	bool is_old_one; /* counters, beside counters_ext with the wide ones of the same names */
	struct vmop_readings *readings;
};

/* FNV-1a of the folder's name: the object's identity, as it keeps its name. */
static uint64_t identity_of(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	/* Apart from the indexes of interfaces. */
	return hash | UINT64_C(1) << 63;
}

static void describe_known(const struct folder *folder, const char *file,
			   struct vmop_reading *reading, unsigned *ret_unit_bytes)
{
	reading->flags = VMOP_READING_QUIET;
	*ret_unit_bytes = 0;
	for (size_t i = 0; !folder->is_driver && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].file, file) != 0)
			continue;
		if (known[i].name)
			reading->counter = known[i].name;
		if (known[i].is_main)
			reading->flags = 0;
		if (known[i].bits)
			reading->stops_at = LIMIT_OF(known[i].bits);
		*ret_unit_bytes = known[i].unit_bytes;
		return;
	}
}

/* Return whether counters_ext has a wide counter in place of this file. */
static bool is_replaced(const struct folder *folder, const char *file)
{
	char text[32];
	if (!folder->is_old_one)
		return false;
	return vmop_procfs_read(folder->root, text, sizeof(text), "%s_ext/%s_64", folder->path,
				file) > 0;
}

static struct vmop_error *add_counter(const struct folder *folder, const char *file)
{
	char text[64];
	unsigned unit_bytes;
	struct vmop_reading reading = {
		.identity = identity_of(folder->path),
		.object = folder->object,
		.counter = file,
		.renewed_ms = folder->renewed_ms,
	};
	describe_known(folder, file, &reading, &unit_bytes);
	ssize_t len =
		vmop_procfs_read(folder->root, text, sizeof(text), "%s/%s", folder->path, file);
	if (len < 0) {
		reading.reason = errno == EINVAL ? "the device does not count it" : strerror(errno);
		return vmop_readings_add(folder->readings, &reading);
	}
	text[strcspn(text, "\n")] = '\0';
	if (!vmop_parse_u64(text, 10, &reading.value)) {
		/* The kernel's own text for a port whose management does not answer, or no number.
		 */
		reading.reason = "the driver exports no number";
	} else if (unit_bytes) {
		if (reading.value > UINT64_MAX / unit_bytes)
			reading.reason = "it is larger than a number of bytes can be";
		reading.value *= unit_bytes;
		reading.stops_at *= unit_bytes;
	}
	return vmop_readings_add(folder->readings, &reading);
}

static struct vmop_error *add_folder(const struct folder *folder)
{
	struct vmop_error *err = NULL;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(folder->root, "%s", folder->path);
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lifespan") ||
		    is_replaced(folder, entry->d_name))
			continue;
		err = add_counter(folder, entry->d_name);
	}
	return err;
}

/* Add the driver's own counters, which it renews in steps. */
static struct vmop_error *add_driver_folder(struct folder *folder)
{
	char text[32];
	uint64_t lifespan_ms;
	folder->is_driver = true;
	if (vmop_procfs_read(folder->root, text, sizeof(text), "%s/lifespan", folder->path) > 0) {
		text[strcspn(text, "\n")] = '\0';
		if (vmop_parse_u64(text, 10, &lifespan_ms) && lifespan_ms <= UINT32_MAX)
			folder->renewed_ms = (unsigned)lifespan_ms;
	}
	return add_folder(folder);
}

static struct vmop_error *add_port(const char *root, const char *device, const char *port,
				   struct vmop_readings *readings)
{
	static const char *const names[] = {"counters", "counters_ext"};
	struct vmop_error *err = NULL;
	struct folder folder = {.root = root, .readings = readings};
	snprintf(folder.object, sizeof(folder.object), "%s/%s", device, port);
	for (size_t i = 0; !err && i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(folder.path, sizeof(folder.path), CLASS "/%s/ports/%s/%s", device, port,
			 names[i]);
		folder.is_old_one = i == 0;
		err = add_folder(&folder);
	}
	if (err)
		return err;
	snprintf(folder.object, sizeof(folder.object), "%s/%s/hw", device, port);
	snprintf(folder.path, sizeof(folder.path), CLASS "/%s/ports/%s/hw_counters", device, port);
	return add_driver_folder(&folder);
}

static struct vmop_error *add_device(const char *root, const char *device,
				     struct vmop_readings *readings)
{
	struct vmop_error *err = NULL;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, CLASS "/%s/ports", device);
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			err = add_port(root, device, entry->d_name, readings);
	}
	if (err)
		return err;
	struct folder folder = {.root = root, .readings = readings};
	snprintf(folder.object, sizeof(folder.object), "%s/hw", device);
	snprintf(folder.path, sizeof(folder.path), CLASS "/%s/hw_counters", device);
	return add_driver_folder(&folder);
}

struct vmop_error *vmop_net_infiniband_add(const char *root, struct vmop_readings *readings)
{
	struct vmop_error *err = NULL;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, CLASS);
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			err = add_device(root, entry->d_name, readings);
	}
	return err;
}
