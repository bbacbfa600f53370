"""The `names_cluster` benchmark: questions of 8 crawlers behind 4 lower and 2 upper DNS servers to the outside."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.dns_servers import Server, running_ours
from benchmarks.harness import Cores, Options, environment, last_line, pinned, progress
from benchmarks.report import BenchmarkError, Claim, Figure, Report
from benchmarks.served import Served, serving

CRAWLERS, LOWER, UPPER = 8, 4, 2
LIMIT = 400.0  # seconds for all crawls of a run
PAUSE = 120.0  # s that a failure is kept: the default of `lycosa dns`
PROBES = 200  # questions a second
CALM = 0.1  # s: a second whose p99 is below is none in which anybody waited for a dead server
#: Names as in the profile `internet`, but for what the ledger could not tell apart: no datagram is lost, so what got
#: no answer was asked for a dead name; every name exists, so what does not is a server's search for loops.
MODEL = """description = "names of the Internet, and pages without delay"

[dns]
answers = { address = 0.9, no_data = 0.05, nxdomain = 0.0, servfail = 0.02, dead = 0.03 }
ttl = [{ seconds = 60, share = 0.1 }, { seconds = 300, share = 0.3 }, { seconds = 3600, share = 0.6 }]

[dns.latency]
median_ms = 60.0
sigma = 1.1
tail_share = 0.01
tail_from_ms = 800.0
tail_to_ms = 15000.0
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes and durations."""

    hosts: int
    speed: float  # by which crawlers and simulated Internet are faster than in life
    kill: float  # seconds after the crawls' start at which servers die
    probing: float  # seconds after that


PLAN, QUICK = Plan(3_000, 1.0, 10.0, 15.0), Plan(400, 4.0, 4.0, 8.0)


@dataclass(frozen=True, slots=True)
class Outside:
    """Questions to the outside world, and pages of the crawlers."""

    answered: float  # questions for each name that has an answer
    failing: float  # for each name that has none
    loops: int  # for names by which servers search for loops
    missed: int  # pages that are there and were not fetched, of all crawlers
    seconds: float


def run(options: Options) -> Report:
    """Crawl without tiers, with them, and with two of their servers killed."""
    report = Report("names_cluster", options.quick)
    plan, cores, begin = QUICK if options.quick else PLAN, Cores.split(), time.monotonic()
    if options.peers_only:
        return report
    with pinned(cores.server | cores.client), tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name)
        with ThreadPoolExecutor(1) as beside:
            # Counted and not timed, so beside the others, in a world of its own.
            waiting = beside.submit(_plain, plan, folder / "plain")
            tiers, _ = _tiered(plan, folder / "tiers", kill=False)
            killed, probe = _tiered(plan, folder / "killed", kill=True)
            plain = waiting.result()
    _judge(report, {"without tiers": plain, "with tiers": tiers, "two servers killed": killed}, probe)
    report.notes += [
        f"{CRAWLERS} `lycosa crawl` processes of one world of {plan.hosts:,} hosts, all of them seeds of each crawl, "
        f"in an order of its own, each with its own cache in memory; {plan.speed:g} times as fast as in life; "
        "names that fail are given up at once (`frontier.patience = 0`)",
        f"{LOWER} lower and {UPPER} upper servers, all on the same {len(cores.server | cores.client)} cores as the "
        f"crawlers; in a run of its own, {plan.kill:g} s after the start, one of each is killed (SIGKILL)",
        "p99: of each second, by a client like the crawlers' that asks the lower servers for names with an address; "
        f"a second is as before when its p99 is at most {CALM:g} s or that of the worst second before",
        "outside questions: by the simulated Internet's ledger, A only, repeats for slow answers included; failing: "
        "SERVFAIL or never an answer",
        f"took {time.monotonic() - begin:.0f} s",
    ]
    return report


def _plain(plan: Plan, folder: Path) -> Outside:
    """Crawl without tiers."""
    with _world(plan, folder) as net:
        return _outside("without tiers", net, plan, folder, [net.resolver])


def _tiered(plan: Plan, folder: Path, *, kill: bool) -> tuple[Outside, Probe]:
    """Crawl with tiers; two servers may be killed while a client measures."""
    with _world(plan, folder) as net, contextlib.ExitStack() as stack:
        upper, lower = _tiers(stack, net, plan, folder)
        dying = [upper[0], lower[0]] if kill else []
        probe = Probe(_known(net) if kill else [], lower, folder / "probe.cache")
        if kill:
            killer = threading.Timer(plan.kill, _kill, [dying, probe, plan])
            stack.callback(killer.join)
            stack.callback(probe.stop)
            stack.callback(killer.cancel)
            probe.start()
            killer.start()
        made = _outside(
            "two servers killed" if kill else "with tiers", net, plan, folder, [server.address for server in lower]
        )
        if kill:
            killer.join()
        for server in (*upper, *lower):
            if server not in dying and not server.alive:
                status, told = server.child.returncode, last_line(server.log)
                raise BenchmarkError(f"{server.name} ended while it was asked, with status {status}: {told}")
    return made, probe


@contextlib.contextmanager
def _world(plan: Plan, folder: Path) -> Iterator[Served]:
    """Serve the simulated Internet, the same each time."""
    folder.mkdir()
    model = folder / "model.toml"
    model.write_text(MODEL)
    settings = {"hosts": plan.hosts, "pages": 1, "seed": 9, "profile": str(model), "speed": plan.speed}
    cores = Cores.split()
    with serving(settings, cores.server | cores.client, folder) as net:
        yield net


def _tiers(stack: contextlib.ExitStack, net: Served, plan: Plan, folder: Path) -> tuple[list[Server], list[Server]]:
    """Start the servers."""
    settings = f"workers = 1\ncapacity = 10_000\nfailure_pause = {max(1, round(PAUSE / plan.speed))}"

    def start(tier: str, number: int, upstreams: Sequence[str]) -> Server:
        made = running_ours(folder / f"{tier}{number}", upstreams, tier=tier, settings=settings)
        server = stack.enter_context(made)
        server.name = f"{tier} {number}"
        return server

    upper = [start("upper", number, [net.resolver]) for number in range(UPPER)]
    lower = [start("lower", number, [server.address for server in upper]) for number in range(LOWER)]
    return upper, lower


def _known(net: Served) -> list[str]:
    """Return names that have an address; these questions are not counted as a crawler's."""
    from lycosa.names.lookups import Lookups

    names = list(net.hosts)[:300]
    with Lookups(resolvers=[net.resolver], families="v4") as lookups:
        futures = [(name, lookups.ask(name)) for name in names]
        return [name for name, future in futures if future.result().status == "ok"]


