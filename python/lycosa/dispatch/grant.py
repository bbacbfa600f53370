"""Grants: what the master permits, signed, so that a download server verifies it without asking.

A grant is one line of text: the base64url of a JSON object, a dot, the base64url of its signature (Ed25519).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, NamedTuple, get_type_hints

from lycosa import _core
from lycosa.dispatch.jsons import read_json, write_json
from lycosa.dispatch.refusal import Refusal

#: Maximum length of a grant as text: it travels in a header field.
MAX_GRANT_BYTES = 2_048


class Grant(NamedTuple):
    """The permission to submit URLs to a download server, once. Times: the master's, in seconds since the epoch."""

    serial: int  # unique and increasing, also over restarts of the master
    service: str
    client: str
    server: str
    process: str  # of the download server: a grant ends with it
    urls: int  # how many
    digest: str  # of the submitted bytes: `digest_of`
    issued: float
    expires: float
    ring: int  # the version of the ring by which the URLs were divided; 0: they were not
    after: float  # of that ring: before this time, sites with a new owner are not started

    def signed(self, key: _core.SigningKey) -> str:
        """Return the grant as text, signed by the master."""
        payload = write_json(self._asdict())
        return f"{_text(payload)}.{_text(key.sign(payload))}"


#: The type of each field of a grant in JSON; a float may be written as an integer.
TYPES: dict[str, tuple[type, ...]] = {
    name: (float, int) if kind is float else (kind,) for name, kind in get_type_hints(Grant).items()
}


def read_grant(text: str, public: _core.VerifyingKey) -> Grant:
    """Return the grant of a text if the key's owner has signed it; raises Refusal (unknown-serial, malformed)."""
    if len(text) > MAX_GRANT_BYTES:
        raise Refusal("malformed", f"a grant of {len(text)} bytes; allowed: {MAX_GRANT_BYTES}")
    first, _, second = text.partition(".")
    try:
        payload, signature = _bytes(first), _bytes(second)
    except (ValueError, binascii.Error):
        raise Refusal("malformed", "a grant is the base64url of its JSON, a dot and that of its signature") from None
    # Nothing of the payload is read before its signature is known to be valid.
    if not public.verify(payload, signature):
        raise Refusal("unknown-serial")
    given: Any = read_json(payload)
    if not isinstance(given, dict) or given.keys() != TYPES.keys():
        raise Refusal("malformed", "a grant of another version of the master")
    wrong = [name for name, kinds in TYPES.items() if type(given[name]) not in kinds]
    if wrong:
        raise Refusal("malformed", f"{wrong[0]} of the grant has another type")
    return Grant(**given)


def digest_of(submitted: bytes) -> str:
    """Return the digest of what is submitted, which its grant names: SHA-256, in hexadecimal digits."""
    return hashlib.sha256(submitted).hexdigest()


def _text(data: bytes) -> str:
    """Base64url without padding (RFC 4648 section 5)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    """The bytes of such a text; raises ValueError for another one."""
    padded = text.encode("ascii") + b"=" * (-len(text) % 4)
    return base64.b64decode(padded, altchars=b"-_", validate=True)
