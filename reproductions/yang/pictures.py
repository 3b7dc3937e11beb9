"""Pictures of a displaced surface, of its base primitives, and of bodies made of convex parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import thud
from reproductions.yang.render import Camera, render
from thud.terrain import DisplacedSurface
from thud.terrain.tessellate import tessellate

Floats = npt.NDArray[np.float64]

GROUND, BASE, STEEL = np.array([0.82, 0.74, 0.55]), np.array([0.62, 0.76, 0.95]), np.array([0.7, 0.74, 0.78])


def primitive_triangles(surface: DisplacedSurface) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Base primitives as triangles (T, 3, 3), and which of their edges are edges of primitives (T, 3)."""
    primitives = np.asarray(surface.primitives)
    four = primitives[:, 3] >= 0
    rows = np.concatenate([primitives[:, :3], primitives[four][:, [0, 2, 3]]])
    lines = np.ones((len(rows), 3), dtype=bool)
    lines[: len(primitives)][four, 2] = False
    lines[len(primitives) :, 0] = False
    return np.asarray(surface.positions)[rows], lines


def surface_triangles(surface: DisplacedSurface) -> Floats:
    """The projected surface as triangles (T, 3, 3)."""
    vertices, faces = tessellate(surface)
    return vertices[faces]


def body_triangles(body: thud.Compound) -> Floats:
    """(T, 3, 3) faces of all convex hulls of a compound."""
    from scipy.spatial import ConvexHull

    found = []
    for shape, row in zip(body.shapes, body.poses.rows):  # type: ignore[union-attr]
        points = np.asarray(shape.points)  # type: ignore[attr-defined]
        hull = ConvexHull(points)
        corners = points[hull.simplices]
        out = np.einsum(
            "ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), hull.equations[:, :3]
        )
        corners[out < 0] = corners[out < 0][:, ::-1]
        found.append(corners @ row[:9].reshape(3, 3).T + row[9:])
    return np.concatenate(found)


def save_panels(images: list[Floats], titles: list[str], path: str | Path, *, columns: int = 2) -> Path:
    """Pictures beside one another, as a file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(images) // columns)
    ratio = max(image.shape[0] / image.shape[1] for image in images)
    figure, axes = plt.subplots(
        rows, columns, figsize=(7.5 * columns, (7.5 * ratio + 0.5) * rows), dpi=110, squeeze=False, layout="constrained"
    )
    for cell in axes.flat:
        cell.set_axis_off()
    for cell, image, title in zip(axes.flat, images, titles):
        cell.imshow(image)
        cell.set_title(title)
    figure.savefig(path)
    plt.close(figure)
    return Path(path)


def surface_picture(
    surface: DisplacedSurface, path: str | Path, *, view: tuple[float, float] = (35.0, -60.0), columns: int = 900
) -> Path:
    """The projected surface beside its base primitives.

    Parameters
    ----------
    surface : the surface
    path : where the picture goes
    view : elevation and azimuth of the camera, degrees
    columns : pixels a picture is wide
    """
    triangles = surface_triangles(surface)
    base, lines = primitive_triangles(surface)
    camera = Camera.around(np.concatenate([triangles, base]).reshape(-1, 3), view)
    images = [render(triangles, GROUND, camera, columns=columns), render(base, BASE, camera, columns=columns, lines=lines)]
    titles = [
        f"projected surface: {surface.sample_count:,} patches",
        f"{len(np.asarray(surface.primitives)):,} base primitives",
    ]
    return save_panels(images, titles, path)


def body_picture(
    body: thud.Compound, path: str | Path, *, view: tuple[float, float] = (24.0, -55.0), columns: int = 1100
) -> Path:
    """A compound of convex hulls, from an angle and from the side."""
    triangles = body_triangles(body)
    images = [
        render(triangles, STEEL, Camera.around(triangles.reshape(-1, 3), angle), columns=columns)
        for angle in (view, (0.0, -90.0))
    ]
    return save_panels(images, [f"{len(body.shapes)} convex parts", "from the side"], path, columns=1)
