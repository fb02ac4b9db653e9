// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/guests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/identify.h"
#include "daemon/host/procfs.h"
#include "daemon/xen/domains.h"
#include "daemon/xen/xenstore.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

#define TOLD_MAX (VMOP_XEN_PASSIVE_MAX + VMOP_XEN_ACTIVE_MAX)
#define SILENCE_TOLD_S 30

struct vmop_xen_guests {
	struct vmop_xen_domains *xen;
	struct vmop_domains *domains;
	const struct vmop_passive *active;
	struct vmop_source *source;
	struct vmop_xenstore *store; /* NULL: there is none */
	bool has_stale_addresses;    /* see vmop_domain.has_stale_addresses */
	/* What the source was told last. */
	struct vmop_source_domain told[TOLD_MAX];
	size_t n_told;
	bool has_told;
	bool is_limit_said, is_silence_said;
};

/* ---- one domain ----------------------------------------------------------------- */

static const char *type_word(enum vmop_xen_type type)
{
	switch (type) {
	case VMOP_XEN_PV:
		return "PV";
	case VMOP_XEN_PVH:
		return "PVH";
	case VMOP_XEN_HVM:
		return "HVM";
	case VMOP_XEN_TYPE_UNKNOWN:
		break;
	}
	return "domain";
}

static const char *symbols_of_kind(enum vmop_domain_kind kind)
{
	switch (kind) {
	case VMOP_DOMAIN_ACTIVE:
		return "none: active, its own vmopd sees to them";
	case VMOP_DOMAIN_UNSELECTED:
		return "none: not among --passive-domains";
	case VMOP_DOMAIN_UNSAMPLED:
		return "none: not sampled";
	default:
		return "none";
	}
}

static void select_domain(const struct vmop_xen_guests *guests, struct vmop_domain *domain)
{
	vmop_domain_select(guests->domains, domain);
	if (guests->xen->is_by_perf) {
		domain->kind = VMOP_DOMAIN_UNSAMPLED;
		domain->pattern = NULL;
		domain->note = guests->xen->unknown
				       ? "its samples are among those of " VMOP_DOMAIN_SOME_NAME
				       : "not sampled: perf in dom0 samples dom0 alone";
	} else if (vmop_passive_match(guests->active, domain->name, domain->uuid, domain->source_id,
				      UINT32_MAX)) {
		domain->kind = VMOP_DOMAIN_ACTIVE;
		domain->pattern = NULL;
	}
	domain->symbols_from = symbols_of_kind(domain->kind);
}

static const char stale_note[] = "on AMD, Xen samples the address of this guest's exit before";

/* Its name, type and kind are known, or have changed. */
static void identify(struct vmop_xen_guests *guests, struct vmop_domain *domain,
		     const struct vmop_xenstore_domain *entry)
{
	if (*entry->name)
		snprintf(domain->name, sizeof(domain->name), "%s", entry->name);
	else
		snprintf(domain->name, sizeof(domain->name), "domain-%u", entry->domid);
	memcpy(domain->uuid, entry->uuid, sizeof(domain->uuid));
	snprintf(domain->vmm, sizeof(domain->vmm), "Xen %s %u", type_word(entry->type),
		 entry->domid);
	domain->has_stale_addresses = guests->has_stale_addresses && !guests->xen->is_by_perf &&
				      (entry->type == VMOP_XEN_PVH || entry->type == VMOP_XEN_HVM);
	if (domain->has_stale_addresses)
		domain->note = stale_note;
	if (!domain->is_identified || domain->kind == VMOP_DOMAIN_UNSELECTED ||
	    guests->xen->is_by_perf)
		select_domain(guests, domain);
	domain->is_stored = false;
	vmop_identify_named(guests->domains, domain);
	domain->is_identified = *entry->name || *entry->uuid || !guests->store;
}

static bool has_changed(const struct vmop_domain *domain, const struct vmop_xenstore_domain *entry)
{
	char vmm[sizeof(domain->vmm)];
	snprintf(vmm, sizeof(vmm), "Xen %s %u", type_word(entry->type), entry->domid);
	return !domain->is_identified || (*entry->name && strcmp(domain->name, entry->name) != 0) ||
	       strcmp(domain->uuid, entry->uuid) != 0 || strcmp(domain->vmm, vmm) != 0;
}