def _kill(servers: Sequence[Server], probe: Probe, plan: Plan) -> None:
    """Kill servers, and measure for a while what clients observe."""
    probe.killed = time.monotonic()
    for server in servers:
        server.kill()
        progress(f"{server.name} was killed")
    time.sleep(plan.probing)
    probe.stop()


def _outside(who: str, net: Served, plan: Plan, folder: Path, resolvers: Sequence[str]) -> Outside:
    """Run all crawlers to their end, and read the ledger."""
    before, begin = _questions(net), time.monotonic()
    crawls = [_crawl(net, plan, folder / f"crawl{number}", resolvers, number) for number in range(CRAWLERS)]
    try:
        for number, crawl in enumerate(crawls):
            try:
                status = crawl.wait(max(0.0, begin + LIMIT - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise BenchmarkError(f"crawl {number} has not ended after {LIMIT:g} s") from None
            if status not in (0, 3):  # 3: names failed, as the world has it
                raise BenchmarkError(f"crawl {number}: {last_line(folder / f'crawl{number}' / 'log')}")
    finally:
        for crawl in crawls:
            crawl.kill()
            crawl.wait()
    asked = {kind: count - before.get(kind, 0) for kind, count in _questions(net).items()}
    assert net.model is not None, "this version tells its model"
    shares = net.model["world"]["answers"]
    failing = round(plan.hosts * (shares.get("servfail", 0.0) + shares.get("dead", 0.0)))
    there = round(plan.hosts * shares["address"])
    reports = [json.loads((folder / f"crawl{number}" / "report.json").read_text()) for number in range(CRAWLERS)]
    made = Outside(
        sum(asked.get(kind, 0) for kind in ("address", "nodata")) / (plan.hosts - failing),
        sum(asked.get(kind, 0) for kind in ("error", "silence")) / failing,
        asked.get("nxdomain", 0),
        sum(there - made["statuses"].get("200", 0) for made in reports),
        time.monotonic() - begin,
    )
    told = f"{made.answered:.3f} questions a name, {made.failing:.1f} a failing one"
    progress(f"{who}: {told}, {made.missed} pages missed, {made.seconds:.0f} s")
    return made


def _questions(net: Served) -> dict[str, int]:
    """Return the questions to the outside world, by answer."""
    counts: dict[str, int] = net.report["totals"]["dns_by_answer"]
    return counts


def _crawl(net: Served, plan: Plan, folder: Path, resolvers: Sequence[str], number: int) -> subprocess.Popen[bytes]:
    """Start a crawl of all front pages."""
    folder.mkdir()
    names = list(net.hosts)
    random.Random(number).shuffle(names)
    seeds = [f"http://{name}:{net.port}/" for name in names]
    job = folder / "job.toml"
    job.write_text(
        f"seeds = {json.dumps(seeds)}\nscope = 'any'\nmax_depth = 0\nspeed = {plan.speed}\n"
        "allow_addresses = ['127.0.0.0/8']\nuser_agent = 'lycosa-bench/0.1 (+http://localhost/)'\n"
        f"[names]\nresolvers = {json.dumps(resolvers)}\n"
        # Names are what is measured: no crawl needs to wait long for hosts that share an address.
        "[politeness]\naddress_interval = 0.05\n"
        # What is counted is what one failure costs outside; with the default, each is tried again for five minutes.
        "[frontier]\npatience = 0\n"
        # All sites are one process here: idle connections of 8 crawls to each site would exceed its open files.
        "[fetch]\nidle_connections = 512\n"
    )
    command = [sys.executable, "-m", "lycosa", "crawl", "--job", str(job), "--dir", str(folder / "job"), "--quiet"]
    command += ["-o", str(folder / "pages.jsonl"), "--report", str(folder / "report.json")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment())


class Probe:
    """A client that repeatedly asks for names with an address and stores each answer's time."""

    def __init__(self, names: Sequence[str], servers: Sequence[Server], cache: Path) -> None:
        """Ask nothing yet."""
        self._names, self._servers, self._cache = list(names), [server.address for server in servers], cache
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)
        #: When each was asked for, and how long the answer took, in seconds; filled by the answers' thread.
        self.times: list[tuple[float, float]] = []
        self.failed = 0
        self.killed = 0.0

    def start(self) -> None:
        """Start to ask."""
        self._thread.start()

    def stop(self) -> None:
        """Stop asking."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def seconds(self) -> list[tuple[float, float]]:
        """Yield each whole second, counted from the kill, with the p99 of its questions."""
        by_second: dict[int, list[float]] = {}
        for asked, took in self.times:
            by_second.setdefault(int((asked - self.killed) // 1), []).append(took)
        full = {second: sorted(times) for second, times in by_second.items() if len(times) > PROBES // 2}
        return [(second, times[len(times) * 99 // 100]) for second, times in sorted(full.items())]

    def _ask(self) -> None:
        """Ask at an even pace; the thread's body."""
        from lycosa.names import Cache
        from lycosa.names.lookups import Lookups

        with Lookups(resolvers=self._servers, families="v4", cache=self._cache, capacity=1_000) as lookups:
            begin, count, memory = time.monotonic(), 0, Cache.open(self._cache)
            while not self._ended.wait(max(0.0, begin + count / PROBES - time.monotonic())):
                name = self._names[count % len(self._names)]
                memory.forget(name)  # else its own memory would answer
                asked = time.monotonic()
                lookups.ask(name).add_done_callback(partial(self._note, asked))
                count += 1

    def _note(self, asked: float, future: Future[Any]) -> None:
        """Store the time of an answer."""
        if future.cancelled():
            return
        self.times.append((asked, time.monotonic() - asked))
        self.failed += future.result().status != "ok"


def _judge(report: Report, runs: Mapping[str, Outside], probe: Probe) -> None:
    """Return figures and claims."""
    tiers, killed = runs["with tiers"], runs["two servers killed"]
    seconds = probe.seconds()
    # The first seconds find cold caches.
    before = [late for second, late in seconds if -4 <= second < 0]
    after = [(second, late) for second, late in seconds if second >= 0]
    back = None
    if before and after:
        bound = max(CALM, *before)
        back = max((second + 1 for second, late in after if late > bound), default=0.0)
    for way, made in runs.items():
        report.figures += [
            Figure.of(f"{way}: outside questions an answered name", "questions", [made.answered]),
            Figure.of(f"{way}: outside questions a failing name", "questions", [made.failing]),
            Figure.of(f"{way}: outside questions by which servers search for loops", "questions", [made.loops]),
            Figure.of(f"{way}: pages missed by the {CRAWLERS} crawls", "pages", [made.missed]),
            Figure.of(f"{way}: all crawls took", "s", [made.seconds]),
        ]
    report.figures += [
        Figure.of("p99 of each second before servers died", "ms", [late * 1e3 for late in before] or [0.0]),
        Figure.of("p99 of each second after servers died", "ms", [late * 1e3 for _, late in after] or [0.0]),
    ]
    report.claims += [
        Claim.at_most(
            "names_cluster.answered",
            "outside questions for each (name, type) that has an answer, at most",
            tiers.answered,
            "questions",
            1.02,
        ),
        Claim.at_most(
            "names_cluster.failing",
            "outside questions for each name that fails, at most",
            tiers.failing,
            "questions",
            3,
        ),
        Claim.at_most(
            "names_cluster.errors",
            "pages missed, and names not answered to the client that looks on, with two servers killed, at most",
            killed.missed + probe.failed,
            "errors",
            0,
        ),
        Claim.at_most(
            "names_cluster.back", "seconds until the p99 is as before two servers died, at most", back, "s", 5
        ),
    ]
