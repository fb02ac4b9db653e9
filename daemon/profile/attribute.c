// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/attribute.h"

#include <string.h>

#include <utlist.h>

#include "daemon/host/kernel-address.h"
#include "daemon/options.h"

/* Maps that did not explain a sample are not read again for so long. */
#define REREAD_NS 10000000000ull

/* A sample on its way. */
struct placing {
	struct vmop_db_chunk_key key;
	struct vmop_image *image;
	uint64_t offset;
};

static void put(struct vmop_attribution *attribution, struct placing *placing,
		uint64_t weight_events)
{
	struct vmop_image *image = placing->image;
	placing->key.image = image->slot;
	image->is_sampled = true;
	attribution->unattributed += image->kind == VMOP_IMAGE_NONE;
	if (!vmop_aggregate_add(attribution->aggregate, &placing->key, placing->offset, 1,
				weight_events))
		attribution->no_room++;
}

static void put_why(struct vmop_attribution *attribution, struct placing *placing,
		    enum vmop_why why, uint64_t offset, uint64_t weight_events)
{
	placing->image = attribution->images->why[why];
	placing->offset = offset;
	put(attribution, placing, weight_events);
}

/* The process of a sample; NULL: the source does not tell, or there is no room for it. */
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
	if (sample->pid == UINT32_MAX)
		return NULL;
	struct vmop_process *process = vmop_processes_get(attribution->processes, sample->pid);
	if (!process)
		process = vmop_processes_meet(attribution->processes, sample->pid);
	if (process)
		*last = process;
	return process;
}

/* It began in this interval, and all that a group goes by is known and final. */
static bool may_be_grouped(const struct vmop_attribution *attribution,
			   const struct vmop_process *process)
{
	return process->born == attribution->tasks->interval + 1 && !process->wants_exe &&
	       process->maps == VMOP_MAPS_KNOWN &&
	       (process->task.cgroup || !attribution->processes->root);
}

static uint32_t process_task(struct vmop_attribution *attribution, struct vmop_process *process)
{
	struct vmop_task *task = &process->task;
	if (task->id)
		return task->id;
	if (attribution->tasks->groups_tasks && may_be_grouped(attribution, process))
		vmop_task_group(attribution->tasks, task);
	return vmop_task_id(attribution->tasks, task);
}

static uint32_t find_task(struct vmop_attribution *attribution, struct vmop_process *process,
			  uint32_t tid)
{
	if (!(attribution->separate & VMOP_SETUP_SEPARATE_THREAD) || !process->pid)
		return process_task(attribution, process);
	return vmop_task_id(attribution->tasks,
			    vmop_processes_thread(attribution->processes, process, tid));
}

static void queue(struct vmop_attribution *attribution, struct vmop_process *process)
{
	if (process->is_queued || attribution->n_queue == VMOP_ATTRIBUTE_QUEUE_MAX ||
	    !attribution->processes->root)
		return;
	process->is_queued = true;
	attribution->queue[attribution->n_queue++] = process;
}

/* Its maps are wanted and can't be had: a loss, once a process. */
static void count_unread(struct vmop_attribution *attribution, struct vmop_process *process)
{
	if (!process->is_loss)
		attribution->processes->n_maps_unread++;
	process->is_loss = true;
}

/* Why no mapping of process explains a user address. */
static enum vmop_why why_unmapped(struct vmop_attribution *attribution,
				  struct vmop_process *process, uint64_t time_ns)
{
	switch ((enum vmop_maps_state)process->maps) {
	case VMOP_MAPS_UNREAD:
		queue(attribution, process);
		return VMOP_WHY_EXITED; /* unless they can be read at the flush */
	case VMOP_MAPS_GONE:
		count_unread(attribution, process);
		return VMOP_WHY_EXITED;
	case VMOP_MAPS_DENIED:
		count_unread(attribution, process);
		return VMOP_WHY_DENIED;
	case VMOP_MAPS_KNOWN:
		break;
	}
	if (process->regions && process->regions->is_cut)
		return VMOP_WHY_MAPPING_LIMIT;
	if (!process->has_exited && time_ns >= process->reread_ns) {
		process->reread_ns = time_ns + REREAD_NS;
		queue(attribution, process); /* a lost record, perhaps */
	}
	return VMOP_WHY_NO_MAPPING;
}

