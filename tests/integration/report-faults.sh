#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Session files that are damaged, newer, unreadable, being written or left by a killed writer.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C
mkdir -p "$sessions"
spare_leak_checks

report() {
	"$build/vmopreport" --session-dir="$sessions" "$@"
}
make_session() {
	"$build/tests/fixtures/make-session" "$@" >/dev/null
}

make_session --seconds=5 "$sessions/good.vmop"
good=$sessions/good.vmop
size=$(stat -c %s "$good")

: >"$sessions/empty.vmop"
printf 'hello\n' >"$sessions/text.vmop"
cp "$good" "$sessions/newer.vmop"
# user_version: 4 bytes, big-endian, at 60 (SQLite's file format, 1.3).
printf '\377' | dd of="$sessions/newer.vmop" bs=1 seek=62 conv=notrunc status=none
refuse 3 "empty.vmop" report session:empty
refuse 3 "text.vmop" report session:text
refuse 3 "newer" report session:newer -l

# Truncated anywhere: a report of the intact part, or one line; never a crash.
step=$((size / 16))
for part in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	head -c $((part * step)) "$good" >"$sessions/short.vmop"
	refuse 3 "short.vmop" report -l session:short
done

# Bytes overwritten everywhere: no signal, and only these exit statuses.
awk -v size="$size" 'BEGIN { srand(7); for (i = 0; i < 60; i++) print int(rand() * size), int(rand() * 256) }' |
	while read -r at byte; do
		cp "$good" "$sessions/hit.vmop"
		# shellcheck disable=SC2059 # the format is the byte
		for more in 0 1 2 3 4 5 6 7; do
			printf "\\$(printf %o "$byte")" |
				dd of="$sessions/hit.vmop" bs=1 seek=$((at + more)) conv=notrunc status=none
		done
		for options in "-l" "-d" "--by=task" "--by=domain --format=json" "--list-sessions"; do
			got=0
			# shellcheck disable=SC2086 # options are words
			report $options session:hit >"$work/out" 2>&1 </dev/null || got=$?
			[ "$got" -le 3 ] || {
				echo "FAILED: byte $at = $byte, $options: exit $got"
				cat "$work/out"
				: >"$work/crashed"
			}
		done
	done
[ ! -e "$work/crashed" ] || failed=1
rm -f "$sessions/hit.vmop"

# An unreadable file is a row of the list with the reason.
is "the list goes on" "$(report --list-sessions --format=csv | wc -l)" -eq 6
report --list-sessions --format=csv | grep -q '^newer,.*newer' || fail "the list doesn't say: newer"

# A killed writer, and a live one.
make_session --unfinished --seconds=5 "$sessions/killed.vmop"
expect 0 "not ended: still recording, or cut off" report session:killed
expect 0 "10000 samples" report session:killed
mkfifo "$work/hold"
"$build/tests/fixtures/make-session" --hold --seconds=5 "$sessions/live.vmop" <"$work/hold" >"$work/ready" &
exec 9>"$work/hold"
until grep -q samples "$work/ready"; do
	sleep 0.05
done
expect 0 "10000 samples" report session:live
exec 9>&-
wait
expect 0 "10000 samples" report session:live

# A guest's name cannot control the terminal: its escape character is shown as text.
if [ "$(id -u)" -ne 0 ]; then
	chmod 000 "$good"
	refuse 3 "good.vmop" report session:good
	chmod 600 "$good"
fi

# A reader that exits early is not a failure.
report -l session:killed 2>/dev/null | head -n 1 >/dev/null
finish
