// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/watch.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/guest/context/requests.h"
#include "daemon/guest/context/serve.h"
#include "daemon/guest/guest-file.h"
#include "daemon/guest/off-cpu/sampler.h"
#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/vmm.h"
#include "daemon/host/procfs.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/worker.h"

/* The CPU time that a new guest may take at once: a kernel is found within half a second. */
#define FIRST_CREDIT_NS ((int64_t)(2 * VMOP_NS_PER_S))
/* The largest credit, so that a quiet hour does not allow a busy minute. */
#define MAX_CREDIT_NS ((int64_t)(2 * VMOP_NS_PER_S))

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

/* Failed searches before QMP is used to locate the guest's RAM. */
#define QMP_AFTER_FAILURES 2

/* The shortest time between two lists of processes. */
#define LIST_GAP_NS (250 * VMOP_NS_PER_MS)

#define FILE_QUEUE 64

/*
 * Requests about contexts of one guest that are served in a second, and at once. They do not count
 * against the budget of CPU time, because they cannot wait: a page's file can be gone soon.
 */
#define REQUESTS_A_SECOND 300
#define REQUESTS_AT_ONCE 600

/* Deleted files of a guest whose symbols were read: they are not read for each of their pages. */
#define DELETED_FILES 16

/* With contexts, what they make unnecessary is read more rarely by these factors. */
#define RARE_SNAPSHOTS 5
#define RARE_READINGS 20

/* An update that is under way at the end takes less, unless it hangs. */
#define END_WAIT_MS 5000

struct file_request {
	struct vmop_domain_id domain;
	struct vmop_image_slot image;
	uint64_t file;
};

/* What the sampling thread wants of a guest. */
struct wishes {
	uint32_t taken_generation; /* the code that it has copied */
	bool wants_stacks, wants_code;
	bool has_contexts; /* samples show what the vCPUs run */
};

struct watched {
	struct watched *next;
	struct vmop_domain_id domain;
	struct vmop_guest_holder holder;
	const char *profiles; /* owned by the watch */
	bool is_removed;

	/* Only the watching thread uses these. */
	struct vmop_guest *guest;
	struct vmop_guest_code *code;
	struct vmop_guest_tasks *tasks, *tasks_before;
	struct vmop_guest_orc_tables *orc; /* of the code; NULL: not wanted */
	struct vmop_guest_numbers numbers; /* generation 0: not known */
	uint32_t n_kernels;		   /* that were found so far */
	uint64_t request_room_ns;	   /* time that requests may use up, each its share */
	uint64_t requests_earned_ns;	   /* when room was last added */
	struct vmop_guest_page_key deleted[DELETED_FILES]; /* index 0 in all; a ring */
	unsigned n_deleted;				   /* written in all */
	struct vmop_blocked_sampler *sampler;		   /* NULL: none is wanted */
	struct vmop_guest_vcpu_readings *vcpus;
	uint32_t n_vcpus;
	uint32_t code_generation, tasks_generation;
	uint32_t stripped_generation;	  /* the code whose symbols were dropped */
	bool needs_search;		  /* no kernel is known, or the known one may be gone */
	uint64_t search_due_ns, retry_ns; /* the time of the next search; its delay if it fails */
	uint64_t snapshot_due_ns, reading_due_ns, modules_due_ns;
	uint64_t check_due_ns;	     /* whether the kernel still runs */
	uint64_t listed_ns;	     /* when processes were last listed */
	uint64_t uncertain_since_ns; /* 0: the kernel runs */
	uint64_t uncertain_limit_ns;
	unsigned n_failures; /* searches in a row */
	bool is_qmp_refused; /* the VMM has no QMP socket, or did not answer there */
	char *error;
	bool is_readable;	     /* the last attempt to open its memory succeeded */
	struct vmop_guest_cost cost; /* of guests opened and closed before this one */

	/* Under the lock. */
	struct vmop_guest_view *view;	    /* published */
	struct vmop_blocked_batch *blocked; /* NULL: none, or taken */
	struct vmop_blocked_facts blocked_facts;
	struct wishes wishes;
};

struct vmop_guest_watch {
	/*
	 * The thread may hang, because a guest's memory can be on a file system that does not
	 * answer.  The worker's lock protects the lists and queues.
	 */
	struct vmop_worker worker;
	struct watched *guests;
	struct file_request requests[FILE_QUEUE];
	unsigned n_requests;
	struct vmop_guest_file_symbols results[FILE_QUEUE];
	unsigned n_results;
	struct vmop_guest_requests contexts;
	struct vmop_guest_table_queue tables;

