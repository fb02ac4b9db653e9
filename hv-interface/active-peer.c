// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Interval of the initiator's own sign of life. */
#define BEAT_EVERY_NS VMOP_NS_PER_S

void vmop_active_peer_init(struct vmop_active_peer *peer, struct vmop_active_store *store,
			   const char *name, uint64_t token)
{
	*peer = (struct vmop_active_peer){
		.store = store, .name = name, .sent.token = token, .state = VMOP_ACTIVE_ANSWERED};
}

void vmop_active_peer_deinit(struct vmop_active_peer *peer)
{
	vmop_error_destroy(peer->error);
	peer->error = NULL;
}

void vmop_active_peer_revive(struct vmop_active_peer *peer)
{
	vmop_active_peer_deinit(peer);
	peer->state = VMOP_ACTIVE_ANSWERED;
	peer->is_silent = false;
}

static void give_up(struct vmop_active_peer *peer, struct vmop_error *error)
{
	peer->state = VMOP_ACTIVE_GONE;
	if (peer->error)
		vmop_error_destroy(error);
	else
		peer->error = error;
}

static void write_line(struct vmop_active_peer *peer, uint64_t now_ns)
{
	peer->wrote_ns = now_ns;
	if (!vmop_active_send(peer->store, &peer->sent))
		give_up(peer, vmop_error_new(VMOP_ERROR_CANT,
					     "domain %s: its vmopd can't be reached", peer->name));
}

void vmop_active_peer_send(struct vmop_active_peer *peer, enum vmop_active_word word,
			   const char *text, uint64_t now_ns)
{
	peer->sent.number++;
	peer->sent.word = word;
	snprintf(peer->sent.text, sizeof(peer->sent.text), "%s", text ? text : "");
	peer->sent_ns = peer->alive_ns = now_ns;
	if (peer->state != VMOP_ACTIVE_GONE)
		peer->state = VMOP_ACTIVE_WAITING;
	write_line(peer, now_ns);
}

enum vmop_active_state vmop_active_peer_refuse(struct vmop_active_peer *peer, const char *reason)
{
	give_up(peer,
		vmop_error_new(VMOP_ERROR_CANT, "domain %s: its vmopd %s", peer->name, reason));
	return peer->state;
}

static enum vmop_active_word wanted_answer(enum vmop_active_word command)
{
	switch (command) {
	case VMOP_ACTIVE_HELLO:
		return VMOP_ACTIVE_HERE;
	case VMOP_ACTIVE_OPEN:
		return VMOP_ACTIVE_OPENED;
	case VMOP_ACTIVE_ALERT:
		return VMOP_ACTIVE_ALERTED;
	case VMOP_ACTIVE_JOIN:
		return VMOP_ACTIVE_READY;
	case VMOP_ACTIVE_RUN:
		return VMOP_ACTIVE_SAMPLING;
	default:
		return VMOP_ACTIVE_LEFT;
	}
}

/* Return whether a text has a word. */
static bool has_word(const char *text, const char *wanted)
{
	char words[VMOP_ACTIVE_TEXT_BYTES], *rest = words;
	const char *word;
	snprintf(words, sizeof(words), "%s", text);
	while ((word = strsep(&rest, " ")))
		if (!strcmp(word, wanted))
			return true;
	return false;
}

/* Take an agent's report. A line that was read before has the time of before. */
static void take_report(struct vmop_active_peer *peer, const struct vmop_active_message *answer,
			bool is_new, uint64_t now_ns)
{
	if (vmop_active_report_parse(answer->text, &peer->report) && is_new)
		peer->reported_ns = now_ns;
}

/* Process an answer to the last command. */
static void take_answer(struct vmop_active_peer *peer, const struct vmop_active_message *answer,
			bool is_new, uint64_t now_ns)
{
	if (answer->beat != peer->seen_beat || peer->state == VMOP_ACTIVE_WAITING)
		peer->alive_ns = now_ns;
	peer->seen_beat = answer->beat;
	if (answer->word == VMOP_ACTIVE_FAILED) {
		give_up(peer, vmop_error_new(VMOP_ERROR_CANT, "domain %s: its vmopd reports: %s",
					     peer->name, answer->text));
	} else if (answer->word == VMOP_ACTIVE_STUCK && peer->sent.word == VMOP_ACTIVE_JOIN) {
		peer->state = VMOP_ACTIVE_AGAIN;
	} else if (answer->word == wanted_answer(peer->sent.word)) {
		peer->state = VMOP_ACTIVE_ANSWERED;
		if (answer->word == VMOP_ACTIVE_SAMPLING || answer->word == VMOP_ACTIVE_LEFT)
			take_report(peer, answer, is_new, now_ns);
		if (answer->word == VMOP_ACTIVE_HERE)
			peer->takes_stacks = has_word(answer->text, VMOP_ACTIVE_TAKES_STACKS);
	}
}

