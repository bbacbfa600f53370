"""How many machines a crawl needs, reckoned from what was measured (RESULTS.md): the tables of docs/scale.md.

`python -m benchmarks plan` prints them; `--write` writes them to that page. They are a calculation: nothing here was
run on a hundred machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import BenchmarkError
from benchmarks.results import RESULTS, figures

#: The page with the tables.
PAGE = Path(__file__).parents[1] / "docs" / "scale.md"

#: What a machine is: cores, memory in bytes, bits a second of its network.
CORES, MEMORY, NETWORK = 16, 64 * 10**9, 10 * 10**9

#: The part of cores and of the network that a plan uses.
USED = 0.6

#: US dollars for a core and an hour: what Chan 2025 paid for 16 cores with local disks, by 16.
PRICE = 1.51 / 16

#: Copies of each topic.
REPLICAS = 3

#: URLs that are known for each page that is fetched: an assumption for crawls of the whole web.
KNOWN = 10.0

#: Seconds from one request of a host to the next.
INTERVAL = 1.0

PAGES = 10 * 10**9

#: How much larger the large pages are.
LARGER = 240 / 27


@dataclass(frozen=True, slots=True)
class Costs:
    """What was measured."""

    #: CPU seconds a page of a worker and of the broker: pages of 27 KB by HTTP, links only and with pages in Kafka.
    links: float
    pages: float
    broker: float
    broker_pages: float
    #: Bytes a page in Kafka.
    links_bytes: float
    pages_bytes: float
    #: CPU seconds a page of a crawl on one machine: 240 KB by HTTPS.
    large: float
    #: Bytes of memory: a known URL, all in memory and most on disk; a name with its addresses; a host with 3 URLs.
    url: float
    url_on_disk: float
    name: float
    host: float

    @property
    def broker_large(self) -> float:
        """CPU seconds of the broker, by size."""
        return self.broker_pages * LARGER

    @property
    def large_bytes(self) -> float:
        """Bytes in Kafka, by size."""
        return self.pages_bytes * LARGER

    @property
    def worker_large(self) -> float:
        """CPU seconds a page of 240 KB by HTTPS of a worker with pages: what Kafka adds is as with 27 KB, by size."""
        return self.large + (self.pages - self.links) * LARGER


def read(page: Path = RESULTS) -> Costs:
    """Return what RESULTS.md has. Raises BenchmarkError for what it has not."""
    found = figures(page)

    def of(benchmark: str, name: str) -> float:
        try:
            return found[benchmark][name]
        except KeyError:
            run = f"run `python -m benchmarks {benchmark} --write`"
            raise BenchmarkError(f"{page}: no figure {name!r} of {benchmark}; {run}") from None

    return Costs(
        links=of("cluster", "27 KB, 1 worker: CPU a page") / 1e6,
        pages=of("cluster", "27 KB, 1 worker with pages: CPU a page") / 1e6,
        broker=of("cluster", "27 KB, 1 worker: CPU a page of the broker") / 1e6,
        broker_pages=of("cluster", "27 KB, 1 worker with pages: CPU a page of the broker") / 1e6,
        links_bytes=of("cluster", "Kafka bytes a page, links only"),
        pages_bytes=of("cluster", "Kafka bytes a page, with pages"),
        large=of("crawl_costs", "240 KB, HTTPS: CPU a page") / 1e3,
        url=of("seen", "lycosa, 100 million: memory"),
        url_on_disk=of("seen", "lycosa-disk, 300 million: memory"),
        name=of("names_cache", "compact: table at 90 % load, up to 100 million names, at most"),
        host=of("hosts", "10 M hosts of 3 URLs: peak memory") * (1 << 20) / 10e6,
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sizing(costs: Costs) -> str:
    """Return what one core does, and what a page, a URL and a name take."""
    kinds = (
        ("27 KB by HTTP, links in Kafka", costs.links, costs.broker, costs.links_bytes),
        ("27 KB by HTTP, pages in Kafka", costs.pages, costs.broker_pages, costs.pages_bytes),
        ("240 KB by HTTPS, pages in Kafka", costs.worker_large, costs.broker_large, costs.large_bytes),
    )
    rows = [
        (
            name,
            f"{cpu * 1e6:,.0f} µs",
            f"{1 / cpu:,.0f}",
            f"{broker * 1e6:,.0f} µs",
            f"{size / 1e3:,.1f} KB",
            f"${million(cpu + broker * REPLICAS):.2f}",
        )
        for name, cpu, broker, size in kinds
    ]
    head = ("page", "CPU of a worker", "pages/s a core", "CPU of a broker", "Kafka, each copy", "a million pages")
    memory = [
        ("a million known URLs, all in memory", f"{costs.url:,.1f} MB"),
        ("a million known URLs, most on disk", f"{costs.url_on_disk:,.1f} MB"),
        ("a million names with their addresses", f"{costs.name:,.1f} MB"),
        ("a million hosts with three URLs each, most on disk", f"{costs.host:,.0f} MB"),
    ]
    return table(head, rows) + "\n\n" + table(("memory", ""), memory)


def million(cpu: float) -> float:
    """Return the price of a million pages that cost so many CPU seconds each."""
    return cpu * 1e6 / USED / 3600 * PRICE


def machines(costs: Costs) -> str:
    """Return what 1, 10 and 100 machines do, and how long ten billion pages take."""
    sizes: tuple[tuple[str, float, float, float], ...] = (
        ("27 KB by HTTP", costs.pages + costs.broker_pages * REPLICAS, 27e3, costs.pages_bytes),
        (
            "240 KB by HTTPS",
            costs.worker_large + costs.broker_large * REPLICAS,
            240e3,
            costs.large_bytes,
        ),
    )
    columns: list[list[str]] = []
    for count in (1, 10, 100):
        for name, cpu, size, kafka in sizes:
            by_cores = CORES * USED / cpu
            by_network = NETWORK * USED / 8 / (size + kafka * REPLICAS)
            speed = count * min(by_cores, by_network)
            known = PAGES * KNOWN / count
            columns.append(
                [
                    f"{count}, {name}",
                    f"{speed:,.0f}",
                    "network" if by_network < by_cores else "cores",
                    f"{speed * INTERVAL:,.0f}",
                    f"{speed * kafka * REPLICAS / 1e6 / count:,.0f} MB/s",
                    duration(PAGES / speed),
                    f"${PAGES / speed / 3600 * CORES * count * PRICE:,.0f}",
                    f"{known * costs.url / 1e9:,.1f} GB",
                    f"{known * costs.url_on_disk / 1e9:,.1f} GB",
                ]
            )
    head = (
        "machines, page",
        "pages/s",
        "limit",
        "sites that must be ready",
        "Kafka writes a machine",
        "10 billion pages",
        "cost",
        "known URLs a machine, in memory",
        "most on disk",
    )
    return table(head, columns)


def duration(seconds: float) -> str:
    """Write a time."""
    days = seconds / 86_400
    return f"{days:,.0f} days" if days >= 3 else f"{seconds / 3600:,.0f} h"


def published(costs: Costs) -> str:
    """Return what others have published, and the same of this plan."""
    rows = [
        ("Common Crawl 2014, live web", "19–39", "", "about 60 m2.2xlarge, 2–3 billion pages in 15–20 days"),
        ("IRLbot 2008, live web", "1,789", "", "6.3 billion pages in 41 days"),
        ("BUbiNG 2018, one agent, live web", "3,700", "", "64 cores; table of the paper, not verified"),
        ("Chan 2025, live web", "912", "$0.46", "12 machines of 16 cores, a billion pages of 242 KB in 25.5 h"),
        ("Kagi, live web", "39 in all", "", "100 million pages a month"),
        (
            "this plan, 240 KB by HTTPS",
            f"{CORES * USED / costs.worker_large:,.0f}",
            f"${million(costs.worker_large):.2f}",
            "a calculation from pages of one server on loopback",
        ),
    ]
    return table(("crawl", "pages/s a machine", "a million pages", "what it was"), rows)


#: The parts of docs/scale.md, by the names of their marks.
PARTS: Mapping[str, Callable[[Costs], str]] = {"sizing": sizing, "machines": machines, "published": published}


def filled(page: str, costs: Costs) -> str:
    """Return a page with the tables between its marks."""
    for name, part in PARTS.items():
        begin, end = f"<!-- plan: {name} -->\n", f"<!-- plan: end of {name} -->\n"
        if begin not in page or end not in page:
            raise BenchmarkError(f"{PAGE}: has no marks {begin.strip()} and {end.strip()}")
        before, rest = page.split(begin, 1)
        page = before + begin + part(costs) + "\n" + end + rest.split(end, 1)[1]
    return page


def main(*, write: bool) -> None:
    """Print all parts, or write them."""
    costs = read()
    if write:
        PAGE.write_text(filled(PAGE.read_text(), costs))
        return
    for name, part in PARTS.items():
        print(f"{name}\n\n{part(costs)}\n")
