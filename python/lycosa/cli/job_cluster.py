"""``lycosa job submit`` and ``status``: a job that many workers share."""

from __future__ import annotations

import argparse
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


def run_status(args: argparse.Namespace) -> int:
    """Show how a job stands; returns the exit status."""
    settings = kafka_of(args)
    from lycosa.cluster.control import status
    from lycosa.cluster.topics import Topics

    statuses, is_over = status(Topics(args.name), settings)
    total: Counter[str] = Counter()
    for one in statuses.values():
        total.update(one.counts)
    idle = sum(one.is_idle for one in statuses.values())
    if args.json:
        print(json.dumps({"over": is_over, "partitions": len(statuses), "idle": idle, "counts": dict(total)}))
        return 0
    print(f"job {args.name}: {'over' if is_over else 'not over'}; {idle} of {len(statuses)} partitions are idle")
    for name in ("known", "waiting", "leased", "done", "failed", "refused", "pages", "hosts"):
        if name in total:
            print(f"  {name:8} {total[name]:>12,}")
    return 0
