"""Which row kernel answers a convex pair: the table of kinds agrees with what the kernels can do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import thud
from thud.convex.convex_pair import closed_intersects
from thud.convex.rows import distance, intersects, row_groups
from thud.gates import as_poses
from thud.pairing.rows import PairBatch
from thud.shapes.packed import as_packed
from thud.shapes.shape import KIND_NAMES

RNG = np.random.default_rng(7)
SHAPES = {
    "Sphere": thud.Sphere(0.6),
    "Capsule": thud.Capsule(0.3, 0.5),
    "Box": thud.Box([0.5, 0.4, 0.7]),
    "ConvexHull": thud.ConvexHull(RNG.normal(size=(20, 3))),
    "Cylinder": thud.Cylinder(0.5, 0.6),
    "Cone": thud.Cone(0.5, 0.6),
    "Ellipsoid": thud.Ellipsoid([0.4, 0.6, 0.8]),
    "HalfSpace": thud.HalfSpace([0, 0, 1], -0.2),
}
COMPOUND = thud.Compound([SHAPES["Box"], SHAPES["Cone"]], thud.Pose([[0.5, 0, 0], [-0.5, 0, 0]]))


def poses(count: int, spread: float = 1.5) -> thud.Pose:
    quaternions = RNG.normal(size=(count, 4))
    return thud.Pose(RNG.uniform(-spread, spread, (count, 3)), quaternions / np.linalg.norm(quaternions, axis=1)[:, None])


@pytest.mark.parametrize(("name_a", "name_b"), list(itertools.product(KIND_NAMES, KIND_NAMES)))
def test_a_way_by_closed_form_is_one_that_exists(name_a: str, name_b: str) -> None:
    packed = as_packed((SHAPES[name_a], SHAPES[name_b]), "shapes")
    ((way, rows),) = row_groups.row_groups(packed, np.array([[0, 1]]), row_groups.BOOLEAN_WAYS, 1)
    assert len(rows) == 0
    r, t, axis = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.3, 0.2, 0.1), (1.0, 0.0, 0.0)
    found, _, _ = closed_intersects(packed.parts, 0, 1, r, t, axis)
    assert found == (way == row_groups.CLOSED)


def test_a_mixed_batch_gives_the_bytes_of_each_pair_alone() -> None:
    shapes = [*SHAPES.values(), COMPOUND]
    where = poses(len(shapes))
    pairs = np.array([p for p in itertools.product(range(len(shapes)), repeat=2) if p[0] != p[1]])
    hit = thud.intersects_pairs(shapes, pairs, where)
    for signed in (False, True):
        found = thud.distance_pairs(shapes, pairs, where, signed=signed)
        for k, (a, b) in enumerate(pairs):
            one = thud.distance(shapes[a], shapes[b], where[int(a)], where[int(b)], signed=signed)
            for field in ("distance", "point_a", "point_b", "normal", "status"):
                assert getattr(one, field).tobytes() == getattr(found, field)[k : k + 1].tobytes(), (a, b, field)
    for k, (a, b) in enumerate(pairs):
        assert thud.intersects(shapes[a], shapes[b], where[int(a)], where[int(b)])[0] == hit[k]
    assert 0 < hit.sum() < len(hit)


def test_no_pairs() -> None:
    shapes = [SHAPES["Box"], SHAPES["Cone"]]
    assert thud.intersects_pairs(shapes, np.empty((0, 2), dtype=int), poses(2)).shape == (0,)
    assert thud.distance_pairs(shapes, np.empty((0, 2), dtype=int), poses(2)).distance.shape == (0,)


def quick_status(a: thud.ConvexHull, b: thud.ConvexHull, where: thud.Pose) -> np.ndarray:
    packed, pairs = as_packed((a, b), "shapes"), np.array([[0, 1]])
    rows_a, rows_b = as_poses(None, "pose_a"), as_poses(where, "pose_b")
    status = np.empty(len(rows_b), dtype=np.uint8)
    axes = np.empty((0, 3))
    batch = PairBatch(packed, pairs, rows_a, rows_b, 0)
    intersects.hull_rows(0, len(status), row_groups.ALL_ROWS, batch, axes, status)
    return status


def test_searches_that_stall_are_answered_by_other_kernels() -> None:
    # Needles a ten-millionth as thick as long, side by side: simplices so flat that the quick search makes no progress.
    rng, stalled = np.random.default_rng(3), 0
    for scale in (1e-6, 1e-7, 1e-8, 1e-9):
        needle = thud.ConvexHull(rng.normal(size=(30, 3)) * [1.0, scale, scale])
        where = thud.Pose(rng.uniform(-1, 1, (20_000, 3)) * [1.0, scale, scale])
        halted = quick_status(needle, needle, where) == row_groups.STALLED
        stalled += halted.sum()
        # The same answers as one at a time, by the kernel that has all the care in it.
        pair = thud.prepare(needle, needle)
        chosen = np.flatnonzero(halted)[:20]
        hit, found = thud.intersects(needle, needle, None, where), thud.distance(needle, needle, None, where)
        for row in chosen.tolist():
            assert hit[row] == pair.intersects(None, where[row])
        # What is left undecided says so, and counts as meeting.
        assert set(np.unique(found.status)) <= {0, 1, 2}
        one = thud.distance(needle, needle, None, where, threads=1)
        assert one.distance.tobytes() == found.distance.tobytes()
    # The scene is hard enough for this test to mean something.
    assert stalled > 0


def test_every_way_of_a_table_has_a_kernel() -> None:
    for table, kernels in (
        (row_groups.BOOLEAN_WAYS, intersects.BY_WAY),
        (row_groups.DISTANCE_WAYS, distance.UNSIGNED_BY_WAY),
        (row_groups.SIGNED_WAYS, distance.SIGNED_BY_WAY),
    ):
        assert set(np.unique(table)) | {row_groups.COMPOUND} == set(kernels)
