// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of sampled code of guests, which is gone with the guest, and of which the host has no
 * file as a rule: pages of the guest's kernel and modules, of its programs' files, of the vDSO and
 * of generated code. When samples are released, pages are requested of the watching thread
 * (requests.h), which reads them from the guest's memory; the answers go to the session's store
 * (daemon/host/code/code-store.h) under the image and the offset of the samples.
 *
 * A file's page is read by its inode, as the sample's context showed it, also when its process has
 * ended. Other code of a process is read while the process lives.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_CODE_H
#define VMOP_DAEMON_GUEST_CONTEXT_CODE_H

#include "daemon/guest/watched.h"

/* A page with code that stays is read once, at this many samples. Generated code is read at once.
 */
#define VMOP_GUEST_CODE_SAMPLES 8

/* Pages of a guest that are requested in an interval: files of samples have precedence. */
#define VMOP_GUEST_CODE_REQUESTS 32

/*
 * Request the page of an attributed sample if it needs to be stored. guests->code is not NULL, and
 * the domain is watched. context and process are NULL where they are not known.
 */
void vmop_guest_code_sampled(struct vmop_guests *guests, const struct vmop_held_sample *held,
			     const struct vmop_held_context *context,
			     const struct vmop_guest_process *process,
			     const struct vmop_guest_sample *sample);

/* Take an answer of the kind VMOP_GUEST_REQUEST_CODE. */
void vmop_guest_take_code_page(struct vmop_guests *guests, const struct vmop_guest_answer *answer);

#endif
