// SPDX-License-Identifier: GPL-2.0-or-later
/* Loading BPF objects: obstacles and their reasons, type information, and the life of a real one.
 */
#include "hv-interface/bpf/loaded.h"

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hv-interface/bpf/waits-layout.h"
#include "hv-interface/bpf/waits-object.h"

static const struct vmop_waits_settings settings = {.has_state_argument = 1};

static struct vmop_bpf_source waits_source(void)
{
	return (struct vmop_bpf_source){
		.name = "vmop_waits",
		.begin = vmop_waits_object,
		.end = vmop_waits_object_end,
		.section = VMOP_WAITS_SETTINGS_SECTION,
		.settings = &settings,
		.settings_bytes = sizeof(settings),
	};
}

static void assert_message(struct vmop_error *err, const char *text)
{
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CANT);
	assert_non_null(strstr(err->message, text));
	vmop_error_destroy(err);
}

static void refusals_have_reasons(void **state)
{
	(void)state;
	assert_message(vmop_bpf_refused(EPERM, "; hint"), "it needs CAP_BPF and CAP_PERFMON");
	assert_message(vmop_bpf_refused(EACCES, "; hint"), "bpf() is not permitted (");
	assert_message(vmop_bpf_refused(EINVAL, "; hint"),
		       "the kernel refuses the BPF program (Invalid argument; hint)");
}

static void parameters_are_counted(void **state)
{
	struct btf *types = btf__new_empty();
	(void)state;
	assert_non_null(types);
	int number = btf__add_int(types, "int", 4, BTF_INT_SIGNED);
	int prototype = btf__add_func_proto(types, 0);
	assert_int_equal(btf__add_func_param(types, "a", number), 0);
	assert_int_equal(btf__add_func_param(types, "b", number), 0);
	assert_true(btf__add_func(types, "f", BTF_FUNC_GLOBAL, prototype) > 0);
	int pointer = btf__add_ptr(types, prototype);
	assert_true(btf__add_typedef(types, "btf_trace_f", pointer) > 0);
	assert_true(btf__add_typedef(types, "btf_trace_int", number) > 0);
	assert_int_equal(vmop_bpf_n_parameters(types, "f", BTF_KIND_FUNC), 2);
	assert_int_equal(vmop_bpf_n_parameters(types, "btf_trace_f", BTF_KIND_TYPEDEF), 2);
	assert_int_equal(vmop_bpf_n_parameters(types, "btf_trace_int", BTF_KIND_TYPEDEF), 0);
	assert_int_equal(vmop_bpf_n_parameters(types, "g", BTF_KIND_FUNC), 0);
	btf__free(types);
}

static void damaged_objects_are_refused(void **state)
{
	struct vmop_bpf_loaded loaded = {0};
	struct vmop_bpf_source source = waits_source();
	(void)state;
	source.end = source.begin + 64;
	assert_true(vmop_bpf_loaded_open(&loaded, &source) < 0);
	vmop_bpf_loaded_close(&loaded);
	source = waits_source();
	source.section = ".rodata.none";
	assert_int_equal(vmop_bpf_loaded_open(&loaded, &source), -EINVAL);
	source = waits_source();
	source.settings_bytes--;
	assert_int_equal(vmop_bpf_loaded_open(&loaded, &source), -EINVAL);
	vmop_bpf_loaded_close(&loaded);
	vmop_bpf_loaded_close(&loaded); /* once more */
}

/* Load a real object, attach as often as there is room, and run a program on each CPU. */
static void a_life(void **state)
{
	struct vmop_bpf_loaded loaded = {0};
	const struct vmop_bpf_source source = waits_source();
	(void)state;
	struct vmop_error *err = vmop_bpf_check_permission("");
	if (err) {
		print_message("%s\n", err->message);
		vmop_error_destroy(err);
		skip();
	}
	assert_int_equal(vmop_bpf_loaded_open(&loaded, &source), 0);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(loaded.object, "cpus"),
				 vmop_bpf_n_cpus());
	bpf_program__set_autoload(vmop_bpf_loaded_program(&loaded, "vmop_exit"), false);
	bpf_program__set_autoload(vmop_bpf_loaded_program(&loaded, "vmop_entry"), false);
	if (bpf_object__load(loaded.object) < 0) {
		vmop_bpf_loaded_close(&loaded);
		skip(); /* for instance a kernel without KVM */
	}
	assert_true(vmop_bpf_loaded_map_fd(&loaded, "victims") >= 0);
	assert_true(vmop_bpf_loaded_map_fd(&loaded, "nothing") < 0);
	assert_int_equal(vmop_bpf_loaded_attach(&loaded, "vmop_switch"), 0);
	assert_int_equal(loaded.n_links, 1);
	loaded.n_links = VMOP_BPF_MAX_LINKS;
	assert_int_equal(vmop_bpf_loaded_attach(&loaded, "vmop_wakeup"), -ENOSPC);
	loaded.n_links = 1;
	vmop_bpf_run_on_cpus(bpf_program__fd(vmop_bpf_loaded_program(&loaded, "vmop_prime")),
			     vmop_bpf_n_cpus());
	vmop_bpf_loaded_detach(&loaded);
	assert_int_equal(loaded.n_links, 0);
	vmop_bpf_loaded_close(&loaded);
	assert_null(loaded.object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_have_reasons),
		cmocka_unit_test(parameters_are_counted),
		cmocka_unit_test(damaged_objects_are_refused),
		cmocka_unit_test(a_life),
	};
	libbpf_set_print(NULL); /* damaged objects are no news */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
