"""The compiled core: batches and the stages that move them. Compared with the binary by stubtest."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypedDict, final, type_check_only

from typing_extensions import disjoint_base

from lycosa.job import Job

__all__ = [
    "COLUMNS",
    "COLUMN_TYPES",
    "FAILURE_KINDS",
    "FIELDS",
    "SEGMENT_HEADER_BYTES",
    "USUAL_FIELDS",
    "Clock",
    "DnsServer",
    "Entries",
    "ExtractedPage",
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
    "PageReader",
    "PageWriter",
    "Parser",
    "Partitions",
    "Proxies",
    "Request",
    "Requests",
    "Resolution",
    "Resolutions",
    "Resolver",
    "Response",
    "Responses",
    "Ring",
    "Robots",
    "Saving",
    "Search",
    "Shared",
    "SigningKey",
    "Simnet",
    "Table",
    "VerifyingKey",
    "WarcReader",
    "WarcWriter",
    "__version__",
    "accepted_message",
    "canonical_link",
    "canonical_url",
    "check_block_list",
    "check_cookie_secrets",
    "check_credentials",
    "check_local_names",
    "check_network",
    "check_port",
    "check_resolver",
    "check_zones",
    "domain_of",
    "enter_private_namespaces",
    "export_log",
    "extract_page",
    "fingerprint",
    "identity_key",
    "identity_of",
    "import_log",
    "is_permitted_address",
    "join_outcomes",
    "join_requests",
    "keep_freed_memory",
    "leased_message",
    "new_identity_key",
    "outcomes_message",
    "public_suffix_list",
    "resolv_conf",
    "restore_shards",
    "ring_key",
    "save_shards",
    "sign_key_directory",
    "story",
]

__version__: str
COLUMNS: dict[str, str]
COLUMN_TYPES: dict[str, str]
FAILURE_KINDS: dict[str, FailureKind]
FIELDS: list[str]

#: The default columns of outputs.
USUAL_FIELDS: list[str]

#: Bytes before the first record of a segment of the log: a log of this size has no record.
SEGMENT_HEADER_BYTES: int

@type_check_only
class FailureKind(TypedDict):
    """The description of a kind of failure; its stable name is the key."""

    meaning: str
    group: str
    transient: bool
    doubtful: bool

def canonical_url(url: str) -> str:
    """Return the canonical form of an absolute URL; raises SettingError if it is not one."""

def canonical_link(url: str, job: Job) -> str:
    """Return the canonical form of an absolute URL in a link, by the job's rules; raises SettingError."""

def public_suffix_list() -> dict[str, str]:
    """Return version, date and digest (SHA-256) of the built-in Public Suffix List."""

def ring_key(url: str, by: str = "host") -> str:
    """Return a URL's key in a ring: its host, its registered domain, or all of it; raises SettingError."""

def domain_of(url: str) -> str:
    """Return the registered domain of an absolute URL's host; raises SettingError if it is not a URL."""

def check_block_list(path: str | PathLike[str]) -> None:
    """Raise SettingError if the file cannot be read or a line is neither name, host nor network."""

def check_cookie_secrets(path: str | PathLike[str]) -> None:
    """Raise SettingError for a file without cookie secrets, or readable by others; no message has its content."""

def check_credentials(path: str | PathLike[str]) -> None:
    """Raise SettingError for a file without credentials, or readable by others; no message has its content."""

def new_identity_key() -> bytes:
    """A new private key for an identity: Ed25519, in PKCS #8."""

def identity_key(key: bytes, agent: str) -> tuple[str, str]:
    """The public key of a private one, as ``x`` of a JSON Web Key, and its thumbprint (RFC 7638).

    Raises SettingError for no such key, and for an agent that is no https origin.
    """

def identity_of(directory: str | PathLike[str]) -> tuple[str, str, str]:
    """The agent of a directory's identity, its public key as ``x`` of a JSON Web Key, and the key's thumbprint.

    Raises SettingError for a directory without an identity.
    """

def sign_key_directory(
    directory: str | PathLike[str], keys: bytes, created: int, expires: int
) -> tuple[str, str, str]:
    """The values of Content-Digest, Signature-Input and Signature with which a key directory is served.

    created, expires: seconds since the epoch. Raises SettingError for a directory without an identity.
    """

def check_network(text: str) -> None:
    """Raise SettingError if the text is neither an address nor a network."""

def keep_freed_memory() -> None:
    """Keep freed memory in this process for further bodies, as a ``Fetcher`` has it (mallopt(3))."""

def check_port(url: str, allowed: Sequence[int]) -> None:
    """Raise SettingError if an absolute URL's port is blocked and not allowed by the job."""

def is_permitted_address(address: str, allowed: Sequence[str]) -> bool:
    """Return whether an address is public, or in an allowed network. Raises SettingError."""

def check_resolver(text: str) -> str:
    """Return a resolver's address in normal form, with its port; raises SettingError for an invalid one."""

def export_log(directory: str | PathLike[str], file: str | PathLike[str]) -> dict[str, Any]:
    """Write every readable record of a log as one JSON object per line; ``.gz`` at the name's end compresses.

    Replaces an existing file. Returns counts: entries, seeds, pages, robots, leases, skipped (damaged bytes of the
    log), complete. Raises StorageFull, JobVersionError, StorageError.
    """

def extract_page(
    body: bytes,
    url: str = "",
    content_type: str | None = None,
    method: str = "lycosa",
    status: int = 200,
    headers: list[tuple[str, str]] = ...,
) -> ExtractedPage:
    """Read a page. See ``lycosa.extract``."""

def fingerprint(text: str) -> tuple[int, bytes] | None:
    """Return simhash and digest of a text. See ``lycosa.parse.text.Extracted``."""

def import_log(file: str | PathLike[str], directory: str | PathLike[str]) -> dict[str, Any]:
    """Create a log from a file of ``export_log``; the directory must not have one yet.

    Returns the same counts; ``complete`` is False if the file was cut off after a complete line. Raises StorageError
    with the number of an invalid line; the records before it are then in the log.
    """

