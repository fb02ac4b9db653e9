// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From profile specs to what sessions have of them: marks the catalog's items
 * and fills the filter of each session's store.
 */
#ifndef VMOP_OPREPORT_QUERY_CHOICE_H
#define VMOP_OPREPORT_QUERY_CHOICE_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"

/* The tables of a catalog whose items a spec names. */
enum vmop_table_kind {
	VMOP_TABLE_EVENTS,
	VMOP_TABLE_DOMAINS,
	VMOP_TABLE_IMAGES,
	VMOP_TABLE_TASKS,
	VMOP_N_TABLES,
};

struct vmop_id_list {
	uint32_t *ids;
	size_t n;
};

struct vmop_session_choice {
	struct vmop_db_filter filter; /* points into the lists here and in the choice */
	struct vmop_id_list selected[VMOP_N_TABLES]; /* by enum vmop_table_kind; empty: all */
	struct vmop_db_omission *omissions;
	bool is_empty;		 /* the session has nothing of what is selected */
	bool filter_is_complete; /* no list was too long for the store's filter */
};

struct vmop_choice {
	struct vmop_session_choice *sessions; /* n_sessions, as the catalog's */
	size_t n_sessions;
	uint64_t from_ns, to_ns; /* to 0: no end */
	int32_t *cpus, *vcpus;
	bool is_everything; /* nothing is left out */
};

/*
 * What is left out because another session has it (identity.h) doesn't count against
 * is_everything.  by_bill: domains are those that pay, not those whose code it is.  A word that is
 * no glob and fits nothing is VMOP_ERROR_USAGE and says what there is; globs and numbers that fit
 * nothing select nothing (VMOP_ERROR_NOT_FOUND).
 */
struct vmop_error *vmop_choice_init(struct vmop_choice *choice, struct vmop_catalog *catalog,
				    const struct vmop_spec *spec, bool by_bill);
void vmop_choice_deinit(struct vmop_choice *choice);

#endif
