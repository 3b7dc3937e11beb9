"""Many copies of a scene in thud, mujoco and rapier3d: ten boxes in a bin, and a walker whose hinges are driven."""

from __future__ import annotations

from typing import Any

import numpy as np

import thud
from benchmarks.dynamics_engines import DT, GRAVITY, Mujoco, Rapier
from benchmarks.dynamics_scenes import Floats, boxes
from thud.dynamics import Hinge, Motor
from thud.world import WorldBatch

#: Sub-steps of ours, iterations of rapier3d (each a sub-step), steps of mujoco, in a step.
SUBSTEPS = 4

#: Of the hinges: N m / rad, N m s / rad, N m, radians.
STIFFNESS, DAMPING, FORCE, LIMIT = 60.0, 4.0, 150.0, 1.2

#: Of the walker: (kind, size, centre, body it hangs on, height of the hinge), feet with more friction.
_Y = 0.12
LEG = (
    ("capsule", (0.06, 0.14), 0.0, 0.72, 0.92),
    ("capsule", (0.05, 0.14), 0.0, 0.32, 0.52),
    ("box", (0.12, 0.05, 0.03), 0.04, 0.04, 0.1),
)
TRUNK, TRUNK_HEIGHT, DENSITY, RUBBER = (0.12, 0.2, 0.2), 1.12, 800.0, 0.9


def walker(threads: int | None = 1) -> thud.World:
    """Ours: a trunk, two legs of three parts, six hinges with motors, flat ground."""
    world = thud.World(threads=threads, sleep_after=None)
    world.add(thud.HalfSpace((0.0, 0.0, 1.0), 0.0), static=True, friction=RUBBER)
    trunk = world.add(thud.Box(TRUNK), thud.Pose((0.0, 0.0, TRUNK_HEIGHT)), density=DENSITY, friction=RUBBER)
    motor = Motor(position=0.0, stiffness=STIFFNESS, damping=DAMPING, force=FORCE)
    for y in (-_Y, _Y):
        above = trunk
        for kind, size, x, z, hinge in LEG:
            shape = thud.Capsule(*size) if kind == "capsule" else thud.Box(size)
            body = world.add(shape, thud.Pose((x, y, z)), density=DENSITY, friction=RUBBER)
            world.add_joint(Hinge((0.0, y, hinge), (0.0, 1.0, 0.0), limits=(-LIMIT, LIMIT), motor=motor), body, above)
            above = body
    return world


def targets(copies: int) -> Floats:
    """(N, 6) angles that the hinges are driven to, others in each copy."""
    return np.random.default_rng(3).uniform(-0.4, 0.4, (copies, 6))


def _mujoco_walker() -> str:
    legs = ""
    for k, y in enumerate((-_Y, _Y)):
        parts, ends, above, depth = "", "", (0.0, 0.0, TRUNK_HEIGHT), 0
        for j, (kind, size, x, z, hinge) in enumerate(LEG):
            at = (x - above[0], (y if not depth else 0.0), z - above[2])
            numbers = " ".join(map(str, size))
            parts += (
                f'<body pos="{at[0]} {at[1]} {at[2]}"><joint name="h{k}{j}" type="hinge" axis="0 1 0" pos="{-x} 0 {hinge - z}" '
                f'range="{-LIMIT} {LIMIT}" limited="true"/><geom type="{kind}" size="{numbers}"/>'
            )
            ends += "</body>"
            above, depth = (x, y, z), depth + 1
        legs += parts + ends
    motors = "".join(
        f'<position joint="h{k}{j}" kp="{STIFFNESS}" kv="{DAMPING}" forcerange="{-FORCE} {FORCE}"/>'
        for k in range(2) for j in range(3)
    )  # fmt: skip
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{DT}" gravity="{GRAVITY[0]} {GRAVITY[1]} {GRAVITY[2]}"/>'
        f'<default><geom friction="{RUBBER} 0 0" density="{DENSITY}" condim="3"/></default><worldbody>'
        f'<geom type="plane" size="50 50 1"/><body pos="0 0 {TRUNK_HEIGHT}"><freejoint/>'
        f'<geom type="box" size="{TRUNK[0]} {TRUNK[1]} {TRUNK[2]}"/>{legs}</body></worldbody>'
        f"<actuator>{motors}</actuator></mujoco>"
    )


class Ours:
    """A batch."""

    def __init__(self, scene: str, copies: int, threads: int) -> None:
        world = boxes(10).world(boxes(10).poses)[0] if scene == "boxes" else walker()
        self.batch = WorldBatch(world, copies, threads=threads)
        scatter = np.random.default_rng(0).normal(size=(copies, len(self.batch.handles()), 3))
        free = ~world.static(world.handles())
        self.batch.set_velocities(0.3 * scatter * free[:, None])
        if scene == "walker":
            self.batch.set_targets(targets(copies))

    def run(self, steps: int) -> None:
        """So many steps of 1/60 s."""
        for _ in range(steps):
            self.batch.step(DT, SUBSTEPS)

    def poses(self) -> Floats:
        """Of all bodies of all copies."""
        return self.batch.poses()


