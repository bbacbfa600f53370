"""Lookups, one name at a time: search domains, and questions that nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
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


def test_names_in_a_search_domain_are_asked_for_even_below_local(start_dns: Callable[..., DnsServer]) -> None:
    dns = start_dns()
    search = ["default.svc.cluster.local", "svc.cluster.local", "."]
    with Lookups(resolvers=[dns.address], families="v4", search=search, ndots=5) as lookups:
        assert lookups.wait("web", 10).status == "ok"
        assert lookups.wait("printer.local.", 10).status == "nxdomain"
    assert list(dns.asked) == ["web.default.svc.cluster.local"]


def test_a_family_that_fails_hides_no_addresses_of_the_other(start_dns: Callable[..., DnsServer]) -> None:
    with Lookups(resolvers=[start_dns().address]) as lookups:
        answer = lookups.wait("half.example", 10)
        assert (answer.status, lookups.addresses(answer)) == ("ok", ["192.0.2.1"])
    with Lookups(resolvers=[start_dns().address], types=["A", "AAAA"]) as lookups:
        answer = lookups.wait("half.example", 10)
        assert (answer.status, lookups.addresses(answer)) == ("servfail", ["192.0.2.1"])


def test_under_a_rate_a_name_waits_for_its_turn_and_no_longer(start_dns: Callable[..., DnsServer]) -> None:
    with Lookups(resolvers=[start_dns().address], families="v4", rate=10.0, timeout=20.0, attempts=1) as lookups:
        begin = time.monotonic()
        futures = [lookups.ask("silent.example"), *(lookups.ask(f"n{number}.example") for number in range(4))]
        assert [future.result(10).status for future in futures[1:]] == ["ok"] * 4
        assert time.monotonic() - begin < 0.9
        futures[0].cancel()


def test_a_forked_process_is_told_to_make_its_own(dns: DnsServer) -> None:
    with Lookups(resolvers=[dns.address]) as lookups:
        assert lookups.wait("a.example", 10).status == "ok"
        child = os.fork()
        if child == 0:  # nothing of pytest may run here
            told = 0
            try:
                lookups.wait("b.example", 10)
            except ValueError as error:
                told = int("before a fork" in str(error))
            lookups.close()
            try:
                lookups.statistics()
            except ValueError as error:
                told += 2 * int("before a fork" in str(error))
            os._exit(told)
        until = time.monotonic() + 20
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            assert time.monotonic() < until, "the child waits for a thread that it does not have"
            time.sleep(0.01)
        assert os.waitstatus_to_exitcode(ended[1]) == 3
        assert lookups.wait("b.example", 10).status == "ok"


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
