"""Requests that are more than a URL, in a crawl that is killed: each comes back as it was, with its metadata."""

from __future__ import annotations

import collections
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

SEEDS = 120

#: One session: it is killed from outside, or ends. Three requests are answered at a time, each batch after a while,
#: so that a session is killed in the middle of them; answers of unrelated hosts differ, as those of no portal do.
SESSION = f"""
import dataclasses, sys, time
import lycosa
from lycosa import Request
from lycosa.fetch import ScriptedFetch

directory, is_first = sys.argv[1], sys.argv[2] == "first"

class Slow(ScriptedFetch):
    def _respond(self, request):
        assert request.purpose != "page" or (request.method == "POST" and request.body), request
        body = b"<title>%s%s</title>a text that is long enough" % (request.host.encode(), request.body)
        return request.respond(200, headers=[("Content-Type", "text/html")], body=body, address=request.addresses[0])

    def free(self):
        return min(3, super().free())

    def completed(self, most, within):
        time.sleep(0.1)
        return super().completed(most, within)

host = lambda number: f"http://93.{{number % 40}}.216.34/"
seeds = [
    Request(host(number), method="POST", body=b"%d" % number, metadata={{"id": number}}) for number in range({SEEDS})
]
settings = dict(
    user_agent="t/1 (t@example.org)", speed=200, frontier={{"snapshot_interval": 1}},
    politeness={{"host_interval": 0.2, "address_interval": 0, "robots": False}},
    store={{"fields": ["method", "metadata", "status"]}}, output=directory + "/pages.jsonl",
) if is_first else {{}}
crawl = lycosa.crawl(
    *(seeds if is_first else []), directory=directory, **settings,
    stages=lambda stages: dataclasses.replace(stages, fetch=Slow(lambda url: None)),
)
for _ in crawl:
    pass
"""


def test_requests_survive_kills_with_method_body_and_metadata(tmp_path: Path) -> None:
    moments, job, killed = random.Random(3), tmp_path / "job", 0  # noqa: S311
    for kill in range(6):
        which = "next" if (job / "job.json").exists() else "first"
        process = subprocess.Popen([sys.executable, "-c", SESSION, str(job), which])
        try:
            # The last session is left to its end.
            assert process.wait(timeout=moments.uniform(1.5, 3) if kill < 5 else 120) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            killed += process.wait() == -signal.SIGKILL
    rows = [json.loads(line) for line in (job / "pages.jsonl").read_text().splitlines()]
    assert killed >= 2, "the crawl is long enough to be killed in"
    assert {row["method"] for row in rows} == {"POST"}
    found = collections.Counter(row["metadata"]["id"] for row in rows)
    assert found == collections.Counter(range(SEEDS)), "each once"
