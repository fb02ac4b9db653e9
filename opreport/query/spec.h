// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profile specs: the command-line arguments "TAG:VALUE[,VALUE...]" with which every reader of
 *session files selects samples.
 *
 *	session:NAME,...   sessions of the session directory, or files' paths
 *	domain:GLOB,...	   names, UUIDs, or "host"
 *	image:GLOB,...	   paths or base names; also an argument without a tag
 *	event:GLOB,...
 *	task:GLOB,...	   command names
 *	stack:GLOB,...	   symbols: some function of the sample's call stack
 *	cpu: vcpu: tgid: tid:	numbers and ranges, "0,2-3"
 *	certainty:exact,likely,ambiguous  certainty of the attribution
 *	time:FROM..TO	   HH:MM[:SS], DATE, DATETHH:MM[:SS], @SECONDS, +AFTER-START,
 *			   -BEFORE-END; FROM or TO may be empty
 *
 * A repeated tag adds to its list.  A malformed spec is VMOP_ERROR_USAGE; the message has the word
 *and the accepted forms.
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
	uint64_t first, last; /* inclusive */
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

/* A zeroed spec is empty and selects all samples. */
struct vmop_spec {
	const char *session_dir; /* --session-dir, not owned; NULL: the default */
	struct vmop_words sessions, domains, images, events, tasks, stacks;
	struct vmop_numbers cpus, vcpus, tgids, tids;
	unsigned certainties; /* bits 1 << enum vmop_certainty; 0: all */
	bool has_time;
	struct vmop_time_bound from, to;
	uint64_t to_after_from_ns; /* if not 0, the end is from + this, and to is unused */
	struct vmop_error *err;	   /* the first error, if argp_parse returned EINVAL */
};

/* A child parser for the positional arguments; its input is a struct vmop_spec. */
extern const struct argp vmop_spec_argp;

/* Add one argument to spec. */
struct vmop_error *vmop_spec_parse(struct vmop_spec *spec, const char *argument);
void vmop_spec_deinit(struct vmop_spec *spec);

/* Copy a spec without its err.  The caller deinitialises ret also after an error. */
struct vmop_error *vmop_spec_copy(struct vmop_spec *ret, const struct vmop_spec *spec);

/*
 * Append the words of a comma list, in which "\," is a comma within a word.  An empty word is
 * VMOP_ERROR_USAGE; its message begins with `what`.
 */
struct vmop_error *vmop_words_parse(struct vmop_words *words, const char *what, const char *text);
void vmop_words_deinit(struct vmop_words *words);
/* Return whether text equals a word or matches one as a glob (fnmatch(3) without flags). */
bool vmop_words_match(const struct vmop_words *words, const char *text);
bool vmop_word_is_glob(const char *word);

bool vmop_numbers_match(const struct vmop_numbers *numbers, uint64_t value);

/*
 * Set the bounds, in CLOCK_REALTIME, for sessions within [start_ns, end_ns).  A time of day is on
 * the first day on which the window overlaps them.  *ret_to_ns is 0 for no end.
 */
struct vmop_error *vmop_spec_time(const struct vmop_spec *spec, uint64_t start_ns, uint64_t end_ns,
				  uint64_t *ret_from_ns, uint64_t *ret_to_ns);

#endif
