// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/setup.h"

static void parse_good(struct vmop_setup *setup, const char *text)
{
	assert_null(vmop_setup_init(setup));
	struct vmop_error *err = vmop_setup_parse(setup, "t.conf", text);
	if (err)
		print_error("%s\n", err->message);
	assert_null(err);
}

/* Assert that text is a usage error, with a message that contains each of the words. */
static void refused(const char *text, const char *word, const char *other)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	assert_null(vmop_setup_init(&setup));
	struct vmop_error *err = vmop_setup_parse(&setup, "t.conf", text);
	if (!err)
		err = vmop_setup_check(&setup);
	if (!err)
		print_error("taken: %s\n", text);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	if (!strstr(err->message, word) || !strstr(err->message, other))
		print_error("%s\n  says: %s\n  not: %s, %s\n", text, err->message, word, other);
	assert_non_null(strstr(err->message, word));
	assert_non_null(strstr(err->message, other));
	assert_null(strchr(err->message, '\n'));
	vmop_error_destroy(err);
}

static void every_key(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	parse_good(&setup, "# a comment\n"
			   "event = cycles:100003\n"
			   "  event=cpu-clock:1000000 ; and another\n"
			   "separate = thread,cpu\n"
			   "vmlinux = /boot/vmlinux\n"
			   "xen = /boot/xen-syms\n"
			   "session-dir = /tmp/s p a c e\n"
			   "active-domains = build,7\n"
			   "passive-domains = web, db,4711\n"
			   "passive-images = /k/web+0x1c000000,,/k/db\n"
			   "guest-cpu = 2.5%\n"
			   "off-cpu = 25\n"
			   "off-cpu-states = d, R\n"
			   "guest-context = on\n"
			   "waits = on\n"
			   "code = 64K\n"
			   "fetch-size = 1M\n"
			   "callgraph = cfi:32K\n"
			   "callgraph-depth = 64\n"
			   "buffer-size = 1M\n"
			   "flush-interval = 0.5s\n"
			   "ladder = 500ms:5m, 30s:2h,10m:1d,1h\n"
			   "keep = 90d\n"
			   "max-size = 3G\n"
			   "rotate = 64M\n"
			   "max-overhead = 0.5\n"
			   "nice = 19\n"
			   "session-mode = 0600\n"
			   "status-group = adm");
	assert_null(vmop_setup_check(&setup));
	assert_int_equal(setup.events.n, 2);
	assert_string_equal(setup.events.items[1], "cpu-clock:1000000");
	assert_int_equal(setup.separate, VMOP_SETUP_SEPARATE_THREAD | VMOP_SETUP_SEPARATE_CPU);
	assert_string_equal(setup.vmlinux, "/boot/vmlinux");
	assert_string_equal(setup.session_dir, "/tmp/s p a c e");
	assert_string_equal(setup.xen, "/boot/xen-syms");
	assert_int_equal(setup.active_domains.n, 2);
	assert_string_equal(setup.active_domains.items[1], "7");
	assert_int_equal(setup.passive_domains.n, 3);
	assert_string_equal(setup.passive_domains.items[1], "db");
	assert_int_equal(setup.passive_images.n, 3);
	assert_string_equal(setup.passive_images.items[1], "");
	assert_int_equal(setup.guest_cpu_permille, 25);
	assert_int_equal(setup.off_cpu.hz, 25);
	assert_int_equal(setup.off_cpu.states, VMOP_OFF_CPU_UNINTERRUPTIBLE | VMOP_OFF_CPU_READY);
	assert_int_equal(setup.guest_context, VMOP_SETUP_CONTEXT_ON);
	assert_true(setup.waits);
	assert_int_equal(setup.code_bytes, 65536);
	assert_int_equal(setup.fetch_bytes, 1 << 20);
	assert_int_equal(setup.stacks.mode, VMOP_STACKS_CFI);
	assert_int_equal(setup.stacks.user_stack_bytes, 32768);
	assert_int_equal(setup.stacks.max_frames, 64);
	assert_int_equal(setup.buffer_bytes, 1 << 20);
	assert_int_equal(setup.flush_ns, 500000000);
	assert_int_equal(setup.ladder.n_steps, 3);
	assert_int_equal(setup.ladder.steps[0].age_ns, 300000000000);
	assert_int_equal(setup.ladder.steps[0].len_ns, 30000000000);
	assert_int_equal(setup.ladder.steps[2].age_ns, 86400000000000);
	assert_int_equal(setup.ladder.steps[2].len_ns, 3600000000000);
	assert_int_equal(setup.keep_ns, 90 * 86400000000000);
	assert_int_equal(setup.max_bytes, (uint64_t)3 << 30);
	assert_false(setup.rotate.is_daily);
	assert_int_equal(setup.rotate.bytes, 64 << 20);
	assert_int_equal(setup.max_overhead_permyriad, 50);
	assert_int_equal(setup.nice, 19);
	assert_int_equal(setup.session_mode, 0600);
	assert_string_equal(setup.status_group, "adm");
}

