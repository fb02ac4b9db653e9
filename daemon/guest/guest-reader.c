// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/guest-reader.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/guest/context/request-limits.h"
#include "daemon/guest/guest-file.h"
#include "daemon/guest/off-cpu/sampler.h"
#include "daemon/guest/stacks/orc-tables.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"

/* How long after a failed search a guest is searched again: at first, and at most. */
#define FIRST_RETRY_NS VMOP_NS_PER_S
#define LAST_RETRY_NS (60 * VMOP_NS_PER_S)

/*
 * How long the clock of a kernel may stand still before the kernel is searched again (see
 * vmop_guest_kernel_state): at first, and at most, for a guest that was only paused.
 */
#define FIRST_UNCERTAIN_NS (10 * VMOP_NS_PER_S)
#define LAST_UNCERTAIN_NS (600 * VMOP_NS_PER_S)

/* Failed searches before a notice is logged, once: until then the guest may be booting. */
#define FAILURES_BEFORE_NOTICE 4

/* The shortest time between two lists of processes. */
#define LIST_GAP_NS (250 * VMOP_NS_PER_MS)

/* With contexts, what they make unnecessary is read more rarely by these factors. */
#define RARE_SNAPSHOTS 5
#define RARE_READINGS 20

struct vmop_guest_reader {
	const struct vmop_guest_reader_options *options;
	struct vmop_guest_opener opener;

	/* The guest's kernel: */
	struct vmop_guest_code *code; /* NULL: no kernel is known */
	struct vmop_guest_tasks *tasks, *tasks_before;
	struct vmop_guest_orc_tables *orc; /* of the code; NULL: not wanted */
	struct vmop_guest_numbers numbers; /* generation 0: not known */
	struct vmop_guest_request_limits limits;
	struct vmop_blocked_sampler *sampler; /* NULL: not wanted */
	struct vmop_guest_vcpu_readings *vcpus;
	uint32_t n_vcpus;
	uint32_t code_generation, tasks_generation;
	uint32_t stripped_generation; /* the code whose symbols were dropped */
	uint32_t session;	      /* see vmop_guest_wishes */
	bool needs_symbols;	      /* the new session does not have those of the code */

	bool needs_search;		  /* no kernel is known, or the known one may be gone */
	uint64_t search_due_ns, retry_ns; /* the time of the next search; its delay if it fails */
	unsigned n_failures;		  /* searches in a row */
	uint64_t snapshot_due_ns, reading_due_ns, modules_due_ns;
	uint64_t check_due_ns;	     /* whether the kernel still runs */
	uint64_t listed_ns;	     /* when processes were last listed */
	uint64_t uncertain_since_ns; /* 0: the kernel runs */
	uint64_t uncertain_limit_ns;
	bool was_seen_running; /* the kernel; see is_complete */
	char *error;
};

/* ---- the kernel ----------------------------------------------------------- */

static void remember_error(struct vmop_guest_reader *reader, struct vmop_error *err)
{
	free(reader->error);
	reader->error = err ? strdup(err->message) : NULL;
	vmop_error_destroy(err);
}

static void forget_kernel(struct vmop_guest_reader *reader)
{
	vmop_blocked_sampler_destroy(reader->sampler);
	reader->sampler = NULL;
	vmop_guest_code_unref(reader->code);
	vmop_guest_tasks_unref(reader->tasks);
	vmop_guest_tasks_unref(reader->tasks_before);
	vmop_guest_orc_tables_unref(reader->orc);
	free(reader->vcpus);
	reader->code = NULL;
	reader->tasks = reader->tasks_before = NULL;
	reader->orc = NULL;
	reader->numbers = (struct vmop_guest_numbers){0};
	reader->vcpus = NULL;
	reader->n_vcpus = 0;
	reader->uncertain_since_ns = 0;
	reader->was_seen_running = false;
}

static struct vmop_error *find_kernel(struct vmop_guest_reader *reader)
{
	struct vmop_error *err = vmop_guest_opener_open(&reader->opener, reader->n_failures);
	return err ? err : vmop_guest_find_kernel(reader->opener.guest);
}

static bool is_same_kernel(const struct vmop_guest_kernel_info *a,
			   const struct vmop_guest_kernel_info *b)
{
	return a->text_start == b->text_start && a->text_gpa == b->text_gpa &&
	       !strcmp(a->banner, b->banner);
}

/* Return whether as much of the same kernel was found as before. */
static bool is_as_complete(const struct vmop_guest_kernel_info *a,
			   const struct vmop_guest_kernel_info *b)
{
	return a->has_processes == b->has_processes && a->symbols == b->symbols &&
	       a->cpus == b->cpus;
}

