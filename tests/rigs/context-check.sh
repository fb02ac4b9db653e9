# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Functions for the checks of the scenarios with l1/contexts.sh: each guest's samples, row by row, compared
# with the records of its programs (PID COMM FUNCTION START END).

# compare GUEST: print "NAME NUMBER" lines of counts of samples, and "WRONG REASON ROW" lines. An
# attribution is wrong if the record contradicts its process, program or function.
compare() {
	# With many short-lived programs, intervals become minutes soon: the one in which the guest became known
	# can be a part of a minute.
	local after_s
	after_s=$(sqlite3 "$1.vmop" "SELECT max($(cat "$1.from"), coalesce(max(start_ns + len_ns), 0) / 1000000000 + 1)
		FROM interval WHERE start_ns < $(cat "$1.from") * 1000000000")
	# A report in the emulated machine reaches its bound of CPU time for symbols.
	"$VMOP_BUILDDIR/vmopreport" --by=domain,certainty,mode,task,image,symbol --top=0 --format=csv \
		"session:$PWD/$1.vmop" "domain:$1" "time:@$after_s.." >"$1.rows.out" 2>"$1.rows.err"
	csv "$1.rows.out" certainty mode task pid image symbol samples | awk -F'\t' '
		# The program that owns a file, "" for files that several programs use.
		function owner_of(image,    name) {
			name = image
			sub(/ \(deleted\)$/, "", name)
			sub(/.*\//, "", name)
			if (name == "libbrief.so") return "brief-dynamic"
			if (name == "libdisk.so") return "disk-dynamic"
			if (name ~ /^gone[0-9]$/) return "gone" # copies of one file, with one build-id
			if (name ~ /^(brief|disk)-(static|dynamic)$|^(cxx|rust)-names$|^jit$/) return name
			return ""
		}
		# The program of a function that only one has, "" for others.
		function program_of(symbol) {
			if (symbol ~ /^(brief|disk)_(static|dynamic)_(major|minor)$/) {
				sub(/_(major|minor)$/, "", symbol)
				sub(/_/, "-", symbol)
				return symbol
			}
			if (symbol ~ /^gone_static_/) return "gone"
			if (symbol ~ /^jit_(major|minor)$/) return "jit"
			if (symbol ~ /^rig::mill/) return "cxx-names"
			if (symbol ~ /^names::mill/) return "rust-names"
			return ""
		}
		function wrong(reason) {
			n["wrong_" certainty] += samples
			if (shown++ < 20)
				print "WRONG", reason ":", $0
		}
		# After a reboot the times of the records begin again, and so do the processes.
		FNR == NR && $4 + 0 { n_boots += $4 + 0 < last_ns || !n_boots; last_ns = $4 + 0 }
		FNR == NR {
			ran[$1 " " $2] = ran[$1 " " $2] " " $3
			n_recorded[$1] += last_boot[$1] != n_boots
			last_boot[$1] = n_boots
			program[$2] = 1
			next
		}
		{
			certainty = $1; mode = $2; task = $3; pid = $4; image = $5; symbol = $6; samples = $7
			n["all"] += samples
			n[mode] += samples
			has_task = task != "" && task != "[none]"
			is_named = has_task && image !~ /^\[guest .* user/ && image != "[no-maps]"
			if (certainty == "exact" && has_task)
				n["exact"] += samples
			# Only programs whose files still exist.
			if (mode == "user" && task !~ /^gone/)
				n["user_with_file"] += samples
			if (mode == "user" && task !~ /^gone/ && certainty == "exact" && is_named)
				n["exact_user"] += samples
			if (mode == "user" && is_named)
				n["named_user"] += samples
			if (program_of(symbol) != "")
				n["known_functions"] += samples
			if (program_of(symbol) == "cxx-names" || program_of(symbol) == "rust-names")
				n[program_of(symbol)] += samples
			if (symbol ~ /^jit_m/)
				n[symbol] += samples
			if (image ~ /vdso/)
				n["vdso"] += samples
			if (program_of(symbol) == "gone")
				n["gone"] += samples
			if (!has_task)
				next
			# Ended processes of one program can be one row, without a pid.
			is_one = pid != ""
			n["checked"] += samples
			if (is_one && task in program && !((pid " " task) in ran)) {
				wrong("no such process was recorded")
				next
			}
			if (is_one && n_boots && n_recorded[pid] == n_boots && !(task in program) && task !~ /^(init|sh|unshare|busybox|\[.*\]|kworker.*)$/) {
				wrong("the process was another program")
				next
			}
			if (mode != "user")
				next
			# The copies of gone-static are named after their loop.
			user = task ~ /^gone[0-9]$/ ? "gone" : task
			owner = owner_of(image)
			if (owner != "" && owner != user) {
				wrong("the process does not use the file")
				next
			}
			if (image ~ /\/busybox$/ && task in program) {
				wrong("the process does not use busybox")
				next
			}
			if (owner_of(image) != "" && owner_of(image) !~ /^(cxx|rust)-names$/ && symbol ~ /::/) {
				wrong("the file has no such functions")
				next
			}
			owner = program_of(symbol)
			if (owner != "" && owner != user) {
				wrong("the function is of another program")
				next
			}
			if (!is_one)
				next
			if (symbol ~ /^(brief|disk|gone)_.*_minor$/ && ran[pid " " task] !~ / minor/ ||
			    symbol ~ /^(brief|disk|gone)_.*_major$/ && ran[pid " " task] !~ / (major|gone)/ ||
			    symbol ~ /^jit_/ && ran[pid " " task] !~ / map/)
				wrong("the process did not run the function")
		}
		END { for (name in n) print name, n[name] }
	' FS=' ' "$1.record" FS='\t' - >"$1.counts"
}

# count GUEST NAME
count() {
	awk -v name="$2" '$1 == name { n = $2 } END { print n + 0 }' "$1.counts"
}

# check_guest GUEST [PROGRAM...]: check its steps, that no sample contradicts the records, and that each
# kind of program has samples (default: the programs of a rig with a disk).
check_guest() {
	local step program jit programs=("${@:2}")
	[ $# -gt 1 ] || programs=(cxx-names rust-names gone vdso)
	for step in start dump status shutdown rows shares table boxes; do
		ran "$1.$step"
	done
	compare "$1"
	grep '^WRONG' "$1.counts"
	between "$1: samples with a process" "$(count "$1" checked)" 1000 10000000
	same "$1: exact attributions that the programs' records contradict" "$(count "$1" wrong_exact)" 0
	same "$1: others that they contradict" "$(($(count "$1" wrong_likely) + $(count "$1" wrong_ambiguous)))" 0
	between "$1: samples in the programs' own functions" "$(count "$1" known_functions)" 50 10000000
	for program in "${programs[@]}"; do
		[ $program != rust-names ] || grep -q rust-names "$1.record" || continue
		between "$1: samples of $program" "$(count "$1" $program)" 1 10000000
	done
	jit=$(($(count "$1" jit_major) + $(count "$1" jit_minor)))
	between "$1: samples of functions made at run time" $jit 200 10000000
	between "$1: share of jit_major" "$(percent "$(count "$1" jit_major)" $jit)" \
		"$(binomial LOW 75 $jit)" "$(binomial HIGH 75 $jit)"
	matches "$1: programs in a container" "$1.boxes.out" 'brief-dynamic,/?rig-brief'
}
