"""The records' encoding: CPU time and bytes per record, compared with JSON in Python."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path

from lycosa import Outcomes, Request, Responses, _core
from lycosa.job import make_job

from benchmarks.harness import Options, build_example, environment, measure, progress
from benchmarks.report import Claim, Figure, Peer, Report

BAR = 3.0  # CPU microseconds to encode and decode an outcome with 60 links, by the issue
LINKS, BATCH = 60, 256
JSON = "orjson"


def run(options: Options) -> Report:
    """Measure batches in the core, then the peer on rows of the same kind."""
    report = Report("records", options.quick)
    rounds = 7 if options.quick else 31
    if not options.peers_only:
        _core_costs(report, rounds)
    _json_costs(report, rounds)
    report.notes.append(
        f"an outcome has {LINKS} links, eight header fields and its body by handle; batches of {BATCH}; the peer "
        "reads and writes the row of such an outcome, without its heads"
    )
    return report


def _core_costs(report: Report, rounds: int) -> None:
    """Encode and decode in the core, on one core."""
    progress("requests, responses and outcomes")
    program = build_example("lycosa-records", "cost")
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        log = Path(name) / "records.json"
        cores = frozenset(sorted(os.sched_getaffinity(0))[-1:])
        measure("records", [str(program), str(rounds)], cores=cores, timeout=300, log=log, env=environment())
        costs = json.loads(log.read_text())
    for kind, cost in costs.items():
        both = [encode + decode for encode, decode in zip(cost["encode"], cost["decode"], strict=True)]
        report.figures += [
            Figure.of(f"{kind}: encode", "CPU us", cost["encode"]),
            Figure.of(f"{kind}: decode", "CPU us", cost["decode"]),
            Figure.of(f"{kind}: both", "CPU us", both),
            Figure.of(f"{kind}: size", "bytes", [cost["bytes"]]),
        ]
    both_of_outcomes = report.figures[-2].median
    claim = f"an outcome with {LINKS} links, encoded and decoded"
    report.claims.append(Claim.at_most("records-outcome", claim, both_of_outcomes, "CPU us", BAR))


def _json_costs(report: Report, rounds: int) -> None:
    """Encode and decode the same outcomes as JSON."""
    peer = Peer.package(JSON, [JSON], "a list of dicts, one a row")
    report.peers.append(peer)
    if peer.missing is not None:
        return
    import orjson

    fields = [field for field in _core.USUAL_FIELDS if field != "body"]
    rows = [orjson.loads(line) for line in _outcomes().lines(fields).splitlines()]
    encoding, decoding = [], []
    for _ in range(rounds):
        begin = time.process_time()
        message = orjson.dumps(rows)
        middle = time.process_time()
        read = orjson.loads(message)
        end = time.process_time()
        assert len(read) == BATCH
        encoding.append((middle - begin) * 1e6 / BATCH)
        decoding.append((end - middle) * 1e6 / BATCH)
    report.figures += [
        Figure.of(f"{JSON}: encode an outcome's row", "CPU us", encoding),
        Figure.of(f"{JSON}: decode an outcome's row", "CPU us", decoding),
    ]


def _outcomes() -> Outcomes:
    """Return outcomes of pages with so many links, without bodies."""
    links = "".join(f"<a href=/news/section-{link % 7}/article-{link}.html>x</a>" for link in range(LINKS))
    body = f"<title>A title as long as titles are</title>{links}".encode()
    headers = [("Content-Type", "text/html; charset=utf-8")]
    requests = [Request(f"https://www.host7.example.com/news/{number}.html") for number in range(BATCH)]
    responses = Responses(request.respond(200, headers=headers, body=body) for request in requests)
    return _core.Parser(make_job({"seeds": [requests[0].url]})).parse(responses)
