"""Object stores: ``s3://bucket/pages/``, ``gs://``, ``az://``, ``file:///folder/?format=…`` (extra ``objects``).

An output is a prefix. Rows are written to a file in the job directory; when it is large or old enough it is
completed, and uploaded as one object that is named by where it begins in the log. A manifest, ``_lycosa.json``, is
put after it: position and output are committed by one request. Objects that no manifest names are removed when the
crawl goes on. ``?format=jsonl.gz`` writes other files than Parquet, ``&size=1000000000`` and ``&seconds=3600`` say
how large and how old a file becomes, ``&endpoint=http://127.0.0.1:9000`` asks another store than the provider's.
``&partition=day`` divides rows into prefixes such as ``fetched_day=2026-11-30/``, which DuckDB, Polars and Spark know
as a column (the partitions of Hive).
Credentials come from the environment of each provider's tools, never from the URL.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict
from urllib.parse import parse_qsl, unquote, urlsplit

from lycosa.errors import LycosaError, OutputAway, SettingError, StorageError
from lycosa.records import Outcomes
from lycosa.sink import Sink, SinkJob
from lycosa.store.parquet import require_library
from lycosa.store.restart import check_restart

if TYPE_CHECKING:
    import obstore.store

logger = logging.getLogger("lycosa")

#: The object with the position.
MANIFEST = "_lycosa.json"

#: Where a machine of a provider has its credentials: who is asked there has none of their own.
METADATA = "169.254.169.254"

#: The column of the prefixes of partitions.
DAY = "fetched_day"

#: Names of objects with rows: from which position of the log on. An index beside an archive names it.
OWN = re.compile(rf"({DAY}=\d{{4}}-\d\d-\d\d/)?\d{{20}}\.")

#: Partitions whose files are open at a time: a process has as few as 1,024 files.
OPEN = 100


class SinkOf(Protocol):
    """Makes the sink of a local file."""

    def __call__(self, output: str) -> Sink:
        """Return the sink of a path."""


class Uploaded(TypedDict):
    """An object: its range of the log, and its bytes."""

    name: str
    start: int
    end: int
    bytes: int


class ObjectSink(Sink):
    """Writes objects, each a complete file."""

    commit_bytes: int = 256 << 20
    commit_seconds: float = 300.0

    def __init__(self, url: str, sink_of: SinkOf) -> None:
        """Open nothing yet. sink_of: of the local files. Raises SettingError for unknown options."""
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self._end, self._endpoint = options.pop("format", "parquet"), options.pop("endpoint", None)
        super().__init__(url)
        self.commit_bytes = self._number(options, "size", self.commit_bytes)
        self.commit_seconds = self._number(options, "seconds", int(self.commit_seconds))
        partition = options.pop("partition", None)
        if options or partition not in (None, "day") or parts.fragment:
            raise SettingError("output", url, "?format=, size=, seconds=, endpoint= and partition=day only; # as %23")
        self._has_partitions = partition is not None
        self._base = parts._replace(query="", path=parts.path.rstrip("/") + "/").geturl()
        self._is_folder, self._local = parts.scheme.lower() == "file", unquote(parts.path)
        self._sink_of = sink_of
        self._made: obstore.store.ObjectStore | None = None
        #: Files in progress, by the prefixes of their partitions, those that were written last at the end; and how
        #: many files each partition has since the last commit.
        self._inner: dict[str, Sink] = {}
        self._parts: dict[str, int] = {}
        self._uploaded: list[Uploaded] = []
        self._start = 0

    @staticmethod
    def _missing(name: str) -> list[Any]:
        """Answer for a folder that does not exist yet."""
        if name == "get":
            raise FileNotFoundError(MANIFEST)
        return []

    def _number(self, options: dict[str, str], name: str, otherwise: int) -> int:
        """Take a number of the URL. Raises SettingError if it is none."""
        given = options.pop(name, str(otherwise))
        if not given.isdecimal() or not 0 < int(given) < 1 << 50:
            raise SettingError("output", self.url, f"{name}= with a number above 0")
        return int(given)

    @property
    def location(self) -> str:
        """See ``lycosa.sink.Sink``: the prefix, whatever is written there."""
        if self._is_folder:
            return str(Path(self._local).resolve())
        scheme, _, rest = self._base.partition("://")
        return f"{scheme.lower()}://{rest}"

    def attach(self, job: SinkJob) -> None:
        """Set the sink's job; see ``lycosa.sink.Sink``."""
        super().attach(job)
        inner = self._part("", f"{0:020}")
        self.with_body, self.with_links = inner.with_body, inner.with_links
        self.rows, self.bytes = inner.rows, inner.bytes

    def check(self, *, fresh: bool, is_ours: bool) -> None:
        """Raise SettingError without obstore, or for a prefix with other objects; StorageError if nothing answers."""
        if importlib.util.find_spec("obstore") is None:
            raise SettingError("output", self.url, "a path; for object stores: pip install 'lycosa[objects]'")
        if self._has_partitions:
            require_library(self.url)
        manifest = self._manifest()
        # Who has put them is not known: they are not replaced.
        if manifest is None and not is_ours and self._names():
            raise SettingError("output", self.url, "a prefix without objects, or with those of a crawl")
        if manifest is not None and manifest["job"] != self.job.id and not fresh:
            raise SettingError("output", self.url, "a prefix without objects, or fresh to replace those of a crawl")

    def open(self, first: int, end: int) -> int:
        """Keep the objects up to the log's end; remove what was not committed; see ``lycosa.sink.Sink``."""
        self._drop()
        manifest = self._manifest()
        if manifest is not None and manifest["job"] != self.job.id:
            raise StorageError(f"{self.url}: another crawl writes there; name another prefix")
        known: list[Uploaded] = [] if manifest is None else manifest["objects"]
        kept = [part for part in known if part["end"] <= end]
        position = manifest["position"] if manifest is not None and kept == known and known else 0
        if kept != known:
            position = kept[-1]["end"] if kept else 0
            if first > position:
                check_restart(self.url, None, "the log is shorter than its position")
        self._uploaded, self._start = kept, max(min(position, end), first)
        # The manifest before the objects: whoever reads it finds what it names.
        if kept != known:
            self._put_manifest(self._start)
        for name in self._names() - {part["name"] for part in kept}:
            if OWN.match(name):
                self._call("delete", name)
        return min(position, end)

    def write(self, outcomes: Outcomes, position: int) -> int | None:
        """Write rows to the file in progress."""
        if len(outcomes) == 0:
            return 0
        count = 0
        for prefix, rows in self._divided(outcomes):
            inner = self._inner.pop(prefix, None) or self._begun(prefix, position)
            self._inner[prefix] = inner
            count += inner.write(rows, position) or 0
        return count

    def commit(self, position: int) -> None:
        """Complete the file in progress, upload it, and put the manifest."""
        if self._inner:
            try:
                for inner in self._inner.values():
                    inner.commit(position)
                    inner.close()
                self._upload(position)
            except BaseException:
                # The rows come again, since the position is that before them.
                self._drop()
                raise
        self._put_manifest(position)
        self._start = position

    def committed(self) -> int | None:
        """Return the manifest's position."""
        manifest = self._manifest()
        return manifest["position"] if manifest is not None and manifest["job"] == self.job.id else None

    def close(self) -> None:
        """Nothing is open: all is committed."""
        self._drop()

    def remove(self) -> None:
        """Remove the objects of a crawl, its manifest at last."""
        manifest = self._manifest()
        if manifest is None:
            return
        for name in sorted(self._names()):
            if OWN.match(name):
                self._call("delete", name)
        self._call("delete", MANIFEST)

    def _divided(self, outcomes: Outcomes) -> list[tuple[str, Outcomes]]:
        """Rows by the prefixes of their partitions."""
        if not self._has_partitions:
            return [("", outcomes)]
        import pyarrow
        import pyarrow.compute

        times = pyarrow.RecordBatchReader.from_stream(outcomes.columns(["fetched_at"])).read_all()["fetched_at"]
        # Not strftime, which needs a data base of time zones, also for UTC.
        days = times.cast(pyarrow.timestamp("us")).cast(pyarrow.date32(), safe=False).cast(pyarrow.string())
        found = days.unique().to_pylist()
        if len(found) == 1:
            return [(f"{DAY}={found[0]}/", outcomes)]
        masks = [pyarrow.compute.equal(days, day).to_pylist() for day in found]
        return [(f"{DAY}={day}/", outcomes.select(mask)) for day, mask in zip(found, masks, strict=True)]

    def _begun(self, prefix: str, position: int) -> Sink:
        """Begin a file of a partition. Too many are open: the one that was written longest ago is completed."""
        if len(self._inner) >= OPEN:
            oldest = self._inner.pop(next(iter(self._inner)))
            oldest.commit(position)
            oldest.close()
        (self._folder() / prefix).mkdir(parents=True, exist_ok=True)
        number = self._parts[prefix] = self._parts.get(prefix, 0) + 1
        inner = self._part(prefix, f"{self._start:020}" if number == 1 else f"{self._start:020}.{number}")
        inner.open(0, 0)
        return inner

    def _part(self, prefix: str, name: str) -> Sink:
        """The sink of a file in progress."""
        folder = self._folder() / prefix
        sink = self._sink_of(str(folder / f"{name}.{self._end}"))
        sink.attach(self.job._replace(folder=folder, name="part"))
        return sink

    def _folder(self) -> Path:
        """The folder of files in progress."""
        # Some libraries take what is behind ? for options.
        name = re.sub(r"[^\w.-]", "_", self.position_file().stem)
        return self.position_file().with_name(f"{name}.parts").absolute()

    def _upload(self, position: int) -> None:
        """Upload all files in progress: a file, and what is beside it, such as an index."""
        for path in sorted(self._folder().rglob(f"{self._start:020}.*")):
            name, size = path.relative_to(self._folder()).as_posix(), path.stat().st_size
            self._call("put", name, path)
            self._uploaded.append({"name": name, "start": self._start, "end": position, "bytes": size})
        self._drop()

    def _drop(self) -> None:
        """Remove the files in progress: their rows are uploaded, or come again."""
        known, self._inner, self._parts = self._inner, {}, {}
        for inner in known.values():
            try:
                inner.close()
            except (OSError, LycosaError) as error:
                logger.debug("%s: %s", inner.url, error)
        shutil.rmtree(self._folder(), ignore_errors=True)

    def _manifest(self) -> dict[str, Any] | None:
        """Return the manifest, `None` if there is none. Raises StorageError if it is no manifest."""
        try:
            content = self._call("get", MANIFEST)
        except FileNotFoundError:
            return None
        try:
            found: dict[str, Any] = json.loads(bytes(content.bytes()))
            _ = int(found["position"]), str(found["job"]), list(found["objects"])
        except (ValueError, KeyError, TypeError):
            raise StorageError(f"{self.url}: {MANIFEST} is not Lycosa's; name another prefix") from None
        return found

    def _put_manifest(self, position: int) -> None:
        """Put the manifest."""
        manifest = {"version": 1, "job": self.job.id, "position": position, "objects": self._uploaded}
        self._call("put", MANIFEST, json.dumps(manifest, indent=1).encode())

    def _names(self) -> set[str]:
        """Return the names of all objects of the prefix."""
        return {str(item["path"]) for page in self._call("list") for item in page}

    def _call(self, name: str, *values: Any) -> Any:
        """Ask the store. Raises FileNotFoundError if there is no such object, else StorageError."""
        import obstore
        import obstore.store
        from obstore.exceptions import BaseError, GenericError

        try:
            if self._is_folder and not Path(self._local).is_dir():
                if name in ("get", "list"):
                    return self._missing(name)
                Path(self._local).mkdir(parents=True)
            if self._made is None and self._is_folder:
                self._made = obstore.store.LocalStore(self._local)
            if self._made is None:
                more: Any = {} if self._endpoint is None else {"endpoint": self._endpoint}
                plain = self._endpoint is not None and self._endpoint.startswith("http://")
                options: Any = {"allow_http": True} if plain else None
                from_url: Any = obstore.store.from_url
                self._made = from_url(self._base, client_options=options, **more)
            found = getattr(obstore, name)(self._made, *values)
            return list(found) if name == "list" else found
        except FileNotFoundError:
            raise
        except (BaseError, OSError, ValueError) as error:
            text = f"{self.url}: {str(error).partition(': <?xml')[0].splitlines()[0][:300]}"
            if METADATA in text:
                names = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what the tools of your provider read"
                raise StorageError(f"{self.url}: the environment has no credentials: set {names}") from None
            # Nobody listens, or a server has trouble; refusals have classes of their own.
            is_away = isinstance(error, GenericError | ConnectionError | TimeoutError)
            raise (OutputAway if is_away else StorageError)(text) from None
