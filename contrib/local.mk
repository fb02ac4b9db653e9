# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += \
	autogen.sh \
	contrib/build \
	HOWTO-cross-build.md \
	HOWTO-xen.md \
	contrib/completions/vmopcontrol \
	contrib/completions/vmopreport \
	contrib/configure-arm64 \
	contrib/cron/vmop \
	contrib/install-dependencies \
	contrib/systemd/vmopd.service \
	contrib/test \
	contrib/try
EXTRA_DIST += README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md
