// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/choice.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/label.h"
#include "opreport/query/omission.h"

enum {
	MAX_SHOWN = 8,		  /* names in an error message */
	MAX_NUMBERS = 4096,	  /* CPUs, or vCPUs, in all ranges of a spec */
	MAX_FILTER_TASKS = 10000, /* longer lists are applied by the reader */
};

/* A table whose items the words of a spec select. */
struct selector {
	const char *tag; /* "domain:" */
	const char *plural;
	struct vmop_table *table;
	bool (*matches)(const void *item, const char *word);
	const char *(*name)(const void *item);
	bool *(*selected)(void *item);
	struct vmop_error *(*list)(const struct vmop_catalog *catalog, size_t session,
				   struct vmop_selected_ids *ret, size_t *ret_n);
};

static bool glob_matches(const char *word, const char *text)
{
	return !strcmp(word, text) || !fnmatch(word, text, 0);
}

static bool event_matches(const void *item, const char *word)
{
	const struct vmop_event_item *event = item;
	return glob_matches(word, event->name) || glob_matches(word, event->label) ||
	       (*event->asked && glob_matches(word, event->asked));
}

static const char *event_name(const void *item)
{
	return ((const struct vmop_event_item *)item)->label;
}

static bool *event_selected(void *item)
{
	return &((struct vmop_event_item *)item)->selected;
}

static bool domain_matches(const void *item, const char *word)
{
	const struct vmop_domain_item *domain = item;
	return glob_matches(word, domain->name) || glob_matches(word, domain->own_name) ||
	       (*domain->life_name && glob_matches(word, domain->life_name)) ||
	       (*domain->uuid && glob_matches(word, domain->uuid)) ||
	       (domain->is_host && !strcmp(word, "host"));
}

static const char *domain_name(const void *item)
{
	return ((const struct vmop_domain_item *)item)->name;
}

static bool *domain_selected(void *item)
{
	return &((struct vmop_domain_item *)item)->selected;
}

static bool image_matches(const void *item, const char *word)
{
	const char *name = ((const struct vmop_image_item *)item)->name;
	const char *slash = strrchr(name, '/');
	if (glob_matches(word, name) || !slash)
		return glob_matches(word, name);
	/* "[kernel]" is the kernel; a file of that name is "'[kernel]'". */
	_cleanup_free_ char *label = vmop_label(VMOP_LABEL_NAME, slash + 1);
	return label && glob_matches(word, label);
}

static const char *image_name(const void *item)
{
	return vmop_image_base_name(((const struct vmop_image_item *)item)->name);
}

static bool *image_selected(void *item)
{
	return &((struct vmop_image_item *)item)->selected;
}

static bool task_matches(const void *item, const char *word)
{
	return glob_matches(word, ((const struct vmop_task_item *)item)->comm);
}

static const char *task_name(const void *item)
{
	return ((const struct vmop_task_item *)item)->comm;
}

static bool *task_selected(void *item)
{
	return &((struct vmop_task_item *)item)->selected;
}

static void *item_at(const struct vmop_table *table, size_t i)
{
	return (char *)table->items + i * table->item_bytes;
}

static bool is_among(const char *const *names, size_t n, const char *name)
{
	size_t i = 0;
	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i < n;
}

/* Return the error for a word without a match.  It lists up to MAX_SHOWN different names. */
static struct vmop_error *unknown_word(const struct selector *selector, const char *word)
{
	const struct vmop_table *table = selector->table;
	const char *shown[MAX_SHOWN];
	size_t n_shown = 0, i = 1, len;
	_cleanup_free_ char *names = NULL;
	FILE *out = open_memstream(&names, &len);
	if (!out)
		return &vmop_error_no_memory;
	for (; i < table->n; i++) {
		const char *name = selector->name(item_at(table, i));
		if (is_among(shown, n_shown, name))
			continue;
		if (n_shown == MAX_SHOWN)
			break;
		fprintf(out, "%s%s", n_shown ? ", " : "", name);
		shown[n_shown++] = name;
	}
	if (i < table->n)
		fputs(", and others", out);
	if (!n_shown)
		fputs("none", out);
	if (fclose(out))
		return &vmop_error_no_memory;
	return vmop_error_new(VMOP_ERROR_USAGE, "%s%s is not in the session; its %s: %s",
			      selector->tag, word, selector->plural, names);
}

static struct vmop_error *select_words(const struct selector *selector,
				       const struct vmop_words *words)
{
	for (size_t w = 0; w < words->n; w++) {
		bool found = false;
		for (size_t i = 1; i < selector->table->n; i++) {
			void *item = item_at(selector->table, i);
			if (!selector->matches(item, words->items[w]))
				continue;
			found = true;
			*selector->selected(item) = true;
		}
		if (!found && !vmop_word_is_glob(words->items[w]))
			return unknown_word(selector, words->items[w]);
	}
	return NULL;
}

