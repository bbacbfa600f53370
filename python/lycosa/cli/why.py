"""``lycosa why``: one URL's whole story, from the log."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lycosa.cli.job import existing, settings_of
from lycosa.cli.told import watched
from lycosa.kinds import FORBIDDEN
from lycosa.words import counted

if TYPE_CHECKING:
    from lycosa.job import Job
    from lycosa.store.directory import JobDirectory

#: Pages that link to the URL, shown at most; and the first whose link was let in, where it is not among them.
LINKS = 3

#: What the rules that refuse a sighting are, in words.
RULES = {
    "nofollow": "refused: the link or its page is nofollow",
    "depth": "refused: deeper than max_depth",
    "scope": "refused: out of scope",
}


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "why",
        help="one URL's whole story, from the log",
        description="Tells when and where a URL was found, by which rule it was accepted or refused, its robots.txt, "
        "each try with its lease, and what it waits for now. Of the pages that link to it three are shown (with "
        "--json the first ten), and how many more there are. The exit status is 1 for a URL that is unknown.",
    )
    parser.add_argument("url", metavar="URL", help="an absolute URL, in any form")
    parser.add_argument("dir", metavar="DIR", help="the job directory")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Tell; the exit status is 1 for a URL that the log does not know."""
    from lycosa import _core

    directory = existing(args.dir)
    job = settings_of(directory)
    # Checked before the log is read.
    url, link = _core.canonical_url(args.url), _core.canonical_link(args.url, job)
    story = _read(url, job, directory)
    story["asked"] = args.url
    if not _is_known(story) and link != url and _is_known(other := _read(link, job, directory)):
        story = {**other, "asked": args.url}
    story["now"] = now(story, job, directory)
    if args.json:
        print(json.dumps(story, indent=2, ensure_ascii=False))
    else:
        if story["url"] == link != url:
            print(f"{args.url} is taken for {link} where a page links to it: the job drops or sorts parameters")
        print("\n".join(lines(story)))
    return 0 if _is_known(story) else 1


def _read(url: str, job: Job, directory: JobDirectory) -> dict[str, Any]:
    """What the log says of a URL."""
    from lycosa import _core

    return watched(
        "reading the log",
        lambda: _core.story(directory.log, url, job.scope, job.max_depth, job.user_agent, job.allow_ports),
        lambda: f"{sum(path.stat().st_size for path in directory.segments()) / 1e6:,.0f} MB",
    )


def _is_known(story: dict[str, Any]) -> bool:
    """Whether the log says anything of it."""
    return any(story[key] for key in ("seeds", "found", "redirected", "outcomes"))


def lines(story: dict[str, Any]) -> list[str]:
    """The story in the log's order, one event a line, and how things stand."""
    events = [(seed, "given again as a seed" if n else "accepted as a seed") for n, seed in enumerate(story["seeds"])]
    shown = _shown(story["found"])
    events += [(found, _found(found, "linked from")) for found in shown]
    events += [(found, _found(found, "redirected to from")) for found in story["redirected"]]
    events += [(answer, _robots(answer)) for answer in story["robots"]]
    before = [None, *story["outcomes"]]
    events += [
        (told, _opened(told, earlier, story["seeds"]) if _is_opened(told) else _outcome(told))
        for told, earlier in zip(story["outcomes"], before, strict=False)
    ]
    events += [(leased, f"lease {leased['lease']}: no outcome is recorded") for leased in story["unanswered"]]
    events.sort(key=lambda event: event[0]["position"])
    told = [story["url"], *(f"  {_time(event['at'])}  {text}" for event, text in events)]
    if more := len(story["found"]) - len(shown) + story["found_more"]:
        told.append(f"  and {more:,} more {'page links' if more == 1 else 'pages link'} to it")
    if story["skipped"]:
        told.append(f"  {counted(story['skipped'], 'byte')} of the log: damaged, and could tell nothing")
    return [*told, f"now: {story['now']}"]


