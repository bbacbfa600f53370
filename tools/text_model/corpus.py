"""The pages of the corpora, with their gold texts, in folds by domain."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

CORPORA = Path(os.environ.get("LYCOSA_CORPORA", Path(__file__).parents[3] / "shared" / "corpora")) / "text"
#: Folds of pages, by domain.
FOLDS = 5
Rows = NDArray[np.float32]
EMPTY = np.zeros(0, np.int64)


@dataclass(slots=True)
class Page:
    """A page with its gold text, and what is known of its blocks."""

    name: str
    kind: str
    fold: int
    html: bytes  # UTF-8
    gold: str
    raw: bytes = b""  # as it was received
    texts: list[str] = field(default_factory=list)
    words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    domain: str = ""
    stated: str = ""  # in place of a text that it has not
    url: str = ""
    of_kind: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # words that tell of it
    tokens: list[NDArray[np.int64]] = field(default_factory=list)  # block << 32 | hash, by source
    labels: Rows = field(default_factory=lambda: np.zeros(0, np.float32))
    weights: Rows = field(default_factory=lambda: np.zeros(0, np.float32))


def domain_of(row: dict[str, Any]) -> str:
    """The domain of a page; if it is not known the beginning of its name, which pages of one site have in common."""
    host = urlsplit(row.get("url") or "").hostname
    return ".".join(host.split(".")[-2:]) if host else str(row["id"]).rpartition("_")[0] or str(row["id"])


def fold_of(domain: str) -> int:
    """The fold of a domain."""
    return int(hashlib.md5(domain.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def decoded(html: bytes) -> bytes:
    """A page as UTF-8."""
    try:
        return html.decode("utf-8").encode()
    except UnicodeDecodeError:
        named = re.search(rb"charset=[\"']?([\w-]+)", html[:4096])
        try:
            return html.decode(named[1].decode() if named else "windows-1252", "replace").encode()
        except LookupError:
            return html.decode("windows-1252", "replace").encode()


def pages() -> list[Page]:
    """All pages of the corpora."""
    found = []
    for line in (CORPORA / "gold.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        raw = gzip.decompress((CORPORA / row["html"]).read_bytes())
        domain = domain_of(row)
        found.append(
            Page(
                row["html"],
                row["set"],
                fold_of(domain),
                decoded(raw),
                row["text"],
                raw,
                domain=domain,
                url=row.get("url") or "",
            )
        )
    return found
