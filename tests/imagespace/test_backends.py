"""The two rasterisers against each other and against answers known beforehand. OpenGL needs EGL; without it these tests fail
and say what to install. 1,000 scenes: `python -m tests.imagespace.agreement --size standard`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import thud
from tests.imagespace.agreement import SIZES, random_mesh, random_scene, run
from tests.oracles.meshes import box_mesh
from thud.imagespace import algorithms, backend_gl, gl_limits, gl_stage, interference
from thud.imagespace.backend_cpu import CpuRasteriser
from thud.imagespace.backend_gl import GlRasteriser
from thud.imagespace.drawing import make_drawing
from thud.imagespace.rasteriser import Drawing, Rasteriser, Work
from thud.imagespace.scene import make_scene
from thud.imagespace.tolerances import EDGE_OFFSET
from thud.imagespace.view import View, camera, directions, tight_view

SIDE = 32
"""Pixels of small drawings."""

BACKENDS: dict[str, Callable[[], Rasteriser]] = {"cpu": CpuRasteriser, "gl": GlRasteriser}


@pytest.fixture(params=list(BACKENDS))
def raster(request: pytest.FixtureRequest) -> Iterator[Rasteriser]:
    made = BACKENDS[request.param]()
    yield made
    made.release()


def drawing(*objects: tuple[Any, Any, Any], side: int = SIDE, depth: float = 10.0) -> Drawing:
    """Objects of points, triangles and edges, in pixels, edges where they are."""
    points, triangles, edges = [np.empty((0, 3))], [np.empty((0, 3), np.int64)], [np.empty((0, 2), np.int64)]
    starts = np.zeros((3, len(objects) + 1), np.int64)
    for k, (p, t, e) in enumerate(objects):
        points.append(np.asarray(p, float).reshape(-1, 3))
        triangles.append(np.asarray(t, np.int64).reshape(-1, 3) + starts[0, k])
        edges.append(np.asarray(e, np.int64).reshape(-1, 2) + starts[0, k])
        starts[:, k + 1] = starts[:, k] + [len(points[-1]), len(triangles[-1]), len(edges[-1])]
    every = np.concatenate(points)
    return Drawing(side, side, depth, every, every, np.concatenate(triangles), np.concatenate(edges), starts[1], starts[2])


def box(low: Any, high: Any) -> tuple[Any, Any, Any]:
    """A closed box, without edges; front faces run counter-clockwise in (x, y): the view mirrors."""
    points, faces = box_mesh()
    half, middle = 0.5 * np.subtract(high, low), 0.5 * np.add(high, low)
    return np.asarray(points) * half + middle, np.asarray(faces)[:, ::-1], []


def rows_at(depth: float, side: int = SIDE) -> tuple[Any, Any, Any]:
    """An edge along the centres of every row of pixels, at one depth; no faces."""
    points = [[x, y + 0.5, depth] for y in range(side) for x in (0.5, side - 0.5)]
    return points, [], np.arange(2 * side).reshape(-1, 2)


def counts(raster: Rasteriser, *objects: tuple[Any, Any, Any]) -> np.ndarray:
    """(side, side) how often object 0 holds the edges of the others."""
    raster.load(drawing(*objects))
    raster.draw_edges()
    pixel, number, count = raster.contained()
    assert (number == 0).all()
    assert (np.diff(pixel) > 0).all()
    image = np.zeros(SIDE * SIDE, np.int64)
    image[pixel] = count
    return image.reshape(SIDE, SIDE)


def scene_drawing(seed: int, most: int = 24, side: int = 160) -> tuple[Drawing, np.ndarray]:
    """A random scene along some direction, and the object of each edge."""
    rng = np.random.default_rng(seed)
    scene = make_scene(*random_scene(rng, most))
    view = tight_view(scene.vertices, directions(9)[seed % 9], (side, side), scene.vertices)
    return make_drawing(scene, view, EDGE_OFFSET * view.pixel), np.repeat(np.arange(scene.count), np.diff(scene.edge_starts))


def test_same_pairs_on_random_scenes() -> None:
    size = os.environ.get("THUD_TEST_SIZE", "ci")
    tally = run({"small": SIZES["small"], "full": SIZES["standard"]}.get(size, SIZES["ci"]))
    print(*tally.excused, *tally.wrong, f"{tally.pairs} pairs", sep="\n")
    assert tally.wrong == []
    assert len(tally.excused) <= 0.005 * tally.pairs
    assert tally.pairs > 3 * tally.scenes
    assert abs(tally.pixels[1] / tally.pixels[0] - 1.0) < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_same_pixels(seed: int) -> None:
    """Where both rasterisers show the same edge, its depth and all that hold it are the same."""
    made, _ = scene_drawing(seed)
    pair = [CpuRasteriser(), GlRasteriser()]
    for layer in range(3):
        owners, depths, found = [], [], []
        for raster in pair:
            if layer == 0:
                raster.load(made)
            many = raster.draw_edges(behind=layer > 0)
            owner, depth = raster.read_edges()
            assert many == (owner >= 0).sum() == np.isfinite(depth).sum()
            owners.append(owner), depths.append(depth)
            found.append(set(zip(*(column.tolist() for column in raster.contained()))))
            assert not raster.read_stencil().any()
        # The same rules; at depths that are one as 32-bit floats OpenGL has the first edge.
        same = (owners[0] == owners[1]) & (owners[0] >= 0)
        assert same.sum() > 0.998 * (owners[0] >= 0).sum() > 0
        assert np.abs(depths[0][same] - depths[1][same]).max() < 1e-7 * made.depth
        assert len(found[0]) > 0
        assert len(found[0] ^ found[1]) <= 0.002 * len(found[0])
    pair[1].release()


@pytest.mark.parametrize("seed", range(5))
def test_algorithms(raster: Rasteriser, seed: int) -> None:
    """Algorithms 1 to 5 say what `contained` says."""
    made, objects = scene_drawing(seed)
    raster.load(made)
    raster.draw_edges()
    owner, _ = raster.read_edges()
    pixel, holder, count = raster.contained()
    assert len(pixel)
    assert (count > 0).all()
    held = owner.ravel()[pixel]
    edges = np.unique(held)
    last = np.append(pixel[1:] != pixel[:-1], True)
    number = made.count
    assert algorithms.detect_interference(raster, number)
    np.testing.assert_array_equal(np.bincount(pixel, count, owner.size), raster.read_stencil().ravel())
    np.testing.assert_array_equal(algorithms.identify_one(raster, number), edges)
    np.testing.assert_array_equal(algorithms.identify_one_by_colour(raster, number), edges)
    assert raster.maximum_colour() == edges.max()
    both = np.unique(np.column_stack([held, holder])[last], axis=0)
    np.testing.assert_array_equal(algorithms.identify_both(raster, number), both)
    penetrating, penetrated = algorithms.identify_by_queries(raster, number)
    np.testing.assert_array_equal(penetrating, np.unique(objects[edges]))
    np.testing.assert_array_equal(penetrated, np.unique(holder))
    # OpenGL's `contained` needs no second pass where no pixel has two holders.
    assert set(raster.work.skipped) <= {"collect"}


def test_algorithms_agree() -> None:
    """Edges inside, seen in 3 pixels or more, are the same for both."""
    made, _ = scene_drawing(11)
    answers = []
    for make in BACKENDS.values():
        raster = make()
        raster.load(made)
        raster.draw_edges()
        owner, _ = raster.read_edges()
        pixel, holder, _ = raster.contained()
        rows, many = np.unique(np.column_stack([owner.ravel()[pixel], holder]), axis=0, return_counts=True)
        answers.append((set(map(tuple, rows.tolist())), set(map(tuple, rows[many >= 3].tolist()))))
        raster.release()
    assert answers[0][1] <= answers[1][0]
    assert answers[1][1] <= answers[0][0]


def test_nothing_interferes_early_out(raster: Rasteriser) -> None:
    made = drawing(box((4, 4, 2), (12, 12, 4)), rows_at(6.0))
    raster.load(made)
    assert not algorithms.detect_interference(raster, 2)
    assert len(algorithms.identify_one_by_colour(raster, 2)) == 0
    assert raster.maximum_colour() == -1
    penetrating, penetrated = algorithms.identify_by_queries(raster, 2)
    assert len(penetrating) == len(penetrated) == 0
    assert raster.work.skipped == ["read colour", "identify polygons"]


def test_empty_and_alone(raster: Rasteriser) -> None:
    raster.load(drawing())
    assert raster.draw_edges() == 0
    assert all(len(column) == 0 for column in raster.contained())
    assert len(raster.identify_edges(reset=True, query=True)) == 0
    assert raster.maximum_colour() == -1
    assert counts(raster, rows_at(3.0)).sum() == 0
    assert counts(raster, box((4, 4, 2), (12, 12, 4))).sum() == 0


@pytest.mark.parametrize("backend", list(BACKENDS))
def test_empty_and_alone_publicly(backend: str) -> None:
    mesh = thud.TriangleMesh(*box_mesh())
    assert len(interference([], backend=backend).pairs) == 0
    assert len(interference([mesh], backend=backend).pairs) == 0
    assert len(interference([mesh, mesh], thud.Pose([[0, 0, 0], [2.1, 2.1, 2.1]]), backend=backend).pairs) == 0
    assert interference([mesh, mesh], thud.Pose([[0, 0, 0], [1.9, 0, 0]]), backend=backend).pairs.tolist() == [[0, 1]]


def test_outside_the_view(raster: Rasteriser) -> None:
    points, faces, _ = box((40, 40, 2), (60, 60, 4))
    far = points, faces, [[0, 1], [1, 3]]
    raster.load(drawing(far, (points - [90, 0, 0], faces, far[2]), (points + [0, -200, 0], faces, far[2])))
    assert raster.draw_edges() == 0
    assert all(len(column) == 0 for column in raster.contained())
    # Edges nearer or farther than the view are not seen; faces in front of it count.
    for depth in (-1.0, 11.0):
        raster.load(drawing(box((-5, -5, -3), (50, 50, 20)), rows_at(depth)))
        assert raster.draw_edges() == 0
        assert (raster.read_edges()[0] == -1).all()
    assert (counts(raster, box((-5, -5, -3), (50, 50, 20)), rows_at(5.0)) == 1).all()
    assert (counts(raster, box((-9e4, -1e5, -3), (9e4, 1e5, 6)), rows_at(5.0)) == 1).all()
    # What reaches out of it is drawn as far as it is inside.
    want = np.zeros((SIDE, SIDE), int)
    want[:10, 20:] = 1
    np.testing.assert_array_equal(counts(raster, box((20, -100, 2), (700, 10, 8)), rows_at(5.0)), want)
    # An edge that crosses all of it, from far outside.
    raster.load(drawing(([[-500, 7.3, 2], [900, 7.3, 4]], [], [[0, 1]])))
    assert raster.draw_edges() == SIDE
    assert (raster.read_edges()[0][7] == 0).all()


def test_rays_through_corners_and_sides(raster: Rasteriser) -> None:
    """4.5.7: corners, sides and diagonals on the centres of pixels. Degeneracies 2 and 3: each pixel counts once."""
    for low, high in (((8.5, 8.5, 2), (24.5, 24.5, 6)), ((8.5, 4.5, 2), (12.5, 24.5, 6))):
        area = int((high[0] - low[0]) * (high[1] - low[1]))
        inside = counts(raster, box(low, high), rows_at(4.0))
        assert inside.sum() == area
        assert inside.max() == 1
        ys, xs = np.nonzero(inside)
        assert np.ptp(xs) + 1 == high[0] - low[0]
        assert np.ptp(ys) + 1 == high[1] - low[1]
        # In front and behind it all faces cancel, or none is there.
        assert not counts(raster, box(low, high), rows_at(1.0)).any()
        assert not counts(raster, box(low, high), rows_at(8.0)).any()


def test_rays_through_the_tip(raster: Rasteriser) -> None:
    """4.5.7, degeneracy 1: silhouette corners on centres; and a corner in the middle that four faces share."""
    points = [[16.5, 16.5, 1], [24.5, 16.5, 4], [16.5, 24.5, 4], [8.5, 16.5, 4], [16.5, 8.5, 4], [16.5, 16.5, 7]]
    faces = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]]
    diamond = points, faces, []
    inside = counts(raster, diamond, rows_at(4.0))
    y, x = np.mgrid[:SIDE, :SIDE]
    around = np.abs(x - 16) + np.abs(y - 16)
    assert (inside[around < 8] == 1).all()
    assert not inside[around > 8].any()
    assert not counts(raster, diamond, rows_at(0.5)).any()
    assert not counts(raster, diamond, rows_at(9.0)).any()


def test_edges_along_the_ray(raster: Rasteriser) -> None:
    """4.5.7, degeneracy 2: such an edge is its ends; the nearer one hides the other until layers are peeled."""
    along = [[12.3, 12.3, 1.0], [12.3, 12.3, 5.0]], [], [[0, 1]]
    raster.load(drawing(box((8, 8, 2), (24, 24, 6)), along))
    assert raster.draw_edges() == 1
    assert len(raster.contained()[0]) == 0
    assert raster.draw_edges(behind=True) == 1
    assert [column.tolist() for column in raster.contained()] == [[12 * SIDE + 12], [0], [1]]
    assert raster.draw_edges(behind=True) == 0


def test_short_edges_are_seen(raster: Rasteriser) -> None:
    """An edge between centres still covers the pixels of its ends."""
    raster.load(drawing(([[5.6, 7.6, 3], [5.9, 7.9, 3], [9.9, 3.6, 4], [10.1, 3.7, 4]], [], [[0, 1], [2, 3]])))
    assert raster.draw_edges() == 3
    owner, depth = raster.read_edges()
    assert (owner[7, 5], owner[3, 9], owner[3, 10]) == (0, 1, 1)
    np.testing.assert_allclose([depth[7, 5], depth[3, 9]], [3, 4], rtol=1e-6)


def test_counts_of_any_sign(raster: Rasteriser) -> None:
    points, faces, _ = box((8, 8, 2), (24, 24, 6))
    outer, _, _ = box((4, 4, 1), (28, 28, 8))
    inside_out = points, faces[:, ::-1], []
    nested = np.concatenate([outer, points]), np.concatenate([faces, faces + 8]), []
    hollow = np.concatenate([outer, points]), np.concatenate([faces, faces[:, ::-1] + 8]), []
    square = np.zeros((SIDE, SIDE), int)
    square[8:24, 8:24] = 1
    frame = np.zeros((SIDE, SIDE), int)
    frame[4:28, 4:28] = 1
    for solid, want in ((inside_out, -square), (nested, frame + square), (hollow, frame - square)):
        np.testing.assert_array_equal(counts(raster, solid, rows_at(4.0)), want)
        raster.count_faces(0, 1, front=1, back=-1)
        np.testing.assert_array_equal(raster.read_stencil(), want)
        raster.count_faces(0, 1, front=-2, back=3)
        front = 2 * (want > 0) if solid is nested else want * 0
        assert (raster.read_stencil() != want + front).any()
        raster.count_faces(0, 1, front=2, back=-3)
        np.testing.assert_array_equal(raster.read_stencil(), want)


def test_several_objects_hold_a_pixel(raster: Rasteriser) -> None:
    """The paper reports the last one; `contained` all."""
    raster.load(drawing(box((4, 4, 2), (28, 28, 6)), rows_at(4.0), box((8, 8, 1), (24, 24, 8)), box((8, 8, 5), (24, 24, 8))))
    raster.draw_edges()
    pixel, holder, count = raster.contained()
    assert np.bincount(holder).tolist() == [24 * 24, 0, 16 * 16]
    assert (np.diff(pixel * 4 + holder) > 0).all()
    assert (count == 1).all()
    assert {tuple(row) for row in algorithms.identify_both(raster, 4).tolist()} == {
        (y, 2 if 8 <= y < 24 and inner else 0) for y in range(4, 28) for inner in (False, True)
    }


@pytest.mark.parametrize("seed", [0, 1])
def test_a_thousand_objects_and_large_numbers(seed: int) -> None:
    """Edges beyond 65,535 keep their numbers; 1,000 objects theirs."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 3))
    hull = thud.ConvexHull(points / np.linalg.norm(points, axis=1, keepdims=True)).topology
    mesh = thud.TriangleMesh(hull.vertices, hull.triangles)
    scene = make_scene([mesh] * 1_000, thud.Pose(rng.uniform(-9, 9, size=(1_000, 3))))
    assert len(scene.edges) > 65_535
    view = tight_view(scene.vertices, directions(2)[seed], (256, 256), scene.vertices)
    made = make_drawing(scene, view, EDGE_OFFSET * view.pixel)
    pairs, tops = [], []
    for make in BACKENDS.values():
        raster = make()
        raster.load(made)
        raster.draw_edges()
        owner, _ = raster.read_edges()
        pixel, holder, _ = raster.contained()
        edge = owner.ravel()[pixel]
        object_of = np.searchsorted(made.edge_starts, edge, side="right") - 1
        rows, many = np.unique(np.column_stack([object_of, holder]), axis=0, return_counts=True)
        pairs.append((set(map(tuple, rows.tolist())), set(map(tuple, rows[many >= 3].tolist()))))
        raster.count_faces(0, made.count, front=1, back=-1)
        raster.identify_edges(reset=False)
        tops.append(raster.maximum_colour())
        assert tops[-1] == edge.max() == raster.read_colour()[0].max() > 65_535
        assert rows[:, 0].max() > 950
        assert rows[:, 1].max() > 950
        raster.release()
    assert pairs[0][1] <= pairs[1][0]
    assert pairs[1][1] <= pairs[0][0]
    assert len(pairs[0][0] ^ pairs[1][0]) < 0.02 * len(pairs[0][0])


