"""What a page says, by `lycosa.extract`: needs no crawl."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import lycosa
import pytest
from lycosa.errors import LycosaError, SettingError
from lycosa.parse.text import METHODS, TextBlock

TEXT = (
    "The harbour was rebuilt after the flood of 1953, and ships of up to ninety metres can enter it at any tide. Two "
    "cranes stand on the eastern quay, and the western one belongs to the fishing boats, of which eleven are left."
)
MENU = "".join(f"<li><a href=/{number}>Topic {number}</a></li>" for number in range(20))
SHIPS = (
    "<li>The Maria, built in 1931 and painted blue by her third owner</li>"
    "<li>The Anna, which carried salt from the south until the bridge was opened</li>"
    "<li>The Swan, a dredger that has not moved since 1988, and is a museum now</li>"
)
PAGE = (
    "<html lang=en><head><title>The harbour - News</title><meta property=og:site_name content=News>"
    '<meta name=author content="Ann Lee"><meta property=article:published_time content=2024-05-13T10:00:00Z></head>'
    f"<body><nav><ul>{MENU}</ul></nav><main><article><h1>The harbour</h1>"
    + "".join(f"<p>{number}. {TEXT}</p>" for number in range(8))
    + f"<h2>Ships</h2><p>Of the ships that lie here, three are older than the quay:</p><ul>{SHIPS}</ul>"
    + f"<p>{TEXT}</p></article></main>"
    "<footer><p>© 2024 News Ltd. All rights reserved.</p></footer></body></html>"
)


def test_the_article_is_kept_and_its_menu_is_not() -> None:
    found = lycosa.extract(PAGE)
    assert found.text.count("rebuilt") == 9
    assert "Topic 3" not in found.text
    assert "rights reserved" not in found.text
    assert found.kind == "article"
    assert found.confidence is not None
    assert found.confidence > 0.7
    assert found.refusal is None


def test_what_the_page_states() -> None:
    found = lycosa.extract(PAGE)
    assert (found.title, found.author, found.published) == ("The harbour", "Ann Lee", "2024-05-13")
    assert (found.language, found.site, found.modified) == ("en", "News", None)


def test_the_structure_is_kept() -> None:
    found = lycosa.extract(PAGE)
    assert found.blocks[0] == TextBlock("heading", 1, "The harbour")
    assert TextBlock("heading", 2, "Ships") in found.blocks
    assert found.markdown().startswith("# The harbour\n\n0")
    assert "- The Maria" in found.markdown()


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1", b"PK\3\4\x14\0\0\0\x08\0\0\0"])
def test_bytes_that_are_no_text(body: bytes) -> None:
    found = lycosa.extract(body)
    assert (found.kind, found.text, found.confidence) == ("binary", "", None)


def test_other_character_sets() -> None:
    text = "港口在一九五三年的洪水之后重建，船只可以随时进入。" * 9
    page = f"<meta charset=gbk><article><h1>港口</h1><p>{text}</p></article>"
    assert "港口在一九五三年" in lycosa.extract(page.encode("gbk")).text
    assert "港口在一九五三年" in lycosa.extract(page.encode("utf-16")).text


def test_a_challenge_is_no_page() -> None:
    page = "<title>Just a moment...</title><p>Verify you are human by completing the action below."
    assert lycosa.extract(page).refusal == "challenge"


def test_a_slower_extractor_is_asked_where_confidence_is_low() -> None:
    asked: list[str | None] = []

    def slower(body: bytes, url: str | None) -> str:
        asked.append(url)
        return f"{len(body)} bytes"

    unsure = lycosa.extract("<p>x", url="https://a.example/", below=1.0, slower=slower)
    assert unsure.text == "4 bytes"
    assert asked == ["https://a.example/"]
    lycosa.extract(PAGE, below=0.1, slower=slower)
    assert len(asked) == 1


def test_the_published_method() -> None:
    found = lycosa.extract(PAGE.replace("<p>", "\n<p>"), method="density-paper")
    assert found.text.count("rebuilt") == 8
    assert (found.confidence, found.blocks) == (None, [])
    with pytest.raises(SettingError, match="method: 'best' is not allowed; allowed: lycosa or density-paper"):
        lycosa.extract(PAGE, method="best")  # type: ignore[arg-type]


def test_posts_have_their_authors() -> None:
    data = '{"@type": "Comment", "text": "I like it.", "author": {"name": "Ann"}, "dateCreated": "2024-05-13"}'
    (post,) = lycosa.extract(f"{PAGE}<script type='application/ld+json'>{data}</script>").posts
    assert (post.kind, post.author, post.date, post.text) == ("comment", "Ann", "2024-05-13", "I like it.")


def test_blocks_are_a_table() -> None:
    table = lycosa.extract(PAGE).to_arrow()
    assert table.column_names == ["role", "level", "text"]
    assert table.num_rows == len(lycosa.extract(PAGE).blocks) > 5


def test_near_duplicates_have_near_fingerprints() -> None:
    one, other = lycosa.extract(PAGE), lycosa.extract(PAGE.replace("painted blue", "painted green"))
    assert one.digest != other.digest
    assert (one.simhash ^ other.simhash).bit_count() <= 6
    assert lycosa.extract(PAGE.replace("ships", "SHIPS")).digest == one.digest


def test_a_result_goes_to_another_process() -> None:
    found = lycosa.extract(PAGE, url="https://www.example.com/")
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):  # noqa: S301
        assert other == found
        assert (other.blocks, other.posts) == (found.blocks, found.posts)
        assert other.markdown(links=True) == found.markdown(links=True)
        shorter = dataclasses.replace(other, text="The harbour was rebuilt.")
        assert (shorter.title, shorter.author, shorter.posts) == (found.title, found.author, found.posts)
        assert shorter.digest == lycosa.extract("<p>The harbour was rebuilt.").digest
        assert dataclasses.replace(other) == found
    assert dataclasses.asdict(found)["text"] == found.text


def test_what_is_found_when_it_is_asked_for_is_what_the_page_states() -> None:
    for method in METHODS:
        found = lycosa.extract(PAGE, method=method)
        assert (found.author, found.language, found.modified) == ("Ann Lee", "en", None)
        assert found.digest == lycosa.extract(PAGE, method=method).digest is not None
    assert found != dataclasses.replace(found, text="")
    assert "Ann Lee" in repr(found)
    with pytest.raises(AttributeError, match="Extracted has no attribute titel"):
        found.titel  # type: ignore[attr-defined]  # noqa: B018
    assert (lycosa.extract("").digest, lycosa.extract("").simhash, lycosa.extract("").title) == (None, 0, None)


def test_what_another_extractor_returns_has_its_own_fingerprint() -> None:
    found = lycosa.extract(PAGE, below=1.1, slower=lambda _, __: "another text")
    assert found.digest == lycosa.extract("<p>another text").digest
    assert found.title == lycosa.extract(PAGE).title


def test_what_cannot_be_read_is_told() -> None:
    with pytest.raises(SettingError, match="from 100 to 999"):
        lycosa.extract(PAGE, status=70_000)
    with pytest.raises(LycosaError, match="slower returned NoneType"):
        lycosa.extract(PAGE, below=2.0, slower=lambda body, url: None)  # type: ignore[arg-type, return-value]


def test_any_buffer_is_a_page() -> None:
    assert lycosa.extract(bytearray(PAGE.encode())) == lycosa.extract(memoryview(PAGE.encode()))


def test_a_page_of_too_many_elements_is_cut() -> None:
    assert lycosa.extract("<b></b>" * 2_000_001).is_cut


def test_xhtml() -> None:
    page = "<html><head><script src='a.js'/></head><body><p>The harbour was rebuilt.</p></body></html>"
    assert lycosa.extract(page.encode(), content_type="application/xhtml+xml").text == "The harbour was rebuilt.\n"


def test_nothing_is_of_no_kind() -> None:
    assert lycosa.extract("").kind == "other"


def test_surrogates_are_replaced_wherever_they_stand() -> None:
    found = lycosa.extract(
        "<p>a\udc80b",
        url="http://a.example/\udc80",
        content_type="\udc80",
        headers={"X": "\udc80"},
        below=1.1,
        slower=lambda _, __: "a\udc80",
    )
    assert found.text == "a?"


@pytest.mark.parametrize("given", [{"html": 5}, {"html": [60, 112]}, {"html": b"", "status": "200"}])
def test_what_is_no_page_is_told(given: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        lycosa.extract(**given)


def test_documents_of_other_kinds_are_no_text() -> None:
    for document in (b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj", b"%!PS-Adobe-3.0\n", b"{\\rtf1 Hello}"):
        assert lycosa.extract(document).kind == "binary"


def test_texts_without_a_word_are_no_duplicates() -> None:
    for text in ("★★★", "😀", "→ → →"):
        found = lycosa.extract(f"<p>{text}</p>")
        assert (found.simhash, found.digest) == (0, None)