	unsigned cpu_permille;
	char *profiles;
	uint64_t snapshot_ns, modules_ns, reading_ns;
	struct vmop_off_cpu off_cpu;
	unsigned n_sampled;   /* guests with a sampler, in the last update of all */
	int64_t credit_ns;    /* CPU time left to spend; under the lock */
	uint64_t credited_ns; /* when credit was last added */
};

/* ---- one guest ------------------------------------------------ */

static struct vmop_guest_cost cost_of(const struct watched *watched)
{
	struct vmop_guest_cost cost = watched->cost;
	if (watched->guest) {
		struct vmop_guest_cost now = vmop_guest_total_cost(watched->guest);
		cost.cpu_ns += now.cpu_ns;
		cost.read_bytes += now.read_bytes;
		cost.retries += now.retries;
	}
	return cost;
}

static void remember_error(struct watched *watched, struct vmop_error *err)
{
	free(watched->error);
	watched->error = err ? strdup(err->message) : NULL;
	vmop_error_destroy(err);
}

static void forget_kernel(struct watched *watched)
{
	vmop_blocked_sampler_destroy(watched->sampler);
	watched->sampler = NULL;
	vmop_guest_code_unref(watched->code);
	vmop_guest_tasks_unref(watched->tasks);
	vmop_guest_tasks_unref(watched->tasks_before);
	vmop_guest_orc_tables_unref(watched->orc);
	free(watched->vcpus);
	watched->code = NULL;
	watched->tasks = watched->tasks_before = NULL;
	watched->orc = NULL;
	watched->numbers = (struct vmop_guest_numbers){0};
	watched->vcpus = NULL;
	watched->n_vcpus = 0;
	watched->uncertain_since_ns = 0;
}

static void close_guest(struct watched *watched)
{
	watched->cost = cost_of(watched);
	vmop_guest_close(watched->guest);
	watched->guest = NULL;
}

static struct vmop_error *open_guest(struct watched *watched, const char *qmp_socket)
{
	if (watched->guest)
		return NULL;
	struct vmop_guest_options options = {.qmp_socket = qmp_socket,
					     .profile = watched->profiles};
	struct vmop_error *err =
		watched->holder.is_xen
			? vmop_guest_open_xen(watched->holder.number, &options, &watched->guest)
			: vmop_guest_open_pid((pid_t)watched->holder.number, &options,
					      &watched->guest);
	watched->is_readable = !err;
	return err;
}

/* Find the path on this machine of the socket on which the VMM listens for QMP clients. */
static bool qmp_socket_of(uint32_t vmm_pid, char *ret, size_t size)
{
	char cmdline[16384], path[PATH_MAX];
	ssize_t len = vmop_procfs_read("", cmdline, sizeof(cmdline), "/proc/%u/cmdline", vmm_pid);
	if (len <= 0 || !vmop_vmm_qmp_socket(cmdline, (size_t)len, path, sizeof(path)))
		return false;
	int needed = snprintf(ret, size, "/proc/%u/%s%s", vmm_pid, path[0] == '/' ? "root" : "cwd/",
			      path);
	return needed > 0 && (size_t)needed < size;
}

/*
 * Open the guest, and locate its RAM by QMP.  A QMP socket serves one client at a time, so this is
 * the last resort, takes milliseconds, and is not repeated after a refusal: a manager of the VMM
 * may be connected.
 */
static bool open_guest_by_qmp(struct watched *watched)
{
	char path[128];
	if (watched->n_failures < QMP_AFTER_FAILURES || watched->is_qmp_refused ||
	    watched->holder.is_xen)
		return false;
	watched->is_qmp_refused = !qmp_socket_of(watched->holder.number, path, sizeof(path));
	if (watched->is_qmp_refused)
		return false;
	close_guest(watched);
	struct vmop_error *err = open_guest(watched, path);
	if (err)
		vmop_log_info("guest of process %u: QMP cannot locate its memory: %s",
			      watched->holder.number, err->message);
	watched->is_qmp_refused = err;
	vmop_error_destroy(err);
	return !err;
}

/* Find the kernel, by QMP at most every other time, to bound the cost of a booting guest. */
static struct vmop_error *find_kernel(struct watched *watched)
{
	bool is_by_qmp = watched->n_failures % 2 == 0 && open_guest_by_qmp(watched);
	struct vmop_error *err = is_by_qmp ? NULL : open_guest(watched, NULL);
	return err ? err : vmop_guest_find_kernel(watched->guest);
}

static bool is_same_kernel(const struct vmop_guest_kernel_info *a,
			   const struct vmop_guest_kernel_info *b)
{
	return a->text_start == b->text_start && a->text_gpa == b->text_gpa &&
	       !strcmp(a->banner, b->banner);
}

/*
 * Find the numbers by which a context is captured at a sample. The generation is new for each
 * kernel of any guest.
 */
