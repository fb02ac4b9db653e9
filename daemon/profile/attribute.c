// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/attribute.h"

#include <string.h>

#include <utlist.h>

#include "daemon/host/kernel-address.h"
#include "daemon/options.h"
#include "libutil/clock.h"

/* The time before the maps of a process are read again after they did not explain a sample. */
#define REREAD_NS (10 * VMOP_NS_PER_S)
/* A flush's wait for unwind tables. */
#define STACKS_WAIT_MS 100

/* A sample whose key and location are being determined. */
struct location {
	struct vmop_sample_key key;
	struct vmop_image *image;
	uint64_t offset;
};

static void queue(struct vmop_attribution *attribution, struct vmop_process *process);

static const struct vmop_image *unknown_text(const struct vmop_attribution *attribution)
{
	return attribution->images->unattributed[VMOP_UNATTRIBUTED_KERNEL_TEXT];
}

void vmop_attribution_put_stack_sample(void *arg, const struct vmop_stack_sample *sample)
{
	struct vmop_attribution *attribution = arg;
	vmop_image_mark_sampled(attribution->images->slots[sample->key.image.at]);
	if (!vmop_aggregate_add(attribution->aggregate, &sample->key, sample->offset, 1,
				sample->weight_events))
		attribution->no_room++;
}

bool vmop_attribution_hold_jit_sample(void *arg, const struct vmop_stack_sample *sample,
				      const struct vmop_process *process,
				      const struct vmop_stack_frames *frames)
{
	const struct vmop_attribution *attribution = arg;
	return attribution->jit_samples &&
	       vmop_jit_samples_add(attribution->jit_samples, sample, process, frames);
}

void vmop_attribution_put_jit_sample(void *arg, const struct vmop_stack_sample *sample,
				     uint32_t pid, const struct vmop_stack_frames *frames)
{
	const struct vmop_attribution *attribution = arg;
	struct vmop_stack_sample copy;
	struct vmop_stack_frames callers;
	memcpy(&copy, sample, sizeof(copy)); /* with the padding of the key */
	if (frames) {
		callers = *frames;
		copy.key.stack = vmop_stacks_intern(attribution->stacks, pid, &callers);
	}
	vmop_attribution_put_stack_sample(arg, &copy);
}

/* Put a sample that has a stack. Not inlined: put() is as fast as without stacks. */
static __attribute__((noinline)) void put_stack(struct vmop_attribution *attribution,
						const struct location *location,
						uint64_t weight_events)
{
	struct vmop_stack_sample sample = {.offset = location->offset,
					   .weight_events = weight_events,
					   .time_ns = attribution->time_ns,
					   .below = attribution->below};
	struct vmop_process *process = attribution->process;
	/* Byte by byte, because the padding of the key is hashed later. */
	memcpy(&sample.key, &location->key, sizeof(sample.key));
	if (process && process->maps == VMOP_MAPS_UNREAD)
		queue(attribution, process);
	bool is_kernel = location->key.mode != VMOP_MODE_USER;
	if (vmop_stacks_find(attribution->stacks, &sample, process, attribution->capture,
			     is_kernel))
		vmop_attribution_put_stack_sample(attribution, &sample);
	else
		attribution->text_waits |= location->image == unknown_text(attribution);
}

static void put(struct vmop_attribution *attribution, struct location *location,
		uint64_t weight_events)
{
	struct vmop_image *image = location->image;
	location->key.image = image->slot;
	attribution->unattributed += image->kind == VMOP_IMAGE_NONE;
	/* Such a sample may move to another image. The process's regions keep this one. */
	bool may_move = attribution->capture && image->kind == VMOP_IMAGE_ANON &&
			attribution->process && attribution->process->jitdump_at;
	if (!may_move)
		vmop_image_mark_sampled(image);
	if (attribution->capture) {
		put_stack(attribution, location, weight_events);
		return;
	}
	if (!vmop_aggregate_add(attribution->aggregate, &location->key, location->offset, 1,
				weight_events))
		attribution->no_room++;
}

