"""Casts of shapes that turn: closed forms, samples of the motion, invariants, and what degenerates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import thud
from tests.oracles.meshes import blob_mesh, box_mesh
from tests.oracles.motion import distance_at, first_overlap
from tests.world.model import some_shapes
from thud.errors import InvalidInputError

MISS, HIT, AT_START, UNCONVERGED = 0, 1, 2, 3
SHAPES = dict(
    zip(
        ("box", "sphere", "capsule", "hull", "cone", "cylinder", "ellipsoid", "mesh", "sheet", "compound", "mixed", "plane"),
        some_shapes(),
        strict=True,
    )
)
CONVEX = ("box", "sphere", "capsule", "hull", "cone", "cylinder", "ellipsoid", "compound", "plane")
MESHES = ("mesh", "sheet", "mixed")
#: Metres between shapes of about 1 m that a hit may leave: the gap of 4e-8 of the sizes (curved), and the distance's own error.
GAP = 2e-7


def z_to_x() -> np.ndarray:
    """wxyz of the rotation that lays local z along x."""
    return np.array([np.cos(np.pi / 4), 0, np.sin(np.pi / 4), 0])


def random_motions(count: int, rng: np.random.Generator) -> tuple[tuple, tuple]:
    """Poses (N, 12) and motions (N, 6) of two shapes of 1 m, half of which meet; some do not turn, some do so twice."""
    q = rng.normal(size=(2, count, 4))
    q /= np.linalg.norm(q, axis=2, keepdims=True)
    way = rng.normal(size=(count, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    rows = thud.Pose(rng.uniform(-0.2, 0.2, (count, 3)), q[0]).rows, thud.Pose(way * rng.uniform(1, 3, (count, 1)), q[1]).rows
    towards = 0.3 * rng.normal(size=(count, 3)), -way * rng.uniform(0, 3, (count, 1)) + 0.3 * rng.normal(size=(count, 3))
    turns = [rng.normal(size=(count, 3)) * rng.choice([0, 0.3, 2, 8], (count, 1)) for _ in range(2)]
    return rows, tuple(np.concatenate(pair, axis=1) for pair in zip(towards, turns, strict=True))


def cast(a: object, b: object, rows: tuple, motions: tuple, **options: object) -> thud.Impacts:
    poses = [thud.Pose.from_rows(part) for part in rows]
    return thud.cast(a, b, *poses, *motions, **options)  # type: ignore[arg-type]


PAIRS = [(a, b) for i, a in enumerate(CONVEX) for b in CONVEX[i:]]
MESH_PAIRS = [(a, b) for a in MESHES for b in ("box", "sphere", "ellipsoid", "compound", "plane", "mesh", "sheet", "mixed")]


@pytest.mark.parametrize(("first", "second"), PAIRS + MESH_PAIRS)
def test_never_late_and_not_early(first: str, second: str) -> None:
    count = 60 if (first, second) in PAIRS else 25
    rng = np.random.default_rng([CONVEX.index(first) if first in CONVEX else 9, len(second)])
    a, b = SHAPES[first], SHAPES[second]
    rows, motions = random_motions(count, rng)
    found = cast(a, b, rows, motions)
    assert (found.status != UNCONVERGED).all()
    upper = first_overlap(a, b, rows, motions, 80)
    np.testing.assert_array_equal(found.status == AT_START, upper == 0.0)
    # Never later than a time at which they overlap; so no miss where they do.
    assert (found.time <= upper + 1e-12).all()
    # Not before they are within the gap of each other; misses have no time.
    hit = found.status == HIT
    away = distance_at(a, b, rows, motions, np.where(hit, found.time, 0.0))
    assert (away[hit] <= GAP).all()
    np.testing.assert_array_equal(np.isinf(found.time), found.status == MISS)
    # Two half-spaces have no way out of each other.
    known = hit | ((found.status == AT_START) & ~np.isnan(found.depth))
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), known.astype(float), atol=1e-9)
    # The other way round.
    swapped = cast(b, a, rows[::-1], motions[::-1])
    np.testing.assert_array_equal(swapped.status, found.status)
    close = distance_at(a, b, rows, motions, np.where(hit, swapped.time, 0.0))
    assert (close[hit] <= GAP).all()


@pytest.mark.parametrize(
    ("first", "second"), [("box", "hull"), ("cone", "capsule"), ("mesh", "box"), ("mixed", "mesh"), ("plane", "box")]
)
def test_points_lie_on_both(first: str, second: str) -> None:
    rng = np.random.default_rng(4)
    a, b = SHAPES[first], SHAPES[second]
    rows, motions = random_motions(100, rng)
    found = cast(a, b, rows, motions)
    hit = np.flatnonzero(found.status == HIT)
    assert len(hit) > 5
    for k in hit:
        for shape, row, motion in ((a, rows[0], motions[0]), (b, rows[1], motions[1])):
            turned = Rotation.from_rotvec(found.time[k] * motion[k, 3:]).as_matrix() @ row[k, :9].reshape(3, 3)
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = turned, row[k, 9:] + found.time[k] * motion[k, :3]
            assert thud.distance(thud.Sphere(1e-6), shape, thud.Pose(found.point[k]), pose).distance[0] <= GAP


def test_rod_strikes_a_sphere_at_the_angle_it_must() -> None:
    rod, ball = thud.Capsule(0.05, 1.0), thud.Sphere(0.1)
    angles = np.concatenate([np.linspace(0.2, 2.9, 20), np.linspace(3.4, 6.0, 20)])
    where = thud.Pose(0.8 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1))
    for turns in (1, 3):
        rate = 2 * np.pi * turns
        found = thud.cast(rod, ball, thud.Pose((0, 0, 0), z_to_x()), where, [0, 0, 0, 0, 0, rate])
        # The rod reaches to both sides: the first of the two ends comes.
        wanted = (np.mod(angles, np.pi) - np.arcsin(0.15 / 0.8)) / rate
        assert (found.status == HIT).all()
        assert (found.time <= wanted + 1e-14).all()
        np.testing.assert_allclose(found.time, wanted, atol=1e-8)


def test_late_in_the_third_turn() -> None:
    # The ball comes down into the rod's circle: it is struck when it is low enough, however often the rod has passed below.
    rod, ball = thud.Capsule(0.05, 1.0), thud.Sphere(0.1)
    rate = 2 * np.pi * 10
    rows = thud.Pose((0, 0, 0), z_to_x()).rows, thud.Pose((0.8, 0, 1.0)).rows
    motions = np.array([[0, 0, 0, 0, 0, rate]]), np.array([[0.0, 0, -1, 0, 0, 0]])
    found = cast(rod, ball, rows, motions)
    upper = first_overlap(rod, ball, rows, motions, 4000)
    assert found.status[0] == HIT
    assert 0.85 - 1e-8 <= found.time[0] <= upper[0] + 1e-12
    assert upper[0] - found.time[0] < 1.0 / 4000


@pytest.mark.parametrize("swap", [False, True])
def test_corner_of_a_box_sweeps_to_a_plane(swap: bool) -> None:
    box, wall = thud.Box((0.5, 0.5, 0.5)), thud.HalfSpace((0, 0, 1), -0.6)
    wanted = np.arcsin(0.6 / np.sqrt(0.5)) - np.pi / 4
    turn = [0, 0, 0, 0, 1, 0]
    found = thud.cast(wall, box, motion_b=turn) if swap else thud.cast(box, wall, motion_a=turn)
    assert found.status[0] == HIT
    assert wanted - 1e-7 < found.time[0] <= wanted + 1e-15
    np.testing.assert_allclose(found.normal[0], (0, 0, 1 if swap else -1), atol=1e-12)
    # The plane turns instead.
    found = thud.cast(box, wall, motion_b=[0, 0, 0, 0, -1, 0])
    assert wanted - 1e-7 < found.time[0] <= wanted + 1e-15


def test_a_box_that_turns_past_a_plane_without_touching_it() -> None:
    box, wall = thud.Box((0.5, 0.5, 0.5)), thud.HalfSpace((0, 0, 1), -(np.sqrt(0.5) + 1e-6))
    assert thud.cast(box, wall, motion_a=[0, 0, 0, 0, 4 * np.pi, 0]).status[0] == MISS
    wall = thud.HalfSpace((0, 0, 1), -(np.sqrt(0.5) - 1e-6))
    found = thud.cast(box, wall, motion_a=[0, 0, 0, 0, 4 * np.pi, 0])
    assert found.status[0] == HIT
    assert found.time[0] <= 1.0 / 16


@pytest.mark.parametrize(
    ("first", "second"), [("box", "hull"), ("sphere", "cone"), ("mesh", "capsule"), ("mesh", "mixed"), ("plane", "hull")]
)
def test_no_rotation_gives_the_bytes_of_the_linear_cast(first: str, second: str) -> None:
    rng = np.random.default_rng(8)
    a, b = SHAPES[first], SHAPES[second]
    rows, motions = random_motions(80, rng)
    half = np.arange(80) % 2 == 0
    still = tuple(np.where(half[:, None] & (np.arange(6) >= 3), 0.0, motion) for motion in motions)
    # Rows that turn and rows that do not in one batch; and one motion for all.
    mixed, linear = cast(a, b, rows, still), cast(a, b, rows, tuple(motion[:, :3].copy() for motion in motions))
    alone = cast(a, b, rows, motions)
    for name in ("time", "point", "normal", "status"):
        assert getattr(mixed, name)[half].tobytes() == getattr(linear, name)[half].tobytes()
        assert getattr(mixed, name)[~half].tobytes() == getattr(alone, name)[~half].tobytes()
    one, two = cast(a, b, rows, ([1, 0, 0, 0, 0, 0], 0)), cast(a, b, rows, ([1, 0, 0], 0))
    assert one.time.tobytes() == two.time.tobytes()


@pytest.mark.parametrize(("first", "second"), [("box", "hull"), ("cylinder", "ellipsoid"), ("mesh", "box"), ("mesh", "sheet")])
def test_moving_both_rigidly_changes_nothing(first: str, second: str) -> None:
    rng = np.random.default_rng(12)
    a, b = SHAPES[first], SHAPES[second]
    rows, motions = random_motions(60, rng)
    found = cast(a, b, rows, motions)
    turn, shift = Rotation.from_rotvec([0.4, -1.1, 2.0]).as_matrix(), np.array([100.0, -50.0, 30.0])
    moved, pushed = [], []
    for row, motion in zip(rows, motions, strict=True):
        rotation = turn @ row[:, :9].reshape(-1, 3, 3)
        moved.append(np.concatenate([rotation.reshape(-1, 9), row[:, 9:] @ turn.T + shift], axis=1))
        pushed.append(np.concatenate([motion[:, :3] @ turn.T, motion[:, 3:] @ turn.T], axis=1))
    # A common displacement does not count either.
    pushed = [motion + np.array([3.0, 1.0, -2.0, 0, 0, 0]) for motion in pushed]
    other = cast(a, b, tuple(moved), tuple(pushed))
    np.testing.assert_array_equal(other.status, found.status)
    hit = found.status == HIT
    assert (distance_at(a, b, rows, motions, np.where(hit, np.minimum(other.time, 1.0), 0.0))[hit] <= GAP).all()
    upper = first_overlap(a, b, rows, motions, 40)
    assert (other.time <= upper + 1e-9).all()


def test_scale_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    rows, motions = random_motions(60, rng)
    one = cast(thud.Box((0.3, 0.4, 0.5)), thud.Cylinder(0.3, 0.4), rows, motions)
    for scale in (2.0**-30, 2.0**30):
        sized = [np.concatenate([row[:, :9], row[:, 9:] * scale], axis=1) for row in rows]
        moved = [np.concatenate([motion[:, :3] * scale, motion[:, 3:]], axis=1) for motion in motions]
        box, rod = thud.Box(np.array((0.3, 0.4, 0.5)) * scale), thud.Cylinder(0.3 * scale, 0.4 * scale)
        two = cast(box, rod, tuple(sized), tuple(moved))
        np.testing.assert_array_equal(one.status, two.status)
        np.testing.assert_allclose(two.time, one.time, atol=1e-9)


@pytest.mark.parametrize("name", ["sphere", "cylinder", "cone", "capsule", "ellipsoid"])
def test_spinning_about_the_axis_of_symmetry(name: str) -> None:
    # A wall 1 um away from the side: it stays there, through a hundred turns, at no cost.
    shape = thud.Ellipsoid((0.3, 0.3, 0.5)) if name == "ellipsoid" else SHAPES[name]
    wall = thud.Box((1.0, 1.0, 1.0))
    away = -float(np.ravel(shape.bounds().lower)[0]) + 1.0 + 1e-6
    spin = [0, 0, 0, 0, 0, 200 * np.pi]
    assert thud.cast(shape, wall, None, thud.Pose((-away, 0, 0)), spin).status[0] == MISS
    # And it moves into it while it spins.
    found = thud.cast(shape, wall, None, thud.Pose((-away - 1.0, 0, 0)), [-2, 0, 0, 0, 0, 200 * np.pi])
    assert found.status[0] == HIT
    assert found.time[0] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("first", "second"), [("box", "sphere"), ("hull", "cylinder"), ("mesh", "mesh"), ("mesh", "box"), ("plane", "box")]
)
def test_overlap_at_the_start(first: str, second: str) -> None:
    a, b = SHAPES[first], SHAPES[second]
    height = -1.6 if first == "plane" else 0.0
    found = thud.cast(a, b, None, thud.Pose((0, 0.05, height)), [0, 0, 0, 1, 2, 3], [5, 0, 0, 0, 0, -3])
    assert found.status[0] == AT_START
    assert found.time[0] == 0.0
    assert found.depth[0] > 0.0
    np.testing.assert_allclose(np.linalg.norm(found.normal), 1.0, atol=1e-12)


def test_touching_at_the_start() -> None:
    box = thud.Box((0.5, 0.5, 0.5))
    assert thud.cast(box, box, None, thud.Pose((1.0, 0, 0)), [0, 0, 0, 0, 0, 1]).status[0] == AT_START
    # Half the allowed gap away: turning into it is a hit at once, leaving is a miss.
    pose = thud.Pose((1.0 + 5e-10, 0, 0))
    found = thud.cast(box, box, None, pose, [0, 0, 0, 0, 0, 1])
    assert found.status[0] == HIT
    assert found.time[0] == 0.0
    assert thud.cast(box, box, None, pose, [-3, 0, 0, 0, 0, 0.1]).status[0] == MISS


def test_two_half_spaces() -> None:
    floor, roof = thud.HalfSpace((0, 0, 1), 0.0), thud.HalfSpace((0, 0, -1), -1.0)
    # Parallel, 1 m apart. Turning about the normal, or both alike, they stay so.
    assert thud.cast(floor, roof, motion_a=[0, 0, 0.5, 0, 0, 3]).status[0] == MISS
    found = thud.cast(floor, roof, motion_a=[0, 0, 2.0, 0, 0, 3])
    assert (found.status[0], found.time[0]) == (HIT, pytest.approx(0.5, abs=1e-8))
    assert thud.cast(floor, roof, motion_a=[0, 0, 0, 0.1, 0, 0], motion_b=[0, 0, 0, 0.1, 0, 0]).status[0] == MISS
    # Otherwise they meet at once, far away.
    found = thud.cast(floor, roof, motion_a=[0, 0, 0, 0.1, 0, 0])
    assert (found.status[0], found.time[0]) == (HIT, 0.0)


def test_a_limit_reached_gives_a_lower_bound() -> None:
    # A long rod that turns 1e5 times a hair's breadth above a plate.
    rod, plate = thud.Box((1.0, 0.1, 0.1)), thud.Box((1.0, 1.0, 1.0))
    found = thud.cast(rod, plate, None, thud.Pose((0, 2.0 + 1e-4, 0)), [0, 0, 0, 0, 0, 6e5])
    upper = (np.arcsin(1.0) - np.pi / 2 + np.pi / 2) / 6e5
    assert found.status[0] in (HIT, UNCONVERGED)
    assert found.time[0] <= upper + 1e-9
    mesh = thud.TriangleMesh(*box_mesh(1.0))
    far = thud.cast(mesh, mesh, None, thud.Pose((3.0, 0, 0)), [0, 0, 0, 0, 0, 9e5])
    assert far.status[0] in (MISS, UNCONVERGED)
    near = thud.cast(mesh, mesh, None, thud.Pose((2.9, 0, 0)), [0, 0, 0, 0, 0, 9e5])
    assert near.status[0] in (MISS, UNCONVERGED)


def test_meshes_agree_with_the_convex_shapes_they_bound() -> None:
    rng = np.random.default_rng(21)
    mesh, box = thud.TriangleMesh(*box_mesh(0.4)), thud.Box((0.4, 0.4, 0.4))
    rows, motions = random_motions(150, rng)
    solid = cast(box, box, rows, motions)
    for a, b in ((mesh, mesh), (mesh, box), (box, mesh)):
        found = cast(a, b, rows, motions)
        np.testing.assert_array_equal(found.status, solid.status)
        np.testing.assert_allclose(found.time, solid.time, atol=1e-6)


def test_meshes_of_many_triangles() -> None:
    rng = np.random.default_rng(6)
    a, b = (thud.TriangleMesh(*blob_mesh(rings, seed)) for rings, seed in ((14, 1), (10, 2)))
    rows, motions = random_motions(30, rng)
    rows[1][:, 9:] *= 1.5
    for pair in ((a, b), (a, SHAPES["hull"]), (SHAPES["capsule"], b)):
        found = cast(*pair, rows, motions)
        upper = first_overlap(*pair, rows, motions, 60)
        np.testing.assert_array_equal(found.status == AT_START, upper == 0.0)
        assert (found.time <= upper + 1e-12).all()
        hit = found.status == HIT
        assert hit.sum() > 5
        assert (distance_at(*pair, rows, motions, np.where(hit, found.time, 0.0))[hit] <= GAP).all()


def test_meshes_turn_about_the_origin_of_their_frames() -> None:
    # A mesh whose triangles lie far from its origin, alone and inside a compound.
    corners = np.array([[2.0, 0, -0.1], [2.2, 0, -0.1], [2.1, 0, 0.1]])
    paddle = thud.TriangleMesh(corners, [[0, 1, 2]])
    local = thud.TriangleMesh(corners - corners.mean(axis=0), [[0, 1, 2]])
    compound = thud.Compound([local], [thud.Pose(corners.mean(axis=0))])
    wall = thud.Box((5.0, 0.01, 5.0))
    angle = np.arcsin(1.0 / 2.2)
    for shape in (paddle, compound):
        found = thud.cast(shape, wall, None, thud.Pose((0, 1.01, 0)), [0, 0, 0, 0, 0, 1.0])
        assert found.status[0] == HIT
        assert angle - 1e-6 < found.time[0] <= angle + 1e-12


@pytest.mark.parametrize(("first", "second"), [("box", "hull"), ("mesh", "box"), ("mesh", "sheet"), ("compound", "plane")])
def test_same_bytes_for_any_number_of_threads(first: str, second: str) -> None:
    rows, motions = random_motions(400, np.random.default_rng(2))
    one, two = (cast(SHAPES[first], SHAPES[second], rows, motions, threads=k) for k in (1, 2))
    for name in ("time", "point", "normal", "status"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        ([0, 0, 0, 0, 0], ["motion_a", "(5,)"]),
        (np.zeros((2, 7)), ["motion_a", "(2, 7)"]),
        ([[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, np.nan, 0]], ["motion_a", "row 1"]),
        ([0, 0, 0, np.inf, 0, 0], ["motion_a"]),
        ([0, 0, 0, 2e6, 0, 0], ["motion_a", "radians"]),
        (1.0, ["motion_a"]),
    ],
)
@pytest.mark.parametrize("name", ["box", "mesh"])
def test_hostile_input(motion: object, words: list[str], name: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        thud.cast(SHAPES[name], SHAPES["sphere"], motion_a=motion)  # type: ignore[arg-type]
    for word in words:
        assert word in str(error.value)


def test_tiny_rotations() -> None:
    box = thud.Box((0.5, 0.5, 0.5))
    pose = thud.Pose((3.0, 0.1, 0.2))
    straight = thud.cast(box, box, None, pose, [4, 0, 0])
    for angle in (1e-300, 5e-324, 1e-160, 1e-20):
        found = thud.cast(box, box, None, pose, [4, 0, 0, angle, 0, 0])
        assert found.status[0] == HIT
        assert found.time[0] == pytest.approx(straight.time[0], abs=1e-9)
