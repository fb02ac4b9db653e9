// SPDX-License-Identifier: GPL-2.0-or-later
/* Checks of the set-up that need more than one key. */
#include <string.h>

#include "libutil/setup-key.h"

static struct vmop_error *check_domains(const char *key, const struct vmop_setup_list *domains)
{
	for (size_t i = 0; i < domains->n && domains->n > 1; i++)
		if (!strcmp(domains->items[i], "all") || !strcmp(domains->items[i], "none"))
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s: '%s' can't be combined with another name", key,
					      domains->items[i]);
	return NULL;
}

/*
 * A domain can be active or passive, not both. "all" of one kind leaves out the names of the other.
 */
static struct vmop_error *check_kinds(const struct vmop_setup *setup)
{
	for (size_t i = 0; i < setup->active_domains.n; i++)
		for (size_t j = 0; j < setup->passive_domains.n; j++)
			if (!strcmp(setup->active_domains.items[i],
				    setup->passive_domains.items[j]) &&
			    strcmp(setup->active_domains.items[i], "all") != 0)
				return vmop_error_new(
					VMOP_ERROR_USAGE,
					"domain '%s' can't be both active and passive",
					setup->active_domains.items[i]);
	return NULL;
}

/* Blocked threads are those of passive guests, whose memory must be read. */
static struct vmop_error *check_off_cpu(const struct vmop_setup *setup)
{
	const struct vmop_setup_list *passive = &setup->passive_domains;
	if (!setup->off_cpu.hz)
		return NULL;
	if (!setup->guest_cpu_permille)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "off-cpu needs the memory of guests: give guest-cpu more "
				      "than 0, or off-cpu=off");
	if (passive->n == 1 && !strcmp(passive->items[0], "none"))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "off-cpu samples passive guests, and passive-domains is "
				      "'none': name some, or give off-cpu=off");
	return NULL;
}

struct vmop_error *vmop_setup_check(const struct vmop_setup *setup)
{
	const struct vmop_setup_list *domains = &setup->passive_domains;
	size_t n_images = setup->passive_images.n;
	struct vmop_error *err = check_domains("passive-domains", domains);
	if (!err)
		err = check_domains("active-domains", &setup->active_domains);
	if (!err)
		err = check_kinds(setup);
	if (!err)
		err = check_off_cpu(setup);
	if (!err)
		err = vmop_setup_check_ladder(setup);
	if (!err)
		err = vmop_setup_check_retention(setup);
	if (err)
		return err;
	if (setup->guest_context == VMOP_SETUP_CONTEXT_ON && !setup->guest_cpu_permille)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "guest-context: 'on' needs guests' memory to be read, but "
				      "guest-cpu is 0");
	bool has_names = domains->n > 0 && strcmp(domains->items[0], "all") != 0 &&
			 strcmp(domains->items[0], "none") != 0;
	if (n_images && (!has_names || n_images > domains->n))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"passive-images: %zu image(s) for %zu named passive domain(s); "
			"they are paired by position with passive-domains",
			n_images, has_names ? domains->n : (size_t)0);
	return NULL;
}
