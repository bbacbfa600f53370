"""``lycosa job submit``, ``status``, ``pause`` and ``resume``: a job that many workers share."""

from __future__ import annotations

import argparse
import functools
import json
from collections import Counter
from typing import Any

from lycosa.cli.job_arguments import add_job_arguments, given_settings
from lycosa.cli.work import add_kafka, kafka_of


def add_actions(actions: Any) -> None:
    """Register the actions."""
    submit = actions.add_parser(
        "submit",
        help="give the seeds of a job file to the workers of a cluster",
        description="Gives seeds to the partitions of a job in Kafka, whose topics are made if they are missing. "
        "Workers (`lycosa work`) may run already, or begin later. Submitting again adds what is new.",
    )
    submit.add_argument("seeds", metavar="URL", nargs="*", help="seeds, instead of those of the job file")
    add_job_arguments(submit, "settings (TOML), as of a crawl", is_required=True)
    submit.add_argument("--name", metavar="NAME", required=True, help="name of the job: its topics are lycosa.NAME.*")
    add_kafka(submit)
    submit.set_defaults(run=run_submit)

    status = actions.add_parser(
        "status",
        help="show how a job in a cluster stands",
        description="Shows what the workers of a job in Kafka have told last, and whether the job is over.",
    )
    status.add_argument("--name", metavar="NAME", required=True, help="name of the job")
    status.add_argument("--json", action="store_true", help="as one JSON object")
    add_kafka(status)
    status.set_defaults(run=run_status)

    for action, is_paused in (("pause", True), ("resume", False)):
        parser = actions.add_parser(
            action,
            help="start no further requests of a job in a cluster" if is_paused else "let a paused job go on",
            description="Workers finish what is in flight, keep their partitions and outputs, and start no further "
            "requests until `lycosa job resume`."
            if is_paused
            else "Workers start requests again, a second later.",
        )
        parser.add_argument("--name", metavar="NAME", required=True, help="name of the job")
        add_kafka(parser)
        parser.set_defaults(run=functools.partial(run_pause, is_paused))


def run_submit(args: argparse.Namespace) -> int:
    """Submit seeds; returns the exit status."""
    from lycosa.job import make_job

    given = given_settings(args)
    if args.seeds:
        given["seeds"] = args.seeds
    job = make_job(given)
    job.check_contact()
    settings = kafka_of(args)
    from lycosa.cluster.submit import submit

    count = submit(job, args.name, settings)
    print(f"{count} seeds were given to job {args.name}")
    return 0


def run_pause(is_paused: bool, args: argparse.Namespace) -> int:
    """Pause a job, or let it go on; returns the exit status."""
    settings = kafka_of(args)
    from lycosa.cluster.pausing import set_paused
    from lycosa.cluster.topics import Topics

    set_paused(Topics(args.name), settings, is_paused)
    print(f"job {args.name} {'is paused; go on with lycosa job resume' if is_paused else 'goes on'}")
    return 0


def run_status(args: argparse.Namespace) -> int:
    """Show how a job stands; returns the exit status."""
    settings = kafka_of(args)
    from lycosa.cluster.control import behind, require_job, status
    from lycosa.cluster.dead_letters import dead_letters
    from lycosa.cluster.pausing import Pausing
    from lycosa.cluster.topics import Topics

    topics = Topics(args.name)
    require_job(topics, settings)
    statuses, is_over = status(topics, settings)
    outputs = behind(topics, settings, statuses)
    dead = dead_letters(topics, settings)
    with Pausing(topics, settings) as pausing:
        is_paused = pausing.is_paused
    total: Counter[str] = Counter()
    for one in statuses.values():
        total.update(one.counts)
    idle = sum(one.is_idle for one in statuses.values())
    if args.json:
        told = {"over": is_over, "paused": is_paused, "partitions": len(statuses), "idle": idle}
        print(json.dumps({**told, "counts": dict(total), "outputs": outputs, "dead_letters": dead.counts}))
        return 0
    stands = "over" if is_over else "paused" if is_paused else "not over"
    print(f"job {args.name}: {stands}; {idle} of {len(statuses)} partitions are idle")
    for name in ("known", "waiting", "leased", "done", "failed", "refused", "pages", "hosts"):
        if name in total:
            print(f"  {name:8} {total[name]:>12,}")
    for name, left in sorted(outputs.items()):
        print(f"output {name}: {f'{left:,} records of pages are not written yet' if left else 'complete'}")
    for topic, count in sorted(dead.counts.items()):
        print(f"dead letters of {topic}: {count:,}, in topic {topics.dead_letters}")
    if dead.counts:
        print(f"  the last: {dead.last_reason}")
    return 0
