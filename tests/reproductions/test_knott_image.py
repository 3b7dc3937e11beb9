"""The reproduction of [Knott], chapter 4, at its smallest size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproductions.__main__ import main
from reproductions.knott_image.figures_4_15_and_4_16 import linear_fit


def test_all_statements_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knott-image", "--size", "ci", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for text in ("Figure 4.13", "Figure 4.14", "Figure 4.15", "Figure 4.16", "Table 4.1, Numba", "Table 4.2, Numba"):
        assert text in printed
    for name in ("figure_4_13", "figure_4_14", "figure_4_15", "figure_4_16"):
        assert (tmp_path / f"knott_image_{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "identify polygons" in (tmp_path / "knott_image.md").read_text()


def test_linear_fit() -> None:
    x = np.array([1.0, 2.0, 4.0])
    slope, start, r = linear_fit(x, 3.0 * x + 1.0)
    np.testing.assert_allclose([slope, start, r], [3.0, 1.0, 1.0])
    assert linear_fit(x, np.array([1.0, -1.0, 1.0]))[2] < 0.5
