// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/guest-clock.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "libutil/cleanup.h"

/* A session that may be a guest's, while the others are searched for its clock. */
struct search {
	struct vmop_db *db; /* of the other session */
	const char *uuid;   /* of the machine */
	uint64_t start_ns;
	struct vmop_db_clock clock;
};

static struct vmop_error *add_clock(void *arg, const struct vmop_db_domain *domain)
{
	struct search *search = arg;
	if (vmop_domain_id_is_host(domain->id) || !domain->uuid ||
	    strcasecmp(domain->uuid, search->uuid) != 0)
		return NULL;
	return vmop_db_add_guest_clock(search->db, domain->id, search->start_ns, &search->clock);
}

/* Copy the UUID of the machine that recorded the session. */
static struct vmop_error *take_uuid(void *arg, const struct vmop_db_domain *domain)
{
	char **uuid = arg;
	if (!vmop_domain_id_is_host(domain->id) || !domain->uuid || !*domain->uuid)
		return NULL;
	free(*uuid);
	*uuid = strdup(domain->uuid);
	return *uuid ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *set(struct vmop_db *const *dbs, size_t n, size_t of)
{
	_cleanup_free_ char *uuid = NULL;
	struct vmop_db *db = dbs[of];
	struct search search = {0};
	vmop_db_set_clock(db, NULL, 0);
	struct vmop_error *err = vmop_db_each_domain(db, take_uuid, &uuid);
	if (!err)
		err = vmop_db_get_number(db, "start_ns", &search.start_ns);
	if (err || !uuid || !search.start_ns)
		return err;
	search.uuid = uuid;
	for (size_t i = 0; i < n && !err; i++) {
		search.db = dbs[i];
		if (i != of)
			err = vmop_db_each_domain(search.db, add_clock, &search);
	}
	if (!err)
		vmop_db_set_clock(db, &search.clock, search.start_ns);
	return err;
}

struct vmop_error *vmop_guest_clocks_set(struct vmop_db *const *dbs, size_t n)
{
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < n && !err; i++)
		err = set(dbs, n, i);
	return err;
}
