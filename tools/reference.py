"""``python -m tools.reference`` writes what is made of the code; a test holds it equal.

docs/settings.md, docs/outputs.md, docs/errors.md, and the types of ``lycosa.crawl``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pyarrow
from lycosa import _core
from lycosa.kinds import FORBIDDEN, choices, groups
from lycosa.records import Outcomes
from lycosa.reference import Setting, rooms, settings, toml

ROOT = Path(__file__).parent.parent

#: What to do about a group of failures.
ADVICE = {
    "names": "Check the resolvers (`names.resolvers`) where many fail; `name-not-found` and `name-bad` are the site's own.",
    "connections": "The site, or the way to it, is down or slow: `--retry-failed=connections` later; `fetch.*_timeout`.",
    "tls": "The site's certificate or TLS is broken; roots of your own: `fetch.ca_file`.",
    "responses": "What the site sends is no usable response; limits: `fetch.max_*`, `parse.max_*`, `politeness.max_redirects`.",
    "rules": "The job forbids it: `allow_addresses`, `politeness.block_list`, `politeness.domain_pages`.",
    "robots": "The site forbids it. Nothing is to be done about `robots-disallowed`; the other may pass.",
    "ended": "Such URLs wait and are fetched when the crawl goes on.",
}

#: What a report has, beside what stands in the tables of outputs.
REPORT = {
    "pages": "responses that are no redirects",
    "redirects": "redirects",
    "reopened": "URLs that were opened again, since somebody asked for it or a captive portal had answered for them",
    "retries": "outcomes that led to a further try",
    "robots": "answers for robots.txt",
    "bytes": "bytes of bodies as received",
    "links": "links in pages",
    "statuses": "responses by status code",
    "failures": "URLs that ended without a response, by kind: docs/errors.md",
    "bounds": "pages of which something was left out (links, title-bytes, …), by bound: `count`, and the `first` URLs",
    "mean_seconds": "means over all responses, by phase: name, connect, tls, first_byte, body",
    "sessions": "how often the crawl was begun or gone on with",
    "seconds": "how long all sessions took",
    "cpu_seconds": "what they cost",
    "names": "what the client of DNS counts: questions sent, answers, names by class, …",
    "session": "the same counts, seconds and names for this session alone",
    "end": "why it ended: `reason`, `text`; `status`, the exit status (null where a signal decides), and `status_text`, what "
    "it means for this crawl; `resume`, the command that goes on; null while it runs",
    "in_flight": "requests under way",
    "frontier": "URLs by state: `waiting`, `leased` (under way), `done`, `failed`, `refused`; `hosts`; `unresolved`: names "
    "being resolved; `known`: URLs that were admitted or spoken for by a canonical link; links that were left out: "
    "`links_known`, `links_out_of_scope`, `links_too_deep`, `links_nofollow`, `links_port_blocked`, `links_hosts_full`",
    "suspensions": "why nothing is counted against sites now, where the trouble is ours: `cause`, `since`, `probe_at`, …",
    "failing": "hosts that fail and are tried again, at most ten: `host`, `kind`, `waiting` URLs, `until` when at least",
    "log": "the log's directory",
    "log_bytes": "the log's end, in bytes",
    "outputs": "the outputs",
    "full_disks": "places that wait for room",
}

#: What runs as it is pasted; a test does so with another seed.
SNIPPET = """\
```python
import lycosa
import pyarrow
import pyarrow.parquet

crawl = lycosa.crawl(
    "https://example.com/",
    user_agent="mybot/1.0 (me@example.org)",
    output="pages.parquet",
    store={"fields": ["url", "status", "title", "text"]},
)
for page in crawl:
    print(page.url, page.status, len(page.text or ""))  # page.text is None for what is no text; page.body: the bytes

# From a file; polars.read_parquet and pandas.read_parquet as well (pip install polars, pip install pandas).
pages = pyarrow.parquet.read_table("pages.parquet", columns=["url", "title", "text"])

# Without a file: all columns of this session's pages, text among them; .to_polars() and .to_pandas() as well.
pages = lycosa.crawl("https://example.com/", user_agent="mybot/1.0 (me@example.org)").arrow()

# Batch by batch, for many pages a second; polars.DataFrame(batch) as well.
crawl = lycosa.crawl("https://example.com/", user_agent="mybot/1.0 (me@example.org)")
for batch in crawl.batches():
    table = pyarrow.table(batch)
```
"""

#: How a later output comes to its records.
ADDED_OUTPUT = """\
    lycosa crawl --dir DIR -o DIR/pages.parquet -o later.jsonl

