// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/inspect-stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/user-stacks.h"
#include "daemon/guest/stacks/waiting-stacks.h"
#include "daemon/inspect.h"
#include "libutil/array.h"
#include "libutil/json.h"

/* A thread that waits in a system call or an exception, to look at its user stack afterwards. */
struct user_thread {
	json_t *object; /* in threads below */
	uint32_t pid;
	uint64_t pgd_gpa, task, switches;
	uint64_t regs[VMOP_USER_REGS];
};

struct stacks {
	struct vmop_guest *guest;
	json_t *threads;
	struct user_thread *users;
	size_t n_users, users_capacity;
	bool is_out_of_memory;
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
		return "a page of the stack is absent";
	case VMOP_STACK_NO_CFI:
		return "no unwind information";
	case VMOP_STACK_UNREADABLE:
		return "unreadable";
	default:
		return "torn";
	}
}

static void put_address(json_t *object, uint64_t address)
{
	char text[20];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	vmop_json_put_text(object, "address", text);
}

static json_t *frame_json(struct vmop_guest *guest, const struct vmop_stack_frame *frame)
{
	json_t *object = json_object();
	struct vmop_guest_symbol symbol = {0};
	/* A call can be the last instruction of its function. */
	uint64_t inside = frame->address - !frame->is_interrupted;
	bool is_known = vmop_guest_symbol_at(guest, inside, &symbol);
	put_address(object, frame->address);
	vmop_json_put_text(object, "symbol", is_known ? symbol.name : NULL);
	vmop_json_put_number(object, "offset", is_known ? frame->address - symbol.address : 0);
	vmop_json_put_text(object, "module", is_known ? symbol.module : NULL);
	return object;
}

static void note_user(struct stacks *stacks, const struct vmop_waiting_thread *waiting,
		      json_t *object)
{
	const struct vmop_guest_thread *thread = waiting->thread;
	if (!vmop_array_reserve(stacks->users, stacks->users_capacity, stacks->n_users + 1)) {
		stacks->is_out_of_memory = true;
		return;
	}
	struct user_thread *user = &stacks->users[stacks->n_users++];
	*user = (struct user_thread){.object = object,
				     .pid = thread->pid,
				     .pgd_gpa = thread->pgd_gpa,
				     .task = thread->task,
				     .switches = thread->switches};
	memcpy(user->regs, waiting->user_regs, sizeof(user->regs));
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
	vmop_json_put_number(object, "switches", thread->switches);
	json_object_set_new(object, "running", json_boolean(thread->is_running));
	json_object_set_new(object, "kernel_thread", json_boolean(!thread->pgd_gpa));
	vmop_json_put_account(object, &thread->account);
	for (size_t i = 0; i < waiting->unwound.n_frames; i++)
		json_array_append_new(frames, frame_json(stacks->guest, &waiting->frames[i]));
	json_object_set_new(object, "stack", frames);
	const char *end = waiting->unwound.n_frames ? end_text(waiting->unwound.end) : NULL;
	vmop_json_put_text(object, "end", thread->is_torn ? "changed while it was read" : end);
	json_object_set_new(object, "user_stack", json_array());
	json_object_set_new(object, "user_end", json_null());
	stacks->is_out_of_memory |= json_array_append_new(stacks->threads, object) != 0;
	if (waiting->has_user_regs && !stacks->is_out_of_memory)
		note_user(stacks, waiting, object);
	return !stacks->is_out_of_memory;
}

/* ---- user stacks ----------------------------------------------------------- */

static json_t *user_frame_json(struct vmop_user_stacks *users, uint32_t pid,
			       const struct vmop_stack_frame *frame)
{
	json_t *object = json_object();
	struct vmop_user_place place;
	/* After a call of a function that does not return, the next function may begin. */
	vmop_user_stacks_place(users, pid, frame->address - !frame->is_interrupted, &place);
	put_address(object, frame->address);
	vmop_json_put_text(object, "symbol", place.symbol);
	vmop_json_put_number(object, "offset",
			     place.symbol ? place.symbol_offset + !frame->is_interrupted
					  : place.offset + !frame->is_interrupted);
	vmop_json_put_text(object, "path", place.path);
	return object;
}

static void put_user_stack(struct stacks *stacks, struct vmop_user_stacks *users,
			   const struct user_thread *user)
{
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
	struct vmop_unwound unwound;
	json_t *array = json_object_get(user->object, "user_stack");
	vmop_user_stacks_unwind(users, user->pid, user->pgd_gpa, user->regs, frames,
				VMOP_STACK_FRAMES_MAX, &unwound);
	if (!vmop_guest_thread_waits(stacks->guest, user->task, user->switches)) {
		vmop_json_put_text(user->object, "user_end", "changed while it was read");
		return;
	}
	for (size_t i = 0; i < unwound.n_frames; i++)
		json_array_append_new(array, user_frame_json(users, user->pid, &frames[i]));
	vmop_json_put_text(user->object, "user_end", end_text(unwound.end));
}

static struct vmop_error *put_user_stacks(struct stacks *stacks)
{
	struct vmop_guest_snapshot *snapshot = NULL;
	struct vmop_user_stacks *users = NULL;
	struct vmop_error *err = vmop_guest_snapshot_processes(stacks->guest, 0, &snapshot);
	if (!err)
		err = vmop_user_stacks_create(stacks->guest, true, &users);
	if (!err)
		vmop_user_stacks_begin(users, snapshot, 0);
	for (size_t i = 0; !err && i < stacks->n_users; i++)
		put_user_stack(stacks, users, &stacks->users[i]);
	vmop_user_stacks_destroy(users);
	vmop_guest_snapshot_free(snapshot);
	return err;
}

struct vmop_error *vmop_inspect_put_stacks(json_t *reply, struct vmop_guest *guest)
{
	struct stacks stacks = {.guest = guest, .threads = json_array()};
	struct vmop_waiting_cost cost;
	struct vmop_error *err = vmop_waiting_stacks_each(guest, put_thread, &stacks, &cost);
	json_object_set_new(reply, "threads", stacks.threads);
	if (!err && stacks.is_out_of_memory)
		err = &vmop_error_no_memory;
	if (!err)
		err = put_user_stacks(&stacks);
	free(stacks.users);
	if (err)
		return err;
	json_t *object = json_object();
	json_object_set_new(object, "tables_cpu_s", json_real((double)cost.tables_cpu_ns / 1e9));
	json_object_set_new(object, "threads_cpu_s", json_real((double)cost.threads_cpu_ns / 1e9));
	vmop_json_put_number(object, "torn", cost.n_torn);
	json_object_set_new(reply, "stacks_cost", object);
	return NULL;
}
