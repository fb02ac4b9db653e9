// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/run/one-command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/setup.h"
#include "opreport/compare/run/compare-chart.h"
#include "opreport/compare/run/compare-page.h"
#include "opreport/compare/run/recording.h"
#include "opreport/output/printing.h"

/* The bars of a chart: the most expensive functions. */
#define CHART_TOP 10

/* Accepted in names of sessions, as by vmopcontrol --save. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* ---- files of an event -------------------------------------------------------------- */

static struct vmop_error *print_chart(const void *arg, FILE *out)
{
	return vmop_compare_chart_print(arg, out);
}

static struct vmop_error *print_page(const void *arg, FILE *out)
{
	return vmop_compare_page_print(arg, out);
}

/* Set *ret to the chart as text, or to NULL where vmop has no charts.  The caller frees it. */
static struct vmop_error *draw(const struct vmop_compare_chart *chart, char **ret)
{
	size_t len;
	FILE *out = open_memstream(ret, &len);
	if (!out)
		return &vmop_error_no_memory;
	struct vmop_error *err = vmop_compare_chart_print(chart, out);
	if (fclose(out) != 0 && !err)
		return &vmop_error_no_memory;
	if (!err)
		return NULL;
	free(*ret);
	*ret = NULL;
	if (err->code != VMOP_ERROR_CANT)
		return err;
	if (chart->event == 0) /* the others have the same reason */
		vmop_log_notice("no chart: %s", err->message);
	vmop_error_destroy(err);
	return NULL;
}

static struct vmop_error *write_event(const char *dir, const struct vmop_comparison *comparison,
				      size_t event)
{
	char name[128];
	_cleanup_free_ char *svg = NULL, *title = NULL, *csv = NULL, *chart_path = NULL,
			    *page_path = NULL;
	vmop_compare_file_name(comparison, event, name, sizeof(name));
	if (asprintf(&title, "%s: %s and %s", comparison->events[event].label,
		     comparison->sides[0].label, comparison->sides[1].label) < 0 ||
	    asprintf(&csv, "%s.csv", name) < 0 ||
	    asprintf(&chart_path, "%s/%s.svg", dir, name) < 0 ||
	    asprintf(&page_path, "%s/%s.html", dir, name) < 0)
		return &vmop_error_no_memory;
	const struct vmop_compare_chart chart = {
		.comparison = comparison,
		.event = event,
		.kind = VMOP_CHART_BARS,
		.options = {.format = VMOP_CHART_SVG},
		.ordering = {.sort = VMOP_COMPARE_BY_COUNT, .top = CHART_TOP},
		.title = title,
	};
	struct vmop_error *err = draw(&chart, &svg);
	if (!err && svg)
		err = vmop_print_to(chart_path, print_chart, &chart);
	const char *const links[] = {csv, "joined.csv"};
	const struct vmop_compare_page page = {.comparison = comparison,
					       .event = event,
					       .title = title,
					       .svg = svg,
					       .links = links,
					       .n_links = 2};
	return err ? err : vmop_print_to(page_path, print_page, &page);
}

static struct vmop_error *write_files(const void *arg, const struct vmop_comparison *comparison)
{
	const struct vmop_compare_request *request = arg;
	struct vmop_ordering all = request->output.ordering;
	size_t n_files;
	all.top = 0;
	struct vmop_error *err =
		vmop_compare_write_csv(request->output_dir, &all, comparison, &n_files);
	for (size_t e = 0; e < comparison->n_events && !err; e++)
		err = write_event(request->output_dir, comparison, e);
	return err;
}

/* ---- recordings --------------------------------------------------------------------- */

/* Return the last part of a path without slashes at its end.  The caller frees it. */
static char *last_part(const char *path)
{
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	size_t begin = len;
	while (begin > 0 && path[begin - 1] != '/')
		begin--;
	return strndup(path + begin, len - begin);
}

static struct vmop_error *record(const struct vmop_one_command *command,
				 const struct vmop_compare_request *request, const char *name,
				 bool is_guest, struct vmop_recorded *ret)
{
	const char *run = is_guest ? command->guest_run : command->run;
	const struct vmop_recording recording = {.name = name,
						 .session_dir = request->session_dir,
						 .command = run,
						 .options = &command->options,
						 .guest = command->guest,
						 .waits_for_guest = is_guest,
						 .timeout_ns = command->timeout_ns};
	vmop_log_notice("recording session %s: %s", name, run);
	return vmop_recording_run(&recording, ret);
}

/* Set *ret to the directory in which vmopcontrol keeps sessions: as given, or of the set-up file.
 */
static struct vmop_error *find_session_dir(const struct vmop_compare_request *request, char **ret)
{
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup = {0};
	const char *config = secure_getenv("VMOP_CONFIG");
	struct vmop_error *err = NULL;
	if (!request->session_dir) {
		err = vmop_setup_init(&setup);
		if (!err)
			err = vmop_setup_read(&setup, config && *config ? config : VMOP_SETUP_FILE,
					      NULL);
	}
	if (err)
		return err;
	*ret = strdup(request->session_dir ? request->session_dir : setup.session_dir);
	return *ret ? NULL : &vmop_error_no_memory;
}

/* Refuse a name that cannot be kept, before anything is recorded. */
static struct vmop_error *check_name(const char *session_dir, const char *name)
{
	_cleanup_free_ char *path = NULL;
	if (*name == '.' || strlen(name) > 100 || name[strspn(name, NAME_CHARACTERS)])
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--output-dir: its last part names the sessions: letters, "
				      "digits, '-', '_' and '.', 90 at most, not '%s'",
				      name);
	if (asprintf(&path, "%s/%s.vmop", session_dir, name) < 0) {
		path = NULL;
		return &vmop_error_no_memory;
	}
	if (access(path, F_OK) == 0)
		return vmop_error_new(
			VMOP_ERROR_CANT,
			"%s exists; another --output-dir gives the sessions other names", path);
	return NULL;
}

