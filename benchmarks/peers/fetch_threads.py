"""One thread and one connection for each request in flight, as published: ``URL THREADS REQUESTS-OF-EACH``."""

from __future__ import annotations

import http.client
import sys
import threading
from urllib.parse import urlsplit


def main() -> None:
    """Run the threads."""
    url, threads, each = urlsplit(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    made: list[int] = []

    def work() -> None:
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=60)
        for _ in range(each):
            connection.request("GET", url.path or "/")
            response = connection.getresponse()
            if response.status != 200:
                raise SystemExit(f"status {response.status}")
            response.read()
            made.append(1)
        connection.close()

    all_threads = [threading.Thread(target=work) for _ in range(threads)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    if len(made) != threads * each:
        raise SystemExit(f"{len(made)} of {threads * each} succeeded")
    print(f"{len(made)} responses")


if __name__ == "__main__":
    main()
