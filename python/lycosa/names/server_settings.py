"""What a DNS server is told: its settings, and what an address is in them."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, ValidationInfo, model_validator

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.explain import explain
from lycosa.job import Room
from lycosa.names.resolver import ENCRYPTED, MAX_CONCURRENCY, MAX_RATE

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: The port of DNS.
PORT = 53

#: What is different by default: lower servers share the names out among the upper ones, so that each is asked for
#: once, and wait for one longer than all its tries take; upper ones ask whoever is quickest.
TIERS: dict[str, dict[str, Any]] = {
    "lower": {"spread": True, "min_ttl": 300, "timeout": 6.0, "attempts": 2},
    "upper": {"spread": False, "min_ttl": 60, "timeout": 1.5, "attempts": 3},
}

#: An address alone, an address and a port, an IPv6 address in brackets with or without one; nothing with a zone.
ENDPOINT = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?|(?P<bare>[0-9A-Fa-f:.]+)"
)


#: How many bits of clients' addresses of IPv4 and IPv6 are logged unless it is said: networks that many share.
CLIENT_BITS = (24, 48)

#: The same as a text; of IPv6 by choice.
CLIENTS = re.compile(r"/(?P<four>[0-9]{1,2})(?:\s*,\s*/(?P<six>[0-9]{1,3}))?", re.ASCII)

#: What is told of a text that is no address.
ALLOWED = {
    "listen": "an address with or without port: 127.0.0.1, 127.0.0.1:5300, [::1]:5300; port 0: any that is free",
    "upstreams": "a server's address, with or without port: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53; over TLS or "
    "HTTPS, with the name that its certificate bears: tls://192.0.2.1#dns.example, "
    "https://192.0.2.1/dns-query#dns.example",
    "http": "an address and a port: 127.0.0.1:9153, [::1]:9153",
}


def endpoint(text: str) -> tuple[IpAddress, int | None] | None:
    """The address and the port, if there is one, that a text names; None where it names none."""
    match = ENDPOINT.fullmatch(text.strip())
    if match is None:
        return None
    try:
        address = ipaddress.ip_address(match["six"] or match["four"] or match["bare"])
    except ValueError:
        return None
    port = None if match["port"] is None else int(match["port"])
    if (match["six"] and address.version == 4) or (port or 0) > 65_535:
        return None
    return address, port


def told(address: IpAddress, port: int) -> str:
    """An address and a port as one text."""
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def _listed(given: object) -> object:
    """Take a text with commas for a list, as the command line has it."""
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


def _endpoint(text: str, info: ValidationInfo) -> str:
    """An address with its port, by the rule of the setting that it is for."""
    name, found = str(info.field_name), endpoint(text)
    if found is not None:
        address, port = found
        is_asked = port != 0 and not address.is_unspecified
        if {"listen": True, "upstreams": is_asked, "http": port is not None}[name]:
            return told(address, PORT if port is None else port)
    raise SettingError(name, text, ALLOWED[name])


def _upstream(text: str, info: ValidationInfo) -> str:
    """The same, or a server that is asked over TLS or HTTPS, by the rule of resolvers."""
    given = text.strip()
    if not given.startswith(ENCRYPTED):
        return _endpoint(text, info)
    try:
        taken = _core.check_resolver(given)
        _endpoint(re.split("[/#]", taken.partition("://")[2])[0], info)
    except SettingError:
        raise SettingError(str(info.field_name), text, ALLOWED["upstreams"]) from None
    return taken


def _network(text: str) -> str:
    """A network, by the rule of job files."""
    try:
        _core.check_network(text)
    except SettingError as error:
        raise SettingError("allow", text, error.allowed) from None
    return text


def _secrets(path: Path) -> Path:
    """A file of secrets that can be used; nothing of it is kept here."""
    _core.check_cookie_secrets(path)
    return path


def _roots(path: Path) -> Path:
    """A file of certificates that can be read."""
    allowed = "a file that can be read, with at least one certificate in PEM"
    if not path.is_file():
        raise SettingError("ca_file", path, f"{allowed}; there is no such file")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError as error:  # ssl.SSLError, too
        raise SettingError("ca_file", path, f"{allowed} ({error.strerror or error})") from None
    return path


def _clients(given: object) -> object:
    """How much of clients' addresses is logged, in one form; a word of the command line or of a file is no text."""
    match = CLIENTS.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        word = given.strip().lower() if isinstance(given, str) else given
        if word in (True, False, "true", "false"):
            return word in (True, "true")
    else:
        four, six = int(match["four"]), int(match["six"] or CLIENT_BITS[1])
        if four <= 32 and six <= 128:
            return f"/{four},/{six}"
    allowed = "true, false, or the bits that are kept: /24 of IPv4 (and /48 of IPv6), or of both: /24,/48"
    raise SettingError("query_log_clients", str(given), allowed)