/* ---- all of them ------------------------------------------------------------------ */

static void take_entry(struct vmop_xen_guests *guests, const struct vmop_xenstore_domain *entry)
{
	struct vmop_domain *domain = guests->xen->by_id[entry->domid];
	bool is_another =
		domain && *domain->uuid && *entry->uuid && strcmp(domain->uuid, entry->uuid) != 0;
	if (domain && (is_another || !domain->is_running)) {
		if (domain->is_running)
			vmop_domain_end(domain);
		vmop_xen_domains_forget(guests->xen, entry->domid);
		domain = NULL;
	}
	vmop_domains_keep_spares(guests->domains);
	if (!domain)
		domain = vmop_xen_domains_meet(guests->xen, entry->domid);
	if (!domain)
		return;
	bool is_new = !domain->is_identified;
	if (has_changed(domain, entry))
		identify(guests, domain, entry);
	if (is_new && domain->is_identified)
		vmop_log_info("guest \"%s\", %s: domain %u%s", domain->name, domain->vmm,
			      domain->id,
			      domain->kind == VMOP_DOMAIN_UNSELECTED ? ", not selected" : "");
}

static bool is_listed(const struct vmop_xenstore_listing *listing, uint32_t domid)
{
	for (size_t i = 0; i < listing->n; i++)
		if (listing->at[i].domid == domid)
			return true;
	return false;
}

static void take_listing(struct vmop_xen_guests *guests,
			 const struct vmop_xenstore_listing *listing)
{
	struct vmop_domains *domains = guests->domains;
	for (uint32_t i = 1; i < domains->n; i++) {
		struct vmop_domain *domain = domains->at[i];
		/* One that a sample told of may not be listed so far; it is asked for once more. */
		if (vmop_domain_is_domu(domain) && domain->is_running &&
		    !is_listed(listing, domain->source_id) &&
		    (domain->is_identified || domain->identify_gap++ > 2))
			vmop_domain_end(domain);
	}
	for (size_t i = 0; i < listing->n; i++)
		take_entry(guests, &listing->at[i]);
}

/* ---- the source --------------------------------------------------------------------- */

/* Those of a kind beyond what Xen takes: counted on nobody's bill, and said. */
static void leave_out(struct vmop_xen_guests *guests, struct vmop_domain *domain)
{
	domain->kind = VMOP_DOMAIN_UNSELECTED;
	domain->pattern = NULL;
	domain->symbols_from = "none: Xen samples 25 passive domains at the most";
	domain->is_stored = false;
	if (!guests->is_limit_said)
		vmop_log_warning("more than %d domains run: Xen samples no more; name those that "
				 "matter with --passive-domains (\"%s\" is the first left out)",
				 VMOP_XEN_PASSIVE_MAX, domain->name);
	guests->is_limit_said = true;
}

static size_t gather(struct vmop_xen_guests *guests, struct vmop_source_domain wanted[TOLD_MAX])
{
	size_t n_of[2] = {0}, n = 0;
	const size_t most[2] = {VMOP_XEN_PASSIVE_MAX, VMOP_XEN_ACTIVE_MAX};
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		struct vmop_domain *domain = guests->domains->at[i];
		bool is_active = domain->kind == VMOP_DOMAIN_ACTIVE;
		if (!vmop_domain_is_domu(domain) || !domain->is_running || !domain->is_identified ||
		    (!is_active && domain->kind != VMOP_DOMAIN_PASSIVE))
			continue;
		if (n_of[is_active]++ < most[is_active])
			wanted[n++] = (struct vmop_source_domain){.id = domain->source_id,
								  .is_active = is_active};
		else
			leave_out(guests, domain);
	}
	return n;
}

/* Agents of active domains come and go by themselves: whoever has such is asked each time. */
static bool is_told(const struct vmop_xen_guests *guests, const struct vmop_source_domain *wanted,
		    size_t n)
{
	if (!guests->has_told || n != guests->n_told)
		return false;
	for (size_t i = 0; i < n; i++)
		if (wanted[i].id != guests->told[i].id || wanted[i].is_active ||
		    guests->told[i].is_active)
			return false;
	return true;
}

