// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: libguest-compare [-p PID] [-q SOCKET] [-x]... [-b PROFILE] [-k COMMAND] [-n SNAPSHOTS]
 *	[-f PATH=FILE]... DIRECTORY
 *
 * Compare the results of libguest for a captured guest (tests/rigs/capture-guest) with the guest's
 * own report in DIRECTORY/truth: every symbol, module, process and mapping. Prints one line per
 * subject and every difference. Exit status 1: there are differences; 2: failure.
 * tests/rigs/introspect-run runs it; it is not a test on its own.
 *
 *	-p PID		of the VMM: read the guest while it runs
 *	-q SOCKET	its QMP socket, which returns where RAM lies
 *	-x		hide the CPUs' trampoline (absent on arm64); twice: VMCOREINFO too, so that
 *			the kernel must be found in the next way (saved RAM without a hole)
 *	-b PROFILE	hide the kernel's BTF: offsets come from PROFILE (vmop-guest-profile)
 *	-k COMMAND	then run COMMAND, which has the guest execute another kernel and
 *			replaces the truth, and compare again
 *	-n SNAPSHOTS	number of further snapshots, one right after the other
 *	-f PATH=FILE	the guest's executable PATH must equal FILE
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libguest/guest-internal.h"
#include "libguest/memory/note.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define MAX_SHOWN 20

/* A multiset of lines. */
struct lines {
	char **line;
	size_t count, size;
};

static const char *root;
static int differences;

static void die(struct vmop_error *err)
{
	fprintf(stderr, "libguest-compare: %s\n", err->message);
	exit(2);
}

__attribute__((format(printf, 2, 3))) static void add(struct lines *lines, const char *format, ...)
{
	if (!vmop_array_reserve(lines->line, lines->size, lines->count + 1))
		abort();
	va_list args;
	va_start(args, format);
	if (vasprintf(&lines->line[lines->count++], format, args) < 0)
		abort();
	va_end(args);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show(const char *what, const char *line, int *shown)
{
	differences++;
	if ((*shown)++ < MAX_SHOWN)
		printf("  %s: %s\n", what, line);
}

/* Compare two sets, which must hold the same lines equally often, and empty both. */
static void compare(const char *subject, struct lines *theirs, struct lines *ours)
{
	size_t i = 0, j = 0, same = 0;
	int shown = 0;
	qsort(theirs->line, theirs->count, sizeof(char *), by_text);
	qsort(ours->line, ours->count, sizeof(char *), by_text);
	while (i < theirs->count || j < ours->count) {
		int order = i == theirs->count ? 1
			    : j == ours->count ? -1
					       : strcmp(theirs->line[i], ours->line[j]);
		if (order < 0)
			show("only the guest has", theirs->line[i++], &shown);
		else if (order > 0)
			show("only libguest has", ours->line[j++], &shown);
		else
			i++, j++, same++;
	}
	printf("%s: %zu of %zu equal, %zu more\n", subject, same, theirs->count,
	       ours->count - same);
	for (i = 0; i < theirs->count; i++)
		free(theirs->line[i]);
	for (i = 0; i < ours->count; i++)
		free(ours->line[i]);
	free(theirs->line);
	free(ours->line);
	memset(theirs, 0, sizeof(*theirs));
	memset(ours, 0, sizeof(*ours));
}

/* Return the content of a file of the truth, which the caller frees. NULL: it does not exist. */
static char *truth(size_t *ret_len, const char *format, ...)
{
	char name[512], path[1024], *text;
	va_list args;
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s/truth/%s", root, name);
	struct vmop_error *err = vmop_io_read_file(path, 256 << 20, &text, ret_len);
	if (!err)
		return text;
	vmop_error_destroy(err);
	return NULL;
}

/* --- symbols ---------------------------------------------------------------------- */

static bool add_symbol(const struct vmop_guest_symbol *symbol, void *arg)
{
	add(arg, "%016" PRIx64 " %c %s%s%s%s", symbol->address, symbol->type, symbol->name,
	    symbol->module ? " [" : "", symbol->module ? symbol->module : "",
	    symbol->module ? "]" : "");
	return true;
}

static void compare_symbols(struct vmop_guest *guest)
{
	struct lines theirs = {0}, ours = {0};
	_cleanup_free_ char *text = truth(NULL, "proc/kallsyms");
	char *save;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *tab = strchr(line, '\t');
		if (tab)
			*tab = ' ';
		add(&theirs, "%s", line);
	}
	struct vmop_error *err = vmop_guest_each_symbol(guest, add_symbol, &ours);
	if (err)
		die(err);
	compare("symbols", &theirs, &ours);
}

