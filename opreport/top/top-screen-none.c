// SPDX-License-Identifier: GPL-2.0-or-later
/* Stands for top-screen.c in a build without ncurses: only --batch works. */
#include "opreport/top/top-screen.h"

struct vmop_error *vmop_top_screen_begin(void)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "built without ncurses; --batch prints to the terminal");
}

void vmop_top_screen_end(void)
{
}

struct vmop_error *vmop_top_screen_draw(const struct vmop_top_picture *picture, size_t *ret_n_rows,
					size_t *ret_page_rows, size_t *ret_row)
{
	(void)picture;
	*ret_n_rows = *ret_page_rows = *ret_row = 0;
	return NULL;
}

int vmop_top_screen_key(int timeout_ms)
{
	(void)timeout_ms;
	return -1;
}
