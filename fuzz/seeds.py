"""Makes seeds from the corpora of others: python3 fuzz/seeds.py INTO. Nothing of it is ever committed.

The corpora are looked for in LYCOSA_CORPORA, then beside the project in ../shared/corpora. Seeds of Lycosa's own
formats come from examples/seeds.rs.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import ipaddress
import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

# A seed is short, so that many fit and mutations hit what matters; there are few, so that a run begins soon.
MOST_BYTES = 4_096
MOST_SEEDS = 400

DNS_TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "DNAME": 39, "DS": 43}


def find_corpora() -> Path | None:
    """The folder, or None."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "corpora"
    folder = Path(os.environ.get("LYCOSA_CORPORA") or beside)
    return folder if folder.is_dir() else None


def pages(corpora: Path) -> Iterator[bytes]:
    """HTML: the cases of html5lib, and beginnings of real pages."""
    for path in sorted((corpora / "html5lib-tests" / "tree-construction").glob("*.dat")):
        yield from islice(re.findall(rb"#data\n(.*?)\n#errors", path.read_bytes(), re.DOTALL), 12)
    for path in sorted((corpora / "gne-chinese-news").rglob("*.html"))[:40]:
        yield path.read_bytes()


def charsets(corpora: Path) -> Iterator[bytes]:
    """A Content-Type, and a body in some encoding."""
    for path in sorted((corpora / "html5lib-tests" / "encoding").rglob("*.dat")):
        cases = re.findall(rb"#data\n(.*?)\n#encoding\n(\S+)", path.read_bytes(), re.DOTALL)
        for body, name in cases:
            yield b"text/html\n" + body
            yield b"text/html; charset=" + name + b"\n" + body
    text = (corpora / "html5lib-tests" / "encoding" / "chardet" / "test_big5.txt").read_bytes()
    yield b"\n" + text


def urls(corpora: Path) -> Iterator[bytes]:
    """A page and a link in it."""
    cases = json.loads((corpora / "url" / "wpt" / "urltestdata.json").read_text())
    for case in cases:
        if isinstance(case, dict):
            base = case.get("base") or "http://example.com/"
            yield f"{base}\n{case['input']}".encode(errors="replace")
    with gzip.open(corpora / "hosts" / "urls_from_pages_dev.txt.gz", "rb") as lines:
        yield from islice((line.strip() for line in lines), 0, 20_000, 200)


def host_names(corpora: Path) -> Iterator[bytes]:
    """Names of hosts, real and odd."""
    for case in json.loads((corpora / "url" / "wpt" / "toascii.json").read_text()):
        if isinstance(case, dict):
            yield case["input"].encode(errors="replace")
    with gzip.open(corpora / "hosts" / "hosts_dev.txt.gz", "rb") as lines:
        yield from islice((line.strip() for line in lines), 0, 20_000, 200)


def robots(corpora: Path) -> Iterator[bytes]:
    """A path, and a robots.txt."""
    for line in (corpora / "robots" / "google_spec_correctness.jsonl").read_text().splitlines():
        case = json.loads(line)
        path = re.sub(r"^\w+://[^/]*/?", "", case["url"])
        file = case["robots_latin1"].replace(case["agent"], "lycosa") if case["agent"] else case["robots_latin1"]
        yield path.encode() + b"\n" + file.encode("latin-1")


def responses(corpora: Path) -> Iterator[bytes]:
    """HTTP responses out of WARC files, as they were received."""
    for path in sorted((corpora / "warc-samples").rglob("*")):
        if path.suffix not in {".warc", ".arc", ".gz", ".bad"}:
            continue
        data = path.read_bytes()
        with contextlib.suppress(OSError, EOFError):  # not compressed, or cut off: a seed as it is
            data = gzip.decompress(data)
        for found in re.finditer(rb"HTTP/1\.[01] \d+[^\n]*\n", data):
            yield data[found.start() : found.start() + 2_000]


