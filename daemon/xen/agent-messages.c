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
/*
 * Between two rounds in a hurry, and how much longer than the round itself that is at the least:
 * xenstored has others to serve, and whoever is waited for needs a CPU, too.
 */
#define HURRIED_ROUND_MS 10
#define HURRIED_PAUSE_ROUNDS 4
/* This domain's own folder: paths that don't begin with '/' are below it. */
#define OWN UINT32_MAX

/* One domain's two lines. Under the lock, but for what never changes. */
struct box {
	struct vmop_active_store base;
	struct vmop_active_mail *mail;
	uint32_t domain;
	const char *mine, *theirs;
	char out[VMOP_ACTIVE_MESSAGE_BYTES], in[VMOP_ACTIVE_MESSAGE_BYTES];
	bool has_out;	 /* out is still to be written */
	bool is_refused; /* the last one that was written could not be */
	bool is_closed;	 /* its owner has gone: the thread frees it */
	struct box *prev, *next;
};

struct vmop_active_mail {
	struct vmop_worker worker;
	unsigned round_ms;
	struct vmop_active_opener opener;

	/* Under the worker's lock. */
	struct box *boxes;
	bool is_open, is_absent;
	bool has_news; /* something is to be written since the round began */
	bool is_hurried;

	struct xs_handle *handle; /* the thread's own */
};

/* ---- the thread's part ----------------------------------------------------------- */

static void name_path(const struct box *box, const char *name, char *path, size_t size)
{
	if (box->domain == OWN)
		snprintf(path, size, "data/vmop/%s", name);
	else
		snprintf(path, size, "/local/domain/%u/data/vmop/%s", box->domain, name);
}

/* What xenstored itself says, and no broken connection to it. */
static bool is_answer(int error)
{
	return error == ENOENT || error == EACCES || error == EINVAL || error == E2BIG ||
	       error == ENOSPC || error == EAGAIN;
}

/*
 * In a domain's folder, but only while there is one: xenstore would make it anew for a domain that
 * was destroyed, and then it is there for good.  "vm" comes with the folder, unlike "domid".
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

/* Into *ret_error 0, or why it was not written. */
static void write_line(struct vmop_active_mail *mail, const struct box *box, const char *line,
		       int *ret_error)
{
	char path[80];
	name_path(box, box->mine, path, sizeof(path));
	bool is_written =
		box->domain == OWN
			? xs_write(mail->handle, XBT_NULL, path, line, (unsigned)strlen(line))
			: write_if_alive(mail->handle, box->domain, path, line);
	*ret_error = is_written ? 0 : errno;
}

/* Cut to fit, and at the first NUL; "": there is none. */
static void read_line(struct vmop_active_mail *mail, const struct box *box,
		      char line[VMOP_ACTIVE_MESSAGE_BYTES], int *ret_error)
{
	char path[80];
	unsigned len;
	name_path(box, box->theirs, path, sizeof(path));
	_cleanup_free_ char *text = xs_read(mail->handle, XBT_NULL, path, &len);
	*ret_error = text ? 0 : errno;
	snprintf(line, VMOP_ACTIVE_MESSAGE_BYTES, "%s", text ? text : "");
}

/* With the lock held, which is let go of meanwhile.  False: xenstored is gone. */
static bool serve(struct vmop_active_mail *mail, struct box *box)
{
	pthread_mutex_t *lock = &mail->worker.lock;
	char out[VMOP_ACTIVE_MESSAGE_BYTES], in[VMOP_ACTIVE_MESSAGE_BYTES];
	int write_error = 0, read_error;
	bool has_out = box->has_out;
	memcpy(out, box->out, sizeof(out));
	box->has_out = false;
	pthread_mutex_unlock(lock);
	if (has_out)
		write_line(mail, box, out, &write_error);
	read_line(mail, box, in, &read_error);
	pthread_mutex_lock(lock);
	memcpy(box->in, in, sizeof(in));
	/* What came between two transactions, or to a xenstored that is gone, is said again. */
	if (write_error == EAGAIN || (write_error && !is_answer(write_error)))
		box->has_out = true;
	else if (has_out)
		box->is_refused = write_error != 0;
	return (!write_error || is_answer(write_error)) && (!read_error || is_answer(read_error));
}

/* With the lock held. */
static bool serve_all(struct vmop_active_mail *mail)
{
	struct box *box, *next;
	bool is_alive = true;
	DL_FOREACH (mail->boxes, box) /* none is taken out of the list by anybody else */
		is_alive = is_alive && serve(mail, box);
	DL_FOREACH_SAFE(mail->boxes, box, next)
	{
		if (!box->is_closed || box->has_out)
			continue;
		DL_DELETE(mail->boxes, box);
		free(box);
	}
	return is_alive;
}

static void reopen(struct vmop_active_mail *mail, bool is_alive)
{
	if (mail->handle && !is_alive) {
		xs_close(mail->handle);
		mail->handle = NULL;
	}
	if (!mail->handle)
		mail->handle = xs_open(0);
}

static unsigned pause_ms(const struct vmop_active_mail *mail, uint64_t round_ns)
{
	uint64_t least_ms = HURRIED_PAUSE_ROUNDS * round_ns / 1000000;
	if (!mail->is_hurried || least_ms > mail->round_ms)
		return mail->round_ms;
	return least_ms > HURRIED_ROUND_MS ? (unsigned)least_ms : HURRIED_ROUND_MS;
}

