// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/painter.h"

#include <cairo-pdf.h>
#include <cairo-ps.h>
#include <cairo-svg.h>
#include <math.h>
#include <pango/pangocairo.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/escape.h"

/* The distance of a pattern's lines, and their width. */
#define PATTERN_STEP 6.0
#define PATTERN_WIDTH 1.0

/* A PNG has so many pixels for each point, so that small texts can be read. */
#define PNG_SCALE 1.0

#define COMMENT_MAX_BYTES 512

static void set_color(cairo_t *cr, struct vmop_color color)
{
	cairo_set_source_rgb(cr, color.red, color.green, color.blue);
}

/* ---- patterns --------------------------------------------------------------- */

/*
 * Add the lines or dots of a pattern's tile.  Diagonal lines go on beyond its corners, so that
 * tiles side by side make whole ones.  Dots are quarters in the corners, and a whole one in the
 * middle.
 */
static void add_tile_path(cairo_t *cr, enum vmop_pattern pattern)
{
	const double side = PATTERN_STEP, over = side / 2;
	const bool is_cross = pattern == VMOP_PATTERN_CROSS, is_grid = pattern == VMOP_PATTERN_GRID;
	for (double shift = -side; shift <= side && (pattern == VMOP_PATTERN_SLASH || is_cross);
	     shift += side) {
		cairo_move_to(cr, shift - over, side + over);
		cairo_line_to(cr, shift + side + over, -over);
	}
	for (double shift = -side; shift <= side && (pattern == VMOP_PATTERN_BACKSLASH || is_cross);
	     shift += side) {
		cairo_move_to(cr, shift - over, -over);
		cairo_line_to(cr, shift + side + over, side + over);
	}
	if (pattern == VMOP_PATTERN_HORIZONTAL || is_grid) {
		cairo_move_to(cr, 0, side / 2);
		cairo_line_to(cr, side, side / 2);
	}
	if (pattern == VMOP_PATTERN_VERTICAL || is_grid) {
		cairo_move_to(cr, side / 2, 0);
		cairo_line_to(cr, side / 2, side);
	}
	if (pattern == VMOP_PATTERN_DOTS || pattern == VMOP_PATTERN_RINGS)
		cairo_arc(cr, side / 2, side / 2, side / 4, 0, 2 * M_PI);
}

/* Fill the path with the pattern, whose ground is painted. */
static void paint_pattern(cairo_t *cr, struct vmop_fill fill)
{
	const struct vmop_color dark = {.1, .1, .1};
	const cairo_rectangle_t extents = {0, 0, PATTERN_STEP, PATTERN_STEP};
	cairo_surface_t *tile = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, &extents);
	cairo_t *on_tile = cairo_create(tile);
	set_color(on_tile, vmop_color_lightness(fill.color) > 65 ? dark : vmop_color_page);
	cairo_set_line_width(on_tile, PATTERN_WIDTH);
	add_tile_path(on_tile, fill.pattern);
	if (fill.pattern == VMOP_PATTERN_DOTS)
		cairo_fill(on_tile);
	else
		cairo_stroke(on_tile);
	cairo_destroy(on_tile);
	cairo_pattern_t *pattern = cairo_pattern_create_for_surface(tile);
	cairo_pattern_set_extend(pattern, CAIRO_EXTEND_REPEAT);
	cairo_set_source(cr, pattern);
	cairo_fill(cr);
	cairo_pattern_destroy(pattern);
	cairo_surface_destroy(tile);
}

/* ---- shapes ---------------------------------------------------------------- */

