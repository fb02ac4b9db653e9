// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/kallsyms-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/host/procfs.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/run-dir.h"

/* A kernel with all of Debian's modules loaded has a tenth. */
#define TEXT_MAX_BYTES (128u << 20)
#define HEAD_BYTES 192

struct key {
	char text[HEAD_BYTES - 24];
};

static uint64_t hash_bytes(const char *bytes, size_t len_bytes)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	for (size_t i = 0; i < len_bytes; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* Whether a line of kallsyms text begins with an address other than 0. */
static bool has_address(const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (line[strspn(line, "0")] != ' ' && line[strspn(line, "0")])
			return true;
	}
	return false;
}

/*
 * Make the key: the boot, the kernel's notes (among them its build-id), kptr_restrict, the first
 * block of kallsyms as this process sees it, and the modules. Return false if nothing can be
 * cached.
 */
static bool make_key(struct key *key, const char *root, uint64_t modules_hash)
{
	char boot[64], notes[4096], restricted[16], symbols[4096];
	ssize_t n = vmop_procfs_read(root, boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	if (n <= 0)
		return false;
	boot[strspn(boot, "0123456789abcdef-")] = '\0';
	ssize_t notes_bytes = vmop_procfs_read(root, notes, sizeof(notes), "/sys/kernel/notes");
	if (vmop_procfs_read(root, restricted, sizeof(restricted),
			     "/proc/sys/kernel/kptr_restrict") < 0)
		*restricted = '\0';
	restricted[strspn(restricted, "0123456789")] = '\0';
	ssize_t symbols_bytes = vmop_procfs_read(root, symbols, sizeof(symbols), "/proc/kallsyms");
	if (symbols_bytes <= 0 || !has_address(symbols))
		return false;
	snprintf(key->text, sizeof(key->text),
		 "vmop-kallsyms-1 %s %016" PRIx64 " %s %016" PRIx64 " %016" PRIx64, boot,
		 hash_bytes(notes, notes_bytes > 0 ? (size_t)notes_bytes : 0), restricted,
		 hash_bytes(symbols, (size_t)symbols_bytes), modules_hash);
	return true;
}

/* Write the first line of a copy of text_bytes. Return its length, which only the key decides. */
static size_t make_head(char head[static HEAD_BYTES], const struct key *key, uint64_t text_bytes)
{
	return (size_t)snprintf(head, HEAD_BYTES, " %s %016" PRIx64 "\n", key->text, text_bytes);
}

static bool is_valid(int fd, const struct key *key)
{
	char expected[HEAD_BYTES], head[HEAD_BYTES];
	struct stat st;
	size_t head_bytes = make_head(expected, key, 0);
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    st.st_size <= (off_t)head_bytes || st.st_size > TEXT_MAX_BYTES)
		return false;
	make_head(expected, key, (uint64_t)st.st_size - head_bytes);
	return vmop_io_pread_full(fd, head, head_bytes, 0) == (ssize_t)head_bytes &&
	       !memcmp(head, expected, head_bytes);
}

static int open_valid(int dir_fd, const struct key *key)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_run_open(dir_fd, VMOP_RUN_KALLSYMS, O_RDONLY, 0, &fd);
	if (err) {
		vmop_error_destroy(err); /* usually no copy exists yet */
		return -1;
	}
	return is_valid(fd, key) ? vmop_steal_fd(&fd) : -1;
}

/* Whether the copy has a line [line, end): "ADDRESS TYPE NAME[\t[MODULE]]". */
static bool is_kept(const char *line, const char *end)
{
	size_t len = (size_t)(end - line);
	const char *type = memchr(line, ' ', len);
	const char *module = memchr(line, '\t', len);
	if (!type || end - type < 2 || !type[1] || !strchr("tTwW", type[1]))
		return false;
	return !module || (strncmp(module, "\t[bpf]", strlen("\t[bpf]")) != 0 &&
			   strncmp(module, "\t[__builtin__", strlen("\t[__builtin__")) != 0);
}

/* Drop the other lines from text. Return the length that is left. */
static size_t filter(char *text, size_t len_bytes)
{
	char *to = text;
	for (char *line = text, *end; line < text + len_bytes; line = end) {
		end = memchr(line, '\n', (size_t)(text + len_bytes - line));
		end = end ? end + 1 : text + len_bytes;
		if (!is_kept(line, end))
			continue;
		memmove(to, line, (size_t)(end - line));
		to += end - line;
	}
	return (size_t)(to - text);
}

static struct vmop_error *write_copy(int dir_fd, const struct key *key, const char *text,
				     size_t text_bytes)
{
	char head[HEAD_BYTES];
	size_t head_bytes = make_head(head, key, text_bytes);
	_cleanup_close_ int fd = -1;
	unlinkat(dir_fd, VMOP_RUN_KALLSYMS ".new", 0); /* of a vmopd that was killed */
	struct vmop_error *err = vmop_run_open(dir_fd, VMOP_RUN_KALLSYMS ".new",
					       O_WRONLY | O_CREAT | O_EXCL, 0600, &fd);
	if (err)
		return err;
	if (vmop_io_write_full(fd, head, head_bytes) != (ssize_t)head_bytes ||
	    vmop_io_write_full(fd, text, text_bytes) != (ssize_t)text_bytes ||
	    renameat(dir_fd, VMOP_RUN_KALLSYMS ".new", dir_fd, VMOP_RUN_KALLSYMS) < 0) {
		err = vmop_error_os(errno, "%s/" VMOP_RUN_KALLSYMS, vmop_run_dir());
		unlinkat(dir_fd, VMOP_RUN_KALLSYMS ".new", 0);
	}
	return err;
}

static struct vmop_error *make_copy(int dir_fd, const char *root, const struct key *key)
{
	char path[PATH_MAX];
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	struct vmop_error *err = vmop_io_read_file(path, TEXT_MAX_BYTES, &text, &len_bytes);
	return err ? err : write_copy(dir_fd, key, text, filter(text, len_bytes));
}

int vmop_kallsyms_cache_open(int dir_fd, const char *root, uint64_t modules_hash)
{
	struct key key;
	if (!make_key(&key, root, modules_hash))
		return -1;
	int fd = open_valid(dir_fd, &key);
	if (fd >= 0)
		return fd;
	struct vmop_error *err = make_copy(dir_fd, root, &key);
	if (err) {
		vmop_log_and_destroy(VMOP_LOG_INFO, err);
		return -1;
	}
	return open_valid(dir_fd, &key);
}
