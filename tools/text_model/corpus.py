"""The pages of the corpora, with their gold texts, in folds by domain."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from tools.text_model import CORPORA

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


#: Sites of pages that have a name and no URL, by the beginnings of names. Pages with other names were made for tests,
#: many of them from each other.
_NAMES = """
    aclu aclu.org  aktualne aktualne.cz  archive-of-our-own archiveofourown.org  ars arstechnica.com  bbc co.uk
    blogger blogspot.com  breitbart breitbart.com  buzzfeed buzzfeed.com  citylab citylab.com  cnet cnet.com
    cnn cnn.com  daringfireball daringfireball.net  dropbox-blog dropbox.com  ebb-org ebb.org  ehow ehow.com
    engadget engadget.com  firefox-nightly-blog mozilla.org  folha com.br  gitlab-blog gitlab.com  gmw gmw.cn
    google-sre-book sre.google  guardian theguardian.com  heise heise.de  herald-sun com.au
    hukumusume hukumusume.com  iab iab.com  ietf ietf.org  la-nacion com.ar  lemonde lemonde.fr
    liberation liberation.fr  lifehacker lifehacker.com  lwn lwn.net  medicalnewstoday medicalnewstoday.com
    medium medium.com  mozilla mozilla.org  msn msn.com  nytimes nytimes.com  pixnet pixnet.net  qq qq.com
    quanta quantamagazine.org  royal-road royalroad.com  salon salon.com  seattletimes seattletimes.com
    simplyfound simplyfound.com  spiceworks spiceworks.com  telegraph co.uk  theverge theverge.com  tmz tmz.com
    topicseed topicseed.com  tumblr tumblr.com  v8-blog v8.dev  wapo washingtonpost.com  webmd webmd.com
    wikia wikia.com  wikipedia wikipedia.org  wordpress wordpress.com  yahoo yahoo.com  youth youth.cn
"""
_WORDS = _NAMES.split()
SITES = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))

#: Part of the names of pages of portals: their host, and a number.
PORTAL = re.compile(r"CleanPortalEval-master/([a-z0-9.]+)_")


def domain_of(row: dict[str, Any]) -> str:
    """The domain of a page: pages of one site, and those that were made from each other, have the same."""
    host, name = urlsplit(row.get("url") or "").hostname, str(row["id"])
    if not host and (portal := PORTAL.match(name)):
        host = portal[1]
    if host:
        return ".".join(host.split(".")[-2:])
    if row["set"] != "readability":
        return name
    return next(
        (site for start, site in SITES.items() if name == start or name.startswith(f"{start}-")), "readability"
    )


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