static void format_is_parsed_again(void **state)
{
	(void)state;
	static const char text[] = "event = cycles:100003\n"
				   "event = cpu-clock\n"
				   "separate = thread,kernel\n"
				   "vmlinux = /boot/vmlinux\n"
				   "xen = /boot/xen-syms.map\n"
				   "session-dir = /tmp/s\n"
				   "active-domains = build\n"
				   "fetch-size = off\n"
				   "passive-domains = web\n"
				   "passive-domains = db\n"
				   "passive-images = ,/k/db+0x10\n"
				   "guest-cpu = 2.5%\n"
				   "guest-context = off\n"
				   "off-cpu = 100Hz\n"
				   "off-cpu-states = D,S,K,I,T,R\n"
				   "code = off\n"
				   "callgraph = cfi:64K\n"
				   "callgraph-depth = 9\n"
				   "buffer-size = 65536\n"
				   "flush-interval = 1500ms\n"
				   "ladder = 1500ms:90s,1m:1d,2h\n"
				   "keep = 30d\n"
				   "max-size = 1500M\n"
				   "rotate = daily\n"
				   "max-overhead = 12.05%\n"
				   "nice = 0\n"
				   "session-mode = 0640\n"
				   "status-group = adm\n";
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	_cleanup_free_ char *formatted = NULL;
	parse_good(&setup, text);
	assert_null(vmop_setup_format(&setup, &formatted));
	assert_string_equal(formatted, text);
}

static void defaults(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	parse_good(&setup, "");
	assert_int_equal(setup.events.n, 0);
	assert_int_equal(setup.passive_domains.n, 1);
	assert_string_equal(setup.passive_domains.items[0], "all");
	assert_int_equal(setup.flush_ns, 1000000000);
	assert_int_equal(setup.stacks.mode, VMOP_STACKS_OFF);
	assert_int_equal(setup.stacks.max_frames, VMOP_STACK_FRAMES_MAX);
	assert_int_equal(setup.session_mode, 0640);
	assert_null(setup.vmlinux);
	assert_null(setup.xen);
	assert_int_equal(setup.active_domains.n, 0);
}