static void place_user(struct vmop_attribution *attribution, struct placing *placing,
		       struct vmop_process *process, const struct vmop_record *record)
{
	const struct vmop_sample *sample = &record->sample;
	const struct vmop_region *region = vmop_regions_find(process->regions, sample->ip);
	if (region) {
		placing->image = region->image;
		placing->offset = sample->ip - region->start + region->offset;
		if (!region->image->is_examined) {
			region->image->pid = process->pid;
			region->image->map_start = region->start;
			region->image->map_end = region->end;
		}
		put(attribution, placing, sample->weight_events);
		return;
	}
	struct vmop_image *vsyscall = attribution->kernel->vsyscall;
	if (sample->ip - vsyscall->base < vsyscall->len_bytes) {
		placing->image = vsyscall;
		placing->offset = sample->ip - vsyscall->base;
		put(attribution, placing, sample->weight_events);
		return;
	}
	put_why(attribution, placing, why_unmapped(attribution, process, record->time_ns),
		sample->ip, sample->weight_events);
}

static void place_kernel(struct vmop_attribution *attribution, struct placing *placing,
			 const struct vmop_sample *sample)
{
	placing->image = vmop_kernel_find(attribution->kernel, sample->ip);
	if (!placing->image) {
		put_why(attribution, placing, VMOP_WHY_KERNEL_TEXT, sample->ip,
			sample->weight_events);
		return;
	}
	placing->offset = sample->ip - placing->image->base;
	put(attribution, placing, sample->weight_events);
}

/* Work of the host for a guest goes on that guest's bill. */
static void bill(const struct vmop_attribution *attribution, struct vmop_db_chunk_key *key,
		 struct vmop_domain *domain, uint32_t tid)
{
	const struct vmop_vcpu *vcpu = vmop_domains_vcpu(attribution->domains, tid);
	bool is_vcpu = vcpu && vcpu->domain == domain;
	key->billed = domain->id;
	key->bill = VMOP_BILL_VMM;
	if (is_vcpu && key->mode == VMOP_MODE_KERNEL) {
		key->bill = VMOP_BILL_HYPERVISOR;
		key->mode = VMOP_MODE_HYPERVISOR;
		domain->samples_hypervisor++;
	} else {
		domain->samples_vmm++;
	}
	if (is_vcpu && attribution->separate & VMOP_SETUP_SEPARATE_CPU)
		key->vcpu = (int32_t)vcpu->number;
}

static void host_sample(struct vmop_attribution *attribution, struct placing *placing,
			struct vmop_process *process, const struct vmop_record *record)
{
	const struct vmop_sample *sample = &record->sample;
	struct vmop_domain *host = attribution->domains->at[VMOP_DOMAIN_ID_HOST];
	bool is_user = sample->flags & VMOP_SAMPLE_USER || (!(sample->flags & VMOP_SAMPLE_KERNEL) &&
							    !vmop_is_kernel_address(sample->ip));
	placing->key.mode = is_user ? VMOP_MODE_USER : VMOP_MODE_KERNEL;
	if (process)
		placing->key.task = find_task(attribution, process, sample->tid);
	if (process && process->domain)
		bill(attribution, &placing->key, process->domain, sample->tid);
	else if (is_user)
		host->samples_user++;
	else
		host->samples_kernel++;
	if (sample->flags & VMOP_SAMPLE_NO_IP)
		put_why(attribution, placing, VMOP_WHY_NO_ADDRESS, 0, sample->weight_events);
	else if (!is_user)
		place_kernel(attribution, placing, sample);
	else if (process)
		place_user(attribution, placing, process, record);
	else
		put_why(attribution, placing,
			sample->pid != UINT32_MAX ? VMOP_WHY_PROCESS_LIMIT
						  : attribution->provider->no_process,
			sample->ip, sample->weight_events);
}

