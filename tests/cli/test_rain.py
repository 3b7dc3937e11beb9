"""`thud rain` at a tiny size: every file is there and holds what it should."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from matplotlib import image
from typer.testing import CliRunner

from thud.cli.app import app

TINY = ["--seconds", "0.3", "--particles", "150", "--size", "64", "--resolution", "16"]


@pytest.mark.parametrize("scene", ["house", "can"])
def test_pictures_maps_and_sound_are_written(tmp_path: Path, scene: str) -> None:
    soundfile = pytest.importorskip("soundfile")
    done = CliRunner().invoke(app, ["rain", scene, "--out", str(tmp_path / "new"), *TINY])
    assert done.exit_code == 0, done.output
    assert "table top" in done.output
    assert "impacts of 150 hailstones in 0.3 s" in done.output
    folder = tmp_path / "new"
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{scene}.wav", f"{scene}_1.png", f"{scene}_2.png", f"{scene}_maps.png"
    ]  # fmt: skip
    for k in (1, 2):
        picture = image.imread(folder / f"{scene}_{k}.png")
        assert picture.shape[:2] == (40, 64)
        assert picture[..., :3].std() > 0.05
    samples, rate = soundfile.read(folder / f"{scene}.wav")
    assert rate == 48000
    assert len(samples) == 14400
    # The peak is 1 dB below full scale.
    np.testing.assert_allclose(np.abs(samples).max(), 10 ** (-1 / 20), rtol=1e-3)


def test_without_sound_and_with_flac(tmp_path: Path) -> None:
    soundfile = pytest.importorskip("soundfile")
    done = CliRunner().invoke(app, ["rain", "can", "--no-sound", "--out", str(tmp_path), *TINY, "--pictures", "1"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["can_1.png", "can_maps.png"]
    done = CliRunner().invoke(app, ["rain", "can", "--format", "flac", "--pictures", "0", "--out", str(tmp_path), *TINY])
    assert done.exit_code == 0, done.output
    assert soundfile.info(tmp_path / "can.flac").subtype == "PCM_24"


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    for folder, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        done = CliRunner().invoke(app, ["rain", "can", "--no-sound", "--seed", seed, "--out", str(tmp_path / folder), *TINY])
        assert done.exit_code == 0, done.output
    one, other, third = (image.imread(tmp_path / folder / "can_2.png") for folder in "abc")
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, third)


@pytest.mark.parametrize(("package", "extra"), [("soundfile", "sound"), ("matplotlib", "app")])
def test_a_missing_package_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = CliRunner().invoke(app, ["rain", "house", "--out", str(tmp_path / "new"), *TINY])
    assert done.exit_code == 1
    assert f'pip install "thud[{extra}]"' in done.output
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = CliRunner().invoke(app, ["rain", "house", "--out", str(tmp_path / "taken"), *TINY])
    assert done.exit_code == 1
    assert "taken" in done.output


def test_an_unknown_scene_is_an_error() -> None:
    assert CliRunner().invoke(app, ["rain", "castle"]).exit_code == 2
