// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BPF object of this folder from its bytes to its attached programs: what waits.c, run-time.c and
 * appio.c have in common. They load on a machine that permits bpf(), has type information and runs
 * a recent kernel; every obstacle is an error with one line.
 */
#ifndef VMOP_HV_INTERFACE_BPF_LOADED_H
#define VMOP_HV_INTERFACE_BPF_LOADED_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_BPF_MAX_LINKS 10

struct vmop_bpf_loaded {
	struct bpf_object *object;
	struct bpf_link *links[VMOP_BPF_MAX_LINKS];
	size_t n_links;
};

/* An object file in this program's memory, and the constants of its programs. */
struct vmop_bpf_source {
	const char *name;	 /* as bpftool(8) shows it */
	const char *begin, *end; /* [begin, end) */
	const char *section;	 /* of the settings */
	const void *settings;	 /* copied */
	size_t settings_bytes;
};

/*
 * Open the object and set its constants. The caller chooses sizes and programs before
 * bpf_object__load(). Return 0 or a negative errno. An object that was open is closed.
 */
int vmop_bpf_loaded_open(struct vmop_bpf_loaded *loaded, const struct vmop_bpf_source *source);
/* Detach all programs, and close the object. One that is zero is allowed. */
void vmop_bpf_loaded_close(struct vmop_bpf_loaded *loaded);

/* Attach a program. Return 0 or a negative errno. */
int vmop_bpf_loaded_attach(struct vmop_bpf_loaded *loaded, const char *program);
void vmop_bpf_loaded_detach(struct vmop_bpf_loaded *loaded);

/* Return a program or a map's descriptor. The name is one of the object's. */
struct bpf_program *vmop_bpf_loaded_program(const struct vmop_bpf_loaded *loaded, const char *name);
int vmop_bpf_loaded_map_fd(const struct vmop_bpf_loaded *loaded, const char *name);

/* Return the number of CPUs that the machine can have, 1 or more. */
uint32_t vmop_bpf_n_cpus(void);
/* Run a raw tracepoint's program on each CPU that is online. */
void vmop_bpf_run_on_cpus(int program_fd, uint32_t n_cpus);

/* ---- obstacles ---------------------------------------------------------------------------- */

/* Return the error for a bpf() that failed with os_errno. hint: behind the reason, or "". */
struct vmop_error *vmop_bpf_refused(int os_errno, const char *hint);

/* Check that bpf() is permitted, and that the kernel has bpf_loop (Linux 5.17). */
struct vmop_error *vmop_bpf_check_permission(const char *hint);

/* Read the running kernel's type information. Free *ret with btf__free(). */
struct vmop_error *vmop_bpf_read_types(struct btf **ret);
/* Return the error for a kernel that has none. */
struct vmop_error *vmop_bpf_no_types(void);

/*
 * Return the number of parameters of a type with that name: a BTF_KIND_FUNC, or the
 * BTF_KIND_TYPEDEF "btf_trace_NAME" of a tracepoint, whose first parameter is not an argument. 0:
 * the kernel has no such type.
 */
unsigned vmop_bpf_n_parameters(const struct btf *types, const char *name, uint32_t kind);

#endif
