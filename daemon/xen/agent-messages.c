// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/agent-messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include <xenstore.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/worker.h"

#define OPEN_WAIT_MS 5000
/* The time between two fast rounds. */
#define FAST_ROUND_MS 10
/*
 * The time between two fast rounds is at least so many times the length of a round, because
 * xenstored has other clients, and the agents need CPU time.
 */
#define FAST_PAUSE_ROUNDS 4
/* Stands for this domain: paths that do not begin with '/' are below its folder. */
#define OWN UINT32_MAX

/* The two lines of one domain.  The lock protects the fields that change. */
struct box {
	struct vmop_active_store base;
	struct vmop_agent_messages *messages;
	uint32_t domain;
	const char *out_node, *in_node; /* the names of the two nodes */
	char out[VMOP_ACTIVE_MESSAGE_BYTES], in[VMOP_ACTIVE_MESSAGE_BYTES];
	bool may_wait;	 /* it is not served in fast rounds */
	bool has_out;	 /* out must be written */
	bool is_refused; /* the last write failed */
	bool is_closed;	 /* its owner has closed it: the thread frees it */
	struct box *prev, *next;
};

struct vmop_agent_messages {
	struct vmop_worker worker;
	unsigned round_ms;
	struct vmop_active_opener opener, window_opener;

	/* Under the worker's lock. */
	struct box *boxes;
	bool is_open, is_absent;
	bool has_news; /* a line was added since the round began */
	bool is_fast;

	struct xs_handle *handle; /* only the thread uses it */
};

/* ---- the thread ----------------------------------------------------------- */

static void name_path(const struct box *box, const char *name, char *path, size_t size)
{
	if (box->domain == OWN)
		snprintf(path, size, "data/vmop/%s", name);
	else
		snprintf(path, size, "/local/domain/%u/data/vmop/%s", box->domain, name);
}

/* Return whether xenstored answered with this error; false: the connection is broken. */
static bool is_answer(int error)
{
	return error == ENOENT || error == EACCES || error == EINVAL || error == E2BIG ||
	       error == ENOSPC || error == EAGAIN;
}

/*
 * Write line, but only while the folder of domain exists.  For a domain that was destroyed,
 * xenstore would create the folder again, and it would stay.  The node "vm" exists as long as the
 * folder; "domid" does not.
 */
static bool write_if_alive(struct xs_handle *handle, uint32_t domain, const char *path,
			   const char *line)
{
	char folder[40];
	unsigned len;
	snprintf(folder, sizeof(folder), "/local/domain/%u/vm", domain);
	xs_transaction_t transaction = xs_transaction_start(handle);
	if (transaction == XBT_NULL)
		return false;
	_cleanup_free_ char *vm = xs_read(handle, transaction, folder, &len);
	int error = errno;
	bool is_written = vm && xs_write(handle, transaction, path, line, (unsigned)strlen(line));
	if (vm)
		error = errno;
	if (!xs_transaction_end(handle, transaction, !is_written) && is_written)
		return false;
	errno = error;
	return is_written;
}

/* Write line.  *ret_error: 0, or the errno of the failure. */
static void write_line(struct vmop_agent_messages *messages, const struct box *box,
		       const char *line, int *ret_error)
{
	char path[80];
	name_path(box, box->out_node, path, sizeof(path));
	bool is_written =
		box->domain == OWN
			? xs_write(messages->handle, XBT_NULL, path, line, (unsigned)strlen(line))
			: write_if_alive(messages->handle, box->domain, path, line);
	*ret_error = is_written ? 0 : errno;
}

/* Read the other side's line, cut to fit and at the first NUL; "": none. */
static void read_line(struct vmop_agent_messages *messages, const struct box *box,
		      char line[VMOP_ACTIVE_MESSAGE_BYTES], int *ret_error)
{
	char path[80];
	unsigned len;
	name_path(box, box->in_node, path, sizeof(path));
	_cleanup_free_ char *text = xs_read(messages->handle, XBT_NULL, path, &len);
	*ret_error = text ? 0 : errno;
	snprintf(line, VMOP_ACTIVE_MESSAGE_BYTES, "%s", text ? text : "");
}

/*
 * Write and read the lines of box.  The lock is held at the call and the return, but not while
 * xenstored is waited for.  False: xenstored is gone.
 */