static void put_unattributed(struct vmop_attribution *attribution, struct location *location,
			     enum vmop_unattributed reason, uint64_t offset, uint64_t weight_events)
{
	location->image = attribution->images->unattributed[reason];
	location->offset = offset;
	put(attribution, location, weight_events);
}

/* Return the process of a sample; NULL: the source lacks the pid, or there is no room for it. */
static struct vmop_process *find_process(struct vmop_attribution *attribution,
					 const struct vmop_sample *sample)
{
	if (attribution->last_generation != attribution->processes->generation) {
		memset(attribution->last, 0, sizeof(attribution->last));
		attribution->last_generation = attribution->processes->generation;
	}
	struct vmop_process **last = &attribution->last[sample->cpu % VMOP_ATTRIBUTE_CPUS];
	if (*last && (*last)->pid == sample->pid)
		return *last;
	if (sample->pid == VMOP_PID_UNKNOWN)
		return NULL;
	struct vmop_process *process = vmop_processes_get(attribution->processes, sample->pid);
	if (!process)
		process = vmop_processes_meet(attribution->processes, sample->pid);
	if (process)
		*last = process;
	return process;
}

/* Return whether the process began in this interval, and its task's group is known and final. */
static bool may_be_grouped(const struct vmop_attribution *attribution,
			   const struct vmop_process *process)
{
	return process->born == attribution->tasks->interval + 1 && !process->wants_exe &&
	       process->maps == VMOP_MAPS_KNOWN &&
	       (process->task.cgroup || !attribution->processes->root);
}

static struct vmop_task_id process_task(struct vmop_attribution *attribution,
					struct vmop_process *process)
{
	struct vmop_task *task = &process->task;
	if (task->id.number)
		return task->id;
	if (attribution->tasks->groups_tasks && may_be_grouped(attribution, process))
		vmop_task_group(attribution->tasks, task);
	return vmop_task_id(attribution->tasks, task);
}

static struct vmop_task_id find_task(struct vmop_attribution *attribution,
				     struct vmop_process *process, uint32_t tid)
{
	if (!(attribution->separate & VMOP_SETUP_SEPARATE_THREAD) ||
	    !vmop_pid_is_process(process->pid))
		return process_task(attribution, process);
	return vmop_task_id(attribution->tasks,
			    vmop_processes_thread(attribution->processes, process, tid));
}

static void queue(struct vmop_attribution *attribution, struct vmop_process *process)
{
	if (process->is_queued || attribution->n_queue == VMOP_ATTRIBUTE_QUEUE_MAX ||
	    !attribution->processes->root || !vmop_pid_is_process(process->pid))
		return;
	process->is_queued = true;
	attribution->queue[attribution->n_queue++] = process;
}

/* Count a process whose maps are needed and can't be read, once, as a loss. */
static void count_unread(struct vmop_attribution *attribution, struct vmop_process *process)
{
	if (!process->is_loss)
		attribution->processes->n_maps_unread++;
	process->is_loss = true;
}

/* Return the reason why process has no mapping for a user address. */
static enum vmop_unattributed unmapped_reason(struct vmop_attribution *attribution,
					      struct vmop_process *process, uint64_t time_ns)
{
	if (process->pid && !vmop_pid_is_process(process->pid))
		return VMOP_UNATTRIBUTED_NO_TASK;
	switch ((enum vmop_maps_state)process->maps) {
	case VMOP_MAPS_UNREAD:
		queue(attribution, process);
		return VMOP_UNATTRIBUTED_EXITED; /* unless the flush can read them */
	case VMOP_MAPS_GONE:
		count_unread(attribution, process);
		return VMOP_UNATTRIBUTED_EXITED;
	case VMOP_MAPS_DENIED:
		count_unread(attribution, process);
		return VMOP_UNATTRIBUTED_DENIED;
	case VMOP_MAPS_KNOWN:
		break;
	}
	if (process->regions && process->regions->is_cut)
		return VMOP_UNATTRIBUTED_MAPPING_LIMIT;
	if (!process->has_exited && time_ns >= process->reread_ns) {
		process->reread_ns = time_ns + REREAD_NS;
		queue(attribution, process); /* a record may be lost */
	}
	return VMOP_UNATTRIBUTED_NO_MAPPING;
}

