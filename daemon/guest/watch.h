// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Watches passive guests from one thread, which has a budget of CPU time that it never exceeds for
 * long.  The thread finds the kernel of each guest, follows its modules and processes and the tasks
 * of its vCPUs, and publishes views, which are immutable.
 *
 * All functions are for the sampling thread, and none of them waits for a guest.
 */
#ifndef VMOP_DAEMON_GUEST_WATCH_H
#define VMOP_DAEMON_GUEST_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/context/requests.h"
#include "daemon/guest/guest-opener.h"
#include "daemon/guest/guest-reader.h"
#include "daemon/guest/off-cpu/batch.h"
#include "daemon/guest/stacks/table-queue.h"
#include "daemon/guest/view.h"
#include "daemon/host/ids.h"
#include "libsym/symtab.h"
#include "libutil/error.h"
#include "libutil/setup.h"
#include "vmop/ids.h"

struct vmop_guest_watch;

struct vmop_guest_watch_options {
	/* The CPU time that the thread may take, in thousandths of one CPU; 0: it reads nothing. */
	unsigned cpu_permille;
	/*
	 * The periods in which processes and modules are listed and vCPUs are read while the
	 * budget allows; 0: the default.
	 */
	unsigned snapshot_ms, modules_ms, reading_ms;
	/* The directory of profiles of kernels without BTF (vmop-guest-profile(1)); NULL: none. */
	const char *profiles;
	struct vmop_off_cpu off_cpu; /* how blocked threads are sampled; hz 0: they are not */
};

#define VMOP_GUEST_WATCH_DEFAULT_PERMILLE 10

struct vmop_error *vmop_guest_watch_create(const struct vmop_guest_watch_options *options,
					   struct vmop_guest_watch **ret);
/* End the thread, and wait for the update that is under way. NULL is allowed. */
void vmop_guest_watch_destroy(struct vmop_guest_watch *watch);

/*
 * Stop to watch all guests, and drop all requests, but keep the readers and the views for a while:
 * vmop_guest_watch_add() of the same holder goes on with its reader, and its last view is there at
 * once. For a new session, whose ids differ.
 */
void vmop_guest_watch_park(struct vmop_guest_watch *watch);

/* Begin to watch a guest. domain: its id in the session. */
struct vmop_error *vmop_guest_watch_add(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_holder holder);
void vmop_guest_watch_remove(struct vmop_guest_watch *watch, struct vmop_domain_id domain);

/* Return the newest view, with a reference for the caller; NULL: none yet. */
struct vmop_guest_view *vmop_guest_watch_view(struct vmop_guest_watch *watch,
					      struct vmop_domain_id domain);

/*
 * Let the thread read the guest's unwind tables, which later views have, from now on. Unknown
 * domains are ignored.
 */
void vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch, struct vmop_domain_id domain);
/* The same for the kernel's code, some 16 MiB, for stacks whose stack pointer is not known. */
void vmop_guest_watch_want_code(struct vmop_guest_watch *watch, struct vmop_domain_id domain);

/*
 * Take the guest's blocked threads since the last call: *ret_batch is the caller's, NULL: none. Set
 * *ret_facts to their totals. False: they are not sampled, or not yet.
 */
bool vmop_guest_watch_take_blocked(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				   struct vmop_blocked_batch **ret_batch,
				   struct vmop_blocked_facts *ret_facts);

/*
 * Allow the thread to drop the symbols of the code of that generation, because the caller has
 * copied them.  Later views may have this code without symbols, which saves most of a guest's
 * memory.
 */
void vmop_guest_watch_drop_symbols(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				   uint32_t generation);

/*
 * Request the symbols of a file that a guest has mapped, from the guest's page cache.  The answer
 * repeats image.  False: the queue is full, and the caller must try again later.
 */
bool vmop_guest_watch_request_symbols(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				      struct vmop_image_slot image,
				      const struct vmop_guest_vma *vma);

/* The answer to a request. */
struct vmop_guest_file_symbols {
	struct vmop_domain_id domain;
	struct vmop_image_slot image;
	struct vmop_symtab *symtab; /* the caller destroys it; NULL: the file has none */
	bool is_gone;		    /* the guest no longer had the file open */
};
/* Take the next answer; false: no answer is ready. */
bool vmop_guest_watch_take_symbols(struct vmop_guest_watch *watch,
				   struct vmop_guest_file_symbols *ret);
/*
 * Let the thread read the requested files beyond its budget, and wait up to wait_ms for them: at
 * the end of a session. Return the number of files whose symbols are still not read, those of
 * vmop_guest_watch_request() included.
 */
unsigned vmop_guest_watch_await_symbols(struct vmop_guest_watch *watch, unsigned wait_ms);

/*
 * Request the unwind table of a mapping of a guest's process.  The answer repeats the key.  False:
 * the queue is full, and the caller must try again later.
 */
bool vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
				    const struct vmop_guest_table_request *request);
/* Take the next answer for a guest, with its table; false: no answer is ready. */
bool vmop_guest_watch_take_table(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				 struct vmop_guest_table_answer *ret);
/* Drop the requests for tables of a guest, and their answers. */
void vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch, struct vmop_domain_id domain);

/*
 * Request what samples of a guest made necessary (context/requests.h). It is answered within
 * milliseconds as a rule. False: too many requests wait; the caller must try again later. On the
 * per-sample path, once for many samples: takes a lock that is held for a moment.
 */
bool vmop_guest_watch_request(struct vmop_guest_watch *watch,
			      const struct vmop_guest_request *request);
/* Take the next answer, which the caller owns; false: no answer is ready. */
bool vmop_guest_watch_take_answer(struct vmop_guest_watch *watch, struct vmop_guest_answer *ret);
/* Wait up to wait_ms until all requests are answered: at the end of a session. */
void vmop_guest_watch_await_answers(struct vmop_guest_watch *watch, unsigned wait_ms);

/*
 * Read a place in the memory of a guest's process, to compare it. Repeat the call as long as it
 * returns WAITS; another result is returned once. ABSENT also for unknown domains. *ret is set only
 * for READ.
 */
enum vmop_guest_probed vmop_guest_watch_probe(struct vmop_guest_watch *watch,
					      struct vmop_domain_id domain,
					      const struct vmop_guest_probe *probe,
					      uint8_t ret[VMOP_GUEST_PROBE_BYTES]);

/*
 * Set whether samples of a guest show what its vCPUs run: then the thread lists its processes and
 * reads its vCPUs more rarely. Unknown domains are ignored.
 */
void vmop_guest_watch_set_has_contexts(struct vmop_guest_watch *watch, struct vmop_domain_id domain,
				       bool has_contexts);

#endif
