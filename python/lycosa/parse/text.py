"""What a page says: its main text, its kind, and what it states of itself. Needs no crawl."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from lycosa import _core
from lycosa.errors import LycosaError, SettingError

if TYPE_CHECKING:
    import pyarrow

Method = Literal["lycosa", "density-paper"]

#: Ways to find the main text: ``lycosa`` is ours, ``density-paper`` the published one (Zhu et al. 2013).
METHODS: tuple[Method, ...] = get_args(Method)


#: What Markdown may have: links, and images.
OPTIONS = ((False, False), (False, True), (True, False), (True, True))

#: What of a page is found only when it is asked for.
FINGERPRINTS = ("simhash", "digest")
METADATA = (
    *("title", "author", "published", "modified", "language"),
    *("canonical", "description", "site", "licence"),
)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A block of a page's main text."""

    #: ``heading``, ``paragraph``, ``item``, ``cell``, ``code``, ``quote`` or ``caption``.
    role: str
    #: Of a heading from 1 to 6; of an item how many lists are around it; otherwise 0.
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Post:
    """What somebody has written on a page."""

    #: ``post``, ``question``, ``answer``, ``comment`` or ``review``.
    kind: str
    #: Who has, and the ISO 8601 day; `None`: not stated.
    author: str | None
    date: str | None
    text: str


@dataclass(frozen=True)
class Kept:
    """What is kept of a page in place of its tree, which cannot be pickled: the results of all its methods."""

    stated: list[tuple[str, str]]
    written: dict[tuple[bool, bool], str | None]
    chosen: list[tuple[str, int, str]]
    posted: list[tuple[str, str, str, str]]

    @classmethod
    def of(cls, page: _core.ExtractedPage | Kept) -> Kept:
        """Ask a page for all."""
        written = {option: page.markdown(*option) for option in OPTIONS}
        return cls(page.metadata(), written, page.blocks(), page.posts())

    def metadata(self) -> list[tuple[str, str]]:
        """See ``_core.ExtractedPage``, as of the others."""
        return self.stated

    def markdown(self, links: bool, images: bool) -> str | None:
        """Return what was written."""
        return self.written[links, images]

    def blocks(self) -> list[tuple[str, int, str]]:
        """Return what was chosen."""
        return self.chosen

    def posts(self) -> list[tuple[str, str, str, str]]:
        """Return what was posted."""
        return self.posted