/*
 * Find the numbers by which a context is captured at a sample. The generation is new for each
 * kernel of any guest, also in later sessions.
 */
static void take_numbers(struct vmop_guest_reader *reader)
{
	static _Atomic uint64_t last;
	struct vmop_error *err = vmop_guest_sample_numbers(reader->opener.guest, &reader->numbers);
	reader->numbers.generation = err ? 0 : atomic_fetch_add(&last, 1) + 1;
	vmop_error_destroy(err);
}

static struct vmop_error *create_sampler(struct vmop_guest_reader *reader)
{
	const struct vmop_off_cpu *off_cpu = &reader->options->off_cpu;
	if (!off_cpu->hz || !reader->code->kernel.has_processes)
		return NULL;
	return vmop_blocked_sampler_create(reader->opener.guest, off_cpu, &reader->sampler);
}

static struct vmop_error *take_kernel(struct vmop_guest_reader *reader)
{
	struct vmop_error *err = find_kernel(reader);
	if (err)
		return err;
	const struct vmop_guest_kernel_info *found = vmop_guest_kernel_info(reader->opener.guest);
	if (reader->code && is_same_kernel(&reader->code->kernel, found) &&
	    is_as_complete(&reader->code->kernel, found)) {
		/* The guest was only paused. */
		if (reader->stripped_generation == reader->code->generation)
			vmop_guest_drop_symbols(reader->opener.guest);
		return NULL;
	}
	forget_kernel(reader);
	reader->code = vmop_guest_code_create(reader->opener.guest, ++reader->code_generation);
	if (!reader->code)
		return &vmop_error_no_memory;
	take_numbers(reader);
	uint32_t cpus = reader->code->kernel.cpus;
	reader->n_vcpus = cpus < VMOP_GUEST_VCPUS_MAX ? cpus : VMOP_GUEST_VCPUS_MAX;
	reader->vcpus = calloc(reader->n_vcpus ? reader->n_vcpus : 1, sizeof(*reader->vcpus));
	if (!reader->vcpus)
		return &vmop_error_no_memory;
	return create_sampler(reader);
}

/* Find the guest's kernel, or schedule the next attempt. */
static void search(struct vmop_guest_reader *reader, uint64_t now_ns)
{
	struct vmop_error *err = take_kernel(reader);
	if (!err) {
		reader->needs_search = false;
		reader->uncertain_since_ns = 0;
		reader->retry_ns = FIRST_RETRY_NS;
		reader->n_failures = 0;
		reader->snapshot_due_ns = reader->reading_due_ns = now_ns;
		remember_error(reader, NULL);
		return;
	}
	if (reader->n_failures++ == FAILURES_BEFORE_NOTICE)
		vmop_log_notice("guest of %s %u: %s; its samples stay addresses",
				reader->opener.holder.is_xen ? "Xen, id" : "process",
				reader->opener.holder.number, err->message);
	remember_error(reader, err);
	forget_kernel(reader);
	/* The VMM may have mapped RAM anew by the next attempt: open it again. */
	vmop_guest_opener_close(&reader->opener);
	reader->search_due_ns = now_ns + reader->retry_ns;
	reader->retry_ns =
		2 * reader->retry_ns < LAST_RETRY_NS ? 2 * reader->retry_ns : LAST_RETRY_NS;
}

/*
 * Return whether all of a kernel that runs was there when it was found. The memory of a guest that
 * is on its way from another host, or out of a file, is filled before the guest runs, and a kernel
 * can be found in it when other parts, like its BTF, are still missing. So one that stood still, or
 * seems to lack its processes, is searched once more as soon as it runs.
 */
static bool is_complete(struct vmop_guest_reader *reader)
{
	bool may_lack_parts = reader->uncertain_since_ns || !reader->code->kernel.has_processes;
	bool was_seen_running = reader->was_seen_running;
	reader->was_seen_running = true;
	return was_seen_running || !may_lack_parts;
}

