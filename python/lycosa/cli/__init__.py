"""``lycosa``: the command line. Errors are one line on stderr; exit status 2 for settings, 1 for all else."""

from __future__ import annotations

import argparse
import gc
import importlib
import sys
from typing import Never

from lycosa.errors import LycosaError, SettingError

#: Objects that a command makes before the collector looks for cycles among them. Imported modules leave no garbage in
#: cycles, and looking after every 700 objects, as Python does, costs a fifth of the start.
COLLECTED = 50_000

#: In the order of the help; each is a module beside this one.
COMMANDS = ("crawl", "job", "resolve", "cache", "dns", "why", "simnet")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> Never:
        """Say what is wrong and where to read on; exit with status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; give its exit status."""
    gc.set_threshold(COLLECTED)
    from lycosa import __version__

    arguments = sys.argv[1:] if arguments is None else arguments
    # Taken apart here: everything else behind `simnet` that is no option is a program to be run.
    if arguments[:2] == ["simnet", "report"]:
        from lycosa.cli import simnet_report

        return simnet_report.run(arguments[2:], Parser)
    parser = Parser(
        prog="lycosa",
        description="A web crawler for one machine: polite by default, and with a record of everything that it did. "
        "With it come names in bulk, DNS servers for many crawlers, and a simulated Internet that judges crawlers.",
    )
    parser.add_argument("--version", action="version", version=f"lycosa {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # A command that is given starts without the modules of the others.
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
