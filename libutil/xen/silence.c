// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/xen/silence.h"

#include <xentoollog.h>

static void be_silent(struct xentoollog_logger *logger, xentoollog_level level, int errnoval,
		      const char *context, const char *format, va_list al)
{
	(void)logger, (void)level, (void)errnoval, (void)context, (void)format, (void)al;
}

static void no_progress(struct xentoollog_logger *logger, const char *context, const char *doing,
			int percent, unsigned long done, unsigned long total)
{
	(void)logger, (void)context, (void)doing, (void)percent, (void)done, (void)total;
}

static void no_destroy(struct xentoollog_logger *logger)
{
	(void)logger;
}

struct xentoollog_logger *vmop_xen_silence(void)
{
	static struct xentoollog_logger silence = {
		.vmessage = be_silent, .progress = no_progress, .destroy = no_destroy};
	return &silence;
}
