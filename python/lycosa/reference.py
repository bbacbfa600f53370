"""The settings as read from the model of a job: for ``lycosa job template``, docs/settings.md and types."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen
from pydantic import BaseModel

from lycosa.job import FIXED, Job
from lycosa.model import Unit

#: Width of a line of the template, in characters.
WIDTH = 100


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of a job."""

    section: str  # empty for the job itself
    name: str
    kind: str  # what a value is, in words
    annotation: Any
    default: Any
    bounds: str  # minimum and maximum, in words; empty if there are none
    unit: str  # empty if it has none
    meaning: str
    fixed: bool  # for the life of a crawl

    @property
    def key(self) -> str:
        """The name with its component's."""
        return f"{self.section}.{self.name}" if self.section else self.name


def sections(model: type[BaseModel] = Job) -> Iterator[tuple[str, str]]:
    """Yield the components of a job with their descriptions; the job itself first, without a name."""
    yield "", str(model.__doc__)
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield name, str(field.annotation.__doc__)


def settings(model: type[BaseModel] = Job, section: str = "") -> Iterator[Setting]:
    """Yield all keys: those of the job itself, then component by component."""
    inner: list[tuple[str, type[BaseModel]]] = []
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            inner.append((name, annotation))
            continue
        metadata = [*field.metadata, *_metadata(annotation)]
        unit = next((found.name for found in metadata if isinstance(found, Unit)), "")
        meaning, fixed = field.description or "", FIXED in metadata
        yield Setting(
            section, name, _kind(annotation), annotation, field.default, _bounds(metadata), unit, meaning, fixed
        )
    for name, annotation in inner:
        yield from settings(annotation, name)


def template() -> str:
    """Return a job file with every key as a comment: its meaning, its limits, its default."""
    lines = [
        "# A job for `lycosa crawl --job FILE`. Every key is listed with its default: remove its # to set it.",
        '# Seeds and a user agent that says how to reach you are required. "none" means no limit or no value.',
    ]
    section = ""
    for setting in settings():
        if setting.section != section:
            section = setting.section
            lines += ["", f"[{section}]  # {dict(sections())[section]}"]
        about = f"{setting.meaning} ({_limits(setting)})"
        lines += ["", *(f"# {line}" for line in textwrap.wrap(about, WIDTH))]
        lines.append(f"#{setting.name} = {toml(setting.default)}")
    return "\n".join(lines) + "\n"


def toml(value: Any) -> str:
    """Format a value for a job file."""
    if value is None:
        return '"none"'
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)


def _limits(setting: Setting) -> str:
    """Return kind, unit, bounds, and whether it may change."""
    parts = [setting.kind, setting.unit, setting.bounds, "fixed for the life of a crawl" if setting.fixed else ""]
    return "; ".join(part for part in parts if part)


def _metadata(annotation: Any) -> Iterator[Any]:
    """Yield the metadata of the parts of a type, such as of a number that may be `None`."""
    for part in get_args(annotation):
        if get_origin(part) is Annotated:
            yield from get_args(part)[1:]


def _bounds(metadata: list[Any]) -> str:
    """Return minimum and maximum, in words."""
    words = []
    for found in metadata:
        match found:
            case Ge():
                words.append(f"at least {_number(found.ge)}")
            case Gt():
                words.append(f"above {_number(found.gt)}")
            case Le():
                words.append(f"at most {_number(found.le)}")
            case Lt():
                words.append(f"below {_number(found.lt)}")
            case MaxLen():
                words.append(f"at most {found.max_length} of them")
    return ", ".join(words)


def _number(value: Any) -> str:
    """Format a number."""
    return f"{int(value):,}" if float(value).is_integer() else f"{value:g}"


def _kind(annotation: Any) -> str:
    """Describe the type of a value."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _kind(args[0])
    if origin is Literal:
        return " or ".join(", ".join(f'"{value}"' for value in args).rsplit(", ", 1))
    if origin is tuple:
        return "list"
    if origin is dict and get_origin(args[1]) is Literal:
        return f"table of {_kind(args[1])}, by {_kind(args[0])}"
    if origin is dict:
        return f"table of {' and '.join(', '.join(get_args(args[0])).rsplit(', ', 1))}"
    if type(None) in args:
        return " or ".join([*(_kind(part) for part in args if part is not type(None)), '"none"'])
    return {bool: "true or false", int: "whole number", float: "number", str: "text", Path: "path"}[annotation]
