"""Several masters, one of which serves: they share a PostgreSQL database, whose advisory lock says which one it is.

Two masters never grant at one time. Each time that a master finds its session with the lock, it may decide for
``valid`` seconds more, from before it asked. Another one gets the lock when that session has ended, thus after its
last good check, and waits for the ``valid`` of the life before until it decides anything. Both times are measured by
clocks that never go back, each on its own machine; ``DRIFT`` is how differently they may run. So it does not matter
why a session ends, how late a master learns of it, or for how long it was stopped. What it has decided before may
arrive later, as over a slow network; download servers refuse what is older than a grant's time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict

from lycosa import _core
from lycosa.dispatch.clock import now
from lycosa.dispatch.life import Life, LifeLost
from lycosa.errors import SettingError, StorageError

logger = logging.getLogger("lycosa")

#: The key of the advisory lock: "lycosa" in ASCII.
LOCK = int.from_bytes(b"lycosa")

#: A check is valid for so many periods and at least for so many seconds, but at most for this part of ``hold``: until
#: then download servers go on.
VALID_PERIODS, VALID_LEAST, VALID_MOST = 4, 2.0, 0.5

#: How much longer than ``valid`` another master waits: clocks of two machines run alike to a thousandth at worst.
DRIFT = 1.01

#: Seconds to connect, and for an answer before a life has begun.
CONNECT, ANSWER = 5, 10.0

#: Seconds for a statement to end that was cut off.
CUT = 1.0

#: The first version of PostgreSQL with ``idle_session_timeout``, which ends the session of a master that hangs.
OLDEST = 140_000

#: Of the connection, unless the URL has others: seconds, and milliseconds, after which a silent server is given up.
DEFAULTS: dict[str, str | int] = {
    "application_name": "lycosa master",
    "connect_timeout": CONNECT,
    "keepalives_idle": 5,
    "keepalives_interval": 1,
    "keepalives_count": 5,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "read-write",  # of several hosts: a replica has locks of its own
}

#: A row that says what survives a master. ``valid``: for how many seconds after the end of its session the last one
#: may still decide; 0 after it has ended well.
TABLE: LiteralString = """
CREATE TABLE lycosa_master (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    life bigint NOT NULL,
    signing_key bytea NOT NULL, -- whoever reads it can sign grants
    valid double precision NOT NULL,
    ring text NOT NULL DEFAULT '' -- of download servers, the last one that they were told of, and their processes
)
"""


#: The row before the first life.
FIRST: LiteralString = """
INSERT INTO lycosa_master (life, signing_key, valid) VALUES (0, %s, 0) ON CONFLICT DO NOTHING
"""

#: The number of the last life, and whether this session has the lock.
CHECK: LiteralString = """
SELECT life, EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()
) FROM lycosa_master
"""

#: What follows from a session that is lost.
ENDS = "this master ends; started again, it stands by"


class Database:
    """A PostgreSQL database that several masters share."""

    def __init__(self, url: str) -> None:
        """url: such as postgresql://user@host/name, in all forms of libpq, whose PGPASSWORD and ~/.pgpass are used.

        Raises SettingError, which does not show the URL: it may have a password.
        """
        try:
            given = {name: str(value) for name, value in conninfo_to_dict(url).items() if value}
            # What has no port in its place may be a password.
            if not all(port.isdecimal() for port in given.get("port", "5432").split(",")):
                raise ValueError
        except (psycopg.Error, ValueError):
            scheme = re.match("[a-z]*(?=://)", url)
            shown = f"{scheme[0] if scheme else ''}://…"
            allowed = "a directory, or a URL such as postgresql://user@host:5432/name, with other characters as %2F"
            raise SettingError("--state", shown, allowed) from None
        self._parameters: dict[str, Any] = {**DEFAULTS, **given}
        secrets = [given.get("password"), given.get("sslpassword"), os.environ.get("PGPASSWORD")]
        self._secrets = [secret for secret in secrets if secret]
        user, port = given.get("user"), given.get("port")
        place = f"{given.get('host', '')}{f':{port}' if port else ''}/{given.get('dbname', '')}"
        self.shown = f"postgresql://{f'{user}@' if user else ''}{place}"  # without a password

    @contextlib.asynccontextmanager
    async def life(self, *, period: float, hold: float, standing_by: Callable[[], None]) -> AsyncIterator[Life]:
        """Wait until no other master may serve, and begin a run.

        Raises StorageError for a database that cannot be used, LifeLost where the session ends.
        """
        valid = min(max(VALID_PERIODS * period, VALID_LEAST), VALID_MOST * hold)
        async with self._session() as session:
            await session.prepare()
            await session.lock(valid / VALID_PERIODS, standing_by)
            await session.settle(valid)
            sent = now()
            number, key, ring = await session.begin(valid)
            life = SharedLife(number, _core.SigningKey(key), ring, session, valid)
            life.until = sent + valid
            yield life
            # Nothing is decided any more: the next one need not wait. If that is not noted, it waits.
            with contextlib.suppress(LifeLost, StorageError):
                await session.end(number)

    @contextlib.asynccontextmanager
    async def _session(self) -> AsyncIterator[Session]:
        """Connect, and close with the context."""
        try:
            connect = psycopg.AsyncConnection.connect
            opened = await connect(autocommit=True, prepare_threshold=None, **self._parameters)
        except (psycopg.Error, OSError) as error:
            raise StorageError(
                f"--state: {self.shown} cannot be used: {self.hidden(error)}; allowed: a PostgreSQL database in "
                "which its user may create a table; check that it runs, and user and password (PGPASSWORD, ~/.pgpass)"
            ) from None
        try:
            yield Session(opened, self)
        finally:
            await opened.close()

    def hidden(self, error: BaseException) -> str:
        """Return an error's text in one line, without passwords."""
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return text


