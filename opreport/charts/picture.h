// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A picture: shapes and measured texts at their places on a page, before they are painted.
 *
 * The figures (bars.c, ...) add shapes; painter.h paints them in their order.  Places are in points
 * from the upper left corner, and sizes of texts are those of pango's layouts, which do not depend
 * on the file's format.  Tests look at the shapes: no text overlaps another or leaves the page.
 *
 * A text is escaped as everywhere (libutil/escape.h), and shortened in its middle by an ellipsis
 * where it is too wide.  One whose glyphs leave its line, as stacked accents do, is shown as
 * escapes.
 */
#ifndef VMOP_OPREPORT_CHARTS_PICTURE_H
#define VMOP_OPREPORT_CHARTS_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"
#include "opreport/charts/palette.h"

struct _PangoContext;
struct _PangoLayout;

struct vmop_box {
	double x, y, width, height;
};

struct vmop_point {
	double x, y;
};

enum vmop_shape_kind {
	VMOP_SHAPE_RECT,
	VMOP_SHAPE_CIRCLE,  /* in the box */
	VMOP_SHAPE_LINE,    /* from the box's corner at x, y to the opposite one */
	VMOP_SHAPE_POLYGON, /* of points */
	VMOP_SHAPE_RECTS,   /* pairs of points: a corner, then width and height */
	VMOP_SHAPE_TEXT,
};

struct vmop_shape {
	enum vmop_shape_kind kind;
	struct vmop_box box;   /* TEXT: the box of its line */
	struct vmop_fill fill; /* LINE, TEXT: only its colour */
	double line_width;     /* RECT, CIRCLE, POLYGON: of the outline; 0: none */
	size_t first_point, n_points;
	struct _PangoLayout *layout; /* TEXT */
};

struct vmop_picture {
	double width, height;
	struct _PangoContext *context;
	struct vmop_shape *shapes; /* n */
	size_t n, capacity;
	struct vmop_point *points;
	size_t n_points, points_capacity;
	bool no_memory; /* shapes are missing */
};

enum vmop_align {
	VMOP_ALIGN_LEFT,   /* the text begins at x */
	VMOP_ALIGN_CENTER, /* its middle is at x */
	VMOP_ALIGN_RIGHT,  /* it ends at x */
};

struct vmop_text_style {
	double size; /* of the font, in points */
	bool is_bold;
	struct vmop_color color;
};

extern const struct vmop_text_style vmop_text_title, vmop_text_label, vmop_text_small;

/* VMOP_ERROR_CANT: there is no font.  The caller deinitialises ret also after an error. */
struct vmop_error *vmop_picture_init(struct vmop_picture *ret, double width);
void vmop_picture_deinit(struct vmop_picture *picture);

void vmop_picture_rect(struct vmop_picture *picture, struct vmop_box box, struct vmop_fill fill,
		       double line_width);
void vmop_picture_circle(struct vmop_picture *picture, struct vmop_point center, double radius,
			 struct vmop_fill fill);
void vmop_picture_line(struct vmop_picture *picture, struct vmop_point from, struct vmop_point to,
		       struct vmop_color color, double line_width);

/* Begin a POLYGON or RECTS; vmop_picture_point adds its points. */
void vmop_picture_begin(struct vmop_picture *picture, enum vmop_shape_kind kind,
			struct vmop_fill fill);
void vmop_picture_point(struct vmop_picture *picture, double x, double y);

/*
 * Add a text whose line begins at y, at most max_width wide.  Return its box; its width is 0 if not
 * even an ellipsis fits, and then nothing is added.
 */
struct vmop_box vmop_picture_text(struct vmop_picture *picture, const char *text,
				  struct vmop_point at, double max_width, enum vmop_align align,
				  const struct vmop_text_style *style);

/* Return the width that vmop_picture_text would give the text. */
double vmop_picture_text_width(struct vmop_picture *picture, const char *text, double max_width,
			       const struct vmop_text_style *style);

/* Return the height of a line of text. */
double vmop_picture_line_height(struct vmop_picture *picture, const struct vmop_text_style *style);

#endif
