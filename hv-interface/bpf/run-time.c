// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/run-time.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hv-interface/bpf/run-time-object.h"
#include "hv-interface/bpf/run-time-open.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* The inode of the first namespace of process ids: PROC_PID_INIT_INO in linux/proc_ns.h. */
#define FIRST_PID_NAMESPACE 0xeffffffc

/* The program may be a user's: its own messages of libbpf are not for this library to print. */
static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* ---- what this kernel has ----------------------------------------------------------------- */

static bool has_member(const struct btf *btf, const char *structure, const char *member)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	for (unsigned i = 0; type && i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(btf, btf_members(type)[i].name_off);
		if (name && strcmp(name, member) == 0)
			return true;
	}
	return false;
}

static bool is_turned_off(void)
{
	_cleanup_free_ char *words = NULL;
	struct vmop_error *err = vmop_io_read_file("/proc/cmdline", 65536, &words, NULL);
	bool ret = false;
	char *rest;
	for (char *word = err ? NULL : strtok_r(words, " \n", &rest); word;
	     word = strtok_r(NULL, " \n", &rest))
		ret |= strcmp(word, "no-steal-acc") == 0;
	vmop_error_destroy(err);
	return ret;
}

enum vmop_subtracts vmop_kernel_subtracts(void)
{
	libbpf_print_fn_t print = libbpf_set_print(print_nothing);
	struct btf *btf = btf__load_vmlinux_btf();
	libbpf_set_print(print);
	if (!btf)
		return VMOP_SUBTRACTS_UNKNOWN;
	bool ret = has_member(btf, "rq", "prev_steal_time_rq");
	btf__free(btf);
	return ret && !is_turned_off() ? VMOP_SUBTRACTS_YES : VMOP_SUBTRACTS_NO;
}

static struct vmop_error *check_namespace(const struct vmop_run_time_options *options)
{
	struct stat st;
	if (!options->tid && !options->tgid)
		return NULL;
	if (stat("/proc/self/ns/pid", &st) != 0)
		return vmop_error_os(errno, "/proc/self/ns/pid");
	if (st.st_ino != FIRST_PID_NAMESPACE)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "process ids are those of a container, which the BPF program "
				      "does not know");
	return NULL;
}

/* ---- loading ------------------------------------------------------------------------------ */

static struct vmop_error *load(struct vmop_run_time *run_time)
{
	const struct vmop_run_time_options *options = &run_time->options;
	const struct vmop_steal_clock *clock = &options->clock;
	struct vmop_bpf_loaded *loaded = &run_time->loaded;
	const struct vmop_run_time_settings settings = {
		.clock_variable = clock->variable,
		.per_cpu_offsets = clock->offsets,
		.static_key = clock->static_key,
		.is_xen = clock->kind == VMOP_STEAL_XEN,
		.tid = (uint32_t)options->tid,
		.tgid = (uint32_t)options->tgid,
	};
	const struct vmop_bpf_source source = {
		.name = "vmop_run_time",
		.begin = vmop_run_time_object,
		.end = vmop_run_time_object_end,
		.section = VMOP_RUN_TIME_SETTINGS_SECTION,
		.settings = &settings,
		.settings_bytes = sizeof(settings),
	};
	int status = vmop_bpf_loaded_open(loaded, &source);
	if (status < 0)
		return vmop_bpf_refused(-status, "");
	bpf_map__set_max_entries(bpf_object__find_map_by_name(loaded->object, "tasks"),
				 run_time->max_tasks);
	bpf_program__set_autoload(vmop_bpf_loaded_program(loaded, "vmop_fork"), options->tgid != 0);
	status = bpf_object__load(loaded->object);
	if (status < 0)
		return vmop_bpf_refused(-status, "");
	run_time->tasks_fd = vmop_bpf_loaded_map_fd(loaded, "tasks");
	run_time->cpus_fd = vmop_bpf_loaded_map_fd(loaded, "cpus");
	run_time->settle_fd = bpf_program__fd(vmop_bpf_loaded_program(loaded, "vmop_settle"));
	run_time->ring = ring_buffer__new(vmop_bpf_loaded_map_fd(loaded, "ended"),
					  vmop_run_time_take_record, run_time, NULL);
	return run_time->ring ? NULL : vmop_bpf_refused(errno, "");
}

/* ---- who subtracts ------------------------------------------------------------------------ */

