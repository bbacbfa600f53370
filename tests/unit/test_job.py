"""Job files: what is checked, and how it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa import SettingError
from lycosa.job import Job, make_job, merge, read_job
from lycosa.resume import differences
from pydantic import BaseModel

SEEDED = {"seeds": ["http://example.com/"]}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_page": 1}, ["unknown setting max_page; did you mean max_pages?"]),
        ({"politness": {"retries": 1}}, ["unknown setting politness; did you mean politeness?"]),
        ({"retries": 1}, ["unknown setting retries; did you mean politeness.retries?"]),
        ({"seed": ["http://a.example/"]}, ["unknown setting seed; did you mean seeds?"]),
        ({"resolver": []}, ["unknown setting resolver; did you mean names.resolvers?"]),
        ({"fetch": {"timeout": 3}}, ["unknown setting fetch.timeout; did you mean fetch.read_timeout?"]),
        ({"fetch": {"user_agent": "x"}}, ["unknown setting fetch.user_agent; did you mean user_agent?"]),
        ({"allow_addresses": "127.0.0.0/8"}, ['must be a list: ["127.0.0.0/8"]']),
        ({"politeness": {"robots": "perhaps"}}, ["politeness.robots: 'perhaps' must be true or false"]),
        ({"speed": "fast"}, ["speed: 'fast' must be a number"]),
        (
            {"politeness": {"host_intervall": 1}},
            ["politeness.host_intervall", "did you mean politeness.host_interval?"],
        ),
        ({"politeness": {"host_interval": -1}}, ["politeness.host_interval", "-1", "greater than or equal to 0"]),
        ({"politeness": {"host_interval": float("nan")}}, ["politeness.host_interval", "nan", "finite"]),
        ({"fetch": {"slots": 0}}, ["fetch.slots", "'0'", "greater than or equal to 1"]),
        ({"memory": "1G"}, ["memory: '1G' is not allowed; allowed: a number of bytes, such as 512 MiB"]),
        ({"fetch": {"slots": "many"}}, ["fetch.slots: 'many' must be a whole number"]),
        ({"speed": 0}, ["speed", "greater than 0"]),
        ({"scope": "site"}, ["scope", "site", "'host', 'domain' or 'any'"]),
        ({"names": {"resolvers": ["dns.example"]}}, ["names.resolvers", "dns.example", "192.0.2.1:53"]),
        ({"names": {"cache": "redis"}}, ["names.cache", "redis", "'compact', 'async-lru', 'regions' or 'optimiser'"]),
        ({"names": {"min_ttl": 30}}, ["names.min_ttl", "30", "greater than or equal to 60"]),
        ({"names": {"max_ttl": 120}}, ["names.min_ttl", "300", "at most names.max_ttl, which is 120"]),
        ({"names": {"cache": "regions", "cache_file": "x"}}, ["names.cache_file", "'x'", "only compact"]),
        ({"names": {"buckets": 9}}, ["names.buckets", "'9'", "names.cache = compact", "a setting of async-lru"]),
        ({"names": {"cache": "optimiser", "levels": "dots"}}, ["names.levels", "a setting of regions"]),
        ({"names": {"cache": "regions", "verify": "published"}}, ["names.verify", "a setting of compact"]),
        ({"names": {"cache": "regions", "weight": "fame"}}, ["names.weight", "cost", "recency"]),
        ({"names": {"cache": "regions", "weight": {}}}, ["names.weight", "{}", "powers of time, ttl, recency"]),
        ({"names": {"cache": "regions", "weight": {"uses": 1}}}, ["names.weight", "'uses'", "powers of time"]),
        ({"names": {"cache": "regions", "weight": {"time": 0, "ttl": 0}}}, ["names.weight", "one above 0"]),
        ({"names": {"cache": "regions", "weight": {"time": -1, "ttl": 1}}}, ["names.weight", "-1", "from 0 to 10"]),
        ({"names": {"cache": "regions", "weight": {"time": "1"}}}, ["names.weight", "{time = 1, recency = 0.5}"]),
        ({"names": {"cache": "regions", "weight": {"time": float("nan")}}}, ["names.weight", "nan", "from 0 to 10"]),
        ({"names": {"weight": {"time": 1}}}, ["names.weight", "names.cache = compact", "a setting of regions"]),
        ({"names": {"cache_file": "x"}, "speed": 50}, ["names.cache_file", "'x'", "speed = 50"]),
        ({"allow_addresses": ["10.0.0.0/99"]}, ["allow_addresses", "10.0.0.0/99", "127.0.0.0/8"]),
        ({"store": {"fields": ["url", "titel"]}}, ["store.fields", "titel", "did you mean title?"]),
        ({"user_agent": "two\nlines"}, ["user_agent", "printable ASCII"]),
        ({"fetch": 3}, ["fetch: '3' must be a table of settings"]),
        ({"fetch": {"content_types": ["html"]}}, ["fetch.content_types", "'html'", "such as text/html or image/*"]),
        ({"fetch": {"content_types": ["text/html; charset=x"]}}, ["fetch.content_types", "such as text/html"]),
        ({"fetch": {"content_types": ["*/html"]}}, ["fetch.content_types", "such as text/html"]),
        ({"fetch": {"from_email": "me"}}, ["fetch.from_email", "'me'", "crawl@example.org"]),
        ({"fetch": {"from_email": "me@example.org\nX: y"}}, ["fetch.from_email", "crawl@example.org"]),
        ({"politeness": {"max_interval": 1e9}}, ["politeness.max_interval", "less than or equal to 3600"]),
        ({"politeness": {"response_multiple": -1}}, ["politeness.response_multiple", "greater than or equal to 0"]),
        ({"politeness": {"requests_per_second": 0}}, ["politeness.requests_per_second", "equal to 0.001"]),
        ({"politeness": {"address_domains": 0}}, ["politeness.address_domains", "greater than or equal to 1"]),
    ],
)
def test_a_bad_setting_is_named_with_its_value_and_what_is_allowed(settings: dict[str, Any], told: list[str]) -> None:
    with pytest.raises(SettingError) as caught:
        make_job(settings)
    line = str(caught.value)
    assert "\n" not in line
    for part in told:
        assert part in line


def test_a_weight_of_ones_own_is_one_setting_that_is_laid_over_another_as_a_whole() -> None:
    told = {"names": {"cache": "regions", "weight": {"time": 1}}}
    weighed = merge(told, {"names": {"weight": {"recency": 2.5}}})
    assert make_job(weighed).names.weight == {"time": 0, "ttl": 0, "recency": 2.5}
    assert make_job(make_job(weighed).model_dump(mode="json")) == make_job(weighed)
    assert make_job(merge(weighed, {"names": {"weight": "none"}})).names.weight is None
    changes = differences(make_job({**SEEDED, **told}), make_job({**SEEDED, **weighed}))
    assert len(changes) == 1
    assert changes[0].startswith("names.weight: {'time': 1.0, 'ttl': 0.0, ")


@pytest.mark.parametrize("name", ["headers", "extra_headers", "cookies", "exclude", "include", "passwords"])
def test_a_key_that_resembles_none_is_told_with_those_that_there_are(name: str) -> None:
    with pytest.raises(SettingError) as caught:
        make_job({"fetch": {name: "x"}})
    keys = ", ".join(type(Job().fetch).model_fields)
    assert str(caught.value) == f"unknown setting fetch.{name}; known in fetch: {keys}"
    with pytest.raises(SettingError, match=f"unknown setting {name}; known: seeds, scope, "):
        make_job({name: "x"})


@pytest.mark.parametrize(
    ("seed", "allowed"),
    [
        ("example.com", "absolute"),
        ("ftp://example.com/", "http://"),
        ("http://", "host"),
        ("http://example.com:99999/", "port"),
        ("http://me:secret@example.com/", "without user name"),
        ("http://" + "a" * 10_000, "8192"),
        ("http://example.com:25/", "25 in allow_ports"),
    ],
)
def test_a_bad_seed_is_named(seed: str, allowed: str) -> None:
    with pytest.raises(SettingError, match=allowed):
        make_job({"seeds": [seed]}).checked_seeds()


def test_a_port_that_browsers_block_is_allowed_by_number() -> None:
    job = make_job({"seeds": ["http://example.com:6667/", "http://example.com:8080/"], "allow_ports": [25, 6667]})
    assert job.checked_seeds() == ["http://example.com:6667/", "http://example.com:8080/"]
    with pytest.raises(SettingError, match="allow_ports"):
        make_job({"allow_ports": [65_536]})


def test_no_seed_at_all_is_an_error() -> None:
    with pytest.raises(SettingError, match="at least one URL"):
        make_job({}).checked_seeds()


@pytest.mark.parametrize(
    ("agent", "good"),
    [
        ("mybot/1.0 (+https://example.org/bot)", True),
        ("mybot (http://[2001:db8::1]/)", True),
        ("mybot/1.0 (me@example.org)", True),
        ("Lycosa/0.1", False),
        ("mybot/1.0 (ask me)", False),
        ("mybot/1.0 (+https:)", False),
        ("mybot/1.0 (me@here)", False),
        ("mybot/1.0 (+http://localhost/)", False),
    ],
)
def test_site_owners_can_reach_whoever_crawls(agent: str, good: bool) -> None:
    job = make_job({"seeds": ["http://example.com/"], "user_agent": agent})
    if good:
        job.check_contact()
        return
    with pytest.raises(SettingError, match=r"user_agent: .* allowed: .*\+https://example.org/bot") as told:
        job.check_contact()
    assert agent in str(told.value)


def test_a_simulated_internets_own_job_may_be_at_home() -> None:
    make_job({"user_agent": "sim (+http://localhost/)", "allow_addresses": ["127.0.0.0/8"]}).check_contact()


def test_a_crawl_without_a_contact_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="user_agent"):
        lycosa.crawl("http://example.com/", directory=tmp_path / "job")
    assert not (tmp_path / "job").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "can be read"),
        ("a.com\nhttp://b.com/\n", "blocked.txt:2: http://b.com/"),
        ("10.0.0.0/99", ":1: 10.0.0.0"),
    ],
)
def test_a_bad_block_list_is_told_before_anything_is_written(content: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "blocked.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingError, match=r"politeness\.block_list") as caught:
        lycosa.crawl(
            "http://example.com/",
            directory=tmp_path / "job",
            user_agent="mybot (me@example.org)",
            politeness={"block_list": path},
        )
    assert told in str(caught.value)
    assert not (tmp_path / "job").exists()


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


def test_every_key_of_a_job_says_what_it_means() -> None:
    def check(model: type[BaseModel], section: str) -> None:
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                check(field.annotation, f"{name}.")
            else:
                assert field.description, f"{section}{name} has no description"

    check(Job, "")


@pytest.mark.parametrize("none", ["none", "", 0, None])
def test_a_limit_of_pages_is_lifted_by_none(none: object) -> None:
    assert make_job({"max_pages": none}).max_pages is None


def test_none_is_none_for_every_setting_that_may_be_none_and_for_no_other() -> None:
    job = make_job({"max_depth": "none", "politeness": {"requests_per_second": "none", "block_list": "none"}})
    assert (job.max_depth, job.politeness.requests_per_second, job.politeness.block_list) == (None, None, None)
    assert make_job({"max_depth": 0}).max_depth == 0
    with pytest.raises(SettingError, match=r"fetch\.slots"):
        make_job({"fetch": {"slots": "none"}})


def test_uses_have_known_names_and_robots_txt_is_read_for_them() -> None:
    with pytest.raises(SettingError, match="usage: 'ai-train' is not allowed; allowed: 'train-ai', 'search'"):
        make_job({**SEEDED, "usage": {"ai-train": "drop"}})
    with pytest.raises(
        SettingError, match=r"usage\.train-ai: 'no' is not allowed; allowed: 'drop', 'mark' or 'ignore'"
    ):
        make_job({**SEEDED, "usage": {"train-ai": "no"}})
    with pytest.raises(SettingError, match=r"robots\.txt reserves pages"):
        make_job({**SEEDED, "usage": {"tdm": "drop"}, "politeness": {"robots": False}})
    with pytest.raises(SettingError, match=r"politeness\.tdmrep: .* allowed: false without politeness\.robots"):
        make_job({**SEEDED, "politeness": {"robots": False, "tdmrep": True}})
    assert make_job(merge({**SEEDED, "usage": {"tdm": "mark"}}, {"usage": {"train-ai": "drop"}})).usage == {
        "tdm": "mark",
        "train-ai": "drop",
    }
