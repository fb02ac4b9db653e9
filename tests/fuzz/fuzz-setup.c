// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any text as a set-up file. An accepted set-up must survive being formatted and parsed again:
 * vmopd and vmopcontrol exchange set-ups as text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

/* Return false if the text is refused. */
static bool parse(struct vmop_setup *setup, const char *text)
{
	struct vmop_error *err = vmop_setup_init(setup);
	if (err)
		abort();
	err = vmop_setup_parse(setup, "fuzz", text);
	if (!err)
		err = vmop_setup_check(setup);
	if (err && (!err->message[0] || strchr(err->message, '\n')))
		abort(); /* always one line */
	bool is_accepted = !err;
	vmop_error_destroy(err);
	return is_accepted;
}

static char *format(const struct vmop_setup *setup)
{
	char *text = NULL;
	struct vmop_error *err = vmop_setup_format(setup, &text);
	if (err && err->code != VMOP_ERROR_LIMIT)
		abort();
	vmop_error_destroy(err);
	return text;
}

static void split_images(const struct vmop_setup_list *images)
{
	for (size_t i = 0; i < images->n; i++) {
		_cleanup_free_ char *path = NULL;
		uint64_t offset_bytes;
		vmop_error_destroy(vmop_setup_split_image(images->items[i], &path, &offset_bytes));
	}
}

static void there_and_back(const char *text)
{
	struct vmop_setup again;
	if (!parse(&again, text))
		abort();
	_cleanup_free_ char *same = format(&again);
	if (!same || strcmp(same, text))
		abort();
	vmop_setup_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	_cleanup_free_ char *text = strndup((const char *)data, len_bytes);
	struct vmop_setup setup;
	if (!text)
		abort();
	if (parse(&setup, text)) {
		_cleanup_free_ char *formatted = format(&setup);
		split_images(&setup.passive_images);
		if (formatted)
			there_and_back(formatted);
	}
	vmop_setup_deinit(&setup);
	return 0;
}
