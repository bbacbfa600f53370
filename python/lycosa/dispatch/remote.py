"""Fetch by the download servers of a master, for a crawl: ``lycosa crawl --set fetch.master=URL``."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path

from lycosa import _core
from lycosa.dispatch import loops
from lycosa.dispatch.client import Client
from lycosa.dispatch.refusal import DispatchError
from lycosa.errors import LycosaError
from lycosa.records import Request, Requests, Responses

#: The environment variable with the token of the service.
TOKEN = "LYCOSA_TOKEN"  # noqa: S105  # its name

#: Seconds for the client to end.
END = 5.0


class RemoteFetch:
    """A fetch stage whose requests are downloaded elsewhere.

    The crawl's frontier keeps robots.txt and the pauses of sites as ever; the download servers keep theirs for all
    their clients.
    """

    def __init__(
        self,
        master: str,
        service: str,
        slots: int,
        *,
        receive: bool = False,
        ca_file: Path | None = None,
        certificate: Path | None = None,
    ) -> None:
        """slots: requests under way at most. Connects when the first requests come.

        ca_file: more root certificates. certificate: one with its key in the same file, for mutual TLS.
        """
        _core.keep_freed_memory()  # batches of bodies come and go here as they do where they are fetched
        token = os.environ.get(TOKEN)

        def make() -> Client:
            return Client(
                master,
                service,
                token=token,
                receive=receive,
                under_way=slots,
                ca_file=ca_file,
                certificate=None if certificate is None else (certificate, certificate),
            )

        self._make, self._run = make, Run(make())
        self._slots, self._in_flight = slots, 0
        self._lock = threading.Lock()

    def free(self) -> int:
        """Return the number of free slots."""
        return self._slots - self._in_flight

    def in_flight(self) -> int:
        """Return the number of requests submitted and not completed."""
        return self._in_flight

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        if len(requests):
            with self._lock:
                self._in_flight += len(requests)
                if self._run.is_over:
                    self._run = Run(self._make())
                self._run.add(list(requests))

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses.

        Raises DispatchError, whenever it is called, once the service refuses the crawl or the client has failed.
        """
        run = self._run
        try:
            found = run.done.get(timeout=within) if within > 0 else run.done.get_nowait()
        except queue.Empty:
            found = None
        with self._lock:
            if run.is_over:
                return Responses()  # they were cancelled meanwhile
            if not found and run.error is not None:
                raise run.error
            self._in_flight -= len(found or ())
        return found or Responses()

    def cancel(self) -> None:
        """Forget all requests in flight: the download servers drop their results after a while."""
        run = self._run
        self.forget()
        run.join()

    def forget(self) -> None:
        """The same from any thread: does not wait until the client has ended."""
        with self._lock:
            self._run.end()
            self._in_flight = 0


class Run:
    """A client with an event loop on a thread of its own, from its first requests to its end."""

    def __init__(self, client: Client) -> None:
        """The thread is started with the first requests."""
        #: Results, and `None` once the client has failed, with its error.
        self.done: queue.SimpleQueue[Responses | None] = queue.SimpleQueue()
        self.error: LycosaError | None = None
        self.is_over = False
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._thread: threading.Thread | None = None

    def add(self, requests: list[Request]) -> None:
        """Have requests downloaded."""
        if self._thread is None:
            started = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(started,), name="lycosa-dispatch", daemon=True)
            self._thread.start()
            started.wait()
        self._call(lambda: self._client.add(requests))

    def end(self) -> None:
        """End the client soon."""
        self.is_over = True
        self._call(self._over.set)

    def join(self) -> None:
        """Wait until it has ended."""
        if self._thread is not None:
            self._thread.join(END)

    def _call(self, work: Callable[[], None]) -> None:
        """Do something on the loop, unless that has ended by an error."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(work)

    def _run(self, started: threading.Event) -> None:
        """Run the client until the end; the thread's body."""

        async def work() -> None:
            self._loop = asyncio.get_running_loop()
            async with self._client:
                started.set()
                taking = asyncio.create_task(self._take())
                over = asyncio.create_task(self._over.wait())
                await asyncio.wait([taking, over], return_when=asyncio.FIRST_COMPLETED)
                over.cancel()
                if taking.done():
                    taking.result()  # raises: it ends by an error alone
                taking.cancel()

        try:
            loops.run(work())
        except LycosaError as error:
            self.error = error
        except Exception as error:  # whatever it is: nothing would come any more, and nobody would know
            self.error = DispatchError(f"the client of fetch.master has failed: {type(error).__name__}: {error}")
            self.error.__cause__ = error
        finally:
            self.done.put(None)
            started.set()

    async def _take(self) -> None:
        """Pass results to the crawl's thread."""
        while True:
            self.done.put(await self._client.results())
