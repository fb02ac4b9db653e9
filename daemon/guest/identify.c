// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/identify.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/host/maps.h"
#include "libutil/cleanup.h"
#include "libutil/kvm.h"
#include "libutil/log.h"

#define CMDLINE_MAX_BYTES 65536
#define UUID_TEXT_LEN 36

struct naming {
	struct vmop_domains *domains;
	struct vmop_domain *domain;
};

static void number_vcpu(void *arg, uint32_t number, uint32_t tid)
{
	const struct naming *naming = arg;
	vmop_domains_number_vcpu(naming->domains, naming->domain, tid, number);
}

/* Number the vCPUs whose threads the VMM named. */
static void read_threads(const struct naming *naming)
{
	const char *root = naming->domains->root;
	uint32_t pid = naming->domain->vmm_pid;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(root, "/proc/%u/task", pid);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		uint32_t tid, number;
		char comm[64];
		if (!vmop_procfs_pid(entry->d_name, &tid) ||
		    vmop_procfs_read(root, comm, sizeof(comm), "/proc/%u/task/%u/comm", pid, tid) <=
			    0)
			continue;
		comm[strcspn(comm, "\n")] = '\0';
		if (vmop_vmm_vcpu_of_comm(comm, &number))
			number_vcpu((void *)(uintptr_t)naming, number, tid);
	}
}

static void read_names(const struct vmop_domains *domains, struct vmop_domain *domain)
{
	char exe[512], name[VMOP_GUEST_NAME_BYTES] = "", uuid[VMOP_UUID_BYTES] = "";
	_cleanup_free_ char *cmdline = NULL;
	ssize_t len = -1;
	if (domains->root)
		len = vmop_proc_text_read(domains->processes->proc_text, domains->root,
					  domain->vmm_pid, "cmdline", CMDLINE_MAX_BYTES, &cmdline);
	if (len > 0)
		vmop_vmm_parse_cmdline(cmdline, (size_t)len, name, uuid);
	if (!*name && !*domain->name)
		snprintf(name, sizeof(name), "pid-%u", domain->vmm_pid);
	if (*name)
		vmop_domain_set_name(domain, name);
	if (*uuid)
		vmop_domain_set_uuid(domain, uuid);
	if (!*domain->vmm && domains->root &&
	    vmop_procfs_readlink(domains->root, exe, sizeof(exe), "/proc/%u/exe", domain->vmm_pid) >
		    0) {
		char *slash = strrchr(exe, '/');
		char *vmm = slash ? slash + 1 : exe;
		vmm[strcspn(vmm, " ")] = '\0'; /* " (deleted)" */
		vmop_domain_set_vmm(domain, vmm);
	}
}

/* Add the kernel image that the user gave for this guest to its code. */
static void read_passive_image(struct vmop_domains *domains, struct vmop_domain *domain)
{
	struct vmop_domain_pattern_kernel kernel;
	struct vmop_error *err = vmop_domain_pattern_read_kernel(domain->pattern, &kernel);
	if (err) {
		vmop_log_warning("guest \"%s\": its kernel stays addresses: %s", domain->name,
				 err->message);
		vmop_error_destroy(err);
		vmop_domain_set_symbols_from(domain, "none: its image can't be read");
		return;
	}
	struct vmop_image *image =
		vmop_images_new(domains->images, domain->id, VMOP_IMAGE_GUEST_KERNEL,
				"[guest kernel]", kernel.base, kernel.end - kernel.base);
	size_t n, first = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(kernel.symtab, &n);
	while (first < n && symbols[first].offset < kernel.link_base)
		first++;
	vmop_image_copy_symbols(image, symbols + first, n - first, kernel.link_base);
	vmop_symtab_destroy(kernel.symtab);
	struct vmop_text_piece piece = {.start = kernel.base, .end = kernel.end, .image = image};
	vmop_domain_add_code(domains, domain, &piece);
	vmop_domain_set_symbols_from(domain, domain->pattern->image_path);
}

/* Select a domain whose name has just become known, or not. */
static void select_domain(struct vmop_domains *domains, struct vmop_domain *domain)
{
	vmop_domain_select(domains, domain);
	if (!domain->pattern)
		vmop_domain_set_symbols_from(domain, "none: not among --passive-domains");
	else if (domain->pattern->image_path)
		read_passive_image(domains, domain);
	vmop_log_info("guest \"%s\", %s of pid %u: domain %u%s", domain->name,
		      *domain->vmm ? domain->vmm : "VMM", domain->vmm_pid, domain->id.number,
		      domain->pattern ? "" : ", not selected");
}

void vmop_identify(struct vmop_domains *domains, struct vmop_domain *domain)
{
	struct naming naming = {.domains = domains, .domain = domain};
	read_names(domains, domain);
	if (!domain->is_identified)
		select_domain(domains, domain);
	vmop_domain_set_identified(domain, true);
	vmop_domain_name_images(domain);
	if (!domains->root || !domain->is_running)
		return;
	read_threads(&naming);
	if (domain->kvm_tid)
		vmop_kvm_each_vcpu(domains->root, domain->kvm_tid, number_vcpu, &naming);
}

