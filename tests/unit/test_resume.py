"""A changed job on resume: what is shown, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from lycosa import SettingError
from lycosa.job import make_job
from lycosa.resume import differences

SEEDS = ["http://a.example/", "http://b.example/"]


def told(recorded: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """The differences between two jobs."""
    return differences(make_job({"seeds": SEEDS, **recorded}), make_job({"seeds": SEEDS, **given}))


def test_the_same_job_has_no_differences() -> None:
    assert told({}, {}) == []
    assert told({}, {"seeds": ["HTTP://A.example", "http://b.example/#top"]}) == [], (
        "seeds are compared in canonical form"
    )


def test_what_may_change_is_shown() -> None:
    assert told(
        {"max_pages": 5}, {"politeness": {"retries": 7, "robots": False}, "store": {"fields": ["url", "status"]}}
    )[:3] == ["max_pages: 5 → none", "politeness.robots: true → false", "politeness.retries: 2 → 7"]


def test_a_policy_of_uses_may_change() -> None:
    before, after = {"usage": {"train-ai": "drop"}}, {"usage": {"train-ai": "mark"}}
    assert told(before, after) == ["usage: {'train-ai': 'drop'} → {'train-ai': 'mark'}"]
    assert told(before, {}) == ["usage: {'train-ai': 'drop'} → {}"]


@pytest.mark.parametrize(
    ("recorded", "given", "words"),
    [
        ({"scope": "host"}, {"scope": "any"}, ["scope", "'any'", "host as recorded", "--fresh", "--dir"]),
        ({}, {"max_depth": 3}, ["max_depth", "'3'", "none as recorded", "--fresh"]),
        ({}, {"frontier": {"key": "keyed"}}, ["frontier.key", "'keyed'", "md5 as recorded", "--fresh"]),
        (
            {},
            {"seeds": ["http://c.example/"]},
            ["http://c.example/", "http://a.example/", "another crawl", "--fresh"],
        ),
    ],
)
def test_what_may_not_change_is_refused(recorded: dict[str, Any], given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(SettingError) as caught:
        told(recorded, given)
    for word in words:
        assert word in str(caught.value)


def test_seeds_may_come_and_go() -> None:
    lines = told({}, {"seeds": ["http://b.example/", *(f"http://{n}.example/" for n in range(5))]})
    assert lines == [
        "seeds added: http://0.example/, http://1.example/, http://2.example/ and 2 more",
        "seeds no longer listed, but still in the queue or fetched: http://a.example/",
    ]


def test_changed_lists_of_proxies_are_told_without_their_secrets() -> None:
    lists = [[f"https://me:secret@lists.example/secret{number}?key=secret"] for number in range(2)]
    changes = told({"proxies": {"lists": lists[0]}}, {"proxies": {"lists": lists[1]}})
    assert changes == ["proxies.lists: https://lists.example/… → https://lists.example/…"]
    assert told({}, {"proxies": {"lists": lists[0]}})[0] == "proxies.lists: none → https://lists.example/…"
