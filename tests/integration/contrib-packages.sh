#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Check Debian's packages as far as possible without building them ("make check-packages" builds them): the
# libraries that they are built with, their scripts, and that purge deletes no more than it must.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
debian=$src/contrib/debian

# ---- the build needs what contrib/install-dependencies installs
# pkg-config has become pkgconf; fonts are for running; the others are in each Debian build.
"$src/contrib/install-dependencies" --list | grep -vxE 'build-essential|fonts-.*' |
	sed 's/^pkg-config$/pkgconf/' | sort >"$work/installed"
sed -n '/^Build-Depends:/,/^$/p' "$debian/control" | sed -n 's/^ \([a-z0-9+.-]*\).*/\1/p' |
	grep -vxE 'debhelper-compat|dh-sequence-.*|systemd' | sort >"$work/needed"
is "packages in one list only" "$(comm -3 "$work/installed" "$work/needed" | wc -l)" -eq 0
comm -3 "$work/installed" "$work/needed"

# ---- the scripts
for script in vmop.postinst vmop.prerm vmop.postrm vmop-guest.postinst vmop-guest.prerm vmop-guest.postrm; do
	expect 0 "" sh -n "$debian/$script"
	is "the place of debhelper's part in $script" "$(grep -c '^#DEBHELPER#$' "$debian/$script")" -eq 1
done

# purge ROOT: run the script below a directory.
purge() {
	DPKG_ROOT=$1 sh "$debian/vmop.postrm" purge
}
root=$work/root dir=$work/root/var/lib/vmop
expect 0 "" purge "$root" # nothing is there
mkdir -p "$dir" "$root/etc/vmop" "$root/run/vmop" "$root/var/cache/vmop/symbols" "$work/other"
touch "$dir/current.vmop" "$dir/old day.vmop" "$dir/current.vmop-journal" "$root/etc/vmop/vmop.conf" "$work/other/day.vmop"
cp -r "$root" "$work/again"
expect 0 "" purge "$root"
is "what is left" "$(cd "$root" && find . -mindepth 1 | sort | tr '\n' ' ')" = \
	"./etc ./run ./var ./var/cache ./var/lib "
# Files of others stay, and links are not followed.
root=$work/again dir=$work/again/var/lib/vmop
mkdir "$dir/day.vmop"
touch "$dir/notes" "$root/etc/vmop/other.conf"
ln -s "$work/other/day.vmop" "$dir/link.vmop"
expect 0 "" purge "$root"
is "what is left" "$(cd "$dir" && find . -mindepth 1 | sort | tr '\n' ' ')" = "./day.vmop ./link.vmop ./notes "
is "configuration of others" "$(find "$root/etc/vmop/other.conf" | wc -l)" -eq 1
# The guest's package has a directory of its own, and touches no other.
guest=$work/guest/var/lib/vmop-guest
mkdir -p "$guest" "$work/guest/var/lib/vmop" "$work/guest/run/vmop-guest"
touch "$guest/current.vmop" "$guest/current.vmop-wal" "$guest/notes" "$work/guest/var/lib/vmop/current.vmop"
expect 0 "" env DPKG_ROOT="$work/guest" sh "$debian/vmop-guest.postrm" remove
is "sessions after a removal" "$(find "$guest" -name '*.vmop' | wc -l)" -eq 1
expect 0 "" env DPKG_ROOT="$work/guest" sh "$debian/vmop-guest.postrm" purge
is "what is left" "$(cd "$work/guest" && find . -type f | sort | tr '\n' ' ')" = "./var/lib/vmop-guest/notes ./var/lib/vmop/current.vmop "
rm -r "$dir"
ln -s "$work/other" "$dir"
expect 0 "" purge "$root"
is "a directory elsewhere" "$(find "$work/other/day.vmop" | wc -l)" -eq 1
expect 0 "" env DPKG_ROOT="$root" sh "$debian/vmop.postrm" remove
# An upgrade or a failed one deletes nothing.
for action in remove upgrade failed-upgrade abort-install disappear; do
	mkdir -p "$work/$action/var/lib/vmop"
	touch "$work/$action/var/lib/vmop/current.vmop"
	expect 0 "" env DPKG_ROOT="$work/$action" sh "$debian/vmop.postrm" $action
	is "sessions after $action" "$(find "$work/$action/var/lib/vmop" -type f | wc -l)" -eq 1
done
finish
