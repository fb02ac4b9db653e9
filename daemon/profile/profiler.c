// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/profiler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "daemon/profile/profiler-open.h"
#include "libutil/cleanup.h"

/* Processes that each tick checks, in case the record of their exit was lost. */
#define CHECKS_A_TICK 16

const struct vmop_event_info *vmop_profiler_event(const struct vmop_profiler *profiler, size_t i)
{
	size_t n = vmop_source_n_events(profiler->source);
	if (i < n)
		return vmop_source_event(profiler->source, i);
	return i == n && profiler->has_blocked ? &profiler->blocked : NULL;
}

struct vmop_error *vmop_profiler_put_events(struct vmop_profiler *profiler)
{
	struct vmop_source *source = profiler->source;
	const struct vmop_event_info *info;
	for (size_t i = 0; (info = vmop_profiler_event(profiler, i)); i++) {
		struct vmop_db_event row = {
			.id = {(uint32_t)i},
			.name = info->name,
			.source = info == &profiler->blocked ? "guests" : source->ops->name,
			.unit = info->unit,
			.period_events = info->period_events,
			.frequency_hz = info->frequency_hz,
			.note = info->note,
		};
		struct vmop_error *err = vmop_db_put_event(profiler->db, &row);
		if (!err && info->asked) {
			char name[48];
			snprintf(name, sizeof(name), "event-%zu-asked", i);
			err = vmop_db_put_info(profiler->db, name, info->asked);
		}
		if (err)
			return err;
	}
	return NULL;
}

static struct vmop_error *put_time(struct vmop_profiler *profiler, size_t event, const char *what,
				   uint64_t time_ns)
{
	char name[48], text[24];
	snprintf(name, sizeof(name), "event-%zu-%s", event, what);
	snprintf(text, sizeof(text), "%" PRIu64, time_ns);
	return vmop_db_put_info(profiler->db, name, text);
}

struct vmop_error *vmop_profiler_store_events(struct vmop_profiler *profiler)
{
	struct vmop_source *source = profiler->source;
	struct vmop_error *err = vmop_profiler_put_events(profiler);
	for (size_t i = 0; !err && i < vmop_source_n_events(source); i++) {
		const struct vmop_event_info *info = vmop_source_event(source, i);
		if (!vmop_event_is_multiplexed(info))
			continue;
		err = put_time(profiler, i, "enabled_ns", info->enabled_ns);
		if (!err)
			err = put_time(profiler, i, "running_ns", info->running_ns);
	}
	return err;
}

static void take_mmap(struct vmop_profiler *profiler, const struct vmop_record *record)
{
	if (record->mmap.pid == UINT32_MAX)
		vmop_kernel_mmap(&profiler->kernel, &record->mmap);
	else
		vmop_processes_mmap(&profiler->processes, record->time_ns, &record->mmap);
}

/* Forget the facts about a process that ended, or called execve(2). */
static void process_gone(struct vmop_profiler *profiler, struct vmop_process *process)
{
	vmop_domains_process_gone(process);
	if (profiler->stacks)
		vmop_stacks_process_gone(profiler->stacks, process);
}

static void take_comm(struct vmop_profiler *profiler, const struct vmop_record *record)
{
	struct vmop_process *process =
		vmop_processes_comm(&profiler->processes, record->time_ns, &record->comm);
	if (!process)
		return;
	if (record->comm.is_exec && record->time_ns > process->known_ns)
		process_gone(profiler, process);
	vmop_domains_consider(&profiler->domains, process);
}

static void take_exit(struct vmop_profiler *profiler, const struct vmop_record *record)
{
	struct vmop_process *process =
		vmop_processes_exit(&profiler->processes, record->time_ns, &record->task);
	if (!process)
		return;
	if (process->domain)
		vmop_domains_thread_gone(&profiler->domains, record->task.tid);
	if (process->has_exited)
		process_gone(profiler, process);
}

