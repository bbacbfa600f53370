"""Trouble that is ours costs a crawl time and nothing else; trouble that is others' never holds it up.

Each test is one crawl on a simulated Internet whose resolver, uplink or network fails for a while, or whose process,
clock or disk does. All that were chosen run at the same time: most of it is waiting.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from lycosa.simnet import SimulatedInternet, Trouble

from tests.crawl.running import Outcome, judge, judge_others, run
from tests.crawl.scenarios import (
    CONTINUE,
    FILL,
    FREE,
    KILL,
    QUICK,
    STOP,
    Scenario,
    calm,
    clock,
    random_schedule,
    slow,
    trouble,
)

MINUTE = 60.0

#: Longer than anything that is ours lasts in it: a patience that has nothing to do with what is shown.
SHORT = {"frontier.patience": 60}

#: Crawls at the same time.
AT_ONCE = 12


def passing(kind: Trouble, seconds: float, begin: float = 0.0, **settings: float) -> Scenario:
    """A trouble that lasts; by default from the first request on: most names are not known yet."""
    events = ((begin, trouble(kind)), (begin + seconds, calm()))
    return Scenario(events, SHORT | settings, until=begin + seconds + 20 * MINUTE)


def before(kind: Trouble) -> Scenario:
    """A trouble that is there when the crawl begins."""

    def prepare(net: SimulatedInternet) -> tuple[list[str], set[str]]:
        net.trouble(kind)
        return list(net.seeds), set()

    return Scenario(((3 * MINUTE, calm()),), SHORT, prepare=prepare, until=23 * MINUTE)


#: All scenarios in which the trouble is ours, by name.
OURS = {
    "resolver silent for a minute": passing("resolver-silent", MINUTE),
    "resolver answers SERVFAIL": passing("resolver-servfail", 3 * MINUTE),
    # From the moment on when some host is known to be well: until then dead names look the same.
    "resolver answers NXDOMAIN": passing("resolver-nxdomain", 3 * MINUTE, begin=10.0),
    "resolver refused": passing("resolver-refused", 3 * MINUTE),
    "uplink refused": passing("uplink-refused", 3 * MINUTE),
    "uplink black-holed": passing("uplink-black-hole", 3 * MINUTE),
    "uplink broken": passing("uplink-broken", 3 * MINUTE),
    "uplink silent": passing("uplink-silent", 3 * MINUTE),
    "captive": passing("captive", 3 * MINUTE),
    "captive with redirects": passing("captive-redirect", 3 * MINUTE),
    "captive with a page for each visitor": passing("captive-varied", 3 * MINUTE),
    "captive, refused by something between": passing("captive-refusal", 3 * MINUTE, begin=10.0),
    "captive, hosts on HTTPS": Scenario(
        ((1, trouble("captive")), (3 * MINUTE, calm())), SHORT, https=1.0, until=23 * MINUTE
    ),
    "captive from before the crawl": before("captive"),
    "captive with redirects from before the crawl": before("captive-redirect"),
    "half the packets lost": passing("loss", 3 * MINUTE, **{"frontier.patience": 300}),
    "robots.txt 503": passing("robots-unavailable", 2 * MINUTE, **{"frontier.patience": 300}),
    "SIGSTOP for five minutes": Scenario(((10, STOP), (10 + 5 * MINUTE, CONTINUE)), SHORT),
    "clock set back and forth": Scenario(
        ((10, clock(3_600)), (30, clock(-3_600)), (50, clock(0)), (52, KILL)), SHORT, clock=True
    ),
    "disk full": Scenario(((5, FILL), (5 + MINUTE, FREE)), SHORT, disk=True),
    "disk slow": Scenario(((5, slow(1.0)), (5 + 2 * MINUTE, QUICK)), SHORT),
}

#: Those that take longer.
LONG = {
    "resolver silent for ten minutes": passing("resolver-silent", 10 * MINUTE),
    "resolver silent for an hour": passing("resolver-silent", 60 * MINUTE),
    "robots.txt 503 for an hour": passing("robots-unavailable", 60 * MINUTE, **{"frontier.patience": 7_200}),
    "SIGSTOP for two hours": Scenario(((10, STOP), (10 + 120 * MINUTE, CONTINUE)), SHORT, until=150 * MINUTE),
}


def urls(net: SimulatedInternet) -> list[str]:
    """Each host's front page."""
    return [f"http://{host}:{net.http_port}/" for host in net.hosts]


