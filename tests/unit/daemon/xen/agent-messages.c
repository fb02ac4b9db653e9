// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages with active domains: libxenstore is the real one, xenstored that of xen/xenstored.h. */
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "daemon/xen/agent-messages.h"
#include "tests/unit/daemon/xen/xenstored.h"

#define INITIATOR "/local/domain/3/data/vmop/initiator"
#define AGENT "/local/domain/3/data/vmop/agent"

struct setup {
	char folder[32];
	struct vmop_agent_messages *messages;
	struct vmop_active_store *store;
};

static void ok(struct vmop_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static const struct vmop_active_opener *opener(const struct setup *setup)
{
	return vmop_agent_messages_opener(setup->messages);
}

static int begin(void **state)
{
	struct setup *setup = calloc(1, sizeof(*setup));
	if (!setup)
		return -1;
	strcpy(setup->folder, "/tmp/vmop-messages.XXXXXX");
	if (!mkdtemp(setup->folder))
		return -1;
	xenstored_start(setup->folder);
	put_domain(0, "3", "web", "nothing", "pv");
	ok(vmop_agent_messages_open(20, &setup->messages));
	ok(opener(setup)->open(opener(setup)->arg, 3, &setup->store));
	*state = setup;
	return 0;
}

static int end(void **state)
{
	struct setup *setup = *state;
	char path[64];
	if (setup->store)
		opener(setup)->close(opener(setup)->arg, setup->store);
	vmop_agent_messages_close(setup->messages);
	xenstored_stop(setup->folder);
	snprintf(path, sizeof(path), "%s/xenstored", setup->folder);
	unlink(path);
	rmdir(setup->folder);
	free(setup);
	return 0;
}

/* Wait until condition is true.  The test harness ends a test that waits for ever. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		usleep(5000);                                                                      \
		pthread_mutex_lock(&xenstored.lock);                                               \
		is_true = (condition);                                                             \
		pthread_mutex_unlock(&xenstored.lock);                                             \
	} while (!is_true)

static bool has_node(const char *path, const char *value)
{
	const struct node *node = node_at(path);
	return node && node->len == strlen(value) && !memcmp(node->value, value, node->len);
}

static bool writes(struct setup *setup, const char *line)
{
	return setup->store->ops->write(setup->store, line);
}

static void put(const char *path, const char *value, size_t len)
{
	pthread_mutex_lock(&xenstored.lock);
	put_node(path, value, len);
	pthread_mutex_unlock(&xenstored.lock);
}

static void reads(struct setup *setup, const char *line)
{
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	do {
		usleep(5000);
		assert_true(setup->store->ops->read(setup->store, buf));
	} while (strcmp(buf, line) != 0);
}

static void both_ways(void **state)
{
	struct setup *setup = *state;
	bool is_true;
	reads(setup, "");
	assert_true(writes(setup, "hello"));
	UNTIL(has_node(INITIATOR, "hello"));
	put(AGENT, "here", 4);
	reads(setup, "here");
	assert_true(writes(setup, "go"));
	UNTIL(has_node(INITIATOR, "go"));
}

/* Lines that the other side can write: too long, with a NUL, empty. */
static void hostile_lines(void **state)
{
	struct setup *setup = *state;
	char longest[4096], buf[VMOP_ACTIVE_MESSAGE_BYTES];
	memset(longest, 'x', sizeof(longest));
	put(AGENT, longest, sizeof(longest));
	memcpy(buf, longest, sizeof(buf));
	buf[sizeof(buf) - 1] = '\0';
	reads(setup, buf);
	put(AGENT, "a\0b", 3);
	reads(setup, "a");
	put(AGENT, "", 0);
	reads(setup, "");
}

static void a_conflict_is_no_loss(void **state)
{
	struct setup *setup = *state;
	bool is_true;
	xenstored.conflicts = 3;
	assert_true(writes(setup, "hello"));
	UNTIL(has_node(INITIATOR, "hello") && xenstored.conflicts == 0);
	assert_true(writes(setup, "hello"));
}

/* The folder of a destroyed domain is not created again. */
static void a_domain_that_is_gone(void **state)
{
	struct setup *setup = *state;
	drop_last_domain();
	while (writes(setup, "hello"))
		usleep(5000);
	assert_null(node_at(INITIATOR));
	assert_int_equal(xenstored.writes, 0);
}

static void the_last_line_goes_out(void **state)
{
	struct setup *setup = *state;
	assert_true(writes(setup, "leave"));
	opener(setup)->close(opener(setup)->arg, setup->store);
	setup->store = NULL;
	vmop_agent_messages_close(setup->messages);
	setup->messages = NULL;
	assert_true(has_node(INITIATOR, "leave"));
}

static void a_domains_own(void **state)
{
	struct setup *setup = *state;
	struct vmop_active_store *own;
	bool is_true;
	ok(vmop_agent_messages_own(setup->messages, &own));
	assert_true(own->ops->write(own, "here"));
	UNTIL(has_node("data/vmop/agent", "here"));
	put("data/vmop/initiator", "hello", 5);
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	do {
		usleep(5000);
		assert_true(own->ops->read(own, buf));
	} while (strcmp(buf, "hello") != 0);
}

/* Fast rounds do not wait for the next slow one, which is an hour away. */
static void fast_rounds(void **state)
{
	struct setup slow = {.folder = ""};
	(void)state;
	ok(vmop_agent_messages_open(3600000, &slow.messages));
	ok(opener(&slow)->open(opener(&slow)->arg, 3, &slow.store));
	opener(&slow)->hurry(opener(&slow)->arg, true);
	put(AGENT, "here", 4);
	reads(&slow, "here");
	put(AGENT, "ready", 5);
	reads(&slow, "ready");
	opener(&slow)->hurry(opener(&slow)->arg, false);
	opener(&slow)->close(opener(&slow)->arg, slow.store);
	vmop_agent_messages_close(slow.messages);
}

/* Lines about windows have nodes of their own, on both sides. */
static void windows(void **state)
{
	struct setup *setup = *state;
	const struct vmop_active_opener *of_windows =
		vmop_agent_messages_window_opener(setup->messages);
	struct vmop_active_store *own;
	bool is_true;
	opener(setup)->close(opener(setup)->arg, setup->store);
	ok(of_windows->open(of_windows->arg, 3, &setup->store));
	assert_true(writes(setup, "1 5"));
	UNTIL(has_node("/local/domain/3/data/vmop/fetch", "1 5"));
	put("/local/domain/3/data/vmop/window", "1 5 none a", 10);
	reads(setup, "1 5 none a");
	ok(vmop_agent_messages_own_window(setup->messages, &own));
	assert_true(own->ops->write(own, "1 6 none b"));
	UNTIL(has_node("data/vmop/window", "1 6 none b"));
}

/* They leave the fast rounds to the lines for which Xen waits. */
static void windows_wait(void **state)
{
	struct setup *setup = *state;
	struct vmop_active_store *own;
	bool is_true;
	ok(vmop_agent_messages_own_window(setup->messages, &own));
	vmop_agent_messages_hurry(setup->messages, true);
	assert_true(own->ops->write(own, "1 6"));
	assert_true(writes(setup, "hello"));
	UNTIL(has_node(INITIATOR, "hello"));
	assert_true(writes(setup, "go"));
	UNTIL(has_node(INITIATOR, "go"));
	assert_null(node_at("data/vmop/window"));
	vmop_agent_messages_hurry(setup->messages, false);
	UNTIL(has_node("data/vmop/window", "1 6"));
}

static void another_xenstored(void **state)
{
	struct setup *setup = *state;
	bool is_true;
	xenstored_stop(setup->folder);
	char path[64];
	snprintf(path, sizeof(path), "%s/xenstored", setup->folder);
	unlink(path);
	assert_true(writes(setup, "hello"));
	xenstored_start(setup->folder);
	put_domain(0, "3", "web", "nothing", "pv");
	UNTIL(has_node(INITIATOR, "hello"));
}

static void a_xenstored_that_hangs(void **state)
{
	struct setup *setup = *state;
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	pthread_mutex_lock(&xenstored.lock);
	xenstored.is_silent = true;
	pthread_mutex_unlock(&xenstored.lock);
	for (unsigned i = 0; i < 100; i++) { /* no call waits for it */
		assert_true(writes(setup, "hello"));
		assert_true(setup->store->ops->read(setup->store, buf));
	}
}

static void no_xenstored(void **state)
{
	struct vmop_agent_messages *messages;
	(void)state;
	if (access("/dev/xen/xenbus", F_OK) == 0)
		return; /* libxenstore uses that in a domain of Xen */
	assert_int_equal(setenv("XENSTORED_PATH", "/nowhere/at/all", 1), 0);
	struct vmop_error *err = vmop_agent_messages_open(20, &messages);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	vmop_error_destroy(err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_ways),
		TEST(hostile_lines),
		TEST(a_conflict_is_no_loss),
		TEST(a_domain_that_is_gone),
		TEST(the_last_line_goes_out),
		TEST(a_domains_own),
		TEST(fast_rounds),
		TEST(windows),
		TEST(windows_wait),
		TEST(another_xenstored),
		TEST(a_xenstored_that_hangs),
		cmocka_unit_test(no_xenstored),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
