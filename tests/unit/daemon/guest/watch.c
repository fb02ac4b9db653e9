// SPDX-License-Identifier: GPL-2.0-or-later
/* The watching thread, on a VMM that is a child process with a synthetic guest in its memory. */
#include "daemon/guest/watch.h"

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/guest/stacks/orc-tables.h"
#include "tests/unit/daemon/vmm.h"
#include "tests/unit/libguest/synthetic.h"

#define DOMAIN 3
#define PATIENCE_MS 60000 /* an idle machine takes some milliseconds */

#define PIECE_BYTES (SYNTHETIC_RAM_BYTES / 4)

static struct synthetic made;
static uint8_t *made_ram; /* the one that synthetic_make allocated */
static pid_t vmm;
static struct vmop_guest_watch *watch;

static unsigned reading_ms = 5;

static bool is_incomplete; /* RAM lacks the first bytes of the kernel's BTF */
#define MISSING_BYTES 64

static void begin_watch(void)
{
	const struct vmop_guest_watch_options options = {.cpu_permille = 1000,
							 .snapshot_ms = 20,
							 .modules_ms = 20,
							 .reading_ms = reading_ms};
	assert_null(vmop_guest_watch_create(&options, &watch));
	assert_null(vmop_guest_watch_add(watch, (struct vmop_domain_id){DOMAIN},
					 (struct vmop_guest_holder){.number = (uint32_t)vmm}));
}

/* flags: MAP_SHARED if the VMM shall see what the test writes into the guest's RAM. */
static void begin_with(int flags)
{
	synthetic_make(&made, &(struct synthetic_options){0});
	made_ram = made.ram;
	made.ram = mmap(NULL, SYNTHETIC_RAM_BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS,
			-1, 0);
	assert_true(made.ram != MAP_FAILED);
	memcpy(made.ram, made_ram, SYNTHETIC_RAM_BYTES);
	if (is_incomplete)
		memset(synthetic_at(&made, made.btf), 0, MISSING_BYTES);
	vmm = vmm_begin();
	begin_watch();
}

static int begin_shared(void **state)
{
	(void)state;
	begin_with(MAP_SHARED);
	return 0;
}

/* The kernel is in RAM, but not all of it: the guest is on its way from another host. */
static int begin_incomplete(void **state)
{
	(void)state;
	is_incomplete = true;
	begin_with(MAP_SHARED);
	is_incomplete = false;
	return 0;
}

/* The RAM ends with the VMM. */
static int begin_private(void **state)
{
	(void)state;
	begin_with(MAP_PRIVATE);
	return 0;
}

/* The thread wakes up by itself each second. */
static int begin_slow(void **state)
{
	reading_ms = 1000;
	return begin_private(state);
}

static void end_vmm(void)
{
	vmm_end(vmm);
	vmm = 0;
}

static int end(void **state)
{
	(void)state;
	reading_ms = 5;
	vmop_guest_watch_destroy(watch);
	if (vmm)
		end_vmm();
	munmap(made.ram, SYNTHETIC_RAM_BYTES);
	made.ram = made_ram;
	synthetic_free(&made);
	return 0;
}

/* ---- a VMM with scattered RAM, and QMP --------------------------- */

static uint64_t scattered_start; /* the guest's physical address of the first piece */

/*
 * Map the RAM in four pieces, in an order that cannot be guessed, before and after a larger mapping
 * that is not RAM.
 */
