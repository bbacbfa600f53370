"""Converts pydantic's validation errors to one-line messages in the terms of job files."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ValidationError

from lycosa.errors import SettingError, shown
from lycosa.words import nearest

#: Minimum similarity (1: equal) from which a name of another component is suggested: a common part means little there
#: (headers is not parse.threads, fetch.exclude not fetch.ca_file).
SIMILAR_ELSEWHERE = 0.8

#: What a value must be, by pydantic's error type up to its first underscore.
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
    """Return the first error in the settings of a model; unknown keys come first."""
    problem = min(error.errors(include_url=False), key=lambda found: found["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"] if not isinstance(part, int)]
    if path[-1] == "[key]":  # of a table; pydantic's word for it comes last
        path = path[:-2]
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


def _suggestion(path: list[str], model: type[BaseModel]) -> str:
    """Suggest a similar setting of the same component, else of another; else list those of the component."""
    keys = list(_keys(model, ""))
    section = "".join(f"{part}." for part in path[:-1])
    beside = [key for key in keys if key.startswith(section) and "." not in key[len(section) :]]
    of_section = ", ".join(key[len(section) :] for key in beside)
    return (
        nearest(path[-1], beside)
        or nearest(path[-1], keys, SIMILAR_ELSEWHERE)
        or f"; known{f' in {section[:-1]}' if section else ''}: {of_section}"
    )


def _keys(model: type[BaseModel], section: str) -> Iterator[str]:
    """Yield all keys of a model, including its components."""
    for name, field in model.model_fields.items():
        yield f"{section}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{section}{name}.")
