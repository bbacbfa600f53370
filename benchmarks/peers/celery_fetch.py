"""A queue of fetch tasks on Celery and Redis: the application of its workers, and a client of it.

Workers: ``celery -A benchmarks.peers.celery_fetch worker``. Client: ``python -m … FILE BATCH``; its last line is what
it gathered, in JSON, without its own start. The environment has Redis' URL: ``CELERY_FETCH_REDIS``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from celery import Celery
from celery.result import ResultSet
from celery.signals import worker_ready

REDIS = os.environ.get("CELERY_FETCH_REDIS", "")

#: Each setting costs less than its default, or the same.
app: Any = Celery("celery_fetch", broker=REDIS, backend=REDIS)
app.conf.update(
    task_serializer="json",
    result_serializer="pickle",  # bodies are bytes: JSON would have them in base64
    accept_content=["json"],
    result_accept_content=["pickle"],
    result_expires=None,
    task_acks_late=False,
    task_track_started=False,
    task_send_sent_event=False,
    worker_send_task_events=False,
    worker_prefetch_multiplier=16,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    redis_socket_keepalive=True,
)

#: Made before what is counted: no look at proxies in the environment, no certificates, no decoding.
_client = httpx.Client(trust_env=False, verify=False, timeout=30, headers={"Accept-Encoding": "identity"})  # noqa: S501


def _fetch(urls: list[str]) -> list[bytes]:
    """Fetch URLs, and return their bodies; a worker keeps its connection."""
    bodies = []
    for url in urls:
        response = _client.get(url)
        response.raise_for_status()
        bodies.append(response.content)
    return bodies


fetch = app.task(name="fetch", ignore_result=False)(_fetch)


def _tell(**_: Any) -> None:
    """Tell that a worker is ready; the log says so only together with each task."""
    print("worker ready", file=sys.stderr, flush=True)


worker_ready.connect(_tell)


def gather(urls: list[str], batch: int) -> dict[str, float]:
    """Enqueue all URLs, so many a task, and gather their bodies; returns what it cost."""
    begin, began = time.process_time(), time.monotonic()
    bodies: dict[str, bytes] = {}
    asked: dict[str, list[str]] = {}
    with app.producer_pool.acquire(block=True) as producer:
        sent = []
        for first in range(0, len(urls), batch):
            part = urls[first : first + batch]
            result = fetch.apply_async((part,), producer=producer)
            asked[result.id] = part
            sent.append(result)
    for name, told in ResultSet(sent).iter_native(timeout=120):
        if told["status"] != "SUCCESS":
            raise SystemExit(f"a task failed: {told['result']!r}")
        bodies.update(zip(asked[name], told["result"], strict=True))
    return {
        "pages": len(bodies),
        "bytes": sum(map(len, bodies.values())),
        "cpu": time.process_time() - begin,
        "wall": time.monotonic() - began,
    }


def main() -> None:
    """Run the client."""
    file, batch = sys.argv[1:]
    print(json.dumps(gather(Path(file).read_text().split(), int(batch))))


if __name__ == "__main__":
    main()
