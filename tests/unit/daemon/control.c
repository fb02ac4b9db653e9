// SPDX-License-Identifier: GPL-2.0-or-later
/* The control socket's server in a process of its own, with hostile clients. */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/control.h"
#include "libutil/protocol.h"

#define STATUS_GID 54321

static char dir[] = "/tmp/vmop-control-XXXXXX";
static char path[64];
static pid_t server;

static json_t *answer(void *arg, const json_t *request, enum vmop_control_right right)
{
	(void)arg;
	json_t *reply = vmop_protocol_ok();
	json_object_set_new(reply, "right", json_integer(right));
	json_object_set(reply, "echo", json_object_get(request, "request"));
	return reply;
}

static void serve(int ready_fd)
{
	sd_event *loop = NULL;
	struct vmop_control *control = NULL;
	int dir_fd = open(dir, O_PATH | O_DIRECTORY);
	if (sd_event_new(&loop) < 0 ||
	    vmop_control_create(loop, dir_fd, "vmopd.sock", answer, NULL, &control))
		_exit(1);
	struct stat st;
	if (stat(path, &st) < 0 || (st.st_mode & 07777) != 0600)
		_exit(1);
	vmop_control_set_status_group(control, STATUS_GID);
	if (write(ready_fd, "r", 1) != 1)
		_exit(1);
	sd_event_loop(loop);
	_exit(1);
}

static int set_up(void **state)
{
	int ready[2];
	char c;
	(void)state;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0 || pipe(ready) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/vmopd.sock", dir);
	server = fork();
	if (server == 0)
		serve(ready[1]);
	close(ready[1]);
	return read(ready[0], &c, 1) == 1 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	/* The server still answers. */
	int is_alive = waitpid(server, NULL, WNOHANG) == 0;
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	unlink(path);
	return rmdir(dir) == 0 && is_alive ? 0 : -1;
}

static int connect_client(void)
{
	int fd = -1;
	assert_null(vmop_protocol_connect(path, &fd));
	assert_true(fd >= 0);
	return fd;
}

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Receive until the server disconnects or, if lines > 0, that many lines. */
static char *receive(int fd, int lines)
{
	static char buf[8192];
	size_t len = 0;
	while (len < sizeof(buf) - 1) {
		ssize_t n = recv(fd, buf + len, 1, 0);
		if (n <= 0)
			break;
		if (buf[len++] == '\n' && --lines == 0)
			break;
	}
	buf[len] = '\0';
	return buf;
}

static void assert_served(void)
{
	int fd = connect_client();
	send_text(fd, "{\"version\": 1, \"request\": \"hello\"}\n");
	assert_non_null(strstr(receive(fd, 1), "hello"));
	close(fd);
}

static void requests_and_replies(void **state)
{
	(void)state;
	int fd = connect_client();
	send_text(fd, "{\"version\": 1, \"requ");
	send_text(fd, "est\": \"a\"}\n{\"version\": 1, \"request\": \"b\"}\n{\"version\": 1}\n");
	char *replies = receive(fd, 3);
	assert_non_null(strstr(replies, "\"echo\":\"a\""));
	assert_non_null(strstr(replies, "\"echo\":\"b\""));
	close(fd);
}

static void garbage(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"GET / HTTP/1.0\r\n",
		"\n",
		"[[[[[[[[[[\n",
		"{\"version\": 7, \"request\": \"status\"}\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int fd = connect_client();
		send_text(fd, lines[i]);
		char *reply = receive(fd, 0); /* the server sends the reason and disconnects */
		assert_non_null(strstr(reply, "\"ok\":false"));
		assert_non_null(strstr(reply, "message"));
		close(fd);
	}
	assert_served();
}

static void a_line_without_end(void **state)
{
	(void)state;
	int fd = connect_client();
	char block[4096];
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 64; i++)
		if (send(fd, block, sizeof(block), MSG_NOSIGNAL) < 0)
			break;
	assert_non_null(strstr(receive(fd, 1), "65536"));
	close(fd);
	assert_served();
}

