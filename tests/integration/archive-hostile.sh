#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Archives of another maker: --import refuses each with one line, writes nothing outside of
# its directory, and leaves nothing behind. Readers refuse a directory that was changed since.
# shellcheck source=tests/integration/common.sh
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
[ -x "$build/vmoparchive" ] || skip "built without libarchive"
python3 -c 'import tarfile' 2>/dev/null || skip "no python3"
command -v zstd >/dev/null || skip "no zstd"
export LC_ALL=C

mkdir -p "$sessions" "$work/in"
"$build/tests/fixtures/make-known-stacks" "$sessions/current.vmop" <<'STACKS'
1 web prog:main;prog:serve;lib:read 40
3 web prog:deep;lib:read 4
STACKS
"$build/vmoparchive" --session-dir="$sessions" --output-directory="$work/good" 2>"$work/err" || fail "$(cat "$work/err")"
cp "$build/tests/fixtures/split" "$work/program"
cat >"$work/make.py" <<'END'
"""Make archives like the directory GOOD, each with one thing wrong, in the directory OUT."""
import copy, io, json, os, subprocess, sys, tarfile
good, program, out, hash_program = sys.argv[1:]
manifest = json.load(open(good + "/manifest.json"))
session = open(good + "/sessions/current.vmop", "rb").read()
elf = open(program, "rb").read()
name = manifest["members"][0]["name"]
assert name == "sessions/current.vmop"

def xxh128(data):
    return subprocess.run([hash_program], input=data, capture_output=True, check=True).stdout.split()[0].decode()

def member(path, data, kind="image", **more):
    return dict({"name": path, "kind": kind, "path": "/x", "bytes": len(data), "mtime_ns": 5, "xxh128": "0" * 32}, **more)

def entry(path, data=b"", **more):
    info = tarfile.TarInfo(path)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data

def write(case, entries, change=lambda m: None, text=None, raw=None):
    changed = copy.deepcopy(manifest)
    change(changed)
    if text is None:
        text = json.dumps(changed).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in [entry("manifest.json", text)] + entries:
            tar.addfile(info, io.BytesIO(data))
    data = buffer.getvalue() if raw is None else raw(buffer.getvalue())
    packed = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout
    open(out + "/" + case + ".tar.zst", "wb").write(packed)
    return packed

ok = entry(name, session)
whole = write("ok", [ok])
def add(*members):
    return lambda m: m["members"].extend(members)
def field(key, value):
    return lambda m: m["members"][0].__setitem__(key, value)

write("traversal", [ok, entry("../escaped", b"x")])
write("absolute", [ok, entry("/tmp/vmop-archive-escaped", b"x")])
write("traversal-listed", [ok, entry("files/../../escaped", b"x")], add(member("files/../../escaped", b"x")))
write("absolute-listed", [ok, entry("/escaped", b"x")], add(member("/escaped", b"x")))
write("hidden-listed", [ok, entry("files/.x", b"x")], add(member("files/.x", b"x")))
write("deep-listed", [ok, entry("files/a/b", b"x")], add(member("files/a/b", b"x")))
write("control-listed", [ok, entry("sessions/a\x1b[2J.vmop", b"x")], add(member("sessions/a\x1b[2J.vmop", b"x", "session")))
write("long-listed", [ok, entry("files/" + "a" * 300, b"x")], add(member("files/" + "a" * 300, b"x")))
write("wal-listed", [ok, entry("sessions/current.vmop-wal", b"x")], add(member("sessions/current.vmop-wal", b"x", "session")))
for kind, number in ("symlink", tarfile.SYMTYPE), ("hardlink", tarfile.LNKTYPE), ("fifo", tarfile.FIFOTYPE), \
        ("device", tarfile.CHRTYPE), ("folder", tarfile.DIRTYPE):
    write(kind, [entry(name, b"", type=number, linkname="/etc/passwd")])
