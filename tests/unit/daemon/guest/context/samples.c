// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples with contexts, through guests.h: the VMM is a child process with a synthetic guest in its
 * memory, and the contexts have the addresses of its objects, as the kernel's program would read
 * them.
 */
#include "daemon/guest/context/samples.h"

#include "tests/unit/daemon/guest/context/sample-fixture.h"

/* ---- tests ----------------------------------------------------------------------------------- */

static void the_source_gets_the_numbers_of_the_kernel(void **state)
{
	(void)state;
	assert_int_equal(maps.vmm_pid, vmm);
	assert_true(maps.numbers.generation != 0);
	assert_int_equal(maps.numbers.page_shift, 12);
	assert_int_equal(maps.numbers.kernel_window_bytes, 0);
	assert_int_equal(maps.numbers.user_window_bytes, 0);
	assert_int_equal(maps.n_puts, 1);
	release();
	assert_int_equal(maps.n_puts, 1);
	vmop_domain_end(domain);
	vmop_guests_tick(guests);
	assert_int_equal(maps.n_removed, 1);
	assert_int_equal(maps.vmm_pid, 0);
}

/* Return the image of the kernel's code with its symbols, which come soon. */
static const struct vmop_image *wait_for_symbols(void)
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		const struct vmop_image *image = vmop_text_map_find(&domain->code, KERNEL_IP);
		if (image && image->n_symbols >= SYNTHETIC_FILLERS)
			return image;
		poll(NULL, 0, 5);
		vmop_guests_drained(guests);
	}
	fail_msg("the kernel has no symbols");
	return NULL;
}

/* The samples before its first drain are as those after it, and the source never lacks the numbers.
 */
static void a_new_session_knows_the_guest(void **state)
{
	(void)state;
	uint64_t generation = maps.numbers.generation;
	size_t n_symbols = wait_for_symbols()->n_symbols;
	release(); /* the thread drops its symbols */
	for (int session = 0; session < 2; session++) {
		struct vmop_guest_watch *watch = vmop_guests_end_session(guests);
		end_session();
		assert_int_equal(maps.vmm_pid, vmm);
		open_session(VMOP_STACKS_OFF, &watch);
		assert_null(watch);
		assert_true(maps.numbers.generation == generation);
		struct vmop_guest_context context = worker_context();
		hold(VMOP_MODE_USER, WORKER_IP, &context);
		hold(VMOP_MODE_KERNEL, KERNEL_IP, &context);
		assert_string_equal(release(), "worker /bin/worker+1234 exact; "
					       "worker [guest g1 kernel]+10 exact; ");
		assert_int_equal(wait_for_symbols()->n_symbols, n_symbols);
		assert_int_equal(maps.n_removed, 0);
	}
}

/* Let the time pass after which guests of the session before are forgotten. */
static void sweep(void)
{
	guests->begun_ns -= 3600 * VMOP_NS_PER_S;
	vmop_guests_tick(guests);
}

static void a_new_session_forgets_other_guests(void **state)
{
	(void)state;
	struct vmop_guest_watch *watch = vmop_guests_end_session(guests);
	end_session();
	open_session(VMOP_STACKS_OFF, &watch);
	sweep();
	assert_int_equal(maps.vmm_pid, vmm); /* it is watched */
	watch = vmop_guests_end_session(guests);
	end_session();
	maps.vmm_pid = (uint32_t)vmm + 1;
	maps.refuses = true;
	open_session(VMOP_STACKS_OFF, &watch);
	assert_int_equal(maps.vmm_pid, vmm + 1);
	vmop_guests_tick(guests);
	assert_int_equal(maps.n_removed, 0);
	sweep();
	assert_int_equal(maps.n_removed, 1);
	assert_int_equal(maps.vmm_pid, 0);
	maps.vmm_pid = (uint32_t)vmm + 1; /* of this session, by another way */
	sweep();
	assert_int_equal(maps.n_removed, 1);
}

static void stacks_want_windows(void **state)
{
	(void)state;
	assert_int_equal(maps.numbers.kernel_window_bytes, VMOP_GUEST_KERNEL_WINDOW_MAX);
	assert_int_equal(maps.numbers.user_window_bytes, 8192);
}

