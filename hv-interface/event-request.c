// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The value of --event: opcontrol's grammar, with a frequency as another kind of count and two more
 * switches at its end.
 *
 * 	NAME[:p[p[p]]][:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]]
 * 	{first,second,third}
 *
 * 	NAME	"default", or an event's name; may begin with "PMU::", or be a
 * 		tracepoint's "SYSTEM:NAME", or "PMU/TERM,.../" as perf has it
 * 	p	as precisely as the PMU can: less skid, and none (perf's modifier)
 * 	COUNT	a sample every COUNT events (ns for clocks), or a number of
 * 		samples a second and "Hz": 100003, 4000Hz, 4kHz
 * 	UMASK	a unit mask's name or number
 * 	KERNEL USER HOST GUEST
 * 		0 or 1: whether events in that mode count; 1 where not given
 *
 * Braces make events a group: all of them are counted at the same time, or none. Commas split it
 * into "{first", "second" and "third}" before this file sees it.
 *
 * An empty field stands for its default: cycles:::1:0. "cycles::WORD" is the event WORD of the PMU
 * "cycles", not a unit mask after an empty COUNT.
 */
#include "hv-interface/event-request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"

#define GRAMMAR "NAME[:p][:COUNT[:UMASK[:KERNEL[:USER[:HOST[:GUEST]]]]]]"

enum field { NAME, COUNT, UMASK, KERNEL, USER, HOST, GUEST, N_FIELDS };

void vmop_event_request_deinit(struct vmop_event_request *request)
{
	free(request->name);
	free(request->unit_mask);
	*request = (struct vmop_event_request){0};
}

/*
 * Return whether a word begins with digits but is a name. A tracepoint's name may begin with a
 * digit, as in 9p_client_req of the system 9p. An underscore distinguishes it from a count.
 */
static bool is_word_after_digits(const char *text)
{
	size_t len = strcspn(text, ":");
	return isdigit((unsigned char)*text) && memchr(text, '_', len);
}

/*
 * Return the end of the name: a colon that belongs neither to "PMU::", "SYS:NAME" nor "PMU/.../".
 */
static char *name_end(char *text)
{
	char *end = text + strcspn(text, ":/");
	if (*end == '/') {
		char *slash = strchr(end + 1, '/');
		return slash ? slash + 1 : end + strlen(end);
	}
	if (!*end)
		return end;
	if (is_word_after_digits(end + 1))
		return end + 1 + strcspn(end + 1, ":");
	if (end[1] == ':' && end[2] && end[2] != ':' && !isdigit((unsigned char)end[2]))
		return end + 2 + strcspn(end + 2, ":");
	size_t n_p = strspn(end + 1, "p");
	bool is_precise = n_p >= 1 && n_p <= 3 && (!end[1 + n_p] || end[1 + n_p] == ':');
	if (!is_precise && end != text && (isalpha((unsigned char)end[1]) || end[1] == '_'))
		return end + 1 + strcspn(end + 1, ":");
	return end;
}

/*
 * Split text at its colons, in place. Return false for too many fields, or text after "PMU/.../".
 */
static bool split(char *text, char *ret[N_FIELDS], unsigned *ret_precise)
{
	char *at = name_end(text);
	ret[NAME] = text;
	if (!*at)
		return true;
	if (*at != ':')
		return false;
	*at++ = '\0';
	size_t n_p = strspn(at, "p");
	if (n_p >= 1 && n_p <= 3 && (!at[n_p] || at[n_p] == ':')) {
		*ret_precise = (unsigned)n_p;
		if (!at[n_p])
			return true;
		at += n_p + 1;
	}
	for (unsigned i = COUNT; i < N_FIELDS; i++) {
		ret[i] = at;
		at = strchr(at, ':');
		if (!at)
			return true;
		*at++ = '\0';
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
			      "event '%s': '%s' is not a count: give a number of events of 1 or "
			      "more, as in cycles:100003, or a frequency, as in cycles:4000Hz",
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

/* Remove the braces from text, in place. */
static struct vmop_error *take_braces(char **text, const char *whole,
				      struct vmop_event_request *ret)
{
	size_t len = strlen(*text);
	ret->ends_group = len && (*text)[len - 1] == '}';
	if (ret->ends_group)
		(*text)[len - 1] = '\0';
	ret->begins_group = **text == '{';
	*text += ret->begins_group;
	if (!strpbrk(*text, "{}"))
		return NULL;
	return vmop_error_new(
		VMOP_ERROR_USAGE,
		"event '%s': a group is {EVENT,EVENT,...}: nothing stands before '{' or "
		"behind '}', each event has its own count and modes",
		whole);
}

struct vmop_error *vmop_event_request_parse(const char *text, struct vmop_event_request *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	if (!copy)
		return &vmop_error_no_memory;
	char *event = copy;
	struct vmop_event_request braces = {0};
	struct vmop_error *err = take_braces(&event, text, &braces);
	if (err)
		return err;
	char none[] = "";
	char *fields[N_FIELDS] = {none, none, none, none, none, none, none};
	unsigned precise = 0;
	if (!split(event, fields, &precise))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "event '%s' has too many fields: it is " GRAMMAR, text);
	if (!*fields[NAME])
		return vmop_error_new(VMOP_ERROR_USAGE, "event '%s' has no name: it is " GRAMMAR,
				      text);
	_cleanup_(request_cleanup) struct vmop_event_request request = {
		.kernel = true,
		.user = true,
		.host = true,
		.guest = true,
		.precise = precise,
		.begins_group = braces.begins_group,
		.ends_group = braces.ends_group};
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
