"""A function of Python as an output: it is called with each batch of rows."""

from __future__ import annotations

from collections.abc import Callable

from lycosa.records import Outcomes
from lycosa.sink import Sink


class CalledSink(Sink):
    """Calls a function with outcomes, in the order of the log, on a thread of its own.

    What it does is not committed with the position: after a crash it is called again with what came after the last
    commit, a second of rows at most. A function may be called twice with a row; a ``Sink`` need not.
    """

    def __init__(self, function: Callable[[Outcomes], object]) -> None:
        """function: is called with batches that are not empty; what it returns does not matter."""
        name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        super().__init__(f"call://{name}")
        self._function = function

    def write(self, outcomes: Outcomes, position: int) -> None:
        """Call the function."""
        if len(outcomes) > 0:
            self._function(outcomes)
