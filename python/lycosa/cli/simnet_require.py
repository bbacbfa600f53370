"""``lycosa simnet --require``: checks the ledger against requirements, for tests that pass or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lycosa.errors import SettingError

#: Violations: of robots.txt, of an interval, of Retry-After, of a certificate. Repeats are not violations.
VIOLATIONS: dict[str, Callable[[dict[str, Any]], float]] = {
    "robots": lambda report: float(report["robots"]["count"]),
    "rates": lambda report: float(report["rates"]["host"]["count"] + report["rates"]["address"]["count"]),
    "pauses": lambda report: float(report["pauses"]["count"]),
    "certificates": lambda report: float(report["certificates"]["count"]),
}

#: Figures of the report that can be required; coverage is a minimum, all others are maxima.
REQUIRED: dict[str, Callable[[dict[str, Any]], float]] = {
    "coverage": lambda report: float(report["coverage"]["ratio"]),
    "violations": lambda report: sum(count(report) for count in VIOLATIONS.values()),
    **VIOLATIONS,
    "repeats": lambda report: float(report["repeats"]["requests"]),
}


def parse_required(text: str | None) -> dict[str, float]:
    """Parse requirements such as ``coverage=1,violations=0``; raises SettingError."""
    required: dict[str, float] = {}
    for part in [] if text is None else text.split(","):
        name, _, value = part.strip().partition("=")
        try:
            if name not in REQUIRED:
                raise ValueError
            required[name] = float(value)
        except ValueError:
            allowed = f"NAME=NUMBER with commas, of {', '.join(REQUIRED)}: coverage=1,violations=0"
            raise SettingError("--require", part, allowed) from None
    return required


def missed(required: dict[str, float], report: dict[str, Any]) -> list[str]:
    """Return the requirements that the ledger does not meet, one line each."""
    lines = []
    for name, limit in required.items():
        found = REQUIRED[name](report)
        if name == "coverage" and found < limit:
            lines.append(f"required: coverage of at least {limit:.2%}; it is {found:.2%}")
        elif name != "coverage" and found > limit:
            lines.append(f"required: {name} of at most {limit:g}; there are {found:g}")
    return lines
