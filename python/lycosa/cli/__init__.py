"""``lycosa``: the command line. Errors are one line on stderr; exit status 2 for bad settings, 1 for other errors."""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import os
import re
import sys
from typing import Any, Never, TextIO

from lycosa.errors import LycosaError, SettingError

#: Allocations before the cyclic garbage collector runs. Imports leave no cyclic garbage, and Python's default of 700
#: costs a fifth of the start.
COLLECTED = 50_000

#: In the order of the help; each is a module of this package.
COMMANDS = (
    "crawl", "job", "parse", "extract", "resolve", "cache", "dns", "identity", "proxies", "why",
    "master", "downloader", "download", "work", "simnet",
)  # fmt: skip


def columns(stream: TextIO | None) -> int:
    """Return the width of a terminal; 80 of anything else. `shutil` would do it, too, but imports compression."""
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns if stream is not None else 80
    except (OSError, ValueError):
        return 80


class Help(argparse.HelpFormatter):
    """Help in the width of the terminal. One is made for each argument of a command, not only to print help."""

    def __init__(self, prog: str, **named: Any) -> None:
        """named: as of the base class."""
        super().__init__(prog, **{"width": columns(sys.__stdout__) - 2, **named})


class RawHelp(Help, argparse.RawDescriptionHelpFormatter):
    """The same, with the lines of descriptions as they are."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, **named: Any) -> None:
        """named: as of the base class."""
        super().__init__(**{"formatter_class": Help, **named})

    def error(self, message: str) -> Never:
        """Print the error and a hint at --help; exit with status 2."""
        # An argument may be a URL with a password.
        message = re.sub(r"//\S*@", "//…@", message)
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    gc.set_threshold(COLLECTED)
    # At the exit the collector would look twice at all objects, a tenth of a short run: the process's end frees them.
    atexit.register(gc.freeze)
    arguments = sys.argv[1:] if arguments is None else arguments
    # Handled here, since any other argument of `simnet` that is not an option is a program to run.
    if arguments[:2] == ["simnet", "report"]:
        from lycosa.cli import simnet_report

        return simnet_report.run(arguments[2:], Parser)
    args = parse_arguments(arguments)
    try:
        status: int = args.run(args)
    except SettingError as error:
        print(f"lycosa: {error}", file=sys.stderr)
        return 2
    except (LycosaError, OSError) as error:
        print(f"lycosa: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Return the arguments of a command, whose ``run`` runs it; ends the process with what is wrong with them."""
    from lycosa import __version__

    parser = Parser(
        prog="lycosa",
        description="A web crawler for one machine: polite by default, with a complete record of what it did. "
        "Includes bulk name resolution, DNS servers for many crawlers, and a simulated Internet to judge crawlers.",
    )
    parser.add_argument("--version", action="version", version=f"lycosa {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # A given command does not import the modules of the others.
    for command in arguments[:1] if arguments[:1] and arguments[0] in COMMANDS else COMMANDS:
        importlib.import_module(f"lycosa.cli.{command}").add_parser(subparsers)
    return parser.parse_args(arguments)
