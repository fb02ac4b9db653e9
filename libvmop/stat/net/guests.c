// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/guests.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/proc-text.h"
#include "libutil/procfs.h"
#include "libvmop/stat/net/macvtaps.h"
#include "libvmop/stat/net/passed.h"
#include "libvmop/stat/net/tap-namespace.h"

#define CMDLINE_MAX_BYTES 65536
#define RENEW_NS VMOP_NS_PER_S
#define RENEW_COSTS 20 /* of the time */
#define IDENTITY_WORKER (UINT64_C(2) << 61)
#define IDENTITY_UNCOUNTED (UINT64_C(1) << 61)
#define IDENTITY_VHOST_USER (UINT64_C(3) << 61)

struct guest {
	uint32_t pid;
	unsigned n_vhost_user; /* its network cards whose packets another process moves */
	char name[VMOP_GUEST_NAME_BYTES];
};

/*
 * A process that has a tap, a macvtap or a network device of VFIO, or a thread of the kernel that
 * works for vhost.
 */
struct end {
	enum end_kind { TAP, MACVTAP, VIRTUAL_FUNCTION, DEVICE, WORKER } kind;
	uint32_t pid, ppid; /* the holder, or for a worker its owner */
	/* An interface, for a virtual function its parent's; or a device's address on its bus. */
	char name[24];
	uint32_t number;   /* a macvtap's index, a virtual function's number, or a worker's tid */
	bool is_elsewhere; /* in another network namespace */
	const struct guest *guest;
};
_Static_assert(sizeof(((struct end *)0)->name) >= IF_NAMESIZE, "a name of an interface fits");

struct vmop_net_guests {
	const char *root;
	struct vmop_proc_text *proc_text;
	struct vmop_tap_namespace *tap_namespace;
	struct vmop_net_macvtaps macvtaps;
	struct guest *guests;
	size_t n_guests, guests_capacity;
	struct end *ends;
	size_t n_ends, ends_capacity;
	bool is_hidden;
	uint64_t next_ns;
	struct stat own_namespace;
};

void vmop_net_guests_close(struct vmop_net_guests *guests)
{
	if (!guests)
		return;
	vmop_proc_text_destroy(guests->proc_text);
	vmop_tap_namespace_destroy(guests->tap_namespace);
	vmop_net_macvtaps_deinit(&guests->macvtaps);
	free(guests->guests);
	free(guests->ends);
	free(guests);
}

struct vmop_error *vmop_net_guests_open(const char *root, struct vmop_net_guests **ret)
{
	struct vmop_net_guests *guests = calloc(1, sizeof(*guests));
	if (!guests)
		return &vmop_error_no_memory;
	guests->root = root;
	struct vmop_error *err = vmop_proc_text_create(&guests->proc_text);
	if (!err)
		err = vmop_tap_namespace_create(&guests->tap_namespace);
	if (!err && stat("/proc/self/ns/net", &guests->own_namespace) != 0)
		err = vmop_error_os(errno, "/proc/self/ns/net");
	if (err)
		vmop_net_guests_close(guests);
	else
		*ret = guests;
	return err;
}

static struct vmop_error *add_guest(struct vmop_net_guests *guests, uint32_t pid)
{
	char uuid[VMOP_UUID_BYTES];
	_cleanup_free_ char *cmdline = NULL;
	if (!vmop_array_reserve(guests->guests, guests->guests_capacity, guests->n_guests + 1))
		return &vmop_error_no_memory;
	struct guest *guest = &guests->guests[guests->n_guests++];
	*guest = (struct guest){.pid = pid};
	ssize_t len = vmop_proc_text_read(guests->proc_text, guests->root, pid, "cmdline",
					  CMDLINE_MAX_BYTES, &cmdline);
	if (len > 0) {
		vmop_vmm_parse_cmdline(cmdline, (size_t)len, guest->name, uuid);
		guest->n_vhost_user = vmop_vmm_vhost_user_networks(cmdline, (size_t)len);
	}
	if (!*guest->name)
		snprintf(guest->name, sizeof(guest->name), "pid-%" PRIu32, pid);
	return NULL;
}

