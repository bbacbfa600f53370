"""The blocks of pages, as the program has them that runs in Lycosa."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from tools.text_model.corpus import EMPTY, Page, Rows

#: Where words stand: in classes, in the text, in the heading before it.
SOURCES = 3


class Blocks:
    """The program that describes pages, as it runs in Lycosa."""

    def __init__(self) -> None:
        """Build and start it."""
        root = Path(__file__).parents[2]
        command = ["cargo", "build", "--release", "--locked", "-p", "lycosa-text", "--example", "blocks"]
        subprocess.run(command, cwd=root, check=True)
        target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
        self._program = str(target / "release" / "examples" / "blocks")
        self._tables = b""
        self._process = subprocess.Popen([self._program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        named = subprocess.run([self._program, "names"], check=True, capture_output=True, text=True).stdout.split()
        self.names = [name for name in named if not name.startswith("context_")]
        self.context = len(named) - len(self.names)

    def _send(self, *frames: bytes) -> IO[bytes]:
        """Send frames; returns where the answer comes."""
        into = cast(IO[bytes], self._process.stdin)
        into.write(b"".join(struct.pack("<I", len(frame)) + frame for frame in frames))
        into.flush()
        return cast(IO[bytes], self._process.stdout)

    def use(self, tables: bytes) -> None:
        """Describe pages by these tables of words from now on."""
        if tables != self._tables:
            self._send(b"T" + tables)
            self._tables = tables

    def words(self, page: Page) -> None:
        """Read the words that may tell something of a page's blocks."""
        out, found = self._send(b"W" + page.html), list[list[NDArray[np.int64]]]()
        for index in range(len(page.texts)):
            of_block = []
            for _ in range(SOURCES):
                count = int(struct.unpack("<I", out.read(4))[0])
                hashes = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)
                of_block.append(hashes | index << 32)
            found.append(of_block)
        page.tokens = [np.concatenate([one[source] for one in found] or [EMPTY]) for source in range(SOURCES)]

    def words_of_kind(self, page: Page) -> None:
        """Read the words that may tell of a page's kind."""
        out = self._send(b"U" + page.url.encode(), b"K" + page.html)
        count = int(struct.unpack("<I", out.read(4))[0])
        page.of_kind = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)

    def choose(self, page: Page, probabilities: Rows) -> str:
        """The text that is chosen by probabilities of blocks, with what the page states in place of a text."""
        out = self._send(b"C" + page.html, probabilities.astype("<f4").tobytes())
        is_chosen = out.read(len(page.texts))
        chosen = [text for text, is_it in zip(page.texts, is_chosen, strict=True) if is_it]
        return "\n".join([*chosen, page.stated])

    def learn(self, tables: bytes, kinds: bytes, first: bytes, second: bytes) -> None:
        """Choose texts by these models from now on."""
        self._send(b"M" + tables, kinds, first, second)

    def text(self, page: Page, is_boilerplate: NDArray[np.bool_] | None = None) -> str:
        """The text of a page by the models, as Lycosa gives it. is_boilerplate: of each block."""
        flags = b"" if is_boilerplate is None else is_boilerplate.astype(np.uint8).tobytes()
        out = self._send(b"U" + page.url.encode(), b"X" + page.html, flags)
        return out.read(int(struct.unpack("<I", out.read(4))[0])).decode()

    def stated(self, page: Page) -> str:
        """What a page states in place of a text that it has not."""
        out = self._send(b"F" + page.html)
        return out.read(int(struct.unpack("<I", out.read(4))[0])).decode()

    def boilerplate(self, page: Page, site: str) -> NDArray[np.bool_]:
        """Of each block of a page, whether earlier pages of its site have it; the page is learnt."""
        out = self._send(b"U" + site.encode(), b"S" + page.html)
        return np.frombuffer(out.read(len(page.texts)), np.uint8).astype(np.bool_)

    def describe(self, page: Page, kinds: Rows, first: Rows | None = None) -> Rows:
        """The numbers of a page's blocks; with first probabilities those of the context behind them."""
        given = b"" if first is None else first.astype("<f4").tobytes()
        out = self._send(b"D" + page.html, kinds.astype("<f4").tobytes(), given)

        def number() -> int:
            return int(struct.unpack("<I", out.read(4))[0])

        count = number()
        page.words = np.frombuffer(out.read(4 * count), "<u4").astype(np.int64)
        page.texts = [out.read(number()).decode() for _ in range(count)]
        numbers = np.frombuffer(out.read(4 * number()), "<f4")
        return numbers.reshape(count, len(self.names) + (0 if first is None else self.context))
