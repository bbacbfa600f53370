"""A resolver for many names: batches in, batches out, without Python for each name."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Literal, Self, TypedDict

from lycosa import _core
from lycosa.errors import SettingError

logger = logging.getLogger("lycosa")

#: Prefixes of servers that are asked over TLS (RFC 7858) or HTTPS (RFC 8484).
ENCRYPTED = ("tls://", "https://")

#: Maximum number of names resolved at once: a socket has 65,536 query ids.
MAX_CONCURRENCY = 50_000

#: Maximum of a limit in names per second.
MAX_RATE = 10_000_000.0

#: Names per batch read from an iterable.
READ_NAMES = 1_000

#: Answers taken per call, and the maximum wait for them in seconds: Ctrl-C, or closing a stream, waits as long.
TAKE_ANSWERS, WAIT = 10_000, 0.1


#: Values of ``families``.
FAMILIES = ("v4", "v6", "both", "prefer-v4")


class Options(TypedDict, total=False):
    """The arguments of `Resolver`, for callers that pass them on."""

    resolvers: Sequence[str]
    leave_out: Sequence[str]
    ca_file: str | PathLike[str] | None
    families: Literal["v4", "v6", "both", "prefer-v4"]
    types: Sequence[str]
    concurrency: int
    rate: float | None
    server_rate: float | None
    timeout: float | None
    attempts: int | None
    rotate: bool | None
    zones: Sequence[str]
    own_domains: Sequence[str]
    hosts_file: str | PathLike[str] | None
    local_data: Sequence[str]
    nxdomain_cut: bool
    wildcards: bool
    cache: str | PathLike[str] | None
    capacity: int | None


class Resolver(_core.Resolver):
    """Resolves many names: ``submit`` batches while there is capacity (``free``), ``take`` the answers.

    Every submitted name gets exactly one answer, even if it is submitted twice or invalid. Methods may be called from
    several threads; only ``take`` blocks, and it releases the GIL.

    >>> with Resolver(resolvers=["192.0.2.1"]) as resolver:  # doctest: +SKIP
    ...     resolver.submit(["www.example.org", "example.com"], 0)
    ...     for answer in resolver.take(10, within=1.0):
    ...         print(answer.name, answer.status, answer.addresses)
    """

    def __new__(
        cls,
        *,
        resolvers: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        ca_file: str | PathLike[str] | None = None,
        families: Literal["v4", "v6", "both", "prefer-v4"] = "v4",
        types: Sequence[str] = (),
        concurrency: int = 1_000,
        rate: float | None = None,
        server_rate: float | None = None,
        timeout: float | None = None,
        attempts: int | None = None,
        rotate: bool | None = None,
        zones: Sequence[str] = (),
        own_domains: Sequence[str] = (),
        hosts_file: str | PathLike[str] | None = None,
        local_data: Sequence[str] = (),
        nxdomain_cut: bool = False,
        wildcards: bool = False,
        cache: str | PathLike[str] | None = None,
        capacity: int | None = None,
    ) -> Self:
        """Start the client on a thread of its own.

        ``resolvers``: addresses of recursive DNS servers, with or without port; by default those of
        ``/etc/resolv.conf``, whose options timeout, attempts, rotate, use-vc and no-aaaa then apply, too. With
        ``tls://192.0.2.1:853#dns.example`` a server is asked over TLS only, if its certificate is valid for the name
        after ``#`` (without one: for its address); with ``https://192.0.2.1:443/dns-query#dns.example`` likewise over
        HTTPS only. An invalid address is reported to the logger ``lycosa`` and left out.
        ``leave_out``: those of them that are not asked, as in the property ``resolvers``.
        ``ca_file``: PEM file of root certificates beside Mozilla's for such servers.
        ``families``: address families that are looked up; ``prefer-v4``: IPv6 only if there is no IPv4.
        ``types``: types of records, such as ``["A", "MX", "HTTPS"]`` or ``["TYPE65"]``; ``families`` is then ignored,
        and answers have ``records`` of all types but A and AAAA, whose addresses are in ``addresses``.
        With types, an address as a name means its name in ``in-addr.arpa`` or ``ip6.arpa``, such as for PTR.
        ``concurrency``: names that are submitted and not taken yet, 1 to 50,000.
        ``rate``: names per second, above 0 to 10,000,000; by default limited by the servers only. It counts names:
        with ``both`` each is two questions, and retries are not counted.
        ``server_rate``: questions per second to each server, including retries, within the same limits.
        ``timeout``: seconds for one try, 0.1 to 60, by default 2. ``attempts``: tries over all servers,
        1 to 20, by default 4. ``rotate``: ask the servers in turn; by default the fastest are asked.
        ``zones``: zones with resolvers of their own, such as ``"corp.example=192.0.2.1,192.0.2.2"``; the longest
        matching zone counts.
        ``own_domains``: domains of the own network, such as ``corp.local``, whose names are asked for even if they
        are special-use names (RFC 6761). Where the servers of ``/etc/resolv.conf`` are asked, its search domains are
        such domains, too.
        ``hosts_file``: a hosts file, such as ``/etc/hosts``, that takes precedence over cache and resolvers; it is
        read again when it changes. ``local_data``: records as lines of a zone file, such as ``"printer.lan A
        192.0.2.7"``, of the types A, AAAA, CNAME, PTR, TXT, MX and SRV; they take precedence over the hosts file.
        ``nxdomain_cut``: NXDOMAIN for a name applies to all names below it, too (RFC 8020); some servers deny names
        that have others below them.
        ``wildcards``: look up only one in sixteen hosts of a domain when all random labels of the domain have the
        same addresses; a host with a record of its own may get the domain's addresses.
        ``cache``: the file of a compact cache that all processes of the machine share; by default the resolver has
        its own cache in memory. ``capacity``: names in a new cache, by default 1,000,000.

        Raises SettingError for a value that is not allowed and if no resolver is left, StorageError for a cache
        that cannot be used, OSError if no thread or socket can be created, or ``ca_file`` cannot be used.
        """
        _check("concurrency", concurrency, 1, MAX_CONCURRENCY, whole=True)
        if timeout is not None:
            _check("timeout", timeout, 0.1, 60)
        if attempts is not None:
            _check("attempts", attempts, 1, 20, whole=True)
        for name, limit in (("rate", rate), ("server_rate", server_rate)):
            if limit is not None and not (isinstance(limit, int | float) and 0 < limit <= MAX_RATE):
                raise SettingError(name, limit, f"above 0 to {MAX_RATE:,.0f} a second")
        if families not in FAMILIES:
            raise SettingError("families", families, "v4, v6, both or prefer-v4")
        if isinstance(resolvers, str):
            raise SettingError("resolvers", resolvers, "a list of addresses")
        lists = {"leave_out": leave_out, "types": types, "zones": zones, "own_domains": own_domains}
        for name, texts in (lists | {"local_data": local_data}).items():
            if isinstance(texts, str):
                raise SettingError(name, texts, "a list of texts")
        settings = {
            "resolvers": list(resolvers),
            "leave_out": list(leave_out),
            "ca_file": ca_file,
            "families": families,
            "types": list(types),
            "concurrency": concurrency,
            "rate": None if rate is None else float(rate),
            "server_rate": None if server_rate is None else float(server_rate),
            "timeout": None if timeout is None else float(timeout),
            "attempts": attempts,
            "rotate": rotate,
            "zones": list(zones),
            "own_domains": list(own_domains),
            "hosts_file": hosts_file,
            "local_data": list(local_data),
            "nxdomain_cut": bool(nxdomain_cut),
            "wildcards": bool(wildcards),
            "cache": cache,
            "capacity": capacity,
        }
        made = super().__new__(cls, settings)
        for text in made.refused:
            logger.warning(
                "resolver %r is no address and is left out; allowed: 192.0.2.1, 192.0.2.1:53, tls://192.0.2.1#name, "
                "https://192.0.2.1/dns-query#name",
                text,
            )
        if made.fallen_back is not None:
            logger.warning("the cache of names is in memory: %s", made.fallen_back)
        return made

    def __enter__(self) -> Self:
        """Return the resolver."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _check(name: str, value: float, least: float, most: float, *, whole: bool = False) -> None:
    """Raise SettingError unless a number is within its limits."""
    kind = int if whole else (int, float)
    if (
        not isinstance(value, kind)
        or isinstance(value, bool)
        or not math.isfinite(value)
        or not least <= value <= most
    ):
        raise SettingError(name, value, f"{least:,} to {most:,}{', a whole number' if whole else ''}")
