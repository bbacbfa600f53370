"""Sources and checks of a pool."""

from __future__ import annotations

import http.server
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from lycosa.errors import SettingError
from lycosa.job import make_job
from lycosa.proxies.check import anonymity_of
from lycosa.proxies.keeper import Keeper
from lycosa.proxies.pool import Pool
from lycosa.proxies.sources import lines_of, of_file, of_list, of_page
from lycosa.proxies.stages import _resolve
from lycosa.proxies.told import REMEMBERED, Teller

TABLE = b"<table><tr><td>192.0.2.1</td><td>8080</td></tr><tr><td>192.0.2.2</td> <td class=x> 3128</td></tr></table>"
LIST = b"192.0.2.3:80\n# none\nsocks5://192.0.2.4:1080 carrier\n"


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    """A server with a list and a page."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(TABLE if self.path == "/table" else LIST)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def names(pool: Pool) -> set[str]:
    """All proxies of a pool."""
    return {str(each["proxy"]) for each in pool.report()}


def test_files_lists_pages_and_functions_fill_a_pool(web: str, tmp_path: Path) -> None:
    file = tmp_path / "proxies.txt"
    file.write_text("proxy.example:8080\nnowhere.example:81\n192.0.2.8:25\n")
    sources = {
        "file": of_file(file),
        "list": of_list(f"{web}/list"),
        "page": of_page(f"{web}/table"),
        "function": lambda: ["https://192.0.2.5:443"],
    }
    pool = Pool(is_checked=False)
    Keeper(pool, sources, lambda hosts: {"proxy.example": ["192.0.2.9"]}).collect()
    assert names(pool) == {
        "http://proxy.example:8080",
        "http://192.0.2.3:80",
        "socks5://192.0.2.4:1080",
        "http://192.0.2.1:8080",
        "http://192.0.2.2:3128",
        "https://192.0.2.5:443",
    }


def test_a_source_that_fails_and_lines_that_are_none_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> list[str]:
        raise OSError("no such list")

    pool = Pool(is_checked=False)
    keeper = Keeper(pool, {"a": broken, "b": lambda: ["192.0.2.1:80", "user:secret@192.0.2.1", ""]}, lambda hosts: {})
    for _ in range(2):
        keeper.collect()
    assert names(pool) == {"http://192.0.2.1:80"}
    assert [text.count(told) for text, told in [(caplog.text, "no such list"), (caplog.text, "b: line 2 ")]] == [1, 1]
    assert "secret" not in caplog.text


def test_of_many_proxies_that_cannot_be_used_a_few_are_told(caplog: pytest.LogCaptureFixture) -> None:
    lines = [*(f"192.0.2.{number}:25" for number in range(50)), *(f"{number}.example:80" for number in range(70))]
    keeper = Keeper(Pool(is_checked=False), {"a": lambda: [*lines, *["bad"] * 90]}, lambda hosts: {})
    for _ in range(2):
        keeper.collect()
    assert [caplog.text.count(told) for told in ("its port is blocked", "its name has no address")] == [5, 5]
    for told in ("45 more proxies have blocked", "65 more names have no address", "85 more lines name no proxy"):
        assert caplog.text.count(f"proxies: a: {told}") == 1, told


def test_what_was_told_is_not_remembered_without_end(caplog: pytest.LogCaptureFixture) -> None:
    tell = Teller()
    for number in range(3 * REMEMBERED):
        tell(f"message {number}")
    assert len(tell._told) == REMEMBERED
    tell(f"message {3 * REMEMBERED - 1}")
    assert len(caplog.messages) == 3 * REMEMBERED


def test_names_are_resolved_beside_the_keeper_and_no_more_than_there_may_be_proxies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lycosa.proxies.proxy.MOST", 100)
    asked, goes_on = list[int](), threading.Event()

    def resolve(hosts: Sequence[str]) -> dict[str, list[str]]:
        asked.append(len(hosts))
        goes_on.wait(10)
        return {host: ["192.0.2.1"] for host in hosts}

    pool = Pool(is_checked=False)
    names = [f"{number}.example:80" for number in range(1_000)]
    keeper = Keeper(pool, {"a": lambda: names, "b": lambda: ["192.0.2.2:80"]}, resolve)
    began = time.monotonic()
    while not pool.working():
        assert time.monotonic() - began < 5, "it waits for names"
        keeper.turn()
    goes_on.set()
    keeper.collect()
    assert (asked[0], len(pool)) == (100, 101)


def test_resolving_the_names_of_a_source_ends_with_the_crawl_or_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        job = make_job({"names": {"resolvers": [f"127.0.0.1:{silent.getsockname()[1]}"]}})
        stopped = threading.Event()
        monkeypatch.setattr("lycosa.proxies.stages.RESOLVING", 0.5)
        began = time.monotonic()
        assert not _resolve(job, stopped)(["proxy.example"])
        monkeypatch.setattr("lycosa.proxies.stages.RESOLVING", 60.0)
        stopped.set()
        assert not _resolve(job, stopped)(["proxy.example"])
        assert time.monotonic() - began < 4


def test_a_page_is_read_by_a_pattern_of_ones_own(web: str) -> None:
    lines = of_page(f"{web}/list", r"(?P<scheme>socks5)://(?P<host>[\d.]+):(?P<port>\d+) (?P<label>\w+)")
    assert list(lines()) == ["socks5://192.0.2.4:1080 carrier"]
    for bad in ("(", "no groups"):
        with pytest.raises(SettingError, match=r"proxies\.pattern"):
            of_page(web, bad)
    with pytest.raises(SettingError, match="http or https"):
        list(of_list("file:///etc/passwd")())


def test_a_text_is_read_line_by_line() -> None:
    for text in ("", "a", "a\n", "a\r\nb\r\n", "\n\na\rb\n"):
        assert list(lines_of(text)) == text.splitlines()


def test_a_page_that_shows_its_request_tells_how_anonymous_a_proxy_is() -> None:
    own = {"198.51.100.7"}
    for page, told in [
        (b"<p>hello</p>", ""),
        (b'{"origin": "198.51.100.7, 192.0.2.1"}', "transparent"),
        (b'{"origin": "192.0.2.1", "headers": {"Via": "1.1 squid"}}', "anonymous"),
        (b'{"origin": "192.0.2.1", "headers": {"Accept": "*/*"}}', "elite"),
    ]:
        assert anonymity_of([page], own) == told, page
