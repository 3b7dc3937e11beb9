"""Engines of rigid bodies behind one interface: a scene in, steps of 1/60 s, poses out. One thread each, nothing sleeps.

Each has its defaults and a ladder of settings, cheap ones first. `again` is a copy of the engine in its present state with
another setting."""

from __future__ import annotations

import copy
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import thud
from benchmarks.dynamics_scenes import DENSITY, FRICTION, Floats, Scene
from benchmarks.peers import installed

#: Seconds of a step.
DT = 1.0 / 60.0

GRAVITY = (0.0, 0.0, -9.81)

Setting = dict[str, Any]


class Engine(ABC):
    """A scene in an engine."""

    name: ClassVar[str]
    default: ClassVar[Setting]
    ladder: ClassVar[list[Setting]]

    def __init__(self, scene: Scene, setting: Setting | None = None) -> None:
        self.scene, self.setting = scene, dict(self.default if setting is None else setting)

    @abstractmethod
    def step(self) -> None:
        """Go on by 1/60 s."""

    @abstractmethod
    def poses(self) -> Floats:
        """(N, 7) of the bodies."""

    @abstractmethod
    def again(self, setting: Setting) -> Engine:
        """A copy with another setting."""

    def steps(self, count: int) -> None:
        """So many."""
        for _ in range(count):
            self.step()

    def wrecked(self) -> bool:
        """Whether the scene has burst: numbers that are none, or a body below the floor."""
        poses = self.poses()
        return not np.isfinite(poses).all() or bool((poses[:, 2] < -1.0).any())

    def close(self) -> None:  # noqa: B027
        """Give back what Python does not."""


class Thud(Engine):
    """Ours."""

    name = "thud"
    default: ClassVar[Setting] = {"substeps": 4}
    ladder: ClassVar[list[Setting]] = [{"substeps": count} for count in (2, 3, 4, 6, 8)]

    def __init__(self, scene: Scene, setting: Setting | None = None, world: thud.World | None = None) -> None:
        super().__init__(scene, setting)
        self.world = scene.world(scene.poses)[0] if world is None else world

    def step(self) -> None:
        self.world.step(DT, **self.setting)

    def poses(self) -> Floats:
        return self.world.poses()[len(self.scene.walls) :]

    def wrecked(self) -> bool:
        """Its impulses are looked at too."""
        return super().wrecked() or not np.isfinite(self.world.step_contacts().impulse).all()

    def again(self, setting: Setting) -> Thud:
        return Thud(self.scene, setting, thud.World.from_state(self.world.state()))


class Rapier(Engine):
    """rapier3d. How deep its bodies rest is up to the frequency of its contacts' springs, by default 30 Hz, and 60 Hz against
    what is fixed; iterations alone change nothing in it."""

    name = "rapier3d"
    default: ClassVar[Setting] = {"iterations": 4, "hertz": 30.0}
    ladder: ClassVar[list[Setting]] = [
        {"iterations": count, "hertz": hertz}
        for count, hertz in ((1, 60.0), (2, 60.0), (3, 60.0), (4, 60.0), (4, 120.0), (6, 120.0), (8, 120.0), (12, 240.0))
    ]

    def __init__(self, scene: Scene, setting: Setting | None = None, blob: bytes | None = None) -> None:
        super().__init__(scene, setting)
        import rapier3d as rapier

        self.world = rapier.PhysicsWorld(gravity=GRAVITY) if blob is None else rapier.PhysicsWorld.restore(blob)
        self.world.set_num_threads(1)
        numbers = self.world.integration_parameters
        numbers.dt = DT
        if self.setting != self.default:
            hertz, damping = self.setting["hertz"], numbers.contact_softness.damping_ratio
            numbers.num_solver_iterations = self.setting["iterations"]
            numbers.contact_softness = rapier.SpringCoefficients(natural_frequency=hertz, damping_ratio=damping)
            numbers.static_contact_softness = rapier.SpringCoefficients(natural_frequency=2.0 * hertz, damping_ratio=damping)
        self.handles: list[Any] = []
        if blob is None:
            self._fill(rapier)

    def _fill(self, rapier: Any) -> None:
        for half, center in self.scene.walls:
            self.world.add_collider(rapier.Collider.cuboid(*half).translation(tuple(center)).friction(FRICTION))
        for index, at in zip(self.scene.which.tolist(), self.scene.poses.tolist(), strict=True):
            place = rapier.Isometry3(tuple(at[:3]), rapier.Rotation3.from_quaternion(*at[3:]))
            colliders = [made.friction(FRICTION).density(DENSITY) for made in self._colliders(rapier, index)]
            self.handles.append(self.world.add_body(rapier.RigidBody.dynamic().position(place).can_sleep(False), colliders))
        for joint in self.scene.joints:
            made = rapier.SphericalJoint()
            made.local_anchor1, made.local_anchor2 = tuple(joint.at_a), tuple(joint.at_b)
            made.contacts_enabled = False
            self.world.impulse_joints.insert(self.handles[joint.a], self.handles[joint.b], made)

    def _colliders(self, rapier: Any, index: int) -> list[Any]:
        shape = self.scene.shapes[index]
        if isinstance(shape, thud.Box):
            return [rapier.Collider.cuboid(*np.asarray(shape.half_extents))]
        if isinstance(shape, thud.Capsule):
            return [rapier.Collider.capsule_z(shape.half_length, shape.radius)]
        if isinstance(shape, thud.ConvexHull):
            return [rapier.Collider.convex_hull(np.asarray(shape.vertices))]
        return [rapier.Collider.convex_hull(part) for part in self.scene.parts[index]]

    def step(self) -> None:
        self.world.step()

    def poses(self) -> Floats:
        found = np.empty((len(self.handles), 7))
        for row, handle in enumerate(self.handles):
            at = self.world.rigid_bodies[handle].position
            turn = at.rotation
            found[row] = at.translation.x, at.translation.y, at.translation.z, turn.w, turn.i, turn.j, turn.k
        return found

    def again(self, setting: Setting) -> Rapier:
        made = Rapier(self.scene, setting, self.world.snapshot())
        made.handles = self.handles
        return made


