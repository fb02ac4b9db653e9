// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: vsock-liar MODE
 * Connects to the vmopd of the KVM host like an agent, and does not behave like one. Prints how it ended.
 *	claim PID ADDRESS	the proof of another process, perhaps in another guest
 *	copy			a true proof, but this process is no vmopd
 *	rubbish			bytes that are no frame
 *	stall			nothing
 *	line			a message before the proof
 *	port			a connection from a port that needs no privilege
 *	flood N			N connections
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#define HOST_PORT 867
#define OWN_PORT 700
#define LIMIT_MS 90000

struct frame {
	uint32_t magic;
	uint8_t version, type;
	uint16_t zero;
	uint32_t len, sequence;
	uint8_t payload[64];
};

static uint8_t copy[32];

static int dial(unsigned own_port)
{
	struct sockaddr_vm address = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = own_port};
	int fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	address.svm_cid = VMADDR_CID_HOST;
	address.svm_port = HOST_PORT;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The host may not listen yet. */
static int dial_soon(unsigned own_port)
{
	int fd = -1;
	for (unsigned i = 0; i < 100 && fd < 0; i++) {
		fd = dial(own_port);
		if (fd < 0)
			usleep(200000);
	}
	if (fd < 0)
		printf("not connected: %s\n", strerror(errno));
	return fd;
}

/* Read the challenge. Returns 0 if the connection ends before. */
static int challenge(int fd)
{
	struct frame frame;
	size_t n = 0;
	while (n < 48) {
		ssize_t got = read(fd, (char *)&frame + n, 48 - n);
		if (got <= 0)
			return 0;
		n += (size_t)got;
	}
	memcpy(copy, frame.payload, sizeof(copy));
	return 1;
}

static void put(int fd, uint8_t type, const void *payload, uint32_t len)
{
	struct frame frame = {.magic = 0x706f6d76, .version = 1, .type = type, .len = len};
	memcpy(frame.payload, payload, len);
	if (write(fd, &frame, 16 + len) < 0)
		printf("write: %s\n", strerror(errno));
}

static void claim(int fd, uint32_t pid, uint64_t address)
{
	const struct {
		uint64_t address;
		uint32_t pid, zero;
	} proof = {address, pid, 0};
	put(fd, 2, &proof, sizeof(proof));
}

static void await_end(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	struct timespec begin, end;
	char buf[256];
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (;;) {
		if (poll(&pollfd, 1, LIMIT_MS) <= 0) {
			puts("still connected");
			return;
		}
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			break;
		puts("accepted");
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("refused after %ld s\n", (long)(end.tv_sec - begin.tv_sec));
}

static void flood(unsigned n)
{
	unsigned n_made = 0;
	for (unsigned i = 0; i < n; i++) {
		int fd = dial(OWN_PORT + i % 200);
		n_made += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	printf("%u of %u connections were made\n", n_made, n);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (!strcmp(mode, "flood")) {
		flood((unsigned)atoi(argv[2]));
		return 0;
	}
	int fd = dial_soon(strcmp(mode, "port") ? OWN_PORT : 5000);
	if (fd < 0)
		return 1;
	if (!challenge(fd)) {
		puts("refused at once");
		return 0;
	}
	if (!strcmp(mode, "claim"))
		claim(fd, (uint32_t)atoi(argv[2]), strtoull(argv[3], NULL, 0));
	else if (!strcmp(mode, "copy"))
		claim(fd, (uint32_t)getpid(), (uintptr_t)copy);
	else if (!strcmp(mode, "rubbish"))
		put(fd, 99, "rubbish", 7);
	else if (!strcmp(mode, "line"))
		put(fd, 3, "1 1122334455667788 1 1 here", 27);
	await_end(fd);
	return 0;
}
