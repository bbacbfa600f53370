"""What no resolver would send, sent to `lycosa dns`: it answers as the RFCs say, never much, and goes on."""

from __future__ import annotations

import os
import random
import re
import select
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import dns.edns
import dns.exception
import dns.message
import dns.rcode
import pytest

from benchmarks.dns_servers import Server
from tests.interop.dns_servers import HOSTS, ZONE, Ours, address, ask, knot, our_server, serving

MUTATED = 10_000
AT_ONCE = 50  # under way: what any socket has space for
AMPLIFICATION = 10
QUIET = 0.03  # s without an answer after which none is waited for where none is due
PATIENCE = 5.0  # s for one that is due
FORMERR, NOTIMP = int(dns.rcode.FORMERR), int(dns.rcode.NOTIMP)
CORPORA = Path(os.environ.get("LYCOSA_CORPORA") or Path(__file__).parents[3] / "shared" / "corpora")


@pytest.fixture(scope="module")
def upper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    """A server of ours before the zone; what is not in the zone fails at once."""
    with (
        serving(knot(), tmp_path_factory.mktemp("knot")) as behind,
        our_server(
            tmp_path_factory.mktemp("ours"), behind.address, tier="upper", settings="timeout = 0.3\nattempts = 1"
        ) as server,
    ):
        yield server


def due(message: bytes) -> set[int] | None:
    """The response codes of which one is due; none are: silence. None: whatever the server finds right.

    An independent reading of RFC 1035 section 4.1, RFC 6891 section 6.1 and RFC 9619, of no more than is certain.
    """
    if len(message) < 12 or message[2] & 0x80:
        return set()
    if message[2] >> 3 & 15:
        return {NOTIMP}
    questions, _, _, additionals = struct.unpack("!4H", message[4:12])
    if questions > 1:
        return {FORMERR}
    if questions == 1:
        place = 12
        while place < len(message) and message[place]:
            if message[place] & 0xC0 == 0xC0:
                return None  # a pointer: some follow it
            if message[place] & 0xC0:
                return {FORMERR}
            place += 1 + message[place]
        if place + 5 > len(message) or place + 1 - 12 > 255:
            return {FORMERR}
        if place + 5 == len(message) and additionals:
            return {FORMERR}  # records are announced that are not there
    return None


def judge(message: bytes, answer: bytes | None) -> None:
    """Compare an answer with what is due."""
    codes = due(message)
    told = message.hex(), answer and answer.hex()
    if answer is None:
        assert not codes, told
        return
    assert codes is None or answer[3] & 15 in codes, told
    assert len(answer) <= AMPLIFICATION * len(message), told
    assert len(answer) >= 12, told
    assert answer[2] & 0x80, told
    assert answer[2] & 0x78 == message[2] & 0x78, told
    if answer[3] & 15 != FORMERR:
        try:
            dns.message.from_wire(answer, ignore_trailing=False)
        except dns.exception.DNSException as error:
            raise AssertionError(f"not a message: {error!r}: {told}") from None


def exchange(port: int, messages: Sequence[bytes]) -> list[bytes | None]:
    """Send messages, each from a socket of its own, and give the answer to each."""
    clients = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in messages]
    answers: list[bytes | None] = [None] * len(messages)
    try:
        for client, message in zip(clients, messages, strict=True):
            client.connect(("127.0.0.1", port))
            client.send(message)
        waiting = {client.fileno(): number for number, client in enumerate(clients)}
        begin = time.monotonic()
        while waiting:
            is_due = any(due(messages[number]) != set() for number in waiting.values())
            ready, _, _ = select.select(list(waiting), [], [], PATIENCE if is_due else QUIET)
            for number in ready:
                place = waiting.pop(number)
                answers[place] = clients[place].recv(65_535)
            if not ready or time.monotonic() - begin > PATIENCE:
                break
    finally:
        for client in clients:
            client.close()
    return answers


def seeds() -> list[bytes]:
    """Questions of many kinds, out of which mutants are made."""
    made = []
    for number in range(20):
        for kind in ("A", "AAAA", "MX", "TXT", "ANY", "HTTPS"):
            query = dns.message.make_query(f"host{number}.{ZONE}", kind)
            made.append(query.to_wire())
            query.use_edns(0, payload=4096, options=[dns.edns.CookieOption(bytes(range(8)), b"")])
            made.append(query.to_wire())
    made.append(dns.message.make_query(f"long.{ZONE}", "TXT", use_edns=0, payload=65_535).to_wire())
    made.append(dns.message.make_query(f"www.{ZONE}", "A", want_dnssec=True).to_wire())
    return made


def mutant(random: random.Random, messages: Sequence[bytes]) -> bytes:
    """One of the messages with one to four things done to it."""
    message = bytearray(random.choice(messages))
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(message)) if message else 0
        match random.randrange(9):
            case 0 if message:
                message[place] ^= 1 << random.randrange(8)
            case 1 if message:
                message[place] = random.choice((0, 1, 0x3F, 0x40, 0x80, 0xC0, 0xFF, random.randrange(256)))
            case 2:
                del message[place:]
            case 3:
                message += random.randbytes(random.randrange(1, 40))
            case 4:
                message[place:place] = random.randbytes(random.randrange(1, 8))
            case 5:
                del message[place : place + random.randrange(1, 8)]
            case 6 if len(message) >= 12:
                counter = 4 + 2 * random.randrange(4)
                message[counter : counter + 2] = random.choice((0, 1, 2, 0xFFFF)).to_bytes(2)
            case 7 if len(message) > 12:
                other = random.choice(messages)
                message[12:] = message[12:place] + other[12 : random.randrange(12, len(other) + 1)]
            case _ if len(message) >= 12:
                message[2:4] = random.randbytes(2)
    return bytes(message)


