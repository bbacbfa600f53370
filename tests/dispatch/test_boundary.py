"""Attacks on the trust boundary of a dispatch service: none gets through, and each is told with its code."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import dataclasses
import http.server
import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lycosa import _core
from lycosa.dispatch import serving
from lycosa.dispatch.grant import Grant, digest_of, read_grant
from lycosa.dispatch.http import App
from lycosa.dispatch.quotas import new_token
from lycosa.records import Request, Requests, Responses

from tests.conftest import DnsServer
from tests.dispatch.service import Process

#: Tokens of two services, and of download servers.
NEWS, OTHER, DOWNLOADERS = new_token(), new_token(), new_token()

QUOTAS = f"""
downloaders = ["{DOWNLOADERS[1]}"]

[services.news]
rate = 10000
placement = "idlest"
tokens = ["{NEWS[1]}"]

[services.other]
rate = 10000
placement = "idlest"
tokens = ["{OTHER[1]}"]
"""

RECORDS = "application/vnd.lycosa.requests"


class Sentinel:
    """A server on this machine that nobody may be made to talk to."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        """Listen."""
        self.asked: list[bytes] = []
        self._socket = socket.create_server((address, 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Note whoever comes, and what he says; the thread's body."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection:
                    connection.settimeout(0.5)
                    said = b""
                    with contextlib.suppress(OSError):
                        said = connection.recv(4_096)
                    self.asked.append(said)

    def close(self) -> None:
        """End."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


