// SPDX-License-Identifier: GPL-2.0-or-later
/* The creation of a profiler: its parts, one after the other, and the first rows of its file. */
#include "daemon/profile/profiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/profile/profiler-open.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#define IMAGES_MAX 16384
#define CELLS_A_CPU 8192u
#define JIT_SAMPLES_BYTES ((size_t)16 << 20)

uint32_t vmop_profiler_first_cells(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint32_t cells = 2 * CELLS_A_CPU;
	while (cells < VMOP_AGGREGATE_CELLS_MAX && cells < (uint64_t)cpus * CELLS_A_CPU)
		cells *= 2;
	return cells;
}

/* Prepare the event of the blocked threads, which no source delivers. */
static void add_blocked_event(struct vmop_profiler *profiler, const struct vmop_off_cpu *off_cpu)
{
	profiler->has_blocked = off_cpu->hz && profiler->root;
	if (!profiler->has_blocked)
		return;
	profiler->blocked = (struct vmop_event_info){
		.name = "blocked", .unit = "ns", .period_events = VMOP_NS_PER_S / off_cpu->hz};
}

/* Put the symbols of the kernel and its modules, which can't be read later, and the rows that they
 * refer to. */
static struct vmop_error *put_known(struct vmop_profiler *profiler)
{
	struct vmop_error *err = vmop_profiler_put_events(profiler);
	if (!err)
		err = vmop_db_put_info(profiler->db, "kernel_symbols",
				       profiler->kernel.symbols_from);
	if (!err && !profiler->code)
		err = vmop_db_put_info(profiler->db, "code", "off");
	if (!err)
		err = vmop_domains_store(&profiler->domains, profiler->db);
	if (err)
		return err;
	vmop_domains_stored(&profiler->domains);
	for (size_t i = 0; i < profiler->kernel.text.n; i++) {
		struct vmop_image *image = profiler->kernel.text.at[i].image;
		if (image->is_stored ||
		    (image->kind != VMOP_IMAGE_KERNEL && image->kind != VMOP_IMAGE_MODULE))
			continue;
		vmop_images_assign_id(&profiler->images, image);
		err = vmop_image_store(image, profiler->db);
		if (err)
			return err;
		vmop_image_stored(image);
	}
	return NULL;
}

static struct vmop_error *use_vmlinux(struct vmop_profiler *profiler,
				      const struct vmop_profiler_options *options)
{
	if (!options->setup->vmlinux || options->is_replay)
		return NULL;
	struct vmop_error *err =
		vmop_kernel_use_vmlinux(&profiler->kernel, options->setup->vmlinux);
	if (!options->goes_on || err == &vmop_error_no_memory)
		return err;
	vmop_log_and_destroy(VMOP_LOG_WARNING, err); /* use /proc/kallsyms */
	return NULL;
}

/* Prepare to keep call stacks, if the source captures them. */
static struct vmop_error *create_stacks(struct vmop_profiler *profiler,
					const struct vmop_stack_options *captured,
					uint64_t memory_bytes)
{
	/* Blocked threads always have stacks. */
	if (captured->mode == VMOP_STACKS_OFF && !profiler->has_blocked)
		return NULL;
	const struct vmop_stacks_options options = {
		.processes = &profiler->processes,
		.kernel = &profiler->kernel,
		.vdso = profiler->vdso,
		.max_frames = captured->mode != VMOP_STACKS_OFF ? captured->max_frames
								: VMOP_STACK_FRAMES_MAX,
		.has_user_parts = captured->mode != VMOP_STACKS_KERNEL,
		.memory_bytes = memory_bytes,
		.unwind_maps = captured->mode == VMOP_STACKS_BPF
				       ? vmop_source_unwind_maps(profiler->source)
				       : NULL,
		.hold = vmop_attribution_hold_jit_sample,
		.release = vmop_attribution_put_stack_sample,
		.arg = &profiler->attribution,
	};
	return vmop_stacks_create(&options, &profiler->stacks);
}

