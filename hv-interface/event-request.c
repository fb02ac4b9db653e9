// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The value of --event, as opcontrol had it, with a frequency as another kind
 * of count and two more switches at its end:
 *
 *	NAME[:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]]
 *
 *	NAME	"default", or an event's name; may begin with "PMU::"
 *	COUNT	a sample every COUNT events (ns for clocks), or a number of
 *		samples a second and "Hz": 100003, 4000Hz, 4kHz
 *	UMASK	a unit mask's name or number
 *	KERNEL USER HOST GUEST
 *		0 or 1: whether events in that mode count; 1 where not given
 *
 * An empty field stands for its default: cycles:::1:0.  "cycles::WORD" is
 * the event WORD of the PMU "cycles", not a unit mask behind an empty COUNT.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hv-interface/source.h"
#include "libutil/cleanup.h"
#include "libutil/parse.h"

#define GRAMMAR "NAME[:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]]"

enum field { NAME, COUNT, UMASK, KERNEL, USER, HOST, GUEST, N_FIELDS };

void vmop_event_request_deinit(struct vmop_event_request *request)
{
	free(request->name);
	free(request->unit_mask);
	*request = (struct vmop_event_request){0};
}

/* Cuts text at its colons, in place; a "PMU::" belongs to the name. False: too many. */
static bool split(char *text, char *ret[N_FIELDS])
{
	char *from = text;
	for (unsigned i = 0; i < N_FIELDS; i++) {
		char *search = from;
		char *pmu = i == NAME ? strstr(from, "::") : NULL;
		if (pmu && pmu == strchr(from, ':') && pmu[2] && pmu[2] != ':' &&
		    strspn(pmu + 2, "0123456789") == 0)
			search = pmu + 2;
		ret[i] = from;
		from = strchr(search, ':');
		if (!from)
			return true;
		*from++ = '\0';
	}
	return false;
}

static struct vmop_error *parse_count(const char *text, const char *whole,
				      struct vmop_event_request *ret)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} units[] = {{"kHz", 1000}, {"Hz", 1}, {"", 1}};
	size_t n_digits = strspn(text, "0123456789");
	char digits[24];
	uint64_t value;
	if (n_digits == 0 || n_digits >= sizeof(digits))
		goto bad;
	memcpy(digits, text, n_digits);
	digits[n_digits] = '\0';
	if (!vmop_parse_u64(digits, 10, &value) || value == 0)
		goto bad;
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcasecmp(text + n_digits, units[i].suffix) != 0)
			continue;
		if (value > (uint64_t)INT64_MAX / units[i].factor)
			goto bad;
		value *= units[i].factor;
		if (*units[i].suffix)
			ret->frequency_hz = value;
		else
			ret->period_events = value;
		return NULL;
	}
bad:
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "event '%s': '%s' is no count: give a number of events of 1 or more, "
			      "as in cycles:100003, or a frequency, as in cycles:4000Hz",
			      whole, text);
}

static struct vmop_error *parse_switch(const char *text, const char *what, const char *whole,
				       bool *ret)
{
	if (!*text)
		return NULL;
	if ((text[0] != '0' && text[0] != '1') || text[1])
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s': %s must be 0 or 1, not '%s'",
				      whole, what, text);
	*ret = text[0] == '1';
	return NULL;
}

static struct vmop_error *parse_switches(char *const fields[N_FIELDS], const char *whole,
					 struct vmop_event_request *ret)
{
	const struct {
		enum field field;
		const char *what;
		bool *value;
	} switches[] = {
		{KERNEL, "KERNEL", &ret->kernel},
		{USER, "USER", &ret->user},
		{HOST, "HOST", &ret->host},
		{GUEST, "GUEST", &ret->guest},
	};
	for (unsigned i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		struct vmop_error *err = parse_switch(fields[switches[i].field], switches[i].what,
						      whole, switches[i].value);
		if (err)
			return err;
	}
	if (!ret->kernel && !ret->user)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s' would count nothing: KERNEL and USER are both 0",
				      whole);
	if (!ret->host && !ret->guest)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s' would count nothing: HOST and GUEST are both 0",
				      whole);
	return NULL;
}

static void request_cleanup(struct vmop_event_request *request)
{
	vmop_event_request_deinit(request);
}

struct vmop_error *vmop_event_request_parse(const char *text, struct vmop_event_request *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	if (!copy)
		return &vmop_error_no_memory;
	char none[] = "";
	char *fields[N_FIELDS] = {none, none, none, none, none, none, none};
	if (!split(copy, fields))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s' has too many fields: it is " GRAMMAR, text);
	if (!*fields[NAME])
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no name: it is " GRAMMAR,
				      text);
	_cleanup_(request_cleanup) struct vmop_event_request request = {
		.kernel = true, .user = true, .host = true, .guest = true};
	struct vmop_error *err = NULL;
	if (*fields[COUNT])
		err = parse_count(fields[COUNT], text, &request);
	if (!err)
		err = parse_switches(fields, text, &request);
	if (err)
		return err;
	request.name = strdup(fields[NAME]);
	if (!request.name)
		return &vmop_error_no_memory;
	if (*fields[UMASK]) {
		request.unit_mask = strdup(fields[UMASK]);
		if (!request.unit_mask)
			return &vmop_error_no_memory;
	}
	*ret = request;
	request = (struct vmop_event_request){0};
	return NULL;
}
