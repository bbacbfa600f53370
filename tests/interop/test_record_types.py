"""Records of every type: `lycosa.resolve` says what kdig, dig, delv and dnspython say, also through two tiers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.query
import dns.rdatatype
import lycosa
import pytest
from lycosa.errors import SettingError

from benchmarks.dns_servers import Recipe, Server
from tests.interop.dns_servers import Ours, our_server, serving
from tests.interop.programs import require

ZONE = "types.example"

#: Records of each type that a crawler, an archive or a researcher may ask for.
RECORDS = """\
@ SOA ns hostmaster 1 3600 900 604800 300
@ NS ns
@ NS ns.elsewhere.example.
ns A 192.0.2.53
www A 192.0.2.1
www A 192.0.2.2
www AAAA 2001:db8::1
alias CNAME www
chain CNAME alias
@ MX 10 mail
@ MX 20 mail.elsewhere.example.
mail A 192.0.2.3
@ TXT "v=spf1 -all"
@ TXT "two" "parts; with \\"quotes\\""
_dmarc TXT "v=DMARC1; p=none"
_sip._tcp SRV 1 2 5060 www
@ CAA 0 issue "ca.example"
7.2.0.192 PTR www
www HTTPS 1 . alpn=h3,h2 port=8443 ipv4hint=192.0.2.1 ipv6hint=2001:db8::1
svc SVCB 2 www mandatory=alpn alpn=h2
alias-mode HTTPS 0 www
naptr NAPTR 100 10 "u" "E2U+sip" "!^.*$!sip:info@types.example!" .
key SSHFP 1 2 123456789abcdef67890123456789abcdef67890123456789abcdef123456789
_443._tcp.www TLSA 3 1 1 d2abde240d7cd3ee6b4b28c54df034b97983a1d16e8a410e4561cb106618e971
host HINFO "PC" "Linux"
dname DNAME other.example.
loc LOC 52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m
uri URI 10 1 "https://www.types.example/"
cert CERT 1 0 0 AQIDBA==
openpgp OPENPGPKEY AQIDBA==
dhcid DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=
rp RP admin text
afs AFSDB 1 www
new TYPE65280 \\# 4 0a000001
"""

#: Names and types to ask for: what exists, and what does not.
QUESTIONS = [
    (name, kind) for name, kind in (line.split()[:2] for line in RECORDS.splitlines()) if kind not in ("A", "AAAA")
] + [
    ("alias", "TXT"),
    ("chain", "HTTPS"),
    ("www", "MX"),
    ("gone", "MX"),
    ("below.dname", "TXT"),
]


def full(name: str) -> str:
    """A name of the zone, whole."""
    return ZONE if name == "@" else f"{name}.{ZONE}"


def authority() -> Recipe:
    """Knot DNS with the records."""

    def prepare(folder: Path, port: int) -> list[str]:
        (folder / "zone").write_text(f"$ORIGIN {ZONE}.\n$TTL 3600\n{RECORDS}")
        (folder / "db").mkdir()
        (folder / "knot.conf").write_text(
            f"server:\n    rundir: {folder}\n    listen: 127.0.0.1@{port}\n    udp-workers: 1\n    tcp-workers: 1\n"
            f"database:\n    storage: {folder}/db\nlog:\n  - target: stderr\n    any: warning\n"
            f"zone:\n  - domain: {ZONE}\n    storage: {folder}\n    file: zone\n"
        )
        return ["-c", str(folder / "knot.conf")]

    return Recipe("Knot DNS", "knotd", "knot", prepare)


@pytest.fixture(scope="module")
def knot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The authority."""
    with serving(authority(), tmp_path_factory.mktemp("knot"), name=f"www.{ZONE}") as server:
        yield server