/* Prepare to look up generated code in jitdumps. */
static struct vmop_error *create_jit_samples(struct vmop_profiler *profiler, uint64_t memory_bytes)
{
	size_t bytes =
		memory_bytes && memory_bytes < JIT_SAMPLES_BYTES ? memory_bytes : JIT_SAMPLES_BYTES;
	struct vmop_error *err = vmop_jitdumps_create(&profiler->processes, &profiler->code_names,
						      &profiler->jitdumps);
	const struct vmop_jit_samples_options options = {
		.images = &profiler->images,
		.jitdumps = profiler->jitdumps,
		.release = vmop_attribution_put_jit_sample,
		.arg = &profiler->attribution,
	};
	if (err || !profiler->root)
		return err;
	return vmop_jit_samples_create(&options, bytes, &profiler->jit_samples);
}

/* Prepare to store code that cannot be read later. */
static struct vmop_error *create_code(struct vmop_profiler *profiler, uint64_t max_bytes)
{
	struct vmop_error *err = vmop_code_store_create(max_bytes, &profiler->code);
	if (!err)
		err = vmop_code_pages_create(&profiler->processes, profiler->code,
					     &profiler->code_pages);
	if (!err && !*profiler->root) /* this machine's own /proc */
		err = vmop_kernel_code_create(&profiler->images, profiler->code,
					      &profiler->kernel_code);
	return err;
}

/*
 * Begin to divide the time of guests' vCPUs. Where that is not possible, the session goes on
 * without, and has the reason.
 */
static struct vmop_error *create_waits(struct vmop_profiler *profiler,
				       const struct vmop_profiler_options *options)
{
	if (!options->setup->waits)
		return NULL;
	struct vmop_error *err = NULL;
	if (!profiler->root || *profiler->root)
		profiler->no_waits = strdup("the records are of another machine");
	else
		err = vmop_guest_waits_create(&profiler->domains, &profiler->waits);
	if (err && err->code == VMOP_ERROR_CANT) {
		profiler->no_waits = strdup(err->message);
		vmop_log_warning("the time of vCPUs is not divided (--waits): %s", err->message);
		vmop_error_destroy(err);
		err = NULL;
	}
	if (!err && profiler->no_waits) {
		_cleanup_free_ char *text = NULL;
		if (asprintf(&text, "off, because %s", profiler->no_waits) < 0)
			return &vmop_error_no_memory;
		return vmop_db_put_info(profiler->db, "waits", text);
	}
	if (err || !profiler->waits)
		return err ? err : &vmop_error_no_memory;
	const char *no_exits = vmop_guest_waits_no_exits(profiler->waits);
	err = vmop_db_put_info(profiler->db, "waits", "on");
	if (!err && no_exits)
		err = vmop_db_put_info(profiler->db, "no_exits", no_exits);
	return err;
}

/* Prepare the images, tasks and processes of this machine, or of the recorded one. */
static struct vmop_error *init_host(struct vmop_profiler *profiler,
				    const struct vmop_profiler_options *options)
{
	bool separates_threads = options->setup->separate & VMOP_SETUP_SEPARATE_THREAD;
	if (!options->is_replay) {
		profiler->root = strdup(options->proc_root ? options->proc_root : "");
		if (!profiler->root)
			return &vmop_error_no_memory;
	}
	profiler->monotonic_to_realtime_ns = vmop_clock_monotonic_to_realtime_ns();
	add_blocked_event(profiler, &options->setup->off_cpu);
	struct vmop_error *err = vmop_images_init(&profiler->images, IMAGES_MAX);
	if (err)
		return err;
	profiler->keeps_tasks = options->keeps_tasks || separates_threads;
	profiler->wants_context = vmop_setup_wants_guest_context(options->setup);
	profiler->tasks = (struct vmop_tasks){.next_id = 1, .images = &profiler->images};
	err = vmop_processes_init(&profiler->processes, profiler->root, &profiler->images,
				  &profiler->tasks, separates_threads);
	if (!err && profiler->root)
		err = vmop_proc_text_create(&profiler->proc_text);
	profiler->processes.proc_text = profiler->proc_text;
	profiler->processes.reader_nice = options->setup->nice;
	return err;
}

