// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as a mangled name. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	char *text = malloc(len_bytes + 3), *name;
	if (!text)
		abort();
	/* Begin with the prefix, because other names are not demangled. */
	text[0] = '_';
	text[1] = len_bytes && data[0] % 2 ? 'R' : 'Z';
	if (len_bytes)
		memcpy(text + 2, data + 1, len_bytes - 1);
	text[len_bytes ? len_bytes + 1 : 2] = '\0';
	for (int with_parameters = 0; with_parameters < 2; with_parameters++) {
		size_t work = SIZE_MAX;
		if (!vmop_demangle_name(text, with_parameters, &work, &name))
			abort();
		free(name);
	}
	free(text);
	return 0;
}
