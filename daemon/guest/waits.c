// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/host/image.h"
#include "daemon/host/kernel-address.h"
#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/procfs.h"

#define PLACES_MAX 16 /* of a guest and a reason, in an interval */
#define CGROUPS_MAX 4096
#define PATH_BYTES 1024

/* A cgroup that had the CPU. */
struct cgroup {
	uint64_t id; /* the kernel's */
	char *path;
};

struct vmop_guest_waits {
	struct vmop_domains *domains;
	struct vmop_waits *waits;
	/* Not yet stored. */
	struct vmop_waits_amount *amounts;
	struct vmop_waits_address *places;
	size_t n_amounts, amounts_capacity, n_places, places_capacity;
	struct cgroup *cgroups;
	size_t n_cgroups, cgroups_capacity;
	uint32_t vmm_pids[VMOP_DOMAINS_MAX]; /* by domain; 0: not a culprit's */
};

struct vmop_error *vmop_guest_waits_create(struct vmop_domains *domains,
					   struct vmop_guest_waits **ret)
{
	struct vmop_guest_waits *waits = calloc(1, sizeof(*waits));
	*ret = NULL;
	if (!waits)
		return &vmop_error_no_memory;
	waits->domains = domains;
	struct vmop_error *err = vmop_waits_create(&waits->waits);
	if (err) {
		vmop_guest_waits_destroy(waits);
		return err;
	}
	*ret = waits;
	return NULL;
}

void vmop_guest_waits_destroy(struct vmop_guest_waits *waits)
{
	if (!waits)
		return;
	vmop_waits_destroy(waits->waits);
	for (size_t i = 0; i < waits->n_cgroups; i++)
		free(waits->cgroups[i].path);
	free(waits->cgroups);
	free(waits->amounts);
	free(waits->places);
	free(waits);
}

const char *vmop_guest_waits_no_exits(const struct vmop_guest_waits *waits)
{
	return vmop_waits_no_exits(waits->waits);
}

void vmop_guest_waits_facts(const struct vmop_guest_waits *waits, struct vmop_waits_facts *ret)
{
	vmop_waits_facts(waits->waits, ret);
}

/* ---- watching ------------------------------------------------------------------------- */

static void watch_domain(struct vmop_guest_waits *waits, const struct vmop_domain *domain)
{
	uint32_t *vmm_pid = &waits->vmm_pids[domain->id.number];
	uint32_t pid = domain->is_running ? domain->vmm_pid : 0;
	const struct vmop_vcpu *vcpu;
	if (*vmm_pid != pid && *vmm_pid)
		vmop_waits_remove_guest(waits->waits, *vmm_pid);
	if (*vmm_pid != pid && pid && !vmop_waits_put_guest(waits->waits, pid, domain->id.number))
		pid = 0;
	*vmm_pid = pid;
	if (!domain->is_running)
		return;
	DL_FOREACH (domain->vcpus, vcpu)
		if (!vcpu->has_exited)
			vmop_waits_watch(waits->waits, vcpu->tid, domain->id.number, vcpu->number);
}

/* Watch the threads of all guests that run, and no others. */
static void watch(struct vmop_guest_waits *waits)
{
	for (uint32_t i = 1; i < waits->domains->n; i++)
		watch_domain(waits, waits->domains->at[i]);
	vmop_waits_retain(waits->waits);
}

/* ---- taking ----------------------------------------------------------------------------- */

/* Without memory an amount is missing: then samples are, too. */
static void take_amount(void *arg, const struct vmop_waits_amount *amount)
{
	struct vmop_guest_waits *waits = arg;
	if (vmop_array_reserve(waits->amounts, waits->amounts_capacity, waits->n_amounts + 1))
		waits->amounts[waits->n_amounts++] = *amount;
}

static void take_address(void *arg, const struct vmop_waits_address *address)
{
	struct vmop_guest_waits *waits = arg;
	if (!vmop_array_reserve(waits->places, waits->places_capacity, waits->n_places + 1))
		return;
	struct vmop_waits_address *place = &waits->places[waits->n_places++];
	*place = *address;
	if (!vmop_is_kernel_address(place->address))
		place->address = VMOP_DB_EXIT_USER;
}

