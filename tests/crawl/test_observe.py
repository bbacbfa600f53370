"""A running crawl tells what it does: metrics, traces, a report that adds up, and what is stuck."""

from __future__ import annotations

import gc
import json
import logging
import socket
import threading
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import LycosaError, Outcomes, Sink
from lycosa.fetch import ScriptedFetch
from lycosa.fetch.scripted import Answer
from lycosa.observe.metrics import FAMILIES
from lycosa.records import Requests
from lycosa.simnet import SimulatedInternet
from lycosa.stages import Frontier, Stages
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.ports import free_port

SITE = "http://93.184.216.34"
PAGES = 40


def answer(url: str) -> Answer:
    """A site of some pages, of which one is missing."""
    html, path = [("Content-Type", "text/html")], url.removeprefix(SITE)
    if path == "/":
        return (200, html, "".join(f"<a href=/{number}>x</a>" for number in range(PAGES)).encode())
    return (200, html, b"<title>x</title>") if path[1:].isdigit() and path != "/7" else (404, html, b"")


def make(folder: Path, output: Any = None, **settings: Any) -> lycosa.Crawl:
    """A crawl of the site."""
    return lycosa.crawl(
        f"{SITE}/",
        directory=folder / "job",
        output=output or folder / "pages.jsonl",
        stages=settings.pop("stages", lambda stages: replace(stages, fetch=ScriptedFetch(answer))),
        user_agent="test/1.0 (me@example.org)",
        **({"politeness": {"host_interval": 0, "address_interval": 0, "share_clocks": False}} | settings),
    )


