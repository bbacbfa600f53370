"""Parquet files are joined without reading their rows: row groups are copied, and their places are written anew.

A footer is a structure of Thrift's compact protocol. Values are kept by the numbers of their fields, so that fields
that mean nothing here stay as they are; what the numbers are is in parquet.thrift of the format's specification.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from lycosa.errors import StorageError

#: The first and the last bytes of a file.
MAGIC = b"PAR1"

#: Types of values.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

#: The fields of a footer that change: schema (which does not), rows, row groups, and keys with values.
SCHEMA, ROWS, GROUPS, PAIRS = 2, 3, 4, 5

#: Fields of a row group: its columns, its place, its number; of a column: its place, what is known of it, and where
#: its indexes are; and the places of its pages and of its Bloom filter.
COLUMNS, GROUP_PLACE, ORDINAL = 1, 5, 7
COLUMN_PLACE, KNOWN, INDEXES = 2, 3, (4, 5, 6, 7)
PLACES = (9, 10, 11, 14)

#: Bytes that are copied at once.
BLOCK = 1 << 20

#: Values by the numbers of fields, each with its type.
Struct: TypeAlias = dict[int, tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class Items:
    """A list. Structures may be bytes, as they are written: all of them in a row."""

    kind: int
    count: int
    items: list[Any] | bytes


def join(paths: Sequence[Path], into: BinaryIO, pairs: Mapping[str, str]) -> None:
    """Write files with the same schema as one. pairs: keys and values of its metadata, beside the first file's.

    Indexes of pages are left out: they have places of their own. Raises OSError; StorageError for other columns.
    """
    into.write(MAGIC)
    groups, count, rows, first = bytearray(), 0, 0, Struct()
    for path in paths:
        with path.open("rb") as file:
            reader, length = _footer_of(file)
            by, footer = into.tell() - len(MAGIC), Struct()
            for number, kind in reader.fields():
                if number != GROUPS:
                    footer[number] = (kind, reader.value(kind))
                    continue
                # One by one: of a large file there are many.
                found = reader.head()
                for _ in range(found.count):
                    groups += written(_moved(reader.struct(), by))
                count += found.count
            first = first or footer
            if footer[SCHEMA] != first[SCHEMA]:
                raise StorageError(f"{path}: its columns are not those of {paths[0]}")
            rows += footer[ROWS][1]
            _copy(file, into, length)
    first[ROWS] = (I64, rows)
    first[GROUPS] = (LIST, Items(STRUCT, count, bytes(groups)))
    first[PAIRS] = (LIST, _with_pairs(first, pairs))
    footer_bytes = written(first)
    into.write(footer_bytes + struct.pack("<I", len(footer_bytes)) + MAGIC)


def _footer_of(file: BinaryIO) -> tuple[Reader, int]:
    """Return a reader of a file's footer, and how many bytes of row groups are before it."""
    size = file.seek(0, 2)
    file.seek(max(size - 8, 0))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 8 - len(MAGIC):
        raise StorageError(f"{file.name}: cannot be read as Parquet; move it away")
    file.seek(size - 8 - length)
    return Reader(file.read(length)), size - 8 - length - len(MAGIC)


def _moved(group: Struct, by: int) -> Struct:
    """Return a row group that is so many bytes further back."""
    group.pop(ORDINAL, None)
    _move(group, GROUP_PLACE, by)
    for column in group[COLUMNS][1].items:
        _move(column, COLUMN_PLACE, by)
        for number in INDEXES:
            column.pop(number, None)
        for number in PLACES:
            _move(column[KNOWN][1], number, by)
    return group


def _move(values: Struct, number: int, by: int) -> None:
    """Move a place, if there is one: 0 says that it is not known."""
    kind, place = values.get(number, (I64, 0))
    if place > 0:
        values[number] = (kind, place + by)


def _with_pairs(footer: Struct, pairs: Mapping[str, str]) -> Items:
    """Return the keys and values of a footer with others."""
    new = {key.encode(): value.encode() for key, value in pairs.items()}
    before = footer[PAIRS][1].items if PAIRS in footer else []
    kept = [pair for pair in before if pair[1][1] not in new]
    made = [*kept, *({1: (BINARY, key), 2: (BINARY, value)} for key, value in new.items())]
    return Items(STRUCT, len(made), made)


def _copy(file: BinaryIO, into: BinaryIO, length: int) -> None:
    """Copy what is between the first bytes of a file and its footer."""
    file.seek(len(MAGIC))
    while length > 0:
        block = file.read(min(length, BLOCK))
        if not block:
            raise StorageError(f"{file.name}: became shorter while it was read")
        into.write(block)
        length -= len(block)


class Reader:
    """Reads values."""

    def __init__(self, data: bytes) -> None:
        """Read from the first byte on."""
        self._data, self._at = data, 0

    def struct(self) -> Struct:
        """Read a structure."""
        return {number: (kind, self.value(kind)) for number, kind in self.fields()}

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of each field of a structure; its value has to be read before the next one."""
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._integer()
            yield number, head & 15

    def value(self, kind: int) -> Any:
        """Read a value of a type. Raises StorageError for types that a footer has none of."""
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self._byte()
        if kind in (I16, I32, I64):
            return self._integer()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            head = self.head()
            item = BYTE if head.kind in (TRUE, FALSE) else head.kind
            return Items(head.kind, head.count, [self.value(item) for _ in range(head.count)])
        if kind == STRUCT:
            return self.struct()
        raise StorageError(f"a footer of Parquet has a value of type {kind}, which is not known")

    def head(self) -> Items:
        """Read the beginning of a list: the type of its items, and how many there are."""
        head = self._byte()
        return Items(head & 15, head >> 4 if head >> 4 < 15 else self._varint(), [])

    def _byte(self) -> int:
        """Read a byte."""
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        """Read some bytes."""
        self._at += count
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        """Read a number without a sign."""
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        """Read a number with a sign."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def written(values: Struct) -> bytes:
    """Return a structure as it is written."""
    out, before = bytearray(), 0
    for number in sorted(values):
        kind, value = values[number]
        if number - before < 16:
            out.append(number - before << 4 | kind)
        else:
            out.append(kind)
            out += _integer(number)
        out += _value(kind, value)
        before = number
    out.append(0)
    return bytes(out)


def _value(kind: int, value: Any) -> bytes:
    """Return a value as it is written."""
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value])
    if kind in (I16, I32, I64):
        return _integer(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return written(value)
    head = bytes([value.count << 4 | value.kind]) if value.count < 15 else bytes([15 << 4 | value.kind])
    head += b"" if value.count < 15 else _varint(value.count)
    item = BYTE if value.kind in (TRUE, FALSE) else value.kind
    return head + (
        value.items if isinstance(value.items, bytes) else b"".join(_value(item, one) for one in value.items)
    )


def _varint(value: int) -> bytes:
    """Return a number without a sign as it is written."""
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(value: int) -> bytes:
    """Return a number with a sign as it is written."""
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
