"""What master, download servers and clients agree on: the version of the protocol, limits, media types."""

from __future__ import annotations

#: The version of the protocol.
PROTOCOL = 1

#: The field with it, of each request and response.
VERSION = "lycosa-protocol"

#: Parts of one question, and URLs of one grant, at most.
MAX_PARTS, MAX_COUNT = 1_000, 100_000

#: What of a URL decides which download server it belongs to.
SITE = "domain"

#: Seconds for which requests are gathered after the first, and results, since a call costs as much as ten pages of
#: them; so many requests, or bytes of results, are enough.
GATHER_REQUESTS, GATHER_RESULTS = 0.04, 0.2
ENOUGH_REQUESTS, ENOUGH_BYTES = 256, 2 << 20

#: Media types: JSON; records of this project; lines of URLs, and results with lines of JSON, for other programs.
JSON = "application/json"
REQUESTS, RESPONSES = "application/vnd.lycosa.requests", "application/vnd.lycosa.responses"
LINES, RESULTS = "text/plain", "application/vnd.lycosa.results"
