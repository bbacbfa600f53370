"""What a Kafka broker of long ago tells a client: that it is there, and that it knows neither admin nor transactions.

Written by https://kafka.apache.org/protocol: versions 0 of ApiVersions and 1 of Metadata.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

METADATA, API_VERSIONS = 3, 18

#: The APIs that it knows: key, first and last version. Those of Kafka 0.10.
KNOWN = [(0, 0, 2), (1, 0, 2), (2, 0, 0), (METADATA, 0, 1), (10, 0, 0), (11, 0, 0), (API_VERSIONS, 0, 0)]

UNSUPPORTED_VERSION = 35


class OldBroker:
    """One broker on loopback. A context manager."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]

    def __enter__(self) -> Self:
        """Begin to answer."""
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Accept nobody any more."""
        self._socket.close()

    def _accept(self) -> None:
        """The thread that accepts connections."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        """The thread of a connection."""
        # A client that ends with an answer unread resets its connection.
        with contextlib.suppress(ConnectionError), connection, connection.makefile("rb") as stream:
            while len(head := stream.read(4)) == 4:
                request = stream.read(struct.unpack(">i", head)[0])
                key, version, correlation = struct.unpack(">hhi", request[:8])
                if (answer := self._answer(key, version)) is None:
                    return
                connection.sendall(struct.pack(">ii", 4 + len(answer), correlation) + answer)

    def _answer(self, key: int, version: int) -> bytes | None:
        """The answer to a request; `None`: the connection ends, as with what a broker does not know."""
        if key == API_VERSIONS:
            error = UNSUPPORTED_VERSION if version > 0 else 0
            return struct.pack(">hi", error, len(KNOWN)) + b"".join(struct.pack(">hhh", *one) for one in KNOWN)
        if key == METADATA:
            broker = struct.pack(">ih9si", 1, 9, b"127.0.0.1", self.port)
            rack, controller = (struct.pack(">h", -1), struct.pack(">i", 1)) if version == 1 else (b"", b"")
            return struct.pack(">i", 1) + broker + rack + controller + struct.pack(">i", 0)
        return None
