"""[Yang] 2.7.1 and 5.2: the terrain decomposed into convex parts, tried once, beside the displaced surface itself."""

from __future__ import annotations

import importlib.util
import time
from typing import Any

import numpy as np

import thud
from reproductions.report import Report
from reproductions.terrains import Field, Floats, cave_field
from reproductions.warship import warship
from reproductions.yang.surface_scenes import lower, motorcycle
from thud.terrain import DisplacedSurface, from_field
from thud.terrain.collision.query_object import query_object

#: The piece, metres: 24 by 24 of the cliff that leans over, down to z = -8.
LOWEST, HIGHEST = np.array([20.0, 50.0, -8.0]), np.array([44.0, 74.0, 20.0])
CELL, SAMPLES = 3.0, 4
THRESHOLDS = (0.2, 0.1, 0.05, 0.03)
POSES = 200

#: How far they are from touching, metres: deepest and highest.
GAPS = (-0.5, 1.0)


def piece(field: Field) -> Field:
    """The ground within a block: a closed body, its sides and its bottom the block's."""
    center, half = 0.5 * (LOWEST + HIGHEST), 0.5 * (HIGHEST - LOWEST)

    def within(points: Floats) -> Floats:
        q = np.abs(points - center) - half
        block = np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)
        return np.asarray(np.maximum(field(points), block))

    return within


def run(size: str, report: Report) -> None:
    """Parts, bytes, times and errors at some thresholds. Not at ci size."""
    if size == "ci":
        return
    report.heading("Sections 2.7.1 and 5.2: the terrain as convex parts")
    if importlib.util.find_spec("coacd") is None:
        report.say('Left out: needs `pip install "thud[decompose]"`.')
        return
    field = piece(cave_field(0))
    begin = time.perf_counter()
    surface = from_field(field, LOWEST - CELL, HIGHEST + CELL, CELL, samples=SAMPLES).surface
    surface_bytes = surface.nbytes
    made = time.perf_counter() - begin
    mesh = surface.to_mesh()
    objects = {"warship": warship(), "motorcycle": motorcycle()}
    poses = {name: poses_over(shape, surface) for name, shape in objects.items()}
    truth = {name: answers(shape, surface, poses[name]) for name, shape in objects.items()}
    inside, points = solid_points(field)
    cells = [cell for name in objects for cell in (f"{truth[name][1]:.0f}", "")]
    rows = [["displaced surface", "", f"{surface_bytes / 1024:.0f}", f"{made:.1f}", "", "", "", *cells]]
    for threshold in THRESHOLDS:
        begin = time.perf_counter()
        parts = thud.decompose(mesh, threshold=threshold, progress=False, cache=False)
        seconds = time.perf_counter() - begin
        covered = in_parts(parts, points)
        added, missing = (float(x.sum() / inside.sum()) for x in (covered & ~inside, inside & ~covered))
        # How far the parts bulge over the surface, where they do.
        bulge = float(field(points[covered & ~inside]).max(initial=0.0))
        found = {name: answers(shape, parts, poses[name]) for name, shape in objects.items()}
        wrong = {name: int((found[name][0] != truth[name][0]).sum()) for name in objects}
        cells = [cell for name in objects for cell in (f"{found[name][1]:.0f}", str(wrong[name]))]
        arrays = query_object(parts)
        kib = sum(array.nbytes for array in (*arrays.parts, arrays.part_poses, arrays.node_boxes, arrays.node_ints)) / 1024
        values = [f"{kib:.0f}", f"{seconds:.0f}", f"{100 * added:.2f}", f"{100 * missing:.2f}", f"{bulge:.2f}"]
        rows.append([f"{threshold}", str(len(parts.shapes)), *values, *cells])
        for series, value in (("parts", len(parts.shapes)), ("volume error", added + missing), ("bulge m", bulge)):
            report.row("2.7.1", f"{threshold}", series, 0, float(value))
    report.say(
        f"A piece of 24 by 24 m with a cliff that leans over, closed by sides and a bottom: {len(mesh.faces)} triangles, "
        f"cut by `thud.decompose` (CoACD). Volume errors by {len(points)} points, in parts of the body's volume. Times of "
        f"`thud.intersects`, one thread, a pose; {POSES} poses from {-GAPS[0]:g} m deep to {GAPS[1]:g} m above the ground. "
        "The surface is made with its bounding maps."
    )
    columns = ["threshold", "parts", "KiB", "seconds to make", "volume added %", "missing %", "highest bulge m"]
    report.table([*columns, *(f"{name}: {what}" for name in objects for what in ("us", "answered otherwise"))], rows)
    report.compare(
        "Approximate decomposition is costly to store, but worth trying for the volumes of static terrain (2.7.1, 5.2).",
        f"at the finest threshold {rows[-1][1]} parts bulge {rows[-1][6]} m over the ground, take {rows[-1][3]} s to make "
        f"where the surface takes {made:.1f} s, and a query with the warship takes {rows[-1][7]} us where the surface takes "
        f"{rows[0][7]} us. Few parts are fast, and {rows[1][6]} m off.",
        None,
    )


def poses_over(shape: thud.Compound, surface: DisplacedSurface) -> Floats:
    """(N, 7) over the piece, turned about z, some above the ground and some in it."""
    rng = np.random.default_rng(0)
    rows = np.zeros((POSES, 7))
    rows[:, :2] = rng.uniform(LOWEST[:2] + 4.0, HIGHEST[:2] - 4.0, (POSES, 2))
    turn = rng.uniform(0.0, np.pi, POSES)
    rows[:, 3], rows[:, 6] = np.cos(turn), np.sin(turn)
    lower(shape, surface, rows, 0.0)
    rows[:, 2] += rng.uniform(*GAPS, POSES)
    return rows


def answers(shape: thud.Compound, ground: thud.Shape, poses: Floats) -> tuple[Any, float]:
    """Whether the shape meets the ground, and microseconds a pose: the best of five runs over all."""
    best = np.inf
    found = thud.intersects(shape, ground, poses, threads=1)
    for _ in range(5):
        begin = time.perf_counter()
        thud.intersects(shape, ground, poses, threads=1)
        best = min(best, time.perf_counter() - begin)
    return np.asarray(found), 1e6 * best / len(poses)


def solid_points(field: Field, many: int = 100_000) -> tuple[Any, Floats]:
    """Random points of the block, and which are in the body."""
    points = np.random.default_rng(1).uniform(LOWEST - 0.5, HIGHEST + 0.5, (many, 3))
    return field(points) < 0.0, points


def in_parts(parts: thud.Compound, points: Floats) -> Any:
    """Which points lie in any of the parts."""
    found = np.zeros(len(points), dtype=np.bool_)
    for part in parts.parts():
        assert part.hull is not None
        pose, planes = np.asarray(part.pose).reshape(12), np.asarray(part.hull.planes)
        own = (points - pose[9:]) @ pose[:9].reshape(3, 3)
        found |= (own @ planes[:, :3].T <= planes[:, 3]).all(axis=1)
    return found