static void take_numbers(struct watched *watched)
{
	struct vmop_error *err = vmop_guest_sample_numbers(watched->guest, &watched->numbers);
	watched->numbers.generation =
		err ? 0 : (uint64_t)watched->domain.number << 32 | ++watched->n_kernels;
	vmop_error_destroy(err);
}

static struct vmop_error *take_kernel(struct watched *watched, const struct vmop_off_cpu *off_cpu)
{
	struct vmop_error *err = find_kernel(watched);
	if (err)
		return err;
	const struct vmop_guest_kernel_info *found = vmop_guest_kernel_info(watched->guest);
	if (watched->code && is_same_kernel(&watched->code->kernel, found)) {
		/* The guest was only paused. */
		if (watched->stripped_generation == watched->code->generation)
			vmop_guest_drop_symbols(watched->guest);
		return NULL;
	}
	forget_kernel(watched);
	watched->code = vmop_guest_code_create(watched->guest, ++watched->code_generation);
	if (!watched->code)
		return &vmop_error_no_memory;
	take_numbers(watched);
	uint32_t cpus = watched->code->kernel.cpus;
	watched->n_vcpus = cpus < VMOP_GUEST_VCPUS_MAX ? cpus : VMOP_GUEST_VCPUS_MAX;
	watched->vcpus = calloc(watched->n_vcpus ? watched->n_vcpus : 1, sizeof(*watched->vcpus));
	if (!watched->vcpus)
		return &vmop_error_no_memory;
	if (!off_cpu->hz || !watched->code->kernel.has_processes)
		return NULL;
	return vmop_blocked_sampler_create(watched->guest, off_cpu, &watched->sampler);
}

/* Find the guest's kernel, or schedule the next attempt. */
static void search(struct watched *watched, const struct vmop_off_cpu *off_cpu, uint64_t now_ns)
{
	struct vmop_error *err = take_kernel(watched, off_cpu);
	if (!err) {
		watched->needs_search = false;
		watched->uncertain_since_ns = 0;
		watched->retry_ns = FIRST_RETRY_NS;
		watched->n_failures = 0;
		watched->snapshot_due_ns = watched->reading_due_ns = now_ns;
		remember_error(watched, NULL);
		return;
	}
	if (watched->n_failures++ == FAILURES_BEFORE_NOTICE)
		vmop_log_notice("guest of %s %u: %s; its samples stay addresses",
				watched->holder.is_xen ? "Xen, id" : "process",
				watched->holder.number, err->message);
	remember_error(watched, err);
	forget_kernel(watched);
	/* The VMM may have mapped RAM anew by the next attempt: open it again. */
	close_guest(watched);
	watched->search_due_ns = now_ns + watched->retry_ns;
	watched->retry_ns =
		2 * watched->retry_ns < LAST_RETRY_NS ? 2 * watched->retry_ns : LAST_RETRY_NS;
}

/* Return whether the known kernel still runs; if not, schedule a search. */
static bool still_runs(struct watched *watched, uint64_t now_ns)
{
	switch (vmop_guest_kernel_state(watched->guest)) {
	case VMOP_GUEST_KERNEL_CURRENT:
		watched->uncertain_since_ns = 0;
		watched->uncertain_limit_ns = FIRST_UNCERTAIN_NS;
		return true;
	case VMOP_GUEST_KERNEL_UNCERTAIN:
		if (!watched->uncertain_since_ns)
			watched->uncertain_since_ns = now_ns;
		if (now_ns - watched->uncertain_since_ns < watched->uncertain_limit_ns)
			return true;
		if (watched->uncertain_limit_ns < LAST_UNCERTAIN_NS)
			watched->uncertain_limit_ns *= 2;
		break;
	case VMOP_GUEST_KERNEL_NONE:
	case VMOP_GUEST_KERNEL_GONE:
		forget_kernel(watched);
		break;
	}
	watched->needs_search = true;
	watched->search_due_ns = now_ns;
	return false;
}

static void snapshot(struct watched *watched)
{
	struct vmop_guest_snapshot *found;
	struct vmop_error *err = vmop_guest_snapshot_processes(watched->guest, 0, &found);
	remember_error(watched, err);
	if (err)
		return;
	vmop_guest_tasks_unref(watched->tasks_before);
	watched->tasks_before = watched->tasks;
	watched->tasks = vmop_guest_tasks_create(found, ++watched->tasks_generation);
}

static void refresh_modules(struct watched *watched)
{
	bool is_changed = false;
	vmop_error_destroy(vmop_guest_refresh_modules(watched->guest, &is_changed));
	if (!is_changed)
		return;
	struct vmop_guest_code *code =
		vmop_guest_code_create(watched->guest, ++watched->code_generation);
	if (!code)
		return;
	vmop_guest_code_inherit(code, watched->code);
	vmop_guest_code_unref(watched->code);
	watched->code = code;
}