static void a_listed_process_and_its_mapping(void **state)
{
	(void)state;
	struct vmop_guest_context context = worker_context();
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "worker /bin/worker+1234 exact; ");
	context = kernel_context();
	assert_string_equal(attribute(VMOP_MODE_KERNEL, KERNEL_IP, &context),
			    "worker [guest g1 kernel]+10 exact; ");
	context.parts |= VMOP_GUEST_IS_SWITCHING; /* from the current task */
	assert_string_equal(attribute(VMOP_MODE_KERNEL, KERNEL_IP, &context),
			    "worker [guest g1 kernel]+10 exact; ");
	context = kernel_context();
	context.pid = context.tid = 0;
	context.start_time_ns = 0;
	assert_string_equal(attribute(VMOP_MODE_KERNEL, KERNEL_IP, &context),
			    "[idle] [guest g1 kernel]+10 exact; ");
}

static void a_process_that_no_list_has(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "brief /bin/worker+1234 exact; ");
	/* The code differs from the file's: only the identity of the inode supports it. */
	context = brief_context();
	context.index = 0;
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "brief /bin/worker+234 likely; ");
	/* A later sample in the page proves the file. */
	memset(context.code, 0, sizeof(context.code));
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP + 0x600, &context),
			    "brief /bin/worker+834 exact; ");
}

/* The page was sampled while the file was there, and looked for when it was gone. */
static void another_page_of_a_file_that_is_gone(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	uint64_t number = get(made.inode, VMOP_LAYOUT_INODE_NUMBER);
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "brief /bin/worker+1234 exact; ");
	assert_false(vmop_guests_lose_files(guests));
	set(made.inode, VMOP_LAYOUT_INODE_NUMBER, number + 1);
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	context.index += 2;
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP + 0x2000, &context),
			    "brief /bin/worker+3234 exact; ");
	assert_false(vmop_guests_lose_files(guests));
	/* Another inode was there at the sample. */
	context.inode_generation++;
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP + 0x2000, &context),
			    "brief [guest g1 file, not found]+403234 ambiguous; ");
	assert_true(vmop_guests_lose_files(guests));
}

static void a_file_that_is_gone(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.inode_number++;
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "brief [guest g1 file, not found]+401234 ambiguous; ");
	/* The mappings of a process that is there still show it. */
	context = worker_context();
	context.inode_number++;
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &context),
			    "worker /bin/worker+1234 likely; ");
}

static void an_answer_is_awaited_for_some_flushes(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	const struct vmop_guest_sink sink = {.put = put};
	struct vmop_watched_guest *watched = domain->watched;
	const struct vmop_guest_page_key key = vmop_guest_page_key(&context);
	hold(VMOP_MODE_USER, WORKER_IP, &context);
	struct vmop_guest_code_page *page = vmop_guest_files_find(&watched->files, &key);
	assert_non_null(page);
	vmop_guest_watch_await_answers(guests->watch, PATIENCE_MS);
	vmop_guest_take_answers(guests);
	page->state = VMOP_GUEST_PAGE_PENDING; /* as if the answer were still to come */
	*released = '\0';
	for (unsigned i = 0; i < VMOP_GUEST_ANSWER_INTERVALS; i++) {
		vmop_guests_release(guests, &sink);
		assert_string_equal(released, "");
		assert_int_equal(vmop_guests_n_held(guests), 1);
	}
	vmop_guests_release(guests, &sink);
	assert_string_equal(released, "brief [guest g1 file, not found]+401234 ambiguous; ");
}

static void generated_code_has_the_names_of_its_perf_map(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.mapping = made.mm[2] | VMOP_GUEST_MAPPING_ANON;
	context.inode = 0;
	context.pid = 2;
	assert_string_equal(attribute(VMOP_MODE_USER, GENERATED_IP, &context),
			    "brief [anon:brief]+7f0000000040 exact; ");
	const struct vmop_guest_seen *seen =
		vmop_guest_processes_find(&domain->watched->processes, 2, 12345);
	assert_non_null(seen);
	assert_int_equal(seen->map_state, VMOP_GUEST_SEEN_FOUND);
	assert_int_equal(seen->generated->n_symbols, 1);
	assert_string_equal(seen->generated->symbols[0].name, "generated_function");
}

static void a_containers_perf_map_has_its_own_pid(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.mapping = made.mm[2] | VMOP_GUEST_MAPPING_ANON;
	context.inode = 0;
	context.task = made.task[2];
	context.pid = 2;
	context.start_time_ns = get(made.task[2], VMOP_LAYOUT_TASK_START);
	attribute(VMOP_MODE_USER, GENERATED_IP, &context);
	const struct vmop_guest_seen *seen =
		vmop_guest_processes_find(&domain->watched->processes, 2, context.start_time_ns);
	assert_non_null(seen);
	assert_int_equal(seen->map_state, VMOP_GUEST_SEEN_FOUND);
	assert_string_equal(seen->generated->symbols[0].name, "contained_function");
}

