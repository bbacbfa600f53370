"""Trouble that is ours costs a crawl time and nothing else; trouble that is others' never holds it up.

Each test is one crawl on a simulated Internet whose resolver, uplink or network fails for a while, or whose process,
clock or disk does. All that were chosen run at the same time: most of it is waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.crawl.scenarios import (
    CONTINUE,
    FILL,
    FREE,
    KILL,
    QUICK,
    STOP,
    Outcome,
    Scenario,
    calm,
    clock,
    judge,
    random_schedule,
    run,
    slow,
    trouble,
)

MINUTE = 60.0

#: Longer than anything that is ours lasts in it: a patience that has nothing to do with what is shown.
SHORT = {"frontier.patience": 60}

#: Crawls at the same time.
AT_ONCE = 12


def passing(kind: str, seconds: float, **settings: float) -> Scenario:
    """A trouble that begins with the crawl and lasts."""
    events = ((3.0, trouble(kind)), (3.0 + seconds, calm()))  # type: ignore[arg-type]
    return Scenario(events, SHORT | settings, until=seconds + 20 * MINUTE)


#: All scenarios in which the trouble is ours, by name.
OURS = {
    "resolver silent for a minute": passing("resolver-silent", MINUTE),
    "resolver silent for ten minutes": passing("resolver-silent", 10 * MINUTE),
    "resolver answers SERVFAIL": passing("resolver-servfail", 3 * MINUTE),
    "resolver refused": passing("resolver-refused", 3 * MINUTE),
    "uplink refused": passing("uplink-refused", 3 * MINUTE),
    "uplink black-holed": passing("uplink-black-hole", 3 * MINUTE),
    "uplink broken": passing("uplink-broken", 3 * MINUTE),
    "uplink silent": passing("uplink-silent", 3 * MINUTE),
    "captive": passing("captive", 3 * MINUTE),
    "captive with redirects": passing("captive-redirect", 3 * MINUTE),
    "half the packets lost": passing("loss", 3 * MINUTE, **{"frontier.patience": 300}),
    "robots.txt 503": passing("robots-unavailable", 2 * MINUTE, **{"frontier.patience": 300}),
    "SIGSTOP for five minutes": Scenario(((10, STOP), (10 + 5 * MINUTE, CONTINUE)), SHORT),
    "clock set back and forth": Scenario(
        ((10, clock(3_600)), (30, clock(-3_600)), (50, clock(0)), (52, KILL)), SHORT, pages=12, clock=True
    ),
    "disk full": Scenario(((5, FILL), (5 + MINUTE, FREE)), SHORT, disk=True),
    "disk slow": Scenario(((5, slow(1.0)), (5 + 2 * MINUTE, QUICK)), SHORT),
}

#: Those that take longer.
LONG = {
    "resolver silent for an hour": passing("resolver-silent", 60 * MINUTE),
    "robots.txt 503 for an hour": passing("robots-unavailable", 60 * MINUTE, **{"frontier.patience": 7_200}),
    "SIGSTOP for two hours": Scenario(((10, STOP), (10 + 120 * MINUTE, CONTINUE)), SHORT, until=150 * MINUTE),
}

SCENARIOS = {
    **OURS,
    **LONG,
    **{f"random schedule {seed}": random_schedule(seed) for seed in range(1, 201)},
}

#: Random schedules that are short enough for every day.
FEW = 3


@pytest.fixture(scope="module")
def outcome(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Outcome]]:
    """The outcome of a scenario; all that are asked for in this run begin with the first."""
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


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", LONG)
def test_trouble_that_lasts_costs_time_and_nothing_else(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(f"random schedule {seed}", marks=[pytest.mark.soak] if seed > FEW else [])
        for seed in range(1, 201)
    ],
)
def test_two_troubles_and_kills_in_between(name: str, outcome: Callable[[str], Outcome]) -> None:
    judge(outcome(name))
