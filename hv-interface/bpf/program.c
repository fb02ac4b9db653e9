// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hv-interface/bpf/host-layout.h"
#include "hv-interface/bpf/loaded.h"
#include "hv-interface/bpf/maps.h"
#include "hv-interface/bpf/message.h"
#include "hv-interface/bpf/object.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/log.h"

/* The inode of the initial pid namespace: PROC_PID_INIT_INO in linux/proc_ns.h. */
#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc)

struct vmop_bpf_program {
	struct bpf_object *object;
	struct vmop_unwind_maps *maps;
	struct vmop_guest_maps *guest_maps;
	int program_fd, outputs_fd;
};

static bool is_in_initial_pid_namespace(void)
{
	struct stat stat_buf;
	return stat("/proc/self/ns/pid", &stat_buf) == 0 &&
	       stat_buf.st_ino == INITIAL_PID_NAMESPACE;
}

/* Return whether the kernel's lockdown keeps BPF from reading kernel memory. */
static bool is_locked_down(void)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err =
		vmop_io_read_file("/sys/kernel/security/lockdown", 256, &text, NULL);
	bool is_it = !err && strstr(text, "[confidentiality]");
	vmop_error_destroy(err);
	return is_it;
}

static struct vmop_error *why_not_permitted(int os_errno)
{
	_cleanup_free_ char *text = NULL;
	if (os_errno != EPERM && os_errno != EACCES)
		return vmop_error_new(VMOP_ERROR_CANT, "the kernel refuses bpf() (%s)",
				      strerror(os_errno));
	struct vmop_error *err =
		vmop_io_read_file("/proc/sys/kernel/unprivileged_bpf_disabled", 16, &text, NULL);
	char level = err || !text[0] ? '?' : text[0];
	vmop_error_destroy(err);
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"bpf() is not permitted (%s): it needs CAP_BPF and CAP_PERFMON, and no "
		"seccomp filter against it (sysctl kernel.unprivileged_bpf_disabled is "
		"%c)",
		strerror(os_errno), level);
}

/* Find the obstacles to any program that can be named before it is loaded. */
static struct vmop_error *check_kernel(void)
{
	if (!is_in_initial_pid_namespace())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "vmopd runs in a pid namespace of its own, and programs in "
				      "the kernel see other process ids");
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vmop_probe", 4, 4, 1, NULL);
	if (fd < 0)
		return why_not_permitted(errno);
	close(fd);
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return vmop_bpf_no_types();
	if (is_locked_down())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the kernel is locked down (confidentiality), which keeps "
				      "programs from reading registers");
	return NULL;
}

static struct vmop_error *check_unwinding(void)
{
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) != 1)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel has no bpf_loop (Linux 5.17 or later)");
	return NULL;
}

static struct vmop_error *why_not_loaded(int os_errno)
{
	if (os_errno == ENOMEM || os_errno == E2BIG)
		return vmop_error_new(VMOP_ERROR_CANT, "the kernel has no memory for it (%s)",
				      strerror(os_errno));
	if (os_errno == EPERM)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "programs on perf events are not permitted (%s): they need "
				      "CAP_BPF and CAP_PERFMON",
				      strerror(os_errno));
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"the kernel refuses the program (%s; --verbose twice logs the reason)",
		strerror(os_errno));
}

static int map_fd(const struct vmop_bpf_program *program, const char *name)
{
	return bpf_object__find_map_fd_by_name(program->object, name);
}

/* Set the constants that the verifier knows. */
static bool set_settings(const struct bpf_object *object, const struct vmop_bpf_settings *settings)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, VMOP_BPF_SETTINGS_SECTION);
	return map && bpf_map__set_initial_value(map, settings, sizeof(*settings)) == 0;
}

/* Size the maps for the machine, and to the least for a part that is not used. */
static void set_sizes(const struct bpf_object *object, const struct vmop_bpf_settings *settings)
{
	int n_cpus = libbpf_num_possible_cpus();
	uint32_t n = n_cpus > 0 ? (uint32_t)n_cpus : 1;
	static const char *const unwinding[] = {"processes", "mappings", "tables"};
	bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "outputs"), n);
	static const char *const guests[] = {"guests", "vcpu_threads"};
	if (settings->reads_guests)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, "guest_works"), n);
	for (size_t i = 0; !settings->reads_guests && i < sizeof(guests) / sizeof(*guests); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, guests[i]), 1);
	for (size_t i = 0; !settings->unwinds_host && i < sizeof(unwinding) / sizeof(*unwinding);
	     i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, unwinding[i]), 1);
}

