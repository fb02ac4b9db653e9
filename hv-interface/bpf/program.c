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

#include "hv-interface/bpf/maps.h"
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

/* Log libbpf's own messages, the verifier's log among them, line by line. */
static int log_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	(void)level;
	if (vasprintf(&text, format, args) < 0)
		return 0;
	char *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			vmop_log(VMOP_LOG_DEBUG, "BPF: %s", line);
	}
	free(text);
	return 0;
}

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

/* Find the obstacles that can be named before the program is loaded. */
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
		return vmop_error_new(VMOP_ERROR_CANT, "this kernel has no type information "
						       "(/sys/kernel/btf/vmlinux)");
	if (is_locked_down())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the kernel is locked down (confidentiality), which keeps "
				      "programs from reading registers");
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

static struct vmop_error *open_object(struct vmop_bpf_program *program)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "vmop");
	size_t len_bytes = (size_t)(vmop_bpf_object_end - vmop_bpf_object);
	program->object = bpf_object__open_mem(vmop_bpf_object, len_bytes, &opts);
	if (!program->object)
		return why_not_loaded(errno);
	struct bpf_map *outputs = bpf_object__find_map_by_name(program->object, "outputs");
	int n_cpus = libbpf_num_possible_cpus();
	if (n_cpus > 0)
		bpf_map__set_max_entries(outputs, (uint32_t)n_cpus);
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

struct vmop_error *vmop_bpf_program_load(struct vmop_bpf_request *request,
					 struct vmop_bpf_program **ret)
{
	*ret = NULL;
	libbpf_set_print(log_message);
	request->no_unwinding = request->no_guests = NULL;
	if (request->wants_guests)
		request->no_guests =
			vmop_error_new(VMOP_ERROR_CANT, "the program can't read guests yet");
	if (!request->wants_unwinding)
		return NULL;
	struct vmop_error *err = check_kernel();
	struct vmop_bpf_program *program = err ? NULL : calloc(1, sizeof(*program));
	if (!program) {
		request->no_unwinding = err;
		return err ? NULL : &vmop_error_no_memory;
	}
	err = open_object(program);
	if (!err) {
		struct vmop_unwind_maps_fds fds = {
			.processes = map_fd(program, "processes"),
			.mappings = map_fd(program, "mappings"),
			.tables = map_fd(program, "tables"),
			.outcomes = map_fd(program, "outcomes"),
		};
		program->program_fd = bpf_program__fd(
			bpf_object__find_program_by_name(program->object, "vmop_sample"));
		program->outputs_fd = map_fd(program, "outputs");
		err = vmop_unwind_maps_create(&fds, &program->maps);
	}
	if (err) {
		vmop_bpf_program_destroy(program);
		request->no_unwinding = err;
		return NULL;
	}
	log_facts(program);
	*ret = program;
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
	vmop_unwind_maps_destroy(program->maps);
	bpf_object__close(program->object);
	free(program);
}

int vmop_bpf_program_attach(const struct vmop_bpf_program *program, int event_fd, uint16_t event,
			    uint32_t max_frames)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .perf_event.bpf_cookie = event | (max_frames & VMOP_BPF_COOKIE_FRAMES_MASK)
							     << VMOP_BPF_COOKIE_FRAMES_SHIFT);
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
