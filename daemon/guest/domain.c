// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/domain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/guest/identify.h"
#include "libutil/clock.h"
#include "libutil/kvm.h"
#include "libutil/log.h"

#define WATCH_GAP_MAX_TICKS 64
#define VCPU_RESERVE 64

static struct vmop_domain *domain_new(struct vmop_domains *domains)
{
	struct vmop_domain *domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	/* vmop_domain_name_images renames them once the name of the domain is known. */
	domain->kernel = vmop_images_new(domains->images, domain->id, VMOP_IMAGE_GUEST_KERNEL,
					 "[guest kernel]", 0, 0);
	domain->user = vmop_images_new(domains->images, domain->id, VMOP_IMAGE_GUEST_USER,
				       "[guest user]", 0, 0);
	return domain;
}

static void domain_free(struct vmop_domains *domains, struct vmop_domain *domain)
{
	if (!domain)
		return;
	vmop_text_map_deinit(&domain->code, domains->images);
	vmop_image_unref(domains->images, domain->kernel);
	vmop_image_unref(domains->images, domain->user);
	free(domain);
}

void vmop_domains_keep_spares(struct vmop_domains *domains)
{
	for (size_t i = 0; i < VMOP_DOMAIN_SPARES; i++)
		if (!domains->spares[i])
			domains->spares[i] = domain_new(domains);
	vmop_pool_fill(&domains->vcpu_pool, VCPU_RESERVE);
}

struct vmop_error *vmop_domains_init(struct vmop_domains *domains, const char *root,
				     const char *given_uuid, struct vmop_images *images,
				     struct vmop_processes *processes,
				     const struct vmop_domain_patterns *passive)
{
	*domains = (struct vmop_domains){
		.root = root,
		.images = images,
		.processes = processes,
		.passive = passive,
		.realtime_ns = vmop_clock_ns(CLOCK_REALTIME),
	};
	vmop_pool_init(&domains->vcpu_pool, sizeof(struct vmop_vcpu), VMOP_VCPUS_MAX);
	struct vmop_domain *host = calloc(1, sizeof(*host));
	if (!host || !vmop_idmap_init(&domains->vcpus, VMOP_VCPUS_MAX)) {
		free(host);
		return &vmop_error_no_memory;
	}
	vmop_domain_set_kind(host, VMOP_DOMAIN_HOST);
	vmop_domain_set_name(host, "host");
	if (root)
		vmop_identify_machine(root, given_uuid, host->uuid);
	host->is_running = host->is_identified = true;
	host->source_id = VMOP_NO_SOURCE_ID;
	host->first_seen_ns = domains->realtime_ns;
	domains->at[domains->n++] = host;
	vmop_domains_keep_spares(domains);
	return NULL;
}

void vmop_domains_deinit(struct vmop_domains *domains)
{
	for (uint32_t i = 0; i < domains->n; i++)
		domain_free(domains, domains->at[i]);
	for (size_t i = 0; i < VMOP_DOMAIN_SPARES; i++)
		domain_free(domains, domains->spares[i]);
	vmop_pool_deinit(&domains->vcpu_pool);
	vmop_idmap_deinit(&domains->vcpus);
	domains->n = 0;
}

static struct vmop_domain *take_spare(struct vmop_domains *domains)
{
	for (size_t i = 0; i < VMOP_DOMAIN_SPARES; i++) {
		struct vmop_domain *spare = domains->spares[i];
		if (spare) {
			domains->spares[i] = NULL;
			return spare;
		}
	}
	return NULL;
}

struct vmop_domain *vmop_domains_new(struct vmop_domains *domains)
{
	struct vmop_domain *domain = domains->n < VMOP_DOMAINS_MAX ? take_spare(domains) : NULL;
	if (!domain) {
		domains->n_refused++;
		return NULL;
	}
	domain->id.number = domains->n;
	domains->at[domains->n++] = domain;
	domain->kernel->domain = domain->user->domain = domain->id;
	domain->source_id = VMOP_NO_SOURCE_ID;
	domain->first_seen_ns = domains->realtime_ns;
	domain->is_running = true;
	domain->symbols_from = "none";
	return domain;
}

/* ---- one domain ------------------------------------------------------------------------ */

void vmop_domain_set_kind(struct vmop_domain *domain, enum vmop_domain_kind kind)
{
	if (domain->kind == kind)
		return;
	domain->kind = kind;
	domain->is_stored = false;
}

