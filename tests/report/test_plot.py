"""`thud.plot`: everything that can be drawn is, where it is, and what cannot is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError
from thud.particles.maps.drawn import collider_triangles

pytest.importorskip("matplotlib")
import matplotlib as mpl

mpl.use("Agg")
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

BOX, BALL = thud.Box((0.5, 0.4, 0.3)), thud.Sphere(0.4)


def drawn(axes: object, kind: type) -> list:
    return [one for one in axes.collections if type(one) is kind]  # type: ignore[attr-defined]


def limits(axes: object) -> np.ndarray:
    return np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])  # type: ignore[attr-defined]


def test_shapes_are_where_their_poses_say() -> None:
    poses = thud.Pose([[1.0, 0, 0], [5.0, 0, 0]])
    axes = thud.plot((BOX, poses), BALL)
    assert len(drawn(axes, Poly3DCollection)) == 3
    np.testing.assert_allclose(limits(axes)[:, 0], [-0.4, -0.4, -0.4], atol=0.02)
    np.testing.assert_allclose(limits(axes)[:, 1], [5.5, 0.4, 0.4], atol=0.02)
    mpl.pyplot.close("all")


def test_a_world_with_its_contacts_is_one_line(tmp_path) -> None:
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
    world.add(BOX, thud.Pose([0.0, 0.0, 0.29]), name="box")
    world.add(BALL, thud.Pose([2.0, 0.0, 3.0]))
    found = world.contacts()
    axes = thud.plot(world, found, file=tmp_path / "world.png", normals=0.5)
    assert (tmp_path / "world.png").stat().st_size > 10_000
    assert len(drawn(axes, Poly3DCollection)) == 3
    (arrows,) = drawn(axes, Line3DCollection)
    ends = np.array(arrows._segments3d)
    np.testing.assert_allclose(ends[:, 0], found.point)
    np.testing.assert_allclose(ends[:, 1] - ends[:, 0], 0.5 * found.normal)
    # The plane is drawn as far as the others reach.
    assert limits(axes)[2, 0] <= 0.0
    assert len(mpl.pyplot.get_fignums()) == 0


@pytest.mark.parametrize("kind", ["aabb", "sphere", "obb", "kdop"])
def test_volumes_are_wires_about_their_shape(kind: str) -> None:
    hull = thud.ConvexHull(np.random.default_rng(1).normal(size=(20, 3)))
    volume = hull.fit(kind)
    axes = thud.plot(volume)
    ends = np.concatenate([np.array(one._segments3d).reshape(-1, 3) for one in drawn(axes, Line3DCollection)])
    edges = {"aabb": 12, "obb": 12, "sphere": 3 * 48}
    if kind in edges:
        assert len(ends) == 2 * edges[kind]
    inward = ends + 1e-6 * ((volume.aabb.center if kind == "kdop" else volume.center) - ends)
    assert volume.contains(inward).all()
    mpl.pyplot.close("all")


def test_results_rays_poses_and_points_are_drawn() -> None:
    origins, rays = thud.geometry.camera_rays([-4, 0, 0], [1, 0, 0], [0, 0, 1], 0.1, 3, 2)
    hits = thud.raycast(BOX, origins, rays)
    things = {
        "distances": thud.distance(BOX, BALL, None, thud.Pose([3.0, 0, 0])),
        "impacts": thud.cast(BOX, BALL, None, thud.Pose([3.0, 0, 0]), [4.0, 0, 0]),
        "points": thud.closest_point(BOX, [[2.0, 0, 0]]),
        "crossings": thud.raycast_all(BOX, origins, rays),
        "contacts": thud.contacts(BOX, BOX),
        "pose": thud.Pose([1.0, 2.0, 3.0]),
        "rays": (origins, hits),
        "hits": hits,
        "array": np.zeros((3, 3)),
    }
    for name, thing in things.items():
        axes = thud.plot(BOX, thing)
        assert len(axes.collections) > 1, name
        mpl.pyplot.close("all")
    axes = thud.plot((origins, hits))
    lines = np.array(drawn(axes, Line3DCollection)[0]._segments3d)
    np.testing.assert_allclose(lines[:, 0], origins)
    np.testing.assert_allclose(lines[:, 1], hits.point)
    again = thud.plot(BOX, ax=axes)
    assert again is axes
    mpl.pyplot.close("all")


def test_particles_their_colliders_and_what_images_show_are_drawn() -> None:
    # None of them was: the page says that results are.
    p = thud.particles
    hail = p.ParticleSystem([[0.5, 0.5, 5.0], [0.2, 0.4, 6.0]], [0.0, 0.0, -1.0])
    plate = p.Rectangle([0.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    hits = hail.impacts([plate], 0.0, 9.0)
    axes = thud.plot(plate, hits, hail.states(1.0), normals=0.5)
    (arrows,) = drawn(axes, Line3DCollection)
    np.testing.assert_allclose(np.array(arrows._segments3d)[:, 0], hits.point)
    np.testing.assert_allclose(limits(axes), [[0.0, 2.0], [0.0, 1.0], [1.0, 5.0]], atol=1e-6)
    again = thud.plot(p.impact_map(hail, [plate], 0.0, 9.0, resolution=8).decode())
    np.testing.assert_allclose(limits(again)[2], [1.0, 1.0], atol=0.1)
    ball, box, far = BALL.to_mesh(), BOX.to_mesh(), thud.Pose([[0, 0, 0], [0.6, 0, 0]])
    seen = thud.imagespace.interference([ball, box], far, resolution=64)
    thud.plot(seen, thud.imagespace.contacts([ball, box], far, seen))
    world = thud.World()
    world.add(BOX)
    thud.plot(world, world.cast(BALL, thud.Pose([0.0, 0.0, 3.0]), [0.0, 0.0, -4.0]))
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    colliders = [
        p.Plane([0, 0, 0], [0, 0, 1]), p.Disc([1, 1, 1], [0, 0, 1], 0.5), p.Polygon([[0, 0, 2], [1, 0, 2], [0, 1, 2]]),
        p.Quadric.ellipsoid([3, 0, 0], [1, 2, 1]), p.Blobs([[0, 3, 0]], 1.0), p.Skeleton([[[-1, 0, 0], [1, 0, 0]]], 0.6),
        p.Solid(BOX), p.Mesh(ball), p.Surface(thud.terrain.from_heights(np.zeros((9, 9)), 1.0).surface),
        p.ImplicitPatches(corners, [[0, 1, 2, 3]], [[-1, -1, -1, 0.5, -1, -1, 0.5, -1, 0.5, 1]]),
    ]  # fmt: skip
    for collider in colliders:
        (one,) = drawn(thud.plot(collider), Poly3DCollection)
        assert len(one.get_facecolor()) > 10, collider
        mpl.pyplot.close("all")
    assert len(drawn(thud.plot(p.ColliderSet(colliders)), Poly3DCollection)) == len(colliders)
    mpl.pyplot.close("all")


def test_rims_and_holes_are_drawn() -> None:
    # A chart is a square, and all of it was drawn.
    p = thud.particles
    square, hole = [[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]], [[1, 1, 0], [3, 1, 0], [3, 2, 0], [1, 2, 0]]
    for collider, area in (
        (p.Disc([1, 1, 1], [0, 0.6, 0.8], 2.0), 4.0 * np.pi),
        (p.Polygon(square, holes=[hole]), 14.0),
        (p.Solid(thud.Cone(1.0, 1.0)), np.pi * (1.0 + np.sqrt(5.0))),
        (p.Solid(thud.Compound([BALL, BALL], thud.Pose([[0, 0, 0], [2, 0, 0]]))), 2.0 * 4.0 * np.pi * 0.16),
        (p.Quadric.ellipsoid([0, 0, 0], [1, 1, 1], clip=[[0, 0, 1, 0]]), 2.0 * np.pi),
    ):
        corners = collider_triangles(collider)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert 0.5 * np.linalg.norm(across, axis=1).sum() == pytest.approx(area, rel=0.02), collider


def test_ropes_cloth_and_characters_are_drawn() -> None:
    # A rope has no faces: its sticks are lines; of a cloth, whose tethers cross it, the faces are drawn.
    (lines,) = drawn(thud.plot(thud.dynamics.rope([0, 0, 2], [3, 0, 2], 7)), Line3DCollection)
    assert len(lines._segments3d) == 6
    axes = thud.plot(thud.dynamics.cloth((4, 5), 0.1))
    (sheet,) = drawn(axes, Poly3DCollection)
    assert len(sheet.get_facecolor()) == 2 * 3 * 4
    assert not drawn(axes, Line3DCollection)
    crowd = thud.dynamics.Character([[0.3, 0.3, 0.9], [0.3, 0.3, 0.9], [0.5, 0.5, 0.5]], [[0, 0, 1], [4, 0, 1], [0, 4, 1]])
    axes = thud.plot(crowd)
    assert len(drawn(axes, Poly3DCollection)) == 3
    np.testing.assert_allclose(limits(axes)[:, 1], [4.3, 4.5, 1.9], atol=0.05)
    mpl.pyplot.close("all")


def test_what_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    for wrong in ("text", 3.0, (BOX, BALL, BOX), np.zeros(3)):
        with pytest.raises(InvalidInputError, match="cannot draw"):
            thud.plot(wrong)
    with pytest.raises(InvalidInputError, match=r"the file to write is file='box\.png'"):
        thud.plot(BOX, "box.png")
    with pytest.raises(InvalidInputError, match="points: row 0 is not finite"):
        thud.plot(np.full((3, 3), np.nan))
    with pytest.raises(InvalidInputError, match=r"file: expected a name that ends in .png"):
        thud.plot(BOX, file=tmp_path / "box.foo")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        thud.plot(BOX, file=tmp_path / "none" / "box.png")
    assert not list(tmp_path.iterdir())
    with pytest.raises(InvalidInputError, match="something to draw"):
        thud.plot()
    with pytest.raises(InvalidInputError, match="ax"):
        thud.plot(BOX, ax=mpl.pyplot.figure().add_subplot())
    with pytest.raises(InvalidInputError, match="unbounded"):
        thud.plot(thud.Compound([BOX, thud.HalfSpace((0, 0, 1), 0.0)]))
    mpl.pyplot.close("all")


def test_every_shape_is_a_mesh() -> None:
    for shape in (BOX, BALL, thud.Capsule(0.2, 0.4), thud.Cylinder(0.2, 0.4), thud.Cone(0.2, 0.4), thud.Ellipsoid((1, 2, 3))):
        fine, coarse = shape.to_mesh(64), shape.to_mesh(resolution=8)
        assert abs(fine.volume - shape.volume) < 0.02 * shape.volume
        assert len(coarse.faces) <= len(fine.faces)
        assert thud.to_mesh(shape, segments=64).vertices.tobytes() == fine.vertices.tobytes()
    pair = thud.Compound([BOX, BALL], [thud.Pose([2.0, 0, 0]), thud.Pose()])
    whole = pair.to_mesh(16)
    assert whole.vertices.tobytes() == thud.to_mesh(pair, segments=16).vertices.tobytes()
    assert whole.to_mesh() is whole
    for resolution in (3, 10**9):
        with pytest.raises(InvalidInputError, match="resolution"):
            BALL.to_mesh(resolution)


def test_bodies_are_found_by_name() -> None:
    world = thud.World()
    first, other = world.add(BOX, name="door"), world.add(BALL, name="wheel")
    second = world.add(BALL, name="door")
    assert world.find("door").tolist() == [first, second]
    assert world.find("wheel").tolist() == [other]
    assert len(world.find("roof")) == 0
    world.remove(first)
    assert world.find("door").tolist() == [second]
    with pytest.raises(InvalidInputError, match="name"):
        world.find(3)
    for wrong in ([first, second], [other, second]):
        for ask in (world.name, world.shape):
            with pytest.raises(thud.ThudError):
                ask(wrong)
