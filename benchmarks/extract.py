"""The `extract` benchmark: main text of pages that the models have not seen, beside other extractors; CPU a page."""

from __future__ import annotations

import os
import random
import statistics
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.extract_hostile import hostile
from benchmarks.extract_metadata import metadata
from benchmarks.extract_speed import speed
from benchmarks.harness import Cores, Options, environment, progress, run_parts
from benchmarks.peers.extractors import EXTRACTORS
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

if TYPE_CHECKING:
    from tools.text_model.corpus import Page

#: The bars: word F1 over all kinds of wcxb, 4-word shingle F1 of other sets, CPU in ms.
ALL, SHINGLES, COST = 0.90, {"scrapinghub": 0.970, "magic-article": 0.90, "magic-forum": 0.75}, 2.0

#: How many times cheaper than these.
CHEAPER = {"rs-trafilatura": 10.0, "trafilatura": 25.0}

#: The extractor that is to be reached in each kind.
BEST = "rs-trafilatura"

OURS, SMOOTHIE = "lycosa", "dom_smoothie"

#: Sets with many pages of a site, and the pages of a site from which its template is learnt.
SITES, LEARNT = ("cleanportaleval",), 4

#: Samples of the bootstrap.
SAMPLES = 2_000


@dataclass(slots=True)
class Made:
    """What an extractor has made of all pages."""

    texts: dict[str, str] = field(default_factory=dict)
    milliseconds: list[float] = field(default_factory=list)


def run(options: Options) -> Report:
    """Run all extractors on all pages, and ours on hostile ones; quick: on every tenth page."""
    return run_parts("extract", [_extract, metadata, hostile, speed], options)


