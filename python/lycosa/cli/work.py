"""``lycosa work``: a worker of a job that many machines share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lycosa.cli.interrupts import interrupted
from lycosa.cli.job_arguments import add_job_arguments, given_settings

DESCRIPTION = (
    "Works on a job beside any number of other workers: each owns some partitions of the frontier, whose log is in "
    "Kafka. Start as many as there are cores, on as many machines as you like, with the same job file, name and "
    "state directory; partitions move when workers come, end or fail. The settings of the connection to Kafka, such "
    "as TLS and SASL, are librdkafka's."
)

#: Stages that belong together: a request is sent within the rights of its frontier's owner.
LANE = {"frontier", "fetch"}


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "work", help="work on a job beside other workers, through Kafka", description=DESCRIPTION
    )
    add = parser.add_argument
    add_job_arguments(parser, "settings (TOML), as of a crawl; the same for all workers", is_required=True)
    add("--name", metavar="NAME", required=True, help="name of the job: its topics are lycosa.NAME.*")
    add_kafka(parser)
    text = "directory of snapshots, which all workers share (a parser alone needs none)"
    add("--state", metavar="DIR", type=Path, help=text)
    text = (
        "directory of the job's rows, which all workers share, with / at its end: NAME.jsonl/ has files of JSON "
        "lines, any other one of Parquet; may be repeated; the same for all workers"
    )
    add("-o", "--output", metavar="OUTPUT", action="append", default=[], help=text)
    text = (
        "what this worker does, with commas: frontier and fetch, which belong together; parse: responses, also those "
        "of workers without this stage; store: outputs (default: all, and store if there is an output)"
    )
    add("--stages", metavar="LIST", help=text)
    text = "address of /metrics, /healthz and /readyz (default: none)"
    add("--http", metavar="ADDR:PORT", help=text)
    add("-q", "--quiet", action="store_true", help="print only warnings and errors")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Work until a signal ends it; returns the exit status."""
    from lycosa.cli.told import told
    from lycosa.errors import SettingError
    from lycosa.job import make_job
    from lycosa.loop import Control

    stages = stages_of(args.stages, args.output)
    job = make_job(given_settings(args))
    job.check_contact()
    settings = kafka_of(args)
    if stages != {"parse"}:
        allowed = "a directory that exists, the same for all workers"
        if args.state is None:
            raise SettingError("--state", None, allowed, f"--state is missing: {allowed}")
        if not args.state.is_dir():
            raise SettingError("--state", args.state, allowed)
    control = Control()

    def stop(number: int, frame: object) -> None:
        """Finish what is in flight and give all partitions back; the second time, cancel what is in flight."""
        control.abort() if control.stopping else control.stop()

    with told(quiet=args.quiet), interrupted(stop):
        if "frontier" in stages:
            from lycosa.cluster.worker import work

            parses = "parse" in stages
            outputs, state = args.output, args.state
            for _ in work(job, args.name, settings, state, control, outputs, args.http, parses=parses):
                pass
        else:
            from lycosa.cluster.stage_workers import parse_responses, write_outputs

            if stages == {"parse"}:
                parse_responses(job, args.name, settings, control, args.http)
            else:
                write_outputs(job, args.name, settings, args.state, control, args.output, args.http)
    return 0


def stages_of(given: str | None, outputs: Sequence[str]) -> set[str]:
    """Return the stages of a worker. Raises SettingError for those that it cannot have."""
    from lycosa.errors import SettingError

    if given is None:
        return {*LANE, "parse", *(["store"] if outputs else [])}
    stages = {stage.strip() for stage in given.split(",")}
    if stages not in ({"parse"}, {"store"}) and (stages - {"parse", "store"} != LANE):
        raise SettingError("--stages", given, "frontier,fetch, also with parse and store; or parse; or store")
    if outputs and "store" not in stages:
        raise SettingError("--output", outputs[0], "none without the stage store")
    if "store" in stages and not outputs:
        raise SettingError("--stages", given, "store with at least one --output")
    return stages


def add_kafka(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """Add the options of the connection to Kafka."""
    add = parser.add_argument
    add("--kafka", metavar="BROKERS", required=is_required, help="brokers, such as kafka1:9092,kafka2:9092")
    text = "file of settings of the connection, a line KEY=VALUE for each: for passwords, which others must not see"
    add("--kafka-config", metavar="FILE", type=Path, help=text)
    text = "a setting of the connection, by librdkafka's name, such as security.protocol=SSL; may be repeated"
    add("--kafka-set", action="append", default=[], metavar="KEY=VALUE", help=text)


def kafka_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return librdkafka's settings; raises SettingError without its library, or if one is malformed."""
    from lycosa.errors import SettingError

    try:
        import confluent_kafka  # noqa: F401  # whether it is there
    except ImportError:
        allowed = "brokers, once the extra lycosa[kafka] is installed: pip install 'lycosa[kafka]'"
        raise SettingError("--kafka", args.kafka, allowed) from None
    # librdkafka logs by itself what it tries again; what fails is told by who needed it.
    settings: dict[str, Any] = {"bootstrap.servers": args.kafka, "log_level": "1"}
    if args.kafka_config is not None:
        settings |= _read_properties(args.kafka_config)
    for text in args.kafka_set:
        if (pair := _pair(text)) is None:
            raise SettingError("--kafka-set", text, "KEY=VALUE")
        settings |= pair
    return settings


def _pair(text: str) -> dict[str, str] | None:
    """One setting of a text KEY=VALUE; `None`: it is none."""
    key, equals, value = text.partition("=")
    return {key.strip(): value.strip()} if equals else None


def _read_properties(file: Path) -> dict[str, str]:
    """Return the settings of a file; raises SettingError, which shows no values."""
    from lycosa.errors import SettingError

    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("--kafka-config", file, f"a file that can be read ({error})") from None
    settings: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            if (pair := _pair(line)) is None:
                raise SettingError("--kafka-config", f"{file}, line {number}", "KEY=VALUE, or a comment after #")
            settings |= pair
    return settings
