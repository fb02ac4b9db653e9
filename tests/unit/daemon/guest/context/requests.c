// SPDX-License-Identifier: GPL-2.0-or-later
/* The queues of requests and answers: their order and their bounds. */
#include "daemon/guest/context/requests.h"

#include <cmocka.h>
#include <string.h>

static struct vmop_guest_requests requests;

static int begin(void **state)
{
	(void)state;
	memset(&requests, 0, sizeof(requests));
	return 0;
}

static bool put(uint32_t number)
{
	const struct vmop_guest_request request = {.kind = VMOP_GUEST_REQUEST_PROCESS,
						   .process = {.pid = number}};
	return vmop_guest_requests_put(&requests, &request);
}

/* Answer the oldest request, and return its number. */
static uint32_t answer(void)
{
	struct vmop_guest_answer answer = {.path = strdup("/bin/a")};
	assert_true(vmop_guest_requests_take(&requests, &answer.request));
	vmop_guest_requests_answer(&requests, &answer);
	return answer.request.process.pid;
}

static uint32_t collect(void)
{
	struct vmop_guest_answer answer;
	assert_true(vmop_guest_requests_collect(&requests, &answer));
	assert_string_equal(answer.path, "/bin/a");
	vmop_guest_answer_deinit(&answer);
	return answer.request.process.pid;
}

static void answers_come_in_the_order_of_requests(void **state)
{
	struct vmop_guest_request none;
	struct vmop_guest_answer no_answer;
	(void)state;
	assert_false(vmop_guest_requests_take(&requests, &none));
	assert_false(vmop_guest_requests_collect(&requests, &no_answer));
	assert_true(put(1));
	assert_true(put(2));
	assert_int_equal(vmop_guest_requests_n_open(&requests), 2);
	assert_int_equal(answer(), 1);
	assert_int_equal(vmop_guest_requests_n_open(&requests), 1);
	assert_int_equal(collect(), 1);
	assert_int_equal(answer(), 2);
	assert_int_equal(vmop_guest_requests_n_open(&requests), 0);
	assert_int_equal(collect(), 2);
}

static void each_request_has_room_for_its_answer(void **state)
{
	(void)state;
	uint32_t n = 0;
	while (put(n))
		n++;
	assert_int_equal(n, VMOP_GUEST_REQUESTS_MAX);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(answer(), i);
	assert_false(put(n)); /* the answers were not collected */
	assert_int_equal(collect(), 0);
	assert_true(put(n));
	assert_int_equal(answer(), n);
	for (uint32_t i = 1; i <= n; i++)
		assert_int_equal(collect(), i);
	for (uint32_t i = 0; i < 3 * n; i++) { /* around the ring */
		assert_true(put(i));
		assert_int_equal(answer(), i);
		assert_int_equal(collect(), i);
	}
}

static void open_requests_for_symbols_are_counted(void **state)
{
	const struct vmop_guest_request symbols = {.kind = VMOP_GUEST_REQUEST_SYMBOLS};
	(void)state;
	for (uint32_t i = 0; i < VMOP_GUEST_REQUESTS_MAX - 1; i++) { /* to the end of the ring */
		assert_true(put(i));
		assert_int_equal(answer(), i);
		assert_int_equal(collect(), i);
	}
	assert_true(vmop_guest_requests_put(&requests, &symbols));
	assert_true(put(1));
	assert_true(vmop_guest_requests_put(&requests, &symbols));
	assert_int_equal(vmop_guest_requests_n_open_symbols(&requests), 2);
	answer();
	assert_int_equal(vmop_guest_requests_n_open_symbols(&requests), 1);
	answer();
	assert_int_equal(vmop_guest_requests_n_open_symbols(&requests), 1);
	answer();
	assert_int_equal(vmop_guest_requests_n_open_symbols(&requests), 0);
	vmop_guest_requests_deinit(&requests);
}

static void what_is_not_collected_is_freed(void **state)
{
	(void)state;
	assert_true(put(1));
	assert_true(put(2));
	answer();
	vmop_guest_requests_deinit(&requests); /* the sanitizer sees a leak */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(answers_come_in_the_order_of_requests, begin),
		cmocka_unit_test_setup(each_request_has_room_for_its_answer, begin),
		cmocka_unit_test_setup(open_requests_for_symbols_are_counted, begin),
		cmocka_unit_test_setup(what_is_not_collected_is_freed, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
