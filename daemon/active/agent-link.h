// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's end of the channel: keeps a connection to the host, whose vmopd listens while it has
 * a session with active guests, and proves to it where this process runs.
 *
 * The proof: the host sends random bytes, which are put into this process's memory; the reply is
 * their address and this process's pid. The host reads them there.
 */
#ifndef VMOP_DAEMON_ACTIVE_AGENT_LINK_H
#define VMOP_DAEMON_ACTIVE_AGENT_LINK_H

#include <stdbool.h>

#include "hv-interface/active-message.h"
#include "hv-interface/handed/feed.h"
#include "libutil/clock.h"
#include "libutil/error.h"

/* Pause between two attempts to connect: at first, and at most. Each failure doubles it. */
#define VMOP_AGENT_LINK_FIRST_PAUSE_NS (VMOP_NS_PER_S / 2)
#define VMOP_AGENT_LINK_LONGEST_PAUSE_NS (4 * VMOP_NS_PER_S)

struct vmop_agent_link;

/*
 * dial begins a connection: vmop_active_vsock_dial or vmop_active_serial_open, which tests replace.
 */
struct vmop_error *vmop_agent_link_create(int (*dial)(void), struct vmop_agent_link **ret);
/* Send the last line without waiting, close the connection and free link. NULL is allowed. */
void vmop_agent_link_destroy(struct vmop_agent_link *link);

/*
 * Return the store of the initiator's and the agent's lines. Each of its reads goes on with the
 * connection. Without one its line is "".
 */
struct vmop_active_store *vmop_agent_link_store(struct vmop_agent_link *link);

/*
 * Take what the host hands over into feed, and ask for the host's time from time to time; NULL:
 * ignore it from now on. feed must outlive its use. Before the first call samples are against the
 * rules.
 */
void vmop_agent_link_set_feed(struct vmop_agent_link *link, struct vmop_handed_feed *feed);

/*
 * Let the host begin connections to the server of sessions within this one, which has no other way
 * (virtio-serial). Each one passes to take; NULL: it is closed at once. Before the first call such
 * connections are against the rules.
 */
void vmop_agent_link_set_server(struct vmop_agent_link *link, void (*take)(void *arg, int fd),
				void *arg);

/* Return whether such a connection goes on, so that reads of the store should be soon. */
bool vmop_agent_link_is_serving(const struct vmop_agent_link *link);

/*
 * Return the time until the next read of the store, in ms, if round trips over the channel are the
 * only measure of the host's time; 0: any time will do. A wait for an answer is short, because the
 * answer's arrival counts. Else the time varies, so that questions do not always come at the same
 * time before the host reads them.
 */
unsigned vmop_agent_link_measure_ms(const struct vmop_agent_link *link);

/* Return whether there is a connection, so that commands can come soon. */
bool vmop_agent_link_is_up(const struct vmop_agent_link *link);

#endif
