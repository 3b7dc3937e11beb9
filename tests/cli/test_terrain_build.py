"""`thud terrain build`, `info`, `fly` and `picture` on a real elevation model, one command each; and other sources."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("lmdb")
pytest.importorskip("rasterio")
pytest.importorskip("matplotlib")

from matplotlib.image import imread
from typer.testing import CliRunner

import thud
from tests.io.rasters import sample_file
from tests.terrain.filling.sources import hills
from thud.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, ["terrain", *map(str, arguments)], env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def fault(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fault")
    file = sample_file(folder / "fault.tif")
    result = run("build", file, "--out", folder / "fault", "--tile", 128)
    assert result.exit_code == 0, result.output
    assert "tiles of heights" in result.output
    assert "content hash" in result.output
    return folder / "fault"


def test_info_of_a_real_elevation_model(fault):
    result = run("info", fault)
    assert result.exit_code == 0, result.output
    for text in ("EPSG:32616", "fault.tif", "bilinear, projected from EPSG:4326", "of a grid of"):
        assert text in result.output


def test_fly_over_it(fault, tmp_path):
    result = run("fly", fault, "--out", tmp_path / "path.png", "--seconds", 3)
    assert result.exit_code == 0, result.output
    for text in ("690 frames", "with a hit", "p50", "p99", "worst"):
        assert text in result.output
    assert imread(tmp_path / "path.png").shape[2] >= 3


def test_a_flight_never_enters_the_ground(fault):
    from thud.cli.terrain_fly import flight

    with thud.Terrain.open(fault) as terrain:
        positions, hits, seconds = flight(terrain, None, None, 300.0, 60.0, 5.0, 2.0)
        assert len(positions) == len(hits) + 1 == len(seconds) + 1 == 301
        assert (hits > 0).mean() > 0.3
        assert np.linalg.norm(positions[-1] - positions[0]) > 500.0
        for position in positions[::10]:
            for tile in terrain.tiles_near(position - 2.5, position + 2.5):
                found = tile.in_reach(position, 2.0 - 1e-6)
                assert len(found.number) == 0


@pytest.mark.parametrize("command", ["picture", "fly"])
def test_pictures_are_png_by_name_too(fault, tmp_path, command):
    # A file named .jpg once held a PNG.
    result = run(command, fault, "--out", tmp_path / "relief.jpg")
    assert result.exit_code == 1
    assert "--out: expected a name that ends in .png" in result.output
    assert not list(tmp_path.iterdir())


def test_a_picture_of_it(fault, tmp_path):
    result = run("picture", fault, "--out", tmp_path / "relief.png", "--size", 300)
    assert result.exit_code == 0, result.output
    picture = imread(tmp_path / "relief.png")
    assert max(picture.shape[:2]) == 300
    assert picture[..., :3].std() > 0.05
    result = run("picture", fault, "--out", tmp_path / "part.png", "--size", 64, "--bounds", 1000, 1000, 3000, 2000)
    assert result.exit_code == 0, result.output
    assert imread(tmp_path / "part.png").shape[:2] == (32, 64)


@pytest.mark.parametrize("kind", ["heights", "displaced", "triangles"])
def test_the_view_from_above_is_the_ground(tmp_path, kind):
    from thud.terrain.top_view import top_view

    options = {"samples": 8} if kind == "displaced" else {"error": 0.0} if kind == "triangles" else {}
    thud.terrain.build(hills((50, 60)), tmp_path / "store", spacing=2.0, tile=16, kind=kind, progress=False, **options)
    with thud.Terrain.open(tmp_path / "store") as terrain:
        # Pixels whose middles are samples.
        found = top_view(terrain, (-1.0, -1.0, 119.0, 99.0), 2.0)
    np.testing.assert_allclose(found, hills((50, 60)), atol=2.0**-10)


def test_a_generated_world_and_an_array_and_a_mesh(tmp_path):
    result = run("build", "--generated", 3, "--size", 128, "--tile", 64, "--out", tmp_path / "world")
    assert result.exit_code == 0, result.output
    assert "1 tiles of displaced" in result.output
    np.save(tmp_path / "a.npy", hills((40, 50)))
    result = run(
        "build", tmp_path / "a.npy", "--spacing", 2, "--kind", "triangles", "--error", 0.5, "--out", tmp_path / "array"
    )
    assert result.exit_code == 0, result.output
    trimesh = pytest.importorskip("trimesh")
    vertices, faces, _ = thud.HeightField(hills((20, 20)), 2.0).surface()
    trimesh.Trimesh(vertices, faces).export(tmp_path / "mesh.ply")
    result = run("build", tmp_path / "mesh.ply", "--tile", 16, "--out", tmp_path / "mesh")
    assert result.exit_code == 0, result.output
    assert "9 tiles of triangles" in result.output


def test_what_is_wrong_is_said_in_one_line(tmp_path):
    (tmp_path / "bad.tif").write_bytes(b"no raster")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    np.save(tmp_path / "a.npy", hills((40, 50)))
    for arguments in (
        [],
        [tmp_path / "a.npy", "--generated", 1],
        ["--generated", 1],
        [tmp_path / "bad.tif"],
        [tmp_path / "bad.npy", "--spacing", 2],
        [tmp_path / "a.npy"],
        [tmp_path / "a.npy", "--spacing", 2, "--project", "EPSG:25830"],
        [tmp_path / "nothing.tif"],
        [tmp_path / "nothing.ply", "--tile", 5],
        ["/vsicurl/http://example.com/a.tif"],
        [tmp_path / "a.npy", "--spacing", 2, "--cluster", "http://x"],
    ):
        result = run("build", *arguments, "--out", tmp_path / "out")
        assert result.exit_code == 1, (arguments, result.output)
        assert len(result.output.strip().splitlines()) == 1, result.output
        assert result.output.strip().startswith("thud terrain build: ")
    for command in ("fly", "picture"):
        result = run(command, tmp_path / "nothing")
        assert result.exit_code == 1
        assert result.output.strip().startswith(f"thud terrain {command}: ")
