// SPDX-License-Identifier: GPL-2.0-or-later
/* The protocol between an initiator and the agent of an active guest, with its failures. */
#include "hv-interface/active-agent.h"
#include "hv-interface/active-check.h"
#include "hv-interface/active-message.h"
#include "hv-interface/active-peer.h"
#include "hv-interface/xen/link.h"

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS VMOP_NS_PER_S
#define TOKEN 0x1122334455667788ull

/* ---- two lines of text in memory -------------------------------------------- */

struct lines {
	struct vmop_active_store store;
	char *mine, *theirs;
	bool is_broken;
};

static bool lines_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	const struct lines *lines = (struct lines *)store;
	memcpy(buf, lines->theirs, VMOP_ACTIVE_MESSAGE_BYTES);
	return !lines->is_broken;
}

static bool lines_write(struct vmop_active_store *store, const char *line)
{
	struct lines *lines = (struct lines *)store;
	snprintf(lines->mine, VMOP_ACTIVE_MESSAGE_BYTES, "%s", line);
	return !lines->is_broken;
}

static const struct vmop_active_store_ops lines_ops = {lines_read, lines_write};

/* Report a number of samples, without times. */
static void report(struct vmop_active_agent *agent, uint64_t samples)
{
	const struct vmop_active_report report = {.samples = samples};
	vmop_active_agent_report(agent, &report);
}

struct pair {
	char up[VMOP_ACTIVE_MESSAGE_BYTES], down[VMOP_ACTIVE_MESSAGE_BYTES];
	struct lines of_peer, of_agent;
	struct vmop_active_peer peer;
	struct vmop_active_agent agent;
	char text[VMOP_ACTIVE_TEXT_BYTES];
	uint64_t now_ns;
};

static int begin(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	if (!pair)
		return -1;
	pair->of_peer = (struct lines){{&lines_ops}, pair->down, pair->up, false};
	pair->of_agent = (struct lines){{&lines_ops}, pair->up, pair->down, false};
	vmop_active_peer_init(&pair->peer, &pair->of_peer.store, "db1", TOKEN);
	vmop_active_agent_init(&pair->agent, &pair->of_agent.store);
	pair->now_ns = 1000 * SECOND_NS;
	*state = pair;
	return 0;
}

static int end(void **state)
{
	struct pair *pair = *state;
	vmop_active_peer_deinit(&pair->peer);
	free(pair);
	return 0;
}

static void say(struct pair *pair, enum vmop_active_word word, const char *text)
{
	vmop_active_peer_send(&pair->peer, word, text, pair->now_ns);
}

static enum vmop_active_task agent_looks(struct pair *pair)
{
	pair->now_ns += SECOND_NS;
	return vmop_active_agent_look(&pair->agent, pair->now_ns, pair->text);
}

static enum vmop_active_state peer_looks(struct pair *pair)
{
	return vmop_active_peer_look(&pair->peer, pair->now_ns);
}

static void sends_hello(struct pair *pair)
{
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

/* Advance the pair until the agent has a session, which is as far as it comes without Xen. */
static void opens(struct pair *pair)
{
	sends_hello(pair);
	say(pair, VMOP_ACTIVE_OPEN, "cycles:100000 misses:1000");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_OPEN);
	assert_string_equal(pair->text, "cycles:100000 misses:1000");
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_OPENED, NULL);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

static void joins_with(struct pair *pair, const char *run_text)
{
	say(pair, VMOP_ACTIVE_JOIN, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_JOIN);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_READY, NULL);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	say(pair, VMOP_ACTIVE_RUN, run_text);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_RUN);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

static void joins(struct pair *pair)
{
	joins_with(pair, NULL);
}

/* Advance the pair until samples are taken. */
static void run(struct pair *pair)
{
	opens(pair);
	joins(pair);
}

static void expect_gone(struct pair *pair, const char *message)
{
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_GONE);
	assert_non_null(pair->peer.error);
	if (!strstr(pair->peer.error->message, message))
		fail_msg("%s", pair->peer.error->message);
}

/* ---- sessions ---------------------------------------------------------------- */

static void leave(struct pair *pair)
{
	say(pair, VMOP_ACTIVE_LEAVE, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "77");
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	assert_int_equal(pair->peer.report.samples, 77);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
}

