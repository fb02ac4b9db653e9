// SPDX-License-Identifier: GPL-2.0-or-later
/* The rate at which requests about a guest's contexts are served. */
#include "daemon/guest/context/request-limits.h"

#include "libutil/clock.h"
#include "tests/unit/libguest/opened.h"

enum { AT_ONCE = 600, A_SECOND = 300 };

/* Send up to max requests at a time. Return how many were served before one was refused. */
static unsigned serve(struct vmop_guest_request_limits *limits, uint64_t now_ns, unsigned max)
{
	const struct vmop_guest_request request = {.kind = VMOP_GUEST_REQUEST_PROCESS,
						   .domain = {7}};
	for (unsigned i = 0; i < max; i++) {
		struct vmop_guest_answer answer;
		vmop_guest_serve_limited(limits, guest, &request, now_ns, &answer);
		assert_int_equal(answer.request.domain.number, 7);
		assert_false(answer.is_found || answer.is_gone);
		bool is_refused = answer.is_refused;
		vmop_guest_answer_deinit(&answer);
		if (is_refused)
			return i;
	}
	return max;
}

static void too_many_requests_are_refused(void **state)
{
	const struct synthetic_options options = {0};
	struct vmop_guest_request_limits limits = {0};
	uint64_t now_ns = 3600 * VMOP_NS_PER_S;
	(void)state;
	open_found(&options);
	assert_int_equal(serve(&limits, now_ns, 2 * AT_ONCE), AT_ONCE);
	assert_int_equal(serve(&limits, now_ns, 1), 0);
	now_ns += VMOP_NS_PER_S / 10;
	assert_int_equal(serve(&limits, now_ns, AT_ONCE), A_SECOND / 10);
	/* A quiet hour allows no more than at first. */
	now_ns += 3600 * VMOP_NS_PER_S;
	assert_int_equal(serve(&limits, now_ns, 2 * AT_ONCE), AT_ONCE);
	close_guest();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_requests_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