/*
 * Drop the symbols of the kernel, some 8 MiB in libguest and as much in the code, which the
 * sampling thread has copied.  Modules that are loaded later have their own.
 */
static bool drop_symbols(struct watched *watched)
{
	struct vmop_guest_code *stripped = vmop_guest_code_strip(watched->code);
	if (!stripped)
		return false;
	vmop_guest_code_unref(watched->code);
	watched->code = stripped;
	watched->stripped_generation = stripped->generation;
	vmop_guest_drop_symbols(watched->guest);
	malloc_trim(0); /* without it, glibc keeps half of the memory */
	return true;
}

/* Read the unwind tables of new code. Return whether they changed. */
static bool read_orc_tables(struct watched *watched, const struct wishes *wishes)
{
	uint32_t generation = watched->code->generation;
	if (watched->orc && watched->orc->code_generation == generation &&
	    (watched->orc->has_code || !wishes->wants_code))
		return false;
	struct vmop_guest_orc_tables *orc = vmop_guest_orc_tables_publish(
		watched->guest, generation, wishes->wants_code, watched->orc);
	if (!orc)
		return false;
	vmop_guest_orc_tables_unref(watched->orc);
	watched->orc = orc;
	return true;
}

/* Take the next snapshot sooner, because there is a process that the last one does not have. */
static void expedite_snapshot(struct watched *watched)
{
	uint64_t soon_ns = watched->listed_ns + LIST_GAP_NS;
	if (soon_ns < watched->snapshot_due_ns)
		watched->snapshot_due_ns = soon_ns;
}

static void read_vcpus(struct watched *watched, bool has_contexts)
{
	struct vmop_guest_current current[VMOP_GUEST_VCPUS_MAX];
	size_t n = 0;
	uint64_t time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	vmop_error_destroy(vmop_guest_current_tasks(watched->guest, current, watched->n_vcpus, &n));
	for (size_t i = 0; i < n; i++) {
		const struct vmop_guest_reading *reading = vmop_guest_readings_put(
			watched->vcpus, watched->n_vcpus, &current[i], time_ns);
		if (reading && !has_contexts && reading->pid && !reading->is_kernel_thread &&
		    !vmop_guest_tasks_find(watched->tasks, reading))
			expedite_snapshot(watched);
	}
}

/*
 * Read the blocked threads if they are due. All guests together may take half of the budget, so
 * that the other readings go on.
 */
static void sample_blocked(const struct vmop_guest_watch *watch, struct watched *watched,
			   uint64_t now_ns)
{
	struct vmop_blocked_sampler *sampler = watched->sampler;
	if (!sampler || !watched->tasks || !watched->orc || watched->orc->unusable ||
	    now_ns < vmop_blocked_sampler_due_ns(sampler))
		return;
	unsigned n_guests = watch->n_sampled ? watch->n_sampled : 1;
	unsigned share_permille = watch->cpu_permille / 2 / n_guests;
	struct vmop_error *err =
		vmop_blocked_sampler_round(sampler, watched->orc, watched->tasks->snapshot,
					   share_permille ? share_permille : 1, now_ns);
	if (err)
		remember_error(watched, err);
	if (vmop_blocked_sampler_wants_list(sampler))
		expedite_snapshot(watched);
}

/* Read the parts of one guest that are due.  True: a new view must be published. */
static bool update_guest(struct vmop_guest_watch *watch, struct watched *watched, uint64_t now_ns,
			 const struct wishes *wishes)
{
	bool is_news = false;
	if (watched->needs_search) {
		if (now_ns < watched->search_due_ns)
			return false;
		search(watched, &watch->off_cpu, now_ns);
		if (watched->needs_search)
			return true;
		watched->modules_due_ns = now_ns + watch->modules_ns;
		is_news = true; /* and its processes at once: samples wait for them */
	}
	if (wishes->taken_generation == watched->code->generation &&
	    wishes->taken_generation != watched->stripped_generation)
		is_news |= drop_symbols(watched);
	bool is_list_due = now_ns >= watched->snapshot_due_ns;
	if (watched->code->kernel.has_processes &&
	    (is_list_due || now_ns >= watched->check_due_ns)) {
		if (!is_news && !still_runs(watched, now_ns))
			return true;
		watched->check_due_ns = now_ns + watch->snapshot_ns;
	}
	if (watched->code->kernel.has_processes && is_list_due) {
		snapshot(watched);
		watched->listed_ns = now_ns;
		watched->snapshot_due_ns =
			now_ns + watch->snapshot_ns * (wishes->has_contexts ? RARE_SNAPSHOTS : 1);
		is_news = true;
	}
	if (now_ns >= watched->modules_due_ns) {
		refresh_modules(watched);
		watched->modules_due_ns = now_ns + watch->modules_ns;
		is_news = true;
	}
	if (wishes->wants_stacks || watched->sampler)
		is_news |= read_orc_tables(watched, wishes);
	if (watched->code->kernel.has_processes && now_ns >= watched->reading_due_ns) {
		read_vcpus(watched, wishes->has_contexts);
		watched->reading_due_ns =
			now_ns + watch->reading_ns * (wishes->has_contexts ? RARE_READINGS : 1);
		is_news = true;
	}
	sample_blocked(watch, watched, now_ns);
	return is_news;
}

