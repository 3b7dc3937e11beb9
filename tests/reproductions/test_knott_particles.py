"""The reproduction of [Knott] chapter 3 at its smallest size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from reproductions.__main__ import main
from reproductions.knott_particles import SECTIONS, collider_kinds, figure_3_4
from reproductions.knott_particles.residuals import distances
from reproductions.report import Report
from thud.particles import ColliderSet, Quadric
from thud.report.splat_textures import some


def test_every_statement_holds_and_every_picture_is_there(tmp_path: Path) -> None:
    assert main(["knott-particles", "--size", "ci", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "knott_particles.md").read_text()
    assert "DOES NOT HOLD" not in text
    pictures = {path.name for path in tmp_path.glob("*.png")}
    for name in ("figures_3_1_and_3_2", "figure_3_3", "figure_3_4", "figure_3_5", "figure_3_6", "figure_3_7"):
        assert f"knott_particles_{name}.png" in pictures
        assert f"knott_particles_{name}.png" in text
    for kind in collider_kinds.kinds("ci"):
        assert f"knott_particles_kind_{kind.name.replace(' ', '_')}.png" in pictures
    assert len(SECTIONS) == 7


def test_an_impact_off_its_collider_is_seen() -> None:
    ball = Quadric.ellipsoid([0, 0, 0.7], [1.0, 0.7, 0.5])
    impacts = collider_kinds.shower(200, 2).impacts(ColliderSet([ball]), 0.0, 2.0)
    assert distances(ball, impacts).max() < 1e-12
    impacts.point[3] += [0.0, 0.0, 1e-6]
    off = distances(ball, impacts)
    assert off[3] > 1e-8
    assert len(some(impacts, slice(0, 5))) == 5


def test_a_wrong_bounce_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = figure_3_4.after
    monkeypatch.setattr(figure_3_4, "after", lambda *given: np.asarray(right(*given)) * (1.0 + 1e-6))
    report = Report("knott_particles", "figure", "ci", tmp_path)
    figure_3_4.run("ci", report)
    assert len(report.failed) == 1
