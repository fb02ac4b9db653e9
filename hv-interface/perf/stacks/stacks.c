// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hv-interface/perf/stacks/capture.h"
#include "hv-interface/perf/stacks/deferred.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/io.h"
#include "libutil/parse.h"

enum {
	USUAL_STACK_BYTES = 250,    /* a callchain, and the registers with CFI */
	UNWOUND_STACK_BYTES = 1024, /* both parts of a deep stack */
};

void vmop_perf_stacks_deinit(struct vmop_perf_stacks *stacks)
{
	free(stacks->note);
	*stacks = (struct vmop_perf_stacks){0};
}

struct vmop_error *vmop_perf_stacks_add_note(struct vmop_perf_stacks *stacks, const char *more)
{
	const char *before = stacks->note ? stacks->note : "";
	char *note;
	if (asprintf(&note, "%s%s%s", before, *before ? "; " : "", more) < 0)
		return &vmop_error_no_memory;
	free(stacks->note);
	stacks->note = note;
	return NULL;
}

static struct vmop_error *add_note(struct vmop_perf_stacks *stacks, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static struct vmop_error *add_note(struct vmop_perf_stacks *stacks, const char *format, ...)
{
	va_list args;
	_cleanup_free_ char *text = NULL;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		return &vmop_error_no_memory;
	}
	return vmop_perf_stacks_add_note(stacks, text);
}

uint64_t vmop_perf_stacks_sample_type(const struct vmop_stack_options *stacks)
{
	switch (stacks->mode) {
	case VMOP_STACKS_OFF:
		return 0;
	case VMOP_STACKS_KERNEL:
	case VMOP_STACKS_FP:
	case VMOP_STACKS_DEFER:
		return PERF_SAMPLE_CALLCHAIN;
	default:
		return VMOP_PERF_SAMPLE_STACKS;
	}
}

uint32_t vmop_perf_stacks_bytes(const struct vmop_stack_options *stacks)
{
	uint64_t sample_type = vmop_perf_stacks_sample_type(stacks);
	if (!sample_type)
		return 0;
	bool has_copy = sample_type & PERF_SAMPLE_STACK_USER;
	return USUAL_STACK_BYTES + (has_copy ? stacks->user_stack_bytes : 0);
}

uint32_t vmop_perf_stacks_bytes_by_bpf(const struct vmop_stack_options *stacks)
{
	return UNWOUND_STACK_BYTES + stacks->user_stack_bytes / 4;
}

uint64_t vmop_perf_stacks_output_type(const struct vmop_stack_options *stacks)
{
	return stacks->mode == VMOP_STACKS_BPF ? PERF_SAMPLE_CALLCHAIN : 0;
}

void vmop_perf_stacks_set_output_attr(const struct vmop_perf_stacks *stacks,
				      struct perf_event_attr *attr)
{
	if (!vmop_perf_stacks_output_type(&stacks->is))
		return;
	attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	attr->sample_max_stack = (uint16_t)stacks->chain_frames;
	attr->exclude_callchain_user = 1;
}

void vmop_perf_stacks_set_attr(const struct vmop_perf_stacks *stacks, struct perf_event_attr *attr)
{
	uint64_t sample_type = vmop_perf_stacks_sample_type(&stacks->is);
	if (!sample_type)
		return;
	attr->sample_type |= sample_type;
	attr->sample_max_stack = (uint16_t)stacks->chain_frames;
	attr->exclude_callchain_user =
		stacks->is.mode != VMOP_STACKS_FP && stacks->is.mode != VMOP_STACKS_DEFER;
	if (stacks->is.mode == VMOP_STACKS_DEFER)
		vmop_perf_deferred_ask(attr);
	if (sample_type & PERF_SAMPLE_REGS_USER)
		attr->sample_regs_user = VMOP_PERF_USER_REGS;
	if (sample_type & PERF_SAMPLE_STACK_USER)
		attr->sample_stack_user = stacks->is.user_stack_bytes;
}

