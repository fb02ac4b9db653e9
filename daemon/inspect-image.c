// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/inspect-image.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/view.h"
#include "daemon/inspect.h"
#include "daemon/privileges.h"
#include "libguest/guest.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/json.h"
#include "libutil/protocol.h"

static void guest_cleanup(struct vmop_guest **guest)
{
	vmop_guest_close(*guest);
}

/* The kernel alone is worth showing: why there are no processes is told beside it. */
static struct vmop_error *look_at_processes(struct vmop_guest *guest, struct vmop_guest_view *view)
{
	struct vmop_guest_snapshot *snapshot;
	if (!view->code->kernel.has_processes)
		return NULL;
	struct vmop_error *err = vmop_guest_snapshot_processes(guest, 0, &snapshot);
	if (err) {
		view->error = strdup(err->message);
		vmop_error_destroy(err);
		return view->error ? NULL : &vmop_error_no_memory;
	}
	view->tasks = vmop_guest_tasks_create(snapshot, 1);
	return view->tasks ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *look_at_vcpus(struct vmop_guest *guest, struct vmop_guest_view *view)
{
	struct vmop_guest_current current[VMOP_GUEST_VCPUS_MAX];
	uint32_t cpus = view->code->kernel.cpus;
	size_t n = 0;
	view->n_vcpus = cpus < VMOP_GUEST_VCPUS_MAX ? cpus : VMOP_GUEST_VCPUS_MAX;
	view->vcpus = calloc(view->n_vcpus + 1, sizeof(*view->vcpus));
	if (!view->vcpus)
		return &vmop_error_no_memory;
	if (view->tasks)
		vmop_error_destroy(vmop_guest_current_tasks(guest, current, view->n_vcpus, &n));
	for (size_t i = 0; i < n; i++)
		vmop_guest_readings_put(view->vcpus, view->n_vcpus, &current[i], 0);
	return NULL;
}

static struct vmop_error *look(struct vmop_guest *guest, struct vmop_guest_view *view)
{
	struct vmop_error *err = vmop_guest_find_kernel(guest);
	if (err)
		return err;
	view->code = vmop_guest_code_create(guest, 1);
	if (!view->code)
		return &vmop_error_no_memory;
	err = look_at_processes(guest, view);
	if (!err)
		err = look_at_vcpus(guest, view);
	view->state = vmop_guest_view_state(view->code, view->tasks);
	view->made_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	view->cost = vmop_guest_total_cost(guest);
	return err;
}

static struct vmop_error *print(const char *path, const struct vmop_guest *guest,
				const struct vmop_guest_view *view)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = json_object();
	json_t *image = json_object();
	vmop_json_put_text(image, "path", path);
	vmop_json_put_number(image, "ram_bytes", vmop_guest_ram_bytes(guest));
	json_object_set_new(reply, "image", image);
	json_object_set_new(reply, "domain", json_null());
	vmop_inspect_put_view(reply, view, 0, SIZE_MAX);
	struct vmop_error *err = vmop_json_print(reply, JSON_INDENT(2), stdout);
	if (err)
		return err;
	return fflush(stdout) == 0 ? NULL : vmop_error_os(errno, "standard output");
}

struct vmop_error *vmop_inspect_image(const char *path)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_guest_options options = {.profile = VMOP_GUEST_PROFILES};
	struct vmop_error *err = vmop_guest_open_file(path, &options, &guest);
	if (!err) /* what is in the file is anybody's */
		err = vmop_privileges_drop();
	if (err)
		return err;
	struct vmop_guest_view *view = calloc(1, sizeof(*view));
	if (!view)
		return &vmop_error_no_memory;
	view->refs = 1;
	err = look(guest, view);
	err = err ? vmop_error_prefix(err, "%s", path) : print(path, guest, view);
	vmop_guest_view_unref(view);
	return err;
}
