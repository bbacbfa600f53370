"""A crawl's fetch by download servers: how the end of its client is told."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import pytest
from lycosa import _core
from lycosa.dispatch.remote import RemoteFetch
from lycosa.errors import LycosaError
from lycosa.records import Request, Requests, Responses


class ScriptedClient:
    """Gives these results, one after the other, and waits then."""

    def __init__(self, *results: Responses | Exception) -> None:
        """Nothing was asked for."""
        self.results_left = list(results)
        self._has_been_asked = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Begin."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """End."""

    def add(self, requests: list[Request]) -> None:
        """Take requests."""
        assert requests
        self._has_been_asked.set()

    async def results(self) -> Responses:
        """Return the next."""
        await self._has_been_asked.wait()
        if not self.results_left:
            await asyncio.sleep(60)
        found = self.results_left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def fetching(monkeypatch: pytest.MonkeyPatch, *clients: ScriptedClient) -> RemoteFetch:
    """A fetch with these clients, one after the other."""
    left: list[Any] = list(clients)
    monkeypatch.setattr("lycosa.dispatch.remote.Client", lambda *_, **__: left.pop(0))
    return RemoteFetch("http://127.0.0.1:1", "test", 8)


def leased(number: int) -> Request:
    """A request on lease."""
    return _core.Proxies.request(f"http://a.example/{number}", number, ["192.0.2.99"])


@pytest.mark.parametrize("error", [KeyError("what nobody has thought of"), LycosaError("the service is refused")])
def test_a_client_that_fails_is_told_whenever_results_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    request = leased(1)
    fetch = fetching(monkeypatch, ScriptedClient(Responses([request.respond(200)]), error))
    fetch.submit(Requests([request, leased(2)]))
    assert [response.status for response in fetch.completed(10, 5.0)] == [200]
    for _ in range(2):
        with pytest.raises(LycosaError, match=r"nobody has thought of|service is refused"):
            fetch.completed(10, 5.0)
        fetch.submit(Requests([leased(3)]))
    fetch.cancel()
    assert fetch.in_flight() == 0


def test_it_goes_on_with_another_client_after_a_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = leased(1), leased(2)
    fetch = fetching(monkeypatch, ScriptedClient(), ScriptedClient(Responses([second.respond(200)])))
    fetch.submit(Requests([first]))
    fetch.forget()
    assert (fetch.in_flight(), len(fetch.completed(10, 0.0))) == (0, 0)
    fetch.submit(Requests([second]))
    assert [response.request.url for response in fetch.completed(10, 5.0)] == [second.url]
    fetch.cancel()
