"""Asks a DNS server as anybody would: by dig."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.names.server import Server


def dig(server: Server, *question: str, within: int = 3) -> dict[str, Any]:
    """Ask as anybody would: response code, and the answer's records as name, TTL and data."""
    address, _, port = server.listening[0].rpartition(":")
    command = ["dig", f"@{address}", "-p", port, "+noall", "+comments", "+answer", "+tries=1", f"+time={within}"]
    done = subprocess.run([*command, *question], capture_output=True, text=True, timeout=30)
    code = re.search(r"status: (\w+)", done.stdout)
    records = [line.split() for line in done.stdout.splitlines() if line and not line.startswith(";")]
    return {
        "code": code[1] if code else None,
        "records": [(name, int(ttl), data) for name, ttl, _, _, data in records],
    }
