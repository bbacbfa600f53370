"""``lycosa master``: admits downloads for services with quotas."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.dispatch.life import State
    from lycosa.dispatch.serving import Tls

DESCRIPTION = (
    "Decides which service may have how many URLs downloaded, and by which download server; it sees no URL and "
    "downloads nothing. Services and their quotas are in a TOML file, which SIGHUP reads again. Serial numbers and "
    "the key that signs grants are in the state directory, or in a PostgreSQL database that several masters share, "
    "of which one serves. Without tokens it serves this machine alone."
)

TOP = (
    "Shows what a master grants, updated every second. Rates are those of the last second. The token of download "
    "servers is read from the environment: LYCOSA_TOKEN."
)

#: Default address.
LISTEN = "127.0.0.1:7700"


def add_audit(parser: Any) -> None:
    """Add the option of the audit log."""
    parser.add_argument(
        "--audit",
        metavar="FILE",
        type=Path,
        help="append what was granted, submitted and refused to whom, as JSON lines (default: refusals are told)",
    )


def add_tls(parser: Any) -> None:
    """Add the options of TLS."""
    group = parser.add_argument_group("TLS")
    group.add_argument(
        "--tls-certificate", metavar="FILE", type=Path, help="certificate chain in PEM (default: no TLS)"
    )
    group.add_argument("--tls-key", metavar="FILE", type=Path, help="its key in PEM")
    group.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        type=Path,
        help="roots in PEM: peers must have a certificate of these (mutual TLS)",
    )


def tls_of(args: argparse.Namespace) -> Tls | None:
    """Return the TLS of the options; raises SettingError."""
    from lycosa.dispatch.serving import Tls
    from lycosa.errors import SettingError

    if args.tls_certificate is None:
        if args.tls_key is not None or args.tls_client_ca is not None:
            raise SettingError("--tls-certificate", "", "a file, with --tls-key or --tls-client-ca")
        return None
    if args.tls_key is None:
        raise SettingError("--tls-key", "", "the key of --tls-certificate")
    return Tls(args.tls_certificate, args.tls_key, args.tls_client_ca)


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser("master", help="admit downloads for services with quotas", description=DESCRIPTION)
    add = parser.add_argument
    add("--quotas", metavar="FILE", type=Path, help="services and their quotas (TOML)")
    add("--listen", metavar="ADDR:PORT", default=LISTEN, help=f"address (default {LISTEN})")
    add(
        "--state",
        metavar="DIR|URL",
        default="lycosa-master",
        help="state: a directory, or postgresql://USER@HOST/NAME, a database of the masters of which one serves; the "
        "password is better in PGPASSWORD or ~/.pgpass (default lycosa-master)",
    )
    add(
        "--period",
        metavar="S",
        type=float,
        default=1.0,
        help="seconds between two heartbeats of a download server (default 1)",
    )
    add(
        "--hold",
        metavar="S",
        type=float,
        default=30.0,
        help="seconds for which a download server goes on without its master, and after which its sites are "
        "another's (default 30)",
    )
    add(
        "--handover",
        metavar="S",
        type=float,
        default=1.0,
        help="pause of a site that gets another download server (default 1)",
    )
    add_audit(parser)
    add("--check", action="store_true", help="only check the quotas")
    add("--new-token", action="store_true", help="print a new token, and its digest for the quotas")
    add("-q", "--quiet", action="store_true", help="print only warnings and errors")
    add_tls(parser)
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(title="actions", metavar="top")
    top = actions.add_parser("top", help="what a running master grants", description=TOP)
    top.add_argument(
        "--master",
        metavar="URL",
        default=f"http://{LISTEN}",
        help=f"its URL; several, with commas, where some stand by (default http://{LISTEN})",
    )
    top.add_argument("--once", action="store_true", help="print once and end")
    top.add_argument("--json", action="store_true", help="print one JSON object per line and update")
    top.add_argument("--ca-file", metavar="FILE", type=Path, help="roots of its certificate (default: the system's)")
    top.set_defaults(run=run_top)


def run_top(args: argparse.Namespace) -> int:
    """Show until Ctrl-C, or once; returns the exit status."""
    from lycosa.cli import master_top

    return master_top.run(args)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it; returns the exit status."""
    from lycosa.cli.told import told
    from lycosa.dispatch import audit, loops
    from lycosa.dispatch.quotas import new_token, read_quotas
    from lycosa.errors import SettingError

    if args.new_token:
        token, digest = new_token()
        print(f"token, for the client: {token}\ndigest, for the quotas: {digest}")
        return 0
    if args.quotas is None:
        raise SettingError(
            "--quotas", "", "a TOML file with a table for each service, such as [services.news] and rate = 100"
        )
    for name, value, least in (
        ("--period", args.period, 0.05),
        ("--hold", args.hold, 1.0),
        ("--handover", args.handover, 0.0),
    ):
        if not least <= value <= 3_600:
            raise SettingError(name, value, f"{least:g} to 3600 seconds")
    quotas = read_quotas(args.quotas)
    if args.check:
        if not args.quiet:
            print(
                f"lycosa master: nothing is wrong with the quotas of {', '.join(sorted(quotas.services))}",
                file=sys.stderr,
            )
        return 0
    state = state_of(args.state)
    with told(quiet=args.quiet), audit.writing(args.audit):
        loops.run(_serve(args, state))
    return 0


def state_of(text: str) -> State:
    """Return where the state of ``--state`` is; raises SettingError, which does not show a URL's password."""
    from lycosa.dispatch.life import Directory
    from lycosa.errors import SettingError

    if "://" not in text:
        return Directory(Path(text))
    try:
        from lycosa.dispatch.standby import Database  # only where it is used
    except ImportError as error:
        allowed = f"a directory, or with the extra lycosa[postgres] a database ({error})"
        raise SettingError("--state", "postgresql://…", allowed) from None
    return Database(text)


def _stand_by() -> None:
    """Note that another master serves: to systemd this one runs, and quotas are read again once it serves."""
    from lycosa.cli.systemd import notify

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    notify("READY=1", "STATUS=standing by")


async def _serve(args: argparse.Namespace, state: State) -> None:
    """Serve until a signal ends it."""
    from lycosa.cli.signals import ending
    from lycosa.dispatch.master_server import run_master
    from lycosa.dispatch.quotas import read_quotas

    settings = {"period": args.period, "hold": args.hold, "handover": args.handover}
    running = run_master(
        lambda: read_quotas(args.quotas), args.listen, state, tls=tls_of(args), standing_by=_stand_by, **settings
    )
    async with running as (url, reload, _):
        if not args.quiet:
            print(f"lycosa master: listening on {url}", file=sys.stderr, flush=True)
        await ending(reload)
