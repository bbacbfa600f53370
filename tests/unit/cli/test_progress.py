"""What a person reads of a crawl: rates of this session, why nothing runs, one page and two pages."""

from __future__ import annotations

import copy
from typing import Any

import lycosa
import pytest
from lycosa.cli.progress import Progress, print_summary
from lycosa.simnet import SimulatedInternet

STATUS = "exit status 0: all that was asked for has an answer"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """A small crawl's report."""
    with SimulatedInternet(hosts=3, pages=3, speed=200) as net:
        crawl = lycosa.crawl(job=net.job_file())
        list(crawl)
    return crawl.report()


def told(report: dict[str, Any], **changed: Any) -> str:
    """The progress line of a report, some of whose figures are others."""
    report = copy.deepcopy(report)
    for name, value in changed.items():
        target = report["frontier"] if name in ("waiting", "hosts", "unresolved", "next_turn_us") else report
        target[name] = value
    return Progress(lycosa.Crawl.__new__(lycosa.Crawl))._line(report)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"waiting": 501, "unresolved": 0, "next_turn_us": 800_000}, "501 waiting (next turn in 0.8 s: politeness)"),
        ({"waiting": 501, "unresolved": 0, "next_turn_us": 0}, "501 waiting (next turn in 0.0 s: politeness)"),
        ({"waiting": 501, "unresolved": 7}, "501 waiting (resolving names), 0 in flight"),
        ({"waiting": 5, "in_flight": 1}, "5 waiting, 1 in flight"),
        ({"waiting": 5, "suspensions": [{"cause": "names", "since": 0}]}, " s: names), 0 in flight"),
        (
            {"waiting": 5, "unresolved": 0, "failing": [{"host": "a.com", "waiting": 5, "until": 0}]},
            "5 waiting (1 host failing, the last tried until ",
        ),
        ({"pages": 1, "hosts": 1, "unresolved": 1}, "1 page, "),
        ({"hosts": 1, "unresolved": 1}, "1 host, 1 name resolving"),
        ({"full_disks": ["/x"], "waiting": 5}, "5 waiting, 0 in flight"),
    ],
)
def test_a_progress_line_says_why_nothing_runs(changed: dict[str, Any], words: str, report: dict[str, Any]) -> None:
    assert words in told(report, **changed)


def test_the_first_rate_counts_this_session_alone(report: dict[str, Any]) -> None:
    resumed = {**report["session"], "pages": 70, "seconds": 5.0}
    assert "5 s: 282 pages, 14/s" in told(report, pages=282, session=resumed)


def test_a_summary_without_pages_has_no_cost_of_a_page(
    report: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    print_summary({**report, "pages": 0, "sessions": 2, "session": {**report["session"], "pages": 0}}, STATUS)
    summary = capsys.readouterr().out
    assert "a page)" not in summary
    assert "0 pages in" in summary
    assert "of these in this session" in summary
    assert "finished: nothing is left to fetch" in summary
    assert summary.splitlines()[-1] == STATUS
    print_summary(report, STATUS)
    summary = capsys.readouterr().out
    assert "µs a page" in summary
    assert "bound reached" not in summary
    print_summary(report, STATUS, to_standard=False)
    assert capsys.readouterr().out == ""


def test_a_summary_tells_which_bounds_were_reached_and_where(
    report: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    bounds = {"links": {"count": 2, "first": ["http://a.com/", "http://b.com/"]}}
    print_summary({**report, "bounds": bounds}, STATUS)
    summary = " ".join(capsys.readouterr().out.split())
    assert "bound reached: links" in summary
    assert "2 pages, the first: http://a.com/" in summary
