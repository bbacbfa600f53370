"""Traces by OpenTelemetry: a URL of the sample is a trace, with a span for each part of its way.

Only the parts of Lycosa that a job asks for import the library (extra ``observe``).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lycosa.errors import SettingError
from lycosa.observe.turns import Turns
from lycosa.records import Outcome, Outcomes
from lycosa.stages import Log

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

#: Spans that wait to be sent, at most: further ones are left out, the crawl does not wait.
QUEUED = 8_192

#: The phases of a response in their order: spans, and their names in `Outcome.times`.
PHASES = {"resolve": "name", "connect": "connect", "tls": "tls", "wait": "first_byte", "read": "body"}


class Traces:
    """Sends the ways of some URLs to a collector."""

    def __init__(self, collector: str, share: float, job: str) -> None:
        """Begin to send on a thread; raises SettingError without the library.

        collector: its URL. share: of URLs, from 0 to 1. job: the name of the job.
        """
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ModuleNotFoundError:
            raise SettingError(
                "observe.traces", collector, "none without OpenTelemetry: pip install 'lycosa[observe]'"
            ) from None
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": "lycosa", "lycosa.job": job}), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=collector, timeout=2)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=QUEUED))
        self._tracer, self.share = self._provider.get_tracer("lycosa"), share

    def close(self) -> None:
        """Send what is left, for some seconds at most."""
        self._provider.shutdown()

    def trace(self, outcomes: Outcomes, parse: tuple[int, int], store: tuple[int, int]) -> None:
        """Send the ways of those of some outcomes that are of the sample.

        parse, store: when their batch was parsed and recorded, in nanoseconds since the epoch.
        """
        for outcome in outcomes.sampled(self.share):
            send(self._tracer, outcome, parse, store)


def send(tracer: Tracer, outcome: Outcome, parse: tuple[int, int], store: tuple[int, int]) -> None:
    """Make the spans of an outcome."""
    from opentelemetry.trace import set_span_in_context
    from opentelemetry.trace.status import Status, StatusCode

    end, times = int(outcome.fetched_at * 1e6) * 1_000, outcome.times
    lengths = [(name, int(times[phase] * 1e9)) for name, phase in PHASES.items()]
    at = end - sum(length for _, length in lengths)
    root = tracer.start_span("url", start_time=at, attributes=_attributes(outcome))
    if outcome.error is not None:
        root.set_status(Status(StatusCode.ERROR, outcome.error))
    inside = set_span_in_context(root)
    for name, length in lengths:
        # Names and connections that were there before took no time, which is shown; without TLS there is none.
        if length > 0 or name != "tls":
            tracer.start_span(name, inside, start_time=at).end(at + length)
        at += length
    for name, (began, ended) in (("parse", parse), ("store", store)):
        tracer.start_span(name, inside, start_time=began).end(ended)
    root.end(max(store[1], end))


def _attributes(outcome: Outcome) -> dict[str, Any]:
    """Return what is told of a URL (semantic conventions of OpenTelemetry where there are some)."""
    attributes: dict[str, Any] = {
        "url.full": outcome.url,
        "http.request.resend_count": outcome.attempt,
        "lycosa.depth": outcome.depth,
    }
    if outcome.status is not None:
        attributes["http.response.status_code"] = outcome.status
    if outcome.address is not None:
        attributes["network.peer.address"] = outcome.address
    if outcome.error is not None:
        attributes["error.type"] = outcome.error
    return attributes


class TracedLog:
    """A log that sends the ways of URLs once their outcomes are recorded. Of one lane."""

    def __init__(self, log: Log, turns: Turns, traces: Traces) -> None:
        """turns: of the lane."""
        self._log, self._turns, self._traces = log, turns, traces

    def __getattr__(self, name: str) -> Any:
        """Return a method of the log."""
        return getattr(self._log, name)

    def append(self, outcomes: Outcomes) -> None:
        """Record outcomes."""
        began = time.time_ns()
        self._log.append(outcomes)
        ended, since = time.time_ns(), self._turns.last.get("parse", (0.0, 0.0))
        # The turns have the machine's time without an epoch.
        offset = time.time() - time.monotonic()
        parse = (int((since[0] + offset) * 1e9), int((since[1] + offset) * 1e9))
        self._traces.trace(outcomes, parse, (began, ended))
