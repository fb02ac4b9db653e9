// SPDX-License-Identifier: GPL-2.0-or-later
/* The build without libbpf, or without a compiler of BPF programs: nothing loads. */
#include <errno.h>

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/kernel-reader.h"
#include "hv-interface/bpf/program.h"

static struct vmop_error *refuse(void)
{
	return vmop_error_new(VMOP_ERROR_CANT, "vmop was built without BPF programs");
}

struct vmop_error *vmop_bpf_program_load(struct vmop_bpf_request *request,
					 struct vmop_bpf_program **ret)
{
	*ret = NULL;
	request->no_unwinding = request->wants_unwinding ? refuse() : NULL;
	request->no_guests = request->wants_guests ? refuse() : NULL;
	return NULL;
}

void vmop_bpf_program_destroy(struct vmop_bpf_program *program)
{
	(void)program;
}

int vmop_bpf_program_attach(const struct vmop_bpf_program *program, int event_fd, uint16_t event,
			    uint32_t max_frames, bool is_software)
{
	(void)program;
	(void)event_fd;
	(void)event;
	(void)max_frames;
	(void)is_software;
	errno = ENOSYS;
	return -1;
}

int vmop_bpf_program_set_output(const struct vmop_bpf_program *program, unsigned cpu, int event_fd)
{
	(void)program;
	(void)cpu;
	(void)event_fd;
	errno = ENOSYS;
	return -1;
}

struct vmop_unwind_maps *vmop_bpf_program_maps(const struct vmop_bpf_program *program)
{
	(void)program;
	return NULL;
}

struct vmop_guest_maps *vmop_bpf_program_guest_maps(const struct vmop_bpf_program *program)
{
	(void)program;
	return NULL;
}

bool vmop_unwind_maps_put_table(struct vmop_unwind_maps *maps, uint32_t table,
				const struct vmop_unwind_table *content)
{
	(void)maps;
	(void)table;
	(void)content;
	return false;
}

void vmop_unwind_maps_remove_table(struct vmop_unwind_maps *maps, uint32_t table)
{
	(void)maps;
	(void)table;
}

bool vmop_unwind_maps_put_process(struct vmop_unwind_maps *maps, uint32_t pid, uint64_t generation,
				  const struct vmop_unwind_mapping *mappings, size_t n)
{
	(void)maps;
	(void)pid;
	(void)generation;
	(void)mappings;
	(void)n;
	return false;
}

void vmop_unwind_maps_remove_process(struct vmop_unwind_maps *maps, uint32_t pid)
{
	(void)maps;
	(void)pid;
}

void vmop_unwind_maps_facts(const struct vmop_unwind_maps *maps, struct vmop_unwind_maps_facts *ret)
{
	(void)maps;
	*ret = (struct vmop_unwind_maps_facts){0};
}

bool vmop_guest_maps_put(struct vmop_guest_maps *maps, uint32_t vmm_pid,
			 const struct vmop_guest_numbers *numbers)
{
	(void)maps;
	(void)vmm_pid;
	(void)numbers;
	return false;
}

void vmop_guest_maps_remove(struct vmop_guest_maps *maps, uint32_t vmm_pid)
{
	(void)maps;
	(void)vmm_pid;
}

void vmop_guest_maps_retain(struct vmop_guest_maps *maps,
			    bool (*is_kept)(const void *arg, uint32_t vmm_pid), const void *arg)
{
	(void)maps;
	(void)is_kept;
	(void)arg;
}

void vmop_guest_maps_facts(const struct vmop_guest_maps *maps, struct vmop_guest_maps_facts *ret)
{
	(void)maps;
	*ret = (struct vmop_guest_maps_facts){.virtualisation = ""};
}

struct vmop_error *vmop_kernel_reader_create(struct vmop_kernel_reader **ret)
{
	*ret = NULL;
	return refuse();
}

void vmop_kernel_reader_destroy(struct vmop_kernel_reader *reader)
{
	(void)reader;
}

bool vmop_kernel_reader_read(const struct vmop_kernel_reader *reader, uint64_t address, void *buf)
{
	(void)reader;
	(void)address;
	(void)buf;
	return false;
}
