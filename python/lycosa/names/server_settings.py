"""The settings of a DNS server, and the parsing of addresses in them."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import ValidationInfo

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.explain import explain
from lycosa.model import AfterValidator, BeforeValidator, Field, Section, ValidationError, model_validator
from lycosa.names.resolver import ENCRYPTED, MAX_CONCURRENCY, MAX_RATE

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: The port of DNS.
PORT = 53

#: Defaults that differ by tier: lower servers distribute names over the upper ones, so that each name is asked for
#: once, and wait for one longer than all its tries take; upper ones ask the fastest upstream.
TIERS: dict[str, dict[str, Any]] = {
    "lower": {"spread": True, "min_ttl": 300, "timeout": 6.0, "attempts": 2},
    "upper": {"spread": False, "min_ttl": 60, "timeout": 1.5, "attempts": 3},
}

#: An address, with or without port (IPv6 with port in brackets); no IPv6 zone.
ENDPOINT = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[0-9.]+))(?::(?P<port>[0-9]{1,5}))?|(?P<bare>[0-9A-Fa-f:.]+)"
)


#: Default number of bits of clients' IPv4 and IPv6 addresses that are logged: networks that many clients share.
CLIENT_BITS = (24, 48)

#: The same as a text; IPv6 is optional.
CLIENTS = re.compile(r"/(?P<four>[0-9]{1,2})(?:\s*,\s*/(?P<six>[0-9]{1,3}))?", re.ASCII)

#: What is allowed, for messages about invalid addresses.
ALLOWED = {
    "listen": "an address with or without port: 127.0.0.1, 127.0.0.1:5300, [::1]:5300; port 0: any free one",
    "upstreams": "a server's address, with or without port: 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53; over TLS or "
    "HTTPS, with the name of its certificate: tls://192.0.2.1#dns.example, "
    "https://192.0.2.1/dns-query#dns.example",
    "http": "an address and a port: 127.0.0.1:9153, [::1]:9153",
}


def endpoint(text: str) -> tuple[IpAddress, int | None] | None:
    """Parse an address with or without port; returns `None` for any other text."""
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
    """Format an address and a port."""
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def _listed(given: object) -> object:
    """Split a comma-separated text, as from the command line."""
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


def _endpoint(text: str, info: ValidationInfo) -> str:
    """Return an address with its port; raises SettingError by the rule of its setting."""
    name, found = str(info.field_name), endpoint(text)
    if found is not None:
        address, port = found
        is_asked = port != 0 and not address.is_unspecified
        if {"listen": True, "upstreams": is_asked, "http": port is not None}[name]:
            return told(address, PORT if port is None else port)
    raise SettingError(name, text, ALLOWED[name])


def _upstream(text: str, info: ValidationInfo) -> str:
    """Return the same, or a server over TLS or HTTPS, by the rule of resolvers."""
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
    """Check a network by the rule of job files."""
    try:
        _core.check_network(text)
    except SettingError as error:
        raise SettingError("allow", text, error.allowed) from None
    return text


def _secrets(path: Path) -> Path:
    """Check that a file of secrets is valid; does not store its content."""
    _core.check_cookie_secrets(path)
    return path


def _roots(path: Path) -> Path:
    """Check that a file of certificates can be read."""
    allowed = "a file that can be read, with at least one certificate in PEM"
    if not path.is_file():
        raise SettingError("ca_file", path, f"{allowed}; there is no such file")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError as error:  # ssl.SSLError, too
        raise SettingError("ca_file", path, f"{allowed} ({error.strerror or error})") from None
    return path


def _clients(given: object) -> object:
    """Normalise how much of clients' addresses is logged: a boolean, also as a word, or a number of bits."""
    match = CLIENTS.fullmatch(given.strip()) if isinstance(given, str) else None
    if match is None:
        word = given.strip().lower() if isinstance(given, str) else given
        if word in (True, False, "true", "false"):
            return word in (True, "true")
    else:
        four, six = int(match["four"]), int(match["six"] or CLIENT_BITS[1])
        if four <= 32 and six <= 128:
            return f"/{four},/{six}"
    allowed = "true, false, or the bits that are logged: /24 of IPv4 (and /48 of IPv6), or of both: /24,/48"
    raise SettingError("query_log_clients", str(given), allowed)


