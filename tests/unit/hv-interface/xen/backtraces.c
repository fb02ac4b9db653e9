// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Conditions for Xen's backtraces, and the stacks that the source makes of them, over a model of
 * Xen.
 */
#include "config.h"

#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "hv-interface/xen/backtraces.h"
#include "hv-interface/xen/owner-file.h"
#include "hv-interface/xen/user-space.h"
#include "hv-interface/xen/xen.h"
#include "tests/unit/hv-interface/xen/model.h"

#define KERNEL UINT64_C(0xffffffff81000000)

static char work[] = "/tmp/vmop-backtraces.XXXXXX";

static const char release[] = "CONFIG_X86_64=y\nCONFIG_X86=y\nCONFIG_XENOPROF=y\n"
			      "# CONFIG_FRAME_POINTER is not set\n";
static const char debug[] = "CONFIG_X86=y\nCONFIG_DEBUG=y\nCONFIG_FRAME_POINTER=y\n";

/* Compress text by gzip into buf. Return the length. */
static size_t compress_text(const char *text, uint8_t *buf, size_t size)
{
#ifdef HAVE_ZLIB
	z_stream stream = {
		.next_in = (void *)(uintptr_t)text,
		.avail_in = (uInt)strlen(text),
		.next_out = buf,
		.avail_out = (uInt)size,
	};
	assert_int_equal(
		deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return stream.total_out;
#else
	(void)text;
	(void)buf;
	(void)size;
	skip();
	return 0;
#endif
}

static void put_kallsyms(const char *text)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/proc/kallsyms", work);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* ---- facts ------------------------------------------------------------------------- */

static void test_config(void **state)
{
	uint8_t gzip[4096];
	bool is_readable;
	(void)state;
	size_t len = compress_text(debug, gzip, sizeof(gzip));
	assert_true(vmop_xen_config_has(gzip, len, "CONFIG_FRAME_POINTER", &is_readable));
	assert_true(is_readable);
	assert_false(vmop_xen_config_has(gzip, len, "CONFIG_FRAME", &is_readable));
	assert_false(vmop_xen_config_has(gzip, len - 9, "CONFIG_DEBUG", &is_readable));
	assert_false(is_readable);
	len = compress_text(release, gzip, sizeof(gzip));
	assert_false(vmop_xen_config_has(gzip, len, "CONFIG_FRAME_POINTER", &is_readable));
	assert_true(is_readable);
	len = compress_text("something else\n", gzip, sizeof(gzip));
	assert_false(vmop_xen_config_has(gzip, len, "CONFIG_X86", &is_readable));
	assert_false(is_readable);
	char *large = malloc(1 << 20);
	assert_non_null(large);
	memset(large, '\n', (1 << 20) - 1);
	large[(1 << 20) - 1] = '\0';
	len = compress_text(large, gzip, sizeof(gzip));
	assert_false(vmop_xen_config_has(gzip, len, "CONFIG_X86", &is_readable));
	assert_false(is_readable);
	free(large);
}

static void test_refusal(void **state)
{
	struct model *model = model_new(0);
	uint8_t gzip[4096];
	(void)state;
	assert_non_null(strstr(vmop_xen_backtraces_refusal(&model->base), "not known"));
	model->config = gzip;
	model->config_bytes = compress_text(debug, gzip, sizeof(gzip));
	assert_non_null(strstr(vmop_xen_backtraces_refusal(&model->base), "FRAME_POINTER"));
	model->config_bytes = compress_text(release, gzip, sizeof(gzip));
	assert_null(vmop_xen_backtraces_refusal(&model->base));
	free(model);
}

static void test_this_kernel(void **state)
{
	(void)state;
	assert_false(vmop_xen_kernel_has_frame_pointers("/no/such"));
	put_kallsyms("");
	assert_false(vmop_xen_kernel_has_frame_pointers(work));
	put_kallsyms("0000000000000000 T _text\n0000000000000000 T __start_orc_unwind_ip\n");
	assert_false(vmop_xen_kernel_has_frame_pointers(work));
	put_kallsyms("0000000000000000 T _text\n0000000000000000 T schedule\n");
	assert_true(vmop_xen_kernel_has_frame_pointers(work));
}

/* ---- the source ---------------------------------------------------------------------- */

struct seen {
	unsigned n;
	struct vmop_record records[16];
	bool has_stack[16];
	struct vmop_stack_capture stacks[16]; /* without the frames */
	uint64_t frames[16][VMOP_STACK_FRAMES_MAX + 1];
};

static void see(void *arg, const struct vmop_record *record, const struct vmop_stack_capture *stack)
{
	struct seen *seen = arg;
	unsigned i = seen->n++;
	assert_in_range(i, 0, 15);
	seen->records[i] = *record;
	seen->has_stack[i] = stack != NULL;
	if (!stack)
		return;
	seen->stacks[i] = *stack;
	assert_true(!stack->n_kernel_frames || !stack->n_user_frames);
	if (stack->n_kernel_frames)
		memcpy(seen->frames[i], stack->kernel_frames, stack->n_kernel_frames * 8);
	else
		memcpy(seen->frames[i], stack->user_frames, stack->n_user_frames * 8);
}

static struct vmop_source *open_source(struct model *model, enum vmop_stack_mode mode,
				       struct vmop_xen_link *link)
{
	struct vmop_event_request request;
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	struct vmop_source *source;
	assert_null(vmop_event_request_parse("cycles:100000", &request));
	const struct vmop_source_setup setup = {
		.events = &request,
		.n_events = 1,
		.root = work,
		.stacks = {.mode = mode, .max_frames = 4},
	};
	assert_null(vmop_xen_user_open(&model->base, &machine, &transport));
	assert_null(vmop_xen_open_over(transport, &machine, link, &setup, &source));
	vmop_event_request_deinit(&request);
	return source;
}

/* Create a model of a release of Xen. */
static struct model *new_release(unsigned n_domains)
{
	static uint8_t gzip[4096];
	struct model *model = model_new(n_domains);
	model->config = gzip;
	model->config_bytes = compress_text(release, gzip, sizeof(gzip));
	return model;
}

static void drain(struct vmop_source *source, struct seen *seen)
{
	const struct vmop_sink sink = {.record = see, .arg = seen};
	seen->n = 0;
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
}

/* Take a sample with callers in Xen, as Xen does. */
static void sample(struct model *model, unsigned domain, unsigned vcpu, uint8_t mode, uint64_t ip,
		   unsigned n_callers)
{
	model_sample(model, domain, vcpu, VMOP_XENOPROF_ESCAPE, mode, VMOP_XENOPROF_ESCAPE_TRACE);
	model_sample(model, domain, vcpu, ip, mode, 0);
	for (unsigned i = 1; i <= n_callers; i++)
		model_sample(model, domain, vcpu, ip + i, mode, 0);
}

static void close_all(struct vmop_source *source, struct model *model)
{
	vmop_source_close(source);
	assert_true(model_is_clean(model));
	free(model);
}

static void test_stacks(void **state)
{
	struct model *model = new_release(1);
	struct vmop_source_domain domain = {.id = 1};
	struct seen *seen = calloc(1, sizeof(*seen));
	const char *note;
	(void)state;
	put_kallsyms("0 T __start_orc_unwind\n");
	struct vmop_source *source = open_source(model, VMOP_STACKS_CFI, &model->base);
	assert_int_equal(vmop_source_stacks(source, &note)->mode, VMOP_STACKS_FP);
	assert_int_equal(vmop_source_stacks(source, NULL)->max_frames, 4);
	assert_non_null(strstr(note, "no frame pointers"));
	assert_non_null(strstr(note, "vmop.ko"));
	assert_null(vmop_source_set_domains(source, &domain, 1));
	assert_int_equal(model->backtrace_depth, 4);
	assert_null(vmop_source_start(source));
	sample(model, 0, 0, VMOP_XENOPROF_MODE_USER, 0x1000, 2);
	sample(model, 0, 1, VMOP_XENOPROF_MODE_KERNEL, KERNEL, 3);
	sample(model, 1, 0, VMOP_XENOPROF_MODE_USER, 0x2000, 4);
	sample(model, 1, 1, VMOP_XENOPROF_MODE_XEN, KERNEL, 2);
	drain(source, seen);
	assert_int_equal(seen->n, 4);
	assert_int_equal(seen->stacks[0].n_user_frames, 3);
	assert_int_equal(seen->frames[0][2], 0x1002);
	assert_int_equal(seen->stacks[1].n_kernel_frames, 1);
	assert_int_equal(seen->stacks[1].user_end, VMOP_STACK_NO_CFI);
	assert_int_equal(seen->stacks[2].n_user_frames, 5);
	assert_int_equal(seen->stacks[2].user_end, VMOP_STACK_DEPTH_LIMIT);
	assert_int_equal(seen->frames[2][4], 0x2004);
	assert_false(seen->has_stack[3]);
	/* A drain may end in the middle of a backtrace. */
	sample(model, 0, 0, VMOP_XENOPROF_MODE_USER, 0x1000, 1);
	drain(source, seen);
	assert_int_equal(seen->stacks[0].n_user_frames, 2);
	model_sample(model, 0, 0, 0x1002, VMOP_XENOPROF_MODE_USER, 0);
	drain(source, seen);
	assert_int_equal(seen->n, 0);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.samples, 5);
	assert_int_equal(stats.malformed_records, 0);
	free(seen);
	close_all(source, model);
}