/* --- modules ---------------------------------------------------------------------- */

static void hex(const uint8_t *bytes, size_t len, char *ret)
{
	for (size_t i = 0; i < len; i++)
		sprintf(ret + 2 * i, "%02x", bytes[i]);
	ret[2 * len] = '\0';
}

static void note_hex(const char *notes, size_t len, char *ret)
{
	uint8_t build_id[20];
	hex(build_id, notes ? vmop_note_build_id((const uint8_t *)notes, len, build_id) : 0, ret);
}

static void compare_modules(struct vmop_guest *guest)
{
	struct lines theirs = {0}, ours = {0};
	char *text = truth(NULL, "proc/modules"), *save, name[64], id[64];
	unsigned long long address;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len = 0;
		if (sscanf(line, "%63s %*s %*s %*s %*s 0x%llx", name, &address) != 2)
			continue;
		_cleanup_free_ char *note = truth(&len, "module/%s/.note.gnu.build-id", name);
		note_hex(note, len, id);
		add(&theirs, "%s at %llx build-id %s", name, address, id);
	}
	free(text);
	for (size_t i = 0; i < vmop_guest_module_count(guest); i++) {
		const struct vmop_guest_module *module = vmop_guest_module_get(guest, i);
		hex(module->build_id, module->build_id_len_bytes, id);
		if (module->kind == VMOP_GUEST_TEXT_MODULE)
			add(&ours, "%s at %" PRIx64 " build-id %s", module->name, module->start,
			    id);
	}
	compare("modules", &theirs, &ours);
}

/* --- the kernel ------------------------------------------------------------------- */

static void compare_kernel(struct vmop_guest *guest)
{
	const struct vmop_guest_kernel_info *info = vmop_guest_kernel_info(guest);
	struct lines theirs = {0}, ours = {0};
	char id[64];
	size_t len = 0;
	_cleanup_free_ char *version = truth(NULL, "proc/version");
	_cleanup_free_ char *notes = truth(&len, "sys/notes");
	size_t version_len = version ? strcspn(version, "\n") : 0;
	add(&theirs, "banner %.*s", (int)version_len, version ? version : "");
	note_hex(notes, len, id);
	add(&theirs, "build-id %s", id);
	/* Ubuntu's banner ends in a signature that /proc/version lacks. */
	size_t whole = strlen(info->banner);
	bool has_more =
		version_len < whole && strncmp(info->banner + version_len, " (Ubuntu ", 9) == 0;
	add(&ours, "banner %.*s", (int)(has_more ? version_len : whole), info->banner);
	hex(info->build_id, info->build_id_len_bytes, id);
	add(&ours, "build-id %s", id);
	compare("kernel", &theirs, &ours);
	printf("found by %s: %s, KASLR %" PRIx64 ", _text at gpa %" PRIx64
	       ", %s, %u KiB pages, %u levels%s\n",
	       info->search_method, info->release, info->kaslr_offset, info->text_gpa,
	       info->architecture, info->page_bytes >> 10, info->levels,
	       info->has_kpti ? ", KPTI" : "");
}

/* --- processes -------------------------------------------------------------------- */

static void status_field(const char *status, const char *name, char *ret)
{
	const char *at = strstr(status, name);
	strcpy(ret, "?");
	if (at)
		sscanf(at + strlen(name), " %63[^\n]", ret);
}

/* Return the last number of a line: a pid in its own namespace. */
static const char *last_word(const char *line)
{
	const char *last = line;
	for (; *line; line++)
		if (isspace((unsigned char)line[0]) && isdigit((unsigned char)line[1]))
			last = line + 1;
	return last;
}

