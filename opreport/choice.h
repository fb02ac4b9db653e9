// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From profile specs to what a session has of them: marks the catalog's items
 * and fills the store's filter.
 */
#ifndef VMOP_OPREPORT_CHOICE_H
#define VMOP_OPREPORT_CHOICE_H

#include "libdb/db.h"
#include "opreport/catalog.h"
#include "opreport/spec.h"

struct vmop_choice {
	struct vmop_db_filter filter; /* points into the lists below */
	uint32_t *events, *domains, *images, *tasks;
	int32_t *cpus, *vcpus;
	bool is_everything;	 /* nothing is left out */
	bool filter_is_complete; /* no list was too long for the store's filter */
};

/*
 * by_bill: domains are those that pay, not those whose code it is.  A word that is no glob and
 * fits nothing is VMOP_ERROR_USAGE and says what there is; globs and numbers
 * that fit nothing select nothing (VMOP_ERROR_NOT_FOUND).
 */
struct vmop_error *vmop_choice_init(struct vmop_choice *choice, struct vmop_catalog *catalog,
				    const struct vmop_spec *spec, bool by_bill);
void vmop_choice_deinit(struct vmop_choice *choice);

#endif