/* Copy text into a field of size bytes, cut to fit. */
static void set_field(struct vmop_domain *domain, char *field, size_t size, const char *text)
{
	size_t len = strnlen(text, size - 1);
	if (!strncmp(field, text, len) && !field[len])
		return;
	memcpy(field, text, len);
	field[len] = '\0';
	domain->is_stored = false;
}

void vmop_domain_set_name(struct vmop_domain *domain, const char *name)
{
	set_field(domain, domain->name, sizeof(domain->name), name);
}

void vmop_domain_set_uuid(struct vmop_domain *domain, const char *uuid)
{
	set_field(domain, domain->uuid, sizeof(domain->uuid), uuid);
}

void vmop_domain_set_vmm(struct vmop_domain *domain, const char *vmm)
{
	set_field(domain, domain->vmm, sizeof(domain->vmm), vmm);
}

void vmop_domain_copy_note(struct vmop_domain *domain, const char *note)
{
	snprintf(domain->copied_note, sizeof(domain->copied_note), "%s", note);
	domain->note = domain->copied_note;
}

void vmop_domain_set_vmm_pid(struct vmop_domain *domain, uint32_t pid)
{
	if (domain->vmm_pid == pid)
		return;
	domain->vmm_pid = pid;
	domain->is_stored = false;
}

void vmop_domain_end(struct vmop_domain *domain)
{
	domain->is_running = false;
	domain->is_stored = false;
	domain->last_seen_ns = vmop_clock_ns(CLOCK_REALTIME);
	struct vmop_vcpu *vcpu;
	DL_FOREACH (domain->vcpus, vcpu)
		vcpu->has_exited = true;
}

void vmop_domain_select(struct vmop_domains *domains, struct vmop_domain *domain)
{
	uint32_t number = domain->vmm_pid ? domain->vmm_pid : domain->source_id;
	uint32_t id = domain->vmm_pid ? domain->id.number : domain->source_id;
	enum vmop_domain_kind kind = VMOP_DOMAIN_ACTIVE;
	domain->pattern = domains->active
				  ? vmop_domain_patterns_match(domains->active, domain->name,
							       domain->uuid, number, id)
				  : NULL;
	if (!domain->pattern) {
		domain->pattern = vmop_domain_patterns_match(domains->passive, domain->name,
							     domain->uuid, number, id);
		kind = domain->pattern ? VMOP_DOMAIN_PASSIVE : VMOP_DOMAIN_UNSELECTED;
	}
	if (domain->kind != VMOP_DOMAIN_OPAQUE)
		vmop_domain_set_kind(domain, kind);
}

void vmop_domain_deselect(struct vmop_domain *domain, enum vmop_domain_kind kind)
{
	domain->pattern = NULL;
	vmop_domain_set_kind(domain, kind);
}

void vmop_domain_name_image(const struct vmop_domain *domain, struct vmop_image *image,
			    const char *what)
{
	char name[VMOP_GUEST_NAME_BYTES + 64];
	snprintf(name, sizeof(name), "[guest %s %s]", domain->name, what);
	vmop_image_rename(image, name);
}

void vmop_domain_name_images(struct vmop_domain *domain)
{
	vmop_domain_name_image(domain, domain->kernel,
			       domain->code.n ? "unknown kernel text" : "kernel");
	vmop_domain_name_image(domain, domain->user, "user");
	for (size_t i = 0; i < domain->code.n; i++)
		if (domain->code.at[i].image->kind == VMOP_IMAGE_GUEST_KERNEL)
			vmop_domain_name_image(domain, domain->code.at[i].image, "kernel");
}

void vmop_domain_begin_code(struct vmop_domains *domains, struct vmop_domain *domain)
{
	struct vmop_image *old = domain->kernel;
	if (old->id.number || old->is_sampled) {
		struct vmop_image *made = vmop_images_new(domains->images, domain->id,
							  VMOP_IMAGE_GUEST_KERNEL, "", 0, 0);
		bool has_room = made->kind == VMOP_IMAGE_GUEST_KERNEL;
		if (has_room) {
			vmop_domain_name_image(domain, old, "kernel, not yet found");
			domain->kernel = made;
		}
		vmop_image_unref(domains->images, has_room ? old : made);
	}
	vmop_domain_name_image(domain, domain->kernel, "unknown kernel text");
}

