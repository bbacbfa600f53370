"""What tests of dispatch share: a key, quotas, heartbeats."""

from __future__ import annotations

from typing import Any

from lycosa import _core
from lycosa.dispatch.desk import Desk
from lycosa.dispatch.master import Master
from lycosa.dispatch.protocol import SITE
from lycosa.dispatch.quotas import Quota, Quotas
from lycosa.dispatch.registry import Beat
from lycosa.records import Requests

#: The master's key of all tests.
KEY = _core.SigningKey(_core.new_identity_key())

#: When tests begin, in seconds since the epoch: the first second of a minute.
START = 1_800_000_000.0

DIGEST = "0" * 64


def quotas(policy: str = "gcra", **services: Any) -> Quotas:
    """Quotas of services, each a rate or the settings of one."""
    made = {name: Quota(rate=one) if isinstance(one, int | float) else Quota(**one) for name, one in services.items()}
    return Quotas.model_validate(
        {"policy": policy, "services": {name: one.model_dump() for name, one in made.items()}}
    )


def master(given: Quotas, now: float = START, life: int = 1, **settings: Any) -> Master:
    """A master of these quotas."""
    return Master(given, KEY, life, now, **settings)


def beat(server: str = "d1", *, ring: int = 0, members: dict[str, float] | None = None, **changed: Any) -> Beat:
    """A heartbeat."""
    usual: dict[str, Any] = {
        "server": server,
        "process": f"process of {server}",
        "address": f"http://{server}.example:7701",
        "slots": 128,
        "speed": 100.0,
        "free": 10_000,
        "successes": 0,
        "failures": 0,
        "accepted": (),
        "ring": ring,
        "members": members or {},
        "clocks": server,
        "queued": {},
    }
    return Beat(**{**usual, **changed})


def beat_until_ready(one: Master, *servers: str, now: float = START, **changed: Any) -> dict[str, Any]:
    """Heartbeats of servers until their ring is in use; returns the last answer."""
    answer: dict[str, Any] = {"ring": {"version": 0, "members": {}}}
    for _ in range(3):
        for server in servers:
            known = answer["ring"]
            answer = one.heartbeat(beat(server, ring=known["version"], members=known["members"], **changed), now)
    assert one.registry.ring() is not None
    return answer


def own(desk: Desk, now: float, some: Requests) -> set[str]:
    """The URLs of some requests whose sites are a download server's by every ring that counts now."""
    parts = [some.split(ring, SITE).get(desk.name, Requests()) for ring in desk.sites(now).rings]
    return set.intersection(*({request.url for request in part} for part in parts))
