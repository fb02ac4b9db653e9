// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The xen source over a model of Xen: events, records, domains that change.
 */
#include "config.h"

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hv-interface/xen/event.h"
#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xen.h"
#include "libutil/dirs/run-dir.h"
#include "tests/unit/hv-interface/xen/model.h"

/* libpfm4 has the events of its own architecture, and Xen samples only on x86. */
#if defined(HAVE_PFM) && (defined(__x86_64__) || defined(__i386__))
#define HAS_X86_EVENTS
#endif

static char work[] = "/tmp/vmop-xen.XXXXXX";

/* ---- events ------------------------------------------------------------------------ */

static const struct vmop_xen_machine core_2 = {.cpu_type = "i386/core_2", .n_counters = 2};

static struct vmop_error *choose(const char *text, const struct vmop_xen_machine *machine,
				 struct vmop_xen_choice *ret)
{
	struct vmop_event_request request;
	assert_null(vmop_event_request_parse(text, &request));
	struct vmop_error *err = vmop_xen_choose(&request, machine, work, ret);
	vmop_event_request_deinit(&request);
	return err;
}

static void test_event_codes(void **state)
{
	static const struct {
		const char *text, *cpu_type;
		uint32_t code, unit_mask;
	} events[] = {
		{"cycles:100000", "i386/core_2", 0x3c, 0},
		{"CPU_CLK_UNHALTED:100000", "i386/arch_perfmon", 0x3c, 0},
		{"cpu-cycles:100000", "i386/core_i7", 0x3c, 0},
		{"default:100000", "i386/piii", 0x79, 0},
		{"cycles:100000", "x86-64/family10h", 0x76, 0},
		{"cycles:100000", "i386/athlon", 0x76, 0},
		{"r4f2e:6000", "i386/core_2", 0x2e, 0x4f},
		{"r1000003cb:2147483647", "x86-64/family15h", 0x1cb, 3},
#ifdef HAS_X86_EVENTS
		{"INST_RETIRED:100000", "i386/core_2", 0xc0, 0},
		{"L2_LINES_IN:100000:SELF", "i386/core_2", 0x24, 0x70},
#endif
	};
	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct vmop_xen_machine machine = {.n_counters = 2};
		struct vmop_xen_choice choice;
		strcpy(machine.cpu_type, events[i].cpu_type);
		struct vmop_error *err = choose(events[i].text, &machine, &choice);
		if (err)
			fail_msg("%s: %s", events[i].text, err->message);
		assert_int_equal(choice.event.code, events[i].code);
		assert_int_equal(choice.event.unit_mask, events[i].unit_mask);
		assert_null(choice.note);
		vmop_xen_choice_deinit(&choice);
	}
}

static void test_event_refusals(void **state)
{
	static const struct {
		const char *text, *cpu_type, *says;
		enum vmop_error_code code;
	} events[] = {
		{"no-such:100000", "i386/core_2", "no event 'no-such'", VMOP_ERROR_USAGE},
		{"cycles:5999", "i386/core_2", "between 6000 and", VMOP_ERROR_USAGE},
		{"cycles:2147483648", "i386/core_2", "between 6000 and", VMOP_ERROR_USAGE},
		{"r2e:1000Hz", "i386/core_2", "every COUNT events", VMOP_ERROR_USAGE},
		{"r2e", "i386/core_2", "every COUNT events", VMOP_ERROR_USAGE},
		{"cycles:p:100000", "i386/core_2", "no precise", VMOP_ERROR_USAGE},
		{"r:100000", "i386/core_2", "no event 'r'", VMOP_ERROR_USAGE},
		{"r12345678901234567:100000", "i386/core_2", "no event", VMOP_ERROR_USAGE},
		{"cycles:100000", "i386/p4", "'i386/p4' are not supported", VMOP_ERROR_CANT},
		{"cycles:100000", "", "are not supported", VMOP_ERROR_CANT},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct vmop_xen_machine machine = {.n_counters = 2};
		struct vmop_xen_choice choice;
		strcpy(machine.cpu_type, events[i].cpu_type);
		struct vmop_error *err = choose(events[i].text, &machine, &choice);
		assert_non_null(err);
		assert_int_equal(err->code, events[i].code);
		if (!strstr(err->message, events[i].says))
			fail_msg("%s: '%s' lacks '%s'", events[i].text, err->message,
				 events[i].says);
		vmop_error_destroy(err);
	}
}

