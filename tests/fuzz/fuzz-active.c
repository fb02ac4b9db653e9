// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An initiator's peer, its group of active domains and an agent, and an attacker who forges the
 * messages to each of them.  The input is a script with one step per line.  The first character
 * selects the step; after each step all of them process their input.
 * 	0..5 TEXT	the peer sends hello, open, alert, join, run or leave
 * 	=WORD TEXT	peer and group read this as the reply to their last message
 * 	<LINE		peer and group read this line
 * 	>LINE		the agent reads this line; else it reads the peer's output
 * 	!TEXT		the agent gives up
 * 	anything else	37 seconds pass
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/active-agent.h"
#include "hv-interface/active-group.h"
#include "hv-interface/active-peer.h"
#include "hv-interface/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

#define TOKEN 0x1122334455667788ull

/* The input of its owner and the last output, which must be valid. */
struct feed {
	struct vmop_active_store store;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_message written;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static bool feed_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, ((struct feed *)store)->line, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool feed_write(struct vmop_active_store *store, const char *line)
{
	char again[VMOP_ACTIVE_MESSAGE_BYTES];
	struct vmop_active_message *written = &((struct feed *)store)->written;
	check(vmop_active_parse(line, written) == VMOP_ACTIVE_UNDERSTOOD);
	vmop_active_format(written, again);
	check(!strcmp(line, again));
	return true;
}

static const struct vmop_active_store_ops feed_ops = {feed_read, feed_write};

static struct vmop_error *open_feed(void *arg, uint32_t domain, struct vmop_active_store **ret)
{
	(void)domain;
	*ret = &((struct feed *)arg)->store;
	return NULL;
}

static void close_feed(void *arg, struct vmop_active_store *store)
{
	check(store == &((struct feed *)arg)->store);
}

static void hurry(void *arg, bool is_on)
{
	(void)arg;
	(void)is_on;
}

struct scene {
	struct feed of_peer, of_group, of_agent;
	struct vmop_active_opener opener;
	struct vmop_active_peer peer;
	struct vmop_active_group *group;
	struct vmop_active_agent agent;
	bool is_overheard; /* the agent reads a forged message */
	uint64_t now_ns;
};

/* The events in the form in which the domain's xen source takes them. */
static void parse_events(char *text)
{
	const char *word;
	while ((word = strsep(&text, " "))) {
		struct vmop_event_request request;
		struct vmop_error *err = vmop_event_request_parse(word, &request);
		if (err)
			vmop_error_destroy(err);
		else
			vmop_event_request_deinit(&request);
	}
}

/* Each task comes only in its stage, and may get any of its replies. */
static void agent_looks(struct scene *scene)
{
	static const enum vmop_active_word answers[][4] = {
		{VMOP_ACTIVE_OPENED, VMOP_ACTIVE_OPENED, VMOP_ACTIVE_OPENED, VMOP_ACTIVE_FAILED},
		{VMOP_ACTIVE_READY, VMOP_ACTIVE_READY, VMOP_ACTIVE_STUCK, VMOP_ACTIVE_FAILED},
		{VMOP_ACTIVE_LEFT, VMOP_ACTIVE_LEFT, VMOP_ACTIVE_LEFT, VMOP_ACTIVE_FAILED},
	};
	struct vmop_active_agent *agent = &scene->agent;
	char text[VMOP_ACTIVE_TEXT_BYTES];
	switch (vmop_active_agent_look(agent, scene->now_ns, text)) {
	case VMOP_ACTIVE_DO_OPEN:
		check(agent->stage == VMOP_ACTIVE_OPENING);
		parse_events(text);
		vmop_active_agent_answer(agent, answers[0][strlen(text) % 4], text);
		break;
	case VMOP_ACTIVE_DO_JOIN:
		check(agent->stage == VMOP_ACTIVE_JOINING);
		vmop_active_agent_answer(agent, answers[1][agent->answer.number % 4], text);
		break;
	case VMOP_ACTIVE_DO_LEAVE:
		check(agent->stage == VMOP_ACTIVE_ENDING);
		vmop_active_agent_answer(agent, answers[2][strlen(text) % 4], text);
		break;
	case VMOP_ACTIVE_DO_RUN:
		check(agent->stage == VMOP_ACTIVE_TAKING);
		break;
	case VMOP_ACTIVE_NOTHING:
		break;
	}
	check(agent->stage != VMOP_ACTIVE_IDLE || !vmop_active_agent_is_alert(agent));
	const struct vmop_active_report report = {
		.samples = scene->now_ns, .now_ns = 2 * scene->now_ns, .start_ns = scene->now_ns};
	vmop_active_agent_report(agent, &report);
}

static void initiator_looks(struct scene *scene)
{
	static const uint32_t domain = 1;
	if (vmop_active_peer_look(&scene->peer, scene->now_ns) == VMOP_ACTIVE_GONE) {
		check(scene->peer.error != NULL);
		vmop_active_peer_revive(&scene->peer);
	}
	vmop_error_destroy(vmop_active_group_want(scene->group, &domain, 1));
	vmop_active_group_run(scene->group);
	vmop_active_group_check(scene->group);
	vmop_error_destroy(vmop_active_group_take_error(scene->group));
	struct vmop_active_report report;
	uint64_t reported_ns = vmop_active_group_report(scene->group, domain, &report);
	check(!reported_ns ||
	      (report.start_ns && report.start_ns <= report.now_ns && report.now_ns <= INT64_MAX));
	check(vmop_active_group_wants_join(scene->group) ==
	      (vmop_active_group_presence(scene->group, domain) == VMOP_ACTIVE_THERE));
}

static void answer(struct feed *feed, const char *text)
{
	snprintf(feed->line, sizeof(feed->line), "%d %016llx %u %u %.500s", VMOP_ACTIVE_VERSION,
		 (unsigned long long)feed->written.token, feed->written.number, feed->written.beat,
		 text);
}

static void step(struct scene *scene, const char *line)
{
	scene->now_ns += 1000000000;
	switch (*line) {
	case '0' ... '5':
		vmop_active_peer_send(&scene->peer,
				      (enum vmop_active_word)(VMOP_ACTIVE_HELLO + *line - '0'),
				      line + 1 + strspn(line + 1, " "), scene->now_ns);
		scene->is_overheard = false;
		break;
	case '=':
		answer(&scene->of_peer, line + 1);
		answer(&scene->of_group, line + 1);
		break;
	case '<':
		strcpy(scene->of_peer.line, line + 1);
		strcpy(scene->of_group.line, line + 1);
		break;
	case '>':
		strcpy(scene->of_agent.line, line + 1);
		scene->is_overheard = true;
		break;
	case '!':
		vmop_active_agent_give_up(&scene->agent, line + 1);
		break;
	default:
		scene->now_ns += 36000000000ull;
	}
	if (!scene->is_overheard && scene->of_peer.written.token)
		vmop_active_format(&scene->of_peer.written, scene->of_agent.line);
	agent_looks(scene);
	if (*line != '=' && *line != '<' && scene->of_agent.written.token)
		vmop_active_format(&scene->of_agent.written, scene->of_peer.line);
	initiator_looks(scene);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct scene scene = {.now_ns = 1};
	scene.of_peer.store.ops = scene.of_group.store.ops = scene.of_agent.store.ops = &feed_ops;
	scene.opener = (struct vmop_active_opener){
		.open = open_feed, .close = close_feed, .hurry = hurry, .arg = &scene.of_group};
	vmop_active_peer_init(&scene.peer, &scene.of_peer.store, "db1", TOKEN);
	vmop_active_agent_init(&scene.agent, &scene.of_agent.store);
	check(!vmop_active_group_create(&scene.opener, "cycles:100000", &scene.group));
	for (size_t at = 0; at < len_bytes;) {
		char line[VMOP_ACTIVE_MESSAGE_BYTES];
		const uint8_t *newline = memchr(data + at, '\n', len_bytes - at);
		size_t len = newline ? (size_t)(newline - data) - at : len_bytes - at;
		size_t kept = len < sizeof(line) - 1 ? len : sizeof(line) - 1;
		memcpy(line, data + at, kept);
		line[kept] = '\0';
		at += len + 1;
		step(&scene, line);
	}
	strcpy(scene.of_group.line, "2 it answers to no leave, and so nobody waits for it");
	vmop_active_group_destroy(scene.group);
	vmop_active_peer_deinit(&scene.peer);
	return 0;
}
