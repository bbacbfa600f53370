"""What happens to a crawl: a world, settings, and a timeline in the job's time; also at random, from a seed.

``running.py`` lets it happen.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lycosa.simnet import SimulatedInternet, Trouble

if TYPE_CHECKING:
    from tests.crawl.running import Running


@dataclass(frozen=True)
class Scenario:
    """What happens to a crawl."""

    #: What is done when: seconds of the job's time since the crawl's first request. In their order.
    events: tuple[tuple[float, Event], ...]
    #: Settings beside those of the world's own job.
    settings: dict[str, Any] = field(default_factory=dict)
    #: The world.
    hosts: int = 40
    pages: int = 16
    seed: int = 1
    #: How it behaves: a model file's text.
    model: str = ""
    #: The share of hosts on HTTPS.
    https: float = 0.0
    #: Seconds between two requests to an address.
    address_interval: float = 0.25
    #: What is so from before the crawl on: the seeds, and the hosts that are in trouble for good.
    prepare: Callable[[SimulatedInternet], tuple[list[str], set[str]]] | None = None
    #: Whether the clock can be set, and the disk be filled.
    clock: bool = False
    disk: bool = False
    #: When the crawl must have ended: seconds of the job's time since its first request.
    until: float = 1_200.0


@dataclass(frozen=True)
class Event:
    """Something that happens to a running scenario."""

    name: str
    act: Callable[[Running], None]

    def __repr__(self) -> str:
        """Its name."""
        return self.name


def trouble(
    kind: Trouble, share: float = 0.5, hosts: Callable[[SimulatedInternet], Iterable[str]] | None = None
) -> Event:
    """Begin a trouble."""
    return Event(
        f"begin {kind}",
        lambda crawl: crawl.net.trouble(kind, share=share, hosts=None if hosts is None else hosts(crawl.net)),
    )


def calm(kind: Trouble | None = None) -> Event:
    """End a trouble, or all."""
    return Event(f"calm {kind or 'all'}", lambda crawl: crawl.net.calm(kind))


def clock(seconds: float) -> Event:
    """Set the clock so far off."""
    return Event(f"clock {seconds:+.0f} s", lambda crawl: crawl.set_clock(seconds))


def slow(seconds: float) -> Event:
    """Let each record take so many seconds of the machine's."""
    return Event(f"disk slow by {seconds} s", lambda crawl: crawl.set_slow(seconds))


#: Kill the crawl and start it again.
KILL = Event("kill -9", lambda crawl: crawl.kill())
#: Suspend the process, and let it go on.
STOP = Event("SIGSTOP", lambda crawl: crawl.running().send_signal(signal.SIGSTOP))
CONTINUE = Event("SIGCONT", lambda crawl: crawl.running().send_signal(signal.SIGCONT))
#: Fill the disk, and free space on it.
FILL = Event("disk full", lambda crawl: crawl.fill())
FREE = Event("disk free", lambda crawl: crawl.free())
#: The disk is as quick as it is.
QUICK = Event("disk quick", lambda crawl: crawl.set_slow(0))

#: What can happen at random: a beginning and its end.
PAIRS: tuple[tuple[Event, Event], ...] = (
    *(
        (trouble(kind), calm(kind))
        for kind in (
            "resolver-silent",
            "resolver-servfail",
            "resolver-nxdomain",
            "resolver-refused",
            "uplink-refused",
            "uplink-black-hole",
            "uplink-broken",
            "uplink-silent",
            "captive",
            "captive-redirect",
            "captive-varied",
            "captive-refusal",
            "loss",
            "robots-unavailable",
        )
    ),
    (STOP, CONTINUE),
    (clock(3_600), clock(0)),
    (clock(-3_600), clock(0)),
    (FILL, FREE),
    (slow(0.5), QUICK),
)


def random_schedule(seed: int) -> Scenario:
    """Two troubles that overlap or follow each other, and the crawl killed once or twice in between."""
    dice = random.Random(seed)  # noqa: S311
    events = []
    for begin, end in dice.sample(PAIRS, 2):
        at = dice.uniform(1, 25)
        events += [(at, begin), (at + dice.choice((10, 40, 90)) * dice.uniform(0.7, 1.3), end)]
    last = max(at for at, _ in events)
    events += [(dice.uniform(2, last), KILL) for _ in range(dice.randint(1, 2))]
    events.sort(key=lambda event: event[0])
    return Scenario(tuple(events), {"frontier.patience": 120}, seed=seed, clock=True, disk=True)
