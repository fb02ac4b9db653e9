// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vmopcontrol can be told to do: one table, which the option parser, the
 * check of what goes together and main all read.
 */
#ifndef VMOP_OPCONTROL_ACTIONS_H
#define VMOP_OPCONTROL_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "libutil/setup.h"

#define CONTROL_N_ACTIONS 13
#define CONTROL_MAX_CHANGED 32

/* All that the command line said. */
struct control_request {
	const struct control_action *action; /* NULL: none was named */
	const char *config;		     /* the set-up file */
	bool config_given;
	struct vmop_setup setup;		  /* the file's, with the options over it */
	const char *changed[CONTROL_MAX_CHANGED]; /* keys that options set */
	size_t n_changed;
	uint64_t duration_ns; /* 0: not given */
	const char *name;     /* of --save and --inspect */
	char **command;	      /* of --run, NULL-terminated */
	bool json;
	int verbosity;
};

enum control_takes {
	CONTROL_TAKES_SETUP = 1 << 0, /* set-up options */
	CONTROL_TAKES_DIR = 1 << 1,   /* --session-dir alone of them */
	CONTROL_TAKES_DURATION = 1 << 2,
	CONTROL_TAKES_JSON = 1 << 3,
	CONTROL_TAKES_COMMAND = 1 << 4,
};

struct control_action {
	const char *name; /* of the option */
	int key;	  /* its letter, or a number of its own */
	const char *arg;  /* of the option, or NULL */
	const char *help;
	unsigned takes; /* enum control_takes */
	/* *ret_status is the exit status when there is no error; 0 unless set. */
	struct vmop_error *(*act)(struct control_request *request, int *ret_status);
};

/* Ends with a nameless one. */
extern const struct control_action control_actions[CONTROL_N_ACTIONS + 1];

/* The action of an option's key; NULL: none. */
const struct control_action *control_action_find(int key);

#endif
