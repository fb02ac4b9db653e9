// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/archive/interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

static volatile sig_atomic_t came;

static void note(int number)
{
	came = number;
}

void vmop_interrupt_catch(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction ours = {.sa_handler = note}, ignore = {.sa_handler = SIG_IGN};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct sigaction before;
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &ours, NULL);
	}
	sigaction(SIGPIPE, &ignore, NULL);
}

bool vmop_interrupt_came(void)
{
	return came;
}

struct vmop_error *vmop_interrupt_check(void)
{
	return came ? vmop_error_new(VMOP_ERROR_CANT, "ended by a signal (%s); nothing was written",
				     sigabbrev_np(came) ? sigabbrev_np(came) : "?")
		    : NULL;
}
