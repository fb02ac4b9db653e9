// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The places where symbols are found. binutils' objcopy and strip, and xz, make the variants of
 * libsym-target, as packagers do.
 */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "libsym/cache/symbol-cache.h"
#include "libsym/resolver.h"

#define TARGET VMOP_TEST_BUILDDIR "/tests/unit/libsym/target"
#define BUILD_ID "5eed0123456789abcdef5eed0123456789abcdef"
#define BY_ID ".build-id/5e/ed0123456789abcdef5eed0123456789abcdef"

static char dir[] = "/tmp/vmop-resolver-XXXXXX";

/* Return a path in dir. It is valid until the eighth call after this one. */
static const char *in_dir(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* Run a command line after replacing each @ by dir + "/". */
static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
	char line[2048], expanded[4096];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	size_t at = 0;
	for (const char *c = line; *c && at < sizeof(expanded) - sizeof(dir) - 2; c++) {
		if (*c == '@')
			at += (size_t)sprintf(expanded + at, "%s/", dir);
		else
			expanded[at++] = *c;
	}
	expanded[at] = '\0';
	return system(expanded);
}

static int set_up_group(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	return run("cp " TARGET " @full && strip -o @stripped @full && "
		   "objcopy --only-keep-debug @full @only.debug && "
		   "objcopy --remove-section=.note.gnu.build-id @full @full-noid");
}

static int tear_down_group(void **state)
{
	(void)state;
	return run("rm -rf %s", dir);
}

struct outcome {
	struct vmop_resolver *resolver;
	const struct vmop_symtab *symtab;
	const char *reason;
};

static struct vmop_image_ref ref_of(const char *path, const char *build_id)
{
	struct vmop_image_ref ref = {.path = path};
	if (build_id)
		assert_true(vmop_build_id_parse(build_id, &ref.build_id));
	return ref;
}

static struct outcome resolve(const struct vmop_resolver_options *options,
			      const struct vmop_image_ref *ref)
{
	static const char *const nowhere[] = {"/nonexistent"};
	struct vmop_resolver_options mine = *options;
	struct outcome outcome;
	if (!mine.debug_paths) {
		mine.debug_paths = nowhere;
		mine.n_debug_paths = 1;
	}
	assert_null(vmop_resolver_create(&mine, &outcome.resolver));
	assert_null(vmop_resolver_symtab(outcome.resolver, ref, &outcome.symtab, &outcome.reason));
	return outcome;
}

static const struct vmop_symbol *by_name(const struct vmop_symtab *symtab, const char *name)
{
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, name) == 0)
			return &symbols[i];
	}
	return NULL;
}

static bool has(const struct vmop_symtab *symtab, const char *name)
{
	return symtab && by_name(symtab, name);
}

static const struct vmop_resolver_options plain;

/* Every source of symbols must give those of the unstripped program. */
static void assert_complete(const struct vmop_symtab *symtab)
{
	struct vmop_image_ref ref = ref_of(TARGET, BUILD_ID);
	struct outcome wanted = resolve(&plain, &ref);
	size_t n, n_wanted;
	assert_non_null(wanted.symtab);
	assert_non_null(symtab);
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	const struct vmop_symbol *all = vmop_symtab_symbols(wanted.symtab, &n_wanted);
	assert_int_equal(n, n_wanted);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(symbols[i].offset, all[i].offset);
		assert_int_equal(symbols[i].len_bytes, all[i].len_bytes);
		assert_string_equal(symbols[i].name, all[i].name);
	}
	vmop_resolver_destroy(wanted.resolver);
}

static void the_file_at_the_path_is_used_if_its_build_id_matches(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("full"), BUILD_ID);
	struct outcome outcome = resolve(&plain, &ref);
	assert_true(has(outcome.symtab, "target_local"));
	assert_true(has(outcome.symtab, "puts@plt"));
	assert_null(outcome.reason);
	vmop_resolver_destroy(outcome.resolver);
}

static void a_file_with_another_build_id_is_never_used(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("full"), "beef");
	struct outcome outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "build-id differs"));
	vmop_resolver_destroy(outcome.resolver);
	/* Nor a file without a build-id. */
	ref = ref_of(in_dir("full-noid"), BUILD_ID);
	outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "build-id differs"));
	vmop_resolver_destroy(outcome.resolver);
}

