"""What several folders of tests share: a DNS server on loopback that answers by the name and counts questions."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import pytest

from benchmarks.ports import free_ports


class DnsServer:
    """Answers by what stands in the name.

    ``gone`` does not exist, ``empty`` has no address, ``broken`` fails at the server, ``half`` does so for IPv6
    alone, ``silent`` gets no answer; all other names have 192.0.2.1 and 2001:db8::1, or what stands in ``hosts``, for
    ``ttl`` seconds.
    """

    def __init__(self, delay: float = 0.0) -> None:
        """``delay``: seconds before each batch of answers."""
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self._socket.bind(("127.0.0.1", 0))
        self._delay, self._ended = delay, False
        #: Seconds that answers hold.
        self.ttl = 3_600
        #: Names that have other addresses, in lower case.
        self.hosts: dict[str, list[str]] = {}
        #: Whether ``broken``, ``half`` and ``silent`` are answered like all others by now.
        self.mended = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        #: How often each name was asked for, in lower case.
        self.asked: Counter[str] = Counter()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; what was asked last is not answered any more."""
        self._ended = True
        self._socket.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        """Answer until the end; the thread's body."""
        while True:
            question, client = self._socket.recvfrom(4096)
            if self._ended:
                return
            if self._delay:
                time.sleep(self._delay)
            reply = self._reply(question)
            if reply is not None:
                self._socket.sendto(reply, client)

    def _reply(self, question: bytes) -> bytes | None:
        """The answer to a question."""
        labels, place = [], 12
        while length := question[place]:
            labels.append(question[place + 1 : place + 1 + length])
            place += 1 + length
        name, end = b".".join(labels).decode().lower(), place + 5
        self.asked[name] += 1
        kind = int.from_bytes(question[place + 1 : place + 3])
        if "silent" in name and not self.mended:
            return None
        is_broken = ("broken" in name or ("half" in name and kind == 28)) and not self.mended
        code = 3 if "gone" in name else 2 if is_broken else 0
        texts = self.hosts.get(name, ["192.0.2.1", "2001:db8::1"]) if code == 0 and "empty" not in name else []
        family = socket.AF_INET6 if kind == 28 else socket.AF_INET
        found = [socket.inet_pton(family, text) for text in texts if kind == (28 if ":" in text else 1)]
        header = question[:2] + bytes([0x81, 0x80 | code, 0, 1, 0, len(found), 0, 0, 0, 0])
        start = b"\xc0\x0c" + kind.to_bytes(2) + b"\x00\x01" + self.ttl.to_bytes(4)
        return header + question[12:end] + b"".join(start + len(data).to_bytes(2) + data for data in found)


@pytest.fixture(scope="session")
def dns() -> Iterator[DnsServer]:
    """One server for all tests that do not count."""
    with DnsServer() as running:
        yield running


@pytest.fixture
def start_dns() -> Iterator[Callable[..., DnsServer]]:
    """Starts servers of a test's own."""
    with ExitStack() as servers:
        yield lambda delay=0.0: servers.enter_context(DnsServer(delay))


@pytest.fixture
def free_addresses() -> list[str]:
    """Two addresses that are free for UDP and TCP, for servers that have to know each other before they listen."""
    return [f"127.0.0.1:{port}" for port in free_ports(2)]
