"""The receiving port of a client, to which download servers push results, as published (SYSTEMS.md section 4)."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from lycosa.dispatch.access import check_access
from lycosa.dispatch.http import App, Call, Reply, Route, reply
from lycosa.dispatch.pending import Place
from lycosa.dispatch.quotas import digest_of_token
from lycosa.dispatch.serving import Tls, bind, serving
from lycosa.errors import SettingError

#: So many looks at a mailbox, a heartbeat's period apart, that find the same first result mean that its server does
#: not reach the port; a push of some megabytes over a slow line may take a few.
LOOKS = 5

#: A certificate in a PEM file.
PEM = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)

#: Bytes of results at once.
MAX_PUSHED = 256 << 20


class Receiver:
    """Receives results, and says for which client."""

    def __init__(
        self,
        client: str,
        take: Callable[[bytes], Awaitable[None]],
        listen: str = "127.0.0.1:0",
        certificate: tuple[Path, Path] | None = None,
    ) -> None:
        """take: is given results; what it has taken is confirmed. certificate: with its key, to receive by TLS."""
        self._tls = None if certificate is None else Tls(*certificate)
        self._client, self._take, self._listen = client, take, listen
        self.key = secrets.token_urlsafe(32)  # who has it was told it by this client
        self.port = 0
        self._fingerprint: str | None = None  # of the certificate with which it listens
        self._firsts: dict[Place, tuple[int, int]] = {}  # first result that a server keeps; looks that found it first

    def fields(self) -> dict[str, str]:
        """Return the header fields that tell a download server of the port, with the certificate that it has.

        That is the one of when it began to listen, even if the file was renewed.
        """
        fields = {"lycosa-receive-port": str(self.port), "lycosa-receive-key": self.key}
        if self._fingerprint is not None:
            fields["lycosa-receive-certificate"] = self._fingerprint
        return fields

    def is_stuck(self, place: Place, first: int) -> bool:
        """Note the number of the first result that a download server keeps; returns whether it seems not to push.

        first: 0 if it keeps none.
        """
        before, looks = self._firsts.get(place, (0, 0))
        looks = looks + 1 if first and first == before else 1
        self._firsts[place] = (first, looks)
        return first > 0 and looks >= LOOKS

    async def _pushed(self, call: Call) -> Reply:
        """Take results of a download server that this client has submitted to."""
        await self._take(call.body)
        return reply({})

    def _admit(self, call: Call) -> None:
        """Refuse who was not told of the port by this client."""
        check_access(call, [digest_of_token(self.key)])

    async def _known(self, call: Call) -> Reply:
        """Say whose port it is."""
        return reply({"client": self._client})

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Receive."""
        routes = {
            ("POST", "/v1/results"): Route(self._pushed, MAX_PUSHED, self._admit),
            ("GET", "/v1/receiver"): Route(self._known),
        }
        if self._tls is not None:
            self._fingerprint = fingerprint_of(self._tls.certificate)
        bound = bind(self._listen, is_closed=True)
        self.port = bound.getsockname()[1]
        async with serving(App("receiver", routes), bound, self._tls):
            yield


def fingerprint_of(path: Path) -> str:
    """Return the SHA-256 of the first certificate in a PEM file, in hexadecimal digits."""
    found = PEM.search(path.read_text(encoding="ascii"))
    if found is None:
        raise SettingError("certificate", path, "a PEM file")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(found[0])).hexdigest()
