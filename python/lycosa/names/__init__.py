"""DNS: the client of the core, ``lycosa._core.Names``, and caches that any program can use.

Bulk resolution and servers will live here.
"""

from lycosa.names.cache import Cache

__all__ = ["Cache"]
