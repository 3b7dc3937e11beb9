"""Recall and precision beside the exact mesh test, over resolution and number of views: what 4.5.3 says in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from reproductions.knott_image.scenes import box, figure, poses
from reproductions.progress import progress
from reproductions.report import Report
from thud.imagespace import interference

#: (resolutions, numbers of views, scenes, objects a scene)
_SIZES: dict[str, Any] = {
    "ci": ((128, 256), (1, 3), 2, 20),
    "standard": ((128, 256, 512, 1024, 2048), (1, 2, 3, 6), 12, 100),
    "full": ((128, 256, 512, 1024, 2048), (1, 2, 3, 4, 5, 6), 100, 100),
}

Pairs = set[tuple[int, int]]


def run(size: str, backends: list[str], report: Report) -> None:
    """The plot, on the default backend."""
    resolutions, views, scenes, count = _SIZES[size]
    report.heading("Recall and precision over resolution and views")
    found: dict[tuple[int, int], list[int]] = {(r, v): [0, 0, 0] for r in resolutions for v in views}
    beyond, total = 0, 0
    for seed in progress(range(scenes), scenes, "recall and precision"):
        # Boxes and concave shapes of 400 triangles, in turn.
        meshes = [box() if k % 2 else figure(202) for k in range(count)]
        at = poses(count, 0.9 * count ** (1.0 / 3.0), seed)
        want, apart = touching(meshes, at)
        total += len(want)
        for (resolution, number), tally in found.items():
            got = interference(meshes, at, resolution=resolution, views=number)
            pairs = set(map(tuple, got.pairs.tolist()))
            tally[0] += len(want & pairs)
            tally[1] += len(want - pairs)
            tally[2] += len(pairs - want)
            beyond += sum(apart(pair) > got.offset for pair in pairs - want)
    rows = []
    for (resolution, number), (right, missed, extra) in found.items():
        recall, precision = right / (right + missed), right / max(right + extra, 1)
        rows.append([resolution, number, recall, precision])
        report.row("recall", "crowd", f"{number} views", resolution, recall)
        report.row("precision", "crowd", f"{number} views", resolution, precision)
    report.table(["resolution", "views", "recall", "precision"], rows)
    report.compare(
        "precision is limited to a pixel, x_w / x_v (4.5.3)",
        f"{beyond} pairs reported that are farther apart than the edges' offset, of {total} that touch in {scenes} scenes",
        beyond == 0,
    )
    best = found[resolutions[-1], views[-1]]
    first = found[resolutions[0], views[0]]
    report.compare(
        "increasing the viewport's resolution finds what was missed (4.5.4)",
        f"missed at {resolutions[0]} with {views[0]} view: {first[1]}; at {resolutions[-1]} with {views[-1]}: {best[1]}",
        best[1] <= first[1],
    )
    report.figure("recall_and_precision", lambda plt: _draw(plt, resolutions, views, found))


def touching(meshes: list[thud.TriangleMesh], at: thud.Pose) -> tuple[Pairs, Any]:
    """Pairs that touch by the exact mesh test, and a function that measures how far apart a pair is."""
    from thud.imagespace.candidates import box_pairs
    from thud.imagespace.scene import make_scene

    def place(k: int) -> thud.Pose:
        return thud.Pose.from_rows(at.rows[k])

    candidates = box_pairs(make_scene(meshes, at).boxes)
    want = {(int(a), int(b)) for a, b in candidates if thud.intersects(meshes[a], meshes[b], place(a), place(b))[0]}
    return want, lambda pair: float(thud.distance(meshes[pair[0]], meshes[pair[1]], place(pair[0]), place(pair[1])).distance[0])


def _draw(plt: Any, resolutions: Any, views: Any, found: dict[tuple[int, int], list[int]]) -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6))
    at: npt.NDArray[np.float64] = np.asarray(resolutions, float)
    for number in views:
        tallies = np.array([found[r, number] for r in resolutions], float)
        label = f"{number} view" + ("s" if number > 1 else "")
        left.plot(at, tallies[:, 0] / (tallies[:, 0] + tallies[:, 1]), "o-", label=label)
        right.plot(at, tallies[:, 0] / np.maximum(tallies[:, 0] + tallies[:, 2], 1.0), "o-", label=label)
    for axes, name in ((left, "recall"), (right, "precision")):
        axes.set(xscale="log", xlabel="pixels a side", ylabel=name, xticks=at, xticklabels=[str(r) for r in resolutions])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    left.legend()
    return figure
