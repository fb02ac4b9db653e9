// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/kvm.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- the time-stamp counter -------------------------------------------------------------- */

/* Read a number from a file of a vCPU, which may be negative. */
static bool read_number(const char *root, const char *vm, unsigned vcpu, const char *file,
			uint64_t *ret)
{
	char text[32], *end;
	if (vmop_procfs_read(root, text, sizeof(text), DEBUGFS "/%s/vcpu%u/%s", vm, vcpu, file) <=
	    0)
		return false;
	*ret = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	return end != text && (!*end || *end == '\n');
}

static bool read_vcpu(const char *root, const char *vm, unsigned vcpu, struct vmop_kvm_tsc *ret)
{
	uint64_t shift;
	*ret = (struct vmop_kvm_tsc){.ratio = 1};
	if (!read_number(root, vm, vcpu, "tsc-offset", &ret->offset))
		return false;
	if (!read_number(root, vm, vcpu, "tsc-scaling-ratio", &ret->ratio))
		return true; /* this processor does not scale */
	if (!read_number(root, vm, vcpu, "tsc-scaling-ratio-frac-bits", &shift) || shift > 63)
		return false;
	ret->shift = (unsigned)shift;
	return true;
}

/* Read the counter of a VM, which all of its vCPUs must have. */
static bool read_vm(const char *root, const char *vm, struct vmop_kvm_tsc *ret)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, DEBUGFS "/%s", vm);
	const struct dirent *entry;
	bool is_known = false;
	while (dir && (entry = readdir(dir))) {
		struct vmop_kvm_tsc tsc;
		unsigned number;
		if (sscanf(entry->d_name, "vcpu%u", &number) != 1)
			continue;
		if (!read_vcpu(root, vm, number, &tsc) ||
		    (is_known && (tsc.offset != ret->offset || tsc.ratio != ret->ratio)))
			return false;
		*ret = tsc;
		is_known = true;
	}
	return is_known;
}

bool vmop_kvm_read_tsc(const char *root, uint32_t pid, struct vmop_kvm_tsc *ret)
{
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, DEBUGFS);
	const struct dirent *entry;
	bool is_known = false;
	while (dir && (entry = readdir(dir))) {
		unsigned owner, fd;
		if (sscanf(entry->d_name, "%u-%u", &owner, &fd) != 2 || owner != pid)
			continue;
		if (is_known || !read_vm(root, entry->d_name, ret))
			return false;
		is_known = true;
	}
	return is_known;
}

uint64_t vmop_kvm_guest_tsc(const struct vmop_kvm_tsc *tsc, uint64_t host_tsc)
{
	__extension__ typedef unsigned __int128 wide;
	return (uint64_t)((wide)host_tsc * tsc->ratio >> tsc->shift) + tsc->offset;
}
