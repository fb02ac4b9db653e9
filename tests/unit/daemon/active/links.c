// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both ends of the channel to active guests, over pairs of sockets: an honest agent in this
 * process, and guests that send what no agent sends.
 */
#include "daemon/active/links.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/active/agent-link.h"
#include "hv-interface/active-agent.h"
#include "tests/unit/ok.h"

#define CID 7
#define PORT 700
#define VMM 4711 /* the pid of a VMM: only a number to the links */
#define S VMOP_NS_PER_S

static struct vmop_active_links *links;
static uint64_t now_ns; /* of the host's links */

/* Shift the clock by which the host's group of agents measures silence. */
static uint64_t leapt_s;
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int status = __real_clock_gettime(clock, ret);
	ret->tv_sec += (time_t)leapt_s;
	return status;
}

static int begin(void **state)
{
	(void)state;
	now_ns = 1000 * S;
	leapt_s = 0;
	assert_ok(vmop_active_links_create(-1, &links));
	return 0;
}

static int end(void **state)
{
	(void)state;
	vmop_active_links_destroy(links);
	links = NULL;
	return 0;
}

static void pump(void)
{
	vmop_active_links_pump(links, now_ns);
}

/* A pidfd of a process that lives as long as this one. */
static int living(void)
{
	int fd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	assert_true(fd >= 0);
	return fd;
}

static const struct vmop_active_losses *losses(void)
{
	return vmop_active_links_losses(links);
}

/* ---- a guest that sends what it likes ---------------------------------------------------- */

struct stranger {
	int fd;
	uint32_t sequence;
	uint8_t nonce[VMOP_ACTIVE_NONCE_BYTES];
	struct vmop_active_decoder in;
};

static bool connects(struct stranger *stranger, uint32_t cid, uint32_t port)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	memset(stranger, 0, sizeof(*stranger));
	stranger->fd = pair[1];
	return vmop_active_links_add(links, pair[0], cid, port, now_ns);
}

