// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The state of vmoptop's view, and how keys change it.  Needs neither the terminal nor the session.
 *
 * This folder is vmoptop.  Data meets its files in this order:
 *   top-view      which rows are wanted, and how keys change that
 *   top-snapshot  runs the query, and has its report as a sheet
 *   top-grid      makes lines of a sheet that fit the terminal
 *   top-screen    draws them by ncurses, and reads keys
 *   vmoptop       the program: options, and the loop of refreshing and reading keys
 */
#ifndef VMOP_OPREPORT_TOP_TOP_VIEW_H
#define VMOP_OPREPORT_TOP_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of rows, in the order in which Enter leads from one to the next. */
enum vmop_top_kind {
	VMOP_TOP_DOMAINS,
	VMOP_TOP_TASKS,
	VMOP_TOP_IMAGES,
	VMOP_TOP_SYMBOLS,
	VMOP_TOP_CERTAINTY, /* Enter leads nowhere */
	VMOP_TOP_N_KINDS,
};

/* Keys other than characters. */
enum vmop_top_key {
	VMOP_TOP_KEY_UP = 0x100,
	VMOP_TOP_KEY_DOWN,
	VMOP_TOP_KEY_PAGE_UP,
	VMOP_TOP_KEY_PAGE_DOWN,
	VMOP_TOP_KEY_HOME,
	VMOP_TOP_KEY_END,
	VMOP_TOP_KEY_ENTER,
	VMOP_TOP_KEY_BACK, /* Backspace, and Left */
	VMOP_TOP_KEY_ESCAPE,
	VMOP_TOP_KEY_HELP,   /* F1; as ? and h */
	VMOP_TOP_KEY_FILTER, /* F4; as / and \ */
	VMOP_TOP_KEY_SORT,   /* F6; as > */
	VMOP_TOP_KEY_QUIT,   /* F10; as q */
};

/* The effect of a key: the work that is left to the program. */
enum vmop_top_effect {
	VMOP_TOP_NOTHING,
	VMOP_TOP_REDRAW,  /* draw the same rows anew */
	VMOP_TOP_REFRESH, /* run the query */
	VMOP_TOP_ENTER,	  /* look up the selected row's word, and call vmop_top_view_enter */
	VMOP_TOP_QUIT,
};

#define VMOP_TOP_MAX_DEPTH 3 /* domain, task, image */
#define VMOP_TOP_FILTER_BYTES 64

/* A row that was entered: the samples below are its own. */
struct vmop_top_level {
	enum vmop_top_kind kind;
	char *word;	 /* a spec, such as "domain:web1"; on the heap */
	char *name;	 /* as shown; on the heap */
	size_t selected; /* the row to return to */
};

struct vmop_top_view {
	enum vmop_top_kind kind;
	struct vmop_top_level levels[VMOP_TOP_MAX_DEPTH];
	size_t n_levels;
	size_t window;	 /* index into the spans that w goes through */
	size_t sort;	 /* 0: by name; 1 + slot: by that event */
	size_t n_events; /* of the last result, set by the caller */
	bool is_reversed, is_frozen, shows_help;
	size_t selected;		    /* row */
	bool is_typing;			    /* keys go into filter */
	char filter[VMOP_TOP_FILTER_BYTES]; /* rows that contain it, in either case; "": all */
	uint64_t delay_ns;
};

/* Begin with all domains, the last ten seconds, and the first event. */
void vmop_top_view_init(struct vmop_top_view *view, uint64_t delay_ns);
void vmop_top_view_deinit(struct vmop_top_view *view);

/*
 * Take a key: a character, or enum vmop_top_key.  The view shows n_rows rows, page_rows of them at
 * once.
 */
enum vmop_top_effect vmop_top_view_key(struct vmop_top_view *view, int key, size_t n_rows,
				       size_t page_rows);

/*
 * Show the next kind of rows, of the selected row only.  word is its spec and name its name; both
 * are copied.  Nothing happens without memory.
 */
void vmop_top_view_enter(struct vmop_top_view *view, const char *word, const char *name);

/* Keep the selected row within n_rows. */
void vmop_top_view_clamp(struct vmop_top_view *view, size_t n_rows);

/* Return the span that is shown, 0: the whole session. */
uint64_t vmop_top_view_window_ns(const struct vmop_top_view *view);

/* Return the name of a kind: "domains". */
const char *vmop_top_kind_name(enum vmop_top_kind kind);

#endif
