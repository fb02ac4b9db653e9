// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/picture.h"

#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/escape.h"

/* The longest text, in bytes of its escaped form: much more than a page is wide. */
#define TEXT_MAX_BYTES 512

/* Glyphs may leave their line by so much, in points, as slanted ones do. */
#define INK_TOLERANCE 2

#define FONT_FAMILY "DejaVu Sans, sans-serif"

const struct vmop_text_style vmop_text_title = {
	.size = 13, .is_bold = true, .color = {.08, .08, .08}};
const struct vmop_text_style vmop_text_label = {.size = 9, .color = {.08, .08, .08}};
const struct vmop_text_style vmop_text_small = {.size = 7.5, .color = {.35, .35, .35}};

/* ---- shapes ---------------------------------------------------------------- */

/* Return a new shape, or NULL without memory. */
static struct vmop_shape *add(struct vmop_picture *picture, enum vmop_shape_kind kind)
{
	if (!vmop_array_reserve(picture->shapes, picture->capacity, picture->n + 1)) {
		picture->no_memory = true;
		return NULL;
	}
	struct vmop_shape *shape = &picture->shapes[picture->n++];
	*shape = (struct vmop_shape){.kind = kind, .first_point = picture->n_points};
	return shape;
}

void vmop_picture_rect(struct vmop_picture *picture, struct vmop_box box, struct vmop_fill fill,
		       double line_width)
{
	struct vmop_shape *shape = add(picture, VMOP_SHAPE_RECT);
	if (!shape)
		return;
	shape->box = box;
	shape->fill = fill;
	shape->line_width = line_width;
}

void vmop_picture_circle(struct vmop_picture *picture, struct vmop_point center, double radius,
			 struct vmop_fill fill)
{
	struct vmop_shape *shape = add(picture, VMOP_SHAPE_CIRCLE);
	if (!shape)
		return;
	shape->box =
		(struct vmop_box){center.x - radius, center.y - radius, 2 * radius, 2 * radius};
	shape->fill = fill;
	shape->line_width = 0.5;
}

void vmop_picture_line(struct vmop_picture *picture, struct vmop_point from, struct vmop_point to,
		       struct vmop_color color, double line_width)
{
	struct vmop_shape *shape = add(picture, VMOP_SHAPE_LINE);
	if (!shape)
		return;
	shape->box = (struct vmop_box){from.x, from.y, to.x - from.x, to.y - from.y};
	shape->fill.color = color;
	shape->line_width = line_width;
}

void vmop_picture_begin(struct vmop_picture *picture, enum vmop_shape_kind kind,
			struct vmop_fill fill)
{
	struct vmop_shape *shape = add(picture, kind);
	if (shape)
		shape->fill = fill;
}

void vmop_picture_point(struct vmop_picture *picture, double x, double y)
{
	if (picture->no_memory ||
	    !vmop_array_reserve(picture->points, picture->points_capacity, picture->n_points + 1)) {
		picture->no_memory = true;
		return;
	}
	picture->points[picture->n_points++] = (struct vmop_point){x, y};
	picture->shapes[picture->n - 1].n_points++;
}

/* ---- text ------------------------------------------------------------------ */

static PangoLayout *new_layout(struct vmop_picture *picture, const char *text,
			       enum vmop_charset charset, const struct vmop_text_style *style)
{
	char escaped[TEXT_MAX_BYTES + 4];
	if (!vmop_escape_into(escaped, TEXT_MAX_BYTES, text, charset))
		strcat(escaped, "\xe2\x80\xa6");
	PangoLayout *layout = pango_layout_new(picture->context);
	PangoFontDescription *font = pango_font_description_from_string(FONT_FAMILY);
	pango_font_description_set_size(font, (int)(style->size * PANGO_SCALE));
	if (style->is_bold)
		pango_font_description_set_weight(font, PANGO_WEIGHT_BOLD);
	pango_layout_set_font_description(layout, font);
	pango_font_description_free(font);
	pango_layout_set_single_paragraph_mode(layout, TRUE);
	pango_layout_set_auto_dir(layout, FALSE);
	pango_layout_set_text(layout, escaped, -1);
	return layout;
}

/* Return whether the glyphs are in their line, which is as high as others. */
static bool is_tidy(PangoLayout *layout, double line_height)
{
	PangoRectangle ink, logical;
	int slack = INK_TOLERANCE * PANGO_SCALE;
	pango_layout_get_extents(layout, &ink, &logical);
	return logical.height <= (int)((line_height + 0.5) * PANGO_SCALE) &&
	       ink.y >= logical.y - slack && ink.x >= logical.x - slack &&
	       ink.y + ink.height <= logical.y + logical.height + slack &&
	       ink.x + ink.width <= logical.x + logical.width + slack;
}