class SharedLife(Life):
    """A run of a master that has the lock."""

    def __init__(self, number: int, key: _core.SigningKey, ring: str, session: Session, valid: float) -> None:
        """valid: seconds for which a check is valid."""
        super().__init__(number, key, ring)
        self._session, self._valid = session, valid

    async def note_ring(self, ring: str) -> None:
        """Write it to the row."""
        await self._session.note_ring(self.number, ring)

    async def keep(self) -> None:
        """Check again and again; raises LifeLost."""
        pause = self._valid / VALID_PERIODS
        while True:
            await asyncio.sleep(pause)
            sent = now()
            # Where this process was stopped, the session may be there all the same: then nobody else had the lock.
            await self._session.check(self.number, max(self.until - sent, pause))
            self.until = sent + self._valid


class Session:
    """A session of PostgreSQL, with which its lock ends. Its statements run one after the other."""

    def __init__(self, connection: psycopg.AsyncConnection[tuple[Any, ...]], database: Database) -> None:
        """Use a connection."""
        self._connection, self._database = connection, database

    async def prepare(self) -> None:
        """Set what the session needs; raises StorageError for an old server."""
        version = self._connection.info.server_version
        if version < OLDEST:
            found = f"PostgreSQL {version // 10_000}"
            raise StorageError(f"--state: {self._database.shown} is {found}; allowed: PostgreSQL 14 and newer")
        for name, value in (("synchronous_commit", "on"), ("statement_timeout", "0")):
            await self._run("SELECT set_config(%s, %s, false)", name, value)
        await self._end_if_silent(2 * ANSWER)

    async def lock(self, pause: float, standing_by: Callable[[], None]) -> None:
        """Take the lock, as soon as no other session has it."""
        told = False
        # Asked for again and again: a session that waits in the server gets the lock even if its master has vanished.
        while await self._run("SELECT pg_try_advisory_lock(%s)", LOCK) != (True,):
            if not told:
                logger.info("standing by: another master serves, by the lock in %s", self._database.shown)
                standing_by()
                told = True
            await asyncio.sleep(pause)

    async def settle(self, valid: float) -> None:
        """Wait, with the lock, until no life before may decide anything; makes the table if it is missing.

        valid: of this life: once the server has heard nothing for so long, it ends the session.
        """
        begun = now()
        await self._end_if_silent(valid)
        # IF NOT EXISTS would need the right to create a table that is there.
        if await self._run("SELECT to_regclass('lycosa_master') IS NULL") == (True,):
            await self._run(TABLE)
        await self._run(FIRST, _core.new_identity_key())
        [before] = await self._run("SELECT valid FROM lycosa_master") or (0.0,)
        while (left := begun + before * DRIFT - now()) > 0:
            await asyncio.sleep(min(left, valid / VALID_PERIODS))
            await self._run("SELECT 1")

    async def begin(self, valid: float) -> tuple[int, bytes, str]:
        """Begin a life; returns its number, the key, and the ring."""
        begun = await self._run(
            "UPDATE lycosa_master SET life = life + 1, valid = %s RETURNING life, signing_key, ring", valid
        )
        number, key, ring = begun or (0, b"", "")
        return int(number), bytes(key), str(ring)

    async def note_ring(self, number: int, ring: str) -> None:
        """Note the ring of a life; raises LifeLost if another one has begun."""
        query: LiteralString = "UPDATE lycosa_master SET ring = %s WHERE life = %s RETURNING life"
        if await self._run(query, ring, number) is None:
            raise LifeLost(f"another master serves by {self._database.shown}; {ENDS}")

    async def check(self, number: int, within: float) -> None:
        """Raise LifeLost unless this session has the lock, and the last life has this number."""
        try:
            found = await self._run(CHECK, within=within)
        except StorageError as error:
            raise LifeLost(f"{error}; {ENDS}") from None
        if found != (number, True):
            shown = self._database.shown
            raise LifeLost(f"{shown} has another state than this master: a backup, or a pooler's session? {ENDS}")

    async def end(self, number: int) -> None:
        """Note that this life decides nothing any more."""
        await self._run("UPDATE lycosa_master SET valid = 0 WHERE life = %s", number)

    async def _end_if_silent(self, seconds: float) -> None:
        """Have the server end this session, and its lock, once it has heard nothing for so long."""
        await self._run("SELECT set_config('idle_session_timeout', %s, false)", str(round(seconds * 1_000)))

    async def _run(self, query: LiteralString, *given: object, within: float = ANSWER) -> tuple[Any, ...] | None:
        """Run a statement; returns its first row. Raises LifeLost if the session ends, or the answer is late."""
        task = asyncio.create_task(self._fetch(query, given))
        try:
            done, _ = await asyncio.wait([task], timeout=within)
        finally:
            if not task.done():
                # psycopg answers a cancellation by waiting on. Without its connection the statement fails at once.
                self._cut()
                await asyncio.wait([task], timeout=CUT)
                task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        if not done:
            raise LifeLost(f"{self._database.shown} has not answered within {within:.1f} s; {ENDS}")
        return task.result()

    async def _fetch(self, query: LiteralString, given: tuple[object, ...]) -> tuple[Any, ...] | None:
        """Run a statement."""
        try:
            cursor = await self._connection.execute(query, given)
            return await cursor.fetchone() if cursor.description is not None else None
        except psycopg.Error as error:
            text = self._database.hidden(error)
            if self._connection.closed:
                raise LifeLost(f"the session with {self._database.shown} has ended: {text}; {ENDS}") from None
            raise StorageError(f"--state: {self._database.shown}: {text}") from None

    def _cut(self) -> None:
        """End the connection at once, whatever runs on it."""
        with (
            contextlib.suppress(psycopg.Error, OSError),
            socket.socket(fileno=os.dup(self._connection.fileno())) as own,
        ):
            own.shutdown(socket.SHUT_RDWR)
