"""`lycosa dns` among foreign servers and clients: whoever speaks DNS can ask it, and be asked by it."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import aiodns
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.resolver
import pycares
import pytest
from lycosa.names import Cache
from lycosa.simnet import SimulatedInternet

from benchmarks.dns_servers import Recipe, Server, launch, ours
from tests.interop.dns_servers import (
    AUTHORITIES,
    HOSTS,
    LONG,
    PRIVATE,
    PRIVATE_V6,
    ZONE,
    Ours,
    address,
    ask,
    bind,
    datagram,
    forwarder,
    knot,
    nsd,
    our_server,
    serving,
    wait_for,
)

PROGRAMS = pytest.mark.parametrize("program", ["dig", "kdig"])
TRANSPORTS = pytest.mark.parametrize("transport", ["+notcp", "+tcp"])
WWW = ["192.0.2.1", "192.0.2.2"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Knot DNS with the zone, for all tests that do not harm it."""
    with serving(knot(), tmp_path_factory.mktemp("knot")) as server:
        yield server


@pytest.fixture(scope="module")
def lower(authority: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    """A lower server of ours, behind it an upper one, behind that the zone."""
    folder = tmp_path_factory.mktemp("tiers")
    with (
        our_server(folder / "upper", authority.address, tier="upper") as upper,
        our_server(folder / "lower", upper.address) as lower,
    ):
        yield lower


# Programs that ask.


@PROGRAMS
@TRANSPORTS
def test_addresses(lower: Ours, program: str, transport: str) -> None:
    for number in range(10):
        name = f"host{number}.{ZONE}"
        assert ask(program, lower.port, transport, "+short", name).split() == [address(number)]
    assert sorted(ask(program, lower.port, transport, "+short", f"www.{ZONE}").split()) == WWW
    assert ask(program, lower.port, transport, "+short", f"www.{ZONE}", "AAAA").split() == ["2001:db8::1"]
    assert ask(program, lower.port, transport, "+short", f"a.b.wild.{ZONE}").split() == ["192.0.2.7"]
    assert set(ask(program, lower.port, transport, "+short", f"alias.{ZONE}").split()) >= set(WWW)


@PROGRAMS
@TRANSPORTS
def test_what_has_no_address(lower: Ours, program: str, transport: str) -> None:
    gone = ask(program, lower.port, transport, f"gone.{ZONE}")
    assert "status: NXDOMAIN" in gone
    assert "\tSOA\t" in gone  # RFC 2308: without it nobody may remember the answer
    empty = ask(program, lower.port, transport, f"host1.{ZONE}", "AAAA")
    assert "status: NOERROR" in empty
    assert re.search("ANSWER: 0", empty)
    assert "\tSOA\t" in empty
    assert "status: NXDOMAIN" in ask(program, lower.port, transport, f"nowhere.{ZONE}")


@PROGRAMS
@TRANSPORTS
def test_other_types_are_passed_through(lower: Ours, program: str, transport: str) -> None:
    assert ask(program, lower.port, transport, "+short", ZONE, "MX").split() == ["10", f"mail.{ZONE}."]
    assert ask(program, lower.port, transport, "+short", f"text.{ZONE}", "TXT").split() == ['"hello"']
    assert ask(program, lower.port, transport, "+short", ZONE, "NS").split() == [f"ns.{ZONE}."]


@TRANSPORTS
def test_passed_through_answers_are_those_of_a_resolver(lower: Ours, transport: str) -> None:
    # RFC 1035 section 4.1.1: recursion is available here, and nobody here is an authority.
    for kind in ("MX", "TXT", "NS"):
        answer = ask("dig", lower.port, transport, "+noedns", ZONE, kind)
        assert "flags: qr rd ra;" in answer, answer


@PROGRAMS
@TRANSPORTS
def test_any_is_answered_with_hinfo(lower: Ours, program: str, transport: str) -> None:
    answer = ask(program, lower.port, transport, f"www.{ZONE}", "ANY")
    assert "status: NOERROR" in answer
    assert re.search(r"IN\tHINFO\t\"RFC8482\" \"\"", answer)
    assert "192.0.2.1" not in answer


@TRANSPORTS
def test_edns(lower: Ours, transport: str) -> None:
    assert "EDNS: version: 0" in ask("dig", lower.port, transport, f"www.{ZONE}", "+edns=0")
    assert "OPT PSEUDOSECTION" not in ask("dig", lower.port, transport, f"www.{ZONE}", "+noedns")
    other = ask("dig", lower.port, transport, f"www.{ZONE}", "+edns=1", "+noednsnegotiation")
    assert "status: BADVERS" in other
    assert "EDNS: version: 0" in other
    # RFC 6891 section 6.1.2: an option that nobody knows is no fault.
    assert "status: NOERROR" in ask("dig", lower.port, transport, f"www.{ZONE}", "+ednsopt=65001:c0ffee")


def test_cookies(lower: Ours) -> None:
    first = ask("dig", lower.port, f"www.{ZONE}", "+cookie=0123456789abcdef")
    cookie = re.search(r"COOKIE: ([0-9a-f]{32,80}) \(good\)", first)
    assert cookie, first
    assert cookie[1].startswith("0123456789abcdef")
    before = lower.statistics()["bad_cookies"]
    again = ask("dig", lower.port, f"www.{ZONE}", f"+cookie={cookie[1]}")
    assert "status: NOERROR" in again
    assert lower.statistics()["bad_cookies"] == before
    # A forged one gets an answer, too, and a good one to use: it is worth no more than none.
    forged = ask(
        "dig", lower.port, f"www.{ZONE}", f"+cookie={cookie[1][:-2]}{'00' if cookie[1][-2:] != '00' else '11'}"
    )
    assert "status: NOERROR" in forged or "status: BADCOOKIE" in forged
    assert lower.statistics()["bad_cookies"] == before + 1
    assert "status: FORMERR" in ask("dig", lower.port, f"www.{ZONE}", "+nocookie", "+ednsopt=10:012345")
    # A cookie without a question (RFC 7873 section 5.4).
    greeting = ask("dig", lower.port, "+header-only", "+cookie=0123456789abcdef")
    assert re.search(r"status: NOERROR[^$]*COOKIE: 0123456789abcdef[0-9a-f]{32} \(good\)", greeting), greeting


@PROGRAMS
def test_what_does_not_fit_is_asked_for_again_over_tcp(lower: Ours, program: str) -> None:
    cut = ask(program, lower.port, f"long.{ZONE}", "TXT", "+ignore", "+bufsize=1232")
    assert re.search(r"[Ff]lags: qr (aa )?tc rd", cut), cut
    whole = ask(program, lower.port, "+short", f"long.{ZONE}", "TXT", "+bufsize=1232")
    assert len([line for line in whole.splitlines() if line.startswith('"')]) == LONG


def test_kdig_asks_many_questions_on_one_connection(lower: Ours) -> None:
    names = [f"host{number}.{ZONE}" for number in range(HOSTS)]
    before = lower.statistics()["questions_tcp"]
    answers = ask("kdig", lower.port, "+tcp", "+keepopen", "+short", *names).split()
    assert answers == [address(number) for number in range(HOSTS)]
    assert lower.statistics()["questions_tcp"] == before + HOSTS


def test_pipelined_questions_are_all_answered(lower: Ours) -> None:
    # RFC 7766 section 6.2.1.1: sent at once; answers may come in any order, and slow ones hold up nobody.
    questions = [dns.message.make_query(f"pipe{n}.wild.{ZONE}", "A", id=n + 1) for n in range(200)]
    with socket.create_connection(("127.0.0.1", lower.port), timeout=10) as stream:
        stream.sendall(b"".join(len(q.to_wire()).to_bytes(2) + q.to_wire() for q in questions))
        stream.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := stream.recv(65_536):
            received += chunk
    answers = {}
    while received:
        size = int.from_bytes(received[:2])
        answer = dns.message.from_wire(received[2 : 2 + size])
        answers[answer.id] = answer
        received = received[2 + size :]
    assert sorted(answers) == list(range(1, 201))
    for question in questions:
        assert question.is_response(answers[question.id])
        assert answers[question.id].answer[0][0].to_text() == "192.0.2.7"


def test_other_opcodes_are_not_implemented(lower: Ours) -> None:
    for opcode in (1, 2, 4, 5, 6, 15):
        answer = ask("dig", lower.port, f"+opcode={opcode}", f"www.{ZONE}")
        assert "status: NOTIMP" in answer, answer


def test_garbage_is_a_format_error(lower: Ours) -> None:
    header = bytes.fromhex("4711 0100 0001 0000 0000 0000")
    for what, rest in {
        "no question at all": b"",
        "a label that runs over the end": b"\x3fwww",
        "a reserved kind of label": b"\x80ww\0\0\x01\0\x01",
        "no type and class": b"\x03www\0",
        "a name of 300 bytes": (b"\x3b" + b"x" * 59) * 5 + b"\0\0\x01\0\x01",
    }.items():
        answer = datagram(lower.port, header + rest)
        assert answer is not None, what
        assert answer[:2] == header[:2], what
        assert answer[2] & 0x80, what
        assert answer[3] & 15 == dns.rcode.FORMERR, what
    question = dns.message.make_query(f"www.{ZONE}", "A").to_wire()
    two = question[:4] + b"\0\x02" + question[6:] + question[12:]
    for message in (two, question[:6] + b"\0\x01" + question[8:]):  # RFC 9619; an answer that is announced
        answer = datagram(lower.port, message)
        assert answer is not None
        assert answer[3] & 15 == dns.rcode.FORMERR
    assert datagram(lower.port, question[:2] + b"\x81\x80" + question[4:], within=0.3) is None  # is an answer
    assert datagram(lower.port, question[:11], within=0.3) is None  # no header


# Libraries that ask.


def addresses(answer: pycares.DNSResult) -> list[str]:
    """The addresses in an answer of c-ares."""
    kinds = pycares.ARecordData, pycares.AAAARecordData
    return [record.data.addr for record in answer.answer if isinstance(record.data, kinds)]


@pytest.mark.parametrize("flags", [0, pycares.ARES_FLAG_USEVC], ids=["udp", "tcp"])
def test_c_ares(lower: Ours, flags: int) -> None:
    async def story() -> None:
        client = aiodns.DNSResolver(
            nameservers=["127.0.0.1"], udp_port=lower.port, tcp_port=lower.port, timeout=5, tries=2, flags=flags
        )
        names = [f"host{number}.{ZONE}" for number in range(HOSTS)]
        answers = await asyncio.gather(*(client.query_dns(name, "A") for name in names))
        assert [addresses(answer) for answer in answers] == [[address(n)] for n in range(HOSTS)]
        both = await client.query_dns(f"www.{ZONE}", "AAAA")
        assert addresses(both) == ["2001:db8::1"]
        texts = await client.query_dns(f"long.{ZONE}", "TXT")  # by TCP in either case
        assert len(texts.answer) == LONG
        with pytest.raises(aiodns.error.DNSError) as error:
            await client.query_dns(f"gone.{ZONE}", "A")
        assert error.value.args[0] == pycares.errno.ARES_ENOTFOUND
        await client.close()

    before = lower.statistics()
    asyncio.run(story())
    after = lower.statistics()
    by_tcp = after["questions_tcp"] - before["questions_tcp"]
    assert by_tcp > HOSTS if flags else by_tcp == 1


@pytest.mark.parametrize("tcp", [False, True], ids=["udp", "tcp"])
def test_dnspython(lower: Ours, tcp: bool) -> None:
    client = dns.resolver.Resolver(configure=False)
    client.nameservers, client.port = ["127.0.0.1"], lower.port
    for number in range(20):
        answer = client.resolve(f"host{number}.{ZONE}", "A", tcp=tcp)
        assert [record.address for record in answer] == [address(number)]
        assert answer.rrset is not None
        assert 0 < answer.rrset.ttl <= 3600
    assert len(client.resolve(f"long.{ZONE}", "TXT", tcp=tcp)) == LONG
    with pytest.raises(dns.resolver.NXDOMAIN):
        client.resolve(f"gone.{ZONE}", "A", tcp=tcp)
    with pytest.raises(dns.resolver.NoAnswer):
        client.resolve(f"host1.{ZONE}", "AAAA", tcp=tcp)


def test_answers_repeat_the_letters_of_the_question(lower: Ours) -> None:
    # Clients that play with the case of letters (0x20) drop what does not.
    query = dns.message.make_query("HoSt5.LyCoSa.ExAmPlE", "A")
    answer = dns.query.udp(query, "127.0.0.1", port=lower.port, timeout=5)
    assert answer.question[0].name.to_text() == "HoSt5.LyCoSa.ExAmPlE."
    assert answer.flags & dns.flags.RA


# Servers before and behind it.


@pytest.mark.parametrize("validate", [False, True], ids=["iterator", "validator"])
def test_unbound_forwards_to_it(lower: Ours, tmp_path: Path, validate: bool) -> None:
    with serving(forwarder(lower.address, validate=validate), tmp_path) as front:
        for transport in ("+notcp", "+tcp"):
            for number in range(20):
                name = f"host{number}.{ZONE}"
                assert ask("dig", front.port, transport, "+short", name).split() == [address(number)]
            assert "status: NXDOMAIN" in ask("dig", front.port, transport, f"gone.{ZONE}")
            assert len(ask("dig", front.port, transport, "+short", f"long.{ZONE}", "TXT").splitlines()) == LONG
        assert sorted(ask("dig", front.port, "+short", f"www.{ZONE}").split()) == WWW
        assert ask("dig", front.port, "+short", f"www.{ZONE}", "AAAA").split() == ["2001:db8::1"]


def anchors_of(signed: Server) -> list[str]:
    """The trust anchors of a signed zone: its key-signing keys."""
    keys = ask("dig", signed.port, "+tcp", "+short", ZONE, "DNSKEY").splitlines()
    return [f"{ZONE}. DNSKEY {key}" for key in keys if key.startswith("257 ")]


def unbound_validator(upstream: str, anchors: Sequence[str]) -> Recipe:
    """Unbound that validates what `upstream` answers."""
    return forwarder(upstream, anchors=anchors, validate=True)


def test_unbound_validates_signatures_that_come_through_it(tmp_path: Path) -> None:
    with (
        serving(knot(signed=True), tmp_path / "knot") as signed,
        our_server(tmp_path / "upper", signed.address, tier="upper") as upper,
        our_server(tmp_path / "lower", upper.address) as lower,
    ):
        anchors = anchors_of(signed)
        assert anchors
        with serving(unbound_validator(lower.address, anchors), tmp_path / "good") as front:
            for name in (f"host1.{ZONE}", f"www.{ZONE}", f"alias.{ZONE}", f"a.wild.{ZONE}"):
                answer = ask("dig", front.port, name)
                assert "status: NOERROR" in answer, answer
                assert re.search(r"flags: qr rd ra ad;", answer), answer
            gone = ask("dig", front.port, f"gone.{ZONE}")
            assert "status: NXDOMAIN" in gone
            assert re.search(r"flags: qr rd ra ad;", gone), gone
        # Another zone's key does not fit: so it was the signatures that were looked at.
        with serving(knot(signed=True), tmp_path / "other") as stranger:
            foreign = anchors_of(stranger)
        with serving(unbound_validator(lower.address, foreign), tmp_path / "bad") as front:
            assert "status: SERVFAIL" in ask("dig", front.port, f"host1.{ZONE}")


@pytest.mark.parametrize("validator", [unbound_validator, bind], ids=["Unbound", "BIND"])
def test_validating_clients_get_repeated_questions_from_memory_and_all_results_right(
    validator: Callable[[str, Sequence[str]], Recipe], tmp_path: Path
) -> None:
    secure = [(f"host{number}.{ZONE}", "A") for number in range(60)]
    secure += [(ZONE, "MX"), (ZONE, "NS"), (f"text.{ZONE}", "TXT"), (f"www.{ZONE}", "AAAA"), (f"a.wild.{ZONE}", "A")]
    denied = [(f"gone{number}.{ZONE}", "A") for number in range(20)]
    with (
        serving(knot(signed=True), tmp_path / "knot") as signed,
        our_server(tmp_path / "upper", signed.address, tier="upper") as upper,
        our_server(tmp_path / "lower", upper.address) as lower,
    ):
        anchors = anchors_of(signed)
        asked = []
        # Each of these begins with nothing in its own memory; the first one fills that of the tiers.
        for turn in range(4):
            before = lower.statistics()
            with serving(validator(lower.address, anchors), tmp_path / f"client{turn}") as front:
                for name, kind in secure + denied:
                    answer = ask("dig", front.port, "+dnssec", name, kind)
                    code = "NXDOMAIN" if (name, kind) in denied else "NOERROR"
                    assert f"status: {code}" in answer, answer
                    assert re.search(r"flags: qr rd ra ad;", answer), answer
            after = lower.statistics()
            asked.append(tuple(after[key] - before[key] for key in ("packet_hits", "passed_through")))
        hits, passed = (sum(counts) for counts in zip(*asked[1:], strict=True))
        assert hits >= 100
        assert hits / (hits + passed) >= 0.95, asked
        # A zone that another key has signed does not pass, from memory or not.
        with serving(knot(signed=True), tmp_path / "stranger") as stranger:
            foreign = anchors_of(stranger)
        with serving(validator(lower.address, foreign), tmp_path / "bad") as front:
            for name, kind in secure[:5]:
                assert "status: SERVFAIL" in ask("dig", front.port, "+dnssec", name, kind)


@pytest.mark.parametrize("name", list(AUTHORITIES))
def test_authorities_behind_it(tmp_path: Path, name: str) -> None:
    with (
        serving(AUTHORITIES[name](), tmp_path / name) as behind,
        our_server(tmp_path / "upper", behind.address, tier="upper") as upper,
    ):
        names = [f"host{number}.{ZONE}" for number in range(HOSTS)]
        for transport in ("+notcp", "+tcp"):
            assert ask("kdig", upper.port, transport, "+short", *names).split() == [
                address(number) for number in range(HOSTS)
            ]
            assert set(ask("dig", upper.port, transport, "+short", f"alias.{ZONE}").split()) >= set(WWW)
            assert "status: NXDOMAIN" in ask("dig", upper.port, transport, f"gone.{ZONE}")
            assert len(ask("dig", upper.port, transport, "+short", f"long.{ZONE}", "TXT").splitlines()) == LONG
        counts = upper.statistics()
        assert counts["hits"] >= HOSTS
        # What is not its zone it refuses, and so does nobody know it.
        assert "status: SERVFAIL" in ask("dig", upper.port, "www.elsewhere.example")


def test_it_forwards_to_unbound(tmp_path: Path) -> None:
    with (
        serving(nsd(), tmp_path / "nsd") as behind,
        serving(forwarder(behind.address), tmp_path / "unbound") as resolver,
        our_server(tmp_path / "upper", resolver.address, tier="upper") as upper,
        our_server(tmp_path / "lower", upper.address) as lower,
    ):
        for program in ("dig", "kdig"):
            for transport in ("+notcp", "+tcp"):
                for number in range(10):
                    name = f"host{number}.{ZONE}"
                    assert ask(program, lower.port, transport, "+short", name).split() == [address(number)]
                assert "status: NXDOMAIN" in ask(program, lower.port, transport, f"gone.{ZONE}")
        # kdig does not ask again over TCP when it is told not to.
        for program, transport in (("dig", "+notcp"), ("dig", "+tcp"), ("kdig", "+tcp"), ("kdig", "+ignore")):
            long = ask(program, lower.port, transport, "+short", f"long.{ZONE}", "TXT")
            assert long.count('"') == (0 if transport == "+ignore" else 2 * LONG)
        # The lower tier remembers: of 40 questions for addresses one each was passed on.
        assert lower.statistics()["hits"] >= 30
        assert upper.statistics()["misses"] < 30


def test_it_is_behind_the_simulated_internet(tmp_path: Path) -> None:
    with (
        SimulatedInternet(hosts=100, pages=1, seed=5) as net,
        our_server(tmp_path / "upper", net.resolver, tier="upper") as upper,
        our_server(tmp_path / "lower", upper.address) as lower,
    ):
        for _ in range(3):
            assert ask("kdig", lower.port, "+short", *net.hosts).split() == list(net.hosts.values())
        asked = net.report()["totals"]["dns_by_answer"]
        assert asked.pop("address") == 100
        assert set(asked) <= {"nxdomain"}
        assert asked.get("nxdomain", 0) <= 2, "each server's search for loops asks for a name that nobody has"


# What protects it, and those behind it.


def test_private_addresses_are_taken_out(authority: Server, tmp_path: Path) -> None:
    settings = f'filter_private = true\nprivate_names = ["home.{ZONE}"]'
    with our_server(tmp_path, authority.address, settings=settings) as server:
        for _ in ("asked upstream", "from memory"):
            for name in PRIVATE.keys() - {"home"}:
                answer = ask("dig", server.port, f"{name}.{ZONE}")
                assert "status: NOERROR" in answer
                assert "ANSWER: 0" in answer, answer
            for name in PRIVATE_V6:
                assert "ANSWER: 0" in ask("dig", server.port, f"{name}.{ZONE}", "AAAA")
            assert ask("dig", server.port, "+short", f"mixed.{ZONE}").split() == ["198.41.0.4"]
            assert ask("dig", server.port, "+short", f"home.{ZONE}").split() == [PRIVATE["home"]]
        # No other way leads to them: not with signatures, which are passed through else.
        assert "10.1.2.3" not in ask("dig", server.port, "+dnssec", f"ten.{ZONE}")
        assert server.statistics()["private_filtered"] >= 2 * (len(PRIVATE) - 1 + len(PRIVATE_V6))


def test_without_the_filter_private_addresses_stay(lower: Ours) -> None:
    for name, text in PRIVATE.items():
        assert ask("dig", lower.port, "+short", f"{name}.{ZONE}").split() == [text]
    for name, text in PRIVATE_V6.items():
        assert ask("dig", lower.port, "+short", f"{name}.{ZONE}", "AAAA").split() == [text]


def test_clients_outside_the_access_list_are_refused(authority: Server, tmp_path: Path) -> None:
    with our_server(tmp_path, authority.address, settings='allow = ["127.0.0.1/32"]') as server:
        assert ask("dig", server.port, "+short", f"www.{ZONE}").split()
        refused = ask("dig", server.port, "-b", "127.0.0.2", f"www.{ZONE}")
        assert "status: REFUSED" in refused
        assert "192.0.2.1" not in refused
        elsewhere = ("127.0.0.2", 0)
        with socket.create_connection(("127.0.0.1", server.port), timeout=5, source_address=elsewhere) as stranger:
            assert stranger.recv(1) == b"", "closed at once"
        assert server.statistics()["refused_clients"] == 2


def test_answers_go_on_when_the_upstream_is_dead(tmp_path: Path) -> None:
    file = tmp_path / "names.cache"
    settings = f'cache = "{file}"\ntimeout = 0.3\nattempts = 2\nprefetch = false'
    old, fresh, unknown = (f"host{number}.{ZONE}" for number in (1, 2, 3))
    with serving(knot(), tmp_path / "knot") as behind:
        with our_server(tmp_path / "first", behind.address, settings=settings) as server:
            for name in (old, fresh):
                assert ask("dig", server.port, "+short", name).split()
            # Time is not waited for: one of the names was learned an hour ago, for a minute.
            memory = Cache.open(file)
            memory.forget(old)
            memory.put_entries([(old, [address(1)], 60, 10)], "v4", int(time.time()) - 3_600)
            behind.kill()
            late = ask("dig", server.port, "+time=5", old)
            assert "status: NOERROR" in late
            ttl = re.search(r"^host1\S+\s+(\d+)\s.*\sA\s192\.0\.2\.1", late, re.MULTILINE)
            assert ttl, late
            assert 1 <= int(ttl[1]) <= 90  # for a short time (RFC 8767 section 4)
            assert server.statistics()["stale"] == 1
            assert ask("dig", server.port, "+short", fresh).split() == [address(2)]
            # What was never known cannot be stale.
            assert "status: SERVFAIL" in ask("dig", server.port, "+time=5", unknown)
        # The memory outlives the server, and what is in it is told without anybody behind.
        with our_server(tmp_path / "second", behind.address, settings=settings) as server:
            assert ask("dig", server.port, "+short", fresh).split() == [address(2)]
            assert server.statistics()["misses"] == 0


def test_a_port_in_use_is_told_in_one_line(lower: Ours, tmp_path: Path) -> None:
    command, _ = ours(tmp_path, ["127.0.0.1:53"], port=lower.port)
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert f"127.0.0.1:{lower.port}" in lines[0]
    assert "in use" in lines[0]


def test_it_ends_when_told_and_drains(authority: Server, tmp_path: Path) -> None:
    command, port = ours(tmp_path, [authority.address])
    server = launch("lycosa dns", command, port, tmp_path)
    try:
        wait_for("listening", lambda: "listening on" in server.log.read_text())
        assert ask("dig", port, "+short", f"www.{ZONE}").split()
    finally:
        assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


@pytest.mark.soak
def test_ten_minutes_at_full_rate_leave_memory_flat(tmp_path: Path) -> None:
    from benchmarks import dns_perf

    with (
        SimulatedInternet(hosts=100_000, pages=1, seed=5) as net,
        our_server(tmp_path / "ours", net.resolver, settings="min_ttl = 300") as server,
    ):
        questions = dns_perf.write(list(net.hosts), tmp_path / "questions")
        every: Any = frozenset(range(64))
        sizes = []
        for _ in range(10):
            load = dns_perf.full(server.port, questions, every, 60.0)
            assert load.lost < load.sent * 0.001
            sizes.append(server.server.resident)
        assert max(sizes[1:]) < sizes[0] * 1.05 + (4 << 20), sizes
        print(f"resident bytes after each minute: {sizes}", file=sys.stderr)
