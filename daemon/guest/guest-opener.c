// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guest-opener.h"

#include <limits.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "libutil/log.h"
#include "libutil/procfs.h"
#include "libutil/vmm.h"

/* Failed searches before QMP is used to locate the guest's RAM. */
#define QMP_AFTER_FAILURES 2

struct vmop_guest_cost vmop_guest_opener_cost(const struct vmop_guest_opener *opener)
{
	struct vmop_guest_cost cost = opener->closed_cost;
	if (opener->guest) {
		struct vmop_guest_cost now = vmop_guest_total_cost(opener->guest);
		cost.cpu_ns += now.cpu_ns;
		cost.read_bytes += now.read_bytes;
		cost.retries += now.retries;
	}
	return cost;
}

void vmop_guest_opener_close(struct vmop_guest_opener *opener)
{
	opener->closed_cost = vmop_guest_opener_cost(opener);
	vmop_guest_close(opener->guest);
	opener->guest = NULL;
}

static struct vmop_error *open_guest(struct vmop_guest_opener *opener, const char *qmp_socket)
{
	if (opener->guest)
		return NULL;
	/* A machine without this directory has no profiles, which is usual. */
	bool has_profiles = opener->profiles && access(opener->profiles, F_OK) == 0;
	struct vmop_guest_options options = {.qmp_socket = qmp_socket,
					     .profile = has_profiles ? opener->profiles : NULL};
	struct vmop_error *err =
		opener->holder.is_xen
			? vmop_guest_open_xen(opener->holder.number, &options, &opener->guest)
			: vmop_guest_open_pid((pid_t)opener->holder.number, &options,
					      &opener->guest);
	opener->is_readable = !err;
	return err;
}

/* Find the path on this machine of the socket on which the VMM listens for QMP clients. */
static bool qmp_socket_of(uint32_t vmm_pid, char *ret, size_t size)
{
	char cmdline[16384], path[PATH_MAX];
	ssize_t len = vmop_procfs_read("", cmdline, sizeof(cmdline), "/proc/%u/cmdline", vmm_pid);
	if (len <= 0 || !vmop_vmm_qmp_socket(cmdline, (size_t)len, path, sizeof(path)))
		return false;
	int needed = snprintf(ret, size, "/proc/%u/%s%s", vmm_pid, path[0] == '/' ? "root" : "cwd/",
			      path);
	return needed > 0 && (size_t)needed < size;
}

/*
 * Open the guest, and locate its RAM by QMP.  A QMP socket serves one client at a time, so this is
 * the last resort, takes milliseconds, and is not repeated after a refusal: a manager of the VMM
 * may be connected.
 */
static bool open_guest_by_qmp(struct vmop_guest_opener *opener)
{
	char path[128];
	if (opener->is_qmp_refused || opener->holder.is_xen)
		return false;
	opener->is_qmp_refused = !qmp_socket_of(opener->holder.number, path, sizeof(path));
	if (opener->is_qmp_refused)
		return false;
	vmop_guest_opener_close(opener);
	struct vmop_error *err = open_guest(opener, path);
	if (err)
		vmop_log_info("guest of process %u: QMP cannot locate its memory: %s",
			      opener->holder.number, err->message);
	opener->is_qmp_refused = err;
	vmop_error_destroy(err);
	return !err;
}

struct vmop_error *vmop_guest_opener_open(struct vmop_guest_opener *opener, unsigned n_failures)
{
	/* At most every other time by QMP, to bound the cost of a booting guest. */
	bool is_qmp_turn = n_failures >= QMP_AFTER_FAILURES && n_failures % 2 == 0;
	if (is_qmp_turn && open_guest_by_qmp(opener))
		return NULL;
	return open_guest(opener, NULL);
}
