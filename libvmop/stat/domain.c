// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/domain.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/kvm.h"
#include "libutil/proc-text.h"
#include "libutil/procfs.h"
#include "libutil/vmm.h"

#define CMDLINE_MAX_BYTES 65536
#define MAPS_MAX_BYTES (8 << 20)
#define VCPU_MAPPING "anon_inode:kvm-vcpu:"
#define VCPUS_MAX 4096

struct search {
	const char *root, *name;
	struct vmop_proc_text *proc_text;
	pid_t pid; /* of the guest; 0: not found yet */
	size_t n_found, n_vcpus;
	bool is_hidden;	  /* a process could not be looked at */
	char others[512]; /* the names of other guests */
};

static void close_text(struct vmop_proc_text **reader)
{
	vmop_proc_text_destroy(*reader);
}

/* Count the vCPUs of a process, which maps a page of each. */
static size_t count_vcpus(struct search *search, uint32_t pid)
{
	_cleanup_free_ char *maps = NULL;
	_cleanup_free_ bool *seen = calloc(VCPUS_MAX, sizeof(*seen));
	size_t n = 0;
	if (!seen || vmop_proc_text_read(search->proc_text, search->root, pid, "maps",
					 MAPS_MAX_BYTES, &maps) < 0) {
		search->is_hidden = true;
		return 0;
	}
	for (const char *at = maps; (at = strstr(at, VCPU_MAPPING)); at++) {
		unsigned long number = strtoul(at + strlen(VCPU_MAPPING), NULL, 10);
		if (number >= VCPUS_MAX || seen[number])
			continue;
		seen[number] = true;
		n++;
	}
	return n;
}

static void read_name(const struct search *search, uint32_t pid, char name[VMOP_GUEST_NAME_BYTES])
{
	char uuid[VMOP_UUID_BYTES];
	_cleanup_free_ char *cmdline = NULL;
	ssize_t len = vmop_proc_text_read(search->proc_text, search->root, pid, "cmdline",
					  CMDLINE_MAX_BYTES, &cmdline);
	*name = '\0';
	if (len > 0)
		vmop_vmm_parse_cmdline(cmdline, (size_t)len, name, uuid);
	if (!*name)
		snprintf(name, VMOP_GUEST_NAME_BYTES, "pid-%" PRIu32, pid);
}

/* Look at one process: is it the guest's VMM? */
static void look(struct search *search, uint32_t pid)
{
	char name[VMOP_GUEST_NAME_BYTES], by_pid[VMOP_GUEST_NAME_BYTES];
	size_t n_vcpus = count_vcpus(search, pid);
	if (!n_vcpus)
		return;
	read_name(search, pid, name);
	snprintf(by_pid, sizeof(by_pid), "pid-%" PRIu32, pid);
	if (strcmp(name, search->name) == 0 || strcmp(by_pid, search->name) == 0) {
		search->pid = (pid_t)pid;
		search->n_vcpus = n_vcpus;
		search->n_found++;
		return;
	}
	size_t len = strlen(search->others);
	snprintf(search->others + len, sizeof(search->others) - len, "%s%s (pid %" PRIu32 ")",
		 len ? ", " : "", name, pid);
}

static void append(void *arg, uint32_t number, uint32_t tid)
{
	struct vmop_stat_domain *domain = arg;
	(void)number;
	for (size_t i = 0; i < domain->n; i++) {
		if (domain->tids[i] == (pid_t)tid)
			return;
	}
	if (domain->n < VCPUS_MAX)
		domain->tids[domain->n++] = (pid_t)tid;
}

/* Find the vCPUs' threads by their names, and in debugfs where they have none. */
static struct vmop_error *find_threads(const struct search *search, struct vmop_stat_domain *domain)
{
	_cleanup_closedir_ DIR *dir =
		vmop_procfs_opendir(search->root, "/proc/%d/task", (int)search->pid);
	const struct dirent *entry;
	domain->tids = calloc(VCPUS_MAX, sizeof(*domain->tids));
	if (!domain->tids)
		return &vmop_error_no_memory;
	while (dir && (entry = readdir(dir))) {
		char comm[VMOP_COMM_BYTES + 1];
		uint32_t tid, number;
		if (!vmop_procfs_pid(entry->d_name, &tid) ||
		    vmop_procfs_read(search->root, comm, sizeof(comm),
				     "/proc/%d/task/%" PRIu32 "/comm", (int)search->pid, tid) <= 0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		if (vmop_vmm_vcpu_of_comm(comm, &number))
			append(domain, number, tid);
		vmop_kvm_each_vcpu(search->root, tid, append, domain);
	}
	if (domain->n == search->n_vcpus)
		return NULL;
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"guest %s: %zu of its %zu vCPUs' threads are known: mount debugfs (Linux "
		"5.17 or later), or start QEMU with -name NAME,debug-threads=on",
		search->name, domain->n, search->n_vcpus);
}

static struct vmop_error *not_found(const struct search *search)
{
	if (search->n_found > 1)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%zu guests have the name %s: give pid-PID instead",
				      search->n_found, search->name);
	return vmop_error_new(
		VMOP_ERROR_CANT, "no running guest has the name %s%s%s%s", search->name,
		*search->others ? "; others are " : "", search->others,
		search->is_hidden && geteuid() != 0 ? "; root also sees other users' guests" : "");
}

void vmop_stat_domain_deinit(struct vmop_stat_domain *domain)
{
	free(domain->tids);
	*domain = (struct vmop_stat_domain){0};
}

struct vmop_error *vmop_stat_domain_find(const char *root, const char *name,
					 struct vmop_stat_domain *ret)
{
	_cleanup_(vmop_stat_domain_deinit) struct vmop_stat_domain domain = {0};
	_cleanup_(close_text) struct vmop_proc_text *proc_text = NULL;
	struct vmop_error *err = vmop_proc_text_create(&proc_text);
	if (err)
		return err;
	struct search search = {.root = root, .name = name, .proc_text = proc_text};
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, "/proc");
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		uint32_t pid;
		if (vmop_procfs_pid(entry->d_name, &pid))
			look(&search, pid);
	}
	if (search.n_found != 1)
		return not_found(&search);
	domain.pid = search.pid;
	err = find_threads(&search, &domain);
	if (err)
		return err;
	*ret = domain;
	domain = (struct vmop_stat_domain){0};
	return NULL;
}
