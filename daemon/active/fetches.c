// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/fetches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/active/fetch.h"
#include "libdb/session-files.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

#define POLL_INTERVAL_NS (20 * VMOP_NS_PER_MS)

struct guest {
	uint32_t vmm_pid;
	char name[VMOP_GUEST_NAME_BYTES];
	char *file;	 /* of its session, beside the current one */
	bool has_left;	 /* the fetch is for a session of the host that is not the current one, */
	char *host_path; /* but has this path; NULL: it was discarded */
	enum vmop_fetches_state state;
	struct vmop_fetch *fetch; /* NULL: none goes on */
};

struct vmop_fetches {
	int (*dial)(uint32_t cid);
	char *session_dir;
	mode_t session_mode;
	uint64_t max_bytes; /* 0: no session is fetched */
	unsigned nice;
	uint64_t since_ns; /* CLOCK_REALTIME */
	bool host_has_uuid;
	struct guest *guests; /* n */
	size_t n, capacity;
};

struct vmop_error *vmop_fetches_create(const struct vmop_setup *setup, int (*dial)(uint32_t cid),
				       struct vmop_fetches **ret)
{
	struct vmop_fetches *fetches = calloc(1, sizeof(*fetches));
	char *dir = strdup(setup->session_dir);
	if (!fetches || !dir) {
		free(fetches);
		free(dir);
		return &vmop_error_no_memory;
	}
	*fetches = (struct vmop_fetches){
		.dial = dial,
		.session_dir = dir,
		.session_mode = setup->session_mode,
		.max_bytes = setup->fetch_bytes,
		.nice = setup->nice,
		.since_ns = vmop_clock_ns(CLOCK_REALTIME),
	};
	*ret = fetches;
	return NULL;
}

static void end_fetch(struct guest *guest)
{
	vmop_fetch_end(guest->fetch);
	guest->fetch = NULL;
	free(guest->host_path);
	guest->host_path = NULL;
	guest->has_left = false;
}

void vmop_fetches_destroy(struct vmop_fetches *fetches)
{
	if (!fetches)
		return;
	for (size_t i = 0; i < fetches->n; i++) {
		end_fetch(&fetches->guests[i]);
		free(fetches->guests[i].file);
	}
	free(fetches->guests);
	free(fetches->session_dir);
	free(fetches);
}

void vmop_fetches_set_host(struct vmop_fetches *fetches, bool has_uuid)
{
	fetches->host_has_uuid = has_uuid;
}

/* ---- guests ---------------------------------------------------------------------------------- */

static struct guest *find(const struct vmop_fetches *fetches, uint32_t vmm_pid)
{
	for (size_t i = 0; i < fetches->n; i++)
		if (fetches->guests[i].vmm_pid == vmm_pid)
			return &fetches->guests[i];
	return NULL;
}

static bool is_taken(const struct vmop_fetches *fetches, const char *file)
{
	for (size_t i = 0; i < fetches->n; i++)
		if (strcmp(fetches->guests[i].file, file) == 0)
			return true;
	return false;
}

/* Return the name of a guest's session file, which no other guest has. The caller frees it. */
static char *choose_file(const struct vmop_fetches *fetches, const struct vmop_fetched_guest *guest)
{
	char *file = vmop_session_guest_file(guest->name);
	char name[64];
	if (!file || !is_taken(fetches, file))
		return file;
	free(file);
	snprintf(name, sizeof(name), "%.40s-%" PRIu32, guest->name, guest->vmm_pid);
	return vmop_session_guest_file(name);
}

/* Return the guest, which is added if it is new; NULL: no memory. */
static struct guest *find_or_add(struct vmop_fetches *fetches,
				 const struct vmop_fetched_guest *wanted)
{
	struct guest *guest = find(fetches, wanted->vmm_pid);
	if (guest)
		return guest;
	char *file = choose_file(fetches, wanted);
	if (!file || !vmop_array_reserve(fetches->guests, fetches->capacity, fetches->n + 1)) {
		free(file);
		return NULL;
	}
	guest = &fetches->guests[fetches->n++];
	*guest = (struct guest){.vmm_pid = wanted->vmm_pid, .file = file};
	snprintf(guest->name, sizeof(guest->name), "%s", wanted->name);
	return guest;
}

/* ---- their fetches --------------------------------------------------------------------------- */

static void close_connection(const struct vmop_fetched_guest *guest)
{
	if (!guest->cid && guest->fd >= 0)
		close(guest->fd);
}