def story(
    directory: str | PathLike[str],
    url: str,
    scope: str,
    max_depth: int | None,
    user_agent: str,
    allow_ports: Sequence[int] = ...,
) -> dict[str, Any]:
    """Return everything that a log records about one URL, in the log's order.

    Keys: url; seeds (position, at); found (position, at, page, status, depth, nofollow, refused): the first ten
    pages that link to it and the first whose link the rules accept; found_more, the number of the others;
    redirected (as found); outcomes and robots (position, at, url, lease, depth, attempt, retry, status, error,
    error_detail, address, redirect, chain, links, started, times); unanswered (position, at, lease), requests whose
    outcome is not recorded; skipped, the damaged bytes.
    ``refused`` is the rule by which a link was refused: nofollow, depth, scope or port; `None` if it was accepted,
    unless it was known already. Times are in seconds.
    """

def enter_private_namespaces(files: list[tuple[str, str]], ipv6: bool) -> None:
    """Enter private mount and network namespaces; mount own files over the system's there."""

@final
class Request:
    """What to fetch and how: on lease from the frontier, or to be accepted as a seed.

    Arguments are needed only for more than a plain GET. ``metadata``: JSON values that are passed on to the outcome,
    at most 64 KiB. ``body``: at most 1 MiB. ``form``: names and values that are posted as a browser does it. ``key``:
    deduplication key, at most 1 KiB: requests of one host with the same key are one, whatever they ask for; by
    default URL, method and body tell requests apart. Raises SettingError for an invalid request.
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
        form: list[tuple[str, str]] | None = None,
        key: str = "",
    ) -> Request: ...
    def replace(self, **columns: Any) -> Request:
        """Return a copy with other values in some columns; raises SettingError for an invalid value."""

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
        """Return the result of a fetch stage in Python: a response was received.

        body: as received, with its content coding. address: the peer's. started, finished: seconds since the
        epoch, by default now. times: seconds by phase (connect, tls, first_byte, body). source: http/1.0,
        http/1.1, h2, browser or cache. final_url: if redirects were followed. sent: request line and header fields
        as sent.
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
        """Return the result of a fetch stage in Python: a failure, of a kind in docs/errors.md."""

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
        """Whether it is a GET without a body, so that the URL alone identifies it."""

    @property
    def purpose(self) -> str:
        """Its purpose: page, robots, sitemap, resource."""

    @property
    def lease(self) -> int:
        """The number of the lease, 0 without one."""

    @property
    def job(self) -> str:
        """The job; empty if a process runs one crawl only."""

    @property
    def task(self) -> str:
        """One of the job's tasks."""

    @property
    def priority(self) -> int:
        """Priority, -4 to 4, what is beyond counts as these; greater ones come first. Default: 0."""

    @property
    def depth(self) -> int:
        """Number of links from the nearest seed."""

    @property
    def attempt(self) -> int:
        """Number of earlier tries."""

    @property
    def chain(self) -> list[tuple[str, int]]:
        """The redirects that led here, oldest first: URL and status."""

    @property
    def addresses(self) -> list[str]:
        """The host's addresses, vetted, best first."""

    @property
    def proxy(self) -> str | None:
        """The name of the proxy that it goes through; `None`: none."""

    @property
    def cookies(self) -> str | None:
        """The value of the Cookie field, or `None`."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields besides the crawler's own."""

    @property
    def body(self) -> bytes:
        """The request body."""

    @property
    def deadline(self) -> float:
        """When the lease ends, in seconds since the epoch."""

    @property
    def usage(self) -> list[tuple[str, bool]]:
        """What robots.txt and tdmrep.json state about uses of the page: the use, and whether it is allowed."""

    @property
    def licenses(self) -> list[str]:
        """The licences that robots.txt names for the whole site."""

    @property
    def key(self) -> str:
        """The deduplication key; empty: URL, method and body tell requests apart."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's metadata."""

    def __eq__(self, other: object, /) -> bool: ...

@final
class Requests:
    """Requests, on lease from the frontier to fetch, or to be accepted."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Request] | None = None) -> Requests: ...
    @classmethod
    def decode(cls, data: bytes) -> Requests:
        """Return the batch of bytes that ``encode`` returned, in this process or another one.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """Return the batch as bytes."""

    def declared(self, allowed_ports: Sequence[int] | None = None) -> Requests:
        """Return what a download server is told of these: what to ask for, and nothing else.

        allowed_ports: `None`: all; else all but blocked ones that are not among these. Raises SettingError for such a
        port, and for what a request made in Python could not have: encoded ones may come from anybody.
        """

    def ticketed(self, serial: int) -> Requests:
        """Return these with tickets of a grant, by which their results find them again."""

    def tickets(self) -> list[tuple[int, int]]:
        """Return serial number and index of each; 0 and -1 where it has no ticket."""

    def split(self, ring: Ring, by: str) -> dict[str, Requests]:
        """Divide these by the owners of their hosts, domains or URLs in a ring."""

    def select(self, mask: Iterable[object]) -> Requests:
        """Return the records for which the mask is true; raises SettingError if its length differs."""

    def map(self, change: Callable[[Request], Request | None]) -> Requests:
        """Return the results of a function for each record; `None` leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Requests:
        """Return a copy with other values in a column; raises SettingError for an invalid value."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Return columns for Arrow libraries; default: those of outputs."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Request: ...
    def __iter__(self) -> Iterator[Request]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Return all columns for any Arrow library (Arrow PyCapsule interface)."""

@final
class Response:
    """The result of one request, before it is parsed. Created by ``Request.respond`` and ``Request.fail``."""

    def replace(self, **columns: Any) -> Response:
        """Return a copy with other values in some columns; raises SettingError for an invalid value."""

    @property
    def request(self) -> Request:
        """The request."""

    @property
    def url(self) -> str:
        """The URL, in canonical form."""

    @property
    def status(self) -> int | None:
        """Status code; `None` if there is no response."""

    @property
    def reason(self) -> str:
        """The reason phrase of the status line."""

    @property
    def error(self) -> str | None:
        """Kind of failure, a stable name such as ``connect-timeout``; `None` if there is a response."""

    @property
    def error_detail(self) -> str | None:
        """Details of the failure, as text."""

    @property
    def address(self) -> str | None:
        """The peer's address."""

    @property
    def fetched_at(self) -> float:
        """When it was complete, in seconds since the epoch."""

    @property
    def times(self) -> dict[str, float]:
        """Durations in seconds: name, connect, tls, first_byte, body; 0 where a phase did not happen."""

    @property
    def source(self) -> str | None:
        """Its source: http/1.0, http/1.1, h2, browser, cache; `None` if there is no response."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields in the order received; names in lower case."""

    def header(self, name: str) -> str | None:
        """Return the first value of a header field, case-insensitively; `None` if it is missing."""

    @property
    def head(self) -> bytes:
        """Status line and header fields as received."""

    @property
    def sent(self) -> bytes:
        """Request line and header fields as sent."""

    @property
    def body(self) -> bytes:
        """The body as received, with its content coding. Raises StorageError if its file cannot be read."""

