// SPDX-License-Identifier: GPL-2.0-or-later
/* The blocked threads of guests, from the watching thread's batches to tasks, images and callers.
 */
#include "daemon/guest/guests.h"
#include "daemon/guest/images.h"
#include "daemon/guest/watched.h"

/* Return the process of a blocked thread, from the newest list that has it, or NULL. */
static const struct vmop_guest_process *process_of(const struct vmop_guest_view *view,
						   const struct vmop_blocked_thread *thread)
{
	const struct vmop_guest_reading reading = {.pid = thread->pid,
						   .is_kernel_thread = !thread->pgd_gpa,
						   .pgd_gpa = thread->pgd_gpa};
	const struct vmop_guest_process *process =
		view ? vmop_guest_tasks_find(view->tasks, &reading) : NULL;
	if (process || !view)
		return process;
	return vmop_guest_tasks_find(view->tasks_before, &reading);
}

static struct vmop_stack_caller locate_kernel(struct vmop_domain *domain, uint64_t address)
{
	struct vmop_image *image = vmop_text_map_find(&domain->code, address);
	if (!image)
		return (struct vmop_stack_caller){.image = domain->kernel, .offset = address};
	return (struct vmop_stack_caller){.image = image, .offset = address - image->base};
}

static struct vmop_stack_caller locate_user(struct vmop_guests *guests, struct vmop_domain *domain,
					    const struct vmop_guest_process *process,
					    uint64_t address)
{
	const struct vmop_guest_vma *vma =
		process ? vmop_guest_process_vma(process, address) : NULL;
	if (!vma)
		return (struct vmop_stack_caller){.image = domain->user, .offset = address};
	struct vmop_image *image = vmop_guest_image_of_vma(guests, domain, process, vma);
	return (struct vmop_stack_caller){.image = image,
					  .offset = vmop_guest_offset_in_vma(image, vma, address)};
}

static void resolve(struct vmop_guests *guests, struct vmop_domain *domain,
		    const struct vmop_blocked_thread *thread, struct vmop_guest_blocked *ret)
{
	struct vmop_watched_guest *watched = domain->watched;
	const struct vmop_guest_process *process = process_of(watched->view, thread);
	struct vmop_stack_frames *callers = &ret->callers;
	callers->n = 0;
	callers->end = thread->end;
	for (uint32_t i = 0; i < thread->n_frames; i++) {
		struct vmop_stack_caller at =
			i < thread->n_kernel
				? locate_kernel(domain, thread->frames[i])
				: locate_user(guests, domain, process, thread->frames[i]);
		if (i) {
			callers->at[callers->n++] = at;
			continue;
		}
		ret->image = at.image;
		ret->offset = at.offset;
	}
	ret->domain = domain->id;
	ret->pid = thread->pid;
	ret->task = (struct vmop_task_id){0};
	if (!process)
		return;
	bool has_user_part = thread->n_frames > thread->n_kernel && callers->n;
	const struct vmop_guest_task_facts facts = {
		.pid = process->pid,
		.start_time_ns = process->start_time_ns,
		.comm = process->comm,
		.cgroup = process->cgroup,
		.file = has_user_part ? callers->at[callers->n - 1].image : NULL,
	};
	ret->task = vmop_guest_tasks_table_id(&watched->tasks, &facts);
}

/* Add to *total the part of a guest's count that is new. The guest may have a new kernel. */
static void add_new(uint64_t *total, uint64_t before, uint64_t now)
{
	*total += now >= before ? now - before : now;
}

static void take_facts(struct vmop_guests *guests, struct vmop_watched_guest *watched,
		       const struct vmop_blocked_facts *facts)
{
	const struct vmop_blocked_facts *before = &watched->blocked;
	add_new(&guests->n_blocked_missed, before->n_missed, facts->n_missed);
	add_new(&guests->n_blocked_torn, before->n_torn, facts->n_torn);
	add_new(&guests->n_blocked_refused, before->n_refused, facts->n_refused);
	watched->blocked = *facts;
}

void vmop_guests_release_blocked(struct vmop_guests *guests,
				 const struct vmop_guest_blocked_sink *sink)
{
	for (uint32_t i = 1; i < guests->domains->n && guests->has_blocked; i++) {
		struct vmop_domain *domain = guests->domains->at[i];
		struct vmop_blocked_batch *batch = NULL;
		struct vmop_blocked_facts facts;
		if (!domain->watched)
			continue;
		domain->watched->has_all_blocked = !domain->is_running;
		if (!vmop_guest_watch_take_blocked(guests->watch, domain->id, &batch, &facts))
			continue;
		take_facts(guests, domain->watched, &facts);
		for (size_t j = 0; batch && j < vmop_blocked_batch_n(batch); j++) {
			struct vmop_guest_blocked *blocked = &guests->present;
			struct vmop_blocked_thread thread;
			struct vmop_blocked_time time;
			vmop_blocked_batch_get(batch, j, &thread, &time);
			resolve(guests, domain, &thread, blocked);
			blocked->n_samples = time.n_samples;
			blocked->ns = time.ns;
			sink->put(sink->arg, blocked);
		}
		vmop_blocked_batch_destroy(batch);
	}
}

void vmop_guests_blocked_losses(const struct vmop_guests *guests,
				struct vmop_guests_blocked_losses *ret)
{
	*ret = (struct vmop_guests_blocked_losses){.n_missed = guests->n_blocked_missed,
						   .n_torn = guests->n_blocked_torn,
						   .n_refused = guests->n_blocked_refused};
}

const struct vmop_blocked_facts *vmop_guests_blocked_facts(const struct vmop_guests *guests,
							   const struct vmop_domain *domain)
{
	bool has_facts = guests && domain->watched && domain->watched->blocked.n_rounds;
	return has_facts ? &domain->watched->blocked : NULL;
}
