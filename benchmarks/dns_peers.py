"""Other caching DNS servers, each with the best settings for one thread and 100,000 names in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.dns_servers import Recipe, debian_version
from benchmarks.report import Peer

MEGA = 1 << 20
NAMES = 500_000  # that a cache must have room for, twice what is asked for
TTL = 86_400  # s; nothing expires while it is measured
UNDER_WAY = 5_000  # questions to the upstream at a time


def unbound(upstream: str, *, validate: bool = False) -> Recipe:
    """Unbound as a forwarder."""
    module = "validator iterator" if validate else "iterator"

    def prepare(folder: Path, port: int) -> Sequence[str]:
        return _with_file(folder, "unbound.conf", _UNBOUND.format(
            folder=folder, port=port, module=module, upstream=upstream.replace(":", "@"),
            messages=256 * MEGA, records=512 * MEGA, under_way=UNDER_WAY,
        ), "-d", "-p", "-c")  # fmt: skip

    return Recipe("Unbound", "unbound", "unbound", prepare)


def knot_resolver(upstream: str) -> Recipe:
    """Knot Resolver, one instance, without validation."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        text = _KRESD.format(folder=folder, port=port, upstream=upstream.replace(":", "@"), size=512 * MEGA)
        return [*_with_file(folder, "kresd.conf", text, "-n", "-q", "-c"), str(folder)]

    return Recipe("Knot Resolver", "kresd", "knot-resolver", prepare)


def recursor(upstream: str) -> Recipe:
    """PowerDNS Recursor, one thread that receives and answers, without validation."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        text = _RECURSOR.format(
            folder=folder, port=port, upstream=upstream, names=NAMES, ttl=TTL, under_way=UNDER_WAY
        )
        (folder / "recursor.conf").write_text(text)
        return [f"--config-dir={folder}"]

    return Recipe("PowerDNS Recursor", "pdns_recursor", "pdns-recursor", prepare)


def dnsdist(upstream: str) -> Recipe:
    """A dnsdist with a packet cache in front of the upstream itself."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        text = _DNSDIST.format(port=port, upstream=upstream, names=NAMES, ttl=TTL)
        return _with_file(folder, "dnsdist.conf", text, "--supervised", "--disable-syslog", "-C")

    return Recipe("dnsdist", "dnsdist", "dnsdist", prepare)


def dnsmasq(upstream: str, *, names: int = NAMES) -> Recipe:
    """Dnsmasq with a cache for so many names, which it allocates at its start."""

    def prepare(folder: Path, port: int) -> Sequence[str]:
        text = _DNSMASQ.format(port=port, upstream=upstream.replace(":", "#"), names=names, under_way=UNDER_WAY)
        return _with_file(folder, "dnsmasq.conf", text, "--keep-in-foreground", "-C")

    return Recipe("dnsmasq", "dnsmasq", "dnsmasq-base", prepare)


#: What they are set to, in words.
SETTINGS = {
    "Unbound": "num-threads 1, so-reuseport, buffers 4 MB, msg-cache 256 MB, rrset-cache 512 MB, minimal-responses, "
    "module-config iterator",
    "Knot Resolver": "1 instance, cache of 512 MB on tmpfs (where there is one), no trust anchors, FORWARD "
    "policy (STUB would keep whole packets for 5 s only), modules that are not needed unloaded",
    "PowerDNS Recursor": "threads 1, reuseport, pdns-distributes-queries off, dnssec off, room for "
    f"{NAMES:,} packets and records",
    "dnsdist": f"1 socket with reusePort, recvmmsg of 64, packet cache for {NAMES:,}, no health checks",
    "dnsmasq": f"cache-size {NAMES:,}, {UNDER_WAY:,} questions under way",
}

#: All of them.
PEERS: tuple[Callable[[str], Recipe], ...] = (unbound, knot_resolver, recursor, dnsdist, dnsmasq)


def described(recipe: Recipe) -> Peer:
    """Describe one for a report, with the reason if it cannot take part."""
    missing = None if recipe.found else f"not installed: apt-get install {recipe.package}"
    return Peer(recipe.name, debian_version(recipe.package), SETTINGS[recipe.name], missing)


def _with_file(folder: Path, name: str, text: str, *arguments: str) -> list[str]:
    """Write a configuration; returns the arguments followed by its path."""
    (folder / name).write_text(text)
    return [*arguments, str(folder / name)]


_UNBOUND = """
server:
    directory: "{folder}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    interface: 127.0.0.1
    port: {port}
    do-ip6: no
    num-threads: 1
    so-reuseport: yes
    so-rcvbuf: 4m
    so-sndbuf: 4m
    outgoing-range: 16384
    num-queries-per-thread: {under_way}
    msg-cache-size: {messages}
    rrset-cache-size: {records}
    minimal-responses: yes
    module-config: "{module}"
    do-not-query-localhost: no
    access-control: 127.0.0.0/8 allow
forward-zone:
    name: "."
    forward-addr: {upstream}
remote-control:
    control-enable: no
"""

_KRESD = """
log_level('err')
net.listen('127.0.0.1', {port}, {{ kind = 'dns' }})
net.ipv6 = false
for _, name in ipairs({{ 'ta_update', 'ta_signal_query', 'ta_sentinel', 'priming', 'detect_time_skew',
        'detect_time_jump', 'edns_keepalive' }}) do
    pcall(modules.unload, name)
end
trust_anchors.remove('.')
cache.open({size}, 'lmdb://{folder}/cache')
policy.add(policy.all(policy.FORWARD({{ '{upstream}' }})))
"""

_RECURSOR = """
daemon=no
disable-syslog=yes
quiet=yes
loglevel=3
socket-dir={folder}
setuid=
setgid=
local-address=127.0.0.1
local-port={port}
allow-from=127.0.0.0/8
dont-query=
forward-zones-recurse=.={upstream}
threads=1
pdns-distributes-queries=no
reuseport=yes
dnssec=off
max-mthreads={under_way}
max-cache-entries={names}
max-packetcache-entries={names}
packetcache-ttl={ttl}
security-poll-suffix=
export-etc-hosts=no
statistics-interval=0
"""

_DNSDIST = """
setLocal('127.0.0.1:{port}', {{ reusePort = true }})
setSecurityPollSuffix('')
setUDPMultipleMessagesVectorSize(64)
setMaxUDPOutstanding(65535)
newServer({{ address = '{upstream}', healthCheckMode = 'up', sockets = 8 }})
getPool(''):setCache(newPacketCache({names}, {{ maxTTL = {ttl} }}))
"""

_DNSMASQ = """
port={port}
listen-address=127.0.0.1
bind-interfaces
user=root
pid-file=
no-resolv
no-hosts
no-poll
server={upstream}
cache-size={names}
dns-forward-max={under_way}
"""
