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
	HOWTO-package.md \
	HOWTO-xen.md \
	contrib/configure-arm64 \
	contrib/install-dependencies \
	contrib/test \
	contrib/versions \
	contrib/try
EXTRA_DIST += README.md ARCHITECTURE.md BENCHMARKS.md CONTRIBUTING.md CHANGELOG.md SECURITY.md DECISIONS.md GLOSSARY.md \
	libguest/README.md hv-interface/xen/README.md

bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = contrib/completions/vmopcontrol contrib/completions/vmopannotate \
	contrib/completions/vmoparchive \
	contrib/completions/vmopcompare contrib/completions/vmopreport contrib/completions/vmopstat contrib/completions/vmoptop

# The folder that systemd reads with the prefixes /usr and /usr/local.
systemdunitdir = $(prefix)/lib/systemd/system
systemdunit_DATA = contrib/systemd/vmopd.service contrib/systemd/vmop-nightly.service \
	contrib/systemd/vmop-nightly.timer
dist_sysusers_DATA = contrib/systemd/sysusers.d/vmop.conf
sysusersdir = $(prefix)/lib/sysusers.d
tmpfilesdir = $(prefix)/lib/tmpfiles.d
tmpfiles_DATA = contrib/systemd/tmpfiles.d/vmop.conf
systemdexampledir = $(docdir)/examples/systemd
systemdexample_DATA = contrib/systemd/record.conf
EXTRA_DIST += contrib/systemd/vmop-nightly.timer

cronexampledir = $(docdir)/examples/cron
cronexample_DATA = contrib/cron/vmop
pkglibexec_SCRIPTS = contrib/cron/vmop-nightly

# The agent of an active guest of KVM, without anything else of vmop: `make install-guest DESTDIR=...`.
EXTRA_DIST += contrib/guest/70-vmop-guest.rules
guest_files = contrib/guest/vmop-guest.service contrib/guest/vmop-guest.conf
generated_texts += $(guest_files)
guestdir = $(libexecdir)/vmop-guest
udevrulesdir = $(prefix)/lib/udev/rules.d
.PHONY: install-guest
install-guest: daemon/static/vmopd$(EXEEXT) $(guest_files)
	$(MKDIR_P) '$(DESTDIR)$(guestdir)' '$(DESTDIR)$(systemdunitdir)' '$(DESTDIR)$(sysusersdir)' '$(DESTDIR)$(udevrulesdir)'
	$(INSTALL_PROGRAM) daemon/static/vmopd$(EXEEXT) '$(DESTDIR)$(guestdir)/vmopd'
	$(INSTALL_DATA) contrib/guest/vmop-guest.service '$(DESTDIR)$(systemdunitdir)'
	$(INSTALL_DATA) contrib/guest/vmop-guest.conf '$(DESTDIR)$(sysusersdir)'
	$(INSTALL_DATA) '$(srcdir)/contrib/guest/70-vmop-guest.rules' '$(DESTDIR)$(udevrulesdir)'

generated_texts += contrib/systemd/vmopd.service contrib/systemd/vmop-nightly.service \
	contrib/systemd/tmpfiles.d/vmop.conf contrib/systemd/record.conf contrib/cron/vmop contrib/cron/vmop-nightly

# Debian's packages, in packages/ of the build directory: their version is that of configure.ac.
DEB_REVISION = 1
debian_files = contrib/debian/changelog.in contrib/debian/control contrib/debian/copyright \
	contrib/debian/rules contrib/debian/source/format contrib/debian/source/lintian-overrides \
	contrib/debian/vmop.lintian-overrides contrib/debian/vmop-dkms.lintian-overrides \
	contrib/debian/vmop.docs contrib/debian/vmop.install contrib/debian/vmop.postinst \
	contrib/debian/vmop.postrm contrib/debian/vmop.prerm \
	contrib/debian/vmop-dkms.docs contrib/debian/vmop-dkms.install \
	contrib/debian/vmop-guest.install contrib/debian/vmop-guest.lintian-overrides \
	contrib/debian/vmop-guest.postinst contrib/debian/vmop-guest.postrm contrib/debian/vmop-guest.prerm \
	contrib/debian/libvmop0.install contrib/debian/libvmop0.lintian-overrides \
	contrib/debian/libvmop-dev.install contrib/debian/libvmop-dev.lintian-overrides
EXTRA_DIST += contrib/build-packages $(debian_files)

.PHONY: deb
deb:
	$(MAKE) $(AM_MAKEFLAGS) dist-xz
	$(MKDIR_P) packages
	cd packages && '$(abs_top_srcdir)/contrib/build-packages' '$(abs_top_builddir)/$(distdir).tar.xz' \
		'$(VERSION)' '$(DEB_REVISION)'
clean-local: clean-deb
.PHONY: clean-deb
clean-deb:
	rm -rf packages

# Installs, upgrades and removes them in a clean tree of Debian; needs root and some minutes.
.PHONY: check-packages
check-packages: deb tests/fixtures/make-session$(EXEEXT) tests/fixtures/kvm-guest$(EXEEXT) $(check_DATA)
	VMOP_BUILDDIR='$(abs_top_builddir)' '$(abs_top_srcdir)/tests/packages/check'
EXTRA_DIST += tests/packages/check tests/packages/lib.sh tests/packages/old-package \
	tests/packages/chroot.sh tests/packages/guest.sh tests/packages/machine.sh tests/packages/trial tests/packages/systemd.sh tests/packages/systemd-nightly.sh \
	tests/packages/systemd-service.sh tests/packages/systemd-upgrade.sh
