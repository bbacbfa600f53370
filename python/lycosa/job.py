"""A job: everything that a crawl may be told, in one file. Each key has default, minimum, maximum, unit and meaning.

``lycosa job template`` and docs/settings.md are made of it. Durations are in seconds of the job's own time: ``speed``
divides them.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from lycosa import _core
from lycosa.designs import Parameter, check_weight, refuse_other_designs
from lycosa.errors import SettingError
from lycosa.explain import explain, nearest

MIB = 1 << 20
DAY = 86_400.0

#: How site owners reach whoever crawls: in a user agent, and in the From header.
EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
PAGE = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)")

#: Marks a setting that a crawl keeps for its whole life: by it URLs were admitted already. All others may change
#: when the crawl goes on; ``resume.py`` compares.
FIXED = "fixed for the life of a crawl"


def _network(text: str) -> str:
    """Refuse what is no address and no network."""
    _core.check_network(text)
    return text


def _resolver(text: str) -> str:
    """Refuse what is no resolver's address."""
    _core.check_resolver(text)
    return text


def _zones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse what is no zone with resolvers."""
    with _names():
        _core.check_zones(list(texts))
    return texts


@contextlib.contextmanager
def _names() -> Iterator[None]:
    """Name settings that are refused by their place in a job."""
    try:
        yield
    except SettingError as error:
        problem = None if error.problem is None else f"names.{error.problem}"
        raise SettingError(f"names.{error.name}", error.value, error.allowed, problem) from None


def _field(name: str) -> str:
    """Refuse what is no column."""
    if name not in _core.FIELDS:
        raise SettingError("store.fields", name, f"one of {', '.join(_core.FIELDS)}{nearest(name, _core.FIELDS)}")
    return name


def _agent(text: str) -> str:
    """Refuse what cannot stand in a header."""
    if not text.isascii() or not text.isprintable() or not text.strip() or not text[0].isalpha():
        raise SettingError("user_agent", text, "printable ASCII that starts with a product name, such as mybot/1.0")
    return text


def _email(text: str) -> str:
    """Refuse what is no e-mail address."""
    if not EMAIL.fullmatch(text):
        raise SettingError("fetch.from_email", text, "an e-mail address such as crawl@example.org")
    return text


def _none_for_zero(given: object) -> object:
    """Take 0 for no limit, where 0 would be nothing at all."""
    return None if given == 0 and not isinstance(given, bool) else given


@dataclass(frozen=True, slots=True)
class Unit:
    """Marks what the numbers of a setting count."""

    name: str


def _bytes(value: object) -> object:
    """Read a number with a unit, such as 512 MiB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)?\s*", value) if isinstance(value, str) else None
    if match is None:
        if isinstance(value, str) and value.strip()[:1].isdigit():
            raise ValueError("a number of bytes, such as 512 MiB, 1.5 GiB or 2 GB")
        return value
    unit = match[2] or "B"
    return int(float(match[1]) * (1024 if "i" in unit else 1000) ** "BKMGT".index(unit[0]))


Seconds = Annotated[float, Unit("s")]
Bytes = Annotated[int, Unit("bytes")]


