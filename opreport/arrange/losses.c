// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most names in the text; then "and N more names". */
#define NAMED_MAX 32

/* Return the number of losses with the name of the first one, which are neighbours. */
static size_t count_equal(const struct vmop_loss_item *losses, size_t n, uint64_t *ret_count)
{
	size_t n_equal = 0;
	*ret_count = 0;
	for (; n_equal < n && !strcmp(losses[n_equal].name, losses->name); n_equal++)
		*ret_count += losses[n_equal].count;
	return n_equal;
}

/* Print the losses by name. Return the number of names with losses. */
static size_t print_losses(const struct vmop_catalog *catalog, FILE *out)
{
	size_t n = 0;
	uint64_t others = 0, count;
	for (size_t i = 0; i < catalog->n_losses;) { /* sorted by name */
		const struct vmop_loss_item *loss = &catalog->losses[i];
		i += count_equal(loss, catalog->n_losses - i, &count);
		if (!count)
			continue;
		if (n++ < NAMED_MAX)
			fprintf(out, "%s%s %" PRIu64, n > 1 ? ", " : "", loss->name, count);
		else
			others += count;
	}
	if (n > NAMED_MAX)
		fprintf(out, ", and %zu more names %" PRIu64, n - NAMED_MAX, others);
	return n;
}

struct vmop_error *vmop_losses_describe(const struct vmop_catalog *catalog, bool is_of_part,
					struct vmop_arena *arena, const char **ret)
{
	char *text = NULL;
	size_t len_bytes;
	*ret = NULL;
	FILE *out = open_memstream(&text, &len_bytes);
	if (!out)
		return &vmop_error_no_memory;
	size_t n = print_losses(catalog, out);
	if (is_of_part)
		fprintf(out, " (in the whole session%s)", catalog->n_sessions > 1 ? "s" : "");
	bool failed = fclose(out) != 0;
	if (!failed && n)
		*ret = vmop_arena_text(arena, text);
	free(text);
	return failed || (n && !*ret) ? &vmop_error_no_memory : NULL;
}