static bool serve(struct vmop_agent_messages *messages, struct box *box)
{
	pthread_mutex_t *lock = &messages->worker.lock;
	char out[VMOP_ACTIVE_MESSAGE_BYTES], in[VMOP_ACTIVE_MESSAGE_BYTES];
	int write_error = 0, read_error;
	bool has_out = box->has_out;
	memcpy(out, box->out, sizeof(out));
	box->has_out = false;
	pthread_mutex_unlock(lock);
	if (has_out)
		write_line(messages, box, out, &write_error);
	read_line(messages, box, in, &read_error);
	pthread_mutex_lock(lock);
	memcpy(box->in, in, sizeof(in));
	/* Repeat a write that conflicted with another transaction, or that xenstored missed. */
	if (write_error == EAGAIN || (write_error && !is_answer(write_error)))
		box->has_out = true;
	else if (has_out)
		box->is_refused = write_error != 0;
	return (!write_error || is_answer(write_error)) && (!read_error || is_answer(read_error));
}

/* Serve all boxes, and free the closed ones.  Call it with the lock held. */
static bool serve_all(struct vmop_agent_messages *messages)
{
	struct box *box, *next;
	bool is_alive = true;
	DL_FOREACH (messages->boxes, box) { /* only this thread removes boxes */
		if (!messages->is_fast || !box->may_wait)
			is_alive = is_alive && serve(messages, box);
	}
	DL_FOREACH_SAFE(messages->boxes, box, next)
	{
		if (!box->is_closed || box->has_out)
			continue;
		DL_DELETE(messages->boxes, box);
		free(box);
	}
	return is_alive;
}

static void reopen(struct vmop_agent_messages *messages, bool is_alive)
{
	if (messages->handle && !is_alive) {
		xs_close(messages->handle);
		messages->handle = NULL;
	}
	if (!messages->handle)
		messages->handle = xs_open(0);
}

static unsigned pause_ms(const struct vmop_agent_messages *messages, uint64_t round_ns)
{
	uint64_t least_ms = FAST_PAUSE_ROUNDS * round_ns / VMOP_NS_PER_MS;
	if (!messages->is_fast || least_ms > messages->round_ms)
		return messages->round_ms;
	return least_ms > FAST_ROUND_MS ? (unsigned)least_ms : FAST_ROUND_MS;
}

/* Serve the boxes until the end, and once more then, to write the pending lines. */
static void run(struct vmop_worker *worker)
{
	struct vmop_agent_messages *messages = (struct vmop_agent_messages *)worker;
	bool is_alive = true, is_last = false;
	while (!is_last) {
		reopen(messages, is_alive);
		pthread_mutex_lock(&worker->lock);
		messages->is_open = messages->handle != NULL;
		messages->is_absent = !messages->handle;
		pthread_cond_broadcast(&worker->wake);
		is_last = worker->is_ending;
		messages->has_news = false;
		uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		is_alive = messages->handle && serve_all(messages);
		struct timespec next = vmop_worker_deadline(
			pause_ms(messages, vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns));
		if (!worker->is_ending && !messages->has_news)
			vmop_worker_wait(worker, &next);
		pthread_mutex_unlock(&worker->lock);
	}
	if (messages->handle)
		xs_close(messages->handle);
}

static void destroy(struct vmop_worker *worker)
{
	struct vmop_agent_messages *messages = (struct vmop_agent_messages *)worker;
	struct box *box, *next;
	DL_FOREACH_SAFE(messages->boxes, box, next)
	free(box);
	free(messages);
}

static const struct vmop_worker_ops worker_ops = {"vmopd-messages", run, destroy};

/* ---- functions for the owner ---------------------------------------------------------------- */

static bool box_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	struct box *box = (struct box *)store;
	pthread_mutex_lock(&box->messages->worker.lock);
	memcpy(buf, box->in, VMOP_ACTIVE_MESSAGE_BYTES);
	pthread_mutex_unlock(&box->messages->worker.lock);
	return true;
}

