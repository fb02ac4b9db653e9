# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += \
	autogen.sh \
	contrib/build \
	contrib/install-dependencies \
	contrib/test \
	contrib/try
