// SPDX-License-Identifier: GPL-2.0-or-later
/* The flush of an interval: examines sampled tasks and images, and stores all in one transaction.
 */
#include <utlist.h>

#include "daemon/profile/profiler-open.h"
#include "libutil/clock.h"
#include "libutil/log.h"

/* The wait for the memory of programs, which answers within microseconds unless it hangs. */
enum { CODE_WAIT_MS = 20, CODE_LAST_WAIT_MS = 500 };

static void count_blocked_losses(struct vmop_profiler *profiler)
{
	struct vmop_losses *losses = &profiler->losses;
	struct vmop_guests_blocked_losses blocked;
	uint32_t event = profiler->attribution.blocked_event.number;
	if (!profiler->guests || !profiler->has_blocked)
		return;
	vmop_guests_blocked_losses(profiler->guests, &blocked);
	vmop_losses_total_of(losses, VMOP_LOSS_BLOCKED_ROUNDS, event, blocked.n_missed);
	vmop_losses_total_of(losses, VMOP_LOSS_BLOCKED_TORN, event, blocked.n_torn);
	vmop_losses_total_of(losses, VMOP_LOSS_BLOCKED_LIMIT, event, blocked.n_refused);
}

/* Update the losses from the counters of the source and the tables. */
static void count_losses(struct vmop_profiler *profiler)
{
	struct vmop_losses *losses = &profiler->losses;
	struct vmop_source_stats stats;
	const struct vmop_source_stats *begun = &profiler->begun;
	vmop_source_stats(profiler->source, &stats);
	vmop_losses_total(losses, VMOP_LOSS_LOST, stats.lost_records - begun->lost_records);
	vmop_losses_total(losses, VMOP_LOSS_THROTTLED, stats.throttles - begun->throttles);
	vmop_losses_total(losses, VMOP_LOSS_UNHANDLED,
			  stats.unhandled_records - begun->unhandled_records);
	vmop_losses_total(losses, VMOP_LOSS_MALFORMED,
			  stats.malformed_records - begun->malformed_records +
				  profiler->attribution.malformed);
	vmop_losses_total(losses, VMOP_LOSS_MAPS_UNREAD, profiler->processes.n_maps_unread);
	vmop_losses_total(losses, VMOP_LOSS_PROCESS_LIMIT, profiler->processes.n_refused);
	vmop_losses_total(losses, VMOP_LOSS_MAPPING_LIMIT, profiler->processes.budget.n_refused);
	vmop_losses_total(losses, VMOP_LOSS_IMAGE_LIMIT, profiler->images.n_refused);
	vmop_losses_total(losses, VMOP_LOSS_GUEST_LIMIT, profiler->domains.n_refused);
	vmop_losses_total(losses, VMOP_LOSS_STALE, profiler->attribution.stale);
	vmop_losses_total(losses, VMOP_LOSS_UNSAMPLED_MS,
			  (stats.paused_ns - begun->paused_ns) / VMOP_NS_PER_MS);
	count_blocked_losses(profiler);
	if (profiler->guests)
		vmop_losses_total(losses, VMOP_LOSS_SYMBOLS_UNREAD,
				  vmop_guests_n_symbols_unread(profiler->guests));
	if (profiler->stacks) {
		struct vmop_stacks_facts facts;
		vmop_stacks_facts(profiler->stacks, &facts);
		vmop_losses_total(losses, VMOP_LOSS_MEMORY_LIMIT, facts.tree.n_short);
	}
	uint64_t dropped = profiler->attribution.no_room - profiler->no_room_counted;
	profiler->no_room_counted = profiler->attribution.no_room;
	vmop_losses_add(losses,
			!profiler->db		     ? VMOP_LOSS_STORE_GONE
			: profiler->is_store_failing ? VMOP_LOSS_STORE_FULL
						     : VMOP_LOSS_TABLE_FULL,
			0, dropped);
}

/* Update the losses from the rows that this interval's transaction dropped. */
static void count_rejected(struct vmop_profiler *profiler)
{
	struct vmop_db_rejected rejected;
	vmop_db_rejected(profiler->db, &rejected);
	vmop_losses_total(&profiler->losses, VMOP_LOSS_FACT_REJECTED, rejected.facts);
	vmop_losses_total(&profiler->losses, VMOP_LOSS_SAMPLE_REJECTED, rejected.samples);
}

static void log_rejected(struct vmop_profiler *profiler)
{
	struct vmop_db_rejected rejected;
	vmop_db_rejected(profiler->db, &rejected);
	if (profiler->rejected_was_logged || !rejected.first)
		return;
	profiler->rejected_was_logged = true;
	vmop_log_warning("%s (it is dropped and counted; further ones are not logged)",
			 rejected.first);
}

