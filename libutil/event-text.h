// SPDX-License-Identifier: GPL-2.0-or-later
/* Lists of events as users write them: separated by commas. */
#ifndef VMOP_LIBUTIL_EVENT_TEXT_H
#define VMOP_LIBUTIL_EVENT_TEXT_H

#include <stddef.h>
#include <string.h>

/*
 * Return the length of the first event in a list: up to the next comma or the end. A comma between
 * the slashes of an event ("cpu/event=1,umask=2/") does not count.
 */
static inline size_t vmop_event_text_len(const char *text)
{
	size_t len = strcspn(text, ",");
	const char *slash = (const char *)memchr(text, '/', len);
	const char *end = slash ? strchr(slash + 1, '/') : NULL;
	return end ? (size_t)(end - text) + strcspn(end, ",") : len;
}

#endif
