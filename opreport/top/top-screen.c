// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/top/top-screen.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "opreport/top/top-grid.h"

/* Shares from which a row is warm and hot, in percent. */
#define WARM_PERCENT 5
#define HOT_PERCENT 20

enum { COLOR_WARM = 1, COLOR_HOT };

static bool is_begun;

struct vmop_error *vmop_top_screen_begin(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "this is no terminal; --batch prints to pipes and files");
	/* initscr ends the program where it does not know the terminal; newterm returns. */
	if (!newterm(NULL, stdout, stdin))
		return vmop_error_new(VMOP_ERROR_CANT,
				      "the terminal '%s' is unknown (TERM); --batch needs none",
				      getenv("TERM") ? getenv("TERM") : "");
	is_begun = true;
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		init_pair(COLOR_WARM, COLOR_YELLOW, -1);
		init_pair(COLOR_HOT, COLOR_RED, -1);
	}
	return NULL;
}

void vmop_top_screen_end(void)
{
	if (is_begun)
		endwin();
	is_begun = false;
}

/* Print one line, cut to the terminal.  Does nothing below its last line. */
static void put(int y, attr_t attributes, const char *text)
{
	_cleanup_free_ char *line = vmop_top_line(text, (size_t)COLS);
	if (y >= LINES || !line)
		return;
	attrset(attributes);
	mvaddstr(y, 0, line);
	if (attributes & A_REVERSE) /* to the right edge */
		for (int x = getcurx(stdscr); x < COLS && getcury(stdscr) == y && x > 0; x++)
			mvaddch(y, x, ' ');
	attrset(A_NORMAL);
}

/* ---- parts of the picture ------------------------------------------------------ */

static void describe_window(const struct vmop_top_view *view, char *ret, size_t size)
{
	uint64_t seconds = vmop_top_view_window_ns(view) / 1000000000;
	if (!seconds)
		snprintf(ret, size, "whole session");
	else if (seconds < 120)
		snprintf(ret, size, "last %llu s", (unsigned long long)seconds);
	else
		snprintf(ret, size, "last %llu min", (unsigned long long)seconds / 60);
}

/* The first line: the kind of rows, what they are of, the span, and the state. */
static void put_title(const struct vmop_top_picture *picture)
{
	const struct vmop_top_view *view = picture->view;
	char window[32];
	_cleanup_free_ char *title = NULL;
	size_t len_bytes;
	FILE *out = open_memstream(&title, &len_bytes);
	if (!out)
		return;
	describe_window(view, window, sizeof(window));
	fprintf(out, "vmoptop: %s", vmop_top_kind_name(view->kind));
	for (size_t i = 0; i < view->n_levels; i++)
		fprintf(out, "%s%s", i ? " > " : " of ", view->levels[i].name);
	fprintf(out, ", %s, every %.3g s", window, (double)view->delay_ns / 1e9);
	if (picture->cost_percent > 0)
		fprintf(out, " (%.1f %% of a CPU)", picture->cost_percent);
	if (view->is_frozen)
		fputs(", FROZEN", out);
	if (view->filter[0] && !view->is_typing)
		fprintf(out, ", filter: %s", view->filter);
	if (!fclose(out))
		put(0, A_BOLD, title);
}

/* The lines of the report, losses and certainty among them.  Return how many were printed. */
static int put_lines(const struct vmop_sheet *sheet)
{
	int most = LINES / 3, n = 0;
	for (size_t i = 0; i < sheet->n_lines && n < most; i++)
		put(1 + n++, A_NORMAL, sheet->lines[i]);
	return n;
}

static void put_keys(const struct vmop_top_view *view)
{
	char line[VMOP_TOP_FILTER_BYTES + 32];
	if (view->is_typing) {
		snprintf(line, sizeof(line), "filter: %s_", view->filter);
		put(LINES - 1, A_REVERSE, line);
		return;
	}
	put(LINES - 1, A_REVERSE,
	    "q quit  h help  d t i s c rows  Enter in  Bksp out  / filter  > sort  w span");
}

static void put_help(void)
{
	static const char *const lines[] = {
		"vmoptop: keys (q quits, any other key goes back)",
		"",
		"d t i s       rows by domain, task, image, symbol",
		"c             rows by certainty of the attribution to guests' programs",
		"Enter         only the selected row: its tasks, images, symbols",
		"Backspace Esc back to all rows above",
		"arrows PgUp PgDn Home End   select a row",
		"/ F4          filter: rows with this text; Esc ends it",
		"> < F6        sort by the next or previous event, or by name",
		"r             reverse the order",
		"w             span: 10 s, 1 min, 10 min, 1 h, the whole session",
		"Space f       freeze, and go on",
		"+ -           refresh less or more often",
		"q F10         quit",
	};
	for (int i = 0; i < (int)(sizeof(lines) / sizeof(*lines)); i++)
		put(i, i ? A_NORMAL : A_BOLD, lines[i]);
}

