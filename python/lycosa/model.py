"""The base of all models of settings: pydantic, without the modules that it imports for what no model here uses.

A module with models imports pydantic's names from here, so that this module is the first to import pydantic.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, get_args

__all__ = [
    "AfterValidator",
    "BaseModel",
    "BeforeValidator",
    "Field",
    "Section",
    "Unit",
    "ValidationError",
    "model_validator",
]


class Unit(NamedTuple):
    """The unit of a setting's numbers."""

    name: str


class _Later(ModuleType):
    """Stands for a module until one of its functions is called."""

    def __getattr__(self, name: str) -> Any:
        """Return a function that imports the module and calls the module's own."""
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **named: Any) -> Any:
            if sys.modules.get(self.__name__) is self:
                del sys.modules[self.__name__]
            return getattr(import_module(self.__name__), name)(*arguments, **named)

        return call


@contextlib.contextmanager
def _later(*names: str) -> Iterator[None]:
    """Delay the import of modules until a function of theirs is called, for what is imported in this context."""
    stand_ins = {name: _Later(name) for name in names if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


# pydantic looks for plugins with the first, which imports `email`, and compares its secrets with the second, which
# imports OpenSSL: together an eighth of the start.
with _later("importlib.metadata", "secrets"):
    from pydantic import (
        AfterValidator,
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Field,
        ValidationError,
        model_validator,
    )

    class Section(BaseModel):
        """Settings of one component; unknown keys are errors. ``"none"`` is `None`, which TOML does not have.

        Its validator is built when it is first needed: components of a job need none of their own.
        """

        model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

        @model_validator(mode="before")
        @classmethod
        def _none(cls, given: Any) -> Any:
            """Replace "none" and an empty text by `None`, where a setting may be `None`."""
            if not isinstance(given, dict):
                return given
            fields = cls.model_fields
            may_be_none = {
                name for name in given if name in fields and type(None) in get_args(fields[name].annotation)
            }
            return {
                name: None if value in ("none", "") and name in may_be_none else value
                for name, value in given.items()
            }

    Section.model_rebuild()  # the first validator that is built imports the first of them
