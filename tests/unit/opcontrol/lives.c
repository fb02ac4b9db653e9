// SPDX-License-Identifier: GPL-2.0-or-later
/* The lives of one guest in a status. */
#include "opcontrol/lives.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void expect(const char *domains, const char *wanted)
{
	json_t *list = json_loads(domains, 0, NULL);
	char text[256] = "";
	size_t len = 0;
	assert_non_null(list);
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct control_life life = control_life_of(list, i);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%zu/%zu@%zu",
					i ? " " : "", life.number, life.n_lives, life.first);
	}
	assert_string_equal(text, wanted);
	json_decref(list);
}

#define HOST "{\"id\":0,\"name\":\"host\",\"kind\":\"host\",\"running\":true}"

static void same_uuid(void **state)
{
	(void)state;
	expect("[" HOST ",{\"id\":1,\"name\":\"g\",\"uuid\":\"A\",\"running\":false},"
	       "{\"id\":2,\"name\":\"h\",\"uuid\":\"B\",\"running\":true},"
	       "{\"id\":3,\"name\":\"renamed\",\"uuid\":\"a\",\"running\":true}]",
	       "1/1@0 1/2@1 1/1@2 2/2@1");
}

static void same_name(void **state)
{
	(void)state;
	expect("[{\"id\":1,\"name\":\"g\",\"running\":false},"
	       "{\"id\":2,\"name\":\"g\",\"uuid\":\"A\",\"running\":true},"
	       "{\"id\":3,\"name\":\"g\",\"running\":true}]",
	       "1/2@0 1/1@1 2/2@0");
	/* two running guests are not lives of one */
	expect("[{\"id\":1,\"name\":\"g\",\"running\":true},"
	       "{\"id\":2,\"name\":\"g\",\"running\":true},"
	       "{\"id\":3,\"name\":\"g\",\"running\":false}]",
	       "1/1@0 1/1@1 1/1@2");
}

static void no_guests(void **state)
{
	(void)state;
	expect("[{\"id\":0,\"name\":\"x\",\"kind\":\"host\",\"running\":true},"
	       "{\"id\":1,\"name\":\"x\",\"kind\":\"hypervisor\",\"running\":true},"
	       "{\"id\":2,\"name\":\"x\",\"kind\":\"passive\",\"running\":true}]",
	       "1/1@0 1/1@1 1/1@2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_uuid),
		cmocka_unit_test(same_name),
		cmocka_unit_test(no_guests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