/* Hold a sample without a stack in generated code. False: put it now. */
static bool hold(struct vmop_attribution *attribution, struct location *location,
		 const struct vmop_process *process, uint64_t weight_events)
{
	struct vmop_stack_sample sample = {.offset = location->offset,
					   .weight_events = weight_events,
					   .time_ns = attribution->time_ns};
	if (attribution->capture)
		return false; /* put() finds its callers first */
	location->key.image = location->image->slot;
	memcpy(&sample.key, &location->key, sizeof(sample.key));
	return vmop_attribution_hold_jit_sample(attribution, &sample, process, NULL);
}

static void locate_user(struct vmop_attribution *attribution, struct location *location,
			struct vmop_process *process, const struct vmop_record *record)
{
	const struct vmop_sample *sample = &record->sample;
	const struct vmop_region *region = vmop_regions_find(process->regions, sample->ip);
	if (region) {
		location->image = region->image;
		location->offset = sample->ip - region->start + region->offset;
		vmop_image_set_mapping(region->image, process->pid, region->start, region->end);
		if (process->jitdump_at && region->image->kind == VMOP_IMAGE_ANON &&
		    hold(attribution, location, process, sample->weight_events))
			return;
		put(attribution, location, sample->weight_events);
		return;
	}
	struct vmop_image *vsyscall = attribution->kernel->vsyscall;
	if (sample->ip - vsyscall->base < vsyscall->len_bytes) {
		location->image = vsyscall;
		location->offset = sample->ip - vsyscall->base;
		put(attribution, location, sample->weight_events);
		return;
	}
	put_unattributed(attribution, location,
			 unmapped_reason(attribution, process, record->time_ns), sample->ip,
			 sample->weight_events);
}

static void locate_kernel(struct vmop_attribution *attribution, struct location *location,
			  const struct vmop_sample *sample)
{
	location->image = vmop_kernel_find(attribution->kernel, sample->ip);
	if (!location->image) {
		put_unattributed(attribution, location, VMOP_UNATTRIBUTED_KERNEL_TEXT, sample->ip,
				 sample->weight_events);
		return;
	}
	location->offset = sample->ip - location->image->base;
	put(attribution, location, sample->weight_events);
}

/* Bill the host's work for a guest to the guest. */
static void bill(const struct vmop_attribution *attribution, struct vmop_sample_key *key,
		 struct vmop_domain *domain, uint32_t tid)
{
	const struct vmop_vcpu *vcpu = vmop_domains_vcpu(attribution->domains, tid);
	bool is_vcpu = vcpu && vcpu->domain == domain;
	key->billed = domain->id;
	key->bill = VMOP_BILL_VMM;
	if (is_vcpu && key->mode == VMOP_MODE_KERNEL) {
		key->bill = VMOP_BILL_HYPERVISOR;
		key->mode = VMOP_MODE_HYPERVISOR;
		vmop_domain_count_hypervisor(domain);
	} else {
		vmop_domain_count_vmm(domain);
	}
	if (is_vcpu && attribution->separate & VMOP_SETUP_SEPARATE_CPU)
		key->vcpu = (int32_t)vcpu->number;
}

/* Find the guest's frame for which the thread of a vCPU works, if the source captured it. */
static void find_below(struct vmop_attribution *attribution, const struct vmop_sample *sample)
{
	const struct vmop_stack_frames *guest =
		vmop_guests_take_state(attribution->guests, sample->cpu, sample->tid);
	attribution->below = guest ? vmop_stacks_intern_guest(attribution->stacks, guest)
				   : (struct vmop_stack_node){0};
}

void vmop_attribution_keep_guest_state(struct vmop_attribution *attribution,
				       const struct vmop_record *record,
				       const struct vmop_stack_capture *capture)
{
	const struct vmop_guest_state_record *state = &record->guest_state;
	const struct vmop_vcpu *vcpu = vmop_domains_vcpu(attribution->domains, state->tid);
	if (attribution->guests && attribution->stacks && capture && capture->guest && vcpu &&
	    vmop_domain_is_read(vcpu->domain))
		vmop_guests_keep_state(attribution->guests, vcpu->domain, state->cpu, state->tid,
				       capture->guest);
}