static void a_session(void **state)
{
	struct pair *pair = *state;
	run(pair);
	for (unsigned second = 0; second < 100; second++) { /* longer than any wait */
		report(&pair->agent, second);
		assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
		assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	}
	assert_int_equal(pair->peer.report.samples, 99);
	leave(pair);
	run(pair); /* start another session */
	leave(pair);
}

/* The times of the agent's session, which an older host would take for no number. */
static void times_if_wanted(void **state)
{
	static const char *const run_texts[] = {NULL, "times"};
	struct pair *pair = *state;
	const struct vmop_active_report sent = {.samples = 7, .now_ns = 2000, .start_ns = 1000};
	for (unsigned wants = 0; wants < 2; wants++) {
		opens(pair);
		joins_with(pair, run_texts[wants]);
		vmop_active_agent_report(&pair->agent, &sent);
		agent_looks(pair);
		peer_looks(pair);
		assert_int_equal(pair->peer.report.samples, 7);
		assert_int_equal(pair->peer.report.start_ns, wants ? 1000 : 0);
		assert_int_equal(pair->peer.report.now_ns, wants ? 2000 : 0);
		uint64_t reported_ns = pair->peer.reported_ns;
		assert_int_equal(reported_ns, pair->now_ns);
		pair->now_ns += SECOND_NS;
		peer_looks(pair); /* at the same line */
		assert_int_equal(pair->peer.reported_ns, reported_ns);
		leave(pair);
	}
}

static void reports_of_agents(void **state)
{
	static const char *const rubbish[] = {
		"",
		" ",
		"x",
		"-1",
		"1 2",
		"1 2 ",
		"1 2 x",
		"1 2 3",
		"1 2 0",
		"1 2 1 0",
		"1  2 1",
		"18446744073709551616",
		"1 9223372036854775808 1",
	};
	struct vmop_active_report report = {.samples = 77}, back = {0};
	char text[VMOP_ACTIVE_TEXT_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(rubbish) / sizeof(*rubbish); i++) {
		if (vmop_active_report_parse(rubbish[i], &report))
			fail_msg("'%s'", rubbish[i]);
		assert_int_equal(report.samples, 77);
	}
	report = (struct vmop_active_report){UINT64_MAX, INT64_MAX, INT64_MAX};
	vmop_active_report_format(&report, text);
	assert_true(vmop_active_report_parse(text, &back));
	assert_memory_equal(&back, &report, sizeof(back));
	assert_true(vmop_active_report_parse("5", &back));
	assert_int_equal(back.samples, 5);
	assert_int_equal(back.start_ns, 0);
}

/* The guest's UUID from its host. An older host gives none. */
static void the_uuid_in_hello(void **state)
{
	struct pair *pair = *state;
	assert_string_equal(pair->agent.hello, "");
	say(pair, VMOP_ACTIVE_HELLO, "11111111-2222-3333-4444-555555555501");
	agent_looks(pair);
	say(pair, VMOP_ACTIVE_OPEN, "cycles:100000");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_OPEN);
	assert_string_equal(pair->agent.hello, "11111111-2222-3333-4444-555555555501");
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_FAILED, "no PMU");
	sends_hello(pair);
	assert_string_equal(pair->agent.hello, "");
}

/* An agent's answer to HELLO shows whether it takes call stacks. An older one has no text. */
static void the_abilities_in_here(void **state)
{
	static const struct {
		const char *here;
		bool takes_stacks;
	} agents[] = {
		{VMOP_ACTIVE_TAKES_STACKS, true},
		{NULL, false},
		{"stack", false},
		{"later stacks words", true},
		{"stacksandmore", false},
	};
	struct pair *pair = *state;
	for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++) {
		pair->agent.here = agents[i].here;
		sends_hello(pair);
		assert_int_equal(pair->peer.takes_stacks, agents[i].takes_stacks);
	}
}

static void no_agent_present(void **state)
{
	struct pair *pair = *state;
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	for (unsigned second = 0; second <= 5; second++) {
		assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
		pair->now_ns += SECOND_NS;
	}
	expect_gone(pair, "no vmopd answers in domain db1; 'vmopd --active'");
}

/* The last line of a dead agent is not an answer. */
static void a_dead_agents_words(void **state)
{
	struct pair *pair = *state;
	run(pair);
	vmop_active_peer_init(&pair->peer, &pair->of_peer.store, "db1", TOKEN + 1);
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	pair->now_ns += 6 * SECOND_NS;
	expect_gone(pair, "no vmopd answers");
}

