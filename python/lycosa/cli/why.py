"""``lycosa why``: the history of one URL, from the log."""

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

#: Maximum number of linking pages that are shown; the first accepted link is always among them.
LINKS = 3

#: Descriptions of the rules that refuse a link or redirect.
RULES = {
    "nofollow": "refused: the link or its page is nofollow",
    "depth": "refused: deeper than max_depth",
    "scope": "refused: out of scope",
    "port": "refused: its port is blocked, unless allow_ports names it",
}


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "why",
        help="the history of one URL, from the log",
        description="Shows when and where a URL was found, by which rule it was accepted or refused, its robots.txt, "
        "each try with its lease, and what it waits for now. Three of the pages that link to it are shown (with "
        "--json the first ten), and how many more there are. The exit status is 1 for an unknown URL.",
    )
    parser.add_argument("url", metavar="URL", help="an absolute URL, in any form")
    parser.add_argument("dir", metavar="DIR", help="the job directory")
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the history; returns 1 for a URL that is not in the log."""
    from lycosa import _core

    directory = existing(args.dir)
    job = settings_of(directory)
    # Checked before reading the log.
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
            print(f"{args.url} in a link is normalised to {link}: the job drops or sorts parameters")
        print("\n".join(lines(story)))
    return 0 if _is_known(story) else 1


def _read(url: str, job: Job, directory: JobDirectory) -> dict[str, Any]:
    """Read a URL's history from the log."""
    from lycosa import _core

    return watched(
        "reading the log",
        lambda: _core.story(directory.log, url, job.scope, job.max_depth, job.user_agent, job.allow_ports),
        lambda: f"{sum(path.stat().st_size for path in directory.segments()) / 1e6:,.0f} MB",
    )


def _is_known(story: dict[str, Any]) -> bool:
    """Return whether the URL is in the log."""
    return any(story[key] for key in ("seeds", "found", "redirected", "outcomes"))


def lines(story: dict[str, Any]) -> list[str]:
    """Return the events in the log's order, one per line, and the current state."""
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
        told.append(f"  {counted(story['skipped'], 'byte')} of the log: damaged and skipped")
    return [*told, f"now: {story['now']}"]


def _shown(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the links to show: the first ones, and the one by which the URL was admitted."""
    first = found[:LINKS]
    admitting = next((link for link in found if not link["refused"]), None)
    return first if admitting is None or admitting in first else [*first[:-1], admitting]


def now(story: dict[str, Any], job: Job, directory: JobDirectory) -> str:
    """Return the URL's current state: settled, refused, or what it waits for."""
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
        return f"the log does not know this URL{kept}: no seed, link or redirect led to it"
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
    return f"{what}; lycosa crawl --dir {directory.path} resumes the crawl"


def _found(found: dict[str, Any], how: str) -> str:
    """Describe a link or redirect to the URL."""
    nofollow = ", nofollow" if found["nofollow"] else ""
    rule = RULES[found["refused"]] if found["refused"] else "accepted unless already known"
    return f"{how} {found['page']} ({found['status']}), depth {found['depth']}{nofollow}: {rule}"


def _robots(answer: dict[str, Any]) -> str:
    """Describe a response for robots.txt."""
    verdict = f": {answer['verdict']}" if answer["verdict"] else ""
    return f"robots.txt: {answer['url']}: {answer['status'] or answer['error']}{verdict}"


def _outcome(outcome: dict[str, Any]) -> str:
    """Describe a try, or an outcome without a request."""
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
    # The phase that a time-out interrupts has no time, so that a failed try has no total.
    total = f"{seconds:.3f} s (" if outcome["status"] is not None else "(before that: "
    address = f" from {outcome['address']}" if outcome["address"] else ""
    again = "; goes back to waiting" if outcome["retry"] else ""
    return (
        f"try {outcome['attempt'] + 1}, lease {outcome['lease']}{address}: {what}"
        f"{f', {total}{phases})' if phases else ''}{again}"
    )


def _is_opened(outcome: dict[str, Any]) -> bool:
    """Return whether it is not an outcome but the record that a settled URL waits again."""
    return bool(outcome["retry"]) and outcome["lease"] == 0


def _opened(told: dict[str, Any], before: dict[str, Any] | None, seeds: list[dict[str, Any]]) -> str:
    """Describe why a URL was opened again (seed given again, failure, captive portal), and how it had ended."""
    since = before["position"] if before is not None else -1
    if any(since < seed["position"] < told["position"] for seed in seeds):
        who = ", as a seed"
    elif told["status"] is None:
        who = " by --retry-failed"
    else:
        who = ", because a captive portal may have answered for it"
    ended = told["error"] if told["status"] is None else f"status {told['status'] or 'unknown'}"
    return f"opened again{who}: it had ended with {ended}"


def _time(seconds: float) -> str:
    """Format a time in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