def _domain(text: str, info: ValidationInfo) -> str:
    """Return a name in the form in which names are compared (UTS 46), by the same rule as for URLs."""
    name = text.strip().removesuffix(".")
    try:
        if not name or re.search(r"[\s/:@?#%\\\[\]]", name) or endpoint(name) is not None:
            raise ValueError
        return _core.ring_key(f"http://{name}/")
    except (ValueError, SettingError):
        allowed = "a name such as example.org; it includes all names below it"
        raise SettingError(str(info.field_name), text, allowed) from None


def _zones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Check zones and their servers."""
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


class ServerSettings(Section):
    """One server. Each line has default, minimum, maximum and unit; defaults that differ by tier are in `TIERS`."""

    tier: Literal["lower", "upper"] = Field("", validate_default=True)  # required
    listen: Endpoints = ("127.0.0.1:53",)  # addresses to answer on
    upstreams: Upstreams = ()  # servers to ask; at least one is required; over TLS: tls://192.0.2.1#name
    zones: Zones = ()  # zones with upstreams of their own: corp.example=192.0.2.1,192.0.2.2
    hosts_file: Path | None = None  # a hosts file that takes precedence over cache and upstreams, such as /etc/hosts
    local_data: LocalData = ()  # records as lines of a zone file; they take precedence over the hosts file
    ca_file: Roots | None = None  # PEM file of additional root certificates, for upstreams over TLS or HTTPS
    spread: bool  # assigns each name an upstream, and the next one if that fails; false: the fastest, balanced
    rotate: bool = False  # asks upstreams in turn, as published (SYSTEMS.md section 4); ``spread`` is false then
    workers: int = Field(default_factory=lambda: min(len(os.sched_getaffinity(0)), 256), ge=1, le=256)  # threads
    cache: Path | None = None  # a file that crawls on this machine may share; default: in memory
    capacity: int = Field(1_000_000, ge=1_000, le=100_000_000)  # names in the cache
    min_ttl: int = Field(ge=0, le=86_400)  # s, minimum TTL of cached answers
    max_ttl: int = Field(86_400, ge=60, le=7 * 86_400)  # s, maximum TTL of cached answers; counted in minutes
    # for cached replies: of types other than addresses, and addresses with signatures
    packet_memory: int = Field(64, ge=0, le=65_536)  # MiB
    keep_ttl: Domains = ()  # names, with all below them, whose TTL is not changed
    negative_ttl: int = Field(900, ge=0, le=86_400)  # s, maximum TTL of NXDOMAIN and NODATA
    failure_pause: int = Field(120, ge=1, le=300)  # s, doubling in a row, until a failed question is asked again
    nxdomain_cut: bool = False  # applies NXDOMAIN for a name to all names below it, too (RFC 8020)
    wildcards: bool = False  # answers for hosts of a domain with a wildcard without asking
    stale: int = Field(86_400, ge=0, le=7 * 86_400)  # s to serve stale after the TTL while upstreams fail; 0: never
    prefetch: bool = True  # prefetches names that are asked for shortly before they expire
    timeout: float = Field(ge=0.1, le=60)  # s, for one try
    attempts: int = Field(3, ge=1, le=20)  # tries for one question
    in_flight: int = Field(10_000, ge=1, le=MAX_CONCURRENCY)  # pending questions to upstreams
    upstream_rate: float | None = Field(None, gt=0, le=MAX_RATE)  # questions/s to each upstream; default: no limit
    allow: Networks = ("127.0.0.0/8", "::1/128")  # clients that may ask; none: []
    rate: float | None = Field(None, gt=0, le=MAX_RATE)  # answers/s for one client; default: no limit
    filter_private: bool = False  # removes private addresses from answers
    private_names: Domains = ()  # names, with all below them, that may have them
    cookies: bool = True  # RFC 7873
    cookie_secret_file: Secrets | None = None  # secrets that servers behind one address share; default: its own
    tcp_connections: int = Field(150, ge=1, le=65_535)  # at a time; RFC 7766 recommends 150 to none
    tcp_idle: float = Field(10.0, ge=0.1, le=3_600)  # s
    http: Endpoint | None = None  # address of the metrics; default: none
    http_public: bool = False  # whether it may be an address that other machines reach
    query_log: Path | None = None  # a file of JSON lines; -: standard output; default: nothing is logged
    query_log_clients: Clients = "/24,/48"  # clients' addresses in it: complete, none, or so many bits

    @model_validator(mode="before")
    @classmethod
    def _by_tier(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Merge the given settings over the tier's defaults."""
        tier = TIERS.get(str(given.get("tier")), TIERS["lower"])
        return {**tier, **({"spread": False} if given.get("rotate") in (True, "true") else {}), **given}

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        if not self.upstreams:
            raise SettingError("upstreams", "", "at least one address of a server to ask")
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
        """Return how many bits of clients' IPv4 and IPv6 addresses are logged; `None` if they are left out."""
        if isinstance(self.query_log_clients, bool):
            return (32, 128) if self.query_log_clients else None
        four, _, six = self.query_log_clients.replace("/", "").partition(",")
        return int(four), int(six)

    def asked_for_zones(self) -> tuple[str, ...]:
        """Return the servers of zones, with their ports."""
        of_zones = [text for zone in self.zones for text in zone.partition("=")[2].split(",")]
        return tuple(_core.check_resolver(text.strip()) for text in of_zones)

    def refuses_others(self) -> bool:
        """Return whether only this machine may ask, although others can reach the server."""
        open_to_others = any(not _address(text).is_loopback for text in self.listen)
        return open_to_others and all(ipaddress.ip_network(text, strict=False).is_loopback for text in self.allow)


