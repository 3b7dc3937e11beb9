"""The class: what it refuses, what it keeps, its tree and bytes, mass, meshes, worlds, particles."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import thud
from tests.heightfield.fields import KINDS, make, mesh_of, others
from thud.bvh.height_tree import BLOCK
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError

GOOD = np.zeros((3, 3))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"heights": np.zeros(4)}, "heights: expected an array"),
        ({"heights": np.zeros((1, 9))}, "heights: expected an array"),
        ({"heights": np.zeros((9, 1))}, "heights: expected an array"),
        ({"heights": np.zeros((0, 0))}, "heights: expected an array"),
        ({"heights": np.zeros((2, 2, 2))}, "heights: expected an array"),
        ({"heights": np.full((3, 3), np.nan)}, "heights: no triangle"),
        ({"heights": [[0.0, np.nan], [np.nan, 0.0]]}, "heights: no triangle"),
        ({"heights": [[0.0, np.inf, 0.0], [0.0, 0.0, 0.0]]}, "heights: row 0, column 1"),
        ({"heights": [[0.0, 1.0], [-np.inf, 0.0]]}, "heights: row 1, column 0"),
        ({"heights": np.zeros((3, 3), complex)}, "heights: expected numbers"),
        ({"heights": np.zeros((3, 3), object)}, "heights: expected numbers"),
        ({"heights": "ground"}, "heights: expected numbers"),
        ({"heights": np.ma.masked_equal(GOOD.astype(np.int16), 0)}, "heights: masked int16 have no NaN"),
        ({"heights": np.full((3, 3), 1e16)}, "heights: the field reaches"),
        ({"spacing": 0.0}, "spacing: expected positive"),
        ({"spacing": -1.0}, "spacing: expected positive"),
        ({"spacing": np.nan}, "spacing"),
        ({"spacing": [1.0, 1.0, 1.0]}, "spacing: expected positive"),
        ({"spacing": [1.0, 0.0]}, "spacing: expected positive"),
        ({"spacing": 1e15}, "heights: the field reaches"),
        ({"spacing": 1e-40}, "spacing: expected a length"),
        ({"origin": [0.0, 0.0]}, "origin: expected shape"),
        ({"origin": [0.0, np.inf, 0.0]}, "origin"),
        ({"origin": [2e15, 0.0, 0.0]}, "heights: the field reaches"),
        ({"thickness": 0.0}, "thickness"),
        ({"thickness": -1.0}, "thickness"),
        ({"thickness": np.inf}, "thickness"),
        ({"scale": 0.0}, "scale: expected a positive"),
        ({"scale": [1.0, 2.0]}, "scale: expected a positive"),
        ({"hole": -1}, "hole: heights are float64"),
        ({"heights": GOOD.astype(np.int16), "hole": 2**15}, "hole: expected a whole number"),
        ({"heights": GOOD.astype(np.int16), "hole": 0.5}, "hole: expected a whole number"),
        ({"heights": GOOD.astype(np.int16), "hole": True}, "hole: expected a whole number"),
        ({"heights": GOOD.astype(np.int16), "hole": 0}, "heights: no triangle"),
    ],
)
def test_what_is_refused(arguments, text):
    """By name, before any kernel of a query runs."""
    with pytest.raises(InvalidInputError, match=text):
        thud.HeightField(**({"heights": GOOD, "spacing": 1.0} | arguments))


def test_types_are_kept():
    """Three as they are, others as what holds them."""
    kept = {np.float64: np.float64, np.float32: np.float32, np.int16: np.int16, np.float16: np.float32, np.int8: np.int16}
    kept |= {np.uint8: np.int16, np.int32: np.float64, np.int64: np.float64, np.uint16: np.float64}
    for given, kind in kept.items():
        assert np.asarray(thud.HeightField(np.ones((3, 3), given), 1.0).heights).dtype == kind
    given = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    field = thud.HeightField(given, 1.0)
    given[:] = 7.0
    np.testing.assert_array_equal(field.heights, np.arange(12.0).reshape(3, 4))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(field.heights)[0, 0] = 1.0


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int16])
def test_the_tree_adds_at_most_a_quarter(kind):
    """From 16 samples a side on; and nothing else is kept after queries."""
    for rows, columns in ((17, 17), (18, 18), (40, 70), (257, 129), (16, 1000)):
        field = thud.HeightField(np.zeros((rows, columns), kind), 1.0)
        assert field.nbytes <= 1.25 * np.asarray(field.heights).nbytes + 24 * len(field.grid.levels)
        thud.raycast(field, [3.0, 3.0, 9.0], [0.0, 0.0, -1.0])
        thud.distance(field, thud.Sphere(0.5), None, thud.Pose([3.0, 3.0, 4.0]))
        large = [v for v in field.__dict__.values() if isinstance(v, np.ndarray) and v.size > 100]
        assert len(large) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_holds_its_samples(kind):
    """Every node has the least and the greatest of its block; a block of holes has none."""
    field = make(kind)
    heights = np.array(field.heights, dtype=float)
    if field.hole is not None:
        heights[np.asarray(field.heights) == field.hole] = np.nan
    nodes = {np.dtype(np.float64): field.grid.nodes64, np.dtype(np.float32): field.grid.nodes32}.get(
        np.asarray(field.heights).dtype, field.grid.nodes16
    )
    for level, (first, across, down) in enumerate(field.grid.levels.tolist()):
        side = BLOCK << level
        for j in range(down):
            for i in range(across):
                block = heights[j * side : (j + 1) * side + 1, i * side : (i + 1) * side + 1]
                low, high = nodes[first + j * across + i].tolist()
                if np.isnan(block).all():
                    assert low > high
                else:
                    assert (low, high) == (np.nanmin(block), np.nanmax(block))


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_mass_and_mesh_are_those_of_the_solid(kind):
    """Against the closed mesh that the tests make."""
    field = make(kind, seed=2)
    mesh = mesh_of(field)
    size = 1.0 + float(np.abs(np.asarray(field.origin)).max())
    turn = np.array([[0.5, 0.5, -0.5, 0.5], [0.1, 0.7, 0.5, -0.5], [1.0, 0, 0, 0]])
    poses = thud.Pose([[1.0, 2.0, 3.0]] * 3, turn / np.linalg.norm(turn, axis=1)[:, None])
    for found, known in zip(
        (field.bounds(poses).lower, field.bounds(poses).upper), (mesh.bounds(poses).lower, mesh.bounds(poses).upper)
    ):
        np.testing.assert_allclose(found, known, atol=1e-12 * size)
    assert field.volume == pytest.approx(mesh.volume, rel=1e-9 if kind != "far" else 1e-3)
    if kind != "far":
        np.testing.assert_allclose(field.centroid, mesh.centroid, atol=1e-9)
        np.testing.assert_allclose(field.inertia(3.0), mesh.inertia(3.0), rtol=1e-6, atol=1e-6)
    own = field.to_mesh()
    assert own.is_closed
    assert own.volume == pytest.approx(mesh.volume, rel=1e-9 if kind != "far" else 1e-3)
    center, radius = field.bounding_sphere()
    assert np.linalg.norm(np.asarray(own.vertices) - center, axis=1).max() <= radius * (1.0 + 1e-12)


def test_without_end():
    """Unbounded below, whichever way that is; no mass; its mesh is the surface alone."""
    field = make("rough", thickness=None)
    box = field.bounds(thud.Pose([0.0, 0, 0], [[1.0, 0, 0, 0], [0.0, 1, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0, 0]]))
    assert np.isneginf(box.lower[0]).tolist() == [False, False, True]
    assert np.isposinf(box.upper[1]).tolist() == [False, False, True]
    assert np.isposinf(box.upper[2]).tolist() == [False, True, False]
    assert field.volume == np.inf
    assert field.bounding_sphere()[1] == np.inf
    assert field.is_ground
    for ask in (lambda: field.centroid, field.inertia):
        with pytest.raises(UnboundedShapeError, match="without a thickness"):
            ask()
    assert not thud.to_mesh(field).is_closed
    with pytest.raises(InvalidShapeError, match="heights"):
        thud.HeightField(np.full((2, 2), 1e15), 1.0, (0, 0, 1e15))


@pytest.mark.parametrize("kind", ["rough", "holes", "float32", "int16"])
@pytest.mark.parametrize("thickness", [None, 0.4])
def test_saved_worlds_have_the_same_field(tmp_path, kind, thickness):
    """To the last bit, type included; pickled too."""
    field, world = make(kind, thickness=thickness), thud.World()
    handle = world.add(field, static=True)
    world.add(thud.Box((0.2, 0.2, 0.2)), thud.Pose([0.0, 0.0, 2.0]))
    thud.io.save_world(world, tmp_path / "world")
    back = thud.io.load_world(tmp_path / "world").shape(handle)
    for one in (back, pickle.loads(pickle.dumps(field))):
        assert np.asarray(one.heights).dtype == np.asarray(field.heights).dtype
        assert np.asarray(one.heights).tobytes() == np.asarray(field.heights).tobytes()
        for name in ("spacing", "origin"):
            np.testing.assert_array_equal(getattr(one, name), getattr(field, name))
        assert (one.thickness, one.scale, one.hole) == (field.thickness, field.scale, field.hole)


def test_hostile_saved_fields_are_refused():
    """Each number is looked at."""
    from thud.world.field_state import field_from, field_numbers

    reals, ints = field_numbers(make("int16"))
    for place, value in ((0, 3), (0, -1), (1, 2**40), (2, -5), (3, 2), (4, 7), (5, 2**20)):
        wrong = ints.copy()
        wrong[place] = value
        with pytest.raises(InvalidInputError):
            field_from(reals, wrong)
    with pytest.raises(InvalidInputError):
        field_from(reals[:-1], ints)
    with pytest.raises(InvalidInputError):
        field_from(reals, ints[:4])


@pytest.mark.parametrize("thickness", [None, 0.5])
def test_in_a_world(thickness):
    """Rays, contacts, distances and impacts are those of the pairs; ground without end is static."""
    field = make("smooth", thickness=thickness)
    world = thud.World()
    ground = world.add(field, static=True)
    rng, shapes = np.random.default_rng(1), [shape for name, shape in others().items() if name != "open mesh"]
    box = field.to_mesh().bounds()
    handles, poses = [], []
    for k in range(20):
        place = rng.uniform(box.lower[0], box.upper[0] + [0, 0, 0.5])
        poses.append(thud.Pose(place))
        handles.append(world.add(shapes[k % len(shapes)], poses[-1], velocity=[0.0, 0.0, -5.0]))
    met = {tuple(sorted(pair)) for pair in zip(*(world.contacts().handle_a.tolist(), world.contacts().handle_b.tolist()))}
    gaps, impacts = world.distances(0.5), world.impacts(0.1)
    near = {tuple(sorted(pair)): d for *pair, d in zip(gaps.handle_a.tolist(), gaps.handle_b.tolist(), gaps.distance.tolist())}
    times = {tuple(sorted(p)): t for *p, t in zip(impacts.handle_a.tolist(), impacts.handle_b.tolist(), impacts.time.tolist())}
    for k, handle in enumerate(handles):
        pair = tuple(sorted((ground, handle)))
        shape = shapes[k % len(shapes)]
        assert (pair in met) == bool(thud.intersects(field, shape, None, poses[k])[0])
        gap = float(thud.distance(field, shape, None, poses[k]).distance[0])
        assert (pair in near) == (gap <= 0.5)
        if pair in near:
            assert near[pair] == pytest.approx(gap, abs=1e-9)
        cast = thud.cast(field, shape, None, poses[k], motion_b=[0.0, 0.0, -0.5])
        assert (pair in times) == bool(np.isfinite(cast.time[0]))
    origins = rng.uniform(box.lower[0], box.upper[0], (50, 3)) + [0, 0, 4.0]
    found = world.raycast(origins, [0.0, 0.0, -1.0])
    alone = thud.raycast(field, origins, [0.0, 0.0, -1.0])
    assert (found.distance <= alone.distance + 1e-12).all()
    np.testing.assert_allclose(found.distance[found.handle == ground], alone.distance[found.handle == ground])
    if thickness is None:
        with pytest.raises(InvalidInputError, match="static ground"):
            world.add(field, static=False)
        with pytest.raises(InvalidInputError, match="static ground"):
            world.add(field, mass=2.0)
    else:
        assert world.add(field, thud.Pose([0.0, 0.0, 50.0]), mass=2.0) is not None


def test_particles_hit_it():
    """At the heights of the surface, with its normals."""
    field = make("smooth", thickness=None)
    box = field.to_mesh().bounds()
    rng = np.random.default_rng(2)
    start = rng.uniform(box.lower[0] + 0.1, box.upper[0] - 0.1, (200, 3))
    start[:, 2] = 5.0
    system = thud.particles.ParticleSystem(start, [0.0, 0.0, -1.0], lifetime=20.0, birth=0.0)
    hits = system.impacts([field], 0.0, 20.0)
    rays = thud.raycast(field, start, [0.0, 0.0, -1.0])
    order = np.argsort(hits.particle)
    np.testing.assert_allclose(hits.time[order], rays.distance, atol=1e-9)
    np.testing.assert_allclose(np.abs(hits.normal[order, 2]), rays.normal[:, 2], atol=1e-9)
    np.testing.assert_array_equal(field.surface()[2][hits.part[order]], rays.triangle)


def test_a_deep_tree_and_a_long_field():
    """Sides of thousands of samples, one of them: levels that are one node wide."""
    heights = np.zeros((3, 5000), np.int16)
    heights[1, ::7] = 100
    field = thud.HeightField(heights, 0.1, scale=0.01)
    poses = thud.Pose(np.stack([np.linspace(0.0, 500.0, 50), np.full(50, 0.1), np.full(50, 3.0)], axis=1))
    found = thud.distance(field, thud.Sphere(0.5), None, poses)
    mesh = mesh_of(thud.HeightField(heights[:, :60], 0.1, scale=0.01, thickness=1.0))
    assert found.distance[0] == pytest.approx(thud.distance(mesh, thud.Sphere(0.5), None, poses[:1]).distance[0], abs=1e-12)
    level = thud.raycast(field, [-1.0, 0.1, 0.5], [1.0, 0.0, 0.0])
    assert level.distance[0] == pytest.approx(1.0 + 0.05 if heights[1, 0] == 0 else 1.0, abs=1e-9)
