# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034 # variables for those who source it
# Sourced by the tests here: directories for the test, and functions that check results.
set -eu
build=${VMOP_BUILDDIR:-$(pwd)}
# Sanitizers make programs several times slower: tests of many runs make fewer then.
sanitized=
case $(nm "$build/vmopreport" 2>/dev/null || :) in
*__asan_*) sanitized=yes ;;
esac
src=${VMOP_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d "${TMPDIR:-/tmp}/vmop-test.XXXXXX")
chmod 755 "$work"
sessions=$work/sessions
export VMOP_RUNDIR="$work/run" VMOP_CONFIG="$work/vmop.conf" XDG_CACHE_HOME="$work/cache"
failed=0

# Without the search for leaks, which takes half of the time of a short program with sanitizers: for tests that
# start hundreds. Unit tests, fuzz targets and the other scripts have it.
spare_leak_checks() {
	export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}detect_leaks=0"
}

daemon_pid() {
	cat "$VMOP_RUNDIR/vmopd.pid" 2>/dev/null || true
}

# Wait until process PID is gone. The test's time limit ends an endless wait.
wait_gone() {
	while :; do
		# A zombie counts as gone, unless one of its threads keeps its sockets open.
		case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null || :) in
		'') return ;;
		Z*) [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l)" -gt 1 ] || return 0 ;;
		esac
		sleep 0.05
	done
}

clean_up() {
	status=$?
	pid=$(daemon_pid)
	if [ -n "$pid" ] && kill -9 "$pid" 2>/dev/null; then
		wait_gone "$pid"
	fi
	if [ $status -ne 0 ] && [ -f "$VMOP_RUNDIR/vmopd.log" ]; then
		sed 's/^/vmopd.log: /' "$VMOP_RUNDIR/vmopd.log"
	fi
	! mountpoint -q "$work/small" 2>/dev/null || umount "$work/small"
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

skip() {
	echo "skipped: $*"
	exit 77
}

control() {
	"$build/vmopcontrol" "$@"
}

# Report a failure.
fail() {
	echo "FAILED: $*"
	failed=1
}

# expect STATUS TEXT COMMAND...: check the exit status, and that the output contains TEXT.
expect() {
	want=$1 text=$2
	shift 2
	echo "expect exit $want and \"$text\" of: $*"
	got=0
	"$@" >"$work/out" 2>&1 </dev/null || got=$?
	if [ "$got" -ne "$want" ] || { [ -n "$text" ] && ! grep -qF -e "$text" "$work/out"; }; then
		fail "exit $got and:"
		sed 's/^/    /' "$work/out"
	fi
}

# refuse STATUS TEXT COMMAND...: check the same, and that the output is one line.
refuse() {
	expect "$@"
	[ "$(wc -l <"$work/out")" -eq 1 ] || {
		fail "more or less than one line:"
		sed 's/^/    /' "$work/out"
	}
}

# is WHAT GOT OPERATOR WANTED: compare numbers or, with =, words.
is() {
	echo "expect $1: $3 $4"
	test "$2" "$3" "$4" || fail "$1 is '$2'"
}

# Print a member of --status --json, which is on an indented line of its own.
member() {
	control --status --json | sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p"
}

# fact FILE NAME: print a fact about a session file, from tests/integration/session-facts.
fact() {
	"$build/tests/integration/session-facts" "$1" | sed -n "s/^$2 //p"
}

# Skip the test unless this user is root and the kernel allows sampling the whole machine.
need_perf() {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	if ! control --run --session-dir="$work/probe" -- true >"$work/out" 2>&1; then
		grep -q 'perf_event_open\|not supported' "$work/out" && skip "$(cat "$work/out")"
		cat "$work/out"
		fail "a first session"
	fi
	rm -rf "$work/probe" "$VMOP_CONFIG"
}

# begin_guest NAME OPTION...: start a KVM guest (tests/fixtures/kvm-guest), which ends with the test. Sets $guest,
# its process. Skips the test where there is no KVM.
begin_guest() {
	id=$1
	shift
	"$build/tests/fixtures/kvm-guest" --id "$id" --seconds 600 "$@" >"$work/guest" &
	guest=$!
	trap 'kill $guest 2>/dev/null || :; clean_up' EXIT
	until grep -q pid "$work/guest"; do
		kill -0 $guest 2>/dev/null || {
			ended=0
			wait $guest || ended=$?
			[ $ended -ne 77 ] || skip "no usable /dev/kvm"
			fail "kvm-guest ends with $ended"
			exit 1
		}
		sleep 0.1
	done
}

finish() {
	# A sanitizer found an error in a daemon in the background.
	if grep -q 'Sanitizer\|runtime error' "$VMOP_RUNDIR"/vmopd.log 2>/dev/null; then
		fail "vmopd.log"
		cat "$VMOP_RUNDIR/vmopd.log"
	fi
	exit $failed
}
