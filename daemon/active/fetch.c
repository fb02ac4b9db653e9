// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/fetch.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/active/file-stream.h"
#include "libutil/cleanup.h"
#include "libutil/worker.h"

struct vmop_fetch {
	struct vmop_worker worker;
	struct vmop_fetch_options options; /* pidfd: owned here */
	struct vmop_file_stream stream;
	struct vmop_active_file file;
	struct vmop_fetched_file fetched;
	struct vmop_fetch_status status; /* protected by the worker's lock */
};

static struct vmop_error *ask(struct vmop_fetch *fetch)
{
	char line[VMOP_ACTIVE_FILE_LINE_BYTES];
	size_t len = vmop_active_file_ask(&fetch->options.request, line);
	return vmop_file_stream_send(&fetch->stream, VMOP_ACTIVE_FRAME_LINE, line, len);
}

static void count_bytes(struct vmop_fetch *fetch)
{
	pthread_mutex_lock(&fetch->worker.lock);
	fetch->status.n_bytes = fetch->file.n_bytes;
	pthread_mutex_unlock(&fetch->worker.lock);
}

/* Receive the whole file. */
static struct vmop_error *receive(struct vmop_fetch *fetch)
{
	struct vmop_error *err = NULL;
	while (!err) {
		struct vmop_active_frame frame;
		err = vmop_file_stream_receive(&fetch->stream, &frame);
		if (err)
			break;
		switch (vmop_active_file_take(&fetch->file, &frame)) {
		case VMOP_ACTIVE_FILE_BEGINS:
			err = vmop_fetched_file_begin(&fetch->fetched, &fetch->options.place);
			break;
		case VMOP_ACTIVE_FILE_BYTES:
			count_bytes(fetch);
			err = vmop_fetched_file_write(&fetch->fetched, frame.payload,
						      frame.len_bytes);
			break;
		case VMOP_ACTIVE_FILE_WHOLE:
			return NULL;
		case VMOP_ACTIVE_FILE_REFUSED:
		case VMOP_ACTIVE_FILE_WRONG:
			err = vmop_error_new(VMOP_ERROR_CANT, "%s", fetch->file.reason);
		}
	}
	return err;
}

/* Return whether the VMM has ended, and its CID can be another guest's. */
static bool has_vmm_ended(const struct vmop_fetch *fetch)
{
	struct pollfd pollfd = {.fd = fetch->options.pidfd, .events = POLLIN};
	return fetch->options.pidfd >= 0 && poll(&pollfd, 1, 0) > 0;
}

static struct vmop_error *transfer(struct vmop_fetch *fetch)
{
	struct vmop_error *err =
		vmop_active_file_init(&fetch->file, fetch->options.request.max_bytes);
	if (err)
		return err;
	int fd = fetch->options.cid ? fetch->options.dial(fetch->options.cid)
				    : vmop_steal_fd(&fetch->options.fd);
	if (fd < 0)
		return vmop_error_new(VMOP_ERROR_CANT, "it can't be reached");
	vmop_file_stream_begin(&fetch->stream, fd, &fetch->worker);
	err = vmop_file_stream_connect(&fetch->stream);
	if (!err)
		err = ask(fetch);
	if (!err)
		err = receive(fetch);
	if (!err && has_vmm_ended(fetch))
		err = vmop_error_new(VMOP_ERROR_CANT, "its VMM has ended");
	return err ? err : vmop_fetched_file_check(&fetch->fetched);
}

static void fetch_run(struct vmop_worker *worker)
{
	struct vmop_fetch *fetch = (struct vmop_fetch *)worker;
	setpriority(PRIO_PROCESS, (id_t)gettid(), (int)fetch->options.nice);
	struct vmop_error *err = transfer(fetch);
	vmop_file_stream_end(&fetch->stream);
	vmop_active_file_deinit(&fetch->file);
	if (err)
		vmop_fetched_file_end(&fetch->fetched);
	pthread_mutex_lock(&worker->lock);
	fetch->status.state = err ? VMOP_FETCH_FAILED : VMOP_FETCH_DONE;
	if (err)
		snprintf(fetch->status.reason, sizeof(fetch->status.reason), "%s", err->message);
	pthread_mutex_unlock(&worker->lock);
	vmop_error_destroy(err);
}

static void fetch_free(struct vmop_fetch *fetch)
{
	if (fetch->options.pidfd >= 0)
		close(fetch->options.pidfd);
	if (fetch->options.fd >= 0)
		close(fetch->options.fd);
	vmop_fetched_place_deinit(&fetch->options.place);
	free(fetch);
}

static void fetch_destroy(struct vmop_worker *worker)
{
	struct vmop_fetch *fetch = (struct vmop_fetch *)worker;
	vmop_fetched_file_end(&fetch->fetched);
	fetch_free(fetch);
}

static const struct vmop_worker_ops ops = {"vmop-fetch", fetch_run, fetch_destroy};

struct vmop_error *vmop_fetch_begin(const struct vmop_fetch_options *options,
				    struct vmop_fetch **ret)
{
	struct vmop_fetch *fetch = calloc(1, sizeof(*fetch));
	if (!fetch) {
		struct vmop_fetched_place place = options->place;
		vmop_fetched_place_deinit(&place);
		if (options->fd >= 0)
			close(options->fd);
		return &vmop_error_no_memory;
	}
	fetch->options = *options;
	fetch->stream.fd = -1;
	fetch->fetched = (struct vmop_fetched_file){.dir = VMOP_DIR_NONE, .fd = -1};
	if (options->pidfd >= 0)
		fetch->options.pidfd = fcntl(options->pidfd, F_DUPFD_CLOEXEC, 0);
	struct vmop_error *err = vmop_worker_begin(&fetch->worker, &ops);
	if (err)
		fetch_free(fetch);
	else
		*ret = fetch;
	return err;
}

void vmop_fetch_end(struct vmop_fetch *fetch)
{
	if (fetch)
		vmop_worker_end(&fetch->worker);
}

void vmop_fetch_status(struct vmop_fetch *fetch, struct vmop_fetch_status *ret)
{
	pthread_mutex_lock(&fetch->worker.lock);
	*ret = fetch->status;
	pthread_mutex_unlock(&fetch->worker.lock);
}

struct vmop_error *vmop_fetch_publish(struct vmop_fetch *fetch, const char *name)
{
	return vmop_fetched_file_publish(&fetch->fetched, name);
}
