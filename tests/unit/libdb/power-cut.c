// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A power cut at any write. The calls by which SQLite changes the files of a real writer are
 * recorded and replayed up to each of them, in two ways: as after a kill, with every write up to
 * the last one, which is cut; and as after a power cut, where any part that was not synced may be
 * missing. Every such file must open and be whole.
 *
 *	VMOP_POWER_CUTS=all	cut at every call, not at every few
 */
#include "tests/unit/libdb/common.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

enum { CALLS_MAX = 80000, FILES = 3, INTERVALS = 1000, SECTOR_BYTES = 512 };

static const char *const names[FILES] = {"cut.vmop", "cut.vmop-wal", "cut.vmop-journal"};

/* ---- recording: these take the place of libc's for SQLite, too ----------------------- */

enum call_kind { WRITE, TRUNCATE, SYNC, UNLINK };

struct call {
	enum call_kind kind;
	int file;	 /* index of names; FILES: their directory */
	uint64_t offset; /* the new length of TRUNCATE */
	size_t len;
	uint8_t *data;
	unsigned committed; /* intervals whose commit had returned before the call */
};

static struct call calls[CALLS_MAX];
static size_t n_calls;
static bool is_recording;
static _Atomic unsigned committed;

static int file_of_name(const char *path)
{
	const char *name = strrchr(path, '/');
	for (int i = 0; name && i < FILES; i++)
		if (!strcmp(name + 1, names[i]))
			return i;
	return -1;
}

static int file_of_fd(int fd)
{
	char link[64], path[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -1;
	path[len] = '\0';
	return strcmp(path, test_dir) ? file_of_name(path) : FILES;
}

static void record(enum call_kind kind, int file, uint64_t offset, const void *data, size_t len)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the thread of checkpoints */
	if (!is_recording || file < 0)
		return;
	pthread_mutex_lock(&lock);
	if (n_calls == CALLS_MAX)
		abort();
	struct call *call = &calls[n_calls++];
	*call = (struct call){
		.kind = kind, .file = file, .offset = offset, .len = len, .committed = committed};
	if (data) {
		call->data = malloc(len);
		if (!call->data)
			abort();
		memcpy(call->data, data, len);
	}
	pthread_mutex_unlock(&lock);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
	record(WRITE, file_of_fd(fd), (uint64_t)offset, data, len);
	return REAL(pwrite64)(fd, data, len, offset);
}

int ftruncate64(int fd, off64_t len)
{
	record(TRUNCATE, file_of_fd(fd), (uint64_t)len, NULL, 0);
	return REAL(ftruncate64)(fd, len);
}

int fdatasync(int fd)
{
	record(SYNC, file_of_fd(fd), 0, NULL, 0);
	return 0; /* no real disk is needed, and it would take its time */
}

int unlink(const char *path)
{
	record(UNLINK, file_of_name(path), 0, NULL, 0);
	return REAL(unlink)(path);
}

/* ---- the writer ------------------------------------------------------------------------ */

/* Write a session with roll-ups, freed pages, checkpoints, and a finish. */
static void write_session(bool is_beside)
{
	struct vmop_db *db;
	bool more;
	is_recording = true;
	assert_ok(vmop_db_create(test_path(names[0]), &db));
	size_t n_creation = n_calls;
	put_facts(db);
	if (is_beside)
		vmop_db_checkpoint_beside(db);
	for (unsigned i = 0; i < INTERVALS; i++) {
		/* As vmopd, but some intervals are stored during a checkpoint, as by --dump. */
		while (i % 4 && vmop_db_is_checkpointing(db))
			sched_yield();
		assert_ok(put_second(db, i));
		committed = i + 1;
		if (i % 60 != 59)
			continue;
		assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + i * VMOP_NS_PER_S,
					  30 * VMOP_NS_PER_S, 1, &more));
		assert_ok(vmop_db_give_back(db, 0, 64, &more));
	}
	assert_ok(vmop_db_finish(db));
	is_recording = false;
	print_message("%zu calls, %zu of them to create the file\n", n_calls, n_creation);
}

