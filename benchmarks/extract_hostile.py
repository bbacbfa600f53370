"""Part of `extract`: time and memory of pages that are made to cost much."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Cores, Options, environment, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Bytes of a page.
SIZE, QUICK_SIZE = 100_000_000, 10_000_000

#: Nanoseconds of CPU a byte, and bytes of memory a byte.
TIME, MEMORY = 50.0, 8.0

SHAPES: dict[str, Callable[[int], bytes]] = {
    "nested elements": lambda size: b"<div>" * (size // 5),
    "unclosed paragraphs": lambda size: b"<p>a" * (size // 4),
    "nested lists": lambda size: b"<ul><li>" * (size // 8),
    "nested tables": lambda size: b"<table><tr><td>" * (size // 15),
    "text in tables, where none may be": lambda size: b"<table>a" * (size // 8),
    "formatting that is never closed": lambda size: b"<b><i>a" * (size // 7),
    "ends of nothing": lambda size: b"</p></a>" * (size // 8),
    "links without an end": lambda size: b"<a href=/x>a" * (size // 12),
    "attributes": lambda size: b"<div " + b" ".join(b"a%d=1" % n for n in range(size // 12)) + b">",
    "one attribute": lambda size: b"<div a='" + b"x" * size,
    "entities": lambda size: b"&amp;" * (size // 5),
    "text without spaces": lambda size: b"a" * size,
    "words": lambda size: b"word " * (size // 5),
    "Chinese": lambda size: "中文。".encode() * (size // 9),
    "tags of one letter": lambda size: b"<" * size,
    "comments": lambda size: b"<!-- -->" * (size // 8),
    "JSON-LD": lambda size: b"<script type='application/ld+json'>" + b'{"a":[' * (size // 6),
    "definitions": lambda size: b"<dl><dt>a<dd>b" * (size // 14),
}

_CHILD = """
import json, resource, sys, time
import lycosa
body = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.process_time()
found = lycosa.extract(body)
spent = time.process_time() - begin
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"cpu": spent, "memory": (after - before) * 1024, "text": len(found.text)}))
"""


def hostile(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Read a page of each shape, in a process of its own."""
    size = QUICK_SIZE if options.quick else SIZE
    times, memories = dict[str, float](), dict[str, float]()
    for name, make in SHAPES.items():
        body = make(size)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], input=body, capture_output=True, env=environment(), timeout=600
        )
        if done.returncode != 0:
            raise BenchmarkError(f"{name}: {done.stderr.decode(errors='replace')[-500:]}")
        told = json.loads(done.stdout)
        times[name], memories[name] = told["cpu"] * 1e9 / len(body), told["memory"] / len(body)
        progress(f"{name}: {times[name]:.1f} ns and {memories[name]:.1f} bytes a byte")
        report.figures += [
            Figure.of(f"hostile, {name}: CPU", "ns/byte", [times[name]]),
            Figure.of(f"hostile, {name}: memory", "bytes/byte", [memories[name]]),
        ]
    for what, found, unit, bar in (("CPU", times, "ns/byte", TIME), ("memory", memories, "bytes/byte", MEMORY)):
        worst = max(found, key=lambda name: found[name])
        text = f"{what} a byte of pages of {size / 1e6:.0f} MB, the worst: {worst}"
        report.claims.append(Claim.at_most(f"extract.hostile.{what.lower()}", text, found[worst], unit, bar))
