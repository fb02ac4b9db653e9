// SPDX-License-Identifier: GPL-2.0-or-later
/* The layout of charts of random content: by the boxes that pango measures. */
#include "opreport/charts/chart-output.h"

#include <cmocka.h>
#include <math.h>
#include <pango/pango.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/charts/painter.h"
#include "opreport/charts/picture.h"

#define ROUNDS 200
#define CATEGORIES_MAX 60
#define STEPS_MAX 3000

/* A chart with the arrays that it refers to. */
struct sample {
	struct vmop_chart chart;
	struct vmop_chart_category categories[CATEGORIES_MAX];
	struct vmop_chart_series series[VMOP_CHART_SERIES_MAX];
	struct vmop_chart_value *values;
	char *long_name;
	const char *notes[12];
};

static uint64_t random_state;

/* Return a number in [0, n): the same ones in each run (splitmix64). */
static size_t pick(size_t n)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (size_t)((z ^ z >> 31) % n);
}

static const char *pick_name(const struct sample *sample)
{
	static const char *const names[] = {
		"main",
		"clear_page_erms",
		"",
		"std::vector<std::pair<std::string, unsigned long>, std::allocator<std::pair<"
		"std::string, unsigned long> > >::_M_realloc_insert<std::pair<std::string>>(int)",
		"</svg><script>alert(1)</script>",
		"\x1b[31m\n\r\t\xff\xfe",
		"Z\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
		"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d main \xd8\xb3\xd9\x84\xd8\xa7\xd9\x85",
		"\xe2\x80\xae"
		"evil",
		"\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97 \xf0\x9f\x98\x80",
		"%s%n%d",
	};
	size_t n = sizeof(names) / sizeof(*names), i = pick(n + 1);
	return i == n ? sample->long_name : names[i];
}

static void fill_values(struct sample *sample, size_t n)
{
	static const double powers[] = {1e-6, 1, 1e3, 1e12, 0};
	double power = powers[pick(sizeof(powers) / sizeof(*powers))];
	sample->values = calloc(n, sizeof(*sample->values));
	assert_non_null(sample->values);
	for (size_t i = 0; i < n; i++) {
		struct vmop_chart_value *value = &sample->values[i];
		value->value = (double)pick(100000) / 1000 * power;
		value->has_interval = pick(4) == 0;
		value->low = value->value * 0.5;
		value->high = value->value * (1 + (double)pick(3));
		value->is_absent = pick(10) == 0;
		value->is_coarse = pick(10) == 0;
	}
	sample->chart.values = sample->values;
}

static void sample_init(struct sample *ret, enum vmop_chart_kind kind)
{
	static const uint64_t steps_ns[] = {100000000, 1000000000, 60000000000, 3600000000000};
	*ret = (struct sample){.chart.kind = kind};
	struct vmop_chart *chart = &ret->chart;
	ret->long_name = malloc(65536);
	assert_non_null(ret->long_name);
	memset(ret->long_name, 'a' + (int)pick(26), 65535);
	ret->long_name[65535] = '\0';
	chart->title = pick_name(ret);
	chart->event = pick_name(ret);
	chart->unit = pick(2) ? "% of samples" : pick_name(ret);
	chart->losses = pick(2) ? NULL : pick_name(ret);
	chart->samples = pick(2) ? UINT64_MAX : pick(1000);
	chart->n_notes = pick(sizeof(ret->notes) / sizeof(*ret->notes) + 1);
	for (size_t i = 0; i < chart->n_notes; i++)
		ret->notes[i] = pick_name(ret);
	chart->notes = ret->notes;
	chart->categories = ret->categories;
	chart->n_categories = 1 + pick(CATEGORIES_MAX);
	for (size_t i = 0; i < chart->n_categories; i++)
		ret->categories[i] = (struct vmop_chart_category){
			pick_name(ret), pick(2) ? NULL : pick_name(ret), (uint8_t)pick(16),
			i + 1 == chart->n_categories && pick(2)};
	chart->series = ret->series;
	bool is_heat = kind == VMOP_CHART_HEAT;
	chart->n_series = is_heat ? 1 : 1 + pick(pick(2) ? 2 : 20);
	for (size_t i = 0; i < chart->n_series; i++)
		ret->series[i] =
			(struct vmop_chart_series){.label = pick_name(ret), .is_rest = i == 19};
	chart->time = (struct vmop_chart_time){.start_ns = UINT64_C(1790000000000000000) +
							   pick(1000) * 1000000000,
					       .origin_ns = UINT64_C(1790000000000000000),
					       .step_ns = steps_ns[pick(4)],
					       .n_steps = 1 + pick(is_heat ? STEPS_MAX : 200),
					       .steps_per_column = 1 + pick(60)};
	bool has_time = is_heat || kind == VMOP_CHART_TIMELINE;
	fill_values(ret, chart->n_series * (has_time ? chart->time.n_steps : chart->n_categories));
}