static void a_file_that_cannot_be_verified_has_a_remark(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("full"), NULL);
	struct outcome outcome = resolve(&plain, &ref);
	assert_true(has(outcome.symtab, "target_local"));
	assert_non_null(strstr(outcome.reason, "not verified"));
	vmop_resolver_destroy(outcome.resolver);
}

static void what_is_no_file_has_its_reason(void **state)
{
	(void)state;
	assert_int_equal(run("mkfifo @fifo; mkdir -p @folder; echo hello >@text"), 0);
	const struct {
		const char *path, *reason;
	} cases[] = {
		{in_dir("absent"), "no such file"},
		{"[heap]", "no such file"},
		{"", "no such file"},
		{NULL, "no such file"},
		{in_dir("fifo"), "not an ELF file"},
		{in_dir("folder"), "not an ELF file"},
		{in_dir("text"), "not an ELF file"},
		{in_dir("full (deleted)"), "was deleted"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmop_image_ref ref = ref_of(cases[i].path, NULL);
		struct outcome outcome = resolve(&plain, &ref);
		assert_null(outcome.symtab);
		assert_non_null(strstr(outcome.reason, cases[i].reason));
		vmop_resolver_destroy(outcome.resolver);
	}
}

static void a_deleted_file_is_replaced_by_an_equal_one(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("full (deleted)"), BUILD_ID);
	struct outcome outcome = resolve(&plain, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	ref = ref_of(in_dir("absent (deleted)"), BUILD_ID);
	outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	assert_string_equal(outcome.reason, "the file was deleted");
	vmop_resolver_destroy(outcome.resolver);
}

static void a_stripped_file_has_its_dynamic_symbols(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("stripped"), BUILD_ID);
	struct outcome outcome = resolve(&plain, &ref);
	assert_false(has(outcome.symtab, "target_local"));
	assert_true(has(outcome.symtab, "target_exported"));
	assert_true(has(outcome.symtab, "puts@plt"));
	vmop_resolver_destroy(outcome.resolver);
}

static void debug_files_are_found_by_build_id(void **state)
{
	(void)state;
	assert_int_equal(
		run("mkdir -p @debug/.build-id/5e && cp @only.debug @debug/" BY_ID ".debug"), 0);
	const char *const debug_paths[] = {"/nonexistent", in_dir("debug")};
	const struct vmop_resolver_options options = {
		.debug_paths = debug_paths,
		.n_debug_paths = 2,
	};
	struct vmop_image_ref ref = ref_of(in_dir("stripped"), BUILD_ID);
	struct outcome outcome = resolve(&options, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);

	/* Also if the image's file is missing and its offsets are unknown: never guess. */
	ref = ref_of(in_dir("absent"), BUILD_ID);
	outcome = resolve(&options, &ref);
	assert_null(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "only its debug file"));
	vmop_resolver_destroy(outcome.resolver);

	/* Addresses need no segments. */
	ref.addresses = true;
	outcome = resolve(&options, &ref);
	assert_true(has(outcome.symtab, "target_local"));
	vmop_resolver_destroy(outcome.resolver);

	/* Distributions link the program there. */
	assert_int_equal(run("cp @stripped @debug/" BY_ID), 0);
	ref.addresses = false;
	outcome = resolve(&options, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);

	/* A debug file with that name and another build-id is refused. */
	assert_int_equal(run("cp @full-noid @debug/" BY_ID ".debug; rm @debug/" BY_ID), 0);
	ref = ref_of(in_dir("stripped"), BUILD_ID);
	outcome = resolve(&options, &ref);
	assert_false(has(outcome.symtab, "target_local"));
	vmop_resolver_destroy(outcome.resolver);
}

static void debug_files_are_found_by_link(void **state)
{
	(void)state;
	static const char *const places[] = {"bin/", "bin/.debug/", "links/"};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(
			run("rm -rf @bin @links; mkdir -p @bin/.debug @links@bin && "
			    "objcopy --add-gnu-debuglink=@only.debug @stripped @bin/linked"),
			0);
		assert_int_equal(run("cp @only.debug @%s", i == 2 ? "links@bin/" : places[i]), 0);
		const char *const debug_paths[] = {in_dir("links")};
		const struct vmop_resolver_options options = {
			.debug_paths = debug_paths,
			.n_debug_paths = 1,
		};
		struct vmop_image_ref ref = ref_of(in_dir("bin/linked"), BUILD_ID);
		struct outcome outcome = resolve(&options, &ref);
		assert_complete(outcome.symtab);
		vmop_resolver_destroy(outcome.resolver);
	}
}

