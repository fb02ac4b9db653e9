#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions with far too much of one thing: a report ends within 20 s of CPU time and 2 GiB, and says
# what it left out.
. "${VMOP_SRCDIR:-.}/tests/integration/common.sh"
export TZ=UTC LC_ALL=C.UTF-8
fixtures=$build/tests/fixtures
mkdir -p "$sessions"

# bounded KIND OPTION...: a report of hostile.vmop, its output in $work/out and $work/err.
bounded() {
	kind=$1
	shift
	got=0
	"$fixtures/within" 20 2048 "$build/vmopreport" --session-dir="$sessions" session:hostile "$@" \
		>"$work/out" 2>"$work/err" </dev/null || got=$?
	echo "$kind $*: exit $got, $(wc -c <"$work/out") bytes, $(tail -n 1 "$work/err")"
	[ "$got" -eq 0 ] || fail "$kind: $(cut -c 1-200 "$work/err")"
}

# says TEXT: in the last report, or beside it.
says() {
	cat "$work/out" "$work/err" | grep -qF -e "$1" || fail "$kind: nothing says: $1"
}

# made KIND N
made() {
	rm -f "$sessions/hostile.vmop"
	"$fixtures/make-hostile" "$1" "$2" "$sessions/hostile.vmop"
}

# One that was left out has to be said in all formats.
made events-sampled 50000
for format in table csv json; do
	bounded events-sampled --format=$format -l
	says "$([ $format = json ] && echo '"left_out_events": 49745' || echo 'left out: 49745 events')"
done
bounded events-sampled --no-header
says "left out: 49745 events"
bounded events-sampled event:e49999 --format=csv
is "the event that was asked for" "$(sed -n 1p "$work/out")" = "samples,weight,percent,domain,mode,image"

made events 50000
bounded events -l
made events-of-one-name 50000
bounded events-of-one-name --merge=unitmask
bounded events-of-one-name
made events-and-images 50000
bounded events-and-images -l
bounded events-and-images -l --threshold=1
made infos 300000
bounded infos

made images 1000000
bounded images
says "(--top, specs choose)"
bounded images -l --format=json
bounded images -d --format=csv
made images-with-symbols 200000
bounded images-with-symbols -l
made images-without-code 300000
bounded images-without-code
says "more names"
made hypervisors 300000
bounded hypervisors -l

made tasks 1000000
bounded tasks --by=task --format=csv
bounded tasks --by=cgroup,image --exclude-idle
bounded tasks --by=task --merge=all --sort=task --top=10
says "more rows"

for kind in domains domains-of-one-name lives; do
	made $kind 300000
	bounded $kind --by=domain
	bounded $kind --by=life,image --format=json
done
made losses 300000
bounded losses
says "more names"
bounded losses --format=json
made intervals 50000
bounded intervals -l

made cells 100000000
bounded cells -l
bounded cells -d
says "addresses within symbols"
made colliding-cells 200000
bounded colliding-cells -d
made symbols 4000000
bounded symbols -l
made symbols-that-inflate 60
bounded symbols-that-inflate -l
says "images' symbols"
made rows 500000
bounded rows -l --sort=symbol
bounded rows -d

for kind in event note asked image reason domain uuid command cgroup loss hostname symbol; do
	made long-$kind 200000000
	bounded long-$kind -l
	bounded long-$kind --by=domain,task,cgroup --format=csv
	bounded long-$kind -l --width=80 --format=table
done
bounded list --list-sessions
exit $failed
