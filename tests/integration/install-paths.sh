#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# "make install": no installed text names a directory that vmop does not use.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
root=$work/root
# directory NAME: print the configured path.
directory() {
	MAKEFLAGS='' make -s -C "$build" --eval="vmop-print: ; @echo \$($1)" vmop-print
}
# Do not share flags with the make that may run this test.
MAKEFLAGS='' make -s -C "$build" install DESTDIR="$root" >"$work/install.log" 2>&1 || {
	tail -n 5 "$work/install.log"
	fail "make install"
}
sbin=$(directory sbindir) bin=$(directory bindir) prefix=$(directory prefix)
state=$(directory localstatedir)/lib/vmop etc=$(directory sysconfdir)/vmop run=$(directory runstatedir)/vmop
for program in "$sbin/vmopd" "$bin/vmopcontrol" "$bin/vmopreport" "$bin/vmoptop" "$bin/vmopannotate" "$bin/vmopstat"; do
	is "$program" "$(ls "$root$program")" = "$root$program"
done
# The paths in the output of --help.
"$root$bin/vmopcontrol" --help | tr -s ' \n' ' ' >"$work/help"
is "the session directory in --help" "$(grep -cF "(default: $state)" "$work/help")" -eq 1
is "the set-up file in --help" "$(grep -cF "$etc/vmop.conf" "$work/help")" -eq 1
is "the run directory in vmopd" "$(grep -cF -e "$run" "$root$sbin/vmopd")" -ge 1

# The module that draws charts is found from the program's place.
if [ -e "$build/.libs/vmop_charts.so" ]; then
	"$build/tests/fixtures/make-session" "$work/current.vmop" >/dev/null
	expect 0 '' "$root$bin/vmopreport" --session-dir="$work" --chart=bars -o "$work/bars.svg"
	is "module" "$(find "$root" -name vmop_charts.so)" = "$root$(directory pkglibdir)/vmop_charts.so"
	rm "$root$(directory pkglibdir)/vmop_charts.so"
	expect 3 "$root$(directory pkglibdir)/vmop_charts.so" \
		"$root$bin/vmopreport" --session-dir="$work" --chart=bars -o "$work/bars.svg"
fi

# The defaults are system directories, unless configure had options for them.
told=$(sed -n '1,/^## /s/^  \$ //p' "$build/config.log")
case $prefix in
/usr | /usr/local)
	case $told in
	*--sysconfdir* | *--localstatedir* | *--runstatedir*) ;;
	*) is "defaults with prefix $prefix" "$etc $state $run" = "/etc/vmop /var/lib/vmop /run/vmop" ;;
	esac
	;;
esac

# Texts: manual pages, unit, cron example, completions.
find "$root" -type f ! -name '*.la' ! -name '*.so' ! -name '*.so.*' ! -perm -u+x >"$work/texts"
for name in vmopd.8 vmopcontrol.8 vmopreport.1 vmoptop.1 vmopannotate.1 vmoparchive.1 vmopstat.1 libvmop.3 vmop.h libvmop.pc vmop-session.5 vmopd.service vmop-nightly.service vmop-nightly.timer \
	sysusers.d/vmop.conf tmpfiles.d/vmop.conf systemd/record.conf cron/vmop completions/vmopcontrol; do
	is "installed texts called $name" "$(grep -c "/$name\$" "$work/texts")" -eq 1
done
while read -r text; do
	is "variables left in ${text##*/}" "$(grep -c '@[a-z]*dir@' "$text")" -eq 0
	# Absolute paths that contain vmop.
	grep -oE '(^|[^A-Za-z0-9_.@~-])(/[A-Za-z0-9_.+-]+)*/[A-Za-z0-9_.+-]*vmop[A-Za-z0-9_.+/-]*' "$text" |
		grep -o '/.*' | sed 's/\.$//' | sort -u >"$work/paths" || continue
	while read -r path; do
		case $path in
		"$state" | "$state"/* | "$etc" | "$etc"/* | "$run" | "$run"/*) ;;
		/etc/cron.d/vmop | /etc/systemd/system/vmopd.service.d* | /etc/modules-load.d/vmop.conf) ;; # where the reader is to put it
		/dev/* | /tmp/*) ;; # the kernel's, and examples
		/local/domain/*) ;; # a path in xenstore
		"$state"-guest | "$run"-guest) ;; # vmop-guest.service makes them, in a guest
		"${run%/vmop}"/web1/org.vmop.0) ;; # an example: the administrator's
		/vmopd | /vmopcontrol | /vmopreport | /vmoptop | /vmopannotate) ;; # follows a directory in capitals
		*)
			[ -e "$root$path" ] || [ -e "$root$path.so" ] ||
				fail "${text##*/} names $path, which is not there"
			;;
		esac
	done <"$work/paths"
done <"$work/texts"
is "the unit's program" "$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$(grep vmopd.service "$work/texts")")" = "$sbin/vmopd"
nightly=$(find "$root" -name vmop-nightly)
is "the directory that cron saves in" "$(grep -c "VMOP_NIGHTLY_DIR:-$state}" "$nightly")" -eq 1
is "the program that cron runs" "$root$(sed -n 's/^.*	root	.* || //p' "$(grep 'cron/vmop$' "$work/texts")")" = "$nightly"
is "the program that the timer runs" "$root$(sed -n 's/^ExecStart=//p' "$(grep vmop-nightly.service "$work/texts")")" = "$nightly"
is "the program that records from boot on" "$(sed -n 's/^ExecStart=\([^ ][^ ]*\) .*/\1/p' "$(grep record.conf "$work/texts")")" = "$sbin/vmopd"
finish