Outputs that are given take the place of the recorded ones (`lycosa job show DIR` lists these): give all of them again, and the
new one. One that is left out stays as it is and is no longer written; given again later, it goes on where it was. The new output is
written from the log, no URL is fetched again for it; what still waits is fetched as whenever a crawl goes on. `store.fields` is of
all outputs: where it changes, those that are there are written again from the log, or refused where the log has lost records.

How far back it reaches is decided by `store.retain`: with `needed` (the default) a file of the log (`store.segment_bytes`, 256 MiB)
goes as soon as all outputs and two snapshots have passed it, so that a log below some 500 MiB is whole; with `all` nothing goes. Say
`--set store.retain=all` when the crawl begins if outputs may be added later; what is gone does not come back. Where records are
missing, the crawl says so once,

    lycosa: later.jsonl: lacks the records from position 0 to 536870912: the log has them no longer. …

and `lycosa job show DIR` says `lacks the records from position 0 to 536870912` in place of `complete` (`outputs[].gaps` with `--json`).
"""

#: Why a crawl ended, and the exit statuses that it may have.
REASONS = {
    "finished": (
        "nothing is left to fetch: every URL has an answer, or has failed for good, such as by NXDOMAIN",
        "0, 3, 4",
    ),
    "patience": ("the same, but URLs failed for reasons that may pass: `--retry-failed`", "3, 4"),
    "limit": ("`max_pages` is reached and URLs wait: `--max-pages none`, or a larger number", "0, 3"),
    "stopped": ("somebody stopped it and URLs wait", "130, 141, 143"),
    "suspended": (
        "the crawl's own network or DNS failed for longer than `frontier.longest_suspension`; URLs wait",
        "5",
    ),
    "storage-full": ("no space was left on the disk when it was stopped", "1"),
    "error": ("something else went wrong; the text says what", "1"),
}


def written() -> dict[Path, str]:
    """All files that are made of the code, with their content."""
    return {
        ROOT / "docs/settings.md": settings_page(),
        ROOT / "docs/outputs.md": outputs_page(),
        ROOT / "docs/errors.md": errors_page(),
        ROOT / "python/lycosa/settings.py": settings_types(),
    }


def settings_page() -> str:
    """All keys of a job."""
    lines = [
        "# Settings of a crawl",
        "",
        "Made by `python -m tools.reference` from `python/lycosa/job.py`; `lycosa job template` prints the same as a job file.",
        "",
        "A key stands in a job file (TOML; `lycosa crawl --job FILE`), on the command line (`--set politeness.host_interval=2`; a list: `--set 'allow_addresses=[\"127.0.0.0/8\"]'`),",
        'or in a call (`lycosa.crawl(…, politeness={"host_interval": 2})`). A crawl that is gone on with keeps its settings; what is',
        'given takes their place, but for keys marked *fixed*. `"none"` is no limit, or nothing: `--set max_pages=none`. Relative',
        "paths are taken from the job file's folder, on the command line from the working directory. Seconds are of the job's own",
        "time: `speed` divides them.",
    ]
    about = dict(rooms())
    room = None
    for setting in settings():
        if setting.room != room:
            room = setting.room
            title = f"`[{room}]`: {about[room]}" if room else "The job itself"
            lines += ["", f"## {title}", "", "| key | default | value | |", "|---|---|---|---|"]
        value = ", ".join(filter(None, (setting.kind, setting.unit, setting.bounds)))
        fixed = " *Fixed.*" if setting.fixed else ""
        default = "all but `text`" if setting.key == "store.fields" else f"`{toml(setting.default)}`"
        lines.append(f"| `{setting.name}` | {default} | {_cell(value)} | {_cell(setting.meaning)}{fixed} |")
    return "\n".join(lines) + "\n"


def outputs_page() -> str:
    """Columns and reports."""
    schema = pyarrow.table(Outcomes().columns(_core.FIELDS)).schema
    types = {column.name: (str(column.type), column.nullable) for column in schema}
    lines = [
        "# Outputs",
        "",
        "Made by `python -m tools.reference` from the code.",
        "",
        "`lycosa crawl -o FILE.parquet`, `-o FILE.jsonl`, `-o DIRECTORY/` (Parquet files) or `-o -` (JSON lines to standard output,",
        "what this session fetches). Each row is the last outcome of one URL: a page, a redirect, or a failure. A URL that was",
        "fetched again on purpose (`--retry-failed`, a seed given again) has one more row: the one with the latest `fetched_at` holds.",
        "",
        "`-o FILE` takes the place of the outputs that are recorded in the job directory, once it could be opened. `-o -` alone takes the",
        "place of none: the session writes to standard output only, and recorded outputs are brought up to date by the next session",
        "without it. The log keeps what they lack until then. A crawl that has no output yet gets `DIR/pages.parquet` by that session.",
        "`-o none` writes no output: so goes on a crawl whose recorded output is a sink from Python, which only Python can give again.",
        "In Python `output=` is one or several of them; without it nothing is written but the log, as long as that is kept.",
        "",
        'Columns are chosen by `store.fields`: `--set \'store.fields=["url","status","text"]\'`. Where a value may be null, the type',
        "says so.",
        "",
        "| column | type | |",
        "|---|---|---|",
        *(
            f"| `{name}` | {types[name][0]}{', may be null' if types[name][1] else ''} | {_cell(meaning)} |"
            for name, meaning in _core.COLUMNS.items()
        ),
        "",
        "In JSON lines `fetched_at` is RFC 3339 text, `chain` and `headers` are lists of objects.",
        "",
        "`text` is the whole body decoded to Unicode: of an HTML page its HTML with all tags. There is no main text (the article",
        "without navigation) yet; give `text` to an extractor such as trafilatura. In Python:",
        "",
        *SNIPPET.splitlines(),
        "",
        "A batch may have no rows, and so may its table: outcomes that lead to another try are in the log and in no output.",
        "",
        "## Add an output to a crawl that already ran",
        "",
        *ADDED_OUTPUT.splitlines(),
        "",
        "## The report",
        "",
        "`crawl.report()`, `lycosa crawl --report FILE` (`-`: standard output). Counts are over the crawl's whole life; what this",
        "session did stands under `session`. At any time the URLs that were admitted are",
        "`waiting + leased + done + failed + refused`.",
        "",
        "| key | |",
        "|---|---|",
        *(f"| `{name}` | {_cell(meaning)} |" for name, meaning in REPORT.items()),
        "",
        "| `end.reason` | | exit status |",
        "|---|---|---|",
        *(f"| `{name}` | {_cell(meaning)} | {statuses} |" for name, (meaning, statuses) in REASONS.items()),
        "",
        "## Exit status of `lycosa crawl`",
        "",
        "The reason says why nothing more was fetched, the status whether something is missing: a crawl that is `finished` has",
        "status 3 where URLs failed without an answer. The summary's last line says the status and what it means for this crawl;",
        "`lycosa job show DIR` says the same later, unless somebody stopped the crawl, and with `--quiet` one line on standard",
        "error where it is 3, 4 or 5. A script that has to tell a limit from the end reads the reason:",
        "`lycosa crawl … --report r.json; jq -r .end.reason r.json`, or later `lycosa job show DIR --json | jq -r .last_run.reason`.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {status} | {_cell(meaning)} |" for status, meaning in _statuses().items()),
    ]
    return "\n".join(lines) + "\n"


def errors_page() -> str:
    """Kinds of failures, and exceptions."""
    import lycosa
    from lycosa import errors

    lines = [
        "# Failures and errors",
        "",
        "Made by `python -m tools.reference` from the code.",
        "",
        "What a site does is no error but an outcome: a row whose `error` is one of these names, and `page.error`. They are stable.",
        "*May pass*: such a try is repeated (`politeness.retries`), and when the URL has failed all the same, the crawl says so at",
        "its end. `lycosa crawl --dir DIR --retry-failed` fetches again all URLs that failed, but for those with — in the last",
        "column; `--retry-failed=KINDS` takes names and groups with commas, also those: `--retry-failed=names,connect-timeout`.",
        "A page that ended with a status, 404 or 500, is an answer: its URL as a seed fetches it again.",
        f"The group `timeouts` is all time-outs, whatever else they are about: {_listed(choices()['timeouts'])}.",
    ]
    for group, kinds in groups().items():
        lines += [
            "",
            f"## {group}",
            "",
            ADVICE[group],
            "",
            "| kind | | may pass | `--retry-failed` |",
            "|---|---|---|---|",
        ]
        for kind in kinds:
            about = _core.FAILURE_KINDS[kind]
            passes, again = ("yes" if about["transient"] else "no"), ("—" if kind in FORBIDDEN else "yes")
            lines.append(f"| `{kind}` | {_cell(about['meaning'])} | {passes} | {again} |")
    lines += ["", "## Exceptions", "", "All are importable from `lycosa`.", "", "| | |", "|---|---|"]
    for name in vars(errors):
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, lycosa.LycosaError):
            assert getattr(lycosa, name) is kind, f"lycosa.{name} is missing"
            base = "" if kind is lycosa.LycosaError else f" A `{kind.__bases__[0].__name__}`."
            lines.append(f"| `{name}` | {_cell(str(kind.__doc__).splitlines()[0])}{base} |")
    return "\n".join(lines) + "\n"


def settings_types() -> str:
    """The types of ``lycosa.crawl``."""
    by_room: dict[str, list[Setting]] = {}
    for setting in settings():
        by_room.setdefault(setting.room, []).append(setting)
    lines = [
        '"""The keys of a job as types: what ``lycosa.crawl`` takes. Made by ``python -m tools.reference`` from job.py."""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Mapping, Sequence",
        "from os import PathLike",
        "from typing import Literal, TypedDict",
        "",
    ]
    for name, about in [*rooms()][1:]:
        lines += ["", f"class {name.title()}Settings(TypedDict, total=False):", f'    """{about}"""', ""]
        lines += [f"    {each.name}: {_type(each.annotation)}" for each in by_room[name]]
        lines += [""]
    lines += ["", "class CrawlSettings(TypedDict, total=False):", '    """One crawl, but for its seeds."""', ""]
    lines += [f"    {each.name}: {_type(each.annotation)}" for each in by_room[""] if each.name != "seeds"]
    lines += [f"    {name}: {name.title()}Settings" for name, _ in [*rooms()][1:]]
    return "\n".join(lines) + "\n"


def _type(annotation: Any) -> str:
    """A type as a call has it."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(args[0])
    if origin is Literal:
        return "Literal[" + ", ".join(f'"{value}"' for value in args) + "]"
    if origin is tuple:
        return f"Sequence[{_type(args[0])}]"
    if origin is dict:
        return f"Mapping[{', '.join(_type(part) for part in args)}]"
    if args:
        return " | ".join(_type(part) for part in args)
    names: dict[Any, str] = {type(None): "None", Path: "str | PathLike[str]"}
    return names.get(annotation) or str(annotation.__name__)


def _statuses() -> dict[int, str]:
    """The exit statuses of ``lycosa crawl``."""
    from lycosa.cli.status import STATUSES

    return STATUSES


def _listed(names: list[str]) -> str:
    """Names in a sentence."""
    return ", ".join(f"`{name}`" for name in names)


def _cell(text: str) -> str:
    """Text in a table's cell."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    for path, content in written().items():
        path.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
