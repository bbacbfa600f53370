"""The loop of ``top``: what a running server does, live on a terminal, or printed for people and programs."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from lycosa.errors import LycosaError

#: Interval of updates, in seconds.
EVERY = 1.0

#: What a server says of itself.
Figures = dict[str, Any]


def show(
    look: Callable[[], Figures],
    compare: Callable[[Figures, Figures], Figures],
    render: Callable[[Figures], RenderableType],
    *,
    once: bool,
    as_json: bool,
) -> None:
    """Show until Ctrl-C, or once.

    look: fetches a server's statistics; raises LycosaError if there is none. compare: computes rates between
    two of them. render: formats these.
    """
    # A background process of a script ignores SIGINT by default, and would never end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        console = Console()
        if once or as_json or not console.is_terminal:
            _print(look, compare, None if as_json else render, console, once=once)
        else:
            _live(look, compare, render, console)


def _print(
    look: Callable[[], Figures],
    compare: Callable[[Figures, Figures], Figures],
    render: Callable[[Figures], RenderableType] | None,
    console: Console,
    *,
    once: bool,
) -> None:
    """Print each update, as JSON if nothing renders it; raises LycosaError when the server is gone."""
    before = look()
    while True:
        time.sleep(EVERY)
        after = look()
        figures, before = compare(before, after), after
        if render is None:
            print(json.dumps(figures), flush=True)
        else:
            console.print(render(figures))
        if once:
            return


def _live(
    look: Callable[[], Figures],
    compare: Callable[[Figures, Figures], Figures],
    render: Callable[[Figures], RenderableType],
    console: Console,
) -> None:
    """Show updates until Ctrl-C; the server may restart meanwhile."""
    before = look()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(EVERY)
            try:
                after = look()
            except LycosaError as error:
                live.update(Text(f"{error}; trying again"), refresh=True)
                continue
            live.update(render(compare(before, after)), refresh=True)
            before = after
