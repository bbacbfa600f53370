"""Texts of the pages that ``tools.reference`` writes: what code cannot tell."""

from __future__ import annotations

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
    "responses": "responses of any kind, those for robots.txt too",
    "links": "links in pages",
    "statuses": "responses by status code",
    "failures": "URLs that ended without a response, by kind: docs/errors.md",
    "examples": "the first URLs of each kind of failure",
    "types": "`responses` and `bytes` of bodies by media type: at most 100 types, and `other`",
    "slowest": "hosts whose responses begin latest, at most ten: `host`, `responses`, mean `seconds`; of hosts with three "
    "responses and more",
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
    "session": "the same counts, seconds and names for this session alone; `cpu_by_stage`: seconds of CPU of frontier, fetch, "
    "parse, log, names, outputs, caller (who iterates) and other (the start, threads that have ended)",
    "balance": "whether the counts add up: `admitted` = `open` + `ended` by the frontier, `recorded` by the log, and their "
    "`difference`, which is 0 at the end of a run",
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
    "output_positions": "up to which position of the log each output is committed",
    "outputs_away": "outputs that do not answer, and why: they are tried again",
    "held": "whether nothing is fetched since an output is `store.behind_bytes` behind the log",
    "stuck": "what does not move: `what`, `at`, `seconds`, `host`, `url` (`observe.stuck_after`)",
    "price": "`observe.price`",
    "full_disks": "paths that wait for disk space",
}

#: What runs as it is pasted; a test does so with another seed.
SNIPPET = """\
In a notebook, from a site to a table with the texts of its pages (`pip install polars duckdb`):

```python
import duckdb
import lycosa

pages = lycosa.crawl(
    "https://example.com/",
    user_agent="mybot/1.0 (me@example.org)",
    max_pages=1000,
    store={"fields": ["url", "status", "headline", "language", "main_text"]},
).to_polars()
duckdb.sql("SELECT url, headline, main_text FROM pages WHERE length(main_text) > 200 ORDER BY url")
```

Page by page, from the output, and batch by batch:

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

#: What outputs there are.
FORMATS = """\
| output | what it is | needs |
|---|---|---|
| `FILE.parquet`, `DIRECTORY/` | columns with zstd; a directory gets a new file at each stop | `lycosa[parquet]` |
| `FILE.jsonl`, `FILE.ndjson`, with `.gz` or `.zst` | a JSON object on each line | |
| `FILE.arrows` | a stream of Arrow: columns as they are in memory; can be read while the crawl runs | `lycosa[parquet]` |
| `FILE.csv`, with `.gz` or `.zst` | a line of names, then rows; lists are JSON | |
| `FILE.warc`, `FILE.warc.gz`, `FILE.warc.zst` | WARC 1.1: responses, requests, revisits; an index beside it (`FILE.warc.gz.cdxj`) | |
| `FILE.wet`, with `.gz` or `.zst` | the main texts as records of WARC; `store.fields` has to name `main_text` | |
| `FILE.wacz` | WARC, index and list of pages in one file, for browsers of archives | |
| `FILE.sqlite`, `FILE.db`, `sqlite://PATH?table=NAME` | a table; `pages` unless another is named | |
| `FILE.duckdb`, `duckdb://PATH?table=NAME` | the same in DuckDB | `lycosa[duckdb]` |
| `postgresql://HOST/DATABASE?table=NAME` | a table, written by COPY, one row for each URL and `fetched_at`; the password comes from `~/.pgpass` or `PGPASSWORD` | `lycosa[postgres]` |
| `grpc://HOST:PORT/NAME`, `grpc+tls://…` | a server of Arrow Flight: a call of DoPut for the rows of each commit; a token comes from `LYCOSA_FLIGHT_TOKEN`. After a crash rows may arrive twice, with the same `url` and `fetched_at`; the metadata of a batch tell the `job` and its `position` | `lycosa[parquet]` |
| `delta://PATH`, `delta+s3://…`, `delta+gs://…`, `delta+az://…` | a Delta Lake table | `lycosa[delta]` |
| `s3://BUCKET/PREFIX`, `gs://…`, `az://…` | objects, each a complete file, and a manifest; `?format=warc.gz` writes others than Parquet, `?endpoint=URL` asks another store, `?partition=day` divides rows by their day (`fetched_day=2026-11-30/…`, as Hive does) | `lycosa[objects]` |
| `-` | JSON lines to standard output, what this session fetches | |

