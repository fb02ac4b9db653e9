# SPDX-License-Identifier: GPL-2.0-or-later
noinst_HEADERS = \
	include/vmop/domain.h \
	include/vmop/guest-context.h \
	include/vmop/guest-frame.h \
	include/vmop/guest-numbers.h \
	include/vmop/ids.h \
	include/vmop/record.h \
	include/vmop/stack.h \
	include/vmop/symbol.h \
	include/vmop/waits.h \
	include/vmop/xen-device.h \
	include/vmop/xenoprof.h