/* Return false if the previous write was refused.  A side that lives writes again soon. */
static bool box_write(struct vmop_active_store *store, const char *line)
{
	struct box *box = (struct box *)store;
	struct vmop_worker *worker = &box->messages->worker;
	pthread_mutex_lock(&worker->lock);
	snprintf(box->out, sizeof(box->out), "%s", line);
	box->has_out = box->messages->has_news = true;
	bool is_refused = box->is_refused;
	pthread_cond_broadcast(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	return !is_refused;
}

static const struct vmop_active_store_ops box_ops = {box_read, box_write};

static struct vmop_error *add_box(struct vmop_agent_messages *messages, uint32_t domain,
				  const char *out_node, const char *in_node, bool may_wait,
				  struct vmop_active_store **ret)
{
	struct box *box = calloc(1, sizeof(*box));
	if (!box)
		return &vmop_error_no_memory;
	box->base.ops = &box_ops;
	box->messages = messages;
	box->domain = domain;
	box->may_wait = may_wait;
	box->out_node = out_node;
	box->in_node = in_node;
	pthread_mutex_lock(&messages->worker.lock);
	DL_APPEND(messages->boxes, box);
	pthread_mutex_unlock(&messages->worker.lock);
	*ret = &box->base;
	return NULL;
}

static struct vmop_error *open_domain(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	return add_box(arg, domain, "initiator", "agent", false, ret);
}

static struct vmop_error *open_window(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	return add_box(arg, domain, "fetch", "window", true, ret);
}

static void close_domain(void *arg, struct vmop_active_store *store)
{
	struct vmop_agent_messages *messages = arg;
	pthread_mutex_lock(&messages->worker.lock);
	((struct box *)store)->is_closed = true;
	pthread_mutex_unlock(&messages->worker.lock);
}

void vmop_agent_messages_hurry(struct vmop_agent_messages *messages, bool is_on)
{
	pthread_mutex_lock(&messages->worker.lock);
	if (is_on && !messages->is_fast)
		pthread_cond_broadcast(&messages->worker.wake);
	messages->is_fast = is_on;
	pthread_mutex_unlock(&messages->worker.lock);
}

static void hurry(void *arg, bool is_on)
{
	vmop_agent_messages_hurry(arg, is_on);
}

struct vmop_error *vmop_agent_messages_open(unsigned round_ms, struct vmop_agent_messages **ret)
{
	struct vmop_agent_messages *messages = calloc(1, sizeof(*messages));
	if (!messages)
		return &vmop_error_no_memory;
	messages->round_ms = round_ms;
	messages->opener = (struct vmop_active_opener){
		.open = open_domain, .close = close_domain, .hurry = hurry, .arg = messages};
	messages->window_opener = (struct vmop_active_opener){
		.open = open_window, .close = close_domain, .hurry = hurry, .arg = messages};
	struct vmop_error *err = vmop_worker_begin(&messages->worker, &worker_ops);
	if (err) {
		free(messages);
		return err;
	}
	pthread_mutex_lock(&messages->worker.lock);
	struct timespec until = vmop_worker_deadline(OPEN_WAIT_MS);
	while (!messages->is_open && !messages->is_absent &&
	       vmop_worker_wait(&messages->worker, &until))
		;
	bool is_open = messages->is_open;
	pthread_mutex_unlock(&messages->worker.lock);
	if (!is_open) {
		vmop_agent_messages_close(messages);
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"active domains are reached through xenstore, which cannot be "
			"opened here (/run/xenstored/socket in dom0, /dev/xen/xenbus "
			"in a domain)");
	}
	*ret = messages;
	return NULL;
}

void vmop_agent_messages_close(struct vmop_agent_messages *messages)
{
	if (messages)
		vmop_worker_end(&messages->worker);
}

const struct vmop_active_opener *vmop_agent_messages_opener(struct vmop_agent_messages *messages)
{
	return &messages->opener;
}

const struct vmop_active_opener *
vmop_agent_messages_window_opener(struct vmop_agent_messages *messages)
{
	return &messages->window_opener;
}

struct vmop_error *vmop_agent_messages_own(struct vmop_agent_messages *messages,
					   struct vmop_active_store **ret)
{
	return add_box(messages, OWN, "agent", "initiator", false, ret);
}

struct vmop_error *vmop_agent_messages_own_window(struct vmop_agent_messages *messages,
						  struct vmop_active_store **ret)
{
	return add_box(messages, OWN, "window", "fetch", true, ret);
}
