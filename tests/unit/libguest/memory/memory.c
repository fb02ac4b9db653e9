// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libguest/guest.h"
#include "libguest/memory/internal.h"
#include "libguest/memory/qmp.h"
#include "libutil/error.h"
#include "tests/unit/libguest/scratch.h"
#include "tests/unit/libguest/synthetic.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

/* Make a sparse file with text at some offsets. */
static void make_file(uint64_t len, const uint64_t *offsets, size_t count)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(pwrite(fd, "touched", 7, (off_t)offsets[i]), 7);
	close(fd);
}

static void expect(struct vmop_error *err, enum vmop_error_code code)
{
	assert_non_null(err);
	assert_int_equal(err->code, code);
	vmop_error_destroy(err);
}

/* --- files -------------------------------------------------------------------------- */

static void holes_are_skipped_and_never_filled(void **state)
{
	const uint64_t offsets[] = {4096 * 3 + 10, 63 * GIB + 12345};
	struct vmop_guest_memory *memory;
	struct stat before, after;
	char text[8] = "";
	(void)state;
	make_file(64 * GIB, offsets, 2);
	assert_int_equal(stat(path, &before), 0);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	assert_int_equal(vmop_guest_memory_ram_bytes(memory), 64 * GIB);
	uint64_t linear = 0, len, touched = 0;
	int seen = 0;
	while (vmop_guest_memory_next_touched(memory, &linear, MIB, &len)) {
		for (int i = 0; i < 2; i++)
			seen += offsets[i] >= linear && offsets[i] < linear + len;
		touched += len;
		linear += len;
	}
	assert_int_equal(seen, 2);
	assert_true(touched < MIB);
	assert_true(vmop_guest_memory_read(memory, 4096 * 3 + 10, text, 7));
	assert_string_equal(text, "touched");
	uint8_t zeros[8192], expected[8192] = {0};
	assert_true(vmop_guest_memory_read(memory, 5 * GIB, zeros, sizeof(zeros)));
	assert_memory_equal(zeros, expected, sizeof(zeros));
	vmop_guest_memory_close(memory);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_blocks, before.st_blocks);
}

/* A guest in 64 GiB costs as much as its touched pages. */
static void a_kernel_in_64_gib(void **state)
{
	struct synthetic made;
	struct vmop_guest *guest;
	(void)state;
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_AFTER_INDEX,
							  .no_trampoline = true});
	make_file(64 * GIB, NULL, 0);
	int fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, made.ram, SYNTHETIC_RAM_BYTES, 0), SYNTHETIC_RAM_BYTES);
	close(fd);
	assert_null(vmop_guest_open_file(path, NULL, &guest));
	assert_null(vmop_guest_find_kernel(guest));
	assert_int_equal(vmop_guest_kernel_info(guest)->symbols, made.symbol_count);
	/* a scan, the image once per memory placement, and nothing for the holes */
	assert_true(vmop_guest_last_cost(guest).read_bytes < GIB);
	vmop_guest_close(guest);
	synthetic_free(&made);
}

/* A page is kept until it is forgotten, however often. */
static void forgotten_pages_are_read_again(void **state)
{
	const uint64_t offset = 4096 * 3;
	struct vmop_guest_memory *memory;
	uint32_t value;
	(void)state;
	make_file(MIB, &offset, 1);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	const uint8_t *page = vmop_guest_memory_page(memory, offset);
	assert_memory_equal(page, "touched", 7);
	for (uint32_t i = 0; i < 9000; i++) {
		assert_int_equal(pwrite(fd, &i, sizeof(i), (off_t)offset), sizeof(i));
		if (i % 16 == 5)
			continue;
		if (i % 16 != 6)
			vmop_guest_memory_forget(memory);
		memcpy(&value, vmop_guest_memory_page(memory, offset), sizeof(value));
		assert_int_equal(value, i % 16 == 6 ? i - 2 : i);
	}
	vmop_guest_memory_close(memory);
	close(fd);
}

static void nothing_outside_of_ram(void **state)
{
	struct vmop_guest_memory *memory;
	uint8_t byte[16];
	(void)state;
	make_file(3 * GIB, NULL, 0);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	for (size_t i = 0; i < vmop_guest_memory_placements(memory); i++) {
		vmop_guest_memory_select_placement(memory, i);
		assert_false(vmop_guest_memory_read(memory, UINT64_MAX - 8, byte, 16));
		assert_false(vmop_guest_memory_read(memory, 8 * GIB, byte, 1));
		assert_null(vmop_guest_memory_page(memory, UINT64_MAX));
		for (uint64_t gpa = 0; gpa < 8 * GIB; gpa += 64 * MIB) {
			uint64_t linear = vmop_guest_memory_to_linear(memory, gpa);
			assert_true(linear == VMOP_GUEST_NO_ADDRESS || linear < 3 * GIB);
			if (linear != VMOP_GUEST_NO_ADDRESS)
				assert_int_equal(vmop_guest_memory_to_gpa(memory, linear), gpa);
		}
	}
	vmop_guest_memory_close(memory);
}

