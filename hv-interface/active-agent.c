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

/* Write the answer. A failed write is repeated at the next look. */
static void write_answer(struct vmop_active_agent *agent)
{
	if (agent->has_answer)
		vmop_active_send(agent->store, &agent->answer);
}

/* Return whether a session is open, also between two of Xen's sessions. */
static bool is_in_session(const struct vmop_active_agent *agent)
{
	return agent->stage == VMOP_ACTIVE_IS_OPEN || agent->stage == VMOP_ACTIVE_JOINED ||
	       agent->stage == VMOP_ACTIVE_TAKING;
}

/* Return whether the owner still has to answer a task. */
static bool is_busy(const struct vmop_active_agent *agent)
{
	return agent->stage == VMOP_ACTIVE_OPENING || agent->stage == VMOP_ACTIVE_JOINING ||
	       agent->stage == VMOP_ACTIVE_ENDING;
}

static enum vmop_active_task end_orphan(struct vmop_active_agent *agent)
{
	agent->is_orphan = true;
	agent->is_pausing = false;
	agent->stage = VMOP_ACTIVE_ENDING;
	return VMOP_ACTIVE_DO_LEAVE;
}

static enum vmop_active_task answer_at_once(struct vmop_active_agent *agent,
					    enum vmop_active_word answer, const char *text)
{
	set_answer(agent, answer, text);
	return VMOP_ACTIVE_NOTHING;
}

static enum vmop_active_task hand_out(struct vmop_active_agent *agent, enum vmop_active_stage stage,
				      enum vmop_active_task task)
{
	agent->stage = stage;
	return task;
}

static enum vmop_active_task leave(struct vmop_active_agent *agent, const char *text)
{
	if (!is_in_session(agent))
		return answer_at_once(agent, VMOP_ACTIVE_LEFT, "0");
	agent->is_pausing = !strcmp(text, "pause");
	return hand_out(agent, VMOP_ACTIVE_ENDING, VMOP_ACTIVE_DO_LEAVE);
}

/* Carry out a new command of the current initiator. */
static enum vmop_active_task take_command(struct vmop_active_agent *agent,
					  const struct vmop_active_message *command)
{
	agent->answer.number = command->number;
	agent->has_answer = false;
	switch (command->word) {
	case VMOP_ACTIVE_HELLO:
		memcpy(agent->hello, command->text, sizeof(agent->hello));
		return answer_at_once(agent, VMOP_ACTIVE_HERE, agent->here);
	case VMOP_ACTIVE_OPEN:
		if (agent->stage != VMOP_ACTIVE_IDLE)
			break;
		return hand_out(agent, VMOP_ACTIVE_OPENING, VMOP_ACTIVE_DO_OPEN);
	case VMOP_ACTIVE_ALERT:
		if (!is_in_session(agent))
			break;
		return answer_at_once(agent, VMOP_ACTIVE_ALERTED, NULL);
	case VMOP_ACTIVE_JOIN:
		if (agent->stage != VMOP_ACTIVE_IS_OPEN)
			break;
		return hand_out(agent, VMOP_ACTIVE_JOINING, VMOP_ACTIVE_DO_JOIN);
	case VMOP_ACTIVE_RUN:
		if (agent->stage != VMOP_ACTIVE_JOINED)
			break;
		agent->wants_times = !strcmp(command->text, VMOP_ACTIVE_WANTS_TIMES);
		set_answer(agent, VMOP_ACTIVE_SAMPLING, "0");
		return hand_out(agent, VMOP_ACTIVE_TAKING, VMOP_ACTIVE_DO_RUN);
	case VMOP_ACTIVE_LEAVE:
		return leave(agent, command->text);
	default:
		break;
	}
	return answer_at_once(agent, VMOP_ACTIVE_FAILED, "unexpected command");
}

