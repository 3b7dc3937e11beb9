"""[Yang] 5.1.1 and 5.2: from how many vertices on the multiresolution way is the faster one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import thud
from reproductions.report import Report
from reproductions.yang.surface_scenes import SPARSE, Mover, Scene, Way, differing, lower, measure, terrain
from thud.pose import as_poses
from thud.terrain import DisplacedSurface
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.tolerances import PLAIN_VERTICES

VERTICES = (4, 8, 16, 32, 64, 128, 250, 500, 1000)
PLACES = {"ci": 4, "standard": 60, "full": 200}


#: By vertices, as in the paper: 2.6's test and the volumes.
WAYS = (Way("plain", "cubic", False), Way("multiresolution", "cubic", False), Way("auto", "cubic", False))


def hull(vertices: int, size: float, rng: np.random.Generator) -> thud.Shape:
    """One convex part, its vertices on a ball `size` metres across."""
    points = rng.normal(size=(vertices, 3))
    if vertices == 4:
        points = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return thud.ConvexHull(0.5 * size * points / np.linalg.norm(points, axis=1, keepdims=True))


def boxes(vertices: int, size: float, rng: np.random.Generator) -> thud.Shape:
    """Boxes about a place, together some `size` metres across."""
    many = max(1, vertices // 8)
    parts = [thud.Box(0.5 * size * rng.uniform(0.1, 0.25, 3)) for _ in range(many)]
    at = rng.normal(size=(many, 3))
    at *= 0.4 * size * rng.uniform(size=(many, 1)) ** (1 / 3) / np.linalg.norm(at, axis=1, keepdims=True)
    return thud.Compound(parts, [thud.Pose(place) for place in at])


#: What is tried: name, maker, metres across.
FAMILIES: tuple[tuple[str, Callable[[int, float, np.random.Generator], thud.Shape], float], ...] = (
    ("hull, 1 m", hull, 1.0),
    ("hull, 4 m", hull, 4.0),
    ("boxes, 2 m", boxes, 2.0),
    ("boxes, 8 m", boxes, 8.0),
)


def at_places(name: str, shape: thud.Shape, surface: DisplacedSurface, places: int, depth: float, seed: int) -> Scene:
    """A shape anywhere on the terrain, turned anyhow, `depth` metres in the ground; a place a frame."""
    rng = np.random.default_rng(seed)
    rows = np.empty((places, 7))
    rows[:, :2], rows[:, 3:] = rng.uniform(8.0, 88.0, (places, 2)), rng.normal(size=(places, 4))
    rows[:, 3:] /= np.linalg.norm(rows[:, 3:], axis=1, keepdims=True)
    lower(shape, surface, rows, depth)
    step = np.tile([0.1, 0.0, 0.0], (places, 1))
    return Scene("5.1.1", name, surface, (Mover(name, shape, query_object(shape), as_poses(rows, "rows"), step),))


def run(size: str, report: Report) -> None:
    """Times of both ways over the number of vertices, and where they cross."""
    report.heading("Section 5.1.1: small objects")
    surface, places = terrain(SPARSE), PLACES[size]
    found: dict[str, list[tuple[int, float, float, float, float]]] = {}
    lost, off = 0, 0
    for name, maker, across in FAMILIES:
        found[name] = []
        for many in VERTICES[int(maker is boxes) :: 4 if size == "ci" else 1]:
            shape = maker(many, across, np.random.default_rng(many))
            scene = at_places(name, shape, surface, places, 0.05 * across, many)
            plain, multi, auto = measure(scene, WAYS, 1 if size == "ci" else 5)
            a, b, c = (1e6 * one.seconds[:, 0] for one in (plain, multi, auto))
            vertices = scene.movers[0].vertices
            found[name].append((vertices, *(float(np.median(x)) for x in (a, b, c, a / b))))
            report.row("5.1.1", name, "plain us", vertices, float(np.median(a)))
            report.row("5.1.1", name, "multiresolution us", vertices, float(np.median(b)))
            report.row("5.1.1", name, "auto us", vertices, float(np.median(c)))
            touching, beside = differing(scene, plain, multi)
            lost, off = lost + touching, off + beside
    report.say(
        f"Objects of few and many vertices at {places} places of the sparse terrain, cubic, by vertices, medians; "
        "microseconds, the call itself included:"
    )
    rows = [[name, n, *(f"{x:.1f}" for x in x3), f"{r:.2f}"] for name, lines in found.items() for n, *x3, r in lines]
    report.table(["object", "vertices", "plain (2.6)", "multiresolution", "auto", "plain / multiresolution"], rows)
    crossings = {name: crossing(lines) for name, lines in found.items()}
    report.compare(
        "The multiresolution method is slower for small and simple objects; an adaptive choice by their size would fix it "
        "(5.1.1, 5.2).",
        "it is the faster one from "
        + ", ".join(f"{at:.0f} vertices ({name})" if at else f"the first on ({name})" for name, at in crossings.items())
        + f'; inf: nowhere here. `method="auto"` asks volumes for a part with over {PLAIN_VERTICES} vertices.',
        None,
    )
    report.compare(
        "(beyond the paper) Both methods find the same parts at every place.",
        f"{lost} differ among parts that touch the surface. The plain way alone finds {off} that do not touch it, at "
        "primitives whose directions cross within their lengths.",
        lost == 0,
    )
    report.figure("section_5_1_1", lambda plt: _draw(plt, found))


def crossing(lines: list[tuple[int, float, float, float, float]]) -> float:
    """Vertices from which on the ratio stays above 1, by interpolation in its logarithm; 0 where it always is."""
    n, ratio = np.log([line[0] for line in lines]), np.log([line[-1] for line in lines])
    below = np.flatnonzero(ratio < 0.0)
    if len(below) == 0:
        return 0.0
    k = int(below[-1])
    if k == len(lines) - 1:
        return float("inf")
    return float(np.exp(n[k] + (n[k + 1] - n[k]) * ratio[k] / (ratio[k] - ratio[k + 1])))


def _draw(plt: Any, found: dict[str, list[tuple[int, float, float, float, float]]]) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
    for k, (name, lines) in enumerate(found.items()):
        n, plain, multi, auto, ratio = np.array(lines).T
        left.plot(n, plain, color=f"C{k}", marker="o", ms=3, label=f"{name}: plain")
        left.plot(n, multi, color=f"C{k}", marker="s", ms=3, ls="--", label=f"{name}: multiresolution")
        left.plot(n, auto, color=f"C{k}", lw=0.8, ls=":", label=f"{name}: auto")
        right.plot(n, ratio, color=f"C{k}", marker="o", ms=3, label=name)
    right.axhline(1.0, color="0.5", lw=0.8)
    right.axvline(PLAIN_VERTICES, color="0.5", lw=0.8, ls=":", label="PLAIN_VERTICES (of a part)")
    left.set(xscale="log", yscale="log", xlabel="vertices", ylabel="microseconds, median", title="cubic, by vertices")
    right.set(xscale="log", yscale="log", xlabel="vertices", ylabel="plain / multiresolution", title="ratio, median of places")
    for ax in (left, right):
        ax.legend(fontsize=8)
        ax.grid(alpha=0.25, which="both")
    return figure
