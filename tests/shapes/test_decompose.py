"""Approximate convex decomposition: parts cover the mesh, and are kept on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from tests.oracles.meshes import box_mesh
from thud.errors import InvalidInputError, UnsupportedQueryError


def corner_mesh() -> thud.TriangleMesh:
    """An L of unit thickness: convex parts meet it exactly."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    vertices = np.concatenate([np.c_[outline, np.zeros(6)], np.c_[outline, np.ones(6)]])
    cap = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    faces = [face[::-1] for face in cap] + [[i + 6 for i in face] for face in cap]
    for k in range(6):
        n = (k + 1) % 6
        faces += [[k, n, n + 6], [k, n + 6, k + 6]]
    return thud.TriangleMesh(vertices, np.array(faces))


def test_parts_cover_the_mesh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THUD_CACHE_DIR", str(tmp_path))
    mesh = corner_mesh()
    assert mesh.is_closed
    assert mesh.volume == pytest.approx(3.0)
    parts = thud.decompose(mesh, threshold=0.05, progress=False)
    assert isinstance(parts, thud.Compound)
    assert len(parts.shapes) >= 2
    assert parts.volume == pytest.approx(3.0, rel=0.05)
    points = np.random.default_rng(1).uniform(-0.2, 2.2, (2000, 3)) * [1, 1, 0.6]
    agree = thud.contains(parts, points) == thud.geometry.point_in_mesh(points, mesh.vertices, mesh.faces)
    assert agree.mean() > 0.97
    # The second time from disk, the same parts.
    (kept,) = (tmp_path / "decompositions").iterdir()
    again = thud.decompose(mesh, threshold=0.05, progress=False)
    for one, two in zip(parts.shapes, again.shapes, strict=True):
        np.testing.assert_array_equal(one.vertices, two.vertices)  # type: ignore[attr-defined]
    # A broken file is made anew.
    kept.write_bytes(b"not a decomposition")
    third = thud.decompose(mesh, threshold=0.05, progress=False)
    assert len(third.shapes) == len(parts.shapes)
    assert len(thud.decompose(mesh, threshold=0.05, max_parts=1, progress=False, cache=False).shapes) == 1


def test_refused() -> None:
    vertices, faces = box_mesh()
    with pytest.raises(UnsupportedQueryError, match="open"):
        thud.decompose(thud.TriangleMesh(vertices, faces[1:]))
    with pytest.raises(InvalidInputError, match="threshold"):
        thud.decompose(thud.TriangleMesh(vertices, faces), threshold=0.0)
    with pytest.raises(InvalidInputError, match="max_parts"):
        thud.decompose(thud.TriangleMesh(vertices, faces), max_parts=0)
    with pytest.raises(InvalidInputError, match="TriangleMesh"):
        thud.decompose(thud.Sphere(1.0))  # type: ignore[arg-type]