static void one_that_does_not_listen(void **state)
{
	(void)state;
	int fd = connect_client();
	static const char request[] = "{\"version\": 1, \"request\": \"x\"}\n";
	/* Send until the server takes no more, because its replies are not read. */
	while (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		;
	assert_true(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
	assert_served();
	close(fd);
}

static void silent_ones(void **state)
{
	(void)state;
	int fds[VMOP_CONTROL_MAX_CLIENTS];
	for (int i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++)
		fds[i] = connect_client();
	int late = connect_client();
	assert_non_null(strstr(receive(late, 0), "16 clients already"));
	close(late);
	/* The clients are dropped after a while, and new ones can connect. */
	for (int i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++) {
		assert_string_equal(receive(fds[i], 0), "");
		close(fds[i]);
	}
	assert_served();
}

static void come_and_go(void **state)
{
	(void)state;
	for (int i = 0; i < 150; i++)
		close(connect_client());
	assert_served();
}

/* Send a request as a user with these groups. Return 0 if the reply contains word. */
static int as_user(uid_t uid, gid_t gid, gid_t extra, const char *word)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		if (setgroups(1, &extra) < 0 || setgid(gid) < 0 || setuid(uid) < 0)
			_exit(2);
		int fd = -1;
		if (vmop_protocol_connect(path, &fd) || fd < 0)
			_exit(3);
		/* The server may disconnect it before it sends. */
		send(fd, "{\"version\": 1}\n", 15, MSG_NOSIGNAL);
		_exit(strstr(receive(fd, 1), word) ? 0 : 4);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void whose_socket_it_is(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("not root: can't be anybody else\n");
		return;
	}
	assert_int_equal(as_user(0, 0, 0, "\"right\":2"), 0);
	/* The socket belongs to the group. Even if all users could connect, credentials decide. */
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(st.st_gid, STATUS_GID);
	assert_int_equal(as_user(65534, 65534, 65534, ""), 3);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(as_user(65534, 65534, 65534, "uid 65534 may not control"), 0);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(as_user(65534, STATUS_GID, 65534, "\"right\":1"), 0);
	assert_int_equal(as_user(65534, 65534, STATUS_GID, "\"right\":1"), 0);
}

/* Hold `n` connections as a member of the status group until release is closed. */
static pid_t hold_connections(int n, int ready_fd, int release_fd)
{
	pid_t child = fork();
	if (child)
		return child;
	gid_t group = STATUS_GID;
	char c;
	if (setgroups(1, &group) < 0 || setgid(STATUS_GID) < 0 || setuid(65534) < 0)
		_exit(1);
	for (int i = 0; i < n; i++) {
		int fd = -1;
		if (vmop_protocol_connect(path, &fd) || fd < 0)
			_exit(1);
	}
	if (write(ready_fd, "r", 1) != 1 || read(release_fd, &c, 1) != 0)
		_exit(1);
	_exit(0);
}

/* Readers of the status can't keep root out. */
static void readers_leave_room(void **state)
{
	(void)state;
	int ready[2], release[2], status;
	char c;
	if (geteuid() != 0) {
		print_message("not root: can't be anybody else\n");
		return;
	}
	assert_int_equal(pipe(ready) | pipe(release), 0);
	/* A child with this end open would never see it close. */
	assert_int_equal(fcntl(release[1], F_SETFD, FD_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		close(release[1]);
		pid_t holder = hold_connections(3 * VMOP_CONTROL_MAX_CLIENTS, ready[1], release[0]);
		_exit(waitpid(holder, &status, 0) == holder ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_served();
	close(release[1]);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	close(release[0]);
	close(ready[0]);
	close(ready[1]);
}

/* The server answers one request of a full buffer per turn, and other clients in between. */
static void a_flood_of_requests(void **state)
{
	(void)state;
	static const char request[] = "{\"version\": 1, \"request\": \"x\"}\n";
	char lines[100 * sizeof(request)] = "";
	for (int i = 0; i < 100; i++)
		strcat(lines, request);
	int fd = connect_client();
	send_text(fd, lines);
	assert_served();
	char *replies = receive(fd, 100);
	int n = 0;
	for (char *at = replies; (at = strstr(at, "\"echo\":\"x\"")); at++)
		n++;
	assert_int_equal(n, 100);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_replies), cmocka_unit_test(garbage),
		cmocka_unit_test(a_line_without_end),	cmocka_unit_test(one_that_does_not_listen),
		cmocka_unit_test(silent_ones),		cmocka_unit_test(come_and_go),
		cmocka_unit_test(a_flood_of_requests),	cmocka_unit_test(readers_leave_room),
		cmocka_unit_test(whose_socket_it_is),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