static void test_without(void **state)
{
	static const char *const words[] = {"not known", "FRAME_POINTER", "privcmd"};
	uint8_t gzip[4096];
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct model *model = model_new(0);
		const char *note;
		if (i) {
			model->config = gzip;
			model->config_bytes = compress_text(debug, gzip, sizeof(gzip));
		}
		struct vmop_source *source =
			open_source(model, VMOP_STACKS_FP, i < 2 ? &model->base : NULL);
		assert_int_equal(vmop_source_stacks(source, &note)->mode, VMOP_STACKS_OFF);
		assert_non_null(strstr(note, words[i]));
		assert_null(vmop_source_start(source));
		assert_int_equal(model->backtrace_depth, 0);
		close_all(source, model);
	}
	struct model *model = new_release(0);
	struct vmop_source *source = open_source(model, VMOP_STACKS_OFF, NULL);
	assert_int_equal(model->backtrace_depth, 0);
	close_all(source, model);
}

/* An HVM domain comes and goes: no backtraces as long as it is sampled. */
static void test_hvm(void **state)
{
	struct model *model = new_release(3);
	struct vmop_source_domain domains[] = {{.id = 1}, {.id = 2}}, gone = {.id = 20};
	struct seen *seen = calloc(1, sizeof(*seen));
	const char *note;
	(void)state;
	model->domains[2].is_hvm = true;
	struct vmop_source *source = open_source(model, VMOP_STACKS_FP, &model->base);
	assert_null(vmop_source_start(source));
	assert_int_equal(model->backtrace_depth, 4);
	assert_null(vmop_source_set_domains(source, domains, 2));
	assert_int_equal(model->backtrace_depth, 0);
	vmop_source_stacks(source, &note);
	assert_non_null(strstr(note, "HVM"));
	model_sample(model, 2, 0, 0x1000, VMOP_XENOPROF_MODE_USER, 0);
	model_sample(model, 2, 0, 0x2000, VMOP_XENOPROF_MODE_USER, 0);
	drain(source, seen);
	assert_int_equal(seen->n, 2);
	assert_false(seen->has_stack[0]);
	/* Xen refuses it: the others have stacks. */
	model->domains[2].is_destroyed = true;
	assert_null(vmop_source_set_domains(source, domains, 1));
	assert_int_equal(model->backtrace_depth, 4);
	vmop_source_stacks(source, &note);
	assert_null(strstr(note, "now"));
	sample(model, 1, 0, VMOP_XENOPROF_MODE_USER, 0x1000, 1);
	drain(source, seen);
	assert_int_equal(seen->stacks[0].n_user_frames, 2);
	/* One that is gone does not matter. */
	assert_null(vmop_source_set_domains(source, &gone, 1));
	assert_int_equal(gone.error, EINVAL);
	assert_int_equal(model->backtrace_depth, 4);
	/* A PVH dom0. */
	model->domains[0].is_hvm = true;
	assert_null(vmop_source_set_domains(source, domains, 1));
	assert_int_equal(model->backtrace_depth, 0);
	free(seen);
	close_all(source, model);
}

