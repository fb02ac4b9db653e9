# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel builds it (make -C kernel-module, or DKMS); here it is only distributed.
kernel_module_files = \
	kernel-module/Kbuild kernel-module/Makefile kernel-module/README.md \
	kernel-module/main.c \
	kernel-module/session.c kernel-module/session.h \
	kernel-module/cpu.c kernel-module/cpu.h \
	kernel-module/buffer.c kernel-module/buffer.h \
	kernel-module/ring.c kernel-module/ring.h
EXTRA_DIST += $(kernel_module_files) kernel-module/.clang-format

# dkms looks for sources here, whatever the prefix is.
dkms_source_dir = /usr/src/$(PACKAGE)-$(VERSION)

.PHONY: install-dkms uninstall-dkms
install-dkms: kernel-module/dkms.conf
	$(MKDIR_P) '$(DESTDIR)$(dkms_source_dir)/include/vmop'
	for file in $(kernel_module_files); do \
		$(INSTALL_DATA) "$(srcdir)/$$file" '$(DESTDIR)$(dkms_source_dir)' || exit 1; \
	done
	$(INSTALL_DATA) kernel-module/dkms.conf '$(DESTDIR)$(dkms_source_dir)'
	$(INSTALL_DATA) '$(srcdir)/include/vmop/xen-device.h' '$(srcdir)/include/vmop/xenoprof.h' \
		'$(DESTDIR)$(dkms_source_dir)/include/vmop'

uninstall-dkms:
	rm -rf '$(DESTDIR)$(dkms_source_dir)'
