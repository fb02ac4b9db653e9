// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/inspect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/view.h"
#include "libsym/build-id.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/json.h"
#include "libutil/parse.h"
#include "libutil/protocol.h"

/* The items' share of the longest line. The other members and JSON's marks fit in the rest. */
#define ITEMS_BYTES (VMOP_PROTOCOL_MAX_LINE_BYTES / 2)
/* The number of a process's mappings in the list. More are only counted. */
#define MAPPINGS_MAX 64

/* Return a JSON string of a guest's name, which may not be UTF-8. NULL becomes null. */
void vmop_json_put_text(json_t *object, const char *name, const char *text)
{
	json_object_set_new(object, name, text ? vmop_json_text(text) : json_null());
}

void vmop_json_put_number(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* Return an address as text: many JSON readers round large numbers. */
static void put_address(json_t *object, const char *name, uint64_t address)
{
	char text[20];
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	vmop_json_put_text(object, name, text);
}

static void put_build_id(json_t *object, const uint8_t *bytes, uint8_t len_bytes)
{
	struct vmop_build_id id = {.len_bytes = len_bytes};
	char text[2 * VMOP_BUILD_ID_MAX_BYTES + 1];
	memcpy(id.bytes, bytes, len_bytes);
	vmop_build_id_format(&id, text);
	vmop_json_put_text(object, "build_id", len_bytes ? text : NULL);
}

static double age_s(uint64_t monotonic_ns)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	return now_ns > monotonic_ns ? (double)(now_ns - monotonic_ns) / 1e9 : 0;
}

json_t *vmop_inspect_summary(const struct vmop_guest_view *view)
{
	json_t *object = json_object();
	vmop_json_put_text(object, "state", view ? view->state : "not looked at");
	if (!view)
		return object;
	vmop_json_put_text(object, "error", view->error);
	json_object_set_new(object, "age_s", json_real(age_s(view->made_ns)));
	json_object_set_new(object, "cpu_s", json_real((double)view->cost.cpu_ns / 1e9));
	vmop_json_put_number(object, "read_bytes", view->cost.read_bytes);
	vmop_json_put_number(object, "retries", view->cost.retries);
	if (view->code) {
		vmop_json_put_text(object, "release", view->code->kernel.release);
		vmop_json_put_number(object, "symbols", view->code->kernel.symbols);
		vmop_json_put_number(object, "modules", view->code->kernel.modules);
	}
	if (view->tasks) {
		const struct vmop_guest_snapshot *snapshot = view->tasks->snapshot;
		vmop_json_put_number(object, "processes", vmop_guest_snapshot_count(snapshot));
		vmop_json_put_number(object, "torn", vmop_guest_snapshot_torn(snapshot));
		json_object_set_new(object, "processes_age_s",
				    json_real(age_s(vmop_guest_snapshot_time_ns(snapshot))));
	}
	return object;
}

static json_t *kernel_json(const struct vmop_guest_kernel_info *kernel)
{
	json_t *object = json_object();
	vmop_json_put_text(object, "release", kernel->release);
	vmop_json_put_text(object, "banner", kernel->banner);
	put_build_id(object, kernel->build_id, kernel->build_id_len_bytes);
	put_address(object, "text", kernel->text_start);
	put_address(object, "text_end", kernel->text_end);
	put_address(object, "kaslr_offset", kernel->kaslr_offset);
	put_address(object, "text_gpa", kernel->text_gpa);
	put_address(object, "page_table_gpa", kernel->root_gpa);
	vmop_json_put_text(object, "architecture", kernel->architecture);
	vmop_json_put_number(object, "page_bytes", kernel->page_bytes);
	vmop_json_put_number(object, "page_table_levels", kernel->levels);
	json_object_set_new(object, "kpti", json_boolean(kernel->has_kpti));
	vmop_json_put_number(object, "cpus", kernel->cpus);
	vmop_json_put_number(object, "symbols", kernel->symbols);
	vmop_json_put_text(object, "found_by", kernel->search_method);
	vmop_json_put_text(object, "offsets_from", kernel->offsets_source);
	return object;
}

