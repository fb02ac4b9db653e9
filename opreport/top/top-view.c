// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/top/top-view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"

static const uint64_t windows_s[] = {10, 60, 600, 3600, 0};

enum { N_WINDOWS = sizeof(windows_s) / sizeof(*windows_s) };

/* The bounds of the delay that + and - change. */
#define MIN_DELAY_NS (VMOP_NS_PER_S / 2)
#define MAX_DELAY_NS (60 * VMOP_NS_PER_S)

void vmop_top_view_init(struct vmop_top_view *view, uint64_t delay_ns)
{
	*view = (struct vmop_top_view){.delay_ns = delay_ns, .sort = 1, .n_events = 1};
}

static void leave(struct vmop_top_view *view)
{
	struct vmop_top_level *level = &view->levels[--view->n_levels];
	view->kind = level->kind;
	view->selected = level->selected;
	free(level->word);
	free(level->name);
}

void vmop_top_view_deinit(struct vmop_top_view *view)
{
	while (view->n_levels)
		leave(view);
}

uint64_t vmop_top_view_window_ns(const struct vmop_top_view *view)
{
	return windows_s[view->window] * VMOP_NS_PER_S;
}

const char *vmop_top_kind_name(enum vmop_top_kind kind)
{
	static const char *const names[] = {"domains", "tasks", "images", "symbols", "certainty"};
	return names[kind];
}

void vmop_top_view_enter(struct vmop_top_view *view, const char *word, const char *name)
{
	if (view->n_levels == VMOP_TOP_MAX_DEPTH || view->kind >= VMOP_TOP_SYMBOLS)
		return;
	struct vmop_top_level level = {
		.kind = view->kind,
		.word = strdup(word),
		.name = strdup(name),
		.selected = view->selected,
	};
	if (!level.word || !level.name) {
		free(level.word);
		free(level.name);
		return;
	}
	view->levels[view->n_levels++] = level;
	view->kind++;
	view->selected = 0;
	view->filter[0] = '\0';
}

void vmop_top_view_clamp(struct vmop_top_view *view, size_t n_rows)
{
	if (view->selected >= n_rows)
		view->selected = n_rows ? n_rows - 1 : 0;
}

/* ---- keys -------------------------------------------------------------------- */

static enum vmop_top_effect show_kind(struct vmop_top_view *view, enum vmop_top_kind kind)
{
	/* The rows that were entered stay, as long as they are above the kind. */
	while (view->n_levels && view->levels[view->n_levels - 1].kind >= kind)
		leave(view);
	view->kind = kind;
	view->selected = 0;
	return VMOP_TOP_REFRESH;
}

static enum vmop_top_effect move(struct vmop_top_view *view, int key, size_t n_rows,
				 size_t page_rows)
{
	size_t last = n_rows ? n_rows - 1 : 0;
	switch (key) {
	case VMOP_TOP_KEY_UP:
		view->selected -= view->selected > 0;
		break;
	case VMOP_TOP_KEY_DOWN:
		view->selected += view->selected < last;
		break;
	case VMOP_TOP_KEY_PAGE_UP:
		view->selected -= view->selected < page_rows ? view->selected : page_rows;
		break;
	case VMOP_TOP_KEY_PAGE_DOWN:
		view->selected +=
			last - view->selected < page_rows ? last - view->selected : page_rows;
		break;
	case VMOP_TOP_KEY_HOME:
		view->selected = 0;
		break;
	case VMOP_TOP_KEY_END:
		view->selected = last;
		break;
	default:
		return VMOP_TOP_NOTHING;
	}
	return VMOP_TOP_REDRAW;
}

/* Take a key of the filter's line. */
static enum vmop_top_effect type_filter(struct vmop_top_view *view, int key)
{
	size_t len = strlen(view->filter);
	switch (key) {
	case VMOP_TOP_KEY_ENTER:
		view->is_typing = false;
		break;
	case VMOP_TOP_KEY_ESCAPE:
		view->is_typing = false;
		view->filter[0] = '\0';
		break;
	case VMOP_TOP_KEY_BACK:
		/* A character of UTF-8 is its first byte and those that continue it. */
		while (len && (view->filter[--len] & 0xc0) == 0x80)
			;
		view->filter[len] = '\0';
		break;
	default:
		if (key < ' ' || key > 0xff || key == 0x7f || len + 1 >= sizeof(view->filter))
			return VMOP_TOP_NOTHING;
		view->filter[len] = (char)key;
		view->filter[len + 1] = '\0';
	}
	view->selected = 0;
	return VMOP_TOP_REDRAW;
}