static const char *state_of(const struct watched *watched)
{
	if (!watched->code)
		return watched->is_readable ? "no kernel found" : "its memory can't be read";
	return vmop_guest_view_state(watched->code, watched->tasks);
}

static struct vmop_guest_view *make_view(const struct watched *watched)
{
	struct vmop_guest_view *view = calloc(1, sizeof(*view));
	if (!view)
		return NULL;
	view->refs = 1;
	view->code = vmop_guest_code_ref(watched->code);
	view->tasks = vmop_guest_tasks_ref(watched->tasks);
	view->tasks_before = vmop_guest_tasks_ref(watched->tasks_before);
	view->orc = vmop_guest_orc_tables_ref(watched->orc);
	view->numbers = watched->numbers;
	view->state = state_of(watched);
	/* A VMM that has only started may have no readable memory yet. */
	view->may_be_booting = !watched->code && watched->n_failures <= FAILURES_BEFORE_NOTICE;
	view->error = watched->error ? strdup(watched->error) : NULL;
	view->made_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	view->cost = cost_of(watched);
	if (watched->n_vcpus) {
		size_t bytes = watched->n_vcpus * sizeof(*view->vcpus);
		view->vcpus = malloc(bytes);
		if (view->vcpus) {
			memcpy(view->vcpus, watched->vcpus, bytes);
			view->n_vcpus = watched->n_vcpus;
		}
	}
	return view;
}

/* ---- symbols of files from a guest's page cache ------------------------- */

static void read_file_symbols(struct watched *watched, struct vmop_guest_file_symbols *result,
			      uint64_t file)
{
	if (!watched || !watched->code)
		return;
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_guest_file_copy(watched->guest, file, &fd);
	result->is_gone = err && err->code == VMOP_ERROR_NOT_FOUND;
	if (!err)
		err = vmop_symtab_read_elf(fd, "a guest's file", 0, &result->symtab);
	vmop_error_destroy(err);
}

static struct watched *find_watched(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	for (struct watched *at = watch->guests; at; at = at->next) {
		if (vmop_domain_id_equals(at->domain, domain) && !at->is_removed)
			return at;
	}
	return NULL;
}

/* ---- requests about contexts ---------------------------------------------- */

/* Return whether a guest has room for one more request in this second, and use it up. */
static bool use_request_room(struct watched *watched, uint64_t now_ns)
{
	static const uint64_t share_ns = VMOP_NS_PER_S / REQUESTS_A_SECOND;
	uint64_t most_ns = REQUESTS_AT_ONCE * share_ns;
	watched->request_room_ns += now_ns - watched->requests_earned_ns;
	watched->requests_earned_ns = now_ns;
	if (watched->request_room_ns > most_ns)
		watched->request_room_ns = most_ns;
	if (watched->request_room_ns < share_ns)
		return false;
	watched->request_room_ns -= share_ns;
	return true;
}

/* Return whether the symbols of the deleted file with this page were read. */
static bool has_read_deleted(const struct watched *watched, struct vmop_guest_page_key page)
{
	page.index = 0;
	for (unsigned i = 0; i < DELETED_FILES; i++) {
		if (!memcmp(&watched->deleted[i], &page, sizeof(page)))
			return true;
	}
	return false;
}

static void remember_deleted(struct watched *watched, struct vmop_guest_page_key page)
{
	page.index = 0;
	watched->deleted[watched->n_deleted++ % DELETED_FILES] = page;
}

/* Answer a request. The lock is not held. */
static void serve_context(struct watched *watched, const struct vmop_guest_request *request,
			  struct vmop_guest_answer *ret)
{
	*ret = (struct vmop_guest_answer){.request = *request, .is_gone = true};
	if (!watched || !watched->code || watched->numbers.generation != request->generation)
		return;
	ret->is_gone = false;
	ret->is_refused = !use_request_room(watched, vmop_clock_ns(CLOCK_MONOTONIC));
	if (ret->is_refused)
		return;
	struct vmop_guest_request once = *request;
	bool is_page = request->kind == VMOP_GUEST_REQUEST_FILE;
	if (is_page)
		once.page.wants_symbols = !has_read_deleted(watched, request->page.key);
	vmop_guest_serve(watched->guest, &once, ret);
	if (is_page && ret->symtab)
		remember_deleted(watched, request->page.key);
}

