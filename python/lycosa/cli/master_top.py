"""``lycosa master top``: what a running master grants, live on a terminal, or as JSON for programs."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from typing import Any

import aiohttp
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lycosa.cli import top
from lycosa.dispatch.calls import Caller, tls_context
from lycosa.dispatch.refusal import Refusal
from lycosa.errors import LycosaError
from lycosa.words import by_count


def run(args: argparse.Namespace) -> int:
    """Show until Ctrl-C, or once; returns the exit status."""
    context = tls_context(args.ca_file, None, None)
    master = Caller(args.master, os.environ.get("LYCOSA_TOKEN"), context=context)
    with asyncio.Runner() as runner:
        try:
            top.show(lambda: runner.run(look(master)), compare, render, once=args.once, as_json=args.json)
        finally:
            runner.run(master.close())
    return 0


async def look(master: Caller) -> dict[str, Any]:
    """Fetch a master's statistics; raises LycosaError if there is no such master."""
    try:
        return {**await master.get("/statistics"), "at": time.monotonic()}
    except Refusal as refusal:
        raise LycosaError(f"{master.url}: {refusal}; LYCOSA_TOKEN is a token of download servers") from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise LycosaError(f"cannot read statistics from {master.url}: {error}") from None


def compare(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Compute rates between two updates; what a restarted master has counted is taken as it is."""
    seconds = max(after["at"] - before["at"], 1e-3)

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
    told = {name: value for name, value in after.items() if name != "at"}
    return {**told, "servers": servers, "services": services}


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
