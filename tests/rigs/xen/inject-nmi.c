// SPDX-License-Identifier: GPL-2.0-or-later
// PRE usage: inject-nmi QTEST-SOCKET MONITOR-SOCKET CPUS Send NMIs to the CPUs 0..CPUS-1 of an
// emulated machine through QEMU's qtest socket: write to the CPU's window of interrupt messages,
// with NMI as the delivery mode (Intel SDM vol. 3, "Message Signalled Interrupts"; APIC ids are the
// CPUs' numbers).  A hypervisor that samples by counters takes each NMI for an overflow. Like
// overflows, NMIs are sent only while QEMU's monitor shows the CPU's counter interrupt (LVTPC) as
// unmasked and an NMI.  Xen 4.17 frees the memory that its handler reads before it removes the
// handler (XENOPROF_release_counters), so an NMI in between makes it panic. Standard input is the
// machine's console: a line "RIG NMI on HZ" begins, any other "RIG NMI" ends. The program exits
// when its input or a socket is closed.
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

// Commands are written to fd. Replies have a buffer of their own, because a stream that changes
// from reading to writing loses its unread input.
struct channel {
	int fd;
	FILE *answers; // NULL: not open
};

// QEMU makes the socket a moment after it starts.
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

// Return 1 or 0; -1: the monitor is gone. It echoes each command as a terminal would. The reply is
// the next line that mentions LVTPC; the rest of its output is read at the next call.
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

// Wait for the reply before the next command.
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

// Return the number of CPUs that took the NMI; -1: the machine is gone.
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

// Read the console's output up to now. Return -1 at its end.
static int read_console(long *hz)
{
	static char line[4096];
	static size_t len;
	char c;
	// One byte at a time: the console prints little, and no input may wait in a buffer.
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
	signal(SIGPIPE, SIG_IGN); // the machine may end first
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
		// Skip the NMIs that a busy machine could not send in time.
		if (next_ns < now_ns())
			next_ns = now_ns();
	}
	fprintf(stderr, "%ld NMIs sent\n", sent);
	return 0;
}
