"""Plain load on an HTTP server: wrk, or a small loop of our own if wrk is missing."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from benchmarks.harness import environment, measure
from benchmarks.report import BenchmarkError

CONNECTIONS = 16
ADDRESSES = 8  # asked at a time, by as many of wrk's threads: a wrk thread knows one address only
WANTED = 600  # distinct pages looked for: more than the cache of one page would hide
Target = tuple[str, str]  # Host header, path
Targets = Mapping[str, Sequence[Target]]  # by address


@dataclass(frozen=True, slots=True)
class Load:
    """The responses of a server."""

    requests: int
    seconds: float
    size: float  # bytes, heads included


def run(
    port: int,
    targets: Targets,
    encoding: str,
    seconds: int,
    cores: frozenset[int],
    folder: Path,
    *,
    errors: bool = False,
) -> Load:
    """Request the pages repeatedly for some seconds; `errors` allows error statuses."""
    log = folder / "load.log"
    if shutil.which("wrk"):
        script = folder / "load.lua"
        script.write_text(_script(port, targets, encoding))
        command = ["wrk", f"-t{len(targets)}", f"-c{max(CONNECTIONS, len(targets))}", f"-d{seconds}s"]
        command += ["-s", str(script), f"http://{next(iter(targets))}:{port}"]
    else:
        (folder / "load.json").write_text(json.dumps([port, seconds, encoding, targets]))
        command = [sys.executable, "-m", "benchmarks.load", str(folder / "load.json")]
    measure(generator(), command, cores=cores, timeout=seconds + 20.0, log=log, env=environment())
    text = log.read_text()
    bad = None if errors else re.search(r"Non-2xx or 3xx responses: \d+|Socket errors: .*", text)
    total = re.search(r"(\d+) requests in ([\d.]+)s, ([\d.]+)([KMG]?)B read", text)
    if bad or not total:
        raise BenchmarkError(f"load on port {port} failed: {bad.group() if bad else text.strip()}")
    return Load(int(total[1]), float(total[2]), float(total[3]) * 1024 ** " KMG".index(total[4] or " "))


def generator() -> str:
    """Return the name of the load generator."""
    return "wrk" if shutil.which("wrk") else "asyncio load"


def version() -> str | None:
    """Return wrk's version from its help."""
    if not shutil.which("wrk"):
        return None
    done = subprocess.run(["wrk", "-v"], capture_output=True, text=True, timeout=10, check=False)
    return (done.stdout + done.stderr).split()[1]


def find(port: int, seeds: Sequence[str], hosts: Mapping[str, str]) -> Targets:
    """Follow links to pages with status 200, by address; `hosts`: the addresses of names."""
    found: dict[str, dict[Target, None]] = {}
    queue = dict.fromkeys(seeds)
    asked = 0
    while queue and asked < WANTED:
        url = next(iter(queue))
        del queue[url]
        asked += 1
        name = urlsplit(url).hostname or ""
        target = (urlsplit(url).netloc, urlsplit(url).path or "/")
        if name not in hosts or target in found.setdefault(hosts[name], {}):
            continue
        links = _links(hosts[name], port, target)
        if links is not None:
            found[hosts[name]][target] = None
            queue |= dict.fromkeys(urljoin(url, link) for link in links[:40])
    best = sorted(found, key=lambda address: -len(found[address]))[:ADDRESSES]
    if not best or not found[best[0]]:
        raise BenchmarkError(f"no page of {', '.join(seeds[:3])} answers 200 on port {port}")
    return {address: list(found[address]) for address in best if found[address]}


def _links(address: str, port: int, target: Target) -> list[str] | None:
    """Return the plain links of a page (no query, nothing to escape), or `None` if it is not a page."""
    connection = http.client.HTTPConnection(address, port, timeout=5)
    try:
        connection.request("GET", target[1], headers={"Host": target[0]})
        answer = connection.getresponse()
        body = answer.read().decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return None  # a host that resets or breaks off is one of the world's
    finally:
        connection.close()
    return re.findall(r'href="([\w:/.~-]+)"', body, re.ASCII) if answer.status == 200 else None


def _script(port: int, targets: Targets, encoding: str) -> str:
    """Write wrk's script: each thread has an address, and sends that address's requests in turn."""
    groups = "\n".join(
        f"groups[{number}] = {{{', '.join(f'{{{json.dumps(h)}, {json.dumps(p)}}}' for h, p in pages)}}}"
        for number, pages in enumerate(targets.values(), 1)
    )
    return _SCRIPT % {
        "groups": groups,
        "addresses": ", ".join(map(json.dumps, targets)),
        "port": port,
        "encoding": encoding,
    }


async def _flood(port: int, seconds: float, encoding: str, targets: Targets) -> tuple[int, int]:
    """Send requests over all connections until the time is up; returns numbers of responses and bytes."""
    deadline = time.monotonic() + seconds
    asks = []
    for number in range(max(CONNECTIONS, len(targets))):
        address = list(targets)[number % len(targets)]
        heads = [
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: {encoding}\r\n\r\n".encode()
            for host, path in targets[address]
        ]
        asks.append(_connection(address, port, itertools.cycle(heads), deadline))
    counts = await asyncio.gather(*asks)
    return sum(count for count, _ in counts), sum(size for _, size in counts)


async def _connection(address: str, port: int, heads: Iterator[bytes], deadline: float) -> tuple[int, int]:
    """Send requests over one connection; returns numbers of responses and bytes."""
    reader, writer = await asyncio.open_connection(address, port, limit=1 << 20)
    count = size = 0
    while time.monotonic() < deadline:
        writer.write(next(heads))
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if b" 200 " not in head[:15] or not length:
            raise BenchmarkError(f"load: unexpected answer: {head[:60]!r}")
        size += len(head) + len(await reader.readexactly(int(length[1])))
        count += 1
    writer.close()
    return count, size


def main() -> None:
    """Run the load generator in a process of its own, with wrk's output."""
    port, seconds, encoding, targets = json.loads(Path(sys.argv[1]).read_text())
    begin = time.monotonic()
    count, size = asyncio.run(_flood(port, seconds, encoding, targets))
    print(f"{count} requests in {time.monotonic() - begin:.2f}s, {size}B read")


_SCRIPT = """
local groups, addresses, threads, sent, requests = {}, {%(addresses)s}, 0, 0, {}
%(groups)s
function setup(thread)
  threads = threads + 1
  thread:set("number", threads)
  thread.addr = wrk.lookup(addresses[threads], %(port)d)[1]
end
function init(args)
  for _, page in ipairs(groups[number]) do
    local headers = {Host = page[1], ["Accept-Encoding"] = "%(encoding)s"}
    requests[#requests + 1] = wrk.format("GET", page[2], headers)
  end
end
function request()
  sent = sent %% #requests + 1
  return requests[sent]
end
"""

if __name__ == "__main__":
    main()