def test_work_counts() -> None:
    """Both count alike; OpenGL leaves out ends of edges outside of the view, and of `contained` counts what is in front."""
    made = drawing(box((4, 4, 2), (12, 12, 4)), box((2, 2, 1), (22, 12, 7)), rows_at(3.0))
    seen = []
    for make in BACKENDS.values():
        raster = make()
        raster.load(made)
        raster.draw_edges()
        raster.count_faces(0, 3, front=1, back=-1)
        raster.count_faces(1, 2, front=1, back=-1)
        first = replace(raster.work)
        assert raster.work == first
        raster.contained()
        seen.append((first, replace(raster.work)))
        raster.release()
        assert raster.work == seen[-1][1]
    (cpu, cpu_all), (gl, gl_all) = seen
    assert (cpu.passes, cpu.polygons, cpu.edges) == (gl.passes, gl.polygons, gl.edges) == (3, 36, SIDE)
    faces = 2 * (64 + 200)
    # Front faces once, and twice where both boxes hold an edge.
    assert gl_all.fragments - gl.fragments == faces // 2 + 2 * 64
    # Half of them are behind all edges, and left out.
    assert cpu_all.fragments - cpu.fragments == faces // 2
    assert cpu.fragments - faces - 400 == gl.fragments - faces - 400 == SIDE * (SIDE + 2)


