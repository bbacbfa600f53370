"""``lycosa``: the command line. Errors are one line on stderr; exit status 2 for bad settings, 1 for other errors."""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from typing import Never

from lycosa.errors import LycosaError, SettingError

#: Allocations before the cyclic garbage collector runs. Imports leave no cyclic garbage, and Python's default of 700
#: costs a fifth of the start.
COLLECTED = 50_000

#: In the order of the help; each is a module of this package.
COMMANDS = ("crawl", "job", "resolve", "cache", "dns", "why", "simnet")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> Never:
        """Print the error and a hint at --help; exit with status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns its exit status."""
    gc.set_threshold(COLLECTED)
    from lycosa import __version__

    arguments = sys.argv[1:] if arguments is None else arguments
    # Handled here, since any other argument of `simnet` that is not an option is a program to run.
    if arguments[:2] == ["simnet", "report"]:
        from lycosa.cli import simnet_report

        return simnet_report.run(arguments[2:], Parser)
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
    args = parser.parse_args(arguments)
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
