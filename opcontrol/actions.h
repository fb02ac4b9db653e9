// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The actions of vmopcontrol, in one table. The option parser and the check for contradicting
 * options (vmopcontrol.c) read the table; main calls the chosen action.
 *
 * Data passes this folder as follows. vmopcontrol.c parses the command line into a control_request:
 * it reads the set-up file and applies the options to it. An action in actions.c takes the request;
 * daemon.c finds or starts vmopd and exchanges one message with it per call (libutil/protocol.h).
 * status.c, inspect.c and lives.c print the reply with the helpers in show.c. session-facts.c reads
 * sessions, and session-tables.c prints them. command.c runs the command of --run.
 *
 * One thread.
 */
#ifndef VMOP_OPCONTROL_ACTIONS_H
#define VMOP_OPCONTROL_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libutil/setup.h"

#define CONTROL_N_ACTIONS 17
#define CONTROL_MAX_CHANGED 40

/* The parsed command line. It belongs to main; actions borrow it. */
struct control_request {
	const struct control_action *action; /* NULL: no action given */
	const char *config;		     /* path of the set-up file */
	bool config_given;
	struct vmop_setup setup;		  /* the file's values, overridden by options */
	const char *changed[CONTROL_MAX_CHANGED]; /* the keys that options set */
	size_t n_changed;
	uint64_t duration_ns; /* 0: no limit given */
	const char *name;     /* argument of --save, --delete, --describe or --inspect */
	char **command;	      /* command of --run, NULL-terminated */
	bool json;
	bool stacks; /* --stacks */
	int verbosity;
};

enum control_takes {
	CONTROL_TAKES_SETUP = 1 << 0, /* set-up options */
	CONTROL_TAKES_DIR = 1 << 1,   /* of the set-up options only --session-dir */
	CONTROL_TAKES_DURATION = 1 << 2,
	CONTROL_TAKES_JSON = 1 << 3,
	CONTROL_TAKES_COMMAND = 1 << 4,
	CONTROL_TAKES_STACKS = 1 << 5,
};

struct control_action {
	const char *name; /* of the option, without dashes */
	int key;	  /* the option's letter, or another number for argp */
	const char *arg;  /* the option's argument in --help, or NULL */
	const char *help;
	unsigned takes; /* enum control_takes: the other options that go with it */
	/*
	 * Run the action. Messages go to stderr, results to stdout. Sets *ret_status to the exit
	 * status in the absence of an error; it is 0 on entry. The caller frees the error.
	 */
	struct vmop_error *(*act)(struct control_request *request, int *ret_status);
};

/* The action of --rotate. With a value, --rotate is a set-up option instead. */
#define CONTROL_KEY_ROTATE ('O' << 8)

/* The table, which ends with an entry without a name. */
extern const struct control_action control_actions[CONTROL_N_ACTIONS + 1];

/* Return the action of an option's key, or NULL. */
const struct control_action *control_action_find(int key);

#endif