static struct vmop_error *open_object(struct vmop_bpf_program *program,
				      const struct vmop_bpf_settings *settings)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "vmop");
	size_t len_bytes = (size_t)(vmop_bpf_object_end - vmop_bpf_object);
	program->object = bpf_object__open_mem(vmop_bpf_object, len_bytes, &opts);
	if (!program->object || !set_settings(program->object, settings))
		return why_not_loaded(program->object ? EINVAL : errno);
	set_sizes(program->object, settings);
	int status = bpf_object__load(program->object);
	return status < 0 ? why_not_loaded(-status) : NULL;
}

/* Log the verifier's work: how close the program is to the kernel's limit. */
static void log_facts(const struct vmop_bpf_program *program)
{
	struct bpf_prog_info info = {0};
	uint32_t len = sizeof(info);
	if (bpf_obj_get_info_by_fd(program->program_fd, &info, &len) == 0)
		vmop_log(VMOP_LOG_DEBUG,
			 "BPF: %u instructions verified of at most 1000000, %u bytes of code",
			 info.verified_insns, info.jited_prog_len);
}

static struct vmop_error *create_maps(struct vmop_bpf_program *program,
				      const struct vmop_bpf_settings *settings)
{
	const struct vmop_unwind_maps_fds fds = {
		.processes = map_fd(program, "processes"),
		.mappings = map_fd(program, "mappings"),
		.tables = map_fd(program, "tables"),
		.outcomes = map_fd(program, "outcomes"),
	};
	const struct vmop_guest_maps_fds guest_fds = {
		.guests = map_fd(program, "guests"),
		.counts = map_fd(program, "guest_counts"),
		.vmm_filter = map_fd(program, "vmm_filter"),
	};
	struct vmop_error *err = NULL;
	if (settings->unwinds_host)
		err = vmop_unwind_maps_create(&fds, &program->maps);
	if (!err && settings->reads_guests)
		err = vmop_guest_maps_create(&guest_fds,
					     vmop_host_layout_name(settings->host.virtualisation),
					     &program->guest_maps);
	return err;
}

/* Load the program with exactly these parts. */
static struct vmop_error *load(const struct vmop_bpf_settings *settings,
			       struct vmop_bpf_program **ret)
{
	struct vmop_bpf_program *program = calloc(1, sizeof(*program));
	*ret = NULL;
	if (!program)
		return &vmop_error_no_memory;
	struct vmop_error *err = open_object(program, settings);
	if (!err) {
		program->program_fd = bpf_program__fd(
			bpf_object__find_program_by_name(program->object, "vmop_sample"));
		program->outputs_fd = map_fd(program, "outputs");
		err = create_maps(program, settings);
	}
	if (err) {
		vmop_bpf_program_destroy(program);
		return err;
	}
	log_facts(program);
	*ret = program;
	return NULL;
}

/* Load only one part, if it is among the settings. *refusal gets the reason. */
static void load_part(const struct vmop_bpf_settings *settings, bool is_unwinding,
		      struct vmop_error **refusal, struct vmop_bpf_program **ret)
{
	struct vmop_bpf_settings one = *settings;
	one.unwinds_host = is_unwinding;
	one.reads_guests = !is_unwinding;
	*refusal = load(&one, ret);
}

/* Load as many parts as the kernel accepts. It may refuse both together, and accept one. */
static void load_parts(const struct vmop_bpf_settings *settings, struct vmop_bpf_request *request,
		       struct vmop_bpf_program **ret)
{
	if (!settings->unwinds_host && !settings->reads_guests)
		return;
	struct vmop_error *err = load(settings, ret);
	if (!err)
		return;
	if (!settings->reads_guests) {
		request->no_unwinding = err;
	} else if (!settings->unwinds_host) {
		request->no_guests = err;
	} else {
		load_part(settings, true, &request->no_unwinding, ret);
		if (!*ret)
			load_part(settings, false, &request->no_guests, ret);
		else
			request->no_guests = vmop_error_new(err->code, "%s", err->message);
		vmop_error_destroy(err);
	}
}

