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
from benchmarks.peers.extractors import EXTRACTORS, TOLD
from benchmarks.report import BenchmarkError, Claim, Figure, Peer, Report

if TYPE_CHECKING:
    from tools.text_model.corpus import Page

#: The bars: word F1 over all kinds of wcxb, 4-word shingle F1 of other sets, CPU in ms.
ALL, SHINGLES, COST = 0.90, {"scrapinghub": 0.970, "magic-article": 0.90, "magic-forum": 0.75}, 2.0

#: How many times cheaper than these.
CHEAPER = {"rs-trafilatura": 10.0, "trafilatura": 25.0}

#: The set of seven kinds.
WCXB = "wcxb"

#: The extractor that is to be reached in each kind.
BEST = "rs-trafilatura"

OURS, PUBLISHED, SMOOTHIE = "lycosa", "density-paper", "dom_smoothie"

#: Rounds in which costs are compared, and of how many pages each one is read.
ROUNDS, EACH = 3, 5

#: The end of the names of sets of forums.
FORUM = "forum"

#: Sets with many pages of a site, and the pages of a site from which its template is learnt.
SITES, LEARNT = ("cleanportaleval",), 4

#: Samples of the bootstrap.
SAMPLES = 2_000


@dataclass(slots=True)
class Made:
    """What an extractor has made of all pages."""

    texts: dict[str, str] = field(default_factory=dict)
    #: Of CPU, by page, in the pass over all.
    milliseconds: dict[str, float] = field(default_factory=dict)
    #: Means of some pages, one a round.
    rounds: list[float] = field(default_factory=list)


def run(options: Options) -> Report:
    """Run all extractors on all pages, and ours on hostile ones; quick: every tenth page, and nothing is trained."""
    return run_parts("extract", [_extract, metadata, hostile, speed], options)


def _extract(report: Report, options: Options, cores: Cores, folder: Path) -> None:
    """Run all of it."""
    from tools.text_model import CORPORA
    from tools.text_model.corpus import pages

    if not CORPORA.is_dir():
        raise BenchmarkError(f"{CORPORA} is missing: set LYCOSA_CORPORA to the corpora")
    found = pages()
    judged = found[::10] if options.quick else found
    names = [name for name in (*EXTRACTORS, SMOOTHIE) if _is_here(report, name)]
    made: dict[str, Made] = {}
    for name in names:
        progress(f"{name}: {len(judged)} pages")
        made[name] = _run(name, judged, cores)
    _measure(made, judged[:: 1 if options.quick else EACH], cores)
    if options.quick:
        report.notes.append(
            "quick: our texts are by models that have seen these pages, so nothing is claimed of them"
        )
        _tell_quality(report, judged, made)
    else:
        progress("training for each of five folds on the others")
        texts, with_templates = _held_out(found, judged)
        made[OURS].texts = texts
        _tell_quality(report, judged, made)
        _claim_quality(report, judged, made)
        _tell_templates(report, judged, texts, with_templates)
        report.notes.append(
            "quality of ours: five folds by domain, each judged by models that were trained on the other four; what "
            "is looked at and how it is decided was chosen with these folds in view: pages kept apart judge better"
        )
    _tell_cost(report, made)


def _is_here(report: Report, name: str) -> bool:
    """Whether an extractor is installed; others than ours are told as peers."""
    if name == SMOOTHIE:
        lock = (Path(__file__).parent / "peers" / "dom_smoothie" / "Cargo.lock").read_text(encoding="utf-8")
        version = lock.partition(f'name = "{SMOOTHIE}"\nversion = "')[2].partition('"')[0]
        report.peers.append(Peer(name, version, "its defaults"))
        return True
    extractor = EXTRACTORS[name]
    peer = Peer.package(name, extractor.needs, extractor.settings)
    if name not in (OURS, PUBLISHED):
        report.peers.append(peer)
    return peer.missing is None


def _command(name: str, kind: str) -> list[str]:
    """The command of an extractor for pages of a kind; one that is not Python's is built once."""
    if name != SMOOTHIE:
        return [sys.executable, "-m", "benchmarks.peers.extractors", name, kind]
    source = Path(__file__).parent / "peers" / "dom_smoothie"
    root = Path(os.environ.get("LYCOSA_CACHE", source.parents[2] / "build")) / "dom_smoothie"
    command = ["cargo", "install", "-q", "--locked", "--path", ".", "--root", str(root)]
    if subprocess.run(command, cwd=source).returncode != 0:
        raise BenchmarkError(f"{name}: cannot be built; run `{' '.join(command)}` in {source} to see why")
    return [str(root / "bin" / "dom-smoothie-extract")]


def _run(name: str, found: Sequence[Page], cores: Cores) -> Made:
    """Have an extractor read all pages, one at a time; one that is told what forums are reads them apart."""
    made = Made()
    is_told = (name, FORUM) in TOLD
    forums = [page for page in found if is_told and page.kind.endswith(FORUM)]
    others = [page for page in found if not (is_told and page.kind.endswith(FORUM))]
    for kind, some in (("", others), (FORUM, forums)):
        if some:
            _run_some(_command(name, kind), some, made, cores)
    return made


def _run_some(command: Sequence[str], found: Sequence[Page], made: Made, cores: Cores) -> None:
    """Have a process read pages."""
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
            made.milliseconds[page.name] = spent / 1e6
        process.stdin.close()


