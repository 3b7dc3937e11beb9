"""160 random poses here; 20,000: `python -m tests.terrain.exact_ground`. And what turning must not change."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.oracles.bilinear_ground import columns_of, local, mix, shape_distance
from tests.oracles.displaced import grid_surface
from tests.terrain.exact_ground import SIZES, run, surfaces
from thud.pose import as_poses
from thud.terrain import from_heights

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"


def test_booleans_distances_and_contacts_are_exact() -> None:
    tally = run(SIZES["small" if SMALL else "ci"])
    assert not tally.wrong, tally.wrong[:3]
    if not SMALL:
        # Both outcomes and the ground are there to be judged.
        assert tally.hits > 48
        assert tally.poses - tally.hits > 32
        assert tally.buried > 12
        assert tally.contacts > 100
        assert tally.within < 10


@pytest.mark.parametrize(("along_x", "along_y", "thickness"), [(12, 0, 6), (100, 0, 50), (6, 6, 1), (100, 100, 1)])
def test_distances_from_one_steep_cell_are_those_of_its_hull(along_x: float, along_y: float, thickness: float) -> None:
    # Its sides are sharp parallelograms. The nearest place of one was looked for along one edge and along the other in turn,
    # which ended before it was there: up to twice too far.
    surface = from_heights([[0, along_x], [along_y, along_x + along_y]], 1.0, samples=1, thickness=thickness).surface
    corners = [[x, y, along_x * x + along_y * y - z] for x in (0, 1) for y in (0, 1) for z in (0, thickness)]
    hull, rng = thud.ConvexHull(corners), np.random.default_rng(0)
    low, high = [-1, -1.5, -thickness - 1], [2, 2, along_x + along_y + 1]
    at = rng.uniform(low, high, (300 if SMALL else 3000, 3))
    for shape in (thud.Sphere(1e-6), thud.Box([0.03, 0.04, 0.05])):
        found, truth = (thud.distance(other, shape, None, thud.Pose(at)) for other in (surface, hull))
        np.testing.assert_allclose(found.distance, truth.distance, atol=1e-9 * (along_x + along_y))


def test_all_queries_agree_where_columns_end_above_another_sheet() -> None:
    # The columns of a tunnel's roof end in the air above the hill. Whether such an end is ground was asked at a place that the
    # part does not touch, so that it met the air or, in the end, did not meet what it is in.
    surface, rng = surfaces()["tunnelled and thick"], np.random.default_rng(0)
    count = 200 if SMALL else 1000
    poses = np.column_stack([rng.uniform([-4, -4, -1], [4, 4, 3.5], (count, 3)), turned(count, 1)])
    known = [[0.516929432701807, -3.0179449729024324, 1.888579540951124,
              -0.1859159386230244, 0.4850767052394851, -0.8374159378714199, -0.16991292122394833],
             [-0.9745763773482512, 2.230879412124672, 2.323278706860825,
              0.2697948304777503, 0.7540730463598646, -0.5364443022737232, 0.26610543166026057]]  # fmt: skip
    for shape in (thud.Box([0.5, 0.4, 0.3]), thud.Cylinder(0.4, 0.3)):
        every = np.concatenate([poses, known])
        met, touch = thud.intersects(surface, shape, None, every), thud.contacts(surface, shape, None, every)
        np.testing.assert_array_equal(thud.distance(surface, shape, None, every).distance == 0.0, met)
        touched = np.zeros(len(every), bool)
        touched[touch.row[touch.depth >= 0.0]] = True
        np.testing.assert_array_equal(touched, met)
        assert 0.2 * len(every) < met.sum() < 0.8 * len(every)


def turned(count: int, seed: int) -> np.ndarray:
    """(N, 4) quaternions."""
    q = np.random.default_rng(seed).normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("height", "meets", "depth"), [(-1.3, True, 0.2), (-1.51, False, -0.01), (0.9, True, 0.1), (1.01, False, -0.01)]
)
def test_a_turned_sphere_meets_a_slab_or_not(height: float, meets: bool, depth: float) -> None:
    # It touches no patch of the sheet; one of six extreme points in its own frame decided, so that it was found in three of
    # five orientations.
    slab = from_heights(np.zeros((9, 9)), 1.0, samples=4, thickness=0.5).surface
    count = 100 if SMALL else 2000
    poses = np.column_stack([np.tile([4.1, 4.2, height], (count, 1)), turned(count, 0)])
    ball = thud.Sphere(1.0)
    assert (thud.intersects(slab, ball, None, poses) == meets).all()
    few = poses[:50]
    touch = thud.contacts(slab, ball, None, few, margin=0.1)
    np.testing.assert_allclose(touch.depth, depth, atol=1e-9)
    np.testing.assert_allclose(touch.normal, np.tile([0, 0, np.sign(height)], (50, 1)), atol=1e-9)
    np.testing.assert_allclose(thud.distance(slab, ball, None, few).distance, max(-depth, 0.0), atol=1e-9)
    np.testing.assert_allclose(thud.distance(slab, ball, None, few, signed=True).distance, -depth, atol=1e-5)


@pytest.mark.parametrize("kind", [{"side": 4}, {"overhang": 3.0, "quadrilaterals": True, "side": 4, "quads": (4, 2)}])
def test_turned_together_the_answer_is_the_same(kind: dict) -> None:
    surface = grid_surface(np.random.default_rng(3), **kind)
    rng = np.random.default_rng(1)
    points = np.concatenate([surface.samples(q).point.reshape(-1, 3) for q in range(len(surface.quads))])
    count = 20 if SMALL else 60
    poses = np.column_stack([points[rng.integers(len(points), size=count)] + rng.normal(size=(count, 3)), turned(count, 2)])
    for shape in (thud.Box((0.3, 0.5, 0.2)), thud.Capsule(0.2, 0.4), thud.ConvexHull(rng.normal(size=(12, 3)) * 0.4)):
        met, apart = thud.intersects(surface, shape, None, poses), thud.distance(surface, shape, None, poses)
        touch = thud.contacts(surface, shape, None, poses, margin=0.05)
        deepest = np.full(count, -np.inf)
        np.maximum.at(deepest, touch.row, touch.depth)
        clear = ~((apart.distance > 0.0) & (apart.distance < 1e-9))
        for quaternion in turned(3, 4):
            pose = thud.Pose(rng.normal(size=3), quaternion)
            both = thud.Pose.from_rows((pose @ thud.Pose.from_rows(as_poses(poses, "p"))).rows)
            np.testing.assert_array_equal(thud.intersects(surface, shape, pose, both)[clear], met[clear])
            np.testing.assert_allclose(thud.distance(surface, shape, pose, both).distance, apart.distance, atol=1e-7)
            again = thud.contacts(surface, shape, pose, both, margin=0.05)
            other = np.full(count, -np.inf)
            np.maximum.at(other, again.row, again.depth)
            np.testing.assert_allclose(other, deepest, atol=1e-5)


def test_a_contact_on_a_twisted_patch_is_on_the_part() -> None:
    # A step along the distance led too far, into touch, and the point was that of the step before: 0.18 mm off the box.
    box = thud.Box([0.66706343, 0.25541054, 0.58809806])
    pose = np.array([[1.8560799530472392, -0.06661906911017808, 1.6418480615762912,
                      0.06280001730666014, -0.8555422852373162, 0.46749608311164365, -0.2134267281116987]])  # fmt: skip
    touch, row = thud.contacts(surfaces()["tunnelled"], box, None, pose, margin=0.1), as_poses(pose, "pose")[0]
    on_part = touch.point - 0.5 * touch.depth[:, None] * touch.normal
    inside = np.abs((on_part - row[9:]) @ row[:9].reshape(3, 3)) - np.asarray(box.half_extents)
    assert len(inside) > 4
    np.testing.assert_allclose(inside.max(axis=1), 0.0, atol=1e-6)


def test_a_deep_contact_on_a_twisted_patch_is_on_a_cylinder() -> None:
    # Steps led past the depth by 35 times their way, there and back, until they were counted out: 4.2 um off the cylinder.
    cylinder = thud.Cylinder(0.5238369670834667, 0.3666858769584267)
    pose = np.array([[-1.8928577568311253, 1.9621231917703503, 0.9797384257017998,
                      -0.5818494993359674, -0.2754592562794437, -0.7529801674522257, -0.1363606456279747]])  # fmt: skip
    touch, row = thud.contacts(surfaces()["tunnelled"], cylinder, None, pose, margin=0.1), as_poses(pose, "pose")[0]
    on_part = (touch.point - 0.5 * touch.depth[:, None] * touch.normal - row[9:]) @ row[:9].reshape(3, 3)
    beside, above = np.hypot(on_part[:, 0], on_part[:, 1]) - cylinder.radius, np.abs(on_part[:, 2]) - cylinder.half_length
    assert touch.depth.max() > 0.9
    np.testing.assert_allclose(np.maximum(beside, above), 0.0, atol=1e-6)


@pytest.mark.parametrize("shape", [thud.Cylinder(0.5, 0.5), thud.Capsule(0.3, 0.5), thud.Box([0.4, 0.3, 0.5])])
def test_normals_of_what_is_near_are_right_to_a_millionth(shape) -> None:
    # By GJK from a point to a cylinder, and by projections in turn that gained too little: off by 4e-5, an ellipsoid's by 3e-4.
    surface, rng, count = surfaces()["rough"], np.random.default_rng(3), 60 if SMALL else 400
    columns = columns_of(surface, surface.ground_thickness)
    poses = np.column_stack([rng.uniform([2, 2, 0.3], [10, 10, 1.6], (count, 3)), turned(count, 4)])
    rows, touch = as_poses(poses, "poses"), thud.contacts(surface, shape, None, poses, margin=0.1)
    judged = 0
    # Of each row the nearest: others are spread along its normal.
    order = np.lexsort((-touch.depth, touch.row))
    for k in order[np.unique(touch.row[order], return_index=True)[1]]:
        if touch.depth[k] > -1e-3:
            continue
        on_ground, row = touch.point[k] + 0.5 * touch.depth[k] * touch.normal[k], rows[touch.row[k]][None]

        def far(points: np.ndarray, row: np.ndarray = row) -> np.ndarray:
            return shape_distance(shape, local(points[None], row))[0]

        # Along the slope of the shape's distance.
        step = 1e-6 * np.eye(3)
        slope = (far(on_ground + step) - far(on_ground - step)) / 2e-6
        np.testing.assert_allclose(touch.normal[k], -slope, atol=1e-6)
        # And within the patch no other place is nearer: across both its tangents.
        for corners in columns.corners[(np.abs(columns.corners - on_ground).max(axis=(1, 2)) < 1.0)]:
            place = np.full(2, 0.5)
            for _ in range(30):
                a, b = place
                along = (1 - b) * (corners[1] - corners[0]) + b * (corners[3] - corners[2])
                beside = (1 - a) * (corners[2] - corners[0]) + a * (corners[3] - corners[1])
                off = on_ground - mix(corners, *place)
                place = place + np.linalg.lstsq(np.column_stack([along, beside]), off, rcond=None)[0]
            if np.linalg.norm(off) < 1e-8 and (np.abs(place - 0.5) < 0.499).all():
                judged += 1
                assert abs(touch.normal[k] @ along) <= 1e-6 * np.linalg.norm(along)
                assert abs(touch.normal[k] @ beside) <= 1e-6 * np.linalg.norm(beside)
    assert judged > count / 40


@pytest.mark.parametrize("shape", [thud.Box([0.5, 0.4, 0.3]), thud.Capsule(0.2, 0.5), thud.Ellipsoid([0.5, 0.4, 0.3])])
def test_no_contact_of_flat_ground_leans(shape) -> None:
    # Where a part ends just before an edge, its nearest point on the patch beyond is on that edge. By depth alone it went
    # unseen that the patch before is nearer: normals off by up to 2e-3.
    surface = from_heights(np.zeros((13, 13)), 1.0, samples=4, thickness=0.5).surface
    rng, count = np.random.default_rng(0), 1500
    turn = turned(count, 5)
    turn[: count // 2, 1:3] *= rng.choice([0.0, 1e-3, 1e-2], (count // 2, 1))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    poses = np.column_stack([rng.uniform(2.5, 9.5, (count, 2)), np.full(count, 20.0), turn])
    above = thud.distance(thud.HalfSpace([0, 0, 1], 0.0), shape, None, poses).distance
    poses[:, 2] -= above - rng.uniform(1e-3, 0.099, count)
    touch = thud.contacts(surface, shape, None, poses, margin=0.1)
    assert len(np.unique(touch.row)) == count
    assert np.linalg.norm(touch.normal - [0.0, 0.0, 1.0], axis=1).max() <= 2e-6


def ring() -> thud.TriangleMesh:
    """A closed ring of 192 triangles."""
    u, w = np.meshgrid(
        np.linspace(0, 2 * np.pi, 12, endpoint=False), np.linspace(0, 2 * np.pi, 8, endpoint=False), indexing="ij"
    )
    across = 0.8 + 0.3 * np.cos(w)
    k = np.arange(96).reshape(12, 8)
    e, s = np.roll(k, -1, 0), np.roll(k, -1, 1)
    b = np.roll(e, -1, 1)
    faces = np.concatenate([np.stack([k, e, b], axis=-1), np.stack([k, b, s], axis=-1)])
    return thud.TriangleMesh(
        np.stack([across * np.cos(u), across * np.sin(u), 0.3 * np.sin(w)], axis=-1).reshape(-1, 3), faces.reshape(-1, 3)
    )


@pytest.mark.parametrize("seed", [8, 22])
def test_buried_triangles_of_a_mesh_have_contacts_on_it(seed: int) -> None:
    # A flat triangle went up by its own height, which is next to none, and did not come to the end of the ground: its point
    # was up to a metre off the mesh.
    rng, mesh = np.random.default_rng(seed), ring()
    surface = from_heights(0.4 * rng.normal(size=(9, 9)), 0.5, thickness=0.8).surface
    turn = rng.normal(size=(8, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    poses = np.column_stack([rng.uniform(1.0, 3.0, (8, 2)), rng.uniform(-1.0, -0.2, 8), turn])
    touch, rows = thud.contacts(surface, mesh, None, poses), as_poses(poses, "poses")
    on_part = touch.point - 0.5 * touch.depth[:, None] * touch.normal
    inner = np.einsum("nk,nkj->nj", on_part - rows[touch.row, 9:], rows[touch.row, :9].reshape(-1, 3, 3))
    assert len(inner) > 60
    np.testing.assert_allclose(thud.closest_point(mesh, inner).distance, 0.0, atol=5e-6)


def test_a_part_below_one_wall_of_a_groove_goes_up() -> None:
    # The way through the nearest wall, at 45 degrees, leads along the other one and never out of it: the depth was four times
    # the capsule's height.
    groove = surfaces()["groove"]
    capsule = thud.Capsule(0.21788484574342265, 0.4357696914868453)
    turn = [0.8912675714557355, 0.21599552053504922, -0.31918955312723873, 0.2389687853143632]
    pose = np.array([[3.8562558912160503, 2.1335269040917404, -0.060184409481128576, *turn]])
    found = thud.contacts(groove, capsule, None, pose)
    assert len(found.depth) == 1
    assert 0.0 < found.depth[0] < 1.5
    pose[:, :3] += found.normal * (found.depth[0] + 1e-6)
    assert not thud.intersects(groove, capsule, None, pose)[0]
    assert thud.intersects(groove, capsule, None, pose - np.append(2e-5 * found.normal[0], np.zeros(4)))[0]


def test_curved_shapes_near_an_edge_have_a_distance() -> None:
    # The bound that the search begins with was within GJK's tolerance of curved shapes, which then found nothing below it.
    cylinder = thud.Cylinder(0.1515186923935602, 0.10606308467549214)
    turn = [0.2810263827837518, 0.08896768955960101, 0.5926141817751338, -0.7496114686641977]
    found = thud.distance(
        surfaces()["flat"], cylinder, None, [8.095534992080687, 3.9947974886219306, 0.15968052950852665, *turn]
    )
    np.testing.assert_allclose(found.distance, 0.007308464640517298, atol=1e-9)


def test_a_part_near_a_bottom_that_lies_in_the_ground_goes_out_through_the_sheet() -> None:
    # Where columns cross, the nearest face may be a bottom inside of other columns: the way through it led on into the ground.
    tunnel = surfaces()["tunnelled"]
    capsule = thud.Capsule(0.07693586226902142, 0.15387172453804285)
    turn = [0.047529722280375615, 0.6159869256529704, -0.5305128572046238, 0.580393953504978]
    pose = np.array([[2.3168688845610985, 2.1780878893238302, 0.6750871028698782, *turn]])
    found = thud.contacts(tunnel, capsule, None, pose)
    assert len(found.depth) == 1
    assert 0.6 < found.depth[0] < 0.7
    pose[:, :3] += found.normal * (found.depth[0] + 1e-6)
    assert not thud.intersects(tunnel, capsule, None, pose)[0]
