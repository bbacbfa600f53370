"""A client whose master and download servers are played: lost ways, late answers, ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from lycosa.dispatch import Client, DispatchError, exchange, receiver
from lycosa.dispatch.members import Members
from lycosa.dispatch.parts import Wanted
from lycosa.dispatch.ready import READY, Ready
from lycosa.dispatch.receiver import LOOKS, Receiver
from lycosa.dispatch.refusal import Refusal
from lycosa.records import Request, Requests, Responses

PLACE = ("d1", "p1")


def urls(name: str, count: int) -> list[str]:
    """URLs with a name."""
    return [f"http://example.com/{name}-{number}" for number in range(count)]


def requests(name: str, count: int) -> list[Request]:
    """Requests with a name."""
    return [Request(url) for url in urls(name, count)]


def answer(most: int = 1_000, **servers: str) -> dict[str, Any]:
    """What the master tells of download servers, each with a process."""
    known = {name: {"address": f"http://{name}", "process": process} for name, process in servers.items()}
    told = {"ring": 0, "members": {}, "divided": False, "most": most, "period": 0.02, "settled": True}
    return {**told, "servers": known}


class Peer:
    """Plays the master and the download server d1, to which a client's calls go."""

    def __init__(self) -> None:
        self.most, self.serial, self.is_downloading = 1_000, 0, True
        self.refusal: Refusal | None = None  # of /v1/servers
        self.decide: Callable[[int], dict[str, Any] | None] = lambda count: None  # another answer than a grant
        self.on_grants: Callable[[], None] = lambda: None
        self.asked: list[int] = []  # URLs of each part
        self.fields: list[dict[str, str]] = []  # of submissions
        self.results: list[tuple[int, bytes]] = []  # number, record
        self.waiting: list[bytes] = []
        self.sequence = 0

    async def post(self, path: str, given: dict[str, Any]) -> dict[str, Any]:
        """Answer as the master."""
        await asyncio.sleep(0)
        if path == "/v1/servers":
            if self.refusal is not None:
                raise self.refusal
            return answer(self.most, d1="p1")
        self.on_grants()
        return {"grants": [self._grant(part["count"]) for part in given["parts"]], **answer(self.most, d1="p1")}

    def _grant(self, count: int) -> dict[str, Any]:
        self.asked.append(count)
        if (refused := self.decide(count)) is not None:
            return refused
        self.serial += 1
        return {"grant": str(self.serial), "serial": self.serial, "server": "d1"}

    async def send(self, path: str, body: bytes, fields: dict[str, str]) -> tuple[Mapping[str, str], bytes]:
        """Answer as the download server."""
        await asyncio.sleep(0)
        if path == "/v1/downloads":
            self.fields.append(fields)
            for request in Requests.decode(body).ticketed(int(fields["lycosa-grant"])):
                self.waiting.append(Responses([request.respond(200, body=b"x" * 100)]).encode())
            self.go_on()
            return {}, b'{"mailbox": 1}'
        given = json.loads(body)
        self.results = [one for one in self.results if one[0] > given["after"]]
        if not self.results:
            await asyncio.sleep(min(given["wait"], 0.01))
        found = list[tuple[int, bytes]]()
        for one in self.results:
            if found and sum(len(content) for _, content in [*found, one]) > given["max_bytes"]:
                break
            found.append(one)
        last = found[-1][0] if found else given["after"]
        told = {"lycosa-process": "p1", "lycosa-mailbox": "1", "lycosa-sequence": str(last)}
        return told, b"".join(content for _, content in found)

    def go_on(self) -> None:
        """Download what waits."""
        if self.is_downloading:
            for content in self.waiting:
                self.sequence += 1
                self.results.append((self.sequence, content))
            self.waiting.clear()

    async def close(self) -> None:
        """Close nothing."""


def play(story: Callable[[Client, Peer], Awaitable[None]], **settings: Any) -> None:
    """Play a story with a client and its peer."""

    async def run() -> None:
        one, peer = Client("http://master", "news", **settings), Peer()
        one._master = cast("Any", peer)
        one._exchange._callers["http://d1"] = cast("Any", peer)
        one._members.take(answer(d1="p1"), 0)  # with a short period from the beginning
        async with one:
            await story(one, peer)

    asyncio.run(asyncio.wait_for(run(), 10))


async def names(found: AsyncIterator[Any]) -> list[str]:
    """Return the ends of the URLs of responses."""
    return sorted([response.url.rpartition("/")[2] async for response in found])


async def taken(one: Client, count: int) -> list[str]:
    """Return the ends of the URLs of so many results."""
    found: list[str] = []
    while len(found) < count:
        found += [response.url.rpartition("/")[2] for response in await one.results()]
    return sorted(found)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    while not is_so():  # noqa: ASYNC110  # what plays the servers has no events
        await asyncio.sleep(0.005)