static int error_before(const struct vmop_xen_guests *guests, uint32_t id)
{
	for (size_t i = 0; i < guests->n_told; i++)
		if (guests->told[i].id == id)
			return guests->told[i].error;
	return 0;
}

/* A domain that Xen refuses, because it is going or somebody else has it, isn't sampled. */
static void note_error(struct vmop_domain *domain, int error)
{
	switch (error) {
	case 0:
		vmop_log_notice("guest \"%s\" is sampled now", domain->name);
		domain->note = domain->has_stale_addresses ? stale_note : NULL;
		break;
	case EAGAIN:
		domain->note = "not sampled so far: 'vmopd --active' in it is waited for";
		break;
	case ENOLINK: /* the source has a line about it */
		domain->note = "not sampled: no 'vmopd --active' answers in it";
		break;
	default:
		vmop_log_warning("guest \"%s\" is not sampled: Xen refuses it: %s", domain->name,
				 strerror(error));
		domain->note = "not sampled: Xen refuses it";
	}
}

/* What the source said of them. */
static void take_answers(struct vmop_xen_guests *guests, const struct vmop_source_domain *wanted,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct vmop_domain *domain = guests->xen->by_id[wanted[i].id];
		if (!domain)
			continue;
		domain->samples_own = wanted[i].samples;
		/* Without xenstore a refusal is an error: see check_refusals. */
		if (guests->store && wanted[i].error != error_before(guests, wanted[i].id))
			note_error(domain, wanted[i].error);
	}
}

static struct vmop_error *tell_source(struct vmop_xen_guests *guests)
{
	struct vmop_source_domain wanted[TOLD_MAX] = {0};
	if (!vmop_source_takes_domains(guests->source))
		return NULL;
	size_t n = gather(guests, wanted);
	if (is_told(guests, wanted, n))
		return NULL;
	struct vmop_error *err = vmop_source_set_domains(guests->source, wanted, n);
	if (err)
		return err; /* the next tick tries again */
	take_answers(guests, wanted, n);
	memcpy(guests->told, wanted, sizeof(wanted));
	guests->n_told = n;
	guests->has_told = true;
	return NULL;
}

/* ---- patterns ----------------------------------------------------------------------- */

/* Whether a domain that runs matches; *ret_running names all that run (the caller's; NULL: memory).
 */
static bool find_running(const struct vmop_xen_guests *guests, const struct vmop_passive *pattern,
			 char **ret_running)
{
	bool is_there = false;
	size_t size;
	FILE *out = open_memstream(ret_running, &size);
	if (!out)
		return false;
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		const struct vmop_domain *domain = guests->domains->at[i];
		if (!vmop_domain_is_domu(domain) || !domain->is_running)
			continue;
		is_there |= vmop_passive_match(pattern, domain->name, domain->uuid,
					       domain->source_id, UINT32_MAX) != NULL;
		fprintf(out, "%s%s (id %u)", ftell(out) ? ", " : "", domain->name,
			domain->source_id);
	}
	fclose(out);
	return is_there;
}

static struct vmop_error *check_patterns(const struct vmop_xen_guests *guests,
					 const struct vmop_passive *patterns, const char *kind,
					 size_t most)
{
	size_t n_named = 0;
	for (size_t i = 0; i < patterns->n; i++) {
		const struct vmop_passive one = {.patterns = &patterns->patterns[i], .n = 1};
		_cleanup_free_ char *running = NULL;
		if (!strcmp(one.patterns->text, "all"))
			continue;
		n_named++;
		if (find_running(guests, &one, &running))
			continue;
		if (!running)
			return &vmop_error_no_memory;
		return vmop_error_new(VMOP_ERROR_USAGE, "%s domain \"%s\" does not run; %s%.900s",
				      kind, one.patterns->text,
				      *running ? "those that do: " : "no guest does", running);
	}
	if (n_named > most)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "%zu %s domains are named: Xen samples %zu at the most",
				      n_named, kind, most);
	return NULL;
}

/* ---- without xenstore ---------------------------------------------------------------- */

