// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/kvm.h"

#include <dirent.h>
#include <stdio.h>

#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define DEBUGFS "/sys/kernel/debug/kvm"

void vmop_kvm_each_vm(const char *root, void (*each)(void *arg, uint32_t pid), void *arg)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, DEBUGFS);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		unsigned pid, fd;
		if (sscanf(entry->d_name, "%u-%u", &pid, &fd) == 2 && pid)
			each(arg, pid);
	}
}

static void each_vcpu_of(const char *root, const char *vm,
			 void (*each)(void *arg, uint32_t number, uint32_t tid), void *arg)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, DEBUGFS "/%s", vm);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		unsigned number, tid;
		char text[32];
		if (sscanf(entry->d_name, "vcpu%u", &number) == 1 &&
		    vmop_procfs_read(root, text, sizeof(text), DEBUGFS "/%s/vcpu%u/pid", vm,
				     number) > 0 &&
		    sscanf(text, "%u", &tid) == 1 && tid)
			each(arg, number, tid);
	}
}

void vmop_kvm_each_vcpu(const char *root, uint32_t pid,
			void (*each)(void *arg, uint32_t number, uint32_t tid), void *arg)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, DEBUGFS);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		unsigned owner, fd;
		if (sscanf(entry->d_name, "%u-%u", &owner, &fd) == 2 && owner == pid)
			each_vcpu_of(root, entry->d_name, each, arg);
	}
}
