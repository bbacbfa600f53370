"""``lycosa identity``: keys that sign requests, and the files of the bot's site."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import lycosa
import pytest
from lycosa.cli import main
from lycosa.errors import SettingError
from lycosa.fetch import identity

KEYS = Path("site") / identity.DIRECTORY
NEW = ["--agent", "https://bot.example.org/", "--name", "mybot", "--contact", "me@example.org"]


def made(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """Make an identity in a new folder; return what is told of it."""
    assert main(["identity", "new", str(folder), *NEW, *more, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def public_key(folder: Path) -> str:
    """The public half of a private key, as OpenSSL derives it, in base64url."""
    command = ["openssl", "pkey", "-in", str(folder / identity.KEY), "-pubout", "-outform", "DER"]
    der = subprocess.run(command, check=True, capture_output=True).stdout
    return base64.urlsafe_b64encode(der[-32:]).rstrip(b"=").decode()


def test_a_new_identity_has_a_key_and_the_site_of_its_bot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mybot"
    told = made(folder, capsys, "--range", "192.0.2.0/28", "--range", "2001:db8::/64")
    assert told["user_agent"] == "mybot/1.0 (+https://bot.example.org/)"
    assert stat.S_IMODE((folder / identity.KEY).stat().st_mode) == 0o600
    (key,) = json.loads((folder / KEYS).read_text())["keys"]
    # RFC 7638, of the members that RFC 8037 names.
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{public_key(folder)}"}}'
    name = base64.urlsafe_b64encode(hashlib.sha256(canonical.encode()).digest()).rstrip(b"=").decode()
    assert key["x"] == public_key(folder)
    assert key["kid"] == told["key"] == name
    ranges = json.loads((folder / "site" / identity.RANGES).read_text())
    prefixes = [
        {"ipv4Prefix": "192.0.2.0/28", "service": "mybot"},
        {"ipv6Prefix": "2001:db8::/64", "service": "mybot"},
    ]
    assert (ranges["prefixes"], ranges["formatVersion"]) == (prefixes, "1.0")
    page = (folder / "site" / "index.html").read_text()
    assert all(told in page for told in ("User-agent: mybot", "me@example.org", identity.DIRECTORY))


def test_nothing_is_ever_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "old" / "site" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place in ("old", "file"):
        assert main(["identity", "new", str(tmp_path / place), *NEW]) == 2
        assert "a new directory" in capsys.readouterr().err
    assert page.read_text() == (tmp_path / "file").read_text() == "mine"


def test_a_key_is_renewed_and_the_one_that_signed_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mybot"
    names = [made(folder, capsys)["key"]]
    for _ in range(2):
        assert main(["identity", "renew", str(folder), "--json"]) == 0
        names.insert(0, json.loads(capsys.readouterr().out)["key"])
        keys = json.loads((folder / KEYS).read_text())["keys"]
        assert [key["kid"] for key in keys] == names[:2]
        assert keys[0]["x"] == public_key(folder)
        assert stat.S_IMODE((folder / identity.KEY).stat().st_mode) == 0o600

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("os.fsync", fail)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                identity.renew(folder)
    assert public_key(folder) == json.loads((folder / KEYS).read_text())["keys"][0]["x"]
    (folder / KEYS).write_text("")  # cut off
    assert main(["identity", "renew", str(folder), "--json"]) == 0
    assert json.loads((folder / KEYS).read_text())["keys"][1]["kid"] == names[0]


def test_the_key_directory_has_signed_header_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "mybot"
    key = made(folder, capsys)
    assert main(["identity", "headers", str(folder), "--days", "9", "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    assert fields["Content-Type"] == identity.MEDIA_TYPE
    digest = base64.b64encode(hashlib.sha256((folder / KEYS).read_bytes()).digest()).decode()
    assert fields["Content-Digest"] == f"sha-256=:{digest}:"
    assert all(told in fields["Signature-Input"] for told in (key["key"], '"@authority";req', '"content-digest"'))
    for days in ("0", "366"):
        assert main(["identity", "headers", str(folder), "--days", days]) == 2
    assert "1 to 365" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--name", "my bot"], "product token"),
        (["--agent", "http://bot.example.org"], "https origin"),
        (["--agent", "https://bot.example.org/page"], "https origin"),
        (["--range", "192.0.2.1/8"], "network"),
        (["--range", "fe80::1%eth0"], "network"),
    ],
)
def test_what_no_site_could_check_is_refused(
    given: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["identity", "new", str(tmp_path / "new"), *NEW, *given]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "new" / identity.KEY).exists()


def test_a_crawl_with_a_key_that_others_may_read_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mybot"
    made(folder, capsys)
    (folder / identity.KEY).chmod(0o644)
    agent = "mybot/1.0 (+https://bot.example.org/)"
    for place, told in [(folder, "chmod 600"), (tmp_path / "none", "identity new")]:
        with pytest.raises(SettingError, match=told):
            list(lycosa.crawl("http://192.0.2.1/", user_agent=agent, fetch={"identity": place}))
