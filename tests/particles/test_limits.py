"""Limits and errors: what cannot be answered is refused by name and soon; what ends stays where it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thud
from thud import particles as p
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles.maps import backend_gl
from thud.results import ParticleState

FLOOR = p.Plane([0, 0, 0], [0, 0, 1])


def system(**change: Any) -> p.ParticleSystem:
    return p.ParticleSystem(**{"position": [0, 0, 1.0], "velocity": [0, 0, -1.0], **change})


@pytest.mark.parametrize("lifetime", [1e-20, 1e-300, 1e-9])
def test_more_generations_than_can_be_computed(lifetime: float) -> None:
    # The generation that lives at a time was looked for one by one; 1e9 rows of a second were begun.
    with pytest.raises(InvalidInputError, match="lifetime"):
        system(lifetime=lifetime).impacts([FLOOR], 0.0, 1.0)
    with pytest.raises(InvalidInputError, match="lifetime"):
        system(lifetime=lifetime, birth=1.0).impacts([FLOOR], 1.0, 3.0)
    if lifetime < 1e-9:
        with pytest.raises(InvalidInputError, match="lifetime: row 0"):
            system(lifetime=lifetime).states(1.0, [FLOOR])


def test_few_generations_may_be_short_and_long_ago() -> None:
    brief = system(lifetime=1e-20, generations=3)
    assert len(brief.impacts([FLOOR], 0.5, 1.0)) == 0
    assert brief.states(1.0, [FLOOR]).generation.tolist() == [2]
    assert system(lifetime=1e-9).states(1.0, [FLOOR]).state[0] == ParticleState.FLYING


def test_a_limit_of_impacts_in_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    from thud.particles.flight import flights

    monkeypatch.setattr(flights, "MOST_WINDOW_IMPACTS", 100)
    hops = system(acceleration=[0, 0, -9.81], response="bounce", bounces=10**6)
    ground = [p.Plane([0, 0, 0], [0, 0, 1], restitution=1.0)]
    with pytest.raises(InvalidInputError, match="t1: more than 100 impacts"):
        hops.impacts(ground, 0.0, 1000.0)
    assert len(hops.impacts(ground, 990.0, 1000.0)) < 100


@pytest.mark.parametrize("response", ["remove", "bounce"])
def test_after_the_last_generation_particles_stay_where_they_ended(response: Any) -> None:
    x = np.array([[0, 0, 1.0], [0, 0, 5.0]])
    fall = p.ParticleSystem(x, [0.5, 0, -1.0], lifetime=2.0, generations=3, response=response, bounces=0, birth=[0.0, 0.5])
    for t in (6.5, 50.0, 1e6):
        after = fall.states(t, [FLOOR])
        assert after.state.tolist() == [ParticleState.REMOVED] * 2
        # One has hit the floor, the other was in the air at the end of its life.
        np.testing.assert_allclose(after.position, [[0.5, 0, 0], [1.0, 0, 3.0]], atol=1e-12)
        assert (after.velocity == 0.0).all()
        assert after.generation.tolist() == [2, 2]
        assert after.bounce.tolist() == [1, 0]


def test_bytes_that_are_full_are_named_and_decode_to_nan() -> None:
    # A hundred impacts of 5 m/s on one pixel: the sums of bytes ended at 255, and their mean came back as 0.45 m/s.
    x = np.zeros((100, 3))
    x[:, 2] = np.linspace(1.0, 2.0, 100)
    x = np.concatenate([x, [[3.0, 0, 1.0]]])
    storm = p.ParticleSystem(x, [0, 0, -5.0])
    plate = [p.Rectangle([-1, -1, 0], [8, 0, 0], [0, 2, 0])]
    full = p.impact_map(storm, plate, 0.0, 1.0, resolution=(4, 1), encoding="uint8", combine="add", speed_range=(0.0, 5.0))
    assert full.saturated.shape == (1, 1, 4)
    assert full.saturated[0, 0].tolist() == [True, False, False, False]
    told = full.decode()
    assert told.saturated.tolist() == [True, False]
    assert np.isnan(told.time[0])
    assert np.isnan(told.speed[0])
    assert told.count.tolist() == [100, 1]
    # One impact alone may have the highest byte.
    assert told.speed[1] == 5.0
    for other in ({"encoding": "float", "combine": "add"}, {"encoding": "uint8", "combine": "last"}):
        fine = p.impact_map(storm, plate, 0.0, 1.0, resolution=(4, 1), speed_range=(0.0, 5.0), **other)  # type: ignore[arg-type]
        assert not fine.saturated.any()
        np.testing.assert_allclose(fine.decode().speed, 5.0, rtol=1e-6)
    many = p.impact_map(
        p.ParticleSystem(np.tile([0.0, 0, 0.001], (300, 1)), [0, 0, -5.0]), plate, 0.0, 1.0, resolution=(4, 1),
        encoding="uint8", combine="add", speed_range=(5.0, 10.0),
    )  # fmt: skip
    # Offsets and speeds of 0 add up to 0, but how many they were is not known.
    assert many.decode().saturated.tolist() == [True]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: system(lifetime="a"), "lifetime"),
        (lambda: system(birth=[None]), "birth"),
        (lambda: p.Plane([0, 0, 0], [0, 0, 1], material="tin"), "material: expected a Material or None, got 'tin'"),
        (lambda: p.impact_map(system(), [FLOOR], 0.0, 1.0, resolution=200_000), "resolution: 1 maps of 200000 by 200000"),
        (lambda: p.splat(system().impacts([FLOOR], 0, 2), [FLOOR], resolution=200_000), "resolution: 1 maps"),
        (lambda: system(position=[0, 0, 1e300]), "position: row 0 is beyond the limit"),
        (lambda: system(velocity=[0, 0, 1e300]), "velocity: row 0 is beyond the limit"),
        (lambda: system(acceleration=[0, 0, 1e300]), "acceleration: row 0 is beyond the limit"),
        (lambda: system(position_spread=1e300), "position_spread: the value is beyond"),
        (lambda: system(lifetime=1e300), "lifetime: row 0 is beyond the limit"),
        (lambda: system(birth=-1e300), "birth: row 0 is beyond the limit"),
        (lambda: system().impacts([FLOOR], 0.0, 1e300), "t1: the value is beyond"),
        (lambda: p.Plane([0, 0, 1e300], [0, 0, 1]), "point: row 2 is beyond"),
        (lambda: p.Rectangle([0, 0, 0], [1e300, 0, 0], [0, 1, 0]), "edge_u: row 0 is beyond"),
        (lambda: p.Disc([0, 0, 0], [0, 0, 1], 1e300), "radius"),
        (lambda: p.Polygon([[0, 0, 0], [1e300, 0, 0], [0, 1, 0]]), "vertices: row 1 is beyond"),
        (lambda: p.Quadric(np.diag([1e300, 1, 1, -1])), "matrix: row 0 is beyond"),
        (lambda: p.Quadric.ellipsoid([0, 0, 0], 1e300), "radii"),
        (lambda: p.Quadric.ellipsoid([0, 0, 0], 1e-300), "radii"),
        (lambda: p.Quadric.ellipsoid([1e300, 0, 0], 1.0), "center: row 0"),
        (lambda: p.Quadric.cylinder([0, 0, 0], 1.0, 1e300), "half_length"),
        (lambda: p.Blobs([[0, 0, 0]], 1e300), "radii: the value is beyond"),
        (lambda: p.Solid(thud.Sphere(1.0), thud.Pose([1e300, 0, 0])), "beyond"),
        (lambda: p.impact_map(system(), [FLOOR], 0.0, 1.0, extent=1e300), "extent"),
    ],
)
def test_errors_name_the_argument(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_the_largest_values_that_are_taken_are_answered(size: float) -> None:
    for collider in (p.Plane([0, 0, 0], [0, 0, 1]), p.Quadric.ellipsoid([0, 0, 0], size), p.Disc([0, 0, 0], [0, 0, 1], size)):
        for a in (None, [0, 0, -size]):
            got = p.ParticleSystem([0, 0, 0.5 * size], [0, 0, -size], a, lifetime=1e30).impacts([collider], 0.0, 1e30)
            assert len(got) == 1
            assert np.isfinite(got.point).all()
            assert 0.0 < got.time[0] < 3.0


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    # The name in the error was that of a temporary file.
    pytest.importorskip("soundfile", reason="the sound extra is not installed")
    roof = p.Plane([0, 0, 0], [0, 0, 1], material=p.materials.wood())
    with pytest.raises(FileNotFoundError) as caught:
        p.write_sound(tmp_path / "none" / "hail.wav", system(), [roof], 0.0, 0.1)
    assert str(tmp_path / "none") in str(caught.value)
    assert ".tmp" not in str(caught.value)


def test_a_driver_with_too_few_buffers_is_not_told_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("moderngl", reason="the gpu extra is not installed")

    class Driver:
        info = {"GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS": 8}  # noqa: RUF012

        def release(self) -> None:
            pass

    monkeypatch.setattr(backend_gl.GlStage, "__init__", lambda self: setattr(self, "context", Driver()))
    with pytest.raises(UnsupportedQueryError, match=r'of which this driver has 8; backend="numba"'):
        backend_gl._Stage()


@pytest.mark.parametrize("bounces", [-1, 2.5])
def test_bounces_are_checked_also_where_nothing_bounces(bounces) -> None:
    # Only systems that bounce looked at it: a wrong number came out when the response was changed.
    with pytest.raises(InvalidInputError, match="bounces: expected a whole number"):
        p.ParticleSystem([0.0, 0, 1], [0.0, 0, -1], bounces=bounces)


def test_what_is_no_collider_part_is_named() -> None:
    seen = p.impact_map(system(), [p.Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])], 0.0, 2.0, resolution=4)
    wrong: list[tuple[Any, str]] = [
        (lambda: p.Solid(None), "shape: expected a thud shape, got a NoneType"),  # type: ignore[arg-type]
        (lambda: p.Polygon(np.eye(3), holes=3), "holes: expected loops of .K, 3. points, got a int"),  # type: ignore[arg-type]
        (lambda: p.impact_map(system(), [FLOOR], 0.0, 2.0, textures=3), "textures: expected an array"),  # type: ignore[call-overload]
        (lambda: p.impact_map([FLOOR], system(), 0.0, 2.0), "system: expected a ParticleSystem, got a list"),  # type: ignore[call-overload,arg-type]
        (lambda: p.dose_map([FLOOR], system(), 0.0, 2.0), "system: expected a ParticleSystem, got a list"),  # type: ignore[arg-type]
        (lambda: p.write_sound(system(), [FLOOR], "hail.wav", 0.0, 2.0), "path: expected the name of a file"),  # type: ignore[arg-type]
        (lambda: seen.spacing("a"), "collider: expected a place from 0 to 0, got 'a'"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        with pytest.raises(InvalidInputError, match=message):
            call()


def test_colliders_and_maps_read_in_one_line() -> None:
    # As dataclasses print, arrays of any size came in full, a line a row.
    mesh, many = thud.to_mesh(thud.Sphere(1.0)), np.arange(300.0).reshape(100, 3)
    square = [[0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]]
    colliders = [
        FLOOR, p.Rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0], material=p.materials.glass()), p.Disc([0, 0, 0], [0, 0, 1], 1.0),
        p.Polygon(square, holes=[[[1, 1, 0], [2, 1, 0], [1, 2, 0]]]), p.Quadric.ellipsoid([0, 0, 0], [1, 2, 3]),
        p.Blobs(many, 1.0), p.Skeleton(np.stack([many, many + 1.0], axis=1), 1.0), p.Solid(thud.Box([1, 1, 1])),
        p.Mesh(mesh, texture_coordinates=np.random.default_rng(1).uniform(size=(len(mesh.vertices), 2))),
        p.Surface(thud.terrain.from_heights(np.zeros((9, 9)), 1.0).surface),
    ]  # fmt: skip
    for collider in colliders:
        said = repr(collider)
        assert said.startswith(type(collider).__name__ + "(")
        assert "\n" not in said
        assert len(said) < 250
    assert repr(FLOOR) == "Plane(point=[0.0, 0.0, 0.0], normal=[0.0, 0.0, 1.0], restitution=0.5, friction=0)"
    assert "centers=<100 x 3 numbers>" in repr(colliders[5])
    assert repr(p.ColliderSet(colliders)) == "ColliderSet(10 colliders)"
    falls, plate = system(position=[0.5, 0.5, 1.0]), colliders[1]
    assert repr(p.impact_map(falls, [plate], 0.0, 2.0, resolution=(8, 4))) == (
        "ImpactMap(1 collider, 8 x 4 pixels each, 1 hit, float, from 0 s, to 2 s)"
    )
    by_particle = p.impact_map(falls, [plate], 0.0, 2.0, layout="particle")
    assert repr(by_particle) == "ImpactMap(1 particle, 1 hit, float, from 0 s, to 2 s)"


def test_words_for_states_are_public() -> None:
    assert system().states(0.5, [FLOOR]).state[0] == p.ParticleState.FLYING
    assert isinstance(system().impacts([FLOOR], 0.0, 2.0), p.ParticleImpacts)
    assert isinstance(system().states(0.5), p.ParticleStates)
