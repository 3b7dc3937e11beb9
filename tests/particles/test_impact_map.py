"""Impact maps: against a plain loop, by hand, and back to impacts."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.displaced import grid_surface
from tests.oracles.impact_pixels import slow_byte_map, slow_map
from thud import particles
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles import Disc, ParticleSystem, Plane, Polygon, Quadric, Rectangle, Solid


def scene() -> list[Any]:
    return [
        Plane([0, 0, 0], [0, 0, 1]),
        Rectangle([-2, -2, 1], [4, 0, 0.5], [0, 4, 0], restitution=0.7),
        Disc([3, 3, 2], [0.2, 0, 1], 1.5, friction=0.3),
        Polygon([[-4, 2, 1], [-1, 2, 1], [-1, 5, 1], [-4, 5, 1]], holes=[[[-3, 3, 1], [-2, 3, 1], [-2, 4, 1], [-3, 4, 1]]]),
        Quadric.ellipsoid([3, -3, 1.5], [1, 1.5, 1]),
        Solid(thud.Box([0.5, 0.5, 0.5]), thud.Pose([0, 4, 2])),
    ]


def rain(**rest: Any) -> ParticleSystem:
    rest = {"response": "bounce", "seed": 3} | rest
    x = np.random.default_rng(0).uniform(-5, 5, (300, 3)) * [1, 1, 0] + [0, 0, 6]
    return ParticleSystem(x, [0, 0, -2], [0, 0, -9.8], 2.5, position_spread=0.5, velocity_spread=1.0, **rest)


@pytest.mark.parametrize("combine", ["last", "add"])
@pytest.mark.parametrize("latency", [0.0, 0.75])
def test_floats_against_a_loop(combine: Any, latency: float) -> None:
    colliders, system = scene(), rain()
    made = particles.impact_map(system, colliders, 1.0, 3.0, resolution=(24, 16), combine=combine, latency=latency)
    impacts = system.impacts(colliders, 1.0 + latency, 3.0 + latency)
    uv = particles.impact_coordinates(impacts, colliders)
    slow = slow_map(impacts, uv, len(colliders), 24, 16, 1.0 + latency, 3.0 + latency, combine)
    assert made.data.dtype == np.float32
    assert made.data.shape == (6, 16, 24, 4)
    assert made.resolution == (24, 16)
    assert slow[..., 3].max() >= 3
    np.testing.assert_allclose(made.data, slow, rtol=1e-6)
    assert (made.data[..., 1][made.data[..., 3] == 1] < 1.0).all()


@pytest.mark.parametrize("combine", ["last", "add"])
@pytest.mark.parametrize("speeds", [None, (1.0, 9.0)])
def test_bytes_against_a_loop(combine: Any, speeds: Any) -> None:
    colliders, system = scene(), rain()
    made = particles.impact_map(
        system, colliders, 0.0, 2.0, resolution=8, combine=combine, encoding="uint8", speed_range=speeds
    )
    impacts = system.impacts(colliders, 0.0, 2.0)
    uv = particles.impact_coordinates(impacts, colliders)
    expected = speeds or (0.0, float(impacts.speed.max()))
    assert made.speed_range == expected
    slow = slow_byte_map(impacts, uv, len(colliders), 8, 8, 0.0, 2.0, combine, expected)
    assert made.data.dtype == np.uint8
    np.testing.assert_array_equal(made.data, slow)


def test_bytes_end_at_255() -> None:
    plate = Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])
    system = ParticleSystem([0.1, 0.1, 1], [0, 0, -1], lifetime=1.001, birth=np.linspace(0, 1, 700))
    made = particles.impact_map(system, [plate], 0, 2.5, resolution=1, encoding="uint8", combine="add")
    assert made.data[0, 0, 0].tolist() == [1, 255, 255, 255]


def test_the_latest_stays() -> None:
    plate = Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])
    system = ParticleSystem([[0.1, 0.1, 2], [0.1, 0.1, 3], [0.1, 0.1, 2]], [[0, 0, -1], [0, 0, -1], [0, 0, -1]])
    made = particles.impact_map(system, [plate], 0.0, 4.0, resolution=2)
    assert made.data[0, 1, 1].tolist() == [1.0, 0.75, 1.0, 3.0]
    # At one time: the later in the impacts' order, the particle of the higher row.
    fast = ParticleSystem([[0.1, 0.1, 2], [0.1, 0.1, 4]], [[0, 0, -1], [0, 0, -2]])
    assert particles.impact_map(fast, [plate], 0.0, 4.0, resolution=2).data[0, 1, 1].tolist() == [1.0, 0.5, 2.0, 2.0]


def test_look_ahead_reports_the_same_as_later() -> None:
    colliders, system = scene(), rain()
    ahead = particles.impact_map(system, colliders, 0.0, 0.5, resolution=32, latency=1.25)
    later = particles.impact_map(system, colliders, 1.25, 1.75, resolution=32)
    np.testing.assert_array_equal(ahead.data, later.data)
    assert (ahead.t0, ahead.t1) == (1.25, 1.75)


def test_maps_of_a_partition_count_the_same() -> None:
    colliders, system = scene(), rain()
    whole = particles.impact_map(system, colliders, 0.0, 2.0, resolution=16).data[..., 3]
    cuts = np.linspace(0.0, 2.0, 8)
    parts = [particles.impact_map(system, colliders, a, b, resolution=16).data[..., 3] for a, b in itertools.pairwise(cuts)]
    np.testing.assert_array_equal(np.sum(parts, axis=0), whole)


def test_spacing_is_m_over_p_by_n_over_q() -> None:
    colliders, system = scene(), rain()
    made = particles.impact_map(system, colliders, 0.0, 0.1, resolution=(10, 40), extent=5.0)
    np.testing.assert_allclose(made.spacing(1), (np.hypot(4, 0.5) / 10, 4 / 40))
    np.testing.assert_allclose(made.spacing(0), (1.0, 0.25))
    np.testing.assert_allclose(made.spacing(2), (0.3, 0.075))
    with pytest.raises(UnsupportedQueryError, match="varies"):
        made.spacing(4)
    with pytest.raises(InvalidInputError, match="collider"):
        made.spacing(6)


@pytest.mark.parametrize("encoding", ["float", "uint8"])
def test_back_to_impacts(encoding: Any) -> None:
    colliders, system = scene(), rain()
    made = particles.impact_map(system, colliders, 0.0, 2.0, resolution=512, encoding=encoding)
    impacts = system.impacts(colliders, 0.0, 2.0)
    uv = particles.impact_coordinates(impacts, colliders)
    read = made.decode()
    assert len(read) == np.count_nonzero(made.data[..., 0])
    assert read.count.sum() == np.isfinite(uv).all(axis=1).sum()
    assert (read.particle == -1).all()
    # Every impact that was alone on its pixel comes back.
    cell = {(int(c), *np.floor(w * 512).astype(int)): k for k, (c, w) in enumerate(zip(impacts.collider, uv)) if w[0] == w[0]}
    alone = np.flatnonzero(read.count == 1)
    assert len(alone) > 100
    for k in alone:
        event = cell[(int(read.collider[k]), *np.floor(read.coordinates[k] * 512).astype(int))]
        assert abs(read.time[k] - impacts.time[event]) < (1e-6 if encoding == "float" else 2.0 / 512 + 1e-9)
        assert abs(read.speed[k] - impacts.speed[event]) < (1e-5 if encoding == "float" else impacts.speed.max() / 510 + 1e-9)
        if read.collider[k] != 4:
            # Planar: half a pixel's diagonal; 20 m by 512 at most.
            assert np.linalg.norm(read.point[k] - impacts.point[event]) < 20 / 512


def test_added_maps_give_means() -> None:
    colliders, system = scene(), rain()
    made = particles.impact_map(system, colliders, 0.0, 2.0, resolution=8, combine="add")
    read = made.decode()
    impacts = system.impacts(colliders, 0.0, 2.0)
    uv = particles.impact_coordinates(impacts, colliders)
    k = int(np.argmax(read.count))
    here = (impacts.collider == read.collider[k]) & (np.floor(uv * 8) == np.floor(read.coordinates[k] * 8)).all(axis=1)
    assert here.sum() == read.count[k] > 1
    np.testing.assert_allclose(
        [read.time[k], read.speed[k]], [impacts.time[here].mean(), impacts.speed[here].mean()], rtol=1e-6
    )


def test_particle_maps_tell_the_last_impact_and_its_place() -> None:
    colliders, system = scene(), rain()
    impacts = system.impacts(colliders, 0.5, 1.5)
    last = {int(particle): k for k, particle in enumerate(impacts.particle)}
    floats = particles.impact_map(system, colliders, 0.5, 1.5, layout="particle")
    assert floats.data.shape == (300, 1, 6)
    small = particles.impact_map(system, colliders, 0.5, 1.5, layout="particle", encoding="uint8")
    assert small.data.shape == (300, 4, 3)
    rows = np.array([last[k] for k in sorted(last)])
    for made, time, speed, place in ((floats, 1e-6, 1e-5, 1e-5), (small, 1 / 512 + 1e-9, 0.05, 45 / 2**24)):
        read = made.decode()
        np.testing.assert_array_equal(read.particle, sorted(last))
        np.testing.assert_array_equal(read.collider, impacts.collider[rows])
        assert np.abs(read.time - impacts.time[rows]).max() < time
        assert np.abs(read.speed - impacts.speed[rows]).max() < speed
        assert np.abs(read.point - impacts.point[rows]).max() < place


def test_the_box_of_a_particle_map() -> None:
    plate = Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])
    system = ParticleSystem([[0.25, 0.5, 1], [0.9, 0, 1]], [0, 0, -1])
    made = particles.impact_map(system, [plate], 0, 2, layout="particle", encoding="uint8", box=[0, 0, 0, 0.5, 1, 0])
    read = made.decode()
    np.testing.assert_allclose(read.point, [[0.25, 0.5, 0], [0.5, 0, 0]], atol=1 / 2**24)


@pytest.mark.parametrize("filter_name", ["nearest", "bilinear"])
def test_textures_are_read_at_impacts(filter_name: Any) -> None:
    colliders, system = scene(), rain()
    impacts = system.impacts(colliders, 0.0, 2.0)
    uv = particles.impact_coordinates(impacts, colliders)
    texture = np.random.default_rng(9).uniform(size=(5, 7, 2))
    textures = {1: texture, 4: texture[::-1]}
    read = particles.texture_at(impacts, colliders, textures, filter=filter_name)
    for k in range(len(impacts)):
        expected = np.zeros(2)
        if impacts.collider[k] in textures:
            image, (u, v) = textures[impacts.collider[k]], uv[k]
            if filter_name == "nearest":
                expected = image[min(int(v * 5), 4), min(int(u * 7), 6)]
            else:
                x, y = min(max(u * 7 - 0.5, 0), 6), min(max(v * 5 - 0.5, 0), 4)
                for i in range(7):
                    for j in range(5):
                        expected = expected + max(0, 1 - abs(x - i)) * max(0, 1 - abs(y - j)) * image[j, i]
        np.testing.assert_allclose(read[k], expected, atol=1e-12)
    for encoding, scale in (("float", 1.0), ("uint8", 255.0)):
        made = particles.impact_map(
            system, colliders, 0.0, 2.0, resolution=16, textures=textures, texture_filter=filter_name, encoding=encoding
        )  # type: ignore[call-overload]
        assert made.data.shape == (6, 16, 16, 6)
        seen = np.isfinite(uv).all(axis=1)
        expected_map = np.zeros((6, 16, 16, 2))
        x, y = np.minimum(uv[seen] * 16, 15).astype(int).T
        for row, (c, j, i) in enumerate(zip(impacts.collider[seen], y, x)):
            expected_map[c, j, i] = read[seen][row] * scale
        np.testing.assert_allclose(made.data[..., 4:], expected_map, atol=1e-6 if scale == 1.0 else 0.5 + 1e-9)


def test_a_texture_of_one_channel() -> None:
    plate = Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])
    system = ParticleSystem([[0.5, -0.5, 1]], [0, 0, -1])
    made = particles.impact_map(system, [plate], 0, 2, resolution=4, textures=[[[0.0, 7.0], [1.0, 2.0]]])
    assert made.data[0, 1, 3].tolist() == [1.0, 0.5, 1.0, 1.0, 7.0]


def test_splats_are_round_on_the_collider() -> None:
    plate = Rectangle([0, 0, 0], [4, 0, 0], [0, 1, 0])
    system = ParticleSystem([[2, 0.5, 1]], [0, 0, -1])
    impacts = system.impacts([plate], 0, 2)
    image = particles.splat(impacts, [plate], resolution=(256, 128), radius=0.25)
    assert image.shape == (1, 128, 256)
    x, y = (np.arange(256) + 0.5) / 64, (np.arange(128) + 0.5) / 128
    distance = np.hypot(x[None] - 2, y[:, None] - 0.5)
    assert (image[0][distance < 0.23] == 1).all()
    assert (image[0][distance > 0.27] == 0).all()
    np.testing.assert_allclose(image.sum() / 64 / 128, np.pi / 16, rtol=0.02)


def test_splats_go_around_a_cylinder_and_shrink_with_speed() -> None:
    pipe = Quadric.cylinder([0, 0, 0], 1.0, 1.0)
    system = ParticleSystem([[3, 0.01, 0], [-3, 0, 0.5]], [[-2, 0, 0], [1, 0, 0]])
    image = particles.splat(system.impacts([pipe], 0, 5), [pipe], resolution=64, radius=0.5)[0]
    assert image[32, 0] == 1
    assert image[32, 63] == 1
    # Half the speed, half the radius.
    across = [int((image[row] > 0.5).sum()) for row in (32, 48)]
    assert abs(across[0] - 64 / (2 * np.pi)) <= 2
    assert abs(across[1] - 32 / (2 * np.pi)) <= 2


def test_splats_without_a_way_back_paint_their_texel() -> None:
    matrix = np.zeros((4, 4))
    matrix[0, 0], matrix[2, 3], matrix[3, 2] = 1.0, -0.5, -0.5
    trough = Quadric(matrix)
    image = particles.splat(ParticleSystem([2.0, 5.0, 9.0], [0, 0, -1]).impacts([trough], 0, 9), [trough], resolution=10)
    assert image.sum() == 1
    assert image[0, 7, 6] == 1


def painted(collider: Any, at: Any, down: Any, radius: float, resolution: int) -> tuple[np.ndarray, np.ndarray, float]:
    """(points of painted texels, all points, area of the paint) of one splat; area by the triangles between texels' points."""
    impacts = ParticleSystem(at, down).impacts([collider], 0, 2)
    assert len(impacts) == 1
    image = particles.splat(impacts, [collider], resolution=resolution, radius=radius)[0]
    half = np.array([0.25, 0.75])
    place = ((np.arange(resolution)[:, None] + half) / resolution).ravel()
    u, v = np.meshgrid(place, place)
    fine = particles.surface_points([collider], 0, np.column_stack([u.ravel(), v.ravel()])).reshape(*u.shape, 3)
    # A texel's area: of the square between four points within it, twice as long and wide.
    e, g = fine[::2, 1::2] - fine[::2, ::2], fine[1::2, ::2] - fine[::2, ::2]
    area = 4.0 * np.linalg.norm(np.cross(e, g), axis=2)
    where = fine[::2, ::2] + 0.5 * (e + g)
    on = np.isfinite(area)
    return where[on & (image > 0.5)], impacts.point[0], float((image * np.where(on, area, 0.0)).sum())


