"""Figures 4.15 and 4.16: what is processed, and how long it takes, over the number of objects and of polygons.

A finer mesh covers the same pixels, so fragments cannot be linear in polygons. What the paper says, that each edge or polygon
is rendered a constant number of times, is that they are linear in those that drawing everything once makes; this is asserted.
In the paper's range of polygons most of our time goes into pixels, so that the range goes on beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from reproductions.knott_image.renderers import timed
from reproductions.knott_image.scenes import crowd, drawing_of, pair
from reproductions.progress import progress
from reproductions.report import Report
from thud.imagespace.algorithms import identify_both, identify_by_queries
from thud.imagespace.rasteriser import Drawing, Rasteriser, make_rasteriser
from thud.imagespace.scene import Scene

Floats = npt.NDArray[np.float64]

#: The paper's two ways to an answer: read the colours of all pixels (Algorithm 4), or ask occlusion queries (Algorithm 5).
METHODS: dict[str, Callable[..., Any]] = {"read pixels": identify_both, "occlusion query": identify_by_queries}

RESOLUTIONS = ((256, 256), (640, 480))

#: Most polygons of the paper's Figure 4.16.
PAPER_POLYGONS = 3_614

#: (numbers of boxes, numbers of polygons, trials)
_SIZES = {
    "ci": ((4, 8, 16, 24), (206, 606, 1076), 4),
    "standard": ((10, 20, 40, 60, 80, 100), (606, 1076, 1734, 2580, 3614, 7000, 14000, 28000), 100),
    "full": ((25, 50, 100, 150, 200, 300, 400), (606, 1076, 1734, 2580, 3614, 5000, 7000, 14000, 28000, 56000), 100),
}


@dataclass(frozen=True, eq=False)
class Measured:
    """(counts, trials) of one method; all but the seconds are counts."""

    seconds: Floats
    polygons: Floats
    """Processed."""
    edges: Floats
    fragments: Floats
    scene: Floats
    """(counts, trials, 4) polygons and edges of the scene, and the fragments of drawing either once."""


def linear_fit(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of the straight line through points."""
    (slope, intercept), r = plane_fit([x, np.ones(len(x))], y)
    return slope, intercept, r


def plane_fit(columns: list[Floats], y: Floats) -> tuple[list[float], float]:
    """Factors of the columns whose sum is nearest to y, and its R^2 (about the mean of y)."""
    table = np.column_stack(columns)
    size = np.abs(table).max(axis=0)
    factors = np.linalg.lstsq(table / size, y, rcond=None)[0] / size
    rest = float(((y - table @ factors) ** 2).sum())
    return factors.tolist(), 1.0 - rest / float(((y - y.mean()) ** 2).sum())


def times_rendered(measured: Measured) -> tuple[list[float], float, bool]:
    """How often each fragment of faces and of edges was processed, R^2 of that over all scenes, and whether every scene had
    each polygon and each edge the same number of times."""
    polygons, edges, of_faces, of_edges = measured.scene.reshape(-1, 4).T
    factors, r = plane_fit([of_faces, of_edges], measured.fragments.ravel())
    ratios = measured.polygons.ravel() / polygons, measured.edges.ravel() / edges
    return factors, r, all(bool(np.ptp(ratio) == 0.0) for ratio in ratios)


def draw_once(raster: Rasteriser, drawing: Drawing) -> tuple[int, int, int, int]:
    """Polygons, edges, and the fragments of all faces and of all edges, each drawn once, object by object."""
    raster.load(drawing)
    before = raster.work.fragments
    raster.draw_edges()
    between = raster.work.fragments
    for k in range(drawing.count):
        raster.count_faces(k, k + 1, front=1, back=-1)
    return len(drawing.triangles), len(drawing.edges), raster.work.fragments - between, between - before


def run(size: str, backends: list[str], report: Report) -> None:
    """Both figures on all backends."""
    boxes, polygons, trials = _SIZES[size]
    for name, unit, counts, make in (
        ("4.15", "objects", boxes, crowd),
        ("4.16", "polygons", polygons, pair),
    ):
        report.heading(f"Figure {name}: over the number of {unit}")
        region = 5.0 if name == "4.15" else 2.2
        series: dict[tuple[str, str, tuple[int, int]], Measured] = {}
        for backend in backends:
            for resolution in RESOLUTIONS:
                measured = _measure(backend, resolution, counts, make, trials, region)
                for method, found in measured.items():
                    series[backend, method, resolution] = found
                    label = f"{backend}, {method}, {resolution[0]}x{resolution[1]}"
                    _report_one(report, name, unit, label, method, np.array(counts, float), found)
        report.figure(
            f"figure_{name.replace('.', '_')}",
            lambda plt, s=series, c=counts, u=unit, n=name: _draw(plt, n, u, np.array(c), s),  # type: ignore[misc]
        )