static void take_record(void *arg, const struct vmop_record *record,
			const struct vmop_stack_capture *stack)
{
	struct vmop_profiler *profiler = arg;
	switch (record->type) {
	case VMOP_RECORD_SAMPLE:
		vmop_attribute(&profiler->attribution, record, stack);
		break;
	case VMOP_RECORD_MMAP:
		take_mmap(profiler, record);
		break;
	case VMOP_RECORD_COMM:
		take_comm(profiler, record);
		break;
	case VMOP_RECORD_FORK:
		vmop_processes_fork(&profiler->processes, record->time_ns, &record->task);
		break;
	case VMOP_RECORD_EXIT:
		take_exit(profiler, record);
		break;
	case VMOP_RECORD_KSYMBOL:
		vmop_kernel_ksymbol(&profiler->kernel, &record->ksymbol);
		break;
	case VMOP_RECORD_LOST:
		vmop_losses_add(&profiler->losses, VMOP_LOSS_LOST, record->lost.event,
				record->lost.lost_records);
		break;
	case VMOP_RECORD_THROTTLE:
		vmop_losses_add(&profiler->losses, VMOP_LOSS_THROTTLED, record->throttle.event,
				record->throttle.is_throttled != 0);
		break;
	case VMOP_RECORD_UNHANDLED:
		vmop_losses_add(&profiler->losses, VMOP_LOSS_UNHANDLED, 0, 1);
		break;
	case VMOP_RECORD_USER_CHAIN:
		if (profiler->stacks && stack)
			vmop_stacks_add_user_part(profiler->stacks, record->user_chain.cookie,
						  stack);
		break;
	case VMOP_RECORD_GUEST_STATE:
		vmop_attribution_keep_guest_state(&profiler->attribution, record, stack);
		break;
	case VMOP_RECORD_CPU: /* the source handles these */
		break;
	default:
		vmop_losses_add(&profiler->losses, VMOP_LOSS_MALFORMED, 0, 1);
	}
}

struct vmop_sink vmop_profiler_sink(struct vmop_profiler *profiler)
{
	return (struct vmop_sink){.record = take_record, .arg = profiler};
}

struct vmop_error *vmop_profiler_scan(struct vmop_profiler *profiler)
{
	vmop_processes_meet(&profiler->processes, 0); /* idle */
	if (!profiler->root)
		return NULL;
	_cleanup_closedir_ DIR *dir = vmop_procfs_opendir(profiler->root, "/proc");
	if (!dir)
		return vmop_error_os(errno, "%s/proc", profiler->root);
	const struct dirent *entry;
	while ((entry = readdir(dir))) {
		uint32_t pid;
		struct vmop_process *process =
			vmop_procfs_pid(entry->d_name, &pid)
				? vmop_processes_read(&profiler->processes, pid)
				: NULL;
		if (process)
			vmop_domains_consider(&profiler->domains, process);
	}
	return vmop_profiler_tick(profiler);
}

/* Note at each passive guest why the source captures no contexts. */
static void note_missing_contexts(struct vmop_profiler *profiler)
{
	const char *note = "contexts are off (--guest-context, --guest-cpu)";
	if (!profiler->source->ops->guest_maps ||
	    (profiler->wants_context && vmop_source_guest_maps(profiler->source, &note)))
		return;
	for (uint32_t i = 1; i < profiler->domains.n; i++) {
		struct vmop_domain *domain = profiler->domains.at[i];
		if (domain->is_running && vmop_domain_is_read(domain))
			vmop_domain_set_context_note(domain, note);
	}
}

struct vmop_error *vmop_profiler_tick(struct vmop_profiler *profiler)
{
	struct vmop_error *err = profiler->provider->ops->tick(profiler->provider);
	vmop_domains_tick(&profiler->domains);
	if (profiler->guests)
		vmop_guests_tick(profiler->guests);
	note_missing_contexts(profiler);
	vmop_processes_check(&profiler->processes, CHECKS_A_TICK);
	return err;
}

void vmop_profiler_drained(struct vmop_profiler *profiler)
{
	if (profiler->stacks)
		vmop_stacks_advance(profiler->stacks);
	if (profiler->guests)
		vmop_guests_drained(profiler->guests);
}

void vmop_profiler_save_memory(struct vmop_profiler *profiler, bool is_short)
{
	if (profiler->stacks)
		vmop_stacks_save_memory(profiler->stacks, is_short);
	if (is_short)
		vmop_aggregate_shrink(&profiler->aggregate, vmop_profiler_first_cells());
}

bool vmop_profiler_wants_flush(const struct vmop_profiler *profiler)
{
	return vmop_aggregate_is_nearly_full(&profiler->aggregate) ||
	       (profiler->stacks && vmop_stacks_want_flush(profiler->stacks)) ||
	       (profiler->jit_samples && vmop_jit_samples_want_flush(profiler->jit_samples)) ||
	       (profiler->guests && vmop_guests_want_flush(profiler->guests));
}

void vmop_profiler_set_ending(struct vmop_profiler *profiler, bool is_ending)
{
	profiler->is_ending = is_ending;
	if (profiler->guests)
		vmop_guests_set_ending(profiler->guests, is_ending);
}

void vmop_profiler_detach(struct vmop_profiler *profiler)
{
	vmop_profiler_set_ending(profiler, true);
	vmop_attribution_resolve_late(&profiler->attribution, false);
	if (profiler->guests)
		profiler->watch = vmop_guests_end_session(profiler->guests);
	profiler->guests = profiler->attribution.guests = NULL;
	vmop_guest_waits_destroy(profiler->waits);
	profiler->waits = NULL;
	profiler->provider->ops->detach(profiler->provider);
	profiler->db = NULL;
}

