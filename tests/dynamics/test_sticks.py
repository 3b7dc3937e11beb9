"""Points and sticks: relaxation against a loop, the catenary, stiffness, contact with bodies and with itself."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.conftest import small
from tests.dynamics.sticks_run import DT, mesh_now, scene
from tests.oracles.sticks import catenary, passings, relaxed
from thud._core.arrays import Floats
from thud.dynamics import Sticks, StickStatus, cloth, rag_doll, rope
from thud.errors import InvalidInputError
from thud.terrain import from_heights

#: Points a side of the cloth that falls, and steps of it.
SIDE, STEPS = (8, 12) if small else (18, 50)

DOWN = np.array([0.0, 0.0, -9.81])


def test_relaxation_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    points, mass = rng.normal(size=(12, 3)), rng.uniform(0.5, 2.0, 12)
    pairs = np.array([(a, b) for a in range(12) for b in range(a) if rng.uniform() < 0.3])
    net = Sticks(
        points, pairs, mass=mass, rest=rng.uniform(0.8, 1.2, len(pairs)), pinned=[0], method="slides", substeps=1,
        iterations=5, self_collision=False, velocity=rng.normal(size=(12, 3)),
    )  # fmt: skip
    give = 1.0 / mass
    give[0] = 0.0
    x, before = points.copy(), points - DT * net.velocity
    for _ in range(20):
        expected = relaxed(x, before, pairs[net.order], net.rest[net.order], give, DOWN, DT, 5)
        net.step(None, DT)
        assert np.abs(net.position - expected).max() < 1e-9
        x, before = expected, x


@pytest.mark.parametrize("method", ["xpbd", "slides"])
def test_a_hanging_rope_takes_the_catenary(method: str) -> None:
    count, span, length = 31, 1.0, 1.4
    options = {"substeps": 20, "iterations": 8} if method == "xpbd" else {"substeps": 10, "iterations": 40}
    line = rope(
        (0, 0, 0), (span, 0, 0), count, length=length, pinned=[0, count - 1], damping=4.0, method=method,
        self_collision=False, **options,
    )  # fmt: skip
    # Flat and compressed at first: a push decides which way it buckles.
    line.velocity[1:-1, 2] = -0.5
    for _ in range(60 if small else 240):
        step = line.step(None, DT)
    if small:
        return
    assert step.status == StickStatus.DONE
    assert step.error < 2e-3
    low = line.position[:, 2]
    assert np.abs(low - catenary(span, length, line.position[:, 0])).max() < 0.01 * -low.min()
    # The error that is stated is the one that is there.
    assert step.error == pytest.approx(np.abs(line.strain()).max(), abs=1e-12)
    if method == "xpbd":
        # The ends carry the weight: at the wall the upward part of the pull is half of it.
        pull = line.forces()[0]
        way = line.position[0] - line.position[1]
        # The first point's own weight is the wall's.
        weight = 9.81 * float(line.mass[1:-1].sum())
        assert pull * way[2] / np.linalg.norm(way) == pytest.approx(0.5 * weight, rel=0.02)


def test_stiffness_does_not_depend_on_iterations() -> None:
    # A spring of 100 N/m below a chain of springs, all with 1 kg: it hangs by m g / k.
    found = []
    for iterations, substeps in ((4, 10), (20, 10), (40, 20)):
        chain = Sticks(
            [[0, 0, 0], [0, 0, -0.5], [0, 0, -1.0]], [[0, 1], [1, 2]], mass=1.0, compliance=0.01, pinned=[0], damping=6.0,
            self_collision=False, substeps=substeps, iterations=iterations,
        )  # fmt: skip
        for _ in range(180):
            step = chain.step(None, DT)
        assert step.status == StickStatus.DONE
        found.append(chain.position[:, 2].copy())
    expected = [0.0, -0.5 - 2 * 0.0981, -1.0 - 3 * 0.0981]
    for heights in found:
        assert heights == pytest.approx(expected, abs=1e-4)
    # Relaxed sticks of the slides have no stiffness of their own: the same chain, more passes, less stretch.
    loose = []
    for iterations in (1, 4):
        chain = rope((0, 0, 0), (0, 0, -1), 20, pinned=[0], damping=3.0, method="slides", iterations=iterations)
        for _ in range(100):
            chain.step(None, DT)
        loose.append(-chain.position[-1, 2] - 1.0)
    assert loose[0] > 2.0 * loose[1] > 0.0


def test_springs_of_the_slides_swing_at_their_frequency() -> None:
    k, m = 50.0, 0.5
    pair = Sticks(
        [[0, 0, 0], [1.1, 0, 0]], [[0, 1]], rest=1.0, mass=m, compliance=1 / k, pinned=[0], gravity=(0, 0, 0), method="slides",
        substeps=20, self_collision=False,
    )  # fmt: skip
    at = []
    for _ in range(120):
        pair.step(None, DT)
        at.append(pair.position[1, 0] - 1.0)
    time = DT * np.arange(1, 121)
    assert np.abs(np.array(at) - 0.1 * np.cos(np.sqrt(k / m) * time)).max() < 0.005


def test_momentum_and_energy() -> None:
    net = cloth((6, 6), 0.1, gravity=(0, 0, 0), self_collision=False)
    net.velocity[:] = np.random.default_rng(1).normal(size=(36, 3))
    momentum, energy = net.momentum(), net.energy((0, 0, 0))[0]
    turn = np.cross(net.position, net.mass[:, None] * net.velocity).sum(axis=0)
    for _ in range(30):
        net.step(None, DT)
    assert net.momentum() == pytest.approx(momentum, abs=1e-12)
    # Sticks pull along where they are in the midst of a sub-step, so that angular momentum is kept to the first order of it.
    assert np.cross(net.position, net.mass[:, None] * net.velocity).sum(axis=0) == pytest.approx(turn, abs=2e-4)
    assert net.energy((0, 0, 0))[0] < energy


def test_cloth_passes_neither_bodies_nor_itself() -> None:
    world, ball, sheet, wall = scene(SIDE)
    for _ in range(STEPS):
        world.step(DT)
        step = sheet.step(world, DT)
        assert step.crossed == 0
        around = np.concatenate([mesh_now(world, ball), wall])
        assert passings(sheet.position, sheet.faces, around) == (0, 0)
        assert sheet.position[:, 2].min() > 0.0
    assert small or step.contacts > 20


def test_the_oracle_sees_what_passes() -> None:
    # The same scene without contact must fail: the ball is in its way.
    world, ball, sheet, wall = scene(18)
    for _ in range(25):
        world.step(DT)
        sheet.step(None, DT)
    assert passings(sheet.position, sheet.faces, np.concatenate([mesh_now(world, ball), wall]))[1] > 0


def _crumpled(itself: bool) -> int:
    """An upright sheet falls on the ground and folds; how often an edge of it was in a face of it."""
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
    pose = thud.Pose.from_rotation_vector([0.0, 0.0, 0.75], [1.5, 0.1, 0.0])
    sheet = cloth((24, 8), 0.06, pose, substeps=4, self_collision=itself, bend=1.0)
    passed = 0
    for _ in range(10 if small else 45):
        sheet.step(world, DT)
        passed += passings(sheet.position, sheet.faces, np.empty((0, 3, 3)))[0]
    return passed


def test_cloth_folds_and_does_not_pass_itself() -> None:
    assert _crumpled(True) == 0
    assert small or _crumpled(False) > 0


@pytest.mark.parametrize("method", ["xpbd", "slides"])
def test_fast_cloth_does_not_pass_a_sheet(method: str) -> None:
    world = thud.World(gravity=(0, 0, 0))
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    world.add(thud.TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]])), static=True)
    # 50 m/s: 83 cm a step, a hundred thicknesses; and a sheet that comes as fast.
    fast = cloth((6, 6), 0.05, thud.Pose([0, 0, 0.5]), velocity=(0, 0, -50), method=method)
    for _ in range(6):
        fast.step(world, DT)
    assert fast.position[:, 2].min() > 0.0
    moving = world.add(
        thud.TriangleMesh(0.5 * corners, np.array([[0, 1, 2], [0, 2, 3]])), thud.Pose([0, 0, -2.0]), kinematic=True
    )
    calm = cloth((6, 6), 0.05, thud.Pose([0, 0, -1.0]), method=method)
    calm.step(world, DT)
    world.set_poses(moving, thud.Pose([0, 0, -0.5]))
    step = calm.step(world, DT)
    assert step.crossed == 0
    assert calm.position[:, 2].min() > -0.5
    assert calm.position[:, 2].max() < 0.0


SHAPES = {
    "sphere": thud.Sphere(0.5), "box": thud.Box((0.5, 0.5, 0.5)), "capsule": thud.Capsule(0.3, 0.3),
    "hull": thud.ConvexHull(np.array([[0.6, 0, -0.4], [-0.6, 0.3, -0.4], [-0.3, -0.6, -0.4], [0.0, 0.0, 0.5]])),
    "half-space": thud.HalfSpace((0, 0, 1), 0.5), "cone": thud.Cone(0.5, 0.5), "cylinder": thud.Cylinder(0.5, 0.5),
    "ellipsoid": thud.Ellipsoid((0.6, 0.5, 0.4)),
    "field": thud.HeightField(0.4 + 0.1 * np.random.default_rng(0).uniform(size=(6, 6)), 0.4, (-1.0, -1.0, 0.0)),
    "compound": thud.Compound([thud.Sphere(0.3), thud.Box((0.2, 0.2, 0.5))]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SHAPES))
def test_points_stay_outside_of_all_kinds(name: str) -> None:
    world = thud.World()
    world.add(SHAPES[name], static=True)
    sheet = cloth((7, 7), 0.1, thud.Pose([0.03, 0.02, 0.7]), substeps=4)
    for _ in range(25):
        assert sheet.step(world, DT).crossed == 0
    found = world.closest(sheet.position, max_distance=5.0)
    # Curved shapes are facets: flatter by at most 1 - cos(pi / 48) of their radius.
    assert found.distance.min() > -0.0022 * 0.6


def test_friction_holds_on_a_slope() -> None:
    def slid(friction: float) -> float:
        world = thud.World()
        tilt = np.radians(20.0)
        world.add(thud.HalfSpace((np.sin(tilt), 0, np.cos(tilt)), 0.0), static=True, friction=friction)
        sheet = cloth((4, 4), 0.1, thud.Pose.from_rotation_vector([0, 0, 0.02], [0, tilt, 0]), friction=friction)
        for _ in range(40):
            sheet.step(world, DT)
        return float(sheet.position[:, 0].mean())

    assert abs(slid(0.8)) < 0.01
    # Without: x = g sin(a) cos(a) t^2 / 2.
    assert slid(0.0) == pytest.approx(0.5 * 9.81 * np.sin(np.radians(20)) * np.cos(np.radians(20)) * (40 * DT) ** 2, rel=0.05)


def test_bodies_feel_the_points() -> None:
    world = thud.World(gravity=(0, 0, 0))
    ball = world.add(thud.Sphere(0.2), thud.Pose([0, 0, 0]), mass=5.0)
    shot = Sticks([[0.02, 0.01, 0.5]], np.empty((0, 2), int), mass=0.5, velocity=(0, 0, -4.0), friction=0.0)
    for _ in range(20):
        shot.step(world, DT)
        world.step(DT)
    moved, _ = world.velocities(ball)
    # Without restitution: what the point has lost along the normal the ball has got.
    assert 5.0 * moved[0] == pytest.approx(np.array([0, 0, -2.0]) - shot.momentum(), abs=0.02)
    # A light ball is not hit away faster than what hits it.
    light = thud.World(gravity=(0, 0, 0))
    ball = light.add(thud.Sphere(0.2), mass=0.01)
    shot = Sticks([[0.0, 0.0, 0.5]], np.empty((0, 2), int), mass=0.5, velocity=(0, 0, -4.0))
    for _ in range(10):
        shot.step(light, DT)
        light.step(DT)
    assert -4.01 < light.velocities(ball)[0][0, 2] < -1.0


def test_a_weight_on_a_plank_is_felt_where_it_lies() -> None:
    world = thud.World(gravity=(0, 0, 0))
    plank = world.add(thud.Box((1.0, 0.2, 0.05)), mass=10.0)
    load = Sticks([[0.8, 0, 0.056]], np.empty((0, 2), int), mass=0.5, gravity=(0, 0, -9.81))
    for _ in range(10):
        load.step(world, DT)
        world.step(DT)
    linear, angular = world.velocities(plank)
    assert linear[0, 2] < 0.0
    assert angular[0, 1] > 0.0


def test_pins_that_move_and_are_let_go() -> None:
    line = rope((0, 0, 0), (1, 0, 0), 11, pinned=[0], self_collision=False)
    for k in range(20):
        line.pin(0, (0.0, 0.0, 0.02 * (k + 1)))
        line.step(None, DT)
        assert line.position[0] == pytest.approx([0, 0, 0.02 * (k + 1)])
    line.unpin(0)
    line.step(None, DT)
    assert line.position[0, 2] < 0.4 + 0.02
    assert len(line.pinned) == 0


def test_sticks_break_and_faces_go() -> None:
    sheet = cloth((5, 5), 0.1, tear=0.3, gravity=(0, 0, 0), pinned=[0, 1, 2, 3, 4, 20, 21, 22, 23, 24], self_collision=False)
    torn = 0
    for _ in range(30):
        sheet.pin([20, 21, 22, 23, 24], sheet.position[[20, 21, 22, 23, 24]] + [0, 0.02, 0])
        torn += len(sheet.step(None, DT).torn)
    assert torn > 0
    assert torn == int((~sheet.alive).sum())
    alive = {frozenset(pair) for pair in sheet.sticks[sheet.alive].tolist()}
    broken = {frozenset(pair) for pair in sheet.sticks[~sheet.alive].tolist()} - alive
    assert len(sheet.faces) < 32
    for face in sheet.faces.tolist():
        assert not {frozenset((face[k], face[(k + 1) % 3])) for k in range(3)} & broken
    sheet.cut(np.flatnonzero(sheet.alive))
    assert len(sheet.faces) == 0


def _run(threads: int) -> Floats:
    world, _ball, sheet, _wall = scene(34 if not small else 8, threads=threads)
    for _ in range(20 if not small else 4):
        world.step(DT)
        sheet.step(world, DT)
    return sheet.position


def test_the_same_bytes_for_any_number_of_threads() -> None:
    assert _run(1).tobytes() == _run(2).tobytes() == _run(3).tobytes()


def test_state_goes_on_to_the_same_bytes() -> None:
    world, _ball, sheet, _wall = scene(10)
    for _ in range(15):
        world.step(DT)
        sheet.step(world, DT)
    sheet.cut([3])
    again, other = Sticks.from_state(sheet.state()), thud.World.from_state(world.state())
    for _ in range(10):
        world.step(DT)
        other.step(DT)
        sheet.step(world, DT)
        again.step(other, DT)
    assert sheet.position.tobytes() == again.position.tobytes()
    assert (sheet.alive == again.alive).all()
    broken = sheet.state()
    del broken["target"]
    with pytest.raises(InvalidInputError, match="target"):
        Sticks.from_state(broken)


def test_a_rag_doll_comes_down_a_staircase_whole() -> None:
    world = thud.World()
    for k in range(6):
        world.add(thud.Box((0.3, 1.5, 0.1 + 0.1 * k)), thud.Pose([-0.6 * k, 0, 0.1 + 0.1 * k]), static=True)
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
    doll = rag_doll(thud.Pose([-2.7, 0, 1.3]), velocity=(1.5, 0, 0))
    worst = 0.0
    for _ in range(20 if small else 150):
        step = doll.step(world, DT)
        worst = max(worst, step.mean_error)
        assert step.crossed == 0
        assert world.closest(doll.position, max_distance=3.0).distance.min() > 0.0
    assert worst < 0.05
    assert np.isfinite(doll.position).all()
    assert small or doll.position[:, 0].mean() > -2.5


BAD = {
    "points": {"points": [[0, 0, np.nan], [1, 0, 0]]},
    "sticks": {"sticks": [[0, 5]]},
    "sticks: row 0 is \\[1, 1\\]": {"sticks": [[1, 1]]},
    "mass: row 1": {"mass": [1.0, -1.0]},
    "rest": {"rest": 0.0},
    "compliance": {"compliance": -1.0},
    "mode": {"mode": 2},
    "tear": {"tear": np.nan},
    "thickness": {"thickness": 2.0},
    "method": {"method": "euler"},
    "substeps": {"substeps": 0},
    "iterations": {"iterations": 1.5},
    "pinned": {"pinned": [7]},
    "faces": {"faces": [[0, 1, 9]]},
    "velocity": {"velocity": np.zeros((5, 3))},
    "collide": {"collide": [True, True]},
    "mask": {"mask": 1.5},
    "threads": {"threads": 0},
}


@pytest.mark.parametrize("words", list(BAD))
def test_what_is_refused(words: str) -> None:
    given = {"points": [[0, 0, 0], [1, 0, 0]], "sticks": [[0, 1]]} | BAD[words]
    with pytest.raises(InvalidInputError, match=words):
        Sticks(given.pop("points"), given.pop("sticks"), **given)


def test_what_else_is_refused() -> None:
    line = rope((0, 0, 0), (1, 0, 0), 3)
    with pytest.raises(InvalidInputError, match="world"):
        line.step("world", DT)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="dt"):
        line.step(None, -1.0)
    with pytest.raises(InvalidInputError, match="indices"):
        line.pin(3)
    with pytest.raises(InvalidInputError, match="count"):
        rope((0, 0, 0), (1, 0, 0), 1)
    with pytest.raises(InvalidInputError, match="shape"):
        cloth((1, 5), 0.1)
    with pytest.raises(InvalidInputError, match="join"):
        Sticks([[0, 0, 0], [0, 0, 0]], [[0, 1]])


def test_cloth_lies_on_a_displaced_surface() -> None:
    heights = 0.1 * np.random.default_rng(4).uniform(size=(9, 9))
    ground = from_heights(heights, 0.25, samples=4).surface
    world = thud.World()
    world.add(ground)
    sheet = cloth((7, 7), 0.08, thud.Pose([1.0, 1.0, 0.3]), substeps=4)
    for _ in range(30):
        assert sheet.step(world, DT).crossed == 0
    found = world.raycast(sheet.position, [0.0, 0.0, -1.0], max_distance=0.3)
    assert (found.handle >= 0).all()