/*
 * Serve all requests about contexts. The lock is held at the call and the return, but not while a
 * guest is read.
 */
static void serve_contexts(struct vmop_guest_watch *watch)
{
	struct vmop_guest_request request;
	struct vmop_guest_answer answer;
	while (!watch->worker.is_ending && vmop_guest_requests_take(&watch->contexts, &request)) {
		struct watched *watched = find_watched(watch, request.domain);
		pthread_mutex_unlock(&watch->worker.lock);
		serve_context(watched, &request, &answer);
		pthread_mutex_lock(&watch->worker.lock);
		vmop_guest_requests_answer(&watch->contexts, &answer);
		pthread_cond_broadcast(&watch->worker.wake); /* _await_answers may wait */
	}
}

/* ---- the thread ----------------------------------------------------------- */

static void destroy_watched(struct watched *watched)
{
	forget_kernel(watched);
	vmop_guest_close(watched->guest);
	vmop_guest_view_unref(watched->view);
	vmop_blocked_batch_destroy(watched->blocked);
	free(watched->error);
	free(watched);
}

/* Free the guests that were removed.  Call it with the lock held. */
static void sweep(struct vmop_guest_watch *watch)
{
	for (struct watched **at = &watch->guests; *at;) {
		struct watched *watched = *at;
		if (watched->is_removed) {
			*at = watched->next;
			destroy_watched(watched);
		} else {
			at = &watched->next;
		}
	}
}

static void spend(struct vmop_guest_watch *watch, uint64_t begun_cpu_ns)
{
	watch->credit_ns -= (int64_t)(vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_cpu_ns);
}

static void earn(struct vmop_guest_watch *watch, uint64_t now_ns)
{
	uint64_t earned = (now_ns - watch->credited_ns) / 1000 * watch->cpu_permille;
	watch->credited_ns = now_ns;
	watch->credit_ns += (int64_t)earned;
	if (watch->credit_ns > MAX_CREDIT_NS)
		watch->credit_ns = MAX_CREDIT_NS;
}

/*
 * Update all guests.  The lock is held at the call and the return, but not while a guest is read:
 * only this thread removes guests from the list.
 */
static void update_guests(struct vmop_guest_watch *watch)
{
	unsigned n_sampled = 0;
	for (struct watched *at = watch->guests; at && !watch->worker.is_ending; at = at->next) {
		serve_contexts(watch);
		if (at->is_removed || watch->credit_ns <= 0)
			continue;
		struct wishes wishes = at->wishes;
		pthread_mutex_unlock(&watch->worker.lock);
		uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		bool is_news = update_guest(watch, at, vmop_clock_ns(CLOCK_MONOTONIC), &wishes);
		struct vmop_guest_view *view = is_news ? make_view(at) : NULL;
		pthread_mutex_lock(&watch->worker.lock);
		spend(watch, begun);
		if (view) {
			struct vmop_guest_view *old = at->view;
			at->view = view;
			vmop_guest_view_unref(old);
		}
		if (at->sampler) {
			n_sampled++;
			vmop_blocked_sampler_publish(at->sampler, &at->blocked);
			vmop_blocked_sampler_facts(at->sampler, &at->blocked_facts);
		}
	}
	watch->n_sampled = n_sampled;
}

/* Serve the oldest request for a file, if one exists and the budget allows. */
static void serve_request(struct vmop_guest_watch *watch)
{
	if (!watch->n_requests || watch->n_results == FILE_QUEUE || watch->credit_ns <= 0)
		return;
	struct file_request request = watch->requests[0];
	memmove(watch->requests, watch->requests + 1, --watch->n_requests * sizeof(request));
	struct vmop_guest_file_symbols result = {.domain = request.domain, .image = request.image};
	struct watched *watched = find_watched(watch, request.domain);
	pthread_mutex_unlock(&watch->worker.lock);
	uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	read_file_symbols(watched, &result, request.file);
	pthread_mutex_lock(&watch->worker.lock);
	spend(watch, begun);
	watch->results[watch->n_results++] = result;
}

/* Build the oldest requested table, likewise. Return whether there was one. */
static bool serve_table_request(struct vmop_guest_watch *watch)
{
	struct vmop_guest_table_request request;
	if (watch->credit_ns <= 0 || !vmop_guest_table_queue_next(&watch->tables, &request))
		return false;
	struct vmop_guest_table_answer answer = {.domain = request.domain,
						 .key = request.mapping.key,
						 .state = VMOP_CODE_UNREADABLE};
	struct watched *watched = find_watched(watch, request.domain);
	pthread_mutex_unlock(&watch->worker.lock);
	uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (watched && watched->code)
		answer.state =
			vmop_guest_table_build(watched->guest, &request.mapping, &answer.table);
	pthread_mutex_lock(&watch->worker.lock);
	spend(watch, begun);
	if (find_watched(watch, request.domain))
		vmop_guest_table_queue_answer(&watch->tables, &answer);
	else
		vmop_cfi_table_destroy(answer.table);
	return true;
}

