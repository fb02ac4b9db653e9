// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second way between host and guest: a unix socket on which another process listens, as QEMU
 * does for a port of virtio-serial. At the guest's end is a character device, as that port: a
 * pseudo-terminal, which is raw. A thread passes the bytes between both, as QEMU does.
 */
#include "daemon/active/serial.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "daemon/active/agent-link.h"
#include "daemon/active/links.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

#define S VMOP_NS_PER_S

static char dir[96];
static pid_t vmm;
static int terminal = -1; /* the master's end, which a VMM has */
static int slave = -1;	  /* kept open, so that the VMM does not notice an agent's end */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

/* ---- the VMM --------------------------------------------------------------------------------- */

static int listen_at(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir, name) >=
	    sizeof(address.sun_path))
		_exit(1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1) < 0)
		_exit(1);
	return fd;
}

/* Pass what comes from one to the other. Return false at the end. */
static bool pass(int from, int to)
{
	char bytes[4096];
	ssize_t n = read(from, bytes, sizeof(bytes));
	return n > 0 && write(to, bytes, (size_t)n) == n;
}

/* Serve the socket, one client at a time, as QEMU does. */
static void serve(int listener)
{
	for (;;) {
		int client = accept(listener, NULL, NULL);
		struct pollfd pollfds[2] = {{.fd = client, .events = POLLIN},
					    {.fd = terminal, .events = POLLIN}};
		bool goes_on = client >= 0;
		while (goes_on && poll(pollfds, 2, -1) > 0) {
			if (pollfds[0].revents)
				goes_on = pass(client, terminal);
			if (goes_on && pollfds[1].revents)
				goes_on = pass(terminal, client);
		}
		close(client);
	}
}

/* Begin a VMM that listens at a file of that name. */
static void begin_vmm(const char *name)
{
	int ready[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	vmm = fork();
	if (vmm == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives a test that fails */
		signal(SIGPIPE, SIG_IGN);
		int listener = listen_at(name);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		serve(listener);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static int begin(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/vmop-serial.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	if (vmm > 0) {
		kill(vmm, SIGKILL);
		waitpid(vmm, NULL, 0);
	}
	vmm = 0;
	if (terminal >= 0)
		close(terminal);
	if (slave >= 0)
		close(slave);
	terminal = slave = -1;
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Dial, and expect no error. */
static int dial(pid_t pid)
{
	int fd;
	assert_ok(vmop_active_serial_dial("", (uint32_t)pid, &fd));
	return fd;
}

/* ---- finding the socket ---------------------------------------------------------------------- */

static void the_socket_of_the_port(void **state)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	(void)state;
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	int fd = dial(vmm);
	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
	assert_int_equal(peer.pid, vmm);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
}

static void another_name(void **state)
{
	(void)state;
	begin_vmm("org.qemu.guest_agent.0");
	assert_int_equal(dial(vmm), -1);
	/* The socket of the port belongs to another process than this one. */
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	assert_int_equal(dial(getpid()), -1);
	/* It has ended, and its file stays. */
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	assert_int_equal(dial(vmm), -1);
	vmm = 0;
}

/* With the way to the VMM's file system, the path is longer than an address may be. */
static void a_long_path(void **state)
{
	char before[sizeof(dir)];
	(void)state;
	memcpy(before, dir, sizeof(dir));
	strcat(dir, "/a-folder-with-a-name-of-more-than-seventy-characters-as-libvirt-makes");
	assert_int_equal(mkdir(dir, 0755), 0);
	assert_true(strlen(dir) + strlen("/proc/1000/root/" VMOP_ACTIVE_SERIAL_NAME) >
		    sizeof(((struct sockaddr_un *)NULL)->sun_path));
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	memcpy(dir, before, sizeof(dir));
	int fd = dial(vmm);
	assert_true(fd >= 0);
	close(fd);
}

/*
 * A user's VMM lays a link in the way to its socket, so that another guest's is connected. A link
 * to a folder of its own is none of this.
 */
static void a_link_to_another(void **state)
{
	char base[sizeof(dir)], own[sizeof(dir) + 8], moved[sizeof(dir) + 8],
		victim[sizeof(dir) + 8];
	int fd;
	(void)state;
	memcpy(base, dir, sizeof(dir));
	snprintf(own, sizeof(own), "%s/own", base);
	snprintf(moved, sizeof(moved), "%s/moved", base);
	snprintf(victim, sizeof(victim), "%s/victim", base);
	assert_int_equal(mkdir(own, 0755) | mkdir(victim, 0755), 0);
	strcat(dir, "/victim");
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	pid_t other = vmm;
	snprintf(dir, sizeof(dir), "%.80s/own", base);
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	memcpy(dir, base, sizeof(dir));
	fd = dial(vmm);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rename(own, moved), 0);
	assert_int_equal(symlink("moved", own), 0);
	fd = dial(vmm);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(unlink(own), 0);
	assert_int_equal(symlink(victim, own), 0);
	struct vmop_error *err = vmop_active_serial_dial("", (uint32_t)vmm, &fd);
	assert_int_equal(fd, -1);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "another process listens there"));
	vmop_error_destroy(err);
	fd = dial(other);
	assert_true(fd >= 0);
	close(fd);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* As libvirt: the socket is made by root's manager, which passes it to the VMM and goes on. */
static void a_socket_of_a_manager(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	int listener = listen_at(VMOP_ACTIVE_SERIAL_NAME);
	vmm = fork();
	if (vmm == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives a test that fails */
		signal(SIGPIPE, SIG_IGN);
		serve(listener);
	}
	close(listener);
	int fd = dial(vmm);
	assert_true(fd >= 0);
	close(fd);
}

/* Take CAP_DAC_OVERRIDE from the effective capabilities, as vmopd does, or give it back. */
static void set_override(bool is_on)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	if (is_on)
		data[0].effective |= 1u << CAP_DAC_OVERRIDE;
	else
		data[0].effective &= ~(1u << CAP_DAC_OVERRIDE);
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* The manager of the VMM has the socket, and vmopd may not write to it: the error has the remedy.
 */
static void a_socket_of_another_user(void **state)
{
	char path[sizeof(dir) + 16];
	int fd;
	(void)state;
	if (geteuid() != 0)
		skip();
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	snprintf(path, sizeof(path), "%s/" VMOP_ACTIVE_SERIAL_NAME, dir);
	assert_int_equal(chmod(path, 0555), 0);
	set_override(false);
	struct vmop_error *err = vmop_active_serial_dial("", (uint32_t)vmm, &fd);
	set_override(true);
	assert_int_equal(fd, -1);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "SupplementaryGroups="));
	vmop_error_destroy(err);
	assert_int_equal(chmod(path, 0755), 0);
	set_override(false);
	fd = dial(vmm);
	set_override(true);
	assert_true(fd >= 0);
	close(fd);
}

