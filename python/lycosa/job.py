"""A job: all settings of a crawl. Each key has a default, minimum, maximum, unit and meaning.

``lycosa job template`` and docs/settings.md are generated from it. Durations are in seconds of the job's time:
``speed`` divides them.
"""

# Annotations are not postponed: pydantic would have to compile each of them at the start.

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from lycosa import _core
from lycosa.cluster.settings import Cluster
from lycosa.designs import Parameter, check_weight, refuse_other_designs
from lycosa.errors import SettingError
from lycosa.model import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    Section,
    Unit,
    ValidationError,
    model_validator,
)
from lycosa.observe.settings import Observe
from lycosa.words import nearest

MIB = 1 << 20
DAY = 86_400.0

#: How site owners reach the operator of the crawl: in the user agent, and in the From header.
EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
#: A media type, or all of a kind (RFC 9110 section 12.5.1, without parameters).
MEDIA_TYPE = re.compile(r"(\*/\*|[A-Za-z0-9!#$&^_.+-]+/(\*|[A-Za-z0-9!#$&^_.+-]+))")
PAGE = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)")

#: Marks a setting that cannot change during the life of a crawl, because URLs were admitted by it. All others may
#: change when the crawl is resumed; ``resume.py`` compares them.
FIXED = "fixed for the life of a crawl"


#: Uses of pages about which sites state preferences, by their names in the column ``usage``.
Use = Literal["train-ai", "search", "ai-input", "ai-use", "bots", "tdm"]


def _network(text: str) -> str:
    """Reject a text that is neither an address nor a network."""
    _core.check_network(text)
    return text


def _page(text: str) -> str:
    """Check the URL of a page."""
    return _core.canonical_url(text)


def _resolver(text: str) -> str:
    """Reject an invalid resolver address."""
    _core.check_resolver(text)
    return text


