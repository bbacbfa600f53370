"""Why a request of the protocol is refused: the codes, each once, with its meaning and what the client does then."""

from __future__ import annotations

from typing import NamedTuple

from lycosa.errors import LycosaError


class Code(NamedTuple):
    """A code of the protocol."""

    status: int  # of HTTP
    again: bool  # whether the client may ask for the same URLs again
    meaning: str


#: Every code of the protocol.
CODES: dict[str, Code] = {
    "other-version": Code(426, False, "the peer has another version of the protocol"),
    "bad-token": Code(401, False, "the token is missing, or is not one of the service's"),
    "unknown-service": Code(403, False, "the quotas have no service of this name"),
    "malformed": Code(400, False, "the request breaks the protocol"),
    "too-large": Code(413, False, "a body or a number of URLs is over the limit"),
    "over-quota": Code(429, True, "the service has no quota left for so many URLs now"),
    "no-capacity": Code(429, True, "no download server has room for so many URLs now"),
    "no-server": Code(503, True, "no download server is known, or not the one that was asked for"),
    "ring-changed": Code(409, True, "the owners of sites have changed; the reply has them"),
    "unknown-serial": Code(403, True, "the grant was not signed by this server's master"),
    "expired-serial": Code(410, True, "the grant was to be used earlier"),
    "spent-serial": Code(409, False, "the grant was used already"),
    "other-service": Code(403, False, "the grant is another service's, or another client's"),
    "other-server": Code(
        421, True, "the grant is for another download server, or for an earlier process of this one"
    ),
    "wrong-count": Code(400, False, "there are more or fewer URLs than were granted"),
    "wrong-digest": Code(400, False, "the URLs are not those that were granted"),
    "name-in-use": Code(409, False, "another process has the download server's name now"),
    "unknown-client": Code(
        404, True, "no results are kept for this client: none were asked for, or they were dropped"
    ),
    "internal": Code(500, True, "an error of the server, which its log has"),
    "unavailable": Code(503, True, "the server, or a proxy before it, does not serve now"),
    "fenced": Code(503, True, "the download server has not reached its master for too long"),
}


class DispatchError(LycosaError):
    """The service refuses a client for good: its name, its token or its requests are wrong."""


class Refusal(LycosaError):
    """A request of the protocol that is refused; nothing was changed."""

    def __init__(self, code: str, detail: str = "", after: float = 0.0, *, is_private: bool = False) -> None:
        """code: of ``CODES``. detail: what was given and what is allowed. after: seconds until it may succeed.

        is_private: whether the detail repeats what may be a secret of who asked: then logs have the code alone.
        """
        super().__init__(code, detail, after)
        self.code = code
        self.detail = detail
        self.after = after
        self.is_private = is_private

    @property
    def logged(self) -> str:
        """What logs have of it, in one line."""
        return f"{self.code}: {CODES[self.code].meaning}" if self.is_private else str(self)

    def __str__(self) -> str:
        """One line."""
        return f"{self.code}: {self.detail or CODES[self.code].meaning}"
