// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Query: read session files and sum their samples into rows, by the dimensions of a query.
 *
 * Callers: vmopreport.c runs a query, opreport/arrange sorts the rows and makes a report of them.
 * Data meets the files of this folder in this order:
 *   spec          which samples the command line selects
 *   catalog       the events, domains, tasks and images of all sessions, in an arena
 *   unify         which items are the same thing; identity does so for domains
 *   choice        marks the selected items and makes the filter for each session's store
 *   event-slots   which events share a column
 *   time-slots    the intervals that rows by time are made of; time-steps are those of a series
 *   run           walks over the store's samples
 *   kept-sums     has the sums by symbol of earlier reports, in a file (kept-file)
 *   take          adds them to tallies, by group; run-memo has the places of late ones
 *   symbols       the symbols of an image, from the session or its file
 *   resolve       turns cells (image and offset) into rows by symbol; idle finds idle functions
 *   result        makes the rows, and names their items
 *   ratio         instructions per cycle and the like of the rows; event-name finds the events
 *
 * A result owns everything that it points to.  The structs are open within opreport.
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
#include "opreport/query/time-slots.h"
#include "vmop/stack.h"

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
	VMOP_BY_TIME = 1 << 11, /* time-slots.h */
};

/*
 * CPU-switch accounting counts a sample for the domain whose code ran.  Domain-switch accounting
 * counts it for the guest that is billed, with the work of the hypervisor and the VMM.
 */
enum vmop_accounting {
	VMOP_ACCOUNTING_CPU,
	VMOP_ACCOUNTING_DOMAIN,
};

/* The parts of a domain's bill, into which a row's counts are split. */
enum vmop_part {
	VMOP_PART_USER,
	VMOP_PART_KERNEL,
	VMOP_PART_HYPERVISOR,
	VMOP_PART_VMM,
	VMOP_PART_OTHER, /* unknown mode: opaque guests */
	VMOP_N_PARTS,
};

struct vmop_kept_sums;
struct vmop_result;

/* Samples of one event with one stack: of a symbol, or of an address where it has none. */
struct vmop_sample_run {
	const struct vmop_db_chunk_key *key; /* in the session's ids */
	const struct vmop_group *group;	     /* NULL: there are too many groups */
	size_t image;			     /* catalog index: where the addresses count from */
	uint64_t offset;		     /* of the first sample's address in that image */
	const struct vmop_symtab *symtab;    /* of the image; NULL: none */
	const struct vmop_symbol *symbol;    /* NULL: none */
	size_t event;			     /* slot */
	uint64_t interval_start_ns, interval_len_ns; /* CLOCK_REALTIME */
	struct vmop_count count;		     /* weights are scaled */
};

/*
 * A receiver of a query's selected samples with their stacks, in runs.  opreport/stacks has one; a
 * query without it takes all stacks for one.
 */
struct vmop_sample_sink {
	bool by_offset; /* each address is a run of its own */
	bool is_filter; /* it can refuse runs, so the report is not of all samples */
	/* Begin a session.  result has its catalog, events and symbols. */
	struct vmop_error *(*begin)(void *arg, struct vmop_result *result, size_t session,
				    struct vmop_db *db);
	/* Take a run, or set *ret_wanted to false: then the query does not count it either. */
	struct vmop_error *(*take)(void *arg, const struct vmop_sample_run *run, bool *ret_wanted);
	void *arg;
};

struct vmop_query {
	unsigned dimensions; /* enum vmop_dimension */
	enum vmop_accounting accounting;
	unsigned merge;		/* enum vmop_merge */
	bool by_part;		/* split by enum vmop_part */
	bool details;		/* keep the addresses within symbols */
	bool exclude_dependent; /* only samples in the tasks' own executables */
	bool exclude_idle;
	bool idle_functions;	  /* show idle functions by name, not as one symbol */
	bool of_whole_session;	  /* percents are of all samples, not of the selected ones */
	size_t time_slots;	  /* with VMOP_BY_TIME: at most so many of each session */
	bool by_step;		  /* with VMOP_BY_TIME: slots are steps, and time_base is set */
	uint64_t time_step_s;	  /* of by_step; 0: chosen */
	double threshold_percent; /* look up no symbols of images below it */
	struct vmop_resolver_options resolver;
	const struct vmop_sample_sink *sink; /* NULL: none */
};

/* The type of a symbol that stands for an inlined function, and has no address. */
#define VMOP_SYMBOL_INLINED 'I'

struct vmop_row {
	const struct vmop_group *group;
	const struct vmop_symbol *symbol; /* &vmop_idle_symbol; or NULL: none, or not by symbol */
	const char *name;		  /* of symbol, as shown; NULL: not made yet */
	uint64_t address;		  /* of symbol: address, or offset in its file */
	const struct vmop_count *counts;  /* n_events * n_parts, event first */
	const struct vmop_count *below;	  /* n_events: see vmop_result.below; NULL: not counted */
	uint8_t modes;			  /* bits 1 << enum vmop_mode of its samples */
	size_t index;			  /* its index in rows_tally */
	size_t first_detail, n_details;
};

struct vmop_detail {
	uint64_t address;
	const struct vmop_count *counts;
	size_t row; /* index in rows_tally, while the result is made */
};

/* Samples without a symbol. */
struct vmop_missing {
	uint64_t samples;     /* of all images */
	uint64_t top_samples; /* of the image with the most of them */
	size_t top_image;     /* its index; 0: none */
	const char *top_why;
};

