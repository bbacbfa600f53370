"""What makes ``PlainFetch`` a second chance for sites with old TLS: Python's ssl at its lowest security level."""

from __future__ import annotations

import ssl

#: OP_LEGACY_SERVER_CONNECT, which Python names from 3.12 on: servers that cannot renegotiate safely.
LEGACY_SERVER = 0x4


def old_tls() -> ssl.SSLContext:
    """Return a context for TLS 1.0 to 1.3. Certificates are verified as ever; others may break the encryption."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # "ALL" would have those without a certificate, too
    context.options |= LEGACY_SERVER
    return context