/* Return when the thread must wake up: the lock is held. */
static uint64_t next_wake_ns(const struct vmop_guest_watch *watch)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t until_ns = now_ns + watch->reading_ns;
	if (!watch->guests)
		return until_ns + 3600 * VMOP_NS_PER_S; /* vmop_guest_watch_add wakes it */
	for (const struct watched *at = watch->guests; at; at = at->next) {
		uint64_t due_ns = at->sampler ? vmop_blocked_sampler_due_ns(at->sampler) : 0;
		/* A round that is due already waits for something else. */
		if (due_ns > now_ns && due_ns < until_ns)
			until_ns = due_ns;
	}
	return until_ns;
}

static void run(struct vmop_worker *worker)
{
	struct vmop_guest_watch *watch = (struct vmop_guest_watch *)worker;
	watch->credited_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	pthread_mutex_lock(&watch->worker.lock);
	while (!watch->worker.is_ending) {
		earn(watch, vmop_clock_ns(CLOCK_MONOTONIC));
		sweep(watch);
		update_guests(watch);
		serve_contexts(watch);
		serve_request(watch);
		while (!watch->worker.is_ending && serve_table_request(watch))
			serve_contexts(watch);
		if (watch->worker.is_ending)
			break;
		if (vmop_guest_requests_n_open(&watch->contexts) > 0)
			continue;
		uint64_t until = next_wake_ns(watch);
		struct timespec ts = {.tv_sec = (time_t)(until / VMOP_NS_PER_S),
				      .tv_nsec = (long)(until % VMOP_NS_PER_S)};
		pthread_cond_timedwait(&watch->worker.wake, &watch->worker.lock, &ts);
	}
	pthread_mutex_unlock(&watch->worker.lock);
}

/* ---- functions for the sampling thread -------------------------------------------- */

static void destroy(struct vmop_worker *worker)
{
	struct vmop_guest_watch *watch = (struct vmop_guest_watch *)worker;
	for (struct watched *at = watch->guests, *next; at; at = next) {
		next = at->next;
		destroy_watched(at);
	}
	for (unsigned i = 0; i < watch->n_results; i++)
		vmop_symtab_destroy(watch->results[i].symtab);
	vmop_guest_requests_deinit(&watch->contexts);
	vmop_guest_table_queue_deinit(&watch->tables);
	free(watch->profiles);
	free(watch);
}

static const struct vmop_worker_ops worker_ops = {
	.name = "vmopd-guests", .run = run, .destroy = destroy};

struct vmop_error *vmop_guest_watch_create(const struct vmop_guest_watch_options *options,
					   struct vmop_guest_watch **ret)
{
	struct vmop_guest_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return &vmop_error_no_memory;
	if (options->profiles && !(watch->profiles = strdup(options->profiles))) {
		free(watch);
		return &vmop_error_no_memory;
	}
	watch->cpu_permille = options->cpu_permille;
	watch->snapshot_ns = (options->snapshot_ms ? options->snapshot_ms : 1000) * VMOP_NS_PER_MS;
	watch->modules_ns = (options->modules_ms ? options->modules_ms : 5000) * VMOP_NS_PER_MS;
	watch->off_cpu = options->off_cpu;
	watch->reading_ns = (options->reading_ms ? options->reading_ms : 50) * VMOP_NS_PER_MS;
	struct vmop_error *err = vmop_worker_begin(&watch->worker, &worker_ops);
	if (err) {
		free(watch->profiles);
		free(watch);
		return err;
	}
	*ret = watch;
	return NULL;
}

void vmop_guest_watch_destroy(struct vmop_guest_watch *watch)
{
	if (watch)
		vmop_worker_end_within(&watch->worker, END_WAIT_MS);
}

struct vmop_error *vmop_guest_watch_add(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_holder holder)
{
	struct watched *watched = calloc(1, sizeof(*watched));
	if (!watched)
		return &vmop_error_no_memory;
	watched->domain = domain;
	watched->holder = holder;
	watched->profiles = watch->profiles;
	watched->needs_search = true;
	watched->retry_ns = FIRST_RETRY_NS;
	watched->uncertain_limit_ns = FIRST_UNCERTAIN_NS;
	pthread_mutex_lock(&watch->worker.lock);
	if (watch->credit_ns < FIRST_CREDIT_NS)
		watch->credit_ns = FIRST_CREDIT_NS;
	watched->next = watch->guests;
	watch->guests = watched;
	pthread_cond_signal(&watch->worker.wake);
	pthread_mutex_unlock(&watch->worker.lock);
	return NULL;
}

