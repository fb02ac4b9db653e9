// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines for and from active domains: libxenstore is the real one, asking xen/xenstored.h's. */
#include <signal.h>
#include <stdarg.h>
#include <time.h>

#include "daemon/xen/agent-messages.h"
#include "tests/unit/daemon/xen/xenstored.h"

#define INITIATOR "/local/domain/3/data/vmop/initiator"
#define AGENT "/local/domain/3/data/vmop/agent"

struct mail {
	char folder[32];
	struct vmop_agent_messages *mail;
	struct vmop_active_store *store;
};

static void ok(struct vmop_error *err)
{
	if (err)
		fail_msg("%s", err->message);
}

static const struct vmop_active_opener *opener(const struct mail *mail)
{
	return vmop_agent_messages_opener(mail->mail);
}

static int begin(void **state)
{
	struct mail *mail = calloc(1, sizeof(*mail));
	if (!mail)
		return -1;
	strcpy(mail->folder, "/tmp/vmop-mail.XXXXXX");
	if (!mkdtemp(mail->folder))
		return -1;
	xenstored_start(mail->folder);
	put_domain(0, "3", "web", "nothing", "pv");
	ok(vmop_agent_messages_open(20, &mail->mail));
	ok(opener(mail)->open(opener(mail)->arg, 3, &mail->store));
	*state = mail;
	return 0;
}

static int end(void **state)
{
	struct mail *mail = *state;
	char path[64];
	if (mail->store)
		opener(mail)->close(opener(mail)->arg, mail->store);
	vmop_agent_messages_close(mail->mail);
	xenstored_stop(mail->folder);
	snprintf(path, sizeof(path), "%s/xenstored", mail->folder);
	unlink(path);
	rmdir(mail->folder);
	free(mail);
	return 0;
}

/* Until it is true; a test that never gets there is ended from outside. */
#define UNTIL(condition)                                                                           \
	do {                                                                                       \
		usleep(5000);                                                                      \
		pthread_mutex_lock(&xenstored.lock);                                               \
		is_met = (condition);                                                              \
		pthread_mutex_unlock(&xenstored.lock);                                             \
	} while (!is_met)

static bool has_node(const char *path, const char *value)
{
	const struct node *node = node_at(path);
	return node && node->len == strlen(value) && !memcmp(node->value, value, node->len);
}

static bool says(struct mail *mail, const char *line)
{
	return mail->store->ops->write(mail->store, line);
}

static void put(const char *path, const char *value, size_t len)
{
	pthread_mutex_lock(&xenstored.lock);
	put_node(path, value, len);
	pthread_mutex_unlock(&xenstored.lock);
}

static void hears(struct mail *mail, const char *line)
{
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	do {
		usleep(5000);
		assert_true(mail->store->ops->read(mail->store, buf));
	} while (strcmp(buf, line) != 0);
}

static void both_ways(void **state)
{
	struct mail *mail = *state;
	bool is_met;
	hears(mail, "");
	assert_true(says(mail, "hello"));
	UNTIL(has_node(INITIATOR, "hello"));
	put(AGENT, "here", 4);
	hears(mail, "here");
	assert_true(says(mail, "go"));
	UNTIL(has_node(INITIATOR, "go"));
}

/* What the other side can put there: too long, with a NUL in it, nothing. */
static void hostile_lines(void **state)
{
	struct mail *mail = *state;
	char longest[4096], buf[VMOP_ACTIVE_MESSAGE_BYTES];
	memset(longest, 'x', sizeof(longest));
	put(AGENT, longest, sizeof(longest));
	memcpy(buf, longest, sizeof(buf));
	buf[sizeof(buf) - 1] = '\0';
	hears(mail, buf);
	put(AGENT, "a\0b", 3);
	hears(mail, "a");
	put(AGENT, "", 0);
	hears(mail, "");
}

static void a_conflict_is_no_loss(void **state)
{
	struct mail *mail = *state;
	bool is_met;
	xenstored.conflicts = 3;
	assert_true(says(mail, "hello"));
	UNTIL(has_node(INITIATOR, "hello") && xenstored.conflicts == 0);
	assert_true(says(mail, "hello"));
}

/* A folder of a domain that is gone is not made anew. */
static void a_domain_that_is_gone(void **state)
{
	struct mail *mail = *state;
	drop_last_domain();
	while (says(mail, "hello"))
		usleep(5000);
	assert_null(node_at(INITIATOR));
	assert_int_equal(xenstored.writes, 0);
}

static void the_last_line_goes_out(void **state)
{
	struct mail *mail = *state;
	assert_true(says(mail, "leave"));
	opener(mail)->close(opener(mail)->arg, mail->store);
	mail->store = NULL;
	vmop_agent_messages_close(mail->mail);
	mail->mail = NULL;
	assert_true(has_node(INITIATOR, "leave"));
}

static void a_domains_own(void **state)
{
	struct mail *mail = *state;
	struct vmop_active_store *own;
	bool is_met;
	ok(vmop_agent_messages_own(mail->mail, &own));
	assert_true(own->ops->write(own, "here"));
	UNTIL(has_node("data/vmop/agent", "here"));
	put("data/vmop/initiator", "hello", 5);
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	do {
		usleep(5000);
		assert_true(own->ops->read(own, buf));
	} while (strcmp(buf, "hello") != 0);
}

/* While somebody waits nobody waits for the next round, which is an hour away. */
static void in_a_hurry(void **state)
{
	struct mail slow = {.folder = ""};
	(void)state;
	ok(vmop_agent_messages_open(3600000, &slow.mail));
	ok(opener(&slow)->open(opener(&slow)->arg, 3, &slow.store));
	opener(&slow)->hurry(opener(&slow)->arg, true);
	put(AGENT, "here", 4);
	hears(&slow, "here");
	put(AGENT, "ready", 5);
	hears(&slow, "ready");
	opener(&slow)->hurry(opener(&slow)->arg, false);
	opener(&slow)->close(opener(&slow)->arg, slow.store);
	vmop_agent_messages_close(slow.mail);
}

static void another_xenstored(void **state)
{
	struct mail *mail = *state;
	bool is_met;
	xenstored_stop(mail->folder);
	char path[64];
	snprintf(path, sizeof(path), "%s/xenstored", mail->folder);
	unlink(path);
	assert_true(says(mail, "hello"));
	xenstored_start(mail->folder);
	put_domain(0, "3", "web", "nothing", "pv");
	UNTIL(has_node(INITIATOR, "hello"));
}

static void one_that_hangs(void **state)
{
	struct mail *mail = *state;
	char buf[VMOP_ACTIVE_MESSAGE_BYTES];
	pthread_mutex_lock(&xenstored.lock);
	xenstored.is_silent = true;
	pthread_mutex_unlock(&xenstored.lock);
	for (unsigned i = 0; i < 100; i++) { /* nobody waits for it */
		assert_true(says(mail, "hello"));
		assert_true(mail->store->ops->read(mail->store, buf));
	}
}

static void no_xenstored(void **state)
{
	struct vmop_agent_messages *mail;
	(void)state;
	if (access("/dev/xen/xenbus", F_OK) == 0)
		return; /* a domain of Xen's has the other way */
	assert_int_equal(setenv("XENSTORED_PATH", "/nowhere/at/all", 1), 0);
	struct vmop_error *err = vmop_agent_messages_open(20, &mail);
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
		TEST(in_a_hurry),
		TEST(another_xenstored),
		TEST(one_that_hangs),
		cmocka_unit_test(no_xenstored),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