static void add_true_maps(struct lines *lines, const char *pid, char *maps)
{
	char *save;
	for (char *line = strtok_r(maps, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long long start, end, offset;
		char perms[8];
		int at = 0;
		if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, perms, &offset,
			   &at) < 4 ||
		    strstr(line, "[vsyscall]"))
			continue;
		const char *path = at ? line + at : "";
		if (path[0] != '/')
			offset = 0; /* kernels differ for anonymous memory */
		add(lines, "%s %llx-%llx %s %llx %s", pid, start, end, perms, offset, path);
	}
}

static void read_true_processes(struct lines *processes, struct lines *maps)
{
	char path[1024];
	snprintf(path, sizeof(path), "%s/truth/proc", root);
	_cleanup_closedir_ DIR *dir = opendir(path);
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const char *pid = entry->d_name;
		char name[64], ns_pid[64], ppid[64];
		if (!isdigit((unsigned char)pid[0]))
			continue;
		_cleanup_free_ char *status = truth(NULL, "proc/%s/status", pid);
		_cleanup_free_ char *map = truth(NULL, "proc/%s/maps", pid);
		_cleanup_free_ char *cgroup = truth(NULL, "proc/%s/cgroup", pid);
		if (!status || !map || !map[0])
			continue; /* kernel threads start and end */
		status_field(status, "Name:", name);
		status_field(status, "NSpid:", ns_pid);
		status_field(status, "PPid:", ppid);
		const char *group = cgroup ? strrchr(cgroup, ':') : NULL;
		add(processes, "%s %s ns %s parent %s cgroup %.*s", pid, name, last_word(ns_pid),
		    ppid, group ? (int)strcspn(group + 1, "\n") : 0, group ? group + 1 : "");
		add_true_maps(maps, pid, map);
	}
}

static void add_our_maps(struct lines *lines, const struct vmop_guest_process *process)
{
	for (uint32_t i = 0; i < process->vma_count; i++) {
		const struct vmop_guest_vma *vma = &process->vmas[i];
		const char *path = strcmp(vma->path, "//anon") == 0 ? "" : vma->path;
		add(lines, "%u %" PRIx64 "-%" PRIx64 " %c%c%c%c %" PRIx64 " %s", process->pid,
		    vma->start, vma->end, vma->vm_flags & 1 ? 'r' : '-',
		    vma->vm_flags & 2 ? 'w' : '-', vma->vm_flags & 4 ? 'x' : '-',
		    vma->vm_flags & 0x80 ? 's' : 'p', path[0] == '/' ? vma->file_offset_bytes : 0,
		    path);
	}
}

static struct vmop_guest_snapshot *snapshot_of(struct vmop_guest *guest, unsigned int flags)
{
	struct vmop_guest_snapshot *snapshot;
	struct vmop_error *err = vmop_guest_snapshot_processes(guest, flags, &snapshot);
	if (err)
		die(err);
	struct vmop_guest_cost cost = vmop_guest_last_cost(guest);
	printf("snapshot%s: %zu processes, %zu torn, %" PRIu64 " retries, %.2f ms, %" PRIu64
	       " KiB\n",
	       flags & VMOP_GUEST_ALL_VMAS ? " of all mappings" : "",
	       vmop_guest_snapshot_count(snapshot), vmop_guest_snapshot_torn(snapshot),
	       cost.retries, (double)cost.cpu_ns / 1e6, cost.read_bytes >> 10);
	return snapshot;
}

static void compare_processes(struct vmop_guest *guest)
{
	struct lines processes = {0}, maps = {0}, our_processes = {0}, our_maps = {0};
	read_true_processes(&processes, &maps);
	struct vmop_guest_snapshot *all = snapshot_of(guest, VMOP_GUEST_ALL_VMAS);
	for (size_t i = 0; i < vmop_guest_snapshot_count(all); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(all, i);
		if (!process->pgd_gpa)
			continue;
		add(&our_processes, "%u %s ns %u parent %u cgroup %s", process->pid, process->comm,
		    process->ns_pid, process->ppid, process->cgroup);
		add_our_maps(&our_maps, process);
	}
	vmop_guest_snapshot_free(all);
	compare("processes", &processes, &our_processes);
	compare("mappings", &maps, &our_maps);
	vmop_guest_snapshot_free(snapshot_of(guest, 0));
	struct vmop_guest_snapshot *snapshot = snapshot_of(guest, 0);
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		for (uint32_t j = 0; j < process->vma_count; j++) {
			const struct vmop_guest_vma *vma = &process->vmas[j];
			char id[64];
			hex(vma->build_id, vma->build_id_len_bytes, id);
			if (!vma->build_id_len_bytes && vma->path[0] == '/' &&
			    vma->path[1] != '/') {
				printf("  no build-id: %u %s\n", process->pid, vma->path);
				differences++;
			} else if (getenv("VMOP_COMPARE_BUILD_IDS")) {
				printf("build-id %s %s\n", vma->path, id);
			}
		}
	}
	vmop_guest_snapshot_free(snapshot);
}