static void host_sample(struct vmop_attribution *attribution, struct location *location,
			struct vmop_process *process, const struct vmop_record *record,
			const struct vmop_stack_capture *capture)
{
	const struct vmop_sample *sample = &record->sample;
	struct vmop_domain *host = attribution->domains->at[VMOP_DOMAIN_ID_HOST.number];
	bool is_user = sample->flags & VMOP_SAMPLE_USER || (!(sample->flags & VMOP_SAMPLE_KERNEL) &&
							    !vmop_is_kernel_address(sample->ip));
	location->key.mode = is_user ? VMOP_MODE_USER : VMOP_MODE_KERNEL;
	if (capture && attribution->stacks) {
		attribution->capture = capture;
		attribution->process = process;
		if (sample->flags & VMOP_SAMPLE_STACK_LIKELY)
			location->key.certainty = VMOP_CERTAIN_LIKELY;
	}
	if (process)
		location->key.task = find_task(attribution, process, sample->tid);
	attribution->below = (struct vmop_stack_node){0};
	if (attribution->capture && attribution->guests)
		find_below(attribution, sample);
	if (process && process->domain)
		bill(attribution, &location->key, process->domain, sample->tid);
	else if (is_user)
		vmop_domain_count_user(host);
	else
		vmop_domain_count_kernel(host);
	if (sample->flags & VMOP_SAMPLE_NO_IP)
		put_unattributed(attribution, location, VMOP_UNATTRIBUTED_NO_ADDRESS, 0,
				 sample->weight_events);
	else if (!is_user)
		locate_kernel(attribution, location, sample);
	else if (process)
		locate_user(attribution, location, process, record);
	else
		put_unattributed(attribution, location,
				 sample->pid != VMOP_PID_UNKNOWN
					 ? VMOP_UNATTRIBUTED_PROCESS_LIMIT
					 : attribution->provider->no_process,
				 sample->ip, sample->weight_events);
}

/* Locate a passive guest's sample by its kernel's text only. */
static void locate_guest(struct vmop_attribution *attribution, struct location *location,
			 struct vmop_domain *domain, const struct vmop_sample *sample)
{
	bool is_kernel = location->key.mode == VMOP_MODE_KERNEL;
	struct vmop_image *text = is_kernel ? vmop_text_map_find(&domain->code, sample->ip) : NULL;
	location->image = text ? text : is_kernel ? domain->kernel : domain->user;
	location->offset = sample->ip - (text ? text->base : 0);
	put(attribution, location, sample->weight_events);
}

/* Add a guest's sample that was held: see guests.h. */
static void put_guest_sample(void *arg, const struct vmop_guest_sample *sample)
{
	struct vmop_attribution *attribution = arg;
	struct location location = {.image = sample->image, .offset = sample->offset};
	memcpy(&location.key, &sample->key, sizeof(location.key));
	if (sample->callers && attribution->stacks)
		location.key.stack = vmop_stacks_intern(
			attribution->stacks, sample->key.domain.number << 22 ^ sample->pid,
			sample->callers);
	put(attribution, &location, sample->weight_events);
}

/* Add the time that a guest's thread was blocked. */
static void put_blocked(void *arg, struct vmop_guest_blocked *blocked)
{
	struct vmop_attribution *attribution = arg;
	struct vmop_sample_key key = {
		.event = attribution->blocked_event,
		.domain = blocked->domain,
		.billed = blocked->domain,
		.bill = VMOP_BILL_SELF,
		.mode = VMOP_MODE_KERNEL,
		.certainty = VMOP_CERTAIN_EXACT,
		.vcpu = -1,
		.cpu = -1,
		.task = blocked->task,
		.image = blocked->image->slot,
	};
	struct vmop_stack_frames *callers = &blocked->callers;
	vmop_image_mark_sampled(blocked->image);
	if (callers->n > attribution->max_frames) {
		callers->n = attribution->max_frames;
		callers->end = VMOP_STACK_DEPTH_LIMIT;
	}
	key.stack = vmop_stacks_intern(attribution->stacks,
				       blocked->domain.number << 22 ^ blocked->pid, callers);
	if (!vmop_aggregate_add(attribution->aggregate, &key, blocked->offset,
				(uint32_t)blocked->n_samples, blocked->ns))
		attribution->no_room += blocked->n_samples;
}

