// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/attachment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hv-interface/perf/open.h"
#include "libutil/array.h"

int vmop_perf_attachment_open(struct vmop_perf_attachment *attachment,
			      const struct vmop_bpf_program *program, unsigned cpu,
			      const struct perf_event_attr *attr, int ring_fd)
{
	struct perf_event_attr output = *attr;
	output.type = PERF_TYPE_SOFTWARE;
	output.config = PERF_COUNT_SW_BPF_OUTPUT;
	output.sample_type |= PERF_SAMPLE_RAW;
	output.sample_period = 1; /* every record is a sample */
	*attachment = (struct vmop_perf_attachment){.cpu = cpu};
	int fd = vmop_perf_open(&output, cpu, -1);
	if (fd < 0)
		return -1;
	attachment->program = program;
	attachment->output_fd = fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &attachment->output_id) < 0)
		return -1;
	return vmop_bpf_program_set_output(program, cpu, fd);
}

int vmop_perf_attachment_attach(struct vmop_perf_attachment *attachment, int event_fd, size_t event,
				uint32_t max_frames, bool is_software)
{
	if (event > VMOP_BPF_COOKIE_EVENT_MASK) {
		errno = E2BIG;
		return -1;
	}
	if (!vmop_array_reserve(attachment->link_fds, attachment->links_capacity,
				attachment->n_links + 1)) {
		errno = ENOMEM;
		return -1;
	}
	int fd;
	do {
		fd = vmop_bpf_program_attach(attachment->program, event_fd, (uint16_t)event,
					     max_frames, is_software);
	} while (fd < 0 && errno == EMFILE && vmop_perf_raise_file_limit());
	if (fd < 0)
		return -1;
	attachment->link_fds[attachment->n_links++] = fd;
	return 0;
}

void vmop_perf_attachment_detach(struct vmop_perf_attachment *attachment)
{
	if (!attachment->program)
		return;
	while (attachment->n_links > 0)
		close(attachment->link_fds[--attachment->n_links]);
	vmop_bpf_program_set_output(attachment->program, attachment->cpu, -1);
	attachment->program = NULL;
}

void vmop_perf_attachment_close(struct vmop_perf_attachment *attachment)
{
	bool is_open = attachment->program || attachment->output_id;
	vmop_perf_attachment_detach(attachment);
	if (is_open)
		close(attachment->output_fd);
	free(attachment->link_fds);
	*attachment = (struct vmop_perf_attachment){0};
}