static json_t *image_json(const struct vmop_guest_code_image *image)
{
	json_t *object = json_object();
	vmop_json_put_text(object, "module", image->name);
	put_address(object, "start", image->start);
	vmop_json_put_number(object, "len_bytes", image->end - image->start);
	vmop_json_put_number(object, "symbols", image->n_symbols);
	put_build_id(object, image->build_id, image->build_id_len_bytes);
	return object;
}

void vmop_json_put_account(json_t *object, const struct vmop_guest_account *account)
{
	const struct {
		const char *name;
		uint64_t value;
	} parts[] = {
		{"run_ns", account->run_ns},	   {"wait_ns", account->wait_ns},
		{"runs", account->n_runs},	   {"user_ns", account->user_ns},
		{"system_ns", account->system_ns},
	};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		json_object_set_new(object, parts[i].name,
				    account->is_known ? json_integer((json_int_t)parts[i].value)
						      : json_null());
}

static json_t *process_json(const struct vmop_guest_process *process)
{
	json_t *object = json_object(), *mappings = json_array();
	vmop_json_put_number(object, "pid", process->pid);
	vmop_json_put_number(object, "ns_pid", process->ns_pid);
	vmop_json_put_number(object, "ppid", process->ppid);
	vmop_json_put_text(object, "comm", process->comm);
	vmop_json_put_text(object, "cgroup", process->cgroup);
	json_object_set_new(object, "kernel_thread", json_boolean(!process->pgd_gpa));
	vmop_json_put_account(object, &process->account);
	for (uint32_t i = 0; i < process->vma_count && i < MAPPINGS_MAX; i++) {
		const struct vmop_guest_vma *vma = &process->vmas[i];
		json_t *mapping = json_object();
		put_address(mapping, "start", vma->start);
		put_address(mapping, "end", vma->end);
		vmop_json_put_number(mapping, "file_offset_bytes", vma->file_offset_bytes);
		vmop_json_put_text(mapping, "path", vma->path);
		put_build_id(mapping, vma->build_id, vma->build_id_len_bytes);
		json_array_append_new(mappings, mapping);
	}
	json_object_set_new(object, "mappings", mappings);
	vmop_json_put_number(object, "mappings_left_off",
			     process->vma_count > MAPPINGS_MAX ? process->vma_count - MAPPINGS_MAX
							       : 0);
	return object;
}

/* Return the last process seen on each vCPU; pid 0: no process. */
static json_t *running_json(const struct vmop_guest_view *view)
{
	json_t *array = json_array();
	for (uint32_t i = 0; i < view->n_vcpus; i++) {
		const struct vmop_guest_vcpu_readings *vcpu = &view->vcpus[i];
		if (!vcpu->n)
			continue;
		const struct vmop_guest_reading *last =
			&vcpu->at[(vcpu->n - 1) % VMOP_GUEST_READINGS];
		const struct vmop_guest_process *process =
			last->pid ? vmop_guest_tasks_find(view->tasks, last) : NULL;
		json_t *object = json_object();
		vmop_json_put_number(object, "vcpu", i);
		vmop_json_put_number(object, "pid", last->pid);
		vmop_json_put_text(object, "comm", process ? process->comm : NULL);
		json_array_append_new(array, object);
	}
	return array;
}

/* Return item i: the images come first, then the processes. NULL past the last. */
static json_t *item(const struct vmop_guest_view *view, size_t i)
{
	size_t n_images = view->code ? view->code->n_images : 0;
	if (i < n_images)
		return image_json(&view->code->images[i]);
	i -= n_images;
	if (!view->tasks || i >= vmop_guest_snapshot_count(view->tasks->snapshot))
		return NULL;
	return process_json(vmop_guest_snapshot_get(view->tasks->snapshot, i));
}