/* Return the reason why samples of a guest that is not passive have no image. */
static enum vmop_unattributed no_guest_reason(const struct vmop_domain *domain)
{
	if (domain->is_several)
		return VMOP_UNATTRIBUTED_SOME_DOMAIN;
	return domain->kind == VMOP_DOMAIN_OPAQUE ? VMOP_UNATTRIBUTED_OPAQUE
						  : VMOP_UNATTRIBUTED_UNSELECTED;
}

static enum vmop_mode mode_of_guest(const struct vmop_sample_owner *owner,
				    const struct vmop_sample *sample)
{
	if (sample->flags & VMOP_SAMPLE_NO_IP)
		return VMOP_MODE_UNKNOWN;
	return owner->is_kernel ? VMOP_MODE_KERNEL : VMOP_MODE_USER;
}

/* Set the number of a vCPU to KVM's own, which a context has. */
static void number_vcpu(struct vmop_attribution *attribution, uint32_t tid, uint32_t number)
{
	const struct vmop_vcpu *vcpu = vmop_domains_vcpu(attribution->domains, tid);
	if (vcpu && !vcpu->is_sure)
		vmop_domains_number_vcpu(attribution->domains, vcpu->domain, tid, number);
}

/* Hold a sample of a passive guest until the flush. False: no room. */
static bool hold_guest_sample(struct vmop_attribution *attribution, const struct location *location,
			      const struct vmop_sample_owner *owner,
			      const struct vmop_record *record,
			      const struct vmop_stack_capture *capture)
{
	if (capture && capture->guest)
		number_vcpu(attribution, record->sample.tid, capture->guest->vcpu);
	if (!capture || capture->guest)
		return vmop_guests_hold(attribution->guests, owner->domain, &location->key, record,
					owner->vcpu, capture ? capture->guest : NULL);
	/* Unwound by the hypervisor. The sampled code itself is not a caller. */
	const struct vmop_guest_held_frames frames = {
		.frames = capture->n_user_frames ? capture->user_frames + 1 : NULL,
		.n = capture->n_user_frames ? capture->n_user_frames - 1 : 0,
		.end = capture->user_end,
	};
	return vmop_guests_hold_frames(attribution->guests, owner->domain, &location->key, record,
				       owner->vcpu, &frames);
}

/* Pass a copy of an active guest's sample to who takes them, after the sample was held. */
static void copy_sample(const struct vmop_attribution *attribution,
			const struct vmop_sample_owner *owner, const struct vmop_record *record,
			const struct vmop_stack_capture *capture)
{
	const struct vmop_sample_copy *copy = &attribution->copy;
	const struct vmop_guest_context *context = capture ? capture->guest : NULL;
	if (!copy->take || owner->domain->kind != VMOP_DOMAIN_ACTIVE ||
	    record->sample.flags & VMOP_SAMPLE_NO_IP)
		return;
	const struct vmop_copied_sample sample = {
		.vmm_pid = owner->domain->vmm_pid,
		.vcpu = owner->vcpu,
		.record = record,
		.callers = attribution->guests ? vmop_guests_callers(attribution->guests) : NULL,
		.is_kernel = owner->is_kernel,
		.is_nested = context && context->gap == VMOP_GUEST_GAP_NESTED,
	};
	copy->take(copy->arg, &sample);
}

static void guest_sample(struct vmop_attribution *attribution, struct location *location,
			 const struct vmop_sample_owner *owner, const struct vmop_record *record,
			 const struct vmop_stack_capture *capture)
{
	const struct vmop_sample *sample = &record->sample;
	struct vmop_domain *domain = owner->domain;
	location->key.mode = mode_of_guest(owner, sample);
	location->key.domain = location->key.billed = domain->id;
	attribution->stale += domain->has_stale_addresses;
	if (owner->is_kernel)
		vmop_domain_count_kernel(domain);
	else
		vmop_domain_count_user(domain);
	if (sample->flags & VMOP_SAMPLE_NO_IP && vmop_domain_is_read(domain))
		vmop_domain_set_kind(domain, VMOP_DOMAIN_OPAQUE);
	bool is_held = vmop_domain_is_read(domain) && attribution->guests &&
		       hold_guest_sample(attribution, location, owner, record, capture);
	copy_sample(attribution, owner, record, capture);
	if (is_held)
		return;
	if (vmop_domain_is_read(domain))
		locate_guest(attribution, location, domain, sample);
	else
		put_unattributed(attribution, location, no_guest_reason(domain), 0,
				 sample->weight_events);
}