/* ---- replaying ------------------------------------------------------------------------- */

/* The content of a file. data has room for room bytes; !exists: the file is missing. */
struct content {
	uint8_t *data;
	size_t len, room;
	bool exists;
};

static void resize(struct content *content, size_t len)
{
	if (len > content->room) {
		content->room = len * 2;
		content->data = realloc(content->data, content->room);
		assert_non_null(content->data);
	}
	if (len > content->len)
		memset(content->data + content->len, 0, len - content->len);
	content->len = len;
	content->exists = true;
}

static uint32_t seed = 1;
static bool chance(unsigned of)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % of == 0;
}

/* Apply a call, or a part of it: the first len bytes, without some sectors if has_holes. */
static void apply(struct content files[FILES], const struct call *call, size_t len, bool has_holes)
{
	struct content *content = &files[call->file];
	if (call->kind == UNLINK) {
		content->len = 0;
		content->exists = false;
	} else if (call->kind == TRUNCATE) {
		resize(content, call->offset);
	} else if (call->kind == WRITE) {
		if (call->offset + len > content->len)
			resize(content, call->offset + len);
		for (size_t at = 0; at < len;) {
			size_t n = SECTOR_BYTES - (call->offset + at) % SECTOR_BYTES;
			n = n < len - at ? n : len - at;
			if (!has_holes || !chance(8))
				memcpy(content->data + call->offset + at, call->data + at, n);
			at += n;
		}
	}
}

/* Apply the calls up to k as after a power cut. Return the commits that must be there. */
static unsigned apply_synced(struct content files[FILES], size_t k, bool ignores_syncs)
{
	size_t synced[FILES + 1] = {0};
	unsigned least = 0;
	for (size_t i = 0; i < k; i++) {
		if (calls[i].kind != SYNC || ignores_syncs)
			continue;
		synced[calls[i].file] = i + 1;
		if (calls[i].file ==
		    1) /* the WAL has all commits; a checkpoint begins with its sync */
			least = calls[i].committed;
	}
	for (size_t i = 0; i < k; i++) {
		bool is_safe =
			calls[i].kind == UNLINK ? i < synced[FILES] : i < synced[calls[i].file];
		if (calls[i].kind == SYNC)
			continue;
		if (is_safe)
			apply(files, &calls[i], calls[i].len, false);
		else if (!chance(3))
			apply(files, &calls[i], calls[i].len, chance(2));
	}
	return least;
}

static void write_file(const char *path, const struct content *content)
{
	remove(path);
	if (!content->exists)
		return;
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	assert_int_equal(fwrite(content->data, 1, content->len, out), content->len);
	assert_int_equal(fclose(out), 0);
}

static void write_files(const struct content files[FILES])
{
	for (int i = 0; i < FILES; i++) {
		char name[64];
		snprintf(name, sizeof(name), "after/%s", names[i]);
		write_file(test_path(name), &files[i]);
	}
}

/* Return an error unless the file is whole and has `least` to `most` intervals. */
static struct vmop_error *find_damage(unsigned least, unsigned most)
{
	struct vmop_db *db = NULL;
	struct totals totals = {0};
	struct vmop_error *err = vmop_db_open(test_path("after/cut.vmop"), &db);
	if (!err)
		err = vmop_db_check(db);
	if (!err)
		err = vmop_db_each_total(db, NULL, add_to_totals, &totals);
	vmop_db_close(db);
	if (!err &&
	    (totals.samples % 10 || totals.samples / 10 < least || totals.samples / 10 > most))
		err = vmop_error_new(VMOP_ERROR_CORRUPT,
				     "%ju samples, not those of %u to %u intervals",
				     (uintmax_t)totals.samples, least, most);
	return err;
}

static void check(size_t k, const char *how, unsigned least, unsigned most)
{
	struct vmop_error *err = find_damage(least, most);
	if (err)
		fail_msg("call %zu, %s: %s", k, how, err->message);
}