static void a_link_without_build_id_needs_the_right_checksum(void **state)
{
	(void)state;
#ifndef HAVE_LZMA
	skip();
#endif
	assert_int_equal(
		run("mkdir -p @crc && objcopy --only-keep-debug @full-noid @crc/noid.debug && "
		    "strip -o @crc/noid @full-noid && "
		    "objcopy --add-gnu-debuglink=@crc/noid.debug @crc/noid"),
		0);
	struct vmop_image_ref ref = ref_of(in_dir("crc/noid"), NULL);
	struct outcome outcome = resolve(&plain, &ref);
	assert_true(has(outcome.symtab, "target_local"));
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("printf x >>@crc/noid.debug"), 0);
	outcome = resolve(&plain, &ref);
	assert_false(has(outcome.symtab, "target_local"));
	assert_true(has(outcome.symtab, "target_exported"));
	vmop_resolver_destroy(outcome.resolver);
}

static void mini_debug_info_completes_the_dynamic_symbols(void **state)
{
	(void)state;
#ifndef HAVE_LZMA
	skip();
#endif
	/* As in gdb's manual, but with the symbols of .dynsym: none may occur twice. */
	if (run("objcopy --only-keep-debug @full @mini && objcopy -g @mini && "
		"xz -k -f @mini 2>/dev/null && "
		"objcopy --add-section .gnu_debugdata=@mini.xz @stripped @with-mini") != 0)
		skip();
	struct vmop_image_ref ref = ref_of(in_dir("with-mini"), BUILD_ID);
	struct outcome outcome = resolve(&plain, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	/* Damaged mini debug info is ignored. */
	assert_int_equal(run("head -c 300 @mini.xz >@cut.xz && "
			     "objcopy --add-section .gnu_debugdata=@cut.xz @stripped @with-mini"),
			 0);
	outcome = resolve(&plain, &ref);
	assert_true(has(outcome.symtab, "target_exported"));
	assert_false(has(outcome.symtab, "target_local"));
	vmop_resolver_destroy(outcome.resolver);
}

static void image_paths_are_searched_by_path_and_by_name(void **state)
{
	(void)state;
	assert_int_equal(
		run("mkdir -p @empty @tree/usr/bin @flat && cp @full @tree/usr/bin/prog && "
		    "cp @full @flat/prog && cp @stripped @flat/other"),
		0);
	for (int i = 0; i < 2; i++) {
		const char *const image_paths[] = {in_dir("empty"), in_dir(i ? "flat" : "tree")};
		const struct vmop_resolver_options options = {
			.image_paths = image_paths,
			.n_image_paths = 2,
		};
		struct vmop_image_ref ref = ref_of("/usr/bin/prog", BUILD_ID);
		struct outcome outcome = resolve(&options, &ref);
		assert_complete(outcome.symtab);
		vmop_resolver_destroy(outcome.resolver);
	}
}

/* A guest's /bin/prog is not the host's, unless the build-id matches. */
static void the_same_path_elsewhere_is_no_match(void **state)
{
	(void)state;
	const struct vmop_resolver_options nothing = {0};
	assert_int_equal(run("mkdir -p @copies && cp @full @copies/"), 0);
	struct vmop_image_ref ref = ref_of(in_dir("full"), NULL);
	ref.is_elsewhere = true;
	struct outcome outcome = resolve(&nothing, &ref);
	assert_null(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "of another machine"));
	/* Next the same file, as the host's. */
	ref.is_elsewhere = false;
	const struct vmop_symtab *symtab;
	assert_null(vmop_resolver_symtab(outcome.resolver, &ref, &symtab, &outcome.reason));
	assert_non_null(symtab);
	vmop_resolver_destroy(outcome.resolver);

	ref = ref_of(in_dir("full"), BUILD_ID);
	ref.is_elsewhere = true;
	outcome = resolve(&nothing, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);

	const char *const image_paths[] = {in_dir("copies")};
	const struct vmop_resolver_options copies = {.image_paths = image_paths,
						     .n_image_paths = 1};
	ref = ref_of("/bin/full", NULL);
	ref.is_elsewhere = true;
	outcome = resolve(&copies, &ref);
	assert_true(has(outcome.symtab, "target_local"));
	vmop_resolver_destroy(outcome.resolver);
}

