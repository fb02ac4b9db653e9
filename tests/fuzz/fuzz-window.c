// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as what the agent of a domain of Xen gives to dom0: its line about a window, up to the
 * first newline, and then the words and the bytes in the window itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/xen/window-line.h"
#include "daemon/xen/window.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Places in the window (daemon/xen/window.h), and the length of its ring for the host. */
enum { MAGIC_AT = 0, AGENT_AT = 64, TO_HOST_AT = 4096, TO_HOST_BYTES = 131072 };
static const uint32_t magic_and_version[2] = {0x77706d76, 1};

/* A line that is taken reads the same after it is written. */
static void try_line(const uint8_t *data, size_t len_bytes)
{
	struct vmop_window_line line, again;
	char text[VMOP_ACTIVE_MESSAGE_BYTES];
	char *copy = malloc(len_bytes + 1);
	if (!copy)
		abort();
	memcpy(copy, data, len_bytes);
	copy[len_bytes] = '\0';
	if (vmop_window_line_parse(copy, &line)) {
		vmop_window_line_format(&line, text);
		if (!vmop_window_line_parse(text, &again) || again.number != line.number ||
		    again.has_refs != line.has_refs ||
		    memcmp(again.refs, line.refs, sizeof(line.refs)) != 0 ||
		    strcmp(again.reason, line.reason) != 0)
			abort();
	}
	free(copy);
}

/* Return how many bytes are in the socket. */
static size_t drain(int fd)
{
	uint8_t bytes[4096];
	size_t sum = 0;
	for (ssize_t n; (n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0;)
		sum += (size_t)n;
	return sum;
}

/* One step of the host's side of a window with these words and bytes. */
static void try_window(const uint8_t *data, size_t len_bytes)
{
	uint32_t marks[3] = {0};
	struct vmop_window window;
	struct vmop_worker worker = {.lock = PTHREAD_MUTEX_INITIALIZER};
	int pair[2];
	uint8_t *memory = aligned_alloc(4096, VMOP_WINDOW_BYTES);
	if (!memory || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		abort();
	memset(memory, 0, VMOP_WINDOW_BYTES);
	memcpy(memory + MAGIC_AT, magic_and_version, sizeof(magic_and_version));
	memcpy(marks, data, len_bytes < sizeof(marks) ? len_bytes : sizeof(marks));
	memcpy(memory + AGENT_AT, marks, sizeof(marks));
	if (len_bytes > sizeof(marks)) {
		size_t n = len_bytes - sizeof(marks);
		memcpy(memory + TO_HOST_AT, data + sizeof(marks),
		       n < TO_HOST_BYTES ? n : TO_HOST_BYTES);
	}
	vmop_window_begin(&window, memory, VMOP_WINDOW_HOST, pair[0], &worker);
	window.open_ns = window.whole_ns = 0; /* the first step is the last */
	vmop_error_destroy(vmop_window_carry(&window));
	if (drain(pair[1]) > TO_HOST_BYTES || window.n_read > TO_HOST_BYTES)
		abort();
	close(pair[0]);
	close(pair[1]);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	const uint8_t *newline = len_bytes ? memchr(data, '\n', len_bytes) : NULL;
	size_t line_bytes = newline ? (size_t)(newline - data) : len_bytes;
	try_line(data, line_bytes);
	if (newline)
		try_window(newline + 1, len_bytes - line_bytes - 1);
	return 0;
}
