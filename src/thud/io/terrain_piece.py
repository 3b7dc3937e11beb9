"""A piece of a terrain as a mesh file, through trimesh."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, finite_array
from thud._core.atomic import replaced_path
from thud.errors import InvalidInputError, MissingExtraError
from thud.io.tolerances import MOST_TRIANGLES
from thud.terrain.tiles.terrain import Terrain

#: Formats that are written; in .glb y is up.
_FORMATS = (".glb", ".obj", ".ply", ".stl", ".off")


def export_terrain(terrain: Terrain, bounds: npt.ArrayLike, path: str | os.PathLike[str]) -> tuple[int, int]:
    """Write a piece of a terrain as a mesh; returns its numbers of vertices and triangles.

    All triangles that reach into the bounds are written whole; corners in the same place are one vertex, across tiles too.
    Places are metres from the bounds' lower corner, so that single precision suffices; with four bounds z is the terrain's own.
    In .glb, where y is up, (x, y, z) is (x, z, -y); in the rest z is up.

    Parameters
    ----------
    terrain : open
    bounds : (4,) x0, y0, x1, y1 or (6,) x0, y0, z0, x1, y1, z1, metres
    path : .glb, .obj, .ply, .stl or .off
    """
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError.for_package("trimesh", "app") from None
    if not isinstance(terrain, Terrain):
        raise InvalidInputError(f"terrain: expected a Terrain, got {type(terrain).__name__}")
    target = Path(path)
    if target.suffix.lower() not in _FORMATS:
        allowed = ", ".join(_FORMATS)
        raise InvalidInputError(f"path: expected a name that ends in one of {allowed}, got {target.name!r}")
    given = finite_array(bounds, "bounds")
    flat = given.shape == (4,)
    if flat:
        given = np.array([*given[:2], terrain.manifest.bounds[2] - 1.0, *given[2:], terrain.manifest.bounds[5] + 1.0])
    if given.shape != (6,) or (given[:3] >= given[3:]).any():
        raise InvalidInputError(
            f"bounds: expected x0, y0, x1, y1 or x0, y0, z0, x1, y1, z1, the lower corner first, got {bounds!r}"
        )
    vertices, faces = piece(terrain, given[:3], given[3:])
    places = vertices - (given[:3] * [1.0, 1.0, 0.0] if flat else given[:3])
    if target.suffix.lower() == ".glb":
        places = places[:, [0, 2, 1]] * [1.0, 1.0, -1.0]
    mesh = trimesh.Trimesh(places, faces, process=False)
    with replaced_path(target) as file:
        data: Any = mesh.export(file_type=target.suffix.lower()[1:])
        file.write_bytes(data.encode() if isinstance(data, str) else data)
    return len(vertices), len(faces)


def piece(terrain: Terrain, lower: Floats, upper: Floats) -> tuple[Floats, Ints]:
    """Vertices and faces of the triangles that reach into a box, in the terrain's frame."""
    found: list[Floats] = []
    many = 0
    for key in terrain.manifest.keys_near(lower, upper):
        if key not in terrain:
            continue
        corners = terrain.tile(key).triangles().corners
        inside = ((corners.min(axis=1) <= upper) & (corners.max(axis=1) >= lower)).all(axis=1)
        found.append(corners[inside])
        many += len(found[-1])
        if many > MOST_TRIANGLES:
            raise InvalidInputError(f"bounds: they hold more than {MOST_TRIANGLES} triangles; expected a smaller piece")
    if many == 0:
        raise InvalidInputError("bounds: no triangle of the terrain reaches into them")
    every = np.concatenate(found)
    vertices, faces = np.unique(every.reshape(-1, 3), axis=0, return_inverse=True)
    return vertices, faces.reshape(-1, 3)