/* Attribute a sample of the hypervisor, and bill it to the domain whose vCPU was on the CPU. */
static void hypervisor_sample(struct vmop_attribution *attribution, struct location *location,
			      const struct vmop_sample_owner *owner,
			      const struct vmop_sample *sample)
{
	struct vmop_domain *hypervisor = owner->hypervisor;
	struct vmop_image *text = vmop_text_map_find(&hypervisor->code, sample->ip);
	location->key.domain = hypervisor->id;
	location->key.billed = owner->domain->id;
	location->key.bill = VMOP_BILL_HYPERVISOR;
	location->key.mode = VMOP_MODE_HYPERVISOR;
	vmop_domain_count_hypervisor(hypervisor);
	if (!vmop_domain_id_is_host(owner->domain->id))
		vmop_domain_count_hypervisor(owner->domain);
	location->image = text ? text : hypervisor->kernel;
	location->offset = sample->ip - (text ? text->base : 0);
	put(attribution, location, sample->weight_events);
}

void vmop_attribute(struct vmop_attribution *attribution, const struct vmop_record *record,
		    const struct vmop_stack_capture *capture)
{
	const struct vmop_sample *sample = &record->sample;
	struct location location;
	location.key = (struct vmop_sample_key){
		.event = {sample->event},
		.domain = VMOP_DOMAIN_ID_HOST,
		.billed = VMOP_DOMAIN_ID_HOST,
		.vcpu = -1,
		.cpu = attribution->separate & VMOP_SETUP_SEPARATE_CPU ? (int32_t)sample->cpu : -1,
	};
	if (sample->event >= attribution->n_events) {
		attribution->malformed++;
		return;
	}
	attribution->samples++;
	attribution->time_ns = record->time_ns;
	struct vmop_process *process = find_process(attribution, sample);
	struct vmop_sample_owner owner;
	struct vmop_domain_provider *provider = attribution->provider;
	provider->ops->find_owner(provider, sample, process, &owner);
	if (attribution->separate & VMOP_SETUP_SEPARATE_CPU)
		location.key.vcpu = owner.vcpu;
	switch (owner.kind) {
	case VMOP_OWNER_HOST:
		host_sample(attribution, &location, process, record, capture);
		break;
	case VMOP_OWNER_GUEST:
		guest_sample(attribution, &location, &owner, record, capture);
		break;
	case VMOP_OWNER_HYPERVISOR:
		hypervisor_sample(attribution, &location, &owner, sample);
		break;
	case VMOP_OWNER_NO_ROOM:
		location.key.mode = mode_of_guest(&owner, sample);
		put_unattributed(attribution, &location, VMOP_UNATTRIBUTED_GUEST_LIMIT, 0,
				 sample->weight_events);
		break;
	}
	if (capture)
		attribution->capture = NULL;
}

/* Return the queued process that has the task, or NULL. */
static struct vmop_process *queued_by_task(const struct vmop_attribution *attribution,
					   struct vmop_task_id task)
{
	for (uint32_t i = 0; i < attribution->n_queue; i++) {
		struct vmop_process *process = attribution->queue[i];
		if (process->task.id.number == task.number)
			return process;
		const struct vmop_thread *thread;
		DL_FOREACH2(process->threads, thread, sibling_next)
		if (thread->task.id.number == task.number)
			return process;
	}
	return NULL;
}