def get(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return str(answer.read(), "utf-8")


def values(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """What a scrape says, as Prometheus's own parser reads it: by name and labels."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name][tuple(sample.labels.values())] = sample.value
    return found


def test_a_running_crawl_serves_its_metrics_and_its_report(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    seen = 0
    for _ in make(tmp_path, observe={"http": address}):
        seen += 1
        if seen == PAGES // 2:
            metrics, report = values(get(address, "/metrics")), json.loads(get(address, "/report"))
            assert get(address, "/healthz").strip() == "ok"
    assert {f"lycosa_crawl_{name}" for name in FAMILIES} >= {
        name for name in metrics if name.startswith("lycosa_crawl_")
    }
    assert metrics["lycosa_crawl_pages"][()] >= seen // 2
    assert report["pages"] >= metrics["lycosa_crawl_pages"][()]
    assert not any("93.184.216.34" in label for found in metrics.values() for labels in found for label in labels)


def test_the_report_of_a_crawl_that_has_ended_adds_up(tmp_path: Path) -> None:
    for _ in make(tmp_path, observe={"price": 0.05}):
        pass
    report = json.loads((tmp_path / "job" / "report.json").read_text(encoding="utf-8"))
    assert report["balance"]["difference"] == 0
    assert report["balance"]["admitted"] == PAGES + 1
    assert report["statuses"] == {"200": PAGES, "404": 1}
    assert report["types"]["text/html"]["responses"] == PAGES + 2, "with robots.txt"
    assert sum(report["session"]["cpu_by_stage"].values()) == pytest.approx(report["session"]["cpu_seconds"], rel=0.5)
    page = (tmp_path / "job" / "report.html").read_text(encoding="utf-8")
    assert "a million pages" in page
    assert "93.184.216.34" in page


@pytest.mark.parametrize("profile", ["hostile", "internet"])
def test_counters_add_up_in_worlds_of_all_kinds(tmp_path: Path, profile: str) -> None:
    with SimulatedInternet(hosts=30, pages=5, seed=3, speed=100, profile=profile) as net:
        crawl = lycosa.crawl(job=net.job_file(), directory=tmp_path / "job", max_pages=400)
        for _ in crawl:
            pass
    report = crawl.report()
    assert report["balance"]["difference"] == 0, report["balance"]
    assert sum(report["statuses"].values()) + sum(report["failures"].values()) >= report["pages"] > 0


class Hanging(Sink):
    """An output that does not return for a while."""

    def __init__(self, seconds: float) -> None:
        super().__init__("hanging://here")
        self._seconds = seconds

    def write(self, outcomes: Outcomes, position: int) -> None:
        seconds, self._seconds = self._seconds, 0.0
        time.sleep(seconds)


def test_an_output_that_hangs_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lycosa"):
        for _ in make(tmp_path, Hanging(4.0), observe={"stuck_after": 1}):
            pass
    told = [record.getMessage() for record in caplog.records if "moved" in record.getMessage()]
    assert told
    assert told[0].startswith("output hanging://here has not moved for ")
    assert any("hanging://here moves again" in record.getMessage() for record in caplog.records)


class Withholding:
    """A frontier that offers nothing for a while, without a reason."""

    def __init__(self, frontier: Frontier, seconds: float) -> None:
        self._frontier, self._seconds, self._until = frontier, seconds, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)

    def take(self, max: int) -> Requests:
        self._until = self._until or time.monotonic() + self._seconds
        return self._frontier.take(max) if time.monotonic() > self._until else Requests()


def test_a_frontier_that_offers_nothing_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def change(stages: Stages) -> Stages:
        return replace(stages, fetch=ScriptedFetch(answer), frontier=Withholding(stages.frontier, 5.0))

    with caplog.at_level(logging.INFO, "lycosa"):
        settings = {"observe": {"stuck_after": 1}, "fetch": {"total_timeout": 1}}
        assert sum(1 for _ in make(tmp_path, stages=change, **settings)) == PAGES + 1
    told = [record.getMessage() for record in caplog.records if "mov" in record.getMessage()]
    assert told[0].startswith("frontier has not moved for ")
    assert told[0].endswith(": 1 URL to fetch, and 1 host without an answer of the resolver")


@contextmanager
def collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A collector of traces: its URL, and what it got."""
    got: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def spans(got: list[ExportTraceServiceRequest]) -> list[Any]:
    return [
        span
        for request in got
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def test_a_url_is_a_trace() -> None:
    with SimulatedInternet(hosts=4, pages=6, seed=5, speed=200) as net, collector() as (address, got):
        crawl = lycosa.crawl(job=net.job_file(), observe={"traces": address, "trace_share": 1.0})
        pages = [page.url for page in crawl]
    traces: dict[bytes, dict[str, Any]] = defaultdict(dict)
    for span in spans(got):
        traces[span.trace_id][span.name] = span
    urls = {
        next(each.value.string_value for each in trace["url"].attributes if each.key == "url.full"): trace
        for trace in traces.values()
    }
    assert set(pages) <= set(urls)
    for url in pages:
        trace = urls[url]
        assert {"url", "resolve", "connect", "wait", "read", "parse", "store"} <= set(trace)
        assert all(span.end_time_unix_nano >= span.start_time_unix_nano for span in trace.values())
        assert trace["parse"].start_time_unix_nano >= trace["wait"].start_time_unix_nano


def test_a_function_is_an_output(tmp_path: Path) -> None:
    urls: list[str] = []
    for _ in make(tmp_path, lambda outcomes: urls.extend(outcome.url for outcome in outcomes)):
        pass
    assert len(set(urls)) == len(urls) == PAGES + 1


def test_a_port_that_is_taken_is_told_before_anything_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = "{}:{}".format(*taken.getsockname())
        with pytest.raises(LycosaError, match=address):
            list(make(tmp_path, observe={"http": address}))
    gc.collect()
    assert sum(1 for _ in make(tmp_path)) == PAGES + 1


def test_only_some_urls_are_traced(tmp_path: Path) -> None:
    with collector() as (address, got):
        for _ in make(tmp_path, observe={"traces": address, "trace_share": 0.2}):
            pass
    traced = {span.trace_id for span in spans(got)}
    assert 0 < len(traced) < PAGES * 0.6


def test_a_collector_that_is_away_does_not_hold_the_crawl(tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}/v1/traces"
    assert sum(1 for _ in make(tmp_path, observe={"traces": address, "trace_share": 1.0})) == PAGES + 1


@pytest.mark.parametrize("settings", [{}, {"frontier": {"shards": 2}}])
def test_a_crawl_that_is_polite_is_not_stuck(
    settings: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A pause longer than what is taken for stuck: before the first request, and between two, also in one shard."""
    politeness = {"host_interval": 4, "address_interval": 4, "share_clocks": False}
    settings |= {"politeness": politeness, "observe": {"stuck_after": 1}, "fetch": {"total_timeout": 1}}
    with caplog.at_level(logging.INFO, "lycosa"):
        assert sum(1 for _ in make(tmp_path, max_pages=2, **settings)) == 2
    assert not [record for record in caplog.records if "moved" in record.getMessage()]
