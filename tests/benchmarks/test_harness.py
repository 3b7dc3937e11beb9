"""What benchmarks count, write, read and compare. No time is asserted."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import harness, results_file
from benchmarks.harness import Contestant, Report, Timed, loglog_slope
from benchmarks.results_file import Row, read, slower, write


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    return tmp_path


def _runs(name: str, seconds: float, items: int = 1) -> Contestant:
    """A contestant that says itself how long it took."""
    return Contestant(name, lambda: Timed(seconds * items), items)


def test_race_gives_medians_of_ratios_within_rounds() -> None:
    report, ours = Report("test"), iter([0.0, 1.0, 4.0, 2.0])
    theirs = iter([0.0, 10.0, 20.0, 20.0])
    contestants = [
        Contestant("thud", lambda: Timed(next(ours)), 2),
        Contestant("coal", lambda: Timed(next(theirs)), 1),
    ]
    report.race("scene", "query", "coal", contestants, 3)
    thud, coal = report.rows
    assert (thud.microseconds, thud.speedup) == (1e6, 20.0)  # ratios 20, 10 and 20 an item
    assert (thud.low, thud.high) == (15.0, 20.0)
    assert (coal.speedup, coal.reference) == (1.0, "coal")


def test_family_has_its_median_and_its_worst_member() -> None:
    report = Report("test")
    members = [(f"member {k}", [_runs("thud", 1.0), _runs("coal", float(k))]) for k in (3, 1, 2)]
    members.append(("without coal", [_runs("thud", 50.0)]))
    report.family("scene", "query", "coal", members, 2)
    rows = {row.key[2:]: row for row in report.rows}
    assert rows["member 3", "thud"].speedup == 3.0
    assert rows["median", "thud"].speedup == 2.0
    assert rows["worst", "thud"].speedup == 1.0
    assert rows["worst", "thud"].note == "member 1, of 3 members"
    assert math.isnan(rows["without coal", "thud"].speedup)
    assert ("worst", "coal") not in rows


def test_family_without_reference_has_the_slowest_as_worst() -> None:
    report = Report("test")
    report.family("scene", "query", "nobody", [("a", [_runs("thud", 1.0)]), ("b", [_runs("thud", 3.0)])], 1)
    rows = {row.member: row for row in report.rows}
    assert rows["median"].microseconds == 2e6
    assert rows["worst"].note == "b, of 2 members"


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_slope_is_the_exponent(exponent: float) -> None:
    sizes = np.geomspace(10, 1e4, 7)
    assert loglog_slope(sizes, 3e-7 * sizes**exponent) == pytest.approx(exponent)


def test_growth_notes_slopes_and_draws_a_plot(results: Path) -> None:
    report = Report("test")

    def make(size: int) -> list[Contestant]:
        quadratic = [_runs("coal", 1e-9 * size**2)] if size <= 100 else []
        return [Contestant("thud", lambda: Timed((1e-6 * size + (size == 10) * 9e-5) * 5), 5), *quadratic]

    slopes = report.growth("scene", "query", "boxes", "coal", [10, 100, 1000], make, 2)
    assert slopes == {"thud": pytest.approx(0.5), "coal": pytest.approx(2.0)}  # a cost of each call is in the small sizes
    assert [row.note for row in report.rows if not row.engine] == [
        "thud: log-log slope 0.50 over 10 to 1,000 boxes, 1.00 in the last decade",
        "coal: log-log slope 2.00 over 10 to 100 boxes",
    ]
    (picture,) = results.glob("*.png")
    assert picture.name == "test_scene_query.png"
    assert 1_000 < picture.stat().st_size < 60_000


def _row(engine: str, speedup: float, member: str = "", **given: object) -> Row:
    values: dict[str, object] = {"low": 0.95 * speedup, "high": 1.05 * speedup, "member": member, "reference": "coal"} | given
    return Row("scene", "query", engine, 1, 7.0, speedup, values.pop("low"), values.pop("high"), **values)  # type: ignore[arg-type]


def test_results_come_back_as_they_were_written(results: Path) -> None:
    nan = float("nan")
    rows = [
        Row("a, b", 'quoted "c"', "thud", 5, 1.25, 2.5, 2.25, 2.75, "", "median", "coal"),
        Row("a, b", "text", "", 0, nan, nan, nan, nan, "a note, with commas"),
    ]
    path = results / "test.csv"
    write(path, rows)
    found, about = read(path.read_text())
    assert found[0] == rows[0]
    assert (found[1].note, found[1].items) == (rows[1].note, 0)
    assert math.isnan(found[1].speedup)
    assert set(about) == {"date", "commit", "processor", "versions"}
    assert "Python 3" in about["versions"]


def test_results_of_older_files_are_read() -> None:
    text = "scene,query,engine,items,microseconds,speedup,low,high,note\ns,q,thud,10,1.5,2,1.9,2.1,\nmachine,,,,,,,,x86_64\n"
    rows, about = read(text)
    assert rows == [Row("s", "q", "thud", 10, 1.5, 2.0, 1.9, 2.1)]
    assert about == {"": "x86_64"}


def test_slower_by_ratio_to_the_reference() -> None:
    before = [
        _row("thud", 10.0),
        _row("thud", 10.0, "small"),
        _row("thud", 8.0, "large"),
        _row("coal", 1.0),
        _row("pybullet", 2.0),
    ]
    now = [_row("thud", 9.2), _row("thud", 8.9, "small"), _row("thud", 4.0, "large"), _row("coal", 1.0), _row("pybullet", 0.5)]
    found = slower(before, now)
    assert found == [
        "2.00x the time, scene: query: large, thud: 8x to 4x coal",
        "1.12x the time, scene: query: small, thud: 10x to 8.9x coal",
    ]
    overlapping = slower([_row("thud", 10.0, low=7.0)], [_row("thud", 8.0, high=9.0)])
    assert overlapping[0].endswith("(quartiles overlap)")


def test_slower_by_time_only_on_the_same_processor_and_only_without_reference() -> None:
    nan = float("nan")
    before, now = [Row("s", "q", "thud", 1, 10.0, nan, nan, nan)], [Row("s", "q", "thud", 1, 15.0, nan, nan, nan)]
    assert slower(before, now) == []
    assert slower(before, now, same_processor=True) == ["1.50x the time, s: q, thud: 10 to 15 us"]
    # Another reference: the ratios are of different things.
    assert slower([_row("thud", 10.0)], [_row("thud", 2.0, reference="python-fcl")]) == []


def test_all_goes_on_when_one_fails_and_says_so(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called = []

    def call(arguments: list[str]) -> int:
        name = arguments[3]
        called.append((name, arguments[-1]))
        write(results / f"{name}.csv", [_row("thud", 2.0)])
        return 3 if name == "convex" else 0

    monkeypatch.setattr(command.subprocess, "call", call)
    monkeypatch.setattr(results_file, "committed", lambda path: ([_row("thud", 4.0)], {}))
    assert command.run_all("ci", ["convex", "gates"]) == 1
    assert called == [("convex", "ci"), ("gates", "ci")]
    text = (results / "all.txt").read_text()
    assert "FAILED with exit code 3" in text
    assert "gates: 2.00x the time" in text
    assert "commit: " in text
    assert "processor: " in text
    assert "failed: convex" in capsys.readouterr().err


def test_results_of_other_sizes_have_folders_of_their_own() -> None:
    harness.set_size("standard")
    base = harness.RESULTS
    harness.set_size("ci")
    assert base / "ci" == harness.RESULTS
