// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/archive-settings.h"

#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/log.h"
#include "libutil/parse.h"
#include "opreport/options/command-line.h"

const char *argp_program_version = "vmoparchive " PACKAGE_VERSION;

static const char doc[] =
	"Bundle sessions with the files that reports of them need, or unpack such a bundle."
	"\vSpecs choose the sessions: session:NAME,... or session:all, time:FROM..TO; and "
	"image:GLOB,... the images whose files are bundled. Without specs it is the current "
	"session. "
	"vmopreport --archive=DIR, vmopannotate and vmopcompare read an unpacked archive. "
	"vmoparchive(1) has examples.";

enum {
	KEY_OUTPUT = 0x100,
	KEY_IMPORT,
	KEY_MAX_SIZE,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Making an archive:", 1},
	{"output", KEY_OUTPUT, "FILE", 0, "Write a tar file, compressed by zstd; -: to stdout", 1},
	{"output-directory", 'o', "DIR", 0,
	 "Write the files there instead: a directory that is new or empty", 1},
	{"list-files", 'l', NULL, 0, "Only list what the archive would have, and what is missing",
	 1},
	{"sources", 's', NULL, 0, "Also the source files of sampled functions, for vmopannotate",
	 1},
	{"exclude-dependent", 'x', NULL, 0, "Only files of programs, not of libraries and kernels",
	 1},
	{"max-size", KEY_MAX_SIZE, "SIZE", 0,
	 "At most so much before packing, files with the most samples first (default: 8G); with "
	 "--import, refuse more",
	 1},
	{NULL, 0, NULL, 0, "Unpacking an archive:", 2},
	{"import", KEY_IMPORT, "FILE", 0,
	 "Unpack FILE (-: stdin) into --output-directory (default: FILE's name without .tar.zst)",
	 2},
	{NULL, 0, NULL, 0, NULL, 20},
	{"verbose", 'V', NULL, 0, "Report on stderr which files are missing, and the reason", 20},
	{0}};

#define DEFAULT_MAX_BYTES (UINT64_C(8) << 30)

static struct vmop_error *take_size(struct vmop_archive_settings *settings, const char *text)
{
	if (vmop_parse_size_bytes(text, &settings->max_bytes) && settings->max_bytes)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--max-size takes a size such as 500M or 2G, not "
			      "'%s'",
			      text);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_archive_settings *settings = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->symbol_options;
		state->child_inputs[1] = &settings->spec;
		return 0;
	case KEY_OUTPUT:
		settings->output = arg;
		return 0;
	case 'o':
		settings->output_dir = arg;
		return 0;
	case KEY_IMPORT:
		settings->import = arg;
		return 0;
	case 'l':
		settings->list_files = true;
		return 0;
	case 's':
		settings->with_sources = true;
		return 0;
	case 'x':
		settings->exclude_dependent = true;
		return 0;
	case KEY_MAX_SIZE:
		settings->err = take_size(settings, arg);
		return settings->err ? EINVAL : 0;
	case 'V':
		vmop_log_set_level(VMOP_LOG_INFO);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static struct vmop_error *parse_arguments(struct vmop_archive_settings *settings, int argc,
					  char **argv)
{
	static const struct argp_child children[] = {
		{&vmop_symbol_options_argp, 0, "Sources of symbols:", 3},
		{&vmop_spec_argp, 0, "", 10},
		{0}};
	static const struct argp argp = {
		options, take_option, "[SPEC...]\n--import=FILE", doc, children, NULL, NULL};
	struct vmop_error **const errors[] = {&settings->err, &settings->symbol_options.err,
					      &settings->spec.err, NULL};
	return vmop_command_line_parse(&argp, argc, argv, settings, errors);
}

/* ---- checks ----------------------------------------------------------------- */

static bool selects_sessions(const struct vmop_spec *spec)
{
	return spec->sessions.n || spec->images.n || spec->time.is_set || spec->archive ||
	       spec->session_dir;
}

/* Check that the specs are those by which sessions and files are chosen. */
static struct vmop_error *check_spec(const struct vmop_spec *spec)
{
	if (spec->domains.n || spec->events.n || spec->tasks.n || spec->stacks.n || spec->cpus.n ||
	    spec->vcpus.n || spec->tgids.n || spec->tids.n || spec->certainties)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "an archive has whole sessions: of the specs only session:, "
				      "time:, image: and archive: go with vmoparchive");
	return NULL;
}

/* Set output_dir for an import to the name of its file without suffixes. */
static struct vmop_error *find_directory(struct vmop_archive_settings *settings)
{
	static const char *const suffixes[] = {".zst", ".tzst", ".tar"};
	const char *slash = strrchr(settings->import, '/');
	if (!strcmp(settings->import, "-"))
		return vmop_error_new(VMOP_ERROR_USAGE, "--import=- needs --output-directory");
	settings->made_dir = strdup(slash ? slash + 1 : settings->import);
	if (!settings->made_dir)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		size_t len = strlen(settings->made_dir), suffix_len = strlen(suffixes[i]);
		if (len > suffix_len && !strcmp(settings->made_dir + len - suffix_len, suffixes[i]))
			settings->made_dir[len - suffix_len] = '\0';
	}
	settings->output_dir = settings->made_dir;
	if (!slash && !strcmp(settings->made_dir, settings->import))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--import=%s needs --output-directory: the name has no "
				      "suffix .tar.zst",
				      settings->import);
	return NULL;
}

static struct vmop_error *check_import(struct vmop_archive_settings *settings)
{
	struct vmop_error *err = check_spec(&settings->spec);
	if (err)
		return err;
	if (settings->output || settings->list_files || settings->with_sources ||
	    settings->exclude_dependent || selects_sessions(&settings->spec))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--import takes all of an archive: only --output-directory "
				      "and --max-size go with it");
	return settings->output_dir ? NULL : find_directory(settings);
}

static struct vmop_error *check(struct vmop_archive_settings *settings)
{
	if (settings->import)
		return check_import(settings);
	struct vmop_error *err = check_spec(&settings->spec);
	int n = !!settings->output + !!settings->output_dir + settings->list_files;
	if (err)
		return err;
	if (n > 1)
		return vmop_error_new(VMOP_ERROR_USAGE, "--output, --output-directory and "
							"--list-files exclude one another");
	if (!n)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--output=FILE.tar.zst or --output-directory=DIR says where "
				      "to write; --list-files only lists");
	if (settings->output && !strcmp(settings->output, "-") && isatty(STDOUT_FILENO))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--output=-: an archive is not written to a terminal");
	return NULL;
}

struct vmop_error *vmop_archive_settings_init(struct vmop_archive_settings *ret, int argc,
					      char **argv)
{
	*ret = (struct vmop_archive_settings){.max_bytes = DEFAULT_MAX_BYTES};
	struct vmop_error *err = parse_arguments(ret, argc, argv);
	return err ? err : check(ret);
}

void vmop_archive_settings_deinit(struct vmop_archive_settings *settings)
{
	vmop_symbol_options_deinit(&settings->symbol_options);
	vmop_spec_deinit(&settings->spec);
	free(settings->made_dir);
}
