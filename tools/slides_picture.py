"""The picture of docs/slides.md: `python -m tools.slides_picture`.

OBB tree levels, intervals of sweep and prune, cells of a grid and of a BSP tree, Jordan's ray, swept volumes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import thud
from thud.bounds import fit_obb
from thud.partitions import MeshBsp, MeshGrid
from thud.shapes import sweep

OUT = Path(__file__).parent.parent / "docs" / "slides.png"


def ring() -> thud.TriangleMesh:
    """A bent bar: a piece of a torus would be closed all around; this one is three quarters of it."""
    a, b = np.meshgrid(np.linspace(0.0, 1.5 * np.pi, 40), np.arange(12) * np.pi / 6, indexing="ij")
    across = 1.0 + 0.3 * np.cos(b)
    vertices = np.stack([across * np.cos(a), across * np.sin(a), 0.3 * np.sin(b)], axis=-1).reshape(-1, 3)
    k, m = np.meshgrid(np.arange(39), np.arange(12), indexing="ij")
    p, q, r, s = 12 * k + m, 12 * k + (m + 1) % 12, 12 * (k + 1) + m, 12 * (k + 1) + (m + 1) % 12
    sides = [np.stack(f, -1).reshape(-1, 3) for f in ((p, r, s), (p, s, q))]
    ends = [[[0, n, n + 1] for n in range(1, 11)], [[468, 468 + n + 1, 468 + n] for n in range(1, 11)]]
    return thud.TriangleMesh(vertices, np.concatenate([*sides, *(np.array(end) for end in ends)]))


def obb_levels(axes: Any, mesh: thud.TriangleMesh, level: int) -> None:
    """The oriented boxes of one level of the tree: halved orthogonally to their longest axes, through the mean."""
    groups = [np.asarray(mesh.vertices)[np.asarray(mesh.faces)]]
    for _ in range(level):
        halves = []
        for corners in groups:
            box = fit_obb(corners.reshape(-1, 3), method="pca")
            along = corners.mean(axis=1) @ box.axes[0]
            cut = corners.reshape(-1, 3).mean(axis=0) @ box.axes[0]
            halves += [corners[along < cut], corners[along >= cut]]
        groups = halves
    boxes = [fit_obb(corners.reshape(-1, 3), method="pca") for corners in groups]
    thud.plot(mesh, *boxes, ax=axes, title=f"OBB tree, level {level}", alpha=0.5)


def intervals(axes: Any) -> None:
    """Boxes in the plane, their intervals along both axes, and the pairs whose intervals overlap along both."""
    from matplotlib.patches import Rectangle

    low = np.array([[0.3, 3.2], [1.0, 2.6], [3.6, 3.0], [2.2, 0.6], [2.9, 1.2], [4.6, 0.2]])
    high = low + [[1.3, 1.2], [1.5, 1.0], [1.0, 1.4], [1.2, 1.1], [1.3, 1.0], [0.9, 1.0]]
    meet = np.zeros(6, bool)
    for i in range(6):
        for j in range(i + 1, 6):
            if (low[i] <= high[j]).all() and (low[j] <= high[i]).all():
                meet[[i, j]] = True
    for k in range(6):
        color = "tab:red" if meet[k] else "tab:blue"
        axes.add_patch(Rectangle(low[k], *(high[k] - low[k]), facecolor=color, alpha=0.4, edgecolor=color))
        axes.text(*(0.5 * (low[k] + high[k])), "ABCDEF"[k], ha="center", va="center")
        axes.plot([low[k, 0], high[k, 0]], [-0.25 - 0.13 * k] * 2, color=color, lw=2.5)
        axes.plot([-0.25 - 0.13 * k] * 2, [low[k, 1], high[k, 1]], color=color, lw=2.5)
    axes.set(title="sweep and prune: red overlap along both axes", xlim=(-1.2, 6), ylim=(-1.2, 6), aspect="equal")
    axes.axis("off")


def jordan(axes: Any) -> None:
    """A ray from a point; the crossings are counted."""
    angle = np.arange(14) * np.pi / 7
    star = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(np.arange(14) % 2, 0.45, 1.0)[:, None]
    axes.fill(*star.T, color="tab:green", alpha=0.3)
    axes.plot(*np.concatenate([star, star[:1]]).T, color="tab:green")
    for start in (np.array([-0.15, 0.1]), np.array([-0.72, 0.62])):
        ends, count = np.roll(star, -1, axis=0), 0
        for p, q in zip(star, ends, strict=True):
            if (p[1] > start[1]) != (q[1] > start[1]):
                x = p[0] + (start[1] - p[1]) / (q[1] - p[1]) * (q[0] - p[0])
                if x > start[0]:
                    count += 1
                    axes.plot(x, start[1], "o", color="black", ms=4)
        inside = bool(thud.geometry.point_in_polygon(start, star)[0])
        assert inside == (count % 2 == 1)
        axes.plot([start[0], 1.25], [start[1]] * 2, color="black", lw=1)
        axes.plot(*start, "o", color="tab:red" if inside else "tab:blue", ms=8)
        axes.text(start[0] - 0.05, start[1] + 0.07, f"{count}: {'in' if inside else 'out'}", ha="right")
    axes.set(title="Jordan's ray: an odd number of crossings is inside", aspect="equal")
    axes.axis("off")


def draw(path: Path = OUT) -> None:
    """All panels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    mesh, figure = ring(), plt.figure(figsize=(17.0, 15.0))
    obb_levels(figure.add_subplot(3, 3, 1, projection="3d"), mesh, 0)
    obb_levels(figure.add_subplot(3, 3, 2, projection="3d"), mesh, 2)
    obb_levels(figure.add_subplot(3, 3, 3, projection="3d"), mesh, 4)
    intervals(figure.add_subplot(3, 3, 4))
    grid = figure.add_subplot(3, 3, 5, projection="3d")
    thud.plot(MeshGrid(thud.to_mesh(thud.Ellipsoid((1.0, 0.7, 0.6)), segments=24), cells=2500), ax=grid, view=(8, -80),
              title="grid: IN green, UNKNOWN orange, OUT grey")  # fmt: skip
    grid.set_yticks([])
    corner = thud.TriangleMesh(
        [[x, y, z] for z in (0, 1) for x, y in ((0, 0), (3, 0), (3, 1), (1, 1), (1, 2.5), (0, 2.5))],
        [[0, 2, 1], [0, 3, 2], [0, 4, 3], [0, 5, 4], [6, 7, 8], [6, 8, 9], [6, 9, 10], [6, 10, 11],
         *[f for k in range(6) for f in ([k, (k + 1) % 6, 6 + (k + 1) % 6], [k, 6 + (k + 1) % 6, 6 + k])]],
    )  # fmt: skip
    thud.plot(
        MeshBsp(corner),
        ax=figure.add_subplot(3, 3, 6, projection="3d"),
        title="BSP tree: the cells inside an L",
        view=(40, -50),
    )
    jordan(figure.add_subplot(3, 3, 7))
    hull = thud.ConvexHull(np.random.default_rng(2).normal(size=(14, 3)) * 0.5)
    for place, (shape, name) in enumerate(((hull, "a hull"), (thud.Box((0.5, 0.35, 0.25)), "a box")), start=8):
        volume, pose = sweep(shape, [2.5, 0.8, 0.6])
        thud.plot((volume, pose), shape, (shape, thud.Pose([2.5, 0.8, 0.6])), alpha=0.35,
                  ax=figure.add_subplot(3, 3, place, projection="3d"), title=f"swept volume of {name}")  # fmt: skip
    figure.tight_layout()
    figure.savefig(path, dpi=62)


if __name__ == "__main__":
    draw()
