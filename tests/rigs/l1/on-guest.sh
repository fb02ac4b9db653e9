#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# usage: on-guest [-j] NAME COMMAND [ARG]...
# Run a command in a guest that was started with shell=1, as ssh would: through its console. The exit
# status is the command's, or 255 if the guest ends. The guest reads a command up to the end of the line, so a command
# with a line feed is refused. The console has no stream of its own for errors: -j prints only
# what the command prints to its standard output, and of that the lines of JSON.
set -eu
json=0
[ "$1" != -j ] || { json=1 && shift; }
name=$1
shift
dir=/tmp/guests/$name
case $* in
*"
"*)
	echo "on-guest: a command is one line" >&2
	exit 2
	;;
esac
exec 3<"$dir/tty.out"
# The number distinguishes this command's end from those of earlier commands, whose caller was killed.
if [ $json = 1 ]; then
	echo "$$ { $*; } 2>/dev/null" >"$dir/tty.in"
else
	echo "$$ $*" >"$dir/tty.in"
fi
return=$(printf '\r')
while read -r line <&3; do
	case $line in
	"{"*)
		[ $json = 0 ] || echo "${line%"$return"}"
		;;
	"RIG DID $$ "*)
		line=${line#"RIG DID $$ "}
		exit "${line%% *}"
		;;
	esac
done
exit 255