/* A passive guest's sample, without more than its kernel's text to go by. */
static void place_guest(struct vmop_attribution *attribution, struct placing *placing,
			struct vmop_domain *domain, const struct vmop_sample *sample)
{
	bool is_kernel = placing->key.mode == VMOP_MODE_KERNEL;
	struct vmop_image *text = is_kernel ? vmop_text_map_find(&domain->text, sample->ip) : NULL;
	placing->image = text ? text : is_kernel ? domain->kernel : domain->user;
	placing->offset = sample->ip - (text ? text->base : 0);
	put(attribution, placing, sample->weight_events);
}

/* A guest's sample that was held: see guests.h. */
static void put_placed(void *arg, const struct vmop_guest_placed *placed)
{
	struct placing placing = {.image = placed->image, .offset = placed->offset};
	memcpy(&placing.key, &placed->key, sizeof(placing.key));
	put(arg, &placing, placed->weight_events);
}

/* The reason why samples of a guest that is not passive have no image. */
static enum vmop_why why_not_looked_into(const struct vmop_domain *domain)
{
	if (domain->is_several)
		return VMOP_WHY_SOME_DOMAIN;
	return domain->kind == VMOP_DOMAIN_OPAQUE ? VMOP_WHY_OPAQUE : VMOP_WHY_UNSELECTED;
}

static enum vmop_mode mode_of_guest(const struct vmop_sample_owner *owner,
				    const struct vmop_sample *sample)
{
	if (sample->flags & VMOP_SAMPLE_NO_IP)
		return VMOP_MODE_UNKNOWN;
	return owner->is_kernel ? VMOP_MODE_KERNEL : VMOP_MODE_USER;
}

static void guest_sample(struct vmop_attribution *attribution, struct placing *placing,
			 const struct vmop_sample_owner *owner, const struct vmop_record *record)
{
	const struct vmop_sample *sample = &record->sample;
	struct vmop_domain *domain = owner->domain;
	placing->key.mode = mode_of_guest(owner, sample);
	placing->key.domain = placing->key.billed = domain->id;
	attribution->stale += domain->has_stale_addresses;
	if (owner->is_kernel)
		domain->samples_kernel++;
	else
		domain->samples_user++;
	if (sample->flags & VMOP_SAMPLE_NO_IP && domain->kind == VMOP_DOMAIN_PASSIVE) {
		domain->kind = VMOP_DOMAIN_OPAQUE;
		domain->is_stored = false;
	}
	if (domain->kind == VMOP_DOMAIN_PASSIVE && attribution->guests &&
	    vmop_guests_hold(attribution->guests, domain, &placing->key, record, owner->vcpu))
		return;
	if (domain->kind == VMOP_DOMAIN_PASSIVE)
		place_guest(attribution, placing, domain, sample);
	else
		put_why(attribution, placing, why_not_looked_into(domain), 0,
			sample->weight_events);
}

/* The hypervisor's own code, billed to the domain whose vCPU was on that CPU. */
static void hypervisor_sample(struct vmop_attribution *attribution, struct placing *placing,
			      const struct vmop_sample_owner *owner,
			      const struct vmop_sample *sample)
{
	struct vmop_domain *hypervisor = owner->hypervisor;
	struct vmop_image *text = vmop_text_map_find(&hypervisor->text, sample->ip);
	placing->key.domain = hypervisor->id;
	placing->key.billed = owner->domain->id;
	placing->key.bill = VMOP_BILL_HYPERVISOR;
	placing->key.mode = VMOP_MODE_HYPERVISOR;
	hypervisor->samples_hypervisor++;
	if (owner->domain->id != VMOP_DOMAIN_ID_HOST)
		owner->domain->samples_hypervisor++;
	placing->image = text ? text : hypervisor->kernel;
	placing->offset = sample->ip - (text ? text->base : 0);
	put(attribution, placing, sample->weight_events);
}

