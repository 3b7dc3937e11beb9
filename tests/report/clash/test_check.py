"""The check against scenes with known clashes, and against every pair of triangles tried."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thud
from tests.report.clash.planted import CLEARANCE, planted, surfaces_meet, two
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.pose import as_poses
from thud.report import check
from thud.report.clash import tolerances, ways
from thud.report.clash.assembly import EXPECTED, assembly
from thud.report.clash.clash import length as length_text
from thud.report.clash.meeting import Body

BOX = thud.Box([0.5, 0.5, 0.5]).to_mesh()


def found(report):
    return {(clash.kind, *sorted((clash.name_a, clash.name_b))) for clash in report}


def test_the_shipped_assembly_has_the_clashes_that_it_says() -> None:
    report = check(assembly(), clearance=0.001)
    assert found(report) == {(kind, *sorted((a, b))) for kind, a, b, _ in EXPECTED}
    measures = {(clash.kind, *sorted((clash.name_a, clash.name_b))): clash for clash in report}
    for kind, a, b, length in EXPECTED:
        clash = measures[kind, *sorted((a, b))]
        if length is not None:
            assert (clash.gap if kind == "clearance" else clash.depth) == pytest.approx(length, rel=3e-3)
    assert len(report.contacts) == 10


def test_all_that_is_planted_in_200_parts_is_found_and_nothing_else() -> None:
    scene, clashes = planted()
    report = check(scene, clearance=CLEARANCE)
    assert found(report) == set(clashes)
    assert not report.contacts
    for clash in report:
        measure = clashes[clash.kind, *sorted((clash.name_a, clash.name_b))]
        if clash.kind == "hard":
            assert clash.depth == pytest.approx(measure, rel=1e-6)
            assert not clash.depth_is_bound
            assert abs(clash.normal[2]) == pytest.approx(1.0, abs=1e-6)
            # Of points that were looked at, so perhaps not the very deepest.
            assert 0.7 * measure < clash.penetration <= measure * (1 + 1e-9)
            # The two boxes are shifted by 0.01 and 0.013 of a side of 0.1.
            assert clash.volume == pytest.approx(0.09 * 0.087 * measure, rel=1e-6)
        elif clash.kind == "clearance":
            assert clash.gap == pytest.approx(measure, rel=1e-9)
        elif clash.kind == "containment":
            assert (clash.name_a if clash.inside == "a" else clash.name_b).endswith("inside")
            assert clash.volume == pytest.approx(0.02**3, rel=1e-6)
    # The gravest first.
    kinds = [clash.kind for clash in report]
    assert kinds == ["hard"] * 6 + ["containment"] + ["duplicate"] * 2 + ["clearance"] * 3
    assert [clash.depth for clash in report][:6] == sorted([clash.depth for clash in report][:6], reverse=True)
    assert all(clash.explain() for clash in report)


def test_b_moved_by_depth_along_the_normal_is_free() -> None:
    report = check(planted().scene)
    for clash in report:
        if clash.kind in ("hard", "containment", "duplicate"):
            a, b = (report.scene.parts[row] for row in (clash.a, clash.b))
            away = thud.Pose(clash.normal * clash.depth * (1 + 1e-6)) @ b.pose
            assert not thud.intersects(report.scene.mesh_of(a), report.scene.mesh_of(b), a.pose, away)[0]


def random_scene(seed: int, count: int = 40) -> Scene:
    rng = np.random.default_rng(seed)
    kinds = [
        BOX,
        thud.Cylinder(0.4, 0.7).to_mesh(8),
        thud.Cone(0.6, 0.5).to_mesh(8),
        thud.ConvexHull(rng.normal(size=(12, 3))).to_mesh(),
    ]
    # A sheet has no inside.
    kinds.append(thud.TriangleMesh([[0, 0, 0], [1, 0, 0], [1, 1, 0.2], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]]))
    q = rng.normal(size=(count, 4))
    places = rng.uniform(-2.5, 2.5, (count, 3))
    poses = np.concatenate([places, q / np.linalg.norm(q, axis=1, keepdims=True)], axis=1)
    return Scene.from_parts(
        [f"part {k}" for k in range(count)], [kinds[k] for k in rng.integers(len(kinds), size=count)], poses
    )


@pytest.mark.parametrize("seed", range(3))
def test_pairs_are_those_of_every_triangle_with_every_other(seed: int) -> None:
    scene = random_scene(seed)
    corners = [
        part.pose.apply(np.asarray(scene.mesh_of(part).vertices))[np.asarray(scene.mesh_of(part).faces)] for part in scene.parts
    ]
    met = set()
    for a, b in itertools.combinations(range(len(scene.parts)), 2):
        if surfaces_meet(corners[a], corners[b]):
            met.add((scene.parts[a].name, scene.parts[b].name))
    report = check(scene)
    ours = {
        tuple(sorted((clash.name_a, clash.name_b), key=scene.index))
        for clash in (*report.clashes, *report.contacts)
        if clash.kind in ("hard", "contact")
    }
    assert ours == met
    # What is inside another by all its corners, and meets it nowhere.
    inside = set()
    for a, b in itertools.permutations(range(len(scene.parts)), 2):
        mesh = scene.mesh_of(a)
        if mesh.is_closed and thud.contains(mesh, corners[b].reshape(-1, 3), pose=scene.parts[a].pose).all():
            inside.add(frozenset((scene.parts[a].name, scene.parts[b].name)))
    pairs = {frozenset((clash.name_a, clash.name_b)) for clash in report if clash.kind == "containment"}
    assert pairs == {pair for pair in inside if tuple(sorted(pair, key=scene.index)) not in met}


def test_the_same_for_any_number_of_threads() -> None:
    scene = random_scene(7)
    one, three = check(scene, clearance=0.2, threads=1), check(scene, clearance=0.2, threads=3)
    assert [clash.id for clash in one] == [clash.id for clash in three]
    for left, right in zip(one, three):
        np.testing.assert_array_equal(left.points, right.points)
        assert (left.depth, left.kind) == (right.depth, right.kind)


@settings(max_examples=8)
@given(order=st.permutations(range(30)))
def test_ids_do_not_depend_on_the_order_of_parts(order: list[int]) -> None:
    base = random_scene(3, 30)
    # Five names for all, so that most occur again and again.
    names = [f"shelf/part {k % 5}" for k in range(30)]
    poses = base.poses().matrix

    def ids(rows: list[int]) -> set[tuple[str, str]]:
        parts = [base.parts[row] for row in rows]
        scene = Scene.from_parts([names[row] for row in rows], [base.mesh_of(part) for part in parts], poses[rows])
        return {(clash.id, clash.kind) for clash in check(scene, clearance=0.1, volumes=False, search="quick")}

    assert ids(order) == ids(list(range(30)))


def test_two_bars_that_cross_have_no_vertex_in_each_other_and_clash() -> None:
    bar = thud.Box([1.0, 0.05, 0.05]).to_mesh()
    report = check(two(bar, bar, thud.Pose.from_euler([0.1, 0.02, 0.03], [0, 0, 90], degrees=True)))
    (clash,) = report
    assert clash.kind == "hard"
    assert clash.depth == pytest.approx(0.07, rel=1e-6)
    assert 0.03 < clash.penetration <= 0.05


@pytest.mark.parametrize("segments", [24, 31])
def test_a_pin_that_fills_its_hole_touches_it_and_is_no_clash(segments: int) -> None:
    # Round holes and pins of other triangulations overlap by what their sides cut off; no short way parts them.
    from thud.report.clash.assembly import _tube

    pin = thud.Cylinder(0.01, 0.03).to_mesh(segments)
    hole = _tube(0.01, 0.03, 0.04)
    sagitta = 0.01 * (1 - np.cos(np.pi / 24))
    scene = two(hole, pin)
    report = check(scene, tolerance=1.5 * sagitta)
    assert not report.clashes
    assert len(report.contacts) == 1
    (clash,) = check(scene, tolerance=0.05 * sagitta)
    assert clash.kind == "hard"
    assert clash.penetration < 1.5 * sagitta < clash.depth


@pytest.mark.parametrize(
    ("shift", "kind"), [(1.0, "contact"), (1.0 + 5e-7, "contact"), (1.0 - 5e-7, "contact"), (0.99, "hard"), (1.01, None)]
)
def test_touching_within_the_tolerance_is_contact(shift: float, kind: str | None) -> None:
    report = check(two(BOX, BOX, [shift, 0.0, 0.0]), tolerance=1e-6)
    kinds = [clash.kind for clash in (*report.clashes, *report.contacts)]
    assert kinds == ([kind] if kind else [])
    if kind == "contact" and shift == 1.0:
        (contact,) = report.contacts
        np.testing.assert_allclose(np.abs(contact.normal), [1, 0, 0], atol=1e-9)
        assert contact.points[:, 0] == pytest.approx(0.5)


def test_a_copy_by_other_triangles_and_a_turned_one_are_duplicates() -> None:
    fine = thud.TriangleMesh(*_halved(np.asarray(BOX.vertices), np.asarray(BOX.faces)))
    for other, at in ((fine, None), (BOX, thud.Pose.from_euler([0, 0, 0], [0, 0, 90], degrees=True))):
        (clash,) = check(two(BOX, other, at))
        assert clash.kind == "duplicate"
    # Of equal boxes and not the same: a sphere in a cube.
    (clash,) = check(two(BOX, thud.Sphere(0.5).to_mesh(32), None), tolerance=1e-4)
    assert clash.kind != "duplicate"


def test_sheets_in_one_place_but_for_the_tolerance_are_duplicates_and_one_with_a_window_is_not() -> None:
    corners = [(0, 0, 0), (4, 0, 0), (4, 4, 0), (0, 4, 0)]
    sheet = thud.TriangleMesh(corners, [(0, 1, 2), (0, 2, 3)])
    both_sides = thud.TriangleMesh(corners, [(0, 1, 2), (0, 2, 3), (2, 1, 0), (3, 2, 0)])
    window = [(2.5, 2.2, 0), (3.8, 2.2, 0), (3.8, 3.8, 0), (2.5, 3.8, 0)]
    around = [(0, 1, 4), (1, 5, 4), (1, 2, 5), (2, 6, 5), (2, 3, 6), (3, 7, 6), (3, 0, 7), (0, 4, 7)]
    framed = thud.TriangleMesh(corners + window, around)
    for other, height, kind in (
        (sheet, 5e-7, "duplicate"),
        (sheet, 2e-6, None),
        (both_sides, 0.0, "duplicate"),
        (framed, 0.0, None),
    ):
        poses = thud.Pose.from_array([[0, 0, 0, 1, 0, 0, 0], [0, 0, height, 1, 0, 0, 0]])
        report = check(Scene.from_parts(["a", "b"], [sheet, other], poses), tolerance=1e-6)
        assert [clash.kind for clash in report] == ([kind] if kind else []), (height, kind)


def test_an_overlap_that_the_test_of_the_common_box_misses_is_still_hard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thud.report.clash.pairs.meet_within", lambda *_: 0)
    along, across = thud.Box([2.0, 0.5, 0.5]).to_mesh(), thud.Box([0.5, 2.0, 0.5]).to_mesh()
    report = check(Scene.from_parts(["a", "b"], [along, across], thud.Pose(np.array([[0.0, 0, 0], [0.0, 0.0, 0.9]]))))
    assert [clash.kind for clash in report] == ["hard"]
    assert report.clashes[0].depth == pytest.approx(0.1)


def test_ids_do_not_depend_on_the_order_of_levels_of_one_name() -> None:
    cube = thud.Box([0.5, 0.5, 0.5]).to_mesh()

    def ids(names: list[str], places: list[float], given: list[str] | None = None) -> dict[str, float]:
        poses = thud.Pose(np.array([[x, 0.0, 0.0] for x in places]))
        scene = Scene.from_parts(names, [cube] * len(names), poses)
        if given:
            scene = replace(scene, parts=tuple(replace(part, given=name) for part, name in zip(scene.parts, given)))
        return {clash.id: round(clash.depth, 6) for clash in check(scene)}

    names, given = ["pump/shaft", "pump/wheel", "pump#2/shaft", "pump#2/wheel"], ["pump/shaft", "pump/wheel"] * 2
    assert ids(names, [0.0, 0.9, 5.0, 5.8], given) == ids(names, [5.0, 5.8, 0.0, 0.9], given)
    # Numbers that the file itself gives are names: what they stand for may change places, and come in any order.
    for order in itertools.permutations(range(4)):
        names, places = ["a", "a", "a#2", "a#2"], [0.0, 0.9, 1.7, 2.4]
        assert ids([names[k] for k in order], [places[k] for k in order]) == ids(names, places)
    names = ["line#1/shaft", "line#1/wheel", "line#2/shaft", "line#2/wheel"]
    assert ids(names, [0.0, 0.9, 5.0, 5.8]) == ids(names, [10.0, 10.9, 5.0, 5.8])


def _halved(vertices, faces):
    """Each triangle as two."""
    middle = 0.5 * (vertices[faces[:, 0]] + vertices[faces[:, 1]])
    rows = len(vertices) + np.arange(len(faces))
    return np.concatenate([vertices, middle]), np.concatenate(
        [np.stack([faces[:, 0], rows, faces[:, 2]], axis=1), np.stack([rows, faces[:, 1], faces[:, 2]], axis=1)]
    )


def test_open_surfaces_cross_touch_and_hide_inside() -> None:
    sheet = thud.TriangleMesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    (clash,) = check(two(BOX, sheet, [0, 0, 0.1]))
    assert clash.kind == "hard"
    assert np.isnan(clash.penetration)
    assert np.isnan(clash.volume)
    assert clash.depth == pytest.approx(0.4, rel=1e-6)
    assert not check(two(BOX, sheet, [0, 0, 0.5])).clashes
    tiny = thud.TriangleMesh(0.1 * np.asarray(sheet.vertices), sheet.faces)
    (clash,) = check(two(BOX, tiny))
    assert (clash.kind, clash.inside) == ("containment", "b")


def test_a_bound_is_a_way_out_and_says_that_it_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thud.report.clash.check.MOST_SEARCHED", 10)
    ball = thud.Sphere(0.5).to_mesh(24)
    report = check(two(ball, ball, [0.3, 0.2, 0.1]))
    (clash,) = report
    assert clash.depth_is_bound
    assert "at most" in clash.measure
    assert any("bound" in note for note in report.notes)
    best = check(two(ball, ball, [0.3, 0.2, 0.1]), search="best").clashes[0]
    assert not best.depth_is_bound
    assert best.depth <= clash.depth * (1 + 1e-3) < 1.3 * best.depth
    away = thud.Pose(np.array([0.3, 0.2, 0.1]) + clash.normal * clash.depth)
    assert not thud.intersects(ball, ball, None, away)[0]


def test_no_way_out_is_longer_than_that_of_the_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    from thud.report.clash.ways import Way

    # A search that went astray is not believed, though what it found is free.
    monkeypatch.setattr("thud.report.clash.check.shortest_way", lambda _a, _b: Way(1e9, np.array([0.6, 0.8, 0.0]), False))
    (clash,) = check(two(BOX, BOX, [0.9, 0.1, 0.2]))
    assert clash.depth == pytest.approx(0.1, rel=1e-3)
    assert clash.depth_is_bound
    monkeypatch.undo()
    for seed in range(3):
        scene = random_scene(seed)
        low, high = scene.bounds()
        assert max(clash.depth for clash in check(scene)) < np.linalg.norm(high - low)


def test_far_from_the_origin_and_in_other_sizes() -> None:
    for scale in (1e-3, 1.0, 1e3):
        mesh = thud.Box([0.5 * scale] * 3).to_mesh()
        home = 1e5 * scale * np.array([1.0, -2.0, 3.0])
        scene = Scene.from_parts(
            ["a", "b", "c"], [mesh] * 3, thud.Pose(home + scale * np.array([[0, 0, 0], [0.9, 0.01, 0.02], [0, 2, 0]]))
        )
        (clash,) = check(scene)
        assert clash.kind == "hard"
        assert clash.depth == pytest.approx(0.1 * scale, rel=1e-4)
        assert clash.volume == pytest.approx(0.1 * 0.99 * 0.98 * scale**3, rel=1e-3)


def test_no_parts_one_part_and_wrong_arguments() -> None:
    assert not check(Scene((), ())).clashes
    assert not check(Scene.from_parts(["a"], [BOX])).clashes
    with pytest.raises(InvalidInputError, match="scene"):
        check([BOX])  # type: ignore[arg-type]
    for wrong in ({"clearance": -1.0}, {"tolerance": np.nan}, {"search": "fast"}, {"configurations": -1}, {"threads": 0}):
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            check(Scene.from_parts(["a", "b"], [BOX, BOX]), **wrong)


def test_progress_ends_at_the_whole_and_an_interruption_goes_through() -> None:
    seen: dict[str, tuple[int, int]] = {}
    check(planted().scene, clearance=CLEARANCE, progress=lambda label, done, total: seen.update({label: (done, total)}))
    assert {"pairs", "clashes", "depths", "gaps"} <= set(seen)
    assert all(done == total for done, total in seen.values())

    def interrupt(label: str, done: int, total: int) -> None:
        if label == "clashes" and done:
            raise KeyboardInterrupt

    for threads in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            check(planted().scene, progress=interrupt, threads=threads)


def test_limits_are_what_the_pages_say() -> None:
    assert tolerances.MOST_SEARCHED == 600_000
    assert tolerances.TOUCHING == 1e-6


def test_a_name_that_ends_like_a_number_is_not_that_of_another_part() -> None:
    # The second "a" was known as "a#2", which is what the third is called: two clashes had one id, and one topic of BCF.
    scene = Scene.from_parts(["a", "a", "a#2"], [BOX] * 3, thud.Pose([[0.0, 0, 0], [0.3, 0, 0], [0.6, 0, 0]]))
    report = check(scene)
    assert len(report) == 3
    assert len({clash.id for clash in report}) == 3


def test_a_way_out_that_ends_in_a_narrow_place_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # B goes into a hollow of A with no play to speak of: a little beyond, where it was tested, it meets the far wall.
    play = 1e-7
    hollow = thud.Box([0.1 + play] * 3).to_mesh()
    block = thud.Box([1.0, 1.0, 1.0]).to_mesh()
    faces = np.concatenate([block.faces, np.asarray(hollow.faces)[:, ::-1] + len(block.vertices)])
    a = Body(thud.TriangleMesh(np.concatenate([block.vertices, hollow.vertices]), faces), as_poses(None, "pose"))
    b = Body(thud.Box([0.1, 0.1, 0.1]).to_mesh(), as_poses(thud.Pose([-0.15, 0.0, 0.0]), "pose"))
    told = SimpleNamespace(
        distance=np.array([-0.15]), normal=np.array([[1.0, 0.0, 0.0]]), status=np.array([thud.Status.OVERLAPPING])
    )
    monkeypatch.setattr(ways, "distance", lambda *_, **__: told)
    assert not ways.is_free(a, b, np.array([[0.0, 0.0, 0.0], [0.15 * (1.0 + 1e-6), 0.0, 0.0]])).any()
    assert ways.shortest_way(a, b).depth == 0.15


@pytest.mark.parametrize(
    ("metres", "said"), [(0.9999e-3, "1 mm"), (0.99949e-3, "999 µm"), (0.9999, "1 m"), (1e-10, "0.1 nm"), (2.5, "2.5 m")]
)
def test_lengths_are_rounded_before_their_unit_is_chosen(metres: float, said: str) -> None:
    assert length_text(metres) == said


@pytest.mark.parametrize("tolerance", [0.0002, 0.0006, 0.001, 0.005])
def test_sheets_thinner_than_the_tolerance_that_cross_clash(tolerance: float) -> None:
    # No point of either is deeper in the other than half a millimetre; they would have to be moved by 30 cm.
    flat, upright = thud.Box([0.5, 0.5, 0.0005]).to_mesh(), thud.Box([0.0005, 0.3, 0.3]).to_mesh()
    assert [clash.kind for clash in check(two(flat, upright, [0.02, 0.01, 0.03]), tolerance=tolerance)] == ["hard"]
    # In each other by less than the tolerance, and a sheet that lies on another, are contacts still.
    standing = check(two(flat, upright, [0.02, 0.01, 0.3003]), tolerance=0.0006)
    assert not standing.clashes
    assert len(standing.contacts) == 1
    lying = check(two(flat, flat, [0.02, 0.01, 0.001]), tolerance=tolerance)
    assert not lying.clashes
    assert len(lying.contacts) == 1


def _convex_pairs(seed: int, count: int):
    """(a, b, pose of B, exact depth) of convex bodies that overlap."""
    rng = np.random.default_rng(seed)
    while count:
        kinds = (BOX, thud.Cylinder(0.4, 0.7).to_mesh(8), thud.Cone(0.6, 0.5).to_mesh(8))
        hull = thud.ConvexHull(0.5 * rng.normal(size=(12, 3))).to_mesh()
        a, b = ((*kinds, hull)[k] for k in rng.integers(4, size=2))
        turn = rng.normal(size=4)
        pose = thud.Pose(0.4 * rng.normal(size=3), turn / np.linalg.norm(turn))
        depth = -float(thud.distance(a.hull, b.hull, None, pose, signed=True).distance[0])
        if depth > 1e-3:
            count -= 1
            yield a, b, pose, depth


@pytest.mark.parametrize(("part", "kind"), [(0.5, "hard"), (0.999, "hard"), (1.001, "contact")])
def test_the_depth_of_convex_parts_decides_about_the_tolerance(part: float, kind: str) -> None:
    for a, b, pose, depth in _convex_pairs(5, 12):
        report = check(two(a, b, pose), tolerance=part * depth, volumes=False, search="quick")
        assert [clash.kind for clash in (*report.clashes, *report.contacts)] == [kind]


def _bracket() -> thud.TriangleMesh:
    """An L of two arms of 1 by 0.2 by 0.2, of as few triangles as it takes."""
    ring = np.array([(0, 0), (1, 0), (1, 0.2), (0.2, 0.2), (0.2, 1), (0, 1)])
    vertices = np.concatenate([np.column_stack([ring, np.full(6, z)]) for z in (0.0, 0.2)])
    cap = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    sides = [(k, (k + 1) % 6, (k + 1) % 6 + 6) for k in range(6)] + [(k, (k + 1) % 6 + 6, k + 6) for k in range(6)]
    return thud.TriangleMesh(vertices, np.concatenate([cap[:, ::-1], cap + 6, sides]))


def test_the_deepest_point_decides_where_parts_are_not_convex() -> None:
    # The end of an arm is 0.1 deep in the other bracket's arm; its corners and the middles of its triangles are less deep.
    bracket = _bracket()
    assert bracket.is_closed
    assert bracket.volume == pytest.approx(0.2 * 0.2 * 1.8)
    for part, kind in ((0.9, "hard"), (0.97, "hard"), (1.02, "contact")):
        report = check(two(bracket, bracket, [0.4, 0.1, 0.03]), tolerance=part * 0.1)
        assert [clash.kind for clash in (*report.clashes, *report.contacts)] == [kind], part


def test_parts_side_by_side_are_no_duplicates_however_large_the_tolerance() -> None:
    sheet = thud.Box([0.5, 0.5, 0.0005]).to_mesh()
    report = check(two(sheet, sheet, [0.0, 0.0, 0.001]), tolerance=0.002)
    assert not report.clashes
    assert len(report.contacts) == 1
    assert [clash.kind for clash in check(two(sheet, sheet, [0.0, 0.0, 0.00005]), tolerance=0.002)] == ["duplicate"]
    tiny = thud.Box([0.001, 0.001, 0.001]).to_mesh()
    assert [clash.kind for clash in check(two(tiny, tiny, [0.0008, 0.0, 0.0]), tolerance=0.001)] == ["hard"]


def test_what_is_convex_is_told_by_its_hull() -> None:
    import trimesh

    from thud.report.clash.assembly import _tube
    from thud.report.clash.roundness import is_convex

    can, fine = thud.Cylinder(0.3, 0.4).to_mesh(32), trimesh.creation.box().subdivide()
    for mesh in (BOX, can, thud.TriangleMesh(fine.vertices, fine.faces), thud.Sphere(1.0).to_mesh(40)):
        assert is_convex(mesh)
        # As files have their corners.
        assert is_convex(thud.TriangleMesh(np.asarray(mesh.vertices, dtype=np.float32), mesh.faces))
    for mesh in (_bracket(), _tube(1e-4, 0.03, 0.04), thud.TriangleMesh(can.vertices, np.asarray(can.faces)[1:])):
        assert not is_convex(mesh)


def test_contacts_that_no_points_decide_are_told() -> None:
    from thud.report.clash.assembly import _lathe, _tube

    # A pin that fills its hole, side by side: no point is deep, but to know it to a micrometre would take millions of points.
    tube, pin = _tube(0.03, 0.05, 0.2), _lathe([(0.0, -0.05), (0.03, -0.05), (0.03, 0.05), (0.0, 0.05)])
    for tolerance, told in ((1e-6, 1), (0.02, 0)):
        report = check(two(tube, pin, [0.0, 0.0, 0.0]), tolerance=tolerance)
        assert not report.clashes
        assert len(report.contacts) == 1
        assert len([note for note in report.notes if "may be deeper" in note]) == told, tolerance
