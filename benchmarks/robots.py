"""robots.txt: verdicts per CPU second, compared with Protego, Python's own parser and Google's."""

from __future__ import annotations

import gc
import random
import statistics
import time
import urllib.robotparser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness import Options, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

AGENT = "lycosa"
BAR = 1e6  # verdicts a CPU second, by the issue
PATHS = 100  # of each file
LYCOSA, PROTEGO, PYTHON, GOOGLE = "Lycosa", "Protego", "urllib.robotparser", "Google's C++ parser"
WORDS = ("admin", "api", "blog", "cart", "cgi-bin", "images", "login", "news", "private", "products", "search", "tmp")


@dataclass(frozen=True, slots=True)
class File:
    """A robots.txt and paths to judge by it."""

    text: str
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Parser:
    """A contestant: `read` parses a text to rules, `ask` returns one verdict per path."""

    name: str
    read: Callable[[str], Any]
    ask: Callable[[Any, list[str]], list[bool]]


def run(options: Options) -> Report:
    """Measure parsing and verdicts of all contestants, in turn, on the same files."""
    report = Report("robots", options.quick)
    files = _files(200 if options.quick else 1_000)
    parsers = _parsers(report, peers_only=options.peers_only)
    rounds = 3 if options.quick else 7
    reading: dict[str, list[float]] = {parser.name: [] for parser in parsers}
    asking: dict[str, list[float]] = {parser.name: [] for parser in parsers}
    verdicts: dict[str, list[bool]] = {}
    for turn in range(rounds):
        for parser in parsers:
            read, asked, found = _measure(parser, files)
            reading[parser.name].append(read)
            asking[parser.name].append(asked)
            verdicts[parser.name] = found
            progress(f"round {turn + 1}/{rounds} {parser.name}: {asked:,.0f} verdicts a CPU second")
    _compare(report, verdicts)
    for name, values in asking.items():
        report.figures.append(Figure.of(f"{name}: verdicts", "1/CPU s", values))
        if name != GOOGLE:
            report.figures.append(Figure.of(f"{name}: files read", "1/CPU s", reading[name]))
    for name in asking:
        if name == GOOGLE and LYCOSA in asking:
            both = [1 / (1 / read + 1 / ask) for read, ask in zip(reading[LYCOSA], asking[LYCOSA], strict=True)]
            report.figures.append(
                Figure.ratio(f"reading a file for each verdict, {LYCOSA} to {name}", both, asking[name])
            )
        elif name != LYCOSA and LYCOSA in asking:
            report.figures.append(Figure.ratio(f"verdicts, {LYCOSA} to {name}", asking[LYCOSA], asking[name]))
    if not options.peers_only:
        value = statistics.median(asking[LYCOSA])
        report.claims.append(
            Claim.at_least("robots-verdicts", "robots.txt verdicts a CPU second", value, "1/CPU s", BAR)
        )
    sizes = [text.count("\n") for text in (file.text for file in files)]
    report.notes += [
        f"{len(files)} generated files of {min(sizes)} to {max(sizes)} lines, median {statistics.median(sizes):.0f}; "
        f"{PATHS} paths of each, all asked in one call where the parser has one",
        "Google's parser keeps nothing between two questions: each of its verdicts reads the file again, as it is "
        "meant to be used; it is compared with Lycosa doing so",
    ]
    return report


