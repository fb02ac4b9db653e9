// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/requests.h"

#include <stdlib.h>

void vmop_guest_answer_deinit(struct vmop_guest_answer *answer)
{
	free(answer->path);
	vmop_symtab_destroy(answer->symtab);
	vmop_guest_snapshot_free(answer->snapshot);
	free(answer->code);
	*answer = (struct vmop_guest_answer){.request = answer->request};
}

bool vmop_guest_requests_put(struct vmop_guest_requests *requests,
			     const struct vmop_guest_request *request)
{
	/* Each request has a place for its answer until that is collected. */
	if (requests->n_put - requests->n_collected == VMOP_GUEST_REQUESTS_MAX)
		return false;
	requests->requests[requests->n_put++ % VMOP_GUEST_REQUESTS_MAX] = *request;
	return true;
}

bool vmop_guest_requests_take(struct vmop_guest_requests *requests, struct vmop_guest_request *ret)
{
	if (requests->n_taken == requests->n_put)
		return false;
	*ret = requests->requests[requests->n_taken++ % VMOP_GUEST_REQUESTS_MAX];
	return true;
}

void vmop_guest_requests_answer(struct vmop_guest_requests *requests,
				const struct vmop_guest_answer *answer)
{
	requests->answers[requests->n_answered++ % VMOP_GUEST_REQUESTS_MAX] = *answer;
}

bool vmop_guest_requests_collect(struct vmop_guest_requests *requests,
				 struct vmop_guest_answer *ret)
{
	if (requests->n_collected == requests->n_answered)
		return false;
	*ret = requests->answers[requests->n_collected++ % VMOP_GUEST_REQUESTS_MAX];
	return true;
}

uint32_t vmop_guest_requests_n_open(const struct vmop_guest_requests *requests)
{
	return requests->n_put - requests->n_answered;
}

uint32_t vmop_guest_requests_n_open_symbols(const struct vmop_guest_requests *requests)
{
	uint32_t n = 0;
	/* Answers have the order of requests. */
	for (uint32_t at = requests->n_answered; at != requests->n_put; at++)
		n += requests->requests[at % VMOP_GUEST_REQUESTS_MAX].kind ==
		     VMOP_GUEST_REQUEST_SYMBOLS;
	return n;
}

void vmop_guest_requests_deinit(struct vmop_guest_requests *requests)
{
	struct vmop_guest_answer answer;
	while (vmop_guest_requests_collect(requests, &answer))
		vmop_guest_answer_deinit(&answer);
	requests->n_put = requests->n_taken = 0;
	requests->n_answered = requests->n_collected = 0;
}
