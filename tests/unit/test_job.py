"""Job files: what is checked, and how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lycosa import SettingError
from lycosa.job import Job, make_job, merge, read_job


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_page": 1}, ["max_page", "did you mean max_pages?"]),
        ({"politeness": {"host_intervall": 1}}, ["politeness.host_intervall", "did you mean host_interval?"]),
        ({"politeness": {"host_interval": -1}}, ["politeness.host_interval", "-1", "greater than or equal to 0"]),
        ({"politeness": {"host_interval": float("nan")}}, ["politeness.host_interval", "nan", "finite"]),
        ({"fetch": {"slots": 0}}, ["fetch.slots", "'0'", "greater than or equal to 1"]),
        ({"fetch": {"slots": "many"}}, ["fetch.slots", "many", "integer"]),
        ({"speed": 0}, ["speed", "greater than 0"]),
        ({"scope": "site"}, ["scope", "site", "'host', 'domain' or 'any'"]),
        ({"names": {"resolvers": ["dns.example"]}}, ["names.resolvers", "dns.example", "192.0.2.1:53"]),
        ({"allow_addresses": ["10.0.0.0/99"]}, ["allow_addresses", "10.0.0.0/99", "127.0.0.0/8"]),
        ({"store": {"fields": ["url", "titel"]}}, ["store.fields", "titel", "did you mean title?"]),
        ({"user_agent": "two\nlines"}, ["user_agent", "printable ASCII"]),
        ({"fetch": 3}, ["fetch", "dictionary"]),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_what_is_allowed(settings: dict[str, Any], told: list[str]) -> None:
    with pytest.raises(SettingError) as caught:
        make_job(settings)
    line = str(caught.value)
    assert "\n" not in line
    for part in told:
        assert part in line


@pytest.mark.parametrize(
    ("seed", "allowed"),
    [
        ("example.com", "absolute"),
        ("ftp://example.com/", "http://"),
        ("http://", "host"),
        ("http://example.com:99999/", "port"),
        ("http://me:secret@example.com/", "without user name"),
        ("http://" + "a" * 10_000, "8192"),
    ],
)
def test_a_bad_seed_is_named(seed: str, allowed: str) -> None:
    with pytest.raises(SettingError, match=allowed):
        make_job({"seeds": [seed]}).checked_seeds()


def test_no_seed_at_all_is_an_error() -> None:
    with pytest.raises(SettingError, match="at least one URL"):
        make_job({}).checked_seeds()


def test_a_job_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text('seeds = ["HTTP://Example.com"]\n[politeness]\nhost_interval = 2\n')
    job = make_job(merge(read_job(path), {"politeness": {"retries": 0}}))
    assert job.checked_seeds() == ["http://example.com/"]
    assert (job.politeness.host_interval, job.politeness.retries) == (2.0, 0)
    path.write_text("seeds = [")
    with pytest.raises(SettingError, match="TOML"):
        read_job(path)
    with pytest.raises(SettingError, match="can be read"):
        read_job(tmp_path / "missing.toml")


def test_the_defaults_are_polite() -> None:
    job = Job()
    assert job.politeness.robots
    assert job.politeness.host_interval >= 1
    assert job.politeness.host_concurrency == 1
    assert job.allow_addresses == ()
