"""``lycosa cache``: inspects a compact cache of names, and removes names from it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from lycosa import _core

DESCRIPTION = (
    "A compact cache of names is one file that all processes of a machine share; job setting names.cache_file or "
    "lycosa.names.Cache create one. These commands may be used while other processes have it open."
)

#: The first bytes of a cache, of one that is being created, and of an empty file.
MAGIC = (b"LycosaDN", b"LycosaNE", b"")

#: Maximum number of top-level domains that are shown.
SHOWN = 20


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "cache", help="inspect, count, forget or rebuild a cache of names", description=DESCRIPTION
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    inspect = actions.add_parser(
        "inspect",
        help="show what is in a cache",
        description="Shows the settings of a cache, how full it is, and its names by top-level domain. Changes "
        "nothing.",
    )
    _add_common(inspect)
    inspect.set_defaults(run=run_inspect)

    count = actions.add_parser(
        "count",
        help="count the names in a cache",
        description="Counts names with addresses that are valid now, by one pass over the file.",
    )
    _add_common(count)
    count.add_argument(
        "--under", metavar="DOMAIN", help="only under this top-level or registered domain (com, foo.co.uk)"
    )
    count.add_argument("--by-tld", action="store_true", help="per top-level domain, the most frequent first")
    count.set_defaults(run=run_count)

    forget = actions.add_parser(
        "forget",
        help="forget names",
        description="Forgets names, or all names under a domain: they are resolved again. The exit status is 1 if "
        "none was in the cache.",
    )
    _add_common(forget)
    forget.add_argument("names", metavar="NAME", nargs="*", help="a host name")
    forget.add_argument("--under", metavar="DOMAIN", help="all under this top-level or registered domain")
    forget.set_defaults(run=run_forget)

    rebuild = actions.add_parser(
        "rebuild",
        help="replace a cache by an empty one",
        description="Replaces a file by an empty cache, such as one that is damaged, of another version, or of "
        "another size. Processes that have the old one open use that until they end. It has a filter of names that "
        "do not exist, unless the old file can be read and has none.",
    )
    _add_common(rebuild)
    rebuild.add_argument(
        "--capacity", metavar="NAMES", type=int, help="names (default 1,000,000); about 24 bytes each"
    )
    rebuild.add_argument("--yes", action="store_true", help="also if the file is not a cache at all")
    rebuild.set_defaults(run=run_rebuild)


def _add_common(action: argparse.ArgumentParser) -> None:
    """Add the arguments of every action."""
    action.add_argument("file", metavar="FILE", help="the file of the cache", type=Path)
    action.add_argument("--json", action="store_true", help="as one JSON object")


def run_inspect(args: argparse.Namespace) -> int:
    """Show the contents of a cache."""
    cache = _core.NameCache.view(args.file)
    stats, tlds = cache.stats(), cache.count_by_tld()
    if args.json:
        found = {"file": str(args.file), **cache.settings, **stats}
        print(json.dumps({**found, "by_tld": {tld or "": count for tld, count in tlds}}, indent=2))
        return 0
    table = Table(title=f"Cache of names {args.file}", title_justify="left", show_header=False)
    used, slots = stats["used"], stats["slots"]
    rows = [
        ("created for", f"{cache.settings['capacity']:,} names, verify = {cache.settings['verify']}"),
        ("names with addresses", f"{stats['names']:,.0f}"),
        ("slots", f"{used:,.0f} of {slots:,.0f} in use ({used / slots:.1%})"),
        ("size", f"{stats['memory'] / 1e6:,.1f} MB"),
        ("of these, names", f"{stats['table_bytes'] / 1e6:,.1f} MB"),
        (
            "address sets",
            f"{stats['set_bytes'] / 1e6:,.1f} MB, "
            f"{stats['small_sets']:,.0f} small and {stats['large_sets']:,.0f} large in use",
        ),
        ("negative filter", f"{stats['filter_bytes'] / 1e6:,.1f} MB, {stats['filter_fill']:.1%} of its bits set"),
        ("by top-level domain", ", ".join(f"{tld or 'unknown'}: {count:,}" for tld, count in tlds[:SHOWN]) or "none"),
    ]
    for row in rows:
        table.add_row(*row)
    Console().print(table)
    return 0


def run_count(args: argparse.Namespace) -> int:
    """Count names."""
    cache = _core.NameCache.view(args.file)
    if args.by_tld:
        tlds = cache.count_by_tld()
        if args.json:
            print(json.dumps({tld or "": count for tld, count in tlds}, indent=2))
            return 0
        table = Table("top-level domain", "names", title=f"Names in {args.file}", title_justify="left")
        for tld, count in tlds:
            table.add_row(tld or "unknown", f"{count:,}")
        Console().print(table)
        return 0
    count = cache.count(args.under or "")
    print(json.dumps({"under": args.under, "names": count}) if args.json else count)
    return 0


def run_forget(args: argparse.Namespace) -> int:
    """Forget names."""
    cache = _core.NameCache.open(args.file)
    forgotten = sum(cache.forget(name) for name in args.names)
    if args.under:
        forgotten += cache.forget_under(args.under)
    print(json.dumps({"forgotten": forgotten}) if args.json else f"{forgotten:,} forgotten")
    return 0 if forgotten else 1


def run_rebuild(args: argparse.Namespace) -> int:
    """Replace a file by an empty cache."""
    from lycosa.errors import SettingError

    if args.file.exists() and not args.yes and not _is_cache(args.file):
        raise SettingError("FILE", args.file, "a cache of names, or --yes to replace this file by a cache")
    cache = _core.NameCache.rebuild(args.file, {"capacity": args.capacity})
    size = cache.stats()["memory"]
    told = f"{args.file}: an empty cache for {cache.settings['capacity']:,} names, {size / 1e6:,.1f} MB"
    print(json.dumps({"file": str(args.file), **cache.settings, "memory": size}) if args.json else told)
    return 0


def _is_cache(path: Path) -> bool:
    """Return whether a file starts like a cache, complete or unfinished, in either byte order; or is empty."""
    with path.open("rb") as file:
        start = file.read(8)
    return start in MAGIC or start[::-1] in MAGIC
