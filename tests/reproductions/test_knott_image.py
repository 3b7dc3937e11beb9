"""The reproduction of [Knott], chapter 4, at its smallest size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reproductions.__main__ import main
from reproductions.knott_image.figures_4_15_and_4_16 import Measured, draw_once, linear_fit, plane_fit, times_rendered
from reproductions.knott_image.renderers import timed
from reproductions.knott_image.scenes import drawing_of, pair
from thud.imagespace.algorithms import identify_both
from thud.imagespace.rasteriser import Rasteriser, make_rasteriser


def test_all_statements_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knott-image", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for text in ("Figure 4.13", "Figure 4.14", "Figure 4.15", "Figure 4.16", "Table 4.1, Numba", "Table 4.2, Numba"):
        assert text in printed
    for name in ("figure_4_13", "figure_4_14", "figure_4_15", "figure_4_16"):
        assert (tmp_path / f"knott_image_{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "identify polygons" in (tmp_path / "knott_image.md").read_text()
    # Figure 4.14 by each rasteriser and number of layers; the two against each other.
    assert printed.count("Paper: Objects that are engaged in interference are highlighted.\n  Here (holds)") == 3
    assert printed.count("Paper: Both rasterisers highlight the same objects.\n  Here (holds)") == 1
    assert printed.count("Paper: Each edge or polygon is rendered a constant number of times.\n  Here (holds)") >= 4


def test_linear_fit() -> None:
    x = np.array([1.0, 2.0, 4.0])
    slope, start, r = linear_fit(x, 3.0 * x + 1.0)
    np.testing.assert_allclose([slope, start, r], [3.0, 1.0, 1.0])
    assert linear_fit(x, np.array([1.0, -1.0, 1.0]))[2] < 0.5
    factors, r = plane_fit([x, x**2, np.ones(3)], 2.0 * x - 5.0 * x**2)
    np.testing.assert_allclose([*factors, r], [2.0, -5.0, 0.0, 1.0], atol=1e-9)


def measure(algorithm: Callable[[Rasteriser, int], object]) -> Measured:
    """An algorithm on pairs of more and more polygons, as Figure 4.16 does it."""
    raster, counts, trials = make_rasteriser("cpu", None), (206, 606, 1076), 2
    found = Measured(*(np.empty((3, trials)) for _ in range(4)), scene=np.empty((3, trials, 4)))
    for k, polygons in enumerate(counts):
        for trial in range(trials):
            drawing = drawing_of(pair(polygons, 10 * k + trial), (96, 96), 2.2)
            found.scene[k, trial] = draw_once(raster, drawing)
            work = timed(raster, drawing, algorithm).work
            found.polygons[k, trial], found.edges[k, trial], found.fragments[k, trial] = (
                work.polygons, work.edges, work.fragments,
            )  # fmt: skip
    return found


def test_a_constant_number_of_times() -> None:
    (per_face, _), r, same = times_rendered(measure(identify_both))
    assert per_face == pytest.approx(3.0, abs=0.02)
    assert r > 0.999
    assert same


def test_not_a_constant_number_of_times() -> None:
    """The check fails for an algorithm that draws more often the more there is, or one object more often in some scenes."""

    def more_often(raster: Rasteriser, objects: int) -> None:
        raster.draw_edges()
        for _ in range(raster._drawing.triangle_starts[-1] // 200):  # type: ignore[attr-defined]
            raster.count_faces(0, objects, front=1, back=-1)

    def sometimes(raster: Rasteriser, objects: int) -> None:
        identify_both(raster, objects)
        if raster._drawing.triangle_starts[-1] > 600:  # type: ignore[attr-defined]
            raster.count_faces(0, 1, front=1, back=-1)

    for algorithm in (more_often, sometimes):
        _, r, same = times_rendered(measure(algorithm))
        assert r < 0.999
        assert not same