static void put_cpuinfo(const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/proc", work);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", work);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* A frequency of cycles becomes a period by the processor's clock. */
static void test_frequency(void **state)
{
	struct vmop_xen_choice choice;
	(void)state;
	put_cpuinfo("processor\t: 0\ncpu MHz\t\t: 2500.000\n");
	assert_null(choose("cycles:1000Hz", &core_2, &choice));
	assert_int_equal(choice.event.period_events, 2500000);
	assert_non_null(strstr(choice.note, "every 2500000 cycles"));
	vmop_xen_choice_deinit(&choice);
	assert_null(vmop_xen_choose(NULL, &core_2, work, &choice));
	assert_int_equal(choice.event.period_events, 2500000);
	vmop_xen_choice_deinit(&choice);
	assert_null(choose("cycles:1000000Hz", &core_2, &choice));
	assert_int_equal(choice.event.period_events, 6000);
	vmop_xen_choice_deinit(&choice);
	put_cpuinfo("processor\t: 0\n");
	struct vmop_error *err = choose("cycles", &core_2, &choice);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
}

struct found {
	unsigned n, n_unit_masks;
	bool has_cycles, has_inst_retired;
};

static void find(void *arg, const struct vmop_event_entry *entry)
{
	struct found *found = arg;
	assert_int_equal(entry->group, VMOP_EVENTS_XEN);
	found->n++;
	found->n_unit_masks += entry->unit_mask != NULL;
	found->has_cycles |= !entry->unit_mask && !strcmp(entry->name, "cycles");
	found->has_inst_retired |= !entry->unit_mask && !strcmp(entry->name, "INST_RETIRED");
}

static void test_event_list(void **state)
{
	struct found found = {0};
	(void)state;
	vmop_xen_event_list(find, &found);
	assert_true(found.has_cycles);
#ifdef HAS_X86_EVENTS
	assert_true(found.has_inst_retired);
	assert_in_range(found.n_unit_masks, 50, 5000);
#endif
}

/* ---- the source ------------------------------------------------------------------- */

struct seen {
	unsigned n, n_lost;
	struct vmop_record records[64];
};

static void see(void *arg, const struct vmop_record *record, const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct seen *seen = arg;
	if (record->type == VMOP_RECORD_LOST)
		seen->n_lost += (unsigned)record->lost.lost_records;
	else if (seen->n < 64)
		seen->records[seen->n++] = *record;
}

static struct vmop_source *open_source(struct model *model, const char *const *events, size_t n)
{
	struct vmop_event_request requests[4];
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_source *source;
	for (size_t i = 0; i < n; i++)
		assert_null(vmop_event_request_parse(events[i], &requests[i]));
	const struct vmop_source_setup setup = {.events = requests, .n_events = n, .root = work};
	assert_null(vmop_xen_user_open(&model->base, &machine, &transport));
	struct vmop_error *err = vmop_xen_open_over(transport, &machine, NULL, &setup, &source);
	if (err)
		fail_msg("%s", err->message);
	for (size_t i = 0; i < n; i++)
		vmop_event_request_deinit(&requests[i]);
	return source;
}

/* Close the source and check that nothing stays in Xen. */
static void close_all(struct vmop_source *source, struct model *model)
{
	vmop_source_close(source);
	assert_true(model_is_clean(model));
	free(model);
}

static void drain(struct vmop_source *source, struct seen *seen)
{
	const struct vmop_sink sink = {.record = see, .arg = seen};
	bool ended = true;
	*seen = (struct seen){0};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_false(ended);
}

