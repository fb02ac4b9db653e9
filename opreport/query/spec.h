// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profile specs: which samples a reader looks at, as every reader of session
 * files takes them on its command line, "TAG:VALUE[,VALUE...]".
 *
 *	session:NAME,...   sessions of the session directory, or files' paths
 *	domain:GLOB,...	   by name, uuid, or "host"
 *	image:GLOB,...	   by path or base name; an argument without a tag is one
 *	event:GLOB,...
 *	task:GLOB,...	   by command name
 *	cpu: vcpu: tgid: tid:	numbers and ranges, "0,2-3"
 *	certainty:exact,likely,ambiguous  how sure the attribution is
 *	time:FROM..TO	   HH:MM[:SS], DATE, DATETHH:MM[:SS], @SECONDS, +AFTER-START,
 *			   -BEFORE-END; either may be left out
 *
 * A tag given twice adds to its list.  Everything malformed is
 * VMOP_ERROR_USAGE and names the word and what would be accepted.
 */
#ifndef VMOP_OPREPORT_QUERY_SPEC_H
#define VMOP_OPREPORT_QUERY_SPEC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_words {
	char **items;
	size_t n, capacity;
};

struct vmop_number_range {
	uint64_t first, last; /* both within */
};

struct vmop_numbers {
	struct vmop_number_range *ranges;
	size_t n, capacity;
};

enum vmop_time_kind {
	VMOP_TIME_OPEN,	       /* no bound */
	VMOP_TIME_REAL,	       /* value_ns: CLOCK_REALTIME */
	VMOP_TIME_OF_DAY,      /* value_ns: since local midnight */
	VMOP_TIME_AFTER_START, /* value_ns: since the start of the first session */
	VMOP_TIME_BEFORE_END,  /* value_ns: before the end of the last session */
};

struct vmop_time_bound {
	enum vmop_time_kind kind;
	uint64_t value_ns;
};

/* Open; zeroed is the empty spec. */
struct vmop_spec {
	const char *session_dir; /* --session-dir; NULL: the default. Not owned */
	struct vmop_words sessions, domains, images, events, tasks;
	struct vmop_numbers cpus, vcpus, tgids, tids;
	unsigned certainties; /* bits 1 << enum vmop_certainty; 0: all */
	bool has_time;
	struct vmop_time_bound from, to;
	uint64_t to_after_from_ns; /* not 0: a span, to is from + this */
	struct vmop_error *err;	   /* the first thing wrong, when argp_parse gave EINVAL */
};

/* For a parser's children[]: takes the positional arguments; its input is a struct vmop_spec. */
extern const struct argp vmop_spec_argp;

struct vmop_error *vmop_spec_parse(struct vmop_spec *spec, const char *argument);
void vmop_spec_deinit(struct vmop_spec *spec);

/* Comma list, "\," for a comma within a word. Appends; an empty word is VMOP_ERROR_USAGE. */
struct vmop_error *vmop_words_parse(struct vmop_words *words, const char *what, const char *text);
void vmop_words_deinit(struct vmop_words *words);
/* Any of the globs fits text (fnmatch, no flags). */
bool vmop_words_match(const struct vmop_words *words, const char *text);
bool vmop_word_is_glob(const char *word);

bool vmop_numbers_match(const struct vmop_numbers *numbers, uint64_t value);

/*
 * The bounds in CLOCK_REALTIME for sessions within [start_ns, end_ns).  A time of day is that
 * of the first day on which the window reaches into them.  *ret_to_ns 0: no end.
 */
struct vmop_error *vmop_spec_time(const struct vmop_spec *spec, uint64_t start_ns, uint64_t end_ns,
				  uint64_t *ret_from_ns, uint64_t *ret_to_ns);

#endif
