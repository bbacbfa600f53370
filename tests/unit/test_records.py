"""Records from Python: as objects, as columns, as bytes; made, changed, selected; and what is refused."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import pickle
import time
from pathlib import Path
from typing import Any

import lycosa
import numpy as np
import pyarrow
import pyarrow.compute
import pytest
from lycosa import Outcomes, Request, Requests, Response, Responses, _core
from lycosa.fetch import ScriptedFetch
from lycosa.job import make_job
from lycosa.loop import Control, run
from lycosa.records import Entries
from lycosa.running import Running
from lycosa.stages import Stages

SITE = "http://93.184.216.34"
HTML = [("Content-Type", "text/html; charset=utf-8")]


def parsed(*responses: Response, **settings: Any) -> Outcomes:
    """What the parser makes of responses."""
    return _core.Parser(make_job({"seeds": [SITE], **settings})).parse(Responses(responses))


def test_a_request_says_what_it_asks_for_and_how() -> None:
    request = Request(
        f"{SITE}:80/search?q=1#top",
        method="POST",
        headers=[("Accept", "application/json")],
        body=b"q=1",
        metadata={"id": 7, "tags": ["a", None, {"deep": True}]},
        priority=3,
        etag='"v1"',
    )
    assert (request.url, request.host, request.port) == (f"{SITE}/search?q=1", "93.184.216.34", 80)
    assert (request.method, request.headers, request.body) == ("POST", [("Accept", "application/json")], b"q=1")
    assert (request.priority, request.depth, request.lease, request.is_plain) == (3, 0, 0, False)
    assert request.metadata == {"id": 7, "tags": ["a", None, {"deep": True}]}
    assert request == pickle.loads(pickle.dumps(Requests([request])))[0]  # noqa: S301
    assert Request(SITE).is_plain
    assert Request(SITE) != Request(SITE, method="HEAD")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"url": "nowhere"}, "URL: 'nowhere' is not allowed"),
        ({"method": "get it"}, "method: 'get it' is not allowed; allowed: a method in capital letters"),
        ({"method": "CONNECT"}, "method: 'CONNECT' is not allowed"),
        ({"headers": [("A", "b\r\nC: d")]}, "headers: .* without line breaks"),
        ({"headers": [("content-LENGTH", "7")]}, "headers: 'content-LENGTH' is not allowed; allowed: fields that"),
        ({"body": b"x" * (1 << 20) + b"x"}, "body: '1048577 bytes' is not allowed; allowed: 1048576 bytes at most"),
        ({"metadata": {"x": "y" * 70_000}}, "metadata: .* is not allowed; allowed: 65536 bytes at most"),
    ],
)
def test_what_no_request_can_be_is_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(lycosa.SettingError, match=told):
        Request(**{"url": f"{SITE}/", **arguments})


def test_metadata_is_what_json_can_hold() -> None:
    with pytest.raises(TypeError, match=r"metadata: a set is not allowed; allowed: what JSON has"):
        Request(SITE, metadata={"x": {1}})
    nested: dict[str, Any] = {}
    for _ in range(100):
        nested = {"x": nested}
    with pytest.raises(TypeError, match="metadata: such deep nesting is not allowed"):
        Request(SITE, metadata=nested)


def test_a_fetch_in_python_tells_all_that_the_core_tells() -> None:
    started = time.time() - 2
    response = Request(f"{SITE}/").respond(
        200,
        headers=[("Content-Type", "text/plain"), ("X-Bytes", b"\xff")],
        body=b"body",
        reason="Fine",
        address="93.184.216.34",
        started=started,
        times={"connect": 0.25, "first_byte": 0.5},
        source="http/1.0",
        final_url=f"{SITE}/there",
        sent=b"GET / HTTP/1.0\r\nHost: x\r\n\r\n",
    )
    assert (response.status, response.reason, response.source) == (200, "Fine", "http/1.0")
    assert response.head == b"HTTP/1.0 200 Fine\r\nContent-Type: text/plain\r\nX-Bytes: \xff\r\n"
    assert response.sent == b"GET / HTTP/1.0\r\nHost: x\r\n", "heads have no empty line at their end"
    assert (response.header("x-bytes"), response.body, response.address) == ("ÿ", b"body", "93.184.216.34")
    assert response.times == {"name": 0, "connect": 0.25, "tls": 0, "first_byte": 0.5, "body": 0}
    assert response.fetched_at == pytest.approx(time.time(), abs=5)
    failed = Request(f"{SITE}/").fail("read-timeout", "silent", address="::1")
    assert (failed.status, failed.error, failed.error_detail, failed.address) == (
        None,
        "read-timeout",
        "silent",
        "::1",
    )
    for wrong, told in (
        ({"source": "smoke"}, "source: 'smoke' is not allowed; allowed: http/1.0, http/1.1, h2, browser or cache"),
        ({"address": "here"}, "address: 'here' is not allowed; allowed: an IPv4 or IPv6 address"),
        ({"times": {"lunch": 1.0}}, "times: 'lunch' is not allowed; allowed: connect, tls, first_byte and body"),
    ):
        with pytest.raises(lycosa.SettingError, match=told):
            Request(f"{SITE}/").respond(200, **wrong)
    with pytest.raises(lycosa.SettingError, match="kind: 'tired' is not allowed"):
        Request(f"{SITE}/").fail("tired")


@pytest.mark.parametrize("unit", [1e3, 1e6, 0.0])
def test_a_time_that_cannot_be_is_refused_since_the_host_would_wait_for_it(unit: float) -> None:
    for name in ("started", "finished"):
        with pytest.raises(
            lycosa.SettingError, match=f"{name}: .* allowed: seconds since the epoch, of the last day"
        ):
            Request(f"{SITE}/").respond(200, **{name: time.time() * unit})  # type: ignore[arg-type]  # one of them


def test_a_changed_request_is_checked_as_a_new_one() -> None:
    request = Request(f"{SITE}/", headers=[("A", "b")])
    wrong: dict[str, Any] = {
        "headers": [("Host", "other")],
        "method": "GET / HTTP/1.1\r\nX:",
        "metadata": {"x": "y" * 70_000},
        "cookies": "a=b\r\nX: y",
        "body": b"x" * (1 << 20) + b"x",
    }
    for name, value in wrong.items():
        with pytest.raises(lycosa.SettingError, match="is not allowed; allowed"):
            request.replace(**{name: value})
        with pytest.raises(lycosa.SettingError, match="is not allowed; allowed"):
            Requests([request]).replace(name, [value])
    with pytest.raises(lycosa.SettingError, match=r"headers: .* without line breaks"):
        Request(f"{SITE}/", etag='"a"\r\nX: y')


def test_fields_are_bounded_and_counted() -> None:
    (outcome,) = parsed(Request(f"{SITE}/").respond(200))
    with pytest.raises(lycosa.SettingError, match=r"fields: '[0-9]+ bytes as JSON' is not allowed; allowed: 1048576"):
        outcome.replace(fields={"text": "x" * (2 << 20)})


def test_links_that_stay_keep_what_the_page_says_of_them() -> None:
    body = b"<a href=/a rel=nofollow>a</a><a href=/b>b</a>"
    response = Request(f"{SITE}/").respond(200, headers=HTML, body=body)
    outcomes = parsed(response, parse={"link_details": ["anchor"]}).map(
        lambda outcome: outcome.replace(links=[f"{SITE}/new", *reversed(outcome.links)])
    )
    names = ["links", "link_nofollow", "link_anchors"]
    assert pyarrow.table(outcomes.columns(names)).to_pylist() == [
        {
            "links": [f"{SITE}/new", f"{SITE}/b", f"{SITE}/a"],
            "link_nofollow": [False, False, True],
            "link_anchors": ["", "b", "a"],
        }
    ]


def test_links_have_priorities_that_a_batch_sets_and_every_encoding_has() -> None:
    responses = [
        Request(f"{SITE}/{n}").respond(200, headers=HTML, body=b"<a href=/a>a</a><a href=/b>b</a>") for n in range(2)
    ]
    outcomes = parsed(*responses)
    assert [outcome.link_priorities for outcome in outcomes] == [[0, 0], [0, 0]]
    ordered = outcomes.replace("link_priorities", pyarrow.array([[0, 3], [-1, 0]]))
    assert [outcome.link_priorities for outcome in Outcomes.decode(ordered.encode())] == [[0, 3], [-1, 0]]
    assert pyarrow.table(ordered.columns(["link_priorities"])).to_pylist()[0] == {"link_priorities": [0, 3]}
    assert ordered.lines(["link_priorities"]).splitlines()[1] == b'{"link_priorities":[-1,0]}'
    moved = ordered[0].replace(links=[f"{SITE}/b", f"{SITE}/new"])
    assert moved.link_priorities == [3, 0]
    for wrong in ([1], [1, 2, 3], ["a", "b"], [1 << 40, 0], 7):
        with pytest.raises(lycosa.SettingError, match=r"link_priorities: .*a list of int of 32 bits, one for each"):
            ordered[0].replace(link_priorities=wrong)


def test_pages_of_a_fetch_in_python_fit_into_memory_however_much_they_decode_to() -> None:
    bomb = gzip.compress(b"x" * (4 << 20))
    headers = [*HTML, ("Content-Encoding", "gzip")]
    responses = [Request(f"{SITE}/{n}").respond(200, headers=headers, body=bomb) for n in range(12)]
    parser = _core.Parser(make_job({"seeds": [SITE]}), batch=8 << 20)
    batches = [parser.parse(Responses(responses))]
    assert len(batches[0]) < 12
    while len(more := parser.parse(Responses())):
        batches.append(more)
    assert sorted(outcome.url for batch in batches for outcome in batch) == sorted(r.url for r in responses)


def test_a_page_is_read_under_the_url_that_a_browser_showed_it_under() -> None:
    response = Request(f"{SITE}/a").respond(200, headers=HTML, body=b"<a href=c>c</a>", final_url=f"{SITE}/b/")
    (outcome,) = parsed(response)
    assert outcome.links == [f"{SITE}/b/c"]


def test_batches_are_selected_mapped_and_changed() -> None:
    outcomes = parsed(*(Request(f"{SITE}/{number}").respond(200 + number % 2) for number in range(6)))
    table = pyarrow.table(outcomes.columns(["url", "status"]))
    odd = outcomes.select(pyarrow.compute.equal(table["status"], 201))
    assert [outcome.url[-2:] for outcome in odd] == ["/1", "/3", "/5"]
    assert len(outcomes) == 6, "a selection changes nothing"
    titled = odd.replace("title", ["a", None, "c"])
    assert [outcome.title for outcome in titled] == ["a", None, "c"]
    assert [outcome.title for outcome in odd] == [None] * 3, "a copy was changed"
    shortened = titled.map(lambda outcome: outcome.replace(title=outcome.title.upper()) if outcome.title else None)
    assert [outcome.title for outcome in shortened] == ["A", "C"]
    with pytest.raises(lycosa.SettingError, match="mask: '2 values' is not allowed; allowed: one for each of the 3"):
        odd.select([True, False])
    with pytest.raises(lycosa.SettingError, match=r"column: 'url' is not allowed; allowed: one of .*title"):
        odd.replace("url", ["a", "b", "c"])
    with pytest.raises(lycosa.SettingError, match="title: '7' is not allowed; allowed: a str or None"):
        odd.replace("title", [7, 7, 7])
    with pytest.raises(TypeError, match="an item of the batch is a int; allowed: Outcome or None"):
        odd.map(lambda outcome: 7)  # type: ignore[arg-type,return-value]  # wrong on purpose
    with pytest.raises(IndexError, match="7 of 3 records"):
        odd[7]


def test_batches_travel_as_bytes_and_are_the_same_there() -> None:
    packed = gzip.compress(b"<title>packed</title>")
    outcomes = parsed(
        Request(f"{SITE}/a", metadata={"id": 1}).respond(
            200, headers=[*HTML, ("Content-Encoding", "gzip")], body=packed, address="93.184.216.34"
        ),
        Request(f"{SITE}/b").fail("read-timeout"),
    )
    there: Outcomes = pickle.loads(pickle.dumps(outcomes))  # noqa: S301
    assert [outcome.url for outcome in there] == [f"{SITE}/a", f"{SITE}/b"]
    assert (there[0].title, there[0].metadata, there[0].wire_body) == ("packed", {"id": 1}, packed)
    assert there[0].body == b"<title>packed</title>", "decoded again, where somebody asks"
    assert there[0].text == "<title>packed</title>"
    assert pyarrow.table(there).to_pylist() == pyarrow.table(outcomes).to_pylist()
    assert there[1].error == "read-timeout"


def test_damaged_and_newer_batches_are_refused() -> None:
    encoded = Requests([Request(f"{SITE}/a")]).encode()
    for place in range(len(encoded)):
        damaged = bytearray(encoded)
        damaged[place] ^= 0x20
        with pytest.raises((ValueError, lycosa.JobVersionError)):
            Requests.decode(bytes(damaged))
    with pytest.raises(ValueError, match="a record of another kind: page"):
        Requests.decode(parsed(Request(f"{SITE}/a").respond(200)).encode())
    assert len(Requests.decode(b"")) == 0
    with pytest.raises(ValueError, match="no batch of records of the log"):
        Entries.decode(b"")


def test_a_batch_that_was_looked_at_still_works(tmp_path: Path) -> None:
    job = make_job(
        {
            "seeds": [f"{SITE}/"],
            "politeness": {"robots": False, "host_interval": 0, "address_interval": 0, "retry_delay": 0},
            "frontier": {"patience": 0},
        }
    )
    held: list[lycosa.Outcome] = []

    class Looking:
        """A parse that keeps all that it has seen."""

        def __init__(self) -> None:
            self.core = _core.Parser(job)

        def parse(self, responses: Responses) -> Outcomes:
            held.extend(outcomes := self.core.parse(responses))
            return outcomes

    stages = Stages(
        frontier=_core.Frontier(job, _core.Names(job)),
        fetch=ScriptedFetch(lambda url: "read-timeout"),
        parse=Looking(),
        log=_core.Log(tmp_path / "log", 1 << 20),
    )
    stages.frontier.add([f"{SITE}/"])
    ended = [outcome for batch in run(stages, Control()) for outcome in batch]
    assert [outcome.retry for outcome in ended] == [True, True, False], (
        "a try that was looked at is still no last one"
    )
    assert [outcome.retry for outcome in held] == [False] * 3, "what was held is as it was"
    assert stages.log.summary()["retries"] == 2


def test_what_is_attached_to_a_seed_comes_with_its_outcome_whatever_is_between(tmp_path: Path) -> None:
    answers: dict[str, Any] = {
        f"{SITE}/old": (302, [("Location", "/new")], b""),
        f"{SITE}/new": (200, HTML, b"<a href=/linked>x</a>"),
        f"{SITE}/linked": (200, HTML, b""),
    }
    fetch = ScriptedFetch(lambda url: answers.get(url, (404, [], b"")))
    crawl = lycosa.crawl(
        Request(f"{SITE}/old", metadata={"customer": 12}),
        directory=tmp_path / "job",
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0},
        stages=lambda stages: dataclasses.replace(stages, fetch=fetch),
    )
    found = {outcome.url.removeprefix(SITE): outcome.metadata for outcome in crawl}
    assert found == {"/new": {"customer": 12}, "/linked": {}}, "it is the seed's, not that of pages behind it"


def test_a_post_is_another_request_than_the_get_of_its_url(tmp_path: Path) -> None:
    asked: list[tuple[str, str, bytes]] = []

    class Posting(ScriptedFetch):
        """Notes what it is asked."""

        def submit(self, requests: Requests) -> None:
            asked.extend((r.method, r.url.removeprefix(SITE), r.body) for r in requests if r.purpose == "page")
            super().submit(requests)

    seeds: list[str | Request] = [
        f"{SITE}/s",
        *(Request(f"{SITE}/s", method="POST", body=body) for body in (b"1", b"2", b"1")),
    ]
    crawl = lycosa.crawl(
        *seeds,
        directory=tmp_path / "job",
        user_agent="t/1 (t@example.org)",
        politeness={"host_interval": 0, "address_interval": 0},
        stages=lambda stages: dataclasses.replace(stages, fetch=Posting(lambda url: (200, [], b""))),
    )
    assert len(list(crawl)) == 3
    assert sorted(asked) == [("GET", "/s", b""), ("POST", "/s", b"1"), ("POST", "/s", b"2")]


def test_what_is_given_again_is_the_same_request_and_brings_what_is_attached_now(tmp_path: Path) -> None:
    asked: list[tuple[str, str]] = []

    class Noting(ScriptedFetch):
        """Notes what it is asked."""

        def submit(self, requests: Requests) -> None:
            asked.extend((r.method, r.url.removeprefix(SITE)) for r in requests if r.purpose == "page")
            super().submit(requests)

    def session(*seeds: str | Request, **settings: Any) -> list[tuple[str, Any]]:
        asked.clear()
        crawl = lycosa.crawl(
            *seeds,
            directory=tmp_path / "job",
            stages=lambda stages: dataclasses.replace(stages, fetch=Noting(lambda url: (200, [], b""))),
            **settings,
        )
        return [(outcome.request.method, outcome.metadata.get("run")) for outcome in crawl]

    post = Request(f"{SITE}/s", method="POST", body=b"order=1")
    settings: dict[str, Any] = {
        "user_agent": "t/1 (t@example.org)",
        "politeness": {"host_interval": 0, "address_interval": 0},
    }
    session(f"{SITE}/s", post, **settings)
    assert sorted(asked) == [("GET", "/s"), ("POST", "/s")]
    assert session(f"{SITE}/s") == [("GET", None)], "an order is not sent again"
    assert session(Request(f"{SITE}/s", metadata={"run": 2})) == [("GET", 2)]
    again = Request(f"{SITE}/s", method="POST", body=b"order=1", metadata={"run": 3})
    assert session(again) == [("POST", 3)]
    assert session() == []


def test_requests_of_a_session_that_died_at_once_are_not_lost(tmp_path: Path) -> None:
    def begin(*seeds: Request, **settings: Any) -> lycosa.Crawl:
        return lycosa.crawl(
            *seeds,
            directory=tmp_path / "job",
            stages=lambda stages: dataclasses.replace(stages, fetch=ScriptedFetch(lambda url: (200, [], b""))),
            **settings,
        )

    politeness: Any = {"host_interval": 0, "address_interval": 0}
    first = begin(
        Request(f"{SITE}/a", method="POST", metadata={"n": 1}),
        user_agent="t/1 (t@example.org)",
        politeness=politeness,
    )
    directory = first.plan.directory
    assert directory is not None
    running = Running(first.plan, directory, Control(), None)
    running.finish(KeyboardInterrupt())
    del running
    found = [(o.request.method, o.url.removeprefix(SITE), o.metadata) for o in begin(Request(f"{SITE}/b"))]
    assert sorted(found) == [("GET", "/b", {}), ("POST", "/a", {"n": 1})]


def test_the_columns_of_a_batch_can_be_put_into_it_again() -> None:
    post = Request(SITE, method="POST", headers=[("X", "\u00e9")], metadata={"id": [7]})
    page = Request(SITE).respond(200, headers=HTML, body=b"<a href=/x>x</a>")
    requests, responses = Requests([Request(SITE), post]), Responses([page, post.fail("timeout")])
    outcomes = parsed(*responses).replace("fields", [{"price": 1.5}, {}])
    for batch, names in (
        (requests, ("method", "priority", "cookies", "headers", "metadata", "body")),
        (responses, ("body",)),
        (outcomes, ("title", "noindex", "nofollow", "links", "fields", "link_priorities")),
    ):
        for name in names:
            again = batch.replace(name, pyarrow.table(batch.columns([name]))[name])
            assert again.encode() == batch.encode(), name
    assert Request(SITE).replace(method="GET", priority=0) == Request(SITE)
    assert Request(SITE, method="HEAD").replace(method="GET").is_plain
    assert outcomes.replace("noindex", np.array([True, False]))[0].noindex


def test_a_value_that_no_column_can_have_is_told_with_the_column() -> None:
    requests = Requests([Request(SITE)])
    for name, value, told in (
        ("priority", 2**70, "priority: '1180591620717411303424' is not allowed; allowed: an int of at most 64 bits"),
        ("cookies", "\ud800", "cookies: .* is not allowed; allowed: text without single surrogates"),
        ("metadata", "[1]", "metadata: .* is not allowed; allowed: a dict, or the JSON text of one"),
        ("metadata", "{", "metadata: .* is not allowed; allowed: a dict, or the JSON text of one"),
    ):
        with pytest.raises(lycosa.SettingError, match=told):
            requests.replace(name, [value])


def test_values_without_end_are_too_many() -> None:
    batch = parsed(Request(SITE).respond(200))
    with pytest.raises(lycosa.SettingError, match="mask: 'more than 1 values' is not allowed"):
        batch.select(itertools.cycle([True]))
    with pytest.raises(lycosa.SettingError, match="title: 'more than 1 values' is not allowed"):
        batch.replace("title", itertools.repeat(None))


def test_bodies_of_a_batch_that_travelled_are_in_lines_as_in_columns() -> None:
    batch = parsed(Request(SITE).respond(200, headers=HTML, body=b"<p>page</p>"))
    for other in (Outcomes.decode(batch.encode()), pickle.loads(pickle.dumps(batch))):  # noqa: S301
        assert other.lines(["url", "body", "text"]) == batch.lines(["url", "body", "text"])
        assert b"<p>page</p>" in other.lines(["body"])


def test_rows_stay_in_a_batch_whose_columns_are_taken_by_a_wrong_name() -> None:
    batch = parsed(Request(SITE).respond(200))
    with pytest.raises(lycosa.SettingError, match="columns: 'titel' is not allowed"):
        batch.take_columns(["titel"])
    assert (len(batch.take_columns(["title"])), len(batch)) == (1, 0)


def test_texts_are_as_long_as_the_job_allows() -> None:
    page = Request(SITE).respond(200, headers=HTML, body=b"x" * (33 << 20))
    batch = parsed(page, **{"parse": {"max_decoded_bytes": 64 << 20}})
    assert len(pyarrow.table(batch.columns(["text"]))["text"][0].as_py()) == 33 << 20


def test_links_keep_their_text_and_rel_where_that_is_asked_for() -> None:
    body = b'<a href=/a rel="next ugc">The <b>next</b> one</a><a href=/b>plain</a>'
    response = Request(f"{SITE}/").respond(200, headers=HTML, body=body)
    (outcome,) = parsed(response, parse={"link_details": ["anchor", "rel"]})
    assert outcome.link_anchors == ["The next one", "plain"]
    table = pyarrow.table(Outcomes([outcome]).columns(["links", "link_anchors", "link_rels"]))
    assert table.to_pylist() == [
        {
            "links": [f"{SITE}/a", f"{SITE}/b"],
            "link_anchors": ["The next one", "plain"],
            "link_rels": ["next ugc", ""],
        }
    ]
    (outcome,) = parsed(response)
    assert outcome.link_anchors == ["", ""]