def test_splats_cross_edges_of_faces_and_borders_of_charts() -> None:
    # Two faces of a square, and a roof of two charts: the disc goes on over the edge between them. With a cell a pair of faces
    # it was cut there.
    flat = thud.TriangleMesh([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    roof = thud.TriangleMesh(
        [[0, 0, 0], [1, 0, 1], [1, 2, 1], [0, 2, 0], [2, 0, 0], [2, 2, 0]], [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]
    )
    for mesh, at, radius in ((flat, [1.0, 0.9, 1.0], 0.4), (roof, [0.98, 0.9, 2.0], 0.3)):
        where, hit, area = painted(particles.Mesh(mesh), at, [0, 0, -1.5], radius, 256)
        far = np.linalg.norm(where - hit, axis=1)
        assert far.max() < radius + 0.02
        np.testing.assert_allclose(area, np.pi * radius**2, rtol=0.05)
        # Round: as far in each of eight directions, also beyond the edge.
        turn = np.arctan2(where[:, 1] - hit[1], where[:, 0] - hit[0])
        for k in range(8):
            assert far[np.abs((turn - k * np.pi / 4 + np.pi) % (2 * np.pi) - np.pi) < 0.4].max() > radius - 0.03


def test_splats_on_blobs_are_round() -> None:
    # One texel a splat was painted, as wide as it happened to be.
    blobs = particles.Blobs([[0, 0, 0], [0.5, 0, 0]], 1.0, 1.0, 0.5)
    for at in ([0.0, 0.0, 3.0], [0.25, 0.0, 3.0], [-0.4, 0.1, 3.0]):
        where, hit, area = painted(blobs, at, [0, 0, -1.5], 0.12, 256)
        assert np.linalg.norm(where - hit, axis=1).max() < 0.13
        np.testing.assert_allclose(area, np.pi * 0.12**2, rtol=0.1)


def test_splats_do_not_come_out_at_the_back() -> None:
    board = thud.TriangleMesh(
        np.array([[x, y, z] for x in (0, 2) for y in (0, 2) for z in (0, 0.01)], float),
        [[0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]],
    )
    where, _hit, area = painted(particles.Mesh(board), [1.0, 1.0, 1.0], [0, 0, -1.5], 0.3, 128)
    assert (where[:, 2] > 0.005).all()
    np.testing.assert_allclose(area, np.pi * 0.09, rtol=0.05)


def test_no_impacts_no_pixels() -> None:
    made = particles.impact_map(rain(), scene(), -5.0, -4.0, resolution=4, encoding="uint8")
    assert not made.data.any()
    assert len(made.decode()) == 0
    assert particles.impact_map(rain(), [], 0.0, 1.0, resolution=4).data.shape == (0, 4, 4, 4)
    assert not particles.splat(rain().impacts(scene(), -5, -4), scene(), resolution=4).any()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"resolution": 0}, "resolution"),
        ({"resolution": (4, 4, 4)}, "resolution"),
        ({"resolution": 2.5}, "resolution"),
        ({"encoding": "uint16"}, "encoding"),
        ({"combine": "first"}, "combine"),
        ({"layout": "rows"}, "layout"),
        ({"latency": np.nan}, "latency"),
        ({"latency": [1.0]}, "latency"),
        ({"speed_range": (2.0, 1.0)}, "speed_range"),
        ({"box": [0, 0, 0, 1]}, "box"),
        ({"extent": -1.0}, "extent"),
        ({"backend": "cuda"}, "backend"),
        ({"layout": "particle", "combine": "add"}, "combine"),
        ({"layout": "particle", "textures": [np.ones((2, 2))]}, "textures"),
        ({"textures": {9: np.ones((2, 2))}}, "textures"),
        ({"textures": {0: np.ones(2)}}, "textures"),
        ({"textures": {0: np.ones((2, 2)), 1: np.ones((2, 2, 3))}}, "textures"),
        ({"texture_filter": "cubic"}, "texture_filter"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidInputError, match=name):
        particles.impact_map(rain(), scene(), 0.0, 1.0, **arguments)


