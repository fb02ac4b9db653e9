// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/handing.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/guest/stacks/sample-unwinder.h"
#include "libutil/clock.h"

/* So many samples are worth a frame, and so long fewer of them wait. */
#define ENOUGH_SAMPLES 24
#define LONGEST_WAIT_NS (300 * VMOP_NS_PER_MS)

struct queue {
	uint32_t vmm_pid; /* 0: unused */
	enum vmop_handing_kind kind;
	struct vmop_active_sample *samples;
	size_t n;
	uint64_t *frames; /* of the samples' stacks, in their order; NULL: without stacks */
	size_t n_frames;
	uint64_t last_ns; /* of the last sample, or up to which the agent knows that all came */
	uint64_t sent_ns; /* up to which the last batch was complete */
	struct vmop_handing_sums sums;
};

struct vmop_handing {
	struct queue queues[VMOP_ACTIVE_LINKS_MAX];
	uint64_t complete_ns;
};

struct vmop_error *vmop_handing_create(struct vmop_handing **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &vmop_error_no_memory;
}

static void end_queue(struct queue *queue)
{
	free(queue->samples);
	free(queue->frames);
	*queue = (struct queue){0};
}

void vmop_handing_destroy(struct vmop_handing *handing)
{
	for (size_t i = 0; handing && i < VMOP_ACTIVE_LINKS_MAX; i++)
		end_queue(&handing->queues[i]);
	free(handing);
}

static struct queue *find(struct vmop_handing *handing, uint32_t vmm_pid)
{
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++)
		if (handing->queues[i].vmm_pid == vmm_pid)
			return &handing->queues[i];
	return NULL;
}

void vmop_handing_set(struct vmop_handing *handing, uint32_t vmm_pid, enum vmop_handing_kind kind)
{
	struct queue *queue = find(handing, vmm_pid);
	if (queue && queue->kind == kind)
		return;
	if (queue)
		end_queue(queue);
	queue = kind != VMOP_HANDING_OFF ? find(handing, 0) : NULL;
	if (!queue)
		return;
	queue->samples = calloc(VMOP_HANDING_SAMPLES_MAX, sizeof(*queue->samples));
	if (kind == VMOP_HANDING_STACKS)
		queue->frames = calloc(VMOP_HANDING_FRAMES_MAX, sizeof(*queue->frames));
	if (!queue->samples || (kind == VMOP_HANDING_STACKS && !queue->frames)) {
		end_queue(queue);
		return;
	}
	queue->vmm_pid = vmm_pid;
	queue->kind = kind;
}

/* Copy the callers of a sample. What cannot be its caller is cut off: the guest's stack is torn. */
static void copy_stack(struct queue *queue, const struct vmop_guest_callers *callers,
		       struct vmop_active_sample *sample)
{
	size_t n = vmop_active_count_callers(callers->frames, callers->n, sample->is_kernel);
	sample->has_stack = true;
	sample->is_stack_likely = callers->is_likely;
	sample->stack_end = (uint8_t)(n < callers->n ? VMOP_STACK_TORN : callers->end);
	sample->first_frame = queue->n_frames;
	if (n > VMOP_HANDING_FRAMES_MAX - queue->n_frames) {
		sample->stack_end = VMOP_STACK_TOO_MANY;
		queue->sums.n_stacks_lost++;
		return;
	}
	sample->n_frames = (uint8_t)n;
	memcpy(queue->frames + queue->n_frames, callers->frames, n * sizeof(*queue->frames));
	queue->n_frames += n;
}

static void take(void *arg, const struct vmop_copied_sample *copied)
{
	struct queue *queue = copied->vmm_pid ? find(arg, copied->vmm_pid) : NULL;
	const struct vmop_record *record = copied->record;
	const struct vmop_sample *sample = &record->sample;
	int32_t vcpu = copied->vcpu;
	if (!queue)
		return;
	if (queue->n == VMOP_HANDING_SAMPLES_MAX || sample->event >= VMOP_ACTIVE_EVENTS_MAX) {
		queue->sums.n_lost++;
		return;
	}
	/* A record can come late from its CPU; for the agent times never go back. */
	if (record->time_ns > queue->last_ns)
		queue->last_ns = record->time_ns;
	struct vmop_active_sample *to = &queue->samples[queue->n++];
	*to = (struct vmop_active_sample){
		.time_ns = queue->last_ns,
		.address = sample->ip,
		.weight_events = sample->weight_events,
		.vcpu = vcpu >= 0 && vcpu < VMOP_ACTIVE_NO_VCPU ? (uint32_t)vcpu
								: VMOP_ACTIVE_NO_VCPU,
		.event = sample->event,
		.is_kernel = copied->is_kernel,
		.is_nested = copied->is_nested,
	};
	if (copied->callers && queue->frames && !copied->is_nested)
		copy_stack(queue, copied->callers, to);
}

