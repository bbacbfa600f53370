"""Workers with one stage alone: they parse responses of other workers, or write outputs."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka import KafkaException

from lycosa import _core
from lycosa.cluster.broker import LARGEST
from lycosa.cluster.loading import UNREADABLE
from lycosa.cluster.metrics import HANGS, Figures, output_lines, process, serve_metrics
from lycosa.cluster.output import OutputWriter
from lycosa.cluster.prepare import begin_outputs, claim_state, directories_of, prepare
from lycosa.cluster.reading import Connection
from lycosa.cluster.relay_topics import ResponseReader
from lycosa.cluster.topics import Topics
from lycosa.errors import LycosaError
from lycosa.job import Job
from lycosa.loop import Control
from lycosa.memory import divided, shares
from lycosa.records import Responses
from lycosa.stages import Parse
from lycosa.status_server import metric_head, metric_line

logger = logging.getLogger("lycosa")

#: Seconds after which a parser that brokers have failed reads again; and between two looks at outputs.
AGAIN, LOOK = 1.0, 0.2


class ParserFigures:
    """What a parser tells."""

    def __init__(self) -> None:
        """Nothing was parsed yet."""
        self.responses = self.refused = 0
        self.seen, self.is_member = time.monotonic(), False

    def lines(self) -> Iterator[str]:
        """Yield the lines of a scrape."""
        for name, says, total in (
            (
                "responses_total",
                "Responses that were parsed, copies that were sent to try it among them.",
                self.responses,
            ),
            ("refused_total", "Messages that could not be parsed here: their senders parse them.", self.refused),
        ):
            yield from metric_head(f"lycosa_parser_{name}", "counter", says)
            yield metric_line(f"lycosa_parser_{name}", "", total)
        yield from process()

    def trouble(self) -> str | None:
        """Return what is wrong."""
        silent = time.monotonic() - self.seen
        return f"nothing was read for {silent:.0f} s" if silent > HANGS else None

    def unready(self) -> str | None:
        """Return why nothing can be parsed yet."""
        return None if self.is_member else "no partition is read yet"


class OutputFigures:
    """What a worker tells that writes outputs alone."""

    def __init__(self, writers: Sequence[OutputWriter]) -> None:
        """writers: of the outputs."""
        self._writers = writers

    def lines(self) -> Iterator[str]:
        """Yield the lines of a scrape."""
        yield from output_lines(self._writers)
        yield from process()

    def trouble(self) -> None:
        """Return nothing: what ends a writer ends the worker."""

    def unready(self) -> None:
        """Return nothing: a writer without partitions is one that waits."""


def parse_responses(job: Job, name: str, settings: Connection, control: Control, http: str | None = None) -> None:
    """Parse responses of a job's workers until ``control`` stops it. See ``worker.work``."""
    topics, memory = Topics(name), shares(job)
    prepare(job, topics, settings, with_stages=True)
    parse = _core.Parser(divided(job, memory), memory.batch, memory.decoding)
    figures = ParserFigures()
    with contextlib.ExitStack() as stack:
        _serve(stack, figures, http)
        while not control.stopping:
            try:
                with contextlib.closing(ResponseReader(settings, topics, job.cluster.session_timeout)) as reader:
                    _parse_until(control, reader, parse, figures)
            except KafkaException as error:
                logger.warning("responses are read again: %s", error.args[0].str())
                time.sleep(AGAIN)


def write_outputs(
    job: Job,
    name: str,
    settings: Connection,
    state: Path,
    control: Control,
    outputs: Sequence[str],
    http: str | None = None,
) -> None:
    """Write outputs of a job until ``control`` stops it. See ``worker.work``."""
    topics, directories = Topics(name), directories_of(outputs, job)
    claim_state(topics, settings, state, prepare(job, topics, settings))
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-work-")))
        writers = begin_outputs(
            stack, job, topics, settings, directories, state / "bodies", uuid.uuid4().hex[:8], scratch
        )
        _serve(stack, OutputFigures(writers), http)
        while not control.stopping:
            for writer in writers:
                writer.check()
            time.sleep(LOOK)


def parsed(parse: Parse, data: bytes) -> tuple[int, bytes]:
    """Return how many responses a message has, and the message of their outcomes; empty: it would be too large.

    Raises ValueError or JobVersionError for a message that is damaged or newer, or what the parser raises.
    """
    batch = Responses.decode(data)
    count = left = len(batch)
    encoded = []
    while left > 0:
        outcomes = parse.parse(batch)
        left -= len(outcomes)
        encoded.append(outcomes.encode())
        # Those that had no memory come next, once that of these is free.
        del outcomes
        batch = Responses()
    message = b"".join(encoded)  # batches that follow each other are one
    return count, message if len(message) <= LARGEST else b""


def _parse_until(control: Control, reader: ResponseReader, parse: Parse, figures: ParserFigures) -> None:
    """Parse until the end. Raises NoBroker or KafkaException."""
    while not control.stopping:
        figures.seen, figures.is_member = time.monotonic(), reader.is_member()
        if (job := reader.read()) is None:
            continue
        try:
            count, message = parsed(parse, job.responses)
            figures.responses += count
        except (*UNREADABLE, LycosaError) as error:
            logger.warning("responses of worker %s are left to it: %s", job.worker, error)
            message = b""
            while len(parse.parse(Responses())) > 0:
                pass  # what it had begun: the next outcomes are those of the next message
        figures.refused += not message
        reader.answer(job, message)


def _serve(stack: contextlib.ExitStack, figures: Figures, http: str | None) -> None:
    """Serve metrics, if an address is given."""
    if http is not None:
        logger.info("metrics on http://%s", stack.enter_context(serve_metrics(figures, http)).address)
