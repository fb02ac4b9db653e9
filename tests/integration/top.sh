#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmoptop in a terminal and in a pipe: rows, keys, sizes, locales, and what it refuses.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
fixtures=${VMOP_FIXTURES:-$(pwd)/tests/fixtures}
mkdir -p "$sessions"

top() {
	"$build/vmoptop" --session-dir="$sessions" "$@"
}

# ---- in a pipe ---------------------------------------------------------------
refuse 3 'no sessions in' top --batch -n1
"$fixtures/make-session" --seconds=30 "$sessions/current.vmop"
expect 0 'domain' top --batch -n1
top --batch -n1 --by=domain >"$work/out" 2>&1 || fail "a bill: $(cat "$work/out")"
for domain in host g1 g2; do
	grep -q " $domain\$" "$work/out" || fail "no row of $domain: $(cat "$work/out")"
done
is 'tables of two iterations' "$(top --batch -n2 -d0.1 --by=task 2>&1 | grep -c '^session ')" -eq 2
is 'rows' "$(top --batch -n1 -r3 --by=symbol 2>&1 | sed '1,/^samples/d' | grep -c '^ *[0-9]')" -eq 3
top --batch -n1 --by=symbol domain:g1 >"$work/out" || fail "symbols of g1"
grep -q ' g1_hot$' "$work/out" || fail "no g1_hot: $(cat "$work/out")"
# The rows of the last 10 s, which is the default span, are those of a report of it.
top --batch -n1 -r5 --by=image | sed '1,/^samples/d' | grep '^ *[0-9]' | awk '{ print $1 }' >"$work/top"
"$build/vmopreport" --session-dir="$sessions" --by=domain,image --merge=all --format=csv time:-10s.. |
	head -n 6 | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "samples") at = i; next } { print $at }' >"$work/report"
diff "$work/top" "$work/report" || fail "rows differ from vmopreport's"
top --batch | head -n 3 >/dev/null # ends with its reader
expect 2 '--delay' top --batch -d0
expect 2 '--by' top --batch --by=life
expect 2 '--iterations' top --batch -n x
expect 3 '--batch' top # no terminal

# ---- on a screen ---------------------------------------------------------------
command -v tmux >/dev/null || skip 'no tmux'
case $(top --batch -n1 2>&1; top 2>&1 </dev/null || :) in
*'without ncurses'*) skip 'built without ncurses' ;;
esac
terminals=0
tmux() {
	command tmux -S "$work/tmux-$terminals" -f /dev/null "$@"
}
# shellcheck disable=SC2154 # its own $?
trap 'status=$?; tmux kill-server 2>/dev/null || true; (exit "$status"); clean_up' EXIT

# begin COLUMNS LINES [VARIABLE=VALUE...]: run it in a new terminal.
begin() {
	columns=$1 lines=$2
	shift 2
	rm -f "$work/status"
	tmux kill-server 2>/dev/null || true
	terminals=$((terminals + 1)) # an old server may still be at its end
	tmux new-session -d -s top -x "$columns" -y "$lines" \
		"env $* '$build/vmoptop' --session-dir='$sessions' -d0.5; echo \$? >'$work/status'; read -r x"
}
shown() {
	tmux capture-pane -p -t top
}
# see TEXT: wait until the screen has it.
see() {
	tries=0
	until shown | grep -qF -e "$1"; do
		tries=$((tries + 1))
		if [ $tries -gt 100 ]; then
			fail "the screen does not show \"$1\":"
			shown | sed 's/^/    |/'
			return 0
		fi
		sleep 0.1
	done
}
key() {
	tmux send-keys -t top "$@"
}
# ended: wait until it has ended with exit status 0, and gave the terminal back.
ended() {
	tries=0
	until [ -s "$work/status" ] || [ $tries -gt 100 ]; do
		tries=$((tries + 1))
		sleep 0.1
	done
	is 'exit status' "$(cat "$work/status" 2>/dev/null)" = 0
}

begin 80 24
see 'vmoptop: domains, last 10 s'
see ' g1'
see 'q quit'
is 'columns of the widest line' "$(shown | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 80
key /
key g1
key Enter
see 'filter: g1'
key Enter
see 'vmoptop: tasks of g1'
key Enter
see 'vmoptop: images of g1 > '
key Enter
see 'vmoptop: symbols of g1 > '
see 'g1_hot'
key BSpace
see 'vmoptop: images of g1 > '
key d
see 'vmoptop: domains'
key s
see vmop_fixture_hot
key w w
see 'last 10 min'
key w w
see 'whole session'
key Space
see FROZEN
key Space
key '?'
see 'any other key goes back'
key x
see 'vmoptop: symbols'
key '>'
key r
tmux resize-window -t top -x 40 -y 12
see 'vmoptop: symbols, whole session'
is 'columns after a resize' "$(shown | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le 40
tmux resize-window -t top -x 120 -y 40
see 'q quit  h help'
key q
ended

for size in '1 1' '2 3' '500 5'; do
	# shellcheck disable=SC2086 # two words
	begin $size
	sleep 1
	key Down
	key q
	ended
done

# Colours: none where the user wants none, or the terminal has none.
begin 80 24 TERM=screen-256color
see ' g1'
key Down # off the host's row, which is hot
sleep 1
tmux capture-pane -e -p -t top | grep -q "$(printf '\033')\[3[13]m" || fail 'no colour'
key q
ended
for variable in NO_COLOR=1 TERM=vt100; do
	begin 80 24 "$variable"
	see ' g1'
	! tmux capture-pane -e -p -t top | grep -q "$(printf '\033')\[[34][1-7]m" || fail "colours with $variable"
	key q
	ended
done
begin 80 24 TERM=no-such-terminal
tries=0
until [ -s "$work/status" ] || [ $tries -gt 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
is 'exit status in an unknown terminal' "$(cat "$work/status")" -eq 3
see 'is unknown (TERM)'

# A session that comes later, and one that goes.
mv "$sessions/current.vmop" "$work/later.vmop"
begin 80 24
see 'no sessions in'
mv "$work/later.vmop" "$sessions/current.vmop"
see ' g1'
rm "$sessions/current.vmop"
see 'no sessions in'
key q
ended

# Names that control terminals, with and without UTF-8.
"$fixtures/evil-names" sessions "$sessions"
for locale in C C.UTF-8; do
	for name in "$sessions"/*.vmop; do
		name=$(basename "$name" .vmop)
		for by in domain task image symbol; do
			LC_ALL=$locale top --batch -n1 -r1000 --by=$by "session:$name" >"$work/out" 2>"$work/err" || true
			for output in out err; do
				"$fixtures/evil-names" check <"$work/$output" || fail "$by of $name in $locale"
			done
		done
	done
done
begin 80 24 LC_ALL=C
see 'vmoptop: domains'
key s
see 'vmoptop: symbols'
key q
ended
finish
