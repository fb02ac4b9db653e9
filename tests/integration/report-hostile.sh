#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions with far too much of one thing: a report stays within 20 s of CPU time and 2 GiB, and
# counts the rest.
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

# All formats count the rest.
made events-sampled 50000
for format in table csv json xml; do
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
made infos 200000
bounded infos

made images 1000000
bounded images
says "(--top, specs choose)"
bounded images -l --format=json
made images-with-symbols 100000
bounded images-with-symbols -l
made images-without-code 200000
bounded images-without-code
says "more names"
made hypervisors 200000
bounded hypervisors -l

made tasks 500000
bounded tasks --by=task --format=csv
bounded tasks --by=cgroup,image --exclude-idle
bounded tasks --by=task --merge=all --sort=task --top=10
says "more rows"
exit $failed
