// SPDX-License-Identifier: GPL-2.0-or-later
/* A manifest that is written and read again is the same; wrong ones are tested by
 * tests/integration/archive-hostile.sh. */
#include "opreport/archive/manifest-json.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

/* Bytes that JSON, a terminal or %HH would change. */
static const char odd_path[] = "/a b/100%/\xc3\xbc/\xff\xfe/\n\x1b[2J/%00/\"\\/\xe2\x80\xae";

static void fill(struct vmop_manifest *manifest)
{
	struct vmop_member *member;
	struct vmop_manifest_image *image;
	struct vmop_manifest_source *source;
	*manifest = (struct vmop_manifest){.vmop = "1",
					   .hostname = "rig",
					   .time_zone = "CET-1CEST,M3.5.0,M10.5.0/3",
					   .created_ns = 7,
					   .has_sources = true};
	static const char *const names[] = {"sessions/s.vmop", "files/0-a", "files/1-b",
					    "sources/2-c"};
	for (size_t i = 0; i < 4; i++) {
		assert_ok(vmop_manifest_add_member(manifest, &member));
		*member = (struct vmop_member){.kind = (enum vmop_member_kind)i,
					       .name = names[i],
					       .path = odd_path,
					       .size_bytes = INT64_MAX,
					       .mtime_ns = i,
					       .hash = {1, 0xff}};
	}
	assert_true(vmop_build_id_parse("00ff", &manifest->members[1].build_id));
	assert_ok(vmop_manifest_add_image(manifest, &image));
	image->ref = (struct vmop_image_ref){
		.path = odd_path, .root = "/proc/1/root", .is_elsewhere = true};
	assert_true(vmop_build_id_parse("00ff", &image->ref.build_id));
	image->file = 1;
	image->debug[image->n_debug++] = 2;
	image->debug[image->n_debug++] = 1;
	assert_ok(vmop_manifest_add_image(manifest, &image));
	image->ref.path = "/gone";
	image->reason = "no such file";
	assert_ok(vmop_manifest_add_source(manifest, &source));
	*source = (struct vmop_manifest_source){.path = odd_path, .root = "", .file = 3};
	assert_ok(vmop_manifest_add_source(manifest, &source));
	*source = (struct vmop_manifest_source){
		.path = "x.c", .root = "/r", .file = VMOP_NO_MEMBER, .reason = "why"};
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	struct vmop_manifest written, manifest;
	_cleanup_free_ char *text = NULL, *again = NULL;
	size_t len_bytes, again_bytes;
	fill(&written);
	assert_ok(vmop_manifest_write_json(&written, &text, &len_bytes));
	assert_null(strchr(text, '\x1b'));
	assert_ok(vmop_manifest_read_json(&manifest, text, len_bytes));
	assert_string_equal(manifest.hostname, "rig");
	assert_int_equal(manifest.n_members, 4);
	assert_string_equal(manifest.members[0].path, odd_path);
	assert_true(manifest.members[3].size_bytes == INT64_MAX);
	assert_int_equal(manifest.members[2].hash[1], 0xff);
	assert_int_equal(manifest.n_images, 2);
	assert_string_equal(manifest.images[0].ref.path, odd_path);
	assert_string_equal(manifest.images[0].ref.root, "/proc/1/root");
	assert_true(manifest.images[0].ref.is_elsewhere);
	assert_int_equal(manifest.images[0].ref.build_id.bytes[1], 0xff);
	assert_int_equal(manifest.images[0].debug[1], 1);
	assert_true(manifest.images[1].file == VMOP_NO_MEMBER);
	assert_string_equal(manifest.images[1].reason, "no such file");
	assert_string_equal(manifest.sources[0].path, odd_path);
	assert_string_equal(manifest.sources[1].reason, "why");
	assert_ok(vmop_manifest_write_json(&manifest, &again, &again_bytes));
	assert_string_equal(text, again);
	vmop_manifest_deinit(&manifest);
	vmop_manifest_deinit(&written);
}

static void every_cut_is_refused(void **state)
{
	(void)state;
	struct vmop_manifest written, manifest;
	_cleanup_free_ char *text = NULL;
	size_t len_bytes;
	fill(&written);
	assert_ok(vmop_manifest_write_json(&written, &text, &len_bytes));
	for (size_t len = 0; len < len_bytes; len++) {
		struct vmop_error *err = vmop_manifest_read_json(&manifest, text, len);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		assert_null(strchr(err->message, '\n'));
		vmop_error_destroy(err);
		vmop_manifest_deinit(&manifest);
	}
	vmop_manifest_deinit(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(every_cut_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
