"""``lycosa simnet``: runs a simulated Internet, or a command inside one, and prints its ledger's report."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from lycosa import _core
from lycosa import simnet as package
from lycosa.cli.simnet_require import REQUIRED, missed, parse_required
from lycosa.errors import LycosaError, SettingError
from lycosa.simnet import SimulatedInternet
from lycosa.simnet.render import print_report
from lycosa.simnet.trust import trusted_roots, trusting

DESCRIPTION = """\
Runs a simulated Internet: DNS, HTTP servers and pages derived from the seed, and a ledger of all that
was served.

Without COMMAND it runs until Ctrl-C or SIGTERM. With COMMAND it runs COMMAND against it, prints the
ledger's report and exits with COMMAND's status (128 + signal number if it was killed, 127 if it was not
found). With --require it exits with 1 if COMMAND succeeded, but the ledger does not meet the requirements.
In COMMAND's arguments
  {job} is replaced by the path of a job file for `lycosa crawl --job`,
  {seeds} by the path of a file with seed URLs, one per line,
  {resolver} by the address of the DNS server,
  {ca} by the path of a PEM file with the authority of its HTTPS hosts.

As root, both live in private mount and network namespaces with ports 53, 80 and 443, a resolv.conf and
trusted roots of their own: any program can crawl it unmodified, and nothing reaches the real network.
Otherwise, or with --no-namespace, high ports on loopback are used.
"""

EPILOG = """\
examples:
  lycosa simnet --hosts 2000 --pages 50 --seed 7 --speed 100 -- lycosa crawl --job {job} --fresh
  lycosa simnet --require coverage=1,violations=0 -- lycosa crawl --job {job} --fresh --quiet
  lycosa simnet --hosts 20 --pages 10 --ledger wget.ledger -- wget -r -l 3 -i {seeds}
  lycosa simnet report wget.ledger --violations
  lycosa simnet --https 0.5 --bad-certificates 0.1 --ipv6 0.3 -- curl -sS -L https://...

