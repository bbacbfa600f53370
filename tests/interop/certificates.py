"""Certificates of foreign DNS servers that are asked over TLS or HTTPS. Not a test."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path


def certify(folder: Path) -> None:
    """Make an authority, and a certificate of ``dns.example`` and 127.0.0.1 that it signs."""
    (folder / "names").write_text("subjectAltName=DNS:dns.example,IP:127.0.0.1\n")
    new = shlex.split("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes")
    sign = shlex.split("openssl x509 -req -in dns.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out dns.pem")
    commands = [
        [*new, "-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"],
        [*new, "-subj", "/CN=dns.example", "-keyout", "dns.key", "-out", "dns.csr"],
        sign,
    ]
    for command in commands:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
