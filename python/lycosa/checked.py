"""Checks the return values of custom stages: an error names stage, method and what is expected.

The annotation in ``lycosa.stages`` alone defines the expected type. A wrong value ends the crawl like any other
error: records are kept, URLs in flight wait, and the crawl can be resumed in the same directory once the stage is
fixed.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from lycosa import _core
from lycosa.errors import LycosaError, SettingError, StageError
from lycosa.records import Outcomes, Requests, Responses
from lycosa.stages import Stages


@cache
def shapes(promised: type) -> dict[str, tuple[Any, str]]:
    """Map each method of a class to its return annotation, as a type and as text."""
    methods = {name: each for name, each in vars(promised).items() if inspect.isfunction(each) and name[0] != "_"}
    return {name: (get_type_hints(each)["return"], each.__annotations__["return"]) for name, each in methods.items()}


def checked(promised: type, stage: object, method: str, given: Any) -> Any:
    """Return a method's return value if it has the promised type; raises StageError otherwise."""
    hint, words = shapes(promised)[method]
    if fits(given, hint):
        return given
    found = type(given).__name__ if given is not None else "None"
    if words.startswith(("int", "float")) and isinstance(given, int | float) and not isinstance(given, bool):
        found, words = str(given), f"{words}, at least 0"
    elif words.startswith(found):
        found = f"{given!r:.100}"
    raise StageError(type(stage).__name__, method, f"returned {found}", words)


def fits(given: Any, hint: Any) -> bool:
    """Return whether a value has a type. All numbers are counts, positions or times: a negative one is wrong."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Any:
        return True
    if kind is UnionType:
        return any(fits(given, part) for part in parts)
    if kind in (int, float):
        # bool is a subclass of int, but never valid.
        return isinstance(given, int | kind) and not isinstance(given, bool) and given >= 0
    if not isinstance(given, kind):
        return False
    if kind is tuple:
        return len(given) == len(parts) and all(map(fits, given, parts))
    if kind is dict:
        return all(fits(each, part) for item in given.items() for each, part in zip(item, parts, strict=True))
    return kind is not list or all(fits(each, parts[0]) for each in given)


class CheckedStage:
    """A proxy of a stage that checks its methods; other attributes are passed through."""

    def __init__(self, promised: type, stage: Any) -> None:
        """promised: the Protocol in ``lycosa.stages`` that the stage has to implement."""
        self._promised, self._stage = promised, stage
        for method in shapes(promised):
            if not callable(getattr(stage, method, None)):
                expected = f"a method {method}, as lycosa.stages.{promised.__name__} has it"
                raise StageError(type(stage).__name__, method, "is missing", expected)

    def __getattr__(self, method: str) -> Any:
        """Return a method of the stage whose return value is checked."""
        found = getattr(self._stage, method)
        if method not in shapes(self._promised):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                given = found(*arguments, **named)
            except Exception as error:
                if isinstance(error, LycosaError) and not isinstance(error, SettingError):
                    raise
                notes = "".join(f" ({note})" for note in getattr(error, "__notes__", []))
                told = f"raised {type(error).__name__}: {error}{notes}"
                raise StageError(type(self._stage).__name__, method, told) from error
            return checked(self._promised, self._stage, method, given)

        return call  # not cached: the reference cycle would keep the log's lock


class CheckedFetch(CheckedStage):
    """A fetch stage with the requests that wait for a response, and the responses that were passed on to parse."""

    def __init__(self, promised: type, stage: Any) -> None:
        """Start with no request in flight."""
        super().__init__(promised, stage)
        self._takes_back = isinstance(stage, _core.Fetcher) or getattr(stage, "takes_back", False)
        self.waiting: dict[int, str] = {}
        self.given: dict[int, str] = {}

    def submit(self, requests: Requests) -> None:
        """Start requests."""
        self.waiting.update((request.lease, request.url) for request in requests)
        self.__getattr__("submit")(requests)

    def completed(self, max: int, within: float) -> Responses:
        """Return complete responses."""
        responses: Responses = self.__getattr__("completed")(max, within)
        stage = type(self._stage).__name__
        for response in responses:
            lease, url = response.request.lease, response.request.url
            # Responses that parse had no memory for come again.
            if self.waiting.get(lease) != url and (self.given.get(lease) != url or not self._takes_back):
                wrong = f"returned a response for a request that it did not get, or had answered: {url}"
                expected = "one response for each request, made by request.respond() or request.fail()"
                raise StageError(stage, "completed", wrong, expected)
            self.given[lease] = self.waiting.pop(lease, url)
        if self.lost() > 0:
            wrong = f"returned {self.in_flight()} while {len(self.waiting)} requests have no response yet, among "
            some = next(iter(self.waiting.values()))
            raise StageError(stage, "in_flight", wrong + some, "all that completed() has not returned a response for")
        return responses

    def lost(self) -> int:
        """Return how many requests have no response and are not in flight."""
        return len(self.waiting) - int(self.in_flight())

    def cancel(self) -> None:
        """Cancel all requests in flight at once."""
        self.waiting.clear()
        self.given.clear()
        self.__getattr__("cancel")()


class CheckedParse(CheckedStage):
    """A parse stage that returns one outcome per response: at once, or later if there was no memory for it."""

    def __init__(self, promised: type, stage: Any, fetch: CheckedFetch) -> None:
        """fetch: the source of the responses."""
        super().__init__(promised, stage)
        self._fetch = fetch

    def parse(self, responses: Responses) -> Outcomes:
        """Parse a batch."""
        brings_nothing = len(responses) == 0
        outcomes: Outcomes = self.__getattr__("parse")(responses)
        given, stage = self._fetch.given, type(self._stage).__name__
        for outcome in outcomes:
            lease, url = outcome.request.lease, outcome.request.url
            if given.pop(lease, None) != url:
                wrong = f"returned an outcome for a response that it did not get: {url}"
                raise StageError(stage, "parse", wrong, "one outcome for each response")
        if given and brings_nothing and len(outcomes) == 0:
            wrong = f"returned no outcome for {len(given)} responses, among {next(iter(given.values()))}"
            raise StageError(stage, "parse", wrong, "one for each")
        return outcomes


def checked_stages(made: Stages, given: Stages) -> Stages:
    """Return the stages of a crawl, with checks around the custom ones (those that are not in ``made``)."""
    if not isinstance(given, Stages):
        raise StageError("lycosa.crawl", "stages", f"returned {type(given).__name__}", "lycosa.Stages")
    promised = get_type_hints(Stages)
    # No stage: reports look at the lane's own.
    del promised["turns"]
    own = {name for name in promised if getattr(given, name) is not getattr(made, name)}
    stages: dict[str, Any] = {name: CheckedStage(promised[name], getattr(given, name)) for name in own}
    if own & {"fetch", "parse"}:
        fetch = stages["fetch"] = CheckedFetch(promised["fetch"], given.fetch)
        stages["parse"] = CheckedParse(promised["parse"], given.parse, fetch)
    return replace(given, turns=made.turns, **stages)
