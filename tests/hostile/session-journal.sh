#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Another user puts a journal beside a session. The journal names a "super-journal", and SQLite
# would delete the file of that name. Root's programs must neither delete nor change any file; the
# error is one line.
# shellcheck source=tests/hostile/common.sh
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null || skip "no python3"

# hot_journal VICTIM >FILE: make a hot journal of one page that ends with the super-journal's name.
hot_journal() {
	python3 - "$1" <<'END'
import struct, sys
name = sys.argv[1].encode()
magic = bytes.fromhex("d9d505f920a163d7")
page = bytes(4096)
head = magic + struct.pack(">IIIII", 1, 0, 1, 512, 4096)
record = struct.pack(">I", 1) + page
record += struct.pack(">I", sum(page[i] for i in range(4096 - 200, 0, -200)) & 0xffffffff)
end = struct.pack(">I", 0) + name
end += struct.pack(">II", len(name), sum(name) & 0xffffffff) + magic
sys.stdout.buffer.write(head.ljust(512, b"\0") + record + end)
END
}

# SQLite deletes the super-journal only if it names a journal. Any file of root's is a victim.
victim=$work/victim
mkdir "$work/finished" "$work/unfinished" "$work/saved"
"$build/tests/fixtures/make-session" --seconds=3 "$work/finished/current.vmop" >/dev/null
"$build/tests/fixtures/make-session" --seconds=3 --unfinished "$work/unfinished/current.vmop" >/dev/null

# set_trap DIR FIXTURE: make a directory of the attacker with a session, a journal and a victim.
set_trap() {
	rm -rf "$1"
	cp -r "$work/$2" "$1"
	echo "root's own" >"$victim"
	hot_journal "$victim" >"$1/current.vmop-journal"
	# shellcheck disable=SC2154 # of common.sh
	chown -R "$evil_uid:$evil_uid" "$1"
	chmod 755 "$1"
}

# untouched WHAT DIR BEFORE: check that the victim exists and that DIR has not changed.
untouched() {
	is "the victim of $1" "$(cat "$victim" 2>/dev/null)" = "root's own"
	is "the directory after $1" "$(state_of "$2")" = "$3"
}

# attack DIR: use a session directory in every way that root does.
attack() {
	dir=$1
	before=$(state_of "$dir")
	refuse 3 "another user" bounded "$build/vmopcontrol" --start --session-dir="$dir"
	untouched --start "$dir" "$before"
	refuse 3 "another user" bounded "$build/vmopd" -f --start --duration=1s --session-dir="$dir"
	untouched "vmopd --start" "$dir" "$before"
	refuse 3 "another user" bounded "$build/vmopcontrol" --save=x --session-dir="$dir"
	untouched --save "$dir" "$before"
	refuse 3 "another user" bounded "$build/vmopcontrol" --reset --session-dir="$dir"
	untouched --reset "$dir" "$before"
	expect 0 "-journal: not read" bounded "$build/vmopreport" --session-dir="$dir" --by=domain
	untouched "a report of root's" "$dir" "$before"
	expect 0 "" bounded "$build/vmopreport" --session-dir="$dir" --list-sessions
	untouched "a list of root's" "$dir" "$before"
}

set_trap "$work/trap" finished
attack "$work/trap"

# The same if the attacker owns only a parent directory, or if everyone may write it.
mkdir "$work/way"
set_trap "$work/way/trap" finished
chown -R 0:0 "$work/way/trap"
chown "$evil_uid" "$work/way"
before=$(state_of "$work/way/trap")
refuse 3 "belongs to another user (uid $evil_uid)" bounded "$build/vmopcontrol" --save=x \
	--session-dir="$work/way/trap"
untouched "--save below a directory of another user" "$work/way/trap" "$before"
chown 0 "$work/way"
chown 0 "$work/way/trap"
chmod 777 "$work/way/trap"
before=$(state_of "$work/way/trap")
refuse 3 "run 'chmod go-w'" bounded "$build/vmopcontrol" --save=x --session-dir="$work/way/trap"
untouched "--save where all may write" "$work/way/trap" "$before"
# Sticky: the attacker can add entries, but not replace any.
chmod 1777 "$work/way/trap"
before=$(state_of "$work/way/trap")
refuse 3 "run 'chmod go-w'" bounded "$build/vmopcontrol" --save=x --session-dir="$work/way/trap"
untouched "--save in a sticky directory" "$work/way/trap" "$before"

# A link in a sticky directory, made by another user.
set_trap "$work/trap" finished
mkdir -m 1777 "$work/sticky"
as_evil ln -s "$work/way" "$work/sticky/link"
chmod 755 "$work/way/trap"
refuse 3 "belongs to another user (uid $evil_uid)" bounded "$build/vmopcontrol" --save=x \
	--session-dir="$work/sticky/link/trap"
# A directory in /tmp that another user made first.
as_evil mkdir "$work/sticky/prof"
refuse 3 "belongs to another user (uid $evil_uid)" bounded "$build/vmopcontrol" --start \
	--session-dir="$work/sticky/prof"
is "what is in it" "$(ls -A "$work/sticky/prof")" = ""

# Root's session in root's directory: links that root made are followed.
mv "$work/finished" "$work/own"
ln -s "$work/own" "$work/sticky/mine"
expect 0 "kept as" bounded "$build/vmopcontrol" --save=mine --session-dir="$work/sticky/mine"
[ -f "$work/own/mine.vmop" ] || fail "no own/mine.vmop"

# Reports: root reads an attacker's session and a copy of its WAL, and no file is made beside it.
set_trap "$work/trap" unfinished
rm "$work/trap/current.vmop-journal"
before=$(state_of "$work/trap")
expect 0 "(3 s)" bounded "$build/vmopreport" --session-dir="$work/trap"
untouched "a report with a WAL" "$work/trap" "$before"
expect 0 "(3 s)" as_evil timeout 20 "$build/vmopreport" --session-dir="$work/trap"
# The WAL of a third user is ignored with a warning: its content is not trusted.
chown $((evil_uid - 1)) "$work/trap/current.vmop-wal"
before=$(state_of "$work/trap")
bounded "$build/vmopreport" --session-dir="$work/trap" >"$work/out" 2>&1 || :
grep -qF -e "-wal: not read, because another user can change it" "$work/out" ||
	fail "a foreign WAL: $(cat "$work/out")"
untouched "a report with a foreign WAL" "$work/trap" "$before"
finish