/* Take snapshots in a row. Torn processes must be rare, however busy the guest is. */
static void take_many(struct vmop_guest *guest, int count)
{
	size_t processes = 0, torn = 0, least = SIZE_MAX;
	struct vmop_guest_cost before = vmop_guest_total_cost(guest);
	for (int i = 0; i < count; i++) {
		struct vmop_guest_snapshot *snapshot;
		struct vmop_error *err = vmop_guest_snapshot_processes(guest, 0, &snapshot);
		if (err)
			die(err);
		processes += vmop_guest_snapshot_count(snapshot);
		torn += vmop_guest_snapshot_torn(snapshot);
		if (vmop_guest_snapshot_count(snapshot) < least)
			least = vmop_guest_snapshot_count(snapshot);
		vmop_guest_snapshot_free(snapshot);
	}
	struct vmop_guest_cost after = vmop_guest_total_cost(guest);
	printf("%d snapshots: %zu processes, at the least %zu, %zu torn, %" PRIu64
	       " retries, %.2f ms each\n",
	       count, processes, least, torn, after.retries - before.retries,
	       (double)(after.cpu_ns - before.cpu_ns) / 1e6 / count);
	differences += torn * 100 > processes;
}

/* --- registers -------------------------------------------------------------------- */

static bool is_arm64(const struct vmop_guest *guest)
{
	return strcmp(vmop_guest_kernel_info(guest)->architecture, "arm64") == 0;
}

/* QEMU does not report TTBR0: at user level PC is in the current task's program. */
static void compare_pc(const struct vmop_guest_snapshot *snapshot,
		       const struct vmop_guest_current *current, const char **at)
{
	unsigned long long pc;
	const char *here = *at ? strstr(*at, " PC=") : NULL;
	const char *state = here ? strstr(here, "PSTATE=") : NULL;
	*at = state;
	if (!state || sscanf(here, " PC=%llx", &pc) != 1 || !strstr(state, "EL0t") ||
	    strstr(state, "EL0t") > state + 40)
		return;
	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(snapshot, current->pid);
	if (!process || !vmop_guest_process_vma(process, pc)) {
		printf("  PC %llx is not in %s\n", pc, current->comm);
		differences++;
	}
}

/* At user level CR3 is the current task's page table. */
static void compare_current(struct vmop_guest *guest)
{
	char path[1024];
	_cleanup_free_ char *text = NULL;
	struct vmop_guest_current current[64];
	size_t count;
	struct vmop_guest_snapshot *snapshot = snapshot_of(guest, 0);
	struct vmop_error *err = vmop_guest_current_tasks(guest, current, 64, &count);
	if (err)
		die(err);
	snprintf(path, sizeof(path), "%s/registers", root);
	err = vmop_io_read_file(path, 1 << 20, &text, NULL);
	vmop_error_destroy(err);
	const char *at = text;
	for (size_t i = 0; i < count; i++) {
		printf("vCPU %u runs %s (%u/%u)%s\n", current[i].vcpu, current[i].comm,
		       current[i].pid, current[i].tid, current[i].is_idle ? ", idle" : "");
		if (is_arm64(guest)) {
			compare_pc(snapshot, &current[i], &at);
			continue;
		}
		unsigned long long cr3;
		const char *cpl = at ? strstr(at, "CPL=") : NULL;
		at = cpl ? strstr(cpl, "CR3=") : NULL;
		if (!at || sscanf(at, "CR3=%llx", &cr3) != 1 || cpl[4] != '3')
			continue;
		const struct vmop_guest_process *process =
			vmop_guest_snapshot_by_cr3(snapshot, cr3);
		if (!process || process->pid != current[i].pid) {
			printf("  CR3 %llx is %s's\n", cr3, process ? process->comm : "no process");
			differences++;
		}
	}
	vmop_guest_snapshot_free(snapshot);
}

