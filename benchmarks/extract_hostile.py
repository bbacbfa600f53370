"""Part of `extract`: time and memory of pages that are made to cost much."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.harness import Cores, Options, environment, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report

#: Bytes of a page: pages of each size are read.
SIZES, QUICK_SIZES = (1_000_000, 10_000_000, 100_000_000), (1_000_000, 10_000_000)

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
    "ends of unknown elements": lambda size: b"<b>" * 505 + b"</x>" * (size // 4),
    "ends within a scope": lambda size: b"<p><object>" + b"<b>" * 500 + b"<hr>" * (size // 4),
    "short attributes": lambda size: (
        (b"<x " + b" ".join(b"a%c" % (97 + n % 26) for n in range(90)) + b">") * (size // 274)
    ),
    "attributes of one length": lambda size: b"<div" + b"".join(b" %08x" % n for n in range(size // 9)) + b">",
    "times around a text": lambda size: b"<time>" * 500 + b"a" * size,
    "headings": lambda size: (
        b"<meta property=og:title content='" + b"a" * (size // 2) + b"'>" + b"<h1>a</h1>" * (size // 20)
    ),
    "cells that span": lambda size: b"<table><tr><td rowspan=1000000 colspan=99>x<td>y" + b"<tr>" * (size // 4),
    "quotes around lines": lambda size: b"<blockquote>" * 199 + b"a<br>" * (size // 5),
    "items within items": lambda size: (
        b"<div itemscope itemtype=http://schema.org/Comment><b itemprop=author>a" * (size // 75)
    ),
    "marks around words": lambda size: b"<p>" + b"<b><i>" * 250 + b"word " * (size // 5),
    "quotes around code": lambda size: b"<blockquote>" * 16 + b"<pre>x" + b"\n" * size + b"y",
    "rows shorter than others": lambda size: b"<table><tr>" + b"<td>x" * 100 + b"<tr><td>y" * (size // 9),
    "ends before blocks": lambda size: (
        (b"<nav>" + b"<b>" * 255 + b"<ul>" * 250 + b"</b>" * 255 + b"</nav>") * (size // 2_800)
    ),
}

_CHILD = """
import json, sys, time
import lycosa

def kilobytes(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name))

# Models are read once in a process, not once for each page.
lycosa.extract("<p>The first page of a process.").markdown()
body = sys.stdin.buffer.read()
# The peak of this program: that of who has started it is not part of it.
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = kilobytes("VmRSS:")
begin = time.process_time()
found = lycosa.extract(body)
written = found.markdown(links=True, images=True)
blocks, posts = found.blocks, found.posts
spent = time.process_time() - begin
after = kilobytes("VmHWM:")
lengths = {"text": len(found.text), "markdown": len(written)}
print(json.dumps({"cpu": spent, "memory": (after - before) * 1024, **lengths}))
"""


def hostile(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Read a page of each shape and size, each in a process of its own."""
    times, memories = dict[str, float](), dict[str, float]()
    for size, (name, make) in itertools.product(QUICK_SIZES if options.quick else SIZES, SHAPES.items()):
        body = make(size)
        done = subprocess.run(
            [sys.executable, "-c", _CHILD], input=body, capture_output=True, env=environment(), timeout=600
        )
        if done.returncode != 0:
            raise BenchmarkError(f"{name}: {done.stderr.decode(errors='replace')[-500:]}")
        told, shown = json.loads(done.stdout), f"{name}, {size / 1e6:.0f} MB"
        times[shown], memories[shown] = told["cpu"] * 1e9 / len(body), told["memory"] / len(body)
        progress(f"{shown}: {times[shown]:.1f} ns and {memories[shown]:.1f} bytes a byte")
        report.figures += [
            Figure.of(f"hostile, {shown}: CPU", "ns/byte", [times[shown]]),
            Figure.of(f"hostile, {shown}: memory", "bytes/byte", [memories[shown]]),
        ]
    # The bar of memory is of 100 MB: what a page needs however small it is counts for little there.
    largest = {name: value for name, value in memories.items() if name.endswith(", 100 MB")}
    for what, found, unit, bar in (("CPU", times, "ns/byte", TIME), ("memory", largest, "bytes/byte", MEMORY)):
        worst = max(found, key=found.__getitem__, default=None)
        text = f"{what} a byte, the worst: {worst or 'not measured'}"
        value = None if worst is None else found[worst]
        report.claims.append(Claim.at_most(f"extract.hostile.{what.lower()}", text, value, unit, bar))
