// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/xenstore.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xenstore.h>

#include "libutil/cleanup.h"
#include "libutil/worker.h"

#define ROUND_MS 1000
/* The longest wait for the first listing. */
#define FIRST_WAIT_MS 5000
/* A domain is read again after so many rounds, because its name can change. */
#define REREAD_ROUNDS 30

/* A domain that was read, and when. */
struct known {
	struct vmop_xenstore_domain domain;
	unsigned rounds; /* since it was read */
};

struct vmop_xenstore {
	struct vmop_worker worker;

	/* Under its lock. */
	bool has_answered, is_absent;
	struct vmop_xenstore_listing *latest; /* NULL: taken */
	struct timespec answered;

	/* Only the thread uses these. */
	struct xs_handle *handle;
	struct known known[VMOP_XENSTORE_DOMAINS_MAX];
	size_t n_known;
};

/* ---- reading ----------------------------------------------------------------- */

/* Return the value at a path, which the caller frees; NULL: none.  xs_read ends it with a NUL. */
static char *read_value(struct xs_handle *handle, const char *format, uint32_t domid)
{
	char path[64];
	unsigned len;
	snprintf(path, sizeof(path), format, domid);
	return xs_read(handle, XBT_NULL, path, &len);
}

static void read_domain(struct xs_handle *handle, uint32_t domid, struct known *ret)
{
	*ret = (struct known){.domain.domid = domid};
	_cleanup_free_ char *name = read_value(handle, "/local/domain/%u/name", domid);
	_cleanup_free_ char *vm = read_value(handle, "/local/domain/%u/vm", domid);
	_cleanup_free_ char *type = read_value(handle, "/libxl/%u/type", domid);
	if (name)
		snprintf(ret->domain.name, sizeof(ret->domain.name), "%s", name);
	if (vm)
		vmop_xenstore_parse_vm(vm, ret->domain.uuid);
	if (type)
		ret->domain.type = vmop_xenstore_parse_type(type);
	/* A domain is listed before xl has written all its nodes. */
	if (!name || !vm || !type)
		ret->rounds = REREAD_ROUNDS;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

/* Read the listed ids except dom0's, in ascending order; SIZE_MAX: xenstored is gone. */
static size_t read_ids(struct xs_handle *handle, uint32_t ids[VMOP_XENSTORE_DOMAINS_MAX],
		       size_t *ret_left_off)
{
	unsigned n;
	size_t n_ids = 0;
	_cleanup_free_ char **names = xs_directory(handle, XBT_NULL, "/local/domain", &n);
	*ret_left_off = 0;
	if (!names)
		return errno == ENOENT ? 0 : SIZE_MAX;
	for (unsigned i = 0; i < n; i++) {
		uint32_t domid;
		if (!vmop_xenstore_parse_domid(names[i], &domid) || domid == 0)
			continue;
		if (n_ids < VMOP_XENSTORE_DOMAINS_MAX)
			ids[n_ids++] = domid;
		else
			++*ret_left_off;
	}
	qsort(ids, n_ids, sizeof(*ids), by_id);
	return n_ids;
}

static const struct known *find_known(const struct vmop_xenstore *store, uint32_t domid)
{
	for (size_t i = 0; i < store->n_known; i++)
		if (store->known[i].domain.domid == domid)
			return &store->known[i];
	return NULL;
}

/* Read all domains.  NULL: xenstored is gone, or out of memory. */
static struct vmop_xenstore_listing *read_listing(struct vmop_xenstore *store)
{
	uint32_t ids[VMOP_XENSTORE_DOMAINS_MAX];
	size_t left_off, n = read_ids(store->handle, ids, &left_off);
	if (n == SIZE_MAX)
		return NULL;
	_cleanup_free_ struct known *now = calloc(n + 1, sizeof(*now));
	struct vmop_xenstore_listing *listing =
		calloc(1, sizeof(*listing) + n * sizeof(listing->at[0]));
	if (!now || !listing) {
		free(listing);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const struct known *known = find_known(store, ids[i]);
		if (known && known->rounds < REREAD_ROUNDS)
			now[i] = (struct known){known->domain, known->rounds + 1};
		else
			read_domain(store->handle, ids[i], &now[i]);
		listing->at[i] = now[i].domain;
	}
	listing->n = n;
	listing->n_left_off = left_off;
	memcpy(store->known, now, n * sizeof(*now));
	store->n_known = n;
	return listing;
}

/* ---- the thread -------------------------------------------------------------- */

static void publish(struct vmop_xenstore *store, struct vmop_xenstore_listing *listing)
{
	if (!listing)
		return;
	free(store->latest);
	store->latest = listing;
	store->has_answered = true;
	clock_gettime(CLOCK_MONOTONIC, &store->answered);
	pthread_cond_broadcast(&store->worker.wake);
}

static void run(struct vmop_worker *worker)
{
	struct vmop_xenstore *store = (struct vmop_xenstore *)worker;
	pthread_mutex_lock(&worker->lock);
	while (!worker->is_ending) {
		pthread_mutex_unlock(&worker->lock);
		if (!store->handle)
			store->handle = xs_open(0);
		struct vmop_xenstore_listing *listing = store->handle ? read_listing(store) : NULL;
		if (!listing && store->handle) {
			xs_close(store->handle); /* open it again in the next round */
			store->handle = NULL;
		}
		pthread_mutex_lock(&worker->lock);
		store->is_absent = !store->handle;
		if (store->is_absent)
			pthread_cond_broadcast(&worker->wake);
		publish(store, listing);
		struct timespec next = vmop_worker_deadline(ROUND_MS);
		if (!worker->is_ending)
			vmop_worker_wait(worker, &next);
	}
	pthread_mutex_unlock(&worker->lock);
	if (store->handle)
		xs_close(store->handle);
}

static void destroy(struct vmop_worker *worker)
{
	struct vmop_xenstore *store = (struct vmop_xenstore *)worker;
	free(store->latest);
	free(store);
}

static const struct vmop_worker_ops worker_ops = {"vmopd-xenstore", run, destroy};

struct vmop_error *vmop_xenstore_open(struct vmop_xenstore **ret)
{
	struct vmop_xenstore *store = calloc(1, sizeof(*store));
	if (!store)
		return &vmop_error_no_memory;
	clock_gettime(CLOCK_MONOTONIC, &store->answered);
	struct vmop_error *err = vmop_worker_begin(&store->worker, &worker_ops);
	if (err) {
		free(store);
		return err;
	}
	pthread_mutex_lock(&store->worker.lock);
	struct timespec until = vmop_worker_deadline(FIRST_WAIT_MS);
	while (!store->has_answered && !store->is_absent &&
	       vmop_worker_wait(&store->worker, &until))
		;
	bool has_answered = store->has_answered;
	pthread_mutex_unlock(&store->worker.lock);
	if (!has_answered) {
		vmop_xenstore_close(store);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "xenstored does not answer: is it running (xen-init-dom0, "
				      "systemctl status xenstored)?");
	}
	*ret = store;
	return NULL;
}

void vmop_xenstore_close(struct vmop_xenstore *store)
{
	if (store)
		vmop_worker_end(&store->worker);
}

struct vmop_xenstore_listing *vmop_xenstore_take(struct vmop_xenstore *store)
{
	pthread_mutex_lock(&store->worker.lock);
	struct vmop_xenstore_listing *listing = vmop_steal(&store->latest);
	pthread_mutex_unlock(&store->worker.lock);
	return listing;
}

unsigned vmop_xenstore_silent_s(struct vmop_xenstore *store)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&store->worker.lock);
	time_t silent_s = now.tv_sec - store->answered.tv_sec;
	pthread_mutex_unlock(&store->worker.lock);
	return silent_s > 0 ? (unsigned)silent_s : 0;
}