def _domain(text: str, info: ValidationInfo) -> str:
    """A name in the form in which names are compared (UTS 46): by the rule of URLs, which is the same."""
    name = text.strip().removesuffix(".")
    try:
        if not name or re.search(r"[\s/:@?#%\\\[\]]", name) or endpoint(name) is not None:
            raise ValueError
        return _core.ring_key(f"http://{name}/")
    except (ValueError, SettingError):
        allowed = "a name such as example.org; all below it are meant too"
        raise SettingError(str(info.field_name), text, allowed) from None


def _zones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Zones and their servers."""
    _core.check_zones(list(texts))
    return texts


Endpoint = Annotated[str, AfterValidator(_endpoint)]
Upstream = Annotated[str, AfterValidator(_upstream)]
Endpoints = Annotated[tuple[Endpoint, ...], BeforeValidator(_listed), Field(max_length=64)]
Upstreams = Annotated[tuple[Upstream, ...], BeforeValidator(_listed), Field(max_length=64)]
Networks = Annotated[
    tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_listed), Field(max_length=10_000)
]
Domains = Annotated[
    tuple[Annotated[str, AfterValidator(_domain)], ...], BeforeValidator(_listed), Field(max_length=10_000)
]

Secrets = Annotated[Path, AfterValidator(_secrets)]
Roots = Annotated[Path, AfterValidator(_roots)]
Clients = Annotated[bool | str, BeforeValidator(_clients)]


Zones = Annotated[tuple[str, ...], AfterValidator(_zones), Field(max_length=10_000)]
LocalData = Annotated[tuple[str, ...], Field(max_length=100_000)]


class ServerSettings(Room):
    """One server. Each line has default, minimum, maximum and unit; defaults that differ by tier are in `TIERS`."""

    tier: Literal["lower", "upper"] = Field("", validate_default=True)  # has to be given
    listen: Endpoints = ("127.0.0.1:53",)  # addresses to answer on
    upstreams: Upstreams = ()  # servers to ask; at least one has to be given; over TLS: tls://192.0.2.1#name
    zones: Zones = ()  # zones with upstreams of their own: corp.example=192.0.2.1,192.0.2.2
    hosts_file: Path | None = None  # a hosts file that is looked at before anything else, such as /etc/hosts
    local_data: LocalData = ()  # records as lines of a zone file; they come before the hosts file
    ca_file: Roots | None = None  # PEM of further roots, of upstreams that are asked over TLS or HTTPS
    spread: bool  # each name has its own upstream, and the next one where that fails; false: the quickest, balanced
    rotate: bool = False  # upstreams take turns, as published (SYSTEMS.md section 4); ``spread`` is false then
    workers: int = Field(default_factory=lambda: min(len(os.sched_getaffinity(0)), 256), ge=1, le=256)  # threads
    cache: Path | None = None  # the file that crawls on this machine may share; default: in memory
    capacity: int = Field(1_000_000, ge=1_000, le=100_000_000)  # names in the cache
    min_ttl: int = Field(ge=0, le=86_400)  # s that answers are held at least
    max_ttl: int = Field(86_400, ge=60, le=7 * 86_400)  # s that answers are held at most; memory counts in minutes
    # answers kept as they came: of types that are no address, and addresses with signatures
    packet_memory: int = Field(64, ge=0, le=65_536)  # MiB
    keep_ttl: Domains = ()  # names, with all below them, whose TTL is left as it is
    negative_ttl: int = Field(900, ge=0, le=86_400)  # s that "no such name" and "no such data" are held at most
    failure_pause: int = Field(120, ge=1, le=300)  # s, doubling in a row, in which a failure is not asked for again
    nxdomain_cut: bool = False  # a name that does not exist ends the search for all names below it, too (RFC 8020)
    wildcards: bool = False  # hosts of a domain that answers for any name are known without being asked for
    stale: int = Field(86_400, ge=0, le=7 * 86_400)  # s that an answer outlives its TTL while upstreams fail; 0: none
    prefetch: bool = True  # names asked for shortly before they expire are asked for anew
    timeout: float = Field(ge=0.1, le=60)  # s, for one try
    attempts: int = Field(3, ge=1, le=20)  # tries for one question
    in_flight: int = Field(10_000, ge=1, le=MAX_CONCURRENCY)  # questions under way
    upstream_rate: float | None = Field(None, gt=0, le=MAX_RATE)  # questions/s to each upstream; default: no limit
    allow: Networks = ("127.0.0.0/8", "::1/128")  # who may ask; nobody: []
    rate: float | None = Field(None, gt=0, le=MAX_RATE)  # answers/s for one client; default: no limit
    filter_private: bool = False  # private addresses are taken out of answers
    private_names: Domains = ()  # names, with all below them, that may have them
    cookies: bool = True  # RFC 7873
    cookie_secret_file: Secrets | None = None  # secrets that servers behind one address share; default: its own
    tcp_connections: int = Field(150, ge=1, le=65_535)  # at a time; RFC 7766 recommends 150 to none
    tcp_idle: float = Field(10.0, ge=0.1, le=3_600)  # s
    http: Endpoint | None = None  # where metrics are; default: nowhere
    http_public: bool = False  # whether that may be seen by others than this machine
    query_log: Path | None = None  # a file of JSON lines; -: standard output; default: nothing is logged
    query_log_clients: Clients = "/24,/48"  # addresses of clients in it: whole, none, or so many bits of them

    @model_validator(mode="before")
    @classmethod
    def _by_tier(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Lay what is given over the tier's defaults."""
        tier = TIERS.get(str(given.get("tier")), TIERS["lower"])
        return {**tier, **({"spread": False} if given.get("rotate") in (True, "true") else {}), **given}

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        if not self.upstreams:
            raise SettingError("upstreams", "", "at least one address of a server that is asked")
        if not self.listen:
            raise SettingError("listen", "", "at least one address to answer on")
        for name, texts in (("listen", self.listen), ("upstreams", self.upstreams)):
            twice = [text for text in texts if texts.count(text) > 1 and not text.endswith(":0")]
            if twice:
                raise SettingError(name, twice[0], "each address once")
        if self.rotate and self.spread:
            raise SettingError("rotate", True, "false while spread is true")
        if self.cookie_secret_file is not None and not self.cookies:
            raise SettingError("cookie_secret_file", self.cookie_secret_file, "nothing while cookies = false")
        _core.check_local_names(self.hosts_file, list(self.local_data))
        if self.min_ttl > self.max_ttl:
            raise SettingError("min_ttl", self.min_ttl, f"at most max_ttl, which is {self.max_ttl}")
        if self.http is not None and not self.http_public and not _address(self.http).is_loopback:
            allowed = "an address of this machine alone, such as 127.0.0.1:9153; others with http_public = true"
            raise SettingError("http", self.http, allowed)
        return self

    def client_bits(self) -> tuple[int, int] | None:
        """How many bits of clients' addresses of IPv4 and IPv6 are logged; None: the addresses are left out."""
        if isinstance(self.query_log_clients, bool):
            return (32, 128) if self.query_log_clients else None
        four, _, six = self.query_log_clients.replace("/", "").partition(",")
        return int(four), int(six)

    def asked_for_zones(self) -> tuple[str, ...]:
        """The servers of zones, with their ports."""
        of_zones = [text for zone in self.zones for text in zone.partition("=")[2].split(",")]
        return tuple(_core.check_resolver(text.strip()) for text in of_zones)

    def refuses_others(self) -> bool:
        """Whether only this machine may ask, although others could reach the server."""
        open_to_others = any(not _address(text).is_loopback for text in self.listen)
        return open_to_others and all(ipaddress.ip_network(text, strict=False).is_loopback for text in self.allow)


