"""Quotas: the services of a master, each with its rates, its tokens and where its URLs are downloaded."""

from __future__ import annotations

import hashlib
import re
import secrets
from pathlib import Path
from typing import Annotated, Literal

from lycosa.errors import SettingError
from lycosa.explain import explain
from lycosa.job import read_job
from lycosa.model import AfterValidator, Field, Section, ValidationError

#: A name of a service, a client or a download server.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

#: What a name is, for messages.
NAMES = "1 to 64 letters, digits, dots, hyphens and underscores"

#: A token at rest: its SHA-256. Tokens are random, so that a slow digest would protect nothing.
TOKEN = re.compile(r"sha256:[0-9a-f]{64}")

#: A table, and a key, of a TOML file: to find the line of a wrong setting.
TABLE, KEY = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]"), re.compile(r"\s*\"?([A-Za-z0-9_-]+)\"?\s*=")


def check_name(name: str, setting: str = "name") -> str:
    """Return a name if it is one; raises SettingError."""
    if not NAME.fullmatch(name):
        raise SettingError(setting, name, NAMES)
    return name


def new_token() -> tuple[str, str]:
    """Return a new token, and its digest for the quotas."""
    token = secrets.token_urlsafe(32)
    return token, digest_of_token(token)


def digest_of_token(token: str) -> str:
    """Return the digest of a token, as quotas have it."""
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def _token(text: str) -> str:
    """Check the digest of a token."""
    if not TOKEN.fullmatch(text):
        raise ValueError(
            "the digest of a token, sha256: and 64 hexadecimal digits, as `lycosa master --new-token` prints it"
        )
    return text


def _name(text: str) -> str:
    """Check a name, within quotas."""
    if not NAME.fullmatch(text):
        raise ValueError(NAMES)
    return text


Token = Annotated[str, AfterValidator(_token)]
Name = Annotated[str, AfterValidator(_name)]


class Quota(Section):
    """One service. Each line has default, minimum, maximum and unit."""

    rate: float = Field(gt=0, le=1_000_000)  # m, URLs/s; required
    burst: int | None = Field(None, ge=1, le=10_000_000)  # URLs granted at once; default: those of one second
    bytes_per_second: float | None = Field(None, gt=0)  # of bodies and heads, bytes/s; default: no limit
    weight: float = Field(1.0, gt=0, le=1_000)  # share of what there is, when it does not suffice for all
    priority: int = Field(0, ge=-4, le=4)  # services with a greater one come first, when it does not suffice
    tokens: tuple[Token, ...] = Field((), max_length=16)  # digests of tokens; none: from this machine alone
    servers: tuple[Name, ...] = Field((), max_length=1_000)  # download servers of this service alone; none: all
    placement: Literal["owner", "idlest"] = "owner"  # by the ring of sites, or the idlest server, as published
    robots: bool = True  # whether robots.txt is obeyed; a crawl that obeys it itself may set it to false

    @property
    def ahead(self) -> int:
        """URLs that may be granted at once."""
        return self.burst or max(int(self.rate), 1)


class Quotas(Section):
    """All services, and the rules of the master that quotas may change without a restart."""

    policy: Literal["gcra", "minute-window"] = "gcra"  # minute-window: as published
    # tokens of download servers; none: from this machine alone
    downloaders: tuple[Token, ...] = Field((), max_length=16)
    services: dict[Name, Quota] = Field(min_length=1, max_length=10_000)

    def is_closed(self) -> bool:
        """Return whether everybody needs a token."""
        return bool(self.downloaders) and all(quota.tokens for quota in self.services.values())


def read_quotas(path: Path) -> Quotas:
    """Read a file of quotas; raises SettingError with file, line, what was given and what is allowed."""
    given = read_job(path, "--quotas")
    try:
        return Quotas.model_validate(given)
    except ValidationError as error:
        found = _explained(error)
    line = _line_of(path.read_text(encoding="utf-8"), found.name)
    raise SettingError(found.name, found.value, found.allowed, f"{path}{line}: {found}") from None


def _explained(error: ValidationError) -> SettingError:
    """Return the first error of quotas, with what is allowed; a token is not repeated."""
    problem = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"] if not isinstance(part, int) and part != "[key]"]
    name = ".".join(path)
    if problem["type"] == "missing":
        what = {"rate": "URLs per second, above 0", "services": "at least one table such as [services.news]"}
        allowed = what.get(path[-1], "a value")
        return SettingError(name, "", allowed, f"{name} is missing; allowed: {allowed}")
    if problem["type"] == "extra_forbidden" and len(path) == 3:
        from lycosa.words import nearest

        known = ", ".join(Quota.model_fields)
        text = f"unknown setting {name}{nearest(path[-1], Quota.model_fields) or f'; known: {known}'}"
        return SettingError(name, problem["input"], known, text)
    found = explain(error, Quotas)
    if path[-1] in ("tokens", "downloaders"):
        return SettingError(name, "…", found.allowed)
    return SettingError(name, found.value, found.allowed, str(found).replace(found.name, name, 1))


def _line_of(text: str, name: str) -> str:
    """Return ``:LINE`` of a setting in a TOML file: of its key, else of its table; empty if it is in neither."""
    path, table, found = name.split("."), "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if match := TABLE.match(line):
            table = ".".join(part.strip().strip('"') for part in match[1].split("."))
        key = KEY.match(line)
        place = ".".join(filter(None, [table, key[1] if key else ""]))
        if place == name:
            return f":{number}"
        if not found and (place == ".".join(path[:-1]) or place == ".".join(path[:2])):
            found = number
    return f":{found}" if found else ""
