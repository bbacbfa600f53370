"""Draw the figures of docs/architecture/ from the code: `python -m tools.figures`.

``components.svg`` has the crates and which of them uses which, by their manifests. ``loop.svg`` has the calls of one
turn of the loop, in order, by the source of ``lycosa.loop.run``.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterable
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "architecture"

#: Pixels of a box, and between boxes.
WIDTH, HEIGHT, GAP_X, GAP_Y = 130, 34, 24, 60
#: Pixels between two calls of the loop.
STEP = 34

STYLE = (
    "<style>text{font:13px sans-serif;fill:#1a1a1a}rect{fill:#f4f4f0;stroke:#555}line,path{stroke:#777;fill:none}"
    ".small{font-size:11px;fill:#555}</style>"
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0,0L8,4L0,8z" style="fill:#777;stroke:none"/></marker></defs>'
)


def uses() -> dict[str, set[str]]:
    """The crates, each with the crates of this workspace that it uses, without those that these use themselves."""
    direct: dict[str, set[str]] = {}
    for manifest in sorted(ROOT.glob("crates/*/Cargo.toml")):
        names = tomllib.loads(manifest.read_text()).get("dependencies", {})
        direct[manifest.parent.name] = {name.removeprefix("lycosa-") for name in names if name.startswith("lycosa-")}

    def reached(crate: str) -> set[str]:
        return {each for used in direct[crate] for each in {used, *reached(used)}}

    return {
        crate: {used for used in below if not any(used in reached(other) for other in below - {used})}
        for crate, below in direct.items()
    }


def components() -> str:
    """The crates in layers: each stands above all that it uses."""
    below = uses()

    def layer(crate: str) -> int:
        return 1 + max((layer(used) for used in below[crate]), default=-1)

    layers: dict[int, list[str]] = {}
    for crate in below:
        layers.setdefault(layer(crate), []).append(crate)
    widest, top = max(map(len, layers.values())), max(layers)
    width = widest * (WIDTH + GAP_X) + GAP_X
    centre: dict[str, tuple[float, float]] = {}
    for depth, crates in layers.items():
        begin = (width - len(crates) * (WIDTH + GAP_X) + GAP_X) / 2
        for number, crate in enumerate(sorted(crates)):
            y = GAP_X + (top - depth) * (HEIGHT + GAP_Y) + HEIGHT / 2
            centre[crate] = begin + number * (WIDTH + GAP_X) + WIDTH / 2, y
    lines = [
        f'<line x1="{centre[crate][0]:.0f}" y1="{centre[crate][1] + HEIGHT / 2:.0f}" '
        f'x2="{centre[used][0]:.0f}" y2="{centre[used][1] - HEIGHT / 2:.0f}" marker-end="url(#head)"/>'
        for crate, names in below.items()
        for used in sorted(names)
    ]
    boxes = [box(x, y, crate) for crate, (x, y) in centre.items()]
    return svg(width, GAP_X * 2 + top * (HEIGHT + GAP_Y) + HEIGHT, [*lines, *boxes])


def calls() -> list[tuple[str, str]]:
    """The stages and methods that one turn of the loop calls, in order."""
    tree = ast.parse((ROOT / "python/lycosa/loop.py").read_text())
    loop = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "run")
    turn = next(node for node in ast.walk(loop) if isinstance(node, ast.While))
    stages = ("frontier", "fetch", "parse", "log")
    found = [
        (call.end_lineno or 0, call.end_col_offset or 0, call.func.value.id, call.func.attr)
        for call in ast.walk(turn)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in stages
        and call.func.attr not in {"idle", "free", "in_flight", "wait"}
    ]
    return [(stage, method) for *_, stage, method in sorted(found)]


def loop() -> str:
    """One turn of the loop as a sequence of calls."""
    made = calls()
    order = list(dict.fromkeys(["loop", *(stage for stage, _ in made)]))
    x = {stage: GAP_X + number * (WIDTH + GAP_X) + WIDTH / 2 for number, stage in enumerate(order)}
    bottom = GAP_X + HEIGHT + STEP * (len(made) + 1)
    parts = [box(x[stage], GAP_X + HEIGHT / 2, stage) for stage in order]
    down = f'y1="{GAP_X + HEIGHT}" y2="{bottom}" stroke-dasharray="3 3"'
    parts += [f'<line x1="{x[stage]}" x2="{x[stage]}" {down}/>' for stage in order]
    for number, (stage, method) in enumerate(made):
        y = GAP_X + HEIGHT + STEP * (number + 1)
        parts.append(f'<line x1="{x["loop"]}" y1="{y}" x2="{x[stage]}" y2="{y}" marker-end="url(#head)"/>')
        parts.append(f'<text class="small" x="{x["loop"] + 8}" y="{y - 5}">{number + 1}. {escape(method)}</text>')
    return svg(len(order) * (WIDTH + GAP_X) + GAP_X, bottom + GAP_X, parts)


def box(x: float, y: float, text: str) -> str:
    """A box around its centre."""
    shape = f'<rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>'
    return f'{shape}<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(text)}</text>'


def svg(width: float, height: float, parts: Iterable[str]) -> str:
    """A drawing."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{STYLE}', *parts, "</svg>", ""])


FIGURES = {"components.svg": components, "loop.svg": loop}


def main() -> None:
    """Write all figures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        (FOLDER / name).write_text(draw())


if __name__ == "__main__":
    main()
