"""The `names_paper` benchmark: compares the published methods of resolving names (SYSTEMS.md sections 2 and 3).

The work is done by one program, `crates/names-published/examples/names_paper`: the real client asks the simulated
Internet's DNS for a part of the names; blocking contestants, whose million names take days, are simulated event by
event, and so are all others.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import names_paper_plot
from benchmarks.crawl import require_lycosa
from benchmarks.harness import Cores, Options, build_example, environment, measure, pinned, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report
from benchmarks.served import serving

NAMES, QUICK_NAMES = 1_000_000, 30_000
PART = 60_000  # names that the real client resolves, the first of the list
URLS = 5  # URLs of the list for each host of the world
PAGES = 20  # of a host in the mean
SPEED = 2.0  # scaled time of the real client: beyond it, a core would count that shares the machine with the server
LEARNING = 1_000.0  # scaled time in which the world is learned
TIMEOUT = 200.0  # seconds
SILENCE = 10.0  # seconds until a blocking contestant gives a silent name up
COUNTED = 0.9  # of a list: so that the last silent names do not decide a rate

PLAIN, CACHE, ASYNCHRONOUS, BOTH, AHEAD = OWN = ("plain", "cache", "asynchronous", "both", "ahead")
REAL = (ASYNCHRONOUS, BOTH, AHEAD)
#: What was published: at least so many times as fast as plain, and in which words.
PUBLISHED = {CACHE: (2.0, "2 to 3 ×"), ASYNCHRONOUS: (1.5, "about 1.5 ×"), BOTH: (3.0, "3 to 5 ×")}


def run(options: Options) -> Report:
    """Read the simulated Internet, simulate, have the real client resolve a part, compare."""
    require_lycosa()
    report = Report("names_paper", options.quick)
    if options.peers_only:
        raise BenchmarkError("names_paper has no peers: run it without --peers-only")
    cores = Cores.split()
    program = build_example("lycosa-names-published", "names_paper")
    begin = time.monotonic()
    count = QUICK_NAMES if options.quick else NAMES
    part = min(PART, count)
    with pinned(cores.server), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        _learn(program, count // URLS, cores, folder)
        progress(f"simulating {count:,} names in each way")
        made = _json("simulation", [str(program), "simulate", name, str(count)], cores, folder)
        real = {way: _real(program, way, count, part, cores, folder) for way in REAL}
    times = {way["name"]: [0.0, *way["curve"]] for way in made["ways"]}
    _check(made["ways"], count)
    _check(list(real.values()), part)
    report.claims += _claims(times, real, count, part)
    report.figures += _simulated(made, times, count) + _of_client(real, times, count, part) + _queues(made)
    report.notes += [cores.describe, *_notes(made, real, count, part)]
    if options.plot:
        names_paper_plot.draw(made, real, part, options.plot)
    report.notes.append(f"took {time.monotonic() - begin:.0f} s")
    return report


def _world(hosts: int, speed: float) -> dict[str, Any]:
    """Return the settings of the simulated Internet."""
    return {"profile": "internet", "hosts": hosts, "pages": PAGES, "seed": 1, "speed": speed}


def _learn(program: Path, hosts: int, cores: Cores, folder: Path) -> None:
    """Write the server's answer for each name, and the delays of its model."""
    progress(f"asking what {hosts:,} names answer")
    with serving(_world(hosts, LEARNING), cores.server, folder) as net:
        if net.model is None:
            raise BenchmarkError("this simnet does not tell its model")
        model = net.model["model"]
        (folder / "names").write_text("".join(f"{name}\n" for name in net.hosts))
        command = [str(program), "learn", net.resolver, str(folder / "names")]
        measure("learning", command, cores=cores.client, timeout=TIMEOUT, log=folder / "hosts", env=environment())
    lines = {"latency": _delay(model["dns"]["latency"]), "http": _delay(model["http"]["latency"])}
    lines |= {"loss": [model["dns"]["loss"]], "pages": [PAGES]}
    text = "".join(f"{key} {' '.join(map(str, numbers))}\n" for key, numbers in lines.items())
    (folder / "model").write_text(text)