class Site(http.server.BaseHTTPRequestHandler):
    """A site whose pages, and whose robots.txt, lead to the sentinel."""

    target = ""

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("location", self.target)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@dataclasses.dataclass
class Boundary:
    """A service with tokens, and the places that it must not be made to talk to."""

    master: str
    server: str
    sentinel: Sentinel
    site: str
    folder: Path

    def call(
        self, url: str, body: bytes | None = None, fields: dict[str, str] | None = None, token: str | None = NEWS[0]
    ) -> tuple[int, bytes, dict[str, str]]:
        """Send a request; returns status, body and header fields of the answer."""
        request = urllib.request.Request(url, data=body, headers=fields or {})
        if token is not None:
            request.add_header("authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return answer.status, answer.read(), {name.lower(): value for name, value in answer.headers.items()}
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), {}

    def grant(self, body: bytes, count: int, client: str = "c1", service: str = "news", token: str = NEWS[0]) -> str:
        """Ask for a grant of these bytes."""
        question = {
            "service": service,
            "client": client,
            "parts": [{"server": None, "count": count, "digest": digest_of(body)}],
        }
        status, answer, _ = self.call(f"{self.master}/v1/grants", json.dumps(question).encode(), token=token)
        assert status == 200, answer
        found: str = json.loads(answer)["grants"][0]["grant"]
        return found

    def submit(
        self,
        grant: str,
        body: bytes,
        client: str = "c1",
        service: str = "news",
        token: str | None = NEWS[0],
        **fields: str,
    ) -> tuple[int, Any]:
        """Submit bytes with a grant."""
        named = {
            "lycosa-service": service,
            "lycosa-client": client,
            "lycosa-grant": grant,
            "content-type": "text/plain",
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        status, answer, _ = self.call(f"{self.server}/v1/downloads", body, named, token)
        return status, json.loads(answer)

    def download(self, *urls: str, client: str) -> dict[str, str]:
        """Download URLs; returns status or failure of each."""
        body = "\n".join(urls).encode()
        status, answer = self.submit(self.grant(body, len(urls), client), body, client)
        assert status == 202, answer
        found: dict[str, str] = {}
        after, count, until = 0, 0, time.monotonic() + 60
        while count < len(urls) and time.monotonic() < until:
            question = json.dumps({"after": after, "wait": 10}).encode()
            named = {
                "lycosa-service": "news",
                "lycosa-client": client,
                "accept": "application/vnd.lycosa.responses",
            }
            _, content, told = self.call(f"{self.server}/v1/results", question, named)
            for response in Responses.decode(content):
                found[response.url] = str(response.status or response.error)
                count += 1
            after = int(told["lycosa-sequence"])
        return found

    def raw(self, text: bytes, at: str | None = None, within: float = 15.0) -> bytes:
        """Send bytes as they are; returns the beginning of the answer, empty if the connection is closed."""
        host, _, port = (at or self.master).partition("://")[2].partition(":")
        with socket.create_connection((host, int(port)), timeout=within) as connection:
            connection.sendall(text)
            try:
                return connection.recv(4_096)
            except (ConnectionResetError, TimeoutError):
                return b""


@pytest.fixture(scope="module")
def boundary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boundary]:
    folder = tmp_path_factory.mktemp("boundary")
    quotas, job = folder / "quotas.toml", folder / "job.toml"
    quotas.write_text(QUOTAS)
    with contextlib.ExitStack() as opened:
        dns = opened.enter_context(DnsServer())
        sentinel = Sentinel()
        opened.callback(sentinel.close)
        site = http.server.ThreadingHTTPServer(("127.0.0.2", 0), Site)
        Site.target = f"http://127.0.0.1:{sentinel.port}/robots.txt"
        threading.Thread(target=site.serve_forever, daemon=True).start()
        opened.callback(site.server_close)
        opened.callback(site.shutdown)
        dns.hosts.update(
            {
                "rebound.example": ["127.0.0.1"],
                "mapped.example": ["::ffff:127.0.0.1"],
                "metadata.example": ["169.254.169.254"],
            }
        )
        job.write_text(
            'user_agent = "boundary/1.0 (me@example.org)"\nallow_addresses = ["127.0.0.2/32"]\n'
            f'[names]\nresolvers = ["{dns.address}"]\nfamilies = "both"\nattempts = 1\n'
            f'[politeness]\nhost_interval = 0\naddress_interval = 0\nclock_file = "{folder / "clocks"}"\n'
        )
        arguments = ("--quotas", str(quotas), "--state", str(folder / "state"), "--listen", "127.0.0.1:0")
        master = Process("master", *arguments)
        opened.callback(master.end)
        url = master.told(r"listening on (\S+)")[1]
        named = ("--master", url, "--listen", "127.0.0.1:0", "--name", "d1", "--job", str(job))
        server = Process("downloader", *named, token=DOWNLOADERS[0])
        opened.callback(server.end)
        made = Boundary(
            url, server.told(r"at (http\S+),")[1], sentinel, f"http://127.0.0.2:{site.server_port}", folder
        )
        until = time.monotonic() + 20
        while made.call(f"{made.server}/healthz")[0] != 200 and time.monotonic() < until:
            time.sleep(0.05)
        yield made


#: Private addresses in many spellings; PORT is the sentinel's.
PRIVATE = [
    "http://127.0.0.1:PORT/",
    "http://localhost:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://127.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://[::1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[::ffff:0:127.0.0.1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/",
    "http://[64:ff9b:1::127.0.0.1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[2001:0:7f00:1::80ff:fffe]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://[fc00::1]:PORT/",
    "http://0.0.0.0:PORT/",
    "http://[::]:PORT/",
    "http://rebound.example:PORT/",
    "http://mapped.example:PORT/",
    "http://metadata.example/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://100.64.0.1/",
]


def test_no_private_address_is_reached_however_it_is_spelled(boundary: Boundary) -> None:
    urls = [url.replace("PORT", str(boundary.sentinel.port)) for url in PRIVATE]
    readable = [url for url in urls if is_url(url)]
    found = boundary.download(*readable, client="private")
    assert set(found.values()) <= {"address-refused", "name-bad", "name-not-found", "name-no-data"}, found
    assert len(found) == len({_core.canonical_url(url) for url in readable})
    assert boundary.sentinel.asked == []


def is_url(text: str) -> bool:
    """Whether it is a URL at all; what is none is refused earlier."""
    try:
        _core.canonical_url(text)
    except Exception:
        return False
    return True


