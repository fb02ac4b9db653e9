// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/guest/context/requests.h"
#include "daemon/guest/guest-file.h"
#include "daemon/guest/guest-reader.h"
#include "libutil/clock.h"
#include "libutil/worker.h"

/* The CPU time that a new guest may take at once: a kernel is found within half a second. */
#define FIRST_CREDIT_NS ((int64_t)(2 * VMOP_NS_PER_S))
/* The largest credit, so that a quiet hour does not allow a busy minute. */
#define MAX_CREDIT_NS ((int64_t)(2 * VMOP_NS_PER_S))

#define FILE_QUEUE 64

/* How long a guest that no session watches is known: a new session finds its guests at once. */
#define MAX_PARKED_NS (30 * VMOP_NS_PER_S)
/* The CPU time that it may take at once then: its kernel's symbols are read again. */
#define AGAIN_CREDIT_NS ((int64_t)(VMOP_NS_PER_S / 4))

/* An update that is under way at the end takes less, unless it hangs. */
#define END_WAIT_MS 5000

struct file_request {
	struct vmop_domain_id domain;
	struct vmop_image_slot image;
	uint64_t file;
	struct vmop_build_id build_id;
};

struct watched {
	struct watched *next;
	struct vmop_domain_id domain;
	struct vmop_guest_holder holder;
	bool is_removed;
	uint64_t parked_ns;		  /* not 0: no session watches it */
	struct vmop_guest_reader *reader; /* only the watching thread uses it */

	/* Under the lock. */
	struct vmop_guest_view *view;	    /* published; stays while the guest is parked */
	struct vmop_blocked_batch *blocked; /* NULL: none, or taken */
	struct vmop_blocked_facts blocked_facts;
	struct vmop_guest_wishes wishes;
	struct {
		struct vmop_guest_probe place;
		bool is_wanted, is_done, is_read;
		uint64_t asked_ns; /* CLOCK_MONOTONIC: when the owner last asked for it */
		uint8_t bytes[VMOP_GUEST_PROBE_BYTES];
	} probe;
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
	bool is_reading_file;	/* of a request that is no longer in the queue */
	bool are_files_awaited; /* a session ends: their reading has no budget */
	struct vmop_guest_file_symbols results[FILE_QUEUE];
	unsigned n_results;
	struct vmop_guest_requests contexts;
	struct vmop_guest_table_queue tables;

	uint32_t session; /* rises when guests are parked: older requests get no answer */
	unsigned cpu_permille;
	struct vmop_guest_reader_options reading;
	unsigned n_sampled;   /* guests with blocked threads, in the last update of all */
	int64_t credit_ns;    /* CPU time left to spend; under the lock */
	uint64_t credited_ns; /* when credit was last added */
};

static struct watched *find_watched(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	for (struct watched *at = watch->guests; at; at = at->next) {
		if (vmop_domain_id_equals(at->domain, domain) && !at->is_removed && !at->parked_ns)
			return at;
	}
	return NULL;
}

/* ---- the thread ----------------------------------------------------------- */

static void answer_context(struct watched *watched, const struct vmop_guest_request *request,
			   struct vmop_guest_answer *ret)
{
	if (watched)
		vmop_guest_reader_answer(watched->reader, request, ret);
	else
		*ret = (struct vmop_guest_answer){.request = *request, .is_gone = true};
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
		uint32_t session = watch->session;
		pthread_mutex_unlock(&watch->worker.lock);
		answer_context(watched, &request, &answer);
		pthread_mutex_lock(&watch->worker.lock);
		if (session == watch->session)
			vmop_guest_requests_answer(&watch->contexts, &answer);
		else
			vmop_guest_answer_deinit(&answer);
		pthread_cond_broadcast(&watch->worker.wake); /* _await_answers may wait */
	}
}

static void destroy_watched(struct watched *watched)
{
	vmop_guest_reader_destroy(watched->reader);
	vmop_guest_view_unref(watched->view);
	vmop_blocked_batch_destroy(watched->blocked);
	free(watched);
}