static void scatter_ram(bool is_arm64, uint8_t *pieces[4])
{
	static const unsigned slots[4] = {2, 0, 5, 3}; /* in pieces; a hole follows each */
	uint8_t *space = mmap(NULL, 32 * PIECE_BYTES, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	synthetic_make(&made, &(struct synthetic_options){.arm64 = is_arm64,
							  .kallsyms = SYNTHETIC_ALL_RELATIVE});
	for (unsigned i = 0; i < 4; i++) {
		pieces[i] = space + 2 * slots[i] * PIECE_BYTES;
		mprotect(pieces[i], PIECE_BYTES, PROT_READ | PROT_WRITE);
		memcpy(pieces[i], made.ram + i * PIECE_BYTES, PIECE_BYTES);
	}
	scattered_start = made.ram_start;
	mprotect(space + 20 * PIECE_BYTES, 6 * PIECE_BYTES, PROT_READ | PROT_WRITE);
	synthetic_free(&made);
}

/* The VMM's name, or else the host's architecture, implies where RAM begins. */
#define X86_VMM "qemu-system-x86_64"
#define ARM64_VMM "qemu-system-aarch64"

/* Answer one line of a client as QEMU would. */
static void answer(int fd, const char *line, uint8_t *const pieces[4])
{
	unsigned long long gpa, at;
	const char *asks = strstr(line, "gpa2hva 0x");
	char text[128] = "{\"return\": {}}\r\n";
	if (asks && sscanf(asks, "gpa2hva %llx", &gpa) == 1 && gpa >= scattered_start &&
	    (at = gpa - scattered_start) < SYNTHETIC_RAM_BYTES)
		snprintf(text, sizeof(text),
			 "{\"return\": \"Host virtual address for 0x%llx (pc.ram) is "
			 "%p\\r\\n\"}\r\n",
			 gpa, (void *)(pieces[at / PIECE_BYTES] + at % PIECE_BYTES));
	else if (asks)
		strcpy(text, "{\"return\": \"No memory is mapped at address\\r\\n\"}\r\n");
	if (write(fd, text, strlen(text)) < 0)
		_exit(1);
}

/* Run as the VMM of that name.  argument: "unix:PATH,server=on". */
static int be_vmm(const char *name, const char *argument)
{
	static const char greeting[] = "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint8_t *pieces[4];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	scatter_ram(!strcmp(name, ARM64_VMM), pieces);
	sscanf(argument, "unix:%99[^,]", address.sun_path);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0)
		return 1;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		FILE *client = fdopen(fd, "r");
		char line[512];
		if (write(fd, greeting, strlen(greeting)) < 0)
			return 1;
		while (client && fgets(line, sizeof(line), client))
			answer(fd, line, pieces);
		fclose(client);
	}
	return 1;
}

static char qmp_path[64];

static int begin_qmp(const char *name)
{
	char argument[96];
	snprintf(qmp_path, sizeof(qmp_path), "/tmp/vmop-test-qmp.%d", (int)getpid());
	snprintf(argument, sizeof(argument), "unix:%s,server=on,wait=off", qmp_path);
	vmm = fork();
	assert_true(vmm >= 0);
	if (!vmm) {
		execl("/proc/self/exe", name, "-qmp", argument, NULL);
		_exit(1);
	}
	for (int waited_ms = 0; access(qmp_path, F_OK) < 0 && waited_ms < PATIENCE_MS;
	     waited_ms += 5)
		poll(NULL, 0, 5);
	begin_watch();
	return 0;
}

static int begin_qmp_arm64(void **state)
{
	(void)state;
	return begin_qmp(ARM64_VMM);
}

#ifndef __aarch64__
static int begin_qmp_x86(void **state)
{
	(void)state;
	return begin_qmp(X86_VMM);
}
#endif

static int end_qmp(void **state)
{
	(void)state;
	vmop_guest_watch_destroy(watch);
	end_vmm();
	unlink(qmp_path);
	return 0;
}

/* ---- views ---------------------------------------------------------------- */

/* The id of the guest in the present session. */
static struct vmop_domain_id present = {DOMAIN};

/* Return the first view for which has() is true, with a reference for the caller. */
static struct vmop_guest_view *wait_for(bool (*has)(const struct vmop_guest_view *view))
{
	for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms += 5) {
		struct vmop_guest_view *view = vmop_guest_watch_view(watch, present);
		if (view && has(view))
			return view;
		vmop_guest_view_unref(view);
		poll(NULL, 0, 5);
	}
	struct vmop_guest_view *view = vmop_guest_watch_view(watch, present);
	fail_msg("no view has that; the last one: %s (%s)", view ? view->state : "none",
		 view && view->error ? view->error : "no error");
	return NULL;
}

static const struct vmop_guest_code_image *image(const struct vmop_guest_view *view,
						 const char *name)
{
	for (size_t i = 0; view->code && i < view->code->n_images; i++)
		if (!strcmp(view->code->images[i].name, name))
			return &view->code->images[i];
	return NULL;
}

