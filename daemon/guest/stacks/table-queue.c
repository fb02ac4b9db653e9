// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/table-queue.h"

#include <string.h>

#include "daemon/host/ids.h"

bool vmop_guest_table_queue_request(struct vmop_guest_table_queue *queue,
				    const struct vmop_guest_table_request *request)
{
	if (queue->n_requests == VMOP_GUEST_TABLE_QUEUE)
		return false;
	queue->requests[queue->n_requests++] = *request;
	return true;
}

bool vmop_guest_table_queue_next(struct vmop_guest_table_queue *queue,
				 struct vmop_guest_table_request *ret)
{
	if (!queue->n_requests || queue->n_answers == VMOP_GUEST_TABLE_QUEUE)
		return false;
	*ret = queue->requests[0];
	memmove(queue->requests, queue->requests + 1, --queue->n_requests * sizeof(*ret));
	return true;
}

void vmop_guest_table_queue_answer(struct vmop_guest_table_queue *queue,
				   const struct vmop_guest_table_answer *answer)
{
	queue->answers[queue->n_answers++] = *answer;
}

bool vmop_guest_table_queue_take(struct vmop_guest_table_queue *queue, struct vmop_domain_id domain,
				 struct vmop_guest_table_answer *ret)
{
	for (unsigned i = 0; i < queue->n_answers; i++) {
		if (!vmop_domain_id_equals(queue->answers[i].domain, domain))
			continue;
		*ret = queue->answers[i];
		memmove(&queue->answers[i], &queue->answers[i + 1],
			(--queue->n_answers - i) * sizeof(*ret));
		return true;
	}
	return false;
}

void vmop_guest_table_queue_drop(struct vmop_guest_table_queue *queue, struct vmop_domain_id domain)
{
	struct vmop_guest_table_answer answer;
	unsigned n = 0;
	while (vmop_guest_table_queue_take(queue, domain, &answer))
		vmop_cfi_table_destroy(answer.table);
	for (unsigned i = 0; i < queue->n_requests; i++)
		if (!vmop_domain_id_equals(queue->requests[i].domain, domain))
			queue->requests[n++] = queue->requests[i];
	queue->n_requests = n;
}

void vmop_guest_table_queue_deinit(struct vmop_guest_table_queue *queue)
{
	for (unsigned i = 0; i < queue->n_answers; i++)
		vmop_cfi_table_destroy(queue->answers[i].table);
	queue->n_requests = queue->n_answers = 0;
}