def name(text: str) -> bytes:
    """A name in a message, without compression."""
    labels = [label.encode()[:63] for label in text.split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(words: list[str]) -> bytes | None:
    """The wire form of a line of a scenario (owner, TTL, class, type, data); None where the type is not known."""
    rest = words[1:]
    ttl = int(rest.pop(0)) if rest and rest[0].isdigit() else 3_600
    if rest and rest[0] == "IN":
        rest.pop(0)
    if len(rest) < 2 or rest[0] not in DNS_TYPES:
        return None
    kind, data = rest[0], rest[1:]
    try:
        wire = ipaddress.ip_address(data[0]).packed if kind in {"A", "AAAA"} else name(data[0])
    except ValueError:
        return None
    if kind == "SOA":
        numbers = [int(number) & 0xFFFFFFFF for number in data[2:7] if number.isdigit()]
        wire += name(data[1]) + b"".join(number.to_bytes(4) for number in numbers)
    return name(words[0]) + DNS_TYPES[kind].to_bytes(2) + b"\0\1" + ttl.to_bytes(4) + len(wire).to_bytes(2) + wire


def scenarios(corpora: Path) -> Iterator[tuple[str, list[bytes]]]:
    """The entries of Deckard's scenarios: the name that is asked for, and the records of the answer."""
    for path in sorted((corpora / "dns-deckard" / "sets" / "resolver").glob("*.rpl")):
        text = path.read_text(errors="replace")
        for entry in re.findall(r"ENTRY_BEGIN(.*?)ENTRY_END", text, re.DOTALL)[:8]:
            asked, records, section = "", [], ""
            for line in entry.splitlines():
                words = line.split(";")[0].split()
                if words[:1] == ["SECTION"]:
                    section = words[1]
                elif section == "QUESTION" and words:
                    asked = words[0]
                elif section and len(words) > 2 and (found := record(words)):
                    records.append(found)
            yield asked, records


def messages(corpora: Path) -> Iterator[bytes]:
    """What follows the question in a reply, under the name that is asked for; the first byte counts the answers."""
    for asked, records in scenarios(corpora):
        wire = b"".join(records).replace(name(asked), b"\xc0\x0c") if asked else b"".join(records)
        yield bytes([min(len(records), 7) << 3]) + wire


def replies(corpora: Path) -> Iterator[tuple[bytes, bytes]]:
    """How many answers a reply has and the type of the first record, and what follows the question."""
    for asked, records in scenarios(corpora):
        wire = b"".join(record.replace(name(asked), b"\xc0\x0c") if asked else record for record in records)
        kind = wire[2:4] if wire[:1] == b"\xc0" else b"\0\1"
        yield bytes([min(len(records), 15)]) + kind, wire


def questions(corpora: Path) -> Iterator[bytes]:
    """What follows a question's header."""
    for asked, records in scenarios(corpora):
        yield b"\1" + name(asked) + b"\0\1\0\1" + b"".join(records[:1])


def sources(corpora: Path) -> dict[str, Iterator[bytes]]:
    """The seeds of each target."""
    html = list(pages(corpora))
    heads = list(responses(corpora))
    fields = [head.split(b"\r\n\r\n")[0] for head in heads]
    return {
        "html": (b"\0" + page for page in html),
        "text": (bytes([number % 32]) + page for number, page in enumerate(html)),
        "charset": charsets(corpora),
        "url": urls(corpora),
        "redirect": (b"\0" + seed for seed in urls(corpora)),
        "name": host_names(corpora),
        "robots": robots(corpora),
        "response": (b"\x80" + head for head in heads),
        "headers": (field[:1_000] for field in fields),
        "codings": (bytes([number % 256, 7, 3]) + page[:1_000] for number, page in enumerate(html)),
        "message": messages(corpora),
        "question": questions(corpora),
        "records": (head + wire for head, wire in replies(corpora)),
        "packets": (head[:1] + b"\0" + wire for head, wire in replies(corpora)),
    }


def main() -> int:
    """The command."""
    into = Path(sys.argv[1])
    corpora = find_corpora()
    if corpora is None:
        print("lycosa: no corpora: set LYCOSA_CORPORA, or fuzzing begins without their seeds", file=sys.stderr)
        return 0
    for target, seeds in sources(corpora).items():
        folder = into / target
        folder.mkdir(parents=True, exist_ok=True)
        for seed in islice(seeds, MOST_SEEDS):
            cut = seed[:MOST_BYTES]
            (folder / hashlib.sha1(cut, usedforsecurity=False).hexdigest()).write_bytes(cut)
    return 0


if __name__ == "__main__":
    sys.exit(main())
