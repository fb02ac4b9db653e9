// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/inspect-image.h"

#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/view.h"
#include "daemon/inspect-stacks.h"
#include "daemon/inspect.h"
#include "daemon/privileges.h"
#include "libguest/guest.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/json.h"
#include "libutil/parse.h"
#include "libutil/protocol.h"

static void guest_cleanup(struct vmop_guest **guest)
{
	vmop_guest_close(*guest);
}

/* A kernel without processes is a result, too: the reply has the reason beside it. */
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

/* path: of the image; NULL: the guest runs. */
static struct vmop_error *print(const char *path, struct vmop_guest *guest,
				const struct vmop_guest_view *view, bool with_stacks)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = json_object();
	json_t *image = path ? json_object() : json_null();
	if (path) {
		vmop_json_put_text(image, "path", path);
		vmop_json_put_number(image, "ram_bytes", vmop_guest_ram_bytes(guest));
	}
	json_object_set_new(reply, "image", image);
	json_object_set_new(reply, "domain", json_null());
	vmop_inspect_put_view(reply, view, 0, SIZE_MAX);
	struct vmop_error *err = with_stacks ? vmop_inspect_put_stacks(reply, guest) : NULL;
	if (!err)
		err = vmop_json_print(reply, JSON_INDENT(2), stdout);
	if (err)
		return err;
	return fflush(stdout) == 0 ? NULL : vmop_error_os(errno, "standard output");
}

/* name: in messages. path: as above. */
static struct vmop_error *look_and_print(const char *name, const char *path,
					 struct vmop_guest *guest, bool with_stacks)
{
	struct vmop_guest_view *view = calloc(1, sizeof(*view));
	if (!view)
		return &vmop_error_no_memory;
	view->refs = 1;
	struct vmop_error *err = look(guest, view);
	if (!err)
		err = print(path, guest, view, with_stacks);
	vmop_guest_view_unref(view);
	return err ? vmop_error_prefix(err, "%s", name) : NULL;
}

struct vmop_error *vmop_inspect_image(const char *path, bool with_stacks)
{
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_guest_options options = {.profile = VMOP_GUEST_PROFILES};
	struct vmop_error *err = vmop_guest_open_file(path, &options, &guest);
	if (!err) /* the file's content is not trusted */
		err = vmop_privileges_drop();
	return err ? err : look_and_print(path, path, guest, with_stacks);
}

struct vmop_error *vmop_inspect_guest(const char *name, bool with_stacks)
{
	static const char xen[] = "xen:";
	_cleanup_(guest_cleanup) struct vmop_guest *guest = NULL;
	struct vmop_guest_options options = {.profile = VMOP_GUEST_PROFILES};
	struct vmop_error *err;
	uint64_t number;
	bool is_xen = strncmp(name, xen, strlen(xen)) == 0;
	if (!vmop_parse_u64(is_xen ? name + strlen(xen) : name, 10, &number) || !number ||
	    number > INT32_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--inspect-guest: '%s' is neither a pid nor xen:ID", name);
	if (is_xen)
		err = vmop_guest_open_xen((uint32_t)number, &options, &guest);
	else
		err = vmop_guest_open_pid((pid_t)number, &options, &guest);
	if (err && !is_xen && err->os_errno == ENOENT) {
		vmop_error_destroy(err);
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no process %s", name);
	}
	if (!err && !is_xen) /* Xen's memory is mapped by need */
		err = vmop_privileges_drop();
	return err ? err : look_and_print(name, NULL, guest, with_stacks);
}