/* --- files ------------------------------------------------------------------------ */

static uint64_t find_file(const struct vmop_guest_snapshot *snapshot, const char *path)
{
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		const struct vmop_guest_process *process = vmop_guest_snapshot_get(snapshot, i);
		for (uint32_t j = 0; j < process->vma_count; j++)
			if (strcmp(process->vmas[j].path, path) == 0)
				return process->vmas[j].file;
	}
	return 0;
}

/* Compare a whole file in the guest's page cache with a copy, byte for byte. */
static void compare_file(struct vmop_guest *guest, const char *pair)
{
	char path[512], *theirs;
	size_t len, got = 0;
	uint64_t size = 0;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(pair, "="), pair);
	struct vmop_error *err =
		vmop_io_read_file(pair + strlen(path) + 1, 64 << 20, &theirs, &len);
	if (err)
		die(err);
	struct vmop_guest_snapshot *snapshot = snapshot_of(guest, 0);
	uint64_t file = find_file(snapshot, path);
	vmop_guest_snapshot_free(snapshot);
	_cleanup_free_ char *ours = malloc(len);
	if (!file || !ours) {
		printf("  %s: no process has it mapped\n", path);
		differences++;
	} else {
		err = vmop_guest_file_size(guest, file, &size);
		if (!err)
			err = vmop_guest_read_file(guest, file, 0, ours, len, &got);
		if (err)
			die(err);
		bool same = size == len && got == len && memcmp(ours, theirs, len) == 0;
		printf("file %s: %zu of %zu bytes in the page cache, %s\n", path, got, len,
		       same ? "equal" : "DIFFERENT");
		differences += !same;
	}
	free(theirs);
}

/*
 * Return whether the guest has a trampoline below 1 MiB: x86 has one. RAM of arm64 begins
 * elsewhere, which meta then states.
 */
static bool has_trampoline(void)
{
	char path[1024], *text;
	snprintf(path, sizeof(path), "%s/meta", root);
	struct vmop_error *err = vmop_io_read_file(path, 1 << 16, &text, NULL);
	if (err)
		die(err);
	bool has = !strstr(text, "ram_start=");
	free(text);
	return has;
}

/* Change the first byte of each occurrence of mark in ram. */
static void hide(uint8_t *ram, size_t len, const void *mark, size_t mark_len)
{
	for (uint8_t *at = ram; (at = memmem(at, len - (size_t)(at - ram), mark, mark_len));)
		*at = 'x';
}

static struct vmop_error *open_hidden(const char *path, int hidden, const char *profile,
				      struct vmop_guest **ret)
{
	static const char note[] = "OSRELEASE=";
	static const uint8_t btf[] = {0x9f, 0xeb, 1, 0, 24, 0, 0, 0}; /* uapi/linux/btf.h */
	struct vmop_guest_memory *memory;
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return vmop_error_os(errno, "%s", path);
	size_t len = (size_t)st.st_size;
	uint8_t *ram = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	close(fd);
	if (ram == MAP_FAILED)
		return vmop_error_os(errno, "%s", path);
	if (hidden && has_trampoline())
		memset(ram, 0, 1 << 20);
	if (hidden > 1)
		hide(ram, len, note, sizeof(note) - 1);
	if (profile)
		hide(ram, len, btf, sizeof(btf));
	/* Fault in the mapping now, so that its cost is not part of the search. */
	for (size_t at = 0; at < len; at += VMOP_GUEST_PAGE_BYTES)
		(void)*(volatile uint8_t *)(ram + at);
	struct vmop_error *err = vmop_guest_memory_open_buffer(ram, len, &memory);
	if (!err)
		err = vmop_guest_open_memory(memory, ret);
	if (!err && profile)
		(*ret)->profile = strdup(profile);
	return err;
}