static void a_root_is_never_left(void **state)
{
	(void)state;
	assert_int_equal(run("mkdir -p @root/bin @root/real && cp @full @root/real/prog && "
			     "ln -sf /real/prog @root/bin/absolute && "
			     "ln -sf ../../../../../../../real/prog @root/bin/upwards && "
			     "ln -sf @stripped @root/bin/outside"),
			 0);
	const struct vmop_resolver_options with_root = {.root = in_dir("root")};
	static const char *const paths[] = {"/real/prog", "/bin/absolute", "/bin/upwards"};
	for (size_t i = 0; i < 3; i++) {
		struct vmop_image_ref ref = ref_of(paths[i], BUILD_ID);
		struct outcome outcome = resolve(&with_root, &ref);
		assert_complete(outcome.symtab);
		vmop_resolver_destroy(outcome.resolver);
		/* Next the same file, as a container's. */
		ref.root = in_dir("root");
		outcome = resolve(&plain, &ref);
		assert_complete(outcome.symtab);
		vmop_resolver_destroy(outcome.resolver);
	}
	struct vmop_image_ref ref = ref_of("/bin/outside", BUILD_ID);
	struct outcome outcome = resolve(&with_root, &ref);
	assert_null(outcome.symtab);
	assert_string_equal(outcome.reason, "no such file");
	vmop_resolver_destroy(outcome.resolver);
	/* A container that is gone: use the host's file of that path if it is the same. */
	ref = ref_of(in_dir("full"), BUILD_ID);
	ref.root = "/proc/0/root";
	outcome = resolve(&plain, &ref);
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
}

static void a_root_that_is_absent_is_an_error(void **state)
{
	(void)state;
	const struct vmop_resolver_options options = {.root = "/nonexistent"};
	struct vmop_resolver *resolver;
	struct vmop_error *err = vmop_resolver_create(&options, &resolver);
	assert_non_null(err);
	assert_int_equal(err->os_errno, ENOENT);
	assert_non_null(strstr(err->message, "/nonexistent"));
	vmop_error_destroy(err);
}

static void what_was_found_is_kept(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of(in_dir("full"), BUILD_ID);
	struct outcome outcome = resolve(&plain, &ref);
	const struct vmop_symtab *again;
	const char *reason;
	/* By build-id, whatever the path. */
	ref.path = "/usr/bin/elsewhere";
	assert_null(vmop_resolver_symtab(outcome.resolver, &ref, &again, &reason));
	assert_ptr_equal(again, outcome.symtab);
	/* Offsets and addresses have different tables. */
	ref.path = in_dir("full");
	ref.addresses = true;
	assert_null(vmop_resolver_symtab(outcome.resolver, &ref, &again, &reason));
	assert_non_null(again);
	assert_ptr_not_equal(again, outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
}

static void kernel_text_is_read_for_addresses_alone(void **state)
{
	(void)state;
	assert_int_equal(run("echo 'ffffffff81000000 T startup_64' >@System.map"), 0);
	struct vmop_image_ref ref = ref_of(in_dir("System.map"), NULL);
	struct outcome outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	ref.addresses = true;
	outcome = resolve(&plain, &ref);
	assert_true(has(outcome.symtab, "startup_64"));
	vmop_resolver_destroy(outcome.resolver);
	/* It cannot prove which build it belongs to. */
	ref = ref_of(in_dir("System.map"), BUILD_ID);
	ref.addresses = true;
	outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
}

static void the_vdso_is_our_own(void **state)
{
	(void)state;
	struct vmop_image_ref ref = ref_of("[vdso]", NULL);
	struct outcome outcome = resolve(&plain, &ref);
	if (!outcome.symtab)
		skip(); /* booted with vdso=0 */
	assert_true(has(outcome.symtab, "__vdso_clock_gettime") ||
		    has(outcome.symtab, "__kernel_clock_gettime"));
	vmop_resolver_destroy(outcome.resolver);
	ref = ref_of("[vdso]", BUILD_ID);
	outcome = resolve(&plain, &ref);
	assert_null(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "build-id differs"));
	vmop_resolver_destroy(outcome.resolver);
	/* Files of another machine: do not use this machine's vDSO. */
	const struct vmop_resolver_options with_root = {.root = dir};
	ref = ref_of("[vdso]", NULL);
	outcome = resolve(&with_root, &ref);
	assert_null(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
}

/* Return the symbols of the file `name` in dir with a cache there; NULL: none were found. */
static struct outcome resolve_cached(const char *name)
{
	const struct vmop_resolver_options options = {.cache_path = in_dir("cache/symbols")};
	struct vmop_image_ref ref = ref_of(in_dir(name), BUILD_ID);
	return resolve(&options, &ref);
}

static void the_next_run_finds_the_symbols_in_the_cache(void **state)
{
	(void)state;
	assert_int_equal(run("cp @full @cached"), 0);
	struct outcome outcome = resolve_cached("cached");
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("test -s @cache/symbols/" BUILD_ID " && rm @cached"), 0);
	outcome = resolve_cached("cached"); /* without the file */
	assert_complete(outcome.symtab);
	assert_null(outcome.reason);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("printf x >>@cache/symbols/" BUILD_ID), 0);
	outcome = resolve_cached("cached"); /* with a damaged entry */
	assert_null(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("rm -r @cache"), 0);
}