def _measure(
    backend: str, resolution: tuple[int, int], counts: Any, make: Callable[[int, int], Scene], trials: int, region: float
) -> dict[str, Measured]:
    """What each method does. Methods take turns on the same scenes."""
    # What drawing once makes is counted by Numba for either backend.
    raster, other = make_rasteriser(backend, None), make_rasteriser("cpu", None)
    once = np.empty((len(counts), trials, 4))
    out = {method: Measured(*(np.empty((len(counts), trials)) for _ in range(4)), scene=once) for method in METHODS}
    for method in METHODS:
        timed(raster, drawing_of(make(counts[0], 0), resolution, region), METHODS[method])  # compile
    # Counts are shuffled, so that a machine that slows down does not bend the line.
    order = np.random.default_rng(1).permutation([(k, t) for t in range(trials) for k in range(len(counts))])
    for k, trial in progress(order, len(order), f"{backend} {resolution[0]}x{resolution[1]}"):
        drawing = drawing_of(make(counts[k], 1000 * int(k) + int(trial)), resolution, region)
        once[k, trial] = draw_once(other, drawing)
        for method, algorithm in METHODS.items():
            times, found = timed(raster, drawing, algorithm), out[method]
            found.seconds[k, trial], found.polygons[k, trial] = times.total, times.work.polygons
            found.edges[k, trial], found.fragments[k, trial] = times.work.edges, times.work.fragments
    raster.release()
    return out


def _report_one(report: Report, name: str, unit: str, label: str, method: str, x: Floats, found: Measured) -> None:
    means, deviations = 1e3 * found.seconds.mean(axis=1), 1e3 * found.seconds.std(axis=1)
    faces, fragments = found.polygons.mean(axis=1), found.fragments.mean(axis=1)
    report.say(f"{label}, {found.seconds.shape[1]} trials")
    report.table([unit, "ms", "standard deviation", "polygons processed", "fragments processed"], [
        [int(n), m, d, float(f), float(g)] for n, m, d, f, g in zip(x, means, deviations, faces, fragments)
    ])  # fmt: skip
    for n, m, d in zip(x, means, deviations):
        report.row(name, label, "ms", n, m)
        report.row(name, label, "standard deviation, ms", n, d)
    if method == "read pixels":
        # Occlusion queries end early in scenes where nothing interferes, so that their counts depend on chance.
        r_faces, r_fragments = linear_fit(x, faces)[2], linear_fit(x, fragments)[2]
        if unit == "objects":
            report.compare(
                "The algorithm is linear in the number of objects.",
                f"{label}: R^2 of polygons processed {r_faces:.6f}, of fragments {r_fragments:.6f} (wanted: above 0.999).",
                r_faces > 0.999 and r_fragments > 0.999,
            )
        else:
            report.compare(
                "The algorithm is linear in the number of polygons.",
                f"{label}: R^2 of polygons processed {r_faces:.6f} (wanted: above 0.999).",
                r_faces > 0.999,
            )
            report.compare(
                "(Fragments over polygons.)",
                f"{label}: R^2 {r_fragments:.4f}. Not linear, since a finer mesh covers the same pixels: "
                f"{fragments[0] / x[0]:.1f} fragments a polygon at {int(x[0])}, {fragments[-1] / x[-1]:.1f} at {int(x[-1])}.",
                None,
            )
        (per_face, per_edge), r_once, same = times_rendered(found)
        report.compare(
            "Each edge or polygon is rendered a constant number of times.",
            f"{label}: {per_face:.3f} times the fragments of faces drawn once + {per_edge:.3f} times those of edges, R^2 "
            f"{r_once:.6f} over {found.fragments.size} scenes (wanted: above 0.999); every scene had each polygon "
            f"{found.polygons.flat[0] / found.scene.flat[0]:g} times and each edge "
            f"{found.edges.flat[0] / found.scene.flat[1]:g} times.",
            r_once > 0.999 and same,
        )
    slope, start, r = linear_fit(x, means)
    both = ""
    inside = x <= PAPER_POLYGONS
    if unit == "polygons" and not inside.all():
        both = f"; in the paper's range R^2 {linear_fit(x[inside], means[inside])[2]:.4f}"
    if len(x) > 4:
        # With fewer points a plane would pass through nearly all of them.
        both += f"; over {unit} and fragments together R^2 {plane_fit([x, fragments, np.ones(len(x))], means)[1]:.4f}"
    text = f"{label}: {1e3 * slope:.2f} us for each of the {unit} + {start:.2f} ms, R^2 {r:.4f} (goal 0.98){both}."
    report.compare("The time is linear.", text, None)


def _draw(plt: Any, name: str, unit: str, x: Any, series: Any) -> Any:
    figure, axes = plt.subplots(1, len(RESOLUTIONS), figsize=(13, 5), squeeze=False)
    for ax, resolution in zip(axes[0], RESOLUTIONS):
        for (backend, method, at), found in series.items():
            if at == resolution:
                ms = 1e3 * found.seconds
                ax.errorbar(x, ms.mean(axis=1), ms.std(axis=1), fmt="o-", capsize=3, label=f"{backend}, {method}")
        ax.set(title=f"Figure {name}, {resolution[0]} x {resolution[1]}", xlabel=f"number of {unit}", ylabel="ms")
        ax.set_ylim(bottom=0.0)
        ax.legend()
    return figure