def test_results_that_are_not_pushed_are_fetched(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exchange, "MAX_RESULTS", 1_500)
    caplog.set_level(logging.WARNING, logger="lycosa")

    async def story(one: Client, peer: Peer) -> None:
        one.add(requests("a", 40))
        assert len(await taken(one, 40)) == 40
        await until(lambda: not peer.results)  # all are confirmed
        one.add(requests("b", 3))
        assert len(await taken(one, 3)) == 3
        assert one.pending.unwanted == 0
        assert ["lycosa-receive-port" in fields for fields in peer.fields] == [True, False]

    play(story, receive=True)
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "d1 seems not to reach port" in told[0]


def test_a_server_that_pushes_is_not_stuck_and_one_with_no_results_is_not() -> None:
    async def take(content: bytes) -> None:
        """Take nothing."""

    one = Receiver("a", take)
    for first in [*range(1, 20), *[0] * 20, *[5] * (LOOKS - 1), 0]:
        assert not one.is_stuck(PLACE, first)
    assert [one.is_stuck(PLACE, 5) for _ in range(LOOKS)] == [False] * (LOOKS - 1) + [True]
    assert not one.is_stuck(("d2", "p2"), 5)


def test_results_that_the_caller_does_not_take_are_not_fetched_a_second_way(caplog: pytest.LogCaptureFixture) -> None:
    async def story(one: Client, peer: Peer) -> None:
        for _ in range(READY):
            await one._added.put(Responses())
        one.add(requests("a", 5))
        await until(lambda: bool(peer.results))
        pushed = asyncio.create_task(one._exchange.settle(peer.results[0][1]))
        await asyncio.sleep(0.02 * (LOOKS + 4))
        assert not pushed.done()
        assert not one._exchange._unreached

    play(story, receive=True)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_download_that_was_left_early_leaves_nothing_to_the_next_one() -> None:
    async def story(one: Client, peer: Peer) -> None:
        first = one.download(urls("first", 50))
        async for _ in first:
            break
        await first.aclose()
        assert await names(one.download(urls("second", 3))) == ["second-0", "second-1", "second-2"]
        assert len(one.pending) == 0

    play(story, batch=10, under_way=20)


def test_a_download_may_begin_right_after_one_that_was_left_by_break() -> None:
    async def story(one: Client, peer: Peer) -> None:
        for _ in range(3):
            async for _ in one.download(urls("first", 20)):
                break
        assert await names(one.download(urls("second", 1))) == ["second-0"]

    play(story)


def test_two_downloads_at_a_time_are_refused() -> None:
    async def story(one: Client, peer: Peer) -> None:
        first = one.download(urls("first", 2))
        await anext(first)
        with pytest.raises(DispatchError, match="one download"):
            await anext(one.download(urls("second", 1)))
        assert len(await names(first)) == 1

    play(story)


def test_what_is_left_early_is_not_asked_for_again_and_what_was_added_is() -> None:
    async def story(one: Client, peer: Peer) -> None:
        peer.is_downloading = False
        peer.decide = lambda count: (
            {"error": "over-quota", "detail": "", "after": 0.05} if len(peer.asked) > 2 else None
        )
        downloading = asyncio.create_task(names(one.download(urls("first", 40))))
        await until(lambda: len(peer.asked) > 2)
        one.add(requests("added", 5))
        downloading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await downloading
        assert len(one.pending) in (5, 0), "5 while they are not being asked for"
        peer.asked, peer.decide, peer.is_downloading = [], lambda count: None, True
        peer.go_on()
        assert await taken(one, 5) == [f"added-{number}" for number in range(5)]
        assert sum(peer.asked) == 5
        assert len(one.pending) == 0

    play(story, batch=10, under_way=30)


def test_results_of_add_and_of_download_go_where_they_are_waited_for() -> None:
    async def story(one: Client, peer: Peer) -> None:
        one.add(requests("added", 30))
        downloaded, added = await asyncio.gather(names(one.download(urls("own", 30))), taken(one, 30))
        assert downloaded == sorted(f"own-{number}" for number in range(30))
        assert added == sorted(f"added-{number}" for number in range(30))

    play(story)


def test_who_puts_results_in_waits_while_it_is_full_and_not_once_they_are_dropped() -> None:
    async def story() -> None:
        ready = Ready()
        for _ in range(READY):
            await ready.put(Responses())
        putting = [asyncio.create_task(ready.put(Responses())) for _ in range(3)]
        await asyncio.sleep(0.01)
        await ready.get()
        await asyncio.sleep(0.01)
        assert [task.done() for task in putting] == [True, False, False]
        ready.drop()
        await asyncio.gather(*putting)
        ready.end()
        assert await ready.get() is None

    asyncio.run(asyncio.wait_for(story(), 5))


@pytest.mark.parametrize("code", ["unknown-service", "bad-token"])
def test_a_service_that_is_removed_while_urls_are_under_way_ends_the_client(code: str) -> None:
    async def story(one: Client, peer: Peer) -> None:
        peer.is_downloading = False
        one.add(requests("a", 3))
        await until(lambda: bool(peer.waiting))
        peer.refusal = Refusal(code)
        with pytest.raises(DispatchError, match=code):
            await asyncio.wait_for(one.results(), 5)
        with pytest.raises(DispatchError, match=code):
            await anext(one.download(urls("b", 1)))

    play(story)


