"""What the directory of ``lycosa parse`` knows: what is parsed there, and what could not be read of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from lycosa.errors import JobInUse, SettingError
from lycosa.job import Job
from lycosa.sources import BATCHES_VERSION, Damage, Source
from lycosa.store.patient import Patience
from lycosa.store.replace import replace_file

#: The files: what is parsed, and a line for each damage.
STATE, DAMAGES = "parse.json", "damages.jsonl"


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Have a directory alone. Raises JobInUse if another run has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("ab") as file:
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
        self._content = {
            "version": BATCHES_VERSION,
            "id": uuid.uuid4().hex[:16],
            "settings": settings,
            "sources": states,
        }
        if not fresh and (folder / STATE).exists():
            self._content["id"] = self._known(states, settings)

    @property
    def id(self) -> str:
        """The name of what is parsed, by which outputs know their own."""
        return str(self._content["id"])

    def save(self) -> None:
        """Store it, once all is checked. A full disk is waited for."""
        if self._fresh:
            (self._folder / DAMAGES).unlink(missing_ok=True)
        content = json.dumps(self._content).encode()
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

    def _known(self, states: Sequence[Sequence[str]], settings: str) -> str:
        """Return the name with which the directory was begun. Raises SettingError."""
        folder = self._folder
        again = f"--fresh parses all again, another --dir parses apart from {folder}"
        known = json.loads((folder / STATE).read_bytes())
        if known["version"] != BATCHES_VERSION:
            raise SettingError("--dir", folder, f"a directory that this version of lycosa parse began; {again}")
        for number, before in enumerate(known["sources"]):
            if list(states[number : number + 1]) != [before]:
                given = states[number][0] if number < len(states) else "none"
                raise SettingError("source", given, f"{before[0]}, as it was when this was begun; {again}")
        if known["settings"] != settings:
            raise SettingError("settings", "others", f"those with which this was begun; {again}")
        return str(known["id"])