/* ---- the channel over it -----------------------------------------------------------------------
 */

static char terminal_path[64];

static int dial_terminal(void)
{
	return open(terminal_path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Make a terminal that changes no byte. */
static void make_terminal(void)
{
	struct termios raw;
	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	assert_int_equal(ptsname_r(terminal, terminal_path, sizeof(terminal_path)), 0);
	slave = open(terminal_path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(tcgetattr(terminal, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
}

static bool next_claim(const struct vmop_active_links *links, struct vmop_active_claim *ret)
{
	unsigned at = 0;
	return vmop_active_links_claim(links, &at, ret);
}

/* Let both ends go on until the host has a claim. */
static void exchange(struct vmop_active_links *links, struct vmop_agent_link *link, uint64_t now_ns,
		     struct vmop_active_claim *ret)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store *store = vmop_agent_link_store(link);
	for (unsigned i = 0; i < 3000 && !next_claim(links, ret); i++) {
		store->ops->read(store, line);
		vmop_active_links_pump(links, now_ns);
		usleep(2000);
	}
	assert_true(next_claim(links, ret));
}

static int living(void)
{
	return (int)syscall(SYS_pidfd_open, getppid(), 0);
}

/* Send a line to the agent of the VMM, and back. */
static void lines_pass(struct vmop_active_links *links, struct vmop_agent_link *link)
{
	const struct vmop_active_opener *opener = vmop_active_links_opener(links);
	struct vmop_active_store *host, *guest = vmop_agent_link_store(link);
	char line[VMOP_ACTIVE_MESSAGE_BYTES] = "";
	assert_ok(opener->open(opener->arg, (uint32_t)vmm, &host));
	assert_true(host->ops->write(host, "\x11\x13\x04 to the guest\r\n"));
	for (unsigned i = 0; i < 3000 && !*line; i++) {
		guest->ops->read(guest, line);
		usleep(2000);
	}
	assert_string_equal(line, "\x11\x13\x04 to the guest\r\n");
	assert_true(guest->ops->write(guest, "to the host"));
	*line = '\0';
	for (unsigned i = 0; i < 3000 && !*line; i++) {
		host->ops->read(host, line);
		usleep(2000);
	}
	assert_string_equal(line, "to the host");
	opener->close(opener->arg, host);
}

static int served = -1; /* the guest's end of the connection within the port */

static void serve_one(void *arg, int fd)
{
	assert_null(arg);
	assert_int_equal(served, -1);
	served = fd;
}

/* Let both ends go on until so many bytes of a repeated pattern have passed. */
static void bytes_pass(struct vmop_active_links *links, struct vmop_agent_link *link, int from,
		       int to, size_t n_bytes)
{
	uint8_t out[4096], in[4096];
	size_t n_out = 0, n_in = 0;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store *store = vmop_agent_link_store(link);
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 7 + i / 256);
	for (unsigned i = 0; i < 20000 && n_in < n_bytes; i++) {
		while (n_out < n_bytes) {
			size_t at = n_out % sizeof(out), len = sizeof(out) - at;
			ssize_t n =
				send(from, out + at, len < n_bytes - n_out ? len : n_bytes - n_out,
				     MSG_NOSIGNAL | MSG_DONTWAIT);
			if (n < 0)
				break;
			n_out += (size_t)n;
		}
		store->ops->read(store, line);
		vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
		ssize_t n = to < 0 && served < 0
				    ? -1
				    : recv(to < 0 ? served : to, in, sizeof(in), MSG_DONTWAIT);
		for (ssize_t j = 0; j < n; j++)
			assert_int_equal(in[j], out[n_in++ % sizeof(out)]);
		if (n <= 0)
			usleep(500);
	}
	assert_int_equal(n_in, n_bytes);
}

/* A connection to the guest's server of sessions, within the port, with commands beside it. */
static void a_file_passes(struct vmop_active_links *links, struct vmop_agent_link *link)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES], byte;
	struct vmop_active_store *store = vmop_agent_link_store(link);
	uint32_t cid = 1;
	int pidfd;
	assert_true(vmop_active_links_address(links, (uint32_t)vmm, &cid, &pidfd));
	assert_int_equal(cid, 0);
	vmop_agent_link_set_server(link, serve_one, NULL);
	int fd = vmop_active_links_open_tunnel(links, (uint32_t)vmm);
	assert_true(fd >= 0);
	assert_int_equal(vmop_active_links_open_tunnel(links, (uint32_t)vmm), -1);
	served = -1;
	bytes_pass(links, link, fd, -1, 100);
	assert_true(vmop_agent_link_is_serving(link));
	bytes_pass(links, link, served, fd, 300000);
	lines_pass(links, link);
	close(served);
	for (unsigned i = 0; i < 3000 && vmop_active_links_has_tunnel(links, (uint32_t)vmm); i++) {
		store->ops->read(store, line);
		vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
		usleep(500);
	}
	assert_false(vmop_active_links_has_tunnel(links, (uint32_t)vmm));
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	close(fd);
	/* One that ends before its first byte costs nothing, nor does one after the server's end.
	 */
	vmop_agent_link_set_server(link, NULL, NULL);
	served = -1;
	for (unsigned i = 0; i < 2; i++) {
		fd = vmop_active_links_open_tunnel(links, (uint32_t)vmm);
		assert_true(fd >= 0);
		if (i)
			assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
		else
			close(fd);
		for (unsigned n = 0; n < 3000 && vmop_active_links_has_tunnel(links, (uint32_t)vmm);
		     n++) {
			store->ops->read(store, line);
			vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
			usleep(500);
		}
		assert_false(vmop_active_links_has_tunnel(links, (uint32_t)vmm));
		if (i)
			close(fd);
	}
	assert_int_equal(served, -1);
	lines_pass(links, link);
}

/* The host's samples come over it, too. */
static void samples_pass(struct vmop_active_links *links, struct vmop_agent_link *link)
{
	struct vmop_active_sample samples[1000];
	uint8_t payload[VMOP_ACTIVE_BATCH_BYTES];
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_store *store = vmop_agent_link_store(link);
	struct vmop_handed_feed *feed;
	size_t len_bytes;
	const size_t n = sizeof(samples) / sizeof(samples[0]);
	for (size_t i = 0; i < n; i++)
		samples[i] = (struct vmop_active_sample){
			.time_ns = S + i * 1000, .address = 0x400000 + 8 * i, .weight_events = 1};
	assert_ok(vmop_handed_feed_create("host 1000000:0:ns:cpu-clock", &feed));
	vmop_agent_link_set_feed(link, feed);
	for (size_t n_sent = 0; n_sent < n;) {
		const struct vmop_active_batch batch = {.complete_ns = 2 * S, .n = n - n_sent};
		n_sent += vmop_active_batch_encode(&batch, samples + n_sent, NULL, payload,
						   &len_bytes);
		assert_true(
			vmop_active_links_hand(links, (uint32_t)vmm, payload, (uint32_t)len_bytes));
	}
	for (unsigned i = 0; i < 3000 && feed->counts.n_received < n; i++) {
		store->ops->read(store, line);
		vmop_active_links_pump(links, vmop_clock_ns(CLOCK_MONOTONIC));
		usleep(500);
	}
	assert_int_equal(feed->counts.n_received, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(vmop_handed_feed_peek(feed)->address, samples[i].address);
		vmop_handed_feed_take(feed);
	}
	vmop_agent_link_set_feed(link, NULL);
	vmop_handed_feed_destroy(feed);
}

/* The host's time, for the agent's questions. */
static void read_time(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret)
{
	(void)arg;
	assert_int_equal(vmm_pid, vmm);
	ret->host_ns = vmop_clock_ns(CLOCK_MONOTONIC);
}

/*
 * Both ends challenge, prove and talk over it. When the agent ends, nothing ends the connection:
 * the host does, and the next agent is challenged anew.
 */
static void a_channel(void **state)
{
	struct vmop_active_links *links;
	struct vmop_agent_link *link;
	struct vmop_active_claim claim;
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	const struct vmop_active_links_clock clock = {.read = read_time};
	(void)state;
	make_terminal();
	begin_vmm(VMOP_ACTIVE_SERIAL_NAME);
	assert_ok(vmop_active_links_create(-1, &links));
	vmop_active_links_set_clock(links, &clock);
	for (unsigned i = 0; i < 2; i++) {
		int fd = dial(vmm);
		assert_true(fd >= 0);
		assert_true(vmop_active_links_add_serial(links, fd, (uint32_t)vmm, now_ns));
		assert_true(vmop_active_links_has_serial(links, (uint32_t)vmm));
		assert_ok(vmop_agent_link_create(dial_terminal, &link));
		exchange(links, link, now_ns, &claim);
		assert_int_equal(claim.vmm_pid, vmm);
		assert_int_equal(claim.proof.pid, getpid());
		assert_memory_equal((const void *)(uintptr_t)claim.proof.address, claim.nonce,
				    VMOP_ACTIVE_NONCE_BYTES);
		assert_true(
			vmop_active_links_accept(links, &claim, (uint32_t)vmm, living(), now_ns));
		lines_pass(links, link);
		a_file_passes(links, link);
		samples_pass(links, link);
		vmop_agent_link_destroy(link);
		tcflush(slave, TCIOFLUSH); /* as the end of a port does */
		/* The last message came some time ago: on a busy machine, a second and more. */
		now_ns = vmop_clock_ns(CLOCK_MONOTONIC) + VMOP_ACTIVE_SERIAL_SILENCE_NS / 2;
		vmop_active_links_pump(links, now_ns);
		assert_true(vmop_active_links_has(links, (uint32_t)vmm));
		now_ns += VMOP_ACTIVE_SERIAL_SILENCE_NS / 2 + S;
		vmop_active_links_pump(links, now_ns);
		assert_false(vmop_active_links_has(links, (uint32_t)vmm));
	}
	assert_int_equal(vmop_active_links_losses(links)->n_rubbish, 0);
	assert_int_equal(vmop_active_links_losses(links)->n_unproven, 0);
	vmop_active_links_destroy(links);
}

/* Without an agent the host may try again at once, and warns of no guest. Rubbish is refused. */
static void nobody_there(void **state)
{
	struct vmop_active_links *links;
	uint64_t now_ns = 1000 * S;
	int pair[2];
	(void)state;
	assert_ok(vmop_active_links_create(-1, &links));
	for (unsigned i = 0; i < 10; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		assert_true(vmop_active_links_add_serial(links, pair[0], 4711, now_ns));
		now_ns += VMOP_ACTIVE_PROOF_WAIT_NS + 1;
		vmop_active_links_pump(links, now_ns);
		assert_false(vmop_active_links_has_serial(links, 4711));
		close(pair[1]);
	}
	assert_int_equal(vmop_active_links_losses(links)->n_unproven, 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		assert_int_equal(vmop_active_links_add_serial(links, pair[0], 4711, now_ns),
				 i == 0);
		assert_int_equal(send(pair[1], "rubbish rubbish rubbish", 23, MSG_NOSIGNAL) == 23,
				 i == 0);
		vmop_active_links_pump(links, now_ns);
		close(pair[1]);
	}
	assert_int_equal(vmop_active_links_losses(links)->n_rubbish, 1);
	vmop_active_links_destroy(links);
}

/* Whether this machine has a port is the machine's affair, but both functions must agree. */
static void the_port_of_a_guest(void **state)
{
	(void)state;
	int fd = vmop_active_serial_open();
	assert_true(fd < 0 || vmop_active_serial_is_there());
	if (fd >= 0)
		close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_socket_of_the_port),
		TEST(another_name),
		TEST(a_long_path),
		TEST(a_link_to_another),
		TEST(a_socket_of_a_manager),
		TEST(a_socket_of_another_user),
		TEST(a_channel),
		TEST(nobody_there),
		TEST(the_port_of_a_guest),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