def test_redirects_lead_nowhere_not_even_those_of_robots_txt(boundary: Boundary) -> None:
    found = boundary.download(f"{boundary.site}/page", client="redirected")
    assert set(found.values()) <= {"302", "robots-unreachable", "address-refused"}, found
    assert boundary.sentinel.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "http://",
        "http://a b/",
        "http://good.example:25/",
        "http://good.example:6667/",
        "//example.com/",
        "/etc/passwd",
    ],
)
def test_what_is_no_web_address_is_refused_whole(boundary: Boundary, url: str) -> None:
    body = f"http://good.example/\n{url}".encode()
    status, answer = boundary.submit(boundary.grant(body, 2), body)
    assert (status, answer["error"]) == (400, "malformed"), answer


@pytest.mark.parametrize(
    ("token", "service"),
    [(None, "news"), ("wrong", "news"), (OTHER[0], "news"), (NEWS[0], "other"), (NEWS[1], "news"), ("", "news")],
    ids=["none", "wrong", "another service's", "for another service", "its digest", "empty"],
)
def test_without_the_services_token_nothing_is_granted_or_downloaded(
    boundary: Boundary, token: str | None, service: str
) -> None:
    question = {"service": service, "client": "c", "parts": [{"server": None, "count": 1, "digest": "0" * 64}]}
    assert boundary.call(f"{boundary.master}/v1/grants", json.dumps(question).encode(), token=token)[0] == 401
    body = b"http://good.example/"
    grant = boundary.grant(body, 1, client="c9")
    assert boundary.submit(grant, body, "c9", service, token)[0] == 401


def test_who_has_no_token_does_not_learn_which_services_there_are(boundary: Boundary) -> None:
    question = {"service": "nobody", "client": "c", "parts": []}
    status, answer, _ = boundary.call(f"{boundary.master}/v1/grants", json.dumps(question).encode(), token="x" * 43)
    assert (status, json.loads(answer)["error"]) == (401, "bad-token")
    for path in ("/metrics", "/statistics"):
        assert boundary.call(f"{boundary.master}{path}")[0] == 401


def test_a_grant_serves_once_for_one_client_one_service_and_these_urls(boundary: Boundary) -> None:
    body = b"http://good.example/1\nhttp://good.example/2"
    grant = boundary.grant(body, 2)
    payload, _, signature = grant.partition(".")
    attempts: list[tuple[str, tuple[int, Any]]] = [
        ("other-service", boundary.submit(grant, body, client="c2")),
        ("other-service", boundary.submit(grant, body, service="other", token=OTHER[0])),
        ("wrong-digest", boundary.submit(grant, body + b"\nhttp://good.example/3")),
        ("wrong-digest", boundary.submit(grant, b"http://good.example/1")),
        ("unknown-serial", boundary.submit(f"{payload[:-4]}AAAA.{signature}", body)),
        ("unknown-serial", boundary.submit(f"{payload}.{signature[:-4]}AAAA", body)),
        ("unknown-serial", boundary.submit(f"{payload}.", body)),
        ("malformed", boundary.submit("é", body)),
    ]
    for code, (_, answer) in attempts:
        assert answer["error"] in (code, "unknown-serial"), (code, answer)
    assert boundary.submit(grant, body)[0] == 202, "none of these has spent it"
    assert boundary.submit(grant, body)[1]["error"] == "spent-serial"
    counted = boundary.grant(body, 3)
    assert boundary.submit(counted, body)[1]["error"] == "wrong-count"
    counted = boundary.grant(body, 1)
    assert boundary.submit(counted, body)[1]["error"] == "wrong-count"


def test_a_grant_that_somebody_else_signed_is_none(boundary: Boundary) -> None:
    body = b"http://good.example/"
    _, key, _ = boundary.call(f"{boundary.master}/v1/key")
    public = _core.VerifyingKey(base64.b64decode(json.loads(key)["key"]))
    real = read_grant(boundary.grant(body, 1), public)
    forger = _core.SigningKey(_core.new_identity_key())
    for forged in (real, real._replace(urls=10_000), real._replace(expires=4e9)):
        assert isinstance(forged, Grant)
        assert boundary.submit(forged.signed(forger), body)[1]["error"] == "unknown-serial"