static void the_hole_under_4_gib(void **state)
{
	struct vmop_guest_map map = {0};
	(void)state;
	vmop_guest_map_add_split_placements(&map, 5 * GIB, 2 * GIB);
	assert_true(map.placements > 3);
	assert_int_equal(map.placement[0].spans, 2);
	assert_int_equal(map.placement[0].span[1].gpa, 4 * GIB);
	assert_int_equal(map.placement[0].span[1].linear, 2 * GIB);
	assert_int_equal(map.placement[0].span[1].len_bytes, 3 * GIB);
	memset(&map, 0, sizeof(map));
	vmop_guest_map_add_split_placements(&map, GIB, 0);
	assert_int_equal(map.placements, 1);
	assert_int_equal(map.placement[0].spans, 1);
}

static void budgets_end_reading(void **state)
{
	struct vmop_guest_memory *memory;
	struct vmop_guest_budget budget = {.bytes_left = 8192, .steps_left = 0};
	uint8_t page[4096];
	(void)state;
	make_file(GIB, NULL, 0);
	assert_null(vmop_guest_memory_open_file(path, &memory));
	vmop_guest_memory_set_budget(memory, &budget);
	assert_true(vmop_guest_memory_read(memory, 0, page, sizeof(page)));
	assert_true(vmop_guest_memory_read(memory, 0, page, sizeof(page))); /* from the cache */
	assert_true(vmop_guest_memory_read(memory, 4096, page, sizeof(page)));
	assert_false(vmop_guest_memory_read(memory, 8192, page, sizeof(page)));
	assert_false(vmop_guest_budget_step(&budget));
	vmop_guest_memory_close(memory);
}

static void what_is_no_image(void **state)
{
	struct vmop_guest_memory *memory;
	(void)state;
	make_file(100, NULL, 0);
	expect(vmop_guest_memory_open_file(path, &memory), VMOP_ERROR_CORRUPT);
	expect(vmop_guest_memory_open_file("/tmp", &memory), VMOP_ERROR_CORRUPT);
	unlink(path);
	expect(vmop_guest_memory_open_file(path, &memory), VMOP_ERROR_OS);
}

/* --- processes ------------------------------------------------------------------------ */