void vmop_guest_watch_remove(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	if (watched)
		watched->is_removed = true;
	vmop_guest_table_queue_drop(&watch->tables, domain);
	pthread_cond_signal(&watch->worker.wake);
	pthread_mutex_unlock(&watch->worker.lock);
}

struct vmop_guest_view *vmop_guest_watch_view(struct vmop_guest_watch *watch,
					      struct vmop_domain_id domain)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	struct vmop_guest_view *view = watched ? vmop_guest_view_ref(watched->view) : NULL;
	pthread_mutex_unlock(&watch->worker.lock);
	return view;
}

void vmop_guest_watch_drop_symbols(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				   uint32_t generation)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	if (watched)
		watched->wishes.taken_generation = generation;
	pthread_mutex_unlock(&watch->worker.lock);
}

void vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	if (watched)
		watched->wishes.wants_stacks = true;
	pthread_mutex_unlock(&watch->worker.lock);
}

void vmop_guest_watch_want_code(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	if (watched)
		watched->wishes.wants_code = true;
	pthread_mutex_unlock(&watch->worker.lock);
}

bool vmop_guest_watch_take_blocked(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				   struct vmop_blocked_batch **ret_batch,
				   struct vmop_blocked_facts *ret_facts)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	bool is_sampled = watched && watched->blocked_facts.n_rounds;
	*ret_batch = NULL;
	if (is_sampled) {
		*ret_batch = watched->blocked;
		*ret_facts = watched->blocked_facts;
		watched->blocked = NULL;
	}
	pthread_mutex_unlock(&watch->worker.lock);
	return is_sampled;
}

bool vmop_guest_watch_request_symbols(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				      struct vmop_image_slot image,
				      const struct vmop_guest_vma *vma)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_room = watch->n_requests < FILE_QUEUE;
	if (has_room)
		watch->requests[watch->n_requests++] =
			(struct file_request){.domain = domain, .image = image, .file = vma->file};
	pthread_mutex_unlock(&watch->worker.lock);
	return has_room;
}

bool vmop_guest_watch_take_symbols(struct vmop_guest_watch *watch,
				   struct vmop_guest_file_symbols *ret)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_one = watch->n_results > 0;
	if (has_one) {
		*ret = watch->results[0];
		memmove(watch->results, watch->results + 1, --watch->n_results * sizeof(*ret));
	}
	pthread_mutex_unlock(&watch->worker.lock);
	return has_one;
}

bool vmop_guest_watch_request_table(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				    const struct vmop_guest_code_mapping *mapping)
{
	const struct vmop_guest_table_request request = {.domain = domain, .mapping = *mapping};
	pthread_mutex_lock(&watch->worker.lock);
	bool has_room = vmop_guest_table_queue_request(&watch->tables, &request);
	pthread_cond_signal(&watch->worker.wake);
	pthread_mutex_unlock(&watch->worker.lock);
	return has_room;
}

bool vmop_guest_watch_take_table(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				 struct vmop_guest_table_answer *ret)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_one = vmop_guest_table_queue_take(&watch->tables, domain, ret);
	pthread_mutex_unlock(&watch->worker.lock);
	return has_one;
}

void vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	pthread_mutex_lock(&watch->worker.lock);
	vmop_guest_table_queue_drop(&watch->tables, domain);
	pthread_mutex_unlock(&watch->worker.lock);
}

bool vmop_guest_watch_request(struct vmop_guest_watch *watch,
			      const struct vmop_guest_request *request)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_room = vmop_guest_requests_put(&watch->contexts, request);
	pthread_cond_broadcast(&watch->worker.wake);
	pthread_mutex_unlock(&watch->worker.lock);
	return has_room;
}

bool vmop_guest_watch_take_answer(struct vmop_guest_watch *watch, struct vmop_guest_answer *ret)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_one = vmop_guest_requests_collect(&watch->contexts, ret);
	pthread_mutex_unlock(&watch->worker.lock);
	return has_one;
}

void vmop_guest_watch_await_answers(struct vmop_guest_watch *watch, unsigned wait_ms)
{
	struct timespec until = vmop_worker_deadline(wait_ms);
	pthread_mutex_lock(&watch->worker.lock);
	while (vmop_guest_requests_n_open(&watch->contexts) > 0 &&
	       vmop_worker_wait(&watch->worker, &until))
		;
	pthread_mutex_unlock(&watch->worker.lock);
}

void vmop_guest_watch_set_has_contexts(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				       bool has_contexts)
{
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	if (watched)
		watched->wishes.has_contexts = has_contexts;
	pthread_mutex_unlock(&watch->worker.lock);
}