static void an_agent_that_dies(void **state)
{
	struct pair *pair = *state;
	run(pair);
	for (unsigned second = 0; second < 15; second++) {
		pair->now_ns += SECOND_NS;
		assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	}
	pair->now_ns += SECOND_NS;
	expect_gone(pair, "db1: its vmopd has given no sign of life for 15 s");
	say(pair, VMOP_ACTIVE_LEAVE, NULL);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_GONE); /* no wait for it */
}

/* Work that an agent does while Xen samples may take long; work during a pause of Xen must not. */
static void an_agent_that_hangs(void **state)
{
	static const struct {
		enum vmop_active_word word;
		const char *text;
		unsigned seconds;
		const char *message;
	} steps[] = {
		{VMOP_ACTIVE_OPEN, "cycles:1", 120, "does not answer 'open' any more"},
		{VMOP_ACTIVE_ALERT, NULL, 10, "does not answer 'alert' any more"},
		{VMOP_ACTIVE_JOIN, NULL, 10, "does not answer 'join' any more"},
		{VMOP_ACTIVE_LEAVE, "pause", 10, "does not answer 'leave' any more"},
		{VMOP_ACTIVE_LEAVE, "end", 30, "does not answer 'leave' any more"},
	};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct pair *pair = *state;
		steps[i].word == VMOP_ACTIVE_OPEN ? sends_hello(pair) : opens(pair);
		say(pair, steps[i].word, steps[i].text);
		pair->now_ns += steps[i].seconds * SECOND_NS;
		assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
		pair->now_ns += SECOND_NS;
		expect_gone(pair, steps[i].message);
		end(state);
		begin(state);
	}
}

static void fail_at(struct pair *pair, enum vmop_active_word word, enum vmop_active_task task,
		    const char *reason)
{
	say(pair, word, NULL);
	assert_int_equal(agent_looks(pair), task);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_FAILED, reason);
}

static void an_agent_that_fails(void **state)
{
	struct pair *pair = *state;
	sends_hello(pair);
	fail_at(pair, VMOP_ACTIVE_OPEN, VMOP_ACTIVE_DO_OPEN, "the disk\nis full");
	expect_gone(pair, "db1: its vmopd reports: the disk?is full");
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
}

static void an_agent_that_fails_to_join(void **state)
{
	struct pair *pair = *state;
	opens(pair);
	fail_at(pair, VMOP_ACTIVE_JOIN, VMOP_ACTIVE_DO_JOIN, "no buffer");
	expect_gone(pair, "db1: its vmopd reports: no buffer");
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
}

static void a_buffer_of_a_dead_agent(void **state)
{
	struct pair *pair = *state;
	opens(pair);
	say(pair, VMOP_ACTIVE_JOIN, NULL);
	agent_looks(pair);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_STUCK, NULL);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_AGAIN);
	assert_true(vmop_active_agent_is_alert(&pair->agent));
	joins(pair);
}

/* Between the answer to an alert and RUN, dom0 and Xen wait for the agent. */
static void an_alert(void **state)
{
	struct pair *pair = *state;
	run(pair);
	assert_false(vmop_active_agent_is_alert(&pair->agent));
	say(pair, VMOP_ACTIVE_ALERT, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_TAKING); /* Xen samples on */
	assert_true(vmop_active_agent_is_alert(&pair->agent));
	report(&pair->agent, 5);
	agent_looks(pair);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	say(pair, VMOP_ACTIVE_LEAVE, "pause");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "5");
	assert_true(vmop_active_agent_is_alert(&pair->agent));
	peer_looks(pair);
	joins(pair);
	assert_false(vmop_active_agent_is_alert(&pair->agent));
	say(pair, VMOP_ACTIVE_LEAVE, "end");
	agent_looks(pair);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "5");
	assert_false(vmop_active_agent_is_alert(&pair->agent));
	say(pair, VMOP_ACTIVE_ALERT, NULL); /* no alert without a session */
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	expect_gone(pair, "unexpected command");
}

static void an_initiator_that_dies(void **state)
{
	struct pair *pair = *state;
	run(pair);
	for (unsigned second = 0; second < 31; second++)
		assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING); /* once */
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "5");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	vmop_active_peer_init(&pair->peer, &pair->of_peer.store, "db1", TOKEN + 1);
	run(pair);
}

static void an_initiator_that_is_replaced(void **state)
{
	struct pair *pair = *state;
	run(pair);
	vmop_active_peer_init(&pair->peer, &pair->of_peer.store, "db1", TOKEN + 1);
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "5");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

