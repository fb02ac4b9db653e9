// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/appio.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hv-interface/bpf/appio-layout.h"
#include "hv-interface/bpf/appio-object.h"
#include "hv-interface/bpf/loaded.h"
#include "hv-interface/bpf/message.h"
#include "libutil/cleanup.h"

/* Walk over all tasks at most so often: a process can make threads all the time. */
#define MAX_WALKS 64
#define BATCH 4096

static const char *const always[] = {"vmop_appio_signal", "vmop_appio_fork", "vmop_appio_exec",
				     "vmop_appio_exit", "vmop_appio_leave"};

struct vmop_appio {
	struct vmop_bpf_loaded loaded;
	struct vmop_appio_settings settings;
	bool has_fault_function; /* faults are counted where the kernel has handled them */
	const char *no_faults, *no_uring;
	int n_cpus;
	/* Room for one read. */
	uint32_t *indices;
	struct vmop_appio_slot *slots;
	void *per_cpu;
};

/* ---- what this kernel has ----------------------------------------------------------------- */

static struct vmop_error *find_kernel(struct vmop_appio *appio)
{
	struct btf *btf;
	struct vmop_error *err = vmop_bpf_read_types(&btf);
	if (err)
		return err;
	bool has_calls = vmop_bpf_n_parameters(btf, "btf_trace_sys_exit", BTF_KIND_TYPEDEF) == 3;
	appio->has_fault_function =
		vmop_bpf_n_parameters(btf, "handle_mm_fault", BTF_KIND_FUNC) == 4;
	if (vmop_bpf_n_parameters(btf, "btf_trace_page_fault_user", BTF_KIND_TYPEDEF) != 4)
		appio->no_faults = "this kernel lets no program see them";
	/* With the tracepoint's own data: Linux 5.19, and 6.13. */
	unsigned n = vmop_bpf_n_parameters(btf, "btf_trace_io_uring_complete", BTF_KIND_TYPEDEF);
	appio->settings.complete_form =
		n == 4 ? VMOP_APPIO_COMPLETE_ENTRY : VMOP_APPIO_COMPLETE_RESULT;
	if (n != 4 && n != 8)
		appio->no_uring = "this kernel has no tracepoint for them (Linux 5.19 or later)";
	btf__free(btf);
	if (!has_calls)
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel has no tracepoint sys_exit");
	return NULL;
}

static void fill_tables(struct vmop_appio_settings *settings)
{
#if defined(__aarch64__)
	vmop_appio_calls_of_abi(VMOP_APPIO_ARM64, settings->native);
	vmop_appio_calls_of_abi(VMOP_APPIO_ARM, settings->compat);
#else
	vmop_appio_calls_of_abi(VMOP_APPIO_X86_64, settings->native);
	vmop_appio_calls_of_abi(VMOP_APPIO_I386, settings->compat);
#endif
	vmop_appio_socketcalls(settings->socketcalls);
	settings->complete = (uint8_t)vmop_appio_call_id("io_uring");
	const struct vmop_appio_call *call;
	for (unsigned id = 1; (call = vmop_appio_call(id)); id++) {
		settings->classes[id] = call->class;
		settings->forms[id] = call->form;
	}
}

/* ---- loading ------------------------------------------------------------------------------ */

static int map_fd(const struct vmop_appio *appio, const char *name)
{
	return vmop_bpf_loaded_map_fd(&appio->loaded, name);
}

/* Load the programs that are wanted and possible. Return 0 or a negative errno. */
static int try_load(struct vmop_appio *appio, bool has_times)
{
	struct vmop_bpf_loaded *loaded = &appio->loaded;
	const struct vmop_bpf_source source = {
		.name = "vmop_appio",
		.begin = vmop_appio_object,
		.end = vmop_appio_object_end,
		.section = VMOP_APPIO_SETTINGS_SECTION,
		.settings = &appio->settings,
		.settings_bytes = sizeof(appio->settings),
	};
	int status = vmop_bpf_loaded_open(loaded, &source);
	if (status < 0)
		return status;
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_appio_enter"), has_times);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_appio_fault"),
				  appio->has_fault_function);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_appio_exception"),
				  !appio->has_fault_function && !appio->no_faults);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_appio_complete"),
				  !appio->no_uring);
	return bpf_object__load(loaded->object);
}

/* Load, without the parts that this kernel may not have if need be. */
static struct vmop_error *load(struct vmop_appio *appio, bool has_times)
{
	int status = try_load(appio, has_times);
	if (status < 0 && appio->has_fault_function) {
		appio->has_fault_function = false;
		status = try_load(appio, has_times);
	}
	if (status < 0 && !appio->no_faults) {
		appio->no_faults = "this kernel does not let a program see them";
		status = try_load(appio, has_times);
	}
	if (status < 0 && !appio->no_uring) {
		appio->no_uring = "this kernel does not let a program see them";
		status = try_load(appio, has_times);
	}
	return status < 0 ? vmop_bpf_refused(-status, "") : NULL;
}

