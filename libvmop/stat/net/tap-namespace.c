// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/net/tap-namespace.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/readers.h"

#define JOB_MS 500
/* Linux, Documentation/admin-guide/devices.txt: /dev/net/tun */
#define TUN_MAJOR 10
#define TUN_MINOR 200

struct vmop_tap_namespace {
	struct vmop_readers *readers;
	bool has_answer; /* to the last question */
	struct stat answer;
};

/* A question to the thread. */
struct job {
	struct vmop_read_job job;
	uint32_t pid;
	int number;
	bool is_known;
	struct stat space;
};

static void run(struct vmop_read_job *read_job)
{
	struct job *job = (struct job *)read_job;
	struct statx file;
	_cleanup_close_ int pid_fd = (int)syscall(SYS_pidfd_open, (pid_t)job->pid, 0);
	_cleanup_close_ int fd =
		pid_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pid_fd, job->number, 0);
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &file) != 0 ||
	    !S_ISCHR(file.stx_mode) || file.stx_rdev_major != TUN_MAJOR ||
	    file.stx_rdev_minor != TUN_MINOR)
		return;
	_cleanup_close_ int space_fd = ioctl(fd, TUNGETDEVNETNS);
	job->is_known = space_fd >= 0 && fstat(space_fd, &job->space) == 0;
}

static void finish(struct vmop_read_job *read_job, enum vmop_read_outcome outcome, void *arg)
{
	const struct job *job = (struct job *)read_job;
	struct vmop_tap_namespace *asker = arg;
	if (outcome != VMOP_READ_DONE)
		return;
	asker->has_answer = job->is_known;
	asker->answer = job->space;
}

static void destroy(struct vmop_read_job *job)
{
	free(job);
}

struct vmop_error *vmop_tap_namespace_create(struct vmop_tap_namespace **ret)
{
	struct vmop_tap_namespace *asker = calloc(1, sizeof(*asker));
	if (!asker)
		return &vmop_error_no_memory;
	struct vmop_error *err =
		vmop_readers_create("vmopstat-tap", JOB_MS, 0, asker, &asker->readers);
	if (err)
		free(asker);
	else
		*ret = asker;
	return err;
}

void vmop_tap_namespace_destroy(struct vmop_tap_namespace *asker)
{
	if (!asker)
		return;
	vmop_readers_destroy(asker->readers);
	free(asker);
}

bool vmop_tap_namespace_of(struct vmop_tap_namespace *asker, uint32_t pid, int number,
			   struct stat *ret)
{
	static const struct vmop_read_job_ops ops = {run, finish, destroy};
	struct job *job = calloc(1, sizeof(*job));
	if (!job)
		return false;
	/* While one question about a process hangs, the readers refuse others about it. */
	*job = (struct job){.job = {.ops = &ops, .place = pid}, .pid = pid, .number = number};
	asker->has_answer = false;
	vmop_readers_submit(asker->readers, &job->job);
	vmop_readers_collect(asker->readers, JOB_MS);
	*ret = asker->answer;
	return asker->has_answer;
}
