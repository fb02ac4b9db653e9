// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/unwinding.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hv-interface/perf/open.h"
#include "libutil/array.h"

int vmop_perf_unwinding_open(struct vmop_perf_unwinding *unwinding,
			     const struct vmop_bpf_program *program, unsigned cpu,
			     const struct perf_event_attr *attr, int ring_fd)
{
	struct perf_event_attr output = *attr;
	output.type = PERF_TYPE_SOFTWARE;
	output.config = PERF_COUNT_SW_BPF_OUTPUT;
	output.sample_type |= PERF_SAMPLE_RAW;
	output.sample_period = 1; /* every record is a sample */
	*unwinding = (struct vmop_perf_unwinding){.cpu = cpu};
	int fd = vmop_perf_open(&output, cpu, -1);
	if (fd < 0)
		return -1;
	unwinding->program = program;
	unwinding->output_fd = fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &unwinding->output_id) < 0)
		return -1;
	return vmop_bpf_program_set_output(program, cpu, fd);
}

int vmop_perf_unwinding_attach(struct vmop_perf_unwinding *unwinding, int event_fd, size_t event,
			       uint32_t max_frames)
{
	if (event > VMOP_BPF_COOKIE_EVENT_MASK) {
		errno = E2BIG;
		return -1;
	}
	if (!vmop_array_reserve(unwinding->link_fds, unwinding->links_capacity,
				unwinding->n_links + 1)) {
		errno = ENOMEM;
		return -1;
	}
	int fd;
	do {
		fd = vmop_bpf_program_attach(unwinding->program, event_fd, (uint16_t)event,
					     max_frames);
	} while (fd < 0 && errno == EMFILE && vmop_perf_raise_file_limit());
	if (fd < 0)
		return -1;
	unwinding->link_fds[unwinding->n_links++] = fd;
	return 0;
}

void vmop_perf_unwinding_detach(struct vmop_perf_unwinding *unwinding)
{
	if (!unwinding->program)
		return;
	while (unwinding->n_links > 0)
		close(unwinding->link_fds[--unwinding->n_links]);
	vmop_bpf_program_set_output(unwinding->program, unwinding->cpu, -1);
	unwinding->program = NULL;
}

void vmop_perf_unwinding_close(struct vmop_perf_unwinding *unwinding)
{
	bool is_open = unwinding->program || unwinding->output_id;
	vmop_perf_unwinding_detach(unwinding);
	if (is_open)
		close(unwinding->output_fd);
	free(unwinding->link_fds);
	*unwinding = (struct vmop_perf_unwinding){0};
}
