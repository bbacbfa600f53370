"""What a worker tells by HTTP."""

from __future__ import annotations

import urllib.error
import urllib.request
from types import SimpleNamespace
from typing import cast

import pytest
from lycosa.cluster import metrics
from lycosa.cluster.member import Member
from lycosa.cluster.metrics import WorkerFigures, serve_metrics
from lycosa.cluster.output import OutputWriter
from lycosa.cluster.ownership import Ownership
from lycosa.cluster.stage_workers import OutputFigures, ParserFigures
from lycosa.errors import LycosaError, SettingError
from prometheus_client.parser import text_string_to_metric_families


def member(owned: int) -> Member:
    """One that owns partitions with 3 URLs that wait in each, and loads one more."""
    ownership = Ownership(3.0)
    for partition in range(owned):
        ownership.assign(partition)
        ownership.loaded(partition, 0.0, is_given_back=True)
        ownership.own(partition)
    ownership.assign(owned)
    parts = {partition: SimpleNamespace(counts=lambda: {"waiting": 3, "ready": 2}) for partition in range(owned)}
    counts = {"commits": 7, "losses": 1, "dead_letters": 2}
    takeovers = {"takeovers": 2, "takeover_seconds": 3.0, "longest_takeover": 2.5}
    return cast(Member, SimpleNamespace(ownership=ownership, parts=parts, **counts, **takeovers))


def get(address: str, path: str) -> tuple[int, str]:
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:  # our own
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_prometheus_reads_what_a_worker_tells() -> None:
    writer = cast(OutputWriter, SimpleNamespace(name='pa"ges', behind=5, failures=1))
    figures = WorkerFigures("news", member(owned=2), [writer])
    figures.look()
    with serve_metrics(figures, "127.0.0.1:0") as server:
        status, text = get(server.address, "/metrics")
    assert status == 200
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples["lycosa_worker_partitions", "owned"] == 2
    assert samples["lycosa_worker_partitions", "loading"] == 1
    assert samples["lycosa_worker_waiting_urls", "news"] == 6
    assert samples["lycosa_worker_ready_addresses", "news"] == 4
    assert samples["lycosa_output_behind", "pages"] == 5
    assert samples["lycosa_output_failures_total", "pages"] == 1
    assert samples["lycosa_worker_commits_total",] == 7
    assert samples["lycosa_worker_losses_total",] == 1
    assert samples["lycosa_worker_takeover_seconds_total",] == 3.0
    assert samples["lycosa_worker_longest_takeover_seconds",] == 2.5
    assert samples["lycosa_worker_dead_letters_total",] == 2
    assert samples["process_resident_memory_bytes",] > 0


def test_who_owns_nothing_is_not_ready_and_who_hangs_is_not_well(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = WorkerFigures("news", member(owned=0), [])
    figures.look()
    with serve_metrics(figures, "127.0.0.1:0") as server:
        assert get(server.address, "/healthz") == (200, "ok\n")
        assert get(server.address, "/readyz") == (503, "no partition is owned yet\n")
        monkeypatch.setattr(metrics, "HANGS", -1.0)
        assert get(server.address, "/healthz") == (503, "the lane has not come by for 0 s\n")


def test_an_address_that_is_none_is_told() -> None:
    figures = WorkerFigures("news", member(owned=0), [])
    with pytest.raises(SettingError, match=r"--http: 'nonsense' is not allowed; allowed: ADDRESS:PORT"):
        serve_metrics(figures, "nonsense")
    with (
        serve_metrics(figures, "127.0.0.1:0") as server,
        pytest.raises(LycosaError, match="Address already in use"),
    ):
        serve_metrics(figures, server.address)


def test_a_parser_tells_what_it_has_parsed_and_whether_it_can() -> None:
    figures = ParserFigures()
    with serve_metrics(figures, "127.0.0.1:0") as server:
        assert get(server.address, "/readyz") == (503, "no partition is read yet\n")
        figures.is_member, figures.responses = True, 5
        assert get(server.address, "/readyz")[0] == 200
        assert "lycosa_parser_responses_total 5\n" in get(server.address, "/metrics")[1]
        figures.seen -= metrics.HANGS + 1
        assert get(server.address, "/healthz")[0] == 503


def test_a_writer_of_outputs_alone_tells_how_far_it_is() -> None:
    writer = cast(OutputWriter, SimpleNamespace(name="pages", behind=5, failures=1))
    with serve_metrics(OutputFigures([writer]), "127.0.0.1:0") as server:
        assert 'lycosa_output_behind{output="pages"} 5\n' in get(server.address, "/metrics")[1]
        assert get(server.address, "/readyz")[0] == 200