@pytest.fixture(scope="module")
def lower(knot: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    """A lower tier before an upper one before the authority."""
    with (
        our_server(tmp_path_factory.mktemp("upper"), knot.address, tier="upper") as upper,
        our_server(tmp_path_factory.mktemp("lower"), upper.address) as server,
    ):
        yield server


def wire(kind: str, data: str) -> bytes:
    """Record data as bytes, whatever its text is like."""
    rdata = dns.rdata.from_text("IN", kind, data)
    return bytes(rdata.to_wire() or b"")


def by_lycosa(server: str) -> dict[tuple[str, str], tuple[str, set[tuple[str, bytes]]]]:
    """For each question the status, and type and data of all records."""
    found = {}
    for kind in {kind for _, kind in QUESTIONS}:
        names = sorted({full(name) for name, asked in QUESTIONS if asked == kind})
        for answer in lycosa.resolve(names, resolvers=[server], types=[kind]):
            records = {(rtype, wire(rtype, data)) for _, rtype, _, data in answer.records}
            found[answer.name, kind] = answer.status, records
    return found


def by_dnspython(server: str) -> dict[tuple[str, str], tuple[str, set[tuple[str, bytes]]]]:
    """The same by dnspython, which follows aliases as far as the answer does."""
    host, port = server.rsplit(":", 1)
    found = {}
    for name, kind in QUESTIONS:
        query = dns.message.make_query(full(name), kind)
        reply = dns.query.udp(query, host, port=int(port), timeout=5, ignore_unexpected=True)
        records = {
            (dns.rdatatype.to_text(rrset.rdtype), bytes(rdata.to_wire() or b""))
            for rrset in reply.answer
            for rdata in rrset
            if dns.rdatatype.to_text(rrset.rdtype) in (kind, "CNAME")
        }
        has_data = any(rtype == kind for rtype, _ in records)
        status = "ok" if has_data else "nxdomain" if reply.rcode() == dns.rcode.NXDOMAIN else "nodata"
        found[full(name), kind] = status, records
    return found


def by_program(command: list[str], kind: str) -> set[tuple[str, bytes]]:
    """Type and data of the records that a program prints, one a line as in a zone file."""
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    lines = (line.split(None, 4) for line in text.splitlines() if line and not line.startswith(";"))
    return {(rtype, wire(rtype, data)) for _, _, _, rtype, data in lines if rtype in (kind, "CNAME")}


def test_every_type_is_what_dnspython_says(knot: Server) -> None:
    assert by_lycosa(knot.address) == by_dnspython(knot.address)


def test_every_type_is_the_same_through_two_tiers(knot: Server, lower: Ours) -> None:
    direct = by_lycosa(knot.address)
    assert by_lycosa(lower.address) == direct
    assert by_lycosa(lower.address) == direct, "from the packet cache"
    assert by_dnspython(lower.address) == direct


@pytest.mark.parametrize("program", ["dig", "kdig", "delv"])
def test_foreign_programs_agree_through_two_tiers(lower: Ours, knot: Server, program: str) -> None:
    require(program)
    host, port = lower.address.rsplit(":", 1)
    direct = by_lycosa(knot.address)
    for name, kind in QUESTIONS:
        status, records = direct[full(name), kind]
        options = ["+noall", "+answer"] if program != "delv" else ["-i", "+noroot", "+norrcomments"]
        place = ["-p", port, f"@{host}"]
        asked = [full(name), kind]
        if program == "delv" and status != "ok":
            continue  # it says in words what a negative answer is
        assert by_program([program, *place, *options, *asked], kind) == records, (name, kind)


def test_several_types_and_addresses_make_one_row(knot: Server) -> None:
    names = [f"www.{ZONE}", ZONE, f"gone.{ZONE}", f"alias.{ZONE}", "a..b"]
    types = ["A", "aaaa", "HTTPS", "MX", "TYPE65280"]
    found = {answer.name: answer for answer in lycosa.resolve(names, resolvers=[knot.address], types=types)}
    www = found[f"www.{ZONE}"]
    assert (www.status, sorted(www.addresses)) == ("ok", ["192.0.2.1", "192.0.2.2", "2001:db8::1"])
    assert [record[:3] for record in www.records] == [(f"www.{ZONE}", "HTTPS", 3600)]
    assert www.validated is False
    assert {record[1] for record in found[ZONE].records} == {"MX"}
    assert found[f"gone.{ZONE}"].status == "nxdomain"
    alias = found[f"alias.{ZONE}"]
    assert [record[1] for record in alias.records] == ["CNAME", "HTTPS"], "an alias is told once"
    assert found["a..b"].status == "bad-name"


def test_an_address_is_its_reverse_name_for_ptr(knot: Server) -> None:
    (answer,) = lycosa.resolve(["192.0.2.7"], resolvers=[knot.address], types=["PTR"])
    assert answer.status == "servfail", "the authority has no such zone, and refuses"
    assert "PTR" in (answer.detail or "")


@pytest.mark.parametrize("kind", ["ANY", "AXFR", "OPT", "NOSUCH", "TYPE0", "TYPE65536", ""])
def test_what_is_no_type_of_records_is_told(kind: str) -> None:
    with pytest.raises(SettingError, match="TYPE65"):
        lycosa.resolve(["www.example"], resolvers=["127.0.0.1:9"], types=[kind])