static void sends(struct stranger *stranger, enum vmop_active_frame_type type, const void *payload,
		  size_t len)
{
	static uint8_t buf[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES];
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = (uint32_t)len};
	size_t n = vmop_active_frame_encode(&frame, stranger->sequence++, buf, sizeof(buf));
	assert_int_not_equal(n, 0);
	assert_int_equal(send(stranger->fd, buf, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* Return whether the host has closed the connection. */
static bool is_closed(struct stranger *stranger)
{
	char buf[512];
	ssize_t n;
	while ((n = recv(stranger->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		;
	return n == 0 || errno == ECONNRESET || errno == EPIPE;
}

static void leaves(struct stranger *stranger)
{
	close(stranger->fd);
}

static void claims(struct stranger *stranger, uint32_t pid)
{
	const struct vmop_active_proof proof = {.address = 0x7f0000001000, .pid = pid};
	uint8_t payload[VMOP_ACTIVE_PROOF_BYTES];
	vmop_active_proof_encode(&proof, payload);
	sends(stranger, VMOP_ACTIVE_FRAME_PROOF, payload, sizeof(payload));
	pump();
}

static bool next_claim(struct vmop_active_claim *ret)
{
	unsigned at = 0;
	return vmop_active_links_claim(links, &at, ret);
}

/* Connect a guest and bind it. */
static void is_bound(struct stranger *stranger, uint32_t cid, uint32_t vmm_pid)
{
	struct vmop_active_claim claim;
	assert_true(connects(stranger, cid, PORT));
	claims(stranger, 1);
	assert_true(next_claim(&claim));
	assert_true(vmop_active_links_accept(links, &claim, vmm_pid, living(), now_ns));
	assert_true(vmop_active_links_has(links, vmm_pid));
}

/* ---- admission ---------------------------------------------------------------------------- */

static void only_privileged_guests_are_admitted(void **state)
{
	static const struct {
		uint32_t cid, port;
		bool is_admitted;
	} cases[] = {
		{CID, 1024, false}, {CID, 70000, false}, {CID, UINT32_MAX, false},
		{0, PORT, false},   {1, PORT, false},	 {2, PORT, false},
		{CID, 1023, true},  {3, 1, true},	 {UINT32_MAX - 1, PORT, true},
	};
	struct stranger stranger;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(connects(&stranger, cases[i].cid, cases[i].port),
				 cases[i].is_admitted);
		assert_int_equal(is_closed(&stranger), !cases[i].is_admitted);
		leaves(&stranger);
		pump();
	}
	assert_int_equal(losses()->n_refused, 6);
	assert_int_equal(losses()->n_unproven, 3);
}

static void a_guest_has_one_connection(void **state)
{
	struct stranger first, second;
	(void)state;
	is_bound(&first, CID, VMM);
	assert_false(connects(&second, CID, PORT + 1));
	assert_true(is_closed(&second));
	assert_false(is_closed(&first));
	leaves(&second);
	/* It may come again at once after its end, because it did nothing wrong. */
	leaves(&first);
	pump();
	assert_false(vmop_active_links_has(links, VMM));
	assert_true(connects(&second, CID, PORT));
	leaves(&second);
}

static void a_flood_is_bounded(void **state)
{
	static struct stranger strangers[VMOP_ACTIVE_LINKS_MAX + 20];
	size_t n = sizeof(strangers) / sizeof(strangers[0]);
	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_int_equal(connects(&strangers[i], CID + (uint32_t)i, PORT),
				 i < VMOP_ACTIVE_LINKS_MAX);
	assert_int_equal(losses()->n_refused, 20);
	for (size_t i = 0; i < n; i++)
		leaves(&strangers[i]);
	pump();
	/* All of them are banned, and their places free. */
	for (size_t i = 0; i < VMOP_ACTIVE_LINKS_MAX; i++) {
		assert_false(connects(&strangers[i], CID + (uint32_t)i, PORT));
		leaves(&strangers[i]);
	}
	assert_true(connects(&strangers[0], CID + 1000, PORT));
	leaves(&strangers[0]);
}

/* Many connect at once: a call accepts a few, and an honest guest is served meanwhile. */
static void a_flood_at_the_port(void **state)
{
	enum { N = 100 };
	const struct sockaddr_un address = {.sun_family = AF_UNIX}; /* the kernel chooses a name */
	struct sockaddr_un bound;
	socklen_t len = sizeof(bound);
	struct stranger honest;
	int fds[N];
	(void)state;
	vmop_active_links_destroy(links);
	/* Its connections have no CID. */
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (const void *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(getsockname(listener, (void *)&bound, &len), 0);
	assert_int_equal(listen(listener, N), 0);
	assert_ok(vmop_active_links_create(listener, &links));
	is_bound(&honest, CID, VMM);
	for (unsigned i = 0; i < N; i++) {
		fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(fds[i], (const void *)&bound, len), 0);
	}
	const struct vmop_active_opener *opener = vmop_active_links_opener(links);
	struct vmop_active_store *store;
	char line[VMOP_ACTIVE_MESSAGE_BYTES], wanted[32];
	assert_ok(opener->open(opener->arg, VMM, &store));
	for (unsigned call = 1; call <= N / VMOP_ACTIVE_ACCEPTS_MAX + 2; call++) {
		snprintf(wanted, sizeof(wanted), "line %u", call);
		sends(&honest, VMOP_ACTIVE_FRAME_LINE, wanted, strlen(wanted));
		pump();
		unsigned n_wanted = call * VMOP_ACTIVE_ACCEPTS_MAX;
		assert_int_equal(losses()->n_refused, n_wanted < N ? n_wanted : N);
		assert_true(store->ops->read(store, line));
		assert_string_equal(line, wanted);
	}
	opener->close(opener->arg, store);
	for (unsigned i = 0; i < N; i++)
		close(fds[i]);
	leaves(&honest);
}

static void a_ban_doubles_and_ends(void **state)
{
	struct stranger stranger;
	uint64_t ban_ns = VMOP_ACTIVE_FIRST_BAN_NS;
	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		assert_true(connects(&stranger, CID, PORT));
		sends(&stranger, VMOP_ACTIVE_FRAME_LINE, "too soon", 8);
		pump();
		assert_true(is_closed(&stranger));
		leaves(&stranger);
		now_ns += ban_ns - 1;
		assert_false(connects(&stranger, CID, PORT));
		leaves(&stranger);
		now_ns += 1;
		ban_ns = 2 * ban_ns < VMOP_ACTIVE_LONGEST_BAN_NS ? 2 * ban_ns
								 : VMOP_ACTIVE_LONGEST_BAN_NS;
	}
	/* A right proof ends it for good. */
	is_bound(&stranger, CID, VMM);
	leaves(&stranger);
	pump();
	is_bound(&stranger, CID, VMM);
	leaves(&stranger);
}

/* ---- from the wrong state ------------------------------------------------------------------ */

static void frames_before_the_proof(void **state)
{
	static const enum vmop_active_frame_type types[] = {
		VMOP_ACTIVE_FRAME_LINE, VMOP_ACTIVE_FRAME_BULK, VMOP_ACTIVE_FRAME_CHALLENGE};
	uint8_t payload[VMOP_ACTIVE_NONCE_BYTES] = {'x'};
	struct stranger stranger;
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(connects(&stranger, CID + i, PORT));
		sends(&stranger, types[i], payload, sizeof(payload));
		pump();
		assert_true(is_closed(&stranger));
		assert_int_equal(losses()->n_rubbish, i + 1);
		leaves(&stranger);
	}
}

static void a_second_proof(void **state)
{
	struct stranger stranger;
	struct vmop_active_claim claim;
	(void)state;
	assert_true(connects(&stranger, CID, PORT));
	claims(&stranger, 1);
	assert_true(next_claim(&claim));
	claims(&stranger, 2);
	assert_true(is_closed(&stranger));
	/* The claim has gone with its connection. */
	assert_false(next_claim(&claim));
	assert_false(vmop_active_links_accept(links, &claim, VMM, living(), now_ns));
	assert_false(vmop_active_links_has(links, VMM));
	leaves(&stranger);
}

static void frames_of_a_bound_guest(void **state)
{
	static const enum vmop_active_frame_type types[] = {
		VMOP_ACTIVE_FRAME_PROOF, VMOP_ACTIVE_FRAME_BULK, VMOP_ACTIVE_FRAME_CHALLENGE};
	static const uint32_t lens[] = {VMOP_ACTIVE_PROOF_BYTES, 100, VMOP_ACTIVE_NONCE_BYTES};
	uint8_t payload[100] = {0};
	struct stranger stranger;
	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		is_bound(&stranger, CID + i, VMM + i);
		sends(&stranger, types[i], payload, lens[i]);
		pump();
		assert_true(is_closed(&stranger));
		assert_false(vmop_active_links_has(links, VMM + i));
		leaves(&stranger);
	}
	/* A line with a NUL. */
	is_bound(&stranger, CID + 3, VMM);
	sends(&stranger, VMOP_ACTIVE_FRAME_LINE, payload, 5);
	pump();
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_rubbish, 4);
	leaves(&stranger);
}

