// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf-guest-exit.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libutil/cleanup.h"

#define FUNCTION "kvm_arch_vcpu_ioctl_run"
#define MAX_FUNCTION_BYTES (64u << 10) /* it is about 2 KiB */

/* Static, and so once in every object file that wants it: the one nearest is the one that is called. */
#define UNMASK "arch_local_irq_enable"

struct symbols {
	uint64_t start, end; /* of FUNCTION; 0, UINT64_MAX: not known yet */
	uint64_t unmask_start, unmask_end;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* First where the functions begin, then where what follows them does: the order is not promised. */
static void take_symbol(struct symbols *them, int pass, uint64_t address, const char *name)
{
	switch (pass) {
	case 0:
		if (!strcmp(name, FUNCTION))
			them->start = address;
		break;
	case 1:
		if (!strcmp(name, UNMASK) && distance(address, them->start) <
						     distance(them->unmask_start, them->start))
			them->unmask_start = address;
		break;
	default:
		if (address > them->start && address < them->end)
			them->end = address;
		if (address > them->unmask_start && address < them->unmask_end)
			them->unmask_end = address;
	}
}

static uint64_t length(uint64_t start, uint64_t end)
{
	return end - start < MAX_FUNCTION_BYTES ? end - start : MAX_FUNCTION_BYTES;
}

struct vmop_error *vmop_perf_guest_exit_find(const char *path, struct vmop_perf_guest_exit *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	struct symbols them = {.end = UINT64_MAX, .unmask_end = UINT64_MAX};
	if (!file)
		return vmop_error_os(errno, "%s", path);
	for (int pass = 0; pass < 3; pass++) {
		rewind(file);
		while (getline(&line, &size, file) > 0) {
			uint64_t address;
			char type, name[64];
			if (sscanf(line, "%" SCNx64 " %c %63s", &address, &type, name) == 3)
				take_symbol(&them, pass, address, name);
		}
		if (!them.start)
			return vmop_error_new(VMOP_ERROR_NOT_FOUND,
					      "%s tells no address of " FUNCTION, path);
	}
	ret->start = them.start;
	ret->len_bytes = length(them.start, them.end);
	ret->unmask_start = them.unmask_start;
	ret->unmask_len_bytes =
		them.unmask_start ? length(them.unmask_start, them.unmask_end) : 0;
	return NULL;
}

#ifdef __aarch64__
static bool gives_registers(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = UINT64_C(1000000000),
		.sample_type = PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = VMOP_PERF_GUEST_EXIT_REGS,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
#endif

void vmop_perf_guest_exit_init(struct vmop_perf_guest_exit *ret)
{
	*ret = (struct vmop_perf_guest_exit){0};
#ifdef __aarch64__
	ret->has_regs = access("/dev/kvm", F_OK) == 0 && gives_registers();
	if (ret->has_regs)
		vmop_error_destroy(vmop_perf_guest_exit_find("/proc/kallsyms", ret));
#endif
}