def test_nothing_is_in_front(raster: Rasteriser) -> None:
    """`contained` ends early: where all faces are behind the edges, and where all that are in front cancel."""
    far, near = box((4, 4, 5), (9, 9, 6)), box((4, 4, 2), (28, 28, 3))
    for solid, skipped in ((far, "weigh"), (near, "collect")):
        raster.load(drawing(solid, rows_at(4.0)))
        raster.draw_edges()
        assert all(len(column) == 0 for column in raster.contained())
        assert not raster.read_stencil().any()
        if isinstance(raster, GlRasteriser):
            assert raster.work.skipped[-1] == skipped


def test_counts_that_cancel_are_not_lost(raster: Rasteriser) -> None:
    """+1 of one object and -1 of another: their sum is 0, and no pass may be left out for it."""
    points, faces, _ = box((8, 8, 2), (24, 24, 6))
    inside_out = points, faces[:, ::-1], []
    raster.load(drawing(box((8, 8, 1), (24, 24, 7)), rows_at(4.0), inside_out))
    raster.draw_edges()
    pixel, holder, count = raster.contained()
    assert len(pixel) == 2 * 16 * 16
    assert holder.tolist() == [0, 2] * 256
    assert count.tolist() == [1, -1] * 256
    raster.count_faces(0, 3, front=1, back=-1)
    assert not raster.read_stencil().any()


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_many_objects(seed: int) -> None:
    """Many objects of any sign around the same edges: all that hold one, as often as they do."""
    rng = np.random.default_rng(seed)
    solids = []
    for _ in range(60):
        low, extent = rng.uniform(-4, 24, 3), rng.uniform(2, 20, 3)
        points, faces, _ = box([*low[:2], 0.3 * low[2]], [*(low + extent)[:2], 0.3 * (low + extent)[2]])
        solids.append((points, faces[:, ::-1] if rng.random() < 0.3 else faces, []))
    found = []
    for make in BACKENDS.values():
        raster = make()
        raster.load(drawing(*solids, rows_at(4.03)))
        raster.draw_edges()
        found.append(np.column_stack(raster.contained()))
        raster.release()
    assert len(found[0]) > SIDE * SIDE
    assert {-1, 1} == set(found[0][:, 2].tolist())
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("reset", [False, True])
def test_queries_count_the_same(seed: int, reset: bool) -> None:
    """Pass 4 by queries: each pixel is counted for the object of its edge, though edges of several share the depth there."""
    made, objects = scene_drawing(seed)
    # The same edges once more, as an object without faces: at one depth the first has the pixel.
    twice = replace(
        made, edges=np.concatenate([made.edges, made.edges]),
        triangle_starts=np.append(made.triangle_starts, made.triangle_starts[-1]),
        edge_starts=np.append(made.edge_starts, 2 * len(made.edges)),
    )  # fmt: skip
    for draw in (made, twice):
        counted = []
        for make in BACKENDS.values():
            raster = make()
            raster.load(draw)
            raster.draw_edges()
            raster.count_faces(0, draw.count, front=1, back=-1)
            inside = raster.read_stencil() > 0
            owner = raster.read_edges()[0][inside]
            counts = raster.identify_edges(reset=reset, query=True)
            np.testing.assert_array_equal(counts[: made.count], np.bincount(objects[owner], minlength=made.count))
            assert not counts[made.count :].any()
            assert counts.sum() == inside.sum() > 0
            assert (raster.read_stencil() > 0).sum() == (0 if reset else inside.sum())
            assert (raster.read_colour()[0] == -1).all()
            counted.append(counts)
            raster.release()
        assert np.abs(counted[0] - counted[1]).sum() <= 0.002 * counted[0].sum()