static void add_path(cairo_t *cr, const struct vmop_picture *picture,
		     const struct vmop_shape *shape)
{
	const struct vmop_box *box = &shape->box;
	const struct vmop_point *points = picture->points + shape->first_point;
	cairo_new_path(cr);
	if (shape->kind == VMOP_SHAPE_RECT)
		cairo_rectangle(cr, box->x, box->y, box->width, box->height);
	else if (shape->kind == VMOP_SHAPE_CIRCLE)
		cairo_arc(cr, box->x + box->width / 2, box->y + box->height / 2, box->width / 2, 0,
			  2 * M_PI);
	for (size_t i = 0; i + 1 < shape->n_points && shape->kind == VMOP_SHAPE_RECTS; i += 2)
		cairo_rectangle(cr, points[i].x, points[i].y, points[i + 1].x, points[i + 1].y);
	for (size_t i = 0; i < shape->n_points && shape->kind == VMOP_SHAPE_POLYGON; i++)
		cairo_line_to(cr, points[i].x, points[i].y);
	if (shape->kind == VMOP_SHAPE_POLYGON)
		cairo_close_path(cr);
}

static void paint_area(cairo_t *cr, const struct vmop_picture *picture,
		       const struct vmop_shape *shape)
{
	add_path(cr, picture, shape);
	set_color(cr, shape->fill.color);
	cairo_fill_preserve(cr);
	if (shape->fill.pattern != VMOP_PATTERN_SOLID)
		paint_pattern(cr, shape->fill);
	if (shape->line_width <= 0)
		return;
	add_path(cr, picture, shape);
	set_color(cr, vmop_color_text);
	cairo_set_line_width(cr, shape->line_width);
	cairo_stroke(cr);
}

static void paint_shape(cairo_t *cr, const struct vmop_picture *picture,
			const struct vmop_shape *shape)
{
	PangoRectangle extents;
	cairo_new_path(cr); /* a filled path is still there */
	switch (shape->kind) {
	case VMOP_SHAPE_RECT:
	case VMOP_SHAPE_CIRCLE:
	case VMOP_SHAPE_POLYGON:
	case VMOP_SHAPE_RECTS:
		paint_area(cr, picture, shape);
		break;
	case VMOP_SHAPE_LINE:
		set_color(cr, shape->fill.color);
		cairo_set_line_width(cr, shape->line_width);
		cairo_move_to(cr, shape->box.x, shape->box.y);
		cairo_line_to(cr, shape->box.x + shape->box.width,
			      shape->box.y + shape->box.height);
		cairo_stroke(cr);
		break;
	case VMOP_SHAPE_TEXT:
		set_color(cr, shape->fill.color);
		pango_layout_get_extents(shape->layout, NULL, &extents);
		cairo_move_to(cr, shape->box.x - (double)extents.x / PANGO_SCALE,
			      shape->box.y - (double)extents.y / PANGO_SCALE);
		pango_cairo_show_layout(cr, shape->layout);
		break;
	}
}

/* ---- files ----------------------------------------------------------------- */

static cairo_status_t write_bytes(void *arg, const unsigned char *bytes, unsigned len_bytes)
{
	return fwrite(bytes, 1, len_bytes, arg) == len_bytes ? CAIRO_STATUS_SUCCESS
							     : CAIRO_STATUS_WRITE_ERROR;
}

static void set_pdf_facts(cairo_surface_t *surface, const char *title, uint64_t time_ns)
{
	char escaped[COMMENT_MAX_BYTES], when[40] = "1970-01-01T00:00:00Z";
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	if (gmtime_r(&seconds, &tm) && tm.tm_year < 8000)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	vmop_escape_into(escaped, sizeof(escaped), title, VMOP_CHARSET_UTF8);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_TITLE, escaped);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATE_DATE, when);
}

