"""The stages of a member's lane: one frontier of all that it owns, a fetch that sends what is committed, its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from typing import Protocol, runtime_checkable

from lycosa.cluster.member import Member
from lycosa.cluster.relay import RelayedParse
from lycosa.loop import BATCH
from lycosa.records import Outcomes, Requests, Responses
from lycosa.stages import Fetch, Stages

#: Seconds of waiting for outcomes of partitions that are given back.
LOOK = 0.05


class Divide(Protocol):
    """How batches are divided by partition, and put together."""

    def split_requests(self, requests: Requests) -> dict[int, Requests]:
        """Divide requests by partition."""

    def split_outcomes(self, outcomes: Outcomes, *, take: bool = False) -> dict[int, Outcomes]:
        """Divide outcomes by partition; ``take``: the batch is not needed any more."""

    def join_requests(self, batches: list[Requests]) -> Requests:
        """Return requests as one batch."""

    def join_outcomes(self, batches: list[Outcomes]) -> Outcomes:
        """Return outcomes as one batch."""


@runtime_checkable
class CancelsSome(Protocol):
    """A fetch that can cancel requests of some partitions alone."""

    def cancel_of(self, partitions: Collection[int]) -> None:
        """Cancel them: each ends as cancelled."""


class LaneFrontier:
    """The frontiers of all partitions that a member owns, as one. See ``lycosa.stages.Frontier``."""

    def __init__(self, member: Member, divide: Divide) -> None:
        """Own what the member owns."""
        self._member, self._divide = member, divide
        self.in_flight: Counter[int] = Counter()  # by partition
        self._first = 0  # the partition whose turn it is to be asked first

    def take(self, max: int) -> Requests:
        """Take from the partitions in turn."""
        owned = [] if self._member.is_paused else sorted(self._member.ownership.owned())
        taken: list[Requests] = []
        self._first, left = self._first + 1, max
        for place in range(len(owned)):
            if left <= 0:
                break
            partition = owned[(self._first + place) % len(owned)]
            requests = self._member.parts[partition].take(left)
            if len(requests) > 0:
                left -= len(requests)
                self.in_flight[partition] += len(requests)
                taken.append(requests)
        return self._divide.join_requests(taken)

    def judge(self, outcomes: Outcomes) -> Outcomes:
        """Judge outcomes of owned partitions; others are dropped: their next owners fetch them again."""
        by_partition, judged = self._divide.split_outcomes(outcomes, take=True), []
        for partition, some in by_partition.items():
            self.in_flight[partition] -= len(some)
        none = self._divide.join_outcomes([])
        for partition in self._member.ownership.working():
            judged.append(self._member.parts[partition].judge(by_partition.get(partition, none)))
        return self._divide.join_outcomes(judged)

    def done(self, outcomes: Outcomes) -> None:
        """Confirm outcomes. The links that they have for other partitions are committed with them."""
        for partition, some in self._divide.split_outcomes(outcomes).items():
            part = self._member.parts[partition]
            part.done(some)

    def idle(self) -> bool:
        """Return False: links of other workers may come, and seeds."""
        return False

    def wait(self) -> float:
        """Return the seconds until there may be something to take, or the broker is to be polled."""
        owned = self._member.ownership.owned()
        return min((self._member.parts[partition].wait() for partition in owned), default=LOOK)


class LaneLog:
    """Records of a lane, in the journal of its member. See ``lycosa.stages.Log``."""

    def __init__(self, member: Member, divide: Divide) -> None:
        """Record into the member's journal."""
        self._member, self._divide = member, divide

    def append_leases(self, requests: Requests) -> None:
        """Record requests that are sent once this is committed."""
        for partition, some in self._divide.split_requests(requests).items():
            self._member.journal.lease(partition, self._member.parts[partition].leased(some))

    def append(self, outcomes: Outcomes) -> None:
        """Record outcomes."""
        for partition, some in self._divide.split_outcomes(outcomes).items():
            self._member.record(partition, some)


