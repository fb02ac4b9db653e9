#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vmopannotate on code of a guest's kernel that the session does not have: lines, inlined functions and
# instructions come from a vmlinux with the kernel's build-id. Each is compared with binutils' answer.
# shellcheck source=tests/integration/common.sh
. "$(dirname "$0")/common.sh"
export LC_ALL=C
for tool in objdump addr2line; do
	command -v "$tool" >/dev/null || skip "no $tool"
done
compiler=${VMOP_CC:-gcc}
id=abcdef0123456789abcdef0123456789abcdef01
debug=$work/root/usr/lib/debug/.build-id/ab
mkdir -p "$sessions" "$debug"

# annotate SESSION OPTION...
annotate() {
	session=$1
	shift
	"$build/vmopannotate" --threshold=0 --root="$work/root" "session:$session" "$@"
}

cat >"$work/code.c" <<'END'
volatile int sink;
static inline __attribute__((always_inline)) void inner(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}
static inline __attribute__((always_inline)) void middle(int n)
{
	sink--;
	inner(n);
}
__attribute__((noinline)) void first(int n)
{
	sink = n;
}
__attribute__((noinline)) int hot(int n)
{
	middle(n + 1);
	return sink * 3;
}
END

# instructions FILE FUNCTION: print the addresses and the mnemonics of a function.
instructions() {
	objdump -d --no-show-raw-insn "$1" | awk -v name="<$2>:" '
		$2 == name { is_in = 1; next }
		/^$/ { is_in = 0 }
		is_in { sub(/:/, "", $1); print $1, $2 }'
}

# compare CSV FILE FUNCTION: compare the function's rows, one an address, with binutils.
compare() {
	instructions "$2" "$3" | cut -d ' ' -f 1 >"$work/addresses"
	addr2line -i -f -a -e "$2" <"$work/addresses" >"$work/answers"
	python3 - "$1" "$work/answers" "$3" <<'END' || fail "$3 differs from binutils: $(cat "$1" "$work/answers")"
import csv, sys
# address: [(function, file, line)...], innermost first
answers, at = {}, None
lines = open(sys.argv[2]).read().splitlines()
while lines:
    line = lines.pop(0)
    if line.startswith("0x"):
        at = answers.setdefault(int(line, 16), [])
        continue
    path, number = lines.pop(0).split(" ")[0].rsplit(":", 1)
    at.append((line, path.rsplit("/", 1)[-1], number))
wanted, got = {}, {}
for frames in answers.values():
    key = (frames[0][1], frames[0][2], " < ".join(f[0] for f in frames[:-1]))
    wanted[key] = wanted.get(key, 0) + 10
for row in csv.DictReader(open(sys.argv[1])):
    if row["symbol"] == sys.argv[3]:
        key = (row["file"].rsplit("/", 1)[-1], row["line"], row["inlined"])
        got[key] = got.get(key, 0) + int(row["samples"])
assert wanted == got, f"wanted {wanted}, got {got}"
assert any(key[2] == "inner < middle" for key in got)
END
}

# ---- a guest's kernel ----
{
	echo 'void _text(void) {}' # the first function
	cat "$work/code.c"
} >"$work/kernel.c"
model=
[ "$(uname -m)" != x86_64 ] || model=-mcmodel=kernel
# shellcheck disable=SC2086 # no option, or one
(cd "$work" && "$compiler" -g -O1 -nostdlib -static -fno-pie -no-pie -fno-stack-protector $model \
	-Wl,-Ttext=0xffffffff81000000 -Wl,--build-id=0x$id -Wl,-e,_text -o vmlinux kernel.c) || skip "no compiler"
# The guest's _text is elsewhere: its kernel is relocated. Offsets count from it.
nm -S "$work/vmlinux" | awk '$3 ~ /[tT]/ && NF == 4 {
	sub(/^ffffffff81/, "", $1)
	print "symbol", $1, $2, $4 }' | sort >"$work/rows"
instructions "$work/vmlinux" hot | sed 's/^ffffffff81\([0-9a-f]*\) .*/samples \1 10/' >>"$work/rows"
"$build/tests/fixtures/make-image" guest-kernel '[kernel]' $id "$sessions/guest.vmop" <"$work/rows"

expect 0 "no vmlinux of this kernel was found" annotate "$sessions/guest.vmop" domain:g1
cp "$work/vmlinux" "$debug/${id#ab}.debug"
annotate "$sessions/guest.vmop" --format=csv domain:g1 >"$work/csv" 2>"$work/err" || fail "$(cat "$work/err")"
compare "$work/csv" "$work/vmlinux" hot
expect 0 "sink += i;" annotate "$sessions/guest.vmop" --search-dirs="$work" domain:g1
if ! annotate "$sessions/guest.vmop" --assembly --format=csv domain:g1 >"$work/csv" 2>"$work/err"; then
	grep -q 'built without capstone' "$work/err" || fail "$(cat "$work/err")"
else
	python3 - "$work/csv" >"$work/got" <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if row["instruction"]:
        print(row["address"][-6:], row["samples"], row["instruction"].split()[0].rstrip("lq"))
END
	instructions "$work/vmlinux" hot | sed 's/^ffffffff81\([0-9a-f]*\) /\1 10 /; s/[lq]*$//' >"$work/wanted"
	is "instructions of hot" "$(wc -l <"$work/wanted")" -ge 6
	cmp "$work/got" "$work/wanted" || fail "hot differs: $(cat "$work/got" "$work/wanted")"
fi
# It is also found by its name.
mkdir "$work/images"
mv "$debug/${id#ab}.debug" "$work/images/vmlinux"
annotate "$sessions/guest.vmop" --image-path="$work/images" --format=csv domain:g1 >"$work/csv" 2>/dev/null
compare "$work/csv" "$work/vmlinux" hot
# A vmlinux of another build is not the guest's.
(cd "$work" && objcopy -R .note.gnu.build-id vmlinux images/vmlinux 2>/dev/null)
expect 0 "no vmlinux of this kernel was found" annotate "$sessions/guest.vmop" --image-path="$work/images" domain:g1
finish