class Bullet(Engine):
    """pybullet in maximal coordinates. Friction of two bodies is the product of theirs. Its hulls have a margin of 1 mm, so
    that those of two hulls that touch are apart."""

    name = "pybullet"
    default: ClassVar[Setting] = {"numSolverIterations": 50, "numSubSteps": 0}
    ladder: ClassVar[list[Setting]] = [
        {"numSolverIterations": count, "numSubSteps": parts}
        for count, parts in ((5, 0), (10, 0), (20, 0), (50, 0), (100, 0), (50, 2), (50, 4))
    ]

    def __init__(self, scene: Scene, setting: Setting | None = None, poses: Floats | None = None) -> None:
        super().__init__(scene, setting)
        import pybullet

        self.bullet = pybullet
        client = pybullet.connect(pybullet.DIRECT)
        self.here = {"physicsClientId": client}
        pybullet.setGravity(*GRAVITY, **self.here)
        pybullet.setPhysicsEngineParameter(fixedTimeStep=DT, **self.here)
        if self.setting != self.default:
            pybullet.setPhysicsEngineParameter(**self.setting, **self.here)
        for half, center in scene.walls:
            self._body(
                0.0,
                pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half.tolist(), **self.here),
                [*center, 1, 0, 0, 0],
            )
        shapes, masses = [self._shape(index) for index in range(len(scene.shapes))], scene.masses()
        placed = scene.poses if poses is None else poses
        self.bodies = [
            self._body(float(masses[index]), shapes[index], at)
            for index, at in zip(scene.which.tolist(), placed.tolist(), strict=True)
        ]
        for joint in scene.joints:
            a, b = self.bodies[joint.a], self.bodies[joint.b]
            anchors = joint.at_a.tolist(), joint.at_b.tolist()
            pybullet.createConstraint(a, -1, b, -1, pybullet.JOINT_POINT2POINT, (0, 0, 0), *anchors, **self.here)
            pybullet.setCollisionFilterPair(a, b, -1, -1, 0, **self.here)

    def _shape(self, index: int) -> int:
        shape, bullet, here = self.scene.shapes[index], self.bullet, self.here
        if isinstance(shape, thud.Box):
            return int(
                bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=np.asarray(shape.half_extents).tolist(), **here)
            )
        if isinstance(shape, thud.Capsule):
            size = {"radius": shape.radius, "height": 2.0 * shape.half_length}
            return int(bullet.createCollisionShape(bullet.GEOM_CAPSULE, **size, **here))
        if isinstance(shape, thud.ConvexHull):
            return int(bullet.createCollisionShape(bullet.GEOM_MESH, vertices=np.asarray(shape.vertices).tolist(), **here))
        # Each object of an OBJ file becomes a convex part.
        lines, first = [], 1
        for number, part in enumerate(self.scene.parts[index]):
            lines += [f"o part{number}", *("v {} {} {}".format(*point) for point in part.tolist())]
            lines += [f"f {a + first} {b + first} {c + first}" for a, b, c in thud.ConvexHull(part).topology.triangles.tolist()]
            first += len(part)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "parts.obj"
            path.write_text("\n".join(lines) + "\n")
            return int(bullet.createCollisionShape(bullet.GEOM_MESH, fileName=str(path), **here))

    def _body(self, mass: float, shape: int, at: list[float]) -> int:
        turn = [*at[4:], at[3]]
        body = self.bullet.createMultiBody(
            mass, shape, basePosition=at[:3], baseOrientation=turn, useMaximalCoordinates=1, **self.here
        )
        awake = self.bullet.ACTIVATION_STATE_DISABLE_SLEEPING
        self.bullet.changeDynamics(
            body, -1, lateralFriction=FRICTION**0.5, linearDamping=0.0, angularDamping=0.0, activationState=awake, **self.here
        )
        return int(body)

    def step(self) -> None:
        self.bullet.stepSimulation(**self.here)

    def poses(self) -> Floats:
        found = [self.bullet.getBasePositionAndOrientation(body, **self.here) for body in self.bodies]
        return np.array([[*at, turn[3], *turn[:3]] for at, turn in found])

    def again(self, setting: Setting) -> Bullet:
        return Bullet(self.scene, setting, self.poses())

    def close(self) -> None:
        self.bullet.disconnect(**self.here)


