// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/hv-interface/bpf/record-reader.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, FRAMES = 10, MAX_RECORD = 1 << 16 };

static int open_event(struct perf_event_attr *attr, int cpu)
{
	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	if (attr->config == PERF_COUNT_SW_BPF_OUTPUT)
		attr->sample_type |= PERF_SAMPLE_RAW;
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static bool open_cpu(struct record_reader *reader, int cpu, unsigned ring_pages)
{
	struct perf_event_attr clock = {.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = reader->period_ns,
					.disabled = 1};
	struct perf_event_attr output = {.config = PERF_COUNT_SW_BPF_OUTPUT, .sample_period = 1};
	int fd = reader->event_fds[cpu] = open_event(&clock, cpu);
	int output_fd = reader->output_fds[cpu] = open_event(&output, cpu);
	if (fd < 0 || output_fd < 0)
		return false;
	reader->rings[cpu] = mmap(NULL, (size_t)(1 + ring_pages) * PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	if (reader->rings[cpu] == MAP_FAILED ||
	    ioctl(output_fd, PERF_EVENT_IOC_SET_OUTPUT, fd) < 0 ||
	    vmop_bpf_program_set_output(reader->program, (unsigned)cpu, output_fd) < 0)
		return false;
	reader->link_fds[cpu] = vmop_bpf_program_attach(reader->program, fd, READER_EVENT, 0, true);
	return reader->link_fds[cpu] >= 0 && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

bool record_reader_open(struct record_reader *reader, struct vmop_bpf_program *program,
			uint32_t period_ns, unsigned ring_pages)
{
	*reader = (struct record_reader){.program = program, .period_ns = period_ns};
	int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	while (reader->n_cpus < n && reader->n_cpus < READER_CPUS_MAX) {
		int cpu = reader->n_cpus++;
		reader->link_fds[cpu] = -1;
		if (!open_cpu(reader, cpu, ring_pages))
			return false;
	}
	return true;
}

static void copy(const struct perf_event_mmap_page *ring, uint64_t at, void *to, size_t n)
{
	const uint8_t *data = (const uint8_t *)ring + ring->data_offset;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = data[(at + i) % ring->data_size];
}

static void pass(struct record_reader *reader, int cpu, const uint8_t *bytes, reader_fn each,
		 void *arg)
{
	struct {
		struct perf_event_header header;
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time_ns;
	} head;
	uint32_t raw_bytes;
	memcpy(&head, bytes, sizeof(head));
	/* { header; u64 id; u64 lost; } */
	if (head.header.type == PERF_RECORD_LOST) {
		uint64_t lost;
		memcpy(&lost, bytes + sizeof(head.header) + sizeof(uint64_t), sizeof(lost));
		reader->n_lost += lost;
	}
	if (head.header.type != PERF_RECORD_SAMPLE)
		return;
	struct seen_record record = {.cpu = (unsigned)cpu,
				     .pid = head.pid,
				     .tid = head.tid,
				     .ip = head.ip,
				     .misc = head.header.misc,
				     .time_ns = head.time_ns};
	if (head.header.size > sizeof(head)) {
		memcpy(&raw_bytes, bytes + sizeof(head), sizeof(raw_bytes));
		record.guest = (const void *)(bytes + sizeof(head) + sizeof(raw_bytes));
		if (raw_bytes + sizeof(head) + sizeof(raw_bytes) > head.header.size ||
		    raw_bytes < sizeof(*record.guest) ||
		    raw_bytes <
			    record.guest->len_bytes + offsetof(struct vmop_bpf_guest, context)) {
			reader->n_malformed++;
			return;
		}
	}
	each(arg, &record);
}

void record_reader_drain(struct record_reader *reader, reader_fn each, void *arg)
{
	static uint8_t bytes[MAX_RECORD] __attribute__((aligned(8)));
	for (int cpu = 0; cpu < reader->n_cpus; cpu++) {
		struct perf_event_mmap_page *ring = reader->rings[cpu];
		uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
		uint64_t tail = ring->data_tail;
		while (tail < head) {
			struct perf_event_header header;
			copy(ring, tail, &header, sizeof(header));
			copy(ring, tail, bytes, header.size);
			pass(reader, cpu, bytes, each, arg);
			tail += header.size;
		}
		__atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
	}
}

void record_reader_stop(struct record_reader *reader)
{
	for (int cpu = 0; cpu < reader->n_cpus; cpu++)
		ioctl(reader->event_fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
}

void record_reader_close(struct record_reader *reader)
{
	for (int cpu = 0; cpu < reader->n_cpus; cpu++) {
		close(reader->link_fds[cpu]);
		vmop_bpf_program_set_output(reader->program, (unsigned)cpu, -1);
		close(reader->output_fds[cpu]);
		struct perf_event_mmap_page *ring = reader->rings[cpu];
		if (ring && ring != MAP_FAILED)
			munmap(ring, ring->data_offset + ring->data_size);
		close(reader->event_fds[cpu]);
	}
	reader->n_cpus = 0;
}
