"""Lookups, one name at a time: search domains, and questions that nobody waits for any more."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from lycosa.errors import SettingError
from lycosa.names.lookups import Lookups

if TYPE_CHECKING:
    from tests.conftest import DnsServer


def test_a_search_ends_when_nobody_waits_for_it(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns(delay=0.2)
    search = ["gone1.example", "gone2.example", "gone3.example"]
    with Lookups(resolvers=[dns.address], families="v4", search=search) as lookups:
        future = lookups.ask("www")  # the first name is on its way
        assert future.cancel()
        # Who asks later is answered later: had the search gone on, its next name would have been asked for by then.
        assert lookups.wait("last.example.", 10).status == "ok"
        assert lookups.wait("later.example.", 10).status == "ok"
    assert [name for name in dns.asked if name.startswith("www")] == ["www.gone1.example"]


@pytest.mark.parametrize("search", [[], ["corp.example"]])
@pytest.mark.parametrize("ndots", [-1, 16, 300, 1.5, True, "1"])
def test_ndots_are_checked_with_and_without_search_domains(search: list[str], ndots: Any, dns: DnsServer) -> None:
    with pytest.raises(SettingError) as error:
        Lookups(resolvers=[dns.address], search=search, ndots=ndots)
    assert error.value.name == "ndots"
    assert "0 to 15" in str(error.value)


@pytest.mark.parametrize("search", [[], ["corp.example"]])
def test_half_a_character_is_a_bad_name_with_and_without_search_domains(search: list[str], dns: DnsServer) -> None:
    with Lookups(resolvers=[dns.address], search=search) as lookups:
        assert lookups.wait("a\ud800.example", 10).status == "bad-name"
        assert lookups.wait("\udfff", 10).status == "bad-name"


def test_a_task_that_waits_is_told_when_the_lookups_close(start_dns: Callable[..., DnsServer]) -> None:
    lookups = Lookups(resolvers=[start_dns().address], families="v4", timeout=60.0)

    async def wait() -> None:
        closing = threading.Timer(0.1, lookups.close)
        closing.start()
        with pytest.raises(socket.gaierror, match="the lookups are closed"):
            await lookups.lookup("silent.example")
        closing.join()

    asyncio.run(wait())