Profiles are files with comments on each key: {profiles}
Copy one, change it, and pass it as --profile FILE.toml.
"""

#: Default of a port: 53, 80 and 443 in private namespaces, any free one otherwise.
FREE_PORT = 0


def add_parser(subparsers: Any) -> None:
    """Register the sub-command."""
    parser = subparsers.add_parser(
        "simnet",
        help="a simulated Internet that judges crawlers",
        description=DESCRIPTION,
        epilog=EPILOG.replace("{profiles}", str(Path(package.__file__).parent / "profiles")),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--hosts", default=200, metavar="N", help="host names (default 200)")
    add("--pages", default=20, metavar="M", help="mean number of URLs per host (default 20)")
    add("--seed", default=1, metavar="S", help="seed from which everything is derived (default 1)")
    add(
        "--profile",
        default="lan",
        metavar="P",
        help="lan (default: no delays, no network or server failures), internet, hostile, or a file (FILE.toml); "
        "in each of them 0.5 %% of pages always return 500, 1 %% 404, and 2 %% redirect",
    )
    add("--speed", default=1.0, metavar="K", help="divide every delay by K (default 1)")
    add("--http-port", metavar="PORT", help="TCP port of all hosts (default: 80 or a free one)")
    add("--https-port", metavar="PORT", help="TCP port of HTTPS hosts (default: 443 or a free one)")
    add("--dns-port", metavar="PORT", help="port of the resolver (default: 53 or a free one)")
    add("--https", default=0.0, metavar="SHARE", help="share of hosts with HTTPS (default 0)")
    add("--bad-certificates", default=0.0, metavar="SHARE", help="share of those with a bad certificate (default 0)")
    add(
        "--ipv6",
        nargs="?",
        const=0.0,
        metavar="SHARE",
        help="serve IPv6, in private namespaces: for this share of hosts, or that of the profile (default: off)",
    )
    add(
        "--host-interval",
        default=1.0,
        metavar="SECONDS",
        help="required interval per host, before scaling, if robots.txt has no Crawl-delay (default 1)",
    )
    add(
        "--address-interval",
        default=0.25,
        metavar="SECONDS",
        help="required interval per address, before scaling (default 0.25)",
    )
    add("--agent", default="*", metavar="TOKEN", help="product token by which robots.txt is judged (default *)")
    add("--threads", default=1, metavar="N", help="server threads (default 1)")
    add("--no-namespace", action="store_true", help="use high ports on loopback even as root")
    add("--ledger", metavar="FILE", help="write the ledger to FILE; `lycosa simnet report FILE` reads it")
    add(
        "--require",
        metavar="NAME=N,…",
        help=f"requirements for exit status 0: {', '.join(REQUIRED)}; coverage is a minimum, others are maxima",
    )
    add("--report", metavar="FILE", help="write the ledger's report to FILE as JSON")
    add("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="a program and its arguments")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the simulated Internet; returns the exit status."""
    try:
        return _run(args)
    except SettingError as error:
        # Names the settings as they were typed.
        print(f"lycosa simnet: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        # Before there is anything to stop or to report.
        return 130
    except (LycosaError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        print(f"lycosa simnet: {reason}", file=sys.stderr)
        return 1


def _run(args: argparse.Namespace) -> int:
    """:func:`run`, with errors as exceptions."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.command[:1] == ["report"]:
        raise SettingError("report", "after other options", "lycosa simnet report LEDGER, or -- report for a program")
    report_file, required = _writable(args.report), parse_required(args.require)
    private = os.geteuid() == 0 and not args.no_namespace
    net = SimulatedInternet(
        hosts=_whole("hosts", args.hosts),
        pages=_whole("pages", args.pages),
        seed=_whole("seed", args.seed),
        profile=args.profile,
        speed=_real("speed", args.speed),
        http_port=_whole("http_port", args.http_port or (80 if private else FREE_PORT)),
        https_port=_whole("https_port", args.https_port or (443 if private else FREE_PORT)),
        dns_port=_whole("dns_port", args.dns_port or (53 if private else FREE_PORT)),
        https=_real("https", args.https),
        bad_certificates=_real("bad_certificates", args.bad_certificates),
        ipv6=args.ipv6 is not None,
        ipv6_share=_real("ipv6", args.ipv6 or 0.0),
        host_interval=_real("host_interval", args.host_interval),
        address_interval=_real("address_interval", args.address_interval),
        threads=_whole("threads", args.threads),
        agent=args.agent,
        ledger=args.ledger,
    )
    if command and shutil.which(command[0]) is None:
        print(f"lycosa simnet: COMMAND = {command[0]!r}: allowed: a program in PATH", file=sys.stderr)
        return 127
    _raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="lycosa-simnet-") as folder:
        if private:
            _enter_namespaces(Path(folder), net)
        with net:
            job, seeds = net.job_file(), net.seed_file()
            if command:
                places = {
                    "{job}": str(job),
                    "{seeds}": str(seeds),
                    "{resolver}": net.resolver,
                    "{ca}": str(net.ca_file),
                }
                status = _run_command([_fill(argument, places) for argument in command], private)
            else:
                with _stop_signals() as wait:
                    print(f"resolver   {net.resolver}")
                    print(f"HTTP port  {net.http_port}")
                    print(f"seed file  {seeds}")
                    print(f"job file   {job}")
                    if net.https:
                        print(f"HTTPS port {net.https_port}")
                        print(f"CA file    {net.ca_file}")
                    print("Ctrl-C stops it and prints the report.", flush=True)
                    wait()
                status = 0
        report = net.report()
    sys.stdout.flush()
    print_report(report)
    if report_file is not None:
        report_file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if command and not report["totals"]["requests"]:
        print(f"lycosa simnet: {_why_nothing(command, private)}", file=sys.stderr)
    for problem in (problems := missed(required, report)):
        print(f"lycosa simnet: {problem}", file=sys.stderr)
    return status or int(bool(problems))


def _why_nothing(command: list[str], private: bool) -> str:
    """Return the likely reason why a command made no request."""
    if not private and not any("{resolver}" in part or "{job}" in part for part in command):
        return (
            "COMMAND made no request: outside private namespaces it has to ask the resolver at {resolver} and the "
            "ports in the URLs of {seeds}; as root, without --no-namespace, any program can"
        )
    return "COMMAND made no request; a crawl that has finished fetches nothing: lycosa crawl --fresh starts over"


def _run_command(command: list[str], private: bool) -> int:
    """Run a command to its end, in private namespaces with their trusted roots.

    Ctrl-C reaches it through the process group; SIGTERM is forwarded.
    """
    with contextlib.ExitStack() as stack:
        # Python handlers, unlike SIG_IGN, are not inherited by the command.
        process: subprocess.Popen[bytes] | None = None

        def pass_on(number: int, frame: FrameType | None) -> None:
            if process is not None:
                process.send_signal(number)

        stack.enter_context(_handled(signal.SIGINT, lambda number, frame: None))
        stack.enter_context(_handled(signal.SIGTERM, pass_on))
        process = subprocess.Popen(command, env=trusting(os.environ) if private else None)
        status = process.wait()
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def _stop_signals() -> Iterator[Callable[[], object]]:
    """Yield a function that waits for SIGINT or SIGTERM.

    Not an Event: a handler that sets one while its own thread is about to wait for it deadlocks on its lock.
    """
    receive, send = socket.socketpair()
    send.setblocking(False)
    with (
        receive,
        send,
        _handled(signal.SIGINT, lambda number, frame: None),
        _handled(signal.SIGTERM, lambda number, frame: None),
    ):
        before = signal.set_wakeup_fd(send.fileno())
        try:
            yield lambda: receive.recv(1)
        finally:
            signal.set_wakeup_fd(before)


@contextlib.contextmanager
def _handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Handle a signal within the context."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def _enter_namespaces(folder: Path, net: SimulatedInternet) -> None:
    """Move this process to namespaces with free ports, and the simulated Internet's names and certificates."""
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.1\n", encoding="ascii")
    # Other name services, such as systemd's, would answer from the real network.
    switch = folder / "nsswitch.conf"
    lines = ["hosts: files dns"]
    with contextlib.suppress(OSError):
        text = Path("/etc/nsswitch.conf").read_text(encoding="utf-8", errors="replace")
        lines += [line for line in text.splitlines() if not line.lstrip().startswith("hosts:")]
    switch.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for file in (resolver, switch):
        file.chmod(0o644)
    files = [(str(resolver), "/etc/resolv.conf"), (str(switch), "/etc/nsswitch.conf")]
    if net.https:
        files += trusted_roots(folder, net.authority)
    _core.enter_private_namespaces(files, net.ipv6)


def _writable(name: str | None) -> Path | None:
    """Return the report's path after checking that it can be written; writes nothing."""
    if name is None:
        return None
    path = Path(name).absolute()
    exists = path.exists()
    if path.is_dir() or not os.access(path if exists else path.parent, os.W_OK):
        raise SettingError("report", name, "a file that can be written")
    return path


def _raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _fill(argument: str, places: dict[str, str]) -> str:
    """Return an argument of the command with its placeholders replaced."""
    for place, value in places.items():
        argument = argument.replace(place, value)
    return argument


def _whole(name: str, value: int | str) -> int:
    """Parse a whole number. Not by argparse, whose errors take several lines and do not say what is allowed."""
    try:
        return int(value)
    except ValueError:
        raise SettingError(name, value, "a whole number") from None


def _real(name: str, value: float | str) -> float:
    """Parse a number."""
    try:
        return float(value)
    except ValueError:
        raise SettingError(name, value, "a number") from None