/* Return a layout at most max_width wide, or NULL if nothing fits.  The caller unrefs it. */
static PangoLayout *fit_layout(struct vmop_picture *picture, const char *text, double max_width,
			       const struct vmop_text_style *style, PangoRectangle *ret)
{
	double line_height = vmop_picture_line_height(picture, style);
	PangoLayout *layout = new_layout(picture, text, VMOP_CHARSET_UTF8, style);
	if (!is_tidy(layout, line_height)) {
		g_object_unref(layout);
		layout = new_layout(picture, text, VMOP_CHARSET_ASCII, style);
	}
	pango_layout_get_extents(layout, NULL, ret);
	if (ret->width > (int)(max_width * PANGO_SCALE)) {
		pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_MIDDLE);
		pango_layout_set_width(layout, (int)(max_width * PANGO_SCALE));
		pango_layout_get_extents(layout, NULL, ret);
	}
	if (max_width > 0 && ret->width <= (int)(max_width * PANGO_SCALE) && ret->width > 0)
		return layout;
	g_object_unref(layout);
	return NULL;
}

double vmop_picture_text_width(struct vmop_picture *picture, const char *text, double max_width,
			       const struct vmop_text_style *style)
{
	PangoRectangle extents;
	PangoLayout *layout = fit_layout(picture, text, max_width, style, &extents);
	if (!layout)
		return 0;
	g_object_unref(layout);
	return (double)extents.width / PANGO_SCALE;
}

double vmop_picture_line_height(struct vmop_picture *picture, const struct vmop_text_style *style)
{
	PangoRectangle extents;
	PangoLayout *layout =
		new_layout(picture, "\xc3\x84gj\xe2\x80\xa6", VMOP_CHARSET_UTF8, style);
	pango_layout_get_extents(layout, NULL, &extents);
	g_object_unref(layout);
	return (double)extents.height / PANGO_SCALE;
}

struct vmop_box vmop_picture_text(struct vmop_picture *picture, const char *text,
				  struct vmop_point at, double max_width, enum vmop_align align,
				  const struct vmop_text_style *style)
{
	PangoRectangle extents;
	PangoLayout *layout = fit_layout(picture, text, max_width, style, &extents);
	struct vmop_box box = {at.x, at.y, 0, 0};
	if (!layout)
		return box;
	struct vmop_shape *shape = add(picture, VMOP_SHAPE_TEXT);
	if (!shape) {
		g_object_unref(layout);
		return box;
	}
	box.width = (double)extents.width / PANGO_SCALE;
	box.height = (double)extents.height / PANGO_SCALE;
	if (align == VMOP_ALIGN_CENTER)
		box.x -= box.width / 2;
	else if (align == VMOP_ALIGN_RIGHT)
		box.x -= box.width;
	shape->box = box;
	shape->fill.color = style->color;
	shape->layout = layout;
	return box;
}

/* ---- the picture ------------------------------------------------------------ */

struct vmop_error *vmop_picture_init(struct vmop_picture *ret, double width)
{
	*ret = (struct vmop_picture){.width = width};
	PangoFontMap *map = pango_cairo_font_map_get_default();
	ret->context = pango_font_map_create_context(map);
	/* A point of the page is a point of the font, and no format rounds glyphs to pixels. */
	pango_cairo_context_set_resolution(ret->context, 72);
	pango_context_set_round_glyph_positions(ret->context, FALSE);
	pango_context_set_base_dir(ret->context, PANGO_DIRECTION_LTR);
	cairo_font_options_t *options = cairo_font_options_create();
	cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
	pango_cairo_context_set_font_options(ret->context, options);
	cairo_font_options_destroy(options);
	PangoFontDescription *wanted = pango_font_description_from_string(FONT_FAMILY " 9");
	PangoFont *font = pango_font_map_load_font(map, ret->context, wanted);
	pango_font_description_free(wanted);
	if (!font)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "charts need a font, and there is none (Debian: "
				      "fonts-dejavu-core)");
	g_object_unref(font);
	return NULL;
}

void vmop_picture_deinit(struct vmop_picture *picture)
{
	for (size_t i = 0; i < picture->n; i++) {
		if (picture->shapes[i].layout)
			g_object_unref(picture->shapes[i].layout);
	}
	if (picture->context)
		g_object_unref(picture->context);
	free(picture->shapes);
	free(picture->points);
}