def smuggled(name: bytes, value: bytes) -> bytes:
    """An encoded request with a header field that Python would refuse; its checksums are right."""
    marker, filler = b"N" * len(name), b"V" * len(value)
    frame = Requests([Request("http://good.example/", headers=[(marker.decode(), filler.decode())])]).encode()
    frame = frame.replace(marker, name, 1).replace(filler, value, 1)
    head, facts = frame[:16], frame[20:]
    return head + struct.pack("<I", zlib.crc32(head + facts)) + facts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"x-plain", b"a\r\nx-other: b"),
        (b"x-plain", b"a\r\n\r\nGET /"),
        (b"x-plain", b"a\x00b"),
        (b"x\r\ny", b"plain"),
        (b"host", b"victim.example"),
        (b"content-length", b"100"),
        (b"transfer-encoding", b"chunked"),
        (b"connection", b"upgrade"),
    ],
)
def test_requests_smuggle_no_header_fields(boundary: Boundary, name: bytes, value: bytes) -> None:
    body = smuggled(name, value)
    assert len(Requests.decode(body)) == 1, "it is a well-formed record"
    grant = boundary.grant(body, 1, client="smuggler")
    status, answer = boundary.submit(grant, body, "smuggler", content_type=RECORDS)
    assert (status, answer["error"]) == (400, "malformed"), answer


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (RECORDS, b"\x00" * 100),
        (RECORDS, b""),
        (RECORDS, b"\xff\xff\xff\x3f" * 10),
        ("application/json", b"[" * 100_000),
        ("application/json", b'{"url": "http://good.example/"}'),
        ("application/json", b'[{"url": "http://good.example/", "proxy": "http://127.0.0.1:1"}]'),
        ("application/json", b'[{"url": "http://good.example/", "headers": {"host": "victim.example"}}]'),
        ("application/json", b"[NaN]"),
        ("text/plain", b"\xff\xfe"),
        ("application/xml", b"<url>http://good.example/</url>"),
    ],
)
def test_bodies_that_are_no_requests_are_refused_and_spend_nothing(
    boundary: Boundary, kind: str, body: bytes
) -> None:
    grant = boundary.grant(body, 1, client="reader")
    status, answer = boundary.submit(grant, body, "reader", content_type=kind)
    assert (status, answer["error"]) in ((400, "malformed"), (400, "wrong-count")), answer


QUESTIONS: list[Any] = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe",
    b'{"service": NaN}',
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    {"service": "news", "client": "../../etc/passwd", "parts": []},
    {"service": "news", "client": "a\r\nb", "parts": []},
    {"service": "news", "client": "c" * 65, "parts": []},
    {"service": "news", "client": 7, "parts": []},
    {"service": ["news"], "client": "c", "parts": []},
    {"service": "news", "client": "c", "parts": "all"},
    {"service": "news", "client": "c", "parts": []},
    {"service": "news", "client": "c", "parts": [None]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": -1, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": 0, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": True, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": 1.5, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": 10**30, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": 1, "digest": "../x"}]},
    {"service": "news", "client": "c", "parts": [{"server": {"a": 1}, "count": 1, "digest": "0" * 64}]},
    {"service": "news", "client": "c", "parts": [{"server": None, "count": 1, "digest": "0" * 64}] * 1_001},
]


@pytest.mark.parametrize("question", QUESTIONS, ids=range(len(QUESTIONS)))
def test_questions_that_break_the_protocol_are_told_so(boundary: Boundary, question: Any) -> None:
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    status, answer, _ = boundary.call(f"{boundary.master}/v1/grants", body)
    assert status in (400, 413), (status, answer)
    assert json.loads(answer)["error"] in ("malformed", "too-large")


HEAD = b"POST /v1/grants HTTP/1.1\r\nHost: m\r\nAuthorization: Bearer " + NEWS[0].encode() + b"\r\n"