/* Return "domain:NAME" with backslashes before characters that have a meaning in a list of globs.
 */
static char *domain_spec(const char *name)
{
	static const char tag[] = "domain:";
	char *spec = malloc(sizeof(tag) + 2 * strlen(name)), *to = spec;
	if (!spec)
		return NULL;
	to = stpcpy(to, tag);
	for (; *name; name++) {
		if (strchr(",*?[\\", *name))
			*to++ = '\\';
		*to++ = *name;
	}
	*to = '\0';
	return spec;
}

/* The specs of both sides. */
struct sides {
	struct vmop_recorded host, guest;
	char *session_dir;
	char *host_name, *guest_name; /* of the sessions */
	char *words[8];		      /* 4 for each */
	size_t n_guest_words;
	char *host_label, *guest_label;
};

static void sides_deinit(struct sides *sides)
{
	vmop_process_tree_deinit(&sides->host.tree);
	vmop_process_tree_deinit(&sides->guest.tree);
	free(sides->session_dir);
	free(sides->host_name);
	free(sides->guest_name);
	free(sides->host_label);
	free(sides->guest_label);
	for (size_t i = 0; i < sizeof(sides->words) / sizeof(*sides->words); i++)
		free(sides->words[i]);
}

static struct vmop_error *record_both(const struct vmop_one_command *command,
				      const struct vmop_compare_request *request,
				      struct sides *sides)
{
	_cleanup_free_ char *name = last_part(request->output_dir);
	if (!name || asprintf(&sides->host_name, "%s-host", name) < 0 ||
	    asprintf(&sides->guest_name, "%s-guest", name) < 0)
		return &vmop_error_no_memory;
	struct vmop_error *err = find_session_dir(request, &sides->session_dir);
	if (!err)
		err = check_name(sides->session_dir, sides->host_name);
	if (!err)
		err = check_name(sides->session_dir, sides->guest_name);
	if (!err)
		err = record(command, request, sides->host_name, false, &sides->host);
	if (!err && !sides->host.from_ns)
		err = vmop_error_new(VMOP_ERROR_CANT, "session %s: the command did not start",
				     sides->host_name);
	if (!err)
		err = record(command, request, sides->guest_name, true, &sides->guest);
	return err;
}

/* Write "time:@SECONDS..", from the command's begin on. */
static bool write_time_spec(const struct vmop_recorded *recorded, char **ret)
{
	return asprintf(ret, "time:@%llu.%09llu..",
			(unsigned long long)(recorded->from_ns / VMOP_NS_PER_S),
			(unsigned long long)(recorded->from_ns % VMOP_NS_PER_S)) >= 0;
}

static struct vmop_error *write_specs(const struct vmop_one_command *command, struct sides *sides)
{
	static const char on_host[] = "%.80s on the host";
	bool is_host = !strcmp(command->guest, "host");
	sides->words[3] = vmop_process_tree_spec(&sides->host.tree);
	sides->words[6] = domain_spec(command->guest);
	sides->words[7] = vmop_process_tree_spec(&sides->guest.tree);
	sides->n_guest_words = is_host ? 4 : 3; /* a guest's processes have other numbers */
	if (!sides->words[3] || !sides->words[6] || !sides->words[7] ||
	    asprintf(&sides->words[0], "session:%s", sides->host_name) < 0 ||
	    !write_time_spec(&sides->host, &sides->words[1]) ||
	    asprintf(&sides->words[2], "domain:host") < 0 ||
	    asprintf(&sides->words[4], "session:%s", sides->guest_name) < 0 ||
	    !write_time_spec(&sides->guest, &sides->words[5]) ||
	    asprintf(&sides->host_label, on_host, command->run) < 0 ||
	    asprintf(&sides->guest_label, is_host ? on_host : "guest %.80s",
		     is_host ? command->guest_run : command->guest) < 0)
		return &vmop_error_no_memory;
	return NULL;
}

/* Make the directory of the files, or check the present one, before anything is recorded. */
static struct vmop_error *make_dir(const char *path)
{
	struct stat st;
	int problem = 0;
	if (mkdir(path, 0777) == 0)
		return NULL;
	if (errno != EEXIST || stat(path, &st) < 0)
		problem = errno;
	else if (!S_ISDIR(st.st_mode))
		problem = ENOTDIR;
	else if (access(path, W_OK | X_OK) < 0)
		problem = errno;
	return problem ? vmop_error_os(problem, "--output-dir=%s", path) : NULL;
}

struct vmop_error *vmop_one_command_run(const struct vmop_one_command *command,
					const struct vmop_compare_request *request)
{
	_cleanup_(sides_deinit) struct sides sides = {0};
	struct vmop_compare_request both = *request;
	struct vmop_error *err = make_dir(request->output_dir);
	if (!err)
		err = record_both(command, request, &sides);
	if (!err)
		err = write_specs(command, &sides);
	if (err)
		return err;
	both.session_dir = sides.session_dir;
	both.n_sides = 2;
	both.sides[0] = (struct vmop_side_words){(const char *const *)sides.words, 4};
	both.sides[1] =
		(struct vmop_side_words){(const char *const *)sides.words + 4, sides.n_guest_words};
	both.labels[0] = sides.host_label;
	both.labels[1] = sides.guest_label;
	both.query.exclude_idle = true;
	both.output_dir = NULL;
	both.write_files = write_files;
	both.write_arg = request;
	err = vmop_compare(&both);
	if (!err)
		vmop_log_notice("the pages, charts and CSV files are in %s", request->output_dir);
	return err;
}
