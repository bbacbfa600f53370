"""Trains the models that choose the main text of a page, and tells how good they are on pages not seen before.

`python -m tools.text_model [--write]`: needs LightGBM, the corpora (`LYCOSA_CORPORA`, or `../shared/corpora`), no
network and no GPU. Five folds by domain: the figures are of each fold by models that were trained on the others.
--write: also train on all pages, and write the models that Lycosa uses.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from tools.text_model.corpus import FOLDS, pages
from tools.text_model.described import Blocks
from tools.text_model.kinds import kind_of
from tools.text_model.scores import report
from tools.text_model.source import source
from tools.text_model.training import Training, prepare

MODELS = Path(__file__).parents[2] / "crates" / "text" / "models"


def main() -> None:
    """Train, and tell."""
    parser = argparse.ArgumentParser(prog="python -m tools.text_model", description=__doc__)
    parser.add_argument("--write", action="store_true", help="train on all pages, and write the models")
    arguments = parser.parse_args()
    blocks, found = Blocks(), pages()
    prepare(blocks, found)
    training = Training(blocks, found)
    print(
        f"{len(found)} pages, {sum(len(page.texts) for page in found):,} blocks, {len(blocks.names)} features",
        flush=True,
    )
    best = {page.name: blocks.choose(page, page.labels) for page in found}
    print("what the best choice of blocks would reach:", *report(found, best), sep="\n", flush=True)
    texts = dict[str, str]()
    right, all_kinds = Counter[str](), Counter[str]()
    for fold in range(FOLDS):
        learnt = training.learn(set(range(FOLDS)) - {fold})
        blocks.learn(*training.encoded(learnt))
        for page in (page for page in found if page.fold == fold):
            texts[page.name] = blocks.text(page)
            if page.kind.startswith("wcxb"):
                all_kinds[page.kind] += 1
                guess = int(training.kinds.probabilities(page, learnt.kinds).argmax())
                right[page.kind] += guess == kind_of(page)
        print(f"fold {fold + 1} of {FOLDS}", flush=True)
    print("kinds:", *(f"{kind} {right[kind]} of {count}" for kind, count in all_kinds.items()), sep="\n  ")
    print("held out:", *report(found, texts), sep="\n", flush=True)
    if arguments.write:
        MODELS.mkdir(exist_ok=True)
        learnt = training.learn(set(range(FOLDS)))
        names = ("words", "kinds", "first", "second")
        for name, content in zip(names, training.encoded(learnt), strict=True):
            (MODELS / f"{name}.bin").write_bytes(content)
        (MODELS / "source.txt").write_text(f"{source()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