/* Prepare the domains, and the provider that finds them. */
static struct vmop_error *init_domains(struct vmop_profiler *profiler,
				       const struct vmop_profiler_options *options)
{
	struct vmop_error *err = vmop_domain_patterns_init(&profiler->passive, options);
	if (!err)
		err = vmop_domains_init(&profiler->domains, profiler->root, options->given_uuid,
					&profiler->images, &profiler->processes,
					&profiler->passive);
	if (err)
		return err;
	profiler->domains.goes_on = options->goes_on;
	profiler->domains.is_read_elsewhere = options->is_read_elsewhere;
	return vmop_domain_provider_create(options, profiler->source, &profiler->domains,
					   &profiler->provider);
}

/* Read the symbols of the host's kernel, and find its vDSO. */
static struct vmop_error *init_kernel(struct vmop_profiler *profiler,
				      const struct vmop_profiler_options *options)
{
	struct vmop_error *err =
		vmop_kernel_init(&profiler->kernel, profiler->root, &profiler->images);
	if (!err)
		err = use_vmlinux(profiler, options);
	if (err)
		return err;
	vmop_domain_set_symbols_from(profiler->domains.at[VMOP_DOMAIN_ID_HOST.number],
				     profiler->kernel.symbols_from);
	profiler->vdso = vmop_images_named(&profiler->images, VMOP_DOMAIN_ID_HOST, VMOP_IMAGE_VDSO,
					   "[vdso]", 0, 0);
	if (profiler->root)
		vmop_examine_vdso(&profiler->images, profiler->vdso);
	return NULL;
}

/* Allocate the tables that count samples. */
static struct vmop_error *init_aggregate(struct vmop_profiler *profiler,
					 const struct vmop_profiler_options *options)
{
	bool has_stacks = options->stacks.mode != VMOP_STACKS_OFF || profiler->has_blocked;
	if (vmop_aggregate_init(&profiler->aggregate, vmop_profiler_first_cells(),
				has_stacks ? VMOP_AGGREGATE_STACK_KEYS_MAX
					   : VMOP_AGGREGATE_KEYS_MAX,
				options->memory_bytes / 4))
		return NULL;
	return &vmop_error_no_memory;
}

/* Prepare to read build-ids, and the names and bytes of code that cannot be read later. */
static struct vmop_error *init_readers(struct vmop_profiler *profiler,
				       const struct vmop_profiler_options *options)
{
	uint64_t own_mount_ns =
		profiler->root ? vmop_procfs_mount_ns(profiler->root, (uint32_t)getpid()) : 0;
	struct vmop_error *err =
		vmop_examiner_create(&profiler->processes, own_mount_ns,
				     profiler->provider->keeps_file_symbols, &profiler->examiner);
	if (!err)
		err = vmop_perf_maps_create(&profiler->processes, &profiler->code_names,
					    &profiler->perf_maps);
	if (!err && profiler->root && options->setup->code_bytes && !options->is_replay)
		err = create_code(profiler, options->setup->code_bytes);
	if (!err)
		err = create_jit_samples(profiler, options->memory_bytes / 8);
	return err;
}

/* Begin to watch passive guests, unless the set-up forbids to read their memory. */
static struct vmop_error *init_guests(struct vmop_profiler *profiler,
				      const struct vmop_profiler_options *options)
{
	if (!profiler->root || !options->setup->guest_cpu_permille)
		return NULL;
	struct vmop_error *err =
		vmop_guests_create(&profiler->domains, &profiler->images, &profiler->tasks,
				   options->setup->guest_cpu_permille, &options->setup->off_cpu,
				   options->guest_watch, &profiler->guests);
	if (err || !profiler->guests)
		return err;
	vmop_guests_set_maps(profiler->guests, vmop_source_guest_maps(profiler->source, NULL),
			     &options->stacks);
	vmop_guests_set_code(profiler->guests, profiler->code);
	return NULL;
}

