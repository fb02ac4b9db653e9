// SPDX-License-Identifier: GPL-2.0-or-later
/* Hand-made samples in generated code, through the real profiler, with a real jitdump. */
#include "tests/unit/daemon/common.h"

#define PID 100
#define CHILD 101
#define CODE 0x7f0000000000 /* of the generated code */
#define MARKER 0x7f1000000000
#define SIZE 64 /* bytes of each function */
#define USER VMOP_SAMPLE_USER

/* A time in the past: no record of a jitdump is from the future. */
static uint64_t base_ns;
static FILE *dump;
static char dump_path[256];

/* Append a function. Return the position of its code. */
static uint64_t load(uint64_t time_ns, uint64_t address, const char *name)
{
	static uint64_t index;
	const uint32_t words[] = {0, (uint32_t)(56 + strlen(name) + 1 + SIZE)};
	const uint32_t pids[] = {PID, PID};
	const uint64_t fields[] = {address, address, SIZE, ++index};
	const char code[SIZE] = {0};
	fwrite(words, 8, 1, dump);
	fwrite(&time_ns, 8, 1, dump);
	fwrite(pids, 8, 1, dump);
	fwrite(fields, 32, 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	uint64_t position = (uint64_t)ftell(dump);
	fwrite(code, SIZE, 1, dump);
	assert_int_equal(fflush(dump), 0);
	return position;
}

/* Begin a machine with a process that has mapped its jitdump. */
static void begin(struct rig *rig, enum vmop_stack_mode mode)
{
	const uint32_t words[] = {0x4a695444, 1, 40, 62, 0, PID};
	const uint64_t rest[] = {0, 0};
	struct stat st;
	rig_folder(rig);
	for (uint32_t pid = PID; pid <= CHILD; pid++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%u/status", pid);
		machine_file(rig, path, "Name:\tjit\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%u\n", getuid(),
			     geteuid(), getuid(), getuid(), pid);
		snprintf(path, sizeof(path), "/proc/%u/root/work/jit-100.dump", pid);
		machine_file(rig, path, "%s", "");
	}
	snprintf(dump_path, sizeof(dump_path), "%s/root/proc/100/root/work/jit-100.dump",
		 rig->folder);
	dump = fopen(dump_path, "w");
	assert_non_null(dump);
	fwrite(words, sizeof(words), 1, dump);
	fwrite(rest, sizeof(rest), 1, dump);
	assert_int_equal(fflush(dump), 0);
	assert_int_equal(stat(dump_path, &st), 0);
	rig_begin(rig, (struct vmop_profiler_options){
			       .stacks = {.mode = mode, .max_frames = VMOP_STACK_FRAMES_MAX}});
	base_ns = rig->now_ns = vmop_clock_ns(CLOCK_MONOTONIC) - SECOND_NS;
	give_program(rig, PID, "jit", "/bin/jit", 9);
	give_mmap(rig, PID, CODE, 0x10000, 0, "//anon", 0);
	give(rig, (struct vmop_record){.type = VMOP_RECORD_MMAP,
				       .mmap = {.start = MARKER,
						.len_bytes = 0x1000,
						.pid = PID,
						.tid = PID,
						.inode = st.st_ino,
						.path = "/work/jit-100.dump"}});
}

static void end(struct rig *rig)
{
	fclose(dump);
	rig_end(rig);
}

static void give_at(struct rig *rig, uint32_t pid, uint64_t after_ns, uint64_t address)
{
	rig->now_ns = base_ns + after_ns;
	give_sample(rig, pid, pid, address, USER);
}

/* Return the name that the session has for a place, or "-". */
static const char *name_at(const struct rig *rig, struct vmop_image_id image, uint64_t offset)
{
	static char name[64];
	struct vmop_symbol *symbols = NULL;
	size_t n = 0;
	snprintf(name, sizeof(name), "-");
	ok(vmop_db_get_symbols(rig->db, image, &symbols, &n));
	for (size_t i = 0; i < n; i++)
		if (offset - symbols[i].offset < symbols[i].len_bytes)
			snprintf(name, sizeof(name), "%s", symbols[i].name);
	free(symbols);
	return name;
}

/* Return the samples at an offset of an image. */
static uint64_t samples_at(const struct session *session, const char *image, uint64_t offset)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < session->n; i++)
		if (session->rows[i].offset == offset &&
		    !strncmp(session->rows[i].image, image, strlen(image)))
			sum += session->rows[i].samples;
	return sum;
}

static struct vmop_image_id image_named(const struct session *session, const char *name)
{
	for (size_t i = 0; i < session->n_images; i++)
		if (!strncmp(session->images[i].name, name, strlen(name)))
			return session->images[i].id;
	fail_msg("no image %s", name);
	return (struct vmop_image_id){0};
}

static void a_sample_has_the_function_of_its_time(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_OFF);
	uint64_t a = load(base_ns + 100, CODE + 0x100, "a");
	give_at(&rig, PID, 150, CODE + 0x101);
	give_at(&rig, PID, 199, CODE + 0x101);
	uint64_t b = load(base_ns + 200, CODE + 0x100, "b");
	give_at(&rig, PID, 250, CODE + 0x101);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 3);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 0);
	assert_int_equal(samples_of(session, "[jitdump jit 100]", "jit"), 3);
	assert_int_equal(samples_at(session, "[jitdump", a + 1), 2);
	assert_int_equal(samples_at(session, "[jitdump", b + 1), 1);
	struct vmop_image_id image = image_named(session, "[jitdump");
	assert_string_equal(name_at(&rig, image, a + 1), "a");
	assert_string_equal(name_at(&rig, image, b + 1), "b");
	/* The next interval begins where this one ended. */
	uint64_t c = load(base_ns + 300, CODE + 0x100, "c");
	give_at(&rig, PID, 270, CODE + 0x101);
	give_at(&rig, PID, 350, CODE + 0x101);
	session = rig_flush(&rig);
	assert_int_equal(samples_at(session, "[jitdump", b + 1), 2);
	assert_int_equal(samples_at(session, "[jitdump", c + 1), 1);
	end(&rig);
}