/* It still asks for the time of a host that handed samples over, and is no worse a guest for that.
 */
static void a_question_that_nothing_answers(void **state)
{
	const struct vmop_active_ask ask = {.asked_ns = 1, .n_received = 5};
	uint8_t payload[VMOP_ACTIVE_ASK_BYTES], bytes[256];
	struct vmop_active_ask asked;
	struct stranger stranger;
	(void)state;
	is_bound(&stranger, CID, VMM);
	assert_true(recv(stranger.fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0); /* the challenge */
	vmop_active_ask_encode(&ask, payload);
	sends(&stranger, VMOP_ACTIVE_FRAME_ASK, payload, sizeof(payload));
	pump();
	assert_true(recv(stranger.fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0);
	assert_true(vmop_active_links_has(links, VMM));
	assert_false(vmop_active_links_asked(links, VMM, &asked));
	/* One with impossible counts is still rubbish. */
	memset(payload, 0xff, sizeof(payload));
	sends(&stranger, VMOP_ACTIVE_FRAME_ASK, payload, sizeof(payload));
	pump();
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_rubbish, 1);
	leaves(&stranger);
}

static void bytes_that_are_no_frame(void **state)
{
	struct stranger stranger;
	(void)state;
	is_bound(&stranger, CID, VMM);
	assert_true(send(stranger.fd, "rubbish rubbish rubbish", 23, MSG_NOSIGNAL) == 23);
	pump();
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_rubbish, 1);
	leaves(&stranger);
}