void vmop_attribute(struct vmop_attribution *attribution, const struct vmop_record *record)
{
	const struct vmop_sample *sample = &record->sample;
	struct placing placing;
	placing.key = (struct vmop_db_chunk_key){
		.event = sample->event,
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
	struct vmop_process *process = find_process(attribution, sample);
	struct vmop_sample_owner owner;
	struct vmop_domain_provider *provider = attribution->provider;
	provider->ops->find_owner(provider, sample, process, &owner);
	if (attribution->separate & VMOP_SETUP_SEPARATE_CPU)
		placing.key.vcpu = owner.vcpu;
	switch (owner.kind) {
	case VMOP_OWNER_HOST:
		host_sample(attribution, &placing, process, record);
		break;
	case VMOP_OWNER_GUEST:
		guest_sample(attribution, &placing, &owner, record);
		break;
	case VMOP_OWNER_HYPERVISOR:
		hypervisor_sample(attribution, &placing, &owner, sample);
		break;
	case VMOP_OWNER_NO_ROOM:
		placing.key.mode = mode_of_guest(&owner, sample);
		put_why(attribution, &placing, VMOP_WHY_GUEST_LIMIT, 0, sample->weight_events);
		break;
	}
}

/* Whose task id that is, among the queued; NULL: of none of them. */
static struct vmop_process *queued_by_task(const struct vmop_attribution *attribution,
					   uint32_t task)
{
	for (uint32_t i = 0; i < attribution->n_queue; i++) {
		struct vmop_process *process = attribution->queue[i];
		if (process->task.id == task)
			return process;
		const struct vmop_thread *thread;
		DL_FOREACH2(process->threads, thread, sibling_next)
		if (thread->task.id == task)
			return process;
	}
	return NULL;
}

/* Finds cell i a better place by what has been learned. True: moved. */
static bool settle_cell(struct vmop_attribution *attribution, uint32_t i, bool is_kernel)
{
	const struct vmop_aggregate_cell *cell = &attribution->aggregate->cells[i];
	struct vmop_db_chunk_key key = attribution->aggregate->keys[cell->key];
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
	image->is_sampled = true;
	attribution->unattributed -= image->kind == VMOP_IMAGE_NONE ? 0 : samples;
	return true;
}

/* Reads what the queued processes have mapped. */
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

void vmop_attribution_settle(struct vmop_attribution *attribution)
{
	if (attribution->guests)
		vmop_guests_settle(attribution->guests, put_placed, attribution);
	struct vmop_aggregate *aggregate = attribution->aggregate;
	vmop_aggregate_settle(aggregate);
	uint32_t text = attribution->images->why[VMOP_WHY_KERNEL_TEXT]->slot;
	uint32_t exited = attribution->images->why[VMOP_WHY_EXITED]->slot;
	uint32_t unmapped = attribution->images->why[VMOP_WHY_NO_MAPPING]->slot;
	bool has_text = false;
	for (uint32_t i = 0; i < aggregate->n_keys; i++)
		has_text |= aggregate->keys[i].image == text;
	has_text = has_text && vmop_kernel_refresh(attribution->kernel);
	read_queued(attribution);
	if (!has_text && !attribution->n_queue)
		return;
	for (uint32_t i = 0, n = aggregate->n_cells; i < n; i++) {
		uint32_t image = aggregate->keys[aggregate->cells[i].key].image;
		if (!aggregate->cells[i].samples)
			continue;
		if (has_text && image == text)
			settle_cell(attribution, i, true);
		else if (image == exited || image == unmapped)
			settle_cell(attribution, i, false);
	}
	attribution->n_queue = 0;
}