struct vmop_error *vmop_bpf_program_load(struct vmop_bpf_request *request,
					 struct vmop_bpf_program **ret)
{
	struct vmop_bpf_settings settings = {0};
	*ret = NULL;
	libbpf_set_print(vmop_bpf_log_message);
	request->no_unwinding = request->no_guests = NULL;
	if (request->wants_unwinding)
		request->no_unwinding = check_kernel();
	if (request->wants_unwinding && !request->no_unwinding)
		request->no_unwinding = check_unwinding();
	if (request->wants_guests)
		request->no_guests = check_kernel();
	if (request->wants_guests && !request->no_guests)
		request->no_guests = vmop_host_layout_find(&settings.host);
	settings.withholds_registers = request->withholds_registers;
	settings.unwinds_host = request->wants_unwinding && !request->no_unwinding;
	settings.reads_guests = request->wants_guests && !request->no_guests;
	load_parts(&settings, request, ret);
	return NULL;
}

/* Log what the program did with the samples: the reasons for copies are nowhere else. */
static void log_outcomes(const struct vmop_bpf_program *program)
{
	static const char *const words[VMOP_BPF_N_OUTCOMES] = {
		[VMOP_BPF_UNWOUND] = "unwound",
		[VMOP_BPF_NO_PROCESS] = "process not in the map",
		[VMOP_BPF_NO_REGISTERS] = "no registers",
		[VMOP_BPF_NO_TABLE] = "no table",
		[VMOP_BPF_NO_RULE_HERE] = "no rule",
		[VMOP_BPF_NO_MEMORY] = "not in memory",
		[VMOP_BPF_NO_CODE] = "not in code",
		[VMOP_BPF_NO_PROGRESS] = "no progress",
		[VMOP_BPF_CHANGED] = "changed meanwhile",
		[VMOP_BPF_NOT_WRITTEN] = "not written",
		[VMOP_BPF_RING_FULL] = "no room in the ring",
	};
	uint64_t outcomes[VMOP_BPF_N_OUTCOMES];
	vmop_unwind_maps_outcomes(program->maps, outcomes);
	for (size_t i = 0; i < VMOP_BPF_N_OUTCOMES; i++) {
		if (outcomes[i])
			vmop_log(VMOP_LOG_DEBUG, "BPF: %" PRIu64 " samples: %s", outcomes[i],
				 words[i]);
	}
}

void vmop_bpf_program_destroy(struct vmop_bpf_program *program)
{
	if (!program)
		return;
	if (program->maps)
		log_outcomes(program);
	vmop_guest_maps_destroy(program->guest_maps);
	vmop_unwind_maps_destroy(program->maps);
	bpf_object__close(program->object);
	free(program);
}

int vmop_bpf_program_attach(const struct vmop_bpf_program *program, int event_fd, uint16_t event,
			    uint32_t max_frames, bool is_software)
{
	uint64_t frames = max_frames & VMOP_BPF_COOKIE_FRAMES_MASK;
	uint64_t flags = is_software ? VMOP_BPF_COOKIE_IS_SOFTWARE : 0;
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .perf_event.bpf_cookie =
			    event | frames << VMOP_BPF_COOKIE_FRAMES_SHIFT | flags);
	int fd = bpf_link_create(program->program_fd, event_fd, BPF_PERF_EVENT, &opts);
	return fd < 0 ? -1 : fd;
}

int vmop_bpf_program_set_output(const struct vmop_bpf_program *program, unsigned cpu, int event_fd)
{
	uint32_t key = cpu;
	int status = event_fd < 0 ? bpf_map_delete_elem(program->outputs_fd, &key)
				  : bpf_map_update_elem(program->outputs_fd, &key, &event_fd, 0);
	return status < 0 ? -1 : 0;
}

struct vmop_unwind_maps *vmop_bpf_program_maps(const struct vmop_bpf_program *program)
{
	return program->maps;
}

struct vmop_guest_maps *vmop_bpf_program_guest_maps(const struct vmop_bpf_program *program)
{
	return program->guest_maps;
}