static void put_items(json_t *reply, const struct vmop_guest_view *view, size_t from,
		      size_t max_bytes)
{
	json_t *items = json_array(), *next;
	size_t bytes = 0;
	while ((next = item(view, from))) {
		size_t len = json_dumpb(next, NULL, 0, JSON_COMPACT);
		if (bytes && bytes + len > max_bytes)
			break;
		bytes += len;
		json_array_append_new(items, next);
		from++;
	}
	json_object_set_new(reply, "items", items);
	if (next)
		vmop_json_put_number(reply, "next", from);
	else
		json_object_set_new(reply, "next", json_null());
	json_decref(next);
}

void vmop_inspect_put_view(json_t *reply, const struct vmop_guest_view *view, size_t from,
			   size_t max_bytes)
{
	bool has_kernel = view && view->code;
	json_object_set_new(reply, "inside", vmop_inspect_summary(view));
	json_object_set_new(reply, "kernel",
			    has_kernel ? kernel_json(&view->code->kernel) : json_null());
	if (!view)
		return;
	json_object_set_new(reply, "running", running_json(view));
	put_items(reply, view, from, max_bytes);
}

/* Whether `name` is the domain's name, uuid, VMM pid or number in the session; on Xen, its Xen id.
 */
static bool is_called(const struct vmop_domain_stats *domain, const char *wanted)
{
	uint64_t number;
	if (!strcmp(domain->name, wanted) || (domain->uuid && !strcasecmp(domain->uuid, wanted)))
		return true;
	if (!vmop_parse_u64(wanted, 10, &number))
		return false;
	if (domain->xen_domid >= 0)
		return number == (uint64_t)domain->xen_domid;
	return number == domain->vmm_pid || number == domain->id.number;
}

static struct vmop_error *no_such_domain(const struct vmop_session *session, const char *wanted)
{
	_cleanup_free_ char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);
	if (!out)
		return &vmop_error_no_memory;
	struct vmop_domain_stats domain;
	bool has_one = false;
	for (size_t i = 1; vmop_session_domain(session, i, &domain) && i < 32; i++) {
		if (!domain.is_running)
			continue;
		fprintf(out, "%s%s", has_one ? ", " : "", domain.name);
		has_one = true;
	}
	fclose(out);
	if (!has_one)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no domain '%s': no guest runs",
				      wanted);
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "no domain '%s'; there are: %s", wanted, names);
}

struct vmop_error *vmop_inspect(const struct vmop_session *session, const json_t *request,
				json_t *reply)
{
	const char *wanted = json_string_value(json_object_get(request, "domain"));
	json_int_t from = json_integer_value(json_object_get(request, "from"));
	if (!wanted || from < 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "inspect: no domain named");
	/* If two guests had the name, prefer a running one, then the latest. */
	struct vmop_domain_stats domain, found = {0};
	for (size_t i = 1; vmop_session_domain(session, i, &domain); i++) {
		if (is_called(&domain, wanted) && (domain.is_running || !found.is_running))
			found = domain;
	}
	if (vmop_domain_id_is_host(found.id))
		return no_such_domain(session, wanted);
	json_t *head = json_object();
	vmop_json_put_number(head, "id", found.id.number);
	vmop_json_put_text(head, "name", found.name);
	vmop_json_put_text(head, "uuid", found.uuid);
	vmop_json_put_number(head, "pid", found.vmm_pid);
	json_object_set_new(head, "xen_domid",
			    found.xen_domid < 0 ? json_null() : json_integer(found.xen_domid));
	vmop_json_put_text(head, "note", found.note);
	vmop_json_put_number(head, "vcpus", found.n_vcpus);
	vmop_json_put_text(head, "image", found.image);
	json_object_set_new(reply, "domain", head);
	vmop_inspect_put_view(reply, found.view, (size_t)from, ITEMS_BYTES);
	return NULL;
}