static void bad_lines(void **state)
{
	(void)state;
	refused("event = cycles\nevnet = x\n", "t.conf:2", "evnet");
	refused("evnet = x\n", "passive-domains", "session-dir"); /* lists the keys */
	refused("[xen]\nevent = x\n", "t.conf:2", "[xen]");
	refused("event = a\njust words\n", "t.conf:2", "key = value");
	refused("separate = threads\n", "threads", "none, lib, kernel, thread, cpu, all");
	refused("separate = \n", "separate", "thread");
	refused("session-dir = here\n", "here", "absolute");
	refused("session-dir = \n", "session-dir", "absolute");
	refused("vmlinux = vmlinux\n", "vmlinux", "absolute");
	refused("xen = xen-syms\n", "xen-syms", "absolute");
	refused("active-domains = all,web\n", "all", "another name");
	refused("active-domains = a,b\npassive-domains = b\n", "'b'", "both");
	refused("event = a,,b\n", "a,,b", "empty");
	refused("passive-domains = \n", "passive-domains", "empty");
	refused("passive-domains = all,web\n", "all", "another name");
	refused("passive-images = /k\n", "1 image(s)", "0 named");
	refused("passive-domains = a\npassive-images = /k,/l\n", "2 image(s)", "1 named");
	refused("passive-domains = a\npassive-images = /k+0xzz\n", "/k+0xzz", "offset");
	refused("passive-domains = a\npassive-images = +0x10\n", "+0x10", "no path");
	refused("passive-domains = a\npassive-images = k\n", "'k'", "absolute");
	refused("buffer-size = 1\n", "'1'", "8K");
	refused("buffer-size = 2G\n", "2G", "1G");
	refused("buffer-size = 99999999999999999999\n", "buffer-size", "size");
	refused("flush-interval = 0\n", "flush-interval", "100ms");
	refused("flush-interval = 1y\n", "1y", "100ms");
	refused("guest-cpu = much\n", "much", "100%");
	refused("guest-cpu = 101%\n", "101%", "100%");
	refused("ladder = soon\n", "soon", "1s:10m");
	refused("ladder =\n", "''", "1s:10m");
	refused("ladder = 1s:10m\n", "10m", "1s alone");
	refused("ladder = 1m:10s\n", "10s", "end with 1m alone");
	refused("ladder = 1s:10m,1m:1d\n", "1d", "1s:10m,1m:1d,1d");
	refused("ladder = 1s,1m\n", "1s,1m", "1s:10m");
	refused("ladder = 1s:-1,1m\n", "1s:-1", "1s:10m");
	refused("ladder = 0s:10m,1m\n", "0s", "1s:10m");
	refused("ladder = 1s:10m:1h,1m\n", "1s:10m:1h", "1s:10m");
	refused("ladder = 1s:10m,1s\n", "1s can't become 1s", "greater");
	refused("ladder = 1s:1d,10m:30d,1m\n", "10m can't become 1m", "greater");
	refused("ladder = 1s:10m,1m:1d,90s\n", "90s is no multiple of 1m", "2m");
	refused("ladder = 1s:30s,1m\n", "30s", "1s:1m");
	refused("ladder = 1s:10m,1m:10m,1h\n", "1m would end", "1m:20m");
	refused("ladder = 1s:9m,2s:10m,4s:11m,8s:12m,16s:13m,32s:14m,64s:15m,128s:16m,256s:17m,"
		"512s\n",
		"ladder", "more than 9");
	refused("ladder = 2s:10m,1m\n", "2s long", "with 1s");
	refused("flush-interval = 5s\nladder = 1s:10m,1m\n", "1s long", "with 5s");
	refused("keep = ever\n", "ever", "30d");
	refused("keep = 0\n", "'0'", "30d");
	refused("keep = 500ms\n", "500ms", "keep=1s");
	refused("flush-interval = 1h\nkeep = 30m\n", "30m", "keep=1h");
	refused("fetch-size = 1K\n", "1K", "1M");
	refused("fetch-size = 5G\n", "5G", "4G");
	refused("fetch-size = on\n", "on", "off");
	refused("max-size = 15M\n", "15M", "16M");
	refused("max-size = big\n", "big", "16M");
	refused("max-overhead = little\n", "little", "0.5%");
	refused("max-overhead = 0\n", "'0'", "0.01%");
	refused("max-overhead = 0.001%\n", "0.001%", "0.01%");
	refused("max-overhead = 51%\n", "51%", "50%");
	refused("max-overhead = 1%%\n", "1%%", "50%");
	refused("max-overhead = 1.\n", "'1.'", "50%");
	refused("nice = -1\n", "-1", "0 and 19");
	refused("nice = 20\n", "20", "0 and 19");
	refused("rotate = weekly\n", "weekly", "daily");
	refused("rotate = 4096\n", "4096", "1M");
	refused("rollup = soon\n", "soon", "10m,1d");
	refused("rollup = 10m,soon\n", "soon", "10m,1d");
	refused("rollup = 1s,1d\n", "1s", "1m");
	refused("session-mode = 0777\n", "0777", "0640");
	refused("session-mode = 0660\n", "0660", "0640");
	refused("session-mode = 0646\n", "0646", "0640");
	refused("session-mode = 044\n", "044", "0640");
	refused("session-mode = rw\n", "rw", "0640");
	refused("guest-cpu = 100.1\n", "100.1", "0 and 100%");
	refused("guest-cpu = 5%%\n", "5%%", "0 and 100%");
	refused("off-cpu = often\n", "often", "off");
	refused("off-cpu = 101\n", "101", "100Hz");
	refused("off-cpu = 10kHz\n", "10kHz", "100Hz");
	refused("off-cpu = -1\n", "-1", "100Hz");
	refused("off-cpu-states = D,Z\n", "D,Z", "stopped");
	refused("off-cpu-states =\n", "off-cpu-states", "stopped");
	refused("event = a\001b\n", "event", "0x01");
}