static bool has_all(const struct vmop_guest_view *view)
{
	return view->code && view->tasks && view->tasks_before && view->n_vcpus &&
	       view->vcpus[0].n > 2;
}

static bool is_stripped(const struct vmop_guest_view *view)
{
	return image(view, "[kernel]") && !image(view, "[kernel]")->symbols;
}

static bool has_no_module(const struct vmop_guest_view *view)
{
	return view->code && !image(view, "[testmod]");
}

static bool has_module(const struct vmop_guest_view *view)
{
	return image(view, "[testmod]");
}

static bool has_nothing(const struct vmop_guest_view *view)
{
	return !view->code && view->error && !strcmp(view->state, "its memory can't be read");
}

static void a_guest_is_read(void **state)
{
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	assert_string_equal(view->state, "kernel symbols and processes");
	assert_non_null(image(view, "[testmod]"));
	assert_int_equal(vmop_guest_snapshot_count(view->tasks->snapshot), SYNTHETIC_PROCESSES);
	assert_true(view->cost.cpu_ns > 0);
	/* The running task is in the list, with the same page table. */
	const struct vmop_guest_reading *reading = &view->vcpus[0].at[0];
	assert_non_null(vmop_guest_tasks_find(view->tasks, reading));
	struct vmop_guest_reading other = *reading;
	other.pgd_gpa += 4096;
	assert_null(vmop_guest_tasks_find(view->tasks, &other));
	assert_null(vmop_guest_tasks_find(NULL, reading));
	vmop_guest_view_unref(view);
}

