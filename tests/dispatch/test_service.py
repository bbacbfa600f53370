"""Downloading as a service, on the simulated Internet: the ledger and the clients' own lists judge."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema
import openapi_spec_validator
import pytest
from lycosa.dispatch import Client, DispatchError
from lycosa.records import Request
from lycosa.simnet import SimulatedInternet

from tests.dispatch.service import Service
from tests.interop.certificates import certify

QUOTAS = """
[services.news]
rate = 2000

[services.archive]
rate = 500
placement = "idlest"
"""


def pages_of(net: SimulatedInternet, count: int) -> list[str]:
    """URLs of so many hosts: the first page of each."""
    return [f"http://{host}:{net.http_port}/" for host in list(net.hosts)[:count]]


def unused_port() -> int:
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port: int = bound.getsockname()[1]
    return port


async def download(
    service: Service, quota: str, urls: list[Any], **settings: Any
) -> list[tuple[str, int | None, str | None]]:
    """Have URLs downloaded; returns URL, status and error of each result."""
    found = []
    async with Client(service.url, quota, **settings) as client:
        async for response in client.download(urls):
            found.append((response.url, response.status, response.error))
    return found


@pytest.mark.parametrize("receive", [False, True], ids=["fetched", "pushed"])
@pytest.mark.parametrize("name", ["news", "archive"])
def test_every_url_has_one_result(tmp_path: Path, receive: bool, name: str) -> None:
    with SimulatedInternet(hosts=300, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS, servers=2) as service:
        urls = pages_of(net, 300)
        found = asyncio.run(download(service, name, urls, receive=receive))
        report = net.report()
    assert Counter(url for url, _, _ in found) == Counter(urls)
    answered = [status for _, status, _ in found if status is not None]
    assert len(answered) >= 290, Counter(error for _, _, error in found)
    check_courtesy(report)


def check_courtesy(report: dict[str, Any], is_apart: bool = False) -> None:
    """No site was asked too fast, in a pause that it had asked for, or for what its robots.txt forbids.

    is_apart: by servers that know nothing of each other. They share the rate of an address, which is kept on average;
    the pause between two requests is kept for sites alone.
    """
    assert report["rates"]["host"]["count"] == 0, report["rates"]
    assert is_apart or report["rates"]["address"]["count"] == 0, report["rates"]
    assert report["robots"]["count"] == report["pauses"]["count"] == 0, (report["robots"], report["pauses"])


def test_requests_are_more_than_urls(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        [url, *_] = pages_of(net, 1)
        requests = [
            Request(url, method="HEAD", metadata={"number": 1}),
            Request(url, headers=[("accept-language", "de")], metadata={"number": 2}),
            Request(url, metadata={"number": 3}),
        ]

        async def run() -> list[tuple[int, str, bytes, bytes]]:
            async with Client(service.url, "news") as client:
                return [
                    (response.request.metadata["number"], response.request.method, response.sent, response.body)
                    async for response in client.download(requests)
                ]

        found = {number: (method, sent, body) for number, method, sent, body in asyncio.run(run())}
    assert found[1][0] == "HEAD"
    assert found[1][1].startswith(b"HEAD / ")
    assert b"accept-language: de" in found[2][1].lower()
    assert found[3][2] != b"", "the same URL again is downloaded again"


def test_from_the_command_line(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=20, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        urls = pages_of(net, 10)
        arguments = [
            "download",
            "--master",
            service.url,
            "--service",
            "news",
            "--json",
            "--output",
            str(tmp_path / "out"),
        ]
        command = [sys.executable, "-m", "lycosa", *arguments, *urls]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["url"] for line in lines} == set(urls), done.stderr
    for line in lines:
        if line["status"] == 200:
            assert Path(line["file"]).stat().st_size == line["body_bytes"]


def test_an_unknown_service_is_an_error_at_once(tmp_path: Path) -> None:
    with (
        SimulatedInternet(hosts=5, pages=4, speed=50) as net,
        Service(tmp_path, net, QUOTAS) as service,
        pytest.raises(DispatchError, match="unknown-service: 'nobody' is not in the quotas"),
    ):
        asyncio.run(download(service, "nobody", pages_of(net, 1)))


def test_a_server_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    settings = ("--hold", "2", "--period", "0.25", "--handover", "0.1")
    with (
        SimulatedInternet(hosts=2_000, pages=2, speed=100) as net,
        Service(tmp_path, net, QUOTAS.replace("2000", "20000"), servers=2, master=settings, slots=100) as service,
    ):
        urls = pages_of(net, 2_000)

        async def run() -> list[str]:
            found: list[str] = []
            async with Client(service.url, "news", batch=500) as client:
                async for response in client.download(urls):
                    found.append(response.url)
                    if len(found) == 200:
                        await asyncio.to_thread(service.servers["d1"].kill)
                assert client.pending.again > 0, "it had some"
            return found

        found = asyncio.run(asyncio.wait_for(run(), 100))
        report = net.report()
    assert Counter(found) == Counter(urls)
    check_courtesy(report)


def test_a_master_that_is_restarted_is_hardly_noticed(tmp_path: Path) -> None:
    with (
        SimulatedInternet(hosts=1_000, pages=2, speed=100) as net,
        Service(tmp_path, net, QUOTAS, servers=2) as service,
    ):
        urls = pages_of(net, 1_000)

        async def run() -> tuple[list[str], int]:
            found: list[str] = []
            async with Client(service.url, "news", batch=100) as client:
                async for response in client.download(urls):
                    found.append(response.url)
                    if len(found) == 200:
                        await asyncio.to_thread(service.master.kill)
                        await asyncio.to_thread(service.start_master)
                return found, client.pending.again

        found, again = asyncio.run(asyncio.wait_for(run(), 100))
    assert Counter(found) == Counter(urls)
    assert again == 0, "what was granted went on"


def test_a_client_that_vanishes_frees_its_room(tmp_path: Path) -> None:
    with (
        SimulatedInternet(hosts=500, pages=2, speed=50) as net,
        Service(tmp_path, net, QUOTAS, slots=5, downloader=("--keep", "2")) as service,
    ):
        urls = pages_of(net, 500)

        async def vanish() -> None:
            async with Client(service.url, "news") as client:
                client.add([Request(url) for url in urls])
                await client.results()

        asyncio.run(vanish())
        service.servers["d1"].told(r"client \S+ of news is silent: its \d+ URLs and results are dropped", 20)
        found = asyncio.run(asyncio.wait_for(download(service, "news", urls[:50]), 60))
    assert len(found) == 50


def test_a_crawl_by_the_service_is_the_same_crawl(tmp_path: Path) -> None:
    quotas = QUOTAS + "\n[services.crawl]\nrate = 5000\nrobots = false\n"
    with SimulatedInternet(hosts=60, pages=8, speed=50) as net, Service(tmp_path, net, quotas, servers=2) as service:
        arguments = ["crawl", "--job", str(net.job_file()), "--dir", str(tmp_path / "crawl"), "--quiet"]
        command = [sys.executable, "-m", "lycosa", *arguments, "--set", f"fetch.master={service.url}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
        report = net.report()
    assert done.returncode in (0, 3), done.stderr
    assert report["coverage"]["ratio"] >= 0.99
    check_courtesy(report)


def test_people_see_what_a_master_grants(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        asyncio.run(download(service, "archive", pages_of(net, 5)))
        command = [sys.executable, "-m", "lycosa", "master", "top", "--master", service.url, "--once"]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        told = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=False)
    assert "archive" in shown.stdout, shown.stderr
    assert json.loads(told.stdout)["services"]["archive"]["granted"] == 5


def test_the_protocol_is_served_as_openapi(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        with urllib.request.urlopen(f"{service.url}/openapi.json", timeout=10) as answer:
            document = json.load(answer)
        question = {"service": "archive", "client": "c", "parts": [{"server": None, "count": 1, "digest": "0" * 64}]}
        asked = urllib.request.Request(f"{service.url}/v1/grants", data=json.dumps(question).encode())
        with urllib.request.urlopen(asked, timeout=10) as answer:
            grants = json.load(answer)
    openapi_spec_validator.validate(document)
    resolver = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": document["components"]}
    for name, value in (("Question", question), ("Grants", grants)):
        jsonschema.validate(value, {**resolver, "$ref": f"#/components/schemas/{name}"})


def test_curl_is_a_client_too(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        script = Path(__file__).parents[2] / "examples" / "download.sh"
        command = ["bash", str(script), service.url, "archive", *pages_of(net, 2)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert b'"status":200' in done.stdout
    assert b"<html" in done.stdout.lower()


def test_one_download_at_a_time(tmp_path: Path) -> None:
    async def run() -> None:
        client = Client("http://127.0.0.1:9", "news")
        first = client.download(["http://one.example/"])
        waiting = asyncio.ensure_future(anext(first))
        await asyncio.sleep(0)
        with pytest.raises(DispatchError, match=r"one download\(\) at a time"):
            await anext(client.download(["http://two.example/"]))
        waiting.cancel()

    asyncio.run(run())


def test_a_download_that_is_left_early_is_forgotten(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=60, pages=2, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        urls = pages_of(net, 60)

        async def run() -> list[str]:
            async with Client(service.url, "news") as client:
                async with contextlib.aclosing(client.download(urls[:50])) as first:
                    async for _ in first:
                        break
                return [response.url async for response in client.download(urls[50:])]

        assert Counter(asyncio.run(asyncio.wait_for(run(), 60))) == Counter(urls[50:])


def test_a_client_whose_service_is_removed_is_told(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=2, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:

        async def run() -> None:
            async with Client(service.url, "archive") as client:
                [page] = pages_of(net, 1)
                client.add([Request(f"{page}?{number}") for number in range(400)])  # eight seconds of one site
                await client.results()
                service.quotas.write_text("[services.news]\nrate = 100\n")
                service.master.process.send_signal(signal.SIGHUP)
                while True:
                    await client.results()

        with pytest.raises(DispatchError, match="unknown-service"):
            asyncio.run(asyncio.wait_for(run(), 30))


def test_what_cannot_be_pushed_is_fetched(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=40, pages=2, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        urls = pages_of(net, 40)

        async def run() -> list[str]:
            async with Client(service.url, "news", receive=True) as client:
                await asyncio.sleep(0.2)
                assert client._receiver is not None
                client._receiver.port = unused_port()  # what a firewall does to the one that it listens at
                return [response.url async for response in client.download(urls)]

        assert Counter(asyncio.run(asyncio.wait_for(run(), 60))) == Counter(urls)


def test_pushes_are_made_by_tls_to_the_certificate_that_the_client_named(tmp_path: Path) -> None:
    certify(tmp_path)
    certificate = tmp_path / "dns.pem", tmp_path / "dns.key"
    with SimulatedInternet(hosts=20, pages=2, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        urls = pages_of(net, 20)
        seen: list[str] = []

        async def run() -> list[str]:
            async with Client(service.url, "news", receive=True, certificate=certificate) as client:
                found = [response.url async for response in client.download(urls)]
                assert client._receiver is not None
                # Who does not speak TLS learns nothing.
                with contextlib.suppress(OSError, aiohttp.ClientError):
                    async with aiohttp.request(
                        "GET", f"http://127.0.0.1:{client._receiver.port}/v1/receiver"
                    ) as answer:
                        seen.append(await answer.text())
            return found

        assert Counter(asyncio.run(asyncio.wait_for(run(), 60))) == Counter(urls)
    assert seen == []


def test_the_audit_log_has_what_was_granted_submitted_and_refused(tmp_path: Path) -> None:
    files = tmp_path / "master.jsonl", tmp_path / "server.jsonl"
    with (
        SimulatedInternet(hosts=5, pages=2, speed=50) as net,
        Service(
            tmp_path, net, QUOTAS, master=("--audit", str(files[0])), downloader=("--audit", str(files[1]))
        ) as service,
    ):
        assert len(asyncio.run(download(service, "archive", pages_of(net, 5), name="me"))) == 5
        with pytest.raises(DispatchError):
            asyncio.run(download(service, "nobody", pages_of(net, 1)))
    master, server = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
    [granted] = [line for line in master if line["what"] == "granted"]
    assert (granted["service"], granted["client"], granted["server"], granted["urls"]) == ("archive", "me", "d1", 5)
    assert [line["reason"] for line in master if line["what"] == "refused"] == [
        "unknown-service: 'nobody' is not in the quotas"
    ]
    [submitted] = [line for line in server if line["what"] == "submitted"]
    assert (submitted["serial"], submitted["peer"]) == (granted["serial"], "127.0.0.1")


def test_node_is_a_client_too(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=5, pages=4, speed=50) as net, Service(tmp_path, net, QUOTAS) as service:
        script, urls = Path(__file__).parents[2] / "examples" / "download.mjs", pages_of(net, 3)
        command = ["node", str(script), service.url, "archive", *urls]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        with urllib.request.urlopen(
            f"{service.servers['d1'].told(r'at (http[^ ,]+)')[1]}/metrics", timeout=10
        ) as told:
            metrics = told.read().decode()
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert {result["url"] for result in results} == set(urls)
    assert any(result["status"] == 200 and "<html" in result["body"].lower() for result in results)
    assert "lycosa_downloader_kept_bytes 0" in metrics, "all results are confirmed"
    assert len(script.read_text().splitlines()) < 60
