# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += \
	autogen.sh \
	contrib/build \
	contrib/completions/vmopcontrol \
	contrib/cron/vmop \
	contrib/install-dependencies \
	contrib/systemd/vmopd.service \
	contrib/test \
	contrib/try
