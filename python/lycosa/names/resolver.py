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

#: What servers begin with that are asked over TLS (RFC 7858) or HTTPS (RFC 8484).
ENCRYPTED = ("tls://", "https://")

#: Names asked for at the same time, at most: a socket has 65,536 numbers for its questions.
MAX_CONCURRENCY = 50_000

#: Names a second, at most; more is no limit.
MAX_RATE = 10_000_000.0

#: Names read at a time from who gives them.
READ_NAMES = 1_000

#: Answers taken at a time, and seconds that one wait for them takes at most: as long has Ctrl-C to wait, or a stream
#: that is closed.
TAKE_ANSWERS, WAIT = 10_000, 0.1


#: Which addresses may be asked for.
FAMILIES = ("v4", "v6", "both", "prefer-v4")


class Options(TypedDict, total=False):
    """What `Resolver` takes, for whoever passes it on."""

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
    hosts_file: str | PathLike[str] | None
    local_data: Sequence[str]
    nxdomain_cut: bool
    wildcards: bool
    cache: str | PathLike[str] | None
    capacity: int | None


class Resolver(_core.Resolver):
    """Names in, answers out: ``submit`` batches as far as there is ``room``, ``take`` what has come.

    Every name taken is answered exactly once, also when it is given twice or is no name. Calls may come from several
    threads; none but ``take`` waits, and that one without the GIL.

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
        hosts_file: str | PathLike[str] | None = None,
        local_data: Sequence[str] = (),
        nxdomain_cut: bool = False,
        wildcards: bool = False,
        cache: str | PathLike[str] | None = None,
        capacity: int | None = None,
    ) -> Self:
        """Start the client on a thread of its own.

        ``resolvers``: addresses of DNS servers that recurse, with or without port; by default those of
        ``/etc/resolv.conf``, whose options timeout, attempts, rotate, use-vc and no-aaaa hold then, too. With
        ``tls://192.0.2.1:853#dns.example`` a server is asked over TLS only, if its certificate bears the name behind
        ``#`` (without one: its address); with ``https://192.0.2.1:443/dns-query#dns.example`` over HTTPS only, in the
        same way. What is no address is told to the logger ``lycosa`` and left out.
        ``leave_out``: those of them that are not to be asked, as the property ``resolvers`` has them.
        ``ca_file``: PEM of roots beyond Mozilla's by which such certificates may be signed.
        ``families``: which addresses are asked for; ``prefer-v4``: IPv6 only where there is no IPv4.
        ``types``: types of records, such as ``["A", "MX", "HTTPS"]`` or ``["TYPE65"]``; then ``families`` does not
        count, and answers have ``records`` of all types but A and AAAA, whose addresses are in ``addresses``.
        For these an address stands for its name in ``in-addr.arpa`` or ``ip6.arpa``, such as for PTR.
        ``concurrency``: names that are taken and not given out again, 1 to 50,000.
        ``rate``: names a second, above 0 to 10,000,000; by default as many as the servers bear. It counts names: with
        ``both`` each is two questions, and repeated questions come on top.
        ``server_rate``: questions a second to each server, repeated ones included, within the same limits.
        ``timeout``: seconds that one try may take, 0.1 to 60, by default 2. ``attempts``: tries over all servers,
        1 to 20, by default 4. ``rotate``: the servers take turns; else, by default, the quickest are asked.
        ``zones``: zones with resolvers of their own, such as ``"corp.example=192.0.2.1,192.0.2.2"``; the longest zone
        that a name is in counts.
        ``hosts_file``: a hosts file, such as ``/etc/hosts``, that is looked at before anything else; it is read
        again when it changes. ``local_data``: records as lines of a zone file, such as ``"printer.lan A
        192.0.2.7"``, of the types A, AAAA, CNAME, PTR, TXT, MX and SRV; they come before the hosts file.
        ``nxdomain_cut``: a name that does not exist ends the search for all names below it, too (RFC 8020); some
        servers deny names that have others below them.
        ``wildcards``: hosts of a domain whose random labels all share one set of addresses are not asked for, but one
        in sixteen; a host with a record of its own may be given the domain's addresses.
        ``cache``: the file of a compact cache that all processes of the machine share; by default the resolver has
        one of its own in memory. ``capacity``: names in a cache that is made, by default 1,000,000.

        Raises SettingError for a value that is not allowed and when no resolver is left, StorageError for a cache
        that cannot be used, OSError when the system refuses a thread or a socket, or ``ca_file`` cannot be used.
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
        for name, texts in (("leave_out", leave_out), ("types", types), ("zones", zones), ("local_data", local_data)):
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
        """The resolver."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()


def _check(name: str, value: float, least: float, most: float, *, whole: bool = False) -> None:
    """Raise SettingError unless a number lies within its limits."""
    kind = int if whole else (int, float)
    if (
        not isinstance(value, kind)
        or isinstance(value, bool)
        or not math.isfinite(value)
        or not least <= value <= most
    ):
        raise SettingError(name, value, f"{least:,} to {most:,}{', a whole number' if whole else ''}")
