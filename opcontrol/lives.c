// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/lives.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "opcontrol/show.h"

static bool is_guest(const json_t *domain)
{
	const char *kind = control_text(domain, "kind");
	return control_number(domain, "id") != 0 && (!kind || strcmp(kind, "hypervisor") != 0);
}

static const char *uuid_of(const json_t *domain)
{
	const char *uuid = control_text(domain, "uuid");
	return uuid && *uuid ? uuid : NULL;
}

static bool has_same_identity(const json_t *a, const json_t *b)
{
	const char *uuid_a = uuid_of(a), *uuid_b = uuid_of(b);
	const char *name_a = control_text(a, "name"), *name_b = control_text(b, "name");
	if (uuid_a || uuid_b)
		return uuid_a && uuid_b && !strcasecmp(uuid_a, uuid_b);
	return name_a && name_b && !strcmp(name_a, name_b);
}

struct control_life control_life_of(const json_t *domains, size_t i)
{
	const struct control_life only = {1, 1, i};
	struct control_life life = {.first = i};
	const json_t *of = json_array_get(domains, i), *domain;
	size_t n_running = 0, j;
	if (!is_guest(of))
		return only;
	json_array_foreach (domains, j, domain) {
		if (!is_guest(domain) || !has_same_identity(of, domain))
			continue;
		life.first = life.n_lives ? life.first : j;
		life.n_lives++;
		life.number += j <= i;
		n_running += json_is_true(json_object_get(domain, "running"));
	}
	return uuid_of(of) || n_running < 2 ? life : only;
}
