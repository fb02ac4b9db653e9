// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/guests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/guest/identify.h"
#include "daemon/xen/domains.h"
#include "daemon/xen/xenstore.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/procfs.h"

#define SELECTED_MAX (VMOP_XEN_PASSIVE_MAX + VMOP_XEN_ACTIVE_MAX)
/* How long xenstored may be silent before a warning is logged. */
#define SILENCE_WARNING_S 30
/* Listings that may lack a domain that a sample has reported: the next one ends it. */
#define UNLISTED_MAX 3

struct vmop_xen_guests {
	struct vmop_xen_domains *xen;
	struct vmop_domains *domains;
	const struct vmop_domain_patterns *active;
	struct vmop_source *source;
	struct vmop_xenstore *store; /* NULL: xenstored does not answer */
	bool has_stale_addresses;    /* see vmop_domain.has_stale_addresses */
	/* The domains that were set in the source last, with its answers. */
	struct vmop_source_domain selected[SELECTED_MAX];
	size_t n_selected;
	bool was_selected;
	bool limit_was_logged, silence_was_reported;
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
		return "none: active, its own vmopd reads them";
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
		vmop_domain_deselect(domain, VMOP_DOMAIN_UNSAMPLED);
		vmop_domain_set_note(domain,
				     guests->xen->unknown
					     ? "its samples are counted as " VMOP_DOMAIN_SOME_NAME
					     : "not sampled: perf in dom0 samples only dom0");
	} else if (vmop_domain_patterns_match(guests->active, domain->name, domain->uuid,
					      domain->source_id, UINT32_MAX)) {
		vmop_domain_deselect(domain, VMOP_DOMAIN_ACTIVE);
	}
	vmop_domain_set_symbols_from(domain, symbols_of_kind(domain->kind));
}

static const char stale_note[] = "on AMD, Xen samples the address of this guest's previous exit";

/* Format the word for status and reports: the type and id of a domain. */
static void format_vmm(const struct vmop_xenstore_domain *entry, char *buf, size_t size)
{
	snprintf(buf, size, "Xen %s %u", type_word(entry->type), entry->domid);
}

/* Take over the name, uuid and type of a domain from its entry, and select it by them. */
static void identify(struct vmop_xen_guests *guests, struct vmop_domain *domain,
		     const struct vmop_xenstore_domain *entry)
{
	char unnamed[32], vmm[sizeof(domain->vmm)];
	bool is_hvm = entry->type == VMOP_XEN_PVH || entry->type == VMOP_XEN_HVM;
	snprintf(unnamed, sizeof(unnamed), "domain-%u", entry->domid);
	format_vmm(entry, vmm, sizeof(vmm));
	vmop_domain_set_name(domain, *entry->name ? entry->name : unnamed);
	vmop_domain_set_uuid(domain, entry->uuid);
	vmop_domain_set_vmm(domain, vmm);
	vmop_domain_set_stale_addresses(domain, guests->has_stale_addresses &&
							!guests->xen->is_by_perf && is_hvm);
	if (domain->has_stale_addresses)
		vmop_domain_set_note(domain, stale_note);
	if (!domain->is_identified || domain->kind == VMOP_DOMAIN_UNSELECTED ||
	    guests->xen->is_by_perf)
		select_domain(guests, domain);
	vmop_identify_named(guests->domains, domain);
	vmop_domain_set_identified(domain, *entry->name || *entry->uuid || !guests->store);
}

static bool has_changed(const struct vmop_domain *domain, const struct vmop_xenstore_domain *entry)
{
	char vmm[sizeof(domain->vmm)];
	format_vmm(entry, vmm, sizeof(vmm));
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
		domain = vmop_xen_domains_ensure(guests->xen, entry->domid);
	if (!domain)
		return;
	bool is_new = !domain->is_identified;
	if (has_changed(domain, entry))
		identify(guests, domain, entry);
	if (is_new && domain->is_identified)
		vmop_log_info("guest \"%s\", %s: domain %u%s", domain->name, domain->vmm,
			      domain->id.number,
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
		/* A domain can appear in a sample before xenstore lists it: wait for some lists. */
		if (vmop_domain_is_domu(domain) && domain->is_running &&
		    !is_listed(listing, domain->source_id) &&
		    (domain->is_identified || vmop_domain_count_unlisted(domain) >= UNLISTED_MAX))
			vmop_domain_end(domain);
	}
	for (size_t i = 0; i < listing->n; i++)
		take_entry(guests, &listing->at[i]);
}

