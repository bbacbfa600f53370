"""What the models are made of: a digest of the scripts and of the code that describes pages."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: The scripts, and what of the core describes pages to them; and the models themselves.
MADE_OF = ("tools/text_model/*.py", "crates/dom/src/**/*.rs", "crates/text/src/**/*.rs")
MODELS = "crates/text/models/*.bin"

#: What reads pages, of which the version counts.
TOKENIZER = "html5gum"

#: Code that looks at what is chosen, or at nothing of that.
BESIDE = (
    "crates/text/src/markdown/",
    "crates/text/src/metadata",
    "crates/text/src/density.rs",
    "crates/text/src/fingerprint.rs",
    "crates/text/src/marks.rs",
    "crates/text/src/posts.rs",
    "crates/text/src/refusal.rs",
    "crates/text/src/seen.rs",
    "crates/text/src/templates.rs",
    "tools/text_model/source.py",
)


def source() -> str:
    """Return the digest: models that were made of something else may not fit, and others were not made of this."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in MADE_OF for path in ROOT.glob(pattern)):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(BESIDE):
            digest.update(f"{name}\0{_without_comments(path.read_text(encoding='utf-8'))}\0".encode())
    for path in sorted(ROOT.glob(MODELS)):
        digest.update(path.read_bytes())
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    digest.update("".join(package["version"] for package in packages if package["name"] == TOKENIZER).encode())
    return digest.hexdigest()


def _without_comments(text: str) -> str:
    """Return code without its tests, comments and empty lines, on which models do not depend."""
    lines = (line.strip() for line in text.partition("#[cfg(test)]")[0].splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "#")))