class Loop:
    """A loop over worlds of ours."""

    def __init__(self, scene: str, copies: int, threads: int) -> None:
        self.worlds = [Ours(scene, copies, threads).batch.world(k) for k in range(copies)]

    def run(self, steps: int) -> None:
        """So many steps of each."""
        for world in self.worlds:
            for _ in range(steps):
                world.step(DT, SUBSTEPS)


class Rollouts:
    """`mujoco.rollout`: each step of 1/60 s is `parts` steps of mujoco."""

    def __init__(self, scene: str, copies: int, threads: int, parts: int) -> None:
        import mujoco
        from mujoco import rollout

        mujoco.set_mju_user_warning(lambda text: None)
        model = Mujoco(boxes(10)).model if scene == "boxes" else mujoco.MjModel.from_xml_string(_mujoco_walker())
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        model.opt.timestep = DT / parts
        self.model, self.parts, self.pool = model, parts, rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.datas = [mujoco.MjData(model) for _ in range(max(threads, 1))]
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self.size = mujoco.mj_stateSize(model, kind)
        start, first = np.empty((copies, self.size)), np.empty(self.size)
        data, rng = mujoco.MjData(model), np.random.default_rng(0)
        for k in range(copies):
            mujoco.mj_resetData(model, data)
            data.qvel[:] = 0.3 * rng.normal(size=model.nv) * (np.arange(model.nv) % 6 < 3 if scene == "boxes" else 0.0)
            mujoco.mj_getState(model, data, first, kind)
            start[k] = first
        self.state = start
        self.control = targets(copies) if scene == "walker" else None

    def run(self, steps: int) -> None:
        """So many steps of 1/60 s."""
        many = steps * self.parts
        control = None if self.control is None else np.repeat(self.control[:, None], many, axis=1)
        states, _ = self.pool.rollout([self.model] * len(self.state), self.datas, self.state, control, nstep=many)
        self.state = states[:, -1].copy()


class RapierLoop:
    """A loop over worlds of rapier3d."""

    def __init__(self, scene: str, copies: int) -> None:
        made = [self._boxes() if scene == "boxes" else self._walker(angles) for angles in targets(copies)]
        self.worlds, self.trunks = [world for world, _ in made], [first for _, first in made]

    @staticmethod
    def _boxes() -> tuple[Any, Any]:
        made = Rapier(boxes(10))
        return made.world, made.handles[0]

    @staticmethod
    def _walker(angles: Floats) -> tuple[Any, Any]:
        import rapier3d as rapier

        world = rapier.PhysicsWorld(gravity=GRAVITY)
        world.set_num_threads(1)
        world.integration_parameters.dt = DT
        world.add_collider(rapier.Collider.cuboid(50.0, 50.0, 0.5).translation((0.0, 0.0, -0.5)).friction(RUBBER))

        def add(collider: Any, at: tuple[float, float, float]) -> Any:
            place = rapier.Isometry3(at, rapier.Rotation3.from_quaternion(1.0, 0.0, 0.0, 0.0))
            made = rapier.RigidBody.dynamic().position(place).can_sleep(False)
            return world.add_body(made, [collider.friction(RUBBER).density(DENSITY)])

        trunk = add(rapier.Collider.cuboid(*TRUNK), (0.0, 0.0, TRUNK_HEIGHT))
        for k, y in enumerate((-_Y, _Y)):
            above, there = trunk, (0.0, 0.0, TRUNK_HEIGHT)
            for j, (kind, size, x, z, hinge) in enumerate(LEG):
                shape = rapier.Collider.cuboid(*size) if kind == "box" else rapier.Collider.capsule_z(size[1], size[0])
                body = add(shape, (x, y, z))
                joint = rapier.RevoluteJoint((0.0, 1.0, 0.0))
                joint.local_anchor1, joint.local_anchor2 = (-there[0], y - there[1], hinge - there[2]), (-x, 0.0, hinge - z)
                joint.contacts_enabled = False
                joint.set_limits(-LIMIT, LIMIT)
                joint.set_motor_model(rapier.MotorModel.FORCE_BASED)
                joint.set_motor_position(float(angles[3 * k + j]), STIFFNESS, DAMPING)
                joint.set_motor_max_force(FORCE)
                world.impulse_joints.insert(above, body, joint)
                above, there = body, (x, y, z)
        return world, trunk

    def run(self, steps: int) -> None:
        """So many steps of each."""
        for world in self.worlds:
            for _ in range(steps):
                world.step()
