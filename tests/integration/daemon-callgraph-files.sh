#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Call stacks of programs whose files change while they run: overwritten, truncated, replaced,
# deleted, or on a file system that never replies to the daemon. The stacks are whole or end with a
# reason, the daemon responds, and other programs' stacks stay whole.
# shellcheck source=tests/integration/stacks-common.sh
. "$(dirname "$0")/stacks-common.sh"
# shellcheck source=tests/hostile/hang-common.sh
. "$(dirname "$0")/../hostile/hang-common.sh"

begin() {
	rm -rf "$sessions"
	refuse 0 "sampling" control --start --callgraph --event=cpu-clock:999Hz --session-dir="$sessions"
	pid=$(daemon_pid)
}

# End the session in time, without a loss, and write its stacks.
end() {
	expect 0 "sampling, pid $pid" timeout $limit "$build/vmopcontrol" --status
	is "records lost" "$(member lost)" -eq 0
	expect 0 "" timeout $limit "$build/vmopcontrol" --shutdown
	stacks
	percent "complete in another program" unharmed '^1;' -ge 90
}

cp "$hard" "$work/unharmed"

# ---- programs whose file is gone before the daemon reads it ----
# damage NAME COMMAND...: run a copy of the fixture, and the command while the program is stopped.
damage() {
	name=$1
	shift
	cp "$hard" "$work/$name"
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'kill -STOP $$; exec "$1" spin 500' - "$work/$name" &
	child=$!
	children="$children $child"
	until grep -q '^State:.*T' "/proc/$child/status"; do sleep 0.02; done
	kill -CONT $child
	until [ "$(cat /proc/$child/comm)" = "$name" ]; do :; done
	kill -STOP $child
	"$@"
	kill -CONT $child
}
children=
begin
damage deleted rm "$work/deleted"
# shellcheck disable=SC2016 # for the inner shell
damage replaced sh -c 'rm "$1"; echo "no program" >"$1"' - "$work/replaced"
damage renamed mv "$work/renamed" "$work/away"
"$work/unharmed" spin 500
for child in $children; do
	wait "$child" || fail "a program ended with $?"
done
end
percent "complete after its file was deleted" deleted '^1;' -ge 85
percent "complete after its file was replaced" replaced '^1;' -ge 85
percent "complete after its file was renamed" renamed '^1;' -ge 85

# ---- a library whose file is overwritten or truncated: a running program's can't be ----
for change in overwritten truncated; do
	begin
	library=$work/$change.so
	cp "$build/tests/fixtures/.libs/known-library.so" "$library"
	"$known" library "$library" 3>"$work/ready" &
	child=$!
	until grep -q end "$work/ready"; do :; done
	if [ $change = overwritten ]; then
		# The code stays; what follows it is replaced.
		dd if=/dev/urandom of="$library" bs=4096 seek=2 count=3 conv=notrunc status=none
	else
		# Only the pages in memory remain.
		truncate -s 100 "$library"
	fi
	"$work/unharmed" spin 500
	wait $child || echo "it ended with $?: its code may be gone"
	end
	# A truncated one may end its program at once.
	is "stacks of it without a named end" "$(count known-paths '^[^1-9]')" -eq 0
done

# ---- a file system that never replies to the daemon ----
if mount_hanging "$hard"; then
	begin
	for i in 1 2 3; do
		as_user "$mount_point/program-$i" spin 500
	done
	"$work/unharmed" spin 1000
	end
	for i in 1 2 3; do
		percent "are samples with a named end" "program-$i" '^[589];' -ge 90
	done
	end_server
	wait_gone "$pid"
else
	echo "not tested: $(cat "$work/server")"
fi
finish
