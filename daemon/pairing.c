// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/pairing.h"

#include <stdlib.h>
#include <string.h>

struct vmop_error *vmop_pairing_init(struct vmop_pairing *pairing, const struct vmop_setup *setup)
{
	const struct vmop_setup_list *domains = &setup->passive_domains;
	*pairing = (struct vmop_pairing){0};
	if (domains->n == 1 && !strcmp(domains->items[0], "none"))
		return NULL;
	pairing->domains = (const char *const *)domains->items;
	pairing->n = domains->n;
	if (!setup->passive_images.n)
		return NULL;
	pairing->images = calloc(pairing->n, sizeof(*pairing->images));
	if (!pairing->images)
		return &vmop_error_no_memory;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < setup->passive_images.n && !err; i++) {
		char *path = NULL;
		err = vmop_setup_split_image(setup->passive_images.items[i], &path,
					     &pairing->images[i].offset_bytes);
		pairing->images[i].path = path;
	}
	if (err)
		vmop_pairing_deinit(pairing);
	return err;
}

void vmop_pairing_deinit(struct vmop_pairing *pairing)
{
	for (size_t i = 0; pairing->images && i < pairing->n; i++)
		free((char *)pairing->images[i].path);
	free(pairing->images);
	*pairing = (struct vmop_pairing){0};
}