/* A session that dies with backtraces leaves none to its successor. */
static void test_death(void **state)
{
	struct model *model = new_release(1);
	struct vmop_xen_machine machine;
	struct vmop_xen_transport *transport;
	(void)state;
	struct vmop_source *source = open_source(model, VMOP_STACKS_FP, &model->base);
	assert_null(vmop_source_start(source));
	assert_int_equal(model->backtrace_depth, 4);
	model->is_dead = true;
	vmop_source_close(source);
	model_died(model);
	assert_null(vmop_xen_owner_file_create()); /* a killed one leaves it */
	assert_null(vmop_xen_user_open(&model->base, &machine, &transport));
	assert_true(machine.had_remains);
	assert_int_equal(model->backtrace_depth, 0);
	transport->ops->close(transport);
	assert_true(model_is_clean(model));
	free(model);
}

static int set_up(void **state)
{
	char path[64];
	(void)state;
	if (!mkdtemp(work))
		return -1;
	snprintf(path, sizeof(path), "%s/proc", work);
	return mkdir(path, 0755) || setenv("VMOP_RUNDIR", work, 1) ? -1 : 0;
}

static int tear_down(void **state)
{
	char path[64];
	(void)state;
	snprintf(path, sizeof(path), "%s/proc/kallsyms", work);
	unlink(path);
	snprintf(path, sizeof(path), "%s/proc", work);
	rmdir(path);
	return rmdir(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_config),	    cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_this_kernel), cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_without),	    cmocka_unit_test(test_hvm),
		cmocka_unit_test(test_death),
	};
	return cmocka_run_group_tests_name("Xen's backtraces", tests, set_up, tear_down);
}
