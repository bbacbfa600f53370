"""Stages of one's own, checked where they meet the others: a wrong shape is told by stage, method and expectation.

A crawl that meets one ends as by any error: what is recorded is kept, what is in flight waits, and the same directory
goes on with it once the stage is mended.
"""

from __future__ import annotations

from typing import Any

from lycosa.errors import LycosaError, SettingError, StageError
from lycosa.records import Outcomes, Requests, Responses
from lycosa.stages import Stages

#: What the methods that the loop calls give.
SHAPES: dict[str, dict[str, tuple[type | None, ...]]] = {
    "frontier": {
        "take": (Requests,),
        "judge": (Outcomes,),
        "done": (None,),
        "idle": (bool,),
        "wait": (float, int),
        "counts": (dict,),
    },
    "fetch": {"free": (int,), "in_flight": (int,), "submit": (None,), "completed": (Responses,), "cancel": (None,)},
    "parse": {"parse": (Outcomes,)},
    "log": {"append": (None,), "append_leases": (None,), "append_seeds": (None,), "sync": (None,), "end": (int,)},
}


def checked(stage: object, method: str, given: Any, *allowed: type | None) -> Any:
    """What a stage's method gave, if it is of an allowed type; raises StageError otherwise."""
    if given is None and None in allowed:
        return given
    types = tuple(kind for kind in allowed if kind is not None)
    # True is an int, and never meant as one.
    if isinstance(given, types) and (not isinstance(given, bool) or bool in allowed):
        return given
    names = " or ".join("None" if kind is None else kind.__name__ for kind in allowed)
    found = "None" if given is None else type(given).__name__
    raise StageError(type(stage).__name__, method, f"gave {found}", names)


class CheckedStage:
    """A stage whose methods are checked; all else is the stage's own."""

    def __init__(self, name: str, stage: Any) -> None:
        """name: which of the stages it is."""
        self._name, self._stage = name, stage
        for method in SHAPES[name]:
            if not callable(getattr(stage, method, None)):
                raise StageError(type(stage).__name__, method, "is missing", f"a method {method}")

    def __getattr__(self, method: str) -> Any:
        """A method of the stage, checked where the loop calls it."""
        found, allowed = getattr(self._stage, method), SHAPES[self._name].get(method)
        if allowed is None:
            return found

        def call(*arguments: Any) -> Any:
            try:
                given = found(*arguments)
            except Exception as error:
                if isinstance(error, LycosaError) and not isinstance(error, SettingError):
                    raise
                notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
                told = f"raised {type(error).__name__}: {error}{notes}"
                raise StageError(type(self._stage).__name__, method, told) from error
            return checked(self._stage, method, given, *allowed)

        setattr(self, method, call)
        return call


class CheckedFetch(CheckedStage):
    """A fetch beside which it is noted who waits for an answer."""

    def __init__(self, name: str, stage: Any) -> None:
        """Nothing is in flight."""
        super().__init__(name, stage)
        self.waiting: dict[int, str] = {}

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        self.waiting.update((request.lease, request.url) for request in requests)
        self.__getattr__("submit")(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Give what is complete."""
        responses: Responses = self.__getattr__("completed")(max, within)
        for response in responses:
            if response.request.lease not in self.waiting:
                raise StageError(
                    type(self._stage).__name__,
                    "completed",
                    f"gave a response of a request that it was not given, or had answered: {response.url}",
                    "one response for each request, made by request.respond() or request.fail()",
                )
        return responses

    def cancel(self) -> None:
        """End everything in flight at once."""
        self.waiting.clear()
        self.__getattr__("cancel")()


class CheckedParse(CheckedStage):
    """A parse that gives an outcome for each response, or leaves the response with fetch."""

    def __init__(self, name: str, stage: Any, fetch: CheckedFetch) -> None:
        """fetch: where the responses come from."""
        super().__init__(name, stage)
        self._fetch = fetch

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch."""
        outcomes: Outcomes = self.__getattr__("parse")(responses)
        waiting, stage = self._fetch.waiting, type(self._stage).__name__
        for outcome in outcomes:
            if waiting.pop(outcome.request.lease, None) is None:
                wrong = f"gave an outcome of no response that it was given: {outcome.url}"
                raise StageError(stage, "parse", wrong, "one outcome for each response")
        lost = len(waiting) - self._fetch.in_flight()
        if lost > 0:
            some = next(iter(waiting.values()))
            raise StageError(stage, "parse", f"gave no outcome for {lost} responses, among {some}", "one for each")
        return outcomes


def checked_stages(made: Stages, given: Stages) -> Stages:
    """The stages of a crawl: those of one's own, which are not among those that were made, are checked."""
    if not isinstance(given, Stages):
        raise StageError("lycosa.crawl", "stages", f"gave {type(given).__name__}", "lycosa.Stages")
    is_own = {name: getattr(given, name) is not getattr(made, name) for name in SHAPES}
    stages: dict[str, Any] = {
        name: CheckedStage(name, getattr(given, name)) if is_own[name] else getattr(given, name) for name in SHAPES
    }
    if is_own["fetch"] or is_own["parse"]:
        fetch = stages["fetch"] = CheckedFetch("fetch", given.fetch)
        stages["parse"] = CheckedParse("parse", given.parse, fetch)
    return Stages(**stages)
