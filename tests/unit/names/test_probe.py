"""Whether servers answer at all, before names are resolved."""

from __future__ import annotations

import socket
import threading

from lycosa.names.probe import silent


def test_where_udp_is_blocked_servers_are_asked_over_tcp_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_server(("127.0.0.1", 0)) as closing:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                length = int.from_bytes(connection.recv(2))
                question = connection.recv(length)
                reply = question[:2] + b"\x81\x80" + question[4:]
                connection.sendall(len(reply).to_bytes(2) + reply)

        def close() -> None:
            closing.accept()[0].close()

        threads = [threading.Thread(target=answer), threading.Thread(target=close)]
        for thread in threads:
            thread.start()
        good, bad = (f"127.0.0.1:{server.getsockname()[1]}" for server in (listener, closing))
        found = silent([good, bad], within=5.0, tcp_only=True)
        for thread in threads:
            thread.join()
    assert list(found) == [bad]
    assert found[bad]