static void bounds(void **state)
{
	(void)state;
	size_t len = VMOP_SETUP_MAX_BYTES + 1;
	_cleanup_free_ char *text = malloc(len + 1);
	memset(text, '#', len);
	text[len] = '\0';
	refused(text, "t.conf", "larger");
	/* One line beyond inih's limit. */
	memset(text, 'x', len);
	memcpy(text, "event = ", 8);
	text[20000] = '\0';
	refused(text, "t.conf:1", "longer");
	/* A list beyond its bound. */
	for (size_t i = 0; i < 2 * (VMOP_SETUP_MAX_LIST + 1); i += 2)
		memcpy(text + 8 + i, "a,", 2);
	text[8 + 2 * (VMOP_SETUP_MAX_LIST + 1) - 1] = '\0';
	refused(text, "event", "more than 64");
}

static void set_replaces_or_appends(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	parse_good(&setup, "event = a\nevent = b\n");
	assert_null(vmop_setup_set(&setup, "event", "c", false));
	assert_null(vmop_setup_set(&setup, "event", "d,e", true));
	assert_int_equal(setup.events.n, 3);
	assert_string_equal(setup.events.items[2], "e");
	/* A refused value leaves the old one. */
	assert_null(vmop_setup_set(&setup, "event", "cpu/event=1,umask=2/:100,c", false));
	assert_int_equal(setup.events.n, 2);
	assert_string_equal(setup.events.items[0], "cpu/event=1,umask=2/:100");
	assert_null(vmop_setup_set(&setup, "event", "c,cpu/event=1,d", false));
	assert_int_equal(setup.events.n, 3); /* not ended by '/': the daemon reports the error */
	struct vmop_error *err = vmop_setup_set(&setup, "event", "x,,y", false);
	assert_non_null(err);
	vmop_error_destroy(err);
	assert_int_equal(setup.events.n, 3);
	assert_string_equal(setup.events.items[0], "c");
	/* Values that a file cannot represent. */
	err = vmop_setup_set(&setup, "session-dir", "/a ;b", false);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "comment"));
	vmop_error_destroy(err);
	err = vmop_setup_set(&setup, "passive-domains", "a;b, ;c", false);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "comment"));
	vmop_error_destroy(err);
}

static void save_keeps_other_lines(void **state)
{
	(void)state;
	char dir[] = "/tmp/vmop-setup-XXXXXX";
	assert_non_null(mkdtemp(dir));
	_cleanup_free_ char *path = NULL, *text = NULL;
	assert_true(asprintf(&path, "%s/sub/vmop.conf", dir) > 0);
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	parse_good(&setup, "separate = cpu\n");
	static const char *const first[] = {"separate"};
	assert_null(vmop_setup_save(&setup, path, first, 1)); /* makes sub */
	static const char before[] = "# mine\nseparate = all\nevent = a\nevent = b\n# end";
	assert_null(vmop_io_write_file_atomic(path, before, strlen(before), 0644));
	assert_null(vmop_setup_set(&setup, "event", "c,d", false));
	assert_null(vmop_setup_set(&setup, "flush-interval", "3s", false));
	static const char *const keys[] = {"event", "flush-interval"};
	assert_null(vmop_setup_save(&setup, path, keys, 2));
	assert_null(vmop_io_read_file(path, 1000, &text, NULL));
	assert_string_equal(text, "# mine\nseparate = all\nevent = c\nevent = d\n# end\n"
				  "flush-interval = 3s\n");
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void files(void **state)
{
	(void)state;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup;
	bool found = true;
	assert_null(vmop_setup_init(&setup));
	assert_null(vmop_setup_read(&setup, "/nonexistent/vmop.conf", &found));
	assert_false(found);
	struct vmop_error *err = vmop_setup_read(&setup, "/proc/self/cmdline", &found);
	assert_non_null(err); /* it contains a NUL byte */
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key),
		cmocka_unit_test(format_is_parsed_again),
		cmocka_unit_test(defaults),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(bounds),
		cmocka_unit_test(set_replaces_or_appends),
		cmocka_unit_test(save_keeps_other_lines),
		cmocka_unit_test(files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