/* The same initiator assumes that the agent has gone. */
static void an_initiator_that_begins_anew(void **state)
{
	struct pair *pair = *state;
	run(pair);
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "5");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

static void pause_once(struct pair *pair)
{
	say(pair, VMOP_ACTIVE_LEAVE, "pause");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_string_equal(pair->text, "pause");
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "7");
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IS_OPEN);
}

/* A paused session continues, ends, or loses its initiator; the owner gets the matching task. */
static void a_pause(void **state)
{
	struct pair *pair = *state;
	run(pair);
	pause_once(pair);
	say(pair, VMOP_ACTIVE_JOIN, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_JOIN);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_STUCK, NULL);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IS_OPEN);
	joins(pair);
	pause_once(pair);
	say(pair, VMOP_ACTIVE_LEAVE, "end");
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "7");
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
}

static void a_pause_without_end(void **state)
{
	struct pair *pair = *state;
	run(pair);
	pause_once(pair);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	pair->now_ns += 31 * SECOND_NS;
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	assert_string_equal(pair->text, "");
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_LEFT, "7");
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
}

static void an_agent_that_gives_up(void **state)
{
	struct pair *pair = *state;
	vmop_active_agent_give_up(&pair->agent, "idle");
	run(pair);
	vmop_active_agent_give_up(&pair->agent, "ended there");
	expect_gone(pair, "db1: its vmopd reports: ended there");
	vmop_active_peer_revive(&pair->peer);
	run(pair);
}

/* A starting agent ignores an old command of a dead initiator. */
static void old_commands(void **state)
{
	struct pair *pair = *state;
	say(pair, VMOP_ACTIVE_OPEN, NULL);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_string_equal(pair->up, "");
	say(pair, VMOP_ACTIVE_HELLO, NULL);
	agent_looks(pair);
	assert_int_equal(peer_looks(pair), VMOP_ACTIVE_ANSWERED);
}

static void commands_out_of_order(void **state)
{
	static const enum vmop_active_word wrong[] = {VMOP_ACTIVE_JOIN, VMOP_ACTIVE_RUN,
						      VMOP_ACTIVE_ALERT, VMOP_ACTIVE_READY,
						      VMOP_ACTIVE_LEFT};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct pair *pair = *state;
		say(pair, VMOP_ACTIVE_HELLO, NULL);
		agent_looks(pair);
		say(pair, wrong[i], NULL);
		assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
		assert_int_equal(pair->agent.stage, VMOP_ACTIVE_IDLE);
		expect_gone(pair, "unexpected command");
		end(state);
		begin(state);
	}
	struct pair *pair = *state;
	run(pair);
	say(pair, VMOP_ACTIVE_JOIN, NULL); /* sent twice */
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_TAKING);
	/* an answer without a command */
	vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_READY, NULL);
	assert_int_equal(pair->agent.stage, VMOP_ACTIVE_TAKING);
}

/* Bring the agent to a stage. Its owner answers no task that it is busy with. */
static void bring_to(struct pair *pair, enum vmop_active_stage stage)
{
	static const enum vmop_active_word commands[] = {VMOP_ACTIVE_HELLO, VMOP_ACTIVE_OPEN,
							 VMOP_ACTIVE_JOIN, VMOP_ACTIVE_RUN,
							 VMOP_ACTIVE_LEAVE};
	for (size_t i = 0; i < 5 && (pair->agent.stage != stage || i == 0); i++) {
		say(pair, commands[i], NULL);
		enum vmop_active_task task = agent_looks(pair);
		if (pair->agent.stage == stage)
			break;
		if (task == VMOP_ACTIVE_DO_OPEN)
			vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_OPENED, NULL);
		if (task == VMOP_ACTIVE_DO_JOIN)
			vmop_active_agent_answer(&pair->agent, VMOP_ACTIVE_READY, NULL);
		peer_looks(pair);
	}
	assert_int_equal(pair->agent.stage, stage);
}