/*
 * Define list_PLURAL(): list the ids of a session's selected items in ret->PLURAL, which the caller
 * frees, and set *ret_n to their number.
 */
#define LIST(noun, plural)                                                                         \
	static struct vmop_error *list_##plural(const struct vmop_catalog *catalog,                \
						size_t session, struct vmop_selected_ids *ret,     \
						size_t *ret_n)                                     \
	{                                                                                          \
		const struct vmop_table_part *part = &catalog->plural.parts[session];              \
		ret->plural = calloc(part->end - part->first + 1, sizeof(*ret->plural));           \
		if (!ret->plural)                                                                  \
			return &vmop_error_no_memory;                                              \
		for (size_t i = part->first; i < part->end; i++)                                   \
			if (vmop_catalog_##noun(catalog, i)->selected)                             \
				ret->plural[ret->n_##plural++] =                                   \
					vmop_catalog_##noun(catalog, i)->id;                       \
		*ret_n = ret->n_##plural;                                                          \
		return NULL;                                                                       \
	}
LIST(event, events)
LIST(domain, domains)
LIST(image, images)
LIST(task, tasks)
#undef LIST

static struct vmop_error *apply(const struct selector *selector, const struct vmop_words *words)
{
	for (size_t i = 0; i < selector->table->n && !words->n; i++)
		*selector->selected(item_at(selector->table, i)) = true;
	return select_words(selector, words);
}

/* List each session's selected items; VMOP_ERROR_NOT_FOUND where no session has any. */
static struct vmop_error *list_selected(struct vmop_choice *choice,
					const struct vmop_catalog *catalog,
					const struct selector *selector)
{
	bool any = false;
	for (size_t s = 0; s < choice->n_sessions; s++) {
		struct vmop_session_choice *session = &choice->sessions[s];
		size_t n;
		struct vmop_error *err = selector->list(catalog, s, &session->selected, &n);
		if (err)
			return err;
		any = any || n;
		session->is_empty = session->is_empty || !n;
	}
	return any ? NULL
		   : vmop_error_new(VMOP_ERROR_NOT_FOUND, "no %s of the session match",
				    selector->plural);
}

/* Point each session's filter to the lists of its selected items. */
static void fill_filters(struct vmop_choice *choice, bool by_bill)
{
	for (size_t s = 0; s < choice->n_sessions; s++) {
		struct vmop_session_choice *session = &choice->sessions[s];
		const struct vmop_selected_ids *selected = &session->selected;
		struct vmop_db_filter *filter = &session->filter;
		filter->events = selected->events;
		filter->n_events = selected->n_events;
		if (by_bill) {
			filter->billed = selected->domains;
			filter->n_billed = selected->n_domains;
		} else {
			filter->domains = selected->domains;
			filter->n_domains = selected->n_domains;
		}
		filter->images = selected->images;
		filter->n_images = selected->n_images;
		session->filter_is_complete = selected->n_tasks <= MAX_FILTER_TASKS;
		filter->tasks = selected->tasks;
		filter->n_tasks = session->filter_is_complete ? selected->n_tasks : 0;
	}
}

static void select_tasks_by_number(struct vmop_catalog *catalog, const struct vmop_spec *spec)
{
	for (size_t i = 0; i < catalog->tasks.n; i++) {
		struct vmop_task_item *task = vmop_catalog_task(catalog, i);
		bool fits = (!spec->tgids.n || vmop_numbers_match(&spec->tgids, task->pid)) &&
			    (!spec->tids.n || vmop_numbers_match(&spec->tids, task->tid));
		task->selected = task->selected && fits;
	}
}

/* Return an error if tid: is given and the session does not separate threads. */
static struct vmop_error *check_threads(const struct vmop_catalog *catalog,
					const struct vmop_spec *spec)
{
	if (!spec->tids.n)
		return NULL;
	for (size_t i = 1; i < catalog->tasks.n; i++) {
		if (vmop_catalog_task(catalog, i)->tid)
			return NULL;
	}
	return vmop_error_new(VMOP_ERROR_NOT_FOUND,
			      "tid: the session's samples are not separated by "
			      "thread; record with --separate=thread");
}

static struct vmop_error *select_tasks(struct vmop_choice *choice, struct vmop_catalog *catalog,
				       const struct vmop_spec *spec)
{
	const struct selector tasks = {"task:",	  "tasks",	 &catalog->tasks, task_matches,
				       task_name, task_selected, list_tasks};
	struct vmop_error *err = check_threads(catalog, spec);
	if (!err)
		err = apply(&tasks, &spec->tasks);
	if (err || (!spec->tasks.n && !spec->tgids.n && !spec->tids.n))
		return err;
	select_tasks_by_number(catalog, spec);
	return list_selected(choice, catalog, &tasks);
}

static struct vmop_error *spell_out(const struct vmop_numbers *numbers, const char *what,
				    int32_t **ret, size_t *ret_n)
{
	size_t n = 0;
	int32_t *list = calloc(MAX_NUMBERS, sizeof(*list));
	*ret = list;
	if (!list)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < numbers->n; i++) {
		struct vmop_number_range range = numbers->ranges[i];
		if (range.last >= MAX_NUMBERS || n + (range.last - range.first) >= MAX_NUMBERS)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "%s takes at most %d numbers, each below %d", what,
					      MAX_NUMBERS, MAX_NUMBERS);
		for (uint64_t number = range.first; number <= range.last; number++)
			list[n++] = (int32_t)number;
	}
	*ret_n = n;
	return NULL;
}

