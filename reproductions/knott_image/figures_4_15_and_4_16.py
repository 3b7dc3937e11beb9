"""Figures 4.15 and 4.16: what is processed, and how long it takes, over the number of objects and of polygons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from reproductions.knott_image.renderers import timed
from reproductions.knott_image.scenes import crowd, drawing_of, pair
from reproductions.progress import progress
from reproductions.report import Report
from thud.imagespace.algorithms import identify_both, identify_by_queries
from thud.imagespace.interference import make_rasteriser
from thud.imagespace.scene import Scene

Floats = npt.NDArray[np.float64]

#: The paper's two ways to an answer: read the colours of all pixels (Algorithm 4), or ask occlusion queries (Algorithm 5).
METHODS: dict[str, Callable[..., Any]] = {"read pixels": identify_both, "occlusion query": identify_by_queries}

RESOLUTIONS = ((256, 256), (640, 480))

#: (numbers of boxes, numbers of polygons, trials)
_SIZES = {
    "ci": ((4, 8, 16, 24), (206, 606, 1076), 4),
    "standard": ((10, 20, 40, 60, 80, 100), (606, 1076, 1734, 2580, 3614), 100),
    "full": ((25, 50, 100, 150, 200, 300, 400), (606, 1076, 1734, 2580, 3614, 5000), 100),
}


def linear_fit(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Slope, intercept and R^2 of the straight line through points."""
    slope, intercept = np.polyfit(x, y, 1)
    rest = float(((y - slope * x - intercept) ** 2).sum())
    return float(slope), float(intercept), 1.0 - rest / float(((y - y.mean()) ** 2).sum())


def run(size: str, backends: list[str], report: Report) -> None:
    """Both figures on all backends."""
    boxes, polygons, trials = _SIZES[size]
    for name, unit, counts, make in (
        ("4.15", "objects", boxes, crowd),
        ("4.16", "polygons", polygons, pair),
    ):
        report.heading(f"Figure {name}: over the number of {unit}")
        region = 5.0 if name == "4.15" else 2.2
        series: dict[tuple[str, str, tuple[int, int]], tuple[Floats, Floats, Floats]] = {}
        for backend in backends:
            for resolution in RESOLUTIONS:
                measured = _measure(backend, resolution, counts, make, trials, region)
                for method, (seconds, faces, fragments) in measured.items():
                    series[backend, method, resolution] = (seconds, faces, fragments)
                    _report_one(report, name, unit, backend, method, resolution, np.array(counts, float), *measured[method])
        report.figure(
            f"figure_{name.replace('.', '_')}",
            lambda plt, s=series, c=counts, u=unit, n=name: _draw(plt, n, u, np.array(c), s),  # type: ignore[misc]
        )


def _measure(
    backend: str, resolution: tuple[int, int], counts: Any, make: Callable[[int, int], Scene], trials: int, region: float
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """By method (counts, trials): seconds, polygons and fragments processed. Methods take turns on the same scenes."""
    raster = make_rasteriser(backend, None)
    out = {method: tuple(np.empty((len(counts), trials)) for _ in range(3)) for method in METHODS}
    for method in METHODS:
        timed(raster, drawing_of(make(counts[0], 0), resolution, region), METHODS[method])  # compile
    # Counts are shuffled, so that a machine that slows down does not bend the line.
    order = np.random.default_rng(1).permutation([(k, t) for t in range(trials) for k in range(len(counts))])
    for k, trial in progress(order, len(order), f"{backend} {resolution[0]}x{resolution[1]}"):
        drawing = drawing_of(make(counts[k], 1000 * int(k) + int(trial)), resolution, region)
        for method, algorithm in METHODS.items():
            times = timed(raster, drawing, algorithm)
            for array, value in zip(out[method], (times.total, times.work.polygons, times.work.fragments)):
                array[k, trial] = value
    raster.release()
    return out  # type: ignore[return-value]


def _report_one(
    report: Report, name: str, unit: str, backend: str, method: str, resolution: tuple[int, int], x: Floats, seconds: Floats,
    faces: Floats, fragments: Floats,
) -> None:  # fmt: skip
    label = f"{backend}, {method}, {resolution[0]}x{resolution[1]}"
    means, deviations = 1e3 * seconds.mean(axis=1), 1e3 * seconds.std(axis=1)
    report.say(f"{label}, {seconds.shape[1]} trials")
    report.table([unit, "ms", "standard deviation", "polygons processed", "fragments processed"], [
        [int(n), m, d, float(f), float(g)]
        for n, m, d, f, g in zip(x, means, deviations, faces.mean(axis=1), fragments.mean(axis=1))
    ])  # fmt: skip
    for n, m, d in zip(x, means, deviations):
        report.row(name, label, "ms", n, m)
        report.row(name, label, "standard deviation, ms", n, d)
    if method == "read pixels":
        # Occlusion queries end early in scenes where nothing interferes, so that their counts depend on chance.
        _, _, r_faces = linear_fit(x, faces.mean(axis=1))
        rate = fragments.mean(axis=1) / x
        if unit == "objects":
            _, _, r_fragments = linear_fit(x, fragments.mean(axis=1))
            report.compare(
                "The algorithm is linear in the number of objects.",
                f"{label}: R^2 of polygons processed {r_faces:.6f}, of fragments {r_fragments:.6f} (wanted: above 0.999).",
                r_faces > 0.999 and (r_fragments > 0.999 or backend != "cpu"),
            )
        else:
            report.compare(
                "Each edge or polygon is rendered a constant number of times: linear in the number of polygons.",
                f"{label}: R^2 of polygons processed {r_faces:.6f} (wanted: above 0.999). Fragments grow more slowly, since a "
                f"finer mesh covers the same pixels: {rate[0]:.1f} a polygon at {int(x[0])}, {rate[-1]:.1f} at {int(x[-1])}.",
                r_faces > 0.999 and (bool(np.all(np.diff(rate) < 0)) or backend != "cpu"),
            )
    slope, start, r = linear_fit(x, means)
    text = f"{label}: {1e3 * slope:.2f} us for each of the {unit} + {start:.2f} ms, R^2 {r:.4f} (goal 0.98)."
    report.compare("The time is linear.", text, None)


def _draw(plt: Any, name: str, unit: str, x: Any, series: Any) -> Any:
    figure, axes = plt.subplots(1, len(RESOLUTIONS), figsize=(13, 5), squeeze=False)
    for ax, resolution in zip(axes[0], RESOLUTIONS):
        for (backend, method, at), (seconds, _, _) in series.items():
            if at == resolution:
                ax.errorbar(
                    x, 1e3 * seconds.mean(axis=1), 1e3 * seconds.std(axis=1), fmt="o-", capsize=3, label=f"{backend}, {method}"
                )
        ax.set(title=f"Figure {name}, {resolution[0]} x {resolution[1]}", xlabel=f"number of {unit}", ylabel="ms")
        ax.set_ylim(bottom=0.0)
        ax.legend()
    return figure