/* Return whether the file was complete, with its schema, before call k. */
static bool is_created(size_t k)
{
	return k > 0 && calls[k - 1].committed > 0;
}

/* Complete the file as the next start of the daemon does. */
static void recover(size_t k, unsigned least, unsigned most)
{
	assert_ok(vmop_db_recover(test_path("after/cut.vmop")));
	assert_int_not_equal(access(test_path("after/cut.vmop-wal"), F_OK), 0);
	check(k, "recovered", least, most);
}

static void cut_at(size_t k, struct content files[FILES])
{
	unsigned done = k < n_calls ? calls[k].committed : committed;
	/* Killed: all calls before k, and half of call k. */
	if (k < n_calls && calls[k].kind == WRITE)
		apply(files, &calls[k], calls[k].len / 2, false);
	write_files(files);
	if (is_created(k)) {
		check(k, "killed", done, done + 1);
		recover(k, done, done + 1);
	}
	/* Power cut, twice with different luck. */
	for (unsigned i = 0; i < 2 && is_created(k); i++) {
		struct content after[FILES] = {0};
		unsigned least = apply_synced(after, k, false);
		write_files(after);
		check(k, "power cut", least, done + 1);
		recover(k, least, done + 1);
		for (int j = 0; j < FILES; j++)
			free(after[j].data);
	}
}

static void cut_at_any_write(bool is_beside)
{
	const char *all = getenv("VMOP_POWER_CUTS");
	struct content files[FILES] = {0};
	write_session(is_beside);
	assert_int_equal(mkdir(test_path("after"), 0755), 0);
	size_t n_cuts = 0;
	for (size_t k = 0; k <= n_calls; k++) {
		/* Syncs are in creation, checkpoints and the finish, where most can go wrong. */
		bool is_near_sync = k + 8 > n_calls;
		for (size_t i = k < 4 ? 0 : k - 4; i < k + 4 && i < n_calls; i++)
			is_near_sync |= calls[i].kind == SYNC;
		if (all || is_near_sync || k % 97 == 0) {
			cut_at(k, files);
			n_cuts++;
		}
		if (k < n_calls)
			apply(files, &calls[k], calls[k].len, false);
	}
	print_message("cut %zu times\n", n_cuts);
	assert_true(n_cuts > 50);
	for (int i = 0; i < FILES; i++)
		free(files[i].data);
}

static void a_cut_at_any_write(void **state)
{
	(void)state;
	cut_at_any_write(false);
}

static void forget_calls(void)
{
	for (size_t i = 0; i < n_calls; i++)
		free(calls[i].data);
	n_calls = 0;
	committed = 0;
}

/* As vmopd writes: a thread moves the WAL into the file at the same time. */
static void a_cut_during_checkpoints_beside(void **state)
{
	(void)state;
	forget_calls();
	cut_at_any_write(true);
}

/* The check is able to fail: syncs that a disk ignores are missed. Uses the calls of the test
 * before. */
static void a_disk_that_ignores_syncs(void **state)
{
	(void)state;
	size_t n_damaged = 0;
	assert_int_equal(mkdir(test_path("after"), 0755), 0);
	for (size_t k = n_calls / 2; k < n_calls; k += n_calls / 40) {
		struct content after[FILES] = {0};
		apply_synced(after, k, true);
		write_files(after);
		struct vmop_error *err = find_damage(calls[k].committed, calls[k].committed + 1);
		n_damaged += err != NULL;
		vmop_error_destroy(err);
		for (int i = 0; i < FILES; i++)
			free(after[i].data);
	}
	print_message("%zu damaged\n", n_damaged);
	assert_true(n_damaged > 10);
	forget_calls();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_cut_at_any_write, test_dir_make, test_dir_remove),
		cmocka_unit_test_setup_teardown(a_cut_during_checkpoints_beside, test_dir_make,
						test_dir_remove),
		cmocka_unit_test_setup_teardown(a_disk_that_ignores_syncs, test_dir_make,
						test_dir_remove),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