/*
 * Run a command that has the guest execute another kernel. Wait until the old kernel is gone or its
 * clock stands, then find the new one.
 */
static void find_next(struct vmop_guest *guest, const char *command)
{
	uint64_t before = vmop_guest_kernel_info(guest)->text_gpa;
	enum vmop_guest_kernel_state state = VMOP_GUEST_KERNEL_CURRENT;
	if (system(command) != 0) {
		fprintf(stderr, "%s: failed\n", command);
		exit(2);
	}
	for (int i = 0; i < 200 && state == VMOP_GUEST_KERNEL_CURRENT; i++) {
		state = vmop_guest_kernel_state(guest);
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	printf("the kernel at gpa %" PRIx64 " %s\n", before,
	       state == VMOP_GUEST_KERNEL_CURRENT     ? "still passes for running"
	       : state == VMOP_GUEST_KERNEL_UNCERTAIN ? "stands still"
						      : "is gone");
	differences += state == VMOP_GUEST_KERNEL_CURRENT;
	struct vmop_error *err = vmop_guest_find_kernel(guest);
	if (err)
		die(err);
}

static void compare_all(struct vmop_guest *guest)
{
	compare_kernel(guest);
	compare_symbols(guest);
	compare_modules(guest);
	compare_processes(guest);
}

int main(int argc, char **argv)
{
	char path[1024];
	const char *files[16];
	struct vmop_guest_options options = {0};
	struct vmop_guest *guest;
	int option, pid = 0, snapshots = 0, hidden = 0;
	size_t file_count = 0;
	const char *next = NULL, *profile = NULL;
	while ((option = getopt(argc, argv, "p:q:xb:n:f:k:")) != -1) {
		if (option == 'p')
			pid = atoi(optarg);
		else if (option == 'q')
			options.qmp_socket = optarg;
		else if (option == 'b')
			profile = optarg;
		else if (option == 'k')
			next = optarg;
		else if (option == 'x')
			hidden++;
		else if (option == 'n')
			snapshots = atoi(optarg);
		else if (option == 'f' && file_count < 16 && strchr(optarg, '='))
			files[file_count++] = optarg;
		else
			return 2;
	}
	if (optind + 1 != argc)
		return 2;
	root = argv[optind];
	snprintf(path, sizeof(path), "%s/ram", root);
	struct vmop_error *err = pid		     ? vmop_guest_open_pid(pid, &options, &guest)
				 : hidden || profile ? open_hidden(path, hidden, profile, &guest)
						     : vmop_guest_open_file(path, &options, &guest);
	if (err)
		die(err);
	err = vmop_guest_find_kernel(guest);
	if (err)
		die(err);
	struct vmop_guest_cost cost = vmop_guest_last_cost(guest);
	printf("kernel and symbols: %.1f ms, %" PRIu64 " MiB read of %" PRIu64 "\n",
	       (double)cost.cpu_ns / 1e6, cost.read_bytes >> 20, vmop_guest_ram_bytes(guest) >> 20);
	static const char *const methods[] = {"trampoline", "vmcoreinfo", "kallsyms"};
	if (!hidden && is_arm64(guest))
		hidden = 1;
	if (strcmp(vmop_guest_kernel_info(guest)->search_method,
		   methods[hidden < 2 ? hidden : 2]) != 0) {
		printf("  found by %s\n", vmop_guest_kernel_info(guest)->search_method);
		differences++;
	}
	if (strcmp(vmop_guest_kernel_info(guest)->offsets_source, profile ? "profile" : "BTF") !=
	    0) {
		printf("  offsets from %s\n", vmop_guest_kernel_info(guest)->offsets_source);
		differences++;
	}
	compare_all(guest);
	if (next) {
		find_next(guest, next);
		compare_all(guest);
	}
	if (!pid)
		compare_current(guest);
	for (size_t i = 0; i < file_count; i++)
		compare_file(guest, files[i]);
	if (snapshots)
		take_many(guest, snapshots);
	vmop_guest_close(guest);
	printf(differences ? "%d differences\n" : "all equal\n", differences);
	return differences ? 1 : 0;
}