static int by_place(const void *a, const void *b)
{
	const struct vmop_waits_address *x = a, *y = b;
	if (x->guest != y->guest)
		return x->guest < y->guest ? -1 : 1;
	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_count(const void *a, const void *b)
{
	const struct vmop_waits_address *x = a, *y = b;
	if (x->guest != y->guest || x->reason != y->reason)
		return by_place(a, b);
	return x->count > y->count ? -1 : x->count < y->count ? 1 : by_place(a, b);
}

/* Add up the places with one address. */
static void merge_places(struct vmop_guest_waits *waits)
{
	size_t n = 0;
	if (waits->n_places)
		qsort(waits->places, waits->n_places, sizeof(*waits->places), by_place);
	for (size_t i = 0; i < waits->n_places; i++) {
		if (n && by_place(&waits->places[n - 1], &waits->places[i]) == 0)
			waits->places[n - 1].count += waits->places[i].count;
		else
			waits->places[n++] = waits->places[i];
	}
	waits->n_places = n;
}

/* Keep the places with the most exits of each guest and reason, and one for all others. */
static void limit_places(struct vmop_guest_waits *waits)
{
	size_t n = 0, of_group = 0;
	merge_places(waits);
	if (waits->n_places)
		qsort(waits->places, waits->n_places, sizeof(*waits->places), by_count);
	for (size_t i = 0; i < waits->n_places; i++) {
		struct vmop_waits_address place = waits->places[i];
		bool is_same = n && waits->places[n - 1].guest == place.guest &&
			       waits->places[n - 1].reason == place.reason;
		of_group = is_same ? of_group + 1 : 0;
		if (of_group >= PLACES_MAX)
			place.address = VMOP_DB_EXIT_ELSEWHERE;
		if (of_group > PLACES_MAX)
			waits->places[n - 1].count += place.count;
		else
			waits->places[n++] = place;
	}
	waits->n_places = n;
}

/* Find the image of an exit's place in the guest's kernel, or NULL. */
static struct vmop_image *image_of(const struct vmop_guest_waits *waits,
				   const struct vmop_waits_address *place)
{
	struct vmop_domain *domain = waits->domains->at[place->guest];
	if (!vmop_is_kernel_address(place->address))
		return NULL;
	return vmop_text_map_find(&domain->code, place->address);
}

void vmop_guest_waits_gather(struct vmop_guest_waits *waits)
{
	const struct vmop_waits_sink sink = {
		.amount = take_amount, .address = take_address, .arg = waits};
	watch(waits);
	if (!waits->n_amounts && !waits->n_places) {
		vmop_waits_take(waits->waits, &sink);
		limit_places(waits);
	}
	for (size_t i = 0; i < waits->n_places; i++) {
		struct vmop_image *image = image_of(waits, &waits->places[i]);
		if (image)
			vmop_image_mark_sampled(image);
	}
}

/* ---- storing ---------------------------------------------------------------------------- */

/* Return the path of a cgroup, which is read while one of its processes lives; else its id. */
static const char *cgroup_path(struct vmop_guest_waits *waits, uint64_t id, uint32_t pid,
			       char path[PATH_BYTES])
{
	for (size_t i = 0; i < waits->n_cgroups; i++)
		if (waits->cgroups[i].id == id)
			return waits->cgroups[i].path;
	if (waits->n_cgroups >= CGROUPS_MAX ||
	    !vmop_array_reserve(waits->cgroups, waits->cgroups_capacity, waits->n_cgroups + 1))
		return "(other cgroups)";
	if (!vmop_procfs_cgroup(waits->domains->root, pid, path, PATH_BYTES) || !*path) {
		snprintf(path, PATH_BYTES, "(cgroup %llu)", (unsigned long long)id);
		return path;
	}
	char *copy = strdup(path);
	if (!copy)
		return "(other cgroups)";
	waits->cgroups[waits->n_cgroups++] = (struct cgroup){.id = id, .path = copy};
	return copy;
}

static struct vmop_error *put_culprit(struct vmop_guest_waits *waits, struct vmop_db *db,
				      const struct vmop_waits_amount *amount, uint32_t *ret)
{
	char path[PATH_BYTES];
	struct vmop_db_culprit culprit = {.kind = amount->culprit, .name = ""};
	if (amount->culprit == VMOP_CULPRIT_GUEST)
		culprit.domain = (struct vmop_domain_id){(uint32_t)amount->culprit_id};
	else if (amount->culprit == VMOP_CULPRIT_CGROUP)
		culprit.name = cgroup_path(waits, amount->culprit_id, amount->culprit_pid, path);
	else if (amount->culprit == VMOP_CULPRIT_PROCESS)
		culprit.name = amount->culprit_comm;
	return vmop_db_put_culprit(db, &culprit, ret);
}

static struct vmop_error *store_amount(struct vmop_guest_waits *waits, struct vmop_db *db,
				       const struct vmop_waits_amount *amount)
{
	struct vmop_db_wait row = {
		.domain = {amount->guest},
		.vcpu = amount->vcpu,
		.state = amount->state,
		.count = amount->count,
		.time_ns = amount->time_ns,
	};
	struct vmop_error *err = NULL;
	uint32_t culprit;
	if (amount->state == VMOP_WAIT_WAITING) {
		err = put_culprit(waits, db, amount, &culprit);
		row.cause = culprit;
	} else if (amount->state == VMOP_WAIT_EXIT) {
		row.cause = vmop_db_exit_cause(vmop_waits_machine(waits->waits), amount->reason);
	}
	return err ? err : vmop_db_put_wait(db, &row);
}

static struct vmop_error *store_place(struct vmop_guest_waits *waits, struct vmop_db *db,
				      const struct vmop_waits_address *place)
{
	struct vmop_image *image = image_of(waits, place);
	struct vmop_db_exit_place row = {
		.domain = {place->guest},
		.cause = vmop_db_exit_cause(vmop_waits_machine(waits->waits), place->reason),
		.offset = vmop_is_kernel_address(place->address) ? VMOP_DB_EXIT_UNKNOWN
								 : place->address,
		.count = place->count,
	};
	if (image) {
		row.image = vmop_image_canonical(image)->id;
		row.offset = place->address - image->base;
	}
	return vmop_db_put_exit_place(db, &row);
}

struct vmop_error *vmop_guest_waits_store(struct vmop_guest_waits *waits, struct vmop_db *db)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < waits->n_amounts && !err; i++)
		err = store_amount(waits, db, &waits->amounts[i]);
	for (size_t i = 0; i < waits->n_places && !err; i++)
		err = store_place(waits, db, &waits->places[i]);
	return err;
}

void vmop_guest_waits_stored(struct vmop_guest_waits *waits)
{
	waits->n_amounts = waits->n_places = 0;
}
