"""The compiled core: batches and the stages that move them. Proved equal to the binary by stubtest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Self, TypedDict, final, type_check_only

from typing_extensions import disjoint_base

from lycosa.job import Job

__all__ = [
    "COLUMNS",
    "FAILURE_KINDS",
    "FIELDS",
    "SEGMENT_HEADER_BYTES",
    "USUAL_FIELDS",
    "Clock",
    "DnsServer",
    "Entries",
    "FailedUrls",
    "Fetcher",
    "Frontier",
    "Ledger",
    "Log",
    "LogReader",
    "NameAnswer",
    "NameAnswers",
    "NameBatch",
    "NameCache",
    "NameLines",
    "Names",
    "Outcome",
    "Outcomes",
    "Parser",
    "Request",
    "Requests",
    "Resolution",
    "Resolutions",
    "Resolver",
    "Response",
    "Responses",
    "Ring",
    "Robots",
    "Search",
    "Simnet",
    "Table",
    "__version__",
    "canonical_link",
    "canonical_url",
    "check_block_list",
    "check_cookie_secrets",
    "check_local_names",
    "check_network",
    "check_port",
    "check_resolver",
    "check_zones",
    "domain_of",
    "enter_private_namespaces",
    "export_log",
    "import_log",
    "is_permitted_address",
    "public_suffix_list",
    "resolv_conf",
    "ring_key",
    "story",
]

__version__: str
COLUMNS: dict[str, str]
FAILURE_KINDS: dict[str, FailureKind]
FIELDS: list[str]

#: The columns of outputs where a job names none.
USUAL_FIELDS: list[str]

#: Bytes before the first record of a segment of the log: a log of no more has no record.
SEGMENT_HEADER_BYTES: int

@type_check_only
class FailureKind(TypedDict):
    """What is said of a kind of failure; its stable name is the key."""

    meaning: str
    group: str
    transient: bool

def canonical_url(url: str) -> str:
    """The canonical form of an absolute URL; raises SettingError where it is none."""

def canonical_link(url: str, job: Job) -> str:
    """The canonical form of an absolute URL that a page links to, by the job's rules; raises SettingError."""

def public_suffix_list() -> dict[str, str]:
    """The Public Suffix List that is compiled in: version, date and digest (SHA-256) of its publication."""

def ring_key(url: str, by: str = "host") -> str:
    """What of an absolute URL a ring looks at: its host, its registered domain, or all; raises SettingError."""

def domain_of(url: str) -> str:
    """The registered domain of an absolute URL's host; raises SettingError where it is no URL."""

def check_block_list(path: str | PathLike[str]) -> None:
    """Raise SettingError where the file cannot be read or a line is neither name, host nor network."""

def check_cookie_secrets(path: str | PathLike[str]) -> None:
    """Refuse a file that holds no secrets of cookies, or that is open to others; nothing of it is told."""

def check_network(text: str) -> None:
    """Raise SettingError where the text is no address and no network."""

def check_port(url: str, allowed: Sequence[int]) -> None:
    """Raise SettingError where an absolute URL's port is blocked and not among those that the job allows."""

def is_permitted_address(address: str, allowed: Sequence[str]) -> bool:
    """Whether an address is of the public Internet, or of a network that is allowed. Raises SettingError."""

def check_resolver(text: str) -> str:
    """A resolver's address as it is told everywhere, with its port; raises SettingError where the text is none."""

def export_log(directory: str | PathLike[str], file: str | PathLike[str]) -> dict[str, Any]:
    """Write every record of a log that can be read as one JSON object a line; with gzip to a name in ``.gz``.

    A file of that name is replaced. Counts: entries, seeds, pages, robots, leases, skipped (bytes of the log that are
    damaged), complete. Raises StorageFull, JobVersionError, StorageError.
    """

def import_log(file: str | PathLike[str], directory: str | PathLike[str]) -> dict[str, Any]:
    """Make a log of a file that ``export_log`` wrote; the directory must hold none yet.

    Counts as there; ``complete`` is False where the file was cut off behind a whole line. Raises StorageError
    with the number of a line that is no record; what stands before it is in the log then.
    """

def story(
    directory: str | PathLike[str],
    url: str,
    scope: str,
    max_depth: int | None,
    user_agent: str,
    allow_ports: Sequence[int] = ...,
) -> dict[str, Any]:
    """Everything that a log tells about one URL, in the log's order.

    Keys: url; seeds (position, at); found (position, at, page, status, depth, nofollow, refused): the first ten
    pages that link to it and the first whose link the rules let in; found_more, the number of the others;
    redirected (as found); outcomes and robots (position, at, url, lease, depth, attempt, retry, status, error,
    error_detail, address, redirect, chain, links, started, times); unanswered (position, at, lease), requests whose
    outcome is not recorded; skipped, the bytes that are damaged.
    ``refused`` is the rule by which a sighting was refused: nofollow, depth, scope or port; None where it was let in,
    if it was new then. Times are in seconds.
    """