def _parsers(report: Report, *, peers_only: bool) -> list[Parser]:
    """Return the installed contestants; a missing peer has the reason."""
    parsers = []
    if not peers_only:
        from lycosa import _core

        parsers.append(
            Parser(LYCOSA, lambda text: _core.Robots(text.encode(), AGENT), lambda rules, paths: rules.allows(paths))
        )
    peer = Peer.package(PROTEGO, ["protego"], "Protego.parse, can_fetch")
    report.peers.append(peer)
    if peer.missing is None:
        from protego import Protego

        parsers.append(
            Parser(
                PROTEGO,
                Protego.parse,
                lambda rules, paths: [rules.can_fetch("http://h.example" + path, AGENT) for path in paths],
            )
        )
    report.peers.append(Peer(PYTHON, "of this Python", "RobotFileParser.parse, can_fetch"))
    parsers.append(
        Parser(
            PYTHON,
            _read_python,
            lambda rules, paths: [rules.can_fetch(AGENT, "http://h.example" + path) for path in paths],
        )
    )
    peer = Peer.package(GOOGLE, ["jwm.robotstxt"], "RobotsMatcher.OneAgentAllowedByRobots")
    report.peers.append(peer)
    if peer.missing is None:
        from jwm.robotstxt import googlebot  # type: ignore[import-not-found, import-untyped, unused-ignore]

        matcher = googlebot.RobotsMatcher()
        parsers.append(
            Parser(
                GOOGLE,
                lambda text: text,
                lambda text, paths: [
                    matcher.OneAgentAllowedByRobots(text, AGENT, "http://h.example" + path) for path in paths
                ],
            )
        )
    return parsers


def _measure(parser: Parser, files: Sequence[File]) -> tuple[float, float, list[bool]]:
    """Return files parsed and verdicts per CPU second, and the verdicts."""
    gc.collect()
    begin = time.process_time()
    rules = [parser.read(file.text) for file in files]
    read = time.process_time() - begin
    found: list[bool] = []
    begin = time.process_time()
    for each, file in zip(rules, files, strict=True):
        found += parser.ask(each, file.paths)
    asked = time.process_time() - begin
    return len(files) / max(read, 1e-9), len(found) / max(asked, 1e-9), found


def _compare(report: Report, verdicts: dict[str, list[bool]]) -> None:
    """Check that Lycosa agrees with Google and Protego; Python's parser has no wildcards and uses the first match."""
    ours = verdicts.get(LYCOSA)
    if ours is None:
        return
    for name, theirs in verdicts.items():
        same = sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)
        if name in (GOOGLE, PROTEGO) and same < 1:
            raise BenchmarkError(f"{name} says otherwise of {1 - same:.2%} of the paths: one of the two is wrong")
        if name == PYTHON:
            report.notes.append(
                f"{PYTHON} agrees on {same:.1%} of the verdicts: it takes the first match, not the longest"
            )


def _read_python(text: str) -> urllib.robotparser.RobotFileParser:
    """Python's own parser."""
    parser = urllib.robotparser.RobotFileParser()
    parser.parse(text.splitlines())
    return parser


def _files(count: int) -> list[File]:
    """Return realistic files: most are short, some have hundreds of lines; a tenth of the rules has wildcards."""
    dice = random.Random(20)
    return [_file(dice) for _ in range(count)]


def _file(dice: random.Random) -> File:
    """Return one file, and paths of which some are forbidden."""
    lines = ["User-agent: badbot", "Disallow: /", "", "User-agent: *"]
    patterns = []
    for _ in range(min(500, int(dice.lognormvariate(2.7, 1.0)) + 1)):
        pattern = _path(dice, dice.randint(1, 3)) + dice.choice(("", "/"))
        kind = dice.random()
        if kind < 0.05:
            pattern = f"/*/{dice.choice(WORDS)}{dice.randint(1, 99)}"
        elif kind < 0.1:
            pattern += f"*.{dice.choice(('pdf', 'php', 'gif'))}$"
        patterns.append(pattern)
        lines.append(f"{'Allow' if dice.random() < 0.15 else 'Disallow'}: {pattern}")
    lines += ["", "Sitemap: https://h.example/sitemap.xml", ""]
    paths = []
    for _ in range(PATHS):
        # Half of them below what some rule speaks of, since crawlers meet such links.
        begin = dice.choice(patterns).rstrip("$/").replace("*", "x") if dice.random() < 0.5 else ""
        paths.append(
            begin + _path(dice, dice.randint(1, 4)) + dice.choice(("", ".pdf", ".php", f"?id={dice.randint(1, 9)}"))
        )
    return File("\n".join(lines), paths)


def _path(dice: random.Random, depth: int) -> str:
    """Return a path of some words."""
    return "".join(f"/{dice.choice(WORDS)}{dice.choice(('', '', dice.randint(1, 99)))}" for _ in range(depth))
