"""What is wrong with settings, in one line for people: pydantic's errors in the words of job files."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from pydantic import BaseModel, ValidationError

from lycosa.errors import SettingError, shown

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
    for start in ("Input should be a ", "Input should be an ", "Input should be "):
        message = message.removeprefix(start)
    return SettingError(name, value, message)


def nearest(name: str, known: list[str]) -> str:
    """A hint at the nearest known name."""
    match = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {match[0]}?" if match else ""


def _suggestion(path: list[str], model: type[BaseModel]) -> str:
    """A hint at the setting that was meant: of this name in another room, else the one of the nearest name."""
    keys = list(_keys(model, ""))
    elsewhere = [key for key in keys if key.rpartition(".")[2] == path[-1]]
    if elsewhere:
        return f"; did you mean {elsewhere[0]}?"
    room = "".join(f"{part}." for part in path[:-1])
    beside = [key for key in keys if key.startswith(room) and "." not in key[len(room) :]]
    return nearest(".".join(path), beside) or nearest(".".join(path), keys)


def _keys(model: type[BaseModel], room: str) -> Iterator[str]:
    """All keys of a model, rooms among them."""
    for name, field in model.model_fields.items():
        yield f"{room}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{room}{name}.")
