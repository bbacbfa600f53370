"""Admission: whether a service may have so many URLs downloaded now, and by which download server.

Both policies are functions of numbers; ``master`` keeps the numbers. The names are those of SYSTEMS.md section 4: *t*
URLs are asked for, a service has the quota *m* (URLs/s) and was granted *n* of them in this minute; a download server
downloads *p* URLs/s, has *q* free places, and was granted *r*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

#: Seconds of the window of the published policy.
MINUTE = 60

#: Seconds that are no wait: times since the epoch are rounded to a quarter of this.
ROUNDING = 1e-6

#: Why there is no grant; the codes of ``refusal``.
No = Literal["over-quota", "no-capacity", "no-server"]


class Load(NamedTuple):
    """A live download server as admission sees it."""

    speed: float  # p: URLs/s at the last heartbeat
    free: int  # q: free places at the last heartbeat
    granted: int  # r: in this minute (minute-window), or not yet among those of the heartbeat (gcra)


class Rival(NamedTuple):
    """A service that was refused because no download server had room, and that will ask again."""

    priority: int
    tag: float  # of fair sharing: what it has been granted by its weight
    asked: int  # t


def admit_by_minute(t: int, s: int, m: float, n: int, servers: Sequence[Load]) -> int | No:
    """Decide by the published rule; returns the index of the download server.

    s: second of the minute, 0 to 59.

        over-quota     if t + n > s·m
        u = p·s + q − r, of each live server
        no-capacity    if no u > t
        else           the server with the largest u
    """
    if t + n > s * m:
        return "over-quota"
    best, most = -1, float(t)
    for index, (p, q, r) in enumerate(servers):
        u = p * s + q - r
        if u > most:
            best, most = index, u
    if best >= 0:
        return best
    return "no-capacity" if servers else "no-server"


def due_by_rate(t: float, m: float, burst: float, due: float, now: float) -> tuple[float, float]:
    """Apply the generic cell rate algorithm (ITU-T I.371, annex A); returns the new due time and the seconds to wait.

    due: when what was granted would have been used up at the rate m; burst: what may be granted ahead of that.

        due' = max(due, now) + t/m
        granted (wait 0) if due' − now ≤ burst/m, else after the difference

    The due time is to be stored only if the wait is 0. A t above the burst waits for ever: it is refused before.
    """
    later = (due if due > now else now) + t / m
    wait = later - now - burst / m
    return later, wait if wait > ROUNDING else 0.0


def choose_server(t: int, servers: Sequence[Load], rivals: Sequence[Rival], priority: int, tag: float) -> int | No:
    """Choose a download server with room; returns its index. The service itself is not among the rivals.

        u = q − r, of each live server
        no-capacity    if no u ≥ t + what is kept: the t of rivals that come first
        else           the server with the largest u

    A rival comes first if its priority is greater, or equal and its tag smaller: start-time fair queueing, by which
    services get what there is in proportion to their weights.
    """
    best, most = -1, -1
    for index, (_, q, r) in enumerate(servers):
        u = q - r
        if u > most:
            best, most = index, u
    if best < 0:
        return "no-capacity" if servers else "no-server"
    if rivals:
        t += sum(rival.asked for rival in rivals if (-rival.priority, rival.tag) < (-priority, tag))
    return best if most >= t else "no-capacity"
