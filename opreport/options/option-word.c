// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/options/option-word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/parse.h"
#include "opreport/query/spec.h"

struct vmop_error *vmop_option_word_parse(const struct vmop_option_word *words, const char *option,
					  const char *text, unsigned *ret)
{
	for (const struct vmop_option_word *word = words; word->name; word++) {
		if (!strcmp(word->name, text)) {
			*ret = word->value;
			return NULL;
		}
	}
	char accepted[256] = "";
	size_t len = 0;
	for (const struct vmop_option_word *word = words; word->name && len < sizeof(accepted);
	     word++)
		len += (size_t)snprintf(accepted + len, sizeof(accepted) - len, "%s%s",
					word == words ? "" : ", ", word->name);
	return vmop_error_new(VMOP_ERROR_USAGE, "%s: unknown word '%s'; accepted: %s", option, text,
			      accepted);
}

struct vmop_error *vmop_option_bits_parse(const struct vmop_option_word *words, const char *option,
					  const char *text, unsigned *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words list = {0};
	struct vmop_error *err = vmop_words_parse(&list, option, text);
	for (size_t i = 0; i < list.n && !err; i++) {
		unsigned bits = 0;
		err = vmop_option_word_parse(words, option, list.items[i], &bits);
		*ret |= bits;
	}
	return err;
}

struct vmop_error *vmop_option_percent_parse(const char *option, const char *text, double *ret)
{
	char *end;
	double percent = strtod(text, &end); /* LC_NUMERIC stays "C" */
	if (end == text || *end || !(percent >= 0 && percent <= 100))
		return vmop_error_new(VMOP_ERROR_USAGE, "%s takes a number from 0 to 100, not '%s'",
				      option, text);
	*ret = percent;
	return NULL;
}

struct vmop_error *vmop_option_number_parse(const char *option, const char *text, uint64_t max,
					    uint64_t *ret)
{
	uint64_t number = 0;
	if (!vmop_parse_u64(text, 10, &number) || number > max)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s takes a number up to %llu, not '%s'",
				      option, (unsigned long long)max, text);
	*ret = number;
	return NULL;
}
