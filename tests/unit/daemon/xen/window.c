// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of a connection through a window: between two real sides over memory that is mapped
 * twice, and from a side that writes what it likes there. Also the lines about windows.
 */
#include "daemon/xen/window.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/xen/window-line.h"
#include "tests/unit/ok.h"

/* Places of the marks, as in window.h. */
enum { AGENT = 64, HOST = 128, STATE = 0, WRITTEN = 4, READ = 8 };
enum { OPEN = 1, CLOSED = 2 };

struct side {
	struct vmop_worker worker;
	struct vmop_window window;
	int fd; /* the test's end of the pair of sockets */
	uint8_t *memory;
	struct vmop_error *err;
};

static struct side agent, host;

static void side_run(struct vmop_worker *worker)
{
	struct side *side = (struct side *)worker;
	side->err = vmop_window_carry(&side->window);
	close(side->window.fd);
}

static void side_destroy(struct vmop_worker *worker)
{
	struct side *side = (struct side *)worker;
	vmop_error_destroy(side->err);
	side->err = NULL;
}

static const struct vmop_worker_ops ops = {"side", side_run, side_destroy};

static int begin(void **state)
{
	(void)state;
	int fd = memfd_create("window", MFD_CLOEXEC);
	memset(&agent, 0, sizeof(agent));
	memset(&host, 0, sizeof(host));
	if (fd < 0 || ftruncate(fd, VMOP_WINDOW_BYTES) < 0)
		return -1;
	agent.memory = mmap(NULL, VMOP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	host.memory = mmap(NULL, VMOP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	agent.fd = host.fd = -1;
	return agent.memory == MAP_FAILED || host.memory == MAP_FAILED ? -1 : 0;
}

static void hang_up(struct side *side)
{
	if (side->fd >= 0)
		close(side->fd);
	side->fd = -1;
}

static int end(void **state)
{
	(void)state;
	hang_up(&agent);
	hang_up(&host);
	munmap(agent.memory, VMOP_WINDOW_BYTES);
	munmap(host.memory, VMOP_WINDOW_BYTES);
	return 0;
}

static void prepare(struct side *side, enum vmop_window_side which)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	side->fd = pair[0];
	vmop_window_begin(&side->window, side->memory, which, pair[1], &side->worker);
}

static void start(struct side *side)
{
	memset(&side->worker, 0, sizeof(side->worker));
	assert_ok(vmop_worker_begin(&side->worker, &ops));
}

/* Wait for the end of a side. Its error must contain text; NULL: it must have none. */
static void ends(struct side *side, const char *text)
{
	struct timespec until = vmop_worker_deadline(10000);
	pthread_mutex_lock(&side->worker.lock);
	while (!side->worker.has_ended && vmop_worker_wait(&side->worker, &until))
		;
	bool has_ended = side->worker.has_ended;
	pthread_mutex_unlock(&side->worker.lock);
	assert_true(has_ended);
	if (text) {
		assert_non_null(side->err);
		assert_non_null(strstr(side->err->message, text));
	} else {
		assert_null(side->err);
	}
	vmop_worker_end(&side->worker);
}

static void set(uint8_t *memory, unsigned at, uint32_t value)
{
	__atomic_store_n((uint32_t *)(memory + at), value, __ATOMIC_SEQ_CST);
}

static uint32_t get(const uint8_t *memory, unsigned at)
{
	return __atomic_load_n((const uint32_t *)(memory + at), __ATOMIC_SEQ_CST);
}

/* ---- two real sides -------------------------------------------------------------------------- */

static void begin_both(void)
{
	prepare(&agent, VMOP_WINDOW_AGENT);
	prepare(&host, VMOP_WINDOW_HOST);
	start(&host);
	start(&agent);
}

/* Receive exactly n bytes, or fewer at the end of the connection. */
static size_t receive(int fd, uint8_t *buf, size_t n)
{
	size_t at = 0;
	for (unsigned tries = 0; at < n && tries < 10000;) {
		ssize_t got = recv(fd, buf + at, n - at, MSG_DONTWAIT);
		if (got == 0)
			break;
		if (got > 0)
			at += (size_t)got;
		else if (++tries)
			usleep(1000);
	}
	return at;
}

static uint8_t byte_at(size_t at)
{
	return (uint8_t)(at * 2654435761u >> 13);
}

/* More than the ring holds, while the reader reads, and the end behind the last byte. */
static void carries_a_file(void **state)
{
	(void)state;
	enum { WHOLE = 3000017 };
	static uint8_t sent[WHOLE], got[WHOLE + 1];
	size_t n_sent = 0, n_got = 0;
	for (size_t i = 0; i < WHOLE; i++)
		sent[i] = byte_at(i);
	begin_both();
	assert_int_equal(send(host.fd, "request", 7, MSG_NOSIGNAL), 7);
	assert_int_equal(receive(agent.fd, got, 7), 7);
	assert_memory_equal(got, "request", 7);
	while (n_sent < WHOLE) {
		ssize_t n =
			send(agent.fd, sent + n_sent, WHOLE - n_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		n_sent += n > 0 ? (size_t)n : 0;
		n = recv(host.fd, got + n_got, WHOLE - n_got, MSG_DONTWAIT);
		n_got += n > 0 ? (size_t)n : 0;
	}
	hang_up(&agent);
	assert_int_equal(n_got + receive(host.fd, got + n_got, sizeof(got) - n_got), WHOLE);
	assert_memory_equal(got, sent, WHOLE);
	ends(&agent, NULL);
	ends(&host, NULL);
}

/* dom0's fetch ends early: the agent's connection ends at once, whatever it still sends. */
static void host_ends(void **state)
{
	(void)state;
	static uint8_t block[1 << 16];
	begin_both();
	send(agent.fd, block, sizeof(block), MSG_NOSIGNAL | MSG_DONTWAIT);
	hang_up(&host);
	ends(&host, NULL);
	ends(&agent, NULL);
}

static void owner_ends(void **state)
{
	(void)state;
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	begin_both();
	vmop_worker_end(&host.worker);
	ends(&agent, NULL);
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - since_ns < 5 * VMOP_NS_PER_S);
}

/* The numbers wrap in the middle of a transfer. */
static void numbers_wrap(void **state)
{
	(void)state;
	enum { WHOLE = 5000, FROM = UINT32_MAX - 100 };
	static uint8_t got[WHOLE];
	prepare(&agent, VMOP_WINDOW_AGENT);
	prepare(&host, VMOP_WINDOW_HOST);
	agent.window.n_written = host.window.n_read = FROM;
	set(agent.memory, AGENT + WRITTEN, FROM);
	set(agent.memory, HOST + READ, FROM);
	start(&host);
	start(&agent);
	for (size_t i = 0; i < WHOLE; i++)
		got[i] = byte_at(i);
	assert_int_equal(send(agent.fd, got, WHOLE, MSG_NOSIGNAL), WHOLE);
	memset(got, 0, sizeof(got));
	assert_int_equal(receive(host.fd, got, WHOLE), WHOLE);
	for (size_t i = 0; i < WHOLE; i++)
		assert_int_equal(got[i], byte_at(i));
	hang_up(&host);
	ends(&host, NULL);
	ends(&agent, NULL);
}

/* ---- an agent that writes what it likes ------------------------------------------------------ */

/* Begin the host's side beside an agent that the test plays. */
static void begin_host(void)
{
	struct vmop_window unused;
	vmop_window_begin(&unused, agent.memory, VMOP_WINDOW_AGENT, -1, NULL);
	prepare(&host, VMOP_WINDOW_HOST);
}

static void host_refuses(unsigned at, uint32_t value, const char *text)
{
	begin_host();
	set(agent.memory, AGENT + STATE, OPEN);
	set(agent.memory, at, value);
	start(&host);
	ends(&host, text);
	assert_int_equal(get(agent.memory, HOST + STATE), CLOSED);
	hang_up(&host);
	memset(agent.memory, 0, VMOP_WINDOW_BYTES);
}

static void wrong_marks(void **state)
{
	(void)state;
	static const char rubbish[] = "no vmopd writes";
	host_refuses(AGENT + WRITTEN, (128 << 10) + 1, rubbish);
	host_refuses(AGENT + WRITTEN, UINT32_MAX, rubbish);
	host_refuses(AGENT + READ, 1, rubbish);
	host_refuses(AGENT + READ, UINT32_MAX - 2048, rubbish);
	host_refuses(AGENT + STATE, 3, rubbish);
	host_refuses(0, 0, "another version");
	host_refuses(4, 2, "another version");
}

/* Numbers that go back are as wrong as those that go too far. */
static void goes_back(void **state)
{
	(void)state;
	uint8_t got[16];
	begin_host();
	set(agent.memory, AGENT + STATE, OPEN);
	set(agent.memory, AGENT + WRITTEN, 8);
	start(&host);
	assert_int_equal(receive(host.fd, got, 8), 8);
	set(agent.memory, AGENT + WRITTEN, 7);
	ends(&host, "no vmopd writes");
}

static void never_opens(void **state)
{
	(void)state;
	begin_host();
	host.window.open_ns = VMOP_NS_PER_S / 5;
	start(&host);
	ends(&host, "does not open");
}

static void never_ends(void **state)
{
	(void)state;
	begin_host();
	host.window.whole_ns = VMOP_NS_PER_S / 5;
	set(agent.memory, AGENT + STATE, OPEN);
	start(&host);
	ends(&host, "too long");
}

/* The host's own marks are no input of its side: a change of them changes nothing. */
static void forges_own_marks(void **state)
{
	(void)state;
	uint8_t got[16];
	begin_host();
	set(agent.memory, AGENT + STATE, OPEN);
	memcpy(agent.memory + 4096, "12345678", 8);
	set(agent.memory, HOST + READ, 4000000);
	set(agent.memory, HOST + WRITTEN, 4000000);
	set(agent.memory, AGENT + WRITTEN, 8);
	start(&host);
	assert_int_equal(receive(host.fd, got, 8), 8);
	assert_memory_equal(got, "12345678", 8);
	set(agent.memory, AGENT + STATE, CLOSED);
	ends(&host, NULL);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void lines(void **state)
{
	(void)state;
	struct vmop_window_line line = {.number = 0x1122334455667788, .has_refs = true}, parsed;
	char text[VMOP_ACTIVE_MESSAGE_BYTES];
	for (size_t i = 0; i < VMOP_WINDOW_PAGES; i++)
		line.refs[i] = UINT32_MAX - (uint32_t)i;
	vmop_window_line_format(&line, text);
	assert_true(vmop_window_line_parse(text, &parsed));
	assert_memory_equal(&parsed, &line, sizeof(line));
	line = (struct vmop_window_line){.number = 5};
	vmop_window_line_format(&line, text);
	assert_string_equal(text, "1 0000000000000005");
	assert_true(vmop_window_line_parse(text, &parsed));
	assert_false(parsed.has_refs);
	strcpy(line.reason, "no\nmemory");
	vmop_window_line_format(&line, text);
	assert_string_equal(text, "1 0000000000000005 none no?memory");
	assert_true(vmop_window_line_parse(text, &parsed));
	assert_string_equal(parsed.reason, "no?memory");
}

static void wrong_lines(void **state)
{
	(void)state;
	static const char *const wrong[] = {"",
					    " ",
					    "1",
					    "1 ",
					    "2 5",
					    "1 0",
					    "1 x",
					    "1 5 ",
					    "1 5 7",
					    "1 5 none",
					    "1 5 none ",
					    "1 5 none a\x1b",
					    "1 5 1 2",
					    "1 -5",
					    "1 5 100000000",
					    "1 5  none a",
					    "1 5 nine a"};
	struct vmop_window_line parsed, before;
	char text[VMOP_ACTIVE_MESSAGE_BYTES] = "1 5";
	memset(&parsed, 0x5a, sizeof(parsed));
	before = parsed;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (vmop_window_line_parse(wrong[i], &parsed))
			fail_msg("'%s' was accepted", wrong[i]);
	for (size_t i = 0; i <= VMOP_WINDOW_PAGES; i++) /* one more than there are */
		strcat(text, " a");
	assert_false(vmop_window_line_parse(text, &parsed));
	text[strlen(text) - 2] = '\0';
	assert_memory_equal(&parsed, &before, sizeof(before));
	assert_true(vmop_window_line_parse(text, &parsed));
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(carries_a_file),
		UNIT(host_ends),
		UNIT(owner_ends),
		UNIT(numbers_wrap),
		UNIT(wrong_marks),
		UNIT(goes_back),
		UNIT(never_opens),
		UNIT(never_ends),
		UNIT(forges_own_marks),
		cmocka_unit_test(lines),
		cmocka_unit_test(wrong_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