def dead(net: SimulatedInternet) -> tuple[list[str], set[str]]:
    """Of 10,000 hosts, some 1,000 live; 4,500 refuse connections, and 4,500 do not exist."""
    kept = set(sorted(set(net.hosts.values()))[:900])
    refusing = {host for host, address in net.hosts.items() if address not in kept}
    net.trouble("uplink-refused", hosts=refusing)
    gone = [f"gone-{n}.com" for n in range(10_000 - len(net.hosts))]
    return [*urls(net), *(f"http://{host}/" for host in gone)], refusing | set(gone)


def parked(net: SimulatedInternet) -> tuple[list[str], set[str]]:
    """All but 100 hosts are parked: one address, one page."""
    hosts = set(list(net.hosts)[100:])
    net.trouble("captive", hosts=hosts)
    return urls(net), hosts


def failing(kind: Trouble) -> Callable[[SimulatedInternet], tuple[list[str], set[str]]]:
    """Every host of the address that has most fails, for good."""

    def prepare(net: SimulatedInternet) -> tuple[list[str], set[str]]:
        ((address, _),) = Counter(net.hosts.values()).most_common(1)
        hosts = {host for host, own in net.hosts.items() if own == address}
        net.trouble(kind, hosts=hosts)
        return urls(net), hosts

    return prepare


#: Half of the hosts live at one address.
CDN = "addresses = { groups = [{ least = 1, most = 1, share = 0.5 }, { least = 60, most = 60, share = 0.5 }] }"


def content_delivery(kind: Trouble) -> Scenario:
    """A content delivery network fails alone."""
    settings = SHORT | {"politeness.max_interval": 1}
    return Scenario((), settings, hosts=120, pages=4, model=CDN, prepare=failing(kind), until=10 * MINUTE)


#: All scenarios in which the trouble is others'.
THEIRS = {
    "nine of ten hosts are dead": Scenario(
        (), SHORT | {"fetch.slots": 128}, hosts=5_500, pages=1, prepare=dead, until=15 * MINUTE
    ),
    "a thousand parked domains": Scenario(
        (), SHORT, hosts=1_100, pages=2, address_interval=0.05, prepare=parked, until=15 * MINUTE
    ),
    "a CDN refuses": content_delivery("uplink-refused"),
    "a CDN breaks connections": content_delivery("uplink-broken"),
    "a CDN's names fail": content_delivery("resolver-servfail"),
}

#: Random schedules; every day the first few.
RANDOM = [f"random schedule {seed}" for seed in range(1, 201)]

SCENARIOS = {**OURS, **LONG, **THEIRS, **{name: random_schedule(seed) for seed, name in enumerate(RANDOM, 1)}}


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Outcome]]:
    """The outcome of a scenario; all that are asked for in this run begin with the first."""
    # A world of many hosts has as many listeners while some of them refuse.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    chosen = [str(item.callspec.params["name"]) for item in items if "outcome" in item.fixturenames]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results: dict[str, Future[Outcome]] = {
            name: pool.submit(run, SCENARIOS[name], tmp_path_factory.mktemp("scenario")) for name in chosen
        }
        yield lambda name: results[name].result()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", OURS)
def test_trouble_that_is_ours_costs_time_and_nothing_else(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))
    assert outcome(name).seconds >= OURS[name].events[-1][0], f"it was over before the trouble: {outcome(name)}"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", THEIRS)
def test_trouble_that_is_others_never_suspends_a_crawl(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge_others(outcome(name))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", LONG)
def test_trouble_that_lasts_costs_time_and_nothing_else(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))


@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", RANDOM[:3])
def test_two_troubles_and_kills_in_between(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", RANDOM)
def test_two_of_all_troubles_and_kills_in_between(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))