static cairo_surface_t *create_surface(const struct vmop_picture *picture,
				       enum vmop_chart_format format, const char *title,
				       uint64_t time_ns, FILE *out)
{
	double width = picture->width, height = picture->height;
	cairo_surface_t *surface = NULL;
	switch (format) {
	case VMOP_CHART_SVG:
		surface = cairo_svg_surface_create_for_stream(write_bytes, out, width, height);
		cairo_svg_surface_restrict_to_version(surface, CAIRO_SVG_VERSION_1_1);
		break;
	case VMOP_CHART_PDF:
		surface = cairo_pdf_surface_create_for_stream(write_bytes, out, width, height);
		set_pdf_facts(surface, title, time_ns);
		break;
	case VMOP_CHART_EPS:
		surface = cairo_ps_surface_create_for_stream(write_bytes, out, width, height);
		cairo_ps_surface_set_eps(surface, TRUE);
		break;
	case VMOP_CHART_PNG:
		surface =
			cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * PNG_SCALE),
						   (int)ceil(height * PNG_SCALE));
		break;
	}
	return surface;
}

/* Paint into a surface, and write it to out. */
static cairo_status_t paint(cairo_surface_t *surface, const struct vmop_picture *picture,
			    enum vmop_chart_format format, FILE *out)
{
	cairo_t *cr = cairo_create(surface);
	set_color(cr, vmop_color_page);
	cairo_paint(cr);
	for (size_t i = 0; i < picture->n; i++)
		paint_shape(cr, picture, &picture->shapes[i]);
	cairo_show_page(cr);
	cairo_status_t status = cairo_status(cr);
	cairo_destroy(cr);
	if (status == CAIRO_STATUS_SUCCESS && format == VMOP_CHART_PNG)
		return cairo_surface_write_to_png_stream(surface, write_bytes, out);
	cairo_surface_finish(surface);
	return status == CAIRO_STATUS_SUCCESS ? cairo_surface_status(surface) : status;
}

/* Copy an EPS without the comment that has the present time. */
static void copy_eps(const char *text, size_t len_bytes, FILE *out)
{
	static const char comment[] = "%%CreationDate:";
	const char *found =
		memmem(text, len_bytes < 4096 ? len_bytes : 4096, comment, sizeof(comment) - 1);
	const char *end = found ? memchr(found, '\n', len_bytes - (size_t)(found - text)) : NULL;
	if (!end) {
		fwrite(text, 1, len_bytes, out);
		return;
	}
	fwrite(text, 1, (size_t)(found - text), out);
	fwrite(end + 1, 1, len_bytes - (size_t)(end + 1 - text), out);
}

static struct vmop_error *print_to(const struct vmop_picture *picture,
				   enum vmop_chart_format format, const char *title,
				   uint64_t time_ns, FILE *out)
{
	cairo_surface_t *surface = create_surface(picture, format, title, time_ns, out);
	cairo_status_t status = cairo_surface_status(surface);
	if (status == CAIRO_STATUS_SUCCESS)
		status = paint(surface, picture, format, out);
	cairo_surface_destroy(surface);
	if (status == CAIRO_STATUS_NO_MEMORY)
		return &vmop_error_no_memory;
	if (status != CAIRO_STATUS_SUCCESS && status != CAIRO_STATUS_WRITE_ERROR)
		return vmop_error_new(VMOP_ERROR_CANT, "cairo cannot draw the chart: %s",
				      cairo_status_to_string(status));
	return NULL; /* the caller checks ferror(out) */
}

struct vmop_error *vmop_painter_print(const struct vmop_picture *picture,
				      enum vmop_chart_format format, const char *title,
				      uint64_t time_ns, FILE *out)
{
	if (picture->no_memory)
		return &vmop_error_no_memory;
	if (format != VMOP_CHART_EPS)
		return print_to(picture, format, title, time_ns, out);
	_cleanup_free_ char *text = NULL;
	size_t len_bytes = 0;
	FILE *memory = open_memstream(&text, &len_bytes);
	if (!memory)
		return &vmop_error_no_memory;
	struct vmop_error *err = print_to(picture, format, title, time_ns, memory);
	if (fclose(memory) && !err)
		return &vmop_error_no_memory;
	if (!err)
		copy_eps(text, len_bytes, out);
	return err;
}
