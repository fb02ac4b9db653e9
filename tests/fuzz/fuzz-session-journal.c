// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a session file, its -wal, -journal and -shm, which this user or another one owns.
 * They are opened, read, recovered and saved in a directory in memory. No file outside that
 * directory may change. No file in it may change if another user can change them.
 *
 * Input: struct header, then the file, the -wal, the -journal; tests/fuzz/pack-session makes one.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libdb/db.h"
#include "libdb/session-files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum {
	FOREIGN_DIR = 1 << 0,	 /* another user owns the directory */
	FOREIGN_FILE = 1 << 1,	 /* ... the session file */
	FOREIGN_BESIDE = 1 << 2, /* ... the -wal and the -journal */
	OPEN_MODE = 1 << 3,	 /* others may write the session file */
	NAME_VICTIM =
		1 << 4, /* the journal ends with the name of a super-journal, in SQLite's format */
	WITH_SHM = 1 << 5, /* a -shm: the first 32 KiB of the -wal */
	SAVE = 1 << 6,	   /* do the same as a daemon's next start or --save */
	SUM_WAL = 1 << 7,  /* correct the -wal's checksums, so that SQLite reads on */
	FOREIGN_FOR_SURE = FOREIGN_DIR | FOREIGN_FILE | OPEN_MODE,
};

struct header {
	uint8_t flags;
	uint8_t unused[3];
	uint32_t file_bytes, wal_bytes; /* the rest is the journal */
};

#define OTHER_USER 65534
#define MAX_SHM_BYTES 32768

static char top[] = "/dev/shm/vmop-fuzz-journal-XXXXXX";
static char victim[sizeof(top) + 16], dirs[2][sizeof(top) + 16];
static int victim_fd, dir_fds[2];
static struct stat victim_st;
static uint64_t seen;

static const char *const names[] = {
	"current.vmop", "current.vmop-wal", "current.vmop-journal", "current.vmop-shm",
	"saved.vmop",	"saved.vmop-wal",   "saved.vmop-journal",   "saved.vmop-shm"};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "fuzz-session-journal: %s\n", what);
	abort();
}

static void remove_all(void)
{
	for (size_t d = 0; d < 2; d++) {
		for (size_t i = 0; i < N_NAMES; i++)
			unlinkat(dir_fds[d], names[i], 0);
		rmdir(dirs[d]);
	}
	unlink(victim);
	rmdir(top);
}

static void set_up(void)
{
	check(mkdtemp(top), top);
	snprintf(victim, sizeof(victim), "%s/victim", top);
	victim_fd = open(victim, O_RDWR | O_CREAT | O_EXCL, 0600);
	check(write(victim_fd, "unharmed", 8) == 8 && fstat(victim_fd, &victim_st) == 0, victim);
	for (size_t d = 0; d < 2; d++) {
		snprintf(dirs[d], sizeof(dirs[d]), "%s/%s", top, d ? "foreign" : "own");
		check(mkdir(dirs[d], 0755) == 0, dirs[d]);
		dir_fds[d] = open(dirs[d], O_RDONLY | O_DIRECTORY);
	}
	if (geteuid() != 0 || chown(dirs[1], OTHER_USER, OTHER_USER) < 0)
		check(chmod(dirs[1], 0777) == 0, dirs[1]);
	atexit(remove_all);
}

static void put(int dir, const char *name, const uint8_t *data, size_t len_bytes, bool is_foreign)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	check(fd >= 0 && write(fd, data, len_bytes) == (ssize_t)len_bytes, name);
	if (is_foreign && (geteuid() != 0 || fchown(fd, OTHER_USER, OTHER_USER) < 0))
		fchmod(fd, 0666);
	close(fd);
}

static void put_number(uint8_t *at, uint32_t number)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* sqlite.org/src, pager.c writeSuperJournal: page number, name, length, sum, magic. */
static void append_victim(int dir)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
	uint8_t tail[4 + sizeof(victim) + 16];
	uint32_t len = (uint32_t)strlen(victim), sum = 0;
	memset(tail, 0, 4);
	memcpy(tail + 4, victim, len);
	for (uint32_t i = 0; i < len; i++)
		sum += (uint8_t)victim[i];
	put_number(tail + 4 + len, len);
	put_number(tail + 8 + len, sum);
	memcpy(tail + 12 + len, magic, sizeof(magic));
	int fd = openat(dir, "current.vmop-journal", O_WRONLY | O_APPEND);
	check(fd >= 0 && write(fd, tail, 20 + len) == 20 + (ssize_t)len, "journal");
	close(fd);
}