- Each row is in each output once, whatever is killed: an output commits its rows and its position in the log together. (Flight is the
  exception.)
- An output that does not answer (a database that restarts, an object store that is away, a full disk) is tried again until it does. The
  crawl goes on until the output is `store.behind_bytes` behind the log; then nothing more is fetched until it has caught up. Both are told.
- An output that exists and is not this crawl's is refused before anything is fetched; `--fresh` replaces it. (A server of Flight gets all
  rows again.) A file is one output: two tables of it need two crawls.
- Credentials come from the environment, as each provider's own tools read them. A URL with a password is refused, and none is ever told.
- A text with characters that a database cannot hold (NUL in PostgreSQL) has U+FFFD in their place."""

#: How bodies are found that an archive has.
REFERENCES = """\
Rows in a table, bodies in an archive: `payload_digest` of a row is the digest of the record with its body, in the archive and in its index
(`pip install fastwarc`). Where several pages have the same body, all but one are revisits in the archive, without a body of their own.

```python
import json

import lycosa
from fastwarc import ArchiveIterator

table = lycosa.crawl(
    "https://example.com/",
    user_agent="mybot/1.0 (me@example.org)",
    output=["pages.parquet", "pages.warc.gz"],
    store={"fields": ["url", "status", "title", "payload_digest"]},
).arrow()

with open("pages.warc.gz.cdxj", encoding="utf-8") as index:
    entries = [json.loads(line.split(" ", 2)[2]) for line in index]
records = {entry["digest"]: entry for entry in entries if entry["mime"] != "warc/revisit"}

with open("pages.warc.gz", "rb") as archive:
    for row in table.to_pylist():
        if record := records.get(row["payload_digest"]):
            archive.seek(int(record["offset"]))
            print(row["url"], len(next(ArchiveIterator(archive)).reader.read()))
```"""

#: What `lycosa parse` is for.
AGAIN = """\
    lycosa parse DIR -o texts.parquet --set 'store.fields=["url","main_text"]'
    lycosa parse CC-MAIN-*.warc.gz -o pages.jsonl.zst --set parse.threads=8

reads pages that were fetched before, and writes them as a crawl does: nothing is fetched. A source is the directory of a crawl that has
ended, a WARC or ARC file (of Lycosa, Common Crawl, Heritrix, wget), a WACZ file (of browsertrix), or a Parquet file with the columns `url`
and `body` or `html`. All cores are used. The same command goes on where it was stopped. What cannot be read of a source is passed over,
and told with its position, by each later run as well; the exit status is 1 then. An output that does not answer is waited for once the run
has begun, and a disk that is full from the beginning.

`lycosa crawl --seeds FILE` starts from the URLs of such a file, of a CDXJ index, or of a list."""

#: The page of observation, but its table of metrics.
OBSERVED = """\
This page says what a running crawl tells of itself, for whoever operates it.

It is generated by `python -m tools.reference` from the code.

## How do I …

| task | how |
|---|---|
| see how a crawl is doing | its line of progress, or `--set observe.http=127.0.0.1:9153` and `/report` |
| let Prometheus collect it | the same address, `/metrics`: *Metrics* |
| see it in Grafana | import `deploy/grafana/crawl.json` |
| let something restart it if it hangs | `/healthz`: 503 with what is stuck |
| find what holds it up | the watchdog's messages: what does not move, since when, which host and URL |
| read its messages by a program | `lycosa crawl --log json`: an object on each line, with `job`, `host` and `url` where there is one |
| see the way of single URLs | `--set observe.traces=http://127.0.0.1:4318/v1/traces`: OpenTelemetry, of a share of all URLs (`observe.trace_share`) |
| read the result | `DIR/report.html`, and `DIR/report.json` for programs: [outputs.md](outputs.md#the-report) |
| know what a crawl costs | `--set observe.price=0.04`: the price of an hour of a core; the report tells that of a million pages |

- `observe.http` tells hosts and URLs to everyone who reaches it: keep it on an address that others do not reach.
- The watchdog tells again each time that something has not moved for twice as long, and when it moves again. A request is stuck
  `observe.stuck_after` seconds after `fetch.total_timeout`; so is a frontier with URLs to fetch that offers none, though nothing holds it
  up: no politeness, no host that fails, no suspended crawl, no full disk, no output that is behind.
- Counts add up: admitted URLs are those that wait, are being fetched, and have ended. The report has the sums under `balance`; a
  `difference` is a defect of Lycosa, which the crawl tells."""