def _extract(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Run all of it."""
    from tools.text_model.corpus import CORPORA, pages

    if not CORPORA.is_dir():
        raise BenchmarkError(f"{CORPORA} is missing: set LYCOSA_CORPORA to the corpora")
    found = pages()
    judged = found[::10] if options.quick else found
    made: dict[str, Made] = {}
    for name in (*EXTRACTORS, SMOOTHIE):
        peer = Peer.package(name, EXTRACTORS[name][1] if name in EXTRACTORS else (), "its defaults")
        if name != OURS:
            report.peers.append(peer)
        if peer.missing is None:
            progress(f"{name}: {len(judged)} pages")
            made[name] = _run(_command(name), judged, cores)
    progress("training for each of five folds on the others")
    texts, with_templates = _held_out(found, judged)
    _tell(report, judged, {**made, OURS: Made(texts, made[OURS].milliseconds)})
    _tell_templates(report, judged, texts, with_templates)
    report.notes.append(
        "quality of ours: five folds by domain, each judged by models that were trained on the other four; cost: the "
        "models of this version, which were trained on all"
    )
    report.notes.append(
        "trafilatura leaves out comments, as the scorer of the corpora calls it; jusText has the stop words of "
        "English, whatever the language of a page"
    )


def _command(name: str) -> list[str]:
    """The command of an extractor; one that is not Python's is built once."""
    if name != SMOOTHIE:
        return [sys.executable, "-m", "benchmarks.peers.extractors", name]
    source = Path(__file__).parent / "peers" / "dom_smoothie"
    root = Path(os.environ.get("LYCOSA_CACHE", source.parents[2] / "build")) / "dom_smoothie"
    command = ["cargo", "install", "-q", "--locked", "--path", ".", "--root", str(root)]
    if subprocess.run(command, cwd=source).returncode != 0:
        raise BenchmarkError(f"{name}: cannot be built; run `{' '.join(command)}` in {source} to see why")
    return [str(root / "bin" / "dom-smoothie-extract")]


def _run(command: Sequence[str], found: Sequence[Page], cores: Cores) -> Made:
    """Have an extractor read all pages, one at a time."""
    made = Made()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
        preexec_fn=lambda: os.sched_setaffinity(0, cores.client),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for page in found:
            for frame in (page.url.encode(), page.raw):
                process.stdin.write(struct.pack("<I", len(frame)) + frame)
            process.stdin.flush()
            head = process.stdout.read(12)
            if len(head) < 12:
                raise BenchmarkError(f"{' '.join(command[-2:])} ended at {page.name}")
            spent, length = struct.unpack("<QI", head)
            made.texts[page.name] = process.stdout.read(length).decode("utf-8", "replace")
            made.milliseconds.append(spent / 1e6)
        process.stdin.close()
    return made


def _held_out(found: Sequence[Page], judged: Sequence[Page]) -> tuple[dict[str, str], dict[str, str]]:
    """Our texts, by models that have not seen a page's domain; and those of pages whose templates are known."""
    try:
        from tools.text_model.corpus import FOLDS
        from tools.text_model.described import Blocks
        from tools.text_model.training import Training, prepare
    except ImportError as error:
        raise BenchmarkError(f"{error.name} is missing: pip install lightgbm scipy") from None
    blocks, texts, with_templates = Blocks(), dict[str, str](), dict[str, str]()
    prepare(blocks, found)
    training = Training(blocks, found)
    for fold in range(FOLDS):
        learnt = training.learn(set(range(FOLDS)) - {fold})
        # A site is in one fold: its pages come one after the other, as in a crawl.
        pages = Counter[str]()
        for page in (page for page in judged if page.fold == fold):
            likely = training.judge(page, learnt)[-1]
            texts[page.name] = blocks.choose(page, likely)
            if page.kind in SITES:
                is_known = blocks.boilerplate(page, page.domain)
                pages[page.domain] += 1
                if pages[page.domain] > LEARNT:
                    with_templates[page.name] = blocks.choose(page, likely * ~is_known)
        progress(f"fold {fold + 1} of {FOLDS}")
    return texts, with_templates


def _tell_templates(
    report: Report, judged: Sequence[Page], texts: dict[str, str], with_templates: dict[str, str]
) -> None:
    """Add what templates of sites gain."""
    from tools.text_model.scores import word_f1

    some = [page for page in judged if page.name in with_templates]
    for name, made in (("without", texts), ("with", with_templates)):
        rates = [word_f1(page.gold, made[page.name]) for page in some]
        if rates:
            text = f"word F1 of {len(rates)} pages of sites with {LEARNT} pages before them, {name} templates"
            report.figures.append(Figure.of(text, "", [statistics.mean(rates)]))


def _tell(report: Report, judged: Sequence[Page], made: dict[str, Made]) -> None:
    """Add claims and figures."""
    from tools.text_model.scores import shingle_f1, word_f1

    words = {name: [word_f1(page.gold, one.texts[page.name]) for page in judged] for name, one in made.items()}
    kinds = sorted({page.kind for page in judged if page.kind.startswith("wcxb-")})
    places = {kind: [at for at, page in enumerate(judged) if page.kind == kind] for kind in kinds}
    every = [at for some in places.values() for at in some]
    for name, values in words.items():
        for kind, at in {"wcxb": every, **places}.items():
            report.figures.append(Figure.of(f"{name}: word F1, {kind}", "", [_mean(values, at)]))
        report.figures.append(Figure.of(f"{name}: CPU a page", "ms", [statistics.mean(made[name].milliseconds)]))
    ours = words[OURS]
    report.claims.append(
        Claim.at_least("extract.wcxb", "word F1 over all kinds of wcxb", _mean(ours, every), "", ALL)
    )
    for kind, at in places.items():
        for name in words.keys() - {OURS}:
            low, high = _bootstrap(ours, words[name], at)
            text = f"word F1, {kind}: ours less {name}'s (95 % of samples: {low:+.3f} to {high:+.3f})"
            value = _mean(ours, at) - _mean(words[name], at)
            if name == BEST:
                report.claims.append(Claim.at_least(f"extract.{kind}", text, value, "", 0.0))
            report.figures.append(Figure.of(text, "", [value]))
    for name, bar in SHINGLES.items():
        some = [page for page in judged if page.kind == name]
        for extractor, one in made.items():
            value = shingle_f1([(page.gold, one.texts[page.name]) for page in some])
            if extractor == OURS:
                report.claims.append(Claim.at_least(f"extract.{name}", f"4-word shingle F1, {name}", value, "", bar))
            report.figures.append(Figure.of(f"{extractor}: shingle F1, {name}", "", [value]))
    cost = statistics.mean(made[OURS].milliseconds)
    report.claims.append(Claim.at_most("extract.cost", "CPU a page, the mean of all", cost, "ms", COST))
    for name, times in CHEAPER.items():
        if name in made:
            ratio = statistics.mean(made[name].milliseconds) / cost
            report.claims.append(
                Claim.at_least(f"extract.cost.{name}", f"CPU a page, {name} ÷ ours", ratio, "ratio", times)
            )


def _mean(values: Sequence[float], places: Sequence[int]) -> float:
    """The mean of some values."""
    return statistics.mean(values[at] for at in places) if places else 0.0


def _bootstrap(ours: Sequence[float], others: Sequence[float], places: Sequence[int]) -> tuple[float, float]:
    """The range of 95 % of paired samples' mean differences."""
    chance, differences = random.Random(1), [ours[at] - others[at] for at in places]
    means = sorted(statistics.mean(chance.choices(differences, k=len(differences))) for _ in range(SAMPLES))
    return means[SAMPLES // 40], means[-SAMPLES // 40]