static void another_version(void **state)
{
	static const uint8_t header[VMOP_ACTIVE_HEADER_BYTES] = {'v', 'm', 'o', 'p', 9, 1, 2, 3};
	struct stranger stranger;
	(void)state;
	assert_true(connects(&stranger, CID, PORT));
	assert_true(send(stranger.fd, header, sizeof(header), MSG_NOSIGNAL) == sizeof(header));
	pump();
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_versions, 1);
	leaves(&stranger);
}

/*
 * A guest has another version of vmop for long, and tries again and again. Once both have the same,
 * it is admitted soon: being of another version is no hostility that makes the bans longer.
 */
static void an_upgrade(void **state)
{
	static const uint8_t header[VMOP_ACTIVE_HEADER_BYTES] = {'v', 'm', 'o', 'p', 9, 1, 2, 3};
	struct stranger stranger;
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		assert_true(connects(&stranger, CID, PORT));
		assert_true(send(stranger.fd, header, sizeof(header), MSG_NOSIGNAL) ==
			    sizeof(header));
		pump();
		assert_true(is_closed(&stranger));
		leaves(&stranger);
		assert_false(connects(&stranger, CID, PORT));
		leaves(&stranger);
		now_ns += VMOP_ACTIVE_FIRST_BAN_NS;
	}
	assert_int_equal(losses()->n_versions, 20);
	is_bound(&stranger, CID, VMM);
	leaves(&stranger);
	/* But a guest that was refused for more stays refused for longer. */
	pump();
	for (unsigned i = 0; i < 2; i++) {
		assert_true(connects(&stranger, CID, PORT));
		assert_true(send(stranger.fd, "rubbish rubbish rubbish", 23, MSG_NOSIGNAL) == 23);
		pump();
		leaves(&stranger);
		now_ns += VMOP_ACTIVE_FIRST_BAN_NS << i;
	}
	assert_true(connects(&stranger, CID, PORT));
	assert_true(send(stranger.fd, header, sizeof(header), MSG_NOSIGNAL) == sizeof(header));
	pump();
	leaves(&stranger);
	now_ns += (VMOP_ACTIVE_FIRST_BAN_NS << 1) - 1;
	assert_false(connects(&stranger, CID, PORT));
	leaves(&stranger);
	now_ns += 1;
	assert_true(connects(&stranger, CID, PORT));
	leaves(&stranger);
}

/* ---- stalls ---------------------------------------------------------------------------------- */

static void a_guest_that_never_proves(void **state)
{
	struct stranger stranger;
	(void)state;
	assert_true(connects(&stranger, CID, PORT));
	now_ns += VMOP_ACTIVE_PROOF_WAIT_NS;
	pump();
	assert_false(is_closed(&stranger));
	now_ns += 1;
	pump();
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_unproven, 1);
	leaves(&stranger);
}

static void a_claim_that_is_never_true(void **state)
{
	struct stranger stranger;
	struct vmop_active_claim claim;
	(void)state;
	assert_true(connects(&stranger, CID, PORT));
	claims(&stranger, 1);
	now_ns += VMOP_ACTIVE_CHECK_WAIT_NS + 1;
	pump();
	assert_true(is_closed(&stranger));
	assert_false(next_claim(&claim));
	assert_int_equal(losses()->n_unproven, 1);
	leaves(&stranger);
}

static void a_claim_that_is_refused(void **state)
{
	struct stranger stranger, other;
	struct vmop_active_claim claim;
	(void)state;
	assert_true(connects(&stranger, CID, PORT));
	claims(&stranger, 1);
	assert_true(next_claim(&claim));
	vmop_active_links_refuse(links, &claim, now_ns);
	assert_true(is_closed(&stranger));
	assert_int_equal(losses()->n_unproven, 1);
	leaves(&stranger);
	/* The place of the connection is another one's now: the old claim is worth nothing. */
	assert_true(connects(&other, CID + 1, PORT));
	claims(&other, 1);
	assert_false(vmop_active_links_accept(links, &claim, VMM, living(), now_ns));
	vmop_active_links_refuse(links, &claim, now_ns);
	assert_false(is_closed(&other));
	leaves(&other);
}

static void two_claims_of_one_guest(void **state)
{
	struct stranger first, second;
	struct vmop_active_claim claim;
	(void)state;
	is_bound(&first, CID, VMM);
	assert_true(connects(&second, CID + 1, PORT));
	claims(&second, 1);
	assert_true(next_claim(&claim));
	assert_false(vmop_active_links_accept(links, &claim, VMM, living(), now_ns));
	assert_true(is_closed(&second));
	assert_false(is_closed(&first));
	leaves(&first);
	leaves(&second);
}