/* Return whether the known kernel still runs, and is complete; if not, schedule a search. */
static bool still_runs(struct vmop_guest_reader *reader, uint64_t now_ns)
{
	switch (vmop_guest_kernel_state(reader->opener.guest)) {
	case VMOP_GUEST_KERNEL_CURRENT:
		reader->uncertain_limit_ns = FIRST_UNCERTAIN_NS;
		if (!is_complete(reader))
			break;
		reader->uncertain_since_ns = 0;
		return true;
	case VMOP_GUEST_KERNEL_UNCERTAIN:
		if (!reader->uncertain_since_ns)
			reader->uncertain_since_ns = now_ns;
		if (now_ns - reader->uncertain_since_ns < reader->uncertain_limit_ns)
			return true;
		if (reader->uncertain_limit_ns < LAST_UNCERTAIN_NS)
			reader->uncertain_limit_ns *= 2;
		break;
	case VMOP_GUEST_KERNEL_NONE:
	case VMOP_GUEST_KERNEL_GONE:
		forget_kernel(reader);
		break;
	}
	reader->needs_search = true;
	reader->search_due_ns = now_ns;
	return false;
}

/* ---- what the kernel has -------------------------------------------------- */

static void snapshot(struct vmop_guest_reader *reader)
{
	struct vmop_guest_snapshot *found;
	struct vmop_error *err = vmop_guest_snapshot_processes(reader->opener.guest, 0, &found);
	remember_error(reader, err);
	if (err)
		return;
	vmop_guest_tasks_unref(reader->tasks_before);
	reader->tasks_before = reader->tasks;
	reader->tasks = vmop_guest_tasks_create(found, ++reader->tasks_generation);
}

static void refresh_modules(struct vmop_guest_reader *reader)
{
	bool is_changed = false;
	vmop_error_destroy(vmop_guest_refresh_modules(reader->opener.guest, &is_changed));
	if (!is_changed)
		return;
	struct vmop_guest_code *code =
		vmop_guest_code_create(reader->opener.guest, ++reader->code_generation);
	if (!code)
		return;
	vmop_guest_code_inherit(code, reader->code);
	vmop_guest_code_unref(reader->code);
	reader->code = code;
}

/*
 * Drop the symbols of the kernel, some 8 MiB in libguest and as much in the code, which the
 * sampling thread has copied.  Modules that are loaded later have their own.
 */
static bool drop_symbols(struct vmop_guest_reader *reader)
{
	struct vmop_guest_code *stripped = vmop_guest_code_strip(reader->code);
	if (!stripped)
		return false;
	vmop_guest_code_unref(reader->code);
	reader->code = stripped;
	reader->stripped_generation = stripped->generation;
	vmop_guest_drop_symbols(reader->opener.guest);
	malloc_trim(0); /* without it, glibc keeps half of the memory */
	return true;
}

/* Read the unwind tables of new code. Return whether they changed. */
static bool read_orc_tables(struct vmop_guest_reader *reader,
			    const struct vmop_guest_wishes *wishes)
{
	uint32_t generation = reader->code->generation;
	if (reader->orc && reader->orc->code_generation == generation &&
	    (reader->orc->has_code || !wishes->wants_code))
		return false;
	struct vmop_guest_orc_tables *orc = vmop_guest_orc_tables_publish(
		reader->opener.guest, generation, wishes->wants_code, reader->orc);
	if (!orc)
		return false;
	vmop_guest_orc_tables_unref(reader->orc);
	reader->orc = orc;
	return true;
}

/* Take the next snapshot sooner, because there is a process that the last one does not have. */
static void expedite_snapshot(struct vmop_guest_reader *reader)
{
	uint64_t soon_ns = reader->listed_ns + LIST_GAP_NS;
	if (soon_ns < reader->snapshot_due_ns)
		reader->snapshot_due_ns = soon_ns;
}

static void read_vcpus(struct vmop_guest_reader *reader, bool has_contexts)
{
	struct vmop_guest_current current[VMOP_GUEST_VCPUS_MAX];
	size_t n = 0;
	uint64_t time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_error_destroy(
		vmop_guest_current_tasks(reader->opener.guest, current, reader->n_vcpus, &n));
	for (size_t i = 0; i < n; i++) {
		const struct vmop_guest_reading *reading = vmop_guest_readings_put(
			reader->vcpus, reader->n_vcpus, &current[i], time_ns);
		if (reading && !has_contexts && reading->pid && !reading->is_kernel_thread &&
		    !vmop_guest_tasks_find(reader->tasks, reading))
			expedite_snapshot(reader);
	}
}

/* Read the blocked threads if they are due. */
static void sample_blocked(struct vmop_guest_reader *reader, unsigned share_permille,
			   uint64_t now_ns)
{
	struct vmop_blocked_sampler *sampler = reader->sampler;
	if (!sampler || !reader->tasks || !reader->orc || reader->orc->unusable ||
	    now_ns < vmop_blocked_sampler_due_ns(sampler))
		return;
	struct vmop_error *err = vmop_blocked_sampler_round(
		sampler, reader->orc, reader->tasks->snapshot, share_permille, now_ns);
	if (err)
		remember_error(reader, err);
	if (vmop_blocked_sampler_wants_list(sampler))
		expedite_snapshot(reader);
}