def test_more_errors() -> None:
    with pytest.raises(InvalidInputError, match="t1"):
        particles.impact_map(rain(), scene(), 1.0, 1.0)
    many = [Disc([0, 0, k], [0, 0, 1], 1.0) for k in range(256)]
    with pytest.raises(InvalidInputError, match="colliders"):
        particles.impact_map(rain(), many, 0.0, 1.0, encoding="uint8", resolution=1)
    with pytest.raises(UnsupportedQueryError, match="spacing"):
        particles.impact_map(rain(), scene(), 0.0, 1.0, layout="particle").spacing(0)


def test_meshes_surfaces_and_blobs_have_maps() -> None:
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    corner = (np.arange(4)[:, None] * 5 + np.arange(4)).reshape(-1, 1)
    faces = np.concatenate([corner + [0, 1, 6], corner + [0, 6, 5]])
    mesh = thud.TriangleMesh(np.column_stack([grid - [5, 2], np.sin(grid[:, 0])]), faces)
    surface = grid_surface(np.random.default_rng(2), side=4, quads=(2, 2), cell=2.0)
    colliders = [
        particles.Mesh(mesh, restitution=0.8),
        particles.Surface(surface, thud.Pose([0.5, -2, 0], [1, 0, 0, 0])),
        particles.Blobs([[-1, -4, 1], [0, -4, 1.5]], 1.5),
        Plane([0, 0, -3], [0, 0, 1]),
        particles.ImplicitPatches.from_field(lambda p: ((p - [3, 3, 1]) ** 2).sum(axis=1) - 1, [1, 1, -1], [5, 5, 3], 1.0),
    ]
    system = rain()
    for combine in ("last", "add"):
        made = particles.impact_map(system, colliders, 0.0, 2.0, resolution=20, combine=combine)  # type: ignore[arg-type]
        impacts = system.impacts(colliders, 0.0, 2.0)
        assert set(impacts.collider) == {0, 1, 2, 3, 4}
        uv = particles.impact_coordinates(impacts, colliders)
        np.testing.assert_allclose(made.data, slow_map(impacts, uv, 5, 20, 20, 0.0, 2.0, combine), rtol=1e-6)
    fine = particles.impact_map(system, colliders, 0.0, 2.0, resolution=1024)
    read = fine.decode()
    for k in range(3):
        # Nearest of the impacts on the collider; a pixel is some millimetres.
        mine = impacts.point[impacts.collider == k]
        point = read.point[read.collider == k]
        assert len(point) > 5
        gap = np.linalg.norm(point[:, None] - mine[None], axis=2).min(axis=1)
        assert gap.max() < 8e-3
    image = particles.splat(impacts, colliders, resolution=64, radius=0.2)
    assert all((image[k] > 0.5).sum() > (impacts.collider == k).sum() for k in (0, 1, 2))
    box = particles.impact_map(system, colliders, 0.0, 2.0, layout="particle", encoding="uint8")
    assert (np.abs(box.decode().point) < 20).all()


def test_kernels_have_one_specialisation() -> None:
    from thud.particles.maps.map_rows import chart_rows, draw_rows
    from thud.particles.maps.splats import splat_rows

    for kernel in (chart_rows, draw_rows, splat_rows):
        assert len(kernel.signatures) <= 1


def test_the_name_is_the_function_whatever_was_imported() -> None:
    import importlib
    import pkgutil

    for module in pkgutil.iter_modules(particles.__path__):
        assert module.name not in particles.__all__ or module.name in particles._MODULES
        importlib.import_module(f"thud.particles.{module.name}")
    assert callable(particles.impact_map)
    assert callable(particles.splat)


def test_the_same_bytes_for_any_number_of_threads() -> None:
    colliders, system = scene(), rain()
    one = particles.impact_map(system, colliders, 0.0, 40.0, resolution=32, threads=1)
    four = particles.impact_map(system, colliders, 0.0, 40.0, resolution=32, threads=4)
    np.testing.assert_array_equal(one.data, four.data)
