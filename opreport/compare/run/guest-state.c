// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/guest-state.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/protocol.h"

/* The daemon answers at once, except on a very busy machine. */
#define ANSWER_TIMEOUT_S 20

/* Domains in a message at most. */
#define NAMES_MAX 20

static struct vmop_error *ask(const char *what, json_t **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(vmop_json_cleanup) json_t *request = vmop_protocol_request(what);
	struct vmop_error *err = request ? vmop_run_connect(&fd) : &vmop_error_no_memory;
	if (!err && fd >= 0)
		err = vmop_protocol_call(fd, request, ANSWER_TIMEOUT_S, ret);
	bool has_ended = err ? err->code == VMOP_ERROR_BUSY : fd < 0;
	if (!has_ended)
		return err;
	vmop_error_destroy(err);
	return vmop_error_new(VMOP_ERROR_CANT, "vmopd has ended");
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

static bool is_running(const json_t *domain)
{
	return json_is_true(json_object_get(domain, "running"));
}

static const json_t *find(const json_t *domains, const char *name)
{
	size_t i;
	const json_t *domain;
	json_array_foreach (domains, i, domain)
		if (!strcmp(text_of(domain, "name"), name) && is_running(domain))
			return domain;
	return NULL;
}

static struct vmop_error *no_such_domain(const json_t *domains, const char *name)
{
	_cleanup_free_ char *names = NULL;
	size_t len, i, n = 0;
	const json_t *domain;
	FILE *out = open_memstream(&names, &len);
	if (!out)
		return &vmop_error_no_memory;
	json_array_foreach (domains, i, domain) {
		if (!is_running(domain) || ++n > NAMES_MAX)
			continue;
		fprintf(out, "%s%s", n > 1 ? ", " : "", text_of(domain, "name"));
	}
	if (n > NAMES_MAX)
		fprintf(out, ", and %zu more", n - NAMES_MAX);
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	return vmop_error_new(VMOP_ERROR_CANT, "--guest: no domain '%s' runs; there are: %s", name,
			      names);
}

static enum vmop_guest_state state_of(const json_t *domain)
{
	const json_t *inside = json_object_get(domain, "inside");
	const char *state = text_of(inside, "state");
	if (!strcmp(text_of(domain, "kind"), "unselected"))
		return VMOP_GUEST_IS_UNSELECTED;
	if (!inside || json_object_get(inside, "processes"))
		return VMOP_GUEST_IS_KNOWN;
	if (!strcmp(state, "not looked at") || !strcmp(state, "kernel symbols"))
		return VMOP_GUEST_IS_SOUGHT;
	/* A kernel whose processes cannot be found has symbols. */
	return json_object_get(inside, "symbols") ? VMOP_GUEST_IS_KNOWN : VMOP_GUEST_IS_CLOSED;
}

/* Ask for the status of a session that runs. */
static struct vmop_error *ask_session(json_t **ret)
{
	struct vmop_error *err = ask("status", ret);
	if (!err && !json_is_array(json_object_get(*ret, "domains")))
		err = vmop_error_new(VMOP_ERROR_CANT, "the session has ended");
	return err;
}

struct vmop_error *vmop_guest_check_session(void)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	return ask_session(&reply);
}

struct vmop_error *vmop_guest_state_ask(const char *name, enum vmop_guest_state *ret)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	*ret = VMOP_GUEST_IS_KNOWN;
	struct vmop_error *err = ask_session(&reply);
	if (err)
		return err;
	const json_t *domains = json_object_get(reply, "domains");
	const json_t *domain = find(domains, name);
	if (domain)
		*ret = state_of(domain);
	else if (!json_integer_value(json_object_get(reply, "domains_left_off")))
		return no_such_domain(domains, name);
	return NULL;
}

struct vmop_error *vmop_guest_end_interval(void)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	return ask("dump", &reply);
}