def test_large_drawings_again_and_again() -> None:
    """More triangles and edges than a driver takes at once, while queries run."""
    rng = np.random.default_rng(0)
    many = 200_000
    points = np.repeat(rng.uniform([0, 0, 1], [64, 64, 9], (many, 3)), 3, axis=0) + rng.uniform(-2, 2, (3 * many, 3)) * [
        1,
        1,
        0,
    ]
    triangles = np.arange(3 * many).reshape(-1, 3)
    made = drawing((points, triangles, np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]]])), side=64)
    raster, works = GlRasteriser(), []
    for _ in range(4):
        raster.load(made)
        raster.work = Work()
        assert raster.draw_edges() == 64 * 64
        raster.count_faces(0, 1, front=1, back=-1)
        works.append(replace(raster.work))
    raster.release()
    assert works[0].fragments > many
    assert works[1:] == works[:-1]


@pytest.mark.parametrize("most", [2**20, 2**10])
def test_findings_need_more_room(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """A larger buffer, or if the driver has none, in parts; beyond that an error."""
    made, _ = scene_drawing(3)
    answers = []
    raster = GlRasteriser()
    for room in (backend_gl.ROOM, 4):
        monkeypatch.setattr(backend_gl, "ROOM", room)
        raster.load(made)
        if room == 4:
            monkeypatch.setattr(raster._stage, "most_bytes", most)
        raster.draw_edges()
        answers.append((np.column_stack(raster.contained()), raster.work.passes))
    assert len(answers[0][0]) > 4
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    assert answers[1][1] - answers[0][1] > (4 if most == 2**10 else 3)
    monkeypatch.setattr(raster._stage, "most_bytes", 2**20)
    raster.load(drawing(*[box((-5, -5, 1), (50, 50, 9))] * 20, rows_at(5.0)))
    monkeypatch.setattr(raster._stage, "most_bytes", 2**10)
    raster.draw_edges()
    with pytest.raises(thud.errors.UnsupportedQueryError, match="in a row of pixels"):
        raster.contained()
    raster.release()


def test_used_often_and_by_many_threads() -> None:
    meshes, poses = random_scene(np.random.default_rng(5), 8)

    def look(resolution: int) -> list[list[int]]:
        return interference(meshes, poses, resolution=resolution, backend="gl").pairs.tolist()

    want = [look(side) for side in (64, 128)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(look, [64, 128] * 10)) == want * 10
    # What was taken is given back, at another size and in the end.
    raster, gone = GlRasteriser(), []

    def textures(names: list[int]) -> list[bool]:
        gl = raster._stage.gl
        return gl_stage.thread.run(lambda: [bool(gl.glIsTexture(name)) for name in names])

    for side in (SIDE, 2 * SIDE, SIDE):
        raster.load(drawing(rows_at(2.0, side), side=side))
        assert not any(textures(gone))
        gone += [raster._canvas.edge, *raster._canvas.depths]
        assert all(textures(gone[-3:]))
        assert raster.draw_edges() == side * side
    raster.release()
    assert not any(textures(gone))
    with pytest.raises(thud.errors.InvalidInputError, match="load"):
        raster.draw_edges()


def close_drawing(seed: int, ratio: float, side: int = 128) -> Drawing:
    """Three objects, close to the middle of an edge: the view is `ratio` times as deep as a pixel is wide."""
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(3, 4))
    poses = thud.Pose(rng.uniform(-0.3, 0.3, (3, 3)), turn / np.linalg.norm(turn, axis=1, keepdims=True))
    scene = make_scene([random_mesh(rng, 1.0) for _ in range(3)], poses)
    rotation = camera(directions(9)[seed % 9])
    turned = scene.vertices @ rotation.T
    middle = turned[scene.edges[rng.integers(len(scene.edges))]].mean(axis=0)
    near, depth = turned[:, 2].min(), np.ptp(turned[:, 2])
    pixel = depth / ratio
    corner = np.array([middle[0] - side / 2 * pixel, middle[1] - side / 2 * pixel, near - 4 * pixel])
    view = View(rotation, corner, pixel, side, side, float(depth + 8 * pixel))
    return make_drawing(scene, view, EDGE_OFFSET * pixel)


