"""``lycosa master top``: what a running master grants, live on a terminal, or as JSON for programs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import time
from typing import Any

import aiohttp
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lycosa.dispatch.calls import Caller, tls_context
from lycosa.dispatch.refusal import Refusal
from lycosa.errors import LycosaError
from lycosa.words import by_count

#: Interval of updates, in seconds.
EVERY = 1.0


def run(args: argparse.Namespace) -> int:
    """Show until Ctrl-C, or once; returns the exit status."""
    # A background process of a script ignores SIGINT by default, and would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(args))
    return 0


async def _run(args: argparse.Namespace) -> None:
    """Show until the end."""
    console = Console()
    context = tls_context(args.ca_file, None, None)
    async with Caller(args.master, os.environ.get("LYCOSA_TOKEN"), context=context) as master:
        if args.once or args.json or not console.is_terminal:
            await _print(master, None if args.json else console, once=args.once)
        else:
            await _show(master, console)


async def _print(master: Caller, console: Console | None, *, once: bool) -> None:
    """Print each update as a table or, without a console, as JSON; raises LycosaError when the master is gone."""
    before, at = await look(master), time.monotonic()
    while True:
        await asyncio.sleep(EVERY)
        after, now = await look(master), time.monotonic()
        figures, before, at = compare(before, after, now - at), after, now
        if console is None:
            print(json.dumps(figures), flush=True)
        else:
            console.print(render(figures))
        if once:
            return


async def _show(master: Caller, console: Console) -> None:
    """Show updates until Ctrl-C; the master may restart meanwhile."""
    before, at = await look(master), time.monotonic()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            await asyncio.sleep(EVERY)
            try:
                after, now = await look(master), time.monotonic()
            except LycosaError as error:
                live.update(Text(f"{error}; trying again"), refresh=True)
                continue
            live.update(render(compare(before, after, now - at)), refresh=True)
            before, at = after, now


async def look(master: Caller) -> dict[str, Any]:
    """Fetch a master's statistics; raises LycosaError if there is no such master."""
    try:
        return await master.get("/statistics")
    except Refusal as refusal:
        raise LycosaError(f"{master.url}: {refusal}; LYCOSA_TOKEN is a token of download servers") from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise LycosaError(f"cannot read statistics from {master.url}: {error}") from None


def compare(before: dict[str, Any], after: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Compute rates between two updates; what a restarted master has counted is taken as it is."""
    seconds = max(seconds, 1e-3)

    def rate(kind: str, one: str, name: str) -> float:
        new, old = after[kind][one][name], before[kind].get(one, {}).get(name, 0)
        return float(round((new - old if new >= old else new) / seconds, 1))

    servers = {
        name: {
            **known,
            "downloads_per_second": rate("servers", name, "successes") + rate("servers", name, "failures"),
        }
        for name, known in after["servers"].items()
    }
    services = {
        name: {**known, "granted_per_second": rate("services", name, "granted")}
        for name, known in after["services"].items()
    }
    return {**after, "servers": servers, "services": services}


def render(figures: dict[str, Any]) -> Group:
    """Return the tables of services and download servers."""
    ring = "its sites are changing hands" if figures["ring"] is None else f"ring {figures['ring']}"
    title = Text(f"policy {figures['policy']}, {len(figures['servers'])} download servers, {ring}")
    services = Table("service", "quota, URLs/s", "granted, URLs/s", "granted", "refused")
    for name, known in sorted(figures["services"].items()):
        refused = by_count(known["refusals"], 3) or "none"
        numbers = [f"{known['rate']:g}", f"{known['granted_per_second']:,.1f}", f"{known['granted']:,}"]
        services.add_row(name, *numbers, refused)
    servers = Table("download server", "address", "slots", "URLs/s", "free places", "failed", "heard, s ago")
    for name, known in sorted(figures["servers"].items()):
        done = known["successes"] + known["failures"]
        share = f"{known['failures'] / done:.1%}" if done else "–"
        numbers = [f"{known['slots']:,}", f"{known['downloads_per_second']:,.1f}", f"{known['free']:,}", share]
        servers.add_row(name, known["address"], *numbers, f"{known['silent']:.1f}")
    return Group(title, services, servers)