void vmop_identify_named(struct vmop_domains *domains, struct vmop_domain *domain)
{
	if (domain->pattern && domain->pattern->image_path && !domain->code.n)
		read_passive_image(domains, domain);
	vmop_domain_name_images(domain);
}

uint32_t vmop_identify_tgid(const char *root, uint32_t tid)
{
	char text[2048];
	unsigned tgid;
	if (!root || vmop_procfs_read(root, text, sizeof(text), "/proc/%u/status", tid) <= 0)
		return 0;
	/* The process's name precedes this line, and is escaped: it cannot contain such a line. */
	const char *line = strstr(text, "\nTgid:");
	return line && sscanf(line, "\nTgid: %u", &tgid) == 1 ? tgid : 0;
}

static void count_vcpu(void *arg, const struct vmop_maps_line *line)
{
	uint32_t *n = arg;
	unsigned vcpu;
	if (sscanf(line->path, "anon_inode:kvm-vcpu:%u", &vcpu) == 1 && vcpu >= *n &&
	    vcpu < UINT16_MAX)
		*n = vcpu + 1;
}

uint32_t vmop_identify_count_vcpus(const struct vmop_processes *processes, uint32_t pid)
{
	uint32_t n = 0;
	vmop_maps_read(processes->proc_text, processes->root, pid, count_vcpu, &n);
	return n;
}

/* Append "NAME (pid PID)" of a running guest to a list for the user. */
static void list_guest(char *list, size_t size, const char *name, uint32_t pid)
{
	size_t len = strlen(list);
	snprintf(list + len, size - len, "%s%s (pid %u)", len ? ", " : "", name, pid);
}

struct vmop_error *vmop_domains_check_patterns(struct vmop_domains *domains,
					       const struct vmop_domain_patterns *patterns,
					       const char *kind)
{
	_cleanup_free_ bool *matched = calloc(patterns->n + 1, sizeof(*matched));
	char running[1024] = "";
	size_t n_open = 0;
	if (!matched)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < patterns->n; i++)
		n_open += !(matched[i] = !strcmp(patterns->patterns[i].text, "all"));
	if (!n_open || !domains->root)
		return NULL;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(domains->root, "/proc");
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		char name[VMOP_GUEST_NAME_BYTES] = "", uuid[VMOP_UUID_BYTES] = "";
		uint32_t pid;
		if (!vmop_procfs_pid(entry->d_name, &pid) ||
		    !vmop_identify_count_vcpus(domains->processes, pid))
			continue;
		_cleanup_free_ char *cmdline = NULL;
		ssize_t len = vmop_proc_text_read(domains->processes->proc_text, domains->root, pid,
						  "cmdline", CMDLINE_MAX_BYTES, &cmdline);
		if (len > 0)
			vmop_vmm_parse_cmdline(cmdline, (size_t)len, name, uuid);
		if (!*name)
			snprintf(name, sizeof(name), "pid-%u", pid);
		for (size_t i = 0; i < patterns->n; i++) {
			struct vmop_domain_patterns one = {.patterns = &patterns->patterns[i],
							   .n = 1};
			if (vmop_domain_patterns_match(&one, name, uuid, pid, UINT32_MAX))
				matched[i] = true;
		}
		list_guest(running, sizeof(running), name, pid);
	}
	for (size_t i = 0; i < patterns->n; i++)
		if (!matched[i])
			return vmop_error_new(
				VMOP_ERROR_USAGE, "%s domain \"%s\" does not run; %s%s", kind,
				patterns->patterns[i].text,
				*running ? "those that do: " : "no guest does", running);
	return NULL;
}

/*
 * Return whether uuid identifies a machine.  It is all zeros in dom0, and all zeros or all ones in
 * firmware whose vendor did not set it (SMBIOS 7.2.1).
 */
static bool names_a_machine(const char *uuid)
{
	size_t len = strlen(uuid);
	if (len != UUID_TEXT_LEN || strspn(uuid, "0123456789abcdef-") != len)
		return false;
	return strspn(uuid, "0-") != len && strspn(uuid, "f-") != len;
}

/* Cut ret behind its first line, in lower case. Return whether it identifies a machine. */
static bool take_uuid(char ret[VMOP_UUID_BYTES])
{
	ret[strcspn(ret, "\n")] = '\0';
	for (char *c = ret; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return names_a_machine(ret);
}

void vmop_identify_machine(const char *root, const char *given, char ret[VMOP_UUID_BYTES])
{
	static const char *const files[] = {"/sys/hypervisor/uuid",
					    "/sys/class/dmi/id/product_uuid"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (vmop_procfs_read(root, ret, VMOP_UUID_BYTES, "%s", files[i]) < 0)
			continue;
		if (take_uuid(ret))
			return;
	}
	snprintf(ret, VMOP_UUID_BYTES, "%s", given ? given : "");
	if (!take_uuid(ret))
		*ret = '\0';
}
