"""The numbers of docs/support_planes.md, made from the standard results: `python -m reproductions.vogiannou.docs`."""

from __future__ import annotations

import csv
from pathlib import Path

from reproductions.vogiannou.mappings import COMPACT_3, THREE

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "support_planes.md", ROOT / "reproductions" / "results" / "vogiannou.csv"
BEGIN, END = "<!-- made from reproductions/results/vogiannou.csv -->", "<!-- end -->"


def block(path: Path = RESULTS) -> str:
    """The tables, as markdown."""
    with path.open() as file:
        y = {(r["figure"], r["model"], r["series"], int(float(r["x"]))): float(r["y"]) for r in csv.DictReader(file)}
    lines = [BEGIN, "| improvement over the plain hierarchy with 6 levels, % | close | wide |", "|---|---|---|"]
    for volume in ("sphere", "aabb", "obb"):
        for mapping in ("DVSPM", "DFSPM", COMPACT_3 if volume == "sphere" else THREE):
            cells = [f"{y['9', f'{s}, improvement', f'{volume} {mapping}', 6]:.0f}" for s in ("close", "wide")]
            lines.append(f"| {volume}, {mapping} | {' | '.join(cells)} |")
    lines += ["", "| two objects, 60 % colliding, us | plain | 6 levels |", "|---|---|---|"]
    for volume in ("sphere", "aabb", "obb"):
        for mapping in ("DFSPM", COMPACT_3 if volume == "sphere" else THREE):
            name = f"{volume} {mapping} us"
            lines.append(f"| {volume}, {mapping} | {y['10', 'all', name, 0]:.1f} | {y['10', 'all', name, 6]:.1f} |")
    lines += ["", "| 600 objects, spheres, ms a frame | plain | DFSPM, 6 levels | compact, 3 directions, 8 levels |"]
    lines += ["|---|---|---|---|"]
    for scene in ("torus", "torus, entangled", "plane"):
        one, three = (f"sphere {mapping} ms" for mapping in ("DFSPM", COMPACT_3))
        cells = [f"{y['11', scene, one, 0]:.2f}", f"{y['11', scene, one, 6]:.2f}", f"{y['11', scene, three, 8]:.2f}"]
        lines.append(f"| {scene} | {' | '.join(cells)} |")
    lines += [
        "",
        "| pairs of the same model, spheres, times plain, 8 levels | DFSPM | compact, 3 directions |",
        "|---|---|---|",
    ]
    models = list(dict.fromkeys(k[1] for k in y if k[0] == "7"))
    for scene in ("torus", "plane"):
        for model in models:
            cells = [f"{y['11', f'{scene}, {model}', f'sphere {m}, times plain', 8]:.1f}x" for m in ("DFSPM", COMPACT_3)]
            lines.append(f"| {scene}, {model} | {' | '.join(cells)} |")
    lines += ["", f"| of the sphere pairs that 6 levels of DFSPM leave, hulls disjoint, % | {' | '.join(models)} |"]
    lines += ["|---" * (1 + len(models)) + "|"]
    for figure, scene in (("9", "close"), ("9", "wide"), ("11", "torus"), ("11", "torus, entangled"), ("11", "plane")):
        cells = [f"{y[figure, f'{scene}, {model}', 'left by spheres DFSPM, hulls disjoint', 6]:.0f}" for model in models]
        lines.append(f"| {scene} | {' | '.join(cells)} |")
    return "\n".join([*lines, END])


def update(page: Path = PAGE, results: Path = RESULTS) -> None:
    """Put the tables into the page."""
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    page.write_text(before + block(results) + rest.partition(END)[2])


if __name__ == "__main__":
    update()
