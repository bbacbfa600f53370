"""Which jobs have workers, as brokers tell it."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from lycosa.cluster import control


def test_groups_of_others_are_no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    listed: Future[Any] = Future()
    groups = ["lycosa.news", "lycosa.my group/x", "lycosa.", "lycosa.ended", "somebody", "news"]
    listed.set_result(SimpleNamespace(valid=[SimpleNamespace(group_id=name) for name in groups]))
    topics = dict.fromkeys(["lycosa.news.control", "news.control", "somebody.control", "lycosa.news.links"])
    admin = SimpleNamespace(
        list_topics=lambda timeout: SimpleNamespace(topics=topics),
        list_consumer_groups=lambda states, request_timeout: listed,
    )
    monkeypatch.setattr(control, "connect", lambda settings: admin)
    assert control.jobs_at_work({}) == ["news"]