static void test_records(void **state)
{
	static const char *const events[] = {"cycles:100000", "rc0:50000"};
	struct model *model = model_new(3);
	struct vmop_source *source = open_source(model, events, 2);
	struct vmop_source_domain domains[] = {{.id = 2}, {.id = 3}};
	struct vmop_source_stats stats;
	struct seen seen;
	(void)state;
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_null(vmop_source_start(source));
	model_sample(model, 0, 1, 0xffff1000, VMOP_XENOPROF_MODE_KERNEL, 0);
	model_sample(model, 0, 0, 0x4000, VMOP_XENOPROF_MODE_USER, 1);
	model_sample(model, 2, 1, 0x5000, VMOP_XENOPROF_MODE_USER, 0);
	model_sample(model, 3, 0, 0x6000, VMOP_XENOPROF_MODE_XEN, 0);
	model_sample(model, 3, 0, 0x7000, 3, 0);		       /* no such mode */
	model_sample(model, 3, 0, 0x7000, VMOP_XENOPROF_MODE_USER, 2); /* nor event */
	model_ring(&model->domains[3], 1)->lost_samples = 9;
	drain(source, &seen);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.n_lost, 9);
	static const struct vmop_sample wanted[] = {
		{.ip = 0x4000, .weight_events = 50000, .event = 1, .flags = VMOP_SAMPLE_USER},
		{.ip = 0xffff1000,
		 .weight_events = 100000,
		 .flags = VMOP_SAMPLE_KERNEL,
		 .source_vcpu = 1},
		{.ip = 0x5000,
		 .weight_events = 100000,
		 .source_domain = 2,
		 .source_vcpu = 1,
		 .flags = VMOP_SAMPLE_USER | VMOP_SAMPLE_GUEST},
		{.ip = 0x6000,
		 .weight_events = 100000,
		 .source_domain = 3,
		 .flags = VMOP_SAMPLE_HYPERVISOR},
	};
	for (size_t i = 0; i < 4; i++) {
		const struct vmop_sample *sample = &seen.records[i].sample;
		assert_int_equal(seen.records[i].type, VMOP_RECORD_SAMPLE);
		assert_int_equal(sample->ip, wanted[i].ip);
		assert_int_equal(sample->weight_events, wanted[i].weight_events);
		assert_int_equal(sample->event, wanted[i].event);
		assert_int_equal(sample->flags, wanted[i].flags);
		assert_int_equal(sample->source_domain, wanted[i].source_domain);
		assert_int_equal(sample->source_vcpu, wanted[i].source_vcpu);
		assert_int_equal(sample->pid, UINT32_MAX);
		assert_int_equal(sample->cpu, UINT32_MAX);
	}
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.samples, 4);
	assert_int_equal(stats.malformed_records, 2);
	assert_int_equal(stats.lost_records, 9);
	assert_string_equal(vmop_source_transport(source), "hypercalls from user space");
	close_all(source, model);
}

/* Unwanted samples of an event are left out, also where the counter cannot separate them. */
static void test_filters(void **state)
{
	static const struct {
		const char *event;
		/* one sample each: own user, own kernel, Xen, guest user, guest kernel */
		unsigned n;
	} filters[] = {
		{"cycles:100000", 5},	       {"cycles:100000::0:1", 2},
		{"cycles:100000::1:0", 3},     {"cycles:100000::1:1:0:1", 2},
		{"cycles:100000::1:1:1:0", 3}, {"cycles:100000::1:0:0:1", 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct model *model = model_new(1);
		struct vmop_source *source = open_source(model, &filters[i].event, 1);
		struct vmop_source_domain domain = {.id = 1};
		struct seen seen;
		assert_null(vmop_source_set_domains(source, &domain, 1));
		assert_null(vmop_source_start(source));
		for (uint8_t mode = 0; mode < 3; mode++)
			model_sample(model, 0, 0, 0x1000, mode, 0);
		for (uint8_t mode = 0; mode < 2; mode++)
			model_sample(model, 1, 0, 0x1000, mode, 0);
		drain(source, &seen);
		if (seen.n != filters[i].n)
			fail_msg("%s: %u samples", filters[i].event, seen.n);
		vmop_source_close(source);
		free(model);
	}
}

static const char *const cycles[] = {"cycles:100000"};

/* The domains of a session change: no sample is lost, and Xen releases the old domains. */
static void test_domains_change(void **state)
{
	struct model *model = model_new(3);
	struct vmop_source *source = open_source(model, cycles, 1);
	struct vmop_source_domain domains[] = {{.id = 1}, {.id = 2}};
	struct seen seen;
	(void)state;
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_null(vmop_source_start(source));
	unsigned calls = model->calls;
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(model->calls, calls); /* the same ones */
	model_sample(model, 1, 0, 0x1000, VMOP_XENOPROF_MODE_USER, 0);
	model_sample(model, 2, 0, 0x2000, VMOP_XENOPROF_MODE_USER, 0);
	model_ring(&model->domains[2], 1)->lost_samples = 5;
	model->domains[2].is_destroyed = true;
	domains[1].id = 3;
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(model->state, MODEL_PROFILING);
	assert_false(model->domains[2].exists); /* no zombie is left */
	assert_true(model->domains[3].is_passive);
	model_sample(model, 3, 0, 0x3000, VMOP_XENOPROF_MODE_USER, 0);
	drain(source, &seen);
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.records[1].sample.ip, 0x2000);
	assert_int_equal(seen.records[1].sample.source_domain, 2);
	assert_int_equal(seen.records[2].sample.ip, 0x3000);
	assert_int_equal(seen.n_lost, 5);
	/* A missing domain gets an error, and the others continue. */
	domains[0].id = 2;
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(domains[0].error, EINVAL);
	assert_int_equal(domains[1].error, 0);
	assert_true(model->domains[3].is_passive);
	assert_null(vmop_source_set_domains(source, NULL, 0));
	assert_int_equal(model_count(model, true), 0);
	assert_null(vmop_source_stop(source));
	close_all(source, model);
}

