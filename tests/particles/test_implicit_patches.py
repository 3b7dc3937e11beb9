"""Paths against polynomials in tetrahedra: 50 digits, borders, kinks, touches, starts, zeros, what is refused, maps, meshes."""

from __future__ import annotations

from math import factorial
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import thud
from tests.oracles.lattice_patches import lattice_change
from tests.oracles.paths import DIGITS, new_rows
from tests.particles.scenes import some_patches
from thud._core.threads import run_rows
from thud.errors import InvalidInputError, NoSurfaceError
from thud.particles import ImplicitPatches, ParticleSystem, dose_map, impact_coordinates, surface_points
from thud.particles.crossings.field_path import field_rows, load_path
from thud.particles.crossings.path_columns import LOCAL
from thud.particles.crossings.path_field import HIGH, LOW, MIDDLE_HIGH, MIDDLE_LOW, OUT, STEEP_HIGH, STEEP_LOW
from thud.particles.crossings.tetrahedron_field import enclose_piece, tetrahedra_value

DEGREES = (1, 2, 3, 5)


def ball(p: np.ndarray) -> np.ndarray:
    return np.asarray((p**2).sum(axis=1) - 1.0)


def globe(degree: int = 2, **response: Any) -> ImplicitPatches:
    """A ball of radius 1 about the origin, exact from degree 2 on, in cells whose corners lie on both axes."""
    return ImplicitPatches.from_field(ball, [-1.5] * 3, [1.5] * 3, 0.5, degree=degree, **response)


def hits(collider: Any, start: Any, velocity: Any, pull: Any = None, end: float = 10.0, **given: Any) -> Any:
    return ParticleSystem(start, velocity, pull, lifetime=end, generations=1, **given).impacts([collider], 0.0, end)


def look(patches: ImplicitPatches, paths: Any, end: Any = np.inf, threads: int = 1, **start: Any) -> tuple:
    """(time, hit, normal, status)."""
    rows = new_rows(np.asarray(paths, dtype=float), end, **start)
    status = np.zeros(len(rows[0]), dtype=np.uint8)
    run_rows(field_rows, len(rows[0]), threads, *patches.arrays, 0, *rows, status, rows_per_chunk=16)
    return (*rows[3:], status)


def bent(patches: ImplicitPatches, seed: int, count: int) -> np.ndarray:
    """Paths through the middle of things, every other one straight."""
    rng = np.random.default_rng(seed)
    low, high = patches.box()[:3], patches.box()[3:]
    middle, size = 0.5 * (low + high), float((high - low).max())
    paths = np.zeros((count, 9))
    paths[:, :3] = middle + size * rng.normal(size=(count, 3))
    paths[1::2, 6:] = size * rng.normal(size=(len(paths[1::2]), 3))
    goal = middle + 0.25 * size * rng.normal(size=(count, 3))
    paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
    return paths


