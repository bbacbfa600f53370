"""Which of several masters is called."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from lycosa.dispatch import calls
from lycosa.dispatch.calls import Caller
from lycosa.dispatch.refusal import Refusal
from lycosa.errors import SettingError


class Peer:
    """A server that answers as it is told, and counts its requests."""

    def __init__(self, answer: bytes | None) -> None:
        """answer: status line and body; `None`: it is silent."""
        self.answer, self.asked, self.url = answer, 0, ""
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        if self.answer is None:
            await reader.read()  # until it is given up
        else:
            status, _, body = self.answer.partition(b" ")
            fields = b"content-length: %d\r\nconnection: close" % len(body)
            writer.write(b"HTTP/1.1 %s x\r\n%s\r\n\r\n%s" % (status, fields, body))
        writer.close()


GOOD, UNAVAILABLE = b'200 {"good":1}', b'503 {"error":"unavailable","detail":"","after":1}'
REFUSED = b'429 {"error":"over-quota","detail":"","after":1}'


def play(*answers: bytes | None, story: Callable[[Caller, list[Peer]], Awaitable[None]]) -> None:
    """Play a story with a caller of servers; one that answers b"" does not listen."""

    async def run() -> None:
        peers = [Peer(answer) for answer in answers]
        for peer in peers:
            await peer.start()
            if peer.answer == b"":
                await peer.stop()
        async with Caller(", ".join(f"{peer.url}/" for peer in peers)) as caller:
            await story(caller, peers)
        for peer in peers:
            await peer.stop()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_one_that_refuses_the_connection_is_passed_over_at_once() -> None:
    async def story(caller: Caller, peers: list[Peer]) -> None:
        for _ in range(3):
            assert await caller.get("/x") == {"good": 1}
        assert caller.url == peers[2].url, "it stays with the one that answers"
        assert [peer.asked for peer in peers] == [0, 0, 3]

    play(b"", b"", GOOD, story=story)


def test_one_that_is_silent_is_not_called_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "ANSWER_SEVERAL", 0.3)
    monkeypatch.setattr(calls, "PASSED_OVER", 0.5)

    async def story(caller: Caller, peers: list[Peer]) -> None:
        with pytest.raises(TimeoutError):
            await caller.get("/x")
        assert await caller.get("/x") == {"good": 1}
        await peers[1].stop()
        peers[0].answer = GOOD
        with pytest.raises(aiohttp.ClientConnectorError):
            await caller.get("/x")  # what was silent is left alone
        await asyncio.sleep(0.5)
        assert await caller.get("/x") == {"good": 1}
        assert [peer.asked for peer in peers] == [2, 1]

    play(None, GOOD, story=story)


def test_one_that_serves_no_more_is_left_and_one_that_refuses_is_not() -> None:
    async def story(caller: Caller, peers: list[Peer]) -> None:
        with pytest.raises(Refusal, match="unavailable"):
            await caller.get("/x")
        for _ in range(2):
            with pytest.raises(Refusal, match="over-quota"):
                await caller.get("/x")
        assert [peer.asked for peer in peers] == [1, 2]

    play(UNAVAILABLE, REFUSED, story=story)


def test_where_none_listens_the_error_is_told() -> None:
    async def story(caller: Caller, peers: list[Peer]) -> None:
        with pytest.raises(aiohttp.ClientConnectorError):
            await caller.get("/x")

    play(b"", b"", story=story)


@pytest.mark.parametrize("url", ["127.0.0.1:7700", "http://a,b", "http://a,", ""])
def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(SettingError, match=r"master: .* several with commas"):
        Caller(url)


def test_a_host_that_vanished_does_not_hold_up_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "CONNECT_SEVERAL", 0.3)

    async def story(caller: Caller, peers: list[Peer]) -> None:
        # A full backlog answers no connection, as a host that is gone.
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            address = full.getsockname()
            with socket.create_connection(address), socket.socket() as second:
                second.setblocking(False)
                second.connect_ex(address)
                async with Caller(f"http://127.0.0.1:{address[1]},{peers[0].url}") as several:
                    assert await several.get("/x") == {"good": 1}

    play(GOOD, story=story)
