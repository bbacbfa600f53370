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

#: The part of cores, of memory and of the network that a plan uses.
USED = 0.6

#: US dollars for a core and an hour: what Chan 2025 paid for 16 cores with local disks, by 16.
PRICE = 1.51 / 16

#: Copies of each topic.
REPLICAS = 3

#: URLs that are known for each page that is fetched, at most: an assumption for crawls of the whole web.
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
    def kinds(self) -> list[Kind]:
        """The kinds of crawls; of large pages, what Kafka adds is taken to be as of small ones, by size."""
        added = self.pages - self.links
        return [
            Kind("27 KB by HTTP, links in Kafka", 27e3, self.links, self.broker, self.links_bytes),
            Kind("27 KB by HTTP, pages in Kafka", 27e3, self.pages, self.broker_pages, self.pages_bytes),
            Kind(
                "240 KB by HTTPS, pages in Kafka",
                240e3,
                self.large + added * LARGER,
                self.broker_pages * LARGER,
                self.pages_bytes * LARGER,
            ),
        ]


@dataclass(frozen=True, slots=True)
class Kind:
    """A page: its bytes, CPU seconds of a worker and of each broker with a copy of it, and bytes of each copy."""

    name: str
    size: float
    worker: float
    broker: float
    kafka: float

    @property
    def by_cores(self) -> float:
        """Pages a second of a machine, by its cores."""
        return CORES * USED / (self.worker + self.broker * REPLICAS)

    @property
    def by_network(self) -> float:
        """Pages a second of a machine, by its network."""
        return NETWORK * USED / 8 / (self.size + self.kafka * REPLICAS)

    @property
    def speed(self) -> float:
        """Pages a second of a machine."""
        return min(self.by_cores, self.by_network)

    def price(self, pages: float) -> float:
        """Return the US dollars for so many pages."""
        return pages / self.speed / 3600 * CORES * PRICE


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
        pages=of("cluster", "27 KB, 1 worker, with pages and an output: CPU a page") / 1e6,
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
    rows = [
        (
            kind.name,
            f"{kind.worker * 1e6:,.0f} µs",
            f"{1 / kind.worker:,.0f}",
            f"{kind.broker * 1e6:,.0f} µs",
            f"{kind.kafka / 1e3:,.1f} KB",
            f"${kind.price(1e6):.2f}",
        )
        for kind in costs.kinds
    ]
    head = ("page", "CPU of a worker", "pages/s a core", "CPU of a broker", "Kafka, each copy", "a million pages")
    memory = [
        ("a million known URLs, all in memory", f"{costs.url:,.1f} MB"),
        ("a million known URLs, most on disk", f"{costs.url_on_disk:,.1f} MB"),
        ("a million names with their addresses", f"{costs.name:,.1f} MB"),
        ("a million hosts with three URLs each, most on disk", f"{costs.host:,.0f} MB"),
    ]
    return table(head, rows) + "\n\n" + table(("memory", ""), memory)


def machines(costs: Costs) -> str:
    """Return what 1, 10 and 100 machines do, how long ten billion pages take, and what known URLs take of memory."""
    rows: list[list[str]] = []
    for count in (1, 10, 100):
        for kind in costs.kinds[1:]:
            speed = count * kind.speed
            rows.append(
                [
                    f"{count}, {kind.name.removesuffix(', pages in Kafka')}",
                    f"{speed:,.0f}",
                    "network" if kind.by_network < kind.by_cores else "cores",
                    f"{speed * INTERVAL:,.0f}",
                    f"{kind.speed * kind.kafka * REPLICAS / 1e6:,.0f} MB/s",
                    duration(PAGES / speed),
                    f"${kind.price(PAGES):,.0f}",
                    memory(PAGES / count * costs.url),
                    memory(PAGES / count * costs.url_on_disk),
                    memory(PAGES * KNOWN / count * costs.url_on_disk),
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
        "10 billion known URLs, in memory, a machine",
        "most on disk",
        f"{PAGES * KNOWN / 1e9:,.0f} billion, most on disk",
    )
    return table(head, rows)


def memory(size: float) -> str:
    """Write bytes of memory of one machine, and whether it has them."""
    return f"{size / 1e9:,.1f} GB" + (": too much" if size > MEMORY * USED else "")


def duration(seconds: float) -> str:
    """Write a time."""
    days = seconds / 86_400
    return f"{days:,.0f} days" if days >= 3 else f"{seconds / 3600:,.0f} h"


def published(costs: Costs) -> str:
    """Return what others have published, and the same of this plan."""
    large = costs.kinds[-1]
    rows = [
        ("Common Crawl 2014, live web", "19–39", "", "about 60 m2.2xlarge, 2–3 billion pages in 15–20 days"),
        ("IRLbot 2008, live web", "1,789", "", "6.3 billion pages in 41 days"),
        ("BUbiNG 2018, one agent, live web", "3,700", "", "64 cores; table of the paper, not verified"),
        ("Chan 2025, live web", "912", "$0.46", "12 machines of 16 cores, a billion pages of 242 KB in 25.5 h"),
        ("Kagi, live web", "39 in all", "", "100 million pages a month"),
        (
            f"this plan, {large.name}",
            f"{large.speed:,.0f}",
            f"${large.price(1e6):.2f}",
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