def make_settings(given: dict[str, Any]) -> ServerSettings:
    """Check settings; raises SettingError with the first bad one, its value and what is allowed."""
    try:
        return ServerSettings.model_validate(given)
    except ValidationError as error:
        raise explain(error, ServerSettings) from None


def check_no_loop(listening: Iterable[str], settings: ServerSettings) -> None:
    """Raise SettingError if a server that listens on these addresses would ask itself, also for a zone."""
    own = tuple(listening)
    check_loop(own, settings.upstreams)
    check_loop(own, settings.asked_for_zones(), "zones")


def check_loop(listening: Iterable[str], upstreams: Iterable[str], name: str = "upstreams") -> None:
    """Raise SettingError if a server would ask itself; ``name``: the setting with the upstreams.

    Its addresses are those that it listens on; with 0.0.0.0 or [::] all of this machine. A loop through other
    servers is detected when questions come back: the counter ``loop``.
    """
    for own in listening:
        address, port = _address(own), _port(own)
        for upstream in upstreams:
            if upstream.startswith(ENCRYPTED):
                continue  # this server does not serve TLS or HTTPS
            asked = _address(upstream)
            # [::] is bound for IPv6 alone.
            wide = address.is_unspecified and asked.version == address.version and _is_here(asked)
            if port == _port(upstream) and (asked == address or wide):
                allowed = f"servers other than this one, which listens on {own}: it would ask itself"
                raise SettingError(name, upstream, allowed)


def _address(text: str) -> IpAddress:
    """Return the address of a checked text; an IPv4-mapped IPv6 address becomes IPv4."""
    address, _, _ = text.rpartition(":")
    found = ipaddress.ip_address(address.strip("[]"))
    return getattr(found, "ipv4_mapped", None) or found


def _port(text: str) -> int:
    """Return the port of a checked text."""
    return int(text.rpartition(":")[2])


def _is_here(address: IpAddress) -> bool:
    """Return whether an address is of this machine: the system would send to it from the same address."""
    if address.is_loopback:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((str(address), PORT))  # sends nothing
        except OSError:
            return False
        return ipaddress.ip_address(asking.getsockname()[0]) == address
