"""The mid phase "image": deforming meshes, seen in images of all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh
from thud.errors import InvalidInputError
from thud.imagespace import ImageOptions


def waving(count: int, seed: int) -> tuple[list[thud.TriangleMesh], np.ndarray]:
    """Meshes of about 1 m that a frame deforms, and where they are: some overlap by far, others are apart."""
    rng = np.random.default_rng(seed)
    meshes = [thud.TriangleMesh(*blob_mesh(8, int(k))) for k in range(count)]
    return meshes, rng.uniform(-3.0, 3.0, (count, 3))


def at_frame(mesh: thud.TriangleMesh, frame: int) -> np.ndarray:
    """Vertices of a later frame."""
    vertices = np.asarray(mesh.vertices)
    return vertices * (1.0 + 0.25 * np.sin(3.0 * vertices[:, [1, 2, 0]] + 0.7 * frame))


def fill(world: thud.World, meshes: list[thud.TriangleMesh], places: np.ndarray) -> list[int]:
    return [world.add(mesh, thud.Pose(place)) for mesh, place in zip(meshes, places, strict=True)]


def test_deforming_meshes_meet_as_without_it() -> None:
    meshes, places = waving(14, 3)
    image, none = thud.World(midphase="image"), thud.World(midphase="none")
    handles = fill(image, meshes, places)
    assert fill(none, meshes, places) == handles
    rejected = 0
    for frame in range(2):
        for handle, mesh in zip(handles, meshes, strict=True):
            shape = mesh.deformed(at_frame(mesh, frame))
            for world in (image, none):
                world.set_shape(handle, shape)
        want, got = none.intersecting().tolist(), image.intersecting().tolist()
        assert image.stats.mid_tested > image.stats.mid_rejected
        rejected += image.stats.mid_rejected
        assert len(want) > 10
        # All of them overlap by more than some pixels of an image of 6 m or so.
        assert got == want
    assert rejected > 0


def test_deforming_meshes_need_no_hulls() -> None:
    meshes, places = waving(10, 5)
    worlds = [thud.World(midphase=midphase) for midphase in ("auto", "hull", "none")]
    for world in worlds:
        handles = fill(world, meshes, places)
    for frame in range(3):
        bent = [mesh.deformed(at_frame(mesh, frame)) for mesh in meshes]
        for world in worlds:
            for handle, shape in zip(handles, bent, strict=True):
                world.set_shape(handle, shape)
        met = worlds[0].intersecting()
        # "auto" has made none of them, nor boxes along the axes of triangles for what it keeps from frame to frame.
        assert not any({"hull", "obbs"} & shape.__dict__.keys() for shape in bent)
        assert len(met) > 3
        for world in worlds[1:]:
            np.testing.assert_array_equal(world.intersecting(), met)
        assert all("hull" in shape.__dict__ for shape in bent)


def test_contacts_are_equal_to_the_last_bit() -> None:
    meshes, _ = waving(3, 0)
    found = []
    for midphase in ("image", "none"):
        world = thud.World(midphase=midphase)
        fill(world, meshes, np.array([[0.0, 0, 0], [1.6, 0.1, 0.0], [0.0, 9.0, 0.0]]))
        found.append(world.contacts())
    for name in ("handle_a", "handle_b", "point", "normal", "depth", "feature", "status"):
        assert getattr(found[0], name).tobytes() == getattr(found[1], name).tobytes()
    assert len(found[0].depth) > 0


def test_other_shapes_and_open_meshes_go_past_it() -> None:
    closed = thud.TriangleMesh(*blob_mesh(6, 0))
    opened = thud.TriangleMesh(closed.vertices, np.asarray(closed.faces)[:-1])
    found = []
    for midphase in ("image", "none"):
        world = thud.World(midphase=midphase)
        world.add(closed)
        world.add(opened, thud.Pose((0.3, 0.0, 0.0)))
        world.add(thud.Sphere(0.5), thud.Pose((0.0, 0.9, 0.0)))
        world.add(thud.Box((0.2, 0.2, 0.2)), thud.Pose((0.0, 1.2, 0.0)))
        world.add(thud.Compound([closed, thud.Sphere(0.1)]), thud.Pose((-0.9, 0.0, 0.0)))
        world.add(thud.HalfSpace((0, 0, 1), -0.5), static=True)
        world.add(thud.Sphere(0.5), thud.Pose((50.0, 0.0, 0.0)))
        found.append((world.intersecting().tolist(),))
        hit = world.raycast((0.0, 0.0, 9.0), (0.0, 0.0, -1.0))
        found[-1] += (hit.handle.tolist(), hit.distance.tolist())
    assert found[0] == found[1]
    assert len(found[0][0]) >= 9


def test_masks_and_filters_and_empty_worlds() -> None:
    mesh = thud.TriangleMesh(*blob_mesh(6, 0))
    world = thud.World(midphase="image", image=ImageOptions(resolution=(128, 96), views=2, layers=None))
    assert len(world.intersecting()) == 0
    a, b = world.add(mesh, layer=1), world.add(mesh, thud.Pose((0.4, 0, 0)), mask=0b01)
    c = world.add(mesh, thud.Pose((0.0, 0.4, 0)))
    assert world.intersecting().tolist() == [[a, c], [b, c]]
    world.filter = lambda first, second: second != c
    assert len(world.intersecting()) == 0


def test_small_overlaps_need_precision() -> None:
    """Two boxes that a tenth of a millimetre of overlap joins, in a scene of 40 m."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1.0)])
    box = thud.TriangleMesh(*(lambda hull: (hull.vertices, hull.triangles))(thud.ConvexHull(corners).topology))
    places = [[0, 0, 0], [1.9999, 1.9999, 1.9999], [40.0, 0, 0], [41.0, 0, 0]]
    wanted = thud.World(midphase="none")
    fine = thud.World(midphase="image", image=ImageOptions(precision=5e-5, views=3))
    for world in (wanted, fine):
        world.add_many(box, thud.Pose(places))
    assert fine.intersecting().tolist() == wanted.intersecting().tolist()
    assert len(wanted.intersecting()) == 2


