"""`thud.warmup()` and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thud
import thud.warm
from tests.core.processes import PACKAGE, python
from thud.cli.app import app


def test_warmup_leaves_no_kernel_to_compile() -> None:
    from thud._core.decorators import REGISTRY, resolve_signature

    steps: list[tuple[int, int, str]] = []
    kernels = thud.warmup(progress=lambda done, total, name: steps.append((done, total, name)))
    assert [kernel.name for kernel in kernels] == [name for name in REGISTRY if name.startswith("thud.")]
    assert steps[-1][0] == steps[-1][1] == len(kernels)
    assert all(state.bytes for state in thud.warm.kernel_states())
    for kernel in kernels:
        dispatcher, signature = REGISTRY[kernel.name]
        # One specialisation: the gates fixed dtype and layout, and the signature says the same.
        dispatcher.compile(resolve_signature(signature))
        assert dispatcher.signatures == [resolve_signature(signature)], kernel.name


#: What each group is for. A world's shapes bring their own kernels.
GROUP_QUERIES = {
    "convex": """
thud.intersects(box, hull)
thud.distance(box, hull, signed=True)
thud.contacts(box, hull)
thud.contains(hull, [0, 0, 0])
thud.cast(box, hull, None, away, motion_b=[-3.0, 0, 0])
thud.raycast(hull, [0, 0, 5], [[0, 0, -1]])
""",
    "mesh": """
thud.intersects(mesh, mesh)
thud.distance(mesh, mesh, None, away)
thud.contacts(mesh, mesh, None, thud.Pose([0.1, 0, 0]))
thud.overlap_patches(mesh, mesh, None, thud.Pose([0.1, 0, 0]))
thud.overlap_patches(box, mesh)
thud.distance(box, mesh, signed=True)
thud.raycast(mesh, [0, 0, 5], [[0, 0, -1]])
thud.contains(mesh, [[0.1, 0.1, 0.1]])
thud.intersects(mesh, box)
""",
    "world": """
world = thud.World()
world.add_many(box, thud.Pose(np.random.default_rng(0).uniform(0, 3, (50, 3))))
world.pairs()
world.contacts()
world.events()
""",
    "heightfield": """
field = thud.HeightField(np.zeros((9, 9)), 0.5)
thud.distance(field, box, None, away, signed=True)
thud.contacts(field, box)
thud.cast(field, box, None, away, motion_b=[0, 0, -9])
thud.raycast(field, [1, 1, 9], [[0, 0, -1]])
thud.closest_point(field, [[1, 1, 9]], signed=True)
""",
    "terrain": """
surface = thud.terrain.from_heights(np.zeros((9, 9)), 0.5).surface
thud.intersects(surface, box)
thud.raycast(surface, [1, 1, 9], [[0, 0, -1]])
""",
    "particles": """
rain = thud.particles.ParticleSystem([0, 0, 9], [0, 0, -9], lifetime=2.0, birth=np.zeros(9))
rain.impacts([thud.particles.Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])], 0.0, 2.0)
""",
    "dynamics": """
bodies = thud.dynamics.RigidBodies.of_shapes(box)
bodies.step(0.01)
bodies.energy(), bodies.point_motion(0, [0, 0, 1])
""",
    "imagespace": """
