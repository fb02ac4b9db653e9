// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CPUS = 256, RING_BYTES = 8 << 20, MAX_BYTES = 1 << 30, DRAIN_US = 10000 };

/* perf's register numbers (asm/perf_regs.h): the mask, and which sampled one is DWARF's i-th. */
#if defined(__x86_64__)
#define REGS_MASK 0xff01ffULL
static const uint8_t sampled_reg[] = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8};
#else
#define REGS_MASK 0x1ffffffffULL
static const uint8_t sampled_reg[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				      22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif
enum { N_REGS = sizeof(sampled_reg) };

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

struct sampler {
	struct ring rings[MAX_CPUS];
	size_t n_rings, size_bytes, used_bytes;
	uint8_t *bytes; /* records, one after the other */
};

static bool open_ring(struct sampler *sampler, pid_t pid, int cpu, unsigned hz, size_t stack_bytes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = REGS_MASK,
		.sample_stack_user = (uint32_t)stack_bytes,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.mmap = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.exclude_guest = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct ring *ring = &sampler->rings[sampler->n_rings];
	ring->fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return false;
	ring->page = mmap(NULL, RING_BYTES + (size_t)getpagesize(), PROT_READ | PROT_WRITE,
			  MAP_SHARED, ring->fd, 0);
	if (ring->page == MAP_FAILED) {
		close(ring->fd);
		return false;
	}
	sampler->n_rings++;
	return true;
}

static void keep(struct sampler *sampler, const void *bytes, size_t len_bytes)
{
	if (sampler->used_bytes + len_bytes > sampler->size_bytes) {
		sampler->size_bytes = 2 * sampler->size_bytes + len_bytes;
		sampler->bytes = realloc(sampler->bytes, sampler->size_bytes);
		if (!sampler->bytes)
			abort();
	}
	if (len_bytes) /* bytes may be NULL */
		memcpy(sampler->bytes + sampler->used_bytes, bytes, len_bytes);
	sampler->used_bytes += len_bytes;
}

static void drain(struct sampler *sampler, struct ring *ring)
{
	const uint8_t *data = (const uint8_t *)ring->page + getpagesize();
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail, at = tail % RING_BYTES, n = head - tail;
	if (sampler->used_bytes + n <= MAX_BYTES) {
		uint64_t first = n < RING_BYTES - at ? n : RING_BYTES - at;
		keep(sampler, data + at, first);
		keep(sampler, data, n - first);
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static pid_t start(char *const argv[], int description, int go)
{
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	char byte;
	int null = open("/dev/null", O_RDWR);
	setpgid(0, 0);
	if (description >= 0)
		dup2(description, 3);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	if (read(go, &byte, 1) == 1)
		execvp(argv[0], argv);
	_exit(127);
}

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void watch(struct sampler *sampler, pid_t pid, double seconds)
{
	double until_s = now_s() + seconds;
	bool ended = false;
	while (!ended && now_s() < until_s) {
		usleep(DRAIN_US);
		ended = waitpid(pid, NULL, WNOHANG) == pid;
		for (size_t i = 0; i < sampler->n_rings; i++)
			drain(sampler, &sampler->rings[i]);
	}
	kill(-pid, SIGKILL);
	if (!ended)
		waitpid(pid, NULL, 0);
	for (size_t i = 0; i < sampler->n_rings; i++) {
		ioctl(sampler->rings[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		drain(sampler, &sampler->rings[i]);
	}
}

/* Decode a sample's body: pid and tid, time, registers, stack. */
static bool decode_stack(const uint64_t *body, size_t asked_bytes, struct sampled *ret)
{
	ret->kind = SAMPLED_STACK;
	ret->pid = (uint32_t)body[0];
	ret->time_ns = body[1];
	uint64_t abi = body[2];
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	const uint64_t *regs = body + 3, *size = regs + N_REGS;
	for (size_t i = 0; i < N_REGS; i++)
		ret->regs[i] = regs[sampled_reg[i]];
	ret->is_compat = abi == PERF_SAMPLE_REGS_ABI_32;
	ret->stack = (const uint8_t *)(size + 1);
	ret->stack_bytes = *size ? *(const uint64_t *)(ret->stack + *size) : 0;
	/* The kernel asks for less where a record would be too large. */
	ret->asked_bytes = *size < asked_bytes && *size ? *size : asked_bytes;
	return true;
}

static bool decode(const struct perf_event_header *header, size_t asked_bytes, struct sampled *ret)
{
	const uint64_t *body = (const uint64_t *)(header + 1);
	const uint64_t *end = (const uint64_t *)((const uint8_t *)header + header->size);
	*ret = (struct sampled){.pid = (uint32_t)body[0], .time_ns = end[-1]};
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return decode_stack(body, asked_bytes, ret);
	case PERF_RECORD_MMAP:
		ret->kind = SAMPLED_MMAP;
		ret->start = body[1];
		ret->len_bytes = body[2];
		ret->offset = body[3];
		ret->path = (const char *)&body[4];
		return true;
	case PERF_RECORD_COMM:
		ret->kind = SAMPLED_EXEC;
		return header->misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_FORK:
		ret->kind = SAMPLED_FORK;
		ret->parent = (uint32_t)(body[0] >> 32);
		return ret->pid != ret->parent; /* else a thread */
	default:
		return false;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct sampled *x = a, *y = b;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void decode_all(struct sampler *sampler, size_t asked_bytes, struct recording *ret)
{
	size_t size = 0;
	*ret = (struct recording){.memory = sampler->bytes};
	for (size_t at = 0; at < sampler->used_bytes;) {
		const struct perf_event_header *header = (const void *)(sampler->bytes + at);
		at += header->size;
		if (header->type == PERF_RECORD_LOST)
			ret->n_lost += ((const uint64_t *)(header + 1))[1];
		if (ret->n_records == size) {
			size = size ? 2 * size : 1024;
			ret->records = realloc(ret->records, size * sizeof(*ret->records));
			if (!ret->records)
				abort();
		}
		ret->n_records += decode(header, asked_bytes, &ret->records[ret->n_records]);
	}
	if (ret->n_records)
		qsort(ret->records, ret->n_records, sizeof(*ret->records), by_time);
}

const char *sampler_run(char *const argv[], int description, unsigned hz, size_t stack_bytes,
			double seconds, struct recording *ret)
{
	struct sampler sampler = {0};
	const char *reason = NULL;
	int go[2];
	*ret = (struct recording){0};
	if (pipe2(go, O_CLOEXEC))
		return "no pipe";
	pid_t pid = start(argv, description, go[0]);
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (int cpu = 0; cpu < n_cpus && cpu < MAX_CPUS; cpu++) {
		if (!open_ring(&sampler, pid, cpu, hz, stack_bytes) && errno != ENODEV)
			reason = "perf_event_open(2) is not permitted, or can't copy user stacks";
	}
	if (!reason && write(go[1], "", 1) != 1)
		reason = "no pipe";
	close(go[0]);
	close(go[1]);
	watch(&sampler, pid, reason ? 0 : seconds);
	for (size_t i = 0; i < sampler.n_rings; i++) {
		munmap(sampler.rings[i].page, RING_BYTES + (size_t)getpagesize());
		close(sampler.rings[i].fd);
	}
	decode_all(&sampler, stack_bytes, ret);
	return reason;
}

void recording_free(struct recording *recording)
{
	free(recording->records);
	free(recording->memory);
}