/* Return the task that a new command gives to an agent in a stage. */
static enum vmop_active_task task_of(enum vmop_active_stage stage, enum vmop_active_word word)
{
	bool is_busy = stage == VMOP_ACTIVE_OPENING || stage == VMOP_ACTIVE_JOINING ||
		       stage == VMOP_ACTIVE_ENDING;
	bool is_in_session = !is_busy && stage != VMOP_ACTIVE_IDLE;
	if (is_in_session && (word == VMOP_ACTIVE_LEAVE || word == VMOP_ACTIVE_HELLO))
		return VMOP_ACTIVE_DO_LEAVE;
	if (stage == VMOP_ACTIVE_IDLE && word == VMOP_ACTIVE_OPEN)
		return VMOP_ACTIVE_DO_OPEN;
	if (stage == VMOP_ACTIVE_IS_OPEN && word == VMOP_ACTIVE_JOIN)
		return VMOP_ACTIVE_DO_JOIN;
	if (stage == VMOP_ACTIVE_JOINED && word == VMOP_ACTIVE_RUN)
		return VMOP_ACTIVE_DO_RUN;
	return VMOP_ACTIVE_NOTHING;
}

/* Each word, also those of agents, in each stage: its task, or none, and each task once. */
static void each_command_in_each_stage(void **state)
{
	for (unsigned stage = VMOP_ACTIVE_IDLE; stage <= VMOP_ACTIVE_ENDING; stage++)
		for (unsigned word = 0; word < VMOP_ACTIVE_N_WORDS; word++) {
			struct pair *pair = *state;
			bring_to(pair, stage);
			enum vmop_active_task wanted = task_of(stage, word);
			say(pair, word, NULL);
			enum vmop_active_task task = agent_looks(pair);
			if (task != wanted)
				fail_msg("stage %u, '%s': task %u", stage,
					 vmop_active_word_name(word), task);
			if (wanted == VMOP_ACTIVE_NOTHING)
				assert_int_equal(pair->agent.stage, stage);
			unsigned after = pair->agent.stage;
			/* The same line again, and with a new beat. */
			for (unsigned i = 0; i < 2; i++) {
				assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
				assert_int_equal(pair->agent.stage, after);
				vmop_active_send(&pair->of_peer.store, &pair->peer.sent);
			}
			end(state);
			begin(state);
		}
}

static enum vmop_active_word answer_of(enum vmop_active_word command)
{
	static const enum vmop_active_word answers[] = {VMOP_ACTIVE_HERE,     VMOP_ACTIVE_OPENED,
							VMOP_ACTIVE_ALERTED,  VMOP_ACTIVE_READY,
							VMOP_ACTIVE_SAMPLING, VMOP_ACTIVE_LEFT};
	return answers[command];
}

/* Each word as the answer to each command, also with the numbers of others. */
static void each_answer_to_each_command(void **state)
{
	for (unsigned command = VMOP_ACTIVE_HELLO; command <= VMOP_ACTIVE_LEAVE; command++)
		for (unsigned word = 0; word < VMOP_ACTIVE_N_WORDS; word++)
			for (unsigned of = 0; of < 4; of++) {
				struct pair *pair = *state;
				enum vmop_active_state wanted = VMOP_ACTIVE_WAITING;
				say(pair, VMOP_ACTIVE_HELLO, NULL);
				say(pair, command, NULL);
				const struct vmop_active_message answer = {
					.token = TOKEN + (of == 1),
					.number = pair->peer.sent.number + (of == 2) - (of == 3),
					.beat = 9,
					.word = word};
				vmop_active_format(&answer, pair->up);
				if (of == 0 && word == answer_of(command))
					wanted = VMOP_ACTIVE_ANSWERED;
				if (of == 0 && word == VMOP_ACTIVE_FAILED)
					wanted = VMOP_ACTIVE_GONE;
				if (of == 0 && word == VMOP_ACTIVE_STUCK &&
				    command == VMOP_ACTIVE_JOIN)
					wanted = VMOP_ACTIVE_AGAIN;
				for (unsigned i = 0; i < 2; i++) /* repeated */
					if (peer_looks(pair) != wanted)
						fail_msg("'%s' to '%s', %u",
							 vmop_active_word_name(word),
							 vmop_active_word_name(command), of);
				end(state);
				begin(state);
			}
}

