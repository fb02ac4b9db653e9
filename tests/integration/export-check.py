# SPDX-License-Identifier: GPL-2.0-or-later
"""Read the formats of opreport/export strictly, and print their stacks as folded lines.

    export-check.py perf-script|speedscope|firefox FILE

A line is DOMAIN;TASK;FRAME;...;FRAME WEIGHT, sorted.  Anything that the format does not allow is an
error.
"""
import collections
import json
import re
import sys


def read_perf_script(text):
    """stackcollapse-perf.pl's grammar; the times of a thread ascend, as speedscope requires."""
    head = re.compile(r"^(\S.+?)\s+(\d+)/(\d+) (\d+\.\d{9}): (\d+) (\S+): $")
    line = re.compile(r"^ +([0-9a-f]+) (.+) \((\S+)\)$")
    assert text.endswith("\n\n") or not text
    times = collections.defaultdict(float)
    for block in text.split("\n\n")[:-1]:
        lines = block.split("\n")
        match = head.match(lines[0])
        assert match, lines[0]
        comm, pid, tid, time, period, event = match.groups()
        comm = comm.strip()
        assert float(time) >= times[event, comm, pid, tid], "times go back"
        times[event, comm, pid, tid] = float(time)
        frames = []
        for frame in lines[1:]:
            match = line.match(frame)
            assert match, frame
            frames.insert(0, match.group(2))
        assert frames
        domain, _, task = comm.rpartition(":")
        yield event, [domain or "host", task] + frames, int(period)


def read_speedscope(document):
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in document["shared"]["frames"]]
    assert document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] in ("nanoseconds", "none")
        at, path = profile["startValue"], []
        for event in profile["events"]:
            assert event["at"] >= at
            if event["at"] > at:
                yield profile["name"], [names[i] for i in path], event["at"] - at
            at = event["at"]
            if event["type"] == "O":
                path.append(event["frame"])
            else:
                assert event["type"] == "C" and path.pop() == event["frame"]
        assert not path and at == profile["endValue"]


def check_table(table, **columns):
    """Columns are as long as the table says; an index is below its limit, or null where allowed."""
    for name, values in table.items():
        assert not isinstance(values, list) or len(values) == table["length"], name
    for name, (limit, is_nullable) in columns.items():
        for value in table[name]:
            assert value is None if value is None and is_nullable else 0 <= value < limit, name


def check_thread(thread, n_categories):
    n = {name: thread[name]["length"] for name in ("frameTable", "funcTable", "stackTable",
                                                   "resourceTable")}
    n_texts = len(thread["stringArray"])
    category = {"category": (n_categories, False), "subcategory": (1, False)}
    check_table(thread["frameTable"], func=(n["funcTable"], False), **category)
    check_table(thread["funcTable"], name=(n_texts, False), resource=(n["resourceTable"], False))
    check_table(thread["resourceTable"], name=(n_texts, False))
    check_table(thread["stackTable"], frame=(n["frameTable"], False),
                prefix=(n["stackTable"], True), **category)
    check_table(thread["samples"], stack=(n["stackTable"], False))
    check_table(thread["markers"])
    check_table(thread["nativeSymbols"])
    for i, prefix in enumerate(thread["stackTable"]["prefix"]):
        assert prefix is None or prefix < i, "a caller comes behind its callee"
    assert isinstance(thread["pid"], str)
    times = thread["samples"]["time"]
    assert times == sorted(times) and times[0] >= 0, "samples are not in order"


def read_firefox(document):
    meta = document["meta"]
    assert meta["preprocessedProfileVersion"] == 48 and meta["interval"] > 0
    colors = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown",
              "magenta", "red", "lightred", "darkgrey", "grey"}
    assert all(c["color"] in colors and c["subcategories"] for c in meta["categories"])
    tids = [thread["tid"] for thread in document["threads"]]
    assert len(set(tids)) == len(tids), "two threads have one tid"
    for thread in document["threads"]:
        check_thread(thread, len(meta["categories"]))
        stacks, samples = thread["stackTable"], thread["samples"]
        texts = thread["stringArray"]
        is_time = samples["weightType"] == "tracing-ms"
        for stack, weight in zip(samples["stack"], samples["weight"]):
            frames = []
            while stack is not None:
                function = thread["frameTable"]["func"][stacks["frame"][stack]]
                frames.insert(0, texts[thread["funcTable"]["name"][function]])
                stack = stacks["prefix"][stack]
            task, _, event = thread["name"].partition(", ")
            yield event, [thread["processName"], task] + frames, \
                round(weight * 1e6) if is_time else weight


def refuse(constant):
    raise ValueError(constant)


def main():
    kind, path = sys.argv[1:]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    assert all(c == "\n" or ord(c) >= 32 for c in text)
    if kind == "perf-script":
        stacks = read_perf_script(text)
    else:
        document = json.loads(text, parse_constant=refuse)
        stacks = read_speedscope(document) if kind == "speedscope" else read_firefox(document)
    sums = collections.Counter()
    for _event, path, weight in stacks:
        sums[";".join(path)] += weight
    for path in sorted(sums):
        print(path, sums[path])


main()
