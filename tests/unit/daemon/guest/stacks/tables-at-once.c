// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

#include "daemon/guest/watch.h"

struct vmop_guest *tables_at_once_guest;

static struct vmop_guest_table_queue queue;

void __wrap_vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain);
void __wrap_vmop_guest_watch_want_code(struct vmop_guest_watch *watch,
				       struct vmop_domain_id domain);
void __wrap_vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain);
bool __wrap_vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
					   struct vmop_domain_id domain,
					   const struct vmop_guest_code_mapping *mapping);
bool __wrap_vmop_guest_watch_take_table(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_table_answer *ret);

void __wrap_vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain)
{
	(void)watch;
	(void)domain;
}

void __wrap_vmop_guest_watch_want_code(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	(void)watch;
	(void)domain;
}

void __wrap_vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain)
{
	(void)watch;
	vmop_guest_table_queue_drop(&queue, domain);
}

bool __wrap_vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
					   struct vmop_domain_id domain,
					   const struct vmop_guest_code_mapping *mapping)
{
	const struct vmop_guest_table_request request = {.domain = domain, .mapping = *mapping};
	(void)watch;
	return vmop_guest_table_queue_request(&queue, &request);
}

bool __wrap_vmop_guest_watch_take_table(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_table_answer *ret)
{
	struct vmop_guest_table_request request;
	(void)watch;
	while (vmop_guest_table_queue_next(&queue, &request)) {
		struct vmop_guest_table_answer answer = {.domain = domain,
							 .key = request.mapping.key};
		answer.state = VMOP_CODE_UNREADABLE;
		if (tables_at_once_guest)
			answer.state = vmop_guest_table_build(tables_at_once_guest,
							      &request.mapping, &answer.table);
		vmop_guest_table_queue_answer(&queue, &answer);
	}
	return vmop_guest_table_queue_take(&queue, domain, ret);
}