/* Those that are named by their ids, as if they were listed. */
static void take_ids(struct vmop_xen_guests *guests, const struct vmop_passive *patterns)
{
	for (size_t i = 0; i < patterns->n; i++) {
		struct vmop_xenstore_domain entry = {0};
		if (vmop_xenstore_parse_domid(patterns->patterns[i].text, &entry.domid) &&
		    entry.domid != 0)
			take_entry(guests, &entry);
	}
}

/* An id that Xen refuses is none: there is nothing else to tell by. */
static struct vmop_error *check_refusals(const struct vmop_xen_guests *guests)
{
	for (size_t i = 0; i < guests->n_told; i++)
		if (guests->told[i].error)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "there is no domain %u, or Xen refuses it (%s); "
					      "'xl list' shows those there are",
					      guests->told[i].id, strerror(guests->told[i].error));
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------ */

/*
 * An NMI that ends a guest's turn on AMD's SVM is taken once Xen runs again, before it has
 * saved where the guest was: what Xen logs is where the guest was at its exit before (seen
 * with 4.17; xen/arch/x86/oprofile/op_model_athlon.c takes guest_cpu_user_regs() at
 * svm_stgi_label).
 */
static bool is_svm(const char *root)
{
	char text[4096];
	if (!root || vmop_procfs_read(root, text, sizeof(text), "/proc/cpuinfo") <= 0)
		return false;
	return strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine");
}

struct vmop_error *vmop_xen_guests_create(struct vmop_xen_domains *xen,
					  const struct vmop_passive *active,
					  struct vmop_source *source, struct vmop_xen_guests **ret)
{
	struct vmop_xen_guests *guests = calloc(1, sizeof(*guests));
	if (!guests)
		return &vmop_error_no_memory;
	struct vmop_domains *domains = xen->domains;
	guests->xen = xen;
	guests->domains = domains;
	guests->active = active;
	guests->source = source;
	guests->has_stale_addresses = is_svm(domains->root);
	struct vmop_error *err = vmop_xenstore_open(&guests->store);
	_cleanup_(vmop_error_cleanup) struct vmop_error *why = vmop_steal(&err);
	if (why) {
		take_ids(guests, domains->passive);
		take_ids(guests, active);
	}
	_cleanup_free_ struct vmop_xenstore_listing *listing =
		guests->store ? vmop_xenstore_take(guests->store) : NULL;
	if (listing)
		take_listing(guests, listing);
	bool is_strict = !domains->goes_on;
	if (!err && is_strict)
		err = check_patterns(guests, domains->passive, "passive", VMOP_XEN_PASSIVE_MAX);
	if (!err && is_strict)
		err = check_patterns(guests, active, "active", VMOP_XEN_ACTIVE_MAX);
	if (!err)
		err = tell_source(guests);
	if (!err && !guests->store && is_strict)
		err = check_refusals(guests);
	if (err) {
		vmop_xen_guests_destroy(guests);
		return err;
	}
	if (why && xen->is_by_perf)
		vmop_log_warning("which domains Xen has is not known, and not shown: %s",
				 why->message);
	else if (why)
		vmop_log_warning("Xen's domains go by their ids, and only those named by id are "
				 "sampled: %s",
				 why->message);
	*ret = guests;
	return NULL;
}

void vmop_xen_guests_destroy(struct vmop_xen_guests *guests)
{
	if (!guests)
		return;
	vmop_xenstore_close(guests->store);
	free(guests);
}

struct vmop_error *vmop_xen_guests_tick(struct vmop_xen_guests *guests)
{
	if (!guests->store)
		return tell_source(guests);
	_cleanup_free_ struct vmop_xenstore_listing *listing = vmop_xenstore_take(guests->store);
	if (listing)
		take_listing(guests, listing);
	struct vmop_error *err = tell_source(guests);
	unsigned silent_s = vmop_xenstore_silent_s(guests->store);
	bool is_silent = silent_s >= SILENCE_TOLD_S;
	if (!err && is_silent && !guests->is_silence_said)
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "xenstored has not answered for %u s: domains that come and "
				     "go are not noticed",
				     silent_s);
	guests->is_silence_said = is_silent;
	return err;
}
