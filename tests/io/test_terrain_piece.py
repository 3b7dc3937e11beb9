"""Pieces of terrain as mesh files."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lmdb")
pytest.importorskip("trimesh")

import trimesh

import thud
from tests.terrain.filling.sources import hills
from thud.errors import InvalidInputError
from thud.terrain import build


@pytest.fixture(scope="module", params=["heights", "triangles", "displaced"])
def store(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("piece") / "store"
    options = {"samples": 8} if request.param == "displaced" else {"error": 0.2} if request.param == "triangles" else {}
    build(hills((66, 66)), path, spacing=2.0, tile=16, kind=request.param, progress=False, **options)
    return path


@pytest.mark.parametrize("name", ["piece.glb", "piece.obj", "piece.ply"])
def test_a_piece_is_the_ground(store, tmp_path, name):
    with thud.Terrain.open(store) as terrain:
        counts = thud.io.export_terrain(terrain, [20.0, 30.0, 90.0, 80.0], tmp_path / name)
    mesh = trimesh.load(tmp_path / name, force="mesh", process=False)
    assert (len(mesh.vertices), len(mesh.faces)) == counts
    places = np.asarray(mesh.vertices)
    if name.endswith("glb"):
        places = np.column_stack([places[:, 0], -places[:, 2], places[:, 1]])
    # With four bounds z is the terrain's own: once it was told from a place that nobody could know.
    places = places + [20.0, 30.0, 0.0]
    i, j = np.round(places[:, :2] / 2.0).astype(int).T
    np.testing.assert_allclose(places, np.column_stack([2.0 * i, 2.0 * j, hills((66, 66))[j, i]]), atol=2e-3)
    # Up is up.
    corners = places[np.asarray(mesh.faces)]
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2]
    assert (area > 0.0).all()
    assert 0.5 * area.sum() >= 70.0 * 50.0
    # One skin: the border is a single ring, across tiles too.
    assert trimesh.Trimesh(places, mesh.faces, process=False).euler_number == 1


def test_six_bounds_are_counted_from_their_corner(store, tmp_path):
    with thud.Terrain.open(store) as terrain:
        low = terrain.manifest.bounds[2] - 3.0
        thud.io.export_terrain(terrain, [20.0, 30.0, low, 90.0, 80.0, low + 1e4], tmp_path / "six.obj")
        thud.io.export_terrain(terrain, [20.0, 30.0, 90.0, 80.0], tmp_path / "four.obj")
    six, four = (trimesh.load(tmp_path / f"{name}.obj", force="mesh", process=False).vertices for name in ("six", "four"))
    np.testing.assert_allclose(six + [0.0, 0.0, low], four, atol=1e-6)


def test_what_is_refused(store, tmp_path):
    with thud.Terrain.open(store) as terrain:
        for bounds, name, match in (
            ([0, 0, 10], "a.glb", "bounds: expected"),
            ([0, 0, 10, -5], "a.glb", "bounds: expected"),
            ([0, 0, np.nan, 5], "a.glb", "bounds"),
            ([9000, 9000, 9001, 9001], "a.glb", "no triangle"),
            ([0, 0, 10, 10], "a.doc", "path: expected a name"),
        ):
            with pytest.raises(InvalidInputError, match=match):
                thud.io.export_terrain(terrain, bounds, tmp_path / name)
    with pytest.raises(InvalidInputError, match="terrain: expected a Terrain"):
        thud.io.export_terrain(None, [0, 0, 1, 1], tmp_path / "a.glb")
    assert not list(tmp_path.iterdir())