/* Decide whether the kernel subtracts steal, and set the program's variable. */
static struct vmop_error *decide(struct vmop_run_time *run_time)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	const uint32_t zero = 0;
	struct vmop_run_time_state state;
	int fd = vmop_bpf_loaded_map_fd(&run_time->loaded, VMOP_RUN_TIME_STATE_SECTION);
	int look_fd = bpf_program__fd(vmop_bpf_loaded_program(&run_time->loaded, "vmop_look"));
	bool is_read =
		run_time->options.clock.static_key && bpf_prog_test_run_opts(look_fd, &opts) == 0;
	if (bpf_map_lookup_elem(fd, &zero, &state) != 0)
		return vmop_bpf_refused(errno, "");
	run_time->subtracts = vmop_kernel_subtracts();
	if (run_time->subtracts == VMOP_SUBTRACTS_UNKNOWN)
		return vmop_bpf_no_types();
	/* The key is off without the clock, and with the parameter. */
	if (is_read && state.key_count == 0)
		run_time->subtracts = VMOP_SUBTRACTS_NO;
	state.kernel_subtracts = run_time->subtracts == VMOP_SUBTRACTS_YES;
	return bpf_map_update_elem(fd, &zero, &state, BPF_ANY) == 0 ? NULL
								    : vmop_bpf_refused(errno, "");
}

enum vmop_subtracts vmop_run_time_subtracts(const struct vmop_run_time *run_time)
{
	return run_time->subtracts;
}

/* ---- start and end ------------------------------------------------------------------------ */

static struct vmop_error *attach(struct vmop_run_time *run_time)
{
	static const char *const names[] = {"vmop_switch", "vmop_fork"};
	for (size_t i = 0; i < (run_time->options.tgid ? 2 : 1); i++) {
		int status = vmop_bpf_loaded_attach(&run_time->loaded, names[i]);
		if (status < 0)
			return vmop_bpf_refused(-status, "");
	}
	vmop_run_time_settle(run_time);
	return NULL;
}

void vmop_run_time_settle(const struct vmop_run_time *run_time)
{
	vmop_bpf_run_on_cpus(run_time->settle_fd, run_time->n_cpus);
}

bool vmop_run_time_own_steal(const struct vmop_run_time *run_time, uint64_t *ret_steal_ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	uint64_t key;
	struct vmop_run_time_entry entry;
	if (bpf_prog_test_run_opts(run_time->settle_fd, &opts) != 0 ||
	    bpf_map_get_next_key(run_time->tasks_fd, NULL, &key) != 0 ||
	    bpf_map_lookup_elem(run_time->tasks_fd, &key, &entry) != 0)
		return false;
	*ret_steal_ns = entry.amounts.steal_ns;
	return true;
}

/* Create it with libbpf's messages turned off. */
static struct vmop_error *start(struct vmop_run_time *run_time)
{
	struct vmop_error *err = check_namespace(&run_time->options);
	if (err)
		return err;
	err = load(run_time);
	if (err && vmop_kernel_subtracts() == VMOP_SUBTRACTS_UNKNOWN) {
		/* Not every kernel's refusal shows it. */
		vmop_error_destroy(err);
		err = vmop_bpf_no_types();
	}
	if (!err)
		err = decide(run_time);
	if (!err)
		err = vmop_run_time_table_init(run_time);
	return err ? err : attach(run_time);
}

struct vmop_error *vmop_run_time_create(const struct vmop_run_time_options *options,
					struct vmop_run_time **ret)
{
	struct vmop_run_time *run_time = calloc(1, sizeof(*run_time));
	*ret = NULL;
	if (!run_time)
		return &vmop_error_no_memory;
	run_time->n_cpus = vmop_bpf_n_cpus();
	run_time->options = *options;
	run_time->max_tasks = options->tid ? 2 : VMOP_RUN_TIME_MAX_TASKS;
	libbpf_print_fn_t print = libbpf_set_print(print_nothing);
	struct vmop_error *err = start(run_time);
	libbpf_set_print(print);
	if (err) {
		vmop_run_time_destroy(run_time);
		return err;
	}
	*ret = run_time;
	return NULL;
}

void vmop_run_time_destroy(struct vmop_run_time *run_time)
{
	if (!run_time)
		return;
	vmop_bpf_loaded_detach(&run_time->loaded);
	ring_buffer__free(run_time->ring);
	vmop_bpf_loaded_close(&run_time->loaded);
	vmop_run_time_table_deinit(&run_time->table);
	vmop_error_destroy(run_time->err);
	free(run_time);
}
