// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/session-server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/active/file-stream.h"
#include "daemon/active/vsock.h"
#include "hv-interface/active-file.h"
#include "libdb/db.h"
#include "libutil/cleanup.h"
#include "libutil/dirs/safe-dir.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/worker.h"

/* The copy, as long as it has a name. No session has this suffix. */
#define COPY_FILE "current.vmop.copy"

/* The nice value of the sending thread, so that the session's own work comes first. */
#define SENDER_NICE 19

struct vmop_session_server {
	struct vmop_session_server_options options;
	sd_event_source *accepting;
	struct sender *sender; /* NULL: none was begun */
};

/* ---- one transfer, in its thread ----------------------------------------------------------- */

struct sender {
	struct vmop_worker worker;
	struct vmop_file_stream stream;
	struct vmop_offered_session offered;
	bool has_answered; /* only the last line is left to send; protected by the worker's lock */
};

static struct vmop_error *send_line(struct sender *sender, const char *line, size_t len)
{
	return vmop_file_stream_send(&sender->stream, VMOP_ACTIVE_FRAME_LINE, line, len);
}

/*
 * Send the line that ends the transfer. The host may ask again as soon as it has this line, when
 * this thread, at its nice value, has yet to end.
 */
static struct vmop_error *send_last_line(struct sender *sender, const char *line, size_t len)
{
	pthread_mutex_lock(&sender->worker.lock);
	sender->has_answered = true;
	pthread_mutex_unlock(&sender->worker.lock);
	return send_line(sender, line, len);
}

static bool goes_on(void *arg, double share)
{
	(void)share;
	return !vmop_file_stream_is_over(arg);
}

