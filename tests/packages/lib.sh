# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables for and of the sourcing scripts
# Functions for the scripts of this folder. Sets src, build, debs, versions of contrib/versions, and the cache.
src=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${VMOP_BUILDDIR:-$PWD}
debs=${VMOP_PACKAGES:-$build/packages}
cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/vmop/packages
# shellcheck source=contrib/versions
. "$src/contrib/versions"
failed=0
step_began=$SECONDS

skip() {
	echo "skipped: $*"
	exit 77
}

# fail WORDS: count a failure.
fail() {
	echo "FAILED: $*"
	failed=1
}

# step WORDS: print a heading with the duration of the step before.
step() {
	echo "   ($((SECONDS - step_began)) s)"
	step_began=$SECONDS
	echo "== $*"
}

# is WHAT GOT OPERATOR WANTED: compare numbers or, with =, words.
is() {
	echo "expect $1: $3 $4"
	test "$2" "$3" "$4" || fail "$1 is '$2'"
}

# expect STATUS TEXT COMMAND...: check the exit status, and that the output has TEXT. '-': no output.
expect() {
	local want=$1 text=$2 got=0
	shift 2
	echo "expect exit $want and \"$text\" of: $*"
	"$@" >"$work/out" 2>&1 </dev/null || got=$?
	if [ "$got" -ne "$want" ]; then
		fail "exit $got and:"
	elif [ "$text" = - ]; then
		[ -s "$work/out" ] || return 0
		fail "output:"
	elif [ -n "$text" ] && ! grep -qF -e "$text" "$work/out"; then
		fail "no such text in:"
	else
		return 0
	fi
	head -n 40 "$work/out" | sed 's/^/    /'
}

# within SECONDS COMMAND...: repeat the command until it succeeds.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}

# ---- a tree of Debian -------------------------------------------------------------------------

# base_tree DIR: unpack Debian with all that the packages depend on, and nothing of vmop. It is built once.
base_tree() {
	local depends key
	depends=$(dpkg-deb -f "$(echo "$debs"/vmop_*_"$(dpkg --print-architecture)".deb)" Depends |
		sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')
	depends="$depends,fonts-dejavu-core,systemd,systemd-sysv,dbus,dkms,$VMOP_DEBIAN_PACKAGES"
	key=$(echo "$VMOP_DEBIAN_SUITE $depends" | sha256sum | cut -c1-16)
	mkdir -p "$cache"
	(
		flock 9
		if [ ! -e "$cache/base-$key.tar" ]; then
			rm -f "$cache"/base-*.tar*
			mmdebstrap --variant=minbase --format=tar --include="$depends" "$VMOP_DEBIAN_SUITE" "$cache/base-$key.tar.part" \
				>"$work/mmdebstrap.log" 2>&1 ||
				skip "no tree of Debian $VMOP_DEBIAN_SUITE: $(tail -n 1 "$work/mmdebstrap.log")"
			mv "$cache/base-$key.tar.part" "$cache/base-$key.tar"
		fi
	) 9>"$cache/lock" || exit
	mkdir "$1"
	tar -C "$1" -xf "$cache/base-$key.tar"
}

# quietly COMMAND...: run it without systemd-nspawn's complaint about machines whose /run is on a disk.
quietly() {
	"$@" 2> >(grep -v '/run/systemd/nspawn/propagate' >&2)
}

# in_tree COMMAND...: run a command in the tree, with namespaces of its own, and no systemd.
in_tree() {
	SYSTEMD_SECCOMP=0 quietly systemd-nspawn -q -D "$root" --register=no --keep-unit --private-network --as-pid2 \
		--pipe --capability=all --setenv=DEBIAN_FRONTEND=noninteractive --setenv=LC_ALL=C.UTF-8 "$@"
}

# ---- the same with systemd ---------------------------------------------------------------------

# boot: start systemd in the tree. Sets leader, its pid.
boot() {
	local kvm=()
	[ ! -c /dev/kvm ] || kvm=(--bind=/dev/kvm --property=DeviceAllow=/dev/kvm)
	# systemd-nspawn would filter perf_event_open and bpf, and the container has no /sys of its own.
	SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes systemd-nspawn -q -D "$root" --boot --register=no --keep-unit \
		--private-network --capability=all --console=read-only "${kvm[@]}" -M vmop-packages </dev/null >"$work/boot.log" 2>&1 &
	nspawn=$!
	leader=
	local end=$((SECONDS + 60))
	until [ -n "$leader" ] && inside systemctl is-system-running 2>/dev/null | grep -qE 'running|degraded'; do
		kill -0 $nspawn 2>/dev/null || skip "systemd does not start in a container: $(tail -n 3 "$work/boot.log")"
		[ $SECONDS -lt $end ] || skip "systemd does not start in a container within 60 s"
		leader=$(cat "/proc/$nspawn/task/$nspawn/children" 2>/dev/null | tr -d ' ')
		sleep 0.3
	done
}

# inside COMMAND...: run a command in the booted tree.
inside() {
	nsenter -t "$leader" -m -u -i -n -p -C env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# power_off: power the booted tree off.
power_off() {
	[ -n "${nspawn-}" ] || return 0
	# systemd's pid 1 powers off.
	kill -RTMIN+4 "$leader" 2>/dev/null || true
	within 30 sh -c "! kill -0 $nspawn" || kill -9 "$leader" "$nspawn" 2>/dev/null || true
	wait $nspawn 2>/dev/null || true
	nspawn=
}
