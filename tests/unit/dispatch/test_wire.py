"""Bodies of the protocol: what other programs may write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lycosa.dispatch.protocol import JSON, LINES, REQUESTS
from lycosa.dispatch.refusal import Refusal
from lycosa.dispatch.wire import read_requests
from lycosa.records import Request, Requests

URL = "http://93.184.216.34/"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"url": URL, "body": {"a": 1}}, "body: dict; allowed: text"),
        ({"url": URL, "headers": {"accept": ["x"]}}, "a header field: list; allowed: text"),
        ({"url": URL, "headers": [["a", "b"]]}, "headers: an object"),
    ],
)
def test_only_text_is_taken_for_text(given: Any, told: str) -> None:
    with pytest.raises(Refusal, match=told):
        read_requests(json.dumps([given]).encode(), JSON)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (json.dumps([URL, URL]).encode(), JSON),
        (f"{URL}\n\n{URL}\n".encode(), LINES),
        (Requests([Request(URL), Request(URL)]).declared().encode(), REQUESTS),
    ],
)
def test_more_urls_than_were_granted_are_refused(body: bytes, kind: str) -> None:
    assert len(read_requests(body, kind, count=2)) == 2
    with pytest.raises(Refusal, match="wrong-count"):
        read_requests(body, kind, count=1)


@pytest.mark.parametrize(
    "given",
    [
        {"url": URL, "headers": {"authorization": "Bearer s3cret\n"}},
        {"url": "http://me:s3cret@host.example:99999/"},
        {"url": URL, "method": "s3cret s3cret"},
    ],
)
def test_logs_do_not_repeat_what_may_be_a_secret(given: Any) -> None:
    with pytest.raises(Refusal) as refused:
        read_requests(json.dumps([given]).encode(), JSON)
    assert "s3cret" not in refused.value.logged