/* It writes without end, and reads nothing. */
static void a_guest_that_floods_and_does_not_read(void **state)
{
	struct stranger stranger;
	struct vmop_active_store *store;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	const struct vmop_active_opener *opener = vmop_active_links_opener(links);
	(void)state;
	is_bound(&stranger, CID, VMM);
	assert_ok(opener->open(opener->arg, VMM, &store));
	for (unsigned i = 0; i < 2000; i++) {
		static uint8_t buf[700];
		const struct vmop_active_frame frame = {.type = VMOP_ACTIVE_FRAME_LINE,
							.payload = (const uint8_t *)"a line",
							.len_bytes = 6};
		size_t n = vmop_active_frame_encode(&frame, stranger.sequence, buf, sizeof(buf));
		if (send(stranger.fd, buf, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n)
			stranger.sequence++;
		/* The host's lines are dropped when there is no room for them. */
		assert_true(store->ops->write(store, "a line of the host that nobody reads"));
	}
	assert_true(store->ops->read(store, line));
	assert_string_equal(line, "a line");
	assert_true(vmop_active_links_has(links, VMM));
	opener->close(opener->arg, store);
	leaves(&stranger);
}

static void a_vmm_that_ends(void **state)
{
	struct stranger stranger;
	struct vmop_active_claim claim;
	(void)state;
	pid_t vmm = fork();
	assert_true(vmm >= 0);
	if (!vmm) {
		pause();
		_exit(0);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, vmm, 0);
	assert_true(pidfd >= 0);
	assert_true(connects(&stranger, CID, PORT));
	claims(&stranger, 1);
	assert_true(next_claim(&claim));
	assert_true(vmop_active_links_accept(links, &claim, (uint32_t)vmm, pidfd, now_ns));
	pump();
	assert_true(vmop_active_links_has(links, (uint32_t)vmm));
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	pump();
	assert_false(vmop_active_links_has(links, (uint32_t)vmm));
	assert_true(is_closed(&stranger));
	leaves(&stranger);
}

/* ---- an honest agent ---------------------------------------------------------------------------
 */

static bool host_listens;

static int dial(void)
{
	int pair[2];
	if (!host_listens || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	vmop_active_links_add(links, pair[0], CID, PORT, now_ns);
	return pair[1];
}

struct agent {
	struct vmop_agent_link *link;
	struct vmop_active_agent active;
	unsigned n_tasks[VMOP_ACTIVE_DO_LEAVE + 1];
	char events[VMOP_ACTIVE_TEXT_BYTES];
	uint64_t now_ns;
};

/* Look once and carry out what comes. */
static void agent_looks(struct agent *agent)
{
	static const enum vmop_active_word answers[] = {[VMOP_ACTIVE_DO_OPEN] = VMOP_ACTIVE_OPENED,
							[VMOP_ACTIVE_DO_JOIN] = VMOP_ACTIVE_READY,
							[VMOP_ACTIVE_DO_LEAVE] = VMOP_ACTIVE_LEFT};
	char text[VMOP_ACTIVE_TEXT_BYTES];
	agent->now_ns += S / 10;
	vmop_active_agent_report(&agent->active, &(struct vmop_active_report){.samples = 42});
	enum vmop_active_task task = vmop_active_agent_look(&agent->active, agent->now_ns, text);
	agent->n_tasks[task]++;
	if (task == VMOP_ACTIVE_DO_OPEN)
		strcpy(agent->events, text);
	if (task != VMOP_ACTIVE_NOTHING && task != VMOP_ACTIVE_DO_RUN)
		vmop_active_agent_answer(&agent->active, answers[task], "42");
}

static void agent_begins(struct agent *agent)
{
	memset(agent, 0, sizeof(*agent));
	agent->now_ns = S;
	host_listens = true;
	assert_ok(vmop_agent_link_create(dial, &agent->link));
	vmop_active_agent_init(&agent->active, vmop_agent_link_store(agent->link));
}

/* Check the proof as the host does, which reads this process's memory. */
static void is_identified(struct agent *agent)
{
	struct vmop_active_claim claim;
	for (unsigned i = 0; i < 100 && !next_claim(&claim); i++) {
		agent_looks(agent);
		pump();
		usleep(1000);
	}
	assert_true(next_claim(&claim));
	assert_int_equal(claim.proof.pid, getpid());
	assert_memory_equal((const void *)(uintptr_t)claim.proof.address, claim.nonce,
			    VMOP_ACTIVE_NONCE_BYTES);
	assert_true(vmop_active_links_accept(links, &claim, VMM, living(), now_ns));
}

/* The agent lives on while the group waits for it. */
static struct agent *served;

static bool serving_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES]);
static bool serving_write(struct vmop_active_store *store, const char *line);
static const struct vmop_active_store_ops serving_ops = {serving_read, serving_write};
static struct vmop_active_store *inner;
static struct vmop_active_store outer = {&serving_ops};