static void late_records_name_addresses(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_OFF);
	give_at(&rig, PID, 150, CODE + 0x101);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_at(session, "[anon", CODE + 0x101), 1);
	load(base_ns + 100, CODE + 0x100, "late");
	vmop_profiler_set_ending(rig.profiler, true);
	session = rig_flush(&rig);
	assert_string_equal(name_at(&rig, image_named(session, "[anon"), CODE + 0x101), "late");
	end(&rig);
}

/* The text page of the program and data beside the generated code are not touched. */
static void other_samples_do_not_wait(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_OFF);
	load(base_ns + 100, 0x400000, "evil");
	give_at(&rig, PID, 150, 0x400123);
	assert_int_equal(vmop_profiler_waiting(rig.profiler), 1);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/jit", "jit"), 1);
	end(&rig);
}

static void a_child_has_its_parents_code(void **state)
{
	struct rig rig;
	char path[256];
	(void)state;
	begin(&rig, VMOP_STACKS_OFF);
	snprintf(path, sizeof(path), "%s/root/proc/101/root/work/jit-100.dump", rig.folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(dump_path, path), 0);
	uint64_t a = load(base_ns + 100, CODE + 0x100, "a");
	rig.now_ns = base_ns + 200;
	give_fork(&rig, PID, CHILD, CHILD);
	uint64_t b = load(base_ns + 300, CODE + 0x100, "b");
	give_at(&rig, PID, 350, CODE + 0x101);
	give_at(&rig, CHILD, 360, CODE + 0x101);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_at(session, "[jitdump jit 100]", b + 1), 1);
	assert_int_equal(samples_at(session, "[jitdump jit 101]", a + 1), 1);
	end(&rig);
}

static void another_program_has_no_jitdump(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_OFF);
	give_comm(&rig, PID, PID, "other", 1);
	give_mmap(&rig, PID, CODE, 0x10000, 0, "//anon", 0);
	load(base_ns + 100, CODE + 0x100, "a");
	give_at(&rig, PID, 150, CODE + 0x101);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_at(session, "[anon other", CODE + 0x101), 1);
	end(&rig);
}

/* Give a sample whose callers are at these addresses. */
static void give_stack(struct rig *rig, uint64_t after_ns, const uint64_t *addresses, size_t n)
{
	const struct vmop_stack_capture capture = {
		.user_frames = addresses, .n_user_frames = n, .user_end = VMOP_STACK_COMPLETE};
	const struct vmop_record record = {.type = VMOP_RECORD_SAMPLE,
					   .time_ns = base_ns + after_ns,
					   .sample = {.ip = addresses[0],
						      .weight_events = 1,
						      .pid = PID,
						      .tid = PID,
						      .flags = USER}};
	rig->sink.record(rig->sink.arg, &record, &capture);
}

static void callers_have_the_functions_of_their_time(void **state)
{
	struct rig rig;
	(void)state;
	begin(&rig, VMOP_STACKS_FP);
	/* A leaf in a file, called from generated code, and one in generated code. */
	const uint64_t in_file[] = {0x400123, CODE + 0x102, 0x400200};
	const uint64_t generated[] = {CODE + 0x204, CODE + 0x102, 0x400200};
	uint64_t a = load(base_ns + 100, CODE + 0x100, "a");
	uint64_t leaf = load(base_ns + 100, CODE + 0x200, "leaf");
	uint64_t b = load(base_ns + 200, CODE + 0x100, "b");
	give_stack(&rig, 150, in_file, 3);
	give_stack(&rig, 160, generated, 3);
	give_stack(&rig, 250, in_file, 3);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/jit", "jit"), 2);
	assert_int_equal(samples_at(session, "[jitdump", leaf + 4), 1);
	struct vmop_image_id image = image_named(session, "[jitdump");
	struct vmop_db_stacks *stacks = NULL;
	ok(vmop_db_load_stacks(rig.db, SIZE_MAX, &stacks));
	bool has_a = false, has_b = false;
	for (size_t i = 0; i < session->n; i++) {
		struct vmop_db_stack_node caller, outer;
		assert_true(vmop_db_stacks_node(stacks, session->rows[i].key.stack, &caller));
		assert_int_equal(caller.image.number, image.number);
		assert_true(vmop_db_stacks_node(stacks, caller.parent, &outer));
		assert_int_equal(outer.offset, 0x11ff);
		has_a |= caller.offset == a + 1;
		has_b |= caller.offset == b + 1;
		if (session->rows[i].kind == VMOP_IMAGE_ANON)
			assert_int_equal(caller.offset, a + 1);
	}
	assert_true(has_a && has_b);
	vmop_db_stacks_destroy(stacks);
	assert_string_equal(name_at(&rig, image, a + 1), "a");
	end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_the_function_of_its_time),
		cmocka_unit_test(late_records_name_addresses),
		cmocka_unit_test(other_samples_do_not_wait),
		cmocka_unit_test(a_child_has_its_parents_code),
		cmocka_unit_test(another_program_has_no_jitdump),
		cmocka_unit_test(callers_have_the_functions_of_their_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