class CommittedFetch:
    """A fetch that sends a request once its lease is committed. See ``lycosa.stages.Fetch``."""

    def __init__(
        self,
        inner: Fetch,
        member: Member,
        divide: Divide,
        set_fence: Callable[[float], None],
        relay: RelayedParse | None = None,
    ) -> None:
        """inner: the fetch that sends. set_fence: tells it the time from which on it sends nothing.

        relay: has responses that others parse; each takes a slot, and is in flight, until its outcome has come.
        """
        self._inner, self._member, self._divide, self._set_fence = inner, member, divide, set_fence
        self._relay = relay
        self._held: list[Requests] = []

    def free(self) -> int:
        """Return the number of free slots."""
        return max(self._inner.free() - sum(map(len, self._held)) - self._parsing(), 0)

    def in_flight(self) -> int:
        """Return the number of requests submitted whose responses are not parsed."""
        return self.sent() + sum(map(len, self._held)) + self._parsing()

    def sent(self) -> int:
        """Return the number of requests that were sent and are not completed."""
        return self._inner.in_flight()

    def _parsing(self) -> int:
        """How many responses are being parsed elsewhere."""
        return 0 if self._relay is None else self._relay.pending()

    def submit(self, requests: Requests) -> None:
        """Hold requests until their leases are committed."""
        if len(requests) > 0:
            self._held.append(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Commit what is due, and return complete responses."""
        self._member.commit_if_due()
        return self._inner.completed(max, within)

    def cancel(self) -> None:
        """Cancel all requests; forget what is held, and what is being parsed elsewhere."""
        self._held.clear()
        self._inner.cancel()
        if self._relay is not None:
            self._relay.forget()

    def drained(self) -> Responses:
        """Return complete responses, and commit nothing."""
        return self._inner.completed(BATCH, LOOK)

    def cancel_sent(self, partitions: Collection[int]) -> None:
        """Cancel the requests that were sent of some partitions, and others that cannot be told apart.

        Each ends as cancelled.
        """
        if isinstance(self._inner, CancelsSome):
            self._inner.cancel_of(partitions)
        else:
            self._inner.cancel()
        self.recall()

    def recall(self) -> None:
        """What is being parsed elsewhere is parsed here: it is not waited for."""
        if self._relay is not None:
            self._relay.recall()

    def release(self) -> None:
        """Send what is held: its leases are committed."""
        self._set_fence(self._member.ownership.fence())
        held, self._held = self._held, []
        for requests in held:
            self._inner.submit(requests)

    def withdraw(self, partitions: Collection[int]) -> Counter[int]:
        """Forget what is held of some partitions; returns how many requests these were, by partition."""
        kept, withdrawn = [], Counter[int]()
        for requests in self._held:
            for partition, some in self._divide.split_requests(requests).items():
                if partition in partitions:
                    withdrawn[partition] += len(some)
                else:
                    kept.append(some)
        self._held = kept
        return withdrawn


class MemberLane:
    """What a member asks of its lane (``lycosa.cluster.member.Lane``)."""

    def __init__(
        self,
        member: Member,
        frontier: LaneFrontier,
        fetch: CommittedFetch,
        stages: Stages,
        *,
        clock: Callable[[], float],
        grace: float,
    ) -> None:
        """stages: of the lane, which these are of. grace: seconds of waiting for outcomes of what is given back."""
        self._member, self._frontier, self._fetch, self._stages = member, frontier, fetch, stages
        self._clock, self._grace = clock, grace

    def committed(self) -> None:
        """Send what is held."""
        self._fetch.release()

    def withdraw(self, partitions: Collection[int]) -> None:
        """Do not send what of these partitions is held."""
        self._frontier.in_flight.subtract(self._fetch.withdraw(partitions))
        for partition in partitions:
            self._member.journal.withdraw_leases(partition)

    def settle(self, partitions: Collection[int]) -> None:
        """Confirm outcomes of all partitions; after ``grace`` what is in flight is cancelled."""
        deadline, is_cancelled = self._clock() + self._grace, False
        while any(self._frontier.in_flight[one] > 0 for one in partitions):
            if self._clock() >= deadline and not is_cancelled:
                self._fetch.cancel_sent(partitions)
                is_cancelled = True
            self._fetch.recall()
            # As the loop does it, which shows the whole way of a URL in one place.
            stages = self._stages
            outcomes = stages.frontier.judge(stages.parse.parse(stages.fetch.completed(BATCH, LOOK)))
            if len(outcomes) > 0:
                stages.log.append(outcomes)
                stages.frontier.done(outcomes)
            elif self._fetch.in_flight() == 0:
                return  # an error or the end of the loop has left requests that nobody sends

    def cancel(self) -> None:
        """End and forget all that was taken."""
        self._fetch.cancel()
        while self._fetch.sent() > 0:
            self._stages.parse.parse(self._fetch.drained())
        self._fetch.cancel()  # what was sent to parsers meanwhile
        while len(self._stages.parse.parse(Responses())) > 0:
            pass  # what had no memory before
        self._frontier.in_flight.clear()