/* ---- the source --------------------------------------------------------------------- */

/* Deselect a domain beyond the limit of Xen, and log that once. */
static void leave_out(struct vmop_xen_guests *guests, struct vmop_domain *domain)
{
	vmop_domain_deselect(domain, VMOP_DOMAIN_UNSELECTED);
	vmop_domain_set_symbols_from(domain, "none: Xen samples at most 25 passive domains");
	if (!guests->limit_was_logged)
		vmop_log_warning("more than %d domains run, and Xen samples no more: name the ones "
				 "that matter with --passive-domains (\"%s\" is the first left "
				 "out)",
				 VMOP_XEN_PASSIVE_MAX, domain->name);
	guests->limit_was_logged = true;
}

/* List the domains that the source shall sample. Returns their number. */
static size_t list_selected(struct vmop_xen_guests *guests,
			    struct vmop_source_domain wanted[SELECTED_MAX])
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

/*
 * Return whether the source has the wanted domains already.  A set with active domains is always
 * set again, because their agents come and go without notice.
 */
static bool is_selected(const struct vmop_xen_guests *guests,
			const struct vmop_source_domain *wanted, size_t n)
{
	if (!guests->was_selected || n != guests->n_selected)
		return false;
	for (size_t i = 0; i < n; i++)
		if (wanted[i].id != guests->selected[i].id || wanted[i].is_active ||
		    guests->selected[i].is_active)
			return false;
	return true;
}

/* Return the error that the source reported last for the domain of that id; 0: none. */
static int error_before(const struct vmop_xen_guests *guests, uint32_t id)
{
	for (size_t i = 0; i < guests->n_selected; i++)
		if (guests->selected[i].id == id)
			return guests->selected[i].error;
	return 0;
}

/*
 * Note whether a domain is sampled.  Xen refuses a domain that is being destroyed, or that another
 * profiler samples.
 */
static void note_error(struct vmop_domain *domain, int error)
{
	switch (error) {
	case 0:
		vmop_log_notice("guest \"%s\" is sampled now", domain->name);
		vmop_domain_set_note(domain, domain->has_stale_addresses ? stale_note : NULL);
		break;
	case EAGAIN:
		vmop_domain_set_note(domain, "not sampled yet: waiting for its 'vmopd --active'");
		break;
	case ENOLINK: /* the source logs it */
		vmop_domain_set_note(domain, "not sampled: no 'vmopd --active' answers in it");
		break;
	default:
		vmop_log_warning("guest \"%s\" is not sampled: Xen refuses it: %s", domain->name,
				 strerror(error));
		vmop_domain_set_note(domain, "not sampled: Xen refuses it");
	}
}

/* Take over the counts and errors that the source reported. */
static void take_answers(struct vmop_xen_guests *guests, const struct vmop_source_domain *wanted,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct vmop_domain *domain = guests->xen->by_id[wanted[i].id];
		if (!domain)
			continue;
		vmop_domain_set_samples_own(domain, wanted[i].samples);
		/* Without xenstore a refusal is an error: see check_refusals. */
		if (guests->store && wanted[i].error != error_before(guests, wanted[i].id))
			note_error(domain, wanted[i].error);
	}
}

/* Set the selected domains in the source if they changed. */
static struct vmop_error *update_source(struct vmop_xen_guests *guests)
{
	struct vmop_source_domain wanted[SELECTED_MAX] = {0};
	if (!vmop_source_takes_domains(guests->source))
		return NULL;
	size_t n = list_selected(guests, wanted);
	if (is_selected(guests, wanted, n))
		return NULL;
	struct vmop_error *err = vmop_source_set_domains(guests->source, wanted, n);
	if (err)
		return err; /* the next tick tries again */
	take_answers(guests, wanted, n);
	memcpy(guests->selected, wanted, sizeof(wanted));
	guests->n_selected = n;
	guests->was_selected = true;
	return NULL;
}

