"""Dates of HTTP header fields (RFC 9110 section 5.6.7)."""

from __future__ import annotations

import re
from datetime import UTC, datetime

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
MONTH = rf"(?P<month>{'|'.join(MONTHS)})"

#: The form that is sent, and the two obsolete ones that are read as well: of RFC 850 and of C's asctime.
FORMS = [
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"(?:mon|tue|wed|thu|fri|sat|sun), (?P<day>\d\d) {MONTH} (?P<year>\d{{4}}) {TIME} GMT",
        rf"(?:mon|tues|wednes|thurs|fri|satur|sun)day, (?P<day>\d\d)-{MONTH}-(?P<year>\d\d) {TIME} GMT",
        rf"(?:mon|tue|wed|thu|fri|sat|sun) {MONTH} (?P<day>[ \d]\d) {TIME} (?P<year>\d{{4}})",
    )
]

#: A year of two digits is at most so many years ahead.
AHEAD = 50


def http_date(text: str, now: float) -> float | None:
    """Return a date in seconds since the epoch, or `None` for what is none in one of the three forms.

    now: a time near that of the message, for years of two digits.
    """
    found = next((match for form in FORMS if (match := form.fullmatch(text.strip()))), None)
    if found is None:
        return None
    year, month = int(found["year"]), MONTHS.index(found["month"].lower()) + 1
    if len(found["year"]) == 2:
        this = datetime.fromtimestamp(now, UTC).year
        year += this - this % 100
        if year > this + AHEAD:
            year -= 100
    try:
        # A leap second is read as the one before it.
        second = min(int(found["second"]), 59)
        date = datetime(year, month, int(found["day"]), int(found["hour"]), int(found["minute"]), second, tzinfo=UTC)
    except ValueError:
        return None
    return date.timestamp()