@final
class Responses:
    """Responses, from fetch to parse."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Response] | None = None) -> Responses: ...
    @classmethod
    def decode(cls, data: bytes) -> Responses:
        """Return the batch of bytes that ``encode`` returned, in this process or another one.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """Return the batch as bytes."""

    def tickets(self) -> list[tuple[int, int, bool]]:
        """Return of each response: serial number and index of its request, and whether the request was cancelled.

        0 and -1 where it has no ticket.
        """

    def answering(self, requests: list[Request | None]) -> Responses:
        """Return these as responses to requests, one for each; `None` leaves a response out. The batch is empty then.

        Raises ValueError for another number of requests.
        """

    def select(self, mask: Iterable[object]) -> Responses:
        """Return the records for which the mask is true; raises SettingError if its length differs."""

    def map(self, change: Callable[[Response], Response | None]) -> Responses:
        """Return the results of a function for each record; `None` leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Responses:
        """Return a copy with other values in a column; raises SettingError for an invalid value."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Return columns for Arrow libraries; default: those of outputs."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Response: ...
    def __iter__(self) -> Iterator[Response]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Return all columns for any Arrow library (Arrow PyCapsule interface)."""

@final
class Outcome:
    """The outcome of one URL: a response, or the reason why there is none."""

    def replace(self, **columns: Any) -> Outcome:
        """Return a copy with other values in some columns; raises SettingError for an invalid value."""

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
        """Number of links from the nearest seed."""

    @property
    def attempt(self) -> int:
        """Number of earlier tries."""

    @property
    def status(self) -> int | None:
        """Status code; `None` if there is no response."""

    @property
    def error(self) -> str | None:
        """Kind of failure, a stable name such as ``connect-timeout``; `None` if there is a response."""

    @property
    def error_detail(self) -> str | None:
        """Details of the failure, as text."""

    @property
    def address(self) -> str | None:
        """The peer's address."""

    @property
    def fetched_at(self) -> float:
        """When the outcome was complete, in seconds since the epoch."""

    @property
    def times(self) -> dict[str, float]:
        """Durations in seconds: name, connect, tls, first_byte, body; 0 where a phase did not happen."""

    @property
    def dns_class(self) -> str | None:
        """Cost of resolving the host's name: fast, slow or failed; `None` for a URL that was refused."""

    @property
    def source(self) -> str | None:
        """The response's source: http/1.0, http/1.1, h2, browser, cache; `None` if there is none."""

    @property
    def proxy(self) -> str | None:
        """The name of the proxy that the request went through; `None`: none."""

    @property
    def price(self) -> str | None:
        """The price that the site asks for the page instead of serving it, such as USD 0.01; `None`: none."""

    @property
    def license(self) -> str | None:
        """The URL of the licence that the site names for the page, the first of ``licenses``; `None`: none."""

    @property
    def licenses(self) -> list[tuple[str, str]]:
        """All licences that the site names for the page, the first of which counts: URL, and signal.

        The signal is ``link`` (header field), ``link element`` or ``robots.txt``.
        """

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields in the order received; names in lower case."""

    def header(self, name: str) -> str | None:
        """Return the first value of a header field, case-insensitively; `None` if it is missing."""

    @property
    def response_head(self) -> bytes:
        """Status line and header fields as received."""

    @property
    def request_head(self) -> bytes:
        """Request line and header fields as sent."""

    @property
    def certificate(self) -> dict[str, Any] | None:
        """The certificate of the web server; `None` without TLS.

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
        """The body decoded by its charset (of an HTML page its HTML with all tags); `None` if it is not text."""

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
    def usage(self) -> list[tuple[str, bool, str]]:
        """The site's preferences about uses of the page: use, whether it is allowed, and the signal that says so.

        A use such as ``train-ai`` or ``search``; one that no signal speaks of is missing. Of several signals the most
        restrictive counts.
        """

    @property
    def links(self) -> list[str]:
        """The page's links, each once, in order."""

    @property
    def link_anchors(self) -> list[str]:
        """The text of each link, in the order of ``links``; empty texts unless parse.link_details has anchor."""

    @property
    def link_priorities(self) -> list[int]:
        """The priority of each link, in the order of ``links``; 0 unless a parse stage of your own has set it."""

    @property
    def fields(self) -> dict[str, Any]:
        """Values extracted by rules or a custom parse stage."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's metadata of the request."""

    @property
    def requests(self) -> list[Request]:
        """The requests that middleware or a parse stage of your own has added."""

    @property
    def bounds(self) -> list[str]:
        """The bounds that it reached, such as "links" and "title-bytes": the rest is left out."""

    @property
    def retry(self) -> bool:
        """Whether the URL waits again: another outcome follows."""