def _shown(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The links that are shown: the first ones, and the one that let the URL in."""
    first = found[:LINKS]
    admitting = next((link for link in found if not link["refused"]), None)
    return first if admitting is None or admitting in first else [*first[:-1], admitting]


def now(story: dict[str, Any], job: Job, directory: JobDirectory) -> str:
    """How things stand with the URL: settled, refused, or what it waits for."""
    last = story["outcomes"][-1] if story["outcomes"] else None
    if last is not None and not last["retry"]:
        if last["status"] is None:
            if last["error"] in FORBIDDEN:
                return f"refused: {last['error']}"
            again = f"lycosa crawl --dir {directory.path} --retry-failed={last['error']} fetches it again"
            return f"failed: {last['error']}; {again}"
        return f"done: redirected to {last['redirect']}" if last["redirect"] else f"done: status {last['status']}"
    sightings = [*story["found"], *story["redirected"]]
    if not story["seeds"] and all(sighting["refused"] for sighting in sightings):
        if sightings:
            rules = sorted({sighting["refused"] for sighting in sightings})
            return "not admitted: " + "; ".join(RULES[rule] for rule in rules)
        older = directory.segments()[:1]
        kept = (
            "" if not older or int(older[0].stem) == 0 else f" since position {int(older[0].stem)}, where it begins"
        )
        return f"the log does not know this URL{kept}: no seed, link or redirect was this"
    if last is not None and _is_opened(last):
        what = "was opened again and waits for its turn"
    elif last is not None:
        what = "was cancelled and waits for its turn" if last["error"] == "cancelled" else "waits for its next try"
    elif job.politeness.robots and not story["robots"]:
        what = "waits for its host's robots.txt"
    else:
        what = "waits for its turn at its host"
    writer, record = directory.writer(), directory.read()
    if writer is not None:
        return f"{what}; process {writer or 'unknown'} is crawling"
    if record is not None and record.last_run is not None and record.last_run.idle and job.max_pages is not None:
        return f"{what}; the crawl ended at max_pages = {job.max_pages}"
    return f"{what}; lycosa crawl --dir {directory.path} goes on"


def _found(found: dict[str, Any], how: str) -> str:
    """A sighting."""
    nofollow = ", nofollow" if found["nofollow"] else ""
    rule = RULES[found["refused"]] if found["refused"] else "accepted unless already known"
    return f"{how} {found['page']} ({found['status']}), depth {found['depth']}{nofollow}: {rule}"


def _robots(answer: dict[str, Any]) -> str:
    """An answer for robots.txt."""
    verdict = f": {answer['verdict']}" if answer["verdict"] else ""
    return f"robots.txt: {answer['url']}: {answer['status'] or answer['error']}{verdict}"


def _outcome(outcome: dict[str, Any]) -> str:
    """A try, or what was settled without one."""
    if outcome["status"] is not None:
        what = f"status {outcome['status']}"
        what += (
            f", redirects to {outcome['redirect']}"
            if outcome["redirect"]
            else f", {counted(outcome['links'], 'link')}"
        )
    else:
        what = outcome["error"] + (f" ({outcome['error_detail']})" if outcome["error_detail"] else "")
    if outcome["lease"] == 0:
        return f"settled without a request: {what}"
    seconds = sum(outcome["times"].values())
    phases = ", ".join(
        f"{name.replace('_', ' ')} {took * 1e3:.1f} ms" for name, took in outcome["times"].items() if took
    )
    # What a time-out interrupts has no time of its own, so that there is no sum of a try that failed.
    total = f"{seconds:.3f} s (" if outcome["status"] is not None else "(before that: "
    address = f" from {outcome['address']}" if outcome["address"] else ""
    again = "; goes back to waiting" if outcome["retry"] else ""
    return (
        f"try {outcome['attempt'] + 1}, lease {outcome['lease']}{address}: {what}"
        f"{f', {total}{phases})' if phases else ''}{again}"
    )


def _is_opened(outcome: dict[str, Any]) -> bool:
    """Whether it is no outcome but the record that the URL, which was settled, waits again."""
    return bool(outcome["retry"]) and outcome["lease"] == 0


def _opened(told: dict[str, Any], before: dict[str, Any] | None, seeds: list[dict[str, Any]]) -> str:
    """Why a URL was opened again (a seed given since then, a failure, a portal), and how it had ended."""
    since = before["position"] if before is not None else -1
    if any(since < seed["position"] < told["position"] for seed in seeds):
        who = ", as a seed"
    elif told["status"] is None:
        who = " by --retry-failed"
    else:
        who = ", since a captive portal may have answered for it"
    ended = told["error"] if told["status"] is None else f"status {told['status'] or 'unknown'}"
    return f"opened again{who}: it had ended with {ended}"


def _time(seconds: float) -> str:
    """A time in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
