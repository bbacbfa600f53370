"""A PostgreSQL server of a test's own: in a directory and at a port of its own, as an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, LiteralString, Self

import psycopg

from benchmarks.ports import free_port

#: Seconds for the server to be there.
START = 20.0

#: The server's user, and its password, as it is and as it stands in a URL.
USER, PASSWORD, QUOTED = "keeper", "much:too/secret@all", "much%3Atoo%2Fsecret%40all"

#: Environment variables that would lead a client elsewhere.
FOREIGN = ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE", "PGPASSFILE", "PGOPTIONS")


def binary(name: str) -> str:
    """Return a program of the newest PostgreSQL here."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    place = str(found[-1]) if found else shutil.which(name)
    assert place is not None, f"{name} is missing: apt-get install postgresql"
    return place


class Postgres:
    """A server on loopback. A context manager."""

    def __init__(self) -> None:
        """Begin nothing yet."""
        # It refuses to run as root, and its user cannot look into the folders of root.
        self._user = "postgres" if os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="lycosa-postgres-"))
        self._server: subprocess.Popen[bytes] | None = None
        self.port = 0
        #: The password as it stands in a file of passwords.
        self.password = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")

    def __enter__(self) -> Self:
        """Start it."""
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if self._user is not None:
            for path in (self._folder, secret):
                os.chown(path, pwd.getpwnam(self._user).pw_uid, pwd.getpwnam(self._user).pw_gid)
        data = str(self._folder / "data")
        made = ["--auth=scram-sha-256", f"--username={USER}", f"--pwfile={secret}", "--no-sync", "--encoding=UTF8"]
        subprocess.run([binary("initdb"), "-D", data, *made], check=True, capture_output=True, **self._as_user())
        self.port = free_port()
        self._serve()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it, and remove its folder."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)  # at once: nothing of it is needed any more
            self._server.wait(20)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _serve(self) -> None:
        """Start the server, and wait until it answers."""
        data = str(self._folder / "data")
        options = ["-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        with (self._folder / "log").open("ab") as log:
            command = [binary("postgres"), "-D", data, *options, "-c", "fsync=off", "-c", "max_connections=20"]
            self._server = subprocess.Popen(command, stdout=log, stderr=log, **self._as_user())
        until = time.monotonic() + START
        while not self._answers():
            assert time.monotonic() < until, (self._folder / "log").read_text()
            time.sleep(0.05)

    def restart(self, pause: float) -> None:
        """Stop it as a crash would, and start it again after some seconds."""
        assert self._server is not None
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(20)
        time.sleep(pause)
        self._serve()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Have the server and all its sessions do nothing, without an end of any connection."""
        assert self._server is not None
        main = self._server.pid
        sessions = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for number in (main, *map(int, sessions)):
            os.kill(number, signal.SIGSTOP)
        try:
            yield
        finally:
            for number in (*map(int, sessions), main):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGCONT)

    def url(self, database: str = "postgres", with_password: bool = True) -> str:
        """Return the URL of a database."""
        given = f"{USER}:{QUOTED}" if with_password else USER
        return f"postgresql://{given}@127.0.0.1:{self.port}/{database}"

    def run(self, query: LiteralString, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement; returns its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(query)
            return cursor.fetchall() if cursor.description is not None else []

    def new_database(self) -> str:
        """Return the name of a new, empty database."""
        name = f"d{time.monotonic_ns()}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(psycopg.sql.Identifier(name)))
        return name

    def holders(self, database: str) -> list[int]:
        """Return the process of each session that has an advisory lock in a database."""
        return [pid for (pid,) in self.run(HOLDERS, database)]

    def cut(self, database: str) -> None:
        """End the one session that has the lock of a database."""
        [pid] = self.holders(database)
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])

    def _answers(self) -> bool:
        """Return whether it serves."""
        try:
            return self.run("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def _as_user(self) -> dict[str, Any]:
        """Return how its programs are started: by whom, and without the environment's own database."""
        environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}
        named = {} if self._user is None else {"user": self._user, "group": self._user, "extra_groups": []}
        return {"cwd": "/", "env": environment, **named}


#: The sessions with an advisory lock in this database.
HOLDERS: LiteralString = """
SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE locktype = 'advisory' AND granted AND datname = current_database()
"""
