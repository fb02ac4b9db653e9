// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watcher beside the sampling, on a VMM that is a child process with a guest made by
 * hand in its memory.
 */
#include "daemon/guest-watch.h"

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libguest-synthetic.h"

#define DOMAIN 3
#define PATIENCE_MS 60000 /* for what takes some milliseconds on an idle machine */

static struct synthetic made;
static uint8_t *made_ram; /* as synthetic_make got it */
static pid_t vmm;
static struct vmop_guest_watch *watch;

/* flags: whether what we write into the guest's RAM is seen by its VMM. */
static void begin_with(int flags)
{
	static const struct vmop_guest_watch_options options = {
		.cpu_permille = 1000, .snapshot_ms = 20, .modules_ms = 20, .reading_ms = 5};
	synthetic_make(&made, &(struct synthetic_options){0});
	made_ram = made.ram;
	made.ram = mmap(NULL, SYNTHETIC_RAM_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
			-1, 0);
	assert_true(made.ram != MAP_FAILED);
	memcpy(made.ram, made_ram, SYNTHETIC_RAM_BYTES);
	vmm = fork();
	assert_true(vmm >= 0);
	if (!vmm) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_null(vmop_guest_watch_create(&options, &watch));
	assert_null(vmop_guest_watch_add(watch, DOMAIN, (uint32_t)vmm));
}

static int begin_shared(void **state)
{
	(void)state;
	begin_with(MAP_SHARED);
	return 0;
}

/* RAM that ends with the VMM. */
static int begin_private(void **state)
{
	(void)state;
	begin_with(MAP_PRIVATE);
	return 0;
}

static void end_vmm(void)
{
	kill(vmm, SIGKILL);
	waitpid(vmm, NULL, 0);
	vmm = 0;
}

static int end(void **state)
{
	(void)state;
	vmop_guest_watch_destroy(watch);
	if (vmm)
		end_vmm();
	munmap(made.ram, SYNTHETIC_RAM_BYTES);
	made.ram = made_ram;
	synthetic_free(&made);
	return 0;
}

/* The first view that has what is asked for, the caller's. */
static struct vmop_guest_view *wait_for(bool (*has)(const struct vmop_guest_view *view))
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		struct vmop_guest_view *view = vmop_guest_watch_view(watch, DOMAIN);
		if (view && has(view))
			return view;
		vmop_guest_view_unref(view);
		poll(NULL, 0, 5);
	}
	fail_msg("the watcher never came to that");
	return NULL;
}

static const struct vmop_guest_text_image *image(const struct vmop_guest_view *view,
						 const char *name)
{
	for (size_t i = 0; view->text && i < view->text->n_images; i++)
		if (!strcmp(view->text->images[i].name, name))
			return &view->text->images[i];
	return NULL;
}

static bool has_all(const struct vmop_guest_view *view)
{
	return view->text && view->tasks && view->tasks_before && view->n_vcpus &&
	       view->vcpus[0].n > 2;
}

static bool is_stripped(const struct vmop_guest_view *view)
{
	return image(view, "[kernel]") && !image(view, "[kernel]")->symbols;
}

static bool has_no_module(const struct vmop_guest_view *view)
{
	return view->text && !image(view, "[testmod]");
}

static bool has_module(const struct vmop_guest_view *view)
{
	return image(view, "[testmod]");
}

static bool has_nothing(const struct vmop_guest_view *view)
{
	return !view->text && view->error && !strcmp(view->state, "its memory can't be read");
}

static void a_guest_is_seen_into(void **state)
{
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	assert_string_equal(view->state, "kernel symbols and processes");
	assert_non_null(image(view, "[testmod]"));
	assert_int_equal(vmop_guest_snapshot_count(view->tasks->snapshot), SYNTHETIC_PROCESSES);
	assert_true(view->cost.cpu_ns > 0);
	/* What runs is in the list, by its page table too. */
	const struct vmop_guest_reading *reading = &view->vcpus[0].at[0];
	assert_non_null(vmop_guest_tasks_find(view->tasks, reading));
	struct vmop_guest_reading other = *reading;
	other.pgd_gpa += 4096;
	assert_null(vmop_guest_tasks_find(view->tasks, &other));
	assert_null(vmop_guest_tasks_find(NULL, reading));
	vmop_guest_view_unref(view);
}

static void symbols_are_dropped_once_they_were_taken(void **state)
{
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	const struct vmop_guest_text_image *kernel = image(view, "[kernel]");
	assert_non_null(kernel->symbols);
	assert_true(kernel->n_symbols >= SYNTHETIC_FILLERS);
	/* Nobody took them: a module that goes makes a new text, with all there is. */
	uint32_t generation = view->text->generation;
	uint64_t modules = synthetic_get_u64(&made, made.modules_head);
	synthetic_put_u64(&made, made.modules_head, made.modules_head);
	struct vmop_guest_view *second = wait_for(has_no_module);
	assert_true(second->text->generation > generation);
	assert_int_equal(image(second, "[kernel]")->n_symbols, kernel->n_symbols);
	assert_non_null(image(second, "[kernel]")->symbols);

	vmop_guest_watch_took_text(watch, DOMAIN, generation); /* too late: it is another's */
	vmop_guest_watch_took_text(watch, DOMAIN, second->text->generation);
	struct vmop_guest_view *third = wait_for(is_stripped);
	assert_int_equal(third->text->generation, second->text->generation);
	assert_int_equal(image(third, "[kernel]")->n_symbols, kernel->n_symbols);
	/* What was handed out before is as it was. */
	assert_string_equal(kernel->symbols[0].name, image(second, "[kernel]")->symbols[0].name);

	/* A module that comes has its own symbols; the kernel's are not asked for again. */
	synthetic_put_u64(&made, made.modules_head, modules);
	struct vmop_guest_view *fourth = wait_for(has_module);
	assert_int_equal(image(fourth, "[testmod]")->n_symbols, 1);
	assert_string_equal(image(fourth, "[testmod]")->symbols[0].name, "module_function");
	assert_null(image(fourth, "[kernel]")->symbols);
	assert_int_equal(image(fourth, "[kernel]")->n_symbols, kernel->n_symbols);
	vmop_guest_view_unref(view);
	vmop_guest_view_unref(second);
	vmop_guest_view_unref(third);
	vmop_guest_view_unref(fourth);
}

static void a_vmm_that_ends_leaves_nothing(void **state)
{
	(void)state;
	vmop_guest_view_unref(wait_for(has_all));
	end_vmm();
	struct vmop_guest_view *view = wait_for(has_nothing);
	assert_null(view->tasks);
	assert_null(view->tasks_before);
	vmop_guest_view_unref(view);
	vmop_guest_watch_remove(watch, DOMAIN);
	assert_null(vmop_guest_watch_view(watch, DOMAIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_guest_is_seen_into, begin_private, end),
		cmocka_unit_test_setup_teardown(symbols_are_dropped_once_they_were_taken,
						begin_shared, end),
		cmocka_unit_test_setup_teardown(a_vmm_that_ends_leaves_nothing, begin_private, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