def _measure(made: dict[str, Made], some: Sequence[Page], cores: Cores) -> None:
    """Measure what some pages cost, in rounds in which all extractors have their turn."""
    for number in range(ROUNDS):
        progress(f"cost of {len(some)} pages, round {number + 1} of {ROUNDS}")
        for name, one in made.items():
            one.rounds.append(statistics.mean(_run(name, some, cores).milliseconds.values()))


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
        blocks.learn(*training.encoded(training.learn(set(range(FOLDS)) - {fold})))
        # A site is in one fold: its pages come one after the other, as in a crawl.
        pages = Counter[str]()
        for page in (page for page in judged if page.fold == fold):
            texts[page.name] = blocks.text(page)
            if page.kind in SITES:
                is_known = blocks.boilerplate(page, page.domain)
                pages[page.domain] += 1
                if pages[page.domain] > LEARNT:
                    with_templates[page.name] = blocks.text(page, is_known)
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


def _tell_quality(report: Report, judged: Sequence[Page], made: dict[str, Made]) -> None:
    """Add what each extractor reaches, per set and kind."""
    from tools.text_model.scores import shingle_f1, word_f1

    sets = _places(judged)
    for name, one in made.items():
        words = [word_f1(page.gold, one.texts[page.name]) for page in judged]
        for kind, at in sets.items():
            report.figures.append(Figure.of(f"{name}: word F1, {kind}", "", [_mean(words, at)]))
        for kind in SHINGLES:
            some = [judged[at] for at in sets.get(kind, ())]
            value = shingle_f1([(page.gold, one.texts[page.name]) for page in some])
            report.figures.append(Figure.of(f"{name}: shingle F1, {kind}", "", [value]))


def _claim_quality(report: Report, judged: Sequence[Page], made: dict[str, Made]) -> None:
    """Claim what ours reaches, and that it is as good as the best peer in each kind."""
    from tools.text_model.scores import shingle_f1, word_f1

    words = {name: [word_f1(page.gold, one.texts[page.name]) for page in judged] for name, one in made.items()}
    sets, ours = _places(judged), words[OURS]
    total = _mean(ours, sets[WCXB])
    report.claims.append(Claim.at_least("extract.wcxb", "word F1 over all kinds of wcxb", total, "", ALL))
    for kind, at in sets.items():
        if not kind.startswith(f"{WCXB}-"):
            continue
        for name in words.keys() - {OURS}:
            low, high = _bootstrap(ours, words[name], at)
            text = f"word F1, {kind}: ours less {name}'s (95 % of samples: {low:+.3f} to {high:+.3f})"
            report.figures.append(Figure.of(text, "", [_mean(ours, at) - _mean(words[name], at)]))
        # Without the peer nothing is shown.
        value = _mean(ours, at) - _mean(words[BEST], at) if BEST in words else None
        text = f"word F1, {kind}: ours less {BEST}'s"
        report.claims.append(Claim.at_least(f"extract.{kind}", text, value, "", 0.0))
    for kind, bar in SHINGLES.items():
        some = [judged[at] for at in sets[kind]]
        value = shingle_f1([(page.gold, made[OURS].texts[page.name]) for page in some])
        report.claims.append(Claim.at_least(f"extract.{kind}", f"4-word shingle F1, {kind}", value, "", bar))


def _tell_cost(report: Report, made: dict[str, Made]) -> None:
    """Add what a page costs, and how many times less ours is."""
    for name, one in made.items():
        report.figures.append(Figure.of(f"{name}: CPU a page, of all", "ms", [_cost(one)]))
        report.figures.append(Figure.of(f"{name}: CPU a page, of every {EACH}th", "ms", one.rounds))
    cost = _cost(made[OURS])
    report.claims.append(Claim.at_most("extract.cost", "CPU a page, the mean of all", cost, "ms", COST))
    for name, times in CHEAPER.items():
        text, value = f"CPU a page, {name} ÷ ours", None
        if name in made:
            figure = Figure.ratio(text, made[name].rounds, made[OURS].rounds)
            report.figures.append(figure)
            value = figure.median
        report.claims.append(Claim.at_least(f"extract.cost.{name}", text, value, "ratio", times))


def _cost(one: Made) -> float:
    """Milliseconds a page, in the mean of all."""
    return statistics.mean(one.milliseconds.values())


def _places(judged: Sequence[Page]) -> dict[str, list[int]]:
    """The places of pages by set; wcxb as a whole as well."""
    places: dict[str, list[int]] = {WCXB: [at for at, page in enumerate(judged) if page.kind.startswith(f"{WCXB}-")]}
    for at, page in enumerate(judged):
        places.setdefault(page.kind, []).append(at)
    return dict(sorted(places.items()))


def _mean(values: Sequence[float], places: Sequence[int]) -> float:
    """The mean of some values."""
    return statistics.mean(values[at] for at in places) if places else 0.0


def _bootstrap(ours: Sequence[float], others: Sequence[float], places: Sequence[int]) -> tuple[float, float]:
    """The range of 95 % of paired samples' mean differences."""
    chance, differences = random.Random(1), [ours[at] - others[at] for at in places]
    means = sorted(statistics.mean(chance.choices(differences, k=len(differences))) for _ in range(SAMPLES))
    return means[SAMPLES // 40], means[-SAMPLES // 40]