static struct vmop_error *select_numbers(struct vmop_choice *choice, const struct vmop_spec *spec)
{
	size_t n_cpus = 0, n_vcpus = 0;
	struct vmop_error *err = NULL;
	if (spec->cpus.n)
		err = spell_out(&spec->cpus, "cpu:", &choice->cpus, &n_cpus);
	if (!err && spec->vcpus.n)
		err = spell_out(&spec->vcpus, "vcpu:", &choice->vcpus, &n_vcpus);
	for (size_t s = 0; s < choice->n_sessions; s++) {
		struct vmop_db_filter *filter = &choice->sessions[s].filter;
		filter->cpus = choice->cpus;
		filter->n_cpus = n_cpus;
		filter->vcpus = choice->vcpus;
		filter->n_vcpus = n_vcpus;
	}
	return err;
}

static struct vmop_error *select_names(struct vmop_choice *choice, struct vmop_catalog *catalog,
				       const struct vmop_spec *spec)
{
	const struct selector events = {"event:",   "events",	    &catalog->events, event_matches,
					event_name, event_selected, list_events};
	const struct selector domains = {"domain:",	 "domains",   &catalog->domains,
					 domain_matches, domain_name, domain_selected,
					 list_domains};
	const struct selector images = {"image:",   "images",	    &catalog->images, image_matches,
					image_name, image_selected, list_images};
	struct vmop_error *err = apply(&events, &spec->events);
	if (!err && spec->events.n)
		err = list_selected(choice, catalog, &events);
	if (!err)
		err = apply(&domains, &spec->domains);
	if (!err && spec->domains.n)
		err = list_selected(choice, catalog, &domains);
	if (!err)
		err = apply(&images, &spec->images);
	if (!err && spec->images.n)
		err = list_selected(choice, catalog, &images);
	return err;
}

/* Fill each session's filter with the time and the omissions. */
static struct vmop_error *begin(struct vmop_choice *choice, struct vmop_catalog *catalog,
				const struct vmop_spec *spec)
{
	choice->sessions = calloc(catalog->n_sessions, sizeof(*choice->sessions));
	if (!choice->sessions)
		return &vmop_error_no_memory;
	choice->n_sessions = catalog->n_sessions;
	struct vmop_error *err = vmop_time_window_resolve(
		&spec->time, catalog->start_ns, catalog->end_ns, &choice->from_ns, &choice->to_ns);
	if (err)
		return err;
	_cleanup_free_ struct vmop_omissions *omissions =
		calloc(choice->n_sessions, sizeof(*omissions));
	if (!omissions)
		return &vmop_error_no_memory;
	err = vmop_omissions_find(catalog, omissions);
	for (size_t s = 0; s < choice->n_sessions; s++) {
		struct vmop_session_choice *session = &choice->sessions[s];
		session->omissions = omissions[s].items; /* freed with the choice */
		session->filter.from_ns = choice->from_ns;
		session->filter.to_ns = choice->to_ns;
		session->filter.omissions = session->omissions;
		session->filter.n_omissions = omissions[s].n;
	}
	return err;
}

struct vmop_error *vmop_choice_init(struct vmop_choice *choice, struct vmop_catalog *catalog,
				    const struct vmop_spec *spec, bool by_bill)
{
	*choice = (struct vmop_choice){0};
	struct vmop_error *err = begin(choice, catalog, spec);
	if (!err)
		err = select_names(choice, catalog, spec);
	if (!err)
		err = select_tasks(choice, catalog, spec);
	if (!err)
		err = select_numbers(choice, spec);
	fill_filters(choice, by_bill);
	choice->is_everything = !spec->time.is_set && !spec->events.n && !spec->domains.n &&
				!spec->images.n && !spec->tasks.n && !spec->tgids.n &&
				!spec->tids.n && !spec->cpus.n && !spec->vcpus.n &&
				!spec->certainties;
	return err;
}

void vmop_choice_deinit(struct vmop_choice *choice)
{
	for (size_t s = 0; s < choice->n_sessions; s++) {
		struct vmop_session_choice *session = &choice->sessions[s];
		free(session->selected.events);
		free(session->selected.domains);
		free(session->selected.images);
		free(session->selected.tasks);
		free(session->omissions);
	}
	free(choice->sessions);
	free(choice->cpus);
	free(choice->vcpus);
	*choice = (struct vmop_choice){0};
}