write("symlink-folder", [entry("sessions", b"", type=tarfile.SYMTYPE, linkname="/tmp"), ok])
write("twice", [ok, ok])
write("unlisted", [ok, entry("files/00009-x", b"x")])
write("missing", [], )
write("short", [entry(name, session[:-1])])
write("long", [entry(name, session + b"x")])
write("changed", [entry(name, session[:-1] + bytes([session[-1] ^ 1]))])
write("no-session", [entry(name, b"x" * 9000)], lambda m: m["members"][0].update(bytes=9000, xxh128=xxh128(b"x" * 9000)))
write("wrong-build-id", [ok, entry("files/00001-x", elf)],
      add(member("files/00001-x", elf, build_id="00112233445566778899aabbccddeeff00112233", xxh128=xxh128(elf))))
write("no-build-id", [ok, entry("files/00001-x", elf)], add(member("files/00001-x", elf, xxh128=xxh128(elf))))
write("no-elf", [ok, entry("files/00001-x", b"hello")], add(member("files/00001-x", b"hello", xxh128=xxh128(b"hello"))))
huge = member("files/00001-x", b"")
huge["bytes"] = 1 << 50
write("huge-listed", [ok], add(huge))
huge2 = dict(huge, bytes=(1 << 63) - 1)
write("huge-sum", [ok], add(huge2, dict(huge2, name="files/00002-x")))
write("negative", [ok], field("bytes", -1))
zeros = bytes(200 << 20)
write("bomb", [ok, entry("files/00001-x", zeros)], add(member("files/00001-x", zeros)))
write("bomb-unlisted", [entry("zeros", zeros), ok])
write("bomb-manifest", [ok], text=b" " * (17 << 20) + b"{}")
write("depth", [ok], text=b"[" * 1000000)
write("depth-object", [ok], text=b'{"a":' * 1000000)
write("no-json", [ok], text=b"hello\n\nworld")
write("nul", [ok], text=json.dumps(manifest).replace("current", "cur\\u0000rent").encode())
write("number", [ok], text=b"7")
write("format", [ok], lambda m: m.update(format=2))
write("kind", [ok], field("kind", "shadow"))
write("same-name", [ok], lambda m: m["members"].append(m["members"][0]))
write("image-of-session", [ok], lambda m: m["images"][0].update(file=name) or m["images"][0].pop("reason", 0))
write("image-of-nothing", [ok], lambda m: m["images"][0].update(file="files/7-x"))
write("debug-many", [ok], lambda m: m["images"][0].update(debug_files=["files/7-x"] * 9))
write("zone", [ok], lambda m: m.update(time_zone=":/etc/passwd"))
write("percent", [ok], lambda m: m["members"][0].update(path="/x%zz"))
write("no-manifest", [], text=b"", raw=lambda data: data[:0])
open(out + "/cut.tar.zst", "wb").write(whole[:len(whole) * 2 // 3])
open(out + "/empty.tar.zst", "wb").write(b"")
open(out + "/text.tar.zst", "wb").write(b"no archive at all\n" * 100)
open(out + "/headers.tar.zst", "wb").write(subprocess.run(["zstd", "-q", "-c"], input=tarfile.TarInfo("manifest.json").tobuf()[:300],
    capture_output=True, check=True).stdout)
END
python3 "$work/make.py" "$work/good" "$work/program" "$work/in" "$build/tests/fixtures/xxh128" || fail "make.py"

# refused CASE TEXT: the import fails with one line that has TEXT, and leaves nothing.
refused() {
	refuse 3 "$2" "$build/vmoparchive" --import="$work/in/$1.tar.zst" --output-directory="$work/to/$1"
	left=$(find "$work/to" "$work/escaped" /tmp/vmop-archive-escaped -mindepth 0 ! -path "$work/to" 2>/dev/null || true)
	test -z "$left" || fail "$1 left $left"
}
mkdir "$work/to"
expect 0 "1 session" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/ok"
expect 0 "web" "$build/vmopreport" --archive="$work/ok" --by=task
for case in traversal absolute unlisted; do refused $case "the manifest lacks it"; done
for case in traversal absolute hidden deep control long wal; do refused $case-listed "is not one that vmoparchive gives"; done
for case in symlink hardlink fifo device folder symlink-folder; do refused $case "only files are unpacked"; done
refused twice "is there twice"
refused missing "is missing"
for case in short long; do refused $case "by the manifest"; done
refused changed "its content is not that of the manifest"
refused no-session "not a session file of vmop"
refused wrong-build-id "and 00112233445566778899aabbccddeeff00112233 by the manifest"
refused no-build-id "and there is none by the manifest"
refused no-elf "files/00001-x"
refused huge-listed "--max-size is"
refused huge-sum "--max-size is"
refused negative '"bytes" of members[0] is no number'
refused bomb "a zip bomb"
refused bomb-unlisted "the manifest lacks it"
refused bomb-manifest "larger than 16 MiB"
for case in depth depth-object no-json nul number; do refused $case "not a manifest of vmop"; done
refused format "of a newer vmop"
refused kind '"kind" of members[0] is unknown'
refused same-name '"name" of members[1] is there twice'
refused image-of-session "names a member of another kind"
refused image-of-nothing "names no member"
refused debug-many "is no list, or too long"
refused zone '"time_zone" is none'
refused percent '"path" of members[0] has a wrong %HH'
refused no-manifest "archive"
for case in cut empty text headers; do refused $case "$case.tar.zst"; done
refuse 3 "--max-size is 1000" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/to/small" --max-size=1000
test -z "$(ls -A "$work/to")" || fail "left: $(ls -A "$work/to")"

# ---- a session's name keeps its bytes, whatever the locale is ----
cp "$sessions/current.vmop" "$sessions/last night ü.vmop"
for locale in C C.UTF-8; do
	LC_ALL=$locale "$build/vmoparchive" --session-dir="$sessions" "session:last night ü" --output="$work/in/$locale.tar.zst" \
		2>"$work/err" || fail "in $locale: $(cat "$work/err")"
	expect 0 "1 session" "$build/vmoparchive" --import="$work/in/$locale.tar.zst" --output-directory="$work/$locale"
	test -f "$work/$locale/sessions/last night ü.vmop" || fail "in $locale: $(ls "$work/$locale/sessions")"
done

# ---- where it is unpacked ----
mkdir "$work/full" "$work/empty"
: >"$work/full/file"
refuse 3 "is not empty" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/full"
refuse 3 "no directory" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/full/file"
ln -s empty "$work/link"
refuse 3 "no directory" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/link"
refuse 3 "No such file" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/absent/a"
refuse 3 "No such file" "$build/vmoparchive" --import="$work/in/absent.tar.zst" --output-directory="$work/to/a"
refuse 2 "no new file or directory" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory=.
refuse 2 "needs --output-directory" "$build/vmoparchive" --import=-
expect 0 "" "$build/vmoparchive" --import="$work/in/ok.tar.zst" --output-directory="$work/empty/"
test -f "$work/empty/manifest.json" || fail "an empty directory is not used"
(cd "$work/to" && "$build/vmoparchive" --import="$work/in/ok.tar.zst" 2>/dev/null)
test -f "$work/to/ok/manifest.json" || fail "the default directory"
# A pipe that ends early, and a signal while it waits for one.
mkfifo "$work/pipe"
"$build/vmoparchive" --import="$work/pipe" --output-directory="$work/to/stopped" 2>"$work/err" &
stopped=$!
head -c 100 "$work/in/ok.tar.zst" >"$work/pipe"
wait $stopped && fail "a cut pipe is imported"
"$build/vmoparchive" --import="$work/pipe" --output-directory="$work/to/stopped" 2>"$work/err" &
stopped=$!
exec 9>"$work/pipe"
until [ -n "$(find "$work/to" -name '.stopped.*' -print)" ]; do sleep 0.1; done
kill -TERM $stopped
wait $stopped && fail "a signal does not end it"
exec 9>&-
grep -q 'ended by a signal (TERM); nothing was written' "$work/err" || fail "a signal: $(cat "$work/err")"
test ! -e "$work/to/stopped" || fail "a cut pipe leaves a directory"

# ---- a directory that was changed after its import ----
cp -r "$work/ok" "$work/evil"
rm "$work/evil/manifest.json"
ln -s /etc/passwd "$work/evil/manifest.json"
refuse 3 "manifest.json" "$build/vmopreport" --archive="$work/evil"
rm "$work/evil/manifest.json"
mkfifo "$work/evil/manifest.json"
refuse 3 "manifest.json" "$build/vmopreport" --archive="$work/evil"
test -z "$(find "$work" "$work/to" -maxdepth 1 -name '.?*.????????' -print)" || fail "something is left behind"
finish