bool vmop_handing_sums(struct vmop_handing *handing, uint32_t vmm_pid,
		       struct vmop_handing_sums *ret)
{
	const struct queue *queue = find(handing, vmm_pid);
	if (queue)
		*ret = queue->sums;
	return queue != NULL;
}

struct vmop_sample_copy vmop_handing_copy(struct vmop_handing *handing)
{
	return (struct vmop_sample_copy){.take = take, .arg = handing};
}

void vmop_handing_complete(struct vmop_handing *handing, uint64_t complete_ns)
{
	if (complete_ns > handing->complete_ns)
		handing->complete_ns = complete_ns;
}

/*
 * Send one batch, which may have no samples. Return false if the connection has no room. *n_sent:
 * samples that were sent before, and with it.
 */
static bool send_batch(const struct vmop_handing *handing, struct queue *queue,
		       struct vmop_active_links *links, size_t *n_sent)
{
	uint8_t payload[VMOP_ACTIVE_BATCH_BYTES];
	size_t len_bytes;
	const struct vmop_active_batch batch = {.complete_ns = handing->complete_ns > queue->last_ns
								       ? handing->complete_ns
								       : queue->last_ns,
						.n_lost = queue->sums.n_lost,
						.n = queue->n - *n_sent,
						.is_extended = queue->kind != VMOP_HANDING_SAMPLES};
	size_t n = vmop_active_batch_encode(&batch, queue->samples + *n_sent, queue->frames,
					    payload, &len_bytes);
	if (!vmop_active_links_hand(links, queue->vmm_pid, payload, (uint32_t)len_bytes))
		return false;
	*n_sent += n;
	queue->sums.n_samples += n;
	queue->sums.n_bytes += VMOP_ACTIVE_HEADER_BYTES + len_bytes;
	queue->sent_ns = batch.complete_ns;
	if (*n_sent == queue->n)
		queue->last_ns = batch.complete_ns;
	return true;
}

/* Remove the first samples and their frames. */
static void remove_sent(struct queue *queue, size_t n)
{
	if (!n)
		return;
	queue->n -= n;
	memmove(queue->samples, queue->samples + n, queue->n * sizeof(*queue->samples));
	if (!queue->frames)
		return;
	uint64_t n_frames = 0;
	for (size_t i = 0; i < queue->n; i++) {
		struct vmop_active_sample *sample = &queue->samples[i];
		memmove(queue->frames + n_frames, queue->frames + sample->first_frame,
			sample->n_frames * sizeof(*queue->frames));
		sample->first_frame = n_frames;
		n_frames += sample->n_frames;
	}
	queue->n_frames = n_frames;
}

bool vmop_handing_is_due(struct vmop_handing *handing, uint32_t vmm_pid)
{
	const struct queue *queue = find(handing, vmm_pid);
	return queue &&
	       (queue->n >= ENOUGH_SAMPLES ||
		vmop_clock_between_ns(queue->sent_ns, handing->complete_ns) >= LONGEST_WAIT_NS);
}

bool vmop_handing_send(struct vmop_handing *handing, struct vmop_active_links *links,
		       uint32_t vmm_pid)
{
	struct queue *queue = find(handing, vmm_pid);
	bool has_room = true;
	size_t n_sent = 0;
	if (!queue || (!queue->n && queue->last_ns >= handing->complete_ns))
		return true;
	for (unsigned i = 0; i == 0 || (has_room && n_sent < queue->n); i++) {
		if (i == VMOP_HANDING_BATCHES_MAX)
			break;
		has_room = send_batch(handing, queue, links, &n_sent);
	}
	remove_sent(queue, n_sent);
	return has_room && !queue->n;
}
