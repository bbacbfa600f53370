"""The proxies of a job: its pool, and the fetches that use it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.job import Job
from lycosa.names.resolver import Resolver
from lycosa.proxies.check import WITHIN, Checker
from lycosa.proxies.fetch import ProxyFetch
from lycosa.proxies.keeper import Keeper
from lycosa.proxies.pool import Pool
from lycosa.proxies.proxy import parse_lines
from lycosa.proxies.reading import Resolve, is_address
from lycosa.proxies.sources import USUAL, Source, of_file, of_list, of_page
from lycosa.proxies.web import Web, shown
from lycosa.stages import Stages

#: Memory for the responses of checks, in bytes, and of those that are taken at once.
MEMORY, BATCH = 16 << 20, 1 << 20

#: Seconds for the names of one source, and for which answers are waited at once.
RESOLVING, TAKEN = 30.0, 0.5


def make_pool(job: Job) -> Pool:
    """Return an empty pool with the settings of a job."""
    settings = job.proxies
    return Pool(
        recheck=settings.recheck,
        sticky=settings.sticky,
        concurrency=settings.concurrency,
        order=settings.order,
        is_checked=bool(settings.check),
        allowed=settings.allow_addresses,
    )


def make_keeper(job: Job, pool: Pool, source: Source | None = None, within: float = WITHIN) -> Keeper:
    """Return what keeps the pool of a job. source: one more of its sources. within: seconds for the check of a proxy.

    Raises SettingError for a file that cannot be read, or that others may read although it has passwords or keys, and
    for pages of checks whose names have no address.
    """
    settings, stopped = job.proxies, threading.Event()
    web = Web(job.user_agent, settings.allow_addresses, stopped)
    sources: dict[str, Source] = {}
    if settings.file is not None:
        sources[str(settings.file)] = _file(settings.file)
    for number, url in enumerate(settings.lists, 1):
        sources[f"proxies.lists, {number}: {shown(url)}"] = of_list(url, web)
    for number, url in enumerate(settings.pages, 1):
        sources[f"proxies.pages, {number}: {shown(url)}"] = of_page(url, settings.pattern or USUAL, web)
    if source is not None:
        sources["proxy_source"] = source
    resolve = _resolve(job, stopped)
    checker = make_checker(job, pool, resolve, stopped, within) if settings.check else None
    return Keeper(pool, sources, resolve, checker, settings.refresh, allow_ports=job.allow_ports, stopped=stopped)


def _file(path: Path) -> Source:
    """The source of a file, which is read once for the errors that it may have."""
    file = of_file(path)
    try:
        proxies = parse_lines(file()).proxies
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise SettingError("proxies.file", path, f"a file of proxies, one a line ({error})") from None
    if mode & 0o077 and any(proxy.user for proxy in proxies):
        raise SettingError(
            "proxies.file", path, "a file that others cannot read, since it has passwords; run chmod 600"
        )
    return file


def make_checker(job: Job, pool: Pool, resolve: Resolve, stopped: threading.Event, within: float = WITHIN) -> Checker:
    """Return what checks the proxies of a pool by the pages of a job, each in so many seconds."""
    requests = [_core.Request(url) for url in job.proxies.check]
    names = sorted({request.host for request in requests if not is_address(request.host)})
    known: Mapping[str, Sequence[str]] = resolve(names) if names else {}
    addresses = [
        [request.host] if is_address(request.host) else list(known.get(request.host, ())) for request in requests
    ]
    for request, of_host in zip(requests, addresses, strict=True):
        if not of_host:
            raise SettingError("proxies.check", request.url, "URLs whose names have an address")
    fetcher = _core.Fetcher(job, None, MEMORY, BATCH, pool.table)
    return Checker(fetcher, [request.url for request in requests], addresses, stopped, within)


def with_proxies(lanes: Sequence[Stages], pool: Pool, tries: int) -> list[Stages]:
    """Return the stages of a crawl's lanes with fetches that use a pool; their fetchers have its table."""
    return [replace(stages, fetch=ProxyFetch(stages.fetch, pool, tries)) for stages in lanes]


def _resolve(job: Job, stopped: threading.Event) -> Resolve:
    """Return a function that resolves names as the job does, as long as it may. stopped: ends that once it is set."""
    names = job.names
    options: dict[str, Any] = {
        "resolvers": names.resolvers,
        "zones": names.zones,
        "hosts_file": names.hosts_file,
        "local_data": names.local_data,
        "families": names.families,
        "ca_file": job.fetch.ca_file,
    }

    def resolve(hosts: Sequence[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, Sequence[str]] = {}
        end = time.monotonic() + RESOLVING
        with Resolver(**options) as resolver:
            for start in range(0, len(hosts), 1_000):
                part = list(hosts[start : start + 1_000])
                resolver.submit(part, 0)
                left = len(part)
                while left:
                    if stopped.is_set() or time.monotonic() >= end:
                        return found
                    for answer in resolver.take(1_000, within=TAKEN):
                        left -= 1
                        found[answer.name] = answer.addresses
        return found

    return resolve