static enum vmop_active_task take_line(struct vmop_active_agent *agent,
				       const struct vmop_active_message *command, uint64_t now_ns)
{
	bool is_other = command->token != agent->answer.token;
	bool begins_anew = command->word == VMOP_ACTIVE_HELLO &&
			   /* it starts again without a leave */
			   command->number != agent->answer.number;
	/* End the old session first. The store still has the command at the next look. */
	if ((is_other || begins_anew) && is_in_session(agent))
		return end_orphan(agent);
	if (is_other) {
		if (command->word != VMOP_ACTIVE_HELLO) /* left over from a dead initiator */
			return VMOP_ACTIVE_NOTHING;
		agent->answer.token = command->token;
		agent->answer.number = command->number - 1;
	}
	if (command->beat != agent->seen_beat)
		agent->alive_ns = now_ns;
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
	if (!is_busy(agent) /* one task at a time */ &&
	    agent->store->ops->read(agent->store, line) &&
	    vmop_active_parse(line, &command) == VMOP_ACTIVE_UNDERSTOOD)
		task = take_line(agent, &command, now_ns);
	if (task == VMOP_ACTIVE_NOTHING && is_in_session(agent) &&
	    now_ns - agent->alive_ns > VMOP_ACTIVE_INITIATOR_SILENCE_NS)
		task = end_orphan(agent);
	bool has_initiator = !agent->is_orphan;
	if (task == VMOP_ACTIVE_DO_OPEN || (task == VMOP_ACTIVE_DO_LEAVE && has_initiator))
		memcpy(text, command.text, sizeof(command.text));
	write_answer(agent);
	return task;
}

static enum vmop_active_stage stage_after(const struct vmop_active_agent *agent,
					  enum vmop_active_word answer)
{
	switch (agent->stage) {
	case VMOP_ACTIVE_OPENING:
		return answer == VMOP_ACTIVE_OPENED ? VMOP_ACTIVE_IS_OPEN : VMOP_ACTIVE_IDLE;
	case VMOP_ACTIVE_JOINING:
		return answer == VMOP_ACTIVE_READY   ? VMOP_ACTIVE_JOINED
		       : answer == VMOP_ACTIVE_STUCK ? VMOP_ACTIVE_IS_OPEN
						     : VMOP_ACTIVE_IDLE;
	default:
		return answer == VMOP_ACTIVE_LEFT && agent->is_pausing ? VMOP_ACTIVE_IS_OPEN
								       : VMOP_ACTIVE_IDLE;
	}
}

void vmop_active_agent_answer(struct vmop_active_agent *agent, enum vmop_active_word answer,
			      const char *text)
{
	if (!is_busy(agent))
		return;
	agent->stage = stage_after(agent, answer);
	if (!agent->is_orphan)
		set_answer(agent, answer, text);
	agent->is_orphan = false;
	write_answer(agent);
}

bool vmop_active_agent_is_alert(const struct vmop_active_agent *agent)
{
	switch (agent->answer.word) {
	case VMOP_ACTIVE_ALERTED:
	case VMOP_ACTIVE_STUCK:
	case VMOP_ACTIVE_READY:
	case VMOP_ACTIVE_LEFT: /* in a session: "pause", not "end" */
		return is_in_session(agent);
	default:
		return false;
	}
}

void vmop_active_agent_give_up(struct vmop_active_agent *agent, const char *reason)
{
	if (!is_in_session(agent))
		return;
	agent->stage = VMOP_ACTIVE_IDLE;
	set_answer(agent, VMOP_ACTIVE_FAILED, reason);
	write_answer(agent);
}

void vmop_active_agent_report(struct vmop_active_agent *agent,
			      const struct vmop_active_report *report)
{
	struct vmop_active_report sent = *report;
	if (agent->stage != VMOP_ACTIVE_TAKING || agent->answer.word != VMOP_ACTIVE_SAMPLING)
		return;
	if (!agent->wants_times)
		sent.start_ns = 0;
	vmop_active_report_format(&sent, agent->answer.text);
}