def test_a_master_that_does_not_serve_for_a_while_ends_nothing() -> None:
    async def story(one: Client, peer: Peer) -> None:
        peer.is_downloading = False
        one.add(requests("a", 3))
        await until(lambda: bool(peer.waiting))
        peer.refusal = Refusal("unavailable", after=1.0)
        await asyncio.sleep(0.1)
        peer.is_downloading = True
        peer.go_on()
        assert len(await taken(one, 3)) == 3

    play(story)


def test_a_late_answer_of_the_master_declares_no_server_gone() -> None:
    async def story() -> None:
        one = Client("http://127.0.0.1:1", "news")
        wanted = Wanted(Request("http://example.com/"), one._added)
        since = one._members.taken
        one._take_members(answer(d1="p1", d2="p2"), since)
        one.pending.granted(7, ("d2", "p2"), [wanted])
        one._take_members(answer(d1="p1"), since)  # asked before d2 was told of
        assert (one.pending.again, one.pending.under_way()) == (0, 1)
        one._take_members(answer(d1="p1"), one._members.taken)
        assert (one.pending.again, one.pending.under_way()) == (1, 0)

    asyncio.run(story())


def test_members_know_who_is_live() -> None:
    known = Members()
    assert known.take(answer(d1="p1"), known.taken)
    assert known.address(("d1", "p1")) == "http://d1"
    assert known.address(("d1", "p2")) is known.address(("d2", "p1")) is None
    assert known.processes() == {"d1": "p1"}


def test_a_quota_that_becomes_smaller_while_a_question_is_under_way_ends_nothing() -> None:
    async def story(one: Client, peer: Peer) -> None:
        def shrink() -> None:
            """The quota is changed, and the watch hears of it before the question is answered."""
            if peer.most > 10:
                peer.most = 10
                one._take_members(answer(10, d1="p1"), one._members.taken)

        peer.on_grants = shrink
        peer.decide = lambda count: {"error": "too-large", "detail": "", "after": 0.0} if count > peer.most else None
        one.add(requests("a", 25))
        assert len(await taken(one, 25)) == 25
        assert sorted(peer.asked) == [5, 10, 10, 25]

    play(story)


def test_more_than_the_quota_allows_at_once_ends_the_client() -> None:
    async def story(one: Client, peer: Peer) -> None:
        peer.decide = lambda count: {"error": "too-large", "detail": "", "after": 0.0}
        one.add(requests("a", 2))
        with pytest.raises(DispatchError, match="too-large"):
            await one.results()

    play(story)


def test_pushed_results_are_refused_while_the_caller_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HELD_UP", 0.02)

    async def story(one: Client, peer: Peer) -> None:
        for _ in range(READY):
            await one._added.put(Responses())
        one.add(requests("a", 5))
        await until(lambda: len(peer.results) == 5)
        first = asyncio.create_task(one._exchange.take(peer.results[0][1]))
        await asyncio.sleep(0.005)
        for _ in range(2):  # the server's patience was over; what comes again would be taken for taken
            with pytest.raises(Refusal, match="no-capacity"):
                await one._exchange.take(peer.results[0][1])
        for _ in range(READY):
            await one.results()
        await first
        for _, content in peer.results:
            await one._exchange.take(content)
        assert await taken(one, 5) == [f"a-{number}" for number in range(5)]
        assert one.pending.unwanted == 1

    play(story, receive=True)


def test_a_server_that_does_not_know_the_client_yet_is_not_asked_twice() -> None:
    async def story(one: Client, peer: Peer) -> None:
        send, arrived = peer.send, asyncio.Event()

        async def slow(path: str, body: bytes, fields: dict[str, str]) -> tuple[Mapping[str, str], bytes]:
            if path == "/v1/downloads":
                await arrived.wait()
            elif not peer.fields:
                raise Refusal("unknown-client", "")
            return await send(path, body, fields)

        peer.send = slow  # type: ignore[method-assign]
        one.add(requests("a", 3))
        await until(lambda: len(peer.asked) == 1)
        await asyncio.sleep(0.1)  # several looks at the mailbox
        arrived.set()
        assert len(await taken(one, 3)) == 3
        assert (peer.asked, one.pending.again) == ([3], 0)

    play(story, receive=True)


def test_a_renewed_certificate_is_told_once_it_is_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.asynccontextmanager
    async def serving(app: object, bound: Any, tls: object) -> AsyncIterator[None]:
        bound.close()
        yield

    async def take(content: bytes) -> None:
        """Take nothing."""

    async def story() -> None:
        path = tmp_path / "certificate.pem"
        path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        one = Receiver("a", take, certificate=(path, path))
        async with one.listening():
            before = one.fields()["lycosa-receive-certificate"]
            path.write_text("-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n")
            assert one.fields()["lycosa-receive-certificate"] == before
        async with one.listening():
            assert one.fields()["lycosa-receive-certificate"] == receiver.fingerprint_of(path) != before

    monkeypatch.setattr(receiver, "serving", serving)
    asyncio.run(story())
