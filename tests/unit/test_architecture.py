"""What the documents say is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tools.figures import FIGURES, FOLDER

ROOT = Path(__file__).parents[2]


def named_paths(document: str) -> list[str]:
    """The paths in back quotes: words with a slash or a known ending, without placeholders."""
    words = re.findall(r"`([A-Za-z0-9_./-]+)`", (ROOT / document).read_text())
    return [word for word in words if "/" in word or word.endswith((".py", ".rs", ".md", ".toml", ".pyi"))]


@pytest.mark.parametrize("document", ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "docs/dependencies.md"])
def test_every_path_that_is_named_exists(document: str) -> None:
    paths = named_paths(document)
    missing = [path for path in paths if not (ROOT / path).exists()]
    assert missing == []
    assert paths or document != "ARCHITECTURE.md"


def test_only_the_binding_knows_pyo3() -> None:
    for manifest in ROOT.glob("crates/*/Cargo.toml"):
        if manifest.parent.name != "python":
            assert "pyo3" not in manifest.read_text(), manifest


def crates_of_ours(crate: str) -> set[str]:
    """Which crates of this workspace a crate uses. What tests and examples are made of is nobody's dependency."""
    manifest, _, _ = (ROOT / "crates" / crate / "Cargo.toml").read_text().partition("[dev-dependencies]")
    lines = manifest.splitlines()
    return {line.split(".")[0].split(" ")[0] for line in lines if line.startswith("lycosa-")}


def test_stages_do_not_import_each_other_in_rust() -> None:
    for part in ["names", "frontier", "fetch", "parse", "store", "simnet"]:
        shared = {"lycosa-url", "lycosa-tls", "lycosa-records", "lycosa-mapped", "lycosa-clocks"}
        own = {"lycosa-dom", "lycosa-text"} if part == "parse" else set[str]()
        assert crates_of_ours(part) <= shared | own, part


def test_what_is_built_on_the_client_of_names_uses_that_alone() -> None:
    for crate in ["names-local", "names-published", "names-server"]:
        assert crates_of_ours(crate) <= {"lycosa-url", "lycosa-names"}, crate


def test_every_dependency_earns_its_line() -> None:
    used = set()
    for manifest in [*ROOT.glob("crates/*/Cargo.toml"), ROOT / "fuzz" / "Cargo.toml"]:
        parsed = tomllib.loads(manifest.read_text())
        used |= {*parsed.get("dependencies", {}), *parsed.get("dev-dependencies", {})}
    listed = set(re.findall(r"^\| `([^`]+)`", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE))
    assert listed == {name for name in used if not name.startswith("lycosa-")}


@pytest.mark.parametrize("figure", FIGURES)
def test_the_figures_are_those_of_the_code(figure: str) -> None:
    assert (FOLDER / figure).read_text() == FIGURES[figure](), "python -m tools.figures draws them anew"


def glossary() -> list[str]:
    """The terms of the glossary."""
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Glossary")[1].split("##")[0]
    rows = re.findall(r"^\| ([a-z][a-z, -]+?) \|", text, re.MULTILINE)[1:]
    return [term for row in rows for term in row.split(", ")]


def test_the_glossary_has_at_most_forty_terms_each_used_in_code_and_in_documents() -> None:
    sources = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/lycosa/**/*.py")]
    code = " ".join(re.sub(r"[\s/!#]+", " ", path.read_text()).lower() for path in sources)
    documents = " ".join(re.sub(r"\s+", " ", path.read_text()).lower() for path in ROOT.glob("docs/*.md"))
    architecture = (ROOT / "ARCHITECTURE.md").read_text().split("## Glossary")[0]
    documents += re.sub(r"\s+", " ", architecture + (ROOT / "README.md").read_text()).lower()
    terms = glossary()
    assert 20 < len(terms) <= 42, "40 rows, one of them with three terms"
    assert [term for term in terms if term not in code] == []
    assert [term for term in terms if term not in documents] == []