static void sample_deinit(struct sample *sample)
{
	free(sample->values);
	free(sample->long_name);
}

static void assert_in_page(const struct vmop_picture *picture, const struct vmop_shape *shape)
{
	const struct vmop_box *box = &shape->box;
	if (box->x < 0 || box->y < 0 || box->x + box->width > picture->width + 1e-6 ||
	    box->y + box->height > picture->height + 1e-6)
		fail_msg("shape of kind %d at %g,%g, %gx%g, leaves the page of %gx%g: %s",
			 (int)shape->kind, box->x, box->y, box->width, box->height, picture->width,
			 picture->height,
			 shape->layout ? pango_layout_get_text(shape->layout) : "");
}

static void assert_apart(const struct vmop_shape *a, const struct vmop_shape *b)
{
	const struct vmop_box *x = &a->box, *y = &b->box;
	bool overlap = x->x < y->x + y->width && y->x < x->x + x->width &&
		       x->y < y->y + y->height && y->y < x->y + x->height;
	if (overlap)
		fail_msg("'%s' at %g,%g, %gx%g overlaps '%s' at %g,%g, %gx%g",
			 pango_layout_get_text(a->layout), x->x, x->y, x->width, x->height,
			 pango_layout_get_text(b->layout), y->x, y->y, y->width, y->height);
}

/* Check that the stored box is what pango measures. */
static void assert_measured(const struct vmop_shape *shape)
{
	PangoRectangle ink, logical;
	pango_layout_get_extents(shape->layout, &ink, &logical);
	assert_true(fabs((double)logical.width / PANGO_SCALE - shape->box.width) < 1e-6);
	assert_true(fabs((double)logical.height / PANGO_SCALE - shape->box.height) < 1e-6);
	assert_true(ink.height <= logical.height + 4 * PANGO_SCALE);
}

static void check_layout(const struct vmop_picture *picture)
{
	assert_false(picture->no_memory);
	for (size_t i = 0; i < picture->n; i++) {
		const struct vmop_shape *shape = &picture->shapes[i];
		if (shape->kind != VMOP_SHAPE_POLYGON && shape->kind != VMOP_SHAPE_RECTS)
			assert_in_page(picture, shape);
		for (size_t p = 0; p < shape->n_points && shape->kind == VMOP_SHAPE_POLYGON; p++) {
			const struct vmop_point *at = &picture->points[shape->first_point + p];
			assert_true(at->x >= 0 && at->x <= picture->width + 1e-6);
			assert_true(at->y >= 0 && at->y <= picture->height + 1e-6);
		}
		if (shape->kind != VMOP_SHAPE_TEXT)
			continue;
		assert_measured(shape);
		for (size_t k = 0; k < i; k++) {
			if (picture->shapes[k].kind == VMOP_SHAPE_TEXT)
				assert_apart(&picture->shapes[k], shape);
		}
	}
}

static bool has_text(const struct vmop_picture *picture, const char *text)
{
	for (size_t i = 0; i < picture->n; i++) {
		const struct vmop_shape *shape = &picture->shapes[i];
		if (shape->layout && strstr(pango_layout_get_text(shape->layout), text))
			return true;
	}
	return false;
}

static void lay_out_random(enum vmop_chart_kind kind, unsigned width, unsigned height)
{
	struct sample sample;
	struct vmop_picture picture;
	sample_init(&sample, kind);
	struct vmop_error *err = vmop_chart_lay_out(&sample.chart, width, height, &picture);
	if (err)
		assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	else
		check_layout(&picture);
	if (!err && height)
		assert_true(picture.height == height);
	if (!err)
		assert_true(has_text(&picture, "event: ") && has_text(&picture, "unit: ") &&
			    has_text(&picture, " sample") && has_text(&picture, "losses: "));
	vmop_error_destroy(err);
	vmop_picture_deinit(&picture);
	sample_deinit(&sample);
}

