# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh
# Sourced by tests of the cost of reports about hostile sessions.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
fixtures=$build/tests/fixtures
spare_leak_checks
mkdir -p "$sessions"
# Seconds of CPU time. A sanitizer's checks take two to three times the program's own.
most_cpu_s=20
[ -z "$sanitized" ] || most_cpu_s=60

# bounded KIND OPTION...: check the cost of a report of hostile.vmop; its output is in $work/out and
# $work/err.
bounded() {
	what=$1
	shift
	got=0
	"$fixtures/within" "$most_cpu_s" 2048 "$build/vmopreport" --session-dir="$sessions" session:hostile "$@" \
		>"$work/out" 2>"$work/err" </dev/null || got=$?
	echo "$what $*: exit $got, $(wc -c <"$work/out") bytes, $(tail -n 1 "$work/err")"
	[ "$got" -eq 0 ] || fail "$what: $(cut -c 1-200 "$work/err")"
}

# says TEXT: check that the last report or its messages contain TEXT.
says() {
	cat "$work/out" "$work/err" | grep -qF -e "$1" || fail "$what: nothing says: $1"
}

# few N: print a tenth of N if there is a sanitizer, which makes reports several times slower: it shows
# errors of memory as well. Some bounds are only reached without it.
few() {
	if [ -n "$sanitized" ]; then echo $(($1 / 10)); else echo "$1"; fi
}

# made KIND N: make hostile.vmop.
made() {
	rm -f "$sessions/hostile.vmop"
	"$fixtures/make-hostile" "$1" "$2" "$sessions/hostile.vmop"
}

# stacks KIND N: make hostile.vmop with call stacks.
stacks() {
	rm -f "$sessions"/hostile.vmop*
	"$fixtures/make-hostile-stacks" "$1" "$2" "$sessions/hostile.vmop"
}
