"""A full disk: whoever has something to write waits for space, from the first file of a crawl on."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from lycosa.errors import StorageFull
from lycosa.store import patient
from lycosa.store.patient import Patience


class Disk:
    """A disk that is full for some tries."""

    def __init__(self, full: int, error: int = errno.ENOSPC) -> None:
        self.full, self.error, self.written = full, error, 0

    def write(self) -> None:
        """Write something."""
        if self.full:
            self.full -= 1
            raise OSError(self.error, "scripted")
        self.written += 1


def test_what_a_full_disk_refused_is_written_as_soon_as_there_is_space(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patient, "TRY", 0.0)
    disk = Disk(full=3)
    Patience(lambda: False).insist(Path("job"), disk.write)
    assert (disk.full, disk.written) == (0, 1)
    told = [record.getMessage() for record in caplog.records]
    assert [text.split(";")[0] for text in told] == ["the disk of job is full", "the disk of job has space again"]


def test_a_crawl_that_is_to_end_waits_for_no_space() -> None:
    with pytest.raises(StorageFull, match="the disk of job is full; nothing is lost"):
        Patience(lambda: True).insist(Path("job"), Disk(full=1).write)


def test_another_error_of_a_disk_is_not_waited_for() -> None:
    with pytest.raises(OSError, match="scripted"):
        Patience(lambda: False).insist(Path("job"), Disk(1, errno.EIO).write)


def test_pauses_grow_to_a_bound_however_long_it_lasts() -> None:
    assert [patient.pause_after(tries) for tries in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert patient.pause_after(10_000) == patient.LONGEST_PAUSE
