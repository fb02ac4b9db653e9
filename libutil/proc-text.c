// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/proc-text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/readers.h"

struct text {
	char *bytes;
	ssize_t len_bytes; /* -1: see os_errno */
	int os_errno;
};

struct vmop_proc_text {
	struct vmop_readers *readers;
	uint64_t n_asked; /* the number of the awaited read */
	bool is_answered;
	struct text answer;
};

struct request {
	struct vmop_read_job job;
	uint64_t number;
	char path[PATH_MAX];
	size_t max_bytes;
	struct text text;
};

static struct text fail(int os_errno)
{
	return (struct text){.len_bytes = -1, .os_errno = os_errno};
}

static struct text read_text(const char *path, size_t max_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	_cleanup_free_ char *buf = NULL;
	size_t capacity = 0, len = 0;
	if (fd < 0)
		return fail(errno);
	do {
		capacity = capacity ? 2 * capacity : 8192;
		if (capacity > max_bytes)
			capacity = max_bytes;
		char *grown = realloc(buf, capacity + 1);
		if (!grown)
			return fail(ENOMEM);
		buf = grown;
		ssize_t n = vmop_io_read_full(fd, buf + len, capacity - len);
		if (n < 0)
			return fail(errno);
		len += (size_t)n;
	} while (len == capacity && capacity < max_bytes);
	buf[len] = '\0';
	return (struct text){.bytes = vmop_steal(&buf), .len_bytes = (ssize_t)len};
}

static void run_request(struct vmop_read_job *job)
{
	struct request *request = (struct request *)job;
	request->text = read_text(request->path, request->max_bytes);
}

static void finish_request(struct vmop_read_job *job, enum vmop_read_outcome outcome, void *arg)
{
	struct request *request = (struct request *)job;
	struct vmop_proc_text *reader = arg;
	if (request->number != reader->n_asked || reader->is_answered)
		return; /* too late */
	reader->is_answered = true;
	reader->answer = fail(ETIMEDOUT);
	if (outcome == VMOP_READ_DONE) {
		reader->answer = request->text;
		request->text.bytes = NULL;
	}
}

static void destroy_request(struct vmop_read_job *job)
{
	struct request *request = (struct request *)job;
	free(request->text.bytes);
	free(request);
}

static const struct vmop_read_job_ops request_ops = {
	.run = run_request,
	.finish = finish_request,
	.destroy = destroy_request,
};

/* All processes of a user are one place, except root's, who can be the user of many containers. */
static uint64_t place_of(const char *root, uint32_t pid)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof(path), "%s/proc/%u", root, pid);
	return stat(path, &st) == 0 ? st.st_uid : 0;
}

static struct text read_in_time(struct vmop_proc_text *reader, uint64_t place, const char *path,
				size_t max_bytes)
{
	struct request *request = calloc(1, sizeof(*request));
	if (!request)
		return fail(ENOMEM);
	request->job.ops = &request_ops;
	request->job.place = place;
	request->number = ++reader->n_asked;
	request->max_bytes = max_bytes;
	strcpy(request->path, path);
	reader->is_answered = false;
	vmop_readers_submit(reader->readers, &request->job);
	while (!reader->is_answered)
		vmop_readers_collect(reader->readers, VMOP_PROC_TEXT_MS);
	return reader->answer;
}

ssize_t vmop_proc_text_read(struct vmop_proc_text *reader, const char *root, uint32_t pid,
			    const char *name, size_t max_bytes, char **ret)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/proc/%u/%s", root, pid, name);
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	struct text text = reader ? read_in_time(reader, place_of(root, pid), path, max_bytes)
				  : read_text(path, max_bytes);
	*ret = text.bytes;
	errno = text.os_errno;
	return text.len_bytes;
}

struct vmop_error *vmop_proc_text_create(struct vmop_proc_text **ret)
{
	struct vmop_proc_text *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return &vmop_error_no_memory;
	struct vmop_error *err =
		vmop_readers_create("vmopd-proc", VMOP_PROC_TEXT_MS, 0, reader, &reader->readers);
	if (err) {
		free(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

void vmop_proc_text_destroy(struct vmop_proc_text *reader)
{
	if (!reader)
		return;
	vmop_readers_destroy(reader->readers);
	free(reader);
}
