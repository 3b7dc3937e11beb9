"""The reproduction of [Yang] at its smallest size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from reproductions.report import Report
from reproductions.yang import (
    SECTIONS,
    convex_decomposition,
    example_4_3_1,
    figures_4_11_to_4_13,
    section_5_1_1,
    section_5_2,
    tables_4_1_to_4_3,
    tables_4_4_and_4_5,
)

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


def test_tables_4_1_to_4_3_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables_4_1_to_4_3 in SECTIONS
    report = Report("yang", "tables", "ci", tmp_path)
    tables_4_1_to_4_3.run("ci", report)
    assert report.close() == 0
    printed = capsys.readouterr().out
    for table in ("4.1", "4.2", "4.3"):
        assert f"Table {table}, alpha plane: (0.3000, 0.2000)" in printed
    assert (tmp_path / "yang_tables_4_1_to_4_3.png").read_bytes().startswith(b"\x89PNG")
    assert "not reproduced" in (tmp_path / "yang.md").read_text()


def test_a_wrong_digit_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = tables_4_1_to_4_3.CASES[0]
    wrong = case._replace(aligned_plane=case.aligned_plane._replace(u=0.3056))
    monkeypatch.setattr(tables_4_1_to_4_3, "CASES", (wrong, *tables_4_1_to_4_3.CASES[1:]))
    report = Report("yang", "tables", "ci", tmp_path)
    tables_4_1_to_4_3.run("ci", report)
    assert len(report.failed) == 1


def test_example_4_3_1_holds(tmp_path: Path) -> None:
    pytest.importorskip("nlopt")
    assert example_4_3_1 in SECTIONS
    report = Report("yang", "example", "ci", tmp_path)
    example_4_3_1.run("ci", report)
    assert report.close() == 0
    assert (tmp_path / "yang_example_4_3_1.png").read_bytes().startswith(b"\x89PNG")


def test_finer_volumes_are_tighter(tmp_path: Path) -> None:
    report = Report("yang", "figures", "ci", tmp_path)
    figures_4_11_to_4_13.run("ci", report)
    assert report.close() == 0
    assert (tmp_path / "yang_figures_4_11_to_4_13.png").read_bytes().startswith(b"\x89PNG")


def test_multiresolution_projects_less_and_finds_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tables_4_4_and_4_5 in SECTIONS
    report = Report("yang", "tables", "ci", tmp_path)
    tables_4_4_and_4_5.run("ci", report)
    assert report.close() == 0
    printed = capsys.readouterr().out
    assert "Table 4.4: frame" in printed
    assert "Table 4.5: frame" in printed
    assert "0 and 0 differ among parts that touch the surface" in printed
    assert (tmp_path / "yang_figures_4_14_and_a_4_to_a_6.png").read_bytes().startswith(b"\x89PNG")


def test_the_ways_agree_on_small_objects(tmp_path: Path) -> None:
    assert section_5_1_1 in SECTIONS
    report = Report("yang", "threshold", "ci", tmp_path)
    section_5_1_1.run("ci", report)
    assert report.close() == 0
    assert (tmp_path / "yang_section_5_1_1.png").read_bytes().startswith(b"\x89PNG")


def test_caches_and_choices_change_no_answer(tmp_path: Path) -> None:
    assert section_5_2 in SECTIONS
    report = Report("yang", "volumes", "ci", tmp_path)
    section_5_2.run("ci", report)
    assert report.close() == 0


def test_where_the_ways_cross() -> None:
    assert section_5_1_1.crossing([(8, 0.0, 0.0, 0.0, 0.5), (32, 0.0, 0.0, 0.0, 2.0)]) == pytest.approx(16.0)
    assert section_5_1_1.crossing([(8, 0.0, 0.0, 0.0, 1.5), (32, 0.0, 0.0, 0.0, 2.0)]) == 0.0
    assert section_5_1_1.crossing([(8, 0.0, 0.0, 0.0, 0.5), (32, 0.0, 0.0, 0.0, 0.9)]) == float("inf")


def test_points_in_convex_parts_and_a_closed_piece() -> None:
    parts = thud.Compound([thud.ConvexHull(CUBE + at) for at in (0.0, 3.0)])
    points = np.array([[0.5, 0.5, 0.5], [3.5, 3.5, 3.5], [2.0, 2.0, 2.0], [0.5, 0.5, 3.5]])
    assert convex_decomposition.in_parts(parts, points).tolist() == [True, True, False, False]
    ground = convex_decomposition.piece(lambda p: p[:, 2])
    middle = 0.5 * (convex_decomposition.LOWEST + convex_decomposition.HIGHEST)
    rows = np.array([[*middle[:2], -1.0], [*middle[:2], 1.0], [*middle[:2], -9.0], [0.0, middle[1], -1.0]])
    assert (ground(rows) < 0.0).tolist() == [True, False, False, False]
