#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare what known-io did with what vmopstat --io counted.

stat-io-check.py KNOWN COUNTED [BASE]: the files of known-io, of vmopstat --io --json, and of the
same with no part at all, whose counts are the start's and the dynamic linker's. Print what differs.
"""
import collections
import json
import sys

FIELDS = ["calls", "bytes", "short", "eof", "interrupted", "would-block", "errors"]
# Calls without bytes have no end of file and nothing short; a select's "eof" is its time-out.
COUNTED_ONCE = {"lseek", "dup3", "close", "io_uring_enter"}


def counted(path, kind="call"):
    sums = collections.defaultdict(lambda: [0] * len(FIELDS))
    for line in open(path):
        row = json.loads(line)
        if row.get("io") == kind:
            key = row["call"], row.get("direction", "read")
            sums[key] = [a + row[field] for a, field in zip(sums[key], FIELDS)]
    return sums


def main():
    now, base = counted(sys.argv[2]), counted(sys.argv[3]) if len(sys.argv) > 3 else {}
    seen = set()
    for line in open(sys.argv[1]):
        words = line.split()
        if words[0] == "faults":
            continue
        key, known = tuple(words[:2]), [int(word) for word in words[2:]]
        seen.add(key)
        ours = [a - b for a, b in zip(now[key], base.get(key, [0] * len(FIELDS)))]
        if key[0] in COUNTED_ONCE:
            known[1:4] = ours[1:4] = [0, 0, 0]
        if known != ours:
            print(key, dict(zip(FIELDS, zip(known, ours))))
    quiet = {"openat", "open", "close", "dup", "dup2", "pipe2", "socketpair", "epoll_create1", "io_uring_enter"}
    for key, value in now.items():
        rest = [a - b for a, b in zip(value, base.get(key, [0] * len(FIELDS)))]
        if key not in seen and key[0] not in quiet and any(rest):
            print(key, "was not made", dict(zip(FIELDS, rest)))


main()
