"""Archives of others are read as their readers read them, and ours by others: records, digests, and the index."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import lycosa
import pytest
from cdxj_indexer.main import write_cdx_index
from fastwarc.warc import ArchiveIterator, WarcRecordType
from lycosa.simnet import SimulatedInternet
from lycosa.sources import sources_of

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
SAMPLES = CORPORA / "warc-samples"

#: Files that warcio refuses, or of which it reads what is no response, and how many responses there are: the first
#: three are compressed as a whole, one has a file that came without HTTP, one has lengths that are wrong.
OURS = {
    "stormcrawler/unparsable-date.warc.gz": 1,
    "warcio/example-bad-non-chunked.warc.gz": 1,
    "warcio/example-bad.warc.gz.bad": 2,
    "warcio/example-resource.warc.gz": 1,
    "warcio/bad.arc": 0,
    "warcio/example-wrong-chunks.warc.gz": 1,
}

#: Files that have damage.
DAMAGED = {"warcio/bad.arc", "warcio/example-space-in-url.arc", "warcio/example-trunc.warc"}


def expected() -> dict[str, Any]:
    """What warcio reads of each sample: kinds, URLs, statuses, lengths and MD5 of payloads."""
    found: dict[str, Any] = json.loads((SAMPLES / "expected_by_warcio.json").read_text())
    return found


def digest_of(body: bytes) -> str:
    """The MD5 of a payload."""
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def payload(response: lycosa.Response) -> bytes:
    """A body without its content coding."""
    coding = next((value for name, value in response.headers if name.lower() == "content-encoding"), "")
    bits = {"gzip": 31, "deflate": 15}.get(coding)
    return response.body if bits is None else zlib.decompressobj(bits).decompress(response.body)


def read(path: Path) -> tuple[list[tuple[str, str]], int]:
    """The responses of a file, status and MD5 of the payload of each, and how many damages it has."""
    batches = [batch for source in sources_of(str(path)) for batch in source.read()]
    responses = [response for batch in batches for response in batch.responses]
    rows = [(str(one.status), digest_of(payload(one))) for one in responses]
    return rows, sum(len(batch.damages) for batch in batches)


@pytest.mark.parametrize("name", expected())
def test_samples_are_read_as_warcio_reads_them(name: str) -> None:
    rows, damages = read(SAMPLES / name)
    if name in OURS:
        assert len(rows) == OURS[name]
    else:
        of_warcio = [record for record in expected()[name]["records"] if record[0] == "response"]
        assert rows == [(status, digest) for _, _, status, _, digest in of_warcio]
    assert (damages > 0) == (name in DAMAGED)


class Site(BaseHTTPRequestHandler):
    """Thirty pages, some of them compressed."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send a page."""
        name = self.path.removeprefix("/") or "0"
        number = int(name) if name.isdigit() else 99
        links = "".join(f"<a href=/{other}>x</a>" for other in range(30))
        body = f"<title>{number}</title>{links if number == 0 else 'text ' * number}".encode()
        self.send_response(200 if number < 30 else 404)
        self.send_header("Content-Type", "text/html")
        if number % 3 == 1:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Stay silent."""


@pytest.fixture
def site() -> Iterator[str]:
    """The URL of a site."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def of_fastwarc(path: Path) -> list[tuple[str, str]]:
    """URL and MD5 of the payload of each response, as fastwarc reads them; all digests that are there are right."""
    rows = []
    with path.open("rb") as file:
        for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
            record.freeze()
            assert "WARC-Block-Digest" not in record.headers or record.verify_block_digest()
            record.parse_http()
            assert record.verify_payload_digest()
            rows.append((record.headers["WARC-Target-URI"].strip("<>"), digest_of(record.reader.read())))
    return rows


def of_ours(path: Path) -> list[tuple[str, str]]:
    """The same, as we read them."""
    responses = [one for source in sources_of(str(path)) for batch in source.read() for one in batch.responses]
    return [(one.request.url, digest_of(one.body)) for one in responses]


