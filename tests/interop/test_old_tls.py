"""A site with TLS 1.0 only, by OpenSSL: a failure of its own, and a page by the second chance of the examples."""

from __future__ import annotations

import dataclasses
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path

import lycosa
import pytest
from lycosa import Stages

from tests.interop.certificates import certify
from tests.interop.programs import require

EXAMPLES = Path(__file__).parents[2] / "examples"
AGENT = "t/1 (t@example.org)"


@pytest.fixture
def old_site(tmp_path: Path) -> Iterator[str]:
    """The URL of a site with TLS 1.0 only, whose certificate is signed by ca.pem."""
    certify(tmp_path)
    options = ["-tls1", "-cipher", "ALL:@SECLEVEL=0", "-cert", "dns.pem", "-key", "dns.key", "-www"]
    command = [require("openssl"), "s_server", "-accept", "127.0.0.1:0", *options]
    pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as server:  # type: ignore[call-overload]
        line = next(line for line in server.stdout if line.startswith("ACCEPT"))
        yield f"https://dns.example:{line.strip().rpartition(':')[2]}/"
        server.kill()


def crawled(url: str, roots: Path, second: bool) -> lycosa.Outcome:
    """The outcome of a crawl of a URL."""

    def stages(embedded: Stages) -> Stages:
        """The stages of docs/extending.md, which trust the test's authority."""
        context = runpy.run_path(str(EXAMPLES / "old_tls.py"))["old_tls"]()
        context.load_verify_locations(roots)
        plain_fetch = runpy.run_path(str(EXAMPLES / "plain_fetch.py"))["PlainFetch"]
        chance = lycosa.SecondChance(embedded.fetch, plain_fetch(AGENT, slots=8, verify=context))
        return dataclasses.replace(embedded, fetch=chance)

    (outcome,) = lycosa.crawl(
        url,
        user_agent=AGENT,
        max_depth=0,
        allow_addresses=["127.0.0.0/8"],
        names={"local_data": ["dns.example A 127.0.0.1"]},
        frontier={"patience": 0},
        speed=100,
        stages=stages if second else None,
    )
    return outcome


def test_a_site_with_old_tls_has_a_name_and_a_second_chance(old_site: str, tmp_path: Path) -> None:
    roots = tmp_path / "ca.pem"
    assert crawled(old_site, roots, second=False).error == "tls-too-old"
    page = crawled(old_site, roots, second=True)
    assert page.status == 200
    assert "TLSv1" in str(page.text)


def test_the_second_chance_verifies_certificates_as_ever(old_site: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    certify(tmp_path / "other")
    page = crawled(old_site, tmp_path / "other" / "ca.pem", second=True)
    assert page.error == "connect-failed"
    assert "certificate" in str(page.error_detail).lower()