static bool serving_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	(void)store;
	if (served)
		agent_looks(served);
	return inner->ops->read(inner, buf);
}

static bool serving_write(struct vmop_active_store *store, const char *line)
{
	(void)store;
	return inner->ops->write(inner, line);
}

static struct vmop_error *open_serving(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	const struct vmop_active_opener *opener = vmop_active_links_opener(arg);
	*ret = &outer;
	return opener->open(opener->arg, domain, &inner);
}

static void close_serving(void *arg, struct vmop_active_store *store)
{
	const struct vmop_active_opener *opener = vmop_active_links_opener(arg);
	(void)store;
	opener->close(opener->arg, inner);
}

static void hurry(void *arg, bool is_on)
{
	(void)arg;
	(void)is_on;
}

static struct vmop_active_group *new_group(void)
{
	static struct vmop_active_opener opener;
	struct vmop_active_group *group;
	opener = (struct vmop_active_opener){
		.open = open_serving, .close = close_serving, .hurry = hurry, .arg = links};
	assert_ok(vmop_active_group_create(&opener, "cpu-clock:1000Hz", &group));
	vmop_active_group_set_independent(group);
	return group;
}

static void runs(struct vmop_active_group *group)
{
	static const uint32_t vmm = VMM;
	for (unsigned i = 0; i < 100 && vmop_active_group_presence(group, vmm) != VMOP_ACTIVE_THERE;
	     i++) {
		vmop_active_group_check(group);
		assert_ok(vmop_active_group_want(group, &vmm, 1));
		assert_ok(vmop_active_group_take_error(group));
	}
	assert_int_equal(vmop_active_group_presence(group, vmm), VMOP_ACTIVE_THERE);
}

static void a_session_over_the_channel(void **state)
{
	struct agent agent;
	(void)state;
	agent_begins(&agent);
	is_identified(&agent);
	assert_true(vmop_agent_link_is_up(agent.link));
	served = &agent;
	for (unsigned session = 1; session <= 2; session++) {
		struct vmop_active_group *group = new_group();
		runs(group);
		assert_int_equal(agent.active.stage, VMOP_ACTIVE_TAKING);
		assert_string_equal(agent.events, "cpu-clock:1000Hz");
		for (unsigned i = 0; i < 3; i++)
			vmop_active_group_check(group);
		assert_int_equal(vmop_active_group_samples(group, VMM), 42);
		assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_LEAVE], session - 1);
		vmop_active_group_destroy(group);
		assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_OPEN], session);
		assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_RUN], session);
		assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_LEAVE], session);
		assert_int_equal(agent.active.stage, VMOP_ACTIVE_IDLE);
	}
	served = NULL;
	/* The next session of the host has a new channel. The agent still has its last answer. */
	vmop_active_links_destroy(links);
	assert_ok(vmop_active_links_create(-1, &links));
	for (unsigned i = 0; i < 100; i++) {
		agent_looks(&agent);
		if (!vmop_agent_link_is_up(agent.link))
			usleep(20000);
		pump();
	}
	is_identified(&agent);
	assert_int_equal(losses()->n_rubbish, 0);
	vmop_agent_link_destroy(agent.link);
}

