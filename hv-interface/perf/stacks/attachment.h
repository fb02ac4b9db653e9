// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF program at the sampling events of one CPU (bpf/program.h), and the event by which its
 * records get into the CPU's ring: PERF_COUNT_SW_BPF_OUTPUT, redirected by
 * PERF_EVENT_IOC_SET_OUTPUT, so that they lie in time order among the other records. perf itself
 * adds address, task, time, CPU and the kernel's callchain. unwound.h and guest.h decode the rest.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_ATTACHMENT_H
#define VMOP_HV_INTERFACE_PERF_STACKS_ATTACHMENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/bpf/program.h"

struct vmop_perf_attachment {
	const struct vmop_bpf_program *program; /* NULL: closed */
	unsigned cpu;
	int output_fd;
	uint64_t output_id; /* the kernel's; 0: closed */
	int *link_fds;
	size_t n_links, links_capacity;
};

/*
 * Open the output event on a CPU, switched off, and set it as the program's. attr: the layout of
 * the samples, with the kernel's callchain if it is wanted. ring_fd: the event that owns the ring.
 * Return 0, or -1 with errno. Close with vmop_perf_attachment_close in any case.
 */
int vmop_perf_attachment_open(struct vmop_perf_attachment *attachment,
			      const struct vmop_bpf_program *program, unsigned cpu,
			      const struct perf_event_attr *attr, int ring_fd);

/* Attach the program to an event of the CPU: vmop_bpf_program_attach. Return 0, or -1 with errno.
 */
int vmop_perf_attachment_attach(struct vmop_perf_attachment *attachment, int event_fd, size_t event,
				uint32_t max_frames, bool is_software);

/*
 * Detach the program from the CPU's events, whose samples are perf's own again. The output event
 * stays open for its counts.
 */
void vmop_perf_attachment_detach(struct vmop_perf_attachment *attachment);

/* Also close the output event. A closed one, or zeroes, may be closed again. */
void vmop_perf_attachment_close(struct vmop_perf_attachment *attachment);

#endif