static struct vmop_error *add_end(struct vmop_net_guests *guests, const struct end *end)
{
	/* A device has a descriptor for each pair of its queues. */
	for (size_t i = guests->n_ends; i > 0 && guests->ends[i - 1].pid == end->pid; i--) {
		const struct end *other = &guests->ends[i - 1];
		if (other->kind == end->kind && other->number == end->number &&
		    !strcmp(other->name, end->name))
			return NULL;
	}
	if (!vmop_array_reserve(guests->ends, guests->ends_capacity, guests->n_ends + 1))
		return &vmop_error_no_memory;
	guests->ends[guests->n_ends++] = *end;
	return NULL;
}

/*
 * Find out whether a tap is in another network namespace than vmopstat. Where that is not known,
 * the process's own namespace has to do.
 */
static bool is_tap_elsewhere(const struct vmop_net_guests *guests, uint32_t pid, int number)
{
	char path[64];
	struct stat space;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/net", pid);
	if (!vmop_tap_namespace_of(guests->tap_namespace, pid, number, &space) &&
	    stat(path, &space) != 0)
		return false;
	return space.st_dev != guests->own_namespace.st_dev ||
	       space.st_ino != guests->own_namespace.st_ino;
}

/* Take the name of a tap's interface from "iff:\tNAME" (Linux, drivers/net/tun.c). */
static bool read_tap(const struct vmop_net_guests *guests, uint32_t pid, int number,
		     struct end *ret)
{
	char text[1024];
	if (vmop_procfs_read(guests->root, text, sizeof(text), "/proc/%" PRIu32 "/fdinfo/%d", pid,
			     number) <= 0)
		return false;
	const char *line = strstr(text, "iff:\t");
	if (!line || sscanf(line, "iff:\t%15[^\n]", ret->name) != 1)
		return false; /* it has no interface yet */
	ret->kind = TAP;
	ret->is_elsewhere = is_tap_elsewhere(guests, pid, number);
	return true;
}

/* Take the interface of a macvtap from the device that the descriptor has open. */
static bool read_macvtap(const struct vmop_net_guests *guests, uint32_t pid, int number,
			 const char *link, struct end *ret)
{
	char path[512];
	struct statx file;
	const char *name = strrchr(link, '/');
	/* Do not touch other files: their file system may hang. */
	if (!name || sscanf(name, "/tap%" SCNu32, &ret->number) != 1)
		return false;
	snprintf(path, sizeof(path), "%s/proc/%" PRIu32 "/fd/%d", guests->root, pid, number);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &file) != 0 ||
	    !S_ISCHR(file.stx_mode))
		return false;
	dev_t device = makedev(file.stx_rdev_major, file.stx_rdev_minor);
	if (!vmop_net_macvtaps_are(&guests->macvtaps, device))
		return false;
	const struct vmop_net_macvtap *macvtap = vmop_net_macvtaps_find(&guests->macvtaps, device);
	ret->kind = MACVTAP;
	ret->is_elsewhere = !macvtap;
	if (macvtap)
		ret->number = macvtap->index;
	snprintf(ret->name, sizeof(ret->name), "%.15s", macvtap ? macvtap->name : name + 1);
	return true;
}

/* Add the network devices of a group of VFIO. */
static struct vmop_error *add_passed(struct vmop_net_guests *guests, const struct end *holder,
				     const char *link)
{
	_cleanup_free_ struct vmop_net_passed *passed = NULL;
	size_t n = 0;
	struct vmop_error *err = vmop_net_passed_find(guests->root, link, &passed, &n);
	for (size_t i = 0; !err && i < n; i++) {
		struct end end = *holder;
		const char *name = *passed[i].parent ? passed[i].parent : passed[i].address;
		end.kind = *passed[i].parent ? VIRTUAL_FUNCTION : DEVICE;
		end.number = passed[i].number;
		end.is_elsewhere = passed[i].is_virtual && !*passed[i].parent;
		snprintf(end.name, sizeof(end.name), "%s", name);
		err = add_end(guests, &end);
	}
	return err;
}

