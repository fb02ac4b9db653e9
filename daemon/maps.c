// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/procfs.h"
#include "libutil/cleanup.h"

/* A path can be escaped to four times its length, though only its newlines are. */
#define LINE_MAX_BYTES (2 * PATH_MAX + 256)

/* A number in base, followed by `end`; moves *text behind it. */
static bool take_number(char **text, int base, char end, uint64_t *ret)
{
	char *behind;
	errno = 0;
	*ret = strtoull(*text, &behind, base);
	if (behind == *text || *behind != end || errno)
		return false;
	*text = behind + 1;
	return true;
}

/* seq_file escapes newlines, and nothing else, as \012. */
static void unescape(char *path)
{
	char *to = path;
	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

bool vmop_maps_parse(char *line, struct vmop_maps_line *ret)
{
	uint64_t major, minor;
	if (!take_number(&line, 16, '-', &ret->start) || !take_number(&line, 16, ' ', &ret->end) ||
	    strnlen(line, 5) < 5 || line[4] != ' ')
		return false;
	ret->is_executable = line[2] == 'x';
	line += 5;
	if (!take_number(&line, 16, ' ', &ret->file_offset_bytes) ||
	    !take_number(&line, 16, ':', &major) || !take_number(&line, 16, ' ', &minor))
		return false;
	ret->dev_major = (uint32_t)major;
	ret->dev_minor = (uint32_t)minor;
	char *behind;
	ret->inode = strtoull(line, &behind, 10);
	if (behind == line)
		return false;
	ret->path = behind + strspn(behind, " ");
	unescape(ret->path);
	return true;
}

int vmop_maps_read(const char *root, uint32_t pid,
		   void (*each)(void *arg, const struct vmop_maps_line *line), void *arg)
{
	_cleanup_close_ int fd = vmop_procfs_open(root, "/proc/%u/maps", pid);
	if (fd < 0)
		return errno;
	char buf[2 * LINE_MAX_BYTES];
	size_t len = 0;
	bool is_skipping = false;
	for (;;) {
		ssize_t n = read(fd, buf + len, sizeof(buf) - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			return 0;
		len += (size_t)n;
		buf[len] = '\0';
		char *line = buf, *newline;
		while ((newline = memchr(line, '\n', len - (size_t)(line - buf)))) {
			*newline = '\0';
			struct vmop_maps_line parsed;
			if (!is_skipping && vmop_maps_parse(line, &parsed))
				each(arg, &parsed);
			is_skipping = false;
			line = newline + 1;
		}
		len -= (size_t)(line - buf);
		if (len > LINE_MAX_BYTES) {
			is_skipping = true;
			len = 0;
		}
		memmove(buf, line, len);
	}
}