static struct vmop_error *attach_all(struct vmop_appio *appio, bool has_times)
{
	struct vmop_bpf_loaded *loaded = &appio->loaded;
	int status = 0;
	for (size_t i = 0; status >= 0 && i < sizeof(always) / sizeof(*always); i++)
		status = vmop_bpf_loaded_attach(loaded, always[i]);
	if (status >= 0 && has_times)
		status = vmop_bpf_loaded_attach(loaded, "vmop_appio_enter");
	if (status < 0)
		return vmop_bpf_refused(-status, "");
	if (appio->has_fault_function && vmop_bpf_loaded_attach(loaded, "vmop_appio_fault") == 0)
		appio->no_faults = NULL;
	else if (appio->has_fault_function ||
		 (!appio->no_faults && vmop_bpf_loaded_attach(loaded, "vmop_appio_exception") < 0))
		appio->no_faults = "this kernel attaches no program to them";
	if (!appio->no_uring && vmop_bpf_loaded_attach(loaded, "vmop_appio_complete") < 0)
		appio->no_uring = "this kernel attaches no program to their tracepoint";
	return NULL;
}

/* ---- the process -------------------------------------------------------------------------- */

/* Let the kernel walk over all tasks once. Return how many threads it adopted, or a negative errno.
 */
static int walk(const struct vmop_appio *appio)
{
	char nothing[64];
	struct bpf_map *data = bpf_object__find_map_by_name(appio->loaded.object, ".bss");
	int fd = bpf_map__fd(data);
	struct vmop_appio_progress before, after;
	uint32_t zero = 0;
	if (bpf_map_lookup_elem(fd, &zero, &before) != 0)
		return -errno;
	struct bpf_link *link = bpf_program__attach_iter(
		vmop_bpf_loaded_program(&appio->loaded, "vmop_appio_adopt"), NULL);
	if (!link)
		return -errno;
	int iterator = bpf_iter_create(bpf_link__fd(link));
	int os_errno = errno;
	while (iterator >= 0 && read(iterator, nothing, sizeof(nothing)) > 0)
		;
	if (iterator >= 0)
		close(iterator);
	bpf_link__destroy(link);
	if (iterator < 0)
		return -os_errno;
	if (bpf_map_lookup_elem(fd, &zero, &after) != 0)
		return -errno;
	return (int)(after.n_adopted - before.n_adopted);
}

struct vmop_error *vmop_appio_adopt(struct vmop_appio *appio, pid_t pid, bool on_exec)
{
	struct vmop_appio_member mark = {.mark = on_exec ? VMOP_APPIO_MARK_FOR_EXEC
							 : VMOP_APPIO_MARK_NOW};
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return vmop_error_os(errno, "process %d", (int)pid);
	if (bpf_map_update_elem(map_fd(appio, "members"), &fd, &mark, BPF_NOEXIST) != 0)
		return vmop_error_os(errno, "process %d", (int)pid);
	int n = walk(appio);
	for (unsigned i = 1; n > 0 && i < MAX_WALKS; i++)
		n = walk(appio);
	return n < 0 ? vmop_bpf_refused(-n, "") : NULL;
}

struct vmop_error *vmop_appio_create(bool has_times, struct vmop_appio **ret)
{
	struct vmop_appio *appio = calloc(1, sizeof(*appio));
	*ret = NULL;
	if (!appio)
		return &vmop_error_no_memory;
	libbpf_set_print(vmop_bpf_log_message);
	fill_tables(&appio->settings);
	appio->n_cpus = (int)vmop_bpf_n_cpus();
	appio->indices = calloc(BATCH, sizeof(*appio->indices));
	appio->slots = calloc(BATCH, sizeof(*appio->slots));
	appio->per_cpu = calloc((size_t)appio->n_cpus, sizeof(union {
					struct vmop_appio_counts counts;
					struct vmop_appio_losses losses;
				}));
	struct vmop_error *err = NULL;
	if (!appio->indices || !appio->slots || !appio->per_cpu)
		err = &vmop_error_no_memory;
	if (!err)
		err = vmop_bpf_check_permission("");
	if (!err)
		err = find_kernel(appio);
	if (!err)
		err = load(appio, has_times);
	if (!err)
		err = attach_all(appio, has_times);
	if (err) {
		vmop_appio_destroy(appio);
		return err;
	}
	*ret = appio;
	return NULL;
}

void vmop_appio_stop(struct vmop_appio *appio)
{
	vmop_bpf_loaded_detach(&appio->loaded);
}

