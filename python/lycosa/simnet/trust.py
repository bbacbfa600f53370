"""Trusted roots in private namespaces: the system's and the simulated authority, where programs look for them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

#: Where Debian, Alpine and SUSE keep roots: one file each under the hash of its subject, and all in one file.
FOLDER = Path("/etc/ssl/certs")

#: All roots in one file: of Debian (inside the folder), Fedora, Alpine and OpenSSL's own default, SUSE.
BUNDLES = [
    FOLDER / "ca-certificates.crt",
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/cert.pem"),
    Path("/etc/ssl/ca-bundle.pem"),
]

#: OpenSSL's hash of the authority's subject, which is the same for every seed (`openssl x509 -subject_hash`).
SUBJECT_HASH = "4b90a518"

#: Variables of programs that do not read the system's roots: requests, Node.js; and OpenSSL where there are none.
VARIABLES = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]


def trusted_roots(folder: Path, authority: str) -> list[tuple[str, str]]:
    """Write the system's roots and the authority (PEM) as files; pairs of own and system path, to be mounted."""
    pairs = []
    for number, bundle in enumerate(BUNDLES):
        # Files in the folder of roots come with it.
        if bundle.is_file() and FOLDER.resolve() not in bundle.resolve().parents:
            own = folder / f"bundle{number}.pem"
            _extend(bundle, own, authority)
            pairs.append((str(own), str(bundle)))
    if FOLDER.is_dir():
        # Links stay links: they are read where the folder is mounted.
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
    """The environment, with the bundle for programs that have to be told."""
    trusting = dict(environment)
    bundle = next((bundle for bundle in BUNDLES if bundle.is_file()), None)
    if bundle is not None:
        for name in VARIABLES:
            trusting.setdefault(name, str(bundle))
    return trusting


def _extend(system: Path, own: Path, authority: str) -> None:
    """Write the system's roots, as far as there are any, and the authority."""
    roots = system.read_bytes() if system.is_file() else b""
    own.write_bytes(roots + b"\n" + authority.encode("ascii"))
    own.chmod(0o644)
