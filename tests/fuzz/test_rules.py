"""The rules of the fuzz catch what they are made to catch: each answer is spoilt in one way, and a rule breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import thud
from tests.fuzz import casts, contacts, invariants, points
from tests.fuzz.blocks import ROWS, Block, make_block
from tests.fuzz.poses import POSES, cube_symmetries, tilts
from tests.fuzz.run import SIZES, Tally, main, run_block
from tests.fuzz.shapes import ASPECTS, KINDS, random_shape, reach_of, scaled


@pytest.fixture(scope="module")
def block() -> Block:
    return make_block("Box", "ConvexHull", 0)


def spoilt_answers(block: Block) -> dict[str, thud.Distances]:
    signed = invariants.query(block, signed=True)
    aside = np.cross(signed.normal, signed.normal[:, [1, 2, 0]] + 0.1)
    return {
        "distance": replace(signed, distance=signed.distance + 3 * block.limit),
        "not a number": replace(signed, distance=np.where(np.arange(ROWS) == 7, np.nan, signed.distance)),
        "status": replace(signed, status=np.full(ROWS, 3, dtype=np.uint8)),
        "sign": replace(signed, distance=-signed.distance),
        "normal": replace(signed, normal=-signed.normal),
        "length": replace(signed, normal=signed.normal * 1.001),
        "witness": replace(
            signed, point_a=signed.point_a + 1e-3 * block.size * aside, point_b=signed.point_b + 1e-3 * block.size * aside
        ),
    }


@pytest.mark.parametrize("how", ["distance", "not a number", "status", "sign", "normal", "length", "witness"])
def test_spoilt_distances_break_a_rule(block: Block, how: str) -> None:
    unsigned = invariants.query(block)
    met = thud.intersects(block.a, block.b, block.pose_a, block.pose_b)
    spoilt = spoilt_answers(block)[how]
    broken = [
        *invariants.check_fields(block, spoilt, unsigned, met),
        *invariants.check_witnesses(block, spoilt, unsigned),
        *invariants.check_planes(block, spoilt),
    ]
    assert broken
    assert "python -m tests.fuzz --seed 0 --pair Box ConvexHull --block 0 --row" in str(broken[0])


def spoil(monkeypatch: pytest.MonkeyPatch, name: str, **fields: object) -> None:
    """Make a query add something to fields of its answer."""
    original = getattr(thud, name)

    def query(*arguments: object, **options: object) -> object:
        answer = original(*arguments, **options)
        return replace(answer, **{field: change(getattr(answer, field)) for field, change in fields.items()})  # type: ignore[operator]

    monkeypatch.setattr(thud, name, query)


@pytest.mark.parametrize(
    ("check", "query", "field", "change"),
    [
        (contacts.check_contacts, "contacts", "depth", lambda depth: depth * 1.01),
        (contacts.check_contacts, "contacts", "point", lambda point: point * 1.001),
        (contacts.check_contacts, "contacts", "normal", lambda normal: normal + 1e-6),
        (contacts.check_contacts, "contacts", "patch", lambda patch: patch * 0),
        (casts.check_casts, "cast", "time", lambda time: time * 1.001),
        (casts.check_casts, "cast", "time", lambda time: time * 0.999),
        (casts.check_casts, "cast", "status", lambda status: np.where(status == 1, 0, status)),
        (casts.check_casts, "cast", "normal", lambda normal: -normal),
    ],
    ids=["depth", "point", "normal", "patch", "late", "early", "missed", "flipped"],
)
def test_spoilt_contacts_and_casts_break_a_rule(monkeypatch: pytest.MonkeyPatch, check, query: str, field: str, change) -> None:  # type: ignore[no-untyped-def]
    pair = make_block("Compound", "Compound", 0) if field == "patch" else make_block("Box", "ConvexHull", 0)
    signed = invariants.query(pair, signed=True)
    assert not list(check(pair, signed))
    spoil(monkeypatch, query, **{field: change})
    assert list(check(pair, signed))


@pytest.mark.parametrize(
    ("check", "query", "field", "change"),
    [
        (points.check_points, "closest_point", "distance", lambda d: d * 1.001),
        (points.check_points, "closest_point", "point", lambda p: p * 1.001),
        (points.check_rays, "raycast", "distance", lambda d: d * 1.001),
        (points.check_rays, "raycast", "distance", lambda d: np.where(np.isfinite(d), np.inf, d)),
        (points.check_rays, "raycast", "normal", lambda n: -n),
    ],
    ids=["distance", "point", "late", "missed", "flipped"],
)
def test_spoilt_points_and_rays_break_a_rule(monkeypatch: pytest.MonkeyPatch, check, query: str, field: str, change) -> None:  # type: ignore[no-untyped-def]
    pair = make_block("Cone", "Cone", 0)
    assert not list(check(pair))
    spoil(monkeypatch, query, **{field: change})
    assert list(check(pair))


def test_oracles_catch_a_depth_that_is_a_local_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    # Along the z axis both boxes overlap by 1.8, along x by 1: a depth of 1.8 with its own normal and witnesses is
    # consistent in itself. Only a search over all directions knows better.
    a, b = thud.Box([1, 1, 1]), thud.Box([1, 1, 1])
    pose = thud.Pose([[1.0, 0, 0.2]])
    one = Block("Box", "Box", 0, 0, a, b, thud.Pose([[0.0, 0, 0]]), pose)
    assert not list(invariants.check_oracles(one))
    witness_a, witness_b, up = (np.array([point]) for point in ([0.5, 0, 1.0], [0.5, 0, -0.8], [0.0, 0, 1]))
    wrong = thud.Distances(np.array([-1.8]), witness_a, witness_b, up, np.array([1], dtype=np.uint8))
    assert not list(invariants.check_witnesses(one, wrong, invariants.query(one)))
    monkeypatch.setattr(invariants, "query", lambda *_arguments, **_options: wrong)
    assert list(invariants.check_oracles(one))


def test_blocks_depend_on_nothing_but_their_names() -> None:
    first, again = make_block("Cone", "Compound", 5, 3), make_block("Cone", "Compound", 5, 3)
    np.testing.assert_array_equal(first.pose_a.rows, again.pose_a.rows)
    np.testing.assert_array_equal(first.pose_b.rows, again.pose_b.rows)
    assert repr(first.a) == repr(again.a)
    assert not np.array_equal(first.pose_b.rows, make_block("Cone", "Compound", 5, 4).pose_b.rows)


def test_poses_are_what_they_are_called() -> None:
    assert len({matrix.tobytes() for matrix in cube_symmetries()}) == 24
    angles = np.arccos(np.clip((np.trace(tilts(500, np.random.default_rng(0)), axis1=1, axis2=2) - 1) / 2, -1, 1))
    assert angles.max() <= 0.786
    assert angles.min() < 1e-7
    boxes = make_block("Box", "Box", 0)
    distance = invariants.query(boxes, signed=True).distance / boxes.size
    offset = np.abs(boxes.pose_a.position).max(axis=1)
    near = offset < 1e5
    by_kind = {kind: distance[(np.arange(ROWS) % len(POSES) == k) & near] for k, kind in enumerate(POSES)}
    assert (by_kind["deep"] < 0).all()
    assert (by_kind["far"] > 0).all()
    assert (by_kind["coincident"] < 0).all()
    assert (np.abs(by_kind["touching"]) < 2e-6).mean() > 0.9
    assert (np.abs(by_kind["kissing"]) < 2e-6).any()
    assert (offset > 1e5).any()


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_shapes_are_as_many_times_as_large(kind: str) -> None:
    rng = np.random.default_rng(2)
    for aspect in ASPECTS:
        shape = random_shape(kind, aspect, 3.0, rng)
        np.testing.assert_allclose(reach_of(scaled(shape, 4.0)), 4.0 * reach_of(shape), rtol=1e-12)


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--pair", "Sphere", "Box", "--block", "1", "--row", "3"])
    assert "oracle:" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["--pair", "Sphere", "Sphere", "--block", "1", "--seed", "9"])
    assert ended.value.code == 0
    assert "200 poses, 20 compared with oracles, 0 unconverged, 0 failures" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--row", "3"])
    assert 81 * ROWS * SIZES["full"] >= 1_000_000
    tally = Tally()
    run_block("Sphere", "Sphere", 0, 0, tally, ("distance",))
    assert (tally.poses, tally.compared) == (ROWS, 0)
