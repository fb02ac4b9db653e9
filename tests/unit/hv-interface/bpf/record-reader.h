// SPDX-License-Identifier: GPL-2.0-or-later
/* The program on clock events of every CPU, and its records as they are in the rings. */
#ifndef VMOP_TESTS_UNIT_HV_INTERFACE_BPF_RECORD_READER_H
#define VMOP_TESTS_UNIT_HV_INTERFACE_BPF_RECORD_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/bpf/program.h"

#define READER_CPUS_MAX 256
#define READER_EVENT 7 /* the events' number in the records */

struct record_reader {
	struct vmop_bpf_program *program;
	uint32_t period_ns;
	int n_cpus;
	int event_fds[READER_CPUS_MAX], output_fds[READER_CPUS_MAX], link_fds[READER_CPUS_MAX];
	struct perf_event_mmap_page *rings[READER_CPUS_MAX];
	uint64_t n_lost;
	uint64_t n_malformed; /* records of the program whose lengths contradict each other */
};

/* A record: perf's own sample has no guest. */
struct seen_record {
	unsigned cpu;
	uint32_t pid, tid;
	uint64_t ip;			    /* perf's own sample */
	uint16_t misc;			    /* perf's own sample: PERF_RECORD_MISC_* */
	const struct vmop_bpf_guest *guest; /* NULL: perf's own sample */
	uint64_t time_ns;
};

typedef void (*reader_fn)(void *arg, const struct seen_record *record);

/*
 * Attach the program to new events, which take samples at once. Ring: pages of 4 KiB. False: the
 * kernel refused it; close the reader all the same.
 */
bool record_reader_open(struct record_reader *reader, struct vmop_bpf_program *program,
			uint32_t period_ns, unsigned ring_pages);
/* Pass each record that is in the rings. */
void record_reader_drain(struct record_reader *reader, reader_fn each, void *arg);
void record_reader_stop(struct record_reader *reader); /* no further samples */
void record_reader_close(struct record_reader *reader);

#endif