/* A line that was cut is none, or differs only in its text. */
static void cut_lines(void **state)
{
	const struct vmop_active_message whole = {.token = TOKEN,
						  .number = 12,
						  .beat = 345,
						  .word = VMOP_ACTIVE_SAMPLING,
						  .text = "67 1700000001 1700000000"};
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	unsigned n_understood = 0;
	(void)state;
	vmop_active_format(&whole, line);
	for (size_t len = strlen(line); len-- > 0;) {
		struct vmop_active_message cut;
		struct vmop_active_report report;
		line[len] = '\0';
		if (vmop_active_parse(line, &cut) != VMOP_ACTIVE_UNDERSTOOD)
			continue;
		n_understood++;
		assert_true(cut.token == whole.token && cut.number == whole.number &&
			    cut.beat == whole.beat && cut.word == whole.word);
		assert_memory_equal(cut.text, whole.text, strlen(cut.text));
		if (vmop_active_report_parse(cut.text, &report))
			assert_true(report.samples <= 67 && report.start_ns <= 1700000000);
	}
	assert_int_equal(n_understood, strlen(whole.text) + 1); /* also without a text */
}

static void a_store_that_breaks(void **state)
{
	struct pair *pair = *state;
	run(pair);
	pair->of_agent.is_broken = true;
	for (unsigned second = 0; second < 30; second++)
		assert_int_equal(agent_looks(pair), VMOP_ACTIVE_NOTHING);
	assert_int_equal(agent_looks(pair), VMOP_ACTIVE_DO_LEAVE);
	pair->of_peer.is_broken = true;
	expect_gone(pair, "db1: its vmopd can't be reached");
}

static void hostile_lines(void **state)
{
	static const char *const garbled[] = {
		"",
		"1",
		"0 1122334455667788 1 1 here",
		"-1 1122334455667788 1 1 here",
		"1 0 1 1 here",
		"1 112233445566778899 1 1 here",
		"1 1122334455667788 4294967296 1 here",
		"1 1122334455667788 1 -1 here",
		"1 1122334455667788 1 1",
		"1 1122334455667788 1 1 ",
		"1 1122334455667788 1 1 where",
		"1 1122334455667788 1 1 hereherehereherehere",
		"1  1122334455667788 1 1 here",
		"1 1122334455667788 1 1 here a\tb",
		"1 1122334455667788 1 1 here \xc3\xa4",
		"1111111111111111111111111111 2 3 4 here",
	};
	struct pair *pair = *state;
	struct vmop_active_message message = {.token = 3};
	for (size_t i = 0; i < sizeof(garbled) / sizeof(*garbled); i++) {
		if (vmop_active_parse(garbled[i], &message) != VMOP_ACTIVE_GARBLED)
			fail_msg("'%s'", garbled[i]);
		say(pair, VMOP_ACTIVE_HELLO, NULL);
		strcpy(pair->up, garbled[i]);
		assert_int_equal(peer_looks(pair), VMOP_ACTIVE_WAITING);
	}
	assert_int_equal(message.token, 3);
	assert_int_equal(vmop_active_parse("2 whatever it says", &message),
			 VMOP_ACTIVE_OTHER_VERSION);
	strcpy(pair->up, "2 whatever it says");
	expect_gone(pair, "of another version");
}

static void texts_at_their_limits(void **state)
{
	(void)state;
	struct vmop_active_message message = {.token = TOKEN, .word = VMOP_ACTIVE_JOIN}, back;
	char line[VMOP_ACTIVE_MESSAGE_BYTES], longer[2 * VMOP_ACTIVE_MESSAGE_BYTES];
	memset(message.text, 'x', sizeof(message.text) - 1);
	message.number = message.beat = UINT32_MAX;
	vmop_active_format(&message, line);
	assert_int_equal(vmop_active_parse(line, &back), VMOP_ACTIVE_UNDERSTOOD);
	assert_string_equal(back.text, message.text);
	assert_int_equal(back.number, UINT32_MAX);
	snprintf(longer, sizeof(longer), "%sx", line);
	assert_int_equal(vmop_active_parse(longer, &back), VMOP_ACTIVE_GARBLED);
}

/* ---- two processes ------------------------------------------------------------ */

struct file_store {
	struct vmop_active_store store;
	const char *mine, *theirs;
};

static bool file_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	FILE *file = fopen(((struct file_store *)store)->theirs, "r");
	*buf = '\0';
	if (!file)
		return true;
	size_t n = fread(buf, 1, VMOP_ACTIVE_MESSAGE_BYTES - 1, file);
	buf[n] = '\0';
	return !fclose(file);
}

/* Write a line as a whole or not at all, as xenstore does. */
static bool file_write(struct vmop_active_store *store, const char *line)
{
	const char *path = ((struct file_store *)store)->mine;
	char fresh[128];
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	FILE *file = fopen(fresh, "w");
	return file && fputs(line, file) >= 0 && !fclose(file) && !rename(fresh, path);
}

