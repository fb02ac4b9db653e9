// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/loaded.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

int vmop_bpf_loaded_open(struct vmop_bpf_loaded *loaded, const struct vmop_bpf_source *source)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = source->name);
	vmop_bpf_loaded_close(loaded);
	loaded->object =
		bpf_object__open_mem(source->begin, (size_t)(source->end - source->begin), &opts);
	if (!loaded->object)
		return -errno;
	struct bpf_map *map = bpf_object__find_map_by_name(loaded->object, source->section);
	if (!map || bpf_map__set_initial_value(map, source->settings, source->settings_bytes) != 0)
		return -EINVAL;
	return 0;
}

void vmop_bpf_loaded_close(struct vmop_bpf_loaded *loaded)
{
	vmop_bpf_loaded_detach(loaded);
	bpf_object__close(loaded->object);
	loaded->object = NULL;
}

int vmop_bpf_loaded_attach(struct vmop_bpf_loaded *loaded, const char *program)
{
	if (loaded->n_links == VMOP_BPF_MAX_LINKS)
		return -ENOSPC;
	struct bpf_link *link = bpf_program__attach(vmop_bpf_loaded_program(loaded, program));
	if (!link)
		return -errno;
	loaded->links[loaded->n_links++] = link;
	return 0;
}

void vmop_bpf_loaded_detach(struct vmop_bpf_loaded *loaded)
{
	while (loaded->n_links)
		bpf_link__destroy(loaded->links[--loaded->n_links]);
}

struct bpf_program *vmop_bpf_loaded_program(const struct vmop_bpf_loaded *loaded, const char *name)
{
	return bpf_object__find_program_by_name(loaded->object, name);
}

int vmop_bpf_loaded_map_fd(const struct vmop_bpf_loaded *loaded, const char *name)
{
	return bpf_object__find_map_fd_by_name(loaded->object, name);
}

uint32_t vmop_bpf_n_cpus(void)
{
	int n = libbpf_num_possible_cpus();
	return n > 0 ? (uint32_t)n : 1;
}

void vmop_bpf_run_on_cpus(int program_fd, uint32_t n_cpus)
{
	/* The kernel refuses CPUs that are offline: they run nothing. */
	for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .cpu = cpu, .flags = BPF_F_TEST_RUN_ON_CPU);
		bpf_prog_test_run_opts(program_fd, &opts);
	}
}

/* ---- obstacles ---------------------------------------------------------------------------- */

struct vmop_error *vmop_bpf_refused(int os_errno, const char *hint)
{
	if (os_errno == EPERM || os_errno == EACCES)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "bpf() is not permitted (%s): it needs CAP_BPF and "
				      "CAP_PERFMON, and no seccomp filter against it",
				      strerror(os_errno));
	return vmop_error_new(VMOP_ERROR_CANT, "the kernel refuses the BPF program (%s%s)",
			      strerror(os_errno), hint);
}

struct vmop_error *vmop_bpf_check_permission(const char *hint)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "vmop_probe", 4, 4, 1, NULL);
	if (fd < 0)
		return vmop_bpf_refused(errno, hint);
	close(fd);
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_TRACING, BPF_FUNC_loop, NULL) == 0)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this kernel has no bpf_loop (Linux 5.17 or later)");
	return NULL;
}

struct vmop_error *vmop_bpf_read_types(struct btf **ret)
{
	*ret = btf__load_vmlinux_btf();
	return *ret ? NULL : vmop_bpf_no_types();
}

struct vmop_error *vmop_bpf_no_types(void)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "this kernel has no type information (/sys/kernel/btf/vmlinux)");
}

unsigned vmop_bpf_n_parameters(const struct btf *types, const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(types, name, kind);
	const struct btf_type *type = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;
	while (type && (btf_is_typedef(type) || btf_is_ptr(type) || btf_is_func(type)))
		type = btf__type_by_id(types, type->type);
	return type && btf_is_func_proto(type) ? btf_vlen(type) : 0;
}
