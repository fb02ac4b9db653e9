# SPDX-License-Identifier: GPL-2.0-or-later
# These pages name directories of configure: each is generated from its .in file.
man_templates = man/vmop-guest-profile.1 man/vmop-session.5 man/vmopannotate.1 man/vmoparchive.1 man/vmopcompare.1 \
	man/vmopcontrol.8 man/vmopd.8 man/vmopreport.1 man/vmopstat.1 man/vmoptop.1
man_MANS += $(man_templates) man/libvmop.3 man/vmop-events.7
EXTRA_DIST += man/libvmop.3 man/vmop-events.7
generated_texts += $(man_templates)