RAW = [
    HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/key HTTP/1.1\r\n\r\n",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    HEAD + b"Content-Length: +2\r\n\r\n{}",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 99999999999\r\n\r\n",
    HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Authorization: Bearer other\r\nContent-Length: 2\r\n\r\n{}",
    HEAD + b"X-Long: " + b"a" * 100_000 + b"\r\n\r\n",
    HEAD + b"".join(b"X-%d: a\r\n" % number for number in range(5_000)) + b"\r\n",
    HEAD + b"X-Null: a\x00b\r\nContent-Length: 0\r\n\r\n",
    b"POST /v1/grants\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    b"GET /v1/../statistics HTTP/1.1\r\nHost: m\r\n\r\n",
    b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: m\r\n\r\n",
    b"GET //v1/key HTTP/1.1\r\nHost: m\r\n\r\n",
    b"GET http://127.0.0.1:1/v1/statistics HTTP/1.1\r\nHost: m\r\n\r\n",
    b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: m\r\n\r\n",
    b"TRACE /v1/key HTTP/1.1\r\nHost: m\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x00" * 64,
]


@pytest.mark.parametrize("text", RAW, ids=range(len(RAW)))
def test_requests_that_are_no_http_or_say_two_things_are_refused(boundary: Boundary, text: bytes) -> None:
    answer = boundary.raw(text)
    line = answer.partition(b"\r\n")[0]
    assert answer == b"" or line.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), answer
    assert boundary.call(f"{boundary.master}/v1/key")[0] == 200, "others are served all the same"


@pytest.mark.parametrize(
    "port", ["22", "80", "6000", "6667", "10080", "0", "-1", "65536", "99999999999", "a", "80 ", ""]
)
def test_results_are_pushed_to_no_port_of_another_protocol(boundary: Boundary, port: str) -> None:
    body = b"http://good.example/"
    grant = boundary.grant(body, 1, client="pushed")
    status, answer = boundary.submit(grant, body, "pushed", lycosa_receive_port=port, lycosa_receive_key="k" * 20)
    assert (status, answer["error"]) == (400, "malformed"), answer


def test_a_server_that_is_no_receiver_is_told_no_result_and_no_key(boundary: Boundary) -> None:
    victim = Sentinel()
    try:
        body = b"http://127.0.0.1:1024/"
        grant = boundary.grant(body, 1, client="pusher")
        key = "secret-key-of-the-receiver"
        fields = {"lycosa_receive_port": str(victim.port), "lycosa_receive_key": key}
        assert boundary.submit(grant, body, "pusher", **fields)[0] == 202
        until = time.monotonic() + 10
        while not victim.asked and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        said = b"".join(victim.asked)
        assert said.startswith(b"GET /v1/receiver HTTP/1.1"), said
        assert key.encode() not in said
        assert b"POST" not in said
    finally:
        victim.close()


@pytest.mark.parametrize("answer", [b"[" * 200_000, b'{"client": "bomber"}' + b" " * 10_000_000, b"\xff", b"{}"])
def test_a_receiver_that_answers_nonsense_harms_nobody(boundary: Boundary, answer: bytes) -> None:
    class Bomber(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bomber) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        body = b"http://127.0.0.1:1024/"
        grant = boundary.grant(body, 1, client="bomber")
        fields = {"lycosa_receive_port": str(server.server_port), "lycosa_receive_key": "k" * 20}
        assert boundary.submit(grant, body, "bomber", **fields)[0] == 202
        time.sleep(0.5)
        server.shutdown()
    assert boundary.call(f"{boundary.server}/healthz")[0] == 200


