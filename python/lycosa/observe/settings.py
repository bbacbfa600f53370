"""The settings of what a crawl tells of itself: the section ``observe`` of a job."""

# Annotations are not postponed: pydantic would have to compile each of them at the start.

import re
from typing import Annotated

from lycosa.errors import SettingError
from lycosa.model import AfterValidator, Field, Section


def _address(text: str) -> str:
    """Check an address and port to listen at."""
    from lycosa.names.server_settings import endpoint  # only where it is wanted

    if endpoint(text) is None:
        raise SettingError("observe.http", text, "ADDRESS:PORT, such as 127.0.0.1:9153")
    return text


def _collector(text: str) -> str:
    """Check the URL of a collector."""
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", text):
        allowed = "an http or https URL without a user, such as http://127.0.0.1:4318/v1/traces"
        raise SettingError("observe.traces", text, allowed)
    return text


class Observe(Section):
    """What a running crawl tells of itself."""

    http: Annotated[str, AfterValidator(_address)] | None = Field(
        None,
        description="address and port of /metrics (Prometheus), /healthz and /report (JSON), such as 127.0.0.1:9153; "
        "they tell hosts and URLs to everyone who reaches them. none: nowhere",
    )
    stuck_after: float = Field(
        30.0,
        ge=1,
        le=86_400,
        description="time in s after which it is told that a stage or an output does not move; of a request or the "
        "frontier, beyond fetch.total_timeout",
    )
    traces: Annotated[str, AfterValidator(_collector)] | None = Field(
        None,
        description="URL of an OpenTelemetry collector (OTLP over HTTP) that gets traces, such as "
        "http://127.0.0.1:4318/v1/traces; needs the extra `observe`. none: no traces",
    )
    trace_share: float = Field(
        0.001, ge=0, le=1, description="share of URLs that are traced: always the same ones, by their digests"
    )
    price: float | None = Field(
        None,
        ge=0,
        description="price of an hour of one core, in any currency: reports then tell what a million pages cost",
    )
