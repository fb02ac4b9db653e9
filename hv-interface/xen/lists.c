// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/lists.h"

#include <errno.h>

/* dom0 takes one place in the active list. */
enum { PASSIVE_MAX = VMOP_XENOPROF_DOMAINS_MAX, ACTIVE_MAX = VMOP_XENOPROF_DOMAINS_MAX - 1 };

static struct vmop_error *too_many(const char *kind, int most, size_t n)
{
	return vmop_error_new(VMOP_ERROR_LIMIT,
			      "Xen samples %d %s domains at a time, not %zu; name those that "
			      "matter with --%s-domains",
			      most, kind, n, kind);
}

struct vmop_error *vmop_xen_lists_check(const struct vmop_source_domain *domains, size_t n)
{
	size_t n_passive = 0;
	for (size_t i = 0; i < n; i++) {
		n_passive += !domains[i].is_active;
		if (domains[i].id == 0 || domains[i].id >= VMOP_XEN_DOMID_FIRST_RESERVED)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%u is not the id of a domain that can be sampled",
					      domains[i].id);
	}
	if (n_passive > PASSIVE_MAX)
		return too_many("passive", PASSIVE_MAX, n_passive);
	if (n - n_passive > ACTIVE_MAX)
		return too_many("active", ACTIVE_MAX, n - n_passive);
	return NULL;
}

static int error_of(enum vmop_active_presence presence)
{
	switch (presence) {
	case VMOP_ACTIVE_PROBED:
		return EAGAIN;
	case VMOP_ACTIVE_ABSENT:
		return ENOLINK;
	case VMOP_ACTIVE_THERE:
		break;
	}
	return 0;
}

void vmop_xen_lists_set_presence(struct vmop_source_domain *domains, size_t n,
				 const struct vmop_active_group *group)
{
	for (size_t i = 0; i < n; i++) {
		if (!domains[i].is_active)
			continue;
		domains[i].error = error_of(vmop_active_group_presence(group, domains[i].id));
		domains[i].samples = vmop_active_group_samples(group, domains[i].id);
	}
}

bool vmop_xen_lists_differ(const struct vmop_xen_lists *lists,
			   const struct vmop_source_domain *domains, size_t n)
{
	size_t n_active = 0, n_passive = 0;
	for (size_t i = 0; i < n; i++) {
		bool is_active = domains[i].is_active;
		const struct vmop_xen_domain *list = is_active ? lists->active : lists->passive;
		size_t n_list = is_active ? lists->n_active : lists->n_passive;
		if (domains[i].error)
			continue;
		size_t at = is_active ? n_active++ : n_passive++;
		if (at >= n_list || list[at].id != domains[i].id)
			return true;
	}
	return n_active != lists->n_active || n_passive != lists->n_passive;
}

void vmop_xen_lists_set(struct vmop_xen_lists *lists, const struct vmop_source_domain *domains,
			size_t n)
{
	*lists = (struct vmop_xen_lists){0};
	for (size_t i = 0; i < n; i++) {
		if (domains[i].error)
			continue;
		*(domains[i].is_active ? &lists->active[lists->n_active++]
				       : &lists->passive[lists->n_passive++]) =
			(struct vmop_xen_domain){.id = (uint16_t)domains[i].id};
	}
}

void vmop_xen_lists_drop_absent(struct vmop_xen_lists *lists, const struct vmop_active_group *group)
{
	size_t n = 0;
	for (size_t i = 0; i < lists->n_active; i++) {
		if (vmop_active_group_presence(group, lists->active[i].id) == VMOP_ACTIVE_THERE)
			lists->active[n++] = lists->active[i];
	}
	lists->n_active = n;
}

void vmop_xen_lists_copy_errors(const struct vmop_xen_lists *lists,
				struct vmop_source_domain *domains, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool is_active = domains[i].is_active;
		const struct vmop_xen_domain *list = is_active ? lists->active : lists->passive;
		size_t at = 0, n_list = is_active ? lists->n_active : lists->n_passive;
		if (domains[i].error)
			continue;
		while (at < n_list && list[at].id != domains[i].id)
			at++;
		domains[i].error = at < n_list ? list[at].error : ENOLINK;
	}
}
