// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/time-zone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define ZONE_FILE_MAX_BYTES ((size_t)1 << 20)
#define ZONE_MAX_BYTES 100

/* Skip a zone's name: three or more letters, or "<...>". NULL: malformed. */
static const char *skip_name(const char *text)
{
	size_t n = 0;
	if (*text == '<') {
		while (isalnum((unsigned char)text[n + 1]) || strchr("+-", text[n + 1] ?: 'x'))
			n++;
		return n >= 3 && text[n + 1] == '>' ? text + n + 2 : NULL;
	}
	while (isalpha((unsigned char)text[n]))
		n++;
	return n >= 3 ? text + n : NULL;
}

bool vmop_time_zone_is_posix(const char *text)
{
	const char *rest = strlen(text) <= ZONE_MAX_BYTES ? skip_name(text) : NULL;
	if (!rest)
		return false;
	rest += *rest == '+' || *rest == '-';
	if (!isdigit((unsigned char)*rest))
		return false;
	/* glibc looks for a file of that name first: with these bytes it is below its own folder.
	 */
	return !strstr(rest, "..") && strspn(rest, "0123456789:,./+-<>JM"
						   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						   "abcdefghijklmnopqrstuvwxyz") == strlen(rest);
}

/* Return the last line of a file of the zone's rules (RFC 8536, section 3.3), or NULL. */
static char *read_footer(const char *path)
{
	_cleanup_free_ char *data = NULL;
	size_t len_bytes;
	struct vmop_error *err = vmop_io_read_file(path, ZONE_FILE_MAX_BYTES, &data, &len_bytes);
	bool is_read = !err;
	vmop_error_destroy(err);
	if (!is_read || len_bytes < 2 || data[len_bytes - 1] != '\n')
		return NULL;
	data[len_bytes - 1] = '\0';
	const char *line = memrchr(data, '\n', len_bytes - 1);
	return line && vmop_time_zone_is_posix(line + 1) ? strdup(line + 1) : NULL;
}

char *vmop_time_zone_find(void)
{
	const char *name = getenv("TZ");
	char path[256] = "/etc/localtime";
	if (name && vmop_time_zone_is_posix(name))
		return strdup(name);
	if (name && !*name)
		return strdup("UTC0");
	if (name) {
		name += *name == ':';
		snprintf(path, sizeof(path), "%s%s", *name == '/' ? "" : "/usr/share/zoneinfo/",
			 name);
	}
	char *footer = read_footer(path);
	return footer ? footer : strdup(access(path, F_OK) < 0 ? "UTC0" : "");
}

void vmop_time_zone_use(const char *zone)
{
	if (*zone && !getenv("TZ"))
		setenv("TZ", zone, 1);
	tzset();
}