static enum vmop_top_effect back(struct vmop_top_view *view)
{
	if (view->filter[0])
		view->filter[0] = '\0';
	else if (view->n_levels)
		leave(view);
	else
		return VMOP_TOP_NOTHING;
	return VMOP_TOP_REFRESH;
}

static enum vmop_top_effect change_delay(struct vmop_top_view *view, bool is_longer)
{
	uint64_t delay_ns = is_longer ? 2 * view->delay_ns : view->delay_ns / 2;
	if (delay_ns < MIN_DELAY_NS || delay_ns > MAX_DELAY_NS)
		return VMOP_TOP_NOTHING;
	view->delay_ns = delay_ns;
	return VMOP_TOP_REDRAW;
}

/* Take a key that changes which samples or rows the query gives. */
static enum vmop_top_effect choose(struct vmop_top_view *view, int key)
{
	switch (key) {
	case 'd':
		return show_kind(view, VMOP_TOP_DOMAINS);
	case 't':
		return show_kind(view, VMOP_TOP_TASKS);
	case 'i':
		return show_kind(view, VMOP_TOP_IMAGES);
	case 's':
		return show_kind(view, VMOP_TOP_SYMBOLS);
	case 'c':
		return show_kind(view, VMOP_TOP_CERTAINTY);
	case 'w':
		view->window = (view->window + 1) % N_WINDOWS;
		return VMOP_TOP_REFRESH;
	case '>':
	case VMOP_TOP_KEY_SORT:
		view->sort = (view->sort + 1) % (view->n_events + 1);
		return VMOP_TOP_REFRESH;
	case '<':
		view->sort = (view->sort ? view->sort : view->n_events + 1) - 1;
		return VMOP_TOP_REFRESH;
	case 'r':
	case 'I':
		view->is_reversed = !view->is_reversed;
		return VMOP_TOP_REFRESH;
	default:
		return VMOP_TOP_NOTHING;
	}
}

static enum vmop_top_effect press(struct vmop_top_view *view, int key)
{
	switch (key) {
	case 'q':
	case VMOP_TOP_KEY_QUIT:
		return VMOP_TOP_QUIT;
	case 'h':
	case '?':
	case VMOP_TOP_KEY_HELP:
		view->shows_help = true;
		return VMOP_TOP_REDRAW;
	case '/':
	case '\\':
	case VMOP_TOP_KEY_FILTER:
		view->is_typing = true;
		return VMOP_TOP_REDRAW;
	case VMOP_TOP_KEY_ENTER:
		return view->kind < VMOP_TOP_SYMBOLS ? VMOP_TOP_ENTER : VMOP_TOP_NOTHING;
	case VMOP_TOP_KEY_BACK:
	case VMOP_TOP_KEY_ESCAPE:
		return back(view);
	case ' ':
	case 'f':
	case 'Z':
		view->is_frozen = !view->is_frozen;
		return view->is_frozen ? VMOP_TOP_REDRAW : VMOP_TOP_REFRESH;
	case '+':
	case '-':
		return change_delay(view, key == '+');
	default:
		return choose(view, key);
	}
}

enum vmop_top_effect vmop_top_view_key(struct vmop_top_view *view, int key, size_t n_rows,
				       size_t page_rows)
{
	if (view->shows_help) {
		view->shows_help = false;
		return key == 'q' || key == VMOP_TOP_KEY_QUIT ? VMOP_TOP_QUIT : VMOP_TOP_REDRAW;
	}
	if (view->is_typing)
		return type_filter(view, key);
	enum vmop_top_effect effect = move(view, key, n_rows, page_rows);
	return effect == VMOP_TOP_NOTHING ? press(view, key) : effect;
}
