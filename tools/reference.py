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
from lycosa.reference import Setting, sections, settings, toml

ROOT = Path(__file__).parent.parent

#: What to do about a group of failures.
ADVICE = {
    "names": "If many fail, check the resolvers (`names.resolvers`); `name-not-found` and `name-bad` are the site's own.",
    "connections": "The site, or the path to it, is down or slow: `--retry-failed=connections` later; `fetch.*_timeout`.",
    "tls": "The site's certificate or TLS is broken; for roots of your own set `fetch.ca_file`. For `tls-too-old` there is a second chance ([extending.md](extending.md#a-second-chance)).",
    "proxies": "The proxy of the request could not be used: [proxies.md](proxies.md). Another one is tried; the site was not asked, except with a 407 to an `http` request, which may be its own.",
    "middleware": "Middleware of yours ([extending.md](extending.md#middleware)).",
    "responses": "The site does not send a usable response; limits: `fetch.max_*`, `parse.max_*`, `politeness.max_redirects`.",
    "rules": "The job forbids it: `allow_addresses`, `allow_ports`, `politeness.block_list`, `fetch.content_types`, `politeness.domain_pages`.",
    "robots": "The site forbids it. `robots-disallowed` and `usage-refused` (a use of the page for which the job crawls) are final; `robots-unreachable` is one until `--retry-failed` opens it again.",
    "refusals": "The site answered with a page that is no content ([text.md](text.md#which-pages-are-no-content)): no output of pages has it. `parse.refusals = false` keeps such pages.",
    "ended": "Such URLs wait and are fetched when the crawl is resumed.",
}