def _zones(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Reject an invalid zone with resolvers."""
    with _names():
        _core.check_zones(list(texts))
    return texts


@contextlib.contextmanager
def _names() -> Iterator[None]:
    """Add the prefix ``names.`` to the setting of a SettingError."""
    try:
        yield
    except SettingError as error:
        problem = None if error.problem is None else f"names.{error.problem}"
        raise SettingError(f"names.{error.name}", error.value, error.allowed, problem) from None


def _field(name: str) -> str:
    """Reject an unknown column."""
    if name not in _core.FIELDS:
        raise SettingError("store.fields", name, f"one of {', '.join(_core.FIELDS)}{nearest(name, _core.FIELDS)}")
    return name


def _agent(text: str) -> str:
    """Reject a text that is not a valid User-Agent."""
    if not text.isascii() or not text.isprintable() or not text.strip() or not text[0].isalpha():
        raise SettingError("user_agent", text, "printable ASCII that starts with a product name, such as mybot/1.0")
    return text


def _master(text: str) -> str:
    """Check the URL of a master, or of several."""
    if not all(re.fullmatch(r"https?://[^\s/?#@]+/?", url) for url in text.split(",")):
        allowed = "an http or https URL without a path, such as http://127.0.0.1:7700, or several with commas"
        raise SettingError("fetch.master", text, allowed)
    return text


def _email(text: str) -> str:
    """Reject a text that is not an e-mail address."""
    if not EMAIL.fullmatch(text):
        raise SettingError("fetch.from_email", text, "an e-mail address such as crawl@example.org")
    return text


def _media_type(text: str) -> str:
    """Reject a text that is neither a media type nor a kind of them."""
    if not MEDIA_TYPE.fullmatch(text):
        raise SettingError("fetch.content_types", text, "a media type such as text/html or image/*")
    return text


def _none_for_zero(given: object) -> object:
    """Replace 0 by `None` (no limit)."""
    return None if given == 0 and not isinstance(given, bool) else given


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


class Names(Section):
    """DNS."""

    resolvers: tuple[Annotated[str, AfterValidator(_resolver)], ...] = Field(
        (),
        description="DNS servers, with or without port; over TLS: tls://192.0.2.1:853#name, over HTTPS: "
        "https://192.0.2.1/dns-query#name, where the certificate must be valid for the name; empty: the system's",
    )
    zones: Annotated[tuple[str, ...], AfterValidator(_zones)] = Field(
        (),
        description="zones with resolvers of their own, such as corp.example=192.0.2.1,192.0.2.2; the longest "
        "matching zone counts",
    )
    hosts_file: Path | None = Field(
        None, description="hosts file, such as /etc/hosts; takes precedence over cache and resolvers; none: no file"
    )
    local_data: tuple[str, ...] = Field(
        (),
        description="records as lines of a zone file, such as printer.lan A 192.0.2.7 (A, AAAA, CNAME, PTR, TXT, MX, "
        "SRV); they take precedence over the hosts file",
    )
    rotate: bool = Field(False, description="whether the resolvers are asked in turn; false: the fastest are asked")
    families: Literal["v4", "v6", "both"] = Field("v4", description="address families that are looked up")
    timeout: Seconds = Field(2.0, ge=0.1, le=60, description="time-out of one try")
    attempts: int = Field(4, ge=1, le=20, description="tries for one name, over all resolvers")
    in_flight: int = Field(1_000, ge=1, le=50_000, description="names looked up at once")
    ahead: Literal["off", "lru-paper", "regions-paper", "links-paper", "ahead"] = Field(
        "ahead",
        description="when host names are looked up; ahead: before their hosts' turn; lru-paper: when a page that "
        "links to them is parsed; regions-paper: at random among all waiting names; links-paper: at random among the "
        "links of one page, page by page (both with in_flight workers); off: when a slot is free and no host with a "
        "known address is due",
    )
    # as many hosts as have their turn before their addresses expire
    ahead_names: int = Field(
        20_000, ge=1, le=10_000_000, description="maximum number of names resolved or looked up ahead of their turn"
    )
    wildcards: bool = Field(
        False,
        description="whether only one in sixteen hosts of a domain is looked up when all random labels of the domain "
        "have the same addresses; a host with a record of its own may be contacted at the domain's address",
    )
    # Unbound does so for signed denials only (harden-below-nxdomain)
    nxdomain_cut: bool = Field(
        False,
        description="whether NXDOMAIN for a name applies to all names below it, too (RFC 8020); some servers deny "
        "names that have others below them",
    )
    # four in ten names have a TTL of at most 5 min, and a polite visit takes longer; the compact cache counts in
    # minutes
    min_ttl: Seconds = Field(
        300.0, ge=60, le=7 * DAY, description="minimum time that addresses are cached, whatever their TTL"
    )
    max_ttl: Seconds = Field(DAY, ge=60, le=7 * DAY, description="maximum time that addresses are cached")
    cache: Literal["compact", "async-lru", "regions", "optimiser"] = Field(
        "compact", description="design of the cache: docs/name-caches.md"
    )
    cache_file: Path | None = Field(
        None,
        description="file of the compact cache, shared by all crawls of a machine that name it; none: each crawl "
        "has its own, in memory",
    )
    capacity: int = Field(200_000, ge=1, le=100_000_000, description="names in the cache; compact: at least 1,000")
    # 1 to 2 % of public resolvers' answers take longer
    slow: Seconds = Field(0.5, ge=0.001, le=60, description="resolution time from which a name counts as slow")
    verify: Literal["keyed", "published"] | None = Field(
        None,
        description="compact: how names are told apart; published: by 76 bits, which confuse names; none: keyed",
    )
    negative: Literal["generations", "clear-all"] | None = Field(
        None,
        description="compact: how names that do not exist expire: by generations, or all failures at once as "
        "published (clear-all); none: generations",
    )
    buckets: int | None = Field(
        None, ge=1, le=2**31, description="async-lru: buckets of the hash table; none: as many per name as published"
    )
    period: Seconds | None = Field(
        None,
        ge=1,
        le=7 * DAY,
        description="async-lru: how long an answer is valid; regions: after how long light names are evicted; "
        "optimiser: after how long names in use are resolved again; none: 1,800, 3,600 and 3,600",
    )
    levels: Literal["public-suffix", "dots"] | None = Field(
        None, description="regions: how the level of a name is found; dots: as published; none: public-suffix"
    )
    weight: Annotated[
        Literal["cost", "time", "recency"] | dict[Parameter, float] | None, BeforeValidator(check_weight)
    ] = Field(
        None,
        description="regions: weight of a slow name: resolution time in ms x remaining share of its TTL, halved for "
        "each hour without a lookup (cost); the time alone (time); or 1,000, halved likewise (recency). A table has "
        "the powers, 0 to 10, of time (in seconds), of the remaining share of the TTL and of the halving; their "
        "product is multiplied by 1,000: {time = 1, ttl = 1, recency = 1} is cost. none: cost",
    )
    light: float | None = Field(
        None, ge=0, le=1e9, description="regions: names of less weight are evicted unless refreshed; none: 100"
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


class Politeness(Section):
    """How sites are treated."""

    robots: bool = Field(True, description="whether robots.txt is obeyed (RFC 9309)")
    robots_ttl: Seconds = Field(
        DAY, ge=60, le=DAY, description="time that a robots.txt is cached; RFC 9309 section 2.4: at most a day"
    )
    tdmrep: bool = Field(
        False,
        description="whether each origin's /.well-known/tdmrep.json (TDMRep) is requested after its robots.txt, and "
        "cached as long: one more request to each origin, before the first page. What it states is in the column "
        "usage",
    )
    host_interval: Seconds = Field(
        1.0, ge=0, le=3_600, description="minimum interval between requests to one host, from both start and end"
    )
    address_interval: Seconds = Field(
        0.25, ge=0, le=3_600, description="the same between requests to one address, over all its hosts"
    )
    host_concurrency: int = Field(1, ge=1, le=64, description="concurrent requests to one host")
    address_concurrency: int = Field(1, ge=1, le=64, description="concurrent requests to one address")
    max_crawl_delay: Seconds = Field(60.0, ge=0, le=3_600, description="maximum; a longer Crawl-delay is cut to this")
    response_multiple: float = Field(
        5.0,
        ge=0,
        le=100,
        description="minimum interval as a multiple of the site's response time, up to max_interval; 0: no multiple",
    )
    max_interval: Seconds = Field(
        60.0,
        ge=0,
        le=3_600,
        description="429, 408, 502, 503, 504, time-outs and broken connections double the interval of a host up to "
        "this maximum; an interval that is set longer stays as it is",
    )
    successes: int = Field(
        10, ge=1, le=10_000, description="successes in a row that shorten a doubled interval by a second"
    )
    max_retry_after: Seconds = Field(
        3_600.0, ge=0, le=7 * DAY, description="maximum; a longer Retry-After is cut to this; its URL waits"
    )
    address_domains: int = Field(
        8,
        ge=1,
        le=1_000,
        description="registered domains on one address that each get its full rate and concurrency (content delivery "
        "networks)",
    )
    domain_pages: int | None = Field(
        None,
        ge=1,
        description="pages per registered domain in the whole crawl; URLs beyond are refused; none: no limit",
    )
    # practically no limit, since domains take turns where slots are scarce
    domain_hosts: int = Field(
        20_000,
        ge=1,
        le=1_000_000_000,
        description="hosts per registered domain that are crawled; links to more are dropped: some sites create a "
        "host for each visitor. Divided among the shards if frontier.shard_by is not domain",
    )
    domain_concurrency: int | None = Field(
        None, ge=1, le=10_000, description="concurrent requests to one registered domain; none: no limit"
    )
    requests_per_second: float | None = Field(
        None, ge=0.001, le=1_000_000, description="requests per second to all sites together; none: no limit"
    )
    bytes_per_second: float | None = Field(
        None, ge=1, le=1e12, description="bytes of responses per second from all sites together; none: no limit"
    )
    block_list: Path | None = Field(
        None, description="file of hosts, domains and networks, one per line; read again when it changes"
    )
    share_clocks: bool = Field(
        True,
        description="whether all crawls of this machine that the same user runs keep the intervals of hosts and "
        "addresses together; with speed other than 1 only those that name one clock_file",
    )
    clock_file: Path | None = Field(
        None, description="file of these clocks, best on a file system in memory; none: /dev/shm/lycosa-clocks-UID"
    )
    retries: int = Field(
        2,
        ge=0,
        le=20,
        description="retries after a transient failure, and as many more as frontier.patience takes",
    )
    retry_delay: Seconds = Field(10.0, ge=0, le=3_600, description="delay of the first retry; doubles each time")
    retry_jitter: float = Field(
        0.25,
        ge=0,
        le=1,
        description="part of a retry's delay by which it is longer at most; how much longer follows from the host "
        "and the number of the try, so that hosts that failed at one moment are not all tried again at one moment",
    )
    max_redirects: int = Field(10, ge=0, le=50, description="redirects in a row")


class Fetch(Section):
    """HTTP."""

    slots: int = Field(128, ge=1, le=10_000, description="concurrent requests")
    connect_timeout: Seconds = Field(10.0, ge=0.1, le=600, description="time-out of the TCP and TLS handshakes")
    read_timeout: Seconds = Field(30.0, ge=0.1, le=600, description="longest wait for further bytes")
    total_timeout: Seconds = Field(120.0, ge=0.1, le=3_600, description="time-out of the whole exchange")
    max_header_bytes: Bytes = Field(64 * 1024, ge=8_192, le=MIB, description="size of a response's header fields")
    max_body_bytes: Bytes = Field(10 * MIB, ge=1, le=1024 * MIB, description="size of a body, as received")
    resume_bytes: Annotated[int | None, Unit("bytes")] = Field(
        MIB,
        ge=1,
        le=1024 * MIB,
        description="size of what was received of a body from which on its rest is asked for where the "
        "connection breaks or is silent: by a range, if the server has ranges and a strong validator, at most three "
        "times within total_timeout, after politeness.retry_delay, which doubles, or the host's interval if that is "
        "longer. none: never",
    )
    content_types: tuple[Annotated[str, AfterValidator(_media_type)], ...] = Field(
        (),
        max_length=100,
        description="media types of pages that are fetched, such as text/html or image/*; what has another one fails "
        "as content-type before its body is received. Where Content-Type is missing or says nothing (text/plain, "
        "application/octet-stream) the first bytes of the body decide. Empty: all",
    )
    idle_connections: int = Field(
        4_096,
        ge=0,
        le=100_000,
        description="open connections without a request; half of the open files at most",
    )
    idle_timeout: Seconds = Field(
        75.0,
        ge=0.1,
        le=3_600,
        description="longest time that a connection stays open without a request",
    )
    http2: bool = Field(True, description="offer HTTP/2 to https servers")
    ca_file: Path | None = Field(
        None,
        description="PEM file of additional root certificates: for sites, and for resolvers over TLS or HTTPS; for a "
        "master, the only ones",
    )
    credentials: Path | None = Field(
        None,
        description="file of passwords and tokens, which only its owner may read: on each line ORIGIN basic "
        "USER:PASSWORD or ORIGIN bearer TOKEN, such as https://example.com basic me:secret. Each is sent to its "
        "origin (scheme, host and port) alone, and is in no record",
    )
    identity: Path | None = Field(
        None,
        description="directory that lycosa identity new has made: its key signs each request over TLS (Web Bot "
        "Auth), so that sites recognise the crawler",
    )
    from_email: Annotated[str, AfterValidator(_email)] | None = Field(
        None, description="From header: e-mail address of the crawl's operator"
    )
    master: Annotated[str, AfterValidator(_master)] | None = Field(
        None,
        description="URL of a dispatch master, whose download servers fetch; several, with commas, where some stand "
        "by. They have their own proxies, credentials and identity. The service's token is in the environment "
        "variable LYCOSA_TOKEN. none: the crawl fetches",
    )
    service: str = Field("crawl", description="name of the crawl's service in the quotas of that master")
    master_certificate: Path | None = Field(
        None, description="PEM file with a certificate and its key, for a master that asks for one (mutual TLS)"
    )


class Parse(Section):
    """Parsing."""

    threads: int = Field(0, ge=0, le=256, description="parser threads; 0: one per core")
    max_links: int = Field(10_000, ge=0, le=1_000_000, description="links of one page")
    max_link_bytes: Bytes = Field(MIB, ge=8_192, le=1024 * MIB, description="size of the links of one page")
    max_title_bytes: Bytes = Field(1_024, ge=0, le=MIB, description="size of a title")
    link_details: tuple[Literal["anchor", "rel", "context", "place"], ...] = Field(
        (),
        description="what is stored of a link beside its URL: anchor, its text; rel, its rel values; context, the "
        "text around it; place, the part of the page that it is in (navigation, header, content, aside, footer)",
    )
    link_sources: tuple[Literal["frames", "images", "feeds", "forms"], ...] = Field(
        ("frames",),
        description="what gives links beside those that lead from page to page: frames, the pages in them; images, "
        "in all sizes, also those that scripts would load later; feeds that the head names (RSS, Atom, JSON); forms "
        "that send nothing but a URL",
    )
    max_decoded_bytes: Bytes = Field(32 * MIB, ge=1, le=1024 * MIB, description="size of a decoded body")
    text: Literal["lycosa", "density-paper"] = Field(
        "lycosa",
        description="how the main text of a page is found, where outputs have main_text or another column that is "
        "made of it: lycosa, by trained models; density-paper, as published",
    )
    template_sites: int = Field(
        1_000,
        ge=0,
        le=20_000,
        description="hosts of which is learnt what their pages have in common, which is no main text; each takes up "
        "to 35 KB, beside `memory`. Where there are more, the one that was longest without a page is forgotten. "
        "0: none",
    )
    refusals: bool = Field(
        True,
        description="whether a page that is no content (a challenge, a block, a login, a parked domain, a page that "
        "is not there) is a failure although its status is one of success",
    )


class Frontier(Section):
    """The frontier, which knows all URLs and decides which is fetched next: shards, patience, memory, snapshots."""

    key: Annotated[Literal["md5", "md5-16", "keyed"], FIXED] = Field(
        "md5", description="key of a URL: its MD5 digest, half of it, or a digest with a secret key"
    )
    shards: Annotated[int, FIXED] = Field(
        1,
        ge=1,
        le=1_024,
        description="experimental: parts of the frontier, each on a thread with a fetch and a parser of its own, one "
        "for each core that the crawl may use; memory, slots, rates, max_hosts and other limits of the whole crawl "
        "are divided among them (docs/scale.md)",
    )
    shard_by: Annotated[Literal["domain", "host", "url"], FIXED] = Field(
        "domain",
        description="what of a URL decides its shard: the registered domain, so that its limits and cookies stay "
        "exact; the host; or the URL itself, as published",
    )
    patience: Seconds = Field(
        300.0,
        ge=0,
        le=365 * DAY,
        description="how long a host, a name or a URL has to fail before it is given up, counted while the crawl "
        "itself is healthy; longer while there is other work, and until the crawl's own network is ruled out as the "
        "cause (half a minute); 0: only the retries count",
    )
    longest_suspension: Seconds | None = Field(
        DAY,
        ge=60,
        description="how long the crawl is suspended before it ends; its URLs stay waiting; a twelfth of it if no "
        "host has ever answered. none: no limit",
    )
    queue_memory: Bytes = Field(
        256 * MIB,
        ge=MIB,
        description="memory of waiting URLs, and an eighth of it for robots.txt rules; the rest goes to disk",
    )
    seen_memory: Bytes = Field(1024 * MIB, ge=16 * MIB, description="memory of known URLs; the rest goes to disk")
    cookie_memory: Bytes = Field(64 * MIB, ge=0, description="memory of cookies; 0: none are stored or sent")
    snapshot_bytes: Bytes = Field(256 * MIB, ge=MIB, description="minimum growth of the log between two snapshots")
    snapshot_interval: Seconds = Field(60.0, ge=0, le=DAY, description="minimum time between two snapshots")
    max_hosts: int | None = Field(
        None,
        ge=1,
        description="hosts of the whole crawl, done ones too, in memory or on disk; links to more are dropped. none: "
        "as many as fit into an eighth of memory",
    )
    warm_hosts: int | None = Field(
        None,
        ge=1,
        description="hosts in memory that URLs wait for, beside hosts that fail (a quarter as many, and those that "
        "are tried again soon), that ask for a pause of more than a minute or that have 256 URLs; further ones wait "
        "on disk, about fifty bytes in memory each. none: as many as fit into an eighth of memory",
    )


class Store(Section):
    """The log and the outputs."""

    segment_bytes: Bytes = Field(256 * MIB, ge=MIB, le=4096 * MIB, description="size of one file of the log")
    commit_bytes: Bytes = Field(
        8 * MIB, ge=1, le=1024 * MIB, description="maximum size of the log's tail that is not synced yet"
    )
    commit_interval: Seconds = Field(0.2, ge=0.001, le=60, description="maximum time until a record is synced")
    behind_bytes: Bytes = Field(
        4096 * MIB,
        ge=MIB,
        description="how far an output may be behind the log: then nothing more is fetched until it is not",
    )
    retain: Literal["needed", "all"] = Field(
        "needed", description="needed: a file of the log is removed once all outputs and two snapshots have passed it"
    )
    fields: tuple[Annotated[str, AfterValidator(_field)], ...] = Field(
        tuple(_core.USUAL_FIELDS),
        description="columns of the outputs: docs/outputs.md",
    )


class Url(Section):
    """Normalisation of links; seeds and redirects are used as they are given."""

    drop_tracking: bool = Field(True, description="drop utm_*, gclid, fbclid and similar parameters")
    drop_sessions: bool = Field(
        True, description="drop jsessionid, PHPSESSID; sid only with a value of at least 16 hexadecimal digits"
    )
    sort_query: bool = Field(False, description="sort parameters by name")
    drop_parameters: tuple[str, ...] = Field(
        (), max_length=100, description="further parameters to drop; name* for all that start with name"
    )
    trust_canonical: bool = Field(
        False,
        description="treat a page's rel=canonical URL, of the same origin, as known: it is not fetched again",
    )


class Proxies(Section):
    """Proxies through which all requests go, those for robots.txt too; without a source there are none."""

    file: Path | None = Field(
        None,
        description="file of proxies, one a line: HOST:PORT, HOST:PORT:USER:PASSWORD or "
        "SCHEME://[USER:PASSWORD@]HOST:PORT with scheme http, https, socks5 (it gets the site's address) or socks5h "
        "(it gets the name, as http and https do); then, after a space, a label. With passwords it must be its "
        "owner's alone (mode 600)",
    )
    lists: tuple[str, ...] = Field((), description="URLs of such lists on the web")
    pages: tuple[str, ...] = Field((), description="URLs of pages in which proxies are found by the pattern")
    pattern: str = Field(
        "",
        description="regular expression of a proxy in such a page: groups host and port, and scheme and label if it "
        "has them; empty: HOST:PORT in a text, or both in cells of a table",
    )
    refresh: float = Field(600.0, ge=1, description="seconds after which files, lists and pages are read again")
    check: tuple[Annotated[str, AfterValidator(_page)], ...] = Field(
        (),
        max_length=10,
        description="URLs that a proxy must fetch, with a status below 400, before it is used; a page that shows the "
        "request that it got tells how anonymous the proxy is. Empty: proxies are used unchecked",
    )
    recheck: float = Field(600.0, ge=1, description="seconds after which a proxy that works is checked again")
    order: tuple[str, ...] = Field(
        (),
        description="labels, such as carriers: proxies with the first one come first; of one label, the fastest do",
    )
    sticky: bool = Field(False, description="a registered domain keeps its proxy as long as that works")
    concurrency: int = Field(8, ge=1, le=10_000, description="requests through one proxy at once")
    tries: int = Field(3, ge=1, le=100, description="proxies that a request is given, where these fail themselves")
    allow_addresses: tuple[Annotated[str, AfterValidator(_network)], ...] = Field(
        (), description="private networks in which proxies may be, such as 127.0.0.0/8, beside all public addresses"
    )

    @property
    def has_source(self) -> bool:
        """Whether there are to be proxies."""
        return self.file is not None or bool(self.lists or self.pages)


Component = TypeVar("Component", bound=Section)


def _defaults(component: type[Component]) -> Component:
    """Return a field with the defaults of a component, which the job's validator makes: it needs none of its own."""
    field: Component = Field(default_factory=dict, validate_default=True)
    return field


class Job(Section):
    """One crawl."""

    seeds: tuple[str, ...] = Field((), description="absolute URLs to start from")
    scope: Annotated[Literal["host", "domain", "any"], FIXED] = Field(
        "host",
        description="links to follow: to the seeds' hosts, to their registered domains, or any; where a seed "
        "redirects, its target belongs to them",
    )
    max_pages: Annotated[int | None, BeforeValidator(_none_for_zero)] = Field(
        None, ge=1, description="number of pages, of all sessions, after which the crawl ends; none: no limit"
    )
    max_depth: Annotated[int | None, FIXED] = Field(
        None, ge=0, le=2**31, description="maximum number of links from a seed; none: no limit"
    )
    memory: Annotated[int | None, Unit("bytes"), BeforeValidator(_bytes)] = Field(
        None,
        ge=128 * MIB,
        description="bound on the crawl's memory, whatever sites send; the interpreter and its libraries take some "
        "100 MiB more. Also as text such as 512 MiB or 2 GB. none: half of the machine's. At the bound, fetching "
        "slows down: bodies are read later, none is cut. A body above fetch.max_body_bytes or an eighth of "
        "memory (with shards, of a shard's part) fails as body-too-large. Waiting URLs beyond an eighth of memory "
        "(at most frontier.queue_memory) and known ones beyond a quarter (at most frontier.seen_memory) go to disk. "
        "Links to new hosts beyond frontier.max_hosts are dropped and counted as links_hosts_full. A "
        "frontier.*_memory that differs from its default is used as it is, also above its share",
    )
    speed: float = Field(1.0, gt=0, le=1_000_000, description="divides every delay; for simulated Internets only")
    user_agent: Annotated[str, AfterValidator(_agent)] = Field(
        "Lycosa/0.1",
        description="User-Agent header: a product name with a page or an e-mail address, such as "
        '"mybot/1.0 (me@example.org)"; required',
    )
    allow_addresses: tuple[Annotated[str, AfterValidator(_network)], ...] = Field(
        (), description="private networks that may be fetched from, such as 127.0.0.0/8, beside all public addresses"
    )
    allow_ports: tuple[Annotated[int, Field(ge=1, le=65_535)], ...] = Field(
        (),
        description="ports that may be fetched from although browsers block them, such as 25 (mail): "
        "https://fetch.spec.whatwg.org/#port-blocking",
    )
    usage: dict[Use, Literal["drop", "mark", "ignore"]] = Field(
        {},
        description="what a site's preference about a use of its pages comes to, by use, such as train-ai. drop: a "
        "page whose site does not allow the use is not recorded (usage-refused), nor fetched if robots.txt says so; "
        "mark: the preference is in the column usage; ignore: it is not. Uses that are not named: mark",
    )
    names: Names = _defaults(Names)
    politeness: Politeness = _defaults(Politeness)
    frontier: Frontier = _defaults(Frontier)
    fetch: Fetch = _defaults(Fetch)
    proxies: Proxies = _defaults(Proxies)
    parse: Parse = _defaults(Parse)
    store: Store = _defaults(Store)
    url: Url = _defaults(Url)
    cluster: Cluster = _defaults(Cluster)
    observe: Observe = _defaults(Observe)

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        if self.names.cache_file is not None and self.speed != 1:
            allowed = f"none with speed = {self.speed:g}: other users of the file are in the machine's own time"
            raise SettingError("names.cache_file", self.names.cache_file, allowed)
        if "drop" in self.usage.values() and not self.politeness.robots:
            allowed = "true with a use that is dropped: robots.txt reserves pages, too"
            raise SettingError("politeness.robots", "false", allowed)
        if self.politeness.tdmrep and not self.politeness.robots:
            raise SettingError("politeness.tdmrep", "true", "false without politeness.robots")
        limits = ("domain_pages", "domain_concurrency")
        limited = [name for name in limits if getattr(self.politeness, name) is not None]
        if self.frontier.shards > 1 and self.frontier.shard_by != "domain" and limited:
            allowed = f"domain with politeness.{limited[0]}, since each shard would have that limit for itself"
            raise SettingError("frontier.shard_by", self.frontier.shard_by, allowed)
        return self

    def check_contact(self) -> None:
        """Raise SettingError if the user agent has no contact for site owners.

        A page on this machine is no contact, unless the job allows private addresses (a simulated Internet).
        """
        page = PAGE.search(self.user_agent)
        here = page is not None and (page[1] in ("localhost", "[::1]") or page[1].startswith("127."))
        if (page is None or (here and not self.allow_addresses)) and not EMAIL.search(self.user_agent):
            allowed = (
                "a product name with a page or an e-mail address, such as "
                '"mybot/1.0 (+https://example.org/bot)" or "mybot/1.0 (me@example.org)": site owners must be able '
                "to reach you before they block you; docs/courtesy.md says what to put on the page"
            )
            if self.user_agent == type(self).model_fields["user_agent"].default:
                line = (
                    f"user_agent: is missing (--user-agent), and {self.user_agent} is not enough; allowed: {allowed}"
                )
                raise SettingError("user_agent", self.user_agent, allowed, line)
            raise SettingError("user_agent", self.user_agent, allowed)

    def checked_seeds(self) -> list[str]:
        """Return the seeds in canonical form; raises SettingError for a bad seed, or if there is none."""
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
    """Check settings; raises SettingError with the first bad one, its value and what is allowed."""
    try:
        return Job.model_validate(settings)
    except ValidationError as error:
        from lycosa.explain import explain  # only for a mistake

        raise explain(error, Job) from None


def read_job(path: Path, name: str = "job") -> dict[str, Any]:
    """Read a TOML file of settings; raises SettingError, for the setting ``name``, if it cannot be read."""
    import tomllib  # only for a job file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(name, path, f"a file that can be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(name, path, f"a TOML file ({error})") from None


def is_section(key: str) -> bool:
    """Return whether a key of a job is a section, such as ``frontier``, and no setting."""
    annotation = Job.model_fields[key].annotation if key in Job.model_fields else None
    return isinstance(annotation, type) and issubclass(annotation, Section)


def is_fixed(key: str) -> bool:
    """Return whether a setting, such as ``frontier.key``, may not change when a crawl is resumed."""
    model: type[BaseModel] = Job
    *sections, name = key.split(".")
    for section in sections:
        model = model.model_fields[section].annotation  # type: ignore[assignment]  # components are models
    return FIXED in model.model_fields[name].metadata


def merge(settings: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Merge settings over others, component by component. A setting that is a table is replaced as a whole."""
    merged = dict(settings)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def absolute_paths(settings: dict[str, Any], base: Path, model: type[BaseModel] = Job) -> dict[str, Any]:
    """Resolve relative paths in settings against a folder: the job file's, or the working directory."""
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
