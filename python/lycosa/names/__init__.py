"""DNS for any program: the core's client, caches and bulk resolution.

``lycosa.names.lookups`` resolves one name at a time; adapters for other libraries are in ``lycosa.names.adapters``.
"""

from lycosa.names.bulk import resolve, resolve_stream
from lycosa.names.cache import Cache
from lycosa.names.resolver import Resolver

__all__ = ["Cache", "Resolver", "resolve", "resolve_stream"]