def make_settings(given: dict[str, Any]) -> ServerSettings:
    """Check settings; raises SettingError that names the first bad one, its value and what is allowed."""
    try:
        return ServerSettings.model_validate(given)
    except ValidationError as error:
        raise explain(error, ServerSettings) from None


def check_no_loop(listening: Iterable[str], settings: ServerSettings) -> None:
    """Raise SettingError where a server that listens on these addresses would ask itself, also for a zone."""
    own = tuple(listening)
    check_loop(own, settings.upstreams)
    check_loop(own, settings.asked_for_zones(), "zones")


def check_loop(listening: Iterable[str], upstreams: Iterable[str], name: str = "upstreams") -> None:
    """Raise SettingError where a server would ask itself; ``name``: of the setting that has the upstreams.

    Its addresses are those that it listens on; with 0.0.0.0 or [::] all of this machine. A loop by way of other
    servers shows when questions come back: the counter ``loop``.
    """
    for own in listening:
        address, port = _address(own), _port(own)
        for upstream in upstreams:
            if upstream.startswith(ENCRYPTED):
                continue  # none of ours answers so
            asked = _address(upstream)
            # [::] is bound for IPv6 alone.
            wide = address.is_unspecified and asked.version == address.version and _is_here(asked)
            if port == _port(upstream) and (asked == address or wide):
                allowed = f"servers other than this one, which listens on {own}: it would ask itself"
                raise SettingError(name, upstream, allowed)


def _address(text: str) -> IpAddress:
    """The address of a text that was checked; IPv4 is IPv4 also where it is written as IPv6."""
    address, _, _ = text.rpartition(":")
    found = ipaddress.ip_address(address.strip("[]"))
    return getattr(found, "ipv4_mapped", None) or found


def _port(text: str) -> int:
    """Its port."""
    return int(text.rpartition(":")[2])


def _is_here(address: IpAddress) -> bool:
    """Whether what is sent to an address stays on this machine: the system would send it from the same one."""
    if address.is_loopback:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((str(address), PORT))  # sends nothing
        except OSError:
            return False
        return ipaddress.ip_address(asking.getsockname()[0]) == address
