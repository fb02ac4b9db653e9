// SPDX-License-Identifier: GPL-2.0-or-later
/* The packed symbols of the kernel in the run directory, and sessions that are begun with them. */
#include "tests/unit/daemon/common.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host/kernel-cache.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/dirs/run-dir.h"

#define KALLSYMS                                                                                   \
	"0000000000000000 A percpu\nffffffff81000000 T _text\nffffffff81000100 T do_work\n"        \
	"ffffffff81010000 T _etext\n"
#define MODULE "ffffffffc0000000 t a_start\t[moda]\n"
#define BPF "ffffffffc0200000 t bpf_prog_1_x\t[bpf]\n"
#define TRAMPOLINE "ffffffffc0201000 t ftrace_trampoline\t[__builtin__ftrace]\n"
#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

struct place {
	struct rig rig;
	char root[128], run[128], copy[192];
	int dir_fd;
};

static void place_init(struct place *place)
{
	rig_folder(&place->rig);
	machine_file(&place->rig, "/proc/sys/kernel/random/boot_id", BOOT "\n");
	machine_file(&place->rig, "/proc/sys/kernel/kptr_restrict", "1\n");
	machine_file(&place->rig, "/proc/kallsyms", KALLSYMS MODULE BPF TRAMPOLINE);
	snprintf(place->root, sizeof(place->root), "%s/root", place->rig.folder);
	snprintf(place->run, sizeof(place->run), "%s/run", place->rig.folder);
	snprintf(place->copy, sizeof(place->copy), "%s/" VMOP_RUN_KERNEL_SYMBOLS, place->run);
	assert_int_equal(mkdir(place->run, 0755), 0);
	assert_int_equal(setenv("VMOP_RUNDIR", place->run, 1), 0);
	place->dir_fd = open(place->run, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->dir_fd >= 0);
}

static void place_deinit(struct place *place)
{
	close(place->dir_fd);
	rig_end(&place->rig);
}

/* ---- the file ------------------------------------------------------------------ */

static struct vmop_kernel_cache_key key_of(const struct place *place, uint64_t modules_hash)
{
	struct vmop_kernel_cache_key key;
	assert_true(vmop_kernel_cache_key(place->root, modules_hash, &key));
	return key;
}

static const char *const no_names[] = {NULL};
static const struct vmop_symbol kernel_symbols[] = {{0, 0x100, "_text", 'T'},
						    {0x100, 0, "do_work", 'T'}};
static const struct vmop_symbol module_symbols[] = {{0, 0, "a_start", 't'}};

static void save(const struct place *place)
{
	struct vmop_kernel_cache_key key = key_of(place, 1);
	struct vmop_kernel_cache_image images[2] = {
		{.name = "[kernel]", .base = UINT64_MAX - 0xffff, .len_bytes = 0x8000},
		{.name = "[moda]", .base = 0x1000, .len_bytes = 0x2000},
	};
	_cleanup_free_ void *kernel = NULL;
	_cleanup_free_ void *module = NULL;
	ok(vmop_db_pack_symbols(kernel_symbols, 2, no_names, &kernel, &images[0].packed_bytes));
	ok(vmop_db_pack_symbols(module_symbols, 1, no_names, &module, &images[1].packed_bytes));
	images[0].packed = kernel;
	images[1].packed = module;
	ok(vmop_kernel_cache_save(place->dir_fd, &key, images, 2));
}

static bool is_valid(const struct place *place, const struct vmop_kernel_cache_key *key)
{
	_cleanup_(vmop_kernel_cache_deinit) struct vmop_kernel_cache cache;
	return vmop_kernel_cache_load(place->dir_fd, key, &cache);
}

