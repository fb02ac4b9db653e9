// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/io/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libutil/cleanup.h"

struct vmop_stat_io_preload {
	int fd;
	char path[64]; /* of the descriptor, for programs of the same user */
	struct vmop_preload *memory;
	char *old_preload; /* NULL: LD_PRELOAD was not set */
	bool is_environment_changed;
};

/* Find the library: beside an uninstalled vmopstat, or where it is installed. */
static struct vmop_error *find_library(char **ret)
{
	const char *folder = getenv("VMOP_APPIO_DIR"); /* for tests of the build tree */
	if (asprintf(ret, "%s/vmop-appio.so", folder ? folder : VMOP_PKGLIBDIR) < 0)
		return &vmop_error_no_memory;
	if (access(*ret, R_OK) == 0)
		return NULL;
	struct vmop_error *err = vmop_error_os(errno, "%s", *ret);
	free(*ret);
	*ret = NULL;
	return err;
}

/*
 * Make a file that has no name but that of this process's descriptor, and keeps its size: a program
 * that made it smaller would end vmopstat by a signal.
 */
static struct vmop_error *make_memory(struct vmop_stat_io_preload *preload)
{
	preload->fd = memfd_create("vmop-appio", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (preload->fd < 0 || ftruncate(preload->fd, sizeof(*preload->memory)) != 0 ||
	    fcntl(preload->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return vmop_error_os(errno, "memory for the counts of I/O");
	preload->memory = mmap(NULL, sizeof(*preload->memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			       preload->fd, 0);
	if (preload->memory == MAP_FAILED) {
		preload->memory = NULL;
		return vmop_error_os(errno, "memory for the counts of I/O");
	}
	snprintf(preload->path, sizeof(preload->path), "/proc/%d/fd/%d", (int)getpid(),
		 preload->fd);
	return NULL;
}

static struct vmop_error *change_environment(struct vmop_stat_io_preload *preload)
{
	_cleanup_free_ char *library = NULL, *all = NULL;
	const char *old = getenv("LD_PRELOAD");
	struct vmop_error *err = find_library(&library);
	if (err)
		return err;
	if (old && !(preload->old_preload = strdup(old)))
		return &vmop_error_no_memory;
	if (asprintf(&all, "%s%s%s", library, old && *old ? ":" : "", old ? old : "") < 0) {
		all = NULL;
		return &vmop_error_no_memory;
	}
	preload->is_environment_changed = true;
	if (setenv("LD_PRELOAD", all, 1) != 0 ||
	    setenv(VMOP_PRELOAD_VARIABLE, preload->path, 1) != 0)
		return &vmop_error_no_memory;
	return NULL;
}

static void restore_environment(struct vmop_stat_io_preload *preload)
{
	if (!preload->is_environment_changed)
		return;
	preload->is_environment_changed = false;
	unsetenv(VMOP_PRELOAD_VARIABLE);
	unsetenv("LD_PRELOAD");
	/* It was there, so there is room for it. */
	if (preload->old_preload)
		setenv("LD_PRELOAD", preload->old_preload, 1);
}

struct vmop_error *vmop_stat_io_preload_create(bool has_times, struct vmop_stat_io_preload **ret)
{
	struct vmop_stat_io_preload *preload = calloc(1, sizeof(*preload));
	*ret = NULL;
	if (!preload)
		return &vmop_error_no_memory;
	preload->fd = -1;
	struct vmop_error *err = make_memory(preload);
	if (!err)
		err = change_environment(preload);
	if (err) {
		vmop_stat_io_preload_destroy(preload);
		return err;
	}
	preload->memory->has_times = has_times;
	preload->memory->magic = VMOP_PRELOAD_MAGIC;
	*ret = preload;
	return NULL;
}

void vmop_stat_io_preload_destroy(struct vmop_stat_io_preload *preload)
{
	if (!preload)
		return;
	restore_environment(preload);
	if (preload->memory)
		munmap(preload->memory, sizeof(*preload->memory));
	if (preload->fd >= 0)
		close(preload->fd);
	free(preload->old_preload);
	free(preload);
}

void vmop_stat_io_preload_begin(struct vmop_stat_io_preload *preload, pid_t pid)
{
	restore_environment(preload);
	preload->memory->command_pid = (uint32_t)pid;
	preload->memory->execs[(uint32_t)pid % VMOP_PRELOAD_MAX_EXECS] = (uint32_t)pid;
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct vmop_error *pass_tasks(const struct vmop_preload *memory, uint32_t n,
				     const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	for (uint32_t i = 0; !err && i < n; i++) {
		struct vmop_appio_task task = memory->tasks[i];
		task.name[sizeof(task.name) - 1] = '\0';
		err = sink->put_task(sink->data, i + 1, &task);
	}
	return err;
}

/* Pass the slots that can be entries. */
static struct vmop_error *pass_slots(const struct vmop_preload *memory, uint32_t n_tasks,
				     const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	for (uint32_t i = 0; !err && i < VMOP_PRELOAD_MAX_SLOTS; i++) {
		if (__atomic_load_n(&memory->slots[i].state, __ATOMIC_ACQUIRE) !=
		    VMOP_PRELOAD_READY)
			continue;
		struct vmop_appio_key key = memory->slots[i].key;
		struct vmop_appio_entry entry = memory->slots[i].entry;
		entry.name[sizeof(entry.name) - 1] = '\0';
		if (vmop_appio_call(key.call) && key.direction <= VMOP_APPIO_OUT &&
		    key.kind < VMOP_APPIO_N_KINDS && key.task >= 1 && key.task <= n_tasks)
			err = sink->put_entry(sink->data, &key, &entry);
	}
	return err;
}

static struct vmop_error *pass_rests(const struct vmop_preload *memory,
				     const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	for (unsigned i = 0; !err && i < VMOP_APPIO_MAX_CALLS * 2 * VMOP_APPIO_N_KINDS; i++) {
		struct vmop_appio_key key = {
			.fd = -1,
			.call = (uint8_t)(i / VMOP_APPIO_N_KINDS / 2),
			.direction = (uint8_t)(i / VMOP_APPIO_N_KINDS % 2),
			.kind = (uint8_t)(i % VMOP_APPIO_N_KINDS),
		};
		struct vmop_appio_entry entry = {
			.counts = memory->rests[key.call][key.direction][key.kind]};
		if (entry.counts.calls && vmop_appio_call(key.call))
			err = sink->put_entry(sink->data, &key, &entry);
	}
	return err;
}

static uint64_t n_unseen(const struct vmop_preload *memory)
{
	uint64_t n = memory->n_unseen;
	for (size_t i = 0; i < VMOP_PRELOAD_MAX_EXECS; i++)
		n += memory->execs[i] != 0;
	return n;
}

struct vmop_error *vmop_stat_io_preload_pass(const struct vmop_preload *memory,
					     const struct vmop_appio_sink *sink,
					     struct vmop_appio_facts *ret)
{
	*ret = (struct vmop_appio_facts){
		.n_tasks = memory->n_tasks,
		.n_left_out = memory->n_left_out,
		.n_unseen_programs = n_unseen(memory),
		.no_faults = "a library does not see them",
		.no_major_faults = "a library does not see them",
		.no_uring = "a library does not see them",
		.no_open_peak = "a library does not see it",
	};
	if (!memory->n_tasks)
		ret->no_counts = "no program loaded the library: static, set-user-ID, or "
				 "of another user";
	uint32_t n =
		memory->n_tasks < VMOP_PRELOAD_MAX_TASKS ? memory->n_tasks : VMOP_PRELOAD_MAX_TASKS;
	struct vmop_error *err = pass_tasks(memory, n, sink);
	if (!err)
		err = pass_slots(memory, n, sink);
	return err ? err : pass_rests(memory, sink);
}

struct vmop_error *vmop_stat_io_preload_read(struct vmop_stat_io_preload *preload,
					     const struct vmop_appio_sink *sink,
					     struct vmop_appio_facts *ret)
{
	return vmop_stat_io_preload_pass(preload->memory, sink, ret);
}
