"""Hostile bodies for `memory_hostile`: small when sent, expensive to process."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from functools import cache

MIB = 1 << 20


class Bits:
    """Bits in the order of brotli and deflate: the least significant first."""

    def __init__(self) -> None:
        """Start empty."""
        self._value = self._length = 0

    def put(self, *fields: tuple[int, int]) -> None:
        """Append numbers, each with its width in bits."""
        for value, width in fields:
            self._value |= value << self._length
            self._length += width

    def bytes(self) -> bytes:
        """Return all bits, padded with zeros."""
        return self._value.to_bytes((self._length + 7) // 8, "little")


@cache
def brotli(mebibytes: int, *, large_window: bool) -> bytes:
    """Return so many MiB of the letter a as brotli, 13 bytes per 16 MiB (RFC 7932).

    large_window: with the extension that no content coding may use: a window of 1 GiB.
    """
    bits = Bits()
    # The window: 24 bits, or the escape for a large one and 30 bits.
    bits.put(*(((0x11, 8), (30, 6)) if large_window else ((0xF, 4),)))
    length = min(mebibytes, 16) * MIB
    for _ in range(max(mebibytes // 16, 1)):
        # Not the last; length in six nibbles; compressed; one block type and one tree of each; no direct distances.
        bits.put((0, 1), (2, 2), (length - 1, 24), (0, 1), (0, 3), (0, 6), (0, 2), (0, 2))
        # Prefix codes of one symbol: the letter; insert 1 and copy 2,118 + 24 bits; distance 1 or 2.
        bits.put((1, 2), (0, 2), (ord("a"), 8), (1, 2), (0, 2), (399, 10), (1, 2), (0, 2))
        bits.put((16, 8 if large_window else 6), (length - 1 - 2_118, 24), (0, 1))
    bits.put((3, 2))
    return bits.bytes()


@cache
def zstd(mebibytes: int, window_log: int) -> bytes:
    """Return so many MiB of the letter a as zstd, 4 bytes per 128 KiB (RFC 8878), with a window of so many bits."""
    count = mebibytes * 8
    blocks = [((size := 128 << 10) << 3 | 1 << 1 | (number == count - 1)) for number in range(count)]
    assert size <= 128 << 10
    return (
        b"\x28\xb5\x2f\xfd\x00"
        + bytes([(window_log - 10) << 3])
        + b"".join(block.to_bytes(3, "little") + b"a" for block in blocks)
    )


@cache
def gzipped(text: bytes, times: int, codings: int = 1) -> bytes:
    """Return a repeated text, compressed so many times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(text * 1_000) for _ in range(times // 1_000)]
    packed = b"".join([*parts, packer.compress(text * (times % 1_000)), packer.flush()])
    for _ in range(codings - 1):
        packed = gzip.compress(packed)
    return packed


@cache
def deflated(mebibytes: int) -> bytes:
    """Return so many MiB of the letter a as a zlib stream."""
    packer = zlib.compressobj(9)
    return b"".join([*(packer.compress(b"a" * MIB) for _ in range(mebibytes)), packer.flush()])


def response(body: bytes = b"", *fields: str, status: int = 200, length: int | None = None) -> bytes:
    """Return a response that closes its connection; `length`: a wrong Content-Length, if given."""
    said = len(body) if length is None else length
    head = [f"HTTP/1.1 {status} x", f"content-length: {said}", "connection: close", *fields]
    if not any(field.startswith("content-type") for field in fields):
        head.append("content-type: text/html; charset=utf-8")
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


def chunked(chunks: Iterable[bytes], extension: bytes = b"") -> bytes:
    """Return a response in chunks, each with an extension."""
    head = b"HTTP/1.1 200 x\r\ntransfer-encoding: chunked\r\nconnection: close\r\ncontent-type: text/html\r\n\r\n"
    parts = [b"%x%s\r\n%s\r\n" % (len(chunk), extension, chunk) for chunk in chunks]
    return head + b"".join(parts) + b"0\r\n\r\n"
