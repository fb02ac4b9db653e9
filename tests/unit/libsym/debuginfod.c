// SPDX-License-Identifier: GPL-2.0-or-later
/* Symbols from a real debuginfod server on the loopback interface. */
#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "libsym/code.h"
#include "libsym/lines.h"
#include "libsym/resolver.h"
#include "libutil/clock.h"

#define TARGET VMOP_TEST_BUILDDIR "/tests/unit/libsym/target"
#define BUILD_ID "5eed0123456789abcdef5eed0123456789abcdef"

/* Number of attempts before the server counts as broken: it scans its directory first. */
#define MAX_TRIES 300

static char dir[] = "/tmp/vmop-debuginfod-XXXXXX";
static pid_t server = -1;
static int port;

/* Run a command line in dir. */
static int run(const char *command)
{
	char line[512];
	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	return system(line);
}

/* Return a port on which no process listens. */
static int free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return -1;
	close(fd);
	return ntohs(address.sin_port);
}

static void start_server(void)
{
	char number[16], database[64], log[64], files[64];
	snprintf(number, sizeof(number), "%d", port);
	snprintf(database, sizeof(database), "%s/server.sqlite", dir);
	snprintf(log, sizeof(log), "%s/server.log", dir);
	snprintf(files, sizeof(files), "%s/served", dir);
	server = fork();
	if (server != 0)
		return;
	int fd = open(log, O_WRONLY | O_CREAT, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if the test is killed after its time limit */
	unsetenv("DEBUGINFOD_URLS");
	execlp("debuginfod", "debuginfod", "-F", "-p", number, "-d", database, "-t", "1", files,
	       (char *)NULL);
	_exit(127);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	if (run("mkdir served && strip -o stripped " TARGET " && objcopy --only-keep-debug " TARGET
		" served/target.debug"))
		return -1;
	port = free_port();
	char url[64];
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_TIMEOUT", "20", 1);
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	start_server();
	return server < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (server > 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	return run("rm -rf ../${PWD##*/}");
}

static bool has(const struct vmop_symtab *symtab, const char *name)
{
	size_t n = 0;
	const struct vmop_symbol *symbols = symtab ? vmop_symtab_symbols(symtab, &n) : NULL;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Return whether name is found by a client that caches no earlier reply. */
static bool is_resolved(const char *path, const char *name, bool use_debuginfod, int try)
{
	static const char *const nowhere[] = {"/nonexistent"};
	const struct vmop_resolver_options options = {
		.debug_paths = nowhere,
		.n_debug_paths = 1,
		.use_debuginfod = use_debuginfod,
	};
	char cache[64], image[64];
	snprintf(cache, sizeof(cache), "%s/cache-%d", dir, try);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	snprintf(image, sizeof(image), "%s/%s", dir, path);
	struct vmop_image_ref ref = {.path = image};
	assert_true(vmop_build_id_parse(BUILD_ID, &ref.build_id));
	struct vmop_resolver *resolver;
	const struct vmop_symtab *symtab;
	const char *reason;
	assert_null(vmop_resolver_create(&options, &resolver));
	assert_null(vmop_resolver_symtab(resolver, &ref, &symtab, &reason));
	bool found = has(symtab, name);
	vmop_resolver_destroy(resolver);
	return found;
}

static bool becomes_resolved(const char *path, const char *name)
{
	const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
	static int try;
	for (int i = 0; i < MAX_TRIES; i++) {
		if (is_resolved(path, name, true, try++))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void debug_information_is_fetched(void **state)
{
	(void)state;
	assert_true(becomes_resolved("stripped", "target_local"));
	/* Only if debuginfod is requested. */
	assert_false(is_resolved("stripped", "target_local", false, 100000));
}

static void a_program_that_is_gone_is_fetched_too(void **state)
{
	(void)state;
	assert_int_equal(run("cp stripped served/"), 0);
	assert_true(becomes_resolved("absent", "target_local"));
}

/* Set ret to a source file of the program, as its DWARF names it. */
static void find_source(char ret[4096])
{
	const struct vmop_image_ref ref = {.path = TARGET};
	struct vmop_resolver *resolver;
	struct vmop_lines *lines;
	struct vmop_image_lines *image;
	struct vmop_line line = {0};
	const char *reason;
	assert_null(vmop_resolver_create(&(const struct vmop_resolver_options){0}, &resolver));
	assert_null(vmop_lines_create(resolver, 60 * VMOP_NS_PER_S, &lines));
	assert_null(vmop_lines_open(lines, &ref, &image, &reason));
	assert_non_null(image);
	for (uint64_t offset = 0; offset < 0x10000 && !line.path; offset++)
		assert_true(vmop_lines_find(lines, image, offset, &line));
	assert_non_null(line.path);
	snprintf(ret, 4096, "%s%s%s", line.path[0] == '/' ? "" : line.folder,
		 line.path[0] == '/' ? "" : "/", line.path);
	vmop_lines_destroy(lines);
	vmop_resolver_destroy(resolver);
}

/* The server has indexed the program by now: the tests before waited for it. */
static void source_files_are_fetched(void **state)
{
	(void)state;
	char path[4096], text[4096] = "";
	const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
	struct vmop_image_ref ref = {.path = TARGET};
	struct vmop_resolver *resolver;
	int fd = -1;
	find_source(path);
	assert_true(vmop_build_id_parse(BUILD_ID, &ref.build_id));
	for (int i = 0; i < MAX_TRIES && fd < 0; i++) {
		char cache[64];
		snprintf(cache, sizeof(cache), "%s/source-%d", dir, i);
		setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
		assert_null(vmop_resolver_create(
			&(const struct vmop_resolver_options){.use_debuginfod = true}, &resolver));
		fd = vmop_source_from_debuginfod(resolver, &ref, path);
		assert_int_equal(vmop_source_from_debuginfod(resolver, &ref, "/nonexistent.c"), -1);
		assert_int_equal(vmop_source_from_debuginfod(resolver, &ref, "relative.c"), -1);
		vmop_resolver_destroy(resolver);
		if (fd < 0)
			nanosleep(&pause, NULL);
	}
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "SPDX-License-Identifier"));
	close(fd);
}

static void a_server_that_is_gone_costs_nothing_but_its_symbols(void **state)
{
	(void)state;
	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	server = -1;
	assert_false(is_resolved("stripped", "target_local", true, 100001));
	assert_true(is_resolved("stripped", "target_exported", true, 100001));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_information_is_fetched),
		cmocka_unit_test(a_program_that_is_gone_is_fetched_too),
		cmocka_unit_test(source_files_are_fetched),
		cmocka_unit_test(a_server_that_is_gone_costs_nothing_but_its_symbols),
	};
#ifndef HAVE_DEBUGINFOD
	puts("skipped: built without libdebuginfod");
	return 77;
#endif
	if (system("command -v debuginfod >/dev/null && command -v objcopy >/dev/null && command "
		   "-v strip >/dev/null") != 0) {
		puts("skipped: needs debuginfod (Debian: debuginfod), objcopy and strip");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
