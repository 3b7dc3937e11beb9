"""Two scenes under hail, after Figure 3.7: a house and a gazebo with metal roofs and a picnic table; a garbage can and a table.

Metres, z up, the ground at z = 0. Hailstones are particles of first order, removed where they hit (3.6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.planar import Disc, Plane, Polygon, Rectangle
from thud.particles.colliders.quadric import Quadric
from thud.particles.colliders.solid import Solid
from thud.particles.flight.system import ParticleSystem
from thud.particles.sound import materials
from thud.pose import Pose
from thud.shapes import Box, Capsule, Compound, Cylinder

Color = tuple[float, float, float]

__all__ = ["SCENES", "Scene", "Thing", "can", "house"]

GRASS, PAVING, WALL, BRICK = (0.40, 0.50, 0.30), (0.56, 0.56, 0.55), (0.88, 0.84, 0.74), (0.62, 0.36, 0.28)
RED_METAL, BLUE_METAL, ZINC, PANE = (0.56, 0.20, 0.16), (0.22, 0.36, 0.48), (0.46, 0.50, 0.53), (0.26, 0.34, 0.42)
PINE, OAK, WHITE_WOOD = (0.66, 0.46, 0.28), (0.45, 0.30, 0.18), (0.90, 0.90, 0.88)


@dataclass(frozen=True, eq=False)
class Thing:
    """One collider of a scene."""

    name: str
    """What it belongs to, for people; several colliders may share one."""
    collider: Collider
    color: Color
    """From 0 to 1, for pictures."""
    stripes: tuple[int, int] = (0, 0)
    """Seams along u and v, for pictures."""
    shown: bool = False
    """Whether its impact map is worth a picture."""
    ink: Color = (0.96, 0.97, 1.0)
    """Of its splats, for pictures."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Things under a hail cloud."""

    name: str
    things: tuple[Thing, ...]
    area: tuple[float, float, float, float]
    """Where hail reaches the ground: lowest x, y and highest x, y, metres."""
    cloud: float
    """Height at which hailstones are born, metres."""
    wind: tuple[float, float]
    """Along x and y, m/s."""
    fall: float
    """Speed of hailstones downwards, m/s."""
    eye: tuple[float, float, float]
    """From where pictures are taken, and where the storm is heard."""
    target: tuple[float, float, float]
    field: float
    """Width of the picture at distance 1."""
    stone: float
    """Radius of hailstones in pictures, metres."""
    particles: int
    """Hailstones in the air, unless the caller says otherwise."""

    @property
    def colliders(self) -> list[Collider]:
        """Those of all things, in their order."""
        return [thing.collider for thing in self.things]

    @property
    def names(self) -> list[str]:
        """Those of all things, in their order."""
        return [thing.name for thing in self.things]

    def hail(self, particles: int | None = None, *, seed: int = 0) -> ParticleSystem:
        """A storm without beginning or end: so many hailstones in the air, each reborn elsewhere when its life is over.

        Parameters
        ----------
        particles : how many; None: the scene's own number
        seed : of where and when they are born
        """
        particles = self.particles if particles is None else particles
        if isinstance(particles, bool) or not isinstance(particles, (int, np.integer)) or particles < 1:
            raise InvalidInputError(f"particles: expected a whole number of at least 1, got {particles!r}")
        low_x, low_y, high_x, high_y = self.area
        gust = 0.08 * self.fall
        lifetime = self.cloud / (self.fall - gust) * 1.01
        # Upwind by as far as the wind carries them while they fall.
        drift = self.cloud / self.fall * np.array(self.wind)
        middle = 0.5 * np.array([low_x + high_x, low_y + high_y]) - drift
        return ParticleSystem(
            position=[*middle, self.cloud],
            velocity=[*self.wind, -self.fall],
            lifetime=lifetime,
            birth=-lifetime * np.random.default_rng(seed).random(particles),
            seed=seed,
            position_spread=[0.5 * (high_x - low_x), 0.5 * (high_y - low_y), 0.0],
            velocity_spread=gust,
        )