def test_options_are_saved(tmp_path: Path) -> None:
    options = ImageOptions(resolution=(200, 100), views=2, layers=None, precision=0.01)
    world = thud.World(midphase="image", image=options)
    mesh = thud.TriangleMesh(*blob_mesh(6, 0))
    world.add_many(mesh, thud.Pose([[0, 0, 0], [0.3, 0, 0]]))
    thud.io.save_world(world, tmp_path / "w.npz")
    again = thud.io.load_world(tmp_path / "w.npz")
    assert again.image == options
    assert again.intersecting().tolist() == world.intersecting().tolist() != []
    state = world.state()
    for wrong in ({}, None, {"resolution": 512}, state["options"]["image"] | {"views": "all"}):
        with pytest.raises(InvalidInputError):
            thud.World.from_state(state | {"options": state["options"] | {"image": wrong}})
    with pytest.raises(InvalidInputError, match="image"):
        thud.World.from_state(state | {"options": state["options"] | {"midphase": "auto"}})


def test_named_errors() -> None:
    for name, value in (("views", 0), ("resolution", 3), ("layers", 0), ("precision", -1.0), ("backend", "vulkan")):
        with pytest.raises(InvalidInputError, match=name):
            ImageOptions(**{name: value})
    with pytest.raises(InvalidInputError, match="image"):
        thud.World(midphase="image", image={"views": 2})  # type: ignore[arg-type]
    mesh = thud.TriangleMesh(*blob_mesh(6, 0))
    for wrong in ([[0, 2]], [0, 1], [[0.5, 1.0]]):
        with pytest.raises(InvalidInputError, match="pairs"):
            thud.imagespace.interference([mesh, mesh], pairs=wrong)
    places = thud.Pose([[0.0, 0, 0], [0.2, 0, 0], [0.0, 0.2, 0]])
    assert thud.imagespace.interference([mesh] * 3, places, pairs=[[2, 0]]).pairs.tolist() == [[0, 2]]
    assert len(thud.imagespace.interference([mesh] * 3, pairs=np.empty((0, 2), int)).pairs) == 0
