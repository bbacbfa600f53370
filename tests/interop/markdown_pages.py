"""Pages of known Markdown: twelve documents, rendered by six generators as sites show them; and scores of what is recovered."""

from __future__ import annotations

import html
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apted import APTED, Config
from apted.helpers import Tree
from markdown_it import MarkdownIt
from rapidfuzz.distance import Levenshtein

SOURCES = Path(__file__).parents[1] / "fixtures" / "markdown"

#: What is around a page's text; ``{title}`` and ``{body}`` are put in.
DOCUMENTATION = """<!DOCTYPE html><html lang="en"><head><title>{title} - Handbook</title></head><body>
<header class="navbar"><a class="brand" href="/">Handbook</a><form><input type="search" placeholder="Search"></form>
<nav><a href="/guide">Guide</a> <a href="/api">Reference</a> <a href="/blog">Blog</a></nav></header>
<div class="layout"><aside class="sidebar"><ul class="menu">{menu}</ul></aside>
<main class="content" role="main"><div class="breadcrumbs"><a href="/">Home</a> › <a href="/guide">Guide</a></div>
<article class="markdown-body">{body}</article>
<nav class="pagination"><a href="/prev">Previous: Overview</a><a href="/next">Next: Limits</a></nav></main>
<div class="toc"><p>On this page</p><ul><li><a href="#a">First</a></li><li><a href="#b">Second</a></li></ul></div></div>
<footer><p>© 2026 The Handbook authors. Built with a generator.</p></footer></body></html>"""
BLOG = """<html lang="en"><head><meta charset="utf-8"><title>{title} | Notes on systems</title></head><body class="single post">
<div id="header"><h2 class="site-title"><a href="/">Notes on systems</a></h2><ul id="nav"><li><a href="/about">About</a></li>
<li><a href="/archive">Archive</a></li><li><a href="/feed.xml">RSS</a></li></ul></div>
<div id="main"><div class="post"><div class="meta">Posted on March 3, 2026 by Ann Lee in <a href="/c">systems</a></div>
<div class="entry-content">{body}</div><div class="share"><a href="#">Share</a> <a href="#">Tweet</a></div></div>
<div id="comments"><h3>2 comments</h3><ol><li><b>Bo</b> Thanks, this was useful.</li><li><b>Cy</b> Which version is it?</li></ol>
</div></div><div id="sidebar"><h3>Recent posts</h3><ul class="recent">{menu}</ul></div>
<div id="footer">Powered by a blog engine. All rights reserved.</div></body></html>"""

MENU = "".join(f'<li><a href="/page/{number}">Chapter {number}: what to know first</a></li>' for number in range(14))


def _sources() -> dict[str, str]:
    """The documents by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))}


def _page(template: str, text: str, body: str) -> str:
    """A page of a site."""
    title = text.splitlines()[0].removeprefix("# ")
    return template.replace("{menu}", MENU).replace("{title}", html.escape(title)).replace("{body}", body)


def _markdown_it(text: str) -> str:
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    return str(MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).render(text))


def _mistune(text: str) -> str:
    import mistune

    return str(mistune.create_markdown(plugins=["table", "math", "strikethrough"])(text))


def _python_markdown(text: str) -> str:
    import markdown

    extensions = ["tables", "fenced_code", "codehilite", "toc", "sane_lists", "pymdownx.arithmatex"]
    settings = {"pymdownx.arithmatex": {"generic": True}, "codehilite": {"guess_lang": False}}
    return str(markdown.markdown(text, extensions=extensions, extension_configs=settings, tab_length=2))


def _material(text: str) -> str:
    import markdown

    extensions = ["tables", "pymdownx.superfences", "pymdownx.highlight", "pymdownx.arithmatex", "toc", "attr_list"]
    settings: dict[str, dict[str, Any]] = {
        "pymdownx.arithmatex": {"generic": True},
        "pymdownx.highlight": {"linenums": True, "anchor_linenums": True},
        "toc": {"permalink": "¶"},
    }
    return str(markdown.markdown(text, extensions=extensions, extension_configs=settings, tab_length=2))


def _commonmark(text: str) -> str:
    import markdown2

    extras = ["tables", "fenced-code-blocks", "cuddled-lists", "header-ids"]
    return str(markdown2.markdown(text, extras=extras))


#: Generators by name: how they render, and what is around it.
GENERATORS: dict[str, tuple[Callable[[str], str], str]] = {
    "markdown-it": (_markdown_it, DOCUMENTATION),
    "mistune": (_mistune, BLOG),
    "python-markdown": (_python_markdown, BLOG),
    "material": (_material, DOCUMENTATION),
    "markdown2": (_commonmark, BLOG),
}


def pages(folder: Path) -> dict[str, tuple[str, str]]:
    """All pages, by generator and document: the HTML, and the Markdown that it was made of. folder: for Sphinx."""
    sources = _sources()
    made = {
        f"{name}/{document}": (_page(template, text, render(text)), text)
        for name, (render, template) in GENERATORS.items()
        for document, text in sources.items()
    }
    return made | _sphinx(folder, sources)


def _sphinx(folder: Path, sources: dict[str, str]) -> dict[str, tuple[str, str]]:
    """The documents as a site of Sphinx with its own theme."""
    source, built = folder / "source", folder / "built"
    source.mkdir()
    (source / "conf.py").write_text(
        'project = "Handbook"\nextensions = ["myst_parser", "sphinx.ext.mathjax"]\nmyst_enable_extensions = ["dollarmath"]\n'
        'html_theme = "alabaster"\n'
    )
    names = "\n".join(f"   {name}" for name in sources)
    (source / "index.rst").write_text(f"Handbook\n========\n\n.. toctree::\n\n{names}\n")
    for name, text in sources.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source), str(built)]
    subprocess.run(command, check=True, capture_output=True)
    return {
        f"sphinx/{name}": ((built / f"{name}.html").read_text(encoding="utf-8"), text)
        for name, text in sources.items()
    }


@dataclass(slots=True)
class Parts:
    """What a Markdown text consists of."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    tables: list[list[list[str]]] = field(default_factory=list)