/* Read the sampled pages of the host's generated code and kernel. */
static void read_code(struct vmop_profiler *profiler)
{
	struct vmop_aggregate *aggregate = &profiler->aggregate;
	if (!profiler->code)
		return;
	vmop_aggregate_apply_pending(aggregate);
	for (uint32_t i = 0; i < aggregate->n_cells; i++) {
		const struct vmop_aggregate_cell *cell = &aggregate->cells[i];
		struct vmop_image *image =
			profiler->images.slots[aggregate->keys[cell->key].image.at];
		if (cell->samples && image->kind == VMOP_IMAGE_ANON)
			vmop_code_pages_sampled(profiler->code_pages, profiler->jitdumps, image,
						cell->offset);
		else if (cell->samples && profiler->kernel_code)
			vmop_kernel_code_sampled(profiler->kernel_code, image, cell->offset,
						 cell->samples);
	}
	if (profiler->kernel_code)
		vmop_kernel_code_next_interval(profiler->kernel_code);
	vmop_code_pages_collect(profiler->code_pages,
				profiler->is_ending ? CODE_LAST_WAIT_MS : CODE_WAIT_MS);
}

/* Read the missing facts of the tasks and images with samples. */
static void examine(struct vmop_profiler *profiler)
{
	struct vmop_task *task;
	DL_FOREACH (profiler->tasks.pending, task) {
		vmop_examine_task(&profiler->processes, task);
		if (task->exe)
			vmop_image_mark_sampled(task->exe);
	}
	for (uint32_t i = 0; i < profiler->images.n_slots; i++) {
		struct vmop_image *image = profiler->images.slots[i];
		if (!image || !image->is_sampled)
			continue;
		if (image->kind == VMOP_IMAGE_ANON) {
			if (!vmop_jitdumps_sampled(profiler->jitdumps, image))
				vmop_perf_maps_sampled(profiler->perf_maps, image);
		} else if (!image->is_examined) {
			vmop_examine_image(profiler->examiner, image);
		}
	}
	vmop_examiner_collect(profiler->examiner, profiler->is_ending);
	vmop_perf_maps_collect(profiler->perf_maps, profiler->is_ending);
	vmop_jitdumps_collect(profiler->jitdumps, profiler->is_ending);
	read_code(profiler);
}

static struct vmop_error *store_images(struct vmop_profiler *profiler)
{
	for (uint32_t i = 0; i < profiler->images.n_slots; i++) {
		struct vmop_image *image = profiler->images.slots[i];
		if (!image || !image->is_sampled)
			continue;
		image = vmop_image_canonical(image);
		vmop_image_mark_sampled(image);
		if (image->id.number && image->is_stored)
			continue;
		vmop_images_assign_id(&profiler->images, image);
		struct vmop_error *err = vmop_image_store(image, profiler->db);
		if (err)
			return err;
	}
	return NULL;
}

static struct vmop_error *store_tasks(struct vmop_profiler *profiler)
{
	const struct vmop_task *task;
	DL_FOREACH (profiler->tasks.pending, task) {
		struct vmop_db_task row;
		if (vmop_short_lived_row(&profiler->short_lived, task->id).number !=
		    task->id.number)
			continue;
		vmop_task_describe(task, &row);
		if (task->start_ns)
			row.start_time_ns =
				task->start_ns + (uint64_t)profiler->monotonic_to_realtime_ns;
		struct vmop_error *err = vmop_db_put_task(profiler->db, &row);
		if (err)
			return err;
	}
	return NULL;
}

/* Store the ends of tasks, so that a roll-up may merge them. */
static struct vmop_error *store_ends(struct vmop_profiler *profiler)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_REALTIME);
	for (size_t i = 0; i < profiler->tasks.n_ended; i++) {
		struct vmop_error *err =
			vmop_db_end_task(profiler->db, profiler->tasks.ended[i], now_ns);
		if (err)
			return err;
	}
	return NULL;
}

/* Give keys that are stored as one the same image and task. */
static void canonical_key(void *arg, struct vmop_sample_key *key)
{
	struct vmop_profiler *profiler = arg;
	key->image = vmop_image_canonical(profiler->images.slots[key->image.at])->slot;
	key->task = vmop_short_lived_first(&profiler->short_lived, key->task);
}

