"""What a crawl records of an exchange is what was on the wire: WARC files that warcio makes of it are valid."""

from __future__ import annotations

import gzip
import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import lycosa
import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeadersParser
from warcio.warcwriter import WARCWriter

PACKED = gzip.compress(b"<title>packed</title>" * 9, mtime=0)
PAGE = b"<title>odd</title><a href=/packed>x</a><a href=/chunked>x</a><a href=/hinted>x</a>"

#: Path to the bytes of a head and of a body, as they are sent: odd cases, spaces, a name twice, no ASCII.
RESPONSES = {
    "/robots.txt": (b"HTTP/1.1 404 Not here\r\nContent-Length: 0\r\n\r\n", b""),
    "/": (
        b"HTTP/1.1 200 Fine, thanks\r\nCONTENT-type:  text/html\r\nx-Odd:\tone \r\nX-Odd: tw\xf6\r\n"
        b"Set-Cookie: a=1\r\n"
        b"Set-Cookie: b=2\r\nContent-Length: %d\r\n\r\n" % len(PAGE),
        PAGE,
    ),
    "/packed": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        % len(PACKED),
        PACKED,
    ),
    "/chunked": (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"5;a=b\r\n<titl\r\n6\r\ne>x</t\r\n0\r\nTrailer-Field: yes\r\n\r\n",
    ),
    "/hinted": (
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n",
        b"ok",
    ),
}


@pytest.fixture
def wire() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The URL of a server that sends these bytes, and the bytes of the request for each path."""
    received: dict[str, bytes] = {}

    def serve(connection: socket.socket) -> None:
        with connection:
            data = b""
            while piece := connection.recv(65_536):
                data += piece
                while b"\r\n\r\n" in data:
                    head, _, data = data.partition(b"\r\n\r\n")
                    path = head.split()[1].decode()
                    received[path] = head + b"\r\n\r\n"
                    connection.sendall(b"".join(RESPONSES[path]))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", received
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def archive(outcomes: list[lycosa.Outcome], path: Path) -> None:
    """Write a WARC file: a response and a request for each outcome."""
    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=True)
        for outcome in outcomes:
            head = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1"]).parse(io.BytesIO(outcome.response_head + b"\r\n"))
            body = io.BytesIO(outcome.wire_body)
            response = writer.create_warc_record(outcome.url, "response", payload=body, http_headers=head)
            asked = StatusAndHeadersParser(["GET", "HEAD", "POST"]).parse(io.BytesIO(outcome.request_head + b"\r\n"))
            request = writer.create_warc_record(
                outcome.url, "request", payload=io.BytesIO(outcome.request.body), http_headers=asked
            )
            writer.write_request_response_pair(request, response)
            request.raw_stream.close()  # files that warcio has made
            response.raw_stream.close()


def test_heads_and_bodies_are_those_of_the_wire_and_make_a_valid_archive(
    wire: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    url, received = wire
    crawl = lycosa.crawl(
        f"{url}/",
        user_agent="t/1 (t@example.org)",
        allow_addresses=["127.0.0.0/8"],
        politeness={"host_interval": 0, "address_interval": 0, "share_clocks": False},
        directory=tmp_path / "job",
    )
    outcomes = {outcome.url.removeprefix(url): outcome for outcome in crawl}
    assert set(outcomes) == set(RESPONSES) - {"/robots.txt"}
    for path, outcome in outcomes.items():
        head, body = RESPONSES[path]
        # Heads are recorded without the empty line that ends them.
        assert outcome.request_head + b"\r\n" == received[path], "to the byte"
        # Of several heads the last one is the response's.
        assert outcome.response_head + b"\r\n" == head[head.rindex(b"HTTP/1.1") :]
        assert outcome.wire_body == (b"<title>x</t" if path == "/chunked" else body), "the body without chunks"
    archive(list(outcomes.values()), tmp_path / "crawl.warc.gz")
    found: dict[str, bytes] = {}
    with (tmp_path / "crawl.warc.gz").open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            path = record.rec_headers.get_header("WARC-Target-URI").removeprefix(url)
            if record.rec_type == "response":
                found[path] = record.content_stream().read()
                assert record.http_headers.get_statuscode() == "200"
    assert found == {path: outcome.body for path, outcome in outcomes.items()}
