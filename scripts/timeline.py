#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a timeline of the driver's trace events.

  scripts/timeline.py TRACE [--json FILE] [--svg FILE] [--summary FILE]
                      [--segments FILE] [--print]

TRACE is the text of tracefs' `trace` file (or trace_pipe) with the events of
tessera switched on. --json writes the Chrome trace format, for
https://ui.perfetto.dev or chrome://tracing: the engines' jobs, the parts and cuts of
split submissions, paging operations, evictions, the use of each segment over time, and what the
CPU does: its faults, locks, and who has pages of the host aperture and swizzling ranges.
--svg draws how each segment is occupied: time from left to right, place in the
segment upwards, one colour for each allocation. --summary writes totals as JSON; without
any of them the totals are printed. --segments names and measures the segments: the JSON
summary of tessera-demo.
"""

import argparse
import collections
import json
import re
import sys
import xml.sax.saxutils

EVENT = re.compile(
    r"^\s*(?P<comm>.*\S)-(?P<pid>\d+)\s+(?:\([\s\d-]+\)\s+)?\[(?P<cpu>\d+)\]\s+"
    r"(?:\S+\s+)?(?P<time>\d+\.\d+):\s+(?:tessera:)?tessera_(?P<name>\w+):\s*(?P<fields>.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")
LOST = re.compile(r"\[LOST (\d+) EVENTS\]|LOST (\d+) EVENTS")
SYSTEM = 0  # "segment" of what lies in system pages

Event = collections.namedtuple("Event", "time name fields")


def parse_value(text):
    """A field: number, place "segment:offset", or word."""
    if ":" in text:
        segment, offset = text.split(":", 1)
        return int(segment, 0), int(offset, 0)
    try:
        return int(text, 0)
    except ValueError:
        return text


def parse(lines):
    """Return the events in order of time, in seconds, and how many the kernel lost."""
    events, lost = [], 0
    for line in lines:
        m = LOST.search(line)
        if m:
            lost += int(m.group(1) or m.group(2))
            continue
        m = EVENT.match(line)
        if not m:
            continue
        fields = {k: parse_value(v) for k, v in FIELD.findall(m.group("fields"))}
        events.append(Event(float(m.group("time")), m.group("name"), fields))
    events.sort(key=lambda e: e.time)
    return events, lost


def device_clock_offset(events):
    """Seconds to add to device time to get trace time.

    A job's end is reported after it happened, never before: the report that came fastest gives
    the best estimate."""
    offsets = [e.time - e.fields["end_ns"] / 1e9
               for e in events if e.name == "job_done" and e.fields.get("end_ns")]
    return min(offsets) if offsets else 0.0


class Residency:
    """Which allocation lay where, and when: from place and evict events."""

    def __init__(self, events):
        self.boxes = []  # (segment, offset, size, bo, start, end)
        self.usage = collections.defaultdict(list)  # segment -> [(time, bytes)]
        self._open = {}  # bo -> (segment, offset, size, start)
        self._used = collections.Counter()
        for e in events:
            handler = getattr(self, "_on_" + e.name, None)
            if handler:
                handler(e)
        end = events[-1].time if events else 0.0
        for bo in list(self._open):
            self._close(bo, end)

    def _close(self, bo, time):
        segment, offset, size, start = self._open.pop(bo)
        self.boxes.append((segment, offset, size, bo, start, time))
        self._account(segment, -size, time)

    def _account(self, segment, size, time):
        self._used[segment] += size
        self.usage[segment].append((time, self._used[segment]))

    def _on_place(self, e):
        f = e.fields
        if f["bo"] in self._open:
            self._close(f["bo"], e.time)
        if f["segment"] != SYSTEM:
            self._open[f["bo"]] = (f["segment"], f["offset"], f["size"], e.time)
            self._account(f["segment"], f["size"], e.time)

    def _on_evict(self, e):
        if e.fields["bo"] in self._open:
            self._close(e.fields["bo"], e.time)

    def _on_bo_destroy(self, e):
        self._on_evict(e)


def paging_direction(fields):
    """in, out, or move (inside device memory), by the two sides of a transfer."""
    source, destination = fields["src"][0], fields["dst"][0]
    if source == SYSTEM:
        return "in"
    return "out" if destination == SYSTEM else "move"


def summarise(events, lost):
    """Totals of the whole trace."""
    paged = collections.Counter()
    evictions = collections.Counter()
    jobs = collections.Counter()
    busy = collections.Counter()
    parts = collections.Counter()
    pins = errors = 0
    for e in events:
        f = e.fields
        if e.name == "paging_op":
            key = f["kind"]
            if key == "transfer":
                key = "transfer_" + paging_direction(f)
            paged[key] += f["size"]
        elif e.name == "evict":
            evictions[f["reason"]] += 1
        elif e.name == "job_done":
            jobs[f["engine"]] += 1
            busy[f["engine"]] += f["end_ns"] - f["start_ns"]
            errors += f["error"] != 0
        elif e.name == "split_part":
            parts[(f["ctx"], f["job"])] += 1
        elif e.name == "split_pin":
            pins += 1
    return {
        "events": len(events),
        "lost_events": lost,
        "seconds": events[-1].time - events[0].time if events else 0.0,
        "bytes": dict(sorted(paged.items())),
        "bytes_paged": paged["transfer_in"] + paged["transfer_out"] + paged["transfer_move"],
        "evictions": sum(evictions.values()),
        "evictions_by_reason": dict(sorted(evictions.items())),
        "pins": pins,
        "parts": sum(parts.values()),
        "most_parts": max(parts.values(), default=0),
        "cuts": sum(n - 1 for n in parts.values()),
        "jobs_by_engine": {str(k): v for k, v in sorted(jobs.items())},
        "busy_ns_by_engine": {str(k): v for k, v in sorted(busy.items())},
        "failed_jobs": errors,
    }


# ---- Chrome trace format ----------------------------------------------------

PID_ENGINES, PID_SUBMIT, PID_MEMORY, PID_CPU, PID_RANGES = 1, 2, 3, 4, 5

# What the CPU does: lane, and what the mark is called.
CPU_EVENTS = {
    "cpu_fault": (0, "fault bo {bo} {backing}"),
    "lock": (1, "lock bo {bo}"),
    "unlock": (1, "unlock bo {bo}"),
    "host_aperture_map": (2, "map bo {bo}"),
    "host_aperture_unmap": (2, "unmap bo {bo}"),
}


def range_tenures(events):
    """Who had which swizzling range, from when to when: (range, acquiring event, end)."""
    held = {}
    for e in events:
        if e.name == "swizzle_acquire":
            held[e.fields["range"]] = e
        elif e.name == "swizzle_release" and e.fields["range"] in held:
            yield e.fields["range"], held.pop(e.fields["range"]), e.time
    for number, e in held.items():
        yield number, e, events[-1].time


def chrome_trace(events, segments):
    """The events as a list of Chrome trace events; times in microseconds."""
    base = events[0].time if events else 0.0
    offset = device_clock_offset(events)
    out = []

    def micros(seconds):
        return round((seconds - base) * 1e6, 3)

    def meta(pid, name, tid=None):
        entry = {"ph": "M", "pid": pid, "name": "process_name" if tid is None else "thread_name",
                 "args": {"name": name}}
        if tid is not None:
            entry["tid"] = tid
        out.append(entry)

    meta(PID_ENGINES, "engines")
    meta(PID_SUBMIT, "submissions")
    meta(PID_MEMORY, "memory")
    meta(PID_MEMORY, "paging operations", 0)
    meta(PID_MEMORY, "evictions", 1)
    meta(PID_CPU, "CPU access")
    for lane, name in enumerate(("faults", "locks", "host aperture")):
        meta(PID_CPU, name, lane)
    meta(PID_RANGES, "swizzling ranges")
    for number, first, end in range_tenures(events):
        out.append({"ph": "X", "pid": PID_RANGES, "tid": number,
                    "name": "bo %d" % first.fields["bo"], "ts": micros(first.time),
                    "dur": round((end - first.time) * 1e6, 3), "args": first.fields})
    for engine in sorted({e.fields["engine"] for e in events if e.name == "job_done"}):
        meta(PID_ENGINES, "engine %d" % engine, engine)
    for e in events:
        f = e.fields
        if e.name == "job_done":
            start = f["start_ns"] / 1e9 + offset
            out.append({"ph": "X", "pid": PID_ENGINES, "tid": f["engine"],
                        "name": "context %d" % f["ctx"] if f["ctx"] else "paging",
                        "ts": micros(start), "dur": (f["end_ns"] - f["start_ns"]) / 1000,
                        "args": {"seqno": f["seqno"], "error": f["error"]}})
        elif e.name == "split_part":
            out.append({"ph": "i", "s": "t", "pid": PID_SUBMIT, "tid": f["ctx"],
                        "name": "part %d of job %d" % (f["part"], f["job"]),
                        "ts": micros(e.time), "args": f})
        elif e.name == "split_pin":
            out.append({"ph": "i", "s": "t", "pid": PID_SUBMIT, "tid": f["ctx"],
                        "name": "pin bo %d" % f["bo"], "ts": micros(e.time), "args": f})
        elif e.name == "paging_op":
            out.append({"ph": "i", "s": "t", "pid": PID_MEMORY, "tid": 0,
                        "name": "%s bo %d" % (f["kind"], f["bo"]), "ts": micros(e.time),
                        "args": {k: "%d:0x%x" % v if isinstance(v, tuple) else v
                                 for k, v in f.items()}})
        elif e.name == "evict":
            out.append({"ph": "i", "s": "t", "pid": PID_MEMORY, "tid": 1,
                        "name": "evict bo %d" % f["bo"], "ts": micros(e.time), "args": f})
        elif e.name in CPU_EVENTS:
            lane, name = CPU_EVENTS[e.name]
            out.append({"ph": "i", "s": "t", "pid": PID_CPU, "tid": lane,
                        "name": name.format(**f), "ts": micros(e.time), "args": f})
        if e.name.startswith("host_aperture_"):
            out.append({"ph": "C", "pid": PID_CPU, "name": "free pages of the host aperture",
                        "ts": micros(e.time), "args": {"pages": f["free"]}})
    for segment, points in sorted(Residency(events).usage.items()):
        name = segments.get(segment, ("segment %d" % segment, 0))[0]
        out.extend({"ph": "C", "pid": PID_MEMORY, "name": name + " used", "ts": micros(time),
                    "args": {"MiB": round(used / 1048576, 3)}} for time, used in points)
    out.sort(key=lambda entry: (entry["ph"] != "M", entry.get("ts", 0)))
    return {"traceEvents": out, "displayTimeUnit": "ms"}


# ---- Picture ------------------------------------------------------------------

LEAST_SHOWN = 0.01  # of a segment, used at some time, for it to get a lane
WIDTH, LANE, GAP, LEFT, TOP = 1200, 170, 34, 200, 40
BACKGROUND, FRAME, TEXT = "#10141c", "#303a4a", "#c8d0dc"


def colour_of(bo):
    """Neighbouring ids get colours far apart."""
    return "hsl(%d,%d%%,%d%%)" % (bo * 137 % 360, 55 + bo * 7 % 25, 45 + bo * 5 % 20)


def svg_lane(out, residency, segment, name, size, top, window):
    """One segment: its frame, its boxes."""
    begin, end = window
    scale_x = (WIDTH - LEFT - 20) / max(end - begin, 1e-9)
    escaped = xml.sax.saxutils.escape(name)
    out.append('<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="%s"/>'
               % (LEFT, top, WIDTH - LEFT - 20, LANE, FRAME))
    out.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (LEFT - 10, top + 16, escaped))
    out.append('<text x="%d" y="%d" text-anchor="end" opacity="0.6">%.0f MiB</text>'
               % (LEFT - 10, top + 34, size / 1048576))
    for seg, offset, length, bo, start, stop in residency.boxes:
        if seg != segment or stop <= begin or start >= end:
            continue
        x = LEFT + (max(start, begin) - begin) * scale_x
        width = max((min(stop, end) - max(start, begin)) * scale_x, 0.3)
        height = max(length / size * LANE, 0.4)
        y = top + LANE - (offset + length) / size * LANE
        out.append('<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="%s"/>'
                   % (x, y, width, height, colour_of(bo)))


def svg(events, segments):
    """A picture of the segments' occupancy over time."""
    residency = Residency(events)
    shown = sorted(s for s, points in residency.usage.items()
                   if max(used for _t, used in points) >= LEAST_SHOWN * segments.get(s, (0, 0))[1])
    # From the first object placed to the last thing an engine did; what a program does with
    # the result is not of interest here.
    begin = min((box[4] for box in residency.boxes), default=0.0)
    end = max((e.time for e in events if e.name in ("job_done", "place")), default=begin + 1)
    height = TOP + len(shown) * (LANE + GAP) + 30
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
           'viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="%s">'
           % (WIDTH, height, WIDTH, height, TEXT),
           '<rect width="100%%" height="100%%" fill="%s"/>' % BACKGROUND,
           '<text x="%d" y="24" font-size="16">Where allocations lie in the segments; '
           'a colour is an allocation</text>' % LEFT]
    top = TOP
    for segment in shown:
        extent = max(b[1] + b[2] for b in residency.boxes if b[0] == segment)
        name, size = segments.get(segment, ("segment %d" % segment, 0))
        svg_lane(out, residency, segment, name, size or extent, top, (begin, end))
        top += LANE + GAP
    cuts = [e.time for e in events
            if e.name == "split_part" and e.fields["part"] > 0 and begin <= e.time <= end]
    scale_x = (WIDTH - LEFT - 20) / max(end - begin, 1e-9)
    for time in cuts:
        out.append('<line x1="%.2f" x2="%.2f" y1="%d" y2="%d" stroke="#fff" stroke-width="0.4" '
                   'opacity="0.5"/>' % (LEFT + (time - begin) * scale_x,
                                        LEFT + (time - begin) * scale_x, TOP, top - GAP))
    out.append('<text x="%d" y="%d">0 s</text>' % (LEFT, top))
    out.append('<text x="%d" y="%d" text-anchor="end">%.2f s; white lines: %d cuts</text>'
               % (WIDTH - 20, top, end - begin, len(cuts)))
    out.append("</svg>\n")
    return "\n".join(out)


