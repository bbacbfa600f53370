"""What is told of proxies: each message once, and of many of a kind the first few."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence

logger = logging.getLogger("lycosa")

#: Messages of a kind that are told, and messages that are remembered: lists come from strangers.
TOLD, REMEMBERED = 5, 1_000


class Teller:
    """Logs each message once, as long as it remembers it."""

    def __init__(self) -> None:
        """Nothing was told."""
        self._told: OrderedDict[str, None] = OrderedDict()

    def __call__(self, message: str) -> None:
        """Log a message once."""
        if message not in self._told:
            logger.warning("%s", message)
        self._told[message] = None
        self._told.move_to_end(message)
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)


def first_of(messages: Sequence[str], count: int, more: str) -> list[str]:
    """Return the first messages, and one of how many more there are. count: of all. more: what those are."""
    first = list(messages[:TOLD])
    return [*first, f"{count - len(first):,} more {more}"] if count > len(first) else first
