// SPDX-License-Identifier: GPL-2.0-or-later
/* Any lines as what the other side of an active domain's agreement says, to both sides. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/active-agent.h"
#include "hv-interface/active-peer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Shows the line at hand; what is written must be understood. */
struct feed {
	struct vmop_active_store store;
	char line[VMOP_ACTIVE_MESSAGE_BYTES];
};

static bool feed_read(struct vmop_active_store *store, char buf[VMOP_ACTIVE_MESSAGE_BYTES])
{
	memcpy(buf, ((struct feed *)store)->line, VMOP_ACTIVE_MESSAGE_BYTES);
	return true;
}

static bool feed_write(struct vmop_active_store *store, const char *line)
{
	struct vmop_active_message message;
	(void)store;
	if (vmop_active_parse(line, &message) != VMOP_ACTIVE_UNDERSTOOD)
		abort();
	return true;
}

static const struct vmop_active_store_ops feed_ops = {feed_read, feed_write};

static void answer(struct vmop_active_agent *agent, enum vmop_active_task task, const char *text)
{
	enum vmop_active_stage stage = agent->stage;
	if (task == VMOP_ACTIVE_DO_OPEN) {
		if (stage != VMOP_ACTIVE_OPENING)
			abort();
		vmop_active_agent_answer(
			agent, strlen(text) % 4 ? VMOP_ACTIVE_OPENED : VMOP_ACTIVE_FAILED, text);
	} else if (task == VMOP_ACTIVE_DO_JOIN) {
		if (stage != VMOP_ACTIVE_JOINING)
			abort();
		vmop_active_agent_answer(
			agent, strlen(text) % 2 ? VMOP_ACTIVE_STUCK : VMOP_ACTIVE_READY, text);
	} else if (task == VMOP_ACTIVE_DO_LEAVE) {
		if (stage != VMOP_ACTIVE_ENDING)
			abort();
		vmop_active_agent_answer(agent, VMOP_ACTIVE_LEFT, text);
	} else if (task == VMOP_ACTIVE_DO_RUN && stage != VMOP_ACTIVE_TAKING) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct feed feed = {.store.ops = &feed_ops};
	struct vmop_active_peer peer;
	struct vmop_active_agent agent;
	char text[VMOP_ACTIVE_TEXT_BYTES];
	uint64_t now_ns = 1;
	vmop_active_peer_init(&peer, &feed.store, "db1", 0x1122334455667788ull);
	vmop_active_agent_init(&agent, &feed.store);
	for (size_t at = 0; at < len_bytes;) {
		const uint8_t *newline = memchr(data + at, '\n', len_bytes - at);
		size_t len = newline ? (size_t)(newline - data) - at : len_bytes - at;
		size_t kept = len < sizeof(feed.line) - 1 ? len : sizeof(feed.line) - 1;
		memcpy(feed.line, data + at, kept);
		feed.line[kept] = '\0';
		at += len + 1;
		now_ns += 7000000000ull;
		answer(&agent, vmop_active_agent_look(&agent, now_ns, text), text);
		vmop_active_agent_count(&agent, at);
		vmop_active_peer_say(&peer, (enum vmop_active_word)(at % 4), text, now_ns);
		if (vmop_active_peer_look(&peer, now_ns) == VMOP_ACTIVE_GONE && !peer.error)
			abort();
	}
	vmop_active_peer_deinit(&peer);
	return 0;
}