/* A polled sample has the time of the drain; a record's time is before the drain's limit. */
static void test_times(void **state)
{
	struct model *model = model_new(1);
	struct vmop_source *source = open_source(model, cycles, 1);
	struct seen seen = {0};
	const struct vmop_sink sink = {.record = see, .arg = &seen};
	bool ended;
	(void)state;
	assert_null(vmop_source_start(source));
	model_sample(model, 0, 0, 0x1000, VMOP_XENOPROF_MODE_USER, 0);
	assert_null(vmop_source_drain(source, 1000, &sink, &ended));
	model_sample(model, 0, 0, 0x2000, VMOP_XENOPROF_MODE_USER, 0);
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_int_equal(seen.n, 2);
	assert_in_range(seen.records[0].time_ns, 1, 999);
	assert_in_range(seen.records[1].time_ns, 1000, UINT64_MAX - 1);
	close_all(source, model);
}

static void test_domain_limits(void **state)
{
	struct model *model = model_new(30);
	struct vmop_source *source = open_source(model, cycles, 1);
	struct vmop_source_domain domains[26];
	(void)state;
	for (uint32_t i = 0; i < 26; i++)
		domains[i] = (struct vmop_source_domain){.id = i + 1};
	assert_null(vmop_source_set_domains(source, domains, 25));
	assert_int_equal(model_count(model, true), 25);
	struct vmop_error *err = vmop_source_set_domains(source, domains, 26);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	assert_non_null(strstr(err->message, "25 passive domains at a time, not 26"));
	vmop_error_destroy(err);
	assert_int_equal(model_count(model, true), 25); /* as it was */
	for (uint32_t i = 0; i < 25; i++)
		domains[i].is_active = true;
	err = vmop_source_set_domains(source, domains, 25);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "24 active domains at a time, not 25"));
	vmop_error_destroy(err);
	domains[0].id = 0;
	err = vmop_source_set_domains(source, domains, 1);
	assert_non_null(err);
	vmop_error_destroy(err);
	close_all(source, model);
}

/* Xen does not resume after a change: reported once, and retried until it does. */
static void test_goes_on_later(void **state)
{
	struct model *model = model_new(1);
	struct vmop_source *source = open_source(model, cycles, 1);
	struct vmop_source_domain domain = {.id = 1};
	struct seen seen;
	(void)state;
	assert_null(vmop_source_start(source));
	model->refusals[VMOP_XENOPROF_RESERVE_COUNTERS] = -EBUSY;
	struct vmop_error *err = vmop_source_set_domains(source, &domain, 1);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "retried"));
	vmop_error_destroy(err);
	drain(source, &seen);
	for (unsigned i = 0; i < 10; i++)
		assert_null(vmop_source_check_cpus(source));
	assert_int_equal(model->state, MODEL_IDLE);
	struct vmop_source_stats early, late;
	vmop_source_stats(source, &early);
	usleep(1000);
	vmop_source_stats(source, &late);
	assert_true(late.paused_ns > early.paused_ns); /* it still lasts */
	model->refusals[VMOP_XENOPROF_RESERVE_COUNTERS] = 0;
	for (unsigned i = 0; i < 64 && model->state != MODEL_PROFILING; i++)
		assert_null(vmop_source_check_cpus(source));
	assert_int_equal(model->state, MODEL_PROFILING);
	assert_true(model->domains[1].is_passive);
	close_all(source, model);
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(work) && !setenv("VMOP_RUNDIR", work, 1) ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[64];
	(void)state;
	snprintf(path, sizeof(path), "%s/proc/cpuinfo", work);
	unlink(path);
	snprintf(path, sizeof(path), "%s/proc", work);
	rmdir(path);
	return rmdir(work);
}

int main(void)
{
	/* Intel's Core 2, whatever this machine has. */
	setenv("LIBPFM_FORCE_PMU", "core", 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_codes),    cmocka_unit_test(test_event_refusals),
		cmocka_unit_test(test_event_list),     cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_records),	       cmocka_unit_test(test_filters),
		cmocka_unit_test(test_domains_change), cmocka_unit_test(test_times),
		cmocka_unit_test(test_domain_limits),  cmocka_unit_test(test_goes_on_later),
	};
	return cmocka_run_group_tests_name("the xen source", tests, set_up, tear_down);
}