static void generated_code_without_a_map(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.mapping = made.mm[2] | VMOP_GUEST_MAPPING_ANON;
	context.inode = 0;
	assert_string_equal(attribute(VMOP_MODE_USER, GENERATED_IP, &context),
			    "brief [anon:brief]+7f0000000040 exact; ");
}

static void code_in_the_kernels_image_is_the_vdso(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.mapping = context.inode = 0;
	context.gpa = SYNTHETIC_TEXT_GPA + 0x2040;
	assert_string_equal(attribute(VMOP_MODE_USER, 0x7ffff7fc1040, &context),
			    "brief [guest g1 vdso]+7ffff7fc1040 exact; ");
}

/* Check that a user sample is attributed as without its context, by what polling sees. */
static void check_polled(const struct vmop_guest_context *context)
{
	static const char expected[] = "worker /bin/worker+1234 ";
	assert_memory_equal(attribute(VMOP_MODE_USER, WORKER_IP, NULL), expected, strlen(expected));
	assert_memory_equal(attribute(VMOP_MODE_USER, WORKER_IP, context), expected,
			    strlen(expected));
}

static void another_kernels_context_counts_for_nothing(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.generation++;
	check_polled(&context);
	context.generation = 0;
	check_polled(&context);
	assert_int_equal(domain->watched->files.n, 0);
}

static void a_context_without_a_task(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	context.parts &= ~(uint32_t)VMOP_GUEST_HAS_TASK;
	check_polled(&context);
}

static void a_stack_without_windows_ends_at_once(void **state)
{
	(void)state;
	struct vmop_guest_context context = kernel_context();
	hold(VMOP_MODE_KERNEL, KERNEL_IP, &context);
	context.generation++;
	hold(VMOP_MODE_KERNEL, KERNEL_IP, &context);
	/* It can be copied to the guest's agent. */
	assert_non_null(vmop_guests_callers(guests));
	assert_int_equal(vmop_guests_callers(guests)->n, 0);
	assert_int_equal(vmop_guests_callers(guests)->end, VMOP_STACK_NOT_RECORDED);
	hold(VMOP_MODE_KERNEL, KERNEL_IP, NULL);
	assert_null(vmop_guests_callers(guests));
	const char *all = release();
	/* Each sample with a context has a stack; its end is named. */
	const char *second = strstr(all, "; ") + 2;
	assert_non_null(strstr(all, "worker [guest g1 kernel]+10 exact 0 callers, "));
	assert_non_null(strstr(second, " 0 callers, 7; ")); /* VMOP_STACK_NOT_RECORDED */
	assert_null(strstr(strstr(second, "; ") + 2, "callers"));
}

static void frames_are_resolved_by_the_process(void **state)
{
	static const uint64_t frames[] = {SYNTHETIC_TEXT + 0x21, WORKER_IP + 1, 0x123456};
	const struct vmop_sample_key key = {.domain = domain->id, .mode = VMOP_MODE_KERNEL};
	const struct vmop_record record = {.time_ns = vmop_clock_ns(CLOCK_MONOTONIC),
					   .sample = {.ip = KERNEL_IP, .weight_events = 1}};
	const struct vmop_guest_held_frames held = {frames, 3, VMOP_STACK_COMPLETE};
	(void)state;
	assert_true(vmop_guests_hold_frames(guests, domain, &key, &record, 0, &held));
	assert_non_null(strstr(release(), " 3 callers, 1; "));

	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(domain->watched->view->tasks->snapshot, 2);
	struct vmop_stack_frames found;
	assert_non_null(process);
	vmop_guest_resolve_frames(guests, domain, process, frames, 3, VMOP_STACK_COMPLETE, &found);
	assert_string_equal(found.at[0].image->name, "[guest g1 kernel]");
	assert_int_equal(found.at[0].offset, 0x20);
	assert_string_equal(found.at[1].image->name, "/bin/worker");
	assert_int_equal(found.at[1].offset, 0x1234);
	assert_string_equal(found.at[2].image->name, "[guest g1 user]");
	assert_int_equal(found.at[2].offset, 0x123455);
}

