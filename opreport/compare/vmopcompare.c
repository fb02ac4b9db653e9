// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopcompare: compare sessions.  See vmopcompare(1). */
#include <argp.h>
#include <locale.h>
#include <unistd.h>

#include "libutil/heap.h"
#include "libutil/log.h"
#include "opreport/compare/compare-settings.h"
#include "opreport/output/printing.h"

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmopcompare", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct vmop_compare_settings settings;
	struct vmop_error *err = vmop_compare_settings_init(&settings, argc, argv);
	struct vmop_compare_output *output = &settings.request.output;
	if (!err && !settings.has_width && !output->file)
		output->options.width_columns = vmop_terminal_columns(STDOUT_FILENO);
	if (!err)
		err = settings.one_command.run
			      ? vmop_one_command_run(&settings.one_command, &settings.request)
			      : vmop_compare(&settings.request);
	int status = vmop_error_exit_status(err);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	vmop_compare_settings_deinit(&settings);
	return status;
}
