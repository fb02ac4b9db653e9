// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmop/xenoprof.h"

/* The user's advice for an errno at a step. */
struct advice {
	int step; /* enum vmop_xenoprof_op, enum vmop_xendev_step, or ANY_STEP */
	int os_errno;
	const char *text;
};

enum { ANY_STEP = -2 };

static const struct advice advices[] = {
	{ANY_STEP, EPROTONOSUPPORT,
	 "the loaded module is of another release of vmop than this program"},
	{ANY_STEP, ENOTTY, "the loaded module is of another release of vmop than this program"},
	{VMOP_XENDEV_STEP_NONE, EBUSY, "another profiler in this domain has a session with Xen"},
	{ANY_STEP, ENOSYS,
	 "this Xen has no xenoprof (it is off by default since 4.18 and gone in 4.22)"},
	{VMOP_XENOPROF_INIT, ENODEV, "Xen does not support the counters of this CPU"},
	{VMOP_XENOPROF_INIT, EPERM, "Xen does not let this domain profile"},
	{VMOP_XENOPROF_RESERVE_COUNTERS, EBUSY,
	 "the counters are taken, by Xen's watchdog or its vPMU (vpmu= on its command line)"},
	{VMOP_XENOPROF_START, EAGAIN, "an active domain has not enabled its samples yet"},
	{VMOP_XENOPROF_ENABLE_VIRQ, EPERM, "the initiator has not listed this domain as active"},
	{VMOP_XENOPROF_DISABLE_VIRQ, EBUSY, "the initiator has not stopped yet"},
	{VMOP_XENOPROF_GET_BUFFER, EBUSY,
	 "the counters or this domain's buffers are in use, by a vPMU or by a profiler that "
	 "was not ended"},
	{VMOP_XENDEV_STEP_CPUS, EEXIST,
	 "another profiler in this domain has Xen's interrupt for samples"},
};

static const char *step_name(int step, char *buffer, size_t len)
{
	switch (step) {
	case VMOP_XENDEV_STEP_NONE:
		return "a call of the kernel module";
	case VMOP_XENDEV_STEP_MAP_BUFFER:
		return "mapping Xen's buffers";
	case VMOP_XENDEV_STEP_RINGS:
		return "memory for the rings";
	case VMOP_XENDEV_STEP_CPUS:
		return "an interrupt for each CPU";
	case VMOP_XENDEV_STEP_SWITCHES:
		return "following the tasks of each CPU";
	default:
		snprintf(buffer, len, "xenoprof operation %d", step);
		return buffer;
	}
}

static struct vmop_error *step_error(int step, int os_errno)
{
	char buffer[40];
	const char *name = step_name(step, buffer, sizeof(buffer));
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		const struct advice *advice = &advices[i];
		if ((advice->step != step && advice->step != ANY_STEP) ||
		    advice->os_errno != os_errno)
			continue;
		struct vmop_error *err =
			vmop_error_new(VMOP_ERROR_CANT, "xen: %s: %s", name, advice->text);
		if (err != &vmop_error_no_memory)
			err->os_errno = os_errno;
		return err;
	}
	return vmop_error_os(os_errno, "xen: %s", name);
}

bool vmop_xen_device_is_there(void)
{
	return access(VMOP_XENDEV_PATH, F_OK) == 0;
}

struct vmop_error *vmop_xen_device_open(struct vmop_xen_device *device)
{
	*device = (struct vmop_xen_device){.fd = -1};
	device->fd = open(VMOP_XENDEV_PATH, O_RDWR | O_CLOEXEC);
	if (device->fd >= 0)
		return NULL;
	switch (errno) {
	case ENOENT:
		return vmop_error_new(VMOP_ERROR_CANT,
				      VMOP_XENDEV_PATH ": no such file: the kernel module is not "
						       "loaded (modprobe vmop)");
	case EBUSY:
		return vmop_error_new(VMOP_ERROR_CANT,
				      VMOP_XENDEV_PATH ": another process has it open");
	default:
		return vmop_error_os(errno, VMOP_XENDEV_PATH);
	}
}

void vmop_xen_device_close(struct vmop_xen_device *device)
{
	vmop_xen_rings_deinit(&device->rings);
	if (device->map)
		munmap(device->map, device->map_bytes);
	if (device->fd >= 0)
		close(device->fd);
	*device = (struct vmop_xen_device){.fd = -1};
}

struct vmop_error *vmop_xen_device_init(struct vmop_xen_device *device,
					struct vmop_xendev_init *init)
{
	init->abi = VMOP_XENDEV_ABI;
	init->failed_op = VMOP_XENDEV_STEP_NONE;
	if (ioctl(device->fd, VMOP_XENDEV_INIT, init) < 0)
		return step_error(init->failed_op, errno);
	init->cpu_type[sizeof(init->cpu_type) - 1] = '\0';
	return NULL;
}

static struct vmop_error *map_rings(struct vmop_xen_device *device, size_t len_bytes)
{
	device->map = mmap(NULL, len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, device->fd, 0);
	if (device->map == MAP_FAILED) {
		device->map = NULL;
		return vmop_error_os(errno, VMOP_XENDEV_PATH ": mapping %zu bytes of rings",
				     len_bytes);
	}
	device->map_bytes = len_bytes;
	return vmop_xen_rings_init(&device->rings, device->map, len_bytes);
}

struct vmop_error *vmop_xen_device_prepare(struct vmop_xen_device *device,
					   struct vmop_xendev_prepare *prepare)
{
	prepare->abi = VMOP_XENDEV_ABI;
	prepare->failed_op = VMOP_XENDEV_STEP_NONE;
	if (ioctl(device->fd, VMOP_XENDEV_PREPARE, prepare) < 0)
		return step_error(prepare->failed_op, errno);
	/* A later session of the same file reuses the rings. */
	return device->map ? NULL : map_rings(device, prepare->mmap_bytes);
}

static struct vmop_error *run_step(struct vmop_xen_device *device, unsigned long command)
{
	struct vmop_xendev_step_result step = {.abi = VMOP_XENDEV_ABI,
					       .failed_op = VMOP_XENDEV_STEP_NONE};
	if (ioctl(device->fd, command, &step) < 0)
		return step_error(step.failed_op, errno);
	return NULL;
}

struct vmop_error *vmop_xen_device_start(struct vmop_xen_device *device)
{
	return run_step(device, VMOP_XENDEV_START);
}

struct vmop_error *vmop_xen_device_stop(struct vmop_xen_device *device)
{
	return run_step(device, VMOP_XENDEV_STOP);
}

struct vmop_error *vmop_xen_device_release(struct vmop_xen_device *device)
{
	return run_step(device, VMOP_XENDEV_RELEASE);
}

struct vmop_error *vmop_xen_device_stats(struct vmop_xen_device *device,
					 struct vmop_xendev_stats *stats)
{
	*stats = (struct vmop_xendev_stats){.abi = VMOP_XENDEV_ABI};
	if (ioctl(device->fd, VMOP_XENDEV_STATS, stats) < 0)
		return step_error(VMOP_XENDEV_STEP_NONE, errno);
	return NULL;
}
