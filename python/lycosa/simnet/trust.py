"""Trusted roots in private namespaces: the system's and the simulated authority, where programs expect them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

#: Folder of roots in Debian, Alpine and SUSE: one file each, named by the hash of its subject, and a bundle of all.
FOLDER = Path("/etc/ssl/certs")

#: Bundles of all roots: of Debian (inside the folder), Fedora, Alpine and OpenSSL's own default, SUSE.
BUNDLES = [
    FOLDER / "ca-certificates.crt",
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/cert.pem"),
    Path("/etc/ssl/ca-bundle.pem"),
]

#: OpenSSL's hash of the authority's subject, which is the same for every seed (`openssl x509 -subject_hash`).
SUBJECT_HASH = "4b90a518"

#: Variables for programs that do not read the system's roots: requests, Node.js; and for OpenSSL if there are none.
VARIABLES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]


def trusted_roots(folder: Path, authority: str) -> list[tuple[str, str]]:
    """Write the system's roots and the authority (PEM) to files; returns pairs of own and system path to mount."""
    pairs = []
    for number, bundle in enumerate(BUNDLES):
        # Files in the folder of roots are copied with it.
        if bundle.is_file() and FOLDER.resolve() not in bundle.resolve().parents:
            own = folder / f"bundle{number}.pem"
            _extend(bundle, own, authority)
            pairs.append((str(own), str(bundle)))
    if FOLDER.is_dir():
        # Links stay links: they are resolved where the folder is mounted.
        own = folder / "certs"
        shutil.copytree(FOLDER, own, symlinks=True)
        own.chmod(0o755)
        bundle = own / BUNDLES[0].name
        bundle.unlink(missing_ok=True)
        _extend(BUNDLES[0], bundle, authority)
        (own / f"{SUBJECT_HASH}.0").write_text(authority, encoding="ascii")
        pairs.append((str(own), str(FOLDER)))
    return pairs


def trusting(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with the bundle's variables."""
    trusting = dict(environment)
    bundle = next((bundle for bundle in BUNDLES if bundle.is_file()), None)
    if bundle is not None:
        for name in VARIABLES:
            trusting.setdefault(name, str(bundle))
    return trusting


def _extend(system: Path, own: Path, authority: str) -> None:
    """Write the system's roots, if any, and the authority."""
    roots = system.read_bytes() if system.is_file() else b""
    own.write_bytes(roots + b"\n" + authority.encode("ascii"))
    own.chmod(0o644)
