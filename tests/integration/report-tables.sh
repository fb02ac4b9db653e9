#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The exact output of vmopreport for a session that is always the same.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C

mkdir -p "$sessions"
"$build/tests/fixtures/make-session" "$sessions/current.vmop" >/dev/null

# table NAME OPTION... <<EXPECTED: check that stdout is exactly that.
table() {
	name=$1
	shift
	cat >"$work/expected"
	echo "table: $name: vmopreport $*"
	"$build/vmopreport" --session-dir="$sessions" "$@" >"$work/out" 2>"$work/err" ||
		fail "exit $?: $(cat "$work/err")"
	# The number of rows depends on the C library's symbols. With the sanitizers other code is
	# in their place.
	sed -i -e 's/^([0-9]* more rows, .* together)$/(more rows)/' \
		-e 's/libasan\.so\.[0-9.]*$/libc.so.6/' "$work/out"
	diff -u "$work/expected" "$work/out" || fail "$name differs"
}

table "per image" --width=80 <<'END'
session current of fixture: 6.1.0-fixture x86_64, 2 CPUs
2023-11-14 22:14:00 to 22:15:00 (60 s)
cpu-clock at 1000 Hz: 120000 samples, 6.8 % of them idle
losses: none
samples without an image: [no-maps] 60

samples      %  domain  image
  96000  80.00  host    make-session
  10800   9.00  g1      [guest g1 kernel]
   9420   7.85  host    [kernel]
   2400   2.00  g1      [guest g1 user]
    720   0.60  host    [kvm_amd]
    480   0.40  host    libc.so.6
    120   0.10  g2      [guest g2 kernel]
     60   0.05  host    [no-maps]
END

table "symbols, 132 columns" -l -t 1 --width=132 -n <<'END'
samples      %  domain  image              symbol
  71940  59.95  host    make-session       vmop_fixture_hot
  24060  20.05  host    make-session       vmop_fixture_warm
   8220   6.85  host    [kernel]           rcu_kernel_function_9830
   8087   6.74  g1      [guest g1 kernel]  g1_hot
   2713   2.26  g1      [guest g1 kernel]  g1_warm
   2400   2.00  g1      [guest g1 user]    (no symbols)
(more rows)
END

table "a narrow terminal" -l -t 1 --width=48 <<'END'
session current of fixture: 6.1.0-fixture
    x86_64, 2 CPUs
2023-11-14 22:14:00 to 22:15:00 (60 s)
cpu-clock at 1000 Hz: 120000 samples, 6.8 % of
    them idle
losses: none
samples without an image: [no-maps] 60

samples      %  domain  image        symbol
  71940  59.95  host    make-ses...  vmop_fix...
  24060  20.05  host    make-ses...  vmop_fix...
   8220   6.85  host    [kernel]     rcu_kern...
   8087   6.74  g1      [guest g...  g1_hot
   2713   2.26  g1      [guest g...  g1_warm
   2400   2.00  g1      [guest g...  (no symb...
(more rows)
END

table "domains' bills" --by=domain -n <<'END'
samples  user %  kernel %  hypervisor %  VMM %  % of machine  domain
 105720   80.25      7.85          0.00   0.00         88.10  host
  14160    2.00      9.00          0.60   0.20         11.80  g1
    120    0.00      0.10          0.00   0.00          0.10  g2
END

table "domains, guest code alone" --by=domain --accounting=cpu -n <<'END'
samples  user %  kernel %  hypervisor %  % of machine  domain
 106680   80.45      7.85          0.60         88.90  host
  13200    2.00      9.00          0.00         11.00  g1
    120    0.00      0.10          0.00          0.10  g2
END

table "tasks" --by=task -n <<'END'
samples      %  domain  pid  task
  48480  40.40  host    501  loop
  48480  40.40  host    502  loop
  13200  11.00  g1      701  qemu-system-x86
   8220   6.85  host      0  [idle]
    960   0.80  host    701  qemu-system-x86
    540   0.45  host    400  bash
    120   0.10  g2      801  qemu-system-x86
END

table "addresses within symbols" --details --top=1 'image:[kernel]' <<'END'
session current of fixture: 6.1.0-fixture x86_64, 2 CPUs
2023-11-14 22:14:00 to 22:15:00 (60 s)
cpu-clock at 1000 Hz: 9420 samples selected, 87.3 % of them idle
losses: none

address             samples      %  domain  image     symbol
ffffffff812fff80       8220  87.26  host    [kernel]  rcu_kernel_function_9830
  ffffffff81300000     3879  47.19
  ffffffff81300008     1906  23.19
  ffffffff81300010     1189  14.46
  ffffffff81300018      729   8.87
  ffffffff81300020      399   4.85
  ffffffff81300028      118   1.44
(more rows)
END

table "running sums" -l -a -w domain:g1 -n <<'END'
address           samples      %  cum. samples  cum. %  domain  image              symbol
ffffffff9a001000     8087  61.27          8087   61.27  g1      [guest g1 kernel]  g1_hot
ffffffff9a001200     2713  20.55         10800   81.82  g1      [guest g1 kernel]  g1_warm
                     2400  18.18         13200  100.00  g1      [guest g1 user]    (no symbols)
END

table "shares of the whole session" -l -% domain:g1 -n <<'END'
samples     %  domain  image              symbol
   8087  6.74  g1      [guest g1 kernel]  g1_hot
   2713  2.26  g1      [guest g1 kernel]  g1_warm
   2400  2.00  g1      [guest g1 user]    (no symbols)
END

"$build/tests/fixtures/make-session" --context-note="BPF is $(printf '\033')locked" "$sessions/noted.vmop" >/dev/null
table "a guest without contexts, with the reason" --by=domain session:noted domain:g1 <<'END'
session noted of fixture: 6.1.0-fixture x86_64, 2 CPUs
2023-11-14 22:14:00 to 22:15:00 (60 s)
cpu-clock at 1000 Hz: 14160 samples selected
losses: none
tasks of g1 are not exact: BPF is \x1blocked

samples  user %  kernel %  hypervisor %  VMM %  % of machine  domain
  14160    2.00      9.00          0.60   0.20         11.80  g1
END
table "another guest" --by=domain session:noted domain:g2 <<'END'
session noted of fixture: 6.1.0-fixture x86_64, 2 CPUs
2023-11-14 22:14:00 to 22:15:00 (60 s)
cpu-clock at 1000 Hz: 120 samples selected
losses: none

samples  user %  kernel %  % of machine  domain
    120    0.00      0.10          0.10  g2
END

finish
