# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by tests of what reports of hostile sessions cost.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
fixtures=$build/tests/fixtures
mkdir -p "$sessions"

# bounded KIND OPTION...: a report of hostile.vmop, its output in $work/out and $work/err.
bounded() {
	what=$1
	shift
	got=0
	"$fixtures/within" 20 2048 "$build/vmopreport" --session-dir="$sessions" session:hostile "$@" \
		>"$work/out" 2>"$work/err" </dev/null || got=$?
	echo "$what $*: exit $got, $(wc -c <"$work/out") bytes, $(tail -n 1 "$work/err")"
	[ "$got" -eq 0 ] || fail "$what: $(cut -c 1-200 "$work/err")"
}

# says TEXT: in the last report, or beside it.
says() {
	cat "$work/out" "$work/err" | grep -qF -e "$1" || fail "$what: nothing says: $1"
}

# made KIND N
made() {
	rm -f "$sessions/hostile.vmop"
	"$fixtures/make-hostile" "$1" "$2" "$sessions/hostile.vmop"
}