@final
class Outcomes:
    """Outcomes, from parse to the log, the frontier, sinks and the user."""

    #: The names of the columns.
    COLUMNS: ClassVar[list[str]]

    def __new__(cls, records: Iterable[Outcome] | None = None) -> Outcomes: ...
    def rows(self) -> Outcomes:
        """Return the outcomes for outputs: each URL's last one, including redirects; no robots.txt, no retries."""

    def responses(self) -> Responses:
        """Return their responses as they were received, to be parsed again, and empty the batch."""

    def sampled(self, share: float) -> list[Outcome]:
        """Return the outcomes of ``rows`` of a share of all URLs, from 0 to 1: always the same ones."""

    def last(self) -> list[Outcome]:
        """Return each URL's last outcome: pages and failures; no redirects, no robots.txt, no retries."""

    def take_columns(self, names: list[str] | None = None) -> Table:
        """Return ``columns``, and empty the batch: no body is in memory twice."""

    def results(self) -> list[tuple[int, int, bool, bytes]]:
        """Return the results of requests with tickets, and empty the batch.

        Of each outcome that is a request's last: serial number, index, whether there is a response, and the response
        as ``Responses.decode`` reads it.
        """

    def lines(self, names: list[str]) -> bytes:
        """Return JSON lines of the chosen columns, in UTF-8."""

    def write_rows(
        self,
        path: str | PathLike[str],
        offset: int,
        names: list[str],
        form: Literal["lines", "csv"] = "lines",
        compression: Literal["gzip", "zstd"] | None = None,
    ) -> int:
        """Write rows of the chosen columns to a file from an offset on; returns their bytes. Raises OSError.

        CSV has its names at the beginning of the file. compression: the rows are one more member.
        """

    def tuples(self, names: list[str]) -> tuple[list[tuple[str | int | bool | bytes | None, ...]], int]:
        """Return rows of the chosen columns for databases, and about how many bytes they have."""

    def copied(self, names: list[str]) -> bytes:
        """Return rows of the chosen columns as PostgreSQL's binary COPY reads them."""

    @classmethod
    def decode(cls, data: bytes) -> Outcomes:
        """Return the batch of bytes that ``encode`` returned, in this process or another one.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """Return the batch as bytes."""

    def select(self, mask: Iterable[object]) -> Outcomes:
        """Return the records for which the mask is true; raises SettingError if its length differs."""

    def map(self, change: Callable[[Outcome], Outcome | None]) -> Outcomes:
        """Return the results of a function for each record; `None` leaves it out."""

    def replace(self, column: str, values: Iterable[Any]) -> Outcomes:
        """Return a copy with other values in a column; raises SettingError for an invalid value."""

    def columns(self, names: list[str] | None = None) -> Table:
        """Return columns for Arrow libraries; default: those of outputs."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Outcome: ...
    def __iter__(self) -> Iterator[Outcome]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Return the columns of ``rows()`` for any Arrow library (Arrow PyCapsule interface).

        ``columns`` has those of all records.
        """

@final
class ExtractedPage:
    """What a page says."""

    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def refusal(self) -> str | None: ...
    @property
    def is_cut(self) -> bool: ...
    def __deepcopy__(self, memo: object) -> ExtractedPage: ...
    def metadata(self) -> list[tuple[str, str]]: ...
    def markdown(self, links: bool, images: bool) -> str | None: ...
    def blocks(self) -> list[tuple[str, int, str]]: ...
    def posts(self) -> list[tuple[str, str, str, str]]: ...

@final
class WarcWriter:
    """Writes outcomes as records of WARC 1.1."""

    def __new__(cls, job: str, compression: Literal["gzip", "zstd"] | None, texts: bool = False) -> WarcWriter:
        """``job``: makes records' identifiers. ``texts``: main texts are written, not what was received."""

    def write(self, outcomes: Outcomes, path: str | PathLike[str], offset: int, name: str) -> tuple[int, bytes]:
        """Write outcomes from an offset on; returns their bytes, and lines of a CDXJ index. Raises OSError."""

@final
class WarcReader:
    """Reads responses from a WARC or ARC file."""

    def __new__(
        cls, path: str | PathLike[str], position: int = 0, end: int | None = None, max_bytes: int = ...
    ) -> WarcReader:
        """``position``: where a record begins. ``max_bytes``: of a body; more is cut. Raises OSError.

        ``end``: where the records end, if they are a part of the file; default: its end.
        """

    def read(self, records: int = 1_000, max_bytes: int = ...) -> tuple[Responses, int, list[tuple[int, str]], bool]:
        """Return the next responses, the position after them, damage with positions, and whether it ends."""

@final
class Entries:
    """Records of the log, in its order: accepted requests, leases, outcomes."""

    @classmethod
    def decode(cls, data: bytes) -> Entries:
        """Return the batch of bytes that ``encode`` returned, in this process or another one."""

    def outcomes(self) -> Outcomes:
        """Return the outcomes among them."""

    @staticmethod
    def of_journal(message: bytes, position: int) -> Entries:
        """Return the records of a message of a partition's journal; ``position`` is behind it.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def encode(self) -> bytes:
        """Return the batch as bytes."""

    @property
    def position(self) -> int:
        """The log position after them."""

    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Partitions:
    """The partitions of a job: the nodes of a ring, each of which has a frontier of its own."""

    def __new__(cls, count: int, by: str) -> Partitions:
        """``by``: the part of a URL that decides its partition (host, domain, url)."""

    @staticmethod
    def name(partition: int) -> str:
        """Return the name of a partition on the ring."""

    @property
    def ring(self) -> Ring:
        """The ring."""

    def of_url(self, url: str) -> int:
        """Return the partition that owns a URL."""

    def split_requests(self, requests: Requests) -> dict[int, Requests]:
        """Divide requests by partition: that of their lease, or of their URL."""

    def split_outcomes(self, outcomes: Outcomes, *, take: bool = False) -> dict[int, Outcomes]:
        """Divide outcomes by partition: that of their lease, or of their URL.

        take: whether the batch is empty afterwards, so that changes of the parts copy nothing.
        """

def join_requests(batches: list[Requests]) -> Requests:
    """Return the requests of several batches as one."""

def join_outcomes(batches: list[Outcomes]) -> Outcomes:
    """Return the outcomes of several batches as one."""

def accepted_message(requests: Requests, clock: Clock) -> bytes:
    """Return the message of a journal that requests were accepted."""

def leased_message(requests: Requests, clock: Clock, process: float) -> bytes:
    """Return the message of a journal that requests are about to be sent.

    process: when the process began, in seconds of the crawl's time.
    """

def outcomes_message(outcomes: Outcomes) -> bytes:
    """Return the message of a journal of outcomes; bodies are left out."""

@final
class PageWriter:
    """Encodes outcomes as messages of pages, for outputs of a cluster. Larger bodies go to files."""

    def __new__(cls, bodies: str | PathLike[str], name: str, inline_bytes: int, message_bytes: int) -> PageWriter:
        """``bodies``: the directory of files, which all workers share; ``name``: of this writer and its folder there.

        inline_bytes: size of a body up to which it is within a message. message_bytes: after so many, a message is
        complete.
        """

    def encode(self, outcomes: Outcomes) -> tuple[list[bytes], bool]:
        """Return the messages of outcomes, and whether some of these take earlier ones back.

        Retries and robots.txt are left out. Raises StorageError if a file cannot be written.
        """

@final
class PageReader:
    """Reads the messages of pages of one partition, in their order."""

    def __new__(cls, bodies: str | PathLike[str], with_body: bool, max_body_bytes: int) -> PageReader:
        """``bodies``: see ``PageWriter``; larger decoded bodies than ``max_body_bytes`` are left out."""

    def learn(self, message: bytes, position: int) -> None:
        """Learn what a message takes back of earlier ones; ``position`` is behind it.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def rows(self, message: bytes, position: int) -> tuple[Outcomes, int]:
        """Return the rows of a message without those that were taken back, and how many bodies are missing.

        Raises ValueError for invalid bytes, JobVersionError for those of a newer version.
        """

    def forget(self, position: int) -> None:
        """Forget what was taken back by messages up to a position: all of them are read."""