/* Set *ret_fd to a copy of the session without a name. */
static struct vmop_error *copy_session(struct sender *sender, uint64_t max_bytes, int *ret_fd)
{
	const char *path = sender->offered.path;
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	struct vmop_db *db = NULL;
	struct vmop_error *err = vmop_dir_open(path, VMOP_DIR_SAFE | VMOP_DIR_OF_FILE, &dir);
	if (err)
		return err;
	unlinkat(dir.fd, COPY_FILE, 0); /* left by a daemon that was killed */
	err = vmop_db_open_at(&dir, dir.file, path, &db);
	if (!err)
		err = vmop_db_copy_at(db, &dir, COPY_FILE, COPY_FILE, max_bytes, goes_on,
				      &sender->stream);
	vmop_db_close(db);
	if (err)
		return err;
	*ret_fd = openat(dir.fd, COPY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		err = vmop_error_os(errno, "%s", COPY_FILE);
	unlinkat(dir.fd, COPY_FILE, 0);
	return err;
}

static struct vmop_error *send_bytes(struct sender *sender, int fd, XXH3_state_t *hash)
{
	uint8_t block[VMOP_ACTIVE_BULK_BYTES];
	uint64_t at = 0;
	for (;;) {
		ssize_t n = vmop_io_pread_full(fd, block, sizeof(block), at);
		if (n < 0)
			return vmop_error_os(errno, "%s", COPY_FILE);
		if (n == 0)
			return NULL;
		XXH3_128bits_update(hash, block, (size_t)n);
		struct vmop_error *err = vmop_file_stream_send(
			&sender->stream, VMOP_ACTIVE_FRAME_BULK, block, (size_t)n);
		if (err)
			return err;
		at += (uint64_t)n;
	}
}

static struct vmop_error *send_file(struct sender *sender, int fd)
{
	char line[VMOP_ACTIVE_FILE_LINE_BYTES];
	struct stat st;
	XXH3_state_t *hash = XXH3_createState();
	if (!hash)
		return &vmop_error_no_memory;
	XXH3_128bits_reset(hash);
	struct vmop_error *err = fstat(fd, &st) < 0 ? vmop_error_os(errno, "%s", COPY_FILE) : NULL;
	if (!err)
		err = send_line(sender, line, vmop_active_file_begin((uint64_t)st.st_size, line));
	if (!err)
		err = send_bytes(sender, fd, hash);
	if (!err)
		err = send_last_line(sender, line, vmop_active_file_end(hash, line));
	XXH3_freeState(hash);
	return err;
}

/* Send the reason why no file comes. Takes err. */
static struct vmop_error *refuse(struct sender *sender, struct vmop_error *err)
{
	char line[VMOP_ACTIVE_FILE_LINE_BYTES];
	size_t len = vmop_active_file_refuse(err->message, line);
	vmop_error_destroy(err);
	return send_last_line(sender, line, len);
}

static struct vmop_error *serve(struct sender *sender)
{
	struct vmop_active_file_request request;
	struct vmop_active_frame frame;
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_file_stream_receive(&sender->stream, &frame);
	if (err)
		return err;
	if (!vmop_active_file_asked(&frame, &request))
		return vmop_error_new(VMOP_ERROR_CANT, "it sent what no vmopd sends");
	if (request.token != sender->offered.token || !sender->offered.path)
		return refuse(sender, vmop_error_new(VMOP_ERROR_NOT_FOUND,
						     "it has no session of this host's session"));
	err = copy_session(sender, request.max_bytes, &fd);
	if (err && err->code == VMOP_ERROR_LIMIT) {
		vmop_error_destroy(err);
		err = vmop_error_new(VMOP_ERROR_LIMIT,
				     "it has more than %" PRIu64 " bytes (fetch-size)",
				     request.max_bytes);
	}
	return err ? refuse(sender, err) : send_file(sender, fd);
}

static void sender_run(struct vmop_worker *worker)
{
	struct sender *sender = (struct sender *)worker;
	setpriority(PRIO_PROCESS, (id_t)gettid(), SENDER_NICE);
	struct vmop_error *err = serve(sender);
	if (err)
		vmop_log_info("the session did not go to the host: %s", err->message);
	else
		vmop_log_info("answered the host's request for the session");
	vmop_error_destroy(err);
	vmop_file_stream_end(&sender->stream);
}

static void sender_destroy(struct vmop_worker *worker)
{
	struct sender *sender = (struct sender *)worker;
	vmop_file_stream_end(&sender->stream);
	free(sender->offered.path);
	free(sender);
}

static const struct vmop_worker_ops sender_ops = {"vmop-send", sender_run, sender_destroy};

static bool is_sending(struct sender *sender)
{
	if (!sender)
		return false;
	pthread_mutex_lock(&sender->worker.lock);
	bool is_sending = !sender->worker.has_ended && !sender->has_answered;
	pthread_mutex_unlock(&sender->worker.lock);
	return is_sending;
}

/* ---- connections ----------------------------------------------------------------------------- */

void vmop_session_server_take(struct vmop_session_server *server, int fd)
{
	struct sender *sender = is_sending(server->sender) ? NULL : calloc(1, sizeof(*sender));
	if (!sender) {
		close(fd);
		return;
	}
	if (server->sender)
		vmop_worker_end(&server->sender->worker);
	server->sender = NULL;
	vmop_file_stream_begin(&sender->stream, fd, &sender->worker);
	server->options.offer(server->options.arg, &sender->offered);
	struct vmop_error *err = vmop_worker_begin(&sender->worker, &sender_ops);
	if (err)
		sender_destroy(&sender->worker);
	else
		server->sender = sender;
	vmop_log_and_destroy(VMOP_LOG_WARNING, err);
}

static int on_connection(sd_event_source *source, int listener_fd, uint32_t events, void *arg)
{
	uint32_t cid, port;
	int fd = vmop_active_vsock_accept(listener_fd, &cid, &port);
	(void)source;
	(void)events;
	if (fd < 0)
		return 0;
	if (vmop_active_vsock_is_host(cid, port))
		vmop_session_server_take(arg, fd);
	else
		close(fd);
	return 0;
}

struct vmop_error *vmop_session_server_create(const struct vmop_session_server_options *options,
					      struct vmop_session_server **ret)
{
	struct vmop_session_server *server = calloc(1, sizeof(*server));
	int status = 0;
	if (server) {
		server->options = *options;
		if (options->listener_fd >= 0)
			status = sd_event_add_io(options->loop, &server->accepting,
						 options->listener_fd, EPOLLIN, on_connection,
						 server);
	}
	if (server && status >= 0) {
		*ret = server;
		return NULL;
	}
	if (options->listener_fd >= 0)
		close(options->listener_fd);
	free(server);
	return status < 0 ? vmop_error_os(-status, "event loop") : &vmop_error_no_memory;
}

void vmop_session_server_destroy(struct vmop_session_server *server)
{
	if (!server)
		return;
	sd_event_source_disable_unref(server->accepting);
	if (server->options.listener_fd >= 0)
		close(server->options.listener_fd);
	if (server->sender)
		vmop_worker_end(&server->sender->worker);
	free(server);
}