/* A caller's file in the cache comes back, within its bounds. */
static void files_of_the_caller_are_kept(void **state)
{
	(void)state;
	const char text[] = "sums of a session";
	size_t len_bytes = 0;
	struct outcome outcome = resolve_cached("none");
	assert_true(vmop_resolver_has_cache(outcome.resolver));
	assert_null(vmop_resolver_map(outcome.resolver, "sums", 100, &len_bytes));
	vmop_resolver_keep(outcome.resolver, "sums", "another", 8);
	vmop_resolver_keep(outcome.resolver, "sums", text, sizeof(text));
	vmop_resolver_destroy(outcome.resolver);
	outcome = resolve_cached("none");
	assert_null(vmop_resolver_map(outcome.resolver, "sums", sizeof(text) - 1, &len_bytes));
	const void *bytes = vmop_resolver_map(outcome.resolver, "sums", sizeof(text), &len_bytes);
	assert_non_null(bytes);
	assert_int_equal(len_bytes, sizeof(text));
	assert_memory_equal(bytes, text, sizeof(text));
	assert_int_equal(munmap((void *)bytes, len_bytes), 0);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("chmod 666 @cache/symbols/sums"), 0);
	outcome = resolve_cached("none"); /* another user could have changed it */
	assert_null(vmop_resolver_map(outcome.resolver, "sums", sizeof(text), &len_bytes));
	vmop_resolver_destroy(outcome.resolver);
	const struct vmop_resolver_options options = {0};
	const struct vmop_image_ref ref = ref_of(in_dir("none"), BUILD_ID);
	outcome = resolve(&options, &ref);
	assert_false(vmop_resolver_has_cache(outcome.resolver));
	vmop_resolver_keep(outcome.resolver, "sums", text, sizeof(text));
	assert_null(vmop_resolver_map(outcome.resolver, "sums", 100, &len_bytes));
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("rm -r @cache"), 0);
}

/* A damaged table is made again from the program while symbols are looked up, and kept again. */
static void a_damaged_table_is_made_again(void **state)
{
	(void)state;
#define TAIL "tail -c 3 @cache/symbols/" BUILD_ID
	assert_int_equal(run("cp @full @cached"), 0);
	struct outcome outcome = resolve_cached("cached");
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run(TAIL " >@tail && truncate -s -3 @cache/symbols/" BUILD_ID
				  " && printf xyz >>@cache/symbols/" BUILD_ID),
			 0);
	outcome = resolve_cached("cached");
	assert_non_null(outcome.symtab);
	assert_int_not_equal(run(TAIL " | cmp -s - @tail"), 0); /* not found yet */
	assert_complete(outcome.symtab);
	assert_int_equal(run(TAIL " | cmp -s - @tail"), 0);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("rm -r @cache @cached @tail"), 0);
