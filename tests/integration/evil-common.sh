# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154 # variables for those who source it, and from common.sh
# Sourced after common.sh by the tests of names that attack: run programs and check their outputs.
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
last=$(($("$evil" count) - 1))
runs=0
spare_leak_checks

# plain COMMAND...: check that both outputs are plain, whatever the exit status. The two kinds of
# locale alternate, unless $locales lists others.
locales=""
plain() {
	runs=$((runs + 1))
	turn=C.UTF-8
	[ $((runs % 2)) -eq 0 ] || turn=C
	for locale in ${locales:-$turn}; do
		got=0
		LC_ALL=$locale timeout 60 "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
		[ $got -lt 124 ] || fail "exit $got of: $*"
		"$evil" check-run "$work/out" "$work/err" >"$work/why" || {
			fail "in $locale, of $*: $(cat "$work/why")" | cat -v
			failed=1
			cat -v "$work/out" "$work/err" | head -n 5
		}
	done
}

# nth N: print name N with all its bytes (a command substitution removes only newlines at the end).
nth() {
	"$evil" name "$1"
}
