// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Apply profile specs to a catalog: mark the selected items, and fill the filter with which each
 * session's store is read.
 */
#ifndef VMOP_OPREPORT_QUERY_CHOICE_H
#define VMOP_OPREPORT_QUERY_CHOICE_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"

/* The ids of a session's selected items.  n 0: the specs do not name items of this kind. */
struct vmop_selected_ids {
	struct vmop_event_id *events;
	struct vmop_domain_id *domains;
	struct vmop_image_id *images;
	struct vmop_task_row_id *tasks;
	size_t n_events, n_domains, n_images, n_tasks;
};

struct vmop_session_choice {
	struct vmop_db_filter filter; /* points to the lists below and in the choice */
	struct vmop_selected_ids selected;
	struct vmop_db_omission *omissions;
	bool is_empty;		 /* the session has no selected item */
	bool filter_is_complete; /* every list fits the store's filter */
};

struct vmop_choice {
	struct vmop_session_choice *sessions; /* n_sessions, in the catalog's order */
	size_t n_sessions;
	uint64_t from_ns, to_ns; /* CLOCK_REALTIME; to_ns 0: no end */
	int32_t *cpus, *vcpus;
	bool is_everything; /* the specs select all samples */
};

/*
 * Initialise choice from spec, and set `selected` of the catalog's items.  by_bill: domain: selects
 * the domains that are billed, else the domains whose code ran.  Samples that are omitted because
 * another session has them (omission.h) do not clear is_everything.
 *
 * A word without wildcards that matches no item is VMOP_ERROR_USAGE with a list of the items.
 * Globs and numbers without a match are VMOP_ERROR_NOT_FOUND.  The caller deinitialises choice also
 * after an error.
 */
struct vmop_error *vmop_choice_init(struct vmop_choice *choice, struct vmop_catalog *catalog,
				    const struct vmop_spec *spec, bool by_bill);
void vmop_choice_deinit(struct vmop_choice *choice);

#endif