static struct vmop_error *store_chunk(void *arg, const struct vmop_sample_key *key,
				      const struct vmop_db_cell *cells, size_t n)
{
	struct vmop_profiler *profiler = arg;
	const struct vmop_db_chunk_key row = {
		.event = key->event,
		.domain = key->domain,
		.billed = key->billed,
		.bill = key->bill,
		.mode = key->mode,
		.certainty = key->certainty,
		.vcpu = key->vcpu,
		.cpu = key->cpu,
		/* The key is not canonical if the aggregate had no room for that. */
		.task = vmop_short_lived_row(&profiler->short_lived, key->task),
		.image = vmop_image_canonical(profiler->images.slots[key->image.at])->id,
		.stack = key->stack,
	};
	for (size_t i = 0; i < n; i++)
		profiler->storing += cells[i].samples;
	if (key->stack.number)
		return vmop_stacked_chunk_add(&profiler->stacked, profiler->db, key, &row, cells,
					      n);
	return vmop_db_put_chunk(profiler->db, &row, cells, n);
}

static struct vmop_error *store(struct vmop_profiler *profiler, uint64_t start_realtime_ns,
				uint64_t len_ns)
{
	struct vmop_error *err = vmop_db_begin_interval(profiler->db, start_realtime_ns, len_ns);
	if (err)
		return err;
	profiler->storing = 0;
	err = vmop_domains_store(&profiler->domains, profiler->db);
	if (!err)
		err = store_images(profiler);
	if (!err && profiler->code)
		err = vmop_code_store_put(profiler->code, profiler->db);
	vmop_short_lived_reset(&profiler->short_lived);
	if (!err && !profiler->keeps_tasks)
		err = vmop_short_lived_merge(&profiler->short_lived, &profiler->tasks,
					     &profiler->aggregate, profiler->db);
	if (!err)
		err = store_tasks(profiler);
	if (!err)
		err = store_ends(profiler);
	if (!err && profiler->stacks)
		err = vmop_stacks_store(profiler->stacks, profiler->db);
	profiler->stacked.n = 0;
	if (!err)
		err = vmop_aggregate_each(&profiler->aggregate, canonical_key, store_chunk,
					  profiler);
	if (!err)
		err = vmop_stacked_chunk_put(&profiler->stacked, profiler->db);
	if (!err && profiler->waits)
		err = vmop_guest_waits_store(profiler->waits, profiler->db);
	if (!err)
		count_rejected(profiler);
	if (!err)
		err = vmop_losses_store(&profiler->losses, profiler->db);
	if (!err)
		err = vmop_db_commit(profiler->db);
	if (err)
		vmop_db_rollback(profiler->db);
	return err;
}

/* Remove the samples that were stored or, without a file, counted as lost. */
static void stored(struct vmop_profiler *profiler)
{
	vmop_domains_stored(&profiler->domains);
	for (uint32_t i = 0; i < profiler->images.n_slots; i++) {
		struct vmop_image *image = profiler->images.slots[i];
		if (image && image->is_sampled && image->id.number && !image->is_stored)
			vmop_image_stored(image);
	}
	vmop_tasks_stored(&profiler->tasks, &profiler->short_lived);
	if (profiler->short_lived.n_over > VMOP_SHORT_LIVED_APART)
		profiler->n_short_lived += profiler->short_lived.n_over;
	vmop_aggregate_reset(&profiler->aggregate);
	if (profiler->waits)
		vmop_guest_waits_stored(profiler->waits);
	if (profiler->stacks)
		vmop_stacks_stored(profiler->stacks);
	vmop_images_sweep(&profiler->images);
}

struct vmop_error *vmop_profiler_flush(struct vmop_profiler *profiler, uint64_t start_realtime_ns,
				       uint64_t len_ns)
{
	if (profiler->root) /* it differs after a suspend or a step of the clock */
		profiler->monotonic_to_realtime_ns = vmop_clock_monotonic_to_realtime_ns();
	vmop_attribution_resolve_late(&profiler->attribution, profiler->is_ending);
	vmop_domains_identify_new(&profiler->domains);
	if (profiler->waits)
		vmop_guest_waits_gather(profiler->waits);
	examine(profiler);
	count_losses(profiler);
	struct vmop_error *err = NULL;
	if (profiler->db)
		err = store(profiler, start_realtime_ns, len_ns);
	else
		vmop_losses_add(&profiler->losses, VMOP_LOSS_STORE_GONE, 0,
				vmop_aggregate_samples(&profiler->aggregate));
	if (!err && profiler->db) {
		vmop_losses_stored(&profiler->losses);
		if (profiler->code)
			vmop_code_store_stored(profiler->code);
		profiler->last_stored = profiler->storing;
		log_rejected(profiler);
	}
	if (!err)
		stored(profiler);
	profiler->is_store_failing = err != NULL;
	vmop_processes_sweep(&profiler->processes);
	return err;
}