/* Return 0 if the kernel accepts the attributes in an event of this process, else the errno. */
static int try(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->size = sizeof(*attr);
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->sample_period = VMOP_NS_PER_S;
	attr->disabled = 1;
	int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_stacks(const struct vmop_perf_stacks *stacks)
{
	struct perf_event_attr attr = {0};
	if (vmop_perf_stacks_sample_type(&stacks->is) & PERF_SAMPLE_REGS_USER &&
	    !VMOP_PERF_USER_REGS)
		return EOPNOTSUPP;
	vmop_perf_stacks_set_attr(stacks, &attr);
	return try(&attr);
}

struct vmop_error *vmop_perf_stacks_leave_bpf(struct vmop_perf_stacks *stacks, const char *reason)
{
	stacks->is.mode = VMOP_STACKS_CFI;
	return add_note(stacks, "not by BPF, because %s", reason);
}

bool vmop_perf_stacks_prefers_bpf(const struct vmop_stack_options *request, uint64_t stack_hz)
{
	return request->mode == VMOP_STACKS_CFI && request->may_use_bpf &&
	       stack_hz > VMOP_PERF_STACKS_COPIED_PER_S / request->user_stack_bytes;
}

/* Replace a mode for which the machine lacks what it needs. */
static struct vmop_error *prepare(struct vmop_perf_stacks *stacks, const char *no_bpf)
{
	if (stacks->is.mode == VMOP_STACKS_BPF)
		return no_bpf ? vmop_perf_stacks_leave_bpf(stacks, no_bpf) : NULL;
	if (stacks->is.mode != VMOP_STACKS_DEFER || try_stacks(stacks) != EINVAL)
		return NULL;
	stacks->is.mode = VMOP_STACKS_CFI;
	return vmop_perf_stacks_add_note(
		stacks,
		"not deferred, because this kernel can't (perf_event_attr.defer_callchain)");
}

/* Take the next lower mode and note why. */
static struct vmop_error *step_down(struct vmop_perf_stacks *stacks, int os_errno)
{
	static const char *const words[] = {
		[VMOP_STACKS_CFI] = "not by CFI, because this kernel does not copy user registers "
				    "and stacks",
		[VMOP_STACKS_FP] =
			"not by frame pointers, because this kernel does not unwind user "
			"stacks",
		[VMOP_STACKS_KERNEL] = "not of the kernel, because it gives no callchains",
	};
	if (stacks->is.mode == VMOP_STACKS_BPF)
		return vmop_perf_stacks_leave_bpf(stacks, "this kernel does not copy the stacks "
							  "that BPF leaves out");
	if (stacks->is.mode == VMOP_STACKS_DEFER)
		stacks->is.mode = VMOP_STACKS_FP;
	const char *text = words[stacks->is.mode];
	stacks->is.mode--;
	return add_note(stacks, "%s (%s)", text, strerror(os_errno));
}

/* Lower the depth to sysctl kernel.perf_event_max_stack, above which the kernel refuses it. */
static struct vmop_error *limit_depth(struct vmop_perf_stacks *stacks, const char *root)
{
	char path[256];
	_cleanup_free_ char *text = NULL;
	uint64_t most;
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/perf_event_max_stack", root ? root : "");
	struct vmop_error *err = vmop_io_read_file(path, 64, &text, NULL);
	if (err) {
		vmop_error_destroy(err); /* before Linux 4.8: 127 */
		return NULL;
	}
	text[strcspn(text, "\n")] = '\0';
	if (!vmop_parse_u64(text, 10, &most) || most >= stacks->is.max_frames)
		return NULL;
	/* With 0 the kernel refuses every callchain: the next step notes it. */
	stacks->chain_frames = most ? (uint32_t)most : 1;
	return add_note(stacks,
			"at most %" PRIu64 " frames by the kernel instead of %" PRIu32
			": sysctl kernel.perf_event_max_stack",
			most, stacks->is.max_frames);
}

static bool is_refusal(int os_errno)
{
	return os_errno == EINVAL || os_errno == EOPNOTSUPP || os_errno == E2BIG ||
	       os_errno == EOVERFLOW;
}

struct vmop_error *vmop_perf_stacks_choose(const struct vmop_stack_options *request,
					   const char *no_bpf, const char *root,
					   struct vmop_perf_stacks *ret)
{
	*ret = (struct vmop_perf_stacks){.is = *request, .chain_frames = request->max_frames};
	if (request->mode == VMOP_STACKS_OFF)
		return NULL;
	struct vmop_error *err = prepare(ret, no_bpf);
	if (!err)
		err = limit_depth(ret, root);
	while (!err && ret->is.mode != VMOP_STACKS_OFF) {
		int os_errno = try_stacks(ret);
		/* Another obstacle, such as permission, is reported when the events are opened. */
		if (!is_refusal(os_errno))
			break;
		err = step_down(ret, os_errno);
	}
	if (ret->is.mode != VMOP_STACKS_CFI && ret->is.mode != VMOP_STACKS_BPF)
		ret->is.max_frames = ret->chain_frames;
	return err;
}