class Mujoco(Engine):
    """mujoco with its CG solver; joints in its own way, as trees of bodies."""

    name = "mujoco"
    default: ClassVar[Setting] = {"iterations": 100, "parts": 1}
    ladder: ClassVar[list[Setting]] = [
        {"iterations": count, "parts": parts}
        for count, parts in ((5, 1), (10, 1), (20, 1), (50, 1), (100, 1), (10, 2), (50, 2), (10, 4), (50, 4))
    ]

    def __init__(self, scene: Scene, setting: Setting | None = None, kept: tuple[Any, Any] | None = None) -> None:
        super().__init__(scene, setting)
        import mujoco

        self.mujoco = mujoco
        # `wrecked` tells; without this each warning is written to a file in the working directory.
        mujoco.set_mju_user_warning(lambda text: None)
        if kept is None:
            self.model = mujoco.MjModel.from_xml_string(self._xml())
            self.data = mujoco.MjData(self.model)
        else:
            self.model, self.data = kept
        self.model.opt.timestep = DT / self.setting["parts"]
        if self.setting != self.default:
            self.model.opt.iterations = self.setting["iterations"]
        named = [mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, f"b{k}") for k in range(len(scene.poses))]
        self.rows = np.array(named)

    def _xml(self) -> str:
        scene = self.scene
        slides = f'friction="{FRICTION} 0 0" density="{DENSITY}" condim="3"'
        assets, geoms = [], []
        for index, shape in enumerate(scene.shapes):
            if isinstance(shape, thud.Box):
                geoms.append(f'<geom type="box" size="{_text(shape.half_extents)}"/>')
            elif isinstance(shape, thud.Capsule):
                geoms.append(f'<geom type="capsule" size="{shape.radius} {shape.half_length}"/>')
            else:
                hulls = [np.asarray(shape.vertices)] if isinstance(shape, thud.ConvexHull) else scene.parts[index]
                names = [f"m{index}_{part}" for part in range(len(hulls))]
                assets += [f'<mesh name="{name}" vertex="{_text(hull)}"/>' for name, hull in zip(names, hulls, strict=True)]
                geoms.append("".join(f'<geom type="mesh" mesh="{name}"/>' for name in names))
        children: dict[int, list[int]] = {}
        for joint in scene.joints:
            children.setdefault(joint.a, []).append(joint.b)
        hung = {joint.b: joint for joint in scene.joints}

        def body(row: int, place: str, joint: str) -> str:
            inner = "".join(
                body(
                    child,
                    f'pos="{_text(hung[child].at_a - hung[child].at_b)}"',
                    f'<joint type="ball" pos="{_text(hung[child].at_b)}"/>',
                )
                for child in children.get(row, ())
            )
            return f'<body name="b{row}" {place}>{joint}{geoms[scene.which[row]]}{inner}</body>'

        free = [row for row in range(len(scene.poses)) if row not in hung]
        bodies = [
            body(row, f'pos="{_text(scene.poses[row, :3])}" quat="{_text(scene.poses[row, 3:])}"', "<freejoint/>")
            for row in free
        ]
        walls = [f'<geom type="box" size="{_text(half)}" pos="{_text(center)}"/>' for half, center in scene.walls]
        return (
            f'<mujoco><option timestep="{DT}" solver="CG" gravity="{_text(np.array(GRAVITY))}"/><size memory="2G"/>'
            f'<default><geom {slides}/></default>'
            f"<asset>{''.join(assets)}</asset><worldbody>{''.join(walls)}{''.join(bodies)}</worldbody></mujoco>"
        )  # fmt: skip

    def step(self) -> None:
        self.mujoco.mj_step(self.model, self.data, self.setting["parts"])

    def poses(self) -> Floats:
        self.mujoco.mj_kinematics(self.model, self.data)
        return np.concatenate([self.data.xpos, self.data.xquat], axis=1)[self.rows]

    def wrecked(self) -> bool:
        """It begins anew after numbers that are too large."""
        return super().wrecked() or any(warning.number for warning in self.data.warning)

    def again(self, setting: Setting) -> Mujoco:
        return Mujoco(self.scene, setting, (copy.copy(self.model), copy.copy(self.data)))


def _text(numbers: Any) -> str:
    return " ".join(f"{number:.17g}" for number in np.ravel(numbers))


def engines() -> list[type[Engine]]:
    """Those that are installed, ours first."""
    found: list[type[Engine]] = [Thud]
    return found + [engine for engine in (Rapier, Bullet, Mujoco) if installed(engine.name)]
