# SPDX-License-Identifier: GPL-2.0-or-later
man_MANS += man/vmop-events.7 man/vmop-guest-profile.1 man/vmop-session.5 man/vmopcontrol.8 man/vmopd.8 man/vmopreport.1
EXTRA_DIST += man/vmop-events.7 man/vmop-guest-profile.1 man/vmop-session.5 man/vmopcontrol.8 man/vmopd.8 man/vmopreport.1