#: What each key of a report means, beside the tables of outputs.
REPORT = {
    "pages": "responses that are not redirects",
    "redirects": "redirects",
    "reopened": "URLs that were opened again, because the user asked for it or a captive portal had answered for them",
    "retries": "outcomes that led to a further try",
    "robots": "responses for robots.txt and tdmrep.json",
    "bytes": "bytes of bodies as received",
    "links": "links in pages",
    "statuses": "responses by status code",
    "failures": "URLs that ended without a response, by kind: docs/errors.md",
    "prices": "what sites asked for instead of pages (402 with `crawler-price`), over all responses, by currency; nothing is "
    "paid",
    "licenses": "responses that asked for a licence (`WWW-Authenticate: License`, RSL)",
    "bounds": "pages of which a part was left out (links, title-bytes, …), by bound: `count`, and the `first` URLs",
    "refusals": "pages that are no content, by kind: `count`, and the `first` URLs",
    "mean_seconds": "means over all responses, by phase: name, connect, tls, first_byte, body",
    "sessions": "number of sessions: the first one and each resumption",
    "seconds": "duration of all sessions",
    "cpu_seconds": "CPU time of all sessions",
    "names": "counts of the DNS client: questions sent, answers, names by class, …",
    "session": "the same counts, seconds and names for this session alone",
    "end": "why it ended: `reason`, `text`; `status`, the exit status (null where a signal decides), and `status_text`, what "
    "it means for this crawl; `resume`, the command that resumes; null while it runs",
    "in_flight": "requests under way",
    "frontier": "URLs by state: `waiting`, `leased` (under way), `done`, `failed`, `refused`; `hosts`; `unresolved`: names "
    "being resolved; `known`: URLs that were admitted or named by a canonical link; links that were left out: "
    "`links_known`, `links_out_of_scope`, `links_too_deep`, `links_nofollow`, `links_port_blocked`, `links_hosts_full`",
    "suspensions": "why nothing counts against sites now, where the trouble is the crawl's own: `cause`, `since`, `probe_at`, …",
    "failing": "hosts that fail and are tried again, at most ten: `host`, `kind`, `waiting` URLs, `until` when at least",
    "log": "the log's directory",
    "log_bytes": "the log's end, in bytes",
    "outputs": "the outputs",
    "full_disks": "paths that wait for disk space",
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
    # page.text is None if the body is not text; page.body has the bytes
    print(page.url, page.status, len(page.text or ""))

# From a file, once the crawl has ended; polars.read_parquet and pandas.read_parquet as well (pip install polars,
# pip install pandas), and in DuckDB: SELECT url, title FROM 'pages.parquet'. JSON lines: polars.read_ndjson, or DuckDB.
# An output DIRECTORY/ has many files: polars.read_parquet("DIRECTORY/*.parquet").
pages = pyarrow.parquet.read_table("pages.parquet", columns=["url", "title", "text"])

# Without a file: all columns of this session's pages, text among them; .to_polars() and .to_pandas() as well.
pages = lycosa.crawl("https://example.com/", user_agent="mybot/1.0 (me@example.org)").arrow()

# Batch by batch, for many pages a second; polars.DataFrame(batch) as well.
crawl = lycosa.crawl("https://example.com/", user_agent="mybot/1.0 (me@example.org)")
for batch in crawl.batches():
    table = pyarrow.table(batch)
```
"""

#: How a later output gets its records.
ADDED_OUTPUT = """\
    lycosa crawl --dir DIR -o DIR/pages.parquet -o later.jsonl

The given outputs replace the recorded ones (`lycosa job show DIR` lists these): give all of them again, and the new one. An output that
is left out stays as it is and is no longer written; given again later, it is continued where it was. The new output is
written from the log, no URL is fetched again for it; URLs that wait are fetched as in any resumed crawl. `store.fields` applies to
all outputs: when it changes, existing outputs are written again from the log, or refused where the log has lost records.

`store.retain` decides how far back the new output reaches. With `needed` (the default) a file of the log (`store.segment_bytes`, 256 MiB)
is removed as soon as all outputs and two snapshots have passed it, so that a log below some 500 MiB is complete; with `all` nothing is
removed. If outputs may be added later, say `--set store.retain=all` when the crawl begins; what is removed does not come back. Where
records are missing, the crawl says so once,

    lycosa: later.jsonl: lacks the records from position 0 to 536870912: the log has them no longer. …

and `lycosa job show DIR` says `lacks the records from position 0 to 536870912` instead of `complete` (`outputs[].gaps` with `--json`).
"""

#: What the columns about uses and links are read with.
USES_AND_LINKS = """\
## Usage

What a site says about uses of a page: in outputs a list of objects, in Python `page.usage`, a list of tuples (use, allowed, signal);
`request.usage` in middleware is what robots.txt and tdmrep.json say alone, (use, allowed). A use that no signal speaks of is missing.

| use | stated by |
|---|---|
| `train-ai` | Content-Usage; `ai-train` of Content-Signal; `noai`, and for images `noimageai` |
| `search` | Content-Usage, Content-Signal |
| `ai-input` | Content-Signal |
| `tdm` (text and data mining) | TDMRep: `tdm-reservation` as header field or `meta` element; with `politeness.tdmrep` also `/.well-known/tdmrep.json` (`tdmrep.json`) |

`usage = {train-ai = "drop", tdm = "drop"}` in the job file, or `--set usage.train-ai=drop`, leaves out pages whose site does not allow
these uses: their outcome is `usage-refused`, without a body, and their links are not followed; what robots.txt and tdmrep.json say is
known before the request, which is not sent. `"ignore"` leaves a use out of the column. The most restrictive signal counts also where TDMRep
lets a header field lift what tdmrep.json reserves. Without `drop`, a page that is reserved against training says so by `train-ai` or by `tdm`:

    for page in crawl:
        if any(use in ("train-ai", "tdm") and not allowed for use, allowed, signal in page.usage):
            continue

## Licences

Which licences a site names for a page: in the column `licenses` a list of objects, in Python `page.licenses`, a list of tuples (URL,
signal). The first one counts, and is `license`: what is said of the page itself comes before what robots.txt says of the whole site, and of
one signal RSL (`type="application/rsl+xml"`) comes before other formats. At most eight of a signal are recorded, each once.

| signal | |
|---|---|
| `link` | the header field `Link: <URL>; rel="license"` (RFC 8288) |
| `link element` | `<link rel="license" href="URL">` in an HTML page |
| `robots.txt` | lines `License: URL` of robots.txt (RSL 1.0), with an absolute URL; they count for all pages of the origin, whichever group they stand in. In middleware `request.licenses` has them |

A licence allows and forbids nothing by itself: the crawler does not read it, and no setting leaves out a page because of it.

## Links

A table of links, one row for each: crawl with `--set 'parse.link_details=["anchor","rel"]'` and
`--set 'store.fields=["url","links","link_anchors","link_rels","link_nofollow"]'`, then in Polars
`frame.explode("links", "link_anchors", "link_rels", "link_nofollow")`.
"""

#: Why a crawl ended, and the exit statuses that it may have.
REASONS = {
    "finished": (
        "nothing is left to fetch: every URL has a response, or has failed permanently, such as by NXDOMAIN",
        "0, 3, 4",
    ),
    "patience": ("the same, but URLs failed for reasons that may pass: `--retry-failed`", "3, 4"),
    "limit": ("`max_pages` is reached and URLs wait: `--max-pages none`, or a larger number", "0, 3"),
    "stopped": ("the user or a signal stopped it and URLs wait", "130, 141, 143"),
    "suspended": (
        "the crawl's own network or DNS failed for longer than `frontier.longest_suspension`; URLs wait",
        "5",
    ),
    "storage-full": ("no disk space was left when it was stopped", "1"),
    "error": ("another error; the text says which", "1"),
}

#: Tasks and the settings that they need.
TASKS = """\
| task | how |
|---|---|
| set a key for one crawl | `lycosa crawl … --set politeness.host_interval=2`; a list: `--set 'allow_addresses=["127.0.0.0/8"]'` |
| keep settings in a file | `lycosa job template >my.toml`, remove the `#` before the keys that you set, `lycosa crawl --job my.toml` |
| set keys in Python | `lycosa.crawl(…, politeness={"host_interval": 2})` |
| fetch only the seeds' hosts, only their registered domains, or any host | `scope = "host"` (the default), `"domain"`, `"any"` |
| fetch a list of URLs and follow no links | `seeds = […]` and `max_depth = 0` |
| stop after N pages, or after N pages of each registered domain | `max_pages`; `politeness.domain_pages` |
| crawl more slowly or faster (all sites alike) | `politeness.host_interval`, `address_interval`, `response_multiple`; requests at once: `host_concurrency`, `address_concurrency` |
| limit the whole crawl | `politeness.requests_per_second`, `bytes_per_second` |
| leave out pages that sites reserve, such as against training | `usage.train-ai=drop`: [outputs.md](outputs.md#usage) |
| exclude sites | `politeness.block_list`: [courtesy.md](courtesy.md) |
| crawl servers in my own network | `allow_addresses = ["10.0.0.0/8"]` |
| run several crawls at once | a `--dir` for each; crawls of one user keep the intervals of hosts and addresses together (`politeness.share_clocks`, [scale.md](scale.md)); so do the smaller concurrency and pauses; rates of the whole crawl are each crawl's own |
| ignore robots.txt of a site of my own | `politeness.robots = false` |
| choose columns, leave bodies out of the output | `store.fields`: [outputs.md](outputs.md) |
| limit memory | `memory = "2 GB"` |
| fetch larger bodies | `fetch.max_body_bytes`, `parse.max_decoded_bytes` |
| wait longer before a host is given up | `frontier.patience`: [trouble.md](trouble.md) |
| use other DNS servers, a hosts file, a shared cache | `names.resolvers`, `names.hosts_file`, `names.cache_file` |
| trust a certificate authority of my own | `fetch.ca_file` |
| fetch only HTML, or only images | `fetch.content_types = ["text/html"]`, `["image/*"]` |
| fetch what needs a password or a token | `fetch.credentials` |
| sign requests, so that sites recognise my crawler | `fetch.identity`: [courtesy.md](courtesy.md#how-do-i-say-who-i-am) |
| treat URLs as one that differ by a parameter, or by the order of parameters | `url.drop_parameters`, `url.sort_query` |

Header fields for all requests, or for a site's, are added by middleware in Python ([extending.md](extending.md#middleware)).
Settings for one site alone, and filters of URLs do not exist yet. Cookies that sites set are sent back to them.

- A crawl that is resumed keeps its settings. What you give replaces them, except keys marked *fixed*. With `--job` on a resumed crawl,
  a key that the file does not name has its default.
- `"none"` means no limit, or no value: `--set max_pages=none`.
- Relative paths start at the job file's folder; on the command line at the working directory.
- Seconds are in the job's own time: `speed` divides them.
"""


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
        "This page lists every setting of a crawl (a *job*), for anyone who wants to change how Lycosa crawls.",
        "",
        "It is generated by `python -m tools.reference` from `python/lycosa/job.py`; `lycosa job template` prints the same as a job file.",
        "",
        "## How do I …",
        "",
        *TASKS.splitlines(),
    ]
    about = dict(sections())
    section = None
    for setting in settings():
        if setting.section != section:
            section = setting.section
            title = f"`[{section}]`: {about[section]}" if section else "The job itself (top level of the file)"
            lines += ["", f"## {title}", "", "| key | default | value | |", "|---|---|---|---|"]
        value = ", ".join(filter(None, (setting.kind, setting.unit, setting.bounds)))
        fixed = " *Fixed.*" if setting.fixed else ""
        default = (
            "the usual columns of [outputs.md](outputs.md#columns)"
            if setting.key == "store.fields"
            else f"`{toml(setting.default)}`"
        )
        lines.append(f"| `{setting.name}` | {default} | {_cell(value)} | {_cell(setting.meaning)}{fixed} |")
    return "\n".join(lines) + "\n"


def outputs_page() -> str:
    """Columns and reports."""
    schema = pyarrow.table(Outcomes().columns(_core.FIELDS)).schema
    types = {column.name: (str(column.type), column.nullable) for column in schema}
    without_body = ",".join(f'"{name}"' for name in _core.USUAL_FIELDS if name != "body")
    lines = [
        "# Outputs",
        "",
        "This page says what a crawl writes (files, their columns, the report, the exit status), for anyone who reads its results.",
        "",
        "It is generated by `python -m tools.reference` from the code.",
        "",
        "## How do I …",
        "",
        "| task | how |",
        "|---|---|",
        "| choose the format | `-o FILE.parquet`, `-o FILE.jsonl`, `-o DIRECTORY/` (Parquet files), `-o -` (JSON lines to standard output, what this session fetches); several `-o` are allowed |",
        "| write nothing | `-o none`: the way to resume a crawl whose recorded output is a sink from Python, which only Python can pass again |",
        '| choose the columns | `--set \'store.fields=["url","status","text"]\'` |',
        f"| leave bodies out | the usual columns without `body`: `--set 'store.fields=[{without_body}]'` |",
        "| get the text of pages | add `main_text`, or `markdown`, to `store.fields` ([text.md](text.md)); `text` is the decoded body |",
        "| read the result in Python | *Read outputs in Python* |",
        "| add an output later | *Add an output to a crawl that already ran* |",
        "| write to a database | a sink of your own: [extending.md](extending.md#a-sink) |",
        "| get the numbers of a crawl | `--report FILE`, or `lycosa job show DIR`: *The report* |",
        "| know in a script whether something is missing | *Exit status of `lycosa crawl`* |",
        "",
        "- Each row is the last outcome of one URL: a page, a redirect, or a failure. A URL that was fetched again on purpose",
        "  (`--retry-failed`, a seed given again) has one more row: the one with the latest `fetched_at` is valid.",
        "- `-o FILE` replaces the outputs that are recorded in the job directory, once it could be opened. `-o -` alone replaces none:",
        "  the session writes to standard output only, and the next session without it brings recorded outputs up to date. The log",
        "  keeps what they lack until then. A crawl that has no output yet gets `DIR/pages.parquet` by that session.",
        "- While a crawl runs, the rows of `FILE.parquet` are in `FILE.parquet.parts/*.parquet`, and there is no FILE.parquet: the end of the",
        "  crawl, or Ctrl-C, completes it. Files of JSON lines grow. A terminal that closes kills a crawl: use `nohup` or tmux, or resume it.",
        "- In Python `output=` is one or several outputs; without it only the log is written, which a temporary directory loses at the end.",
        "- The log contains bodies whatever `store.fields` says, until its files are removed (`store.retain`).",
        "",
        "## Read outputs in Python",
        "",
        *SNIPPET.splitlines(),
        "",
        "A batch may have no rows, and so may its table: outcomes that lead to another try are in the log and in no output.",
        "",
        "## Add an output to a crawl that already ran",
        "",
        *ADDED_OUTPUT.splitlines(),
        "",
        "## Columns",
        "",
        "The usual columns are those that are not said to be written only where `store.fields` names them. Where a value may be null, the type",
        "says so. In JSON lines `fetched_at` is RFC 3339 text, `chain` and `headers` are lists of objects.",
        "",
        "| column | type | |",
        "|---|---|---|",
        *(
            f"| `{name}` | {types[name][0]}{', may be null' if types[name][1] else ''} | {_cell(meaning)} |"
            for name, meaning in _core.COLUMNS.items()
        ),
        "",
        "`text` is the whole body decoded to Unicode: of an HTML page its HTML with all tags. `main_text` is what the page says, without",
        "navigation: see [Text](text.md).",
        "",
        *USES_AND_LINKS.splitlines(),
        "",
        "## The report",
        "",
        "`crawl.report()`, `lycosa crawl --report FILE` (`-`: standard output). Counts cover all sessions of the crawl; those of this",
        "session are under `session`. At any time the URLs that were admitted are",
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
        "status 3 where URLs failed without a response. The summary's last line says the status and what it means for this crawl.",
        "`lycosa job show DIR` says the same later, unless the crawl was stopped; `--quiet` prints one line on standard",
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
        "This page lists every kind of failure of a URL and every exception, for anyone who reads the column `error` or catches an error.",
        "",
        "It is generated by `python -m tools.reference` from the code.",
        "",
        "| how do I … | |",
        "|---|---|",
        "| fetch again all that failed | `lycosa crawl --dir DIR --retry-failed`; it leaves out kinds with — in the last column |",
        "| fetch again some kinds or groups, also those with — | `--retry-failed=names,connect-timeout` |",
        "| fetch again a page that ended with a status, 404 or 500 | give its URL as a seed: such a page is a response and has not failed |",
        "| count failures by kind | `failures` in [the report](outputs.md#the-report) |",
        "| know what the crawl does before a URL fails | [trouble.md](trouble.md) |",
        "",
        "A failure of a site is not an error of the program but an outcome: a row whose `error` (`page.error` in Python) is one of these",
        "names, which are stable. The column *may pass* has the retry rule. *Yes*: it is tried again, at least `politeness.retries` times and until",
        "the patience is over, after pauses that double each time and have jitter ([trouble.md](trouble.md#how-long-is-a-pause)); when the URL",
        "has failed all the same, the crawl says so at its end. *Once more*: it is tried a second time after half a minute, and then believed.",
        "*No*: the first try counts.",
        "",
        f"The group `timeouts` contains all time-outs of the groups below: {_listed(choices()['timeouts'])}.",
    ]
    for group, kinds in groups().items():
        lines += [
            "",
            f"## {group}",
            "",
            ADVICE[group],
            "",
            "| kind | meaning | may pass | `--retry-failed` |",
            "|---|---|---|---|",
        ]
        for kind in kinds:
            about = _core.FAILURE_KINDS[kind]
            passes = "yes" if about["transient"] else "once more" if about["doubtful"] else "no"
            again = "—" if kind in FORBIDDEN else "yes"
            lines.append(f"| `{kind}` | {_cell(about['meaning'])} | {passes} | {again} |")
    lines += ["", "## Exceptions", "", "All can be imported from `lycosa`.", "", "| | |", "|---|---|"]
    for name in vars(errors):
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, lycosa.LycosaError):
            assert getattr(lycosa, name) is kind, f"lycosa.{name} is missing"
            base = "" if kind is lycosa.LycosaError else f" A `{kind.__bases__[0].__name__}`."
            lines.append(f"| `{name}` | {_cell(str(kind.__doc__).splitlines()[0])}{base} |")
    return "\n".join(lines) + "\n"


def settings_types() -> str:
    """The types of ``lycosa.crawl``."""
    by_section: dict[str, list[Setting]] = {}
    for setting in settings():
        by_section.setdefault(setting.section, []).append(setting)
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
    for name, about in [*sections()][1:]:
        lines += ["", f"class {name.title()}Settings(TypedDict, total=False):", f'    """{about}"""', ""]
        lines += [_key(each) for each in by_section[name]]
        lines += [""]
    lines += ["", "class CrawlSettings(TypedDict, total=False):", '    """One crawl, but for its seeds."""', ""]
    lines += [_key(each) for each in by_section[""] if each.name != "seeds"]
    lines += [f"    {name}: {name.title()}Settings" for name, _ in [*sections()][1:]]
    return "\n".join(lines) + "\n"


def _key(setting: Setting) -> str:
    """A key with its type, as ruff formats it."""
    line = f"    {setting.name}: {_type(setting.annotation)}"
    if len(line) <= 118:
        return line
    beginning, _, rest = line.partition("[")
    return f"{beginning}[\n        {rest.removesuffix(']')}\n    ]"


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