void vmop_domain_add_code(struct vmop_domains *domains, struct vmop_domain *domain,
			  const struct vmop_text_piece *piece)
{
	vmop_text_map_put(&domain->code, domains->images, piece);
	domain->is_stored = false; /* its pieces are stored with the row */
}

void vmop_domain_set_code(struct vmop_domains *domains, struct vmop_domain *domain,
			  const struct vmop_text_map *code)
{
	vmop_text_map_deinit(&domain->code, domains->images);
	domain->code = *code;
	domain->is_stored = false;
}

/* ---- guests and their vCPUs --------------------------------------------------------------- */

struct vmop_domain *vmop_domains_ensure(struct vmop_domains *domains, struct vmop_process *process)
{
	if (process->domain)
		return process->domain;
	struct vmop_domain *domain = vmop_domains_new(domains);
	if (!domain)
		return NULL;
	vmop_domain_set_vmm_pid(domain, process->pid);
	/* Its name is not known yet: only "all" or a number can select it here. */
	vmop_domain_select(domains, domain);
	process->domain = domain;
	return domain;
}

/* Return the lowest number that no vCPU of domain has. */
static uint32_t free_number(const struct vmop_domain *domain)
{
	const struct vmop_vcpu *vcpu;
	for (uint32_t number = 0;; number++) {
		DL_FOREACH (domain->vcpus, vcpu)
			if (vcpu->number == number)
				break;
		if (!vcpu)
			return number;
	}
}

struct vmop_vcpu *vmop_domains_ensure_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
					   uint32_t tid)
{
	struct vmop_vcpu *vcpu = vmop_domains_vcpu(domains, tid);
	if (vcpu && vcpu->domain == domain)
		return vcpu;
	if (vcpu) { /* the tid was reused, and no record reported the exit */
		vcpu->has_exited = true;
		vmop_idmap_remove(&domains->vcpus, tid);
	}
	vcpu = vmop_pool_get(&domains->vcpu_pool);
	if (!vcpu)
		return NULL;
	if (!vmop_idmap_put(&domains->vcpus, tid, vcpu)) {
		vmop_pool_put(&domains->vcpu_pool, vcpu);
		return NULL;
	}
	vcpu->tid = tid;
	vcpu->number = free_number(domain);
	vcpu->domain = domain;
	DL_APPEND(domain->vcpus, vcpu);
	domain->n_vcpus++;
	domain->identify_in = 0; /* the name of its thread may contain the number */
	return vcpu;
}

void vmop_domains_number_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
			      uint32_t tid, uint32_t number)
{
	struct vmop_vcpu *vcpu = vmop_domains_ensure_vcpu(domains, domain, tid);
	if (!vcpu || (vcpu->is_sure && vcpu->number == number))
		return;
	struct vmop_vcpu *other;
	DL_FOREACH (domain->vcpus, other)
		if (other != vcpu && other->number == number && !other->has_exited) {
			other->number = vcpu->number;
			other->is_stored = other->is_sure = false;
		}
	vcpu->number = number;
	vcpu->is_sure = true;
	vcpu->is_stored = false;
}

/* ---- finding guests ------------------------------------------------------------------------ */

static void watch(struct vmop_domains *domains, uint32_t pid)
{
	for (uint32_t i = 0; i < domains->n_watches; i++)
		if (domains->watches[i].pid == pid)
			return;
	if (domains->n_watches < sizeof(domains->watches) / sizeof(domains->watches[0]))
		domains->watches[domains->n_watches++] = (struct vmop_watch){.pid = pid, .gap = 1};
}

void vmop_domains_consider(struct vmop_domains *domains, struct vmop_process *process)
{
	if (process->domain || !domains->root)
		return;
	if (process->n_kvm_vcpus)
		vmop_domains_ensure(domains, process);
	else if (process->worker_of || vmop_vmm_is_likely(process->task.comm))
		watch(domains, process->pid);
	vmop_domains_keep_spares(domains);
}

void vmop_domains_process_gone(struct vmop_process *process)
{
	struct vmop_domain *domain = process->domain;
	if (!domain || domain->vmm_pid != process->pid)
		return;
	if (domain->is_running)
		vmop_domain_end(domain);
	/* Work for the guest can be sampled until the process exits, but not after an exec. */
	if (!process->has_exited)
		process->domain = NULL;
}

