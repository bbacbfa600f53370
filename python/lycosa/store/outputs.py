"""Which sink an output has: by the scheme of its URL, or by the end of its name. Only the one in use is imported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from lycosa.errors import SettingError
from lycosa.sink import Sink, scheme_of
from lycosa.store.file_sink import path_of

#: Sinks of files by how their names end: module of ``lycosa.store``, and class.
ENDS = {
    ".jsonl": "json_lines.JsonLinesSink",
    ".ndjson": "json_lines.JsonLinesSink",
    ".csv": "json_lines.CsvSink",
    ".parquet": "parquet.ParquetSink",
    ".arrows": "arrow.ArrowSink",
    ".warc": "warc.WarcSink",
    ".wet": "warc.WarcSink",
    ".wacz": "wacz.WaczSink",
    ".sqlite": "sqlite.SqliteSink",
    ".db": "sqlite.SqliteSink",
    ".duckdb": "duckdb.DuckdbSink",
}

#: Ends that say how a file is compressed, of which names may have one more.
COMPRESSED = (".gz", ".zst")

#: Sinks by the scheme of a URL.
SCHEMES = {
    "sqlite": "sqlite.SqliteSink",
    "duckdb": "duckdb.DuckdbSink",
    "postgresql": "postgresql.PostgresSink",
    "postgres": "postgresql.PostgresSink",
    "delta": "delta.DeltaSink",
    "delta+s3": "delta.DeltaSink",
    "delta+gs": "delta.DeltaSink",
    "delta+az": "delta.DeltaSink",
    "grpc": "flight.FlightSink",
    "grpc+tls": "flight.FlightSink",
}

#: Object stores; a folder is one if its URL says which files it has.
STORES = ("s3", "gs", "az")

#: Names of options that are secrets.
SECRETS = re.compile(r"pass|secret|token|key|credential|sas|signature", re.IGNORECASE)

#: Files that may be compressed as a whole.
MAY_BE_COMPRESSED = (".jsonl", ".ndjson", ".csv", ".warc", ".wet")


def sink_of(output: str) -> Sink:
    """Return the sink of an output; one whose name ends in ``/`` is a directory of Parquet. Raises SettingError."""
    scheme = scheme_of(output)
    if scheme in (*SCHEMES, *STORES):
        refuse_secrets(output)
    if scheme in SCHEMES:
        return _made(SCHEMES[scheme], output)
    if scheme in STORES or (scheme == "file" and "?" in output):
        from lycosa.store.objects import ObjectSink

        return ObjectSink(output, sink_of)
    if scheme not in (None, "file"):
        schemes = ", ".join(f"{name}://" for name in (*SCHEMES, *STORES))
        text = f"a path, or a URL with file:, {schemes}; in Python also an object of a subclass of lycosa.Sink"
        raise SettingError("output", output, text)
    if output.endswith("/"):
        return _made(ENDS[".parquet"], output)
    path = Path(path_of(output))
    end, compression = path.suffix, ""
    if end in COMPRESSED:
        end, compression = path.with_suffix("").suffix, end
    if end not in ENDS or (compression and end not in MAY_BE_COMPRESSED):
        ends = [*ENDS, *(f"{name}{more}" for name in MAY_BE_COMPRESSED for more in COMPRESSED)]
        text = f"a file that ends in {', '.join(ends)}, or a directory that ends in /"
        raise SettingError("output", output, text)
    return _made(ENDS[end], output)


def check_apart(sinks: Sequence[Sink]) -> None:
    """Raise SettingError for an output that is given twice, also by two spellings, or by two tables of one file."""
    places = [sink.location for sink in sinks]
    for sink, place in zip(sinks, places, strict=True):
        if places.count(place) > 1:
            raise SettingError("output", sink.url, "each output once, and one table of a file")


def refuse_secrets(url: str) -> None:
    """Raise SettingError for a URL with a password or a key, which would be in records, messages and metrics."""
    scheme, _, rest = url.partition("://")
    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    # What a driver takes for a password may stand behind a fragment's mark, or in another URL.
    has_user = "@" in rest.partition("?")[0] and ":" in rest.partition("?")[0].rpartition("@")[0]
    has_key = any(SECRETS.search(name) is not None or "@" in value for name, value in options)
    may_have_user = scheme.lower() in ("postgresql", "postgres")
    if has_user or has_key or "#" in rest or ("@" in parts.netloc and not may_have_user):
        allowed = "a URL without secrets and #: they belong into the environment, PGPASSWORD or ~/.pgpass"
        raise SettingError("output", f"{scheme}://***", allowed)


def _made(name: str, output: str) -> Sink:
    """A sink of a class."""
    module, _, of = name.partition(".")
    made: Sink = getattr(import_module(f"lycosa.store.{module}"), of)(output)
    return made
