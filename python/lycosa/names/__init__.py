"""DNS: the client of the core, caches and bulk resolution that any program can use.

``lycosa.names.lookups`` resolves one name at a time; adapters by which other libraries ask the same resolver are in
``lycosa.names.adapters``.
"""

from lycosa.names.bulk import resolve, resolve_stream
from lycosa.names.cache import Cache
from lycosa.names.resolver import Resolver

__all__ = ["Cache", "Resolver", "resolve", "resolve_stream"]