@final
class Table:
    """Columns of records for any Arrow library (Arrow PyCapsule interface), which share its memory."""

    @property
    def nbytes(self) -> int:
        """The memory of all columns, in bytes."""

    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Clock:
    """A crawl's clock: starts at Unix time, and is then independent of changes of the wall clock."""

    def __new__(cls) -> Clock:
        """Create a clock for this process, if no crawl is resumed."""

    def now(self) -> float:
        """Return the crawl's time, in seconds since the epoch."""

    def wall(self) -> float:
        """Return the wall clock's time, in seconds since the epoch."""

@final
class Names:
    """The DNS client of a crawl, on a thread of its own."""

    def __new__(cls, job: Job, clock: Clock | None = None, *, is_shared: bool = False) -> Names:
        """``clock``: the crawl's; default: that of this process.

        is_shared: whether several frontiers ask it; each is given the answers to its own questions.
        """

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in its file: the disk was full, or the file was truncated."""

    def pending(self) -> int:
        """Return the number of names without an answer yet."""

    def statistics(self) -> dict[str, int]:
        """Return counters since the start."""

@final
class DnsServer:
    """A DNS server of a tier; see ``lycosa.names.server``."""

    #: Upper bounds, in seconds, of the buckets of times; one more bucket counts longer times.
    BOUNDS: ClassVar[list[float]]

    def __new__(cls, settings: dict[str, Any]) -> Self: ...
    @property
    def listening(self) -> list[str]:
        """The addresses that it listens on, with the ports."""

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in its file: the disk was full, or the file was truncated."""

    def reload(self, settings: dict[str, Any]) -> None:
        """Apply another policy and other upstreams; on an error nothing changes.

        Its addresses, workers, cache, cookies and connections do not change. The query log is opened again.
        """

    def statistics(self) -> dict[str, int]:
        """Return counters since the start, and gauges.

        Questions by protocol; ``hits``, ``misses``, ``stale``, ``prefetches``, ``local``, ``passed_through``; answers
        by code; ``truncated``, ``dropped``, refused or filtered ones; ``accept_failures`` of connections. Gauges:
        ``waiting`` clients, ``tcp_open`` connections, ``loop`` (1: an upstream leads back here), ``cache_names``,
        ``cache_used`` (slots), ``cache_capacity``, ``cache_bytes``. Lost lines of the query log:
        ``query_log_dropped``.
        """

    @property
    def query_log_trouble(self) -> str | None:
        """Why the query log cannot be written now."""

    def answer_times(self) -> dict[str, tuple[list[int], float]]:
        """Return the times of answers, from receipt to sending, by source.

        ``cache``, ``upstream``, ``stale``, ``own``, ``refused``, ``limited``: counts by bucket (``BOUNDS``), and
        the sum in seconds.
        """

    def upstreams(self) -> list[dict[str, Any]]:
        """Return the state of each upstream, as in ``Resolver.upstreams``.

        With ``round_trips``: the times of replies, as in ``answer_times``.
        """

    def drain(self, within: float) -> bool:
        """Take no more questions; returns whether all pending ones were answered in time. Releases the GIL."""

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
        """Given resolvers that are not valid addresses."""

    @property
    def tcp_only(self) -> bool:
        """Whether servers are asked over TCP alone, as resolv.conf demands (`use-vc`)."""

    @property
    def fallen_back(self) -> str | None:
        """Why its cache is not in its file: the disk was full, or the file was truncated."""

    def pass_over(self, names: list[str]) -> None:
        """Register names that were answered before: ``submit`` skips each as often as it is registered."""

    def submit(self, names: list[str], place: int) -> int:
        """Submit names, numbered from ``place`` on, as capacity allows; returns how many were taken. Never blocks.

        Raises TypeError if one is not a text, and then takes none of them; ValueError once closed.
        """

    def submit_lines(self, names: NameBatch) -> int:
        """Submit names of a batch as capacity allows; returns how many are left in it. Never blocks.

        The number of a name is that of its line. Raises ValueError once closed.
        """

    def take(self, max: int, within: float) -> Resolutions:
        """Return at most ``max`` available answers; waits at most ``within`` seconds for the first."""

    def free(self) -> int:
        """Return how many more names can be submitted now."""

    def pending(self) -> int:
        """Return the number of names whose answers have not been taken."""

    def statistics(self) -> dict[str, int]:
        """Return counters since the start: ``names`` submitted and ``passed_over``, answers by status, client's.

        The client's are ``questions`` sent, ``answers`` received, ``retries``, ``timeouts``, ``truncated``,
        ``mismatched``, ``cache_hits``, ``coalesced``, and answers by class: ``fast``, ``slow``, ``failed``.
        """

    def upstreams(self) -> list[dict[str, Any]]:
        """Return the state of each ``server``.

        ``questions`` sent to it, ``answers`` and ``timeouts``; ``round_trip``, its smoothed time in seconds;
        ``window``, its congestion window in questions; ``is_resting``: it failed, and others are asked;
        ``trouble``: why the last connection to it failed, until it answers.
        """

    def close(self) -> None:
        """End the client; names in flight are dropped."""