void vmop_appio_destroy(struct vmop_appio *appio)
{
	if (!appio)
		return;
	vmop_bpf_loaded_close(&appio->loaded);
	free(appio->indices);
	free(appio->slots);
	free(appio->per_cpu);
	free(appio);
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct vmop_error *cannot_read(int os_errno)
{
	return vmop_error_os(os_errno, "reading the counts of I/O");
}

static struct vmop_error *read_tasks(struct vmop_appio *appio, uint32_t n,
				     const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	if (n > VMOP_APPIO_MAX_TASKS)
		n = VMOP_APPIO_MAX_TASKS;
	for (uint32_t i = 1; !err && i <= n; i++) {
		struct vmop_appio_task task;
		if (bpf_map_lookup_elem(map_fd(appio, "tasks"), &i, &task) != 0)
			return cannot_read(errno);
		task.name[sizeof(task.name) - 1] = '\0';
		err = sink->put_task(sink->data, i, &task);
	}
	return err;
}

/* Pass n slots of the array's. One that has no key yet is being made. */
static struct vmop_error *pass_slots(struct vmop_appio *appio, uint32_t n,
				     const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	for (uint32_t i = 0; !err && i < n; i++) {
		struct vmop_appio_slot *slot = &appio->slots[i];
		slot->entry.name[sizeof(slot->entry.name) - 1] = '\0';
		if (slot->key.task)
			err = sink->put_entry(sink->data, &slot->key, &slot->entry);
	}
	return err;
}

static struct vmop_error *read_entries(struct vmop_appio *appio, uint32_t n_entries,
				       const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	uint32_t position = 0, *at = NULL, n_read = 0;
	if (n_entries > VMOP_APPIO_MAX_ENTRIES)
		n_entries = VMOP_APPIO_MAX_ENTRIES;
	while (!err && n_read < n_entries) {
		uint32_t n = n_entries - n_read < BATCH ? n_entries - n_read : BATCH;
		if (bpf_map_lookup_batch(map_fd(appio, "entries"), at, &position, appio->indices,
					 appio->slots, &n, NULL) != 0 &&
		    errno != ENOENT)
			return cannot_read(errno);
		if (!n)
			break;
		at = &position;
		n_read += n;
		err = pass_slots(appio, n, sink);
	}
	return err;
}

static struct vmop_error *read_rests(struct vmop_appio *appio, const struct vmop_appio_sink *sink)
{
	struct vmop_error *err = NULL;
	for (uint32_t i = 0; !err && i < VMOP_APPIO_N_RESTS; i++) {
		const struct vmop_appio_counts *counts = appio->per_cpu;
		struct vmop_appio_entry entry = {0};
		struct vmop_appio_key key = {
			.fd = -1,
			.call = (uint8_t)(i / VMOP_APPIO_N_KINDS / 2),
			.direction = (uint8_t)(i / VMOP_APPIO_N_KINDS % 2),
			.kind = (uint8_t)(i % VMOP_APPIO_N_KINDS),
		};
		if (bpf_map_lookup_elem(map_fd(appio, "rests"), &i, appio->per_cpu) != 0)
			return cannot_read(errno);
		for (int cpu = 0; cpu < appio->n_cpus; cpu++)
			vmop_appio_counts_add(&entry.counts, &counts[cpu]);
		if (entry.counts.calls)
			err = sink->put_entry(sink->data, &key, &entry);
	}
	return err;
}

/* Add up how often the kernel did not run a program: it was running on that CPU. */
static uint64_t n_missed(const struct vmop_appio *appio)
{
	uint64_t sum = 0;
	struct bpf_program *program;
	bpf_object__for_each_program(program, appio->loaded.object)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(program);
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
			sum += info.recursion_misses;
	}
	return sum;
}

static struct vmop_error *read_losses(struct vmop_appio *appio, struct vmop_appio_facts *facts)
{
	uint32_t zero = 0;
	const struct vmop_appio_losses *losses = appio->per_cpu;
	if (bpf_map_lookup_elem(map_fd(appio, "losses"), &zero, appio->per_cpu) != 0)
		return cannot_read(errno);
	for (int cpu = 0; cpu < appio->n_cpus; cpu++) {
		facts->n_left_out += losses[cpu].n_left_out;
		facts->n_foreign += losses[cpu].n_foreign;
		facts->n_restarts += losses[cpu].n_restarts;
		facts->n_unsure += losses[cpu].n_unsure;
		facts->n_unread += losses[cpu].n_unread;
		facts->n_lost_tasks += losses[cpu].n_lost_tasks;
		facts->file_faults += losses[cpu].file_faults;
		facts->major_faults += losses[cpu].major_faults;
		facts->n_unseen_faults += losses[cpu].n_unseen_faults;
	}
	facts->n_missed = n_missed(appio);
	if (!appio->has_fault_function)
		facts->no_major_faults = "this kernel shows faults only before it handles them";
	facts->no_faults = appio->no_faults;
	facts->no_uring = appio->no_uring;
	return NULL;
}

struct vmop_error *vmop_appio_read(struct vmop_appio *appio, const struct vmop_appio_sink *sink,
				   struct vmop_appio_facts *ret)
{
	*ret = (struct vmop_appio_facts){0};
	struct vmop_appio_progress progress;
	uint32_t zero = 0;
	int data = bpf_map__fd(bpf_object__find_map_by_name(appio->loaded.object, ".bss"));
	struct vmop_error *err = read_losses(appio, ret);
	if (!err && bpf_map_lookup_elem(data, &zero, &progress) != 0)
		err = cannot_read(errno);
	if (err)
		return err;
	ret->n_tasks = progress.n_tasks;
	err = read_tasks(appio, progress.n_tasks, sink);
	if (!err)
		err = read_entries(appio, progress.n_entries, sink);
	return err ? err : read_rests(appio, sink);
}