def _turned(at: npt.ArrayLike, degrees: float) -> Any:
    """A function from a thing's own (x, y, z), standing at `at` and turned about z, to the world."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return lambda points: np.asarray(points, dtype=float) @ turn.T + np.asarray(at)


def _box(place: Any, degrees: float, low: npt.ArrayLike, high: npt.ArrayLike) -> tuple[Box, Pose]:
    """A box between two corners of its own frame, and its pose."""
    lower, upper = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    half = np.radians(degrees) / 2.0
    return Box(0.5 * (upper - lower)), Pose(place(0.5 * (lower + upper)), [np.cos(half), 0.0, 0.0, np.sin(half)])


def picnic_table(at: npt.ArrayLike, degrees: float = 0.0) -> list[Thing]:
    """A table 1.8 m long with a bench on either side."""
    place = _turned(at, degrees)
    board = materials.wood()

    def flat(low_y: float, high_y: float, z: float) -> Rectangle:
        origin = place([-0.9, low_y, z])
        return Rectangle(
            origin, place([0.9, low_y, z]) - origin, place([-0.9, high_y, z]) - origin, restitution=0.4, material=board
        )

    things = [
        Thing("table top", flat(-0.38, 0.38, 0.75), PINE, (0, 5), shown=True),
        Thing("benches", flat(-0.80, -0.52, 0.45), PINE, (0, 2)),
        Thing("benches", flat(0.52, 0.80, 0.45), PINE, (0, 2)),
    ]
    parts = [
        _box(place, degrees, [-0.9, y0, z - 0.04], [0.9, y1, z - 0.001])
        for y0, y1, z in ((-0.38, 0.38, 0.75), (-0.80, -0.52, 0.45), (0.52, 0.80, 0.45))
    ]
    for x in (-0.62, 0.62):
        parts.append(_box(place, degrees, [x - 0.03, -0.78, 0.34], [x + 0.03, 0.78, 0.41]))
        parts.append(_box(place, degrees, [x - 0.03, -0.34, 0.64], [x + 0.03, 0.34, 0.71]))
        for side in (-1.0, 1.0):
            # A leg leans outward: from (0.22, 0.70) under the top to (0.62, 0) on the ground.
            length, tilt = np.hypot(0.40, 0.70), np.arctan2(0.40, 0.70) * side
            turn = np.radians(degrees) / 2.0
            lean = np.array([np.cos(tilt / 2.0), np.sin(tilt / 2.0), 0.0, 0.0])
            spin = np.array([np.cos(turn), 0.0, 0.0, np.sin(turn)])
            parts.append((Box([0.03, 0.045, 0.5 * length]), Pose(place([x + 0.06, side * 0.42, 0.35]), _product(spin, lean))))
    frame = Solid(Compound([box for box, _ in parts], [pose for _, pose in parts]), restitution=0.4, material=board)
    return [*things, Thing("table frame", frame, OAK)]


def _product(a: Floats, b: Floats) -> Floats:
    """Quaternion of the rotation b, then a."""
    w, v, x, u = a[0], a[1:], b[0], b[1:]
    return np.array([w * x - v @ u, *(w * u + x * v + np.cross(v, u))])


def house() -> Scene:
    """A house and a gazebo with metal roofs, and a picnic table; Figure 3.7(a)."""
    roof, gazebo, pane = materials.sheet_metal(), materials.sheet_metal((0.4, 0.9), 0.5e-3), materials.glass()
    soil, board = materials.earth(), materials.wood()
    wall = materials.earth(depth=0.12, shear_speed=400.0)
    lawn = Rectangle([-13, -9, 0], [26, 0, 0], [0, 22, 0], restitution=0.1, material=soil)
    things = [
        Thing("lawn", lawn, GRASS, shown=True),
        Thing("field", Plane([0, 0, -0.002], [0, 0, 1], restitution=0.1), GRASS),
    ]

    # The house: ridge along x, eaves at 2.6 m, ridge at 4.4 m, windows in the front and in the gable.
    left, right, front, back, eaves, ridge = -7.0, -1.0, -1.2, 3.8, 2.6, 4.4
    middle = 0.5 * (front + back)

    def opening(x: float, width: float, low: float, high: float) -> list[list[float]]:
        return [[x, front, low], [x + width, front, low], [x + width, front, high], [x, front, high]]

    openings = [opening(-6.3, 1.2, 0.9, 2.1), opening(-4.5, 1.0, 0.02, 2.15), opening(-2.9, 1.2, 0.9, 2.1)]
    outline = [[left, front, 0], [right, front, 0], [right, front, eaves], [left, front, eaves]]
    things.append(Thing("house walls", Polygon(outline, openings, material=wall), WALL))
    things.append(Thing("house walls", Rectangle([left, back, 0], [right - left, 0, 0], [0, 0, eaves], material=wall), WALL))
    for x in (left, right):
        gable = [[x, front, 0], [x, back, 0], [x, back, eaves], [x, middle, ridge], [x, front, eaves]]
        hole = [[x, 0.6, 1.0], [x, 2.0, 1.0], [x, 2.0, 2.2], [x, 0.6, 2.2]]
        things.append(Thing("house walls", Polygon(gable, [hole], material=wall), WALL))
    # Panes and door are set in by 2 cm and reach behind the wall: nothing slips in beside them.
    for x, width, low, high in ((-6.3, 1.2, 0.9, 2.1), (-2.9, 1.2, 0.9, 2.1)):
        glass = Rectangle([x - 0.12, front + 0.02, low - 0.12], [width + 0.24, 0, 0], [0, 0, high - low + 0.24], material=pane)
        things.append(Thing("windows", glass, PANE, (2, 2)))
    for x in (left + 0.02, right - 0.02):
        glass = Rectangle([x, 0.48, 0.88], [0, 1.64, 0], [0, 0, 1.44], material=pane)
        things.append(Thing("windows", glass, PANE, (2, 2)))
    door = Rectangle([-4.62, front + 0.02, 0.0], [1.24, 0, 0], [0, 0, 2.27], material=board)
    things.append(Thing("door", door, RED_METAL, (3, 2)))
    # Both slopes reach 0.5 m over the walls.
    slope = (ridge - eaves) / (middle - front)
    for side in (-1.0, 1.0):
        corner = np.array([left - 0.5, middle + side * (middle - front + 0.5), eaves - 0.5 * slope + 0.08])
        up = np.array([0.0, -side * (middle - front + 0.5), slope * (middle - front + 0.5)])
        sheet = Rectangle(corner, [right - left + 1.0, 0, 0], up, restitution=0.4, material=roof)
        things.append(Thing("house roof", sheet, RED_METAL, (14, 0), shown=side < 0.0))
    things.append(Thing("chimney", Solid(Box([0.35, 0.35, 0.9]), Pose([-5.6, 2.1, 4.2]), material=wall), BRICK))

    # The gazebo: a conical roof on six posts.
    x, y = 4.4, 2.0
    things.append(Thing("gazebo floor", Solid(Cylinder(2.0, 0.1), Pose([x, y, 0.1]), material=board), PINE, (0, 0)))
    for angle in np.radians(np.arange(30, 390, 60)):
        foot = [x + 1.75 * np.cos(angle), y + 1.75 * np.sin(angle), 1.3]
        things.append(Thing("gazebo posts", Quadric.cylinder(foot, 0.08, 1.1, material=board), WHITE_WOOD))
    # Open towards the viewer.
    gate = [[-0.2, 1.0, 0.0, (-0.2 * x + y) + 8.0], [0.35, -1.0, 0.0, 0.35 * x - y + 1.1]]
    for height in (0.55, 1.05):
        rail = Quadric.cylinder([x, y, height], 1.75, 0.05, clip=gate, material=board)
        things.append(Thing("gazebo posts", rail, WHITE_WOOD))
    cone = Quadric.cone([x, y, 3.9], 2.35 / 1.6, 1.6, restitution=0.4, material=gazebo)
    things.append(Thing("gazebo roof", cone, BLUE_METAL, (18, 0), shown=True))
    knob = Quadric.ellipsoid([x, y, 4.0], [0.12, 0.12, 0.2], material=gazebo)
    things.append(Thing("gazebo roof", knob, BLUE_METAL))

    things += picnic_table([1.9, -3.6, 0.0], 24.0)
    return Scene(
        "house",
        tuple(things),
        (-13.0, -9.0, 13.0, 13.0),
        8.0,
        (2.5, 1.5),
        13.0,
        (7.5, -13.5, 5.2),
        (-0.45, 0.3, 1.75),
        1.02,
        0.03,
        2500,
    )


def can() -> Scene:
    """A garbage can and a table; Figure 3.7(b)."""
    tin, soil = materials.tin_can(0.25, 0.7, 0.6e-3), materials.earth(depth=0.1, shear_speed=250.0)
    top = materials.lid(0.31, 0.6e-3)
    ground = Rectangle([-2.6, -2.2, 0], [5.2, 0, 0], [0, 4.8, 0], restitution=0.2, material=soil)
    things = [
        Thing("ground", ground, PAVING, (8, 8), shown=True, ink=(0.83, 0.86, 0.90)),
        Thing("field", Plane([0, 0, -0.002], [0, 0, 1], restitution=0.1), GRASS),
    ]
    # The can: wider at the top, with two ribs; a cone whose apex lies 4.2 m under the ground.
    x, y, low, high, tall = 1.05, -0.15, 0.24, 0.28, 0.72
    slope = (high - low) / tall
    flip = np.diag([1.0, -1.0, -1.0])
    wall = Quadric.cone(
        [x, y, -low / slope], slope, high / slope, rotation=flip, clip=[[0, 0, -1, 0]], restitution=0.4, material=tin
    )
    things.append(Thing("can", wall, ZINC, (36, 0)))
    for height in (0.18, 0.36, 0.54):
        reach = low + slope * height + 0.012
        rib = Quadric.ellipsoid(
            [x, y, height], [reach, reach, 0.10], clip=[[0, 0, 1, height + 0.03], [0, 0, -1, 0.03 - height]], material=tin
        )
        things.append(Thing("can", rib, ZINC))
    # Its lid: a cap of an ellipsoid, a rim, and a handle.
    cap = Quadric.ellipsoid([x, y, tall], [0.31, 0.31, 0.11], clip=[[0, 0, -1, -tall]], restitution=0.4, material=top)
    things.append(Thing("lid", cap, ZINC, shown=True))
    things.append(Thing("lid", Quadric.cylinder([x, y, tall - 0.02], 0.31, 0.02, material=top), ZINC))
    things.append(Thing("lid", Disc([x, y, tall - 0.04], [0, 0, 1], 0.31, material=top), ZINC))
    across, upright = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0], [1.0, 0.0, 0.0, 0.0]
    bars = [Capsule(0.014, 0.075), Capsule(0.014, 0.03), Capsule(0.014, 0.03)]
    where = [([x, y, tall + 0.16], across), ([x - 0.075, y, tall + 0.13], upright), ([x + 0.075, y, tall + 0.13], upright)]
    handle = Compound(bars, [Pose(at, turn) for at, turn in where])
    things.append(Thing("lid", Solid(handle, material=top), OAK))
    things += picnic_table([-0.55, 0.25, 0.0], 14.0)
    return Scene(
        "can",
        tuple(things),
        (-2.6, -2.2, 2.6, 2.6),
        3.0,
        (2.0, 1.0),
        12.0,
        (2.1, -3.6, 2.2),
        (0.16, -0.02, 0.44),
        0.80,
        0.008,
        300,
    )


#: Scenes by name.
SCENES = {"house": house, "can": can}
