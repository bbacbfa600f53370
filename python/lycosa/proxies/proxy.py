"""One proxy, and the lines that name proxies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal
from urllib.parse import quote, unquote

#: Schemes of proxies. `socks5` gets the sites' addresses, `socks5h` their names, as curl has it.
SCHEMES = ("http", "https", "socks5", "socks5h")

#: What a line may be.
ALLOWED = (
    "HOST:PORT, HOST:PORT:USER:PASSWORD or SCHEME://[USER:PASSWORD@]HOST:PORT with scheme http, https, socks5 or "
    "socks5h; then, after a space, a label"
)

#: Characters of a line, and proxies of a list and of all, at most: lists come from strangers.
LONGEST, MOST = 1_000, 20_000

#: Lines that name no proxy and are kept; the others are counted.
FIRST = 5

_LINE = re.compile(
    r"(?:(?P<scheme>[a-z0-9]+)://)?(?:(?P<login>[^\s@]*)@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})"
    r"(?::(?P<user>[^\s:@]+):(?P<password>[^\s@]+))?/?(?:\s+(?P<label>.*))?"
)


@dataclass(frozen=True, slots=True)
class Proxy:
    """How one proxy is reached, and what is known of it beforehand."""

    scheme: Literal["http", "https", "socks5", "socks5h"]
    host: str
    port: int
    user: str = ""
    password: str = ""
    #: A carrier, a country, a price: whatever the ring is to be sorted by.
    label: str = ""

    @property
    def name(self) -> str:
        """The proxy in records and reports: without password, or without the key that is used instead of one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user = self.user if self.password or not self.user else f"key-{sha256(self.user.encode()).hexdigest()[:8]}"
        return f"{self.scheme}://{f'{user}@' if user else ''}{host}:{self.port}"

    @property
    def line(self) -> str:
        """The line that names it, with its password."""
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{login}{host}:{self.port} {self.label}".strip()

    def __repr__(self) -> str:
        """The name: no password in any log."""
        return f"Proxy({self.name!r})"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that names no proxy."""

    number: int

    def __str__(self) -> str:
        """Where it is, and what is allowed; not what it says: a part of it may be a password."""
        return f"line {self.number} names no proxy; allowed: {ALLOWED}"


def parse(line: str, scheme: str = "http") -> Proxy | None:
    """Parse one line; `None` if it names no proxy. scheme: of a line without."""
    found = _LINE.fullmatch(line.strip()) if len(line) <= LONGEST else None
    if found is None:
        return None
    scheme = found["scheme"] or scheme
    user, colon, password = (found["login"] or "").partition(":")
    if found["user"]:
        if found["login"] is not None:
            return None
        user, password = found["user"], found["password"]
    elif found["login"] is not None:
        if not (user and colon):
            return None
        user, password = unquote(user), unquote(password)
    port = int(found["port"])
    if scheme not in SCHEMES or not 1 <= port <= 65_535:
        return None
    host = found["host"].strip("[]").lower()
    return Proxy(scheme, host, port, user, password, (found["label"] or "").strip())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a list names."""

    #: Each once.
    proxies: list[Proxy]
    #: The first lines that name none, and how many there are.
    bad: list[BadLine]
    bad_count: int
    #: Whether there are more proxies than `MOST`: the others are left out.
    is_cut: bool


def parse_lines(lines: Iterable[str]) -> Parsed:
    """Parse a list, one proxy a line; empty lines and those that begin with ``#`` are left out."""
    proxies: dict[str, Proxy] = {}
    bad: list[BadLine] = []
    bad_count = 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        proxy = parse(text)
        if proxy is None:
            bad_count += 1
            if len(bad) < FIRST:
                bad.append(BadLine(number))
        elif len(proxies) < MOST:
            proxies.setdefault(proxy.name, proxy)
        elif proxy.name not in proxies:
            return Parsed(list(proxies.values()), bad, bad_count, is_cut=True)
    return Parsed(list(proxies.values()), bad, bad_count, is_cut=False)
