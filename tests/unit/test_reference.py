"""What is made of the code: the template of a job, the pages of docs/, the types of ``lycosa.crawl``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_type_hints

import pytest
from lycosa.explain import KINDS
from lycosa.job import Job, make_job
from lycosa.reference import settings, template
from lycosa.settings import CrawlSettings
from pydantic import BaseModel

from tools.reference import ROOT, written


@pytest.mark.parametrize("path", sorted(written()), ids=lambda path: path.name)
def test_what_is_made_of_the_code_is_as_the_code_says(path: Path) -> None:
    told = f"{path.relative_to(ROOT)} is old: python -m tools.reference"
    assert path.read_text(encoding="utf-8") == written()[path], told


def test_a_template_is_a_job_file_whose_keys_are_all_there_with_their_defaults() -> None:
    lines = template().splitlines()
    given = [line.removeprefix("#") for line in lines if line.startswith(("[", "#")) and not line.startswith("# ")]
    job = make_job(tomllib.loads("\n".join(given)))
    assert job == Job()
    assert len(given) - len([line for line in given if line.startswith("[")]) == len(list(settings()))
    assert tomllib.loads(template()) == {name: {} for name in Job.model_fields if name in template_sections()}


def template_sections() -> set[str]:
    """The sections of a job."""
    return {setting.section for setting in settings()}


def test_a_crawl_takes_every_key_of_a_job_but_seeds_and_no_other() -> None:
    def check(typed: type, model: type[BaseModel]) -> None:
        hints = get_type_hints(typed)
        assert set(hints) | {"seeds"} == set(model.model_fields) | {"seeds"}
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(hints[name], field.annotation)

    check(CrawlSettings, Job)


def test_every_setting_says_what_a_value_is() -> None:
    for setting in settings():
        assert setting.kind, setting.key
        assert setting.meaning, setting.key
    assert {"a whole number", "a number", "true or false"} <= set(KINDS.values())