def test_a_stranger_is_no_download_server(boundary: Boundary) -> None:
    beat = {
        "protocol": 1,
        "server": "evil",
        "process": "p",
        "address": f"http://127.0.0.1:{boundary.sentinel.port}",
        "slots": 1_000_000,
        "speed": 1e9,
        "free": 10**9,
        "successes": 0,
        "failures": 0,
        "accepted": [],
        "ring": 0,
        "members": {},
    }
    for token in (None, NEWS[0], "x"):
        assert boundary.call(f"{boundary.master}/v1/heartbeats", json.dumps(beat).encode(), token=token)[0] == 401
    wrong: list[dict[str, Any]] = [
        {"protocol": 2},
        {"slots": 0},
        {"speed": -1.0},
        {"speed": "fast"},
        {"address": "file:///etc/passwd"},
        {"server": "a/b"},
        {"members": {"a": -1}},
        {"accepted": ["x"]},
    ]
    for change in wrong:
        body = json.dumps({**beat, **change}).encode()
        status, answer, _ = boundary.call(f"{boundary.master}/v1/heartbeats", body, token=DOWNLOADERS[0])
        assert status in (400, 426), (change, answer)
    status, answer, _ = boundary.call(
        f"{boundary.master}/v1/heartbeats", json.dumps({**beat, "protocol": 2}).encode(), token=DOWNLOADERS[0]
    )
    assert json.loads(answer)["detail"] == "other-version: the download server has version 2, this master 1"


def test_results_of_another_client_are_not_given(boundary: Boundary) -> None:
    body = b"http://127.0.0.1:1024/"
    assert boundary.submit(boundary.grant(body, 1, client="owner"), body, "owner")[0] == 202
    question = b'{"after": 0, "wait": 0}'
    for service, client, token in (("other", "owner", OTHER[0]), ("news", "thief", NEWS[0])):
        named = {"lycosa-service": service, "lycosa-client": client}
        status, answer, _ = boundary.call(f"{boundary.server}/v1/results", question, named, token)
        assert (status, json.loads(answer)["error"]) == (404, "unknown-client"), answer


@pytest.mark.parametrize(
    "fields", [{"origin": "https://attacker.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
)
def test_web_pages_in_a_browser_of_this_machine_ask_nothing(boundary: Boundary, fields: dict[str, str]) -> None:
    named = {
        "content-type": "text/plain",
        "lycosa-service": "news",
        "lycosa-client": "c1",
        "lycosa-grant": boundary.grant(b"http://93.184.216.34/", 1),
        **fields,
    }
    for url in (f"{boundary.server}/v1/downloads", f"{boundary.master}/v1/heartbeats"):
        request = urllib.request.Request(url, data=b"http://93.184.216.34/", headers=named)
        with pytest.raises(urllib.error.HTTPError) as told, urllib.request.urlopen(request, timeout=10):
            pass
        with told.value:
            assert (told.value.code, b"web pages" in told.value.read()) == (400, True)


def test_a_body_that_is_refused_by_the_head_is_not_waited_for(boundary: Boundary) -> None:
    head = (
        f"POST /v1/grants HTTP/1.1\r\nhost: m\r\ncontent-length: 100000\r\nauthorization: Bearer {'x' * 40}\r\n\r\n"
    )
    host, _, port = boundary.master.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(head.encode())
        answer = b""
        while part := connection.recv(4_096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 401"), answer


def test_another_machine_has_a_limited_number_of_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "is_loopback", lambda address: False)
    monkeypatch.setattr(serving, "MAX_OF_ADDRESS", 3)

    async def answers(opened: list[asyncio.StreamWriter], port: int) -> bool:
        """Open one more connection; whether it is served."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        with contextlib.suppress(OSError):
            writer.write(b"GET /openapi.json HTTP/1.1\r\nhost: m\r\n\r\n")
            return (await reader.read(100)).startswith(b"HTTP/1.1 200")
        return False

    async def run() -> tuple[list[bool], bool]:
        bound = socket.create_server(("127.0.0.1", 0))
        opened: list[asyncio.StreamWriter] = []
        async with serving.serving(App("master", {}), bound):
            port = bound.getsockname()[1]
            served = [await answers(opened, port) for _ in range(5)]
            opened[0].close()
            await asyncio.sleep(0.2)
            again = await answers(opened, port)
            for writer in opened:
                writer.close()
        return served, again

    assert asyncio.run(run()) == ([True, True, True, False, False], True)