def _delay(latency: dict[str, float]) -> list[float]:
    """Return the numbers of a delay in the program's format."""
    return [latency[key] for key in ("median_ms", "sigma", "tail_share", "tail_from_ms", "tail_to_ms")]


def _real(program: Path, way: str, count: int, part: int, cores: Cores, folder: Path) -> dict[str, Any]:
    """Have the real client resolve the first part of the list, each time in a new simulated Internet."""
    progress(f"{way}: the real client resolves {part:,} names")
    with serving(_world(count // URLS, SPEED), cores.server, folder) as net:
        command = [str(program), "real", str(folder), str(count), str(part), way, net.resolver, str(SPEED)]
        return _json(way, command, cores, folder)


def _json(name: str, command: list[str], cores: Cores, folder: Path) -> dict[str, Any]:
    """Run the program; returns its output."""
    log = folder / "printed.json"
    measure(name, command, cores=cores.client, timeout=TIMEOUT, log=log, env=environment())
    made: dict[str, Any] = json.loads(log.read_text())
    return made


def _check(ways: Sequence[dict[str, Any]], count: int) -> None:
    """Check that every name of the list was answered once."""
    for way in ways:
        if way["resolved"] != count:
            raise BenchmarkError(f"{way['name']}: {way['resolved']:,} answers to {count:,} names")


def _at(times: Sequence[float], share: float) -> float:
    """Return the second at which a share of a list was resolved, by linear interpolation."""
    place = share * (len(times) - 1)
    low = min(int(place), len(times) - 2)
    return times[low] + (place - low) * (times[low + 1] - times[low])


def _claims(times: dict[str, list[float]], real: dict[str, dict[str, Any]], count: int, part: int) -> list[Claim]:
    """Compare the factors with the published ones."""
    claims = []
    for way, (bar, words) in PUBLISHED.items():
        factor = _at(times[PLAIN], COUNTED) / _at(times[way], COUNTED)
        text = f"{way} ÷ plain, names a second, all simulated (published: {words}), at least"
        claims.append(Claim.at_least(f"names-paper-{way}", text, factor, "×", bar))
        if way in real:
            plain = _at(times[PLAIN], COUNTED * part / count)
            factor = plain / _at([0.0, *real[way]["curve"]], COUNTED)
            text = f"{way}, the real client, ÷ plain, simulated, on {part:,} names (published: {words}), at least"
            claims.append(Claim.at_least(f"names-paper-{way}-client", text, factor, "×", bar))
    return claims


def _simulated(made: dict[str, Any], times: dict[str, list[float]], count: int) -> list[Figure]:
    """Return the result of each method for the whole list."""
    figures = []
    for way in made["ways"]:
        name, own = way["name"], times[way["name"]]
        rate = COUNTED * count / _at(own, COUNTED)
        factor = _at(times[PLAIN], COUNTED) / _at(own, COUNTED)
        if name != PLAIN:
            figures.append(Figure.of(f"{name}, simulated: ÷ plain", "×", [factor]))
        if name in OWN:
            figures += [
                Figure.of(f"{name}, simulated: names resolved", "names/s", [rate]),
                Figure.of(f"{name}, simulated: {count:,} names", "s", [own[-1]]),
                Figure.of(f"{name}, simulated: DNS questions", "questions/name", [way["questions"] / count]),
                Figure.of(f"{name}, simulated: joined to a question", "% of names", [way["coalesced"] / count * 100]),
            ]
        figures.append(Figure.of(f"{name}, simulated: hits", "% of names", [way["hits"] / count * 100]))
    return figures


def _of_client(real: dict[str, dict[str, Any]], times: dict[str, list[float]], count: int, part: int) -> list[Figure]:
    """Return the real client's result for its part, and the deviation of the simulation."""
    figures = []
    for way, done in real.items():
        own = _at([0.0, *done["curve"]], COUNTED)
        share = COUNTED * part / count
        figures += [
            Figure.of(f"{way}, client: names resolved, of {part:,}", "names/s", [COUNTED * part / own]),
            Figure.of(f"{way}, client: ÷ plain, simulated", "×", [_at(times[PLAIN], share) / own]),
            Figure.of(f"{way}, client: ÷ {way}, simulated", "×", [_at(times[way], share) / own]),
            Figure.of(f"{way}, client: DNS questions", "questions/name", [done["questions"] / part]),
            Figure.of(f"{way}, client: hits", "% of names", [done["hits"] / part * 100]),
            Figure.of(f"{way}, client: window in the end", "questions", [done["window"]]),
        ]
    return figures


def _queues(made: dict[str, Any]) -> list[Figure]:
    """Return the waits of URLs of one queue."""
    figures = []
    for queue in made["queues"]:
        name = names_paper_plot.title(queue, made["queue"])
        figures += [
            Figure.of(f"{name}: wait per URL, mean", "ms", [queue["wait"] * 1e3]),
            Figure.of(f"{name}: wait per URL, p95", "ms", [queue["p95"] * 1e3]),
            Figure.of(f"{name}: wait per URL, p99", "ms", [queue["p99"] * 1e3]),
            Figure.of(f"{name}: URLs that waited", "%", [queue["waited"] * 100]),
            Figure.of(f"{name}: crawler idle for names", "ms/URL", [queue["idle"] * 1e3]),
            Figure.of(f"{name}: URLs that overtook", "%", [queue["swapped"] * 100]),
            Figure.of(f"{name}: share of the forward region", "%", [queue["forward"] * 100]),
            Figure.of(f"{name}: share of the reverse region", "%", [queue["reverse"] * 100]),
        ]
    return figures


def _notes(made: dict[str, Any], real: dict[str, dict[str, Any]], count: int, part: int) -> list[str]:
    """Describe the setup, and why the simulated Internet differs from the paper."""
    ways = {way["name"]: way for way in made["ways"]}
    hours = ways[PLAIN]["curve"][-1] / 3600
    silent = made["silent"] * SILENCE
    windows = ", ".join(f"{way} {done['window']}" for way, done in real.items())
    texts = [
        f"""the list: the host of each URL that a breadth-first crawl takes, {count:,} names, {made["distinct"]:,}
        of them distinct, in a world of {made["hosts"]:,} hosts × {PAGES} pages, with links as simnet's pages
        have""",
        """simulated: event by event, with the real caches; delays and losses drawn as the profile internet draws
        them, what each name answers and its TTL as simnet's DNS server told beforehand; a cache's own time counts
        as none""",
        f"""blocking contestants are simulated only: {count:,} names take plain {hours:,.0f} h; their rules are the
        system's, 5 s and two attempts (resolv.conf(5)); no server behind them caches: each question has a delay of
        its own""",
        f"""client: the real one and simnet's DNS on loopback, the first {part:,} names, time {SPEED:g} times as
        fast; it is compared with what is simulated for the same names. Rates are those of the first nine tenths""",
        """cache and both: 50,000 nodes, 21,911 buckets, 1,800 s; asynchronous and both: send queue 1,024; ahead:
        compact cache, 20,000 names handed over ahead, 1,024 asked for at a time""",
        f"""cache: {ways[CACHE]["hits"] / count:.0%} of the names are hits; failures are not cached, as published, and
        {made["silent"] / count:.1%} of the names are silent, {SILENCE:g} s each time:
        {silent / ways[PLAIN]["curve"][-1]:.0%} of plain's time and {silent / ways[CACHE]["curve"][-1]:.0%} of
        cache's; the lines no period, room for all and neither say what the cache's parameters cost it""",
        """asynchronous was published as about 1.5 ×; here up to 1,024 questions overlap, names that are being asked
        for are joined, and a silent name holds up none but itself. What held the paper's back it does not say (its
        server, or its crawler)""",
        f"""the simulated client has 1,024 questions in flight whenever there are names enough; the real one has a
        window by losses, in the end {windows}, never less than 64: silence about dead names counts as loss beyond a
        tenth""",
        f"""section 3: {made["urls"]:,} URLs of the list, {made["queue"]:,} in the queue at a time, one crawler that
        fetches one after the other by the profile's HTTP delays; names resolved by the client's rules""",
        """section 3, wait: from a URL's first turn until its name was known and it was taken. With the swap others
        go on meanwhile, so the crawler is hardly idle, but a URL that lost its place waits where the other one
        stood""",
        """section 3, regions: of all URLs, by the region that answered: forward below 500 ms, else, or failed,
        reverse""",
    ]
    return [" ".join(text.split()) for text in texts]
