"""`thud check` as a user has it: files in, tables and files out, exit codes, and an afternoon with a baseline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thud
from tests.report.clash.planted import planted
from thud.cli.app import app
from thud.cli.lengths import metres
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.report.clash.assembly import EXPECTED, write_assembly


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    write_assembly(folder / "pump.glb")
    write_assembly(folder / "rig.glb", planted().scene)
    box = thud.Box([0.1, 0.1, 0.1]).to_mesh()
    write_assembly(folder / "clean.glb", Scene.from_parts(["a/one", "a/two"], [box, box], thud.Pose([[0, 0, 0], [1, 0, 0]])))
    write_assembly(folder / "top.glb", Scene.from_parts(["one", "two"], [box, box], thud.Pose([[0, 0, 0], [0, 0, 0.19]])))
    return folder


def run(*arguments: object, code: int) -> str:
    result = CliRunner().invoke(app, ["check", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_the_shipped_assembly(folder: Path) -> None:
    text = run("--demo", folder / "demo.glb", "--clearance", "1mm", "--json", folder / "demo.json", code=1)
    assert "8 clashes in 18 parts: 5 hard, 1 containment, 1 duplicate, 1 clearance" in text
    data = json.loads((folder / "demo.json").read_text())
    assert {(row["kind"], row["a"]["name"], row["b"]["name"]) for row in data["clashes"]} == {
        (kind, *sorted((a, b))) for kind, a, b, _ in EXPECTED
    }
    # The way through the file: y up and back, float32.
    tray = next(row for row in data["clashes"] if "tray" in row["a"]["name"])
    assert tray["depth"] == pytest.approx(0.004, rel=1e-3)
    assert tray["normal"] == pytest.approx([-1, 0, 0], abs=1e-4)


def test_exit_codes(folder: Path) -> None:
    assert "0 clashes in 2 parts" in run(folder / "clean.glb", code=0)
    run(folder / "pump.glb", code=1)
    run(folder / "pump.glb", "--fail-on", "clearance", code=0)
    run(folder / "pump.glb", "--ignore", "pump unit", code=0)
    pump = folder / "pump.glb"
    for wrong in (
        [], [folder / "missing.glb"], [pump, "--clearance", "5 parsecs"], [pump, "--units", "cubit"], [pump, "--b", "x"],
        [pump, "--json", folder / "no" / "where.json"], [pump, "--json", pump], [pump, "--accept", "all"],
        [pump, "--baseline", folder / "missing.json"], [pump, "--fail-on", "soft"], [pump, "--limit", "nothing=3"],
        [pump, "--limit", "seconds=x"], [pump, "--threads", "0"], ["--nonsense"],
    ):  # fmt: skip
        run(*wrong, code=2)


def test_parts_without_a_level_above_keep_their_place(folder: Path) -> None:
    text = run(folder / "top.glb", "--explain", code=1)
    assert "along (0, 0, 1)" in text or "along (0, 0, -1)" in text
    assert "10 mm deep" in text


def test_all_files_and_their_limits(folder: Path) -> None:
    names = {"--json": "r.json", "--csv": "r.csv", "--bcf": "r.bcfzip", "--html": "r.html", "--picture": "r.png"}
    arguments = [text for option, name in names.items() for text in (option, folder / name)]
    run(folder / "pump.glb", "--pictures", 2, "--quiet", *arguments, code=1)
    for name in names.values():
        assert (folder / name).stat().st_size > 1000
    assert not [file for file in folder.iterdir() if file.name.endswith(".tmp")]


def test_rules_and_groups(folder: Path) -> None:
    assert "1 clash in" in run(folder / "pump.glb", "--a", "piping", "--quiet", code=1)
    assert "4 clashes" in run(folder / "pump.glb", "--a", "bolt*", "--b", "base plate", "--quiet", code=1)
    assert "3 clashes" in run(folder / "pump.glb", "--ignore", "bolt*::base plate", "--quiet", code=1)
    assert "5 clashes" in run(folder / "pump.glb", "--ignore-same-parent", "--quiet", code=1)
    assert "17 clashes" in run(folder / "pump.glb", "--touching", "clash", "--quiet", code=1)
    assert "hard ×4" in run(folder / "pump.glb", code=1)
    assert "hard ×4" not in run(folder / "pump.glb", "--group", "none", code=1)


def test_an_afternoon(folder: Path) -> None:
    kept, out = folder / "kept.json", folder / "rig.json"
    common = [folder / "rig.glb", "--clearance", "5mm", "--baseline", kept]
    # Found, ranked, explained.
    text = run(folder / "rig.glb", "--clearance", "5mm", "--explain", "--html", folder / "rig.html", "--json", out, code=1)
    assert "12 clashes in 200 parts: 6 hard, 1 containment, 2 duplicate, 3 clearance" in text
    rows = json.loads(out.read_text())["clashes"]
    assert {row["kind"] for row in rows[:6]} == {"hard"}
    for row in rows:
        assert row["explanation"].split(" ")[0] in text
    # Nothing is kept before something is decided.
    run(*common, code=2)
    first = rows[0]["id"]
    text = run(*common, "--accept", first[:9], "--assign", f"{rows[1]['id']}=Ada", "--note", "pressed in", "--quiet", code=1)
    assert text.startswith("11 clashes")
    assert "1 accepted" in text
    assert "Ada" in run(*common, code=1)
    run(*common, "--accept", "all", "--quiet", code=0)
    # The next run is clean, and says nothing new.
    assert "0 clashes in 200 parts; 12 accepted" in run(*common, code=0)
    entries = json.loads(kept.read_text())["clashes"]
    assert entries[first]["note"] == "pressed in"
    assert entries[rows[1]["id"]]["assignee"] == "Ada"
    # One part less, one moved deeper: one is gone, one is back.
    scene = planted().scene
    moved = Scene.from_parts(
        scene.names[:-1],
        [scene.mesh_of(part) for part in scene.parts[:-1]],
        [
            (thud.Pose([0, 0, -0.01]) @ part.pose if part.name.endswith("overlap.0") else part.pose).matrix
            for part in scene.parts[:-1]
        ],
    )
    write_assembly(folder / "rig2.glb", moved)
    text = run(folder / "rig2.glb", *common[1:], code=1)
    assert "accepted, worse" in text
    assert "1 clash in 199 parts: 1 hard; 10 accepted, 1 gone" in text


def test_hostile_files_are_errors_in_one_line(folder: Path) -> None:
    (folder / "broken.glb").write_bytes((folder / "pump.glb").read_bytes()[:3000])
    (folder / "bad.json").write_text('{"format": "thud-baseline", "version": 1, "clashes": {"\\u001b[31m": 1}}')
    assert "broken.glb" in run(folder / "broken.glb", code=2)
    text = run(folder / "pump.glb", "--baseline", folder / "bad.json", code=2)
    assert "bad.json" in text
    assert "\x1b" not in text
    assert len(text.strip().splitlines()) == 1


def test_no_file_is_overwritten_by_another(folder: Path, tmp_path: Path) -> None:
    # --demo takes the name of a file: one's own is not to be lost.
    mine = tmp_path / "mine.glb"
    mine.write_bytes(b"glTF of my own")
    assert "overwritten" in run("--demo", mine, code=2)
    assert mine.read_bytes() == b"glTF of my own"
    run("--demo", tmp_path / "pump.glb", "-q", code=1)
    run("--demo", tmp_path / "pump.glb", "-q", code=1)
    text = run(folder / "pump.glb", "--json", tmp_path / "same", "--csv", tmp_path / "same", code=2)
    assert "--json" in text
    assert "--csv" in text
    assert not (tmp_path / "same").exists()
    assert "folder" in run(folder / "pump.glb", "--json", tmp_path, code=2)


def test_a_fault_of_the_program_is_not_taken_for_clashes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise ValueError("wrong")

    monkeypatch.setattr("thud.report.clash.check.check", wrong)
    assert "ValueError" in run(folder / "pump.glb", code=2)


def test_a_robot_of_a_package_names_its_folder(tmp_path: Path) -> None:
    package = tmp_path / "my_robot"
    (package / "urdf").mkdir(parents=True)
    write_assembly(package / "pump.glb")
    shape = '<mesh filename="package://my_robot/pump.glb"/>'
    (package / "urdf" / "r.urdf").write_text(
        f'<robot name="r"><link name="a"><visual><geometry>{shape}</geometry></visual></link></robot>'
    )
    assert "root" in run(package / "urdf" / "r.urdf", code=2)
    # The parts of one link are not looked at.
    run(package / "urdf" / "r.urdf", "--root", package, "-q", code=0)


def test_an_interrupted_check_writes_nothing(folder: Path, tmp_path: Path) -> None:
    # In a process of its own, as Ctrl-C finds it: while the clashes are looked at.
    code = (
        "import thud.report.clash.tasks as tasks, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import thud.report.clash.check as module\n"
        "before = module.examine\n"
        "def examine(*arguments):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return before(*arguments)\n"
        "module.examine = examine\n"
        "from thud.cli.app import app\n"
        f"app(['check', {str(folder / 'pump.glb')!r}, '--json', 'r.json', '--html', 'r.html'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=os.environ | {"TERM": "dumb"}
    )
    assert done.returncode == 130, done.stderr
    assert "interrupted" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "length"), [("5mm", 0.005), ("0.2in", 0.00508), ("1e-3", 0.001), (" 2 cm ", 0.02), ("0", 0.0), ("3µm", 3e-6)]
)
def test_lengths(text: str, length: float) -> None:
    assert metres(text, "x") == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "mm", "-1mm", "nan", "inf", "1e999", "5 yards", "1..2", "5mm5"])
def test_wrong_lengths(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--clearance"):
        metres(text, "--clearance")


def test_several_files_with_a_pose_each(folder: Path) -> None:
    clean = folder / "clean.glb"
    other = folder / "other.glb"
    other.write_bytes(clean.read_bytes())
    # One on the other: two pairs in one place. Beside it: nothing. Turned about z by 90 degrees, "two" of it is 5 cm off "two".
    assert "2 duplicate" in run(clean, other, code=1)
    assert "0 clashes in 4 parts" in run(clean, other, "--pose", "0,0,0", "--pose", "0,500mm,0", code=0)
    run(clean, other, "--pose", "0,0,0", "--pose", "-1m,0,0", "--json", folder / "posed.json", code=1)
    (clash,) = json.loads((folder / "posed.json").read_text())["clashes"]
    assert (clash["a"]["name"], clash["b"]["name"]) == ("clean/a/one", "other/a/two")
    text = run(clean, other, "--pose", "0,0,0", "--pose", "1,-0.85,0,0,0,90", "--explain", code=1)
    assert "1 hard" in text
    assert "50 mm" in text
    # One for all moves all.
    assert "2 duplicate" in run(clean, other, "--pose", "7,0,0", code=1)
    for wrong in ("0,0", "0,0,nan", "0,0,0,90", "0,0,5parsec", "a,b,c", "0,0,0,0,0,1_0"):
        assert "--pose" in run(clean, "--pose", wrong, code=2)
    assert "--pose: expected one for each of 2 files" in run(clean, other, *["--pose", "0,0,0"] * 3, code=2)