static struct vmop_error *read_descriptor(struct vmop_net_guests *guests, const struct end *holder,
					  int number, bool *is_vmm)
{
	char link[128];
	struct end end = *holder;
	if (vmop_procfs_readlink(guests->root, link, sizeof(link), "/proc/%" PRIu32 "/fd/%d",
				 holder->pid, number) <= 0)
		return NULL;
	if (!strcmp(link, "anon_inode:kvm-vm"))
		*is_vmm = true;
	if (!strcmp(link, "/dev/net/tun") && read_tap(guests, holder->pid, number, &end))
		return add_end(guests, &end);
	if (read_macvtap(guests, holder->pid, number, link, &end))
		return add_end(guests, &end);
	return add_passed(guests, holder, link);
}

/* Add the workers of vhost that are threads of the VMM (Linux 6.4 and later). */
static struct vmop_error *read_threads(struct vmop_net_guests *guests, uint32_t pid)
{
	struct vmop_error *err = NULL;
	_cleanup_closedir_ DIR *dir =
		vmop_procfs_opendir(guests->root, "/proc/%" PRIu32 "/task", pid);
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		char comm[32];
		struct end worker = {.kind = WORKER, .pid = pid};
		if (vmop_procfs_pid(entry->d_name, &worker.number) &&
		    vmop_procfs_read(guests->root, comm, sizeof(comm),
				     "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid,
				     worker.number) > 0 &&
		    !strncmp(comm, "vhost-", 6))
			err = add_end(guests, &worker);
	}
	return err;
}

static struct vmop_error *read_process(struct vmop_net_guests *guests, uint32_t pid)
{
	struct vmop_procfs_stat st;
	struct vmop_error *err = NULL;
	bool is_vmm = false;
	if (!vmop_procfs_stat(guests->root, pid, &st))
		return NULL;
	if (st.is_kthread) {
		/* Before Linux 6.4: "vhost-" and the pid of its owner (drivers/vhost/vhost.c). */
		struct end worker = {.kind = WORKER, .number = pid};
		if (sscanf(st.comm, "vhost-%" SCNu32, &worker.pid) == 1)
			return add_end(guests, &worker);
		return NULL;
	}
	const struct end holder = {.pid = pid, .ppid = st.ppid};
	_cleanup_closedir_ DIR *dir =
		vmop_procfs_opendir(guests->root, "/proc/%" PRIu32 "/fd", pid);
	guests->is_hidden |= !dir && errno == EACCES;
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		uint32_t number = 0;
		if (!strcmp(entry->d_name, "0") || vmop_procfs_pid(entry->d_name, &number))
			err = read_descriptor(guests, &holder, (int)number, &is_vmm);
	}
	if (!err && is_vmm)
		err = add_guest(guests, pid);
	if (!err && is_vmm)
		err = read_threads(guests, pid);
	return err;
}

static const struct guest *find_guest(const struct vmop_net_guests *guests, uint32_t pid)
{
	for (size_t i = 0; i < guests->n_guests; i++) {
		if (guests->guests[i].pid == pid)
			return &guests->guests[i];
	}
	return NULL;
}

struct vmop_error *vmop_net_guests_update(struct vmop_net_guests *guests)
{
	uint64_t begin_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (begin_ns < guests->next_ns)
		return NULL;
	guests->n_guests = guests->n_ends = 0;
	guests->is_hidden = false;
	struct vmop_error *err = vmop_net_macvtaps_read(&guests->macvtaps, guests->root);
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(guests->root, "/proc");
	const struct dirent *entry;
	while (!err && dir && (entry = readdir(dir))) {
		uint32_t pid;
		if (vmop_procfs_pid(entry->d_name, &pid))
			err = read_process(guests, pid);
	}
	for (size_t i = 0; i < guests->n_ends; i++) {
		struct end *end = &guests->ends[i];
		end->guest = find_guest(guests, end->pid);
		if (!end->guest && end->ppid)
			end->guest = find_guest(guests, end->ppid);
	}
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t pause_ns = (end_ns - begin_ns) * RENEW_COSTS;
	guests->next_ns = end_ns + (pause_ns > RENEW_NS ? pause_ns : RENEW_NS);
	return err;
}

const char *vmop_net_guests_of(const struct vmop_net_guests *guests, const char *name,
			       uint32_t index)
{
	for (size_t i = 0; i < guests->n_ends; i++) {
		const struct end *end = &guests->ends[i];
		if (!end->guest || end->is_elsewhere)
			continue;
		if ((end->kind == TAP && !strcmp(end->name, name)) ||
		    (end->kind == MACVTAP && end->number == index))
			return end->guest->name;
	}
	return NULL;
}