/* Once more after it was told to end: what is still to be said goes out. */
static void run(struct vmop_worker *worker)
{
	struct vmop_active_mail *mail = (struct vmop_active_mail *)worker;
	bool is_alive = true, is_last = false;
	while (!is_last) {
		reopen(mail, is_alive);
		pthread_mutex_lock(&worker->lock);
		mail->is_open = mail->handle != NULL;
		mail->is_absent = !mail->handle;
		pthread_cond_broadcast(&worker->wake);
		is_last = worker->is_ending;
		mail->has_news = false;
		uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		is_alive = mail->handle && serve_all(mail);
		struct timespec next = vmop_worker_deadline(
			pause_ms(mail, vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns));
		if (!worker->is_ending && !mail->has_news)
			vmop_worker_wait(worker, &next);
		pthread_mutex_unlock(&worker->lock);
	}
	if (mail->handle)
		xs_close(mail->handle);
}

static void destroy(struct vmop_worker *worker)
{
	struct vmop_active_mail *mail = (struct vmop_active_mail *)worker;
	struct box *box, *next;
	DL_FOREACH_SAFE(mail->boxes, box, next)
	free(box);
	free(mail);
}

static const struct vmop_worker_ops worker_ops = {"vmopd-mail", run, destroy};

/* ---- its owner's part ---------------------------------------------------------------- */

static bool box_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	struct box *box = (struct box *)store;
	pthread_mutex_lock(&box->mail->worker.lock);
	memcpy(buf, box->in, VMOP_ACTIVE_MESSAGE_BYTES);
	pthread_mutex_unlock(&box->mail->worker.lock);
	return true;
}

/* False a write later than the one that was refused, which is soon: a living side writes on. */
static bool box_write(struct vmop_active_store *store, const char *line)
{
	struct box *box = (struct box *)store;
	struct vmop_worker *worker = &box->mail->worker;
	pthread_mutex_lock(&worker->lock);
	snprintf(box->out, sizeof(box->out), "%s", line);
	box->has_out = box->mail->has_news = true;
	bool is_refused = box->is_refused;
	pthread_cond_broadcast(&worker->wake);
	pthread_mutex_unlock(&worker->lock);
	return !is_refused;
}

static const struct vmop_active_store_ops box_ops = {box_read, box_write};

static struct vmop_error *add_box(struct vmop_active_mail *mail, uint32_t domain, const char *mine,
				  const char *theirs, struct vmop_active_store **ret)
{
	struct box *box = calloc(1, sizeof(*box));
	if (!box)
		return &vmop_error_no_memory;
	box->base.ops = &box_ops;
	box->mail = mail;
	box->domain = domain;
	box->mine = mine;
	box->theirs = theirs;
	pthread_mutex_lock(&mail->worker.lock);
	DL_APPEND(mail->boxes, box);
	pthread_mutex_unlock(&mail->worker.lock);
	*ret = &box->base;
	return NULL;
}

static struct vmop_error *open_domain(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	return add_box(arg, domain, "initiator", "agent", ret);
}

static void close_domain(void *arg, struct vmop_active_store *store)
{
	struct vmop_active_mail *mail = arg;
	pthread_mutex_lock(&mail->worker.lock);
	((struct box *)store)->is_closed = true;
	pthread_mutex_unlock(&mail->worker.lock);
}

void vmop_active_mail_hurry(struct vmop_active_mail *mail, bool is_on)
{
	pthread_mutex_lock(&mail->worker.lock);
	if (is_on && !mail->is_hurried)
		pthread_cond_broadcast(&mail->worker.wake);
	mail->is_hurried = is_on;
	pthread_mutex_unlock(&mail->worker.lock);
}

static void hurry(void *arg, bool is_on)
{
	vmop_active_mail_hurry(arg, is_on);
}

struct vmop_error *vmop_active_mail_open(unsigned round_ms, struct vmop_active_mail **ret)
{
	struct vmop_active_mail *mail = calloc(1, sizeof(*mail));
	if (!mail)
		return &vmop_error_no_memory;
	mail->round_ms = round_ms;
	mail->opener = (struct vmop_active_opener){open_domain, close_domain, hurry, mail};
	struct vmop_error *err = vmop_worker_begin(&mail->worker, &worker_ops);
	if (err) {
		free(mail);
		return err;
	}
	pthread_mutex_lock(&mail->worker.lock);
	struct timespec until = vmop_worker_deadline(OPEN_WAIT_MS);
	while (!mail->is_open && !mail->is_absent && vmop_worker_wait(&mail->worker, &until))
		;
	bool is_open = mail->is_open;
	pthread_mutex_unlock(&mail->worker.lock);
	if (!is_open) {
		vmop_active_mail_close(mail);
		return vmop_error_new(VMOP_ERROR_CANT,
				      "active domains are reached through xenstore, which can't be "
				      "opened here (/run/xenstored/socket in dom0, /dev/xen/xenbus "
				      "in a domain)");
	}
	*ret = mail;
	return NULL;
}

void vmop_active_mail_close(struct vmop_active_mail *mail)
{
	if (mail)
		vmop_worker_end(&mail->worker);
}

const struct vmop_active_opener *vmop_active_mail_opener(struct vmop_active_mail *mail)
{
	return &mail->opener;
}

struct vmop_error *vmop_active_mail_own(struct vmop_active_mail *mail,
					struct vmop_active_store **ret)
{
	return add_box(mail, OWN, "agent", "initiator", ret);
}
