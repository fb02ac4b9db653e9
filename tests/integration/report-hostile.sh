#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions with far too much of one thing: a report stays within 20 s of CPU time and 2 GiB, and
# counts the rest.
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

# All formats count the rest.
n_events=$(few 50000)
left_out=$((n_events - 255)) # a report has 255 at most
made events-sampled "$n_events"
for format in table csv json xml; do
	bounded events-sampled --format=$format -l
	says "$([ $format = json ] && echo "\"left_out_events\": $left_out" || echo "left out: $left_out events")"
done
bounded events-sampled --no-header
says "left out: $left_out events"
bounded events-sampled "event:e$((n_events - 1))" --format=csv
is "the event that was asked for" "$(sed -n 1p "$work/out")" = "samples,weight,percent,domain,mode,image"

made events "$(few 50000)"
bounded events -l
made events-of-one-name "$(few 50000)"
bounded events-of-one-name --merge=unitmask
bounded events-of-one-name
made events-and-images "$(few 50000)"
bounded events-and-images -l
bounded events-and-images -l --threshold=1
made infos "$(few 200000)"
bounded infos

made images "$(few 1000000)"
bounded images
[ -n "$sanitized" ] || says "(--top, specs choose)"
bounded images -l --format=json
made images-with-symbols "$(few 100000)"
bounded images-with-symbols -l
made images-without-code "$(few 200000)"
bounded images-without-code
says "more names"
made hypervisors "$(few 200000)"
bounded hypervisors -l

made tasks "$(few 500000)"
bounded tasks --by=task --format=csv
bounded tasks --by=cgroup,image --exclude-idle
bounded tasks --by=task --merge=all --sort=task --top=10
says "more rows"
exit $failed