static void a_state_belongs_to_the_next_sample_of_its_thread(void **state)
{
	(void)state;
	struct vmop_guest_context context = worker_context();
	vmop_guests_keep_state(guests, domain, 0, 7, &context);
	assert_null(vmop_guests_take_state(guests, 0, 8));
	assert_null(vmop_guests_take_state(guests, 0, 7));
	/* Its page was requested meanwhile. */
	vmop_guest_watch_await_answers(guests->watch, PATIENCE_MS);
	vmop_guests_drained(guests);
	vmop_guests_keep_state(guests, domain, 0, 7, &context);
	const struct vmop_stack_frames *frames = vmop_guests_take_state(guests, 0, 7);
	assert_non_null(frames);
	assert_true(frames->n >= 1);
	assert_string_equal(frames->at[0].image->name, "/bin/worker");
	assert_int_equal(frames->at[0].offset, 0x1234);

	context = kernel_context();
	vmop_guests_keep_state(guests, domain, 0, 7, &context);
	frames = vmop_guests_take_state(guests, 0, 7);
	assert_string_equal(frames->at[0].image->name, "[guest g1 kernel]");
	assert_int_equal(frames->at[0].offset, 0x10);
	context.generation++;
	vmop_guests_keep_state(guests, domain, 0, 7, &context);
	assert_null(vmop_guests_take_state(guests, 0, 7));
}

/* A context of the kernel before names nothing, one of this kernel its program. */
static void expect_only_new_contexts(const struct vmop_guest_context *before)
{
	*released = '\0';
	hold(VMOP_MODE_USER, WORKER_IP, before);
	for (int waited_ms = 0; !*released && waited_ms < PATIENCE_MS; waited_ms += 5) {
		vmop_guests_release(guests, &(struct vmop_guest_sink){.put = put});
		poll(NULL, 0, 5);
	}
	assert_null(strstr(released, "brief"));
	struct vmop_guest_context after = brief_context();
	assert_string_equal(attribute(VMOP_MODE_USER, WORKER_IP, &after),
			    "brief /bin/worker+1234 exact; ");
}

/* A guest that reboots: its next kernel has other numbers and another generation. */
static void a_reboot_makes_contexts_invalid(void **state)
{
	(void)state;
	struct vmop_guest_context before = brief_context();
	uint64_t generation = maps.numbers.generation;
	memset(ram, 0, SYNTHETIC_RAM_BYTES);
	for (int waited_ms = 0; maps.vmm_pid && waited_ms < PATIENCE_MS; waited_ms += 5) {
		poll(NULL, 0, 5);
		vmop_guests_drained(guests);
	}
	assert_int_equal(maps.vmm_pid, 0); /* no kernel: the source has no numbers */
	memcpy(ram, made.ram, SYNTHETIC_RAM_BYTES);
	for (int waited_ms = 0; !maps.vmm_pid && waited_ms < PATIENCE_MS; waited_ms += 5) {
		poll(NULL, 0, 5);
		vmop_guests_drained(guests);
	}
	assert_int_equal(maps.vmm_pid, vmm);
	assert_true(maps.numbers.generation != generation);
	expect_only_new_contexts(&before);
}

/*
 * A guest that executes its own kernel again, between a sample and its attribution. All addresses
 * are the same, and no moment is without a kernel: only the clock starts over.
 */
static void a_kexec_makes_contexts_invalid(void **state)
{
	(void)state;
	struct vmop_guest_context before = brief_context();
	uint64_t generation = maps.numbers.generation, clock = 900;
	memcpy(ram + (synthetic_at(&made, made.jiffies) - made.ram), &clock, sizeof(clock));
	for (int waited_ms = 0; maps.numbers.generation == generation && waited_ms < PATIENCE_MS;
	     waited_ms += 5) {
		poll(NULL, 0, 5);
		vmop_guests_drained(guests);
	}
	assert_int_equal(maps.vmm_pid, vmm);
	assert_true(maps.numbers.generation != generation);
	expect_only_new_contexts(&before);
}

/* A guest that shows a new page and a new process with every sample. */
static void a_storm_of_pages_is_bounded(void **state)
{
	(void)state;
	struct vmop_guest_context context = brief_context();
	for (unsigned i = 0; i < 5000; i++) {
		context.index = i;
		context.pid = i + 100;
		hold(VMOP_MODE_USER, WORKER_IP, &context);
	}
	assert_true(domain->watched->files.n <= VMOP_GUEST_FILES_FIRST);
	assert_true(domain->watched->processes.n <= VMOP_GUEST_SEEN_SLOTS);
	vmop_guests_set_ending(guests, true);
	*released = '\0';
	vmop_guests_release(guests, &(struct vmop_guest_sink){.put = put});
	assert_int_equal(vmop_guests_n_held(guests), 0);
}