const char *vmop_net_guests_vf(const struct vmop_net_guests *guests, const char *parent, size_t i,
			       uint32_t *ret_number)
{
	for (size_t j = 0; j < guests->n_ends; j++) {
		const struct end *end = &guests->ends[j];
		if (end->kind != VIRTUAL_FUNCTION || !end->guest || strcmp(end->name, parent) != 0)
			continue;
		if (i-- == 0) {
			*ret_number = end->number;
			return end->guest->name;
		}
	}
	return NULL;
}

bool vmop_net_guests_are_hidden(const struct vmop_net_guests *guests)
{
	return guests->is_hidden;
}

static struct vmop_error *add_worker(const struct vmop_net_guests *guests, const struct end *end,
				     struct vmop_readings *readings)
{
	char text[128], object[64];
	uint64_t cpu_ns;
	/* A thread's own directory is below /proc too, although readdir(3) does not list it. */
	if (vmop_procfs_read(guests->root, text, sizeof(text), "/proc/%" PRIu32 "/schedstat",
			     end->number) <= 0 ||
	    sscanf(text, "%" SCNu64, &cpu_ns) != 1)
		return NULL; /* it has ended */
	snprintf(object, sizeof(object), "vhost-%" PRIu32 ":%" PRIu32, end->pid, end->number);
	const struct vmop_reading reading = {
		.identity = IDENTITY_WORKER | end->number,
		.object = object,
		.counter = "cpu-time",
		.guest = end->guest->name,
		.kind = VMOP_READING_NS,
		.value = cpu_ns,
	};
	return vmop_readings_add(readings, &reading);
}

/* Write why the host has no counters of an end; false: it has. */
static bool explain(const struct end *end, char *buf, size_t size)
{
	if (end->kind == DEVICE)
		snprintf(buf, size,
			 end->is_elsewhere
				 ? "process %" PRIu32 " has this virtual function, whose physical "
				   "one has no interface in this network namespace"
				 : "process %" PRIu32 " has the whole device, with its counters",
			 end->pid);
	else if (end->is_elsewhere)
		snprintf(buf, size,
			 "it is in another network namespace; process %" PRIu32 " has it",
			 end->pid);
	else
		return false;
	return true;
}

static struct vmop_error *add_uncounted(size_t i, const struct end *end,
					struct vmop_readings *readings)
{
	char reason[160];
	if (!explain(end, reason, sizeof(reason)))
		return NULL;
	const struct vmop_reading reading = {
		.identity = IDENTITY_UNCOUNTED | (uint64_t)end->pid << 16 | (i & 0xffff),
		.object = end->name,
		.counter = "traffic",
		.guest = end->guest->name,
		.reason = reason,
	};
	return vmop_readings_add(readings, &reading);
}

static struct vmop_error *add_vhost_user(const struct guest *guest, struct vmop_readings *readings)
{
	char object[32], reason[160];
	if (!guest->n_vhost_user)
		return NULL;
	snprintf(object, sizeof(object), "vhost-user-%" PRIu32, guest->pid);
	snprintf(reason, sizeof(reason),
		 "the kernel has no counters of vhost-user (network cards: %u); the program at the "
		 "other end has, such as a virtual switch",
		 guest->n_vhost_user);
	const struct vmop_reading reading = {
		.identity = IDENTITY_VHOST_USER | guest->pid,
		.object = object,
		.counter = "traffic",
		.guest = guest->name,
		.reason = reason,
	};
	return vmop_readings_add(readings, &reading);
}

struct vmop_error *vmop_net_guests_add(const struct vmop_net_guests *guests,
				       struct vmop_readings *readings)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < guests->n_ends; i++) {
		const struct end *end = &guests->ends[i];
		if (end->guest && end->kind == WORKER)
			err = add_worker(guests, end, readings);
		else if (end->guest)
			err = add_uncounted(i, end, readings);
	}
	for (size_t i = 0; !err && i < guests->n_guests; i++)
		err = add_vhost_user(&guests->guests[i], readings);
	return err;
}