static const struct vmop_active_store_ops file_ops = {file_read, file_write};

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Run the agent's process: carry out commands until it has left. */
static void be_agent(struct vmop_active_store *store)
{
	struct vmop_active_agent agent;
	char text[VMOP_ACTIVE_TEXT_BYTES];
	bool has_left = false;
	vmop_active_agent_init(&agent, store);
	for (uint64_t samples = 0; !has_left; samples++) {
		switch (vmop_active_agent_look(&agent, now_ns(), text)) {
		case VMOP_ACTIVE_DO_OPEN:
			vmop_active_agent_answer(&agent,
						 strcmp(text, "cycles:1000") ? VMOP_ACTIVE_FAILED
									     : VMOP_ACTIVE_OPENED,
						 text);
			break;
		case VMOP_ACTIVE_DO_JOIN:
			vmop_active_agent_answer(&agent, VMOP_ACTIVE_READY, NULL);
			break;
		case VMOP_ACTIVE_DO_LEAVE:
			vmop_active_agent_answer(&agent, VMOP_ACTIVE_LEFT, "4711");
			has_left = true;
			break;
		default:
			report(&agent, samples + 1);
		}
		usleep(1000);
	}
	_exit(0);
}

static void two_processes(void **state)
{
	(void)state;
	static const enum vmop_active_word commands[] = {VMOP_ACTIVE_HELLO, VMOP_ACTIVE_OPEN,
							 VMOP_ACTIVE_JOIN, VMOP_ACTIVE_RUN,
							 VMOP_ACTIVE_LEAVE};
	char dir[] = "/tmp/vmop-active-XXXXXX", up[64], down[64];
	assert_non_null(mkdtemp(dir));
	snprintf(up, sizeof(up), "%s/up", dir);
	snprintf(down, sizeof(down), "%s/down", dir);
	struct file_store of_peer = {{&file_ops}, down, up}, of_agent = {{&file_ops}, up, down};
	pid_t pid = fork();
	if (pid == 0)
		be_agent(&of_agent.store);
	assert_true(pid > 0);
	struct vmop_active_peer peer;
	vmop_active_peer_init(&peer, &of_peer.store, "db1", TOKEN);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		vmop_active_peer_send(&peer, commands[i], "cycles:1000", now_ns());
		while (vmop_active_peer_look(&peer, now_ns()) == VMOP_ACTIVE_WAITING ||
		       (commands[i] == VMOP_ACTIVE_RUN && peer.state == VMOP_ACTIVE_ANSWERED &&
			!peer.report.samples))
			usleep(1000);
		if (peer.state != VMOP_ACTIVE_ANSWERED)
			fail_msg("%s", peer.error ? peer.error->message : "?");
	}
	assert_int_equal(peer.report.samples, 4711);
	vmop_active_peer_deinit(&peer);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(up);
	unlink(down);
	assert_int_equal(rmdir(dir), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* Only a domU of Xen can be an active guest. */
static void another_machine(void **state)
{
	(void)state;
	if (vmop_xen_is_domu())
		skip();
	struct vmop_error *err = vmop_active_check();
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, "needs a domU of Xen"));
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session),
		TEST(times_if_wanted),
		cmocka_unit_test(reports_of_agents),
		TEST(each_command_in_each_stage),
		TEST(each_answer_to_each_command),
		cmocka_unit_test(cut_lines),
		cmocka_unit_test(another_machine),
		TEST(the_uuid_in_hello),
		TEST(the_abilities_in_here),
		TEST(no_agent_present),
		TEST(a_dead_agents_words),
		TEST(an_agent_that_dies),
		TEST(an_agent_that_hangs),
		TEST(an_agent_that_fails),
		TEST(an_agent_that_fails_to_join),
		TEST(an_alert),
		TEST(a_buffer_of_a_dead_agent),
		TEST(an_initiator_that_dies),
		TEST(an_initiator_that_is_replaced),
		TEST(an_initiator_that_begins_anew),
		TEST(a_pause),
		TEST(a_pause_without_end),
		TEST(an_agent_that_gives_up),
		TEST(old_commands),
		TEST(commands_out_of_order),
		TEST(a_store_that_breaks),
		TEST(hostile_lines),
		cmocka_unit_test(texts_at_their_limits),
		cmocka_unit_test(two_processes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