/* ---- patterns ----------------------------------------------------------------------- */

/*
 * Return whether a running domain matches.  *ret_running lists all that run: the caller frees it;
 * NULL: out of memory.
 */
static bool find_running(const struct vmop_xen_guests *guests,
			 const struct vmop_domain_patterns *pattern, char **ret_running)
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
		is_there |= vmop_domain_patterns_match(pattern, domain->name, domain->uuid,
						       domain->source_id, UINT32_MAX) != NULL;
		fprintf(out, "%s%s (id %u)", ftell(out) ? ", " : "", domain->name,
			domain->source_id);
	}
	fclose(out);
	return is_there;
}

static struct vmop_error *check_patterns(const struct vmop_xen_guests *guests,
					 const struct vmop_domain_patterns *patterns,
					 const char *kind, size_t most)
{
	size_t n_named = 0;
	for (size_t i = 0; i < patterns->n; i++) {
		const struct vmop_domain_patterns one = {.patterns = &patterns->patterns[i],
							 .n = 1};
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
				      "%zu %s domains are named: Xen samples at most %zu", n_named,
				      kind, most);
	return NULL;
}

/* ---- without xenstore ---------------------------------------------------------------- */

/* Add the domains that the patterns name by id, as if xenstore listed them. */
static void take_ids(struct vmop_xen_guests *guests, const struct vmop_domain_patterns *patterns)
{
	for (size_t i = 0; i < patterns->n; i++) {
		struct vmop_xenstore_domain entry = {0};
		if (vmop_xenstore_parse_domid(patterns->patterns[i].text, &entry.domid) &&
		    entry.domid != 0)
			take_entry(guests, &entry);
	}
}

/* Return an error for an id that Xen refuses: without xenstore nothing else validates it. */
static struct vmop_error *check_refusals(const struct vmop_xen_guests *guests)
{
	for (size_t i = 0; i < guests->n_selected; i++)
		if (guests->selected[i].error)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "domain %u does not exist, or Xen refuses it (%s); "
					      "'xl list' lists the domains",
					      guests->selected[i].id,
					      strerror(guests->selected[i].error));
	return NULL;
}

/* ---- life ------------------------------------------------------------------------------ */

/*
 * Return whether Xen samples stale addresses here.  On AMD's SVM, an NMI that causes a guest's exit
 * is handled when Xen runs again, before Xen has saved the guest's registers.  Xen then logs the
 * address of the exit before (seen with 4.17: xen/arch/x86/oprofile/op_model_athlon.c reads
 * guest_cpu_user_regs() at svm_stgi_label).
 */
static bool is_svm(const char *root)
{
	char text[4096];
	if (!root || vmop_procfs_read(root, text, sizeof(text), "/proc/cpuinfo") <= 0)
		return false;
	return strstr(text, "AuthenticAMD") || strstr(text, "HygonGenuine");
}

struct vmop_error *vmop_xen_guests_create(struct vmop_xen_domains *xen,
					  const struct vmop_domain_patterns *active,
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
	_cleanup_(vmop_error_cleanup) struct vmop_error *store_err = vmop_steal(&err);
	if (store_err) {
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
		err = update_source(guests);
	if (!err && !guests->store && is_strict)
		err = check_refusals(guests);
	if (err) {
		vmop_xen_guests_destroy(guests);
		return err;
	}
	if (store_err && xen->is_by_perf)
		vmop_log_warning("Xen's other domains cannot be listed: %s", store_err->message);
	else if (store_err)
		vmop_log_warning("Xen's domains go by their ids, and only domains named by id are "
				 "sampled: %s",
				 store_err->message);
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
		return update_source(guests);
	_cleanup_free_ struct vmop_xenstore_listing *listing = vmop_xenstore_take(guests->store);
	if (listing)
		take_listing(guests, listing);
	struct vmop_error *err = update_source(guests);
	unsigned silent_s = vmop_xenstore_silent_s(guests->store);
	bool is_silent = silent_s >= SILENCE_WARNING_S;
	if (!err && is_silent && !guests->silence_was_reported)
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "xenstored has not answered for %u s: new and destroyed "
				     "domains are not detected",
				     silent_s);
	guests->silence_was_reported = is_silent;
	return err;
}
