#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
# usage: on-guest NAME COMMAND [ARG]...
# Run a command in a guest that was started with shell=1, as ssh would: through its console. The exit
# status is the command's, or 255 if the guest ends.
set -eu
name=$1
shift
dir=/tmp/guests/$name
exec 3<"$dir/tty.out"
# The number distinguishes this command's end from those of earlier commands, whose caller was killed.
echo "$$ $*" >"$dir/tty.in"
while read -r line <&3; do
	case $line in
	"RIG DID $$ "*)
		line=${line#"RIG DID $$ "}
		exit "${line%% *}"
		;;
	esac
done
exit 255