/* Begin anew what belongs to a session. What is known of the guest stays. */
static void begin_session(struct vmop_guest_reader *reader, uint32_t session)
{
	reader->session = session;
	memset(reader->limits.deleted, 0, sizeof(reader->limits.deleted));
	if (!reader->code)
		return;
	reader->needs_symbols = reader->stripped_generation; /* else the code has them */
	reader->check_due_ns = 0;			     /* the VMM may have ended meanwhile */
	vmop_blocked_sampler_destroy(reader->sampler);
	reader->sampler = NULL;
	remember_error(reader, create_sampler(reader));
}

/* Read the kernel's symbols again, which a new session does not have. */
static bool reload_symbols(struct vmop_guest_reader *reader)
{
	reader->needs_symbols = false;
	if (!vmop_guest_reload_symbols(reader->opener.guest))
		return false;
	struct vmop_guest_code *code =
		vmop_guest_code_create(reader->opener.guest, ++reader->code_generation);
	if (!code)
		return false;
	vmop_guest_code_unref(reader->code);
	reader->code = code;
	return true;
}

bool vmop_guest_reader_update(struct vmop_guest_reader *reader,
			      const struct vmop_guest_wishes *wishes, unsigned blocked_permille,
			      uint64_t now_ns)
{
	const struct vmop_guest_reader_options *options = reader->options;
	bool is_new_session = wishes->session != reader->session, is_news = false;
	if (is_new_session)
		begin_session(reader, wishes->session);
	if (reader->needs_search) {
		if (now_ns < reader->search_due_ns)
			return false;
		search(reader, now_ns);
		if (reader->needs_search)
			return true;
		reader->modules_due_ns = now_ns + options->modules_ns;
		is_news = true; /* and its processes at once: samples wait for them */
	}
	/* The view comes first, because samples wait for it. */
	if (reader->needs_symbols && !is_new_session)
		is_news |= reload_symbols(reader);
	if (wishes->taken_generation == reader->code->generation &&
	    wishes->taken_generation != reader->stripped_generation)
		is_news |= drop_symbols(reader);
	bool has_processes = reader->code->kernel.has_processes;
	bool is_list_due = has_processes && now_ns >= reader->snapshot_due_ns;
	if (is_list_due || now_ns >= reader->check_due_ns) {
		if (!is_news && !still_runs(reader, now_ns))
			return true;
		reader->check_due_ns = now_ns + options->snapshot_ns;
	}
	is_news |= is_new_session;
	if (is_list_due) {
		snapshot(reader);
		reader->listed_ns = now_ns;
		reader->snapshot_due_ns =
			now_ns + options->snapshot_ns * (wishes->has_contexts ? RARE_SNAPSHOTS : 1);
		is_news = true;
	}
	if (now_ns >= reader->modules_due_ns) {
		refresh_modules(reader);
		reader->modules_due_ns = now_ns + options->modules_ns;
		is_news = true;
	}
	if (wishes->wants_stacks || reader->sampler)
		is_news |= read_orc_tables(reader, wishes);
	if (has_processes && now_ns >= reader->reading_due_ns) {
		read_vcpus(reader, wishes->has_contexts);
		reader->reading_due_ns =
			now_ns + options->reading_ns * (wishes->has_contexts ? RARE_READINGS : 1);
		is_news = true;
	}
	sample_blocked(reader, blocked_permille, now_ns);
	return is_news;
}

bool vmop_guest_reader_publish_blocked(struct vmop_guest_reader *reader,
				       struct vmop_blocked_batch **batch,
				       struct vmop_blocked_facts *ret_facts)
{
	if (!reader->sampler)
		return false;
	vmop_blocked_sampler_publish(reader->sampler, batch);
	vmop_blocked_sampler_facts(reader->sampler, ret_facts);
	return true;
}

uint64_t vmop_guest_reader_blocked_due_ns(const struct vmop_guest_reader *reader)
{
	return reader->sampler ? vmop_blocked_sampler_due_ns(reader->sampler) : 0;
}

/* ---- views ---------------------------------------------------------------- */

static const char *state_of(const struct vmop_guest_reader *reader)
{
	if (!reader->code)
		return reader->opener.is_readable ? "no kernel found" : "its memory can't be read";
	return vmop_guest_view_state(reader->code, reader->tasks);
}