/* A child that maps RAM as a VMM does; it runs until it gets a byte. */
static pid_t start_vmm(bool shared, int *ret_pipe)
{
	struct synthetic made;
	int ready[2], end[2];
	char byte;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	synthetic_make(&made, &(struct synthetic_options){.kallsyms = SYNTHETIC_ALL_RELATIVE});
	pid_t pid = fork();
	if (pid == 0) {
		close(end[1]);
		size_t len = 256 * MIB;
		int fd = shared ? memfd_create("memory-backend-memfd", 0) : -1;
		if (shared && ftruncate(fd, (off_t)len) < 0)
			_exit(1);
		char *ram = mmap(
			NULL, len, PROT_READ | PROT_WRITE,
			(shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_NORESERVE, fd, 0);
		madvise(ram, len, MADV_NOHUGEPAGE);
		for (size_t at = 0; at < SYNTHETIC_RAM_BYTES; at += 4096) {
			static const uint8_t zeros[4096];
			if (memcmp(made.ram + at, zeros, 4096) != 0)
				memcpy(ram + at, made.ram + at, 4096);
		}
		if (write(ready[1], "r", 1) != 1 || read(end[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	assert_true(pid > 0);
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*ret_pipe = end[1];
	synthetic_free(&made);
	return pid;
}

/* Return the resident KiB of the process's mapping that has the size of RAM. */
static long ram_rss_kib(pid_t pid)
{
	char line[512], name[64];
	unsigned long long start, end;
	long rss = -1;
	bool inside = false;
	snprintf(name, sizeof(name), "/proc/%d/smaps", (int)pid);
	FILE *file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx-%llx ", &start, &end) == 2)
			inside = end - start == 256 * MIB;
		else if (inside && sscanf(line, "Rss: %ld", &rss) == 1)
			break;
	}
	if (file)
		fclose(file);
	return rss;
}

static void a_vmm(bool shared)
{
	int end, status;
	struct vmop_guest *guest;
	struct vmop_guest_memory *memory;
	pid_t pid = start_vmm(shared, &end);
	long before = ram_rss_kib(pid);
	struct vmop_error *err = vmop_guest_open_pid(pid, NULL, &guest);
	if (err) {
		print_message("skipped: %s\n", err->message);
		exit(77);
	}
	assert_null(vmop_guest_find_kernel(guest));
	assert_int_equal(vmop_guest_ram_bytes(guest), 256 * MIB);
	assert_string_equal(vmop_guest_kernel_info(guest)->release, "6.99.0-test");
	assert_null(vmop_guest_memory_open_pid(pid, NULL, &memory));
	/* sanitizers make large mappings as well */
	uint64_t mark = 0;
	for (size_t i = 0; !mark && i < vmop_guest_memory_placements(memory); i++) {
		vmop_guest_memory_select_placement(memory, i);
		vmop_guest_memory_read(memory, SYNTHETIC_TRAMPOLINE_GPA + 511 * 8, &mark, 8);
		if (vmop_guest_memory_ram_bytes(memory) != 256 * MIB)
			mark = 0;
	}
	uint8_t *all = malloc(256 * MIB);
	assert_true(vmop_guest_memory_read(memory, 0, all, 256 * MIB));
	assert_int_equal(all[SYNTHETIC_RAM_BYTES], 0);
	free(all);
	assert_int_equal(ram_rss_kib(pid), before);
	uint64_t linear = 0, len, touched = 0;
	for (; vmop_guest_memory_next_touched(memory, &linear, MIB, &len); linear += len)
		touched +=
			vmop_guest_memory_to_gpa(memory, linear) != VMOP_GUEST_NO_ADDRESS ? len : 0;
	assert_true(touched > 0 && touched <= SYNTHETIC_RAM_BYTES);
	close(end);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* the process is gone: errors, never the memory of another process with its pid */
	uint8_t byte;
	vmop_guest_memory_forget(memory);
	if (!shared) {
		assert_false(vmop_guest_memory_read(memory, SYNTHETIC_TEXT_GPA, &byte, 1));
		assert_int_equal(vmop_guest_kernel_state(guest), VMOP_GUEST_KERNEL_GONE);
	}
	vmop_guest_memory_close(memory);
	vmop_guest_close(guest);
	expect(vmop_guest_open_pid(pid, NULL, &guest), VMOP_ERROR_OS);
}

static void ram_in_a_shared_file(void **state)
{
	(void)state;
	a_vmm(true);
}

static void anonymous_ram(void **state)
{
	(void)state;
	a_vmm(false);
}

/* --- QMP -------------------------------------------------------------------------------- */

struct server {
	int listener;
	const char *line; /* NULL: send nothing and close */
};

/* A server that sends one line repeatedly, whatever it receives. */
static void *serve(void *arg)
{
	struct server *server = arg;
	int fd = accept(server->listener, NULL, NULL);
	while (server->line && send(fd, server->line, strlen(server->line), MSG_NOSIGNAL) > 0)
		;
	close(fd);
	return NULL;
}

static struct vmop_error *ask(pid_t vmm_pid, const char *line, uint64_t *ret)
{
	struct server server = {.line = line};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct vmop_guest_qmp *qmp;
	pthread_t thread;
	unlink(path);
	strcpy(address.sun_path, path);
	server.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(server.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server.listener, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, serve, &server), 0);
	struct vmop_error *err = vmop_guest_qmp_open(vmm_pid, path, &qmp);
	if (!err) {
		err = vmop_guest_qmp_host_address(qmp, 0, ret);
		vmop_guest_qmp_close(qmp);
	}
	pthread_join(thread, NULL);
	close(server.listener);
	return err;
}

static void a_qmp_server_that_misbehaves(void **state)
{
	uint64_t hva;
	char *endless = malloc(70000);
	(void)state;
	memset(endless, 'x', 69999);
	endless[69999] = '\0';
	expect(ask(getpid(), endless, &hva), VMOP_ERROR_LIMIT);
	free(endless);
	expect(ask(getpid(), NULL, &hva), VMOP_ERROR_OS);
	expect(ask(getpid(), "{\"event\": \"X\"}\n", &hva), VMOP_ERROR_LIMIT);
	expect(ask(getpid(), "{\"error\": {\"desc\": \"no\"}}\n", &hva), VMOP_ERROR_CANT);
	assert_null(ask(getpid(), "{\"return\": {}}\n", &hva));
	assert_int_equal(hva, VMOP_GUEST_NO_ADDRESS);
	assert_null(ask(getpid(),
			"{\"return\": \"Host virtual address for 0x0 (pc.ram) is 0x7f00\"}\n",
			&hva));
	assert_int_equal(hva, 0x7f00);
	expect(ask(getpid() + 1, NULL, &hva), VMOP_ERROR_CANT); /* not the process that listens */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_are_skipped_and_never_filled),
		cmocka_unit_test(a_kernel_in_64_gib),
		cmocka_unit_test(forgotten_pages_are_read_again),
		cmocka_unit_test(nothing_outside_of_ram),
		cmocka_unit_test(the_hole_under_4_gib),
		cmocka_unit_test(budgets_end_reading),
		cmocka_unit_test(what_is_no_image),
		cmocka_unit_test(ram_in_a_shared_file),
		cmocka_unit_test(anonymous_ram),
		cmocka_unit_test(a_qmp_server_that_misbehaves),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
