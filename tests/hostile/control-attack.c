// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: control-attack HOW PATH
 * Attack the control socket, or the pid file, at PATH as a hostile user.  Print one line with the
 * number of connections when the attack runs, and continue until killed.  Exit 1: it could not
 * begin. hold	1,000 connections that send nothing, or half a request
 * 	flood	connections that come and go
 * 	endless	a request without an end
 * 	ask	one request after the other; read the replies
 * 	deaf	requests; do not read the replies
 * 	deep	requests that nest without bound
 * 	lock	wait for locks of both kinds on the file
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char request[] = "{\"version\": 1, \"request\": \"status\"}\n";

static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval limit = {.tv_sec = 1};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void say(int n)
{
	static int was_printed;
	if (!was_printed++)
		printf("at work: %d\n", n);
	fflush(stdout);
}

static void hold(const char *path)
{
	int n = 0;
	for (int i = 0; i < 1000; i++) {
		int fd = connect_to(path);
		if (fd >= 0 && i % 2 && send(fd, request, 10, MSG_NOSIGNAL) < 0)
			close(fd);
		n += fd >= 0;
		if (n == 50)
			say(n);
	}
	say(n);
	pause();
}

/* Send data again and again, on a new connection whenever the old one is closed. */
static void pour(const char *path, const char *data, size_t len, int reads)
{
	static char replies[65536];
	for (;;) {
		int fd = connect_to(path);
		if (fd < 0)
			usleep(1000);
		while (fd >= 0 && send(fd, data, len, MSG_NOSIGNAL) > 0) {
			say(1);
			if (reads && recv(fd, replies, sizeof(replies), 0) <= 0)
				break;
		}
		if (fd >= 0)
			close(fd);
	}
}

static void flood(const char *path)
{
	for (;;) {
		int fd = connect_to(path);
		if (fd >= 0)
			say(1);
		close(fd);
	}
}

static void lock(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct flock read_lock = {.l_type = F_RDLCK};
	if (fd < 0)
		exit(1);
	say(1);
	flock(fd, LOCK_EX);
	fcntl(fd, F_OFD_SETLKW, &read_lock);
	pause();
}

int main(int argc, char **argv)
{
	static char block[1 << 20];
	struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
	if (argc != 3)
		return 2;
	const char *how = argv[1], *path = argv[2];
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGPIPE, SIG_IGN);
	if (!strcmp(how, "lock"))
		lock(path);
	int fd = connect_to(path);
	if (fd < 0)
		return 1;
	close(fd);
	memset(block, strcmp(how, "deep") ? 'x' : '[', sizeof(block));
	if (!strcmp(how, "hold"))
		hold(path);
	else if (!strcmp(how, "flood"))
		flood(path);
	else if (!strcmp(how, "ask"))
		pour(path, request, sizeof(request) - 1, 1);
	else if (!strcmp(how, "deaf"))
		pour(path, request, sizeof(request) - 1, 0);
	else if (!strcmp(how, "endless"))
		pour(path, block, sizeof(block), 0);
	else if (!strcmp(how, "deep")) {
		block[60000] = '\n';
		pour(path, block, 60001, 1);
	}
	return 2;
}