@pytest.mark.parametrize("ratio", [1e3, 1e4, 1e5, 1e6, 1e7, 1e8])
def test_close_views(ratio: float) -> None:
    """However deep a view is, both find the same, and edges where they are to a tenth of a pixel of depth. Beyond 2^18
    OpenGL's floats would not do."""
    pair, many, instead = [CpuRasteriser(), GlRasteriser()], 0, 0
    for seed in range(12):
        made = close_drawing(seed, ratio)
        found, edges = [], []
        for raster in pair:
            raster.load(made)
            assert raster.draw_edges() > 0
            edges.append(raster.read_edges())
            found.append(np.column_stack(raster.contained()))
        np.testing.assert_array_equal(*found)
        np.testing.assert_array_equal(edges[0][0], edges[1][0])
        seen = edges[0][0] >= 0
        assert np.abs(edges[0][1][seen] - edges[1][1][seen]).max() < 0.1 * made.depth / ratio
        many, instead = many + len(found[0]), instead + gl_limits.too_deep(made)
    pair[1].release()
    assert many > 100
    assert instead == (12 if ratio >= 1e6 else 0)


def test_too_deep_and_back() -> None:
    """The other rasteriser stands in for one drawing, and what it does is counted."""
    raster = GlRasteriser()
    shallow, deep = close_drawing(0, 1e3), close_drawing(0, 1e7)
    for made in (shallow, deep, shallow):
        raster.load(made)
        raster.work = Work()
        assert raster.draw_edges() > 0
        assert algorithms.detect_interference(raster, made.count) == (raster.read_stencil() > 0).any()
        assert raster.work.edges == 2 * len(made.edges)
        assert raster.work.fragments > 0
    raster.load(deep)
    raster.release()
    with pytest.raises(thud.errors.InvalidInputError, match="load"):
        raster.draw_edges()


