"""Who may act for a service: its tokens, of which servers know digests alone."""

from __future__ import annotations

import hmac
from collections.abc import Collection

from lycosa.dispatch.http import Call, is_loopback, token_of
from lycosa.dispatch.quotas import digest_of_token
from lycosa.dispatch.refusal import Refusal


def check_access(call: Call, digests: Collection[str]) -> None:
    """Raise Refusal (bad-token) unless a request has one of these tokens; if there are none, it must be local."""
    token = token_of(call)
    if not digests:
        if is_loopback(call.peer):
            return
        raise Refusal("bad-token", "without tokens in the quotas, only programs on the same machine are served")
    given = digest_of_token(token or "")
    # All are compared, so that the time says nothing about which one is right.
    if not any([hmac.compare_digest(given, known) for known in digests]):  # noqa: C419
        raise Refusal("bad-token")
