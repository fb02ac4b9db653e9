// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Facts about the sessions of a directory, as JSON: for --list and --describe. Sessions are hostile
 * input: libdb bounds what it reads of one, and lists here have at most CONTROL_FACTS_MAX elements;
 * "NAME_left_off" counts the others.
 *
 * A session has the members
 *	name, disk_bytes	as in the directory
 *	state			"current", "finished", "not ended", or the error that keeps it
 *unread start, end		ISO 8601, UTC; null: unknown
 *	spans			[{start, end, interval_s, intervals}], the detail of each span of
 *time and in a description also path, hostname, version, setup used_bytes, free_bytes	pages of the
 *file events			[{name, unit, samples}] domains			[{name, kind,
 *samples}] losses			[{name, domain, count}] samples			of all
 *events dropped			{samples, until}: intervals that keep or max-size deleted;
 *null: none
 */
#ifndef VMOP_OPCONTROL_SESSION_FACTS_H
#define VMOP_OPCONTROL_SESSION_FACTS_H

#include <jansson.h>

#include "libutil/error.h"

#define CONTROL_FACTS_MAX 1000

/* Describe every session of dir, in the order of time. The caller owns *ret, an array. */
struct vmop_error *control_sessions_facts(const char *dir, json_t **ret);

/*
 * Describe one session: "current", or the name of a saved one. The caller owns *ret.
 * VMOP_ERROR_USAGE: no such name is possible. VMOP_ERROR_CANT: it is missing or can't be read.
 */
struct vmop_error *control_session_facts(const char *dir, const char *name, json_t **ret);

#endif
