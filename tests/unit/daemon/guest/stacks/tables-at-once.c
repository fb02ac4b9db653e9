// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/daemon/guest/stacks/tables-at-once.h"

#include <fcntl.h>
#include <unistd.h>

#include "daemon/guest/watch.h"
#include "libstack/table.h"
#include "libutil/clock.h"

struct vmop_guest *tables_at_once_guest;
struct tables_at_once tables_at_once;

enum vmop_code_state tables_at_once_build_path(const char *path, struct vmop_cfi_table **ret)
{
	static const struct vmop_cfi_limits limits = {.max_bytes = (size_t)64 << 20,
						      .max_cpu_ns = 60 * VMOP_NS_PER_S};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct vmop_error *err = vmop_cfi_table_build(fd, &limits, ret);
	enum vmop_code_state state = err ? VMOP_CODE_UNREADABLE : VMOP_CODE_HAS_TABLE;
	vmop_error_destroy(err);
	close(fd);
	return state;
}

static enum vmop_code_state build(const struct vmop_guest_code_mapping *mapping,
				  struct vmop_cfi_table **ret)
{
	if (tables_at_once.build)
		return tables_at_once.build(mapping, ret);
	if (tables_at_once_guest)
		return vmop_guest_table_build(tables_at_once_guest, mapping, NULL, ret);
	return VMOP_CODE_UNREADABLE;
}

void __wrap_vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain);
void __wrap_vmop_guest_watch_want_code(struct vmop_guest_watch *watch,
				       struct vmop_domain_id domain);
void __wrap_vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain);
bool __wrap_vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
					   const struct vmop_guest_table_request *request);
bool __wrap_vmop_guest_watch_take_table(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_table_answer *ret);

void __wrap_vmop_guest_watch_want_stacks(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain)
{
	(void)watch;
	(void)domain;
	tables_at_once.n_wants_stacks++;
}

void __wrap_vmop_guest_watch_want_code(struct vmop_guest_watch *watch, struct vmop_domain_id domain)
{
	(void)watch;
	(void)domain;
	tables_at_once.n_wants_code++;
}

void __wrap_vmop_guest_watch_drop_tables(struct vmop_guest_watch *watch,
					 struct vmop_domain_id domain)
{
	(void)watch;
	vmop_guest_table_queue_drop(&tables_at_once.queue, domain);
}

bool __wrap_vmop_guest_watch_request_table(struct vmop_guest_watch *watch,
					   const struct vmop_guest_table_request *request)
{
	(void)watch;
	tables_at_once.n_requested++;
	return vmop_guest_table_queue_request(&tables_at_once.queue, request);
}

bool __wrap_vmop_guest_watch_take_table(struct vmop_guest_watch *watch,
					struct vmop_domain_id domain,
					struct vmop_guest_table_answer *ret)
{
	struct vmop_guest_table_queue *queue = &tables_at_once.queue;
	struct vmop_guest_table_request request;
	(void)watch;
	while (!tables_at_once.is_late && vmop_guest_table_queue_next(queue, &request)) {
		struct vmop_guest_table_answer answer = {.domain = domain,
							 .key = request.mapping.key};
		answer.state = build(&request.mapping, &answer.table);
		vmop_guest_table_queue_answer(queue, &answer);
	}
	return vmop_guest_table_queue_take(queue, domain, ret);
}