def enter_private_namespaces(files: list[tuple[str, str]], ipv6: bool) -> None:
    """Enter private mount and network namespaces; lay own files over the system's there."""

@final
class Request:
    """What to fetch and how: on lease from the frontier, or to be accepted as a seed.

    Only what is no GET of the URL alone has to be given. ``metadata`` travels to the outcome: what JSON can hold,
    64 KiB at most. ``body``: 1 MiB at most. Raises SettingError for what a request cannot be.
    """

    def __new__(
        cls,
        url: str,
        *,
        method: str = "GET",
        headers: list[tuple[str, str]] | None = None,
        body: bytes | None = None,
        metadata: dict[str, Any] | None = None,
        priority: int = 0,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Request: ...
    def replace(self, **columns: Any) -> Request:
        """A copy with other values in some columns; raises SettingError for what a column cannot hold."""

    def respond(
        self,
        status: int,
        *,
        headers: Sequence[tuple[str, str | bytes]] | None = None,
        body: bytes | None = None,
        reason: str = "",
        address: str | None = None,
        started: float | None = None,
        finished: float | None = None,
        times: dict[str, float] | None = None,
        source: str = "http/1.1",
        final_url: str | None = None,
        sent: bytes | None = None,
    ) -> Response:
        """The answer of a fetch written in Python: a response was received.

        body: as received, with its content coding. address: that was spoken to. started, finished: seconds since the
        epoch; now where they are missing. times: seconds by phase (connect, tls, first_byte, body). source: http/1.0,
        http/1.1, h2, browser or cache. final_url: where redirects were followed. sent: request line and header fields
        as they were sent.
        """

    def fail(
        self,
        kind: str,
        detail: str = "",
        *,
        address: str | None = None,
        started: float | None = None,
        finished: float | None = None,
        times: dict[str, float] | None = None,
    ) -> Response:
        """The answer of a fetch written in Python: there is no response, for a reason of docs/errors.md."""

    @property
    def url(self) -> str:
        """The URL, in canonical form."""

    @property
    def host(self) -> str:
        """Host of the URL."""

    @property
    def port(self) -> int:
        """Port of the URL."""

    @property
    def path(self) -> str:
        """Path and query of the URL, as they are sent."""

    @property
    def method(self) -> str:
        """The method."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a GET without a body: its URL alone says what it asks for."""

    @property
    def purpose(self) -> str:
        """What it is for: page, robots, sitemap, resource."""

    @property
    def lease(self) -> int:
        """The number of the lease; 0 without one."""

    @property
    def job(self) -> str:
        """The job; empty where one crawl has a process to itself."""

    @property
    def task(self) -> str:
        """One of the job's tasks."""

    @property
    def priority(self) -> int:
        """Requests with a greater one come first, where the strategy heeds it."""

    @property
    def depth(self) -> int:
        """Links from the nearest seed."""

    @property
    def attempt(self) -> int:
        """Earlier tries."""

    @property
    def chain(self) -> list[tuple[str, int]]:
        """The redirects that led here, oldest first: URL and status."""

    @property
    def addresses(self) -> list[str]:
        """The host's addresses, vetted, best first."""

    @property
    def cookies(self) -> str | None:
        """The value of the field cookie; None where there is none."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields besides the crawler's own."""

    @property
    def body(self) -> bytes:
        """The body that is sent."""

    @property
    def deadline(self) -> float:
        """When the lease ends, in seconds since the epoch."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What the user attached."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Requests:
    """Requests, on lease from the frontier to fetch, or to be accepted."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Request] | None = None) -> Requests: ...
    @classmethod
    def decode(cls, data: bytes) -> Requests:
        """The batch of bytes that ``encode`` gave, in this process or another one.

        Raises ValueError for bytes that are none, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """The batch as bytes."""

    def select(self, mask: Iterable[object]) -> Requests:
        """Those for which the mask is true; raises SettingError where it has not one value for each."""

    def map(self, change: Callable[[Request], Request | None]) -> Requests:
        """What a function makes of each; None leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Requests:
        """The same with other values in a column; raises SettingError for what it cannot hold."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Columns for Arrow libraries: those that outputs have, unless they are named."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Request: ...
    def __iter__(self) -> Iterator[Request]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """All columns for any Arrow library (Arrow PyCapsule interface)."""

@final
class Response:
    """What became of one request, before it is parsed. Made by ``Request.respond`` and ``Request.fail``."""

    def replace(self, **columns: Any) -> Response:
        """A copy with other values in some columns; raises SettingError for what a column cannot hold."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def url(self) -> str:
        """The URL, in canonical form."""

    @property
    def status(self) -> int | None:
        """Status code; None where there is no response."""

    @property
    def reason(self) -> str:
        """The reason phrase of the status line."""

    @property
    def error(self) -> str | None:
        """Kind of failure, a stable name such as ``connect-timeout``; None where there is a response."""

    @property
    def error_detail(self) -> str | None:
        """The failure's circumstances, for people."""

    @property
    def address(self) -> str | None:
        """The address spoken to."""

    @property
    def fetched_at(self) -> float:
        """When it was complete, in seconds since the epoch."""

    @property
    def times(self) -> dict[str, float]:
        """Durations in seconds: name, connect, tls, first_byte, body; 0 where a phase did not happen."""

    @property
    def source(self) -> str | None:
        """How it was made: http/1.0, http/1.1, h2, browser, cache; None where there is no response."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields in the order received; names in lower case."""

    def header(self, name: str) -> str | None:
        """The first value of a header field, whatever its case; None where it is missing."""

    @property
    def head(self) -> bytes:
        """Status line and header fields as received."""

    @property
    def sent(self) -> bytes:
        """Request line and header fields as sent."""

    @property
    def body(self) -> bytes:
        """The body as received, with its content coding. Raises StorageError where it is elsewhere and unreadable."""

@final
class Responses:
    """Responses, from fetch to parse."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Response] | None = None) -> Responses: ...
    @classmethod
    def decode(cls, data: bytes) -> Responses:
        """The batch of bytes that ``encode`` gave, in this process or another one.

        Raises ValueError for bytes that are none, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """The batch as bytes."""

    def select(self, mask: Iterable[object]) -> Responses:
        """Those for which the mask is true; raises SettingError where it has not one value for each."""

    def map(self, change: Callable[[Response], Response | None]) -> Responses:
        """What a function makes of each; None leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Responses:
        """The same with other values in a column; raises SettingError for what it cannot hold."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Columns for Arrow libraries: those that outputs have, unless they are named."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Response: ...
    def __iter__(self) -> Iterator[Response]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """All columns for any Arrow library (Arrow PyCapsule interface)."""

@final
class Outcome:
    """The outcome of one URL: a response, or the reason why there is none."""

    def replace(self, **columns: Any) -> Outcome:
        """A copy with other values in some columns; raises SettingError for what a column cannot hold."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def url(self) -> str:
        """The URL, in canonical form."""

    @property
    def chain(self) -> list[tuple[str, int]]:
        """The redirects that led here, oldest first: URL and status."""

    @property
    def depth(self) -> int:
        """Links from the nearest seed."""

    @property
    def attempt(self) -> int:
        """Earlier tries."""

    @property
    def status(self) -> int | None:
        """Status code; None where there is no response."""

    @property
    def error(self) -> str | None:
        """Kind of failure, a stable name such as ``connect-timeout``; None where there is a response."""

    @property
    def error_detail(self) -> str | None:
        """The failure's circumstances, for people."""

    @property
    def address(self) -> str | None:
        """The address spoken to."""

    @property
    def fetched_at(self) -> float:
        """When the outcome was complete, in seconds since the epoch."""

    @property
    def times(self) -> dict[str, float]:
        """Durations in seconds: name, connect, tls, first_byte, body; 0 where a phase did not happen."""

    @property
    def dns_class(self) -> str | None:
        """What the host's name cost to resolve: fast, slow or failed; None for a URL that was refused."""

    @property
    def source(self) -> str | None:
        """How the response was made: http/1.0, http/1.1, h2, browser, cache; None where there is none."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields in the order received; names in lower case."""

    def header(self, name: str) -> str | None:
        """The first value of a header field, whatever its case; None where it is missing."""

    @property
    def response_head(self) -> bytes:
        """Status line and header fields as received."""

    @property
    def request_head(self) -> bytes:
        """Request line and header fields as sent."""

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The certificate that the server showed; None without TLS.

        protocol, cipher, sha256, subject, issuer; not_before and not_after in seconds since the epoch.
        """

    @property
    def body(self) -> bytes:
        """The body without content coding."""

    @property
    def wire_body(self) -> bytes:
        """The body as received, with its content coding."""

    @property
    def text(self) -> str | None:
        """The body decoded by its charset, of an HTML page its HTML with all tags; None where it is no text."""

    @property
    def charset(self) -> str | None:
        """Name of the character encoding (WHATWG)."""

    @property
    def title(self) -> str | None:
        """Text of the first ``<title>``."""

    @property
    def canonical(self) -> str | None:
        """Target of ``rel=canonical``."""

    @property
    def redirect(self) -> str | None:
        """Target of the redirect."""

    @property
    def noindex(self) -> bool:
        """Whether the site asks not to index the page."""

    @property
    def nofollow(self) -> bool:
        """Whether the site asks not to follow the page's links."""

    @property
    def links(self) -> list[str]:
        """The page's links, each once, in order."""

    @property
    def link_anchors(self) -> list[str]:
        """The text of each link, in the order of ``links``; empty texts unless parse.link_details has anchor."""

    @property
    def fields(self) -> dict[str, Any]:
        """What rules or a parse stage of your own extracted."""

    @property
    def metadata(self) -> dict[str, Any]:
        """What the user attached to the request."""

    @property
    def bounds(self) -> list[str]:
        """The bounds that it has reached, such as "links" and "title-bytes": what is beyond them is left out."""

    @property
    def retry(self) -> bool:
        """Whether the URL went back to waiting: another outcome follows."""

@final
class Outcomes:
    """Outcomes, from parse to the log, the frontier, sinks and the user."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Outcome] | None = None) -> Outcomes: ...
    def rows(self) -> Outcomes:
        """Those that outputs have: each URL's last outcome, redirects among them; no robots.txt, no further tries."""

    def last(self) -> list[Outcome]:
        """Each URL's last outcome: pages and failures; no redirects, no robots.txt, no further tries."""

    def take_columns(self, names: list[str] | None = None) -> Table:
        """Columns as ``columns`` gives them, after which the batch is empty: no body is in memory twice."""

    def lines(self, names: list[str]) -> bytes:
        """JSON lines of the chosen columns, in UTF-8."""

    def write_lines(self, path: str | PathLike[str], offset: int, names: list[str]) -> int:
        """Write JSON lines of the chosen columns into a file from an offset on; give their bytes. Raises OSError."""
    @classmethod
    def decode(cls, data: bytes) -> Outcomes:
        """The batch of bytes that ``encode`` gave, in this process or another one.

        Raises ValueError for bytes that are none, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """The batch as bytes."""

    def select(self, mask: Iterable[object]) -> Outcomes:
        """Those for which the mask is true; raises SettingError where it has not one value for each."""

    def map(self, change: Callable[[Outcome], Outcome | None]) -> Outcomes:
        """What a function makes of each; None leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Outcomes:
        """The same with other values in a column; raises SettingError for what it cannot hold."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Columns for Arrow libraries: those that outputs have, unless they are named."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Outcome: ...
    def __iter__(self) -> Iterator[Outcome]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """All columns for any Arrow library (Arrow PyCapsule interface)."""

@final
class Entries:
    """Records of the log, in its order: accepted requests, leases, outcomes."""

    @classmethod
    def decode(cls, data: bytes) -> Entries:
        """The batch of bytes that ``encode`` gave, in this process or another one."""

    def encode(self) -> bytes:
        """The batch as bytes."""

    @property
    def position(self) -> int:
        """Where the log goes on behind them."""

    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Table:
    """Columns of records for any Arrow library (Arrow PyCapsule interface); each is given the same memory."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Clock:
    """A crawl's clock: Unix time at its beginning, counted on from there whatever is done to the wall clock."""

    def __new__(cls) -> Clock:
        """The clock of this process, where no crawl is gone on with."""

    def now(self) -> float:
        """The crawl's time, in seconds since the epoch."""

    def wall(self) -> float:
        """The wall clock's time, in seconds since the epoch."""

@final
class Names:
    """The DNS client of a crawl, on a thread of its own."""

    def __new__(cls, job: Job, clock: Clock | None = None) -> Names:
        """``clock``: the crawl's; without it that of this process."""

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in the file where it was to be: the disk was full, or somebody cut the file."""

    def pending(self) -> int:
        """Names that wait for their answer."""

    def statistics(self) -> dict[str, int]:
        """Counts since the start."""

@final
class DnsServer:
    """A DNS server of a tier; see ``lycosa.names.server``."""

    #: Upper bounds, in seconds, of the buckets in which times are counted; one more bucket has what took longer.
    BOUNDS: ClassVar[list[float]]

    def __new__(cls, settings: dict[str, Any]) -> Self: ...
    @property
    def listening(self) -> list[str]:
        """Where it listens, with the ports."""

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in the file that was asked for: the disk was full, or somebody cut the file."""

    def reload(self, settings: dict[str, Any]) -> None:
        """Take another policy and other upstreams; on an error nothing has changed.

        Where it listens, its workers, cache, cookies and connections stay as they were. Its log of questions is
        opened again.
        """

    def statistics(self) -> dict[str, int]:
        """Counts since the start, and how it is now.

        Questions by protocol; ``hits``, ``misses``, ``stale``, ``prefetches``, ``local``, ``passed_through``; answers
        by code; what was ``truncated``, ``dropped``, refused or filtered; ``accept_failures`` of connections. Now:
        ``waiting`` clients, ``tcp_open`` connections, ``loop`` (1: an upstream leads back here), ``cache_names``,
        ``cache_used`` (slots), ``cache_capacity``, ``cache_bytes``. Lines of the log of questions that were lost:
        ``query_log_dropped``.
        """

    @property
    def query_log_trouble(self) -> str | None:
        """Why questions are not logged now, although they are to be."""

    def answer_times(self) -> dict[str, tuple[list[int], float]]:
        """How long answers took, from receipt to sending, by where they came from.

        ``cache``, ``upstream``, ``stale``, ``own``, ``refused``, ``limited``: counts by bucket (``BOUNDS``), and
        the sum in seconds.
        """

    def upstreams(self) -> list[dict[str, Any]]:
        """What is known of each upstream, as ``Resolver.upstreams`` has it.

        With ``round_trips``: how long replies took, as ``answer_times`` has it.
        """

    def drain(self, within: float) -> bool:
        """Take no more questions; whether those under way were answered in some seconds. Without the GIL."""

    def close(self) -> None:
        """End it."""

@disjoint_base
class Resolver:
    """Resolves many names; see ``lycosa.names.Resolver``."""

    def __new__(cls, settings: dict[str, Any]) -> Self: ...
    @property
    def resolvers(self) -> list[str]:
        """The servers that are asked."""

    @property
    def refused(self) -> list[str]:
        """What was given as a resolver and is no address."""

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in the file that was asked for: the disk was full, or somebody cut the file."""

    def pass_over(self, names: list[str]) -> None:
        """Tell names that were answered before: ``submit`` passes each over as often as it is told here."""

    def submit(self, names: list[str], place: int) -> int:
        """Take names, the first of which has the number ``place``, as far as there is room; give how many. No wait.

        Raises TypeError for what is no text, and then takes none of them; ValueError once closed.
        """

    def submit_lines(self, names: NameBatch) -> int:
        """Take names from a batch as far as there is room; give how many are left in it. No wait.

        The number of a name is that of its line. Raises ValueError once closed.
        """

    def take(self, max: int, within: float) -> Resolutions:
        """The answers that are there, at most ``max``; waits at most ``within`` seconds for the first."""

    def room(self) -> int:
        """How many more names are taken now."""

    def pending(self) -> int:
        """Names that were taken and whose answers were not given out."""

    def statistics(self) -> dict[str, int]:
        """Counts since the start: ``names`` taken and ``passed_over``, answers by status, and what the client did.

        The client's are ``questions`` sent, ``answers`` received, ``retries``, ``timeouts``, ``truncated``,
        ``mismatched``, ``cache_hits``, ``coalesced``, and answers by class: ``fast``, ``slow``, ``failed``.
        """

    def upstreams(self) -> list[dict[str, Any]]:
        """What is known of each ``server``.

        ``questions`` sent to it, ``answers`` and ``timeouts``; ``round_trip``, its smoothed time in seconds;
        ``window``, how many questions it may have in flight; ``is_resting``: it was of no use, and others are asked;
        ``trouble``: why the last connection to it failed, until it answers.
        """

    def close(self) -> None:
        """End the client; what is in flight is given up."""

@final
class NameLines:
    """Cuts a file into lines; space around a name is taken off, blank lines are counted and left out.

    A byte order mark is taken off; what is no UTF-8 is replaced; of a line, 4,096 bytes are looked at.
    """

    def __new__(cls) -> Self: ...
    def feed(self, bytes: bytes) -> NameBatch:
        """Take the file's next bytes; give the names of the lines that end in them."""

    def end(self) -> NameBatch:
        """The file has ended: give the name of a last line that has no end."""

    @property
    def lines(self) -> int:
        """Lines so far, blank ones included."""

    @property
    def blank(self) -> int:
        """Blank lines so far."""

@final
class NameBatch:
    """Names of a file with the numbers of their lines, from 1, for ``Resolver.submit_lines``, which empties it."""

    def __len__(self) -> int:
        """How many names are left in it."""

@final
class Search:
    """Search domains (resolv.conf(5)): which names are tried for one that was given."""

    def __new__(cls, domains: list[str], ndots: int = 1, no_tld_query: bool = False) -> Self:
        """Take domains; raises SettingError for more than 32 and for what is none."""

    def names(self, name: str) -> list[str]:
        """The names to try, one after the other, in normal form; raises BadName."""

def check_zones(texts: list[str]) -> None:
    """Raise SettingError for texts that are no zones with servers, such as ``corp.example=192.0.2.1``."""

def check_local_names(hosts_file: str | PathLike[str] | None, lines: list[str]) -> None:
    """Raise SettingError for lines that are no records of a zone file, or an alias that leads to no local name.

    Raises OSError when the hosts file cannot be read.
    """

def resolv_conf(path: str | PathLike[str] | None = None) -> dict[str, Any]:
    """What a resolv.conf says; that of the system, with its environment, where no path is given.

    ``resolvers``, ``search``, ``ndots``, ``timeout`` and ``attempts`` (None where nothing is said), ``rotate``,
    ``use_vc``, ``trust_ad``, ``no_aaaa``, ``no_tld_query``; ``warnings`` about what could not be used.

    Raises OSError when it cannot be read.
    """

@final
class Resolution:
    """The answer to one name."""

    @property
    def place(self) -> int:
        """The number that was given with the name: its place in the input."""

    @property
    def name(self) -> str:
        """The name as given."""

    @property
    def status(self) -> str:
        """``ok``, ``nxdomain``, ``nodata``, ``servfail``, ``timeout`` or ``bad-name``."""

    @property
    def addresses(self) -> list[str]:
        """Its addresses, IPv4 first."""

    @property
    def expires(self) -> int | None:
        """Until when this holds, in seconds since 1970; None for a ``bad-name``."""

    @property
    def class_(self) -> str:
        """What resolving cost: ``fast``, ``slow`` or ``failed`` (SYSTEMS.md section 3)."""

    @property
    def seconds(self) -> float:
        """How long it took, waiting for its turn included."""

    @property
    def cached(self) -> bool:
        """Whether no server was asked: the cache knew it, it is an address, or it is no name."""

    @property
    def detail(self) -> str | None:
        """What went wrong, in words."""

    @property
    def records(self) -> list[tuple[str, str, int, str]]:
        """The records of the ``types`` that were asked for, and the aliases that lead to them.

        Owner, type, TTL in seconds, data as in a zone file (RFC 1035 section 5.1).
        """

    @property
    def validated(self) -> bool | None:
        """Whether the resolver has validated all ``records`` (AD, RFC 4035); None where none were asked for."""

@final
class Resolutions:
    """Answers as they came; one becomes a Python object when it is asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Resolution: ...
    def __iter__(self) -> Iterator[Resolution]: ...
    def bad_names(self) -> list[tuple[int, str, str]]:
        """Those that are no names: place, text, the rule that it breaks."""

    def lines(self) -> bytes:
        """JSON lines, in UTF-8."""

    def csv(self) -> bytes:
        """Lines of comma-separated values, in UTF-8.

        Addresses stand in one field, with spaces between them; records in one field, as JSON.
        """

    @staticmethod
    def columns(records: bool = False) -> list[str]:
        """The names of the columns, with or without those for records."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """The answers for any Arrow library (Arrow PyCapsule interface)."""

@final
class NameAnswer:
    """What a cache knows of a name."""

    @property
    def addresses(self) -> list[str]:
        """Its addresses, IPv4 first."""

    @property
    def state(self) -> str:
        """``ok``, ``nxdomain``, ``nodata``, ``negative`` (one of these), ``servfail``, ``timeout``, ``bad-name``."""

    @property
    def expires(self) -> int | None:
        """When it ceases to hold, in seconds since 1970; None where the cache cannot tell."""

    @property
    def class_(self) -> str:
        """What resolving cost: ``fast``, ``slow`` or ``failed`` (SYSTEMS.md section 3)."""

    @property
    def reason(self) -> str | None:
        """Which rule a ``bad-name`` breaks."""

@final
class NameAnswers:
    """Answers to many names, in their order; one becomes a Python object when it is asked for."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NameAnswer | None: ...
    def __iter__(self) -> Iterator[NameAnswer | None]: ...
    def known(self) -> int:
        """How many names have an answer."""

@disjoint_base
class NameCache:
    """A cache of names; see ``lycosa.names.Cache``."""

    def __new__(cls, design: str, settings: dict[str, Any]) -> Self: ...
    @staticmethod
    def open(path: str | PathLike[str]) -> NameCache:
        """Open the file of a compact cache as it was made; raises StorageError with what to do."""

    @staticmethod
    def view(path: str | PathLike[str]) -> NameCache:
        """A view of the file of a compact cache, for who only looks: the file stays as it is. Raises StorageError."""

    @staticmethod
    def rebuild(path: str | PathLike[str], settings: dict[str, Any]) -> NameCache:
        """Put an empty compact cache in the place of a file, whatever is there."""

    @property
    def design(self) -> str:
        """``compact``, ``async-lru``, ``regions`` or ``optimiser``."""

    @property
    def settings(self) -> dict[str, Any]:
        """How a compact cache was made; empty for other designs."""

    @property
    def fallen_back(self) -> str | None:
        """Why it is not in the file that was asked for: the disk was full, or somebody cut the file."""

    def get(
        self, name: str, *, families: str = "v4", bypass: bool = False, now: int | None = None
    ) -> NameAnswer | None:
        """What is known of a name's addresses; ``bypass`` skips the negative filter. Raises BadName."""

    def get_many(self, names: list[str], *, families: str = "v4", now: int | None = None) -> NameAnswers:
        """The same for many names, without the GIL; a text that is no name has the state ``bad-name``."""

    def put_entries(
        self, entries: list[tuple[str, str | list[str], int, int]], families: str, now: int | None
    ) -> list[tuple[int, str]]:
        """Take resolutions; gives the places of those that were not taken, with the reason."""

    def forget(self, name: str) -> bool:
        """Forget a name; whether it was known. Raises BadName."""

    def forget_under(self, domain: str, *, to: str | None = None) -> int:
        """Forget all names under a top-level or registered domain, or from its first to the last under ``to``.

        Gives how many. Ranges are those of ``scan`` (compact only).
        """

    def count(self, under: str | None = None, *, to: str | None = None, now: int | None = None) -> int:
        """How many names with addresses there are; under a domain, or a range as for ``scan`` (compact only)."""

    def count_by_tld(self, *, now: int | None = None) -> list[tuple[str | None, int]]:
        """How many there are under each top-level domain, the most first; None: unknown ones (compact only)."""

    def scan(
        self, under: str = "", *, to: str | None = None, limit: int = 1_000, now: int | None = None
    ) -> list[tuple[str | None, int, int, NameAnswer]]:
        """Top-level domain, hash of the label, hash of the name and answer of names that hold now (compact only).

        ``to``: from the first name under ``under`` to the last one under this domain. Top-level domains are in the
        order of the alphabet, with unknown ones first; registered domains of one are in that of their hashes.
        """

    def stats(self) -> dict[str, float]:
        """What was done and is held: counts and bytes, by name."""

    def flush(self) -> None:
        """Bring the file to the disk, so that it outlives a loss of power."""

@final
class Frontier:
    """Which URL next; see ``lycosa.stages.Frontier``."""

    def __new__(
        cls,
        job: Job,
        names: Names,
        directory: str | PathLike[str] | None = None,
        *,
        end: int = ...,
        task: tuple[str, str] | None = None,
        ownership: tuple[Ring, str, str] | None = None,
    ) -> Frontier:
        """A frontier without URLs.

        directory: where its snapshots are, and waiting and known URLs go that do not fit into memory; None: all stay
        there. end: where the log ends: later snapshots are of records that are gone. task: job and task that its
        requests belong to. ownership: of a job that several frontiers share, the ring of their names, what of a URL
        it looks at (host, domain, url), and which of them this one is.
        """

    def add(self, seeds: list[str]) -> int: ...
    def add_requests(self, requests: Requests) -> int: ...
    def take_outbox(self) -> dict[str, Requests]: ...
    def outbox_delivered(self) -> None: ...
    def snapshots(self) -> list[int]: ...
    def save(self, position: int, views: bytes) -> int: ...
    def load(self, position: int) -> bytes: ...
    def clear(self) -> None: ...
    def restore(self, entries: Entries) -> None: ...
    def restored(self, unreadable: list[int] = ...) -> None: ...
    def doubted_since(self) -> float | None: ...
    def settled_of(self, requests: Requests) -> Requests: ...
    def doubt_last(self, written: int | None = None) -> Outcomes: ...
    def confirm_last(self) -> None: ...
    def doubt_held(self) -> Outcomes: ...
    def reopen(self, outcomes: Outcomes) -> Outcomes: ...
    def take(self, max: int) -> Requests: ...
    def judge(self, outcomes: Outcomes) -> Outcomes: ...
    def done(self, outcomes: Outcomes) -> None: ...
    def idle(self) -> bool: ...
    def suspensions(self) -> list[dict[str, Any]]: ...
    def failing(self, max: int) -> list[tuple[str, str, int, float]]: ...
    def only_failing(self) -> bool:
        """Whether nothing but failing hosts is left."""

    def wait(self) -> float: ...
    def counts(self) -> dict[str, int]: ...

@final
class Fetcher:
    """HTTP over real sockets, on a thread of its own; see ``lycosa.stages.Fetch``."""

    def __new__(
        cls, job: Job, clock: Clock | None = None, memory: int | None = None, batch: int | None = None
    ) -> Fetcher:
        """``clock``: the crawl's; without it that of this process.

        ``memory``: bytes of all responses until they are taken; ``batch``: of those that are taken at once.
        """

    def free(self) -> int: ...
    def in_flight(self) -> int: ...
    def submit(self, requests: Requests) -> None: ...
    def completed(self, max: int, within: float) -> Responses: ...
    def cancel(self) -> None: ...

@final
class Parser:
    """Responses to outcomes, on all cores; see ``lycosa.stages.Parse``."""

    def __new__(
        cls, job: Job, batch: int = ..., decoding: int = ..., bodies: str | PathLike[str] | None = None
    ) -> Parser:
        """``batch``: bytes of a batch's outcomes; ``decoding``: of bodies that are decoded at once.

        bodies: the directory below which bodies in files are; default: none is read.
        """

    def parse(self, responses: Responses) -> Outcomes: ...

@final
class Robots:
    """The rules of one robots.txt (RFC 9309) for one agent, a product token; any bytes will do."""

    def __new__(cls, body: bytes, agent: str) -> Robots: ...
    def verdict(self, url: str) -> tuple[bool, int | None, str | None]:
        """Whether a URL may be fetched, the line that says so (from 1), its rule; raises SettingError for no URL."""

    def allows(self, paths: list[str]) -> list[bool]:
        """Whether each path, with its query and as in a canonical URL, may be fetched."""

    @property
    def crawl_delay(self) -> float | None:
        """The pause that the site asks for, in seconds; None where it asks for none."""

@final
class Ring:
    """Consistent hashing by MD5: who owns a key; the same in each process and version.

    A node has ``virtual_nodes`` points (256) for each unit of its weight.
    """

    def __new__(cls, nodes: dict[str, float], virtual_nodes: int = ...) -> Ring: ...
    def owners(self, key: str, count: int = 1) -> list[str]:
        """The owner of a key, such as ``ring_key(url)``, then who takes over when it fails: at most so many names."""

@final
class Log:
    """The writer of a crawl's log; see ``lycosa.stages.Log``."""

    def __new__(
        cls,
        directory: str | PathLike[str],
        segment_bytes: int,
        commit_bytes: int | None = None,
        commit_interval: float | None = None,
        failed: str | PathLike[str] | None = None,
    ) -> Log:
        """``failed``: the directory of the list of what failed; without it none is kept."""

    @property
    def clock(self) -> Clock:
        """The crawl's clock, which goes on with the time of the process before."""

    def append_seeds(self, seeds: list[str]) -> None: ...
    def append_requests(self, requests: Requests) -> None: ...
    def append_leases(self, requests: Requests) -> None: ...
    def append(self, outcomes: Outcomes) -> None: ...
    def read(self, position: int | None = None, max_bytes: int = ...) -> Entries: ...
    def restore(self, position: int | None = None, views: bytes | None = None) -> int: ...
    def checkpoint(self) -> tuple[int, bytes]: ...
    def checkpointed(self, position: int) -> None: ...
    def follow(self, position: int | None = None, with_body: bool = True, max_body_bytes: int = ...) -> LogReader: ...
    def keep_distance(self, distance: float) -> None: ...
    def doubt(self, since: float | None) -> None: ...
    def failed(self, kinds: list[str]) -> FailedUrls: ...
    def ended(self, requests: Requests) -> Outcomes: ...
    def sync(self) -> None: ...
    def end(self) -> int: ...
    def committed(self) -> int:
        """Up to where the log is on the disk: as far as outputs and snapshots may follow it."""

    def first(self) -> int:
        """Where the log begins: more than 0 once segments were removed."""

    def torn(self) -> tuple[int, int] | None:
        """What a crash left unfinished and was set aside when the log was opened: position and bytes."""

    def retain(self, position: int) -> int:
        """Remove the segments that end at or before a position; give how many. The newest always stays."""

    def summary(self) -> dict[str, Any]: ...

@final
class FailedUrls:
    """URLs that failed, to be opened again; what fails meanwhile is passed over."""

    def read(self, max: int) -> Outcomes:
        """The next of them, each once, as outcomes that open them again; none when there are no more."""

@final
class LogReader:
    """Reads a log that nobody writes for a sink; ``Log.follow`` gives one of a log that is being written.

    Begins at a position (default: the log's first) that an earlier reader told; raises StorageError where the
    log does not hold it. A body of more than ``max_body_bytes`` when it is decoded is left out.
    """

    def __new__(
        cls,
        directory: str | PathLike[str],
        position: int | None = None,
        with_body: bool = True,
        max_body_bytes: int = ...,
    ) -> LogReader: ...
    def read(self, max_entries: int, max_bytes: int) -> Outcomes:
        """The next outcomes: of at most so many records, until they hold so many bytes, decoded bodies included."""

    def position(self) -> int:
        """The position of the next frame."""

    def skip_damage(self) -> int:
        """Go on behind damage, after JobDamaged; give how many bytes were passed over."""

@final
class Ledger:
    """A ledger file; see ``lycosa.simnet.Ledger``."""

    def __new__(cls, path: str | PathLike[str]) -> Ledger: ...
    def header(self) -> str: ...
    def damage(self) -> tuple[str, str] | None: ...
    def report(self, since: float | None = None, until: float | None = None) -> str: ...
    def query(
        self,
        *,
        host: str | None = None,
        address: str | None = None,
        violations: bool = False,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> str: ...
    def series(self, since: float | None = None, until: float | None = None) -> str: ...

@final
class Simnet:
    """A simulated Internet; see ``lycosa.simnet.SimulatedInternet``."""

    def __new__(
        cls,
        *,
        hosts: int = 200,
        pages: int = 20,
        seed: int = 1,
        profile: str = ...,
        speed: float = 1.0,
        http_port: int = 0,
        https_port: int = 0,
        dns_port: int = 0,
        https: float = 0.0,
        bad_certificates: float = 0.0,
        host_interval: float = 1.0,
        address_interval: float = 0.25,
        threads: int = 1,
        agent: str = ...,
        ipv6: bool = False,
        ipv6_share: float = 0.0,
        ledger: str | PathLike[str] | None = None,
    ) -> Simnet: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def trouble(self, trouble: str, *, hosts: list[str] | None = None, share: float = 0.5) -> None: ...
    def calm(self, trouble: str | None = None) -> None: ...
    def report(self, without: list[str] = ...) -> str: ...
    def model(self) -> str: ...
    @property
    def http_port(self) -> int: ...
    @property
    def https_port(self) -> int: ...
    @property
    def authority(self) -> str: ...
    @property
    def resolver(self) -> str: ...
    @property
    def seeds(self) -> list[str]: ...
    @property
    def hosts(self) -> list[tuple[str, str]]: ...
    @property
    def certificates(self) -> list[tuple[str, str]]: ...