@final
class NameLines:
    """Splits a file into lines; strips names, counts and skips blank lines.

    A byte order mark is removed; invalid UTF-8 is replaced; 4,096 bytes of a line are used.
    """

    def __new__(cls) -> Self: ...
    def feed(self, bytes: bytes) -> NameBatch:
        """Add the file's next bytes; returns the names of the lines that end in them."""

    def end(self) -> NameBatch:
        """End the file; returns the name of a last line without a line break."""

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
    """Search domains (resolv.conf(5)): finds the names to try for a given one."""

    def __new__(cls, domains: list[str], ndots: int = 1, no_tld_query: bool = False) -> Self:
        """Use the domains; raises SettingError for more than 32 and for an invalid one."""

    def names(self, name: str) -> list[str]:
        """Return the names to try, one after the other, in normal form; raises BadName."""

def check_zones(texts: list[str]) -> None:
    """Raise SettingError for invalid zones with servers; valid: ``corp.example=192.0.2.1``."""

def check_local_names(hosts_file: str | PathLike[str] | None, lines: list[str]) -> None:
    """Raise SettingError for lines that are not records of a zone file, or an alias without a local target.

    Raises OSError if the hosts file cannot be read.
    """

def resolv_conf(path: str | PathLike[str] | None = None) -> dict[str, Any]:
    """Parse a resolv.conf; default: that of the system, with its environment variables.

    ``resolvers``, ``search``, ``ndots``, ``timeout`` and ``attempts`` (`None` if not set), ``rotate``,
    ``use_vc``, ``trust_ad``, ``no_aaaa``, ``no_tld_query``; ``warnings`` about invalid lines.

    Raises OSError if it cannot be read.
    """

@final
class Resolution:
    """The answer to one name."""

    @property
    def place(self) -> int:
        """The number of the name: its index in the input."""

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
        """When it expires, in seconds since 1970; `None` for a ``bad-name``."""

    @property
    def class_(self) -> str:
        """Cost of resolving: ``fast``, ``slow`` or ``failed`` (SYSTEMS.md section 3)."""

    @property
    def seconds(self) -> float:
        """How long it took, including the time in the queue."""

    @property
    def cached(self) -> bool:
        """Whether no server was asked: it was cached, is an address, or is not a valid name."""

    @property
    def detail(self) -> str | None:
        """Details of the failure, as text."""

    @property
    def records(self) -> list[tuple[str, str, int, str]]:
        """The records of the ``types`` that were asked for, and the aliases that lead to them.

        Owner, type, TTL in seconds, data as in a zone file (RFC 1035 section 5.1).
        """

    @property
    def validated(self) -> bool | None:
        """Whether the resolver has validated all ``records`` (AD, RFC 4035); `None` if none were asked for."""

@final
class Resolutions:
    """Answers in order of arrival; one becomes a Python object when it is accessed."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Resolution: ...
    def __iter__(self) -> Iterator[Resolution]: ...
    def bad_names(self) -> list[tuple[int, str, str]]:
        """Return the invalid names: index, text, the rule that it breaks."""

    def lines(self) -> bytes:
        """Return JSON lines, in UTF-8."""

    def csv(self) -> bytes:
        """Return lines of CSV, in UTF-8.

        Addresses are in one field, separated by spaces; records in one field, as JSON.
        """

    @staticmethod
    def columns(records: bool = False) -> list[str]:
        """Return the names of the columns, with or without those for records."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """Return the answers for any Arrow library (Arrow PyCapsule interface)."""

@final
class NameAnswer:
    """A cache's entry for a name."""

    @property
    def addresses(self) -> list[str]:
        """Its addresses, IPv4 first."""

    @property
    def state(self) -> str:
        """``ok``, ``nxdomain``, ``nodata``, ``negative`` (one of these), ``servfail``, ``timeout``, ``bad-name``."""

    @property
    def expires(self) -> int | None:
        """When it expires, in seconds since 1970; `None` if the cache does not know."""

    @property
    def class_(self) -> str:
        """Cost of resolving: ``fast``, ``slow`` or ``failed`` (SYSTEMS.md section 3)."""

    @property
    def reason(self) -> str | None:
        """The rule that a ``bad-name`` breaks."""

@final
class NameAnswers:
    """Answers to many names, in their order; one becomes a Python object when it is accessed."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NameAnswer | None: ...
    def __iter__(self) -> Iterator[NameAnswer | None]: ...
    def known(self) -> int:
        """Return how many names have an answer."""

@disjoint_base
class NameCache:
    """A cache of names; see ``lycosa.names.Cache``."""

    def __new__(cls, design: str, settings: dict[str, Any]) -> Self: ...
    @staticmethod
    def open(path: str | PathLike[str]) -> NameCache:
        """Open the file of a compact cache with its own settings; raises StorageError with what to do."""

    @staticmethod
    def view(path: str | PathLike[str]) -> NameCache:
        """Open the file of a compact cache read-only. Raises StorageError."""

    @staticmethod
    def rebuild(path: str | PathLike[str], settings: dict[str, Any]) -> NameCache:
        """Replace any file by an empty compact cache."""

    @property
    def design(self) -> str:
        """``compact``, ``async-lru``, ``regions`` or ``optimiser``."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a compact cache; empty for other designs."""

    @property
    def fallen_back(self) -> str | None:
        """Why it is not in its file: the disk was full, or the file was truncated."""

    def get(
        self, name: str, *, families: str = "v4", bypass: bool = False, now: int | None = None
    ) -> NameAnswer | None:
        """Look up a name's addresses; ``bypass`` skips the negative filter. Raises BadName."""

    def get_many(self, names: list[str], *, families: str = "v4", now: int | None = None) -> NameAnswers:
        """Look up many names without the GIL; an invalid name has the state ``bad-name``."""

    def put_entries(
        self, entries: list[tuple[str, str | list[str], int, int]], families: str, now: int | None
    ) -> list[tuple[int, str]]:
        """Insert resolutions; returns the indexes of rejected ones, with the reason."""

    def forget(self, name: str) -> bool:
        """Forget a name; returns whether it was known. Raises BadName."""

    def forget_under(self, domain: str, *, to: str | None = None) -> int:
        """Forget all names under a top-level or registered domain, or from its first to the last under ``to``.

        Returns how many. Ranges are those of ``scan`` (compact only).
        """

    def count(self, under: str | None = None, *, to: str | None = None, now: int | None = None) -> int:
        """Count names with addresses; under a domain, or a range as for ``scan`` (compact only)."""

    def count_by_tld(self, *, now: int | None = None) -> list[tuple[str | None, int]]:
        """Count names per top-level domain, most frequent first; `None`: unknown ones (compact only)."""

    def scan(
        self, under: str = "", *, to: str | None = None, limit: int = 1_000, now: int | None = None
    ) -> list[tuple[str | None, int, int, NameAnswer]]:
        """Return top-level domain, hash of the label, hash of the name and answer of valid names (compact only).

        ``to``: from the first name under ``under`` to the last one under this domain. Top-level domains are in
        alphabetical order, with unknown ones first; their registered domains are in the order of their hashes.
        """

    def stats(self) -> dict[str, float]:
        """Return counters, and sizes in bytes, by name."""

    def flush(self) -> None:
        """Sync the file, so that it survives a power failure."""

