"""Impact maps by OpenGL: the same as by Numba, on scenes of every kind. Needs EGL; without it these tests fail and say what
to install."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.map_agreement import agreement
from tests.oracles.particle_scenes import KINDS, random_collider, random_scene, random_system
from thud import particles
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles import Disc, ParticleSystem, Plane, Quadric, Rectangle
from thud.particles.maps import backend_gl
from thud.particles.maps.backend_gl import impacts_gl


def assert_same_impacts(system: ParticleSystem, colliders: list[Any], t0: float, t1: float) -> int:
    """Equal integers, numbers to roundoff; how many there are."""
    gl, numba = impacts_gl(system, colliders, t0, t1), system.impacts(colliders, t0, t1)
    # Two impacts closer in time than roundoff may change places.
    keys = [np.lexsort((i.bounce, i.generation, i.particle)) for i in (gl, numba)]
    for name in ("particle", "generation", "collider", "part", "bounce"):
        np.testing.assert_array_equal(getattr(gl, name)[keys[0]], getattr(numba, name)[keys[1]])
    for name in ("time", "point", "normal", "velocity", "speed"):
        np.testing.assert_allclose(getattr(gl, name)[keys[0]], getattr(numba, name)[keys[1]], atol=1e-8)
    assert (np.diff(gl.time) >= 0).all()
    return len(numba)


@pytest.mark.parametrize("seed", range(12))
def test_maps_agree_on_random_scenes(seed: int) -> None:
    system, colliders = random_scene(seed)
    for combine in ("last", "add"):
        arguments: dict[str, Any] = {"resolution": (64, 48), "combine": combine, "latency": 0.25}
        numba = particles.impact_map(system, colliders, 0.25, 3.75, **arguments)
        gl = particles.impact_map(system, colliders, 0.25, 3.75, backend="gl", **arguments)
        impacts = system.impacts(colliders, 0.5, 4.0)
        found = agreement(numba, gl, impacts, particles.impact_coordinates(impacts, colliders))
        assert found.differing == 0
        assert found.impacts[0] > 50
        assert abs(found.impacts[1] / found.impacts[0] - 1) < 1e-3
        assert (gl.t0, gl.t1, gl.data.dtype, gl.data.shape) == (numba.t0, numba.t1, numba.data.dtype, numba.data.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_impacts_agree_on_every_kind(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    colliders = [random_collider(rng, kind) for _ in range(3)]
    for second_order in (False, True):
        system = random_system(rng, 300, second_order=second_order, bounces=3)
        assert assert_same_impacts(system, colliders, 0.5, 3.5) > 20


@pytest.mark.parametrize("combine", ["last", "add"])
def test_bytes_agree(combine: Any) -> None:
    for seed, speeds in ((20, None), (21, (1.0, 12.0))):
        system, colliders = random_scene(seed)
        arguments: dict[str, Any] = {"resolution": 24, "encoding": "uint8", "combine": combine, "speed_range": speeds}
        numba = particles.impact_map(system, colliders, 0.5, 4.0, **arguments)
        gl = particles.impact_map(system, colliders, 0.5, 4.0, backend="gl", **arguments)
        assert gl.data.dtype == np.uint8
        np.testing.assert_allclose(gl.speed_range, numba.speed_range)
        np.testing.assert_array_equal(gl.data, numba.data)
        assert (numba.data[..., 3] > 1).any()


@pytest.mark.parametrize("encoding", ["float", "uint8"])
def test_particle_maps_agree(encoding: Any) -> None:
    system, colliders = random_scene(22)
    numba = particles.impact_map(system, colliders, 0.5, 4.0, layout="particle", encoding=encoding)
    gl = particles.impact_map(system, colliders, 0.5, 4.0, layout="particle", encoding=encoding, backend="gl")
    assert gl.data.shape == numba.data.shape
    np.testing.assert_allclose(gl.data.astype(float), numba.data.astype(float), rtol=1e-6, atol=1e-9)
    assert len(gl.decode()) > 100


@pytest.mark.parametrize("filter_name", ["nearest", "bilinear"])
@pytest.mark.parametrize("encoding", ["float", "uint8"])
def test_textures_agree(filter_name: Any, encoding: Any) -> None:
    system, colliders = random_scene(23)
    rng = np.random.default_rng(0)
    textures = {k: rng.uniform(size=(5 + k, 7, 3)) for k in range(0, len(colliders), 2)}
    for combine in ("last", "add"):
        arguments: dict[str, Any] = {
            "resolution": 32, "textures": textures, "texture_filter": filter_name, "encoding": encoding, "combine": combine,
        }  # fmt: skip
        numba = particles.impact_map(system, colliders, 0.5, 4.0, **arguments)
        gl = particles.impact_map(system, colliders, 0.5, 4.0, backend="gl", **arguments)
        assert gl.data.shape == numba.data.shape
        assert numba.data[..., 4:].any()
        np.testing.assert_allclose(gl.data.astype(float), numba.data.astype(float), rtol=1e-5, atol=1e-6)


def test_generations_seeds_and_rows_of_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_gl, "GL_CHUNK", 100)
    plate = Rectangle([-5, -5, 0], [10, 0, 0], [0, 10, 0], restitution=0.8)
    system = ParticleSystem(
        [0, 0, 1], [0, 0, -4], [0, 0, -9.8], 0.37, np.linspace(0, 1, 41), "bounce", 2, 2**63 + 5, [2, 2, 0.5], 1.0,
        generations=900, rest="stop",
    )  # fmt: skip
    assert assert_same_impacts(system, [plate], 300.0, 303.0) > 300


def test_many_bounces_and_rest() -> None:
    system = ParticleSystem([[0, 0, 1], [0, 0, 2]], [1, 0, 0], [0, 0, -9.8], response="bounce", bounces=100, rest="stop")
    assert assert_same_impacts(system, [Plane([0, 0, 0], [0, 0, 1], restitution=0.6, friction=0.1)], 0.0, 10.0) > 20


def test_corner_hits_and_starts_on_a_surface() -> None:
    # Two walls at one moment; a start on the floor; along a wall.
    walls = [
        Rectangle([0, -1, -1], [0, 2, 0], [0, 0, 4]),
        Rectangle([-1, 0, -1], [2, 0, 0], [0, 0, 4]),
        Disc([3, 3, 0], [0, 0, 1], 1),
    ]
    system = ParticleSystem(
        [[1, 1, 0], [0, 0.5, 0], [3, 3, 0], [0.5, 0.5, 0.5]], [[-1, -1, 0], [0, -1, 0], [0, 0, 2], [0, -1, 0]],
        [0, 0, -0.1], response="bounce", bounces=5, rest="stop",
    )  # fmt: skip
    assert assert_same_impacts(system, walls, 0.0, 60.0) == 5


def test_particles_for_ever_on_quartics() -> None:
    bowl = Quadric.paraboloid([0, 0, 0], 2.0, restitution=0.9)
    system = ParticleSystem([[0.3, 0.2, 3], [0, 0, 2], [0.5, 0, 5]], [[0.1, 0, 0], [0, 0, 0], [0.2, 0.1, 0]], [0, 0, -9.8])
    assert assert_same_impacts(system, [bowl], 0.0, 100.0) == 3


def test_no_impacts_and_no_colliders() -> None:
    system, colliders = random_scene(1)
    assert not particles.impact_map(system, colliders, -5.0, -4.0, resolution=4, backend="gl").data.any()
    assert particles.impact_map(system, [], 0.0, 1.0, resolution=4, backend="gl").data.shape == (0, 4, 4, 4)
    assert len(impacts_gl(system, colliders, -5.0, -4.0)) == 0


def test_more_maps_than_a_row_of_the_frame_buffer_holds() -> None:
    rng = np.random.default_rng(5)
    colliders = [Disc([*rng.uniform(-5, 5, 2), rng.uniform(-3, 3)], [0, 0, 1], 1.0) for _ in range(40)]
    system = random_system(rng, 500, second_order=True, bounces=1)
    arguments: dict[str, Any] = {"resolution": (1000, 3)}
    gl = particles.impact_map(system, colliders, 0.0, 3.0, backend="gl", **arguments)
    numba = particles.impact_map(system, colliders, 0.0, 3.0, **arguments)
    np.testing.assert_allclose(gl.data, numba.data, rtol=1e-6)
    assert (numba.data[-1] > 0).any()


def test_other_contexts_and_threads_are_left_alone() -> None:
    import moderngl

    own = moderngl.create_context(standalone=True, backend="egl")  # type: ignore[call-arg]
    target = own.framebuffer([own.texture((2, 2), 4)])
    target.use()
    system, colliders = random_scene(3, 50)
    before = particles.impact_map(system, colliders, 0.0, 3.0, resolution=8, backend="gl").data
    own.clear(1.0, 0.0, 0.0, 1.0)
    assert np.frombuffer(target.read(components=4), np.uint8).tolist() == [255, 0, 0, 255] * 4
    found: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(particles.impact_map(system, colliders, 0.0, 3.0, resolution=8, backend="gl").data)
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for data in found:
        np.testing.assert_array_equal(data, before)
    own.clear(0.0, 1.0, 0.0, 1.0)
    assert np.frombuffer(target.read(components=4), np.uint8).tolist() == [0, 255, 0, 255] * 4
    own.release()


def test_what_it_does_not_have_is_said() -> None:
    system, _ = random_scene(0, 10)
    mesh = particles.Mesh(thud.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    with pytest.raises(UnsupportedQueryError, match=r'Mesh.*backend="numba"'):
        particles.impact_map(system, [mesh], 0.0, 1.0, backend="gl")
    with pytest.raises(UnsupportedQueryError, match=r'textures.*backend="numba"'):
        particles.impact_map(system, [Disc([0, 0, 0], [0, 0, 1], 1)], 0, 1, textures=[np.ones((2, 2, 5))], backend="gl")
    with pytest.raises(InvalidInputError, match="resolution"):
        particles.impact_map(system, [Disc([0, 0, 0], [0, 0, 1], 1)], 0, 1, resolution=(10**6, 1), backend="gl")
    with pytest.raises(InvalidInputError, match="t1"):
        impacts_gl(system, [], 0.0, np.nan)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_is_told_instead_of_waiting_for_ever() -> None:
    code = (
        f"{CALL}import os, sys\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        f"        {CALL.splitlines()[2]}\n"
        "    except Exception as error:\n"
        "        os.write(1, str(error).encode())\n"
        "    os._exit(0)\n"
        "os.waitpid(pid, 0)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "spawn" in run.stdout


CALL = (
    "from thud import particles\n"
    "system = particles.ParticleSystem([0, 0, 1], [0, 0, -1])\n"
    "particles.impact_map(system, [particles.Disc([0, 0, 0], [0, 0, 1], 1)], 0, 2, resolution=4, backend='gl')\n"
)


@pytest.mark.parametrize(
    ("before", "environment", "said"),
    [
        ("import sys; sys.modules['moderngl'] = None\n", {}, 'pip install "thud[gpu]"'),
        ("", {"__EGL_VENDOR_LIBRARY_DIRS": "/nowhere"}, "apt install libegl1 libgl1 libegl-mesa0 libgl1-mesa-dri"),
        ("from thud._core import gl; gl.GL_VERSION = 990\n", {}, "OpenGL 4.3 through EGL"),
    ],
)
def test_what_is_missing_is_named(before: str, environment: dict[str, str], said: str) -> None:
    run = subprocess.run([sys.executable, "-c", before + CALL], env=os.environ | environment, capture_output=True, text=True)
    assert run.returncode != 0
    assert "MissingExtraError" in run.stderr
    assert said in run.stderr
