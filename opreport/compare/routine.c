// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/routine.h"

#include <string.h>

#include "vmop/domain.h"

const char *vmop_routine_image(const struct vmop_image_item *image)
{
	switch (image->kind) {
	case VMOP_IMAGE_KERNEL:
	case VMOP_IMAGE_GUEST_KERNEL:
		return "[kernel]";
	case VMOP_IMAGE_GUEST_USER:
		return "[guest user]";
	default:
		return vmop_image_base_name(image->name);
	}
}

/* Return whether the len bytes at word are a clone's word. */
static bool is_clone_word(const char *word, size_t len)
{
	static const char *const words[] = {"constprop", "isra",     "part",
					    "cold",	 "lto_priv", "llvm"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && !memcmp(words[i], word, len))
			return true;
	return false;
}

/* Return where the last '.' of name[0..len) is, or len. */
static size_t last_dot(const char *name, size_t len)
{
	for (size_t at = len; at > 0; at--)
		if (name[at - 1] == '.')
			return at - 1;
	return len;
}

/* Return the length of name[0..len) without one suffix ".word" or ".word.N", or len. */
static size_t without_suffix(const char *name, size_t len)
{
	size_t dot = last_dot(name, len), end = len;
	if (dot == len || !dot)
		return len;
	if (dot + 1 < len && strspn(name + dot + 1, "0123456789") >= len - dot - 1) {
		end = dot;
		dot = last_dot(name, end);
	}
	return dot && dot < end && is_clone_word(name + dot + 1, end - dot - 1) ? dot : len;
}

/* Return the length of name[0..len) without one " [clone .word]", or len. */
static size_t without_clone(const char *name, size_t len)
{
	static const char mark[] = " [clone ";
	const size_t mark_len = sizeof(mark) - 1;
	if (!len || name[len - 1] != ']')
		return len;
	size_t at = len;
	while (at > 0 && name[at - 1] != ' ')
		at--;
	if (at + 1 >= len || at < mark_len || memcmp(name + at - mark_len, mark, mark_len) != 0)
		return len;
	/* Demanglers put several suffixes into one mark: "[clone .isra.0.cold]". */
	size_t end = len - 1;
	for (size_t shorter; end > at; end = shorter) {
		if (name[at] != '.')
			return len;
		shorter = at + without_suffix(name + at - 1, end - at + 1) - 1;
		if (shorter >= end)
			return len;
	}
	return at - mark_len;
}

const char *vmop_routine_function(struct vmop_arena *arena, const char *shown)
{
	size_t len = strlen(shown);
	for (size_t before = 0; before != len;) {
		before = len;
		size_t shorter = without_clone(shown, len);
		len = shorter < len ? shorter : without_suffix(shown, len);
	}
	if (!shown[len])
		return shown;
	char *copy = vmop_arena_alloc(arena, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, shown, len);
	copy[len] = '\0';
	return copy;
}
