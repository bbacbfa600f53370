"""The simulated Internet as a test double: one seed one world, settings, files, and a ledger that judges."""

from __future__ import annotations

import http.client
import time
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from lycosa.errors import SettingError
from lycosa.simnet import USER_AGENT, SimulatedInternet


def fetch(net: SimulatedInternet, url: str) -> tuple[int, bytes]:
    """Status and body, from the address of the URL's host, without DNS."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(net.hosts[parts.hostname], net.http_port, timeout=10)
    try:
        connection.request("GET", parts.path, headers={"Host": parts.netloc})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_one_seed_is_one_world() -> None:
    with (
        SimulatedInternet(hosts=30, pages=5, seed=7) as one,
        SimulatedInternet(hosts=30, pages=5, seed=7, http_port=0) as two,
        SimulatedInternet(hosts=30, pages=5, seed=8) as other,
    ):
        assert one.hosts == two.hosts != other.hosts
        for a, b in zip(one.seeds, two.seeds, strict=True):
            status, body = fetch(one, a)
            # Only the port in the URLs differs.
            ports = f":{one.http_port}".encode(), f":{two.http_port}".encode()
            assert (status, body.replace(*ports)) == fetch(two, b)


def test_a_large_world_starts_fast() -> None:
    before = time.monotonic()
    with SimulatedInternet(hosts=2000, pages=50) as net:
        assert time.monotonic() - before < 3
        assert len(net.hosts) == 2000
        assert fetch(net, net.seeds[0])[0] == 200


def test_the_job_file_permits_loopback_and_nothing_else_does(tmp_path: Path) -> None:
    with SimulatedInternet(hosts=12, pages=2, speed=100) as net:
        job = tomllib.loads(net.job_file(tmp_path / "job.toml").read_text())
        assert job == {
            "seeds": net.seeds,
            "scope": "any",
            "speed": 100.0,
            "allow_addresses": ["127.0.0.0/8"],
            "user_agent": USER_AGENT,
            "politeness": {"address_domains": 1},
            "names": {"resolvers": [net.resolver]},
        }
        own = net.job_file()
        assert own.read_text() == net.job()
        assert net.seed_file().read_text().split() == net.seeds
    assert not own.parent.exists()


def test_a_world_on_https_says_whom_to_trust() -> None:
    with SimulatedInternet(hosts=12, pages=2, https=1.0) as net:
        job = tomllib.loads(net.job())
        assert Path(job["fetch"]["ca_file"]).read_text() == net.authority == net.ca_file.read_text()
        assert all(url.startswith("https://") and url.endswith(f":{net.https_port}/") for url in net.seeds)
        assert set(net.certificates) == set(net.hosts)
        assert set(net.certificates.values()) == {"good"}
    with SimulatedInternet(hosts=12, pages=2) as plain:
        assert (plain.https_port, plain.certificates) == (0, {})
        assert "fetch" not in tomllib.loads(plain.job())


def test_the_ledger_judges() -> None:
    with SimulatedInternet(hosts=10, pages=1, seed=3, host_interval=60, address_interval=60) as net:
        polite, rude = net.seeds[0], net.seeds[1]
        fetch(net, polite + "robots.txt")
        fetch(net, rude)
        fetch(net, rude)
        fetch(net, rude + "no-such-page")
    report = net.report()
    assert report["totals"]["requests"] == 4
    assert report["totals"]["by_kind"] == {"page": 2, "robots": 1, "unknown": 1}
    assert report["coverage"]["served"] == 1
    assert report["repeats"]["top"] == [{"url": rude, "requests": 2}]
    assert report["robots"]["before_robots"] == 3
    assert report["rates"]["host"]["count"] == 2
    assert report["rates"]["host"]["worst"]["allowed_s"] == 60


def test_names_that_live_elsewhere_are_misdirected() -> None:
    with SimulatedInternet(hosts=10, pages=1) as net:
        hosts = list(net.hosts.items())
        (name, _), (_, address) = hosts[0], hosts[5]
        connection = http.client.HTTPConnection(address, net.http_port, timeout=10)
        connection.request("GET", "/", headers={"Host": name})
        assert connection.getresponse().status == 421
        connection.close()
        assert net.report()["totals"]["misdirected"] == [f"{name}/"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hosts", 0),
        ("hosts", -3),
        ("hosts", 16_516_097),
        ("pages", 0),
        ("seed", -1),
        ("profile", "moon"),
        ("speed", -0.5),
        ("speed", float("nan")),
        ("http_port", 65_536),
        ("dns_port", -1),
        ("host_interval", -1.0),
        ("address_interval", float("inf")),
        ("threads", 0),
        ("agent", ""),
    ],
)
def test_bad_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(SettingError) as caught:
        SimulatedInternet(**{name: value})
    assert name in str(caught.value)
    assert str(value) in str(caught.value)


def test_a_port_in_use_is_named() -> None:
    with SimulatedInternet(hosts=1, pages=1) as net, pytest.raises(SettingError, match="http_port"):
        SimulatedInternet(hosts=1, pages=1, http_port=net.http_port).start()


def test_nothing_can_be_asked_before_the_start() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        _ = SimulatedInternet(hosts=1, pages=1).resolver
