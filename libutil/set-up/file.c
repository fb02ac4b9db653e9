// SPDX-License-Identifier: GPL-2.0-or-later
/* The set-up as text, and the file that stores it. */
#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/setup-key.h"

/* ---- reading ---------------------------------------------------------------- */

struct reading {
	struct vmop_setup *setup;
	const char *name, *at;
	unsigned line;
	bool seen[VMOP_SETUP_KEYS];
	struct vmop_error *err; /* the first error */
};

/*
 * Read a line for inih. Leading blanks are removed, so that inih takes no line as the continuation
 * of the previous one. A line that does not fit is an error, not two lines.
 */
static char *read_line(char *buf, int size, void *arg)
{
	struct reading *reading = arg;
	if (!*reading->at || reading->err)
		return NULL;
	reading->line++;
	size_t len = strcspn(reading->at, "\n");
	const char *end = reading->at + len;
	while (isblank((unsigned char)*reading->at))
		reading->at++;
	len = (size_t)(end - reading->at);
	if (len + 3 > (size_t)size) {
		reading->err = vmop_error_new(VMOP_ERROR_USAGE,
					      "%s:%u: the line is longer than %d characters",
					      reading->name, reading->line, size - 3);
		return NULL;
	}
	memcpy(buf, reading->at, len);
	buf[len] = '\n';
	buf[len + 1] = '\0';
	reading->at = *end ? end + 1 : end;
	return buf;
}

static int take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *reading = arg;
	if (reading->err)
		return 0;
	struct vmop_error *err;
	size_t key = vmop_setup_key(name, strlen(name));
	if (*section) {
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "'%.80s' is in a section [%.80s]; the file has no sections",
				     name, section);
	} else if (key == VMOP_SETUP_KEYS) {
		err = vmop_setup_unknown_key(name);
	} else {
		err = vmop_setup_set(reading->setup, name, value ? value : "", reading->seen[key]);
		reading->seen[key] = true;
	}
	if (err)
		reading->err = vmop_error_prefix(err, "%s:%u", reading->name, reading->line);
	return !err;
}

struct vmop_error *vmop_setup_parse(struct vmop_setup *setup, const char *name, const char *text)
{
	if (strlen(text) > VMOP_SETUP_MAX_BYTES)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: larger than %d bytes", name,
				      VMOP_SETUP_MAX_BYTES);
#if HAVE_DECL_INI_MAX_LINE
	/* If inih's limits can be set at run time, lists of long paths fit on a line. */
	ini_use_stack = false;
	ini_max_line = ini_initial_alloc = 16384;
#endif
	struct reading reading = {.setup = setup, .name = name, .at = text};
	int status = ini_parse_stream(read_line, &reading, take_pair, &reading);
	if (reading.err)
		return reading.err;
	if (status > 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s:%d: not a 'key = value' line", name,
				      status);
	return status < 0 ? &vmop_error_no_memory : NULL;
}

/* Set *ret to NULL without an error if there is no such file. */
static struct vmop_error *read_text(const char *path, char **ret)
{
	size_t len;
	*ret = NULL;
	struct vmop_error *err = vmop_io_read_file(path, VMOP_SETUP_MAX_BYTES, ret, &len);
	if (err && err->os_errno == ENOENT) {
		vmop_error_destroy(err);
		return NULL;
	}
	if (err && err->code == VMOP_ERROR_LIMIT)
		err->code = VMOP_ERROR_USAGE;
	if (!err && strlen(*ret) != len)
		err = vmop_error_new(VMOP_ERROR_USAGE, "%s: contains a NUL byte: not a set-up file",
				     path);
	if (err) {
		free(*ret);
		*ret = NULL;
	}
	return err;
}

struct vmop_error *vmop_setup_read(struct vmop_setup *setup, const char *path, bool *ret_found)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = read_text(path, &text);
	if (ret_found)
		*ret_found = text != NULL;
	return err || !text ? err : vmop_setup_parse(setup, path, text);
}

/* ---- writing ---------------------------------------------------------------- */

struct vmop_error *vmop_setup_format(const struct vmop_setup *setup, char **ret)
{
	size_t len;
	FILE *out = open_memstream(ret, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < VMOP_SETUP_KEYS; i++)
		vmop_setup_put(out, i, setup);
	if (fclose(out) == 0)
		return NULL;
	free(*ret);
	return &vmop_error_no_memory;
}

/* Return the key that the line at text sets, or VMOP_SETUP_KEYS. */
static size_t key_of_line(const char *text, size_t len)
{
	size_t begin = 0;
	while (begin < len && isblank((unsigned char)text[begin]))
		begin++;
	size_t end = begin;
	while (end < len && text[end] != '=' && text[end] != ':')
		end++;
	if (end == len)
		return VMOP_SETUP_KEYS;
	while (end > begin && isblank((unsigned char)text[end - 1]))
		end--;
	return vmop_setup_key(text + begin, end - begin);
}

/* Write text with each changed key in the place of its first line, and new keys at the end. */
static void put_merged(FILE *out, const char *text, const struct vmop_setup *setup,
		       bool changed[VMOP_SETUP_KEYS])
{
	bool put[VMOP_SETUP_KEYS] = {false};
	while (*text) {
		size_t len = strcspn(text, "\n");
		size_t key = key_of_line(text, len);
		if (key == VMOP_SETUP_KEYS || !changed[key]) {
			fwrite(text, 1, len, out);
			fputc('\n', out);
		} else if (!put[key]) {
			vmop_setup_put(out, key, setup);
			put[key] = true;
		}
		text += len + (text[len] == '\n');
	}
	for (size_t i = 0; i < VMOP_SETUP_KEYS; i++)
		if (changed[i] && !put[i])
			vmop_setup_put(out, i, setup);
}

static struct vmop_error *make_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return NULL;
	_cleanup_free_ char *dir = strndup(path, (size_t)(slash - path));
	if (!dir)
		return &vmop_error_no_memory;
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return vmop_error_os(errno, "%s", dir);
	return NULL;
}

struct vmop_error *vmop_setup_save(const struct vmop_setup *setup, const char *path,
				   const char *const *keys, size_t n)
{
	bool changed[VMOP_SETUP_KEYS] = {false};
	for (size_t i = 0; i < n; i++) {
		size_t key = vmop_setup_key(keys[i], strlen(keys[i]));
		if (key == VMOP_SETUP_KEYS)
			return vmop_setup_unknown_key(keys[i]);
		changed[key] = true;
	}
	_cleanup_free_ char *old = NULL, *text = NULL;
	struct vmop_error *err = read_text(path, &old);
	if (err)
		return err;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	if (!out)
		return &vmop_error_no_memory;
	put_merged(out, old ? old : "# vmop's set-up: see vmopcontrol(8)\n", setup, changed);
	if (fclose(out) != 0)
		return &vmop_error_no_memory;
	err = make_parent(path);
	return err ? err : vmop_io_write_file_atomic(path, text, len, 0644);
}