static struct vmop_error *no_answer(const struct vmop_active_peer *peer)
{
	if (peer->sent.word == VMOP_ACTIVE_HELLO)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "no vmopd answers in domain %s; 'vmopd --active' there makes "
				      "it an active one, --passive-domains needs none",
				      peer->name);
	return vmop_error_new(VMOP_ERROR_CANT, "domain %s: its vmopd does not answer '%s' any more",
			      peer->name, vmop_active_word_name(peer->sent.word));
}

static uint64_t wait_for(const struct vmop_active_message *command)
{
	switch (command->word) {
	case VMOP_ACTIVE_HELLO:
		return VMOP_ACTIVE_HELLO_WAIT_NS;
	case VMOP_ACTIVE_OPEN:
		return VMOP_ACTIVE_OPEN_WAIT_NS;
	case VMOP_ACTIVE_ALERT:
		return VMOP_ACTIVE_ALERT_WAIT_NS;
	case VMOP_ACTIVE_JOIN:
		return VMOP_ACTIVE_JOIN_WAIT_NS;
	default:
		return strcmp(command->text, "pause") ? VMOP_ACTIVE_END_WAIT_NS
						      : VMOP_ACTIVE_JOIN_WAIT_NS;
	}
}

/* Read the agent's line. Set *ret_is_new if it differs from the last one. */
static enum vmop_active_parse read_line(struct vmop_active_peer *peer,
					struct vmop_active_message *ret, bool *ret_is_new)
{
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	if (!peer->store->ops->read(peer->store, line))
		*line = '\0';
	enum vmop_active_parse parsed = vmop_active_parse(line, ret);
	*ret_is_new = parsed == VMOP_ACTIVE_UNDERSTOOD &&
		      (ret->number != peer->last_number || ret->beat != peer->last_beat);
	if (*ret_is_new) {
		peer->last_number = ret->number;
		peer->last_beat = ret->beat;
	}
	return parsed;
}

static void give_up_silent(struct vmop_active_peer *peer, struct vmop_error *error)
{
	give_up(peer, error);
	peer->is_silent = true;
}

static void judge_silence(struct vmop_active_peer *peer, uint64_t now_ns)
{
	uint64_t wait_ns = wait_for(&peer->sent);
	if (peer->state == VMOP_ACTIVE_WAITING && now_ns - peer->sent_ns > wait_ns)
		give_up_silent(peer, no_answer(peer));
	if (peer->state == VMOP_ACTIVE_ANSWERED && peer->sent.word == VMOP_ACTIVE_RUN &&
	    now_ns - peer->alive_ns > VMOP_ACTIVE_SILENCE_NS)
		give_up_silent(
			peer,
			vmop_error_new(VMOP_ERROR_CANT,
				       "domain %s: its vmopd has given no sign of life for %" PRIu64
				       " s; its samples since then are lost",
				       peer->name, VMOP_ACTIVE_SILENCE_NS / VMOP_NS_PER_S));
}

bool vmop_active_peer_stirs(struct vmop_active_peer *peer)
{
	struct vmop_active_message message;
	bool is_new = false;
	if (peer->state == VMOP_ACTIVE_GONE && peer->is_silent)
		read_line(peer, &message, &is_new);
	return is_new;
}

enum vmop_active_state vmop_active_peer_look(struct vmop_active_peer *peer, uint64_t now_ns)
{
	struct vmop_active_message answer;
	bool is_new;
	if (peer->state == VMOP_ACTIVE_GONE || !peer->sent.number)
		return peer->state;
	if (now_ns - peer->wrote_ns >= BEAT_EVERY_NS)
		write_line(peer, now_ns);
	switch (read_line(peer, &answer, &is_new)) {
	case VMOP_ACTIVE_UNDERSTOOD:
		if (answer.token == peer->sent.token && answer.number == peer->sent.number)
			take_answer(peer, &answer, is_new, now_ns);
		break;
	case VMOP_ACTIVE_OTHER_VERSION:
		give_up(peer, vmop_error_new(VMOP_ERROR_CANT,
					     "domain %s: its vmopd is of another version; install "
					     "the same in both",
					     peer->name));
		break;
	case VMOP_ACTIVE_GARBLED: /* no answer yet, or garbage: the time limit decides */
		break;
	}
	judge_silence(peer, now_ns);
	return peer->state;
}