/* Return the next of a fixed sequence of numbers (xorshift64*, S. Vigna). */
static uint64_t next_number(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* Fill a context and its windows with anything that a guest can make the program read. */
static void make_hostile(uint64_t *buf, size_t bytes, uint64_t *state)
{
	struct vmop_guest_context *context = (struct vmop_guest_context *)buf;
	const struct vmop_guest_context good =
		next_number(state) % 2 ? worker_context() : kernel_context();
	for (size_t i = 0; i < bytes / sizeof(*buf); i++)
		buf[i] = next_number(state);
	uint64_t choice = next_number(state);
	context->parts &= VMOP_GUEST_ALL_PARTS;
	context->code_bytes %= 17;
	context->gap %= VMOP_GUEST_N_GAPS;
	context->generation = good.generation;
	for (unsigned kind = 0; kind < VMOP_GUEST_N_WINDOWS; kind++)
		context->window_bytes[kind] = (uint32_t)(next_number(state) % 512) * 8;
	if (choice & 1)
		memcpy(context->regs, good.regs, sizeof(good.regs));
	if (choice & 2)
		context->window_address[VMOP_GUEST_KERNEL_WINDOW] = context->regs[STACK_POINTER];
	if (choice & 4) {
		context->mapping = good.mapping;
		context->inode = good.inode;
	}
	if (choice & 8) {
		context->pid = good.pid;
		context->start_time_ns = good.start_time_ns;
	}
}

static void any_context_is_survived(void **state)
{
	static uint64_t buf[(sizeof(struct vmop_guest_context) + 3 * 4096) / 8];
	const struct vmop_guest_context *context = (const struct vmop_guest_context *)buf;
	uint64_t seed = 20240607;
	(void)state;
	vmop_guests_set_ending(guests, true);
	for (unsigned i = 0; i < 4000; i++) {
		make_hostile(buf, sizeof(buf), &seed);
		enum vmop_mode mode =
			context->parts & VMOP_GUEST_IS_USER ? VMOP_MODE_USER : VMOP_MODE_KERNEL;
		hold(mode, context->regs[VMOP_GUEST_REGS - 1], context);
		vmop_guests_keep_state(guests, domain, 0, 7, context);
		vmop_guests_take_state(guests, 0, 7);
		if (i % 500)
			continue;
		*released = '\0';
		vmop_guests_release(guests, &(struct vmop_guest_sink){.put = ignore});
		assert_int_equal(vmop_guests_n_held(guests), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_source_gets_the_numbers_of_the_kernel, begin,
						end),
		cmocka_unit_test_setup_teardown(stacks_want_windows, begin_with_stacks, end),
		cmocka_unit_test_setup_teardown(a_listed_process_and_its_mapping, begin, end),
		cmocka_unit_test_setup_teardown(a_process_that_no_list_has, begin, end),
		cmocka_unit_test_setup_teardown(another_page_of_a_file_that_is_gone, begin, end),
		cmocka_unit_test_setup_teardown(a_new_session_knows_the_guest, begin, end),
		cmocka_unit_test_setup_teardown(a_new_session_forgets_other_guests, begin, end),
		cmocka_unit_test_setup_teardown(a_file_that_is_gone, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_is_awaited_for_some_flushes, begin, end),
		cmocka_unit_test_setup_teardown(a_containers_perf_map_has_its_own_pid,
						begin_with_container_map, end),
		cmocka_unit_test_setup_teardown(generated_code_has_the_names_of_its_perf_map,
						begin_with_map, end),
		cmocka_unit_test_setup_teardown(generated_code_without_a_map, begin, end),
		cmocka_unit_test_setup_teardown(code_in_the_kernels_image_is_the_vdso, begin, end),
		cmocka_unit_test_setup_teardown(another_kernels_context_counts_for_nothing, begin,
						end),
		cmocka_unit_test_setup_teardown(a_context_without_a_task, begin, end),
		cmocka_unit_test_setup_teardown(a_stack_without_windows_ends_at_once,
						begin_with_stacks, end),
		cmocka_unit_test_setup_teardown(frames_are_resolved_by_the_process,
						begin_with_stacks, end),
		cmocka_unit_test_setup_teardown(a_state_belongs_to_the_next_sample_of_its_thread,
						begin_with_stacks, end),
		cmocka_unit_test_setup_teardown(a_reboot_makes_contexts_invalid, begin, end),
		cmocka_unit_test_setup_teardown(a_kexec_makes_contexts_invalid, begin, end),
		cmocka_unit_test_setup_teardown(a_storm_of_pages_is_bounded, begin, end),
		cmocka_unit_test_setup_teardown(any_context_is_survived, begin_with_stacks, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
