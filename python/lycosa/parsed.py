"""What the directory of ``lycosa parse`` knows: what is parsed there, and what could not be read of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lycosa.errors import JobInUse, SettingError
from lycosa.job import Job
from lycosa.sink import Sink
from lycosa.sources import BATCHES_VERSION, Damage, Source
from lycosa.store.patient import Patience
from lycosa.store.replace import replace_file

#: The files: what is parsed, a line for each damage, and who writes.
STATE, DAMAGES, LOCK = "parse.json", "damages.jsonl", "lock"


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Have a directory alone. Raises JobInUse if another run has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise SettingError("--dir", folder, "a directory, or what does not exist yet") from None
    with (folder / LOCK).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise JobInUse(f"{folder}: another lycosa parse writes there; --dir names another directory") from None
        yield


class Parsed:
    """A directory, and what is to be parsed in it. It is changed by :meth:`save` and :meth:`note` only."""

    def __init__(self, folder: Path, job: Job, sources: Sequence[Source], *, fresh: bool) -> None:
        """Raise SettingError for sources or settings that are not those with which the directory was begun."""
        self._folder, self._fresh = folder, fresh
        states = [[str(Path(source.name).absolute()), source.state()] for source in sources]
        settings = hashlib.sha256(job.model_dump_json().encode()).hexdigest()
        self._content: dict[str, Any] = {"version": BATCHES_VERSION, "id": uuid.uuid4().hex[:16]}
        self._content |= {"settings": settings, "sources": states, "outputs": []}
        if not fresh and (folder / STATE).exists():
            known = self._known(states, settings)
            self._content |= {"id": known["id"], "outputs": known["outputs"]}

    @property
    def id(self) -> str:
        """The name of what is parsed, by which outputs know their own."""
        return str(self._content["id"])

    def is_ours(self, sink: Sink) -> bool:
        """Whether an output was begun here: it may have no position yet."""
        return sink.location in self._content["outputs"] or sink.committed() is not None

    def check(self, sink: Sink) -> None:
        """Raise SettingError for an output that would replace a file of this directory, or what is read."""
        place = Path(sink.location)
        if place in [(self._folder / name).resolve() for name in (STATE, DAMAGES, LOCK)]:
            raise SettingError("output", sink.url, f"another file: this one is of --dir {self._folder}")
        for name, _ in self._content["sources"]:
            source = Path(name.partition("!")[0]).resolve()
            if place in (source, *source.parents):
                raise SettingError("output", sink.url, f"another file or directory than what is read: {source}")

    def save(self, sinks: Sequence[Sink]) -> None:
        """Store it with the outputs, once all is checked. A full disk is waited for."""
        if self._fresh:
            (self._folder / DAMAGES).unlink(missing_ok=True)
        places = dict.fromkeys([*self._content["outputs"], *(sink.location for sink in sinks)])
        content = json.dumps(self._content | {"outputs": list(places)}).encode()
        Patience(lambda: False).insist(self._folder, lambda: replace_file(self._folder / STATE, content))

    def damages(self) -> list[tuple[int, Damage]]:
        """Return what earlier runs could not read, with the number of its source."""
        if self._fresh or not (self._folder / DAMAGES).exists():
            return []
        found = []
        for line in (self._folder / DAMAGES).read_bytes().splitlines():
            # A line that was cut is followed by a whole one of the same damage.
            with contextlib.suppress(ValueError):
                number, *damage = json.loads(line)
                found.append((number, Damage(*damage)))
        return found

    def note(self, number: int, damage: Damage) -> None:
        """Store a damage. Raises OSError."""
        with (self._folder / DAMAGES).open("ab") as file:
            file.write(f"\n{json.dumps([number, *damage])}".encode())

    def _known(self, states: Sequence[Sequence[str]], settings: str) -> dict[str, Any]:
        """Return with what the directory was begun. Raises SettingError."""
        folder = self._folder
        again = f"--fresh parses all again, another --dir parses apart from {folder}"
        try:
            known: dict[str, Any] = json.loads((folder / STATE).read_bytes())
            version, sources, begun = known["version"], known["sources"], known["settings"]
        except (ValueError, KeyError, TypeError):
            raise SettingError("--dir", folder, f"a directory whose {STATE} can be read; {again}") from None
        if version != BATCHES_VERSION:
            raise SettingError("--dir", folder, f"a directory that this version of lycosa parse began; {again}")
        for number, before in enumerate(sources):
            if list(states[number : number + 1]) != [before]:
                given = states[number][0] if number < len(states) else "none"
                raise SettingError("source", given, f"{before[0]}, as it was when this was begun; {again}")
        if begun != settings:
            raise SettingError("settings", "others", f"those with which this was begun; {again}")
        return {"outputs": [], **known}