@dataclass(frozen=True)
class Extracted:
    """What a page says. It keeps the tree that it was read from; one that was pickled does not."""

    #: The main text: each block begins on a line of its own.
    text: str
    #: ``article``, ``forum``, ``product``, ``collection``, ``listing``, ``documentation``, ``service``, ``other``; or
    #: ``binary``: the bytes are no text.
    kind: str
    #: The expected F1 of the words of the main text, from 0 to 1; `None`: the method tells none.
    confidence: float | None
    #: What the page is in place of content, such as ``challenge``, ``login`` or ``not-found``; `None`: it is content.
    refusal: str | None
    #: Near duplicates differ in few of its 64 bits. 0: the text has no word.
    simhash: int = field(init=False)
    #: MD5 of the words of the text; `None`: it has none.
    digest: bytes | None = field(init=False)
    #: What the page states; `None`: nothing. Dates are ISO 8601 days.
    title: str | None = field(init=False)
    author: str | None = field(init=False)
    published: str | None = field(init=False)
    modified: str | None = field(init=False)
    language: str | None = field(init=False)
    canonical: str | None = field(init=False)
    description: str | None = field(init=False)
    site: str | None = field(init=False)
    licence: str | None = field(init=False)
    #: Whether the page has more than is looked at, 2,000,000 elements and 20,000 blocks: the others are left out.
    is_cut: bool = False
    _page: _core.ExtractedPage | Kept | None = field(default=None, repr=False, compare=False)
    #: Whether the text is another extractor's: it has no blocks and no Markdown.
    _is_of_other: bool = field(default=False, repr=False, compare=False)

    if not TYPE_CHECKING:  # where any name would be an attribute

        def __getattr__(self, name: str) -> Any:
            """Find what has no value yet: fingerprints and metadata are looked for when they are first asked for."""
            if name in FINGERPRINTS:
                simhash, digest = _core.fingerprint(self.text) or (0, None)
                self.__dict__.update(simhash=simhash, digest=digest)
            elif name in METADATA:
                stated = {} if self._page is None else dict(self._page.metadata())
                self.__dict__.update({name: stated.get(name) for name in METADATA})
            else:
                raise AttributeError(f"{type(self).__name__} has no attribute {name}", name=name, obj=self)
            return self.__dict__[name]

    def markdown(self, *, links: bool = False, images: bool = False) -> str:
        """Return the main text as Markdown (CommonMark, tables of GFM, formulas between dollars).

        links: whether links have their targets. images: whether images are written. The published method has no
        structure: of it the text is returned.
        """
        made = None if self._page is None or self._is_of_other else self._page.markdown(links, images)
        return self.text if made is None else made

    @cached_property
    def blocks(self) -> list[TextBlock]:
        """The blocks of the main text; the published method has none."""
        if self._page is None or self._is_of_other:
            return []
        return [TextBlock(*block) for block in self._page.blocks()]

    @cached_property
    def posts(self) -> list[Post]:
        """Posts, questions, answers, comments and reviews in their order, as the page states them."""
        found = [] if self._page is None else self._page.posts()
        return [Post(kind, author or None, date or None, text) for kind, author, date, text in found]

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the page cannot be, so that all that is made of it is found first."""
        state = {one.name: getattr(self, one.name) for one in fields(self)}
        return state | {"_page": None if self._page is None else Kept.of(self._page)}

    def to_arrow(self) -> pyarrow.Table:
        """Return the blocks as an Arrow table: role, level, text. Needs pyarrow (extra ``parquet``)."""
        import pyarrow

        columns = {name: [getattr(block, name) for block in self.blocks] for name in ("role", "level", "text")}
        fields = [("role", pyarrow.string()), ("level", pyarrow.uint8()), ("text", pyarrow.string())]
        return pyarrow.table(columns, schema=pyarrow.schema(fields))


def extract(
    html: bytes | bytearray | memoryview | str,
    *,
    url: str | None = None,
    content_type: str | None = None,
    method: Method = "lycosa",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    below: float = 0.0,
    slower: Callable[[bytes, str | None], str] | None = None,
) -> Extracted:
    """Return what a page says.

    html: the page; of bytes the character set is found as browsers do it. url: its own, which tells something of its
    kind and date. content_type, status, headers: of its response; the last two help to tell refusals. method: the
    published one finds no kind, blocks, posts or Markdown. slower: another extractor, which is asked for the main
    text of pages whose confidence is less than ``below``; it gets the bytes and the URL, and what it returns has no
    confidence. Raises SettingError for an unknown method, an impossible status or what is no page, LycosaError for a
    page that makes a library fail or a slower extractor that returns no text. Surrogates become question marks.

    >>> page = "<title>Cats</title><article><h1>Cats</h1><p>Cats are small, and they sleep a lot.</p></article>"
    >>> extract(page).title
    'Cats'
    """
    if method not in METHODS:
        raise SettingError("method", method, " or ".join(METHODS))
    if not isinstance(status, int) or not 100 <= status <= 999:
        raise SettingError("status", repr(status), "a status code of HTTP, from 100 to 999")
    if not isinstance(html, str | bytes | bytearray | memoryview):
        raise SettingError("html", type(html).__name__, "str or bytes")
    body = html.encode("utf-8", "replace") if isinstance(html, str) else bytes(html)
    content_type = "text/html; charset=utf-8" if isinstance(html, str) else _cleaned(content_type) or None
    received = [(_cleaned(name).lower(), _cleaned(value)) for name, value in (headers or {}).items()]
    page = _core.extract_page(body, _cleaned(url), content_type, method, status, received)
    found = Extracted(page.text, page.kind, page.confidence, page.refusal, page.is_cut, page)
    if slower is not None and found.confidence is not None and found.confidence < below and found.kind != "binary":
        text = slower(body, url)
        if not isinstance(text, str):
            raise LycosaError(f"slower returned {type(text).__name__} for {url or 'a page'}: it must return a str")
        return replace(found, text=_cleaned(text), confidence=None, _is_of_other=True)
    return found


def _cleaned(text: str | None) -> str:
    """Return a text without surrogates, which no encoding has; of `None` an empty one."""
    return (text or "").encode("utf-8", "replace").decode()