/* The agent's process ends in a session; its successor connects and begins a session anew. */
static void an_agent_that_dies(void **state)
{
	static const uint32_t vmm = VMM;
	struct agent agent, successor;
	(void)state;
	agent_begins(&agent);
	is_identified(&agent);
	served = &agent;
	struct vmop_active_group *group = new_group();
	runs(group);
	served = NULL;
	vmop_agent_link_destroy(agent.link);
	pump();
	assert_false(vmop_active_links_has(links, VMM));
	assert_ok(vmop_active_group_want(group, NULL, 0));
	assert_int_equal(vmop_active_group_presence(group, vmm), VMOP_ACTIVE_ABSENT);

	agent_begins(&successor);
	is_identified(&successor);
	served = &successor;
	runs(group);
	assert_int_equal(successor.n_tasks[VMOP_ACTIVE_DO_OPEN], 1);
	vmop_active_group_destroy(group);
	assert_int_equal(successor.n_tasks[VMOP_ACTIVE_DO_LEAVE], 1);
	served = NULL;
	vmop_agent_link_destroy(successor.link);
}

/* The host's vmopd ends: the agent connects to the next one. */
static void a_host_that_ends(void **state)
{
	struct agent agent;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	(void)state;
	agent_begins(&agent);
	is_identified(&agent);
	host_listens = false;
	vmop_active_links_destroy(links);
	agent_looks(&agent);
	assert_false(vmop_agent_link_is_up(agent.link));
	struct vmop_active_store *store = vmop_agent_link_store(agent.link);
	assert_true(store->ops->read(store, line));
	assert_string_equal(line, "");
	assert_false(store->ops->write(store, "nobody listens"));
	assert_ok(vmop_active_links_create(-1, &links));
	host_listens = true;
	for (unsigned i = 0; i < 100 && !vmop_agent_link_is_up(agent.link); i++) {
		agent_looks(&agent);
		usleep(50000);
	}
	is_identified(&agent);
	vmop_agent_link_destroy(agent.link);
}

/* Let the host's group of agents go on for some time, in steps of a second. */
static void passes(struct vmop_active_group *group, unsigned seconds)
{
	static const uint32_t vmm = VMM;
	for (unsigned i = 0; i < seconds; i++) {
		leapt_s++;
		now_ns += S;
		pump();
		vmop_active_group_check(group);
		assert_ok(vmop_active_group_want(group, &vmm, vmop_active_links_has(links, vmm)));
		vmop_error_destroy(vmop_active_group_take_error(group));
	}
}

/*
 * A guest is suspended, or saved to a file and restored: its vCPUs stand still for an hour, and
 * then go on with the same connection. Its clock stood still, too, or it was set.
 */
static void suspended(uint64_t guest_hears_of_s, unsigned n_sessions)
{
	struct agent agent;
	agent_begins(&agent);
	is_identified(&agent);
	served = &agent;
	struct vmop_active_group *group = new_group();
	runs(group);
	served = NULL;
	passes(group, 3600);
	assert_int_equal(vmop_active_group_presence(group, VMM), VMOP_ACTIVE_ABSENT);
	assert_true(vmop_active_links_has(links, VMM));
	agent.now_ns += guest_hears_of_s * S;
	served = &agent;
	for (unsigned i = 0; i < 120; i++)
		passes(group, vmop_active_group_presence(group, VMM) != VMOP_ACTIVE_THERE);
	runs(group);
	assert_int_equal(agent.active.stage, VMOP_ACTIVE_TAKING);
	assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_OPEN], n_sessions);
	vmop_active_group_destroy(group);
	assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_LEAVE], n_sessions);
	served = NULL;
	vmop_agent_link_destroy(agent.link);
	assert_int_equal(losses()->n_rubbish, 0);
}

static void a_guest_that_is_suspended(void **state)
{
	(void)state;
	suspended(0, 2);
}

static void a_guest_that_is_suspended_and_notices(void **state)
{
	(void)state;
	suspended(3600, 2);
}

/*
 * A guest moves to another host while it is sampled: there its agent ends the session of the former
 * host, and begins that of the new one. The former host sees that the VMM ends.
 */