static void labels_are_apart_and_on_the_page(void **state)
{
	(void)state;
	random_state = 1;
	for (unsigned i = 0; i < ROUNDS; i++)
		lay_out_random((enum vmop_chart_kind)(i % 4), 0, 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		lay_out_random((enum vmop_chart_kind)(i % 4), 200 + (unsigned)pick(1500),
			       200 + (unsigned)pick(1500));
}

/* Set *ret to a chart of n functions of one domain. */
static void plain_init(struct sample *ret, enum vmop_chart_kind kind, size_t n)
{
	*ret = (struct sample){.chart = {.kind = kind,
					 .title = "title",
					 .event = "cycles",
					 .unit = "% of samples",
					 .samples = 1234,
					 .losses = "lost 12",
					 .n_categories = n,
					 .n_series = 1}};
	ret->chart.categories = ret->categories;
	ret->chart.series = ret->series;
	ret->series[0].label = "host";
	for (size_t i = 0; i < n; i++)
		ret->categories[i].label = "function";
	fill_values(ret, n);
	for (size_t i = 0; i < n; i++)
		ret->values[i] = (struct vmop_chart_value){.value = (double)(i + 1)};
}

static void all_rows_are_there(void **state)
{
	(void)state;
	static const size_t counts[] = {1, 10, 40};
	for (size_t i = 0; i < 3; i++) {
		struct sample sample;
		struct vmop_picture picture;
		plain_init(&sample, VMOP_CHART_BARS, counts[i]);
		assert_null(vmop_chart_lay_out(&sample.chart, 0, 0, &picture));
		size_t bars = 0, swatches = 1;
		for (size_t s = 0; s < picture.n; s++)
			bars += picture.shapes[s].kind == VMOP_SHAPE_RECT;
		assert_int_equal(bars, counts[i] + swatches);
		assert_true(has_text(&picture, "title") && has_text(&picture, "event: cycles"));
		assert_true(has_text(&picture, "1,234 samples"));
		assert_true(has_text(&picture, "losses: lost 12"));
		vmop_picture_deinit(&picture);
		sample_deinit(&sample);
	}
}

static void a_small_page_says_what_is_missing(void **state)
{
	(void)state;
	struct sample sample;
	struct vmop_picture picture;
	plain_init(&sample, VMOP_CHART_BARS, 40);
	assert_null(vmop_chart_lay_out(&sample.chart, 600, 300, &picture));
	assert_true(has_text(&picture, " of 40 rows have room"));
	vmop_picture_deinit(&picture);
	struct vmop_error *err = vmop_chart_lay_out(&sample.chart, 200, 50, &picture);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	vmop_picture_deinit(&picture);
	sample_deinit(&sample);
}

/* The area of a circle, and the length of a bar, is its value. */
static void sizes_are_values(void **state)
{
	(void)state;
	struct sample sample;
	struct vmop_picture picture;
	double sizes[2];
	for (enum vmop_chart_kind kind = VMOP_CHART_BARS; kind <= VMOP_CHART_BUBBLES; kind++) {
		size_t n = 0;
		plain_init(&sample, kind, 2);
		sample.values[1].value = 4;
		assert_null(vmop_chart_lay_out(&sample.chart, 0, 0, &picture));
		for (size_t i = 0; i < picture.n; i++) {
			const struct vmop_shape *shape = &picture.shapes[i];
			if (kind == VMOP_CHART_BARS && shape->kind == VMOP_SHAPE_RECT && i)
				sizes[n++ % 2] = shape->box.width;
			if (shape->kind == VMOP_SHAPE_CIRCLE)
				sizes[n++ % 2] = shape->box.width * shape->box.width;
		}
		double ratio = sizes[0] > sizes[1] ? sizes[0] / sizes[1] : sizes[1] / sizes[0];
		assert_true(fabs(ratio - 4) < 1e-6);
		vmop_picture_deinit(&picture);
		sample_deinit(&sample);
	}
}

static void assert_refused(struct vmop_chart *chart, enum vmop_error_code code)
{
	struct vmop_picture picture;
	struct vmop_error *err = vmop_chart_lay_out(chart, 0, 0, &picture);
	assert_non_null(err);
	assert_int_equal(err->code, code);
	vmop_error_destroy(err);
	vmop_picture_deinit(&picture);
}

static void bounds_are_checked(void **state)
{
	(void)state;
	struct sample sample;
	plain_init(&sample, VMOP_CHART_BARS, 1);
	sample.chart.n_categories = 0;
	assert_refused(&sample.chart, VMOP_ERROR_NOT_FOUND);
	sample.chart.n_categories = VMOP_CHART_CATEGORIES_MAX + 1;
	assert_refused(&sample.chart, VMOP_ERROR_LIMIT);
	sample.chart.n_series = VMOP_CHART_SERIES_MAX + 1;
	assert_refused(&sample.chart, VMOP_ERROR_LIMIT);
	sample.chart.n_series = 1;
	sample.chart.kind = VMOP_CHART_HEAT;
	assert_refused(&sample.chart, VMOP_ERROR_NOT_FOUND);
	sample.chart.time = (struct vmop_chart_time){
		.step_ns = 1, .n_steps = VMOP_CHART_STEPS_MAX + 1, .steps_per_column = 1};
	assert_refused(&sample.chart, VMOP_ERROR_LIMIT);
	sample_deinit(&sample);
}

static void the_same_chart_gives_the_same_bytes(void **state)
{
	(void)state;
	static const char *const begins[] = {[VMOP_CHART_SVG] = "<?xml",
					     [VMOP_CHART_PNG] = "\x89PNG",
					     [VMOP_CHART_PDF] = "%PDF",
					     [VMOP_CHART_EPS] = "%!PS-Adobe-3.0 EPSF"};
	struct sample sample;
	random_state = 7;
	sample_init(&sample, VMOP_CHART_TIMELINE);
	for (enum vmop_chart_format format = VMOP_CHART_SVG; format <= VMOP_CHART_EPS; format++) {
		char *bytes[2];
		size_t len[2];
		for (size_t i = 0; i < 2; i++) {
			FILE *out = open_memstream(&bytes[i], &len[i]);
			const struct vmop_chart_options options = {.format = format};
			assert_null(vmop_chart_print(&sample.chart, &options, out));
			assert_int_equal(fclose(out), 0);
		}
		/* cairo numbers the patterns of SVG on and on within a process. */
		if (format != VMOP_CHART_SVG) {
			assert_int_equal(len[0], len[1]);
			assert_memory_equal(bytes[0], bytes[1], len[0]);
		}
		assert_memory_equal(bytes[0], begins[format], strlen(begins[format]));
		assert_null(memmem(bytes[0], len[0], "%%CreationDate", 14));
		free(bytes[0]);
		free(bytes[1]);
	}
	sample_deinit(&sample);
}

/* A line behind an area is only a line: the area's path is not drawn with it. */
static void lines_are_drawn_alone(void **state)
{
	(void)state;
	struct vmop_picture picture;
	char *svg;
	size_t len;
	assert_null(vmop_picture_init(&picture, 300));
	picture.height = 200;
	vmop_picture_rect(&picture, (struct vmop_box){10, 20, 100, 50}, vmop_palette_fill(0), 0);
	vmop_picture_line(&picture, (struct vmop_point){30, 90}, (struct vmop_point){40, 90},
			  vmop_color_text, 1);
	FILE *out = open_memstream(&svg, &len);
	assert_null(vmop_painter_print(&picture, VMOP_CHART_SVG, "title", 0, out));
	assert_int_equal(fclose(out), 0);
	const char *line = strstr(svg, "fill:none");
	assert_non_null(line);
	const char *path = strstr(line, " d=\"");
	assert_non_null(path);
	if (strncmp(path, " d=\"M 30 90 L 40 90 ", 20) != 0)
		fail_msg("the line is drawn as %.60s", path);
	free(svg);
	vmop_picture_deinit(&picture);
}

/* Return whether this machine has no font, which is an error with a reason of its own. */
static bool has_no_font(void)
{
	struct vmop_picture picture;
	struct vmop_error *err = vmop_picture_init(&picture, 600);
	bool has_none = err && strstr(err->message, "charts need a font");
	vmop_error_destroy(err);
	vmop_picture_deinit(&picture);
	return has_none;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_apart_and_on_the_page),
		cmocka_unit_test(all_rows_are_there),
		cmocka_unit_test(a_small_page_says_what_is_missing),
		cmocka_unit_test(sizes_are_values),
		cmocka_unit_test(bounds_are_checked),
		cmocka_unit_test(lines_are_drawn_alone),
		cmocka_unit_test(the_same_chart_gives_the_same_bytes),
	};
	if (has_no_font()) {
		puts("skipped: this machine has no font");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
