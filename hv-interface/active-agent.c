// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void vmop_active_agent_init(struct vmop_active_agent *agent, struct vmop_active_store *store)
{
	*agent = (struct vmop_active_agent){.store = store};
}

static void set_answer(struct vmop_active_agent *agent, enum vmop_active_word answer,
		       const char *text)
{
	agent->answer.word = answer;
	snprintf(agent->answer.text, sizeof(agent->answer.text), "%s", text ? text : "");
	agent->has_answer = true;
}

/* What can't be written now is written at the next look. */
static void write_answer(struct vmop_active_agent *agent)
{
	if (agent->has_answer)
		vmop_active_say(agent->store, &agent->answer);
}

/* Also between its parts. */
static bool is_in_session(const struct vmop_active_agent *agent)
{
	return agent->stage == VMOP_ACTIVE_JOINED || agent->stage == VMOP_ACTIVE_TAKING ||
	       agent->stage == VMOP_ACTIVE_PAUSED;
}

static enum vmop_active_task end_orphan(struct vmop_active_agent *agent)
{
	agent->is_orphan = true;
	agent->is_pausing = false;
	agent->stage = VMOP_ACTIVE_ENDING;
	return VMOP_ACTIVE_DO_LEAVE;
}

/* A command of the initiator whose token we have, not taken yet. */
static enum vmop_active_task take_command(struct vmop_active_agent *agent,
					  const struct vmop_active_message *command)
{
	agent->answer.number = command->number;
	agent->has_answer = false;
	switch (command->word) {
	case VMOP_ACTIVE_HELLO:
		if (is_in_session(agent)) { /* it has begun anew, without a leave */
			set_answer(agent, VMOP_ACTIVE_FAILED, "a session is still open here");
			return end_orphan(agent);
		}
		set_answer(agent, VMOP_ACTIVE_HERE, NULL);
		return VMOP_ACTIVE_NOTHING;
	case VMOP_ACTIVE_JOIN:
		if (agent->stage != VMOP_ACTIVE_IDLE && agent->stage != VMOP_ACTIVE_PAUSED)
			break;
		agent->is_pausing = agent->stage == VMOP_ACTIVE_PAUSED;
		agent->stage = VMOP_ACTIVE_JOINING;
		return VMOP_ACTIVE_DO_JOIN;
	case VMOP_ACTIVE_RUN:
		if (agent->stage != VMOP_ACTIVE_JOINED)
			break;
		agent->stage = VMOP_ACTIVE_TAKING;
		set_answer(agent, VMOP_ACTIVE_SAMPLING, "0");
		return VMOP_ACTIVE_DO_RUN;
	case VMOP_ACTIVE_LEAVE:
		if (!is_in_session(agent)) {
			set_answer(agent, VMOP_ACTIVE_LEFT, "0");
			return VMOP_ACTIVE_NOTHING;
		}
		agent->is_pausing = !strcmp(command->text, "pause");
		agent->stage = VMOP_ACTIVE_ENDING;
		return VMOP_ACTIVE_DO_LEAVE;
	default:
		break;
	}
	set_answer(agent, VMOP_ACTIVE_FAILED, "that command has no place here");
	return VMOP_ACTIVE_NOTHING;
}

static enum vmop_active_task take_line(struct vmop_active_agent *agent,
				       const struct vmop_active_message *command, uint64_t now_ns)
{
	if (command->token != agent->answer.token) {
		if (is_in_session(agent)) /* first; the newcomer's command is still there then */
			return end_orphan(agent);
		if (command->word != VMOP_ACTIVE_HELLO) /* what somebody left behind */
			return VMOP_ACTIVE_NOTHING;
		agent->answer.token = command->token;
		agent->answer.number = command->number - 1;
	}
	if (command->beat != agent->seen_beat)
		agent->sign_ns = now_ns;
	agent->seen_beat = command->beat;
	return command->number == agent->answer.number ? VMOP_ACTIVE_NOTHING
						       : take_command(agent, command);
}

enum vmop_active_task vmop_active_agent_look(struct vmop_active_agent *agent, uint64_t now_ns,
					     char text[VMOP_ACTIVE_TEXT_BYTES])
{
	struct vmop_active_message command = {0};
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
	enum vmop_active_task task = VMOP_ACTIVE_NOTHING;
	*text = '\0';
	/* One thing after the other: its owner still has something to answer. */
	bool is_busy = agent->stage == VMOP_ACTIVE_JOINING || agent->stage == VMOP_ACTIVE_ENDING;
	if (!is_busy && agent->store->ops->read(agent->store, line) &&
	    vmop_active_parse(line, &command) == VMOP_ACTIVE_UNDERSTOOD)
		task = take_line(agent, &command, now_ns);
	if (task == VMOP_ACTIVE_NOTHING && is_in_session(agent) &&
	    now_ns - agent->sign_ns > VMOP_ACTIVE_INITIATOR_SILENCE_NS)
		task = end_orphan(agent);
	bool is_told = !agent->is_orphan;
	if (task == VMOP_ACTIVE_DO_JOIN || (task == VMOP_ACTIVE_DO_LEAVE && is_told))
		memcpy(text, command.text, sizeof(command.text));
	write_answer(agent);
	return task;
}

static enum vmop_active_stage stage_after(const struct vmop_active_agent *agent,
					  enum vmop_active_word answer)
{
	if (agent->stage == VMOP_ACTIVE_JOINING && answer == VMOP_ACTIVE_READY)
		return VMOP_ACTIVE_JOINED;
	bool goes_on = agent->stage == VMOP_ACTIVE_JOINING ? answer == VMOP_ACTIVE_STUCK
							   : answer == VMOP_ACTIVE_LEFT;
	return goes_on && agent->is_pausing ? VMOP_ACTIVE_PAUSED : VMOP_ACTIVE_IDLE;
}

void vmop_active_agent_answer(struct vmop_active_agent *agent, enum vmop_active_word answer,
			      const char *text)
{
	if (agent->stage != VMOP_ACTIVE_JOINING && agent->stage != VMOP_ACTIVE_ENDING)
		return;
	agent->stage = stage_after(agent, answer);
	if (!agent->is_orphan)
		set_answer(agent, answer, text);
	agent->is_orphan = false;
	write_answer(agent);
}

void vmop_active_agent_give_up(struct vmop_active_agent *agent, const char *why)
{
	if (!is_in_session(agent))
		return;
	agent->stage = VMOP_ACTIVE_IDLE;
	set_answer(agent, VMOP_ACTIVE_FAILED, why);
	write_answer(agent);
}

void vmop_active_agent_count(struct vmop_active_agent *agent, uint64_t samples)
{
	if (agent->stage == VMOP_ACTIVE_TAKING && agent->answer.word == VMOP_ACTIVE_SAMPLING)
		snprintf(agent->answer.text, sizeof(agent->answer.text), "%" PRIu64, samples);
}