void vmop_domains_thread_gone(struct vmop_domains *domains, uint32_t tid)
{
	struct vmop_vcpu *vcpu = vmop_domains_vcpu(domains, tid);
	if (vcpu)
		vcpu->has_exited = true;
}

static struct vmop_domain *domain_of_vmm(const struct vmop_domains *domains, uint32_t pid)
{
	for (uint32_t i = 1; i < domains->n; i++)
		if (domains->at[i]->is_running && domains->at[i]->vmm_pid == pid)
			return domains->at[i];
	return NULL;
}

/* Return the guest whose VMM has thread tid. A vhost worker is named after such a thread. */
static struct vmop_domain *domain_of_thread(const struct vmop_domains *domains, uint32_t tid)
{
	struct vmop_domain *domain = domain_of_vmm(domains, tid);
	uint32_t tgid = domain ? 0 : vmop_identify_tgid(domains->root, tid);
	return tgid ? domain_of_vmm(domains, tgid) : domain;
}

/* Check one watched process.  True: it need not be watched any longer. */
static bool check_watched(struct vmop_domains *domains, struct vmop_watch *entry)
{
	struct vmop_process *process = vmop_processes_get(domains->processes, entry->pid);
	if (!process || process->has_exited || process->domain)
		return true;
	if (entry->in) {
		entry->in--;
		return false;
	}
	if (process->worker_of) {
		process->domain = domain_of_thread(domains, process->worker_of);
	} else {
		if (!vmop_vmm_is_likely(process->task.comm))
			return true;
		process->n_kvm_vcpus = vmop_identify_count_vcpus(domains->processes, process->pid);
		if (process->n_kvm_vcpus)
			vmop_domains_ensure(domains, process);
	}
	entry->in = entry->gap;
	if (entry->gap < WATCH_GAP_MAX_TICKS)
		entry->gap *= 2;
	return process->domain != NULL;
}

/* Add the VM that debugfs lists under the thread that created it. */
static void add_debugfs_vm(void *arg, uint32_t tid)
{
	struct vmop_domains *domains = arg;
	for (uint32_t i = 1; i < domains->n; i++)
		if (domains->at[i]->is_running && domains->at[i]->kvm_tid == tid)
			return;
	struct vmop_process *process = vmop_processes_get(domains->processes, tid);
	if (!process || process->has_exited) {
		uint32_t tgid = vmop_identify_tgid(domains->root, tid);
		process = tgid ? vmop_processes_get(domains->processes, tgid) : NULL;
	}
	if (!process || process->has_exited)
		return;
	struct vmop_domain *domain = vmop_domains_ensure(domains, process);
	if (domain && !domain->kvm_tid) {
		domain->kvm_tid = tid;
		domain->identify_in = 0;
	}
	vmop_domains_keep_spares(domains);
}

void vmop_domains_identify_new(struct vmop_domains *domains)
{
	for (uint32_t i = 1; i < domains->n; i++)
		if (!domains->at[i]->is_identified && domains->at[i]->vmm_pid)
			vmop_identify(domains, domains->at[i]);
}

void vmop_domains_tick(struct vmop_domains *domains)
{
	domains->realtime_ns = vmop_clock_ns(CLOCK_REALTIME);
	vmop_domains_keep_spares(domains);
	if (domains->root) {
		vmop_kvm_each_vm(domains->root, add_debugfs_vm, domains);
		for (uint32_t i = 0; i < domains->n_watches;) {
			if (check_watched(domains, &domains->watches[i]))
				domains->watches[i] = domains->watches[--domains->n_watches];
			else
				i++;
		}
	}
	vmop_domains_keep_spares(domains);
	for (uint32_t i = 1; i < domains->n; i++) {
		struct vmop_domain *domain = domains->at[i];
		struct vmop_process *process =
			vmop_processes_get(domains->processes, domain->vmm_pid);
		if (!domain->vmm_pid)
			continue; /* no process of this machine */
		if (domain->is_running && process)
			vmop_processes_check_one(domains->processes, process);
		if (domain->is_running && (!process || process->has_exited))
			vmop_domain_end(domain); /* no record reported the exit */
		if (!domain->is_running && domain->is_identified)
			continue;
		if (domain->identify_in) {
			domain->identify_in--;
			continue;
		}
		vmop_identify(domains, domain);
		domain->identify_gap = domain->identify_gap ? 2 * domain->identify_gap : 1;
		if (domain->identify_gap > WATCH_GAP_MAX_TICKS)
			domain->identify_gap = WATCH_GAP_MAX_TICKS;
		domain->identify_in = domain->identify_gap;
	}
}