def is_well(server: Ours, number: int) -> None:
    """It answers, rightly."""
    assert server.server.alive, server.server.log.read_text()
    name = f"host{number % HOSTS}.{ZONE}"
    assert ask("dig", server.port, "+short", "+tries=2", name).split() == [address(number % HOSTS)]


def survive(server: Ours, messages: Sequence[bytes]) -> None:
    """Send all, judge all answers, and see that the server is well all the while."""
    for start in range(0, len(messages), AT_ONCE):
        batch = messages[start : start + AT_ONCE]
        for message, answer in zip(batch, exchange(server.port, batch), strict=True):
            judge(message, answer)
        if start % (20 * AT_ONCE) == 0:
            is_well(server, start)
    is_well(server, 1)


@pytest.mark.timeout(300)
def test_ten_thousand_mutated_questions(upper: Ours) -> None:
    chance = random.Random(20261122)  # noqa: S311
    originals = seeds()
    mutants = [message for message in (mutant(chance, originals) for _ in range(MUTATED)) if message]
    kinds = {str(due(message)) for message in mutants}
    assert kinds == {"set()", "None", f"{{{FORMERR}}}", f"{{{NOTIMP}}}"}  # all that is judged comes up
    survive(upper, mutants)


def test_random_bytes(upper: Ours) -> None:
    chance = random.Random(7)  # noqa: S311
    survive(upper, [chance.randbytes(chance.randrange(1, 600)) for _ in range(2_000)])


def test_packets_that_others_have_met(upper: Ours) -> None:
    # Queries as bytes and as text out of Deckard's scenarios (BSD-2), read where they lie.
    folder = CORPORA / "dns-deckard" / "sets" / "resolver"
    if not folder.is_dir():
        print(f"not judged by foreign packets: no corpora at {CORPORA} (set LYCOSA_CORPORA)")
        return
    messages = []
    for file in sorted(folder.glob("*.rpl")):
        text = file.read_text(encoding="latin-1")
        messages += [bytes.fromhex(found) for found in re.findall(r"^RAW\s+((?:[0-9a-fA-F]{2})+)\s*$", text, re.M)]
        for name, kind in re.findall(r"SECTION QUESTION\s+(\S+)\s+IN\s+([A-Z0-9]+)", text):
            try:
                messages.append(dns.message.make_query(name, kind).to_wire())
            except dns.exception.DNSException:
                continue  # a type that this library does not know
    messages = list(dict.fromkeys(message[:1400] for message in messages))
    assert len(messages) > 300
    survive(upper, messages)


def test_garbage_over_tcp(upper: Ours) -> None:
    chance, originals = random.Random(11), seeds()  # noqa: S311
    for _ in range(200):
        with socket.create_connection(("127.0.0.1", upper.port), timeout=5) as stream:
            for _ in range(chance.randrange(1, 8)):
                message = mutant(chance, originals)
                # Now and then the length is a lie.
                size = len(message) if chance.random() < 0.8 else chance.randrange(65_536)
                try:
                    stream.sendall(size.to_bytes(2) + message)
                except OSError:
                    break  # it was closed, which is its right
    is_well(upper, 2)
    for length in (b"", b"\0", b"\0\0", b"\0\x0b" + b"x" * 11, b"\xff\xff" + b"x" * 100):
        with socket.create_connection(("127.0.0.1", upper.port), timeout=5) as stream:
            stream.sendall(length)
    is_well(upper, 3)


def test_a_forged_sender_gains_nothing(upper: Ours) -> None:
    # The largest answers that this zone has, for the smallest questions: the largest payload, no cookie.
    for name, kind in ((f"long.{ZONE}", "TXT"), (ZONE, "ANY"), (f"www.{ZONE}", "A"), (ZONE, "NS"), (".", "NS")):
        for payload in (512, 1232, 65_535):
            question = dns.message.make_query(name, kind, use_edns=0, payload=payload).to_wire()
            for _ in ("passed through", "perhaps from memory"):
                (answer,) = exchange(upper.port, [question])
                assert answer is not None
                assert len(answer) <= AMPLIFICATION * len(question), (name, kind, payload)


def test_the_judge_itself() -> None:
    # Else a judge that lets everything pass would go unnoticed.
    good = dns.message.make_query(f"www.{ZONE}", "A").to_wire()
    assert due(good) is None
    assert due(good[:-1]) == {FORMERR}
    assert due(good[:11]) == set()
    assert due(good[:2] + b"\x28" + good[3:]) == {NOTIMP}
    answer = bytearray(dns.message.make_response(dns.message.from_wire(good)).to_wire())
    judge(good, bytes(answer))
    for message, wrong in (
        (good, bytes(answer) + bytes(10 * len(good))),
        (good[:-1], bytes(answer)),
        (good[:-1], None),
        (good, good),
    ):
        with pytest.raises(AssertionError):
            judge(message, wrong)


def test_whose_process_it_is(upper: Ours) -> None:
    server: Server = upper.server
    log = server.log.read_text()
    assert "panicked" not in log
    assert "Traceback" not in log
    assert len(log.splitlines()) < 5, log  # nobody fills a disk by sending garbage
