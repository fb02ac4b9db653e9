// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/domain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/guest/identify.h"
#include "daemon/guest/kvm.h"
#include "libutil/clock.h"
#include "libutil/log.h"

#define WATCH_GAP_MAX_TICKS 64
#define VCPU_RESERVE 64

static struct vmop_domain *domain_new(struct vmop_domains *domains)
{
	struct vmop_domain *domain = calloc(1, sizeof(*domain));
	if (!domain)
		return NULL;
	/* Named when their domain is: see vmop_identify. */
	domain->kernel = vmop_images_new(domains->images, 0, VMOP_IMAGE_GUEST_KERNEL,
					 "[guest kernel]", 0, 0);
	domain->user =
		vmop_images_new(domains->images, 0, VMOP_IMAGE_GUEST_USER, "[guest user]", 0, 0);
	return domain;
}

static void domain_free(struct vmop_domains *domains, struct vmop_domain *domain)
{
	if (!domain)
		return;
	vmop_text_map_deinit(&domain->text, domains->images);
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
				     struct vmop_images *images, struct vmop_processes *processes,
				     const struct vmop_passive *passive)
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
	host->kind = VMOP_DOMAIN_HOST;
	strcpy(host->name, "host");
	if (root)
		vmop_identify_machine(root, host->uuid);
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
	domain->id = domains->n;
	domains->at[domains->n++] = domain;
	domain->kernel->domain = domain->user->domain = domain->id;
	domain->source_id = VMOP_NO_SOURCE_ID;
	domain->first_seen_ns = domains->realtime_ns;
	domain->is_running = true;
	domain->symbols_from = "none";
	return domain;
}

void vmop_domain_select(struct vmop_domains *domains, struct vmop_domain *domain)
{
	uint32_t number = domain->vmm_pid ? domain->vmm_pid : domain->source_id;
	domain->pattern = vmop_passive_match(domains->passive, domain->name, domain->uuid, number,
					     domain->vmm_pid ? domain->id : domain->source_id);
	if (domain->kind != VMOP_DOMAIN_OPAQUE)
		domain->kind = domain->pattern ? VMOP_DOMAIN_PASSIVE : VMOP_DOMAIN_UNSELECTED;
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
			       domain->text.n ? "unknown kernel text" : "kernel");
	vmop_domain_name_image(domain, domain->user, "user");
	for (size_t i = 0; i < domain->text.n; i++)
		if (domain->text.at[i].image->kind == VMOP_IMAGE_GUEST_KERNEL)
			vmop_domain_name_image(domain, domain->text.at[i].image, "kernel");
}

struct vmop_domain *vmop_domains_meet(struct vmop_domains *domains, struct vmop_process *process)
{
	if (process->domain)
		return process->domain;
	struct vmop_domain *domain = vmop_domains_new(domains);
	if (!domain)
		return NULL;
	domain->vmm_pid = process->pid;
	/* Until its name is known; "all" lets it in at once. */
	vmop_domain_select(domains, domain);
	process->domain = domain;
	return domain;
}

/* The lowest number that no vCPU of domain has. */
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

struct vmop_vcpu *vmop_domains_meet_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
					 uint32_t tid)
{
	struct vmop_vcpu *vcpu = vmop_domains_vcpu(domains, tid);
	if (vcpu && vcpu->domain == domain)
		return vcpu;
	if (vcpu) { /* a reused tid whose end no record told */
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
	domain->identify_in = 0; /* its thread's name may tell the number */
	return vcpu;
}

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
		vmop_domains_meet(domains, process);
	else if (process->worker_of || vmop_vmm_is_likely(process->task.comm))
		watch(domains, process->pid);
	vmop_domains_keep_spares(domains);
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

void vmop_domains_process_gone(struct vmop_process *process)
{
	struct vmop_domain *domain = process->domain;
	if (!domain || domain->vmm_pid != process->pid)
		return;
	if (domain->is_running)
		vmop_domain_end(domain);
	/* Samples on behalf of it can come till the process's own end; not after an exec. */
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

/* The guest whose VMM has a thread of that id: what a vhost worker is named after. */
static struct vmop_domain *domain_of_thread(const struct vmop_domains *domains, uint32_t tid)
{
	struct vmop_domain *domain = domain_of_vmm(domains, tid);
	uint32_t tgid = domain ? 0 : vmop_identify_tgid(domains->root, tid);
	return tgid ? domain_of_vmm(domains, tgid) : domain;
}

/* Looks at one watched process; true: no longer to be watched. */
static bool watch_look(struct vmop_domains *domains, struct vmop_watch *entry)
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
			vmop_domains_meet(domains, process);
	}
	entry->in = entry->gap;
	if (entry->gap < WATCH_GAP_MAX_TICKS)
		entry->gap *= 2;
	return process->domain != NULL;
}

/* A VM that debugfs lists under the thread that created it. */
static void debugfs_vm(void *arg, uint32_t tid)
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
	struct vmop_domain *domain = vmop_domains_meet(domains, process);
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
		vmop_kvm_each_vm(domains->root, debugfs_vm, domains);
		for (uint32_t i = 0; i < domains->n_watches;) {
			if (watch_look(domains, &domains->watches[i]))
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
			vmop_domain_end(domain); /* no record told */
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

static struct vmop_error *store_domain(struct vmop_domains *domains, struct vmop_db *db,
				       const struct vmop_domain *domain)
{
	struct vmop_db_domain row = {
		.id = domain->id,
		.kind = domain->kind,
		.name = domain->name,
		.uuid = *domain->uuid ? domain->uuid : NULL,
		.vmm_pid = domain->vmm_pid,
		.vmm = *domain->vmm ? domain->vmm : NULL,
		.first_seen_ns = domain->first_seen_ns,
		.last_seen_ns = domain->last_seen_ns,
	};
	struct vmop_error *err = vmop_db_put_domain(db, &row);
	/* Symbols that were given by hand are stored whether there are samples or not. */
	for (size_t i = 0; !err && i < domain->text.n; i++) {
		struct vmop_image *image = domain->text.at[i].image;
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

static void forget_vcpus(struct vmop_domains *domains, struct vmop_domain *domain)
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
		for (size_t j = 0; !domain->is_stored && j < domain->text.n; j++)
			vmop_image_stored(domain->text.at[j].image);
		domain->is_stored = true;
		forget_vcpus(domains, domain);
	}
}
