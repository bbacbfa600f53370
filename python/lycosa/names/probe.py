"""Checks which DNS servers answer at all, before millions of names are resolved."""

from __future__ import annotations

import ipaddress
import os
import selectors
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from os import PathLike

from lycosa.names.resolver import ENCRYPTED, Resolver

#: Seconds between two questions to a server that has not answered.
AGAIN = 0.5

#: Servers that are asked at once: each needs a socket, and the limit is often 1,024 file descriptors.
AT_ONCE = 500


#: A name that every resolver knows, for servers over TLS or HTTPS; the client itself asks for it.
KNOWN = "a.root-servers.net"


def silent(
    resolvers: Sequence[str],
    ca_file: str | PathLike[str] | None = None,
    within: float = 2.0,
    *,
    tcp_only: bool = False,
) -> dict[str, str]:
    """Return the servers that do not answer within some seconds, and why, if that is known; any answer counts.

    Each is ``ADDRESS:PORT``, or ``tls://ADDRESS:PORT`` or ``https://ADDRESS:PORT/PATH`` with or without ``#NAME``, as
    in `Resolver.resolvers`. ``tcp_only``: those without a prefix are asked over TCP, the others as always.
    """
    encrypted = [resolver for resolver in resolvers if resolver.startswith(ENCRYPTED)]
    with ExitStack() as clients:
        asked = {}
        for resolver in encrypted:
            client = Resolver(resolvers=[resolver], ca_file=ca_file, timeout=within, attempts=1, capacity=1_000)
            asked[resolver] = clients.enter_context(client)
            client.submit([KNOWN], 0)
        plain = [resolver for resolver in resolvers if resolver not in asked]
        if tcp_only:
            mute = _silent_over_tcp(plain, within)
        else:
            groups = [plain[begin : begin + AT_ONCE] for begin in range(0, len(plain), AT_ONCE)]
            mute = {resolver: "" for group in groups for resolver in _silent(group, within)}
        until = time.monotonic() + within
        for resolver, client in asked.items():
            answers = client.take(1, max(0.0, until - time.monotonic()))
            if not client.upstreams()[0]["answers"]:
                why = answers[0].detail if len(answers) else None
                mute[resolver] = (why or "no answer in time").removeprefix(f"{resolver}: ")
    return {resolver: mute[resolver] for resolver in resolvers if resolver in mute}


def _silent_over_tcp(resolvers: Sequence[str], within: float) -> dict[str, str]:
    """Return the servers, each ``ADDRESS:PORT``, that do not answer over TCP, and why: few, those of resolv.conf."""

    def ask(resolver: str) -> str | None:
        address, _, port = resolver.rpartition(":")
        question = _question()
        try:
            with socket.create_connection((address.strip("[]"), int(port)), within) as asking:
                asking.sendall(len(question).to_bytes(2) + question)
                return None if asking.recv(1) else "it closes the connection"
        except OSError as error:
            return str(error.strerror or error)

    with ThreadPoolExecutor(max(1, len(resolvers))) as threads:
        found = dict(zip(resolvers, threads.map(ask, resolvers), strict=True))
    return {resolver: why for resolver, why in found.items() if why is not None}


def _silent(resolvers: Sequence[str], within: float) -> list[str]:
    """Return the servers, each ``ADDRESS:PORT``, that do not answer over UDP."""
    with selectors.DefaultSelector() as answers:
        waiting = {}
        for resolver in resolvers:
            address, _, port = resolver.rpartition(":")
            family = socket.AF_INET6 if ipaddress.ip_address(address.strip("[]")).version == 6 else socket.AF_INET
            asking = socket.socket(family, socket.SOCK_DGRAM)
            asking.setblocking(False)
            waiting[resolver] = asking
            try:
                asking.connect((address.strip("[]"), int(port)))
            except OSError:  # no route to it
                continue
            answers.register(asking, selectors.EVENT_READ, resolver)
        try:
            return _wait(answers, waiting, time.monotonic() + within)
        finally:
            for asking in waiting.values():
                asking.close()


def _wait(answers: selectors.BaseSelector, waiting: dict[str, socket.socket], until: float) -> list[str]:
    """Ask until all have answered or the time is up; returns those that have not."""
    left, again = dict(waiting), 0.0
    while left and (now := time.monotonic()) < until:
        if now >= again:
            again = now + AGAIN
            for asking in left.values():
                _ask(asking)
        for key, _ in answers.select(min(again, until) - now):
            try:
                answered = key.fileobj.recv(512)[2:3] >= b"\x80"  # type: ignore[union-attr]
            except OSError:  # no server listens there (yet)
                continue
            if answered:
                left.pop(key.data, None)
                answers.unregister(key.fileobj)
    return list(left)


def _ask(asking: socket.socket) -> None:
    """Ask."""
    try:
        asking.send(_question())
    except OSError:  # as above
        return


def _question() -> bytes:
    """Return a question for the NS records of the root, which every resolver knows."""
    return os.urandom(2) + b"\x01\x00\x00\x01" + bytes(6) + b"\x00\x00\x02\x00\x01"