struct vmop_guest_watch **vmop_profiler_guest_watch(struct vmop_profiler *profiler)
{
	return &profiler->watch;
}

struct vmop_domains *vmop_profiler_domains(struct vmop_profiler *profiler)
{
	return &profiler->domains;
}

struct vmop_guests *vmop_profiler_guests(struct vmop_profiler *profiler)
{
	return profiler->guests;
}

void vmop_profiler_copy_samples(struct vmop_profiler *profiler, const struct vmop_sample_copy *copy)
{
	profiler->attribution.copy = *copy;
}

void vmop_profiler_count_last_as_gone(struct vmop_profiler *profiler)
{
	vmop_losses_add(&profiler->losses, VMOP_LOSS_STORE_GONE, 0, profiler->last_stored);
}

void vmop_profiler_inherit(struct vmop_profiler *profiler, const struct vmop_profiler *before)
{
	vmop_losses_inherit(&profiler->losses, &before->losses);
}

uint64_t vmop_profiler_waiting(struct vmop_profiler *profiler)
{
	return vmop_aggregate_samples(&profiler->aggregate) +
	       (profiler->stacks ? vmop_stacks_waiting(profiler->stacks) : 0) +
	       (profiler->jit_samples ? vmop_jit_samples_n(profiler->jit_samples) : 0) +
	       (profiler->guests ? vmop_guests_n_held(profiler->guests) : 0);
}

bool vmop_profiler_loses_files(const struct vmop_profiler *profiler)
{
	return profiler->guests && vmop_guests_lose_files(profiler->guests);
}

bool vmop_profiler_has_guests(const struct vmop_profiler *profiler)
{
	for (uint32_t i = 1; i < profiler->domains.n; i++) {
		const struct vmop_domain *domain = profiler->domains.at[i];
		if (domain->is_running && vmop_domain_is_read(domain))
			return true;
	}
	return false;
}

void vmop_profiler_stats(const struct vmop_profiler *profiler, struct vmop_profiler_stats *ret)
{
	*ret = (struct vmop_profiler_stats){
		.samples = profiler->attribution.samples,
		.unattributed = profiler->attribution.unattributed,
		.store_full = vmop_losses_sum(&profiler->losses, VMOP_LOSS_STORE_FULL),
		.table_full = vmop_losses_sum(&profiler->losses, VMOP_LOSS_TABLE_FULL),
		.store_gone = vmop_losses_sum(&profiler->losses, VMOP_LOSS_STORE_GONE),
		.memory_dropped = vmop_losses_sum(&profiler->losses, VMOP_LOSS_MEMORY_LIMIT),
		.samples_rejected = vmop_losses_sum(&profiler->losses, VMOP_LOSS_SAMPLE_REJECTED),
		.facts_rejected = vmop_losses_sum(&profiler->losses, VMOP_LOSS_FACT_REJECTED),
		.processes = profiler->processes.by_pid.n,
		.images = profiler->images.n,
		.short_lived = profiler->n_short_lived,
	};
	if (profiler->stacks)
		vmop_stacks_facts(profiler->stacks, &ret->stacks);
}

bool vmop_profiler_waits(const struct vmop_profiler *profiler, struct vmop_waits_facts *ret,
			 const char **ret_note)
{
	*ret = (struct vmop_waits_facts){0};
	*ret_note = profiler->no_waits;
	if (!profiler->waits)
		return false;
	vmop_guest_waits_facts(profiler->waits, ret);
	*ret_note = vmop_guest_waits_no_exits(profiler->waits);
	return true;
}

bool vmop_profiler_domain(const struct vmop_profiler *profiler, size_t i,
			  struct vmop_domain_stats *ret)
{
	if (i >= profiler->domains.n)
		return false;
	const struct vmop_domain *domain = profiler->domains.at[i];
	*ret = (struct vmop_domain_stats){
		.id = domain->id,
		.kind = domain->kind,
		.name = domain->name,
		.uuid = *domain->uuid ? domain->uuid : NULL,
		.vmm_pid = domain->vmm_pid,
		.xen_domid =
			domain->source_id == VMOP_NO_SOURCE_ID ? -1 : (int32_t)domain->source_id,
		.n_vcpus = domain->n_vcpus,
		.is_running = domain->is_running,
		.samples_guest_user = domain->samples_user,
		.samples_guest_kernel = domain->samples_kernel,
		.samples_hypervisor = domain->samples_hypervisor,
		.samples_vmm = domain->samples_vmm,
		.samples_own = domain->samples_own,
		.image = domain->symbols_from,
		.note = domain->note,
		.view = vmop_guests_view(profiler->guests, domain),
		.blocked = vmop_guests_blocked_facts(profiler->guests, domain),
	};
	return true;
}
