"""The identity of a crawler: a key that signs its requests, and what site owners want to know of it.

Web Bot Auth (draft-meunier-webbotauth-httpsig-protocol) for the key and its directory; JAFAR
(draft-illyes-webbotauth-jafar) for the address ranges.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from lycosa import _core
from lycosa.errors import SettingError

#: Where the public keys are, on the agent's site.
DIRECTORY = ".well-known/http-message-signatures-directory"

#: The media type with which a web server has to serve them.
MEDIA_TYPE = "application/http-message-signatures-directory+json"

#: The private key, and the agent, in an identity's directory.
KEY = "key.pem"
AGENT = "agent"

#: The file of address ranges.
RANGES = "client-ranges.json"


@dataclass(frozen=True, slots=True)
class Identity:
    """What sites are told of a crawler."""

    #: The https origin on which the bot page and the keys are.
    agent: str
    #: The product token of its user agent, which robots.txt names.
    name: str
    #: An e-mail address or a URL.
    contact: str
    #: What it crawls for, in a sentence.
    purpose: str
    #: Its addresses.
    ranges: Sequence[IPv4Network | IPv6Network] = ()

    @property
    def user_agent(self) -> str:
        """The user agent, which leads to the bot page."""
        return f"{self.name}/1.0 (+{self.agent}/)"


def networks(texts: Sequence[str]) -> list[IPv4Network | IPv6Network]:
    """Parse address ranges; raises SettingError."""
    found: list[IPv4Network | IPv6Network] = []
    for text in texts:
        try:
            found.append(ip_network(text if "%" not in text else ""))
        except ValueError as error:
            raise SettingError("range", text, f"a network such as 192.0.2.0/24 ({error})") from None
    return found


def create(directory: Path, identity: Identity) -> str:
    """Make a key, and the files of the agent's site below ``site``; returns the key's name.

    Raises SettingError for a bad name or origin, and for a directory that is not new.
    """
    if not re.fullmatch(r"[A-Za-z_-]{1,64}", identity.name):
        raise SettingError(
            "name", identity.name, "1 to 64 letters, _ and -: the product token of robots.txt (RFC 9309)"
        )
    key = _core.new_identity_key()
    public, name = _core.identity_key(key, identity.agent)
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise SettingError("DIR", directory, f"a new directory ({error})") from None
    site = directory / "site"
    keys = {DIRECTORY: key_directory([json_web_key(public, name)])}
    for file, text in (keys | site_files(identity)).items():
        _write(site / file, text)
    _write(directory / AGENT, f"{identity.agent}\n")
    _write(directory / KEY, _pem(key), 0o600)
    return name


def renew(directory: Path) -> str:
    """Make another key; returns its name. The key directory keeps the one before, for requests that are under way.

    Raises SettingError for a directory without an identity.
    """
    agent, public_before, name_before = _core.identity_of(directory)
    key = _core.new_identity_key()
    public, name = _core.identity_key(key, agent)
    # First where sites look: a key that signs and is not there yet is no key of ours.
    keys = [json_web_key(public, name), json_web_key(public_before, name_before)]
    _write(directory / "site" / DIRECTORY, key_directory(keys))
    _write(directory / KEY, _pem(key), 0o600)
    return name


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file as a whole, or leave what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _pem(key: bytes) -> str:
    """A private key as text."""
    lines = textwrap.wrap(base64.b64encode(key).decode(), 64)
    return "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", ""])


def directory_fields(directory: Path, days: int) -> dict[str, str]:
    """Return the header fields with which a web server serves the key directory for so many days from now.

    Raises SettingError for a directory without an identity, and unless 1 ≤ days ≤ 365.
    """
    if not 1 <= days <= 365:
        raise SettingError("days", days, "1 to 365")
    path = directory / "site" / DIRECTORY
    try:
        keys = path.read_bytes()
    except OSError as error:
        raise SettingError("DIR", directory, f"a directory that lycosa identity new has made ({error})") from None
    now = int(time.time())
    names = ("Content-Digest", "Signature-Input", "Signature")
    signed = _core.sign_key_directory(directory, keys, now, now + days * 86_400)
    return {"Content-Type": MEDIA_TYPE, **dict(zip(names, signed, strict=True))}


def json_web_key(public: str, name: str) -> dict[str, str]:
    """Return a public key as a JSON Web Key (RFC 8037)."""
    return {"kty": "OKP", "crv": "Ed25519", "kid": name, "x": public, "use": "sig"}


def key_directory(keys: Sequence[dict[str, str]]) -> str:
    """Return the text of a key directory; the first key signs."""
    return json.dumps({"keys": list(keys)}, indent=2) + "\n"


def site_files(identity: Identity) -> dict[str, str]:
    """Return the other files of the agent's site, by their paths."""
    # An empty list of addresses says that there are none (JAFAR), so that nobody could be this crawler.
    ranges = {RANGES: json.dumps(_ranges(identity), indent=2) + "\n"} if identity.ranges else {}
    return {"index.html": _page(identity), **ranges}


def _ranges(identity: Identity) -> dict[str, object]:
    """The file of address ranges."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    prefixes = [
        {f"ipv{network.version}Prefix": str(network), "service": identity.name} for network in identity.ranges
    ]
    return {"formatVersion": "1.0", "synctoken": now, "creationTime": now, "prefixes": prefixes}


def _page(identity: Identity) -> str:
    """The bot page."""
    agent, bot, contact, purpose, user_agent = (
        html.escape(text)
        for text in (identity.agent, identity.name, identity.contact, identity.purpose, identity.user_agent)
    )
    link = f'\n<link rel="client-ranges" href="/{RANGES}">' if identity.ranges else ""
    addresses = f'<p>Its addresses are in <a href="/{RANGES}">{RANGES}</a>.</p>' if identity.ranges else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{bot}, a web crawler</title>{link}
</head>
<body>
<h1>{bot}</h1>
<p>{purpose}</p>
<h2>How to recognise it</h2>
<p>Its user agent is <code>{user_agent}</code>.</p>
<p>Each request over TLS is signed (Web Bot Auth, RFC 9421) with a key of
<a href="/{DIRECTORY}">{agent}/{DIRECTORY}</a>.</p>
{addresses}
<h2>How to control it</h2>
<p>It obeys robots.txt (RFC 9309), robots directives in header fields and pages, Crawl-delay and Retry-After. To keep
it out, write:</p>
<pre>User-agent: {bot}
Disallow: /</pre>
<h2>How to reach us</h2>
<p>{contact}</p>
</body>
</html>
"""