@final
class Shared:
    """Clocks of hosts and addresses, the page budget and caps, that frontiers share; see ``Frontier``."""

    def __new__(
        cls,
        clock: Clock,
        clock_file: str | PathLike[str] | None = None,
        *,
        shards: int = 1,
        shares_pages: bool = True,
        caps: tuple[float | None, float | None] | None = None,
    ) -> Shared:
        """clock: the crawl's. clock_file: of this machine's clocks; `None`: in memory, for one process's shards.

        shards: of the crawl. shares_pages: whether ``max_pages`` is of all of them together. caps: over all sites, in
        place of those of the frontiers' jobs: requests and bytes per second of the machine's clock; `None`: each
        frontier has those of its job.
        """

    def set_caps(self, requests: float | None, bytes: float | None) -> None:
        """Set other caps, if it has some."""

def restore_shards(shards: list[Frontier], entries: Entries) -> None:
    """Apply records of the log to all shards of a crawl, each to its owner."""

@final
class Saving:
    """A snapshot of all shards of a crawl that is being written."""

    def saved(self) -> int | None:
        """See ``lycosa.stages.Frontier.saved``."""

def save_shards(shards: list[Frontier], position: int, views: bytes) -> Saving:
    """Begin a snapshot of all shards of a crawl; see ``lycosa.stages.Frontier.save``."""

@final
class Frontier:
    """Decides which URL is next; see ``lycosa.stages.Frontier``."""

    def __new__(
        cls,
        job: Job,
        names: Names,
        directory: str | PathLike[str] | None = None,
        *,
        end: int = ...,
        task: tuple[str, str] | None = None,
        ownership: tuple[Ring, str, str] | None = None,
        lends: bool = False,
        shared: Shared | None = None,
    ) -> Frontier:
        """Create an empty frontier.

        directory: for snapshots, and for waiting and known URLs that do not fit into memory; `None`: all stay in
        memory. end: the log's end: later snapshots belong to lost records. task: job and task of its requests.
        ownership: for a job that several frontiers share: the ring of their names, the part of a URL that is its
        key (host, domain, url), and this frontier's name. lends: whether they lend addresses to each other, so that
        nothing is sent to one without a place there.
        """

    def add(self, seeds: list[str]) -> int: ...
    def add_requests(self, requests: Requests) -> int: ...
    def take_outbox(self) -> dict[str, Requests]: ...
    def outbox_delivered(self) -> None: ...
    def tell(self) -> tuple[bytes, list[tuple[str, bytes]]]:
        """Return what is to be told of addresses that are lent: its record, and messages with their receivers."""

    def hear(self, message: bytes, *, again: bool = False) -> None:
        """Take over what another frontier has told. again: replay that, or the record of what was told.

        Raises ValueError if it is no such message.
        """

    def snapshots(self) -> list[int]: ...
    def save(self, position: int, views: bytes) -> None: ...
    def saved(self) -> int | None: ...
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
    def set_max_pages(self, pages: int) -> None:
        """Set the number of pages after which it ends."""

    def room(self) -> tuple[int, int]:
        """Return how many pages may still be leased, and how many URLs wait."""

    def judge(self, outcomes: Outcomes) -> Outcomes: ...
    def done(self, outcomes: Outcomes) -> None: ...
    def keep_to(self, sites: list[tuple[Ring, str, str]]) -> None:
        """Keep to the sites that are a node's by each of these (ring, part of a URL, node); empty: to all.

        URLs of other sites that wait end as cancelled at their turn, without a request.
        """

    def set_intervals(self, host: float, address: float) -> None:
        """Set the intervals of hosts and addresses in seconds, for all requests that start or end from now on."""

    def idle(self) -> bool: ...
    def suspensions(self) -> list[dict[str, Any]]: ...
    def failing(self, max: int) -> list[tuple[str, str, int, float]]: ...
    def oldest(self) -> tuple[str, float] | None:
        """Return the URL that is out longest, and for how many seconds; `None`: none is."""

    def slowed(self) -> list[tuple[str, float, float]]: ...
    def only_failing(self) -> bool:
        """Return whether only failing hosts are left."""

    def wait(self) -> float: ...
    def due(self) -> float | None: ...
    def counts(self) -> dict[str, int]: ...

@final
class Proxies:
    """Proxies by name, for fetchers: what they are given here they use from then on."""

    def __new__(cls, allowed: list[str] = ...) -> Self:
        """None yet. allowed: private networks in which they may be; raises SettingError if one is none."""

    def set(
        self,
        name: str,
        protocol: str,
        host: str,
        port: int,
        addresses: list[str],
        *,
        user: str = "",
        password: str = "",
        resolves: bool = True,
    ) -> None:
        """Add a proxy, or replace the one with this name.

        protocol: http, https or socks5. addresses: of its host. resolves: whether it resolves the sites' names.
        """

    def remove(self, name: str) -> None:
        """Remove a proxy: requests by it fail."""

    @staticmethod
    def request(url: str, number: int, addresses: list[str], proxy: str | None = None) -> Request:
        """A request that no frontier has leased, with a number of its own. addresses: of the URL's host."""