/* Give the attribution of samples its parts: all others exist. */
static void init_attribution(struct vmop_profiler *profiler, const struct vmop_setup *setup)
{
	profiler->attribution = (struct vmop_attribution){
		.images = &profiler->images,
		.tasks = &profiler->tasks,
		.processes = &profiler->processes,
		.domains = &profiler->domains,
		.provider = profiler->provider,
		.kernel = &profiler->kernel,
		.aggregate = &profiler->aggregate,
		.guests = profiler->guests,
		.stacks = profiler->stacks,
		.jit_samples = profiler->jit_samples,
		.separate = setup->separate,
		.max_frames = setup->stacks.max_frames,
		.blocked_event = {(uint32_t)vmop_source_n_events(profiler->source)},
		.n_events = (uint32_t)vmop_source_n_events(profiler->source),
	};
}

static struct vmop_error *profiler_init(struct vmop_profiler *profiler,
					const struct vmop_profiler_options *options)
{
	struct vmop_error *err = init_host(profiler, options);
	if (!err)
		err = init_domains(profiler, options);
	if (!err)
		err = init_kernel(profiler, options);
	if (!err)
		err = init_aggregate(profiler, options);
	if (!err)
		err = init_readers(profiler, options);
	if (!err)
		err = create_stacks(profiler, &options->stacks, options->memory_bytes / 2);
	if (!err)
		err = init_guests(profiler, options);
	if (err)
		return err;
	init_attribution(profiler, options->setup);
	err = create_waits(profiler, options);
	return err ? err : put_known(profiler);
}

struct vmop_error *vmop_profiler_create(const struct vmop_profiler_options *options,
					struct vmop_source *source, struct vmop_db *db,
					struct vmop_profiler **ret)
{
	struct vmop_profiler *profiler = calloc(1, sizeof(*profiler));
	if (!profiler)
		return &vmop_error_no_memory;
	profiler->source = source;
	profiler->db = db;
	vmop_source_stats(source, &profiler->begun);
	struct vmop_error *err = profiler_init(profiler, options);
	if (err) {
		vmop_profiler_destroy(profiler);
		return err;
	}
	*ret = profiler;
	return NULL;
}

void vmop_profiler_destroy(struct vmop_profiler *profiler)
{
	if (!profiler)
		return;
	vmop_examiner_destroy(profiler->examiner);
	vmop_perf_maps_destroy(profiler->perf_maps);
	vmop_code_pages_destroy(profiler->code_pages);
	vmop_kernel_code_destroy(profiler->kernel_code);
	vmop_jit_samples_destroy(profiler->jit_samples);
	vmop_jitdumps_destroy(profiler->jitdumps);
	vmop_proc_text_destroy(profiler->proc_text);
	vmop_guests_destroy(profiler->guests);
	vmop_guest_waits_destroy(profiler->waits);
	free(profiler->no_waits);
	vmop_guest_watch_destroy(profiler->watch);
	vmop_code_store_destroy(profiler->code);
	vmop_stacks_destroy(profiler->stacks);
	vmop_stacked_chunk_deinit(&profiler->stacked);
	vmop_domain_provider_destroy(profiler->provider);
	vmop_processes_deinit(&profiler->processes);
	vmop_domains_deinit(&profiler->domains);
	vmop_kernel_deinit(&profiler->kernel);
	vmop_domain_patterns_deinit(&profiler->passive);
	vmop_tasks_deinit(&profiler->tasks);
	vmop_short_lived_deinit(&profiler->short_lived);
	vmop_aggregate_deinit(&profiler->aggregate);
	vmop_images_deinit(&profiler->images);
	free(profiler->root);
	free(profiler);
}
