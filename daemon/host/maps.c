// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

/* Escapes can make a path four times as long. */
#define LINE_MAX_BYTES (2 * PATH_MAX + 256)
/* The default limit of mappings (vm.max_map_count), with long paths. */
#define TEXT_MAX_BYTES ((size_t)32 << 20)

/* Parse a number in base that ends with `end`, and set *text behind it. */
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

int vmop_maps_read(struct vmop_proc_text *reader, const char *root, uint32_t pid,
		   void (*each)(void *arg, const struct vmop_maps_line *line), void *arg)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len_bytes = vmop_proc_text_read(reader, root, pid, "maps", TEXT_MAX_BYTES, &text);
	if (len_bytes < 0)
		return errno;
	char *end, *stop = text + len_bytes;
	for (char *line = text; (end = memchr(line, '\n', (size_t)(stop - line))); line = end + 1) {
		struct vmop_maps_line parsed;
		*end = '\0';
		if (end - line <= LINE_MAX_BYTES && vmop_maps_parse(line, &parsed))
			each(arg, &parsed);
	}
	return 0;
}