/* Samples of a session that were omitted because another session has them. */
struct vmop_omitted {
	size_t session;
	size_t domain;	  /* catalog index of its row */
	uint64_t samples; /* of all events */
};

/* Counts of what a report's bounds of time and memory leave out. */
struct vmop_left_out {
	uint64_t events;    /* beyond VMOP_COLUMNS_MAX, or VMOP_EVENTS_MAX */
	uint64_t items;	    /* tasks, images and domains: see catalog.h */
	uint64_t samples;   /* of rows beyond VMOP_TALLY_MAX_BYTES */
	uint64_t stacks;    /* samples of a call tree's frames beyond its bounds */
	uint64_t images;    /* whose symbols were not looked up: see symbols.h */
	bool details;	    /* all details are left out */
	uint64_t n_details; /* else the number of details left out */
};

/* Samples by their stacks' ends, of all events. */
struct vmop_stack_facts {
	bool are_read;			  /* by the query's sink */
	uint64_t ends[VMOP_N_STACK_ENDS]; /* by enum vmop_stack_end */
	uint64_t damaged;		  /* of stacks that the file does not define */
	uint64_t none;			  /* without a stack */
};

#define VMOP_COLUMNS_MAX 256 /* events of one report */

struct vmop_result {
	struct vmop_catalog catalog;
	struct vmop_choice choice;
	struct vmop_time_slots times; /* empty unless by time */
	struct vmop_groups groups;
	/* cells: by address, or by a symbol's start where the query needs no addresses */
	struct vmop_tally cells, rows_tally;
	uint8_t *modes; /* by rows_tally's index */
	size_t modes_capacity;
	/*
	 * Samples in the row or in code that it called, each counted once in a row: by rows_tally's
	 * index * n_events.  NULL: not counted (opreport/stacks/inclusive.h).
	 */
	struct vmop_count *below;
	struct vmop_symbols *symbols; /* NULL when not by symbol */
	struct vmop_kept_sums *kept;  /* what symbol tables refer to: kept-sums.h */
	unsigned dimensions;
	size_t n_events, n_parts;
	size_t *events; /* n_events: catalog index of the first event of each slot */
	struct vmop_row *rows;
	size_t n_rows;
	struct vmop_detail *details;
	size_t n_details;
	struct vmop_count *selected; /* n_events: all selected samples */
	struct vmop_count *base;     /* n_events: 100 % of the percents */
	/* With by_step, by slot * n_events: 100 % of the slot, whatever the specs.  Else NULL. */
	struct vmop_count *time_base;
	/* Samples of all events, by the image's row. */
	uint64_t *image_samples;
	/* Weights, by the image's row * n_events; NULL: not needed, or too large. */
	uint64_t *image_weights;
	/* Samples of the first event in hosts' idle tasks and, by symbol, guests' idle functions.
	 */
	struct vmop_count idle;
	uint64_t certain[VMOP_N_CERTAINTIES]; /* selected samples, by enum vmop_certainty */
	struct vmop_missing missing;
	struct vmop_omitted *omitted; /* ascending by session and domain */
	size_t n_omitted, omitted_capacity;
	struct vmop_left_out left_out;
	struct vmop_stack_facts stacks;
};

/*
 * Run a query over the sessions[0..n_sessions), at most VMOP_SESSIONS_MAX, and set *ret.  Each
 * session is read in one snapshot and can be closed afterwards.  Rows of several sessions are
 * merged by domain (identity.h), image and symbol.  No selected sample is VMOP_ERROR_NOT_FOUND.  An
 * error in one of several sessions names it.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_query_run(const struct vmop_query *query, const struct vmop_spec *spec,
				  const struct vmop_session_input *sessions, size_t n_sessions,
				  struct vmop_result *ret);
void vmop_result_deinit(struct vmop_result *result);

/* Make result->rows and n_rows of rows_tally anew, after rows were added to it. */
struct vmop_error *vmop_result_make_rows(struct vmop_result *result);

/* Return the event of a slot in [0, n_events), or the first of the events that share it. */
static inline const struct vmop_event_item *vmop_result_event(const struct vmop_result *result,
							      size_t slot)
{
	return vmop_catalog_event(&result->catalog, result->events[slot]);
}

/* Return the sum of an event's parts; counts are a row's or a detail's. */
struct vmop_count vmop_result_sum(const struct vmop_result *result, const struct vmop_count *counts,
				  size_t event);

/* Return a symbol's name as shown, "(no symbols)" for NULL.  The result owns it. */
const char *vmop_result_name_of(struct vmop_result *result, const struct vmop_symbol *symbol);

/* Return the name of the row's symbol likewise. */
const char *vmop_result_symbol_name(struct vmop_result *result, struct vmop_row *row);

/* Return the catalog's item of a row's group, or item 0 if the query lacks that dimension. */
const struct vmop_domain_item *vmop_row_domain(const struct vmop_result *result,
					       const struct vmop_row *row);
const struct vmop_image_item *vmop_row_image(const struct vmop_result *result,
					     const struct vmop_row *row);
const struct vmop_task_item *vmop_row_task(const struct vmop_result *result,
					   const struct vmop_row *row);
const char *vmop_row_cgroup(const struct vmop_result *result, const struct vmop_row *row);
const char *vmop_row_session(const struct vmop_result *result, const struct vmop_row *row);

#endif