class Room(BaseModel):
    """Settings of one room; unknown keys are errors. ``"none"`` is None, which TOML does not have."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _none(cls, given: Any) -> Any:
        """Take "none" and an empty text for None, where a setting may be None."""
        if not isinstance(given, dict):
            return given
        fields = cls.model_fields
        may_be_none = {name for name in given if name in fields and type(None) in get_args(fields[name].annotation)}
        return {
            name: None if value in ("none", "") and name in may_be_none else value for name, value in given.items()
        }


class Names(Room):
    """DNS."""

    resolvers: tuple[Annotated[str, AfterValidator(_resolver)], ...] = Field(
        (),
        description="DNS servers, with or without port; over TLS: tls://192.0.2.1:853#name, over HTTPS: "
        "https://192.0.2.1/dns-query#name, where the certificate must bear the name; empty: the system's",
    )
    zones: Annotated[tuple[str, ...], AfterValidator(_zones)] = Field(
        (),
        description="zones with resolvers of their own, such as corp.example=192.0.2.1,192.0.2.2; the longest zone "
        "that a name is in counts",
    )
    hosts_file: Path | None = Field(
        None, description="a hosts file, such as /etc/hosts, that is looked at before anything else; none: none is"
    )
    local_data: tuple[str, ...] = Field(
        (),
        description="records as lines of a zone file, such as printer.lan A 192.0.2.7 (A, AAAA, CNAME, PTR, TXT, MX, "
        "SRV); they come before the hosts file",
    )
    rotate: bool = Field(False, description="the resolvers take turns; else the quickest are asked")
    families: Literal["v4", "v6", "both"] = Field("v4", description="which addresses are asked for")
    timeout: Seconds = Field(2.0, ge=0.1, le=60, description="for one try")
    attempts: int = Field(4, ge=1, le=20, description="tries over all resolvers")
    in_flight: int = Field(1_000, ge=1, le=50_000, description="names asked for at once")
    ahead: Literal["off", "lru-paper", "regions-paper", "links-paper", "ahead"] = Field(
        "ahead",
        description="when names of hosts are asked for: ahead of their turn; when a page that names them is parsed "
        "(lru-paper); at random among all that wait (regions-paper), or among the links of one page after the other "
        "(links-paper), each with in_flight workers; off: when a slot is free and no resolved host may be asked",
    )
    # as many hosts as have theirs before addresses run out
    ahead_names: int = Field(
        20_000, ge=1, le=10_000_000, description="names known or asked for ahead of their turn, at most"
    )
    wildcards: bool = Field(
        False,
        description="hosts of a domain whose random labels all share one set of addresses are not asked for, but one "
        "in sixteen; a host with a record of its own may be asked at the domain's address",
    )
    # Unbound does so for signed denials only (harden-below-nxdomain)
    nxdomain_cut: bool = Field(
        False,
        description="a name that does not exist ends the search for all names below it, too (RFC 8020); some servers "
        "deny names that have others below them",
    )
    # four in ten names have a TTL of at most 5 min, and a polite visit takes longer; the compact cache counts in
    # minutes
    min_ttl: Seconds = Field(
        300.0, ge=60, le=7 * DAY, description="that addresses are held at least, whatever their TTL"
    )
    max_ttl: Seconds = Field(DAY, ge=60, le=7 * DAY, description="that addresses are held at most")
    cache: Literal["compact", "async-lru", "regions", "optimiser"] = Field(
        "compact", description="the cache's design: docs/name-caches.md"
    )
    cache_file: Path | None = Field(
        None,
        description="the file of the compact cache, shared by all crawls of a machine that name it; none: each crawl "
        "has its own, in memory",
    )
    capacity: int = Field(200_000, ge=1, le=100_000_000, description="names in the cache; compact: 1,000 at least")
    # 1 to 2 % of public resolvers' answers take longer
    slow: Seconds = Field(0.5, ge=0.001, le=60, description="from which on resolving a name counts as slow")
    verify: Literal["keyed", "published"] | None = Field(
        None,
        description="compact: by what names are told apart; published: 76 bits, which confuse names; none: keyed",
    )
    negative: Literal["generations", "clear-all"] | None = Field(
        None,
        description="compact: names that do not exist are forgotten by generations, or with all failures at once as "
        "published (clear-all); none: generations",
    )
    buckets: int | None = Field(
        None, ge=1, le=2**31, description="async-lru: of the hash table; none: as many to a name as published"
    )
    period: Seconds | None = Field(
        None,
        ge=1,
        le=7 * DAY,
        description="async-lru: that an answer holds; regions: after which light names go; optimiser: after which "
        "names in use are resolved again; none: 1,800, 3,600 and 3,600",
    )
    levels: Literal["public-suffix", "dots"] | None = Field(
        None, description="regions: what makes a level of names; dots: as published; none: public-suffix"
    )
    weight: Annotated[
        Literal["cost", "time", "recency"] | dict[Parameter, float] | None, BeforeValidator(check_weight)
    ] = Field(
        None,
        description="regions: what a slow name is worth: the milliseconds that resolving took x what is left of its "
        "TTL, halved for each hour that nobody asked (cost), the time alone, or 1,000, halved likewise (recency). A "
        "table has the powers, 0 to 10, of time (in seconds), of the share of the TTL that is left and of the "
        "halving, whose product is taken times 1,000: {time = 1, ttl = 1, recency = 1} is cost. none: cost",
    )
    light: float | None = Field(
        None, ge=0, le=1e9, description="regions: names of less weight that nobody refreshed go; none: 100"
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        with _names():
            _core.check_local_names(self.hosts_file, list(self.local_data))
        refuse_other_designs(vars(self), self.cache, "names.cache", "names.")
        if self.min_ttl > self.max_ttl:
            raise SettingError("names.min_ttl", self.min_ttl, f"at most names.max_ttl, which is {self.max_ttl:g}")
        if self.cache_file is not None and self.cache != "compact":
            allowed = f"none with names.cache = {self.cache}: only compact lies in a file"
            raise SettingError("names.cache_file", self.cache_file, allowed)
        return self


class Politeness(Room):
    """How sites are treated."""

    robots: bool = Field(True, description="whether robots.txt is obeyed (RFC 9309)")
    robots_ttl: Seconds = Field(
        DAY, ge=60, le=DAY, description="that a robots.txt is used; RFC 9309 section 2.4: at most a day"
    )
    host_interval: Seconds = Field(
        1.0, ge=0, le=3_600, description="for one host, after the start and after the end of a request"
    )
    address_interval: Seconds = Field(0.25, ge=0, le=3_600, description="the same, for all hosts of one address")
    host_concurrency: int = Field(1, ge=1, le=64, description="requests at once to a host")
    address_concurrency: int = Field(1, ge=1, le=64, description="requests at once to an address")
    max_crawl_delay: Seconds = Field(60.0, ge=0, le=3_600, description="a longer Crawl-delay counts as this")
    response_multiple: float = Field(
        5.0,
        ge=0,
        le=100,
        description="an interval is at least this many times as long as the site takes to answer, up to "
        "max_interval; 0: the intervals alone",
    )
    max_interval: Seconds = Field(
        60.0,
        ge=0,
        le=3_600,
        description="429, 503, time-outs and broken connections double the interval of a host, but not beyond this; "
        "an interval that is set longer stays as it is",
    )
    successes: int = Field(
        10, ge=1, le=10_000, description="in a row, for which a doubled interval is a second shorter again"
    )
    max_retry_after: Seconds = Field(
        3_600.0, ge=0, le=7 * DAY, description="a longer Retry-After counts as this; its URL waits"
    )
    address_domains: int = Field(
        8,
        ge=1,
        le=1_000,
        description="registered domains of one address that each have a right to its rate and concurrency: content "
        "delivery networks",
    )
    domain_pages: int | None = Field(
        None,
        ge=1,
        description="pages of one registered domain in the whole crawl; what waits beyond is refused; none: no limit",
    )
    # no limit, since domains have turns where slots are scarce
    domain_hosts: int = Field(
        20_000,
        ge=1,
        le=1_000_000_000,
        description="hosts of a registered domain that are crawled; links to more are left out: some sites make a "
        "host for each visitor",
    )
    domain_concurrency: int | None = Field(
        None, ge=1, le=10_000, description="requests at once to a registered domain; none: no limit"
    )
    requests_per_second: float | None = Field(
        None, ge=0.001, le=1_000_000, description="over all sites; none: no limit"
    )
    bytes_per_second: float | None = Field(
        None, ge=1, le=1e12, description="of responses, over all sites; none: no limit"
    )
    block_list: Path | None = Field(
        None, description="a file with hosts, domains, networks, one a line; read again when it changes"
    )
    retries: int = Field(2, ge=0, le=20, description="further tries after a failure that may pass")
    retry_delay: Seconds = Field(10.0, ge=0, le=3_600, description="before the first of them; doubles with each try")
    max_redirects: int = Field(10, ge=0, le=50, description="in a row")


class Fetch(Room):
    """HTTP."""

    slots: int = Field(128, ge=1, le=10_000, description="requests at once")
    connect_timeout: Seconds = Field(10.0, ge=0.1, le=600, description="for TCP and TLS")
    read_timeout: Seconds = Field(30.0, ge=0.1, le=600, description="of silence")
    total_timeout: Seconds = Field(120.0, ge=0.1, le=3_600, description="for the whole exchange")
    max_header_bytes: Bytes = Field(64 * 1024, ge=8_192, le=MIB, description="of all header fields of a response")
    max_body_bytes: Bytes = Field(10 * MIB, ge=1, le=1024 * MIB, description="of a body, as received")
    ca_file: Path | None = Field(
        None, description="PEM of further roots: of sites, and of resolvers that are asked over TLS or HTTPS"
    )
    from_email: Annotated[str, AfterValidator(_email)] | None = Field(
        None, description="the From header: an e-mail address of who is behind the crawl"
    )


class Parse(Room):
    """Parsing."""

    threads: int = Field(0, ge=0, le=256, description="0: one a core")
    max_links: int = Field(10_000, ge=0, le=1_000_000, description="links of one page")
    max_link_bytes: Bytes = Field(MIB, ge=8_192, le=1024 * MIB, description="of the links of one page")
    max_title_bytes: Bytes = Field(1_024, ge=0, le=MIB, description="of a title")
    link_details: tuple[Literal["anchor", "rel"], ...] = Field(
        (), description="what is kept of a link beside its URL: anchor, its text; rel, the values of its rel"
    )
    max_decoded_bytes: Bytes = Field(32 * MIB, ge=1, le=1024 * MIB, description="of a body, decoded")


class Frontier(Room):
    """Which URL next, and what of that is in memory."""

    key: Annotated[Literal["md5", "md5-16", "keyed"], FIXED] = Field(
        "md5", description="what a URL is known by: its digest, the half of it, or a digest with a secret key"
    )
    patience: Seconds = Field(
        300.0,
        ge=0,
        le=365 * DAY,
        description="a host, a name or a URL has to fail before it is given up, counted while the crawl itself is "
        "well; longer while other work goes on, and while it is not clear yet whose trouble it is (half a minute); "
        "0: the retries alone count",
    )
    longest_suspension: Seconds | None = Field(
        DAY,
        ge=60,
        description="the crawl is suspended before it ends and what waits is left waiting; a twelfth of it where no "
        "host has ever answered. none: for ever",
    )
    queue_memory: Bytes = Field(
        256 * MIB,
        ge=MIB,
        description="of waiting URLs in memory, and an eighth of it of robots.txt rules; beyond it they go to disk",
    )
    seen_memory: Bytes = Field(
        1024 * MIB, ge=16 * MIB, description="of known URLs in memory; beyond it they go to disk"
    )
    cookie_memory: Bytes = Field(64 * MIB, ge=0, description="of cookies in memory; 0: none are kept or sent")
    snapshot_bytes: Bytes = Field(256 * MIB, ge=MIB, description="that the log grows between two snapshots, at least")
    snapshot_interval: Seconds = Field(60.0, ge=0, le=DAY, description="between two snapshots, at least")
    max_hosts: int | None = Field(
        None,
        ge=1,
        description="hosts that have a queue; links to more are left out. none: as many as an eighth of memory holds",
    )


class Store(Room):
    """The log and the outputs."""

    segment_bytes: Bytes = Field(256 * MIB, ge=MIB, le=4096 * MIB, description="of one file of the log")
    commit_bytes: Bytes = Field(
        8 * MIB, ge=1, le=1024 * MIB, description="of the log that are synced at once, at most"
    )
    commit_interval: Seconds = Field(0.2, ge=0.001, le=60, description="that the log may be ahead of the disk")
    retain: Literal["needed", "all"] = Field(
        "needed", description="needed: a file of the log goes when all outputs and two snapshots have passed it"
    )
    fields: tuple[Annotated[str, AfterValidator(_field)], ...] = Field(
        tuple(_core.USUAL_FIELDS),
        description="columns of the outputs: docs/outputs.md",
    )


class Url(Room):
    """Which links are the same page though their texts differ; seeds and redirects are taken as they are given."""

    drop_tracking: bool = Field(True, description="utm_*, gclid, fbclid and their like")
    drop_sessions: bool = Field(
        True, description="jsessionid, PHPSESSID; sid only with a value of at least 16 hexadecimal digits"
    )
    sort_query: bool = Field(False, description="parameters by name")
    drop_parameters: tuple[str, ...] = Field(
        (), max_length=100, description="further parameters that are dropped; name* for all that begin so"
    )
    trust_canonical: bool = Field(
        False,
        description="what a page names as its rel=canonical, of the same origin, counts as known: that page has been "
        "fetched",
    )


class Job(Room):
    """One crawl."""

    seeds: tuple[str, ...] = Field((), description="absolute URLs to start from")
    scope: Annotated[Literal["host", "domain", "any"], FIXED] = Field(
        "host", description="links that are followed: to the hosts of the seeds, to their registered domains, or any"
    )
    max_pages: Annotated[int | None, BeforeValidator(_none_for_zero)] = Field(
        None, ge=1, description="pages after which the crawl ends; none: no limit"
    )
    max_depth: Annotated[int | None, FIXED] = Field(
        None, ge=0, le=2**31, description="links from a seed, at most; none: no limit"
    )
    memory: Annotated[int | None, Unit("bytes"), BeforeValidator(_bytes)] = Field(
        None,
        ge=128 * MIB,
        description="below which the crawl stays, whatever the web sends; the interpreter and its libraries take "
        "some 100 MiB more. Also as text such as 512 MiB or 2 GB. none: half of the machine's. At the bound: bodies "
        "that are received wait, so that fetching slows down; none is cut, and one above fetch.max_body_bytes or an "
        "eighth of "
        "memory fails as body-too-large. Waiting URLs beyond an eighth of memory (at most frontier.queue_memory) and "
        "known ones beyond a quarter (at most frontier.seen_memory) go to disk. Links to new hosts beyond "
        "frontier.max_hosts are left out and counted as links_hosts_full. A frontier.*_memory that is set to another "
        "value than its default counts as it is, also above its share",
    )
    speed: float = Field(1.0, gt=0, le=1_000_000, description="divides every delay; for simulated Internets only")
    user_agent: Annotated[str, AfterValidator(_agent)] = Field(
        "Lycosa/0.1",
        description="how the crawler introduces itself: a product name with a page or an e-mail address, such as "
        '"mybot/1.0 (me@example.org)"; has to be given',
    )
    allow_addresses: tuple[Annotated[str, AfterValidator(_network)], ...] = Field(
        (), description="private networks that may be asked, such as 127.0.0.0/8, beside all public addresses"
    )
    allow_ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = Field(
        (),
        description="ports that may be asked although browsers block them, such as 25 (mail): "
        "https://fetch.spec.whatwg.org/#port-blocking",
    )
    names: Names = Names()
    politeness: Politeness = Politeness()
    frontier: Frontier = Frontier()
    fetch: Fetch = Fetch()
    parse: Parse = Parse()
    store: Store = Store()
    url: Url = Url()

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        if self.names.cache_file is not None and self.speed != 1:
            allowed = f"none with speed = {self.speed:g}: others that share the file live in the machine's own time"
            raise SettingError("names.cache_file", self.names.cache_file, allowed)
        return self

    def check_contact(self) -> None:
        """Raise SettingError where site owners could not reach whoever crawls.

        A page on this machine is no contact, unless the job may speak to this machine: a simulated Internet's own.
        """
        page = PAGE.search(self.user_agent)
        here = page is not None and (page[1] in ("localhost", "[::1]") or page[1].startswith("127."))
        if (page is None or (here and not self.allow_addresses)) and not EMAIL.search(self.user_agent):
            allowed = (
                "a product name with a page or an e-mail address, such as "
                '"mybot/1.0 (+https://example.org/bot)" or "mybot/1.0 (me@example.org)": who runs a site must be '
                "able to reach you before they block you; docs/courtesy.md says what to put on the page"
            )
            if self.user_agent == type(self).model_fields["user_agent"].default:
                line = (
                    f"user_agent: is missing (--user-agent), and {self.user_agent} is not enough; allowed: {allowed}"
                )
                raise SettingError("user_agent", self.user_agent, allowed, line)
            raise SettingError("user_agent", self.user_agent, allowed)

    def checked_seeds(self) -> list[str]:
        """The seeds in canonical form; raises SettingError for a bad one or none at all."""
        if not self.seeds:
            raise SettingError("seeds", "", "at least one URL such as https://example.com/")
        seeds = []
        for seed in self.seeds:
            try:
                seeds.append(_core.canonical_url(seed))
                _core.check_port(seed, list(self.allow_ports))
            except SettingError as error:
                raise SettingError("seed", seed, error.allowed) from None
        return seeds


def make_job(settings: dict[str, Any]) -> Job:
    """Check settings; raises SettingError that names the first bad one, its value and what is allowed."""
    try:
        return Job.model_validate(settings)
    except ValidationError as error:
        raise explain(error, Job) from None


def read_job(path: Path, name: str = "job") -> dict[str, Any]:
    """Read a file of settings (TOML), which goes by a name; raises SettingError where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(name, path, f"a file that can be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(name, path, f"a TOML file ({error})") from None


def is_fixed(key: str) -> bool:
    """Whether a setting, such as ``frontier.key``, may not change when a crawl goes on."""
    model: type[BaseModel] = Job
    *rooms, name = key.split(".")
    for room in rooms:
        model = model.model_fields[room].annotation  # type: ignore[assignment]  # rooms are models
    return FIXED in model.model_fields[name].metadata


def merge(settings: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Lay settings over others, room by room. A setting that is a table is taken as a whole."""
    merged = dict(settings)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def absolute_paths(settings: dict[str, Any], base: Path, model: type[BaseModel] = Job) -> dict[str, Any]:
    """Settings whose relative paths are taken from a folder: a job file's own, or the working directory."""
    found = dict(settings)
    for name, value in settings.items():
        if name not in model.model_fields:
            continue
        kind = model.model_fields[name].annotation
        if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, BaseModel):
            found[name] = absolute_paths(value, base, kind)
        elif Path in get_args(kind) and isinstance(value, str | Path) and value not in ("", "none"):
            found[name] = str((base / value).absolute())
    return found
