"""The keys of a job as types: what ``lycosa.crawl`` takes. Made by ``python -m tools.reference`` from job.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class NamesSettings(TypedDict, total=False):
    """DNS."""

    resolvers: Sequence[str]
    zones: Sequence[str]
    hosts_file: str | PathLike[str] | None
    local_data: Sequence[str]
    rotate: bool
    families: Literal["v4", "v6", "both"]
    timeout: float
    attempts: int
    in_flight: int
    ahead: Literal["off", "lru-paper", "regions-paper", "links-paper", "ahead"]
    ahead_names: int
    wildcards: bool
    nxdomain_cut: bool
    min_ttl: float
    max_ttl: float
    cache: Literal["compact", "async-lru", "regions", "optimiser"]
    cache_file: str | PathLike[str] | None
    capacity: int
    slow: float
    verify: Literal["keyed", "published"] | None
    negative: Literal["generations", "clear-all"] | None
    buckets: int | None
    period: float | None
    levels: Literal["public-suffix", "dots"] | None
    weight: Literal["cost", "time", "recency"] | Mapping[Literal["time", "ttl", "recency"], float] | None
    light: float | None


class PolitenessSettings(TypedDict, total=False):
    """How sites are treated."""

    robots: bool
    robots_ttl: float
    tdmrep: bool
    host_interval: float
    address_interval: float
    host_concurrency: int
    address_concurrency: int
    max_crawl_delay: float
    response_multiple: float
    max_interval: float
    successes: int
    max_retry_after: float
    address_domains: int
    domain_pages: int | None
    domain_hosts: int
    domain_concurrency: int | None
    requests_per_second: float | None
    bytes_per_second: float | None
    block_list: str | PathLike[str] | None
    share_clocks: bool
    clock_file: str | PathLike[str] | None
    retries: int
    retry_delay: float
    retry_jitter: float
    max_redirects: int


class FrontierSettings(TypedDict, total=False):
    """The frontier, which knows all URLs and decides which is fetched next: shards, patience, memory, snapshots."""

    key: Literal["md5", "md5-16", "keyed"]
    shards: int
    shard_by: Literal["domain", "host", "url"]
    patience: float
    longest_suspension: float | None
    queue_memory: int
    seen_memory: int
    cookie_memory: int
    snapshot_bytes: int
    snapshot_interval: float
    max_hosts: int | None
    warm_hosts: int | None


class FetchSettings(TypedDict, total=False):
    """HTTP."""

    slots: int
    connect_timeout: float
    read_timeout: float
    total_timeout: float
    max_header_bytes: int
    max_body_bytes: int
    resume_bytes: int | None
    content_types: Sequence[str]
    idle_connections: int
    idle_timeout: float
    http2: bool
    ca_file: str | PathLike[str] | None
    credentials: str | PathLike[str] | None
    identity: str | PathLike[str] | None
    from_email: str | None
    master: str | None
    service: str
    master_certificate: str | PathLike[str] | None


class ProxiesSettings(TypedDict, total=False):
    """Proxies through which all requests go, those for robots.txt too; without a source there are none."""

    file: str | PathLike[str] | None
    lists: Sequence[str]
    pages: Sequence[str]
    pattern: str
    refresh: float
    check: Sequence[str]
    recheck: float
    order: Sequence[str]
    sticky: bool
    concurrency: int
    tries: int
    allow_addresses: Sequence[str]


class ParseSettings(TypedDict, total=False):
    """Parsing."""

    threads: int
    max_links: int
    max_link_bytes: int
    max_title_bytes: int
    link_details: Sequence[Literal["anchor", "rel", "context", "place"]]
    link_sources: Sequence[Literal["frames", "images", "feeds", "forms"]]
    max_decoded_bytes: int
    text: Literal["lycosa", "density-paper"]
    template_sites: int
    refusals: bool


class StoreSettings(TypedDict, total=False):
    """The log and the outputs."""

    segment_bytes: int
    commit_bytes: int
    commit_interval: float
    behind_bytes: int
    retain: Literal["needed", "all"]
    fields: Sequence[str]


class UrlSettings(TypedDict, total=False):
    """Normalisation of links; seeds and redirects are used as they are given."""

    drop_tracking: bool
    drop_sessions: bool
    sort_query: bool
    drop_parameters: Sequence[str]
    trust_canonical: bool


class ClusterSettings(TypedDict, total=False):
    """Many workers on one job: partitions of the frontier, whose log is in Kafka."""

    partitions: int
    replicas: int
    session_timeout: float
    commit_interval: float
    pages: bool
    pages_retention: float
    inline_bytes: int
    output_interval: float
    output_bytes: int
    snapshot_interval: float


class ObserveSettings(TypedDict, total=False):
    """What a running crawl tells of itself."""

    http: str | None
    stuck_after: float
    traces: str | None
    trace_share: float
    price: float | None


class CrawlSettings(TypedDict, total=False):
    """One crawl, but for its seeds."""

    scope: Literal["host", "domain", "any"]
    max_pages: int | None
    max_depth: int | None
    memory: int | None
    speed: float
    user_agent: str
    allow_addresses: Sequence[str]
    allow_ports: Sequence[int]
    usage: Mapping[
        Literal["train-ai", "search", "ai-input", "ai-use", "bots", "tdm"], Literal["drop", "mark", "ignore"]
    ]
    names: NamesSettings
    politeness: PolitenessSettings
    frontier: FrontierSettings
    fetch: FetchSettings
    proxies: ProxiesSettings
    parse: ParseSettings
    store: StoreSettings
    url: UrlSettings
    cluster: ClusterSettings
    observe: ObserveSettings