static uint32_t number_at(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* sqlite.org/fileformat2.html#walformat, with big-endian checksums. */
static void add_to_sum(uint32_t sum[2], const uint8_t *data, size_t len_bytes)
{
	for (size_t i = 0; i + 8 <= len_bytes; i += 8) {
		sum[0] += number_at(data + i) + sum[1];
		sum[1] += number_at(data + i + 4) + sum[0];
	}
}

static void put_sum(uint8_t *at, const uint32_t sum[2])
{
	put_number(at, sum[0]);
	put_number(at + 4, sum[1]);
}

static void sum_wal(uint8_t *wal, size_t len_bytes)
{
	uint32_t sum[2] = {0, 0};
	if (len_bytes < 32)
		return;
	put_number(wal, 0x377f0683);
	put_number(wal + 4, 3007000);
	add_to_sum(sum, wal, 24);
	put_sum(wal + 24, sum);
	size_t page = number_at(wal + 8) & 0x1fe00;
	for (size_t at = 32; page && at + 24 + page <= len_bytes; at += 24 + page) {
		memcpy(wal + at + 8, wal + 16, 8); /* the salts */
		add_to_sum(sum, wal + at, 8);
		add_to_sum(sum, wal + at + 24, page);
		put_sum(wal + at + 16, sum);
	}
}

static void put_wal(int dir, const struct header *header, const uint8_t *data, size_t len_bytes)
{
	uint8_t *wal = malloc(len_bytes);
	check(wal, "memory");
	memcpy(wal, data, len_bytes);
	if (header->flags & SUM_WAL)
		sum_wal(wal, len_bytes);
	put(dir, names[1], wal, len_bytes, header->flags & FOREIGN_BESIDE);
	free(wal);
}

/* Write the files. Return whether another user can change any of them. */
static bool write_files(int dir, const struct header *header, const uint8_t *data, size_t len_bytes)
{
	size_t file = header->file_bytes < len_bytes ? header->file_bytes : len_bytes;
	size_t left = len_bytes - file;
	size_t wal = header->wal_bytes < left ? header->wal_bytes : left;
	bool is_beside_foreign = header->flags & FOREIGN_BESIDE;
	put(dir, names[0], data, file, header->flags & FOREIGN_FILE);
	if (header->flags & OPEN_MODE)
		fchmodat(dir, names[0], 0666, 0);
	if (wal)
		put_wal(dir, header, data + file, wal);
	bool has_journal = left > wal || (header->flags & NAME_VICTIM);
	if (has_journal)
		put(dir, names[2], data + file + wal, left - wal, is_beside_foreign);
	if (header->flags & NAME_VICTIM)
		append_victim(dir);
	if (wal && (header->flags & WITH_SHM))
		put(dir, names[3], data + file, wal < MAX_SHM_BYTES ? wal : MAX_SHM_BYTES,
		    is_beside_foreign);
	return (header->flags & FOREIGN_FOR_SURE) || (is_beside_foreign && (wal || has_journal));
}

static struct vmop_error *see_event(void *arg, const struct vmop_db_event *event)
{
	(void)arg;
	seen += strlen(event->name);
	return NULL;
}

static struct vmop_error *see_total(void *arg, const struct vmop_db_total *total)
{
	(void)arg;
	seen += total->samples;
	return NULL;
}

static void read_session(const char *path)
{
	struct vmop_db *db;
	char *value = NULL;
	struct vmop_error *err = vmop_db_open(path, &db);
	if (!err) {
		vmop_error_destroy(vmop_db_begin_snapshot(db));
		vmop_error_destroy(vmop_db_get_info(db, "hostname", &value));
		vmop_error_destroy(vmop_db_each_event(db, see_event, NULL));
		vmop_error_destroy(
			vmop_db_each_total(db, &(struct vmop_db_filter){0}, see_total, NULL));
		if (vmop_db_left_out(db))
			seen += strlen(vmop_db_left_out(db));
		vmop_db_close(db);
	}
	free(value);
	vmop_error_destroy(err);
}

/* Compares the directory and its files before and after. */
struct state {
	struct stat st[1 + N_NAMES];
};

static void take_state(int dir, struct state *ret)
{
	memset(ret, 0, sizeof(*ret));
	fstat(dir, &ret->st[0]);
	for (size_t i = 0; i < N_NAMES; i++)
		fstatat(dir, names[i], &ret->st[1 + i], AT_SYMLINK_NOFOLLOW);
	for (size_t i = 0; i <= N_NAMES; i++)
		ret->st[i].st_atim = (struct timespec){0};
}

static void check_victim(void)
{
	struct stat st;
	check(fstat(victim_fd, &st) == 0 && st.st_nlink == 1 && st.st_size == victim_st.st_size &&
		      st.st_mode == victim_st.st_mode &&
		      !memcmp(&st.st_mtim, &victim_st.st_mtim, sizeof(st.st_mtim)) &&
		      !memcmp(&st.st_ctim, &victim_st.st_ctim, sizeof(st.st_ctim)),
	      "a file outside changed");
}

static void clean(int dir)
{
	for (size_t i = 0; i < N_NAMES; i++)
		unlinkat(dir, names[i], 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct header header;
	struct state before, after;
	char path[sizeof(dirs[0]) + 16];
	if (!victim_fd)
		set_up();
	if (len_bytes < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	bool is_foreign_dir = header.flags & FOREIGN_DIR;
	const char *dir = dirs[is_foreign_dir];
	int dir_fd = dir_fds[is_foreign_dir];
	bool is_foreign =
		write_files(dir_fd, &header, data + sizeof(header), len_bytes - sizeof(header));
	take_state(dir_fd, &before);
	snprintf(path, sizeof(path), "%s/current.vmop", dir);
	read_session(path);
	if (is_foreign) {
		take_state(dir_fd, &after);
		check(!memcmp(&before, &after, sizeof(before)), "reading changed a directory");
	}
	if (header.flags & SAVE) {
		struct vmop_error *err = vmop_session_save(dir, "saved");
		check(err || !is_foreign_dir, "another user's directory was used");
		vmop_error_destroy(err);
		snprintf(path, sizeof(path), "%s/saved.vmop", dir);
		read_session(path);
	}
	check_victim();
	clean(dir_fd);
	return 0;
}