def test_what_wget_writes_is_read_as_fastwarc_reads_it(site: str, tmp_path: Path) -> None:
    command = ["wget", "-q", "-r", "-l1", "--warc-file=site", "--warc-cdx", "--compression=auto", site]
    subprocess.run(command, cwd=tmp_path, check=False, timeout=60)
    rows = of_ours(tmp_path / "site.warc.gz")
    assert rows == of_fastwarc(tmp_path / "site.warc.gz")
    assert len(rows) > 30


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Archives of a crawl, by how they are compressed."""
    folder = tmp_path_factory.mktemp("archives")
    found = {end: folder / f"pages.warc{end}" for end in ("", ".gz", ".zst")}
    with SimulatedInternet(hosts=20, pages=8, seed=5, speed=200) as net:
        outputs = [*found.values(), folder / "pages.jsonl", folder / "pages.wacz"]
        fields = ["url", "status", "body", "payload_digest"]
        list(lycosa.crawl(job=net.job_file(), output=outputs, store={"fields": fields}))
    return found


@pytest.mark.parametrize("end", ["", ".gz"])
def test_warcio_finds_all_digests_right(end: str, archives: dict[str, Path]) -> None:
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", str(archives[end])]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.count("digest pass") > 100


@pytest.mark.parametrize("end", ["", ".gz", ".zst"])
def test_an_archive_says_what_json_lines_say(end: str, archives: dict[str, Path]) -> None:
    lines = (archives[end].parent / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    urls = Counter(row["url"] for row in map(json.loads, lines) if row["status"])
    # A payload that was there before is a revisit, which has no body of its own.
    found = Counter(url for url, _ in of_ours(archives[end]))
    assert found <= urls
    assert found.total() > 0.5 * urls.total()
    if end != ".zst":
        assert of_fastwarc(archives[end]) == of_ours(archives[end])


@pytest.mark.parametrize("end", ["", ".gz"])
def test_the_index_is_that_of_cdxj_indexer(end: str, archives: dict[str, Path]) -> None:
    archive, made = archives[end], StringIO()
    write_cdx_index(made, [str(archive)], {"sort": True})
    ours = archive.with_name(f"{archive.name}.cdxj").read_text(encoding="utf-8")
    # It does not count the two line breaks behind a record that is not compressed.
    assert places(ours, 0 if end else 4) == places(made.getvalue())
    assert ours.splitlines() == sorted(ours.splitlines())


def test_a_row_names_its_record_by_its_digest(archives: dict[str, Path]) -> None:
    index = archives[".gz"].with_name("pages.warc.gz.cdxj").read_text(encoding="utf-8").splitlines()
    digests: dict[str, set[str]] = {}
    for entry in (json.loads(line.split(" ", 2)[2]) for line in index):
        digests.setdefault(entry["url"], set()).add(entry["digest"])
    rows = [json.loads(line) for line in (archives[""].parent / "pages.jsonl").read_bytes().splitlines()]
    received = [row for row in rows if row["status"]]
    assert len(received) > 100
    assert all({row["payload_digest"]} == digests[row["url"]] for row in received)
    assert all(row["payload_digest"] is None for row in rows if not row["status"])


def test_a_wacz_is_valid_to_the_tool_of_its_specification(archives: dict[str, Path]) -> None:
    path = archives[""].parent / "pages.wacz"
    command = [str(Path(sys.executable).with_name("wacz")), "validate", "-f", str(path)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    with zipfile.ZipFile(path) as package:
        pages = [json.loads(line) for line in package.read("pages/pages.jsonl").splitlines()[1:]]
        with package.open("archive/data.warc.gz") as records:
            urls = {record.headers.get("WARC-Target-URI") for record in ArchiveIterator(records)}
    assert len(pages) > 30
    assert {page["url"] for page in pages} <= urls


def places(index: str, less: int = 0) -> list[tuple[Any, ...]]:
    """The lines of an index: URL as it is sorted, time, and where the record is, with so many bytes less."""
    rows = []
    for line in index.splitlines():
        key, time, fields = line.split(" ", 2)
        found = json.loads(fields)
        place = (found["filename"], found["offset"], int(found["length"]) - less)
        rows.append((key, time, found["url"], found["digest"], *place))
    return sorted(rows)
