"""Poses that once came out wrong, each with the mechanism. Most were found by the fuzz; all its rules are asked of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from tests.fuzz.blocks import Block
from tests.fuzz.invariants import UNCONVERGED, check_invariants, check_oracles, query
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST, EPA_GAP, EPA_GAP_CURVED
from thud.shapes import Shape

IDENTITY = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def prism(sides: int, radius: float, low: float, high: float, middle: float = 0.0) -> thud.ConvexHull:
    """A regular prism along z about (middle, middle)."""
    turn = np.arange(sides) * 2 * np.pi / sides
    ring = np.stack([np.cos(turn) * radius + middle, np.sin(turn) * radius + middle], axis=1)
    return thud.ConvexHull([[x, y, z] for z in (low, high) for x, y in ring])


def grid(*half: float) -> thud.ConvexHull:
    """A box given by 27 points: those on its faces and edges are no corners."""
    signs = (-1.0, 0.0, 1.0)
    return thud.ConvexHull([np.array([x, y, z]) * half for x in signs for y in signs for z in signs])


def assert_right(a: Shape, b: Shape, pose_a: list[float], pose_b: list[float]) -> None:
    """All rules of the fuzz hold, and the search has converged. Poses are rows of 12."""
    rows = (thud.Pose.from_rows(np.array([pose])) for pose in (pose_a, pose_b))
    block = Block(type(a).__name__, type(b).__name__, 0, 0, a, b, *rows)
    broken = [*check_invariants(block), *check_oracles(block)]
    assert not broken, "\n".join(f"{failure.check}: {failure.error:.3g} of {failure.limit:.3g}" for failure in broken)
    assert query(block).status[0] != UNCONVERGED
    assert query(block, signed=True).status[0] != UNCONVERGED


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (thud.Sphere(130.0), thud.Cylinder(24.0, 24.0)),
        (thud.Capsule(5.0, 5.0), thud.Capsule(0.1, 0.1)),
        (thud.HalfSpace([0, 0, 1], 100.0), thud.Cone(1.0, 1.0)),
        (thud.Ellipsoid([1.0, 2.0, 3.0]), thud.Sphere(100.0)),
    ],
    ids=["sphere", "capsules", "half-space", "ellipsoid"],
)
def test_common_point_of_a_small_shape_deep_inside_a_large_one(a: Shape, b: Shape) -> None:
    # The point common to both was taken midway between the two surfaces: outside a shape that is thinner than the depth.
    assert_right(a, b, IDENTITY, [*IDENTITY[:9], 0.3, 0.2, 0.1])


def test_common_point_of_half_spaces_that_all_but_face_each_other() -> None:
    # Their planes meet far away, along n + m, which is small: its roundoff times that way put the point off both planes.
    for angle in (1e-3, 1e-6, 1e-9, 1e-12):
        tilted = [np.cos(angle), 0.0, np.sin(angle), 0.0, 1.0, 0.0, -np.sin(angle), 0.0, np.cos(angle), 0.1, 0.2, 0.003]
        assert_right(thud.HalfSpace([0, 0, 1], 0.001), thud.HalfSpace([0, 0, -1], 0.0), IDENTITY, tilted)


def random_pose(spread: float, rng: np.random.Generator) -> list[float]:
    """A row of 12."""
    q = rng.normal(size=4)
    return thud.Pose(rng.uniform(-spread, spread, 3), q / np.linalg.norm(q)).rows[0].tolist()


def test_depth_witness_on_another_triangle_of_the_same_plane() -> None:
    # A face of A and an edge of B, or two parallel edges, give EPA's polytope several triangles in one plane, all as near.
    # The witness was clamped to the one that came first, though the origin's foot lay on another.
    rng = np.random.default_rng(3)
    octahedron = thud.ConvexHull(np.concatenate([np.eye(3), -np.eye(3)]))
    for _ in range(40):
        assert_right(thud.Box([1.0, 1.0, 1.0]), octahedron, IDENTITY, random_pose(0.5, rng))
        assert_right(thud.Capsule(0.5, 1.0), prism(7, 1.0, -1.0, 1.0), IDENTITY, random_pose(0.5, rng))


def test_depth_witness_of_a_face_that_was_passed() -> None:
    # EPA ended as soon as the least height so far met the lower bound, with the witness of the face that had shown the
    # height: on a curved shape that face had since been pushed out, and its point lay inside.
    rng = np.random.default_rng(4)
    for _ in range(40):
        assert_right(thud.Ellipsoid([1.0, 0.9, 0.8]), thud.Capsule(0.3, 0.6), IDENTITY, random_pose(0.5, rng))
        assert_right(thud.Cylinder(0.8, 0.7), thud.Ellipsoid([0.5, 0.9, 0.7]), IDENTITY, random_pose(0.5, rng))


def test_touching_pair_whose_nearest_plane_is_not_its_nearest_face() -> None:
    # At touch the origin lies on the surface of the polytope, or a little outside: the plane that is nearest may belong to
    # a face elsewhere, and its clamped point was 2e-6 of the size off.
    assert_right(
        thud.Cone(16.172688051921053, 16.172688051921053),
        thud.Box([9681.27590673705, 9681.27590673705, 9681.27590673705]),
        [*IDENTITY[:9], 54211.330184818675, 84018.86531096954, -134912.96856319657],
        [-0.595266005734842, 0.4968137997219518, 0.6315333964425983, 0.7282424296104724, 0.6657238366121532,
         0.16271059302157223, -0.3395899676544112, 0.5567654998042101, -0.7580836577161159, 37510.821669236364,
         83040.33810705086, -136267.7887914903],
    )  # fmt: skip


def test_capsule_of_no_length_is_a_sphere() -> None:
    # It went to EPA, which cannot prove a depth that is the same in all directions around, and stopped 1e-4 short.
    ball, cylinder = thud.Capsule(1.7, 0.0), thud.Cylinder(0.8, 0.8)
    assert_right(ball, cylinder, IDENTITY, IDENTITY)
    np.testing.assert_allclose(thud.distance(ball, cylinder, signed=True).distance, -2.5, rtol=1e-15)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (thud.Cylinder(1.0, 1.0), thud.Cylinder(1.0, 1.0)),
        (thud.Cone(136.7, 136.7), thud.Cone(136.7, 136.7)),
        (thud.Cylinder(0.3, 2.0), thud.Cone(1.0, 1.0)),
        (thud.Capsule(0.5, 1.0), thud.Cylinder(1.0, 1.0)),
    ],
    ids=["cylinders", "cones", "cylinder-cone", "capsule-cylinder"],
)
def test_coaxial_round_shapes_converge(a: Shape, b: Shape) -> None:
    # The depth is the same all around, so EPA needs thousands of faces. Each new point of a rim saw the whole flat cap and
    # built it anew, until the heap was full of dead entries: UNCONVERGED at a few hundred faces, 1e-4 of the size off.
    assert_right(a, b, IDENTITY, IDENTITY)
    tilt = 7.7e-7
    assert_right(a, b, IDENTITY, [np.cos(tilt), 0, np.sin(tilt), 0, 1, 0, -np.sin(tilt), 0, np.cos(tilt), 0, 0, 0])


def test_slivers_in_a_flat_side_do_not_turn_faces_inside_out() -> None:
    # Points of a straight edge that are collinear but for roundoff span slivers of any normal. One of them was nearest, its
    # support point lay in the side all but exactly, and pushing it out folded the polytope over: the lower bound fell.
    assert_right(
        thud.Box([0.6054708312738842, 0.6054708312738842, 60.547083127388426]),
        thud.Cylinder(1.4649455585089377, 1.4649455585089377),
        [*IDENTITY[:9], 454.8301030793626, -369.7740282889235, 220.4185735076047],
        [-1.0, -5.130989461970027e-13, -2.371485307819309e-13, 2.3714853078231874e-13, -7.558285846902939e-13, -1.0,
         5.130989461968234e-13, -1.0, 7.558285846904156e-13, 454.8301030793626, -369.7740282889235, 220.4185735076047],
    )  # fmt: skip


def test_far_vertex_does_not_blur_the_height_of_a_near_triangle() -> None:
    # GJK took the height of a triangle's plane as the mean over its corners. One corner far away brought in the roundoff of
    # its own length, v seemed to grow, and the search stopped 4e-6 of the size short of touch.
    assert_right(
        thud.Box([622.2936315801172, 622.2936315801172, 622.2936315801172]),
        thud.Cylinder(1329.1338582988217, 1329.1338582988217),
        IDENTITY,
        [-0.5843110326766285, -0.5229256855662865, 0.6205879022889518, 0.6727881508475282, 0.11548030595118874,
         0.7307669963925463, -0.4538025134037229, 0.844519405527457, 0.2843417881986656, 1956.2602958616749, 1638.619763109712,
         -1471.2976124354766],
    )  # fmt: skip


def test_three_support_points_in_a_line() -> None:
    # The areas of a flat triangle are noise. GJK looked only at the edges that these pointed to, missed the one over which
    # the origin lies, and answered with a corner: 0.5 of the size apart, where the two touch.
    half, cone = 0.006285981518071533, 0.004154769663964556
    assert_right(
        thud.Box([half, half, half]),
        thud.Cone(cone, cone),
        [*IDENTITY[:9], -0.08001542883057874, 0.0031334058390800985, 0.1513157199372996],
        [-1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, -0.08001542883057874, 0.013574157021117899, 0.1513157199372996],
    )


def test_three_support_points_of_hulls_in_a_line() -> None:
    # Two weights of a flat triangle came out positive and the third, never looked at, negative: the closest point lay
    # outside the triangle, and outside the hull by 4 % of the size.
    hull = grid(2.7447677114714235e-04, 1.9880752150143105e-05, 5.127798945724249e-05)
    tilted = [0.0, -1.0, 7.301610445750365e-11, 1.0, 0.0, 0.0, 0.0, 7.301610445750365e-11, 1.0]
    place = [0.00029435752329728547, -0.00029435752329728547, 0.00010255597891448498]
    assert_right(hull, hull, IDENTITY, [*tilted, *place])


def test_step_that_only_turns_the_direction() -> None:
    # With one vertex far away a step may turn v by 1e-8 and shorten it by nothing. GJK took that for the end.
    assert_right(
        thud.Box([0.0014627408527676908, 0.0045263468456044325, 0.0013390346810441731]),
        thud.Cylinder(0.0045263468456044325, 0.0045263468456044325),
        [-0.7907667411945303, 0.5878633270878039, 0.1706009076348674, -0.09066513055939984, 0.16314673512959288,
         -0.9824270847840064, -0.6053658357730718, -0.7923382178601586, -0.07571230677345642, 0.0, 0.0, 0.0],
        [-0.7907667411945303, 0.1706009076348674, -0.5878633270878039, -0.09066513055939984, -0.9824270847840064,
         -0.16314673512959288, -0.6053658357730718, -0.07571230677345642, 0.7923382178601586, 0.0015864146825218788,
         -0.00482839367262697, -0.011242465831658579],
    )  # fmt: skip


def test_undecided_search_of_shapes_apart_is_not_handed_to_the_depth_search() -> None:
    # GJK stopped 1e-9 of the size short of its tolerance. EPA, asked next, knows faces only: it said OVERLAPPING with the
    # distance along a face normal, 0.1 of the size too small.
    assert_right(
        thud.Box([0.0001366285732735831, 0.0011404769818533773, 8.496804986342179e-05]),
        prism(12, 1.1404769818533773e-3, 5.5883372110815486e-4, 5.8164326074522247e-4, 5.7023849092668866e-4),
        [1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0, -952050.3234266718, 255205.4078236074, -168731.68487499835],
        [*IDENTITY[:9], -952050.3227198047, 255205.40953432288, -168731.68554160965],
    )


def test_short_difference_of_long_vectors_stands_upright_on_its_edge() -> None:
    # The foot of the origin on an edge is the difference of two vectors a million times as long. Its roundoff along the edge
    # turned it, so that no plane proved the distance.
    assert_right(
        grid(0.16740627434020067, 0.16740627434020067, 0.16740627434020067),
        thud.Box([0.0016740627434020067, 0.16740627434020067, 0.0016740627434020067]),
        [-0.17697692310975777, -0.37582246443362965, -0.9096354456119419, -0.6833980991773578, 0.7120226264362485,
         -0.16121667867686862, 0.7082698685722674, 0.5931115027293432, -0.3828479314333084, 0.0, 0.0, 0.0],
        [-0.9096353460831592, -0.17697679152763388, -0.37582276729431335, -0.16121692814072924, -0.6833982358046865,
         0.7120224388177024, -0.382848062861807, 0.7082697696214532, 0.593111536056529, -0.2508571504014916,
         -0.03627450137821696, 0.16966599008756877],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("half_a", "half_b", "pose_a", "pose_b"),
    [
        # Edges 1e-7 rad from parallel: their cross product was left out as ill-conditioned, "a face is as good to 1e-12".
        # It is so to the sine times the size: 1.6e-8.
        (
            [615.4607281448359] * 3,
            [615.4607281448359] * 3,
            [-0.6324926308695367, 0.7493373202812948, -0.19607817912603148, -0.07565889289529604, 0.19216625281433974,
             0.9784415481801421, 0.7708623767064975, 0.6336921269141216, -0.06484970674927149, 73.09987894678397,
             20926.157416043214, 4079.323678376546],
            [0.1960780445049415, -0.749337367139101, 0.6324926170890521, -0.9784415704903682, -0.19216619776810212,
             0.07565874418527212, 0.06484977717355657, -0.6336920881977229, -0.7708624026090191, 217.26317197641004,
             21067.888883232805, 5808.331297561798],
        ),
        # The depth's witness was that of boxes moved apart by a tenth of the size. GJK's direction is off by up to 1e-6 there,
        # and so was the witness, sideways.
        (
            [615.4607281448359] * 3,
            [615.4607281448359] * 3,
            [0.56635087615098, 0.5839424323797495, -0.5815994504377033, 0.32382516318960924, -0.8065958620416045,
             -0.49451024157501794, -0.7578812233907368, 0.09172977163266766, -0.6459115266257272, 0.0, 0.0, 0.0],
            [-0.585398516066727, 0.56635087615098, 0.5801338315163932, -0.4892349701241308, 0.32382516318960924,
             -0.8098064013656983, -0.6464964975887444, -0.7578812233907368, 0.08751188397723686, 0.0, 0.0, 0.0],
        ),
        # A slice of the overlap is 5e-8 of the size thick, so that no tetrahedron of support points surely holds the origin.
        (
            [90.08266156779646] * 3,
            [0.9008266156779646, 0.9008266156779646, 90.08266156779646],
            [0.6915316007189958, -0.6387581091684629, -0.3373012350682301, -0.46861174815538154, -0.04135071993034267,
             -0.8824359169095507, 0.5497154488440184, 0.768295643572689, -0.32792488373017226, 0.0, 0.0, 0.0],
            [-0.6915315825347534, -0.6387580322967643, 0.33730141792371, 0.4686118659172865, -0.04135061691906404,
             0.8824358591999374, -0.5497153713318361, 0.7682957130277238, 0.3279248509410699, 121.03439810015895,
             -38.873698712770945, -19.887188564256448],
        ),
        # Corner to corner, 1e-12 of the size apart: the last direction is noise, an earlier one proves the distance.
        (
            [68.10580107671407] * 3,
            [16.27488364164211] * 3,
            [0.31114304322398845, -0.8294412717576307, -0.4639150604996559, -0.19589332704367557, 0.4216885236397335,
             -0.8853273933694255, 0.929954736034542, 0.3663413240894699, -0.03127655977404231, -256.2103594711873,
             -1417.2140315797697, 248.77826764942532],
            [0.8294412561017184, -0.31114316880768184, 0.46391500426340837, -0.4216884943692687, 0.1958932375285144,
             0.8853274271178864, -0.36634139322902487, -0.9299547128731116, 0.031276438609688754, -173.33053281703093,
             -1361.5622536534258, 142.03505330746177],
        ),
    ],
    ids=["parallel edges", "witness", "flat overlap", "corners"],
)  # fmt: skip
def test_boxes(half_a: list[float], half_b: list[float], pose_a: list[float], pose_b: list[float]) -> None:
    assert_right(thud.Box(half_a), thud.Box(half_b), pose_a, pose_b)


def test_boxes_whose_parallel_edges_alone_separate_them() -> None:
    # The boolean test allowed each edge axis the roundoff of a unit vector, though it is as short as the sine of the angle:
    # with edges 1e-6 to 1e-9 rad from parallel it overlooked gaps of up to 1e-8 of the size.
    rng = np.random.default_rng(1)
    for angle in (1e-6, 1e-7, 1e-8):
        for _ in range(20):
            axis = rng.normal(size=3)
            half = 0.5 * angle * axis / np.linalg.norm(axis)
            quarter = thud.Pose([0, 0, 0], np.array([1.0, 0, 0, 1]) / np.sqrt(2)) @ thud.Pose([0, 0, 0], [1.0, *half])
            # An edge of B along one of A, or a little above it.
            place = [2.0, 2.0, rng.uniform(-1.5, 1.5)] + rng.uniform(0.0, 2.0, 3) * angle * [1, 1, 0]
            assert_right(thud.Box([1, 1, 1]), thud.Box([1, 1, 1]), IDENTITY, [*quarter.rows[0, :9], *place])


def test_closest_point_of_an_ellipsoid_at_its_centre() -> None:
    # e / m was computed as e * (1 / m), one roundoff off 1 for the smallest radius m itself; near the centre that was more
    # than the unknown, and the depth of a sphere there was off by 1e-3.
    radii = [0.059672183404287794, 0.5370496506385901, 0.47737746723430236]
    assert_right(thud.Sphere(0.26977002714224946), thud.Ellipsoid(radii), IDENTITY, IDENTITY)
    np.testing.assert_allclose(thud.distance(thud.Sphere(1.0), thud.Ellipsoid(radii), signed=True).distance, -1.0 - radii[0])


def test_max_distance_of_zero_is_no_reason_to_overlap() -> None:
    # The search stopped at the first plane that proved a distance above 0, by less than the touch distance, and that was
    # taken for touching: distance 0 where the shapes are 1.7 apart.
    capsule, hull = (
        thud.Capsule(71.09646995628108, 71.09646995628108),
        prism(7, 71.09646995628108, -71.09646995628108, 71.09646995628108),
    )
    pose_a = thud.Pose.from_rows(np.array([
        [-0.2859663087691151, 0.24564646832410886, -0.9262187014139045, -0.6222844356591842, -0.78263894047278,
         -0.015439235472467283, -0.7286874167880886, 0.5719563807280554, 0.37667034281871214, 0.0, 0.0, 0.0]
    ]))  # fmt: skip
    pose_b = thud.Pose.from_rows(np.array([
        [-0.24564646832410886, -0.2859663087691151, -0.9262187014139045, 0.78263894047278, -0.6222844356591842,
         -0.015439235472467283, -0.5719563807280554, -0.7286874167880886, 0.37667034281871214, -40.152644651332025,
         -87.37520837551365, -102.31529383348528]
    ]))  # fmt: skip
    near = thud.distance(capsule, hull, pose_a, pose_b, max_distance=0.0)
    assert near.distance[0] == np.inf
    assert near.status[0] == thud.Status.SEPARATED
    np.testing.assert_allclose(thud.distance(capsule, hull, pose_a, pose_b).distance, 1.7389250798446)


def test_far_apart_the_error_does_not_grow_with_the_distance() -> None:
    # The tolerance was a fraction of the distance, so that at 50,000 m the first rims met would do: 1e-5 m too far.
    assert_right(thud.Cylinder(1.0, 1.0), thud.Cylinder(1.0, 1.0), IDENTITY, [*IDENTITY[:9], 1.0, 0.0, 5e4])


def test_a_witness_of_a_flat_simplex_is_on_both_shapes():
    # A cone's base hovers 7.6e-13 above a box's face. Three vertices of GJK's simplex were almost in line: its plane, and with
    # it the distance, was right, but the weights of the closest point were noise, and B's witness lay 1.7 off its base.
    half, radius, height = 1.7660443018471146, 0.5715193810845737, 4.4624991888826235
    box, cone, turned = thud.Box([half] * 3), thud.Cone(radius, height), np.random.default_rng(28).uniform(0, np.pi, 400)
    turned[:200] = 0.0
    poses = np.zeros((400, 7))
    poses[:, 2] = -(half + height + np.geomspace(1e-13, 1e-9, 400))
    poses[:, 4], poses[:, 5] = np.sin(turned), np.cos(turned)
    poses[0, 2] = -6.228543490730494
    found = thud.distance(box, cone, None, poses)
    assert np.abs(found.point_a).max() < half + 1e-6
    assert np.linalg.norm(found.point_b[:, :2], axis=1).max() < radius + 1e-6


def test_contacts_near_the_apex_of_a_cone_are_on_its_side():
    # Two flat cones, one turned over: their sides touch along a line. Its end at the apex was kept as long as it was off by
    # less than a hundredth of the base's radius, where the side of a cone is as thin as a needle.
    a, b = thud.Cone(0.5116462596159878, 0.053389928447497154), thud.Cone(0.8056818907568499, 0.0805681890756850)
    pose_a = [-0.5131302643956672, -0.038510745373822465, -0.8574463564865064, 0.022292073301950086, 0.9980579723955183,
              -0.0581665471353361, 0.8580212090788507, -0.04896127274182528, -0.5112752668987297, 0, 0, 0]  # fmt: skip
    pose_b = [-0.5131302678387778, 0.03851074622385523, 0.8574463543878332, 0.022292072799745, -0.9980579723531838,
              0.05816654805420602, 0.8580212070327835, 0.0489612729362014, 0.5112752703138219, 0, 0, 0]  # fmt: skip
    poses = [thud.Pose.from_rows(np.array([pose])) for pose in (pose_a, pose_b)]
    found = thud.contacts(a, b, *poses)
    assert len(found.row)
    for shape, pose, side in ((a, poses[0], 0.5), (b, poses[1], -0.5)):
        surface = found.point + side * found.depth[:, None] * found.normal
        assert thud.closest_point(shape, surface, pose=pose, signed=True).distance.max() < 1e-4 * 1.4


def test_the_page_on_epa_states_the_limits_of_the_code() -> None:
    # It named an older number of faces.
    page = (Path(__file__).parents[2] / "docs" / "epa.md").read_text()
    for number in (f"{EPA_FACES:,}", str(EPA_FACES_FIRST), f"{EPA_GAP:.0e}", f"{EPA_GAP_CURVED:.0e}".replace("e-0", "e-")):
        assert number in page
