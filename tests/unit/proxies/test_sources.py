"""Sources that strangers write: slow ones, redirects, passwords."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lycosa.errors import SettingError
from lycosa.job import make_job
from lycosa.proxies.keeper import READINGS, Keeper
from lycosa.proxies.pool import Pool
from lycosa.proxies.sources import of_list
from lycosa.proxies.stages import make_keeper, make_pool
from lycosa.proxies.web import Web, shown


class Lists(http.server.BaseHTTPRequestHandler):
    """Lists: what is asked for, and by whom."""

    asked: list[tuple[str, str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["User-Agent"], self.headers["Authorization"]))
        if self.path.startswith("/to?"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.end_headers()
            return
        if self.path == "/slow-head":
            with contextlib.suppress(OSError):
                for _ in range(100):
                    self.wfile.write(b"HTTP/1.0 200 OK\r\nX: y\r\n" if not _ else b"Y: z\r\n")
                    time.sleep(0.1)
            return
        self.send_response(404 if self.path.startswith("/none") else 200)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(b"192.0.2.3:80\n")
            for _ in range(100 if self.path == "/slow" else 0):
                self.wfile.write(b"#")
                time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    """A server of lists."""
    Lists.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lists) as server:
        server.daemon_threads, server.block_on_close = True, False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_list_is_read_as_the_crawler_that_it_is_and_with_a_password(web: str) -> None:
    lines = of_list(f"http://me:s%40cret@{web}/list?key=1", Web("mybot/1.0"))
    assert list(lines()) == ["192.0.2.3:80"]
    assert Lists.asked == [("/list?key=1", "mybot/1.0", "Basic bWU6c0BjcmV0")]


def test_no_error_tells_a_secret_of_a_url(web: str) -> None:
    assert shown(f"http://me:secret@{web}/list?key=secret#secret") == f"http://{web}/…"
    assert shown("https://lists.example/v1/secret/list") == "https://lists.example/…"
    assert shown("https://lists.example") == "https://lists.example/"
    for url in (
        f"http://me:secret@{web}/none?secret",
        "http://me:secret@127.0.0.1:x/",
        "http://me:secret@127.0.0.1:1/",
    ):
        with pytest.raises(OSError, match=r"\w") as failed:
            list(of_list(url)())
        assert "secret" not in str(failed.value)
    for url in ("ftp://me:secret@192.0.2.1/?secret", "http://me:secret@192.0.2.1\u2100/"):
        with pytest.raises(SettingError) as refused:
            list(of_list(url)())
        assert "secret" not in str(refused.value)


def test_a_redirect_leads_into_no_private_network(web: str) -> None:
    target = f"http://me:secret@{web}/to?http://localhost:{web.rpartition(':')[2]}/list"
    with pytest.raises(OSError, match="private address"):
        list(of_list(target)())
    assert len(Lists.asked) == 1
    allowed = Web(allowed=["127.0.0.0/8", "::1/128"])
    assert list(of_list(target, allowed)()) == ["192.0.2.3:80"]
    assert Lists.asked[-1][2] is None, "the password is not sent to another host"
    with pytest.raises(OSError, match="not http"):
        list(of_list(f"http://{web}/to?ftp://{web}/list")())


def test_a_redirect_leads_to_the_address_that_was_vetted(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port, looks, look_up = web.rpartition(":")[2], list[str](), socket.getaddrinfo

    def rebound(host: str, *args: Any, **options: Any) -> Any:
        """A name that leads elsewhere each time."""
        looks.append(host)
        if host == "rebinding.example":
            host = "127.0.0.1" if looks.count(host) == 1 else "127.0.0.2"
        return look_up(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebound)
    target = f"http://{web}/to?http://rebinding.example:{port}/list"
    assert list(of_list(target, Web(allowed=["127.0.0.1/32"]))()) == ["192.0.2.3:80"]
    assert looks.count("rebinding.example") == 1
    assert Lists.asked[-1][0] == "/list"


def test_a_list_that_dribbles_has_an_end(web: str) -> None:
    began = time.monotonic()
    with pytest.raises(OSError, match=r"not complete after 0\.3 s"):
        list(of_list(f"http://{web}/slow", Web(within=0.3))())
    for path in ("slow-head", "to?/slow-head"):
        with pytest.raises(OSError, match=r"not complete after 0\.3 s"):
            list(of_list(f"http://{web}/{path}", Web(within=0.3))())
    stopped = threading.Event()
    threading.Timer(0.3, stopped.set).start()
    with pytest.raises(OSError, match="the crawl ends"):
        list(of_list(f"http://{web}/slow", Web(stopped=stopped))())
    assert time.monotonic() - began < 5


def test_a_source_that_never_ends_keeps_nobody_waiting() -> None:
    def silent() -> list[str]:
        time.sleep(60)
        return []

    pool = Pool(is_checked=False)
    keeper = Keeper(pool, {"a": silent, "b": lambda: ["192.0.2.1:80"]}, lambda hosts: {})
    keeper.start()
    began = time.monotonic()
    while not pool.working():
        assert time.monotonic() - began < 5
        time.sleep(0.01)
    keeper.stop()
    assert time.monotonic() - began < 5


def test_a_source_that_hangs_is_read_anew_at_the_next_time_and_not_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lycosa.proxies.reading.LATE", 0.0)
    calls, hangs, goes_on = [0], [True], threading.Event()

    def source() -> list[str]:
        calls[0] += 1
        if hangs[0]:
            goes_on.wait(10)
            return ["192.0.2.1:80"]
        return ["192.0.2.2:80"]

    pool = Pool(is_checked=False)
    keeper = Keeper(pool, {"a": source}, lambda hosts: {}, refresh=0.0)
    for _ in range(READINGS - 1):
        keeper.turn()
    hangs[0] = False
    began = time.monotonic()
    while not pool.working():
        assert time.monotonic() - began < 5
        keeper.turn()
    goes_on.set()
    hangs[0] = True
    for _ in range(10):
        keeper.turn()
    assert {str(each["proxy"]) for each in pool.report()} <= {"http://192.0.2.2:80", "http://192.0.2.1:80"}


def test_what_sources_name_later_replaces_what_they_named_before() -> None:
    lines = ["http://me:old@192.0.2.1:80 one", "http://192.0.2.2:80"]
    pool = Pool(is_checked=False)
    keeper = Keeper(pool, {"a": lambda: list(lines), "b": lambda: ["192.0.2.3:80"]}, lambda hosts: {})
    keeper.collect()
    lines[:] = ["http://me:new@192.0.2.1:80 other"]
    keeper.collect()
    assert {(each["proxy"], each["label"]) for each in pool.report()} == {
        ("http://me@192.0.2.1:80", "other"),
        ("http://192.0.2.3:80", ""),
    }
    assert pool._known["http://me@192.0.2.1:80"].proxy.line == "http://me:new@192.0.2.1:80 other"
    lines[:] = ["<html>sorry</html>"]
    keeper.collect()
    assert len(pool) == 2, "a page of errors is no list"


def test_a_list_that_is_quite_another_one_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lycosa.proxies.pool.MOST", 10)
    lines = [f"192.0.2.{number}:80" for number in range(10)]
    pool = Pool()
    keeper = Keeper(pool, {"a": lambda: list(lines)}, lambda hosts: {})
    for network in ("192.0.2", "198.51.100"):
        lines[:] = [f"{network}.{number}:80" for number in range(10)]
        keeper.collect()
        assert {str(each["proxy"]) for each in pool.report()} == {f"http://{line}" for line in lines}


def test_a_file_with_passwords_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "proxies.txt"
    file.write_text("192.0.2.1:80\n")
    file.chmod(0o644)
    job = make_job({"proxies": {"file": file}})
    make_keeper(job, make_pool(job))
    for line in ("192.0.2.1:80:me:secret", "http://SECRETKEY:@192.0.2.1:80"):
        file.write_text(f"{line}\n")
        with pytest.raises(SettingError, match="chmod 600"):
            make_keeper(job, make_pool(job))
    file.chmod(0o600)
    make_keeper(job, make_pool(job))
