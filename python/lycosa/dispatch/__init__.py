"""Downloading as a service: a master admits, download servers download, clients ask (SYSTEMS.md section 4).

The rules are in classes without I/O, which are told the time: ``admission`` decides, ``registry`` knows download
servers, ``master`` grants, ``desk`` accepts grants and keeps results, ``pending`` keeps a client's requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.dispatch.client import Client, DispatchError

__all__ = ["Client", "DispatchError"]


def __getattr__(name: str) -> Any:
    """Import the client when it is first used: a master needs none."""
    if name in __all__:
        from lycosa.dispatch import client

        return getattr(client, name)
    raise AttributeError(name)
