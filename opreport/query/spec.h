// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Profile specs: the command-line arguments "TAG:VALUE[,VALUE...]" with which every reader of
 * session files selects samples.
 *
 *	session:NAME,...   sessions of the session directory, or files' paths
 *	domain:GLOB,...	   names, UUIDs, or "host"
 *	image:GLOB,...	   paths or base names; also an argument without a tag
 *	event:GLOB,...
 *	task:GLOB,...	   command names
 *	stack:GLOB,...	   symbols: some function of the sample's call stack
 *	cpu: vcpu: tgid: tid:	numbers and ranges, "0,2-3"
 *	certainty:exact,likely,ambiguous  certainty of the attribution
 *	time:FROM..TO	   see time-window.h
 *	archive:DIR	   an imported archive, in place of the session directory and of this
 *			   machine's files (opreport/archive); once, and before time:
 *
 * A repeated tag adds to its list.  A malformed spec is VMOP_ERROR_USAGE; the message has the word
 * and the accepted forms.
 */
#ifndef VMOP_OPREPORT_QUERY_SPEC_H
#define VMOP_OPREPORT_QUERY_SPEC_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/archive/archive.h"
#include "opreport/query/time-window.h"

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

/* A zeroed spec is empty and selects all samples. */
struct vmop_spec {
	const char *session_dir;      /* --session-dir, not owned; NULL: the default */
	struct vmop_archive *archive; /* owned; NULL: none */
	struct vmop_words sessions, domains, images, events, tasks, stacks;
	struct vmop_numbers cpus, vcpus, tgids, tids;
	unsigned certainties; /* bits 1 << enum vmop_certainty; 0: all */
	struct vmop_time_window time;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/* The begin of the spec archive:. */
#define VMOP_SPEC_ARCHIVE "archive:"

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
/* Return whether a word has a character that makes it a pattern. */
bool vmop_word_is_glob(const char *word);

/* Return whether one of the ranges contains value. */
bool vmop_numbers_match(const struct vmop_numbers *numbers, uint64_t value);

#endif