places = thud.Pose([[0, 0, 0], [0.2, 0.1, 0]])
seen = thud.imagespace.interference([mesh, mesh], places)
thud.imagespace.piercings([mesh, mesh], places, seen)
thud.imagespace.contacts([mesh, mesh], places, seen)
""",
}

_SCENE = """
import json
import numpy as np
import thud
box, away = thud.Box([1, 1, 1]), thud.Pose([3.0, 0, 0])
hull = thud.ConvexHull(np.random.default_rng(0).normal(size=(20, 3)))
corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
mesh = thud.TriangleMesh(corner, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
"""

_CALLED = """
from thud._core import decorators
rows = decorators.REGISTRY.items()
print(json.dumps([name for name, (d, _) in rows if d.overloads and d._cache.kind == "entry"]))
"""


@pytest.mark.parametrize("group", thud.warm.GROUPS)
def test_a_group_has_what_its_queries_call(group: str) -> None:
    # Image space also sorts boxes, with kernels that were in the group of meshes only.
    done = python(_SCENE + GROUP_QUERIES[group] + _CALLED)
    assert done.returncode == 0, done.stderr
    called = set(json.loads(done.stdout))
    assert called
    assert called <= {state.name for state in thud.warm.kernel_states(group)}


def test_groups_cover_the_kernels() -> None:
    names = {state.name for group in thud.warm.GROUPS for state in thud.warm.kernel_states(group)}
    assert names == {state.name for state in thud.warm.kernel_states()}
    for group in thud.warm.GROUPS:
        assert len(thud.warm.kernel_states(group)) > 5, group
    with pytest.raises(thud.errors.InvalidInputError, match="groups: expected some of convex, mesh"):
        thud.warmup("meshes")
    with pytest.raises(thud.errors.InvalidInputError, match="processes: expected a whole number"):
        thud.warmup("imagespace", processes=0)


def test_workers_compile_each_kernel_once(tmp_path: Path) -> None:
    # In a process of its own, with an empty store: two workers, inner kernels before those that call them.
    code = (
        "import thud\n"
        "if __name__ == '__main__':\n"
        "    first = thud.warmup('imagespace', processes=2, progress=False)\n"
        "    second = thud.warmup('imagespace', progress=False)\n"
        "    print(sum(k.compiled for k in first), len(first), sum(k.compiled for k in second))"
    )
    done = python(code, THUD_CACHE_DIR=str(tmp_path))
    compiled, total, again = map(int, done.stdout.split())
    assert compiled == total > 5, done.stderr
    assert again == 0


def test_an_interrupted_warmup_ends_with_its_workers(tmp_path: Path) -> None:
    code = (
        "import os, signal, threading, thud\n"
        # A process that was started in the background may have been told to ignore it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sent = []\n"
        "def stop(done, total, name):\n"
        "    if done >= 2 and not sent:\n"
        "        sent.append(done)\n"
        "        os.killpg(os.getpgid(0), signal.SIGINT)\n"
        "try:\n"
        "    thud.warmup('imagespace', processes=2, progress=stop)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')"
    )
    settings = {"THUD_TARGET": "host"} | os.environ | {"PYTHONPATH": str(PACKAGE.parent), "THUD_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Workers hold the pipes open: both ends come only once they have ended too.
    out, said = process.communicate(timeout=600)
    assert out.strip() == "interrupted", said
    assert "Traceback" not in said
    # What they stored meanwhile is whole.
    done = python("import thud; print(len(thud.warmup('imagespace', progress=False)))", THUD_CACHE_DIR=str(tmp_path))
    assert int(done.stdout) > 5, done.stderr
    assert "damaged" not in done.stderr


def test_command_line_lists_what_is_there() -> None:
    result = CliRunner().invoke(app, ["warmup", "--list", "imagespace"])
    assert result.exit_code == 0, result.output
    assert "imagespace: " in result.output
    assert "kernels are there" in result.output
    assert "convex" not in result.output
    wrong = CliRunner().invoke(app, ["warmup", "meshes"])
    assert wrong.exit_code != 0


def test_command_line_version_and_help() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["version"]).output.strip() == thud.__version__
    assert "warmup" in runner.invoke(app, ["--help"]).output


def test_demo_draws_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--pairs", "100", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    assert "crate - ball" in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_missing_extra_names_itself() -> None:
    error = thud.errors.MissingExtraError.for_package("typer", "app")
    assert isinstance(error, ImportError)
    assert 'pip install "thud[app]"' in str(error)
    with pytest.raises(thud.ThudError):
        raise error