#undef TAIL
}

/* Any user can give a program any build-id. It must not name the functions of another one. */
static void files_of_other_users_are_not_cached(void **state)
{
	(void)state;
	static const char *const makes_foreign[] = {"chown 65534 @foreign", "chmod 646 @foreign"};
	for (size_t i = geteuid() != 0; i < 2; i++) {
		assert_int_equal(run("rm -f @foreign; cp @full @foreign"), 0);
		assert_int_equal(run("%s", makes_foreign[i]), 0);
		struct outcome outcome = resolve_cached("foreign");
		assert_complete(outcome.symtab);
		vmop_resolver_destroy(outcome.resolver);
		assert_int_not_equal(run("test -e @cache/symbols/" BUILD_ID), 0);
	}
	assert_int_equal(run("rm -r @cache @foreign"), 0);
}

/* Make the cache's only table look unused for days. */
static void age_table(void)
{
	assert_int_equal(run("touch -d '3 days ago' @cache/symbols/*.file"), 0);
}

/* Return whether a table was read since age_table(). */
static bool table_was_used(void)
{
	return run("find @cache/symbols -name '*.file' -mtime -1 | grep -q .") == 0;
}

static struct outcome resolve_without_id(void)
{
	const struct vmop_resolver_options options = {.cache_path = in_dir("cache/symbols")};
	struct vmop_image_ref ref = ref_of(in_dir("no-id"), NULL);
	return resolve(&options, &ref);
}

/* A file without a build-id is known by its identity, once its last change is some seconds ago. */
static void files_without_build_id_are_known_by_their_identity(void **state)
{
	(void)state;
	struct stat st;
	struct vmop_symbol_cache_key key;
	assert_int_equal(run("objcopy -R .note.gnu.build-id @full @no-id"), 0);
	struct outcome outcome = resolve_without_id();
	assert_complete(outcome.symtab);
	vmop_resolver_destroy(outcome.resolver);
	for (;;) {
		assert_int_equal(stat(in_dir("no-id"), &st), 0);
		if (vmop_symbol_cache_key_of_file(&st, false, &key))
			break;
		usleep(100000);
	}
	outcome = resolve_without_id(); /* is kept */
	vmop_resolver_destroy(outcome.resolver);
	age_table();
	outcome = resolve_without_id();
	assert_complete(outcome.symtab);
	assert_non_null(strstr(outcome.reason, "not verified"));
	assert_true(table_was_used());
	vmop_resolver_destroy(outcome.resolver);
	age_table();
	assert_int_equal(run("printf x >>@no-id"), 0);
	outcome = resolve_without_id(); /* changed in its place */
	assert_complete(outcome.symtab);
	assert_false(table_was_used());
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("rm -r @cache @no-id"), 0);
}

/* ---- a large string table -------------------------------------------------------------------- */

/* Functions of the generated programs; their names are some 360 KiB. */
enum { N_LARGE = 6000 };

/* Generated programs: the lengths of their functions are 16 and 32 bytes in turn. */
struct large {
	char letter;   /* with which all names begin */
	bool is_other; /* the first function has 32 bytes, not 16 */
};

static void name_large(const struct large *large, unsigned i, char ret[80])
{
	snprintf(ret, 80, "%c%05u_%055d", large->letter, i, 0);
}

static unsigned len_of_large(const struct large *large, unsigned i)
{
	return (i % 2 == 1) == !large->is_other ? 32 : 16;
}

/* Make the file `name` in dir, with BUILD_ID or without one. */
static void make_large(const char *name, const struct large *large, bool has_build_id)
{
	FILE *source = fopen(in_dir("large.s"), "w");
	assert_non_null(source);
	fputs(".text\n", source);
	for (unsigned i = 0; i < N_LARGE; i++) {
		char symbol[80];
		unsigned len_bytes = len_of_large(large, i);
		name_large(large, i, symbol);
		fprintf(source, ".type %s,%%function\n%s:\n.skip %u\n.size %s,%u\n", symbol, symbol,
			len_bytes, symbol, len_bytes);
	}
	assert_int_equal(fclose(source), 0);
	assert_int_equal(run("as -o @large.o @large.s && ld -shared --build-id=%s -o @large.so "
			     "@large.o && mv @large.so @%s && rm @large.[os]",
			     has_build_id ? "0x" BUILD_ID : "none", name),
			 0);
}

