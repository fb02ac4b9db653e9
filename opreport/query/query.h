// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The one way from session files to rows that all readers share: which samples
 * (spec), seen how (dimensions, accounting), give which rows.
 *
 * A result keeps everything it points to.  Open within the folder.
 */
#ifndef VMOP_OPREPORT_QUERY_QUERY_H
#define VMOP_OPREPORT_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libsym/resolver.h"
#include "opreport/query/catalog.h"
#include "opreport/query/choice.h"
#include "opreport/query/group.h"
#include "opreport/query/spec.h"
#include "opreport/query/symbols.h"
#include "opreport/query/tally.h"

enum vmop_dimension {
	VMOP_BY_DOMAIN = 1 << 0,
	VMOP_BY_IMAGE = 1 << 1,
	VMOP_BY_SYMBOL = 1 << 2, /* with VMOP_BY_IMAGE */
	VMOP_BY_TASK = 1 << 3,
	VMOP_BY_CGROUP = 1 << 4,
	VMOP_BY_CPU = 1 << 5,
	VMOP_BY_VCPU = 1 << 6,
	VMOP_BY_MODE = 1 << 7,
	VMOP_BY_CERTAINTY = 1 << 8,
	VMOP_BY_SESSION = 1 << 9,
	VMOP_BY_LIFE = 1 << 10, /* with VMOP_BY_DOMAIN */
};

/*
 * CPU-switch accounting puts a sample to the domain whose code ran;
 * domain-switch accounting to the guest that it was done for, with the hypervisor's and the
 * VMM's work (DESIGN.md section 1).
 */
enum vmop_accounting {
	VMOP_ACCOUNTING_CPU,
	VMOP_ACCOUNTING_DOMAIN,
};

/* What a domain's bill is made of: the parts that a row's counts are split into. */
enum vmop_part {
	VMOP_PART_USER,
	VMOP_PART_KERNEL,
	VMOP_PART_HYPERVISOR,
	VMOP_PART_VMM,
	VMOP_PART_OTHER, /* mode not known: opaque guests */
	VMOP_N_PARTS,
};

struct vmop_query {
	unsigned dimensions; /* enum vmop_dimension */
	enum vmop_accounting accounting;
	unsigned merge;		/* enum vmop_merge */
	bool by_part;		/* split by enum vmop_part */
	bool details;		/* keep the addresses within symbols */
	bool exclude_dependent; /* the tasks' own executables alone */
	bool exclude_idle;
	bool idle_functions;	  /* else functions in which CPUs are idle are one symbol */
	bool of_whole_session;	  /* shares are of everything sampled, not of what specs select */
	double threshold_percent; /* symbols of images below it need not be looked up */
	struct vmop_resolver_options resolver;
};

struct vmop_row {
	const struct vmop_group *group;
	const struct vmop_symbol *symbol; /* NULL: none, or not by symbol; or &vmop_idle_symbol */
	const char *name;		  /* of symbol, as shown; NULL: not asked for yet */
	uint64_t address;		  /* of symbol: offset in its file, or address */
	const struct vmop_count *counts;  /* n_events * n_parts, event first */
	uint8_t modes;			  /* bits 1 << enum vmop_mode: it has samples of */
	size_t index;			  /* in rows_tally */
	size_t first_detail, n_details;
};

struct vmop_detail {
	uint64_t address;
	const struct vmop_count *counts;
	size_t row; /* index in rows_tally; used while the result is made */
};

/* Samples whose symbol is not known, by image. */
struct vmop_missing {
	uint64_t samples;     /* of all images */
	uint64_t top_samples; /* of the image with the most */
	size_t top_image;     /* index; 0 none */
	const char *top_why;
};

/* Samples of a session that are not in the result because another session has them. */
struct vmop_omitted {
	size_t session;
	size_t domain;	  /* catalog index of the one that stands for it */
	uint64_t samples; /* of all events */
};

/* Counts of everything that a report's bounds of time and memory leave out. */
struct vmop_left_out {
	uint64_t events;    /* beyond VMOP_COLUMNS_MAX, or VMOP_EVENTS_MAX */
	uint64_t items;	    /* tasks, images and domains: see catalog.h */
	uint64_t samples;   /* of rows beyond VMOP_TALLY_MAX_BYTES */
	uint64_t images;    /* whose symbols were not looked for: see symbols.h */
	bool details;	    /* all of them */
	uint64_t n_details; /* else so many */
};

#define VMOP_COLUMNS_MAX 256 /* events of one report */

struct vmop_result {
	struct vmop_catalog catalog;
	struct vmop_choice choice;
	struct vmop_groups groups;
	/* cells: by address, or where addresses are not asked for by the first of a symbol's */
	struct vmop_tally cells, rows_tally;
	uint8_t *modes; /* by rows_tally's index */
	size_t modes_capacity;
	struct vmop_symbols *symbols; /* NULL when not by symbol */
	unsigned dimensions;
	size_t n_events, n_parts;
	size_t *events; /* n_events: catalog index of the first event of each slot */
	struct vmop_row *rows;
	size_t n_rows;
	struct vmop_detail *details;
	size_t n_details;
	struct vmop_count *selected; /* n_events: everything that specs select */
	struct vmop_count *base;     /* n_events: what shares are of */
	/* By row's image: the samples of all events. */
	uint64_t *image_samples;
	/* By row's image * n_events; NULL: not wanted, or too large. */
	uint64_t *image_weights;
	/* Samples of the first event: hosts' idle tasks, and by symbol guests' idle functions. */
	struct vmop_count idle;
	uint64_t certain[VMOP_N_CERTAINTIES]; /* samples selected, by enum vmop_certainty */
	struct vmop_missing missing;
	struct vmop_omitted *omitted; /* ascending by session and domain */
	size_t n_omitted, omitted_capacity;
	struct vmop_left_out left_out;
};

/*
 * Each session is read in one snapshot, and no longer needed afterwards.  Rows of several are
 * merged by domain (identity.h), image and symbol; at most VMOP_SESSIONS_MAX.  Nothing selected
 * is VMOP_ERROR_NOT_FOUND; what is wrong with one of several sessions names it.  ret is
 * deinitialised by the caller also after an error.
 */
struct vmop_error *vmop_query_run(const struct vmop_query *query, const struct vmop_spec *spec,
				  const struct vmop_session_input *sessions, size_t n_sessions,
				  struct vmop_result *ret);
void vmop_result_deinit(struct vmop_result *result);

/* The event of a column, slot of n_events; of several sessions' that are one, the first. */
static inline const struct vmop_event_item *vmop_result_event(const struct vmop_result *result,
							      size_t slot)
{
	return vmop_catalog_event(&result->catalog, result->events[slot]);
}

/* The sum of an event's parts. */
struct vmop_count vmop_result_sum(const struct vmop_result *result, const struct vmop_count *counts,
				  size_t event);

/* The symbol's name as shown, "(no symbols)" where there is none. */
const char *vmop_result_symbol_name(struct vmop_result *result, struct vmop_row *row);

/* The catalog's items of a row's group. */
const struct vmop_domain_item *vmop_row_domain(const struct vmop_result *result,
					       const struct vmop_row *row);
const struct vmop_image_item *vmop_row_image(const struct vmop_result *result,
					     const struct vmop_row *row);
const struct vmop_task_item *vmop_row_task(const struct vmop_result *result,
					   const struct vmop_row *row);
const char *vmop_row_cgroup(const struct vmop_result *result, const struct vmop_row *row);
const char *vmop_row_session(const struct vmop_result *result, const struct vmop_row *row);

#endif
