#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel module compiles without a warning against all installed headers (and those that the
# rigs have fetched), from the files that install-dkms puts into /usr/src; and by dkms, if it is
# installed.
. "$(dirname "$0")/common.sh"
cd "$build"
make -s install-dkms DESTDIR="$work/root" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
source=$(echo "$work"/root/usr/src/vmop-*)
version=${source##*-}
grep -qx "PACKAGE_VERSION=\"$version\"" "$source/dkms.conf" || { echo "dkms.conf: not version $version"; exit 1; }

cache=${VMOP_RIG_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vmop/rigs}/headers
tried=0 seen=' '
for headers in /usr/src/linux-headers-*-amd64 /lib/modules/*/build "$cache"/*/usr/src/linux-headers-*-amd64; do
	grep -qs '^CONFIG_XEN_PV=y' "$headers/.config" || continue
	# The same headers under another name.
	headers=$(realpath "$headers")
	name=${headers##*/}
	case $seen in *" $name "*) continue ;; esac
	seen="$seen$name "
	tried=$((tried + 1)) tried_name=$name tried_headers=$headers
	rm -rf "$work/module"
	cp -r "$source" "$work/module"
	# The kernel's compiler may be missing here; BTF is of no use in this test. Do not share
	# flags with the make that may run this test: it would warn about jobs that it cannot share.
	if ! MAKEFLAGS= make -C "$headers" M="$work/module" CC="${CC:-gcc}" CONFIG_DEBUG_INFO_BTF_MODULES= W=1 \
		modules >"$work/log" 2>&1 || ! [ -f "$work/module/vmop.ko" ] ||
		grep -E 'warning:|WARNING' "$work/log"; then
		cat "$work/log"
		echo "$headers: the module does not build, or not without warnings"
		failed=1
	fi
done

# dkms, with its trees in the test's directory, builds the files of install-dkms.
try_dkms() {
	mkdir -p "$work/dkms" "$work/installed"
	set -- --dkmstree "$work/dkms" --sourcetree "$work/root/usr/src" -m vmop -v "$version"
	${DKMS:-dkms} add "$@" &&
		${DKMS:-dkms} build "$@" -k "${tried_name#linux-headers-}" --kernelsourcedir "$tried_headers" &&
		${DKMS:-dkms} status "$@" | grep -q ': built' &&
		${DKMS:-dkms} remove "$@" --all
}
if [ $tried != 0 ] && command -v "${DKMS:-dkms}" >/dev/null; then
	try_dkms >"$work/log" 2>&1 || { cat "$work/log"; failed=1; }
fi

if [ $tried = 0 ]; then
	echo "no headers of a kernel that can be a PV domain (Debian: linux-headers-amd64)"
	exit 77
fi
echo "built against $tried kernels' headers"
[ $failed = 0 ]
