"""A model of a crawl on more cores than this machine has: exact mean value analysis of a closed queueing network.

It is a model, fed with costs that were measured on this machine. Each lane works alone for the time of its own work
on a page, then needs the one part that all lanes share, the lock of the log, one lane after the other. Service times
are taken as exponential, which overstates the waiting of nearly constant ones. What it leaves out: memory bandwidth
and caches that cores share, the network, disks that are slower than the log.
"""

from __future__ import annotations


def pages_per_second(lanes: int, alone: float, locked: float) -> float:
    """Throughput of so many lanes, each on a core of its own.

    alone: seconds of a lane's own work on a page. locked: seconds of it that hold the shared lock. Reiser and
    Lavenberg, Mean-Value Analysis of Closed Multichain Queuing Networks, J. ACM 27(2), 1980.
    """
    waiting, throughput = 0.0, 0.0
    for number in range(1, lanes + 1):
        response = locked * (1 + waiting)
        throughput = number / (alone + response)
        waiting = throughput * response
    return throughput
