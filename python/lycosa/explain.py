"""What is wrong with settings, in one line for people: pydantic's errors in the words of job files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ValidationError

from lycosa.errors import SettingError, shown

#: From which on a known name is taken for what was meant, 1 being the same: in the room of the key, and in others,
#: where a word that both have says little (headers is no parse.threads, fetch.exclude no fetch.ca_file).
SIMILAR, SIMILAR_ELSEWHERE = 0.65, 0.8

#: What a value must be, by the type of pydantic's error: the part before its first underscore.
KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "path": "a path",
    "model": "a table of settings",
    "dict": "a table of settings",
}


def explain(error: ValidationError, model: type[BaseModel]) -> SettingError:
    """The first problem with the settings of a model; keys that nobody knows come first."""
    problem = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"] if not isinstance(part, int)]
    name, value, kind = ".".join(path), problem["input"], str(problem["type"])
    if kind == "extra_forbidden":
        text = f"unknown setting {name}{_suggestion(path, model)}"
        return SettingError(name, value, "a setting that is known", text)
    start, _, rest = kind.partition("_")
    if start in ("tuple", "list") and rest == "type":
        example = f': ["{value}"]' if isinstance(value, str) else ""
        return SettingError(name, value, "a list", f"{name}: {shown(value)} must be a list{example}")
    if start in KINDS and rest in ("type", "parsing", "from_float", "unicode"):
        return SettingError(name, value, KINDS[start], f"{name}: {shown(value)} must be {KINDS[start]}")
    message = str(problem["msg"]).replace("tuple", "list")  # as TOML calls it
    for start in ("Value error, ", "Input should be a ", "Input should be an ", "Input should be "):
        message = message.removeprefix(start)
    return SettingError(name, value, message)


def nearest(name: str, known: Iterable[str], least: float = SIMILAR) -> str:
    """A hint at the nearest known name; nothing where none is similar. Names count without their rooms."""

    def similarity(key: str) -> tuple[float, bool]:
        last = key.rpartition(".")[2]
        return difflib.SequenceMatcher(None, last, name).ratio(), last.startswith(name)

    best = max(known, key=similarity, default="")
    return f"; did you mean {best}?" if similarity(best)[0] >= least else ""


def _suggestion(path: list[str], model: type[BaseModel]) -> str:
    """A hint at the setting that was meant: a similar one of its room, else of another; else all of its room."""
    keys = list(_keys(model, ""))
    room = "".join(f"{part}." for part in path[:-1])
    beside = [key for key in keys if key.startswith(room) and "." not in key[len(room) :]]
    of_room = ", ".join(key[len(room) :] for key in beside)
    return (
        nearest(path[-1], beside)
        or nearest(path[-1], keys, SIMILAR_ELSEWHERE)
        or f"; known{f' in {room[:-1]}' if room else ''}: {of_room}"
    )


def _keys(model: type[BaseModel], room: str) -> Iterator[str]:
    """All keys of a model, rooms among them."""
    for name, field in model.model_fields.items():
        yield f"{room}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{room}{name}.")
