"""Two meshes from files, at a thousand poses: which meet, and how far apart the others are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import thud

# A file that states no unit is read as metres. A wedge, half of a cube, and a pyramid with four sides (both closed).
WEDGE = """o wedge
v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 0 1 1
f 1 3 2\nf 4 5 6\nf 1 2 5 4\nf 2 3 6 5\nf 3 1 4 6
"""
PYRAMID = """o pyramid
v 1 0 0\nv 0 1 0\nv -1 0 0\nv 0 -1 0\nv 0 0 1
f 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\nf 4 3 2 1
"""


def run() -> tuple[thud.TriangleMesh, thud.TriangleMesh, thud.Pose, np.ndarray, thud.Distances]:
    """Read both files and ask all poses in two calls."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("wedge.obj", WEDGE), ("pyramid.obj", PYRAMID)):
            (Path(folder) / name).write_text(text)
        wedge, pyramid = (thud.io.load_scene(Path(folder) / name).meshes[0] for name in ("wedge.obj", "pyramid.obj"))
    rng = np.random.default_rng(14)
    poses = thud.Pose.from_rotation_vector(rng.uniform(-2.0, 2.0, (1000, 3)), rng.normal(size=(1000, 3)))
    meets = thud.intersects(wedge, pyramid, None, poses)
    gaps = thud.distance(wedge, pyramid, None, poses)
    print(f"{wedge} and {pyramid}: {meets.sum()} of {len(meets)} poses collide; {gaps}")
    return wedge, pyramid, poses, meets, gaps


def check(results: tuple[thud.TriangleMesh, thud.TriangleMesh, thud.Pose, np.ndarray, thud.Distances]) -> None:
    """Both solids are convex, so their hulls must answer alike, by another method."""
    wedge, pyramid, poses, meets, gaps = results
    assert wedge.is_closed
    assert pyramid.is_closed
    hulls = thud.ConvexHull(wedge.vertices), thud.ConvexHull(pyramid.vertices)
    np.testing.assert_array_equal(meets, thud.intersects(*hulls, None, poses))
    np.testing.assert_allclose(gaps.distance, thud.distance(*hulls, None, poses).distance, atol=1e-8)
    assert 100 < meets.sum() < 900


if __name__ == "__main__":
    check(run())