@final
class Fetcher:
    """HTTP over real sockets, on a thread of its own; see ``lycosa.stages.Fetch``."""

    def __new__(
        cls,
        job: Job,
        clock: Clock | None = None,
        memory: int | None = None,
        batch: int | None = None,
        proxies: Proxies | None = None,
    ) -> Fetcher:
        """``clock``: the crawl's; default: that of this process.

        ``memory``: maximum bytes of all responses until they are taken; ``batch``: of one batch of them.
        """

    def free(self) -> int: ...
    def in_flight(self) -> int: ...
    def submit(self, requests: Requests) -> None: ...
    def completed(self, max: int, within: float) -> Responses: ...
    def set_fence(self, at: float) -> None:
        """Send no request from this time on, in seconds of ``CLOCK_BOOTTIME``, until a later time is set.

        What was not sent before ends as cancelled, also after the process was suspended. A time that is set once the
        last one is passed holds for what is submitted from then on.
        """

    def recall(self) -> None:
        """Do not send what was submitted and not sent yet: it ends as cancelled."""

    def cancel(self) -> None: ...

@final
class Parser:
    """Responses to outcomes, on all cores; see ``lycosa.stages.Parse``."""

    def __new__(
        cls,
        job: Job,
        batch: int = ...,
        decoding: int = ...,
        bodies: str | PathLike[str] | None = None,
        links: bool = True,
    ) -> Parser:
        """``batch``: maximum bytes of a batch's outcomes; ``decoding``: of bodies that are decoded at once.

        bodies: the directory of bodies in files; default: none is read. links: whether links are looked for.
        """

    def parse(self, responses: Responses) -> Outcomes: ...
    def unparsed(self, responses: Responses) -> Outcomes:
        """Return outcomes of which robots.txt alone is read: of others the frontier only learns how the site is."""

@final
class Robots:
    """The rules of one robots.txt (RFC 9309) for one agent, a product token; accepts any bytes."""

    def __new__(cls, body: bytes, agent: str) -> Robots: ...
    def verdict(self, url: str) -> tuple[bool, int | None, str | None]:
        """Return whether a URL may be fetched, the line of the rule (from 1), the rule; raises SettingError."""

    def allows(self, paths: list[str]) -> list[bool]:
        """Return whether each path, with its query and as in a canonical URL, may be fetched."""

    @property
    def crawl_delay(self) -> float | None:
        """The Crawl-delay in seconds, or `None`."""

@final
class Ring:
    """Consistent hashing by MD5: finds the owner of a key; the same in each process and version.

    A node has ``virtual_nodes`` points (256) for each unit of its weight.
    """

    def __new__(cls, nodes: dict[str, float], virtual_nodes: int = ...) -> Ring: ...
    def owners(self, key: str, count: int = 1) -> list[str]:
        """Return the owner of a key, such as ``ring_key(url)``, then its successors: at most ``count`` names."""

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
        """``failed``: the directory of the list of failed URLs; default: none is kept."""

    @property
    def clock(self) -> Clock:
        """The crawl's clock, which continues the time of the process before."""

    def append_seeds(self, seeds: list[str]) -> None: ...
    def append_requests(self, requests: Requests) -> None: ...
    def append_leases(self, requests: Requests) -> None: ...
    def append(self, outcomes: Outcomes) -> None: ...
    def read(self, position: int | None = None, max_bytes: int = ...) -> Entries: ...
    def restore(self, position: int | None = None, views: bytes | None = None) -> int: ...
    def checkpoint(self) -> tuple[int, bytes]: ...
    def is_durable(self, position: int) -> bool: ...
    def follow(self, position: int | None = None, with_body: bool = True, max_body_bytes: int = ...) -> LogReader: ...
    def keep_distance(self, distance: float) -> None: ...
    def doubt(self, since: float | None) -> None: ...
    def failed(self, kinds: list[str]) -> FailedUrls: ...
    def ended(self, requests: Requests) -> Outcomes: ...
    def lock_seconds(self) -> float:
        """Seconds of CPU for which threads have held the log's lock: what all lanes share."""

    def sync(self) -> None: ...
    def end(self) -> int: ...
    def committed(self) -> int:
        """Return the position up to which the log is synced: outputs and snapshots may follow it so far."""

    def first(self) -> int:
        """Return the log's first position: more than 0 once segments were removed."""

    def torn(self) -> tuple[int, int, bool] | None:
        """Return position and size of what was set aside at opening, and whether it has whole records; or `None`."""

    def retain(self, position: int) -> int:
        """Remove the segments that end at or before a position; returns how many. The newest always stays."""

    def summary(self) -> dict[str, Any]: ...

@final
class FailedUrls:
    """URLs that failed, to be opened again; skips those that fail meanwhile."""

    def read(self, max: int) -> Outcomes:
        """Return the next of them, each once, as outcomes that open them again; empty when there are no more."""

@final
class LogReader:
    """Reads a log that no process writes; ``Log.follow`` returns one for a log that is being written.

    Starts at a position of an earlier reader (default: the log's first); raises StorageError if the log does not
    have it. A body of more than ``max_body_bytes`` when it is decoded is left out.
    """

    def __new__(
        cls,
        directory: str | PathLike[str],
        position: int | None = None,
        with_body: bool = True,
        max_body_bytes: int = ...,
    ) -> LogReader: ...
    @staticmethod
    def ended(directory: str | PathLike[str], position: int | None = None, max_body_bytes: int = ...) -> LogReader:
        """Return a reader that leaves out outcomes that were taken back, or fetched again later."""

    def read(self, max_entries: int, max_bytes: int) -> Outcomes:
        """Return the next outcomes, of at most so many records, and about so many bytes, including decoded bodies."""

    def position(self) -> int:
        """Return the position of the next frame."""

    def skip_damage(self) -> int:
        """Skip damage, after JobDamaged; returns how many bytes were skipped."""

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
class SigningKey:
    """A private key, Ed25519."""

    def __new__(cls, key: bytes) -> SigningKey:
        """key: in PKCS #8; raises SettingError."""

    @property
    def public(self) -> bytes:
        """The public key, 32 bytes."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message."""

@final
class VerifyingKey:
    """A public key, Ed25519."""

    def __new__(cls, key: bytes) -> VerifyingKey:
        """key: 32 bytes; raises SettingError."""

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether a signature of a message is the key owner's."""

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