/* Count the functions that have their name, and those that have none. Another name is an error. */
static unsigned count_names(const struct vmop_symtab *symtab, const struct large *large,
			    unsigned from, unsigned to, unsigned *ret_missing)
{
	static uint64_t text; /* offset of the first function, the same in all such files */
	uint64_t at = 0;
	unsigned found = 0;
	*ret_missing = 0;
	if (!text) {
		size_t n;
		text = vmop_symtab_symbols(symtab, &n)[0].offset;
	}
	for (unsigned i = 0; i < to; at += len_of_large(large, i++)) {
		const struct vmop_symbol *symbol =
			i < from ? NULL : vmop_symtab_find(symtab, text + at + 8);
		char wanted[80];
		if (i < from)
			continue;
		name_large(large, i, wanted);
		if (symbol)
			assert_string_equal(symbol->name, wanted);
		*(symbol ? &found : ret_missing) += 1;
	}
	return found;
}

static void assert_all_names(const struct vmop_symtab *symtab, const struct large *large)
{
	unsigned missing;
	assert_non_null(symtab);
	assert_int_equal(count_names(symtab, large, 0, N_LARGE, &missing), N_LARGE);
	assert_int_equal(missing, 0);
}

static struct outcome resolve_large(const char *build_id)
{
	const struct vmop_resolver_options options = {.cache_path = in_dir("cache/symbols")};
	struct vmop_image_ref ref = ref_of(in_dir("large"), build_id);
	return resolve(&options, &ref);
}

/* Return the length of the only table in the cache. */
static long cached_bytes(void)
{
	long len_bytes = -1;
	char line[128];
	snprintf(line, sizeof(line), "cat %s/cache/symbols/????????????????????* | wc -c", dir);
	FILE *pipe = popen(line, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%ld", &len_bytes), 1);
	pclose(pipe);
	return len_bytes;
}

static const struct large program = {'f', false}, renamed = {'g', false}, moved = {'h', true};

static void wait_until_settled(const char *name)
{
	struct stat st;
	struct vmop_symbol_cache_key key;
	for (;;) {
		assert_int_equal(stat(in_dir(name), &st), 0);
		if (vmop_symbol_cache_key_of_file(&st, false, &key))
			return;
		usleep(100000);
	}
}

/* With a build-id all names are copied: the file may be gone at the next report. */
static void names_of_a_large_file_with_build_id(void **state)
{
	(void)state;
	make_large("large", &program, true);
	for (unsigned report = 0; report < 3; report++) {
		struct outcome outcome = resolve_large(BUILD_ID);
		assert_all_names(outcome.symtab, &program);
		assert_null(outcome.reason);
		vmop_resolver_destroy(outcome.resolver);
		assert_true(cached_bytes() > N_LARGE * 60);
		if (report == 0) /* its symbols, of the same build-id, would be other ones */
			assert_int_equal(run("strip -o @large.stripped @large && "
					     "mv @large.stripped @large"),
					 0);
		else
			unlink(in_dir("large"));
	}
	assert_int_equal(run("rm -r @cache"), 0);
}

/* Without one they stay in the program's file, and are found there by the next report. */
static void names_of_a_large_file_without_build_id(void **state)
{
	(void)state;
	make_large("large", &program, false);
	wait_until_settled("large");
	for (unsigned report = 0; report < 3; report++) {
		struct outcome outcome = resolve_large(NULL);
		assert_all_names(outcome.symtab, &program);
		assert_non_null(strstr(outcome.reason, "not verified"));
		vmop_resolver_destroy(outcome.resolver);
		assert_in_range(cached_bytes(), 1, N_LARGE * 60);
	}
	assert_int_equal(run("rm -r @cache @large"), 0);
}

/* A changed file is another one for the next report, also with the size and time of before. */
static void a_large_file_that_changes_between_reports(void **state)
{
	(void)state;
	struct outcome outcome;
	make_large("large", &program, false);
	make_large("renamed", &renamed, false);
	wait_until_settled("renamed");
	outcome = resolve_large(NULL);
	assert_all_names(outcome.symtab, &program);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("touch -r @large @stamp && cat @renamed >@large && "
			     "touch -r @stamp @large"),
			 0);
	for (unsigned report = 0; report < 2; report++) {
		outcome = resolve_large(NULL);
		assert_all_names(outcome.symtab, &renamed);
		vmop_resolver_destroy(outcome.resolver);
		wait_until_settled("large");
	}
	/* Its string table is gone: no name, and a reason. */
	assert_int_equal(truncate(in_dir("large"), 300000), 0);
	outcome = resolve_large(NULL);
	assert_null(outcome.symtab);
	assert_non_null(outcome.reason);
	vmop_resolver_destroy(outcome.resolver);
	assert_int_equal(run("rm -r @cache @large @renamed @stamp"), 0);
}