static attr_t attributes_of(const struct vmop_top_row *row, bool is_selected)
{
	attr_t color = A_NORMAL;
	if (COLOR_PAIRS > COLOR_HOT && row->percent >= HOT_PERCENT)
		color = COLOR_PAIR(COLOR_HOT);
	else if (COLOR_PAIRS > COLOR_HOT && row->percent >= WARM_PERCENT)
		color = COLOR_PAIR(COLOR_WARM);
	return is_selected ? A_REVERSE : color;
}

/* The rows around the selected one, from line y on. */
static void put_rows(const struct vmop_top_grid *grid, size_t selected, int y, size_t page_rows)
{
	size_t first = selected < page_rows ? 0 : selected - page_rows + 1;
	put(y, A_UNDERLINE, grid->heading);
	for (size_t i = first; i < grid->n_rows && i < first + page_rows; i++)
		put(y + 1 + (int)(i - first), attributes_of(&grid->rows[i], i == selected),
		    grid->rows[i].line);
}

struct vmop_error *vmop_top_screen_draw(const struct vmop_top_picture *picture, size_t *ret_n_rows,
					size_t *ret_page_rows, size_t *ret_row)
{
	const struct vmop_top_view *view = picture->view;
	_cleanup_(vmop_top_grid_deinit) struct vmop_top_grid grid = {0};
	struct vmop_error *err = NULL;
	*ret_n_rows = *ret_row = 0;
	*ret_page_rows = 1;
	erase();
	if (view->shows_help) {
		put_help();
		refresh();
		return NULL;
	}
	put_title(picture);
	int y = 1;
	if (picture->sheet) {
		y += put_lines(picture->sheet) + 1;
		err = vmop_top_grid_init(&grid, picture->sheet, view->filter, (size_t)COLS);
	}
	if (!err && picture->sheet) {
		*ret_page_rows = LINES > y + 3 ? (size_t)(LINES - y - 2) : 1;
		*ret_n_rows = grid.n_rows;
		size_t selected = view->selected < grid.n_rows ? view->selected
				  : grid.n_rows		       ? grid.n_rows - 1
							       : 0;
		*ret_row = grid.n_rows ? grid.rows[selected].row : SIZE_MAX;
		put_rows(&grid, selected, y, *ret_page_rows);
	}
	if (picture->message)
		put(y + 1, A_BOLD, picture->message);
	put_keys(view);
	refresh();
	return err;
}

/* ---- keys ---------------------------------------------------------------------- */

int vmop_top_screen_key(int timeout_ms)
{
	static const struct {
		int curses, key;
	} keys[] = {
		{KEY_UP, VMOP_TOP_KEY_UP},	    {KEY_DOWN, VMOP_TOP_KEY_DOWN},
		{KEY_PPAGE, VMOP_TOP_KEY_PAGE_UP},  {KEY_NPAGE, VMOP_TOP_KEY_PAGE_DOWN},
		{KEY_HOME, VMOP_TOP_KEY_HOME},	    {KEY_END, VMOP_TOP_KEY_END},
		{KEY_ENTER, VMOP_TOP_KEY_ENTER},    {'\n', VMOP_TOP_KEY_ENTER},
		{'\r', VMOP_TOP_KEY_ENTER},	    {KEY_RIGHT, VMOP_TOP_KEY_ENTER},
		{KEY_BACKSPACE, VMOP_TOP_KEY_BACK}, {'\b', VMOP_TOP_KEY_BACK},
		{0x7f, VMOP_TOP_KEY_BACK},	    {KEY_LEFT, VMOP_TOP_KEY_BACK},
		{0x1b, VMOP_TOP_KEY_ESCAPE},	    {KEY_F(1), VMOP_TOP_KEY_HELP},
		{KEY_F(4), VMOP_TOP_KEY_FILTER},    {KEY_F(6), VMOP_TOP_KEY_SORT},
		{KEY_F(10), VMOP_TOP_KEY_QUIT},
	};
	timeout(timeout_ms);
	errno = 0;
	int key = getch();
	if (key == ERR) /* a terminal that is gone gives an error at once */
		return errno == EIO || errno == ENXIO ? -1 : 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		if (keys[i].curses == key)
			return keys[i].key;
	}
	return key <= 0xff ? key : 0; /* KEY_RESIZE, too: the next picture has the new size */
}