static void symbols_are_dropped_after_they_were_copied(void **state)
{
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	const struct vmop_guest_code_image *kernel = image(view, "[kernel]");
	assert_non_null(kernel->symbols);
	assert_true(kernel->n_symbols >= SYNTHETIC_FILLERS);
	/* They were not copied yet: after a module goes, the new code has all symbols. */
	uint32_t generation = view->code->generation;
	uint64_t modules = synthetic_get_u64(&made, made.modules_head);
	synthetic_put_u64(&made, made.modules_head, made.modules_head);
	struct vmop_guest_view *second = wait_for(has_no_module);
	assert_true(second->code->generation > generation);
	assert_int_equal(image(second, "[kernel]")->n_symbols, kernel->n_symbols);
	assert_non_null(image(second, "[kernel]")->symbols);

	vmop_guest_watch_drop_symbols(watch, (struct vmop_domain_id){DOMAIN},
				      generation); /* too late: an old generation */
	vmop_guest_watch_drop_symbols(watch, (struct vmop_domain_id){DOMAIN},
				      second->code->generation);
	struct vmop_guest_view *third = wait_for(is_stripped);
	assert_int_equal(third->code->generation, second->code->generation);
	assert_int_equal(image(third, "[kernel]")->n_symbols, kernel->n_symbols);
	/* Views that were published before are unchanged. */
	assert_string_equal(kernel->symbols[0].name, image(second, "[kernel]")->symbols[0].name);

	/* A module that comes has its symbols; the kernel's are not read again. */
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

static bool is_without_kernel(const struct vmop_guest_view *view)
{
	return !view->code && view->error && !strcmp(view->state, "no kernel found");
}

static bool has_only_symbols(const struct vmop_guest_view *view)
{
	return image(view, "[kernel]") && image(view, "[kernel]")->symbols && !view->tasks;
}

static void let_clock_run(void)
{
	synthetic_put_u64(&made, made.jiffies, synthetic_get_u64(&made, made.jiffies) + 1);
}

/* Without it, a kernel whose clock stands still for long is searched in any case. */
static bool has_all_and_runs(const struct vmop_guest_view *view)
{
	let_clock_run();
	return has_all(view);
}

/* A kernel that was found before all of it had come has its processes once it runs. */
static void a_guest_that_comes_is_completed(void **state)
{
	(void)state;
	struct vmop_guest_view *first = wait_for(has_only_symbols);
	size_t at = (size_t)(synthetic_at(&made, made.btf) - made.ram);
	memcpy(made.ram + at, made_ram + at, MISSING_BYTES);
	struct vmop_guest_view *second = wait_for(has_all_and_runs);
	assert_true(second->code->generation > first->code->generation);
	assert_int_equal(vmop_guest_snapshot_count(second->tasks->snapshot), SYNTHETIC_PROCESSES);
	vmop_guest_view_unref(first);
	vmop_guest_view_unref(second);
}

/* One that has no processes for good is searched once more, and stays as it is. */
static void a_kernel_without_processes_stays(void **state)
{
	(void)state;
	struct vmop_guest_view *first = wait_for(has_only_symbols), *later = NULL;
	for (unsigned i = 0; i < 20; i++) {
		let_clock_run();
		poll(NULL, 0, 30);
		vmop_guest_view_unref(later);
		later = vmop_guest_watch_view(watch, present);
		assert_true(has_only_symbols(later));
	}
	assert_true(later->code->generation == first->code->generation);
	/* It is noticed when it has gone. */
	memset(made.ram, 0, SYNTHETIC_RAM_BYTES);
	vmop_guest_view_unref(wait_for(is_without_kernel));
	vmop_guest_view_unref(first);
	vmop_guest_view_unref(later);
}

/* A reset, after which another kernel boots. */
static void another_kernel_takes_over(void **state)
{
	static const char banner[] = "Linux version 6.99.0-test";
	struct synthetic next;
	(void)state;
	struct vmop_guest_view *first = wait_for(has_all);
	assert_string_equal(first->code->kernel.release, "6.99.0-test");
	memset(made.ram, 0, SYNTHETIC_RAM_BYTES);
	struct vmop_guest_view *none = wait_for(is_without_kernel);
	assert_null(none->tasks);
	assert_non_null(strstr(none->error, "no Linux kernel"));

	synthetic_make(&next, &(struct synthetic_options){.kallsyms = SYNTHETIC_ALL_RELATIVE,
							  .vma_list = true,
							  .bpf_programs = true});
	char *own = memmem(next.ram, SYNTHETIC_RAM_BYTES, banner, sizeof(banner) - 1);
	memcpy(own + strlen("Linux version "), "7", 1);
	memcpy(made.ram, next.ram, SYNTHETIC_RAM_BYTES);
	synthetic_free(&next);
	struct vmop_guest_view *second = wait_for(has_all);
	assert_string_equal(second->code->kernel.release, "7.99.0-test");
	assert_true(second->code->generation > first->code->generation);
	assert_non_null(image(second, "[bpf_prog_0123456789abcdef_named]"));
	assert_null(image(first, "[bpf_prog_0123456789abcdef_named]"));
	assert_true(second->cost.cpu_ns > first->cost.cpu_ns);
	vmop_guest_view_unref(first);
	vmop_guest_view_unref(none);
	vmop_guest_view_unref(second);
}

static bool has_orc(const struct vmop_guest_view *view)
{
	return has_all(view) && view->orc && view->orc->code_generation == view->code->generation;
}

static bool has_orc_without_module(const struct vmop_guest_view *view)
{
	return has_orc(view) && has_no_module(view);
}

static void unwind_tables_follow_the_code(void **state)
{
	const struct vmop_domain_id domain = {DOMAIN};
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	assert_null(view->orc);
	vmop_guest_watch_want_stacks(watch, domain);
	vmop_guest_watch_want_stacks(watch, (struct vmop_domain_id){DOMAIN + 1});
	struct vmop_guest_view *second = wait_for(has_orc);
	/* The synthetic kernel has frame pointers. */
	assert_null(second->orc->orc);
	assert_false(second->orc->is_arm64);
	assert_int_equal(second->orc->unusable, VMOP_STACK_END_UNKNOWN);
	synthetic_put_u64(&made, made.modules_head, made.modules_head);
	struct vmop_guest_view *third = wait_for(has_orc_without_module);
	assert_true(third->orc != second->orc);
	vmop_guest_view_unref(view);
	vmop_guest_view_unref(second);
	vmop_guest_view_unref(third);
}

/* Return the first mapping of a file. */
static const struct vmop_guest_vma *file_mapping(const struct vmop_guest_view *view,
						 const struct vmop_guest_process **ret)
{
	const struct vmop_guest_snapshot *snapshot = view->tasks->snapshot;
	for (size_t i = 0; i < vmop_guest_snapshot_count(snapshot); i++) {
		*ret = vmop_guest_snapshot_get(snapshot, i);
		for (uint32_t j = 0; j < (*ret)->vma_count; j++)
			if ((*ret)->vmas[j].file)
				return &(*ret)->vmas[j];
	}
	fail_msg("no file is mapped");
	return NULL;
}

static void requests_for_tables_are_answered(void **state)
{
	const struct vmop_domain_id domain = {DOMAIN}, other = {DOMAIN + 1};
	const struct vmop_guest_process *process = NULL;
	struct vmop_guest_table_request request = {.domain = domain}, other_request;
	struct vmop_guest_table_answer answer;
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	const struct vmop_guest_vma *vma = file_mapping(view, &process);
	assert_true(vmop_guest_code_mapping_init(&request.mapping, process, vma));
	assert_false(vmop_guest_watch_take_table(watch, domain, &answer));
	assert_true(vmop_guest_watch_request_table(watch, &request));
	/* The guest that is not watched has no answer. */
	other_request = request;
	other_request.domain = other;
	assert_true(vmop_guest_watch_request_table(watch, &other_request));
	int waited_ms = 0;
	while (!vmop_guest_watch_take_table(watch, domain, &answer) && waited_ms < PATIENCE_MS) {
		poll(NULL, 0, 5);
		waited_ms += 5;
	}
	assert_true(waited_ms < PATIENCE_MS);
	assert_memory_equal(&answer.key, &request.mapping.key, sizeof(answer.key));
	/* Only the page with its build-id is in memory, of the synthetic file. */
	assert_int_equal(answer.state, VMOP_CODE_UNREADABLE);
	assert_null(answer.table);
	assert_false(vmop_guest_watch_take_table(watch, domain, &answer));
	assert_false(vmop_guest_watch_take_table(watch, other, &answer));
	assert_true(vmop_guest_watch_request_table(watch, &request));
	vmop_guest_watch_drop_tables(watch, domain);
	vmop_guest_view_unref(view);
}

static bool has_any(const struct vmop_guest_view *view)
{
	return view;
}

static bool has_symbols(const struct vmop_guest_view *view)
{
	return image(view, "[kernel]") && image(view, "[kernel]")->symbols;
}

/* Another session has other ids, and needs the symbols again. */
/* As a rule one file is read each time that the thread wakes up: at a session's end, all are. */
static void awaited_files_are_read_at_once(void **state)
{
	(void)state;
	enum { N = 60 };
	const struct vmop_guest_process *process;
	struct vmop_guest_file_symbols answer;
	struct vmop_guest_view *view = wait_for(has_all);
	const struct vmop_guest_vma *vma = file_mapping(view, &process);
	for (uint32_t i = 0; i < N; i++)
		assert_true(vmop_guest_watch_request_symbols(
			watch, present, (struct vmop_image_slot){.at = i}, vma));
	assert_int_equal(vmop_guest_watch_await_symbols(watch, N / 2 * 1000), 0);
	for (uint32_t i = 0; i < N; i++) {
		assert_true(vmop_guest_watch_take_symbols(watch, &answer));
		assert_int_equal(answer.image.at, i);
		vmop_symtab_destroy(answer.symtab);
	}
	assert_false(vmop_guest_watch_take_symbols(watch, &answer));
	vmop_guest_view_unref(view);
}

static void a_new_session_goes_on_with_a_guest(void **state)
{
	const struct vmop_guest_holder holder = {.number = (uint32_t)vmm};
	struct vmop_guest_table_request request = {.domain = present};
	const struct vmop_guest_process *process = NULL;
	struct vmop_guest_table_answer answer;
	(void)state;
	struct vmop_guest_view *before = wait_for(has_all);
	uint32_t n_symbols = (uint32_t)image(before, "[kernel]")->n_symbols;
	vmop_guest_watch_drop_symbols(watch, present, before->code->generation);
	vmop_guest_view_unref(wait_for(is_stripped));
	const struct vmop_guest_vma *vma = file_mapping(before, &process);
	assert_true(vmop_guest_code_mapping_init(&request.mapping, process, vma));
	assert_true(vmop_guest_watch_request_table(watch, &request));
	vmop_guest_watch_park(watch);
	assert_null(vmop_guest_watch_view(watch, present));
	assert_false(vmop_guest_watch_take_table(watch, present, &answer));
	for (unsigned session = 1; session <= 2; session++) {
		present.number = DOMAIN + session;
		assert_null(vmop_guest_watch_add(watch, present, holder));
		struct vmop_guest_view *view = vmop_guest_watch_view(watch, present);
		assert_non_null(view); /* at once */
		assert_non_null(view->code);
		assert_non_null(view->tasks);
		assert_true(view->numbers.generation == before->numbers.generation);
		assert_true(view->numbers.generation > 0);
		vmop_guest_view_unref(view);
		view = wait_for(has_symbols);
		assert_int_equal(image(view, "[kernel]")->n_symbols, n_symbols);
		assert_string_equal(image(view, "[kernel]")->symbols[0].name,
				    image(before, "[kernel]")->symbols[0].name);
		vmop_guest_watch_drop_symbols(watch, present, view->code->generation);
		vmop_guest_view_unref(view);
		vmop_guest_view_unref(wait_for(is_stripped));
		assert_null(vmop_guest_watch_view(watch, (struct vmop_domain_id){DOMAIN}));
		assert_false(vmop_guest_watch_take_table(watch, present, &answer));
		vmop_guest_watch_park(watch);
	}
	/* Another guest is searched. */
	present.number = DOMAIN;
	assert_null(vmop_guest_watch_add(watch, present,
					 (struct vmop_guest_holder){.number = 1 << 22}));
	struct vmop_guest_view *view = wait_for(has_any);
	assert_null(view->code);
	vmop_guest_view_unref(view);
	vmop_guest_view_unref(before);
}

/* Map a page of the worker, in tables at free addresses. */
static void map_user_page(uint64_t address, uint64_t gpa)
{
	uint64_t table = SYNTHETIC_USER_PGD_GPA, next = 0xb10000;
	for (int level = 3; level > 0; level--, next += 4096) {
		uint64_t entry = next | 7;
		memset(made.ram + next, 0, 4096);
		memcpy(made.ram + table + 8 * (address >> (12 + 9 * level) & 511), &entry, 8);
		table = next;
	}
	uint64_t entry = gpa | 7;
	memcpy(made.ram + table + 8 * (address >> 12 & 511), &entry, 8);
}

static enum vmop_guest_probed probe(struct vmop_domain_id domain,
				    const struct vmop_guest_probe *place,
				    uint8_t bytes[VMOP_GUEST_PROBE_BYTES])
{
	enum vmop_guest_probed probed;
	for (int waited_ms = 0; (probed = vmop_guest_watch_probe(watch, domain, place, bytes)) ==
					VMOP_GUEST_PROBE_WAITS &&
				waited_ms < PATIENCE_MS;
	     waited_ms += 5)
		poll(NULL, 0, 5);
	return probed;
}

/* A place in a process's memory: of that process only, by pid and name. */
static void memory_of_a_process_is_probed(void **state)
{
	static const struct vmop_guest_probe worker = {
		.pid = 2, .address = 0x401fe0, .comm = "worker"};
	const struct vmop_domain_id domain = {DOMAIN};
	struct vmop_guest_probe other;
	uint8_t bytes[VMOP_GUEST_PROBE_BYTES];
	(void)state;
	map_user_page(0x401000, 0xb20000);
	memset(made.ram + 0xb20fe0, 0x5a, VMOP_GUEST_PROBE_BYTES);
	vmop_guest_view_unref(wait_for(has_all));
	for (unsigned i = 0; i < 2; i++) { /* it is read anew each time */
		memset(bytes, 0, sizeof(bytes));
		assert_int_equal(probe(domain, &worker, bytes), VMOP_GUEST_PROBE_READ);
		assert_memory_equal(bytes, made.ram + 0xb20fe0, sizeof(bytes));
		memset(made.ram + 0xb20fe0, 0x11, VMOP_GUEST_PROBE_BYTES);
	}
	other = worker;
	other.address++; /* the next page is not mapped */
	assert_int_equal(probe(domain, &other, bytes), VMOP_GUEST_PROBE_ABSENT);
	other = worker;
	other.pid = 1;
	assert_int_equal(probe(domain, &other, bytes), VMOP_GUEST_PROBE_ABSENT);
	other = worker;
	strcpy(other.comm, "vmopd");
	assert_int_equal(probe(domain, &other, bytes), VMOP_GUEST_PROBE_ABSENT);
	assert_int_equal(probe((struct vmop_domain_id){DOMAIN + 1}, &worker, bytes),
			 VMOP_GUEST_PROBE_ABSENT);
	/* Two places of a guest take turns. */
	assert_int_equal(vmop_guest_watch_probe(watch, domain, &worker, bytes),
			 VMOP_GUEST_PROBE_WAITS);
	assert_int_equal(vmop_guest_watch_probe(watch, domain, &other, bytes),
			 VMOP_GUEST_PROBE_WAITS);
	assert_int_equal(probe(domain, &worker, bytes), VMOP_GUEST_PROBE_READ);
	assert_int_equal(probe(domain, &other, bytes), VMOP_GUEST_PROBE_ABSENT);
}

static void a_vmm_that_ends_between_sessions_is_gone(void **state)
{
	const struct vmop_guest_holder holder = {.number = (uint32_t)vmm};
	(void)state;
	vmop_guest_view_unref(wait_for(has_all));
	vmop_guest_watch_park(watch);
	end_vmm();
	assert_null(vmop_guest_watch_add(watch, present, holder));
	struct vmop_guest_view *view = wait_for(has_nothing);
	assert_int_equal(view->numbers.generation, 0);
	vmop_guest_view_unref(view);
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
	vmop_guest_watch_remove(watch, (struct vmop_domain_id){DOMAIN});
	assert_null(vmop_guest_watch_view(watch, (struct vmop_domain_id){DOMAIN}));
}

/* RAM whose place cannot be guessed is located by QMP. */
static void qmp_locates_ram(void **state)
{
	(void)state;
	struct vmop_guest_view *view = wait_for(has_all);
	assert_string_equal(view->state, "kernel symbols and processes");
	assert_int_equal(vmop_guest_snapshot_count(view->tasks->snapshot), SYNTHETIC_PROCESSES);
	vmop_guest_view_unref(view);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-qmp"))
		return be_vmm(argv[0], argv[2]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_guest_is_read, begin_private, end),
		cmocka_unit_test_setup_teardown(symbols_are_dropped_after_they_were_copied,
						begin_shared, end),
		cmocka_unit_test_setup_teardown(a_guest_that_comes_is_completed, begin_incomplete,
						end),
		cmocka_unit_test_setup_teardown(a_kernel_without_processes_stays, begin_incomplete,
						end),
		cmocka_unit_test_setup_teardown(another_kernel_takes_over, begin_shared, end),
		cmocka_unit_test_setup_teardown(unwind_tables_follow_the_code, begin_shared, end),
		cmocka_unit_test_setup_teardown(requests_for_tables_are_answered, begin_private,
						end),
		cmocka_unit_test_setup_teardown(awaited_files_are_read_at_once, begin_slow, end),
		cmocka_unit_test_setup_teardown(a_new_session_goes_on_with_a_guest, begin_private,
						end),
		cmocka_unit_test_setup_teardown(memory_of_a_process_is_probed, begin_shared, end),
		cmocka_unit_test_setup_teardown(a_vmm_that_ends_between_sessions_is_gone,
						begin_private, end),
		cmocka_unit_test_setup_teardown(qmp_locates_ram, begin_qmp_arm64, end_qmp),
#ifndef __aarch64__
		cmocka_unit_test_setup_teardown(qmp_locates_ram, begin_qmp_x86, end_qmp),
#endif
		cmocka_unit_test_setup_teardown(a_vmm_that_ends_leaves_nothing, begin_private, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