static void a_guest_that_moves(void **state)
{
	struct agent agent;
	struct vmop_active_claim claim;
	(void)state;
	agent_begins(&agent);
	for (unsigned i = 0; i < 100 && !next_claim(&claim); i++) {
		agent_looks(&agent);
		pump();
	}
	pid_t vmm = fork();
	if (vmm == 0) {
		pause();
		_exit(0);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, vmm, 0);
	assert_true(next_claim(&claim) && pidfd >= 0);
	assert_true(vmop_active_links_accept(links, &claim, VMM, pidfd, now_ns));
	served = &agent;
	struct vmop_active_group *group = new_group();
	runs(group);
	served = NULL;

	/* The former host. */
	struct vmop_active_links *former = links;
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	pump();
	assert_false(vmop_active_links_has(links, VMM));
	assert_ok(vmop_active_group_want(group, NULL, 0));
	assert_int_equal(vmop_active_group_presence(group, VMM), VMOP_ACTIVE_ABSENT);
	vmop_active_group_destroy(group);

	/* The new one, which samples already. */
	assert_ok(vmop_active_links_create(-1, &links));
	for (unsigned i = 0; i < 100 && !next_claim(&claim); i++) {
		agent_looks(&agent);
		leapt_s++; /* until the agent dials again */
		pump();
	}
	assert_int_equal(agent.active.stage, VMOP_ACTIVE_TAKING);
	is_identified(&agent);
	served = &agent;
	group = new_group();
	runs(group);
	assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_LEAVE], 1);
	assert_int_equal(agent.n_tasks[VMOP_ACTIVE_DO_OPEN], 2);
	vmop_active_group_destroy(group);
	served = NULL;
	assert_int_equal(losses()->n_rubbish + losses()->n_unproven, 0);
	vmop_agent_link_destroy(agent.link);
	vmop_active_links_destroy(former);
}

/* ---- the agent's own suspicion -------------------------------------------------------------- */

static int fds[2];

static int dial_pair(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return -1;
	return fds[1];
}

static void host_sends(uint32_t sequence, enum vmop_active_frame_type type, const void *payload,
		       size_t len)
{
	uint8_t buf[700];
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = (uint32_t)len};
	size_t n = vmop_active_frame_encode(&frame, sequence, buf, sizeof(buf));
	assert_true(n > 0 && send(fds[0], buf, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void an_agent_hangs_up_on_rubbish(void **state)
{
	static const uint8_t nonce[VMOP_ACTIVE_NONCE_BYTES] = {1};
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct vmop_agent_link *link;
		assert_ok(vmop_agent_link_create(dial_pair, &link));
		struct vmop_active_store *store = vmop_agent_link_store(link);
		store->ops->read(store, line);
		assert_true(vmop_agent_link_is_up(link));
		if (i == 0) /* before the challenge */
			host_sends(0, VMOP_ACTIVE_FRAME_LINE, "hello", 5);
		if (i > 0)
			host_sends(0, VMOP_ACTIVE_FRAME_CHALLENGE, nonce, sizeof(nonce));
		if (i == 1) /* a second one */
			host_sends(1, VMOP_ACTIVE_FRAME_CHALLENGE, nonce, sizeof(nonce));
		if (i == 2)
			host_sends(1, VMOP_ACTIVE_FRAME_PROOF, nonce, VMOP_ACTIVE_PROOF_BYTES);
		if (i == 3)
			host_sends(1, VMOP_ACTIVE_FRAME_LINE, "hello", 5);
		store->ops->read(store, line);
		assert_int_equal(vmop_agent_link_is_up(link), i == 3);
		assert_string_equal(line, i == 3 ? "hello" : "");
		close(fds[0]);
		vmop_agent_link_destroy(link);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_privileged_guests_are_admitted),
		TEST(a_guest_has_one_connection),
		TEST(a_flood_is_bounded),
		TEST(a_flood_at_the_port),
		TEST(a_ban_doubles_and_ends),
		TEST(frames_before_the_proof),
		TEST(a_second_proof),
		TEST(frames_of_a_bound_guest),
		TEST(a_question_that_nothing_answers),
		TEST(bytes_that_are_no_frame),
		TEST(another_version),
		TEST(an_upgrade),
		TEST(a_guest_that_never_proves),
		TEST(a_claim_that_is_never_true),
		TEST(a_claim_that_is_refused),
		TEST(two_claims_of_one_guest),
		TEST(a_guest_that_floods_and_does_not_read),
		TEST(a_vmm_that_ends),
		TEST(a_session_over_the_channel),
		TEST(an_agent_that_dies),
		TEST(a_host_that_ends),
		TEST(a_guest_that_is_suspended),
		TEST(a_guest_that_is_suspended_and_notices),
		TEST(a_guest_that_moves),
		TEST(an_agent_hangs_up_on_rubbish),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
