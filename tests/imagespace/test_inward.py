"""Pairs that no edge shows: equal meshes in one place or nearly so, meshes inside meshes, meshes thinner than a pixel."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.imagespace.agreement import torus_mesh
from tests.oracles.meshes import blob_mesh, box_mesh
from thud.imagespace import ImageOptions, interference

TURN = np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2])

SHAPES = {
    "cube": thud.Box((1.0, 1.0, 1.0)).to_mesh(),
    "box": thud.TriangleMesh(*box_mesh((1.0, 0.7, 0.5))),
    "blob": thud.TriangleMesh(*blob_mesh(8, 3)),
    "ring": thud.TriangleMesh(*torus_mesh(12, 7, 0.3)),
    "plate": thud.TriangleMesh(*box_mesh((1.0, 1.0, 0.02))),
    "foil": thud.TriangleMesh(*box_mesh((1.0, 1.0, 1e-5))),
    "rod": thud.TriangleMesh(*box_mesh((1.0, 0.03, 0.03))),
}


def at(*places: tuple[float, float, float] | np.ndarray) -> thud.Pose:
    return thud.Pose(np.array(places, float), np.tile(TURN, (len(places), 1)))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", ["cube", "box", "blob", "ring", "plate"])
def test_equal_meshes_less_than_a_pixel_apart(name: str, exact: bool) -> None:
    """Both objects' edges are drawn a pixel outside, and so outside of the other object as well: no edge shows the pair."""
    mesh = SHAPES[name]
    # The view is tight around the overlap of the two boxes: about their diameter over 512 pixels.
    pixel = 2.0 * mesh.bounding_sphere()[1] / 512
    for part in (0.0, 0.1, 0.3, 0.49, 0.8):
        for way in ((1.0, 0.0, 0.0), (0.3, -0.5, 0.8)):
            apart = part * pixel * np.array(way) / np.linalg.norm(way)
            got = interference([mesh, mesh], at((0, 0, 0), apart), exact=exact)
            assert got.pairs.tolist() == [[0, 1]], (part, way)


@pytest.mark.parametrize("name", list(SHAPES))
@pytest.mark.parametrize("turned", [False, True])
def test_equal_meshes_in_one_place(name: str, turned: bool) -> None:
    """However thin they are: foil of 20 micrometres over 2 m, and a rod that few rays meet. The second is turned by a full
    circle's rounding, so that its vertices are not the same to the last bit."""
    mesh = SHAPES[name]
    places = np.zeros((2, 3)), np.array([TURN, -TURN / np.linalg.norm(TURN) if turned else TURN])
    got = interference([mesh, mesh], thud.Pose(*places))
    assert got.pairs.tolist() == [[0, 1]]
    # Points lie in or on both, to a hundredth of a pixel of the small image.
    assert len(got.points)
    for row in thud.Pose(*places).rows:
        away = thud.closest_point(mesh, got.points, pose=thud.Pose.from_rows(row), signed=True).distance
        assert away.max() <= 1e-3


def test_three_in_one_place_and_who_is_seen_how() -> None:
    mesh = SHAPES["box"]
    got = interference([mesh] * 4, at((0, 0, 0), (0, 0, 0), (0, 0, 0), (0.9, 0.1, 0.2)), views=3)
    assert got.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    # 1 and 2 are hidden behind 0, which is the first at their depth; the fourth crosses them all.
    edges = [bool((got.edge_object[got.point_pair == k] >= 0).any()) for k in (2, 3, 4, 5)]
    assert edges == [True, False, True, True]
    assert ((got.edge_object < 0) == (got.edge < 0).all(axis=1)).all()
    np.testing.assert_array_equal(np.bincount(got.point_pair), got.pixels)
    assert len(got.not_closed) == 0
    assert got.inward >= 1


def test_small_ones_in_a_large_scene() -> None:
    """A millimetre of a scene of 200 m: a pixel of the common view is 40 cm, that of the pair is a fiftieth of a millimetre."""
    large, small = thud.TriangleMesh(*box_mesh(30.0)), thud.TriangleMesh(*box_mesh(5e-4))
    far = (170.0, 3.0, 1.0)
    places = at((0, 0, 0), (40.0, 5.0, 2.0), far, far, (170.0, 3.0005, 1.0), (170.0, 3.01, 1.0))
    got = interference([large, large, small, small, small, small], places)
    assert got.pairs.tolist() == [[0, 1], [2, 3], [2, 4], [3, 4]]


@pytest.mark.parametrize("scale", [0.9999, 0.99, 0.5, 0.01, 1e-6])
def test_one_inside_the_other(scale: float) -> None:
    for name in ("box", "blob", "ring"):
        mesh = SHAPES[name]
        # Somewhere inside: in the tube of the ring, in the middle of the others.
        inner = thud.TriangleMesh(np.asarray(mesh.vertices) * scale, mesh.faces)
        place = (1.0 - scale, 0.0, 0.0) if name == "ring" and scale < 0.3 else (0.0, 0.0, 0.0)
        if name == "ring" and 0.3 < scale < 0.99:
            continue
        for pair in ((mesh, inner), (inner, mesh)):
            poses = [(0.0, 0.0, 0.0), place] if pair[0] is mesh else [place, (0.0, 0.0, 0.0)]
            assert interference(pair, thud.Pose(np.array(poses)), resolution=64).pairs.tolist() == [[0, 1]], name


