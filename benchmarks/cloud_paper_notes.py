"""What the `cloud_paper` benchmark says beside its figures: what was published, how each factor is made."""

from __future__ import annotations

from benchmarks.report import Peer

#: Pages a minute, as published: a machine of 24 cores and 32 GB, one of three.
PUBLISHED_MACHINE = 4_699


def peers() -> list[Peer]:
    """Describe the published system, and the foreign structure in the crawl."""
    published = (
        "published in 2017: 3 machines × 24 cores × 32 GB, seed hao123.com, 6 hours, over 5 million pages: "
        f"14,099 pages/min in all, {PUBLISHED_MACHINE:,} a machine; tree about 30 × as fast as the plain hash-table "
        "method, not noticeably slower than a Bloom filter"
    )
    return [
        Peer("published system", None, published, "no program was published: its figures are from other hardware"),
        Peer.package("Bloom filter", ["rbloom"], "room for 1 million URLs from the start, 0.1 % false positives"),
    ]


def notes(seconds: int) -> list[str]:
    """Describe the set-up, each factor, and what the figures cannot show."""
    texts = [
        f"""each crawl: {seconds} s, its start included, from the same seeds in a new simulated Internet: profile
        internet, time unscaled (a host's delay: median 120 ms; a DNS answer's: 60 ms, 1 % lost); 100 requests at a
        time, as published; no intervals between requests to a site and no robots.txt, since our account of the
        publication (SYSTEMS.md) has neither""",
        """full: all embedded stages; names are resolved before their hosts' turn, known URLs are in the MD5 tree""",
        """full, links through Python: the control of the next two; a parse stage takes the links of each page into
        Python and gives all of them back""",
        """hash table of URLs, Bloom filter: there the stage drops the links that a Python set of whole URLs (in
        memory: the plain hash table), or rbloom's filter, knows. The tree cannot be taken out of the frontier: it
        looks only at what they let pass. A URL that the filter takes for known is never crawled""",
        """no DNS optimiser: the frontier has addresses from a hosts file and asks nothing; each request, in its slot,
        asks the DNS server by a blocking socket without a cache, as getaddrinfo does (A only; 5 s and two tries, as
        resolv.conf(5) has it), on a thread for each slot, so that no question queues for a thread; then the embedded
        fetch sends it. A silent name (3 %) takes its slot 10 s. No server behind the resolver caches: each question
        has a delay of its own, which a site's resolver with a cache would spare this variant in part""",
        """blocking: Python's http.client, connections kept, one request at a time for each thread. 24 threads are one
        for each core of a published machine, the number is ours; 100 threads have as many requests under way
        as the full system, so that only threads are compared with asynchronous I/O. unoptimised: hash table of URLs,
        no DNS optimiser and 24 blocking threads at once""",
        """what limits pages a minute here is requests at a time ÷ time of a request, not the CPU: dedup makes no
        difference to it, only to CPU a page, and two cores suffice. 24 blocking threads are slower mostly since they
        are fewer than 100 requests. SYSTEMS.md has no published number of a single factor over time: only the
        totals, the 30 × and the Bloom filter can be compared""",
    ]
    return [" ".join(text.split()) for text in texts]
