"""A simulated Internet as a test double: real sockets and DNS packets, realistic pages, a ledger that judges.

>>> with SimulatedInternet(hosts=20, pages=5, seed=1, speed=100) as net:  # doctest: +SKIP
...     crawl_with(net.resolver, net.seeds)
...     assert net.report()["coverage"]["ratio"] == 1.0

A seed determines everything, byte for byte. The fields of the report are documented in
``crates/simnet/src/report.rs``.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from lycosa import _core
from lycosa.errors import SettingError
from lycosa.simnet.ledger import Ledger

__all__ = ["USER_AGENT", "Ledger", "SimulatedInternet", "Trouble"]

#: User agent of the generated job.
USER_AGENT = "lycosa-simnet/0.1 (+http://localhost/)"

#: Failures that can be simulated; :class:`SimulatedInternet` documents each.
Trouble = Literal[
    "resolver-silent",
    "resolver-servfail",
    "resolver-nxdomain",
    "resolver-refused",
    "uplink-refused",
    "uplink-black-hole",
    "uplink-broken",
    "uplink-silent",
    "captive",
    "captive-redirect",
    "captive-varied",
    "captive-refusal",
    "loss",
    "robots-unavailable",
]

#: The number of addresses for hosts in 127.1.0.0 to 127.254.255.255.
MAX_HOSTS = 254 * 256 * 254


class SimulatedInternet:
    """Starts on entry, stops on exit; the report can be read afterwards.

    hosts: host names, 1 to 16,516,096; default 200.
    pages: mean number of URLs per host, 1 to 100,000; default 20.
    seed: 0 to 2**64 - 1; default 1.
    profile: behaviour of the world: ``"lan"`` (no delays, no failures of names, networks or servers), ``"internet"``,
        ``"hostile"``, or the path of a file that ends in ``.toml``; the known ones are in ``profiles/`` as examples.
        In each of them 0.5 % of pages always return 500, 1 % return 404, and 2 % redirect.
    speed: divides every delay, above 0 to 1,000,000; default 1.
    http_port, https_port, dns_port: 0 (default) picks a free port. DNS listens on 127.0.0.1, the others on
        each host's address.
    https: share of hosts with ``https`` URLs, 0 to 1; default 0. Their authority is :attr:`ca_file`.
    bad_certificates: share of those hosts with one of six kinds of bad certificates, 0 to 0.75; default 0.
    ipv6: whether hosts are also served on IPv6, by the profile's shares; default False. Only in private namespaces.
    ipv6_share: share of hosts with both address families instead, 0 to 1; default 0: the profile's shares.
    host_interval: required seconds (unscaled) between requests to a host without Crawl-delay; default 1.
    address_interval: required seconds (unscaled) between requests to an address; default 0.25.
    threads: server threads, 1 to 64; default 1.
    agent: the product token by which robots.txt is judged; default ``"*"``.
    ledger: the file of the ledger, for :class:`Ledger`; without one it stays in memory.

    While it runs, :meth:`trouble` and :meth:`calm` start and end failures, of several kinds at once, from any thread:

    - ``resolver-silent``: no answers, over UDP and TCP; ``resolver-servfail``: only SERVFAIL;
      ``resolver-nxdomain``: only NXDOMAIN; ``resolver-refused``: its ports are closed (ICMP port unreachable,
      a reset over TCP).
    - ``uplink-refused``: the kernel refuses connections to hosts, established ones are reset; ``uplink-black-hole``:
      connection attempts get no answer, established connections fall silent; ``uplink-broken``: connections are reset
      when a request has arrived; ``uplink-silent``: requests get no response.
    - ``captive``: every name resolves to one address, every request gets the same login page; ``captive-redirect``:
      each is redirected (302) there; ``captive-varied``: the page contains the URL and a number;
      ``captive-refusal``: names resolve to their hosts, and a middlebox refuses every request (403). The ledger
      records them as kind ``captive``, without coverage. TLS handshakes fail, since the portal has no valid
      certificate.
    - ``loss``: a share of DNS datagrams and of connection attempts (each SYN) is lost.
    - ``robots-unavailable``: every robots.txt returns 503.

    A request without a response because of a failure is in the ledger with status 0: it counts for intervals, not for
    coverage and repeats. A robots.txt that cannot be fetched forbids its host's pages until it can.
    """

    def __init__(
        self,
        *,
        hosts: int = 200,
        pages: int = 20,
        seed: int = 1,
        profile: str = "lan",
        speed: float = 1.0,
        http_port: int = 0,
        https_port: int = 0,
        dns_port: int = 0,
        https: float = 0.0,
        bad_certificates: float = 0.0,
        ipv6: bool = False,
        ipv6_share: float = 0.0,
        host_interval: float = 1.0,
        address_interval: float = 0.25,
        threads: int = 1,
        agent: str = "*",
        ledger: Path | str | None = None,
    ) -> None:
        """Check every setting; open nothing yet."""
        # Values that do not fit the core's integers cannot be checked there.
        _check_integer("hosts", hosts, 1, MAX_HOSTS)
        _check_integer("pages", pages, 1, 100_000)
        _check_integer("seed", seed, 0, 2**64 - 1)
        _check_integer("http_port", http_port, 0, 65_535)
        _check_integer("https_port", https_port, 0, 65_535)
        _check_integer("dns_port", dns_port, 0, 65_535)
        _check_integer("threads", threads, 1, 64)
        self.speed, self.https, self.ipv6 = speed, https, ipv6
        self._core = _core.Simnet(
            hosts=hosts,
            pages=pages,
            seed=seed,
            profile=profile,
            speed=speed,
            http_port=http_port,
            https_port=https_port,
            dns_port=dns_port,
            https=https,
            bad_certificates=bad_certificates,
            ipv6=ipv6,
            ipv6_share=ipv6_share,
            host_interval=host_interval,
            address_interval=address_interval,
            threads=threads,
            agent=agent,
            ledger=ledger,
        )
        self._folder: Path | None = None

    def start(self) -> None:
        """Build the world, open the ports, serve."""
        self._core.start()

    def stop(self) -> None:
        """Close all connections and ports, remove the temporary files."""
        self._core.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()

    @property
    def resolver(self) -> str:
        """The DNS server, ``127.0.0.1:PORT``, UDP and TCP."""
        return self._core.resolver

    @property
    def http_port(self) -> int:
        """The TCP port of HTTP on every host's address."""
        return self._core.http_port

    @property
    def https_port(self) -> int:
        """The TCP port of HTTPS on every host's address; 0 if no host has HTTPS."""
        return self._core.https_port

    @property
    def authority(self) -> str:
        """The root certificate of all good hosts, PEM; available before the start: it is derived from the seed.

        The seed determines its private key: it must be trusted inside a simulation only.
        """
        return self._core.authority

    @property
    def ca_file(self) -> Path:
        """A temporary file with :attr:`authority`, removed with this Internet."""
        path = self._temporary("ca.pem")
        if not path.exists():
            path.write_text(self.authority, encoding="ascii")
        return path

    @property
    def seeds(self) -> list[str]:
        """URLs from which everything can be reached."""
        return self._core.seeds

    @property
    def hosts(self) -> dict[str, str]:
        """Each host's name and address."""
        return dict(self._core.hosts)

    @property
    def certificates(self) -> dict[str, str]:
        """Each HTTPS host's name and the kind of its certificate.

        One of ``good``, ``expired``, ``not_yet_valid``, ``wrong_name``, ``self_signed``, ``unknown_authority`` and
        ``incomplete`` (the intermediate certificate is not sent).
        """
        return dict(self._core.certificates)

    def trouble(self, trouble: Trouble, *, hosts: Iterable[str] | None = None, share: float = 0.5) -> None:
        """Start a failure; it is active when this returns. For an active one, change hosts and share.

        hosts: the affected hosts; default: all, including names that do not exist. ``uplink-refused``,
            ``uplink-black-hole`` and ``loss`` of connections affect the hosts' addresses, with all other hosts there
            (the latter two at most some 1,000 addresses); ``resolver-refused`` affects all.
        share: share of packets that ``loss`` drops, 0 to 1.

        Raises SettingError for an unknown failure or host, OSError if the system does not support it.
        """
        self._core.trouble(trouble, hosts=None if hosts is None else list(hosts), share=share)

    def calm(self, trouble: Trouble | None = None) -> None:
        """End a failure, or all; it has ended when this returns."""
        self._core.calm(trouble)

    def report(self, without: Iterable[str] = ()) -> dict[str, Any]:
        """Return the ledger's report so far.

        without: hosts whose pages are excluded from coverage, such as permanently failing ones. Pages that only they
            link to count.
        """
        report: dict[str, Any] = json.loads(self._core.report(list(without)))
        return report

    def model(self) -> dict[str, Any]:
        """Return the model, quantiles of its delays, and counts of names (``crates/simnet/src/figures.rs``)."""
        model: dict[str, Any] = json.loads(self._core.model())
        return model

    def job(self) -> str:
        """Return a job (TOML) that crawls this Internet: it allows loopback addresses."""
        seeds = "".join(f"    {json.dumps(url)},\n" for url in self.seeds)
        networks = ["127.0.0.0/8", "fd00::/64"] if self.ipv6 else ["127.0.0.0/8"]
        fetch = f"\n[fetch]\nca_file = {json.dumps(str(self.ca_file))}\n" if self.https else ""
        return (
            f"seeds = [\n{seeds}]\n"
            'scope = "any"\n'
            f"speed = {float(self.speed)!r}\n"
            f"allow_addresses = {json.dumps(networks)}\n"
            f"user_agent = {json.dumps(USER_AGENT)}\n"
            # The ledger judges every address alike, however many domains it has.
            "\n[politeness]\n"
            "address_domains = 1\n"
            "\n[names]\n"
            f"resolvers = [{json.dumps(self.resolver)}]\n"
            f"{fetch}"
        )

    def job_file(self, path: Path | str | None = None) -> Path:
        """Write :meth:`job` to a file; without a path, to a temporary one that is removed with this Internet."""
        target = self._temporary("job.toml") if path is None else Path(path)
        target.write_text(self.job(), encoding="utf-8")
        return target

    def seed_file(self, path: Path | str | None = None) -> Path:
        """Write :attr:`seeds` to a file, one per line; without a path, to a temporary one as :meth:`job_file`."""
        target = self._temporary("seeds.txt") if path is None else Path(path)
        target.write_text("".join(f"{url}\n" for url in self.seeds), encoding="utf-8")
        return target

    def _temporary(self, name: str) -> Path:
        """Return a path in this Internet's own temporary folder."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="lycosa-simnet-"))
        return self._folder / name


def _check_integer(name: str, value: int, least: int, most: int) -> None:
    """Raise SettingError unless the value is an integer within its bounds."""
    if not isinstance(value, int) or not least <= value <= most:
        raise SettingError(name, value, f"{least} to {most}")
