// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/inspect-stacks.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/guest/waiting-stacks.h"
#include "daemon/inspect.h"
#include "libutil/json.h"

struct stacks {
	struct vmop_guest *guest;
	json_t *threads;
};

/* Return the words for the end of a stack. */
static const char *end_text(enum vmop_stack_end end)
{
	switch (end) {
	case VMOP_STACK_COMPLETE:
		return "complete";
	case VMOP_STACK_DEPTH_LIMIT:
		return "depth limit";
	case VMOP_STACK_COPY_SHORT:
		return "left the thread's stack";
	case VMOP_STACK_NO_CFI:
		return "no unwind information";
	default:
		return "torn";
	}
}

static json_t *frame_json(struct vmop_guest *guest, const struct vmop_stack_frame *frame)
{
	json_t *object = json_object();
	struct vmop_guest_symbol symbol = {0};
	char text[20];
	/* A call can be the last instruction of its function. */
	uint64_t inside = frame->address - !frame->is_interrupted;
	bool is_known = vmop_guest_symbol_at(guest, inside, &symbol);
	snprintf(text, sizeof(text), "0x%" PRIx64, frame->address);
	vmop_json_put_text(object, "address", text);
	vmop_json_put_text(object, "symbol", is_known ? symbol.name : NULL);
	vmop_json_put_number(object, "offset", is_known ? frame->address - symbol.address : 0);
	vmop_json_put_text(object, "module", is_known ? symbol.module : NULL);
	return object;
}

static bool put_thread(const struct vmop_waiting_thread *waiting, void *arg)
{
	struct stacks *stacks = arg;
	const struct vmop_guest_thread *thread = waiting->thread;
	json_t *object = json_object(), *frames = json_array();
	const char state[2] = {thread->state, '\0'};
	vmop_json_put_number(object, "pid", thread->pid);
	vmop_json_put_number(object, "tid", thread->tid);
	vmop_json_put_text(object, "comm", thread->comm);
	vmop_json_put_text(object, "state", state);
	json_object_set_new(object, "running", json_boolean(thread->is_running));
	json_object_set_new(object, "kernel_thread", json_boolean(!thread->pgd_gpa));
	for (size_t i = 0; i < waiting->unwound.n_frames; i++)
		json_array_append_new(frames, frame_json(stacks->guest, &waiting->frames[i]));
	json_object_set_new(object, "stack", frames);
	const char *end = waiting->unwound.n_frames ? end_text(waiting->unwound.end) : NULL;
	vmop_json_put_text(object, "end", thread->is_torn ? "changed while it was read" : end);
	return json_array_append_new(stacks->threads, object) == 0;
}

struct vmop_error *vmop_inspect_put_stacks(json_t *reply, struct vmop_guest *guest)
{
	struct stacks stacks = {.guest = guest, .threads = json_array()};
	struct vmop_waiting_cost cost;
	struct vmop_error *err = vmop_waiting_stacks_each(guest, put_thread, &stacks, &cost);
	json_object_set_new(reply, "threads", stacks.threads);
	if (err)
		return err;
	json_t *object = json_object();
	json_object_set_new(object, "tables_cpu_s", json_real((double)cost.tables_cpu_ns / 1e9));
	json_object_set_new(object, "threads_cpu_s", json_real((double)cost.threads_cpu_ns / 1e9));
	vmop_json_put_number(object, "torn", cost.n_torn);
	json_object_set_new(reply, "stacks_cost", object);
	return NULL;
}