static struct vmop_error *begin(struct vmop_fetches *fetches, struct guest *guest,
				const struct vmop_fetched_guest *wanted)
{
	struct vmop_fetch_options options = {
		.dial = fetches->dial,
		.cid = wanted->cid,
		.fd = wanted->cid ? -1 : wanted->fd,
		.pidfd = wanted->pidfd,
		.request = {.token = wanted->token, .max_bytes = fetches->max_bytes},
		.place = {.session_dir = strdup(fetches->session_dir),
			  .file = strdup(guest->file),
			  .mode = fetches->session_mode,
			  .host_has_uuid = fetches->host_has_uuid,
			  .is_of_xen = wanted->is_of_xen,
			  .since_ns = fetches->since_ns},
		.nice = fetches->nice,
	};
	if (wanted->clock)
		options.place.clock = *wanted->clock;
	snprintf(options.place.uuid, sizeof(options.place.uuid), "%s", wanted->uuid);
	if (options.place.session_dir && options.place.file)
		return vmop_fetch_begin(&options, &guest->fetch);
	close_connection(wanted);
	vmop_fetched_place_deinit(&options.place);
	return &vmop_error_no_memory;
}

void vmop_fetches_begin(struct vmop_fetches *fetches, const struct vmop_fetched_guest *wanted)
{
	struct guest *guest = fetches->max_bytes ? find_or_add(fetches, wanted) : NULL;
	if (!guest || guest->fetch) {
		close_connection(wanted);
		return;
	}
	struct vmop_error *err = begin(fetches, guest, wanted);
	guest->state = err ? VMOP_FETCHES_FAILED : VMOP_FETCHES_GOES_ON;
	vmop_log_and_destroy(VMOP_LOG_WARNING, err);
}

/* Log why a fetch has failed, and end it. */
static void fail(struct guest *guest, const char *reason)
{
	vmop_log_warning("guest \"%s\": its session was not fetched: %s", guest->name, reason);
	guest->state = VMOP_FETCHES_FAILED;
	end_fetch(guest);
}

/* Does not end a fetch whose file is not wanted any more: its thread may take a moment to end. */
void vmop_fetches_leave_session(struct vmop_fetches *fetches, const char *path)
{
	for (size_t i = 0; i < fetches->n; i++) {
		struct guest *guest = &fetches->guests[i];
		if (!guest->fetch || guest->has_left)
			continue;
		guest->has_left = true;
		guest->host_path = path ? strdup(path) : NULL;
	}
}

/* Put a fetched file beside the host's session that it is for, while that is there. */
static struct vmop_error *publish(const struct guest *guest, char **ret_file)
{
	if (guest->has_left && (!guest->host_path || access(guest->host_path, F_OK) < 0))
		return vmop_error_new(VMOP_ERROR_NOT_FOUND,
				      "the host's session is not there any more");
	*ret_file = guest->has_left ? vmop_session_guest_file_beside(guest->host_path, guest->file)
				    : strdup(guest->file);
	return *ret_file ? vmop_fetch_publish(guest->fetch, *ret_file) : &vmop_error_no_memory;
}

static void finish(const struct vmop_fetches *fetches, struct guest *guest, uint64_t n_bytes)
{
	_cleanup_free_ char *file = NULL;
	struct vmop_error *err = publish(guest, &file);
	if (err) {
		fail(guest, err->message);
		vmop_error_destroy(err);
		return;
	}
	vmop_log_notice("guest \"%s\": its session is in %s/%s (%" PRIu64 " bytes)", guest->name,
			fetches->session_dir, file, n_bytes);
	guest->state = VMOP_FETCHES_DONE;
	end_fetch(guest);
}

/* Return whether the guest's fetch goes on. */
static bool step(const struct vmop_fetches *fetches, struct guest *guest)
{
	struct vmop_fetch_status status;
	if (!guest->fetch)
		return false;
	vmop_fetch_status(guest->fetch, &status);
	if (status.state == VMOP_FETCH_FAILED)
		fail(guest, status.reason);
	else if (status.state == VMOP_FETCH_DONE)
		finish(fetches, guest, status.n_bytes);
	return status.state == VMOP_FETCH_GOES_ON;
}

bool vmop_fetches_step(struct vmop_fetches *fetches)
{
	bool goes_on = false;
	for (size_t i = 0; i < fetches->n; i++)
		goes_on |= step(fetches, &fetches->guests[i]);
	return goes_on;
}

void vmop_fetches_wait(struct vmop_fetches *fetches, void (*go_on)(void *arg), void *arg)
{
	const struct timespec pause = {.tv_nsec = POLL_INTERVAL_NS};
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + VMOP_FETCHES_WAIT_NS;
	while (vmop_fetches_step(fetches) && vmop_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		if (go_on)
			go_on(arg);
		nanosleep(&pause, NULL);
	}
	for (size_t i = 0; i < fetches->n; i++)
		if (fetches->guests[i].fetch)
			fail(&fetches->guests[i], "it took too long");
}

enum vmop_fetches_state vmop_fetches_state(const struct vmop_fetches *fetches, uint32_t vmm_pid)
{
	const struct guest *guest = find(fetches, vmm_pid);
	return guest ? guest->state : VMOP_FETCHES_NONE;
}
