"""DNS: the client of the core, caches and bulk resolution that any program can use.

Adapters by which other libraries ask the same resolver are in ``lycosa.names.adapters``.
"""

from lycosa.names.bulk import ResolveStream, resolve, resolve_stream
from lycosa.names.cache import Cache
from lycosa.names.resolver import Resolver

__all__ = ["Cache", "ResolveStream", "Resolver", "resolve", "resolve_stream"]