def read_segments(path):
    """The segments as tessera-demo --summary-json wrote them: id -> (name, bytes)."""
    with open(path, encoding="utf-8") as f:
        return {seg["id"]: (seg["name"], seg["size"]) for seg in json.load(f)["segments"]}


def in_words(s):
    """The totals as the demo's summary goes on."""
    def mib(key):
        return s["bytes"].get(key, 0) / 1048576
    reasons = ", ".join("%s %d" % item for item in s["evictions_by_reason"].items())
    return ("paged       %.0f MiB: in %.0f, out %.0f, moved %.0f; cleared %.0f, mapped %.0f MiB\n"
            "evictions   %d (%s); %d pins at cuts; %d parts, %d cuts, %d failed jobs" % (
                s["bytes_paged"] / 1048576, mib("transfer_in"), mib("transfer_out"),
                mib("transfer_move"), mib("fill"), mib("map"), s["evictions"], reasons or "none",
                s["pins"], s["parts"], s["cuts"], s["failed_jobs"]))


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("trace")
    p.add_argument("--json", metavar="FILE")
    p.add_argument("--svg", metavar="FILE")
    p.add_argument("--summary", metavar="FILE")
    p.add_argument("--segments", metavar="FILE")
    p.add_argument("--print", action="store_true", help="print the totals in words")
    args = p.parse_args(argv)
    with open(args.trace, encoding="utf-8", errors="replace") as f:
        events, lost = parse(f)
    if not events:
        print("timeline.py: no tessera events in %s" % args.trace, file=sys.stderr)
        return 1
    segments = read_segments(args.segments) if args.segments else {}
    summary = summarise(events, lost)
    if args.json:
        write(args.json, json.dumps(chrome_trace(events, segments)))
    if args.svg:
        write(args.svg, svg(events, segments))
    if args.summary:
        write(args.summary, json.dumps(summary, indent=2) + "\n")
    if args.print:
        print(in_words(summary))
    if lost:
        print("timeline.py: the kernel lost %d events; totals are too low" % lost, file=sys.stderr)
    if not (args.print or args.json or args.svg or args.summary):
        print(json.dumps(summary, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