def exact(patches: ImplicitPatches, path: np.ndarray, t: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """(f, least barycentric coordinate) at t, of the tetrahedron that the path is farthest in, by the definition."""
    p = [mp.mpf(float(path[k])) + t * (mp.mpf(float(path[3 + k])) + t * mp.mpf(float(path[6 + k])) / 2) for k in range(3)]
    best, value = mp.mpf(-1e9), mp.mpf(0)
    near = np.flatnonzero(patches._barycentric(np.arange(len(patches.tetrahedra)), np.float64([p])).min(axis=1) > -1e-6)
    for row in near:
        corners = np.asarray(patches.vertices)[np.asarray(patches.tetrahedra)[row]]
        system = mp.matrix([[mp.mpf(float(c[k])) for c in corners] for k in range(3)] + [[1] * 4])
        weights = mp.lu_solve(system, mp.matrix([*p, 1]))
        if min(weights) > best:
            best, value = min(weights), mp.mpf(0)
            for power, c in zip(patches.control_indices(patches.degree).tolist(), np.asarray(patches.coefficients)[row]):
                many = factorial(patches.degree)
                term = mp.mpf(float(c))
                for w, k in zip(weights, power):
                    many //= factorial(k)
                    term *= w**k
                value += many * term
    return value, best


@pytest.mark.parametrize(("degree", "scale", "offset"), [(1, 1.0, 0.0), (2, 1e-9, 0.0), (3, 1.0, 3e3), (5, 1e9, 0.0)])
def test_times_are_those_of_50_digits(degree: int, scale: float, offset: float) -> None:
    vertices, tetrahedra, control, _d = some_patches(np.random.default_rng(degree), np.zeros(3), degree, 1.4)
    patches = ImplicitPatches(vertices * scale + offset, tetrahedra, control)
    paths = bent(patches, degree, 16)
    time, hit, normal, status = look(patches, paths, 2.5)
    found = np.flatnonzero(hit[:, 0] == 0)
    assert not status.any()
    assert len(found) > 4
    with mp.workdps(DIGITS):
        for k in found:
            t, step = mp.mpf(float(time[k])), mp.mpf(10) ** -12
            (before, _), (after, _), (here, inside) = (exact(patches, paths[k], s) for s in (t - step, t + step, t))
            if inside < 1e-6:
                continue
            assert before * after < 0
            assert abs(here / ((after - before) / (2 * step))) <= 1e-15
            # The normal points up f.
            assert np.sign(float(after - before)) == np.sign(normal[k] @ (paths[k, 3:6] + time[k] * paths[k, 6:]))


@pytest.mark.parametrize("rate", [0.0, 0.3, 20.0])
@pytest.mark.parametrize("degree", DEGREES)
def test_bounds_hold_every_value_and_slope(degree: int, rate: float) -> None:
    rng = np.random.default_rng(7)
    vertices, tetrahedra, control, _d = some_patches(rng, np.zeros(3), degree, 1.4)
    _kind, rows, values, _boxes, _skip, _item, _level, reach, scratch = ImplicitPatches(vertices, tetrahedra, control).arrays
    local, work, out, came = np.empty(LOCAL), np.empty(scratch), np.empty(OUT), np.zeros((1, 3))
    items, spans = np.zeros(1, np.int64), np.array([[0.0, 10.0]])
    tight = []
    for _ in range(40):
        paths = np.concatenate([rng.normal(size=9), [rate]])[None]
        load_path(paths, came, 0, reach, local)
        begin = rng.uniform(0.0, 1.0)
        end = begin + 10.0 ** rng.uniform(-4, 0)
        items[0] = rng.integers(len(rows))
        enclose_piece(rows, values, items[0], work, local, begin, end, out)
        low, high, down, up, mid_low, mid_high = out[[LOW, HIGH, STEEP_LOW, STEEP_HIGH, MIDDLE_LOW, MIDDLE_HIGH]]
        t = np.linspace(begin, end, 201)
        h = np.array([tetrahedra_value(rows, values, items, spans, 1, work, local, one) for one in t])
        slope = np.diff(h) / np.diff(t)
        slack = 1e-13 * np.abs(h).max() / (t[1] - t[0])
        assert low <= h.min()
        assert h.max() <= high
        assert down - slack <= slope.min()
        assert slope.max() <= up + slack
        if rate * (end - begin) < 0.5:
            assert mid_low <= h[100] <= mid_high
        tight.append((high - low) / max(np.ptp(h), 1e-300))
    # Nor are they much wider than need be.
    assert np.median(tight) < 2.0


@pytest.mark.parametrize("degree", [2, 3])
def test_a_ball_is_hit_where_it_is(degree: int) -> None:
    rng = np.random.default_rng(1)
    sphere, goal = globe(degree), rng.normal(size=(200, 3)) * 0.3
    start = rng.normal(size=(200, 3))
    start *= 3.0 / np.linalg.norm(start, axis=1, keepdims=True)
    for motion in ("straight", "curved", "drag"):
        pull = rng.normal(size=(200, 3)) * (0.0 if motion == "straight" else 3.0)
        given = {"drag": 0.4, "mass": 1.0, "wind": [0.3, 0, 0]} if motion == "drag" else {}
        same = thud.particles.Quadric.ellipsoid([0, 0, 0], [1.0, 1.0, 1.0])
        found, other = (hits(c, start, goal - start - 0.5 * pull, pull, **given) for c in (sphere, same))
        assert len(found) > 150
        np.testing.assert_array_equal(found.particle, other.particle)
        np.testing.assert_allclose(found.time, other.time, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.normal, other.normal, rtol=0, atol=1e-9)


def test_along_edges_and_faces_and_through_vertices() -> None:
    # The axes are edges of cells, the planes of coordinates their faces, and (0, 0, 1) and the like vertices.
    sphere = globe()
    for axis in range(3):
        for sign in (-1.0, 1.0):
            start, velocity = np.zeros(3), np.zeros(3)
            start[axis], velocity[axis] = 3.0 * sign, -sign
            assert hits(sphere, start, velocity).time[0] == pytest.approx(2.0, abs=1e-15)
    start = np.array([[3.0, 0.5, 0.0], [3.0, 3.0, 0.0], [3.0, 3.0, 3.0], [3.0, 0.25, 0.5], [2.0, 0.0, 2.5]])
    toward = np.array([[-1.0, 0, 0], [-1, -1, 0], [-1, -1, -1], [-1, 0, 0], [-1, 0, -1.0]])
    a, b, c = (toward**2).sum(axis=1), (start * toward).sum(axis=1), (start**2).sum(axis=1) - 1.0
    want = (-b - np.sqrt(b * b - a * c)) / a
    np.testing.assert_allclose(hits(sphere, start, toward).time, np.sort(want), rtol=0, atol=1e-14)
    # With drag, along the same edges: x = 3 - 4 (1 - exp(-t / 2)) is 1 at t = 2 log 2.
    found = hits(sphere, 3.0 * np.eye(3), -2.0 * np.eye(3), mass=1.0, drag=0.5)
    np.testing.assert_allclose(found.time, 2.0 * np.log(2.0), rtol=0, atol=1e-14)
    # Thrown up along the axis, on edges and through vertices: in at the bottom, from within out at the top.
    assert hits(sphere, [0, 0, -2.0], [0, 0, 4.0], [0, 0, -1.0]).time[0] == pytest.approx(4.0 - np.sqrt(14.0), abs=1e-14)
    assert hits(sphere, [0, 0, 0.0], [0, 0, 2.0], [0, 0, -1.0]).time[0] == pytest.approx(2.0 - np.sqrt(2.0), abs=1e-14)


@pytest.mark.parametrize("degree", [1, 2])
def test_lattice_paths_change_sign_where_rational_numbers_say(degree: int) -> None:
    # Tetrahedra that a path only touched at a vertex once held an instant of it, with the wrong sign of f.
    hit = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = rng.choice([-2, -1, -1, 0, 0, 1, 1, 2], size=(4, 4, 4))
        linear = ImplicitPatches.from_field(
            lambda p, v=values: v[tuple(np.rint(p).astype(int).T)].astype(float), [0] * 3, [3] * 3, 1.0, degree=1
        )
        patches = linear if degree == 1 else ImplicitPatches.from_field(linear.value, [0] * 3, [3] * 3, 1.0, degree=degree)
        start, velocity = rng.integers(-4, 11, (60, 3)) / 2.0, rng.integers(-2, 3, (60, 3)).astype(float)
        start[::4] = rng.integers(1, 6, (15, 3)) / 2.0
        velocity[(velocity == 0.0).all(axis=1), 0] = 1.0
        found = hits(patches, start, velocity, end=60.0)
        time = dict(zip(found.particle.tolist(), found.time.tolist()))
        for k in range(60):
            want = lattice_change(values, start[k], velocity[k])
            assert (want is None) == (k not in time), (seed, k)
            if want is not None:
                hit += 1
                assert abs(float(want) - time[k]) < 1e-12, (seed, k)
    assert hit > 60


@pytest.mark.parametrize("degree", DEGREES)
def test_a_surface_along_faces_and_through_vertices(degree: int) -> None:
    # z = 0 is a plane of faces.
    flat = ImplicitPatches.from_field(lambda p: p[:, 2], [-1, -1, -1], [1, 1, 1], 0.5, degree=degree)
    start = np.array([[0.0, 0, 2], [0.5, -0.5, 2], [0.25, 0.25, 2], [0.3, 0.1, 2], [0.5, 0.2, 2], [1.0, 1, 2], [1.2, 0, 2]])
    found = hits(flat, start, [0, 0, -1.0])
    assert found.particle.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(found.time, 2.0, rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.normal, np.tile([0, 0, 1.0], (6, 1)), rtol=0, atol=1e-12)
    # In the surface itself nothing is crossed.
    assert not len(hits(flat, [[-3.0, 0.1, 0], [-3, 0, 0]], [1.0, 0, 0]))
    # It bounces back from there.
    system = ParticleSystem([0.5, 0.5, 0.7], [0, 0, 0], [0, 0, -9.81], lifetime=3.0, response="bounce", bounces=3)
    fall = np.sqrt(1.4 / 9.81)
    np.testing.assert_allclose(system.impacts([flat], 0, 3.0).time[:3], fall * np.array([1.0, 2.0, 2.5]), rtol=1e-12)


def test_touches_and_thin_crossings() -> None:
    sphere = globe()
    for depth in 10.0 ** np.arange(-1, -13, -1.0):
        found = hits(sphere, [-3.0, 1.0 - depth, 0.0], [1.0, 0, 0])
        assert len(found) == 1
        assert found.time[0] == pytest.approx(3.0 - np.sqrt(1.0 - (1.0 - depth) ** 2), abs=1e-7)
        # From within, as near below it.
        assert hits(sphere, [0.0, 0.0, 1.0 - depth], [0.0, 0, 1.0]).time[0] == pytest.approx(depth, abs=1e-15)
    for over in (0.0, 1e-12, 1e-6):
        assert not len(hits(sphere, [-3.0, 1.0 + over, 0.0], [1.0, 0, 0]))
        assert not len(hits(sphere, [-3.0, 1.0 + over, 0.0], [1.0, 0, 0], mass=1.0, drag=0.05))


def test_a_cone_is_not_entered_by_its_apex() -> None:
    # f = x^2 + y^2 - z^2, negative within both nappes, in one tetrahedron: h does not change its sign along the axis.
    corners = np.array([[-4.0, -4, -2], [4, -4, -2], [0, 4, -2], [0, 0, 4]])
    middle = [corners[i] @ np.diag([1, 1, -1.0]) @ corners[j] for i in range(4) for j in range(i, 4)]
    cone = ImplicitPatches(corners, [[0, 1, 2, 3]], [middle])
    np.testing.assert_allclose(cone.value([[0.3, 0.2, 0.5]]), [0.13 - 0.25], atol=1e-12)
    assert not len(hits(cone, [0, 0, 9.0], [0, 0, -1.0], end=20.0))
    # From outside it is entered just beside the apex, not through it.
    found = hits(cone, [[-1.0, 0, 1e-6], [-1.0, 1e-6, 0]], [1.0, 0, 0])
    assert found.particle.tolist() == [0]
    assert found.time[0] == pytest.approx(1.0 - 1e-6, abs=1e-12)


def test_at_the_border_a_sheet_ends() -> None:
    # f = z - 0.25 in one tetrahedron: 0.25 above its base.
    one = ImplicitPatches([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 1, 2, 3], [-0.25, -0.25, -0.25, 0.75])
    for velocity, start, count in (
        ([0, 0, -1.0], [0.2, 0.2, 3.0], 1),
        ([0, 0, -1.0], [0.6, 0.2, 3.0], 0),  # beside the sheet, through f < 0
        ([0, 0, -1.0], [0.2, 0.2, 0.1], 0),  # out of f < 0 by the base
        ([0, 0, 1.0], [0.2, 0.2, -3.0], 1),  # in by the base, out through the sheet
        ([1.0, 0, 0], [-3.0, 0.2, 0.1], 0),
        ([0, 0, -1.0], [0.75 - 1e-9, 0.0, 3.0], 1),  # along a face, to the sheet's edge
        ([0, 0, -1.0], [0.75 + 1e-9, 0.0, 3.0], 0),
    ):
        assert len(hits(one, start, velocity)) == count, (start, velocity)
    # All of one sign: there is nothing.
    none = ImplicitPatches(one.vertices, one.tetrahedra, [[1.0, 2, 3, 4]])
    assert not len(hits(none, [0.2, 0.2, 3.0], [0, 0, -1.0]))
    assert not len(hits([none, thud.particles.Plane([0, 0, 9.0], [0, 0, 1])][0], [0.2, 0.2, 3.0], [0, 0, -1.0]))
    with pytest.raises(NoSurfaceError):
        none.to_mesh()


def row_of(*levels: list[float]) -> ImplicitPatches:
    """Tetrahedra one above another, two vertices wide: f linear in each, given at their corners."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1.2], [0.4, 1, 1.5], [0.2, 0.3, 3.0]])
    tetrahedra = np.array([[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]])[: len(levels)]
    return ImplicitPatches(vertices, tetrahedra, levels)


def test_zeros_throughout_a_tetrahedron() -> None:
    # Of vertices 0 to 6 from the bottom up: f > 0 at the top, f = 0 throughout the third and at its vertices, f < 0 below.
    down = np.array([0.33, 0.48, 0.5]) - [0.32, 0.68, 1.64]
    start = np.array([0.32, 0.68, 1.64]) - 4.0 * down
    solid = row_of([-1, -2, 0, 0], [-2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0])
    empty = row_of([1, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1.0])
    found = hits(solid, start, down, end=20.0)
    # It hits where f becomes 0: on the face of vertices 3, 4, 5.
    corners = np.asarray(solid.vertices)[[3, 4, 5]]
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    assert found.time[0] == pytest.approx(((corners[0] - start) @ normal) / (down @ normal), abs=1e-12)
    # With f > 0 on the other side, too, that is a touch.
    assert not len(hits(empty, start, down, end=20.0))
    # Nothing but zeros is nothing to hit.
    assert not len(hits(row_of([0, 0, 0, 0.0]), [0.2, 0.2, 3.0], [0, 0, -1.0]))


def test_jumps_between_tetrahedra_that_only_touch() -> None:
    # The same square pyramid of space twice, with vertices of their own: f is 1 above z = 0 and -1 below.
    base = [[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]]
    touching = ImplicitPatches(
        [*base, [0, 0, 1], *base, [0, 0, -1]], [[0, 1, 2, 3], [4, 5, 6, 7]], [[1.0, 1, 1, 0.5], [-1.0, -1, -1, 0.0]]
    )
    found = hits(touching, [[0.1, 0, 3.0], [0.0, 0.0, 3.0], [0.1, 0, -0.1]], [[0, 0, -1.0], [0, 0, -1.0], [0, 0, 1.0]])
    # Those of one sign hold no surface: only the second one is looked at, and it has none within.
    assert not len(found)
    both = ImplicitPatches(touching.vertices, touching.tetrahedra, [[1.0, 1, 1, -0.5], [-1.0, -1, -1, 0.5]])
    # In at the upper one's own sheet, and at the jump.
    first = hits(both, [0.0, 0.0, 3.0], [0, 0, -1.0])
    assert first.point[0, 2] == pytest.approx(2.0 / 3.0, abs=1e-12)
    assert hits(both, [0.0, 0.0, 0.5], [0, 0, -1.0]).point[0, 2] == pytest.approx(0.0, abs=1e-12)


def test_starts_on_the_surface_and_inside() -> None:
    sphere, rng = globe(restitution=0.9), np.random.default_rng(0)
    n = rng.normal(size=(60, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    away = n + 0.3 * rng.normal(size=(60, 3))
    paths = np.hstack([n, -away, np.zeros((60, 3))])
    # It goes on into the ball: an impact at once, unless that is where it has just been, or was born.
    time, hit, normal, _status = look(sphere, paths, 30.0, came=-away, last=[5, 0])
    assert (time == 0.0).all()
    np.testing.assert_allclose(normal, n, atol=1e-12)
    chord = 2.0 * (away * n).sum(axis=1) / (away**2).sum(axis=1)
    parts = np.column_stack([np.zeros(60, np.int64), hit[:, 1]])
    for start in ({}, {"came": -away, "last": parts}):
        time, hit, _normal, status = look(sphere, paths, 30.0, **start)
        np.testing.assert_allclose(time, chord, rtol=1e-9, atol=1e-12)
        assert not status.any()
    # Away from it, and never back.
    paths[:, 3:6] *= -1.0
    time, hit, _normal, _status = look(sphere, paths, 30.0, came=-away, last=[0, 0])
    assert (hit[:, 0] == -1).all()


def test_nothing_gets_out_of_a_closed_one() -> None:
    sphere, rng = globe(restitution=1.0), np.random.default_rng(2)
    start, velocity = rng.uniform(-0.2, 0.2, (20, 3)), rng.normal(size=(20, 3)) * 3.0
    # Along axes and diagonals: into edges and vertices, exactly.
    start[:10], velocity[:10] = 0.0, rng.integers(-1, 2, (10, 3)) + [1.0, 0, 0]
    for drag in ({}, {"mass": 1.0, "drag": 0.01}):
        system = ParticleSystem(start, velocity, [0, 0, -9.81], lifetime=5.0, response="bounce", bounces=10_000, **drag)
        found = system.impacts([sphere], 0.0, 5.0)
        assert found.bounce.max() > 10
        assert np.linalg.norm(found.point, axis=1).max() < 1.0 + 1e-12
        assert np.linalg.norm(system.states(4.9, [sphere]).position, axis=1).max() < 1.0 + 1e-12


@pytest.mark.parametrize("degree", [1, 3])
def test_nothing_gets_out_by_an_edge(degree: int) -> None:
    # |x| + |y| + |z| = 1: what bounced off one side at an edge went on through the other, since it had just left the collider.
    solid = ImplicitPatches.from_field(
        lambda p: np.abs(p).sum(axis=1) - 1.0, [-1.5] * 3, [1.5] * 3, 0.5, degree=degree, restitution=1.0
    )
    rng = np.random.default_rng(5)
    start, velocity = rng.integers(-1, 2, (40, 3)) * 0.125, rng.integers(-2, 3, (40, 3)) + [0.0, 0.0, 0.5]
    # Not along an axis, into a corner of four sides: that is not promised.
    velocity[(velocity[:, :2] == 0.0).all(axis=1), 0] = 1.0
    for pull in ([0, 0, 0], [0, 0, -9.75]):
        system = ParticleSystem(start, velocity, pull, lifetime=6.0, response="bounce", bounces=10_000)
        found = system.impacts([solid], 0.0, 6.0)
        assert len(found) > 200
        assert np.abs(found.point).sum(axis=1).max() < 1.0 + 1e-12
        assert np.abs(system.states(5.9, [solid]).position).sum(axis=1).max() < 1.0 + 1e-12


def test_threads_and_specialisation() -> None:
    sphere = globe(3)
    one, two = (look(sphere, bent(sphere, 3, 100), 3.0, threads=n) for n in (1, 2))
    for a, b in zip(one, two):
        assert a.tobytes() == b.tobytes()
    assert len(field_rows.signatures) == 1


@pytest.mark.parametrize("degree", DEGREES)
def test_patches_of_a_field_agree_with_it(degree: int) -> None:
    def field(p: np.ndarray) -> np.ndarray:
        return np.asarray(p[:, 0] ** degree - 0.5 * p[:, 1] * p[:, 2] ** (degree - 1) + 0.1)

    made = ImplicitPatches.from_field(field, [-1, -1, -1], [1, 1.5, 1], 0.5, degree=degree)
    p = np.random.default_rng(0).uniform([-1, -1, -1], [1, 1.5, 1], (300, 3))
    np.testing.assert_allclose(made.value(p), field(p), atol=1e-12)
    # Twice as many cells bring another field nearer, by the power that is promised.
    off = []
    for cell in (0.5, 0.25):
        rough = ImplicitPatches.from_field(lambda p: np.sin(2.0 * p).sum(axis=1), [-1] * 3, [1] * 3, cell, degree=degree)
        p = np.random.default_rng(1).uniform(-1, 1, (300, 3))
        off.append(np.abs(rough.value(p) - np.sin(2.0 * p).sum(axis=1)).max())
    assert off[0] / off[1] > 0.6 * 2.0 ** (degree + 1)
    outside = made.value([[2.0, 0, 0], [0, 0, -1.1]])
    assert np.isnan(outside).all()


def test_a_closed_mesh_becomes_patches() -> None:
    mesh = thud.to_mesh(thud.Box([0.5, 0.4, 0.3]))
    made = ImplicitPatches.from_field(
        lambda p: thud.closest_point(mesh, p, signed=True).distance, [-0.8] * 3, [0.8] * 3, 0.1, degree=2
    )
    found = hits(made, [[0.1, 0.05, 3.0], [3.0, 0.1, 0.1]], [[0, 0, -1.0], [-1.0, 0, 0]])
    np.testing.assert_allclose(found.time[np.argsort(found.particle)], [2.7, 2.5], atol=1e-9)


def test_single_sheets_are_crossed_once_from_their_vertex() -> None:
    sphere = globe()
    assert sphere.single_sheeted.all()
    # Two sheets, z^2 = 1 / 16: not along the lines from a vertex that pass both.
    corners = np.array([[0, 0, -1.0], [1, 0, -1], [0, 1, -1], [0, 0, 1]])
    z = corners[:, 2]
    double = ImplicitPatches(corners, [0, 1, 2, 3], [z[i] * z[j] - 1 / 16 for i in range(4) for j in range(i, 4)])
    assert not double.single_sheeted[0]
    # Signs + / mixed / -, from vertex 3 away: once on each line, wherever it goes.
    rng = np.random.default_rng(3)
    where = ImplicitPatches.control_indices(3)
    control = np.where(where[:, 3] > 1, 1.0, -1.0) * rng.uniform(0.1, 1.0, 20)
    control[where[:, 3] == 1] = rng.normal(size=(where[:, 3] == 1).sum())
    patch = ImplicitPatches(corners, [0, 1, 2, 3], control)
    assert patch.single_sheeted[0]
    for goal in rng.dirichlet([1.0, 1, 1], 100) @ corners[:3]:
        values = patch.value(corners[3] + np.linspace(0.0, 1.0, 200)[1:-1, None] * (goal - corners[3]))
        assert (np.diff(np.sign(values)) != 0).sum() == 1


def test_control_points_and_values() -> None:
    assert ImplicitPatches.control_indices(2).tolist()[:4] == [[2, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]]
    patches = ImplicitPatches(*some_patches(np.random.default_rng(0), np.zeros(3), 3)[:3])
    points = patches.control_points
    assert points.shape == (*patches.coefficients.shape, 3)
    np.testing.assert_allclose(points[:, 0], patches.vertices[patches.tetrahedra[:, 0]])
    # Of a linear field the control values are its values there.
    linear = ImplicitPatches(patches.vertices, patches.tetrahedra, points @ [1.0, 2.0, 3.0] - 0.2)
    middle = patches.vertices[patches.tetrahedra].mean(axis=1)
    np.testing.assert_allclose(linear.value(middle), middle @ [1.0, 2.0, 3.0] - 0.2, atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        patches.coefficients[0, 0] = 1.0


def test_values_that_differ_by_roundoff_are_made_the_same() -> None:
    vertices, tetrahedra, control, _d = some_patches(np.random.default_rng(4), np.zeros(3), 2)
    noisy = control * (1.0 + 1e-13 * np.random.default_rng(5).normal(size=control.shape))
    made = np.asarray(ImplicitPatches(vertices, tetrahedra, noisy).coefficients)
    np.testing.assert_allclose(made, control, rtol=1e-12)
    # As many different values as before: what is common is common.
    assert len(np.unique(made)) == len(np.unique(control))


CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1.0], [0.2, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((CORNERS[:3], [0, 1, 2, 2], [1.0] * 4), "vertices: expected at least"),
        ((CORNERS, [[0, 1, 2]], [[1.0] * 4]), "tetrahedra: expected"),
        ((CORNERS, [[0, 1, 2, 9]], [[1.0] * 4]), "tetrahedra: row 0 is"),
        ((CORNERS, [[0, 1, 2, 3], [0, 1, 2, 2]], [[1.0] * 4] * 2), "tetrahedra: row 1 is flat"),
        (([*CORNERS[:3], [0.5, 0.5, 1e-12]], [[0, 1, 2, 3]], [[1.0] * 4]), "tetrahedra: row 0 is flat"),
        ((CORNERS, [[0, 1, 2, 3]], [[1.0] * 5]), "coefficients: expected one row a tetrahedron"),
        ((CORNERS, [[0, 1, 2, 3]], [[1.0] * 4] * 2), "coefficients: expected one row a tetrahedron"),
        ((CORNERS, [[0, 1, 2, 3]], [[np.nan] * 4]), "coefficients: row 0 is not finite"),
        (
            (CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4]], [[1.0, 2, 3, 4], [2.0, 3, 5, 0]]),
            "rows 0 and 1 differ by 1 on the common face",
        ),
        ((CORNERS, [[0, 1, 2, 3], [1, 2, 3, 5]], [[1.0] * 4] * 2), "rows 0 and 1 lie on the same side"),
        ((CORNERS, [[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5]], [[1.0] * 4] * 3), "rows 0, 1, 2 have one face in common"),
    ],
)
def test_errors_name_the_argument(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ImplicitPatches(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"field": 3}, "field"),
        ({"field": lambda p: p}, "field: expected values of shape"),
        ({"upper": [-2.0, 1, 1]}, "upper"),
        ({"cell": 0.0}, "cell"),
        ({"cell": 1e-4}, "cell: .* tetrahedra"),
        ({"degree": 6}, "degree"),
        ({"restitution": 2.0}, "restitution"),
    ],
)
def test_errors_of_fields(change: dict[str, Any], message: str) -> None:
    given = {"field": ball, "lower": [-1.0] * 3, "upper": [1.0] * 3, "cell": 1.0, **change}
    with pytest.raises(InvalidInputError, match=message):
        ImplicitPatches.from_field(**given)


def test_places_lead_back_and_areas_add_up() -> None:
    sphere, rng = globe(), np.random.default_rng(6)
    start = rng.normal(size=(200, 3)) * 3.0
    found = hits(sphere, start, 0.2 * rng.normal(size=(200, 3)) - start)
    uv = impact_coordinates(found, [sphere])
    back = surface_points([sphere], 0, uv)
    np.testing.assert_allclose(back, found.point, atol=1e-9)
    # A tile a tetrahedron, side by side.
    side = int(np.ceil(np.sqrt(len(sphere._active))))
    tile = np.floor(uv * side).astype(int) @ [1, side]
    np.testing.assert_array_equal(sphere._active[tile], found.part)
    system = ParticleSystem(start, 0.2 * rng.normal(size=(200, 3)) - start, lifetime=2.0, mass=0.01)
    dose = dose_map(system, [sphere], 0.0, 2.0, resolution=8 * side)
    assert dose.area[0].sum() == pytest.approx(4.0 * np.pi, rel=0.05)


def test_it_is_a_closed_mesh_that_images_see() -> None:
    mesh = globe().to_mesh(40)
    assert mesh.is_closed
    assert np.abs(np.linalg.norm(mesh.vertices, axis=1) - 1.0).max() < 0.075**2
    for shift, meets in (([1.9, 0, 0], True), ([2.1, 0, 0], False)):
        seen = thud.imagespace.interference([mesh, mesh], [thud.Pose(), thud.Pose(shift)])
        assert len(seen.pairs) == int(meets)
    # An open sheet is closed where the tetrahedra end: half of their cube.
    half = ImplicitPatches.from_field(lambda p: p[:, 2], [-1] * 3, [1] * 3, 0.5).to_mesh(40)
    assert half.is_closed
    assert half.volume == pytest.approx(4.0, rel=0.15)
