"""Files of quotas: what is in them, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from lycosa.dispatch.quotas import Quota, digest_of_token, new_token, read_quotas
from lycosa.errors import SettingError

GOOD = """
policy = "gcra"

[services.news]
rate = 100
weight = 2.0

# The archive may wait.
[services.archive]
rate = 20.5
burst = 500
priority = -1
servers = ["disk-1"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "quotas.toml"
    path.write_text(text)
    return path


def test_services_have_their_rates(tmp_path: Path) -> None:
    quotas = read_quotas(write(tmp_path, GOOD))
    assert set(quotas.services) == {"news", "archive"}
    assert quotas.services["news"].ahead == 100, "by default what a second allows"
    assert quotas.services["archive"].ahead == 500
    assert not quotas.is_closed()


@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (("rate = 100", "rate = -1"), 5, "greater than 0"),
        (("rate = 100\n", ""), 4, "rate is missing; allowed: URLs per second"),
        (("weight = 2.0", "wieght = 2.0"), 6, "did you mean weight?"),
        (("weight = 2.0", 'colour = "red"'), 6, "known: rate, burst"),
        (("burst = 500", "burst = 1.5"), 11, "must be a whole number"),
        (("priority = -1", "priority = 9"), 12, "less than or equal to 4"),
        (('servers = ["disk-1"]', 'servers = ["disk 1"]'), 13, "letters, digits"),
        (('policy = "gcra"', 'policy = "fair"'), 2, "'gcra' or 'minute-window'"),
        (("[services.news]", '[services."a b"]'), 4, "letters, digits"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, change: tuple[str, str], line: int, says: str) -> None:
    path = write(tmp_path, GOOD.replace(*change, 1))
    with pytest.raises(SettingError) as caught:
        read_quotas(path)
    assert str(caught.value).startswith(f"{path}:{line}: "), str(caught.value)
    assert says in str(caught.value)


def test_what_is_no_toml_is_told_too(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="line 1"):
        read_quotas(write(tmp_path, "services = ]"))
    with pytest.raises(SettingError, match="services is missing"):
        read_quotas(write(tmp_path, ""))
    with pytest.raises(SettingError, match="can be read"):
        read_quotas(tmp_path / "none.toml")


def test_a_token_in_place_of_its_digest_is_not_repeated(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("weight = 2.0", 'tokens = ["my-secret-token"]'))
    with pytest.raises(SettingError) as caught:
        read_quotas(path)
    assert "my-secret-token" not in str(caught.value)
    assert "sha256:" in str(caught.value)


def test_tokens_are_random_and_known_by_their_digest() -> None:
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    for token, digest in tokens:
        assert digest_of_token(token) == digest
        assert Quota(rate=1, tokens=(digest,)).tokens == (digest,)
