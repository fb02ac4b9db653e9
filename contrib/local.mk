# SPDX-License-Identifier: GPL-2.0-or-later
EXTRA_DIST += \
	autogen.sh \
	contrib/build \
	HOWTO-add-event.md \
	HOWTO-add-kernel-layout.md \
	HOWTO-add-output-format.md \
	HOWTO-add-sample-source.md \
	HOWTO-add-setup-option.md \
	HOWTO-cross-build.md \
	HOWTO-xen.md \
	contrib/configure-arm64 \
	contrib/install-dependencies \
	contrib/test \
	contrib/try
EXTRA_DIST += README.md ARCHITECTURE.md BENCHMARKS.md CONTRIBUTING.md CHANGELOG.md SECURITY.md DECISIONS.md GLOSSARY.md \
	libguest/README.md hv-interface/xen/README.md

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/completions/vmopcontrol contrib/completions/vmopannotate \
	contrib/completions/vmopcompare contrib/completions/vmopreport contrib/completions/vmopstat contrib/completions/vmoptop

# The folder that systemd reads with the prefixes /usr and /usr/local.
systemdunitdir = $(prefix)/lib/systemd/system
systemdunit_DATA = contrib/systemd/vmopd.service

cronexampledir = $(docdir)/examples/cron
cronexample_DATA = contrib/cron/vmop
pkglibexec_SCRIPTS = contrib/cron/vmop-nightly

generated_texts += contrib/systemd/vmopd.service contrib/cron/vmop contrib/cron/vmop-nightly