def parts_of(text: str) -> Parts:
    """Read a Markdown text, by a foreign reader."""
    parts = Parts()
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            parts.headings.append((int(token.tag[1:]), _plain(tokens[at + 1])))
        elif token.type in ("fence", "code_block"):
            parts.code.append(token.content.strip("\n"))
            parts.languages.append(token.info.strip())
        elif token.type == "table_open":
            parts.tables.append([])
        elif token.type == "tr_open":
            parts.tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            parts.tables[-1][-1].append(_plain(tokens[at + 1]))
    return parts


def _plain(token: Any) -> str:
    """The text of inline Markdown."""
    return "".join(
        child.content for child in token.children or () if child.type in ("text", "code_inline", "softbreak")
    )


def code_similarity(wanted: Parts, found: Parts) -> float:
    """Normalised edit similarity of all code of a page."""
    return float(Levenshtein.normalized_similarity("\n\n".join(wanted.code), "\n\n".join(found.code)))


def heading_accuracy(wanted: Parts, found: Parts) -> float:
    """F1 of the headings with their levels: what is there twice, or is none, counts against it."""
    hits = (Counter(wanted.headings) & Counter(found.headings)).total()
    return 2 * hits / max(len(wanted.headings) + len(found.headings), 1)


def language_accuracy(wanted: Parts, found: Parts) -> float:
    """The part of the code with a language that is there with it."""
    named = [(language, code) for language, code in zip(wanted.languages, wanted.code, strict=True) if language]
    known = set(zip(found.languages, found.code, strict=True))
    return sum(one in known for one in named) / len(named) if named else 1.0


class _Cost(Config):  # type: ignore[misc]  # it has no types
    """Costs of TEDS: cells differ by the edit distance of their texts."""

    def rename(self, node1: Tree, node2: Tree) -> float:
        one, other = node1.name, node2.name
        if one[0] != other[0]:
            return 1.0
        return 1.0 - float(Levenshtein.normalized_similarity(one[1], other[1])) if one[1] or other[1] else 0.0

    def children(self, node: Tree) -> list[Tree]:
        return list(node.children)


def table_similarity(wanted: Parts, found: Parts) -> float:
    """The mean TEDS of the tables: tree edit distance-based similarity (Zhong, ShafieiBavani and Jimeno Yepes 2020)."""
    scores = []
    for at, table in enumerate(wanted.tables):
        other = found.tables[at] if at < len(found.tables) else []
        one, two = _tree(table), _tree(other)
        distance = APTED(one, two, _Cost()).compute_edit_distance()
        scores.append(1.0 - distance / max(_size(one), _size(two)))
    # One that is none counts as one that is not there.
    count = max(len(wanted.tables), len(found.tables))
    return sum(scores) / count if count else 1.0


def _tree(table: list[list[str]]) -> Tree:
    """A table as a tree."""
    rows = [Tree(("tr", ""), *(Tree(("td", cell)) for cell in row)) for row in table]
    return Tree(("table", ""), *rows)


def _size(tree: Tree) -> int:
    """How many nodes a tree has."""
    return 1 + sum(_size(child) for child in tree.children)
