"""Whose failure a failure is: the proxy's, perhaps the site's, or this machine's. The only table of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from lycosa.records import Response

#: "own": no site can be the cause. "doubtful": a site may be; others tell. "network": no proxy could be connected to.
#: "refused": the proxy does not lead to this site, or not to this port, and says so; it may lead to others.
Fault = Literal["own", "doubtful", "network", "refused"]

#: What a proxy says that opens no tunnel (crates/fetch/src/tunnel.rs): any status but 407, SOCKS replies 1, 2 and 8.
_REFUSED = re.compile(
    r"it answered CONNECT with status (?!407$)\d+|General SOCKS server failure|Connection not allowed by ruleset"
    r"|Address type not supported"
)

#: Failures of which a proxy may be the cause as well as the site. The others are the site's, or this machine's.
DOUBTFUL = frozenset(
    {
        "connect-failed",
        "connect-refused",
        "connect-timeout",
        "connection-closed",
        "read-timeout",
        "timeout",
        "tls-certificate",
        "tls-failed",
        "tls-too-old",
        "protocol",
        "unanswered",
    }
)

#: Statuses by which sites refuse a client, and after how many in a row it is not only the page that is refused.
REFUSALS: Mapping[int, int] = {403: 3, 429: 1}


def fault_of(response: Response) -> Fault | None:
    """Return whose failure a response is; `None`: it is none of the proxy."""
    if response.error == "proxy-failed":
        why = (response.error_detail or "").removeprefix(f"{response.request.proxy}: ")
        return "refused" if _REFUSED.fullmatch(why) else "own"
    if response.error == "connect-failed" and response.address is None:
        return "network"  # with an address it is what a proxy says of the site
    return "doubtful" if response.error in DOUBTFUL or is_of_passwords(response) else None


def is_of_passwords(response: Response) -> bool:
    """Return whether a response is a 407 that the proxy or, through it, the site may have given.

    In a tunnel it is the site's; where the tunnel is refused, there is no response.
    """
    request = response.request
    return (
        response.status == 407
        and request.url.startswith("http://")
        and (request.proxy or "").startswith(("http://", "https://"))
    )


def is_of_page(response: Response) -> bool:
    """Return whether a status says whether a site refuses the client: a robots.txt may be refused to everyone."""
    return response.request.purpose != "robots" or response.status == 429