/* Names that were not read when the file changed are missing. No function gets a wrong one. */
static void a_large_file_that_changes_in_a_report(void **state)
{
	(void)state;
	static const char *const changes[] = {
		"truncate -s 300000 @large",
		"truncate -s 0 @large",
		"rm @large",
		"cp @moved @large.new && mv @large.new @large",
		"cat @moved >@large",
		"cat @renamed >@large",
	};
	make_large("program", &program, false);
	make_large("renamed", &renamed, false);
	make_large("moved", &moved, false);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		unsigned missing;
		assert_int_equal(run("cp @program @large"), 0);
		wait_until_settled("large");
		struct outcome outcome = resolve_large(NULL);
		vmop_resolver_destroy(outcome.resolver);
		outcome = resolve_large(NULL);
		assert_int_equal(count_names(outcome.symtab, &program, 0, 100, &missing), 100);
		assert_int_equal(run("%s", changes[i]), 0);
		assert_int_equal(count_names(outcome.symtab, &program, 0, 100, &missing), 100);
		assert_int_equal(count_names(outcome.symtab, &program, 100, N_LARGE, &missing), 0);
		assert_int_equal(missing, N_LARGE - 100);
		size_t n;
		vmop_symtab_symbols(outcome.symtab, &n);
		vmop_resolver_destroy(outcome.resolver);
		assert_int_equal(run("rm -rf @cache @large"), 0);
	}
	assert_int_equal(run("rm @program @renamed @moved"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_at_the_path_is_used_if_its_build_id_matches),
		cmocka_unit_test(a_file_with_another_build_id_is_never_used),
		cmocka_unit_test(a_file_that_cannot_be_verified_has_a_remark),
		cmocka_unit_test(what_is_no_file_has_its_reason),
		cmocka_unit_test(a_deleted_file_is_replaced_by_an_equal_one),
		cmocka_unit_test(a_stripped_file_has_its_dynamic_symbols),
		cmocka_unit_test(debug_files_are_found_by_build_id),
		cmocka_unit_test(debug_files_are_found_by_link),
		cmocka_unit_test(a_link_without_build_id_needs_the_right_checksum),
		cmocka_unit_test(mini_debug_info_completes_the_dynamic_symbols),
		cmocka_unit_test(image_paths_are_searched_by_path_and_by_name),
		cmocka_unit_test(the_same_path_elsewhere_is_no_match),
		cmocka_unit_test(a_root_is_never_left),
		cmocka_unit_test(a_root_that_is_absent_is_an_error),
		cmocka_unit_test(what_was_found_is_kept),
		cmocka_unit_test(kernel_text_is_read_for_addresses_alone),
		cmocka_unit_test(the_vdso_is_our_own),
		cmocka_unit_test(the_next_run_finds_the_symbols_in_the_cache),
		cmocka_unit_test(files_of_the_caller_are_kept),
		cmocka_unit_test(a_damaged_table_is_made_again),
		cmocka_unit_test(files_of_other_users_are_not_cached),
		cmocka_unit_test(files_without_build_id_are_known_by_their_identity),
		cmocka_unit_test(names_of_a_large_file_with_build_id),
		cmocka_unit_test(names_of_a_large_file_without_build_id),
		cmocka_unit_test(a_large_file_that_changes_between_reports),
		cmocka_unit_test(a_large_file_that_changes_in_a_report),
	};
	if (system("command -v objcopy >/dev/null && command -v strip >/dev/null") != 0) {
		puts("skipped: needs objcopy and strip of binutils");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
