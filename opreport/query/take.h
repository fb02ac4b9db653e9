// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Add the samples of a session's chunks, pieces of them, or totals to a query's result.  run.c
 * decides which of them it reads, and calls these functions for each.  Stacks go to the query's
 * sink.
 */
#ifndef VMOP_OPREPORT_QUERY_TAKE_H
#define VMOP_OPREPORT_QUERY_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libutil/progress.h"
#include "opreport/query/query.h"
#include "opreport/query/run-memo.h"

/* Where the samples of one chunk key are added. */
struct vmop_query_place {
	uint32_t group;
	size_t slot;	      /* in a row's counts */
	size_t event;	      /* in totals */
	size_t image;	      /* catalog index */
	uint64_t shift_bytes; /* offset of a cell minus offset in that image */
	double scale;	      /* factor for weights */
	uint8_t mode;	      /* enum vmop_mode */
	uint8_t certainty;
	bool is_idle;
};

/* The place of the piece before: the pieces of one row differ in their stacks only. */
struct vmop_query_last_piece {
	struct vmop_db_chunk_key key;
	struct vmop_query_place place;
	const struct vmop_symtab *symtab;
	uint32_t time_slot;
	bool is_known, is_wanted;
};

/* A walk over a session's chunks or totals. */
struct vmop_query_walk {
	const struct vmop_query *query;
	struct vmop_result *result;
	size_t session;	    /* index of the session that is being read */
	uint32_t time_slot; /* of the piece that is being read, with VMOP_BY_TIME */
	bool is_by_image;   /* the pieces of an image follow one another */
	bool merges_tasks;  /* the store summed all tasks except the idle one */
	struct vmop_progress progress;
	uint64_t done;
	uint64_t *omitted;		   /* by domain; used by find_omitted */
	unsigned certainties;		   /* selected, as bits 1 << enum vmop_certainty; 0: all */
	struct vmop_query_last_piece last; /* in a walk over pieces */
	struct vmop_run_memo memo;	   /* of result->cells; in a walk over pieces */
};

/*
 * Return the estimated weight of an event that counted part of the time.  The result is rounded,
 * and at most 2^63 (a damaged session can exceed it).
 */
uint64_t vmop_query_scaled(uint64_t weight_events, double scale);

/* Return the part of a domain's bill that samples with a key belong to. */
enum vmop_part vmop_query_part(enum vmop_accounting accounting,
			       const struct vmop_db_chunk_key *key);

/* Return the catalog index of the domain that samples with a key are counted for. */
size_t vmop_query_domain(enum vmop_accounting accounting, const struct vmop_catalog *catalog,
			 size_t session, const struct vmop_db_chunk_key *key);

/* Callbacks of libdb's walks.  arg is a struct vmop_query_walk. */
struct vmop_error *vmop_query_take_sum(void *arg, const struct vmop_db_sum *sum);
struct vmop_error *vmop_query_take_total(void *arg, const struct vmop_db_total *total);
/* Take a total of a chunk, in a query by time. */
struct vmop_error *vmop_query_take_interval(void *arg, const struct vmop_db_interval *interval,
					    const struct vmop_db_total *total);

/*
 * Sum cells by symbol as they are read, as if all samples of a symbol had one address.  100 million
 * samples of a thousand symbols then take a thousand cells, which fit a CPU cache; summing them by
 * address first took more than half of a report's time.
 */
struct vmop_error *vmop_query_take_piece(void *arg, const struct vmop_db_chunk *piece);

#endif