def test_what_is_far_outside_is_not_too_deep() -> None:
    """Only what is seen matters."""
    far = box((3e5, 0, 2), (5e6, 20, 6))
    assert not gl_limits.too_deep(drawing(far, rows_at(4.0)))
    assert gl_limits.too_deep(drawing(box((-3e6, 0, 2), (5e6, 20, 6)), rows_at(4.0)))
    assert gl_limits.too_deep(drawing(([[-3e6, 4, 2], [5e6, 9, 3]], [], [[0, 1]])))
    assert not gl_limits.too_deep(drawing())


CALL = "from thud.imagespace.backend_gl import GlRasteriser\nGlRasteriser()\n"


@pytest.mark.parametrize(
    ("before", "environment", "said"),
    [
        ("import sys; sys.modules['moderngl'] = None\n", {}, 'pip install "thud[gpu]"'),
        ("import sys; sys.modules['OpenGL'] = None\n", {}, 'PyOpenGL: pip install "thud[gpu]"'),
        ("", {"__EGL_VENDOR_LIBRARY_DIRS": "/nowhere"}, "apt install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"),
    ],
)
def test_what_is_missing_is_named(before: str, environment: dict[str, str], said: str) -> None:
    run = subprocess.run([sys.executable, "-c", before + CALL], env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode != 0
    assert "MissingExtraError" in run.stderr
    assert said in run.stderr
