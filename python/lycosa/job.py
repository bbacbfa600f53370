"""A job: everything that a crawl may be told, in one file. Each line has default, minimum, maximum and unit.

Durations are in seconds of the job's own time: ``speed`` divides them.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from lycosa import _core
from lycosa.errors import SettingError

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


def _bytes(value: object) -> object:
    """Read a number with a unit, such as 512 MiB."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)?\s*", value) if isinstance(value, str) else None
    if match is None:
        return value
    unit = match[2] or "B"
    return int(float(match[1]) * (1024 if "i" in unit else 1000) ** "BKMGT".index(unit[0]))


class Room(BaseModel):
    """Settings of one room; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Names(Room):
    """DNS."""

    # default: the system's; over TLS: tls://192.0.2.1:853#name, where the certificate must bear the name
    resolvers: tuple[Annotated[str, AfterValidator(_resolver)], ...] = ()
    families: Literal["v4", "v6", "both"] = "v4"
    timeout: float = Field(2.0, ge=0.1, le=60)  # s, for one try
    attempts: int = Field(4, ge=1, le=20)  # tries over all resolvers
    in_flight: int = Field(1_000, ge=1, le=50_000)  # names asked for at once
    # when names of hosts are asked for: ahead of their turn; when a page that names them is parsed (lru-paper); at
    # random (regions-paper, in_flight workers); off: when a slot is free and no resolved host may be asked
    ahead: Literal["off", "lru-paper", "regions-paper", "ahead"] = "ahead"
    # names known or asked for ahead of their turn, at most: as many hosts as have theirs before addresses run out
    ahead_names: int = Field(20_000, ge=1, le=10_000_000)
    # hosts of a domain whose random labels all share one set of addresses are not asked for, but one in sixteen; a
    # host with a record of its own may be asked at the domain's address
    wildcards: bool = False
    # s that addresses are held at least, whatever their TTL: four in ten have one of at most 5 min, and a polite
    # visit takes longer; at least 60, since the compact cache counts in minutes
    min_ttl: float = Field(300.0, ge=60, le=7 * DAY)
    max_ttl: float = Field(DAY, ge=60, le=7 * DAY)  # s that addresses are held at most
    cache: Literal["compact", "async-lru", "regions", "optimiser"] = "compact"  # the cache's design
    # of the compact cache: shared by all crawls of a machine that name it. Default: each crawl has its own, in memory
    cache_file: Path | None = None
    capacity: int = Field(200_000, ge=1, le=100_000_000)  # names in the cache; compact: 1,000 at least

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """Refuse settings that contradict each other."""
        if self.min_ttl > self.max_ttl:
            raise SettingError("names.min_ttl", self.min_ttl, f"at most names.max_ttl, which is {self.max_ttl:g}")
        if self.cache_file is not None and self.cache != "compact":
            allowed = f"none with names.cache = {self.cache}: only compact lies in a file"
            raise SettingError("names.cache_file", self.cache_file, allowed)
        return self


class Politeness(Room):
    """How sites are treated."""

    robots: bool = True
    robots_ttl: float = Field(DAY, ge=60, le=DAY)  # s; RFC 9309 section 2.4: at most a day
    host_interval: float = Field(1.0, ge=0, le=3_600)  # s, after the start and the end of a request
    address_interval: float = Field(0.25, ge=0, le=3_600)  # s, for all hosts of one address
    host_concurrency: int = Field(1, ge=1, le=64)  # requests at once
    address_concurrency: int = Field(1, ge=1, le=64)  # requests at once
    max_crawl_delay: float = Field(60.0, ge=0, le=3_600)  # s; a longer Crawl-delay counts as this
    # of the time that the site takes to answer: the interval at least, up to max_interval; 0: the intervals alone
    response_multiple: float = Field(5.0, ge=0, le=100)
    # s; to this at most 429, 503, time-outs and broken connections double the interval; longer intervals above stay
    max_interval: float = Field(60.0, ge=0, le=3_600)
    successes: int = Field(10, ge=1, le=10_000)  # in a row, for which the interval is a second shorter again
    max_retry_after: float = Field(3_600.0, ge=0, le=7 * DAY)  # s; a longer Retry-After counts as this, its URL waits
    # registered domains of one address that each have a right to its rate and concurrency: content delivery networks
    address_domains: int = Field(8, ge=1, le=1_000)
    # of one registered domain in the whole crawl; what waits beyond is refused. Default: no limit, as for max_pages
    domain_pages: int | None = Field(None, ge=1)
    # requests at once to a registered domain. Default: no limit, since domains have turns where slots are scarce
    domain_concurrency: int | None = Field(None, ge=1, le=10_000)
    requests_per_second: float | None = Field(None, ge=0.001, le=1_000_000)  # over all sites; default: no limit
    bytes_per_second: float | None = Field(None, ge=1, le=1e12)  # of responses, over all sites; default: no limit
    block_list: Path | None = None  # hosts, domains, networks, one a line; read again when it changes
    retries: int = Field(2, ge=0, le=20)  # further tries after a failure that may pass
    retry_delay: float = Field(10.0, ge=0, le=3_600)  # s, doubles with each try
    max_redirects: int = Field(10, ge=0, le=50)  # in a row


class Fetch(Room):
    """HTTP."""

    slots: int = Field(128, ge=1, le=10_000)  # requests at once
    connect_timeout: float = Field(10.0, ge=0.1, le=600)  # s, TCP and TLS
    read_timeout: float = Field(30.0, ge=0.1, le=600)  # s of silence
    total_timeout: float = Field(120.0, ge=0.1, le=3_600)  # s
    max_header_bytes: int = Field(64 * 1024, ge=8_192, le=MIB)  # bytes
    max_body_bytes: int = Field(10 * MIB, ge=1, le=1024 * MIB)  # bytes, as received
    ca_file: Path | None = None  # PEM of further roots: of sites, and of resolvers that are asked over TLS
    from_email: Annotated[str, AfterValidator(_email)] | None = None  # the From header: who is behind the crawl


class Parse(Room):
    """Parsing."""

    threads: int = Field(0, ge=0, le=256)  # 0: one a core
    max_links: int = Field(10_000, ge=0, le=1_000_000)  # of one page
    max_decoded_bytes: int = Field(32 * MIB, ge=1, le=1024 * MIB)  # bytes, decoded


class Frontier(Room):
    """Which URL next, and what of that is in memory."""

    key: Annotated[Literal["md5", "md5-16", "keyed"], FIXED] = "md5"  # what a URL is known by
    queue_memory: int = Field(256 * MIB, ge=MIB)  # bytes of waiting URLs in memory; beyond it they go to disk
    seen_memory: int = Field(1024 * MIB, ge=16 * MIB)  # bytes of known URLs in memory; beyond it they go to disk
    cookie_memory: int = Field(64 * MIB, ge=0)  # bytes of cookies in memory; 0: none are kept or sent
    snapshot_bytes: int = Field(256 * MIB, ge=MIB)  # bytes that the log grows between two snapshots, at least
    snapshot_interval: float = Field(60.0, ge=0, le=DAY)  # s between two snapshots, at least


class Store(Room):
    """The log and the outputs."""

    segment_bytes: int = Field(256 * MIB, ge=MIB, le=4096 * MIB)  # bytes of one file of the log
    commit_bytes: int = Field(8 * MIB, ge=1, le=1024 * MIB)  # bytes of the log that are synced at once, at most
    commit_interval: float = Field(0.2, ge=0.001, le=60)  # s that the log may be ahead of the disk
    # needed: a file of the log goes when all outputs and two snapshots have passed it
    retain: Literal["needed", "all"] = "needed"
    fields: tuple[Annotated[str, AfterValidator(_field)], ...] = tuple(_core.FIELDS)  # columns of the outputs


class Url(Room):
    """Which links are the same page though their texts differ; seeds and redirects are taken as they are given."""

    drop_tracking: bool = True  # utm_*, gclid, fbclid and their like
    drop_sessions: bool = True  # jsessionid, PHPSESSID; sid only with a value of at least 16 hexadecimal digits
    sort_query: bool = False  # parameters by name
    drop_parameters: tuple[str, ...] = Field((), max_length=100)  # further names; name* for all that begin so
    # what a page names as its rel=canonical, of the same origin, counts as known: that page has been fetched
    trust_canonical: bool = False


class Job(Room):
    """One crawl."""

    seeds: tuple[str, ...] = ()
    scope: Annotated[Literal["host", "domain", "any"], FIXED] = "host"  # of the seeds
    max_pages: int | None = Field(None, ge=1)  # default: no limit
    max_depth: Annotated[int | None, FIXED] = Field(None, ge=0, le=2**31)  # links from a seed; default: no limit
    # bytes, or text such as "512 MiB"; resident memory stays below it, whatever the web sends. Default: half of the
    # machine's. memory.py shares it out
    memory: Annotated[int | None, BeforeValidator(_bytes)] = Field(None, ge=128 * MIB)
    speed: float = Field(1.0, gt=0, le=1_000_000)  # divides every delay; for simulated Internets
    user_agent: Annotated[str, AfterValidator(_agent)] = "Lycosa/0.1"
    allow_addresses: tuple[Annotated[str, AfterValidator(_network)], ...] = ()  # beside public ones
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
            raise SettingError("user_agent", self.user_agent, allowed)

    def checked_seeds(self) -> list[str]:
        """The seeds in canonical form; raises SettingError for a bad one or none at all."""
        if not self.seeds:
            raise SettingError("seeds", "", "at least one URL such as https://example.com/")
        seeds = []
        for seed in self.seeds:
            try:
                seeds.append(_core.canonical_url(seed))
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
    """Lay settings over others, room by room."""
    merged = dict(settings)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def explain(error: ValidationError, model: type[BaseModel]) -> SettingError:
    """The first problem with the settings of a model, in one line; keys that nobody knows come first."""
    problem = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"] if not isinstance(part, int)]
    name = ".".join(path)
    if problem["type"] == "extra_forbidden":
        hint = nearest(path[-1], _keys(model, path[:-1]))
        return SettingError(name, problem["input"], f"no key of this name{hint}")
    message = problem["msg"].replace("tuple", "list")  # as TOML calls it
    for start in ("Input should be a ", "Input should be an ", "Input should be "):
        message = message.removeprefix(start)
    return SettingError(name, problem["input"], message)


def _keys(model: type[BaseModel], path: list[str]) -> list[str]:
    """The keys of a room."""
    for part in path:
        annotation = model.model_fields[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)


def nearest(name: str, known: list[str]) -> str:
    """A hint at the nearest known name."""
    match = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {match[0]}?" if match else ""
