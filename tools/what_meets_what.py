"""`python -m tools.what_meets_what`: writes docs/what_meets_what.md from the pair table."""

from __future__ import annotations

from pathlib import Path

from thud.pairing.families import FAMILIES, NAMES
from thud.pairing.plans import APART, UNSUPPORTED, Plan, pair_plan, shape_plan
from thud.pairing.table import PAIR_QUERIES, PAIRS, SHAPE_QUERIES, SHAPES, Entry

PAGE = Path(__file__).parents[1] / "docs" / "what_meets_what.md"

#: The public call of each query of the table.
CALLS = {
    "intersects": "`thud.intersects`, `intersects_pairs`",
    "distance": "`thud.distance`, `distance_pairs`",
    "signed_distance": "`thud.distance`, `distance_pairs` with `signed=True`",
    "contacts": "`thud.contacts`, `contacts_pairs`",
    "overlap_patches": "`thud.overlap_patches`",
    "cast": "`thud.cast` without rotation",
    "turning_cast": "`thud.cast` with rotation",
    "triangle_pairs": "`thud.triangle_pairs`",
    "raycast": "`thud.raycast`",
    "raycast_all": "`thud.raycast_all`",
    "contains": "`thud.contains`",
    "closest_point": "`thud.closest_point`",
    "bounds": "`shape.bounds`",
    "mass": "`shape.volume`, `centroid`, `inertia`",
    "triangles": "`thud.to_mesh`",
    "save": "`thud.io` (worlds)",
    "cover": "the mid phase of a `World`",
    "collider": "`thud.particles`",
}


def _cell(plan: Plan, notes: list[str]) -> str:
    if plan.way == UNSUPPORTED:
        if plan.reason not in notes:
            notes.append(plan.reason)
        return f"no ({notes.index(plan.reason) + 1})"
    return "leaves" if plan.way == APART else plan.way


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _options(entry: Entry) -> str:
    # "features" is the cache of `v_clip`, which the page speaks of in words; "nearest" is asked for by steps of worlds alone.
    shown = {name: values for name, values in entry.options.items() if name not in ("features", "nearest")}
    return ", ".join(name if values is None else f"{name} ({', '.join(values)})" for name, values in shown.items())


def _call(query: str, options: str) -> str:
    """The calls that have the options: caches are of single pairs."""
    return CALLS[query].split(",")[0] if options == "cache" else CALLS[query]


def page() -> str:
    """The whole page."""
    notes: list[str] = []
    names = [NAMES[family] for family in FAMILIES]
    lines = [
        "# What meets what",
        "",
        "Made by `python -m tools.what_meets_what` from the pair table, `src/thud/pairing/table.py`; a test compares the two,",
        "and asks every cell.",
        "",
        "- *exact*: a function of its own. *swapped*: asked the other way round, and the answer turned back.",
        "- *leaves*: the compound is taken apart, each pair of leaves is asked, and the answers are joined: met if any pair",
        "  meets, the nearest, the earliest, all contacts.",
        "- *no (n)*: an `UnsupportedQueryError` that says note n.",
        "",
        "Rows are A, columns are B. A compound counts as convex parts if all its shapes are convex, however deep.",
        "",
    ]
    same: dict[tuple[str, ...], list[str]] = {}
    for query in PAIR_QUERIES:
        cells = tuple(_cell(pair_plan(query, a, b), notes) for a in FAMILIES for b in FAMILIES)
        same.setdefault(cells, []).append(query)
    for cells, queries in same.items():
        lines += ["## " + "; ".join(CALLS[query] for query in queries), ""]
        size = len(FAMILIES)
        lines += _table(["", *names], [[name, *cells[k * size : (k + 1) * size]] for k, name in enumerate(names)])
        lines.append("")
    lines += ["## One shape", ""]
    rows = [[CALLS[query], *(_cell(shape_plan(query, family), notes) for family in FAMILIES)] for query in SHAPE_QUERIES]
    lines += _table(["", *names], rows)
    lines += [
        "",
        "A `HalfSpace` has no triangles, and no mass: both are an `UnboundedShapeError`. So is the mass of a `HeightField`",
    ]
    lines += ["without a thickness.", "", "## Notes", ""]
    lines += [f"{number}. {note[0].upper()}{note[1:]}." for number, note in enumerate(notes, 1)]
    lines += [
        "",
        "## Options",
        "",
        "An option that is not listed for a pair, in either order, is an error there. Methods `chung_wang` and `v_clip` are",
        "for `ConvexHull` and `Box` alone; `v_clip` takes a cache too, for single pairs. Of a compound that is taken apart, a",
        "cache serves the pairs of leaves that can use it.",
        "",
    ]
    options: dict[tuple[str, str], list[str]] = {}
    for (a, b), entries in PAIRS.items():
        for query, entry in entries.items():
            if _options(entry):
                options.setdefault((query, _options(entry)), []).append(f"{NAMES[a]} / {NAMES[b]}")
    for family, single in SHAPES.items():
        for query, entry in single.items():
            if _options(entry):
                options.setdefault((query, _options(entry)), []).append(NAMES[family])
    rows = [[_call(query, text), text, "; ".join(who)] for (query, text), who in options.items()]
    lines += _table(["query", "options", "for"], rows)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