static void images_come_back(void **state)
{
	struct place place;
	struct stat st;
	struct vmop_kernel_cache_image image;
	_cleanup_(vmop_kernel_cache_deinit) struct vmop_kernel_cache cache;
	_cleanup_free_ void *packed = NULL;
	size_t packed_bytes;
	(void)state;
	place_init(&place);
	struct vmop_kernel_cache_key key = key_of(&place, 1);
	assert_false(is_valid(&place, &key));
	save(&place);
	assert_int_equal(stat(place.copy, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(vmop_kernel_cache_load(place.dir_fd, &key, &cache));
	assert_true(vmop_kernel_cache_next(&cache, &image));
	assert_string_equal(image.name, "[kernel]");
	assert_true(image.base == UINT64_MAX - 0xffff && image.len_bytes == 0x8000);
	ok(vmop_db_pack_symbols(kernel_symbols, 2, no_names, &packed, &packed_bytes));
	assert_int_equal(image.packed_bytes, packed_bytes);
	assert_memory_equal(image.packed, packed, packed_bytes);
	assert_true(vmop_kernel_cache_next(&cache, &image));
	assert_string_equal(image.name, "[moda]");
	assert_false(vmop_kernel_cache_next(&cache, &image));
	place_deinit(&place);
}

static void expect_other_key(const struct place *place, uint64_t modules_hash,
			     struct vmop_kernel_cache_key *key)
{
	struct vmop_kernel_cache_key now = key_of(place, modules_hash);
	assert_string_not_equal(now.text, key->text);
	assert_false(is_valid(place, &now));
	*key = now;
}

static void another_key_needs_another_file(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	save(&place);
	struct vmop_kernel_cache_key key = key_of(&place, 1);
	assert_true(is_valid(&place, &key));
	expect_other_key(&place, 2, &key);
	machine_file(&place.rig, "/proc/sys/kernel/random/boot_id", "9" BOOT "\n");
	expect_other_key(&place, 2, &key);
	machine_file(&place.rig, "/sys/kernel/notes", "notes");
	expect_other_key(&place, 2, &key);
	machine_file(&place.rig, "/proc/sys/kernel/kptr_restrict", "0\n");
	expect_other_key(&place, 2, &key);
	machine_file(&place.rig, "/proc/kallsyms", "ffffffff81000000 T _text\n");
	expect_other_key(&place, 2, &key);
	place_deinit(&place);
}

static void change_byte(const struct place *place, off_t at)
{
	unsigned char byte;
	_cleanup_close_ int fd = open(place->copy, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

/* Each byte changed, and each length, makes the file invalid. */
static void a_damaged_file_is_not_used(void **state)
{
	struct place place;
	struct stat st;
	(void)state;
	place_init(&place);
	struct vmop_kernel_cache_key key = key_of(&place, 1);
	save(&place);
	assert_int_equal(stat(place.copy, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		change_byte(&place, i);
		assert_false(is_valid(&place, &key));
		change_byte(&place, i);
		assert_true(is_valid(&place, &key));
	}
	assert_int_equal(truncate(place.copy, st.st_size + 1), 0);
	assert_false(is_valid(&place, &key));
	for (off_t len = st.st_size - 1; len >= 0; len--) {
		assert_int_equal(truncate(place.copy, len), 0);
		assert_false(is_valid(&place, &key));
	}
	place_deinit(&place);
}

/* A file whose hash is right, of packed symbols that libdb does not know. */
static void other_formats_are_not_used(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	struct vmop_kernel_cache_key key = key_of(&place, 1);
	struct vmop_kernel_cache_image image = {
		.name = "[kernel]", .base = 1, .packed = "\x02new", .packed_bytes = 4};
	ok(vmop_kernel_cache_save(place.dir_fd, &key, &image, 1));
	assert_false(is_valid(&place, &key));
	image.packed_bytes = 0;
	ok(vmop_kernel_cache_save(place.dir_fd, &key, &image, 1));
	assert_false(is_valid(&place, &key));
	place_deinit(&place);
}

/* Files that another user could have made or can read. A save replaces each. */
static void other_kinds_of_files_are_replaced(void **state)
{
	struct place place;
	char victim[192], whole[256];
	_cleanup_free_ char *text = NULL;
	(void)state;
	place_init(&place);
	struct vmop_kernel_cache_key key = key_of(&place, 1);
	snprintf(victim, sizeof(victim), "%s/proc/kallsyms", place.root);
	snprintf(whole, sizeof(whole), "%s.saved", place.copy);
	save(&place);
	assert_int_equal(chmod(place.copy, 0640), 0);
	assert_false(is_valid(&place, &key));
	assert_int_equal(chmod(place.copy, 0600), 0);
	assert_int_equal(rename(place.copy, whole), 0);
	assert_int_equal(symlink(whole, place.copy), 0);
	assert_false(is_valid(&place, &key)); /* a link to a valid file */
	assert_int_equal(unlink(place.copy), 0);
	assert_int_equal(symlink(victim, place.copy), 0);
	save(&place);
	assert_true(is_valid(&place, &key));
	ok(vmop_io_read_file(victim, 4096, &text, NULL));
	assert_string_equal(text, KALLSYMS MODULE BPF TRAMPOLINE);
	assert_int_equal(unlink(place.copy), 0);
	assert_int_equal(mkfifo(place.copy, 0600), 0);
	assert_false(is_valid(&place, &key));
	save(&place);
	assert_true(is_valid(&place, &key));
	if (geteuid() == 0) {
		assert_int_equal(chown(place.copy, 65534, (gid_t)-1), 0);
		assert_false(is_valid(&place, &key));
	}
	place_deinit(&place);
}

static void nothing_is_kept_without_addresses_or_boot_id(void **state)
{
	struct place place;
	struct vmop_kernel_cache_key key;
	char path[192];
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/proc/kallsyms",
		     "0000000000000000 T _text\n0000000000000000 T _etext\n");
	assert_false(vmop_kernel_cache_key(place.root, 1, &key));
	machine_file(&place.rig, "/proc/kallsyms", "%s", "");
	assert_false(vmop_kernel_cache_key(place.root, 1, &key));
	machine_file(&place.rig, "/proc/kallsyms", KALLSYMS);
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/random/boot_id", place.root);
	assert_int_equal(unlink(path), 0);
	assert_false(vmop_kernel_cache_key(place.root, 1, &key));
	place_deinit(&place);
}

/* ---- sessions ------------------------------------------------------------------- */

/* Begin a session of the machine root. */
static void begin_session(struct place *place, const char *root, const struct vmop_setup *setup)
{
	struct vmop_profiler_options options = {.proc_root = root, .setup = setup};
	unlink(place->rig.path);
	ok(rig_create(&place->rig, &options, &fake_source));
}

/* Give samples in every n-th symbol of the machine: a session stores the symbols of its samples. */
static void sample_kernel(struct place *place, const char *root, unsigned n)
{
	char path[192], line[512], type;
	uint64_t address;
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	FILE *file = fopen(path, "r");
	ok(vmop_profiler_scan(place->rig.profiler));
	for (unsigned i = 0; file && fgets(line, sizeof(line), file);)
		if (sscanf(line, "%" SCNx64 " %c", &address, &type) == 2 && address &&
		    (type == 't' || type == 'T') && i++ % n == 0)
			give_sample(&place->rig, 100, 100, address, VMOP_SAMPLE_KERNEL);
	if (n == 1)
		give_sample(&place->rig, 100, 100, 0xffffffff81000210, VMOP_SAMPLE_KERNEL);
	fclose(file);
	rig_flush(&place->rig);
}

static void end_session(struct place *place)
{
	vmop_profiler_destroy(place->rig.profiler);
	place->rig.profiler = NULL;
	ok(vmop_db_finish(place->rig.db));
	place->rig.db = NULL;
}

struct listing {
	FILE *out;
	struct vmop_db *db;
	size_t n_symbols;
};

static struct vmop_error *list_image(void *arg, const struct vmop_db_image *image)
{
	struct listing *listing = arg;
	_cleanup_free_ struct vmop_symbol *symbols = NULL;
	size_t n;
	if (image->kind != VMOP_IMAGE_KERNEL && image->kind != VMOP_IMAGE_MODULE)
		return NULL;
	fprintf(listing->out, "%s %" PRIx64 " %" PRIx64 " ", image->name, image->base,
		image->len_bytes);
	for (size_t i = 0; i < image->build_id_len_bytes; i++)
		fprintf(listing->out, "%02x", image->build_id[i]);
	ok(vmop_db_get_symbols(listing->db, image->id, &symbols, &n));
	for (size_t i = 0; i < n; i++)
		fprintf(listing->out, "\n%" PRIx64 " %" PRIx64 " %c %s", symbols[i].offset,
			symbols[i].len_bytes, symbols[i].type, symbols[i].name);
	fputc('\n', listing->out);
	listing->n_symbols += n;
	return NULL;
}

/* Make a session, and return the images of its kernel and modules as text with all symbols. */
static char *list_session(struct place *place, const char *root, const struct vmop_setup *setup,
			  size_t *ret_n)
{
	char *text = NULL;
	size_t len_bytes;
	struct listing listing = {.out = open_memstream(&text, &len_bytes)};
	begin_session(place, root, setup);
	sample_kernel(place, root ? root : place->root, root ? 97 : 1);
	end_session(place);
	ok(vmop_db_open(place->rig.path, &listing.db));
	ok(vmop_db_check(listing.db));
	ok(vmop_db_each_image(listing.db, list_image, &listing));
	vmop_db_close(listing.db);
	fclose(listing.out);
	*ret_n = listing.n_symbols;
	return text;
}

static ino_t inode_of(const char *path)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* The symbols are the same without a run directory, before the file exists, and from the file. */
static size_t expect_equal_sessions(struct place *place, const char *root,
				    const struct vmop_setup *setup)
{
	size_t n;
	assert_int_equal(setenv("VMOP_RUNDIR", "/nonexistent/vmop", 1), 0);
	_cleanup_free_ char *without = list_session(place, root, setup, &n);
	assert_int_equal(setenv("VMOP_RUNDIR", place->run, 1), 0);
	assert_int_equal(access(place->copy, F_OK), -1);
	_cleanup_free_ char *first = list_session(place, root, setup, &n);
	if (access(place->copy, F_OK) < 0)
		return 0; /* this process sees no addresses */
	ino_t file = inode_of(place->copy);
	_cleanup_free_ char *second = list_session(place, root, setup, &n);
	assert_string_equal(first, without);
	assert_string_equal(second, without);
	assert_int_equal(inode_of(place->copy), file);
	return n;
}

static void sessions_have_the_same_symbols(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/proc/modules", "moda 16384 3 - Live 0xffffffffc0000000\n");
	assert_int_equal(expect_equal_sessions(&place, NULL, NULL), 3);
	place_deinit(&place);
}

/* The same with the kernel and the modules of this machine. */
static void sessions_of_this_machine_have_the_same_symbols(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	size_t n = expect_equal_sessions(&place, "", NULL);
	print_message("# %zu sampled symbols of the running kernel\n", n);
	/* A 97th of its functions are sampled; small kernels have some 40,000. */
	assert_true(!n || n > 300);
	place_deinit(&place);
}

static void a_vmlinux_comes_before_the_file(void **state)
{
	struct place place;
	char map[192];
	struct vmop_setup setup = {.vmlinux = map};
	size_t n;
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/System.map",
		     "ffffffff80000000 T _text\nffffffff80000100 T do_work\n"
		     "ffffffff80000200 T more_work\nffffffff80010000 T _etext\n");
	snprintf(map, sizeof(map), "%s/System.map", place.root);
	expect_equal_sessions(&place, NULL, &setup);
	_cleanup_free_ char *text = list_session(&place, NULL, &setup, &n);
	assert_non_null(strstr(text, "\n200 0 T more_work\n"));
	machine_file(&place.rig, "/System.map",
		     "ffffffff80000000 T _text\nffffffff80020000 T _etext\n");
	unlink(place.rig.path);
	struct vmop_error *err = rig_create(
		&place.rig, &(struct vmop_profiler_options){.setup = &setup}, &fake_source);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "not of the kernel that runs"));
	vmop_error_destroy(err);
	place_deinit(&place);
}

static void a_damaged_file_is_rebuilt(void **state)
{
	struct place place;
	size_t n;
	(void)state;
	place_init(&place);
	_cleanup_free_ char *first = list_session(&place, NULL, NULL, &n);
	struct vmop_kernel_cache_key key = key_of(&place, 0);
	assert_true(is_valid(&place, &key));
	change_byte(&place, 200);
	_cleanup_free_ char *second = list_session(&place, NULL, NULL, &n);
	assert_string_equal(second, first);
	assert_true(is_valid(&place, &key));
	place_deinit(&place);
}

/* The kernel and modules come from the file, and generated code from /proc/kallsyms. */
static void a_session_names_all_code(void **state)
{
	struct place place;
	(void)state;
	place_init(&place);
	machine_file(&place.rig, "/proc/modules", "moda 16384 3 - Live 0xffffffffc0000000\n");
	for (int i = 0; i < 2; i++) {
		begin_session(&place, NULL, NULL);
		ok(vmop_profiler_scan(place.rig.profiler));
		give_sample(&place.rig, 100, 100, 0xffffffff81000110, VMOP_SAMPLE_KERNEL);
		give_sample(&place.rig, 100, 100, 0xffffffffc0000010, VMOP_SAMPLE_KERNEL);
		give_sample(&place.rig, 100, 100, 0xffffffffc0200010, VMOP_SAMPLE_KERNEL);
		give_sample(&place.rig, 100, 100, 0xffffffffc0201010, VMOP_SAMPLE_KERNEL);
		const struct session *session = rig_flush(&place.rig);
		assert_int_equal(samples_of(session, "[kernel]", NULL), 1);
		assert_int_equal(samples_of(session, "[moda]", NULL), 1);
		assert_int_equal(samples_of(session, "[bpf bpf_prog_1_x]", NULL), 1);
		assert_int_equal(samples_of(session, "[ftrace_trampoline]", NULL), 1);
		end_session(&place);
	}
	place_deinit(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_come_back),
		cmocka_unit_test(another_key_needs_another_file),
		cmocka_unit_test(a_damaged_file_is_not_used),
		cmocka_unit_test(other_formats_are_not_used),
		cmocka_unit_test(other_kinds_of_files_are_replaced),
		cmocka_unit_test(nothing_is_kept_without_addresses_or_boot_id),
		cmocka_unit_test(sessions_have_the_same_symbols),
		cmocka_unit_test(sessions_of_this_machine_have_the_same_symbols),
		cmocka_unit_test(a_vmlinux_comes_before_the_file),
		cmocka_unit_test(a_damaged_file_is_rebuilt),
		cmocka_unit_test(a_session_names_all_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