/* Free the guests that were removed, or parked for long.  Call it with the lock held. */
static void sweep(struct vmop_guest_watch *watch)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (struct watched **at = &watch->guests; *at;) {
		struct watched *watched = *at;
		if (watched->is_removed ||
		    (watched->parked_ns && now_ns - watched->parked_ns > MAX_PARKED_NS)) {
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
 * Return the CPU time that the blocked threads of one guest may take. All guests together may take
 * half of the budget, so that the other readings go on.
 */
static unsigned blocked_permille(const struct vmop_guest_watch *watch)
{
	unsigned n_guests = watch->n_sampled ? watch->n_sampled : 1;
	unsigned share_permille = watch->cpu_permille / 2 / n_guests;
	return share_permille ? share_permille : 1;
}

/* Read the place that the owner wants to compare. The lock is held, but not during the reading. */
static void serve_probe(struct vmop_guest_watch *watch, struct watched *watched)
{
	uint8_t bytes[VMOP_GUEST_PROBE_BYTES] = {0};
	struct vmop_guest_probe place = watched->probe.place;
	if (!watched->probe.is_wanted || watched->probe.is_done)
		return;
	pthread_mutex_unlock(&watch->worker.lock);
	enum vmop_guest_probed probed = vmop_guest_reader_probe(watched->reader, &place, bytes);
	pthread_mutex_lock(&watch->worker.lock);
	/* The owner can have given it up, and want another place. */
	if (probed == VMOP_GUEST_PROBE_WAITS ||
	    memcmp(&watched->probe.place, &place, sizeof(place)) != 0)
		return;
	memcpy(watched->probe.bytes, bytes, sizeof(bytes));
	watched->probe.is_read = probed == VMOP_GUEST_PROBE_READ;
	watched->probe.is_done = true;
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
		if (at->is_removed || at->parked_ns || watch->credit_ns <= 0)
			continue;
		struct vmop_guest_wishes wishes = at->wishes;
		pthread_mutex_unlock(&watch->worker.lock);
		uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		bool is_news =
			vmop_guest_reader_update(at->reader, &wishes, blocked_permille(watch),
						 vmop_clock_ns(CLOCK_MONOTONIC));
		struct vmop_guest_view *view =
			is_news ? vmop_guest_reader_make_view(at->reader) : NULL;
		pthread_mutex_lock(&watch->worker.lock);
		serve_probe(watch, at);
		spend(watch, begun);
		if (wishes.session != watch->session) { /* parked meanwhile */
			vmop_guest_view_unref(view);
			continue;
		}
		if (view) {
			struct vmop_guest_view *old = at->view;
			at->view = view;
			vmop_guest_view_unref(old);
		}
		if (vmop_guest_reader_publish_blocked(at->reader, &at->blocked, &at->blocked_facts))
			n_sampled++;
	}
	watch->n_sampled = n_sampled;
}

/* Return whether the oldest request for a file is served now. */
static bool may_read_file(const struct vmop_guest_watch *watch)
{
	bool has_budget =
		watch->credit_ns > 0 || (watch->are_files_awaited && watch->cpu_permille > 0);
	return watch->n_requests && watch->n_results < FILE_QUEUE && has_budget;
}

/* Serve the oldest request for a file. */
static void serve_file(struct vmop_guest_watch *watch)
{
	struct file_request request = watch->requests[0];
	memmove(watch->requests, watch->requests + 1, --watch->n_requests * sizeof(request));
	struct vmop_guest_file_symbols result = {.domain = request.domain, .image = request.image};
	struct watched *watched = find_watched(watch, request.domain);
	uint32_t session = watch->session;
	watch->is_reading_file = true;
	pthread_mutex_unlock(&watch->worker.lock);
	uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (watched)
		result.symtab = vmop_guest_reader_read_symbols(watched->reader, request.file,
							       &request.build_id, &result.is_gone);
	pthread_mutex_lock(&watch->worker.lock);
	spend(watch, begun);
	watch->is_reading_file = false;
	if (session == watch->session)
		watch->results[watch->n_results++] = result;
	else
		vmop_symtab_destroy(result.symtab);
	pthread_cond_broadcast(&watch->worker.wake); /* _await_symbols may wait */
}

/* Serve one request for a file, or all of them if they are awaited. */
static void serve_files(struct vmop_guest_watch *watch)
{
	if (may_read_file(watch))
		serve_file(watch);
	while (!watch->worker.is_ending && watch->are_files_awaited && may_read_file(watch)) {
		serve_contexts(watch);
		serve_file(watch);
	}
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
	uint32_t session = watch->session;
	pthread_mutex_unlock(&watch->worker.lock);
	uint64_t begun = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (watched)
		answer.state = vmop_guest_reader_build_table(watched->reader, &request.mapping,
							     request.host_path, &answer.table);
	pthread_mutex_lock(&watch->worker.lock);
	spend(watch, begun);
	if (session == watch->session && find_watched(watch, request.domain))
		vmop_guest_table_queue_answer(&watch->tables, &answer);
	else
		vmop_cfi_table_destroy(answer.table);
	return true;
}

/* Return when the thread must wake up: the lock is held. */
static uint64_t next_wake_ns(const struct vmop_guest_watch *watch)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t until_ns = now_ns + watch->reading.reading_ns;
	if (!watch->guests)
		return until_ns + 3600 * VMOP_NS_PER_S; /* vmop_guest_watch_add wakes it */
	for (const struct watched *at = watch->guests; at; at = at->next) {
		uint64_t due_ns = vmop_guest_reader_blocked_due_ns(at->reader);
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
		serve_files(watch);
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

/* Drop all requests and answers. */
static void drop_queues(struct vmop_guest_watch *watch)
{
	for (unsigned i = 0; i < watch->n_results; i++)
		vmop_symtab_destroy(watch->results[i].symtab);
	watch->n_requests = watch->n_results = 0;
	vmop_guest_requests_deinit(&watch->contexts);
	vmop_guest_table_queue_deinit(&watch->tables);
}

static void destroy(struct vmop_worker *worker)
{
	struct vmop_guest_watch *watch = (struct vmop_guest_watch *)worker;
	for (struct watched *at = watch->guests, *next; at; at = next) {
		next = at->next;
		destroy_watched(at);
	}
	drop_queues(watch);
	free(watch->reading.profiles);
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
	if (options->profiles && !(watch->reading.profiles = strdup(options->profiles))) {
		free(watch);
		return &vmop_error_no_memory;
	}
	watch->cpu_permille = options->cpu_permille;
	watch->reading.snapshot_ns =
		(options->snapshot_ms ? options->snapshot_ms : 1000) * VMOP_NS_PER_MS;
	watch->reading.modules_ns =
		(options->modules_ms ? options->modules_ms : 5000) * VMOP_NS_PER_MS;
	watch->reading.off_cpu = options->off_cpu;
	watch->reading.reading_ns =
		(options->reading_ms ? options->reading_ms : 50) * VMOP_NS_PER_MS;
	struct vmop_error *err = vmop_worker_begin(&watch->worker, &worker_ops);
	if (err) {
		free(watch->reading.profiles);
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

void vmop_guest_watch_park(struct vmop_guest_watch *watch)
{
	pthread_mutex_lock(&watch->worker.lock);
	watch->session++;
	for (struct watched *at = watch->guests; at; at = at->next) {
		vmop_blocked_batch_destroy(at->blocked);
		at->blocked = NULL;
		at->blocked_facts = (struct vmop_blocked_facts){0};
		at->parked_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	}
	drop_queues(watch);
	pthread_mutex_unlock(&watch->worker.lock);
}

/* Watch the parked guest of a holder again. False: it is not known. Call it with the lock held. */
static bool watch_again(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
			struct vmop_guest_holder holder)
{
	for (struct watched *at = watch->guests; at; at = at->next) {
		if (!at->parked_ns || at->is_removed || at->holder.is_xen != holder.is_xen ||
		    at->holder.number != holder.number)
			continue;
		at->domain = domain;
		at->parked_ns = 0;
		at->wishes = (struct vmop_guest_wishes){.session = watch->session};
		if (watch->credit_ns < AGAIN_CREDIT_NS)
			watch->credit_ns = AGAIN_CREDIT_NS;
		pthread_cond_signal(&watch->worker.wake);
		return true;
	}
	return false;
}

struct vmop_error *vmop_guest_watch_add(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_holder holder)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool is_known = watch_again(watch, domain, holder);
	pthread_mutex_unlock(&watch->worker.lock);
	if (is_known)
		return NULL;
	struct watched *watched = calloc(1, sizeof(*watched));
	if (!watched)
		return &vmop_error_no_memory;
	struct vmop_error *err =
		vmop_guest_reader_create(&watch->reading, holder, &watched->reader);
	if (err) {
		free(watched);
		return err;
	}
	watched->domain = domain;
	watched->holder = holder;
	pthread_mutex_lock(&watch->worker.lock);
	watched->wishes.session = watch->session;
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
			(struct file_request){.domain = domain,
					      .image = image,
					      .file = vma->file,
					      .build_id = vmop_guest_vma_build_id(vma)};
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

/* Return the number of files whose symbols are requested and not read. The lock is held. */
static unsigned n_unread_files(const struct vmop_guest_watch *watch)
{
	return watch->n_requests + watch->is_reading_file +
	       vmop_guest_requests_n_open_symbols(&watch->contexts);
}

unsigned vmop_guest_watch_await_symbols(struct vmop_guest_watch *watch, unsigned wait_ms)
{
	struct timespec until = vmop_worker_deadline(wait_ms);
	pthread_mutex_lock(&watch->worker.lock);
	watch->are_files_awaited = true;
	pthread_cond_broadcast(&watch->worker.wake);
	while (n_unread_files(watch) > 0 && watch->n_results < FILE_QUEUE &&
	       vmop_worker_wait(&watch->worker, &until))
		;
	watch->are_files_awaited = false;
	unsigned n = n_unread_files(watch);
	pthread_mutex_unlock(&watch->worker.lock);
	return n;
}

bool vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
				    const struct vmop_guest_table_request *request)
{
	pthread_mutex_lock(&watch->worker.lock);
	bool has_room = vmop_guest_table_queue_request(&watch->tables, request);
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

/* A place that its owner did not ask for again in this time is given up. */
#define PROBE_LASTS_NS (5 * VMOP_NS_PER_S)

/* Request the place, or take the bytes that were read there. The lock is held. */
static enum vmop_guest_probed take_probe(struct watched *watched,
					 const struct vmop_guest_probe *place, uint64_t now_ns,
					 uint8_t ret[VMOP_GUEST_PROBE_BYTES])
{
	bool is_same = !memcmp(&watched->probe.place, place, sizeof(*place));
	if (watched->probe.is_wanted && !is_same &&
	    now_ns - watched->probe.asked_ns < PROBE_LASTS_NS)
		return VMOP_GUEST_PROBE_WAITS;
	if (!watched->probe.is_wanted || !is_same) {
		watched->probe.place = *place;
		watched->probe.is_wanted = true;
		watched->probe.is_done = false;
	}
	watched->probe.asked_ns = now_ns;
	if (!watched->probe.is_done)
		return VMOP_GUEST_PROBE_WAITS;
	watched->probe.is_wanted = watched->probe.is_done = false;
	memcpy(ret, watched->probe.bytes, VMOP_GUEST_PROBE_BYTES);
	return watched->probe.is_read ? VMOP_GUEST_PROBE_READ : VMOP_GUEST_PROBE_ABSENT;
}

enum vmop_guest_probed vmop_guest_watch_probe(struct vmop_guest_watch *watch,
					      struct vmop_domain_id domain,
					      const struct vmop_guest_probe *probe,
					      uint8_t ret[VMOP_GUEST_PROBE_BYTES])
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_guest_probe place;
	memset(&place, 0, sizeof(place)); /* places are compared with their padding */
	place.pid = probe->pid;
	place.address = probe->address;
	place.since_ns = probe->since_ns;
	memcpy(place.comm, probe->comm, strnlen(probe->comm, sizeof(place.comm) - 1));
	pthread_mutex_lock(&watch->worker.lock);
	struct watched *watched = find_watched(watch, domain);
	enum vmop_guest_probed probed =
		watched ? take_probe(watched, &place, now_ns, ret) : VMOP_GUEST_PROBE_ABSENT;
	pthread_mutex_unlock(&watch->worker.lock);
	return probed;
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