/* Move cell i to the image that now explains it, if there is one. True: moved. */
static bool resolve_cell(struct vmop_attribution *attribution, uint32_t i, bool is_kernel)
{
	const struct vmop_aggregate_cell *cell = &attribution->aggregate->cells[i];
	struct vmop_sample_key key = attribution->aggregate->keys[cell->key];
	struct vmop_image *image = NULL;
	uint64_t offset = 0;
	if (is_kernel) {
		image = vmop_kernel_find(attribution->kernel, cell->offset);
		offset = image ? cell->offset - image->base : 0;
	} else {
		const struct vmop_process *process = queued_by_task(attribution, key.task);
		const struct vmop_region *region =
			process ? vmop_regions_find(process->regions, cell->offset) : NULL;
		if (region) {
			image = region->image;
			offset = cell->offset - region->start + region->offset;
		}
	}
	if (!image)
		return false;
	key.image = image->slot;
	uint32_t samples = cell->samples;
	if (!vmop_aggregate_move(attribution->aggregate, i, &key, offset))
		return false;
	vmop_image_mark_sampled(image);
	attribution->unattributed -= image->kind == VMOP_IMAGE_NONE ? 0 : samples;
	return true;
}

/* Read the maps of the queued processes. */
static void read_queued(struct vmop_attribution *attribution)
{
	for (uint32_t i = 0; i < attribution->n_queue; i++) {
		struct vmop_process *process = attribution->queue[i];
		process->is_queued = false;
		if (!process->has_exited && process->maps == VMOP_MAPS_UNREAD)
			vmop_processes_read(attribution->processes, process->pid);
		else if (!process->has_exited)
			vmop_processes_read_maps(attribution->processes, process);
		if (process->maps != VMOP_MAPS_KNOWN)
			count_unread(attribution, process);
		if (!process->has_exited)
			vmop_domains_consider(attribution->domains, process);
	}
}

/* Read the kernel's symbols again if samples are in unknown text. True: they were read. */
static bool refresh_kernel(struct vmop_attribution *attribution)
{
	const struct vmop_aggregate *aggregate = attribution->aggregate;
	uint32_t text = unknown_text(attribution)->slot.at;
	bool has_text = attribution->text_waits;
	attribution->text_waits = false;
	if (attribution->stacks)
		has_text |= vmop_stacks_lack_kernel_text(attribution->stacks);
	for (uint32_t i = 0; i < aggregate->n_keys; i++)
		has_text |= aggregate->keys[i].image.at == text;
	return has_text && vmop_kernel_refresh(attribution->kernel);
}

void vmop_attribution_resolve_late(struct vmop_attribution *attribution, bool is_last)
{
	const struct vmop_guest_sink sink = {.put = put_guest_sample, .arg = attribution};
	const struct vmop_guest_blocked_sink blocked = {.put = put_blocked, .arg = attribution};
	if (attribution->guests)
		vmop_guests_release(attribution->guests, &sink);
	if (attribution->guests && attribution->stacks)
		vmop_guests_release_blocked(attribution->guests, &blocked);
	if (attribution->guests && is_last)
		vmop_guests_take_last_symbols(attribution->guests);
	struct vmop_aggregate *aggregate = attribution->aggregate;
	read_queued(attribution);
	bool has_text = refresh_kernel(attribution);
	if (attribution->stacks)
		vmop_stacks_release_all(attribution->stacks, STACKS_WAIT_MS);
	if (attribution->jit_samples)
		vmop_jit_samples_release(attribution->jit_samples, is_last);
	vmop_aggregate_apply_pending(aggregate);
	uint32_t text = unknown_text(attribution)->slot.at;
	uint32_t exited = attribution->images->unattributed[VMOP_UNATTRIBUTED_EXITED]->slot.at;
	uint32_t unmapped =
		attribution->images->unattributed[VMOP_UNATTRIBUTED_NO_MAPPING]->slot.at;
	if (!has_text && !attribution->n_queue)
		return;
	for (uint32_t i = 0, n = aggregate->n_cells; i < n; i++) {
		uint32_t image = aggregate->keys[aggregate->cells[i].key].image.at;
		if (!aggregate->cells[i].samples)
			continue;
		if (has_text && image == text)
			resolve_cell(attribution, i, true);
		else if (image == exited || image == unmapped)
			resolve_cell(attribution, i, false);
	}
	attribution->n_queue = 0;
}