struct vmop_guest_view *vmop_guest_reader_make_view(const struct vmop_guest_reader *reader)
{
	struct vmop_guest_view *view = calloc(1, sizeof(*view));
	if (!view)
		return NULL;
	view->refs = 1;
	view->code = vmop_guest_code_ref(reader->code);
	view->tasks = vmop_guest_tasks_ref(reader->tasks);
	view->tasks_before = vmop_guest_tasks_ref(reader->tasks_before);
	view->orc = vmop_guest_orc_tables_ref(reader->orc);
	view->numbers = reader->numbers;
	view->state = state_of(reader);
	/* A VMM that has only started may have no readable memory yet. */
	view->may_be_booting = !reader->code && reader->n_failures <= FAILURES_BEFORE_NOTICE;
	view->error = reader->error ? strdup(reader->error) : NULL;
	view->made_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	view->cost = vmop_guest_opener_cost(&reader->opener);
	if (reader->n_vcpus) {
		size_t bytes = reader->n_vcpus * sizeof(*view->vcpus);
		view->vcpus = malloc(bytes);
		if (view->vcpus) {
			memcpy(view->vcpus, reader->vcpus, bytes);
			view->n_vcpus = reader->n_vcpus;
		}
	}
	return view;
}
/* ---- requests ------------------------------------------------------------- */

struct vmop_symtab *vmop_guest_reader_read_symbols(struct vmop_guest_reader *reader, uint64_t file,
						   const struct vmop_build_id *build_id,
						   bool *ret_is_gone)
{
	_cleanup_close_ int fd = -1;
	*ret_is_gone = false;
	if (!reader->code)
		return NULL;
	struct vmop_error *err = vmop_guest_file_copy(reader->opener.guest, file, &fd);
	*ret_is_gone = err && err->code == VMOP_ERROR_NOT_FOUND;
	vmop_error_destroy(err);
	return fd < 0 ? NULL : vmop_guest_file_symbols(fd, build_id, ret_is_gone);
}

enum vmop_code_state vmop_guest_reader_build_table(struct vmop_guest_reader *reader,
						   const struct vmop_guest_code_mapping *mapping,
						   const char *host_path,
						   struct vmop_cfi_table **ret)
{
	*ret = NULL;
	if (!reader->code)
		return VMOP_CODE_UNREADABLE;
	return vmop_guest_table_build(reader->opener.guest, mapping, host_path, ret);
}

enum vmop_guest_probed vmop_guest_reader_probe(struct vmop_guest_reader *reader,
					       const struct vmop_guest_probe *probe,
					       uint8_t ret[VMOP_GUEST_PROBE_BYTES])
{
	if (!reader->code || !reader->tasks)
		return VMOP_GUEST_PROBE_WAITS;
	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(reader->tasks->snapshot, probe->pid);
	if (process && !strcmp(process->comm, probe->comm) &&
	    vmop_guest_read_process(reader->opener.guest, process->task, process->pid,
				    process->start_time_ns, probe->address, ret,
				    VMOP_GUEST_PROBE_BYTES))
		return VMOP_GUEST_PROBE_READ;
	expedite_snapshot(reader);
	return reader->listed_ns < probe->since_ns ? VMOP_GUEST_PROBE_WAITS
						   : VMOP_GUEST_PROBE_ABSENT;
}

void vmop_guest_reader_answer(struct vmop_guest_reader *reader,
			      const struct vmop_guest_request *request,
			      struct vmop_guest_answer *ret)
{
	if (!reader->code || reader->numbers.generation != request->generation) {
		*ret = (struct vmop_guest_answer){.request = *request, .is_gone = true};
		return;
	}
	vmop_guest_serve_limited(&reader->limits, reader->opener.guest, request,
				 vmop_clock_ns(CLOCK_MONOTONIC), ret);
}

/* ---- its life ------------------------------------------------------------- */

struct vmop_error *vmop_guest_reader_create(const struct vmop_guest_reader_options *options,
					    struct vmop_guest_holder holder,
					    struct vmop_guest_reader **ret)
{
	struct vmop_guest_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return &vmop_error_no_memory;
	reader->options = options;
	reader->opener.holder = holder;
	reader->opener.profiles = options->profiles;
	reader->needs_search = true;
	reader->retry_ns = FIRST_RETRY_NS;
	reader->uncertain_limit_ns = FIRST_UNCERTAIN_NS;
	*ret = reader;
	return NULL;
}

void vmop_guest_reader_destroy(struct vmop_guest_reader *reader)
{
	if (!reader)
		return;
	forget_kernel(reader);
	vmop_guest_close(reader->opener.guest);
	free(reader->error);
	free(reader);
}