void vmop_domain_set_context_note(struct vmop_domain *domain, const char *note)
{
	if (!note)
		note = "";
	if (!strncmp(domain->context_note, note, sizeof(domain->context_note) - 1))
		return;
	snprintf(domain->context_note, sizeof(domain->context_note), "%s", note);
	domain->has_new_context_note = true;
	domain->is_stored = false;
}

void vmop_domain_set_clock(struct vmop_domain *domain, const struct vmop_db_clock *clock)
{
	domain->clock = *clock;
	domain->is_stored = false;
}

/* ---- storing ------------------------------------------------------------------------------- */

static struct vmop_error *store_context_note(struct vmop_db *db, const struct vmop_domain *domain)
{
	char name[32];
	snprintf(name, sizeof(name), "domain-%" PRIu32 "-context", domain->id.number);
	return vmop_db_put_info(db, name, domain->context_note);
}

static struct vmop_error *store_domain(struct vmop_domains *domains, struct vmop_db *db,
				       const struct vmop_domain *domain)
{
	bool has_uuid = *domain->uuid &&
			(vmop_domain_id_is_host(domain->id) || !domains->is_read_elsewhere);
	struct vmop_db_domain row = {
		.id = domain->id,
		.kind = domain->kind,
		.name = domain->name,
		.uuid = has_uuid ? domain->uuid : NULL,
		.vmm_pid = domain->vmm_pid,
		.vmm = *domain->vmm ? domain->vmm : NULL,
		.first_seen_ns = domain->first_seen_ns,
		.last_seen_ns = domain->last_seen_ns,
	};
	struct vmop_error *err = vmop_db_put_domain(db, &row);
	if (!err && domain->has_new_context_note)
		err = store_context_note(db, domain);
	if (!err && domain->clock.n)
		err = vmop_db_put_guest_clock(db, domain->id, &domain->clock);
	/* Symbols of an image that the user gave are stored even without samples. */
	for (size_t i = 0; !err && i < domain->code.n; i++) {
		struct vmop_image *image = domain->code.at[i].image;
		if (image->is_stored)
			continue;
		vmop_images_assign_id(domains->images, image);
		err = vmop_image_store(image, db);
	}
	return err;
}

struct vmop_error *vmop_domains_store(struct vmop_domains *domains, struct vmop_db *db)
{
	for (uint32_t i = 0; i < domains->n; i++) {
		const struct vmop_domain *domain = domains->at[i];
		struct vmop_error *err = NULL;
		if (!domain->is_stored)
			err = store_domain(domains, db, domain);
		const struct vmop_vcpu *vcpu;
		DL_FOREACH (domain->vcpus, vcpu) {
			struct vmop_db_vcpu row = {
				.domain = domain->id, .number = vcpu->number, .tid = vcpu->tid};
			if (!err && !vcpu->is_stored)
				err = vmop_db_put_vcpu(db, &row);
		}
		if (err)
			return err;
	}
	return NULL;
}

/* Mark the vCPUs of domain as stored, and remove those that exited. */
static void finish_vcpus(struct vmop_domains *domains, struct vmop_domain *domain)
{
	struct vmop_vcpu *vcpu, *next;
	DL_FOREACH_SAFE(domain->vcpus, vcpu, next)
	{
		vcpu->is_stored = true;
		if (!vcpu->has_exited)
			continue;
		if (vmop_domains_vcpu(domains, vcpu->tid) == vcpu)
			vmop_idmap_remove(&domains->vcpus, vcpu->tid);
		DL_DELETE(domain->vcpus, vcpu);
		domain->n_vcpus--;
		vmop_pool_put(&domains->vcpu_pool, vcpu);
	}
}

void vmop_domains_stored(struct vmop_domains *domains)
{
	for (uint32_t i = 0; i < domains->n; i++) {
		struct vmop_domain *domain = domains->at[i];
		for (size_t j = 0; !domain->is_stored && j < domain->code.n; j++)
			vmop_image_stored(domain->code.at[j].image);
		domain->is_stored = true;
		domain->has_new_context_note = false;
		finish_vcpus(domains, domain);
	}
}
