#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Run the commands of the cron example; complete with bash's completion.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"

# -- completion
functions=/usr/share/bash-completion/bash_completion
[ -e "$functions" ] || skip "bash-completion is not installed"
# offered_by PROGRAM WORD...: print bash's completions of the last word.
offered_by() {
	program=$1
	shift
	PATH=$build:$PATH bash -c '
		. "$1"
		. "$2"
		program=$3
		shift 3
		COMP_WORDS=("$program" "$@") COMP_CWORD=$# COMP_LINE="$program $*"
		COMP_POINT=${#COMP_LINE}
		compopt() { :; } # exists only in a completing shell
		"_$program"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$functions" \
		"$src/contrib/completions/$program" "$program" "$@" | sort | tr '\n' ' '
}
offered() {
	offered_by vmopcontrol "$@"
}
is "completions of --sta" "$(offered --sta)" = "--stacks --start --start-daemon --status "
is "completions of --session-d" "$(offered --session-d)" = "--session-dir= "
is "completions of --separate th" "$(offered --separate th)" = "thread "
mkdir "$work/here"
is "completions of --session-dir" "$(offered --session-dir "$work/he")" = "$work/here "
is "completions of --ratio m" "$(offered_by vmopreport --ratio m)" = "mpki "
is "completions of --by c" "$(offered_by vmopreport --by c)" = "certainty cgroup cpu "
is "completions of a spec" "$(offered_by vmopreport dom)" = "domain: "
for program in vmopcontrol vmopannotate vmoparchive vmopcompare vmopreport vmopstat vmoptop; do
	[ -x "$build/$program" ] || continue # built without its library
	expect 0 "" bash -n "$src/contrib/completions/$program"
	for option in $("$build/$program" --help | grep -o -- '--[a-z][a-z-]*=\?' | sort -u); do
		offered_by $program "${option%=}" | grep -qF -e "$option" ||
			fail "$program: $option completes to nothing"
	done
done
# Every word that --by accepts is offered.
"$build/vmopreport" --by=none 2>&1 | sed 's/.*accepted: //' | tr -d , | tr ' ' '\n' | sort >"$work/words"
offered_by vmopreport --by "" | tr ' ' '\n' | grep . | sort >"$work/offered"
diff -u "$work/words" "$work/offered" || fail "completions of --by"

# -- cron: five times, a user, a command in which "%" is escaped by a backslash
cron=$build/contrib/cron/vmop
bad=$(grep -v '^#\|^$\|^[A-Z]*=' "$cron" | grep -cvE '^([0-9*]+[ 	]+){5}root	[^ ]' || true)
is "lines that are none of cron's" "$bad" -eq 0
is "'%' without a backslash" "$(grep -v '^#' "$cron" | grep -c '[^\]%' || true)" -eq 0
# The nightly recipe saves yesterday's samples, once, and deletes old sessions.
nightly=$build/contrib/cron/vmop-nightly
expect 0 "" sh -n "$nightly"
is "the command" "$(sed -n 's/^.*	root	.*\///p' "$cron")" = "$(basename "$nightly")"
mkdir -p "$sessions"
: >"$sessions/2020-01-01.vmop"
touch -d '40 days ago' "$sessions/2020-01-01.vmop"
: >"$sessions/mine.vmop"
touch -d '40 days ago' "$sessions/mine.vmop"
need_perf
rm -f "$work/probe"
expect 0 "" control --start --event=cpu-clock:100Hz --session-dir="$sessions"
save() {
	PATH=$build:$PATH VMOP_NIGHTLY_DIR=$sessions sh "$nightly"
}
# There is no day before it: nothing is compared, and nothing mailed.
for again in 1 2; do
	expect 0 "" save
	is "what cron would mail, $again" "$(wc -c <"$work/out")" -eq 0
done
is "yesterday's session" "$(ls "$sessions/$(date -d yesterday +%F).vmop")" = \
	"$sessions/$(date -d yesterday +%F).vmop"
is "old sessions" "$(cd "$sessions" && ls mine.vmop 2020-01-01.vmop 2>/dev/null)" = "mine.vmop"
expect 0 "" control --shutdown
finish
