"""Foreign programs, unmodified, crawl the simulated Internet over HTTP, HTTPS and IPv6, and are judged."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="private namespaces need root")

HERE = Path(__file__).parent

#: 40 % of the hosts on HTTPS, a third of these bad, half with IPv6, some with Crawl-delay.
WORLD = [
    "--hosts",
    "60",
    "--pages",
    "6",
    "--seed",
    "4",
    "--https",
    "0.5",
    "--bad-certificates",
    "0.33",
    "--ipv6",
    "0.5",
]


def judged(
    report: Path, *command: str, world: list[str] = WORLD
) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Run a program inside the simulated Internet; what it printed, and what the ledger says."""
    simnet = [sys.executable, "-m", "lycosa", "simnet", *world, "--report", str(report), "--"]
    # No variable shows the way to trusted roots: the namespace alone has to.
    environment = {name: value for name, value in os.environ.items() if "CERT" not in name and "_CA_" not in name}
    done = subprocess.run(
        [*simnet, *command], capture_output=True, text=True, timeout=110, cwd=report.parent, env=environment
    )
    assert report.exists(), done.stderr
    return done, json.loads(report.read_text())


def test_programs_trust_the_authority_without_being_told(tmp_path: Path) -> None:
    python = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1]).read()"
    script = (
        "unset SSL_CERT_FILE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS; set -e; n=0;"
        "for url in $(grep https {seeds}); do n=$((n + 1));"
        "  curl -sS --fail --max-time 10 -o one --http1.1 $url; curl -sS --fail --max-time 10 -o two --http2 $url;"
        "  cmp one two; wget -q --timeout 10 -O three $url; cmp one three;"
        f"  {sys.executable} -c '{python}' $url;"
        "  host=$(echo $url | cut -d/ -f3);"
        "  openssl s_client -brief -verify_return_error -connect $host:443 </dev/null;"
        "done; echo tested $n"
    )
    done, report = judged(tmp_path / "report.json", "sh", "-c", script)
    assert done.returncode == 0, done.stdout + done.stderr
    tested = int(done.stdout.split("tested ")[1].split()[0])
    assert tested >= 3
    assert report["totals"]["by_kind"]["page"] == 4 * tested
    assert report["certificates"]["failed_handshakes"] == 0


def test_the_roots_of_the_system_are_left_alone(tmp_path: Path) -> None:
    folder = Path("/etc/ssl/certs")
    before = sorted(folder.iterdir()), (folder / "ca-certificates.crt").read_bytes()
    done, _ = judged(
        tmp_path / "report.json", "sh", "-c", "ls /etc/ssl/certs | wc -l; openssl x509 -in {ca} -noout -subject_hash"
    )
    count, own = done.stdout.split()[:2]
    assert int(count) == len(before[0]) + 1
    assert not (folder / f"{own}.0").exists()
    assert (sorted(folder.iterdir()), (folder / "ca-certificates.crt").read_bytes()) == before


@pytest.mark.parametrize("program", ["dig", "kdig"])
def test_addresses_of_both_kinds_are_served(tmp_path: Path, program: str) -> None:
    script = (
        "for url in $(cat {seeds}); do name=$(echo $url | cut -d/ -f3);"
        f'  a=$({program} +short $name AAAA); b=$({program} +tcp +short $name AAAA); [ "$a" = "$b" ] || echo differ;'
        '   [ -z "$a" ] || { echo $name $a'
        "     $(curl -6 -sS --max-time 10 -o /dev/null -w '%{http_code} %{remote_ip}' $url);"
        "     curl -4 -sS --max-time 10 -o /dev/null $url; };"
        "done"
    )
    done, report = judged(tmp_path / "report.json", "sh", "-c", script)
    lines = [line.split() for line in done.stdout.splitlines() if " fd00::" in line and len(line.split()) == 4]
    assert len(lines) >= 3, done.stdout + done.stderr
    assert all(line[1] == line[3] and line[2] == "200" for line in lines)
    assert "differ" not in done.stdout
    # Both addresses of a host are judged, each for itself.
    assert report["totals"]["requests"] == 2 * len(lines)
    assert report["rates"]["host"]["count"] == len(lines)
    assert report["rates"]["address"]["count"] < len(lines)
    assert report["totals"]["dns_by_type"]["AAAA"] > 2 * len(lines)


def test_wget_crawls_and_refuses_bad_certificates(tmp_path: Path) -> None:
    arguments = ["-q", "-r", "-l", "4", "-H", "--timeout", "10", "--tries", "1", "-i", "{seeds}"]
    # GnuTLS reads all roots again for each connection: a world of 30 hosts takes it 10 seconds.
    world = ["--hosts", "30", "--pages", "4", *WORLD[4:]]
    done, report = judged(tmp_path / "report.json", "wget", *arguments, world=world)
    assert done.returncode in (0, 5, 8), done.stderr  # 5: certificates, 8: statuses
    assert report["coverage"]["ratio"] > 0.8
    assert report["totals"]["by_status"]["200"] > 50
    # Its known habits: the very first page is fetched before robots.txt; Crawl-delay and every interval are ignored.
    assert report["robots"]["disallowed"] == 0
    assert report["robots"]["before_robots"] <= 1
    assert report["rates"]["host"]["count"] > 20
    # GnuTLS ends the handshake first and looks at the certificate then.
    assert report["certificates"]["count"] == 0
    assert report["certificates"]["silent_handshakes"] > 0


def test_scrapy_crawls_and_accepts_bad_certificates(tmp_path: Path) -> None:
    scrapy = [sys.executable, "-m", "scrapy", "runspider", str(HERE / "foreign_spider.py"), "-a", "seeds={seeds}"]
    done, report = judged(tmp_path / "report.json", *scrapy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["coverage"]["ratio"] == 1.0
    assert report["robots"]["disallowed"] == 0
    # Its known habits: no certificate is checked, Crawl-delay is not read, eight requests at once go to one host.
    assert report["certificates"]["count"] > 0
    assert set(report["certificates"]["accepted"]) >= {"expired", "self_signed", "wrong_name"}
    assert report["rates"]["host"]["count"] > 100


def test_colly_crawls_and_ignores_crawl_delay(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.fail("go is not installed")
    program = tmp_path / "collyfetch"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=HERE / "colly", check=True, timeout=110)
    done, report = judged(tmp_path / "report.json", str(program), "{seeds}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "x509" in done.stdout
    assert report["coverage"]["ratio"] == 1.0
    assert report["robots"]["disallowed"] == 0
    assert report["rates"]["host"]["count"] > 100
    # It refuses bad certificates, and knocks at the same doors for each link again.
    assert report["certificates"]["count"] == 0
    assert report["certificates"]["failed_handshakes"] > 10 * report["certificates"]["bad_hosts"]
