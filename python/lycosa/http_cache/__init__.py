"""An HTTP cache on disk (RFC 9111), as middleware."""

from lycosa.http_cache.middleware import HttpCache

__all__ = ["HttpCache"]
