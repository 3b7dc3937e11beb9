"""Files read back: JSON, CSV, the table; names that would be commands elsewhere."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import thud
from tests.report.clash.planted import CLEARANCE, planted
from thud.io.scene.scene import Note, Scene
from thud.report import Baseline, ClashReport, Rules, check, write_csv, write_json
from thud.report.clash.csv_file import COLUMNS
from thud.report.clash.table import print_report
from thud.report.clash.text import cell, plain, xml

#: Names that end scripts, begin formulas, colour terminals, break XML or look like markup.
HOSTILE = [
    "</script><script>alert(1)</script>", "=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(A1)", "\x1b[31mred\x1b]0;title\x07",
    "[bold red]x[/]",
    "a\r\nb\tc", "<!--", "]]>", "&amp;\"'", "\u202egnp.exe", "\x00\x01", "\ud800", "@DATA@@HASH@@TITLE@", "x" * 3000, "\u2028",
]  # fmt: skip


def hostile_report() -> ClashReport:
    """Every name overlaps every other."""
    box = thud.Box([0.5, 0.5, 0.5]).to_mesh()
    places = 0.02 * np.arange(len(HOSTILE))[:, None] * [1.0, 0.8, 0.6]
    scene = Scene.from_parts(HOSTILE, [box] * len(HOSTILE), thud.Pose(places))
    notes = tuple(Note(name, "left", name) for name in HOSTILE)
    scene = Scene(scene.parts, scene.meshes, scene.units, notes)
    report = check(scene, volumes=False, search="quick", rules=Rules(a=[scene.parts[0].name.replace("[", "[[]")]))
    assert len(report) == len(HOSTILE) - 1
    ids = [clash.id for clash in report]
    return Baseline().updated(report, assign=dict(zip(ids, HOSTILE))).apply(report)


@pytest.fixture(scope="module")
def report() -> ClashReport:
    return check(planted().scene, clearance=CLEARANCE)


@pytest.fixture(scope="module")
def hostile() -> ClashReport:
    return hostile_report()


def test_json_holds_every_clash(report: ClashReport, tmp_path: Path) -> None:
    write_json(report, tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="ascii"))
    assert (data["format"], data["version"], data["parts"]) == ("thud-clashes", 1, 200)
    assert len(data["clashes"]) == 12
    for row, clash in zip(data["clashes"], report):
        assert (row["id"], row["kind"], row["a"]["name"], row["b"]["name"]) == (
            clash.id,
            clash.kind,
            clash.name_a,
            clash.name_b,
        )
        np.testing.assert_array_equal(row["point"], clash.point)
        np.testing.assert_array_equal(row["points"], clash.points)
        assert row["depth"] is None or row["depth"] == clash.depth
        assert (row["volume"] is None) == np.isnan(clash.volume)
    page = (Path(__file__).parents[3] / "docs" / "clash_check.md").read_text(encoding="utf-8")
    # Every field is in the documented schema.
    for name in {*data, *data["clashes"][0], *data["clashes"][0]["a"]}:
        assert f"`{name}`" in page, name


def test_csv_holds_every_clash(report: ClashReport, tmp_path: Path) -> None:
    write_csv(report, tmp_path / "r.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "r.csv").read_text(encoding="utf-8-sig"))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == 13
    for row, clash in zip(rows[1:], report):
        assert row[:4] == [clash.id, clash.kind, clash.name_a, clash.name_b]
        assert float(row[4]) == pytest.approx(clash.depth, rel=1e-6)


def test_a_spreadsheet_sees_no_formula(hostile: ClashReport, tmp_path: Path) -> None:
    write_csv(hostile, tmp_path / "r.csv")
    text = (tmp_path / "r.csv").read_bytes()
    assert text.count(b"\n") == len(hostile) + 1
    rows = list(csv.reader(io.StringIO(text.decode("utf-8-sig"), newline="")))
    assert all(len(row) == len(COLUMNS) for row in rows)
    for row in rows[1:]:
        for column in (2, 3, 16, 17):
            assert not row[column].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_json_of_hostile_names_is_json(hostile: ClashReport, tmp_path: Path) -> None:
    write_json(hostile, tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text(encoding="ascii"))
    assert {row[side]["name"] for row in data["clashes"] for side in "ab"} == set(hostile.scene.names)


def printed(report: ClashReport, **options: object) -> str:
    from rich.console import Console

    out = io.StringIO()
    print_report(report, Console(file=out, width=200, force_terminal=True), **options)  # type: ignore[arg-type]
    return out.getvalue()


def test_the_table_says_kinds_names_and_the_summary(report: ClashReport) -> None:
    text = printed(report, explain=True, group="none")
    for clash in report:
        assert clash.id[:7] in text
    assert "12 clashes in 200 parts: 6 hard, 1 containment, 2 duplicate, 3 clearance" in text
    assert "in rig" in text


def test_a_terminal_sees_text_alone(hostile: ClashReport) -> None:
    text = printed(hostile, explain=True, group="none")
    # Colours are ours; what names would do is shown as codes.
    for code in ("\x1b[31mred", "\x1b]0;", "\x07", "\u202e", "\x00", "\u2028"):
        assert code not in text
    assert "[bold red]x[/]" in text
    assert "\\u001b" in text


def test_an_interrupted_file_is_not_there(report: ClashReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "r.json").write_text("before")
    monkeypatch.setattr("thud._core.atomic.os.replace", fail)
    for write, name in ((write_json, "r.json"), (write_csv, "r.csv")):
        with pytest.raises(KeyboardInterrupt):
            write(report, tmp_path / name)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("r.json", "before")]


def test_text_is_made_harmless() -> None:
    assert plain("a\x1b[0m\u202eb\n") == "a\\u001b[0m\\u202eb\\u000a"
    assert cell(" =1") == "' =1"
    assert cell("plain") == "plain"
    assert xml("a\x00\ud800\ufffe\U0001f600") == "a\ufffd\ufffd\ufffd\U0001f600"
