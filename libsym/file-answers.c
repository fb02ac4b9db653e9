// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/file-answers.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const char *text)
{
	return text ? text : "";
}

static int compare_build_ids(const struct vmop_build_id *a, const struct vmop_build_id *b)
{
	if (a->len_bytes != b->len_bytes)
		return a->len_bytes < b->len_bytes ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->len_bytes);
}

static int compare_refs(const struct vmop_image_ref *a, const struct vmop_image_ref *b)
{
	int order = strcmp(text_of(a->path), text_of(b->path));
	if (!order)
		order = strcmp(text_of(a->root), text_of(b->root));
	if (!order)
		order = compare_build_ids(&a->build_id, &b->build_id);
	return order ? order : (int)a->is_elsewhere - (int)b->is_elsewhere;
}

static int compare_answers(const void *a, const void *b)
{
	const struct vmop_file_answer *x = a, *y = b;
	return compare_refs(&x->ref, &y->ref);
}

void vmop_file_answers_sort(struct vmop_file_answer *items, size_t n)
{
	if (n)
		qsort(items, n, sizeof(*items), compare_answers);
}

static const struct vmop_file_answer *find(const struct vmop_file_answers *answers,
					   const struct vmop_image_ref *ref)
{
	const struct vmop_file_answer wanted = {.ref = *ref};
	return answers->n ? bsearch(&wanted, answers->items, answers->n, sizeof(wanted),
				    compare_answers)
			  : NULL;
}

const struct vmop_file_answer *vmop_file_answers_find(const struct vmop_file_answers *answers,
						      const struct vmop_image_ref *ref)
{
	const struct vmop_file_answer *answer = find(answers, ref);
	/* Whether a domain is elsewhere depends on the sessions of a report. A build-id decides. */
	struct vmop_image_ref other = *ref;
	other.is_elsewhere = !ref->is_elsewhere;
	return answer || !ref->build_id.len_bytes ? answer : find(answers, &other);
}
