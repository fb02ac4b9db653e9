#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Sessions with a name of 200 MB: a report ends soon, in bounded memory, and marks where it cut the
# name.
. "${VMOP_SRCDIR:-.}/tests/integration/report-bounds.sh"

for kind in event note asked image reason domain uuid command cgroup loss hostname symbol; do
	size=$(few 20000000)
	case $kind in image | loss | symbol) size=$(few 200000000) ;; esac
	made long-$kind $size
	bounded long-$kind -l --width=80
	case $kind in event | note | image | domain | loss | hostname)
		says "...[$size bytes" ;;
	esac
	bounded long-$kind --by=domain,task,cgroup --format=csv
	bounded long-$kind --by=domain,task,cgroup --format=xml
	bounded long-$kind --format=html
	is "bytes of the page" "$(wc -c <"$work/out")" -lt 2000000
	for format in perf-script speedscope firefox; do
		bounded long-$kind --format=$format
	done
done
bounded list --list-sessions
exit $failed
