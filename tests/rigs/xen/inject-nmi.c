// SPDX-License-Identifier: GPL-2.0-or-later
// usage: inject-nmi QTEST-SOCKET MONITOR-SOCKET CPUS
// Sends NMIs to the CPUs 0..CPUS-1 of an emulated machine through QEMU's qtest socket: a write to
// the CPU's window of interrupt messages, with NMI as the delivery mode (Intel SDM vol. 3, "Message
// Signalled Interrupts"; APIC ids are the CPUs' numbers). To a hypervisor that samples by counters
// it is what an overflow looks like. Like a counter's, they come only while the CPU's interrupt of
// counters (LVTPC) is unmasked and an NMI, as QEMU's monitor tells: Xen 4.17 frees what its handler
// reads, and only then takes the handler away (XENOPROF_release_counters), so that one which comes
// in between panics it. Standard input is the machine's console: a line "RIG NMI on HZ" begins, any
// other "RIG NMI" ends. It is over when its input or a socket is.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_WINDOW = 0xfee00000, NMI_DELIVERY = 0x400, LARGEST_HZ = 10000 };
enum { LVT_DELIVERY = 0x700, LVT_MASKED = 0x10000 };

static long long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Commands are written to fd; the answers' buffer is one of its own, since a stream that turns from
// reading to writing loses what is left in it.
struct channel {
	int fd;
	FILE *answers; // NULL: could not be opened
};

// QEMU makes it a moment after it starts.
static struct channel open_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (int tries = 0; tries < 100; tries++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return (struct channel){.fd = fd, .answers = fdopen(fd, "r")};
		if (fd >= 0)
			close(fd);
		usleep(100000);
	}
	return (struct channel){0};
}

// 1, 0; -1: the monitor is gone. It echoes each command as a terminal would; the next line that
// speaks of LVTPC is the answer, and what else it says waits for the next time.
static int takes_overflows(const struct channel *monitor, int cpu)
{
	char line[4096];
	const char *at;
	unsigned entry;
	if (dprintf(monitor->fd, "info lapic %d\n", cpu) < 0)
		return -1;
	do {
		if (!fgets(line, sizeof(line), monitor->answers))
			return -1;
		at = strstr(line, "LVTPC");
	} while (!at || sscanf(at, "LVTPC %x", &entry) != 1);
	return (entry & (LVT_DELIVERY | LVT_MASKED)) == NMI_DELIVERY;
}

// Answered before the next.
static int inject(const struct channel *qtest, int cpu)
{
	char line[256];
	if (dprintf(qtest->fd, "writel 0x%x 0x%x\n", MESSAGE_WINDOW + (cpu << 12), NMI_DELIVERY) <
	    0)
		return -1;
	do {
		if (!fgets(line, sizeof(line), qtest->answers))
			return -1;
	} while (strncmp(line, "OK", 2) && strncmp(line, "FAIL", 4) && strncmp(line, "ERR", 3));
	return 0;
}

// How many CPUs took it; -1: the machine is gone.
static int overflow(const struct channel *qtest, const struct channel *monitor, int cpus)
{
	int taken = 0;
	for (int cpu = 0; cpu < cpus; cpu++) {
		int takes = takes_overflows(monitor, cpu);
		if (takes < 0 || (takes && inject(qtest, cpu) < 0))
			return -1;
		taken += takes;
	}
	return taken;
}

// What the console said in the meantime; -1: it is over.
static int read_console(long *hz)
{
	static char line[4096];
	static size_t len;
	char c;
	// A byte at a time: the console says little, and nothing may wait in a buffer.
	ssize_t n = read(STDIN_FILENO, &c, 1);
	if (n <= 0)
		return n < 0 && errno == EINTR ? 0 : -1;
	if (c != '\n') {
		if (len < sizeof(line) - 1)
			line[len++] = c;
		return 0;
	}
	line[len] = 0;
	len = 0;
	if (sscanf(line, "RIG NMI on %ld", hz) == 1)
		*hz = *hz < 1 ? 1 : *hz > LARGEST_HZ ? LARGEST_HZ : *hz;
	else if (!strncmp(line, "RIG NMI", 7))
		*hz = 0;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	const struct channel qtest = open_socket(argv[1]), monitor = open_socket(argv[2]);
	if (!qtest.answers || !monitor.answers) {
		perror(argv[qtest.answers ? 2 : 1]);
		return 1;
	}
	signal(SIGPIPE, SIG_IGN); // when the machine ends first
	struct pollfd console = {.fd = STDIN_FILENO, .events = POLLIN};
	int cpus = atoi(argv[3]);
	long hz = 0, sent = 0;
	long long next_ns = now_ns();
	for (;;) {
		long long left_ns = hz ? next_ns - now_ns() : 1000000000LL;
		struct timespec wait = {.tv_nsec = left_ns > 0 ? left_ns % 1000000000LL : 0,
					.tv_sec = left_ns > 0 ? left_ns / 1000000000LL : 0};
		long before = hz;
		int ready = ppoll(&console, 1, &wait, NULL);
		if (ready > 0 && read_console(&hz) < 0)
			break;
		if (!hz || now_ns() < next_ns)
			continue;
		if (!before)
			next_ns = now_ns();
		int taken = overflow(&qtest, &monitor, cpus);
		if (taken < 0)
			break;
		sent += taken;
		next_ns += 1000000000LL / hz;
		// What a busy machine could not send in time is not made up for.
		if (next_ns < now_ns())
			next_ns = now_ns();
	}
	fprintf(stderr, "%ld NMIs sent\n", sent);
	return 0;
}
