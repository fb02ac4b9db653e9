# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=sh disable=SC2034,SC2154 # variables for those who source it, and from common.sh
# Sourced after common.sh by the tests of names that attack: run programs and check their outputs.
evil=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}/evil-names
last=$(($("$evil" count) - 1))
runs=0

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
		for output in out err; do
			"$evil" check <"$work/$output" >"$work/why" || {
				fail "std$output in $locale of $*: $(cat "$work/why")" | cat -v
				failed=1
				cat -v "$work/$output" | head -n 5
			}
		done
		# A message is one line that begins with the program's name; getopt and argp print
		# the full path.
		n=$(grep -acv '^\(/[^ ]*/\)\{0,1\}\(lt-\)\{0,1\}vmop[a-z-]*: \|^Usage: \|^Try \|^information\.$' "$work/err") || :
		[ "$n" -eq 0 ] || fail "$n lines on stderr are no message's, of: $*" | cat -v
		[ "$n" -eq 0 ] || failed=1
	done
}

# nth N: print name N with all its bytes (a command substitution removes only newlines at the end).
nth() {
	"$evil" name "$1"
}