def test_what_is_in_a_cavity_is_outside() -> None:
    """A hollow box, its inner wall facing inward: what floats in it overlaps nothing, however it is looked at."""
    corners, faces = box_mesh(1.0)
    hollow = thud.TriangleMesh(np.concatenate([corners, 0.8 * corners]), np.concatenate([faces, faces[:, ::-1] + len(corners)]))
    small = thud.TriangleMesh(*box_mesh(0.3))
    for exact in (False, True):
        got = interference([hollow, small], at((0, 0, 0), (0.1, 0.0, 0.2)), views=3, exact=exact)
        assert len(got.pairs) == 0
        assert got.inward == 3
    # In its wall, smaller than a pixel.
    tiny = thud.TriangleMesh(*box_mesh(1e-3))
    assert interference([hollow, tiny], thud.Pose([[0, 0, 0], [0.9, 0, 0]])).pairs.tolist() == [[0, 1]]
    # Hollow ones in one place share their walls.
    assert interference([hollow, hollow], at((0, 0, 0), (1e-5, 0, 0))).pairs.tolist() == [[0, 1]]


def test_exact_finds_what_no_image_shows() -> None:
    """Two foils that cross: their common part is a thread of 20 micrometres, which lies between rays. `exact` asks about every
    pair whose boxes overlap; it once asked only about those that were seen."""
    foil = SHAPES["foil"]
    half = np.sqrt(0.5)
    places = thud.Pose([[0, 0, 0], [0.01, 0.02, 0.03], [0.0, 9.0, 0.0]], [[1, 0, 0, 0], [half, half, 0, 0], [1, 0, 0, 0]])
    seen = interference([foil] * 3, places, resolution=16)
    exact = interference([foil] * 3, places, resolution=16, exact=True)
    assert exact.pairs.tolist() == [[0, 1]]
    assert set(map(tuple, seen.pairs.tolist())) <= {(0, 1)}
    assert exact.pixels.tolist() == (seen.pixels.tolist() or [0])
    np.testing.assert_array_equal(exact.point_pair, np.zeros(len(exact.points)))
    # Of two pairs one of which was not seen, points belong to the other.
    box = SHAPES["box"]
    places = thud.Pose(
        np.concatenate([places.position[:2], [[9, 0, 0], [9.5, 0, 0]]]), np.concatenate([places.quaternion[:2], [TURN] * 2])
    )
    got = interference([foil, foil, box, box], places, resolution=16, exact=True)
    assert got.pairs.tolist() == [[0, 1], [2, 3]]
    assert (got.point_pair[got.points[:, 0] > 5.0] == 1).all()
    assert got.pixels[1] > 0


def test_the_same_for_any_number_of_threads_and_either_way_round() -> None:
    rng = np.random.default_rng(5)
    meshes = [SHAPES[name] for name in ("box", "blob", "ring", "plate", "box", "ring", "rod")]
    places = rng.uniform(-0.6, 0.6, (7, 3))
    places[4], places[5] = places[0], places[2] + 1e-4
    one, three = (interference(meshes, at(*places), resolution=96, threads=count) for count in (1, 3))
    for name in ("pairs", "pixels", "points", "point_pair", "edge_object", "edge"):
        assert getattr(one, name).tobytes() == getattr(three, name).tobytes()
    back = interference(meshes[::-1], at(*places[::-1]), resolution=96)
    assert {tuple(sorted((6 - a, 6 - b))) for a, b in back.pairs.tolist()} == set(map(tuple, one.pairs.tolist()))


@pytest.mark.parametrize("backend", ["cpu", "gl"])
def test_either_backend(backend: str) -> None:
    mesh = SHAPES["blob"]
    got = interference([mesh] * 3, at((0, 0, 0), (1e-4, 0, 0), (0.9, 0.4, 0)), resolution=64, backend=backend)
    assert got.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize("apart", [0.0, 1e-9, 1e-4])
def test_worlds_have_contacts_of_equal_boxes_in_one_place(apart: float) -> None:
    """A world whose mid phase looks at images gave none: the pair was culled as not seen."""
    box = thud.Box((1.0, 1.0, 1.0)).to_mesh()
    found = []
    for midphase, image in (("image", None), ("image", ImageOptions(resolution=64, views=1)), ("none", None)):
        world = thud.World(midphase=midphase, image=image)
        world.add_many(box, thud.Pose([[0, 0, 0], [apart, 0, 0], [30.0, 0, 0]]))
        found.append(world.contacts())
    for name in ("handle_a", "handle_b", "point", "normal", "depth"):
        for other in found[:2]:
            assert getattr(other, name).tobytes() == getattr(found[2], name).tobytes()
    assert len(found[0].depth) > 0
    assert (found[0].depth > 0.99).any()
