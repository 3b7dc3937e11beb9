"""Shapes, poses, motions and options at random, legal and illegal, for `random_queries.py`.

A seed and a number name a question, so the order in which numbers are drawn here is part of its name.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import numpy as np

import thud
from tests.oracles.solids import Pair, ground_from_heights, solid_of
from thud.errors import ThudError
from thud.pairing.plans import UNSUPPORTED, families_in, pair_entries, pair_plan, takes

#: How often an option is given to shapes that have no use for it.
STUBBORN = 0.2

FAMILIES = ("convex", "parts", "mesh", "field", "surface", "mixed")


# Shapes ------------------------------------------------------------------------------------------------------------------


def draw_convex(rng, bounded=False):
    """A convex shape of any kind."""
    kind = rng.integers(7 if bounded else 8)
    r, h = rng.uniform(0.15, 0.8, 2)
    if kind == 0:
        return thud.Sphere(r)
    if kind == 1:
        return thud.Box(rng.uniform(0.1, 0.8, 3) if rng.random() < 0.7 else [0.5, 0.5, 0.5])
    if kind == 2:
        return thud.Capsule(0.6 * r, h)
    if kind == 3:
        return thud.Cylinder(r, h)
    if kind == 4:
        return thud.Cone(r, h)
    if kind == 5:
        return thud.Ellipsoid(rng.uniform(0.15, 0.8, 3))
    if kind == 6:
        return thud.ConvexHull(rng.uniform(0.3, 0.9) * rng.normal(size=(int(rng.integers(4, 20)), 3)))
    return thud.HalfSpace(rng.normal(size=3) if rng.random() < 0.7 else [0.0, 0.0, 1.0], rng.uniform(-0.3, 0.3))


def box_faces(half):
    """Vertices and faces of a closed box of 12 triangles, wound outward."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners * half, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def ball_faces(rng, rings, rough):
    """Vertices and faces of a closed bumpy ball, wound outward."""
    around = 2 * rings
    theta, phi = np.linspace(0.0, np.pi, rings + 1)[1:-1], np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    ring = [[np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)] for t in theta for p in phi]
    unit = np.array([[0.0, 0.0, 1.0], *ring, [0.0, 0.0, -1.0]])
    radius = 0.7 * (1.0 + rough * np.sin(unit @ (3.0 * rng.normal(size=3)) + rng.uniform(0.0, 6.0)))
    faces = [[0, 1 + j, 1 + (j + 1) % around] for j in range(around)]
    for i in range(rings - 2):
        for j in range(around):
            a, b = 1 + i * around + j, 1 + i * around + (j + 1) % around
            faces += [[a, a + around, b], [b, a + around, b + around]]
    last, first = len(unit) - 1, 1 + (rings - 2) * around
    faces += [[last, first + (j + 1) % around, first + j] for j in range(around)]
    return unit * radius[:, None], np.array(faces)


def ring_faces(rng):
    """Vertices and faces of a closed torus, wound outward."""
    n, m = 12, 8
    large, small = rng.uniform(0.5, 0.7), rng.uniform(0.12, 0.25)
    u, v = (grid.ravel() for grid in np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij"))
    far = large + small * np.cos(v)
    index = np.arange(n * m).reshape(n, m)
    a, b = index, np.roll(index, -1, axis=0)
    c, d = np.roll(b, -1, axis=1), np.roll(index, -1, axis=1)
    faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)
    return np.stack([far * np.cos(u), far * np.sin(u), small * np.sin(v)], axis=1), faces


@cache
def mesh_of(number):
    """One of the meshes: closed ones, of which some are two pieces, and every third open."""
    rng = np.random.default_rng([1, number])
    kind = number % 6
    if kind == 0:
        vertices, faces = box_faces(rng.uniform(0.2, 0.8, 3))
    elif kind == 1:
        vertices, faces = ball_faces(rng, int(rng.integers(3, 9)), 0.4)
    elif kind == 2:
        vertices, faces = ball_faces(rng, 6, 0.3)
        faces = faces[rng.permutation(len(faces))[: len(faces) // 2]]
    elif kind == 3:
        vertices, faces = ring_faces(rng)
    elif kind == 4:
        one, two = box_faces(0.25), ball_faces(rng, 4, 0.2)
        vertices = np.concatenate([one[0] + [0.6, 0.0, 0.3], 0.5 * two[0] - [0.3, 0.1, 0.0]])
        faces = np.concatenate([one[1], two[1] + len(one[0])])
    else:
        count = int(rng.integers(1, 20))
        vertices = (rng.uniform(-0.6, 0.6, (count, 1, 3)) + rng.normal(scale=0.3, size=(count, 3, 3))).reshape(-1, 3)
        faces = np.arange(3 * count).reshape(-1, 3)
    if number == 11:
        vertices[:, 2] = 0.0
    if number % 4 == 3:
        # Triangles without an area change nothing.
        faces = np.concatenate([faces, faces[:2, [0, 1, 1]]])
    return thud.TriangleMesh(vertices, faces)


@cache
def surface_of(number):
    """One of the surfaces of 17 x 17 heights; every third is as thick as its bounding planes say."""
    rng = np.random.default_rng([2, number])
    y, x = np.mgrid[:17, :17] / 16.0
    heights = np.zeros((17, 17))
    for _ in range(4):
        wave = 6.0 * rng.normal(size=2)
        heights += rng.uniform(0.02, 0.15) * np.sin(wave[0] * x + wave[1] * y + rng.uniform(0.0, 6.0))
    if number % 4 == 1:
        heights += rng.normal(scale=0.05, size=heights.shape)
    if number == 3:
        heights[:] = 0.25
    thickness = None if number % 3 == 2 else float(rng.uniform(0.5, 1.5))
    return ground_from_heights(heights, float(rng.uniform(0.12, 0.25)), thickness)


@cache
def field_of(number):
    """One of the height fields with a thickness: of all types, with holes, plateaus and cliffs."""
    rng = np.random.default_rng([3, number])
    rows, columns = (int(count) for count in rng.integers(2, 12, size=2))
    heights = rng.uniform(0.05, 0.3) * rng.normal(size=(rows, columns))
    if number % 4 == 1:
        heights = np.round(4.0 * heights) / 4.0
    if number % 4 == 2:
        heights[rng.random(heights.shape) < 0.12] = np.nan
        heights[:2, :2] = 0.1
    spacing = rng.uniform(0.12, 0.4, 2)
    origin = -0.5 * np.array([*(spacing * [columns - 1, rows - 1]), 0.0])
    options = {"thickness": float(rng.uniform(0.1, 1.0))}
    if number % 3 == 1:
        heights = heights.astype(np.float32)
    if number % 6 == 5:
        hole = int(rng.integers(-5, 5))
        heights, options = np.round(1000.0 * np.nan_to_num(heights)).astype(np.int16), options | {"scale": 1e-3, "hole": hole}
    return thud.HeightField(heights, spacing, origin, **options)


def draw_turn(rng, count, aligned=0.25):
    """(count, 4) unit quaternions; with a probability of `aligned` along the axes."""
    q = rng.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    if rng.random() < aligned:
        half = np.sqrt(0.5)
        q[:] = [[1.0, 0, 0, 0], [half, half, 0, 0], [half, 0, 0, half], [0.5, 0.5, 0.5, 0.5]][rng.integers(4)]
    return q


def matrices(q):
    """(N, 3, 3) rotations of quaternions."""
    w, x, y, z = q.T
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z)]
    rows += [2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, axis=1).reshape(-1, 3, 3)


def draw_compound(rng, make, count, depth=0):
    """A compound of shapes that `make` gives, perhaps nested."""
    parts = [make(k) for k in range(count)]
    if depth == 0 and rng.random() < 0.35:
        parts[0] = draw_compound(rng, make, 2, 1)
    poses = np.column_stack([rng.uniform(-0.7, 0.7, (len(parts), 3)), draw_turn(rng, len(parts))])
    return thud.Compound(parts, poses)


def draw_shape(rng, family):
    """A shape of a family."""
    if family == "convex":
        return draw_convex(rng)
    if family == "mesh":
        return mesh_of(int(rng.integers(24)))
    if family == "field":
        return field_of(int(rng.integers(24)))
    if family == "surface":
        return surface_of(int(rng.integers(8)))
    if family == "parts":
        return draw_compound(rng, lambda _k: draw_convex(rng, bounded=rng.random() < 0.88), int(rng.integers(1, 4)))
    unpacked = rng.choice(["mesh", "field", "surface"], p=[0.5, 0.25, 0.25])
    kinds = [unpacked, rng.choice(["convex", "mesh", "field", "surface"], p=[0.65, 0.15, 0.1, 0.1])]
    turned = rng.random() < 0.5

    def make(k):
        kind = kinds[(k + turned) % 2]
        return draw_convex(rng, bounded=rng.random() < 0.88) if kind == "convex" else draw_shape(rng, kind)

    return draw_compound(rng, make, int(rng.integers(1 if not turned else 2, 4)))


def describe(shape):
    """A shape in a word, compounds with their parts."""
    if isinstance(shape, thud.Compound):
        return f"Compound({', '.join(describe(part) for part in shape.shapes)})"
    if isinstance(shape, thud.TriangleMesh):
        number = next(k for k in range(24) if mesh_of(k) is shape)
        return f"mesh_of({number})"
    if shape.family == "field":
        return f"field_of({next(k for k in range(24) if field_of(k) is shape)})"
    if shape.family == "surface":
        return f"surface_of({next(k for k in range(8) if surface_of(k) is shape)})"
    if isinstance(shape, thud.ConvexHull):
        return f"ConvexHull({len(np.asarray(shape.points))} points)"
    return repr(shape)


# Poses and motions -------------------------------------------------------------------------------------------------------


@dataclass
class Poses:
    """Quaternions and places, one or N."""

    q: np.ndarray
    t: np.ndarray

    def row(self, k):
        """(rotation, place) of a row."""
        k = k if len(self.q) > 1 else 0
        return matrices(self.q[k : k + 1])[0], self.t[k]

    def given(self, rng):
        """In one of the forms that queries take."""
        form = rng.integers(3)
        if form == 0:
            return disguised(rng, np.column_stack([self.t, self.q]))
        if form == 1:
            return thud.Pose(self.t, self.q)
        full = np.tile(np.eye(4), (len(self.q), 1, 1))
        full[:, :3, :3], full[:, :3, 3] = matrices(self.q), self.t
        return disguised(rng, full)


def disguised(rng, array):
    """The same numbers, read-only, in another order in memory, with gaps, or as lists."""
    form = rng.integers(8)
    if form == 0:
        return array.tolist()
    if form == 1:
        return np.asfortranarray(array)
    if form == 2:
        wide = np.full((2 * len(array), *array.shape[1:]), np.nan)
        wide[::2] = array
        return wide[::2]
    if form == 3:
        array = array.copy()
        array.flags.writeable = False
    return array


def draw_poses(rng, a, b, count):
    """Poses of two solids that touch, nearly touch, overlap or are apart; one row or `count` each."""
    rows_a, rows_b = [(count, count), (1, count), (count, 1)][rng.integers(3)]
    aligned = 1.0 if rng.random() < 0.15 else 0.15
    qa, qb = draw_turn(rng, rows_a, aligned), draw_turn(rng, rows_b, aligned)
    ta, tb = rng.uniform(-2.0, 2.0, (rows_a, 3)), np.zeros((rows_b, 3))
    free = ta if rows_b == 1 else tb
    if rows_b == 1:
        tb[:] = rng.uniform(-2.0, 2.0, 3)
    one, two = Poses(qa, ta), Poses(qb, tb)
    skin_a, skin_b = a.skin(20, rng), b.skin(20, rng)
    (center_a, radius_a), (center_b, radius_b) = a.bound(), b.bound()
    way = rng.random()
    for k in range(count):
        (turn_a, _), (turn_b, _) = one.row(k), two.row(k)
        if way < 0.6:
            x, y = turn_a @ skin_a[rng.integers(len(skin_a))], turn_b @ skin_b[rng.integers(len(skin_b))]
            gap = [0.0, rng.uniform(0.0, 0.4), rng.uniform(0.0, 0.02)][rng.integers(3)]
        else:
            x, y = turn_a @ center_a, turn_b @ center_b
            gap = (radius_a + radius_b) * (0.0 if way > 0.95 else rng.uniform(0.0, 1.2))
        step = np.eye(3)[rng.integers(3)] if aligned == 1.0 else rng.normal(size=3)
        step *= gap / np.linalg.norm(step)
        # Places with B where A is, then the other way round where A is the one that has rows.
        apart = x - y + step
        if free is tb:
            tb[k if rows_b > 1 else 0] = ta[k if rows_a > 1 else 0] + apart
        else:
            ta[k if rows_a > 1 else 0] = tb[0] - apart
    if rng.random() < 0.06:
        # All rows alike, or each elsewhere: the answer of one must not depend on where the others are.
        far = 10.0 ** rng.uniform(2.0, 7.0) * rng.normal(size=(count, 3) if rows_a == rows_b and rng.random() < 0.7 else 3)
        ta += far
        tb += far
    return one, two


def draw_motion(rng, count):
    """A motion, with or without rotation; one row or many."""
    width = 6 if rng.random() < 0.35 else 3
    motion = rng.uniform(-1.5, 1.5, (count if rng.random() < 0.6 else 1, width))
    if width == 6:
        motion[:, 3:] *= rng.choice([0.0, 0.3, 1.5, 8.0])
    if rng.random() < 0.1:
        motion[:, :3] = 0.0
    return motion


# Shapes at poses ---------------------------------------------------------------------------------------------------------


class PairDraw:
    """Two shapes, their solids and poses."""

    def __init__(self, rng, families=None, count=None):
        family_a, family_b = (FAMILIES[k] for k in rng.integers(len(FAMILIES), size=2)) if families is None else families
        self.a, self.b = draw_shape(rng, family_a), draw_shape(rng, family_b)
        if rng.random() < 0.06:
            self.b = self.a
        self.solid_a, self.solid_b = solid_of(self.a), solid_of(self.b)
        self.count = int(rng.integers(1, 5)) if count is None else count
        self.poses_a, self.poses_b = draw_poses(rng, self.solid_a, self.solid_b, self.count)
        self.given_a, self.given_b = self.poses_a.given(rng), self.poses_b.given(rng)
        self.pair = Pair(self.solid_a, self.solid_b, 70)
        self.has_ground = self.solid_a.has_ground or self.solid_b.has_ground
        self.is_packed = {self.a.family, self.b.family} <= {"convex", "parts"}
        self.is_convex = self.solid_a.is_convex and self.solid_b.is_convex

    def arguments(self):
        """Of a pair query."""
        return {"a": self.a, "b": self.b, "pose_a": self.given_a, "pose_b": self.given_b}

    def swapped(self):
        """The same, the other way round."""
        return {"a": self.b, "b": self.a, "pose_a": self.given_b, "pose_b": self.given_a}

    def at(self, row, shift=0.0):
        """The two solids at a row, B moved by a vector."""
        turn, place = self.poses_b.row(row)
        return self.pair.at(*self.poses_a.row(row), turn, place + shift)

    @property
    def names(self):
        """What the shapes are."""
        return tuple(describe(shape) for shape in (self.a, self.b))


class ShapeDraw:
    """One shape at one or N poses, and points or rays about it."""

    def __init__(self, rng):
        self.shape = draw_shape(rng, FAMILIES[rng.integers(len(FAMILIES))])
        self.solid = solid_of(self.shape)
        self.count = int(rng.integers(1, 5))
        rows = self.count if rng.random() < 0.5 else 1
        self.poses = Poses(draw_turn(rng, rows), rng.uniform(-2.0, 2.0, (rows, 3)) * rng.choice([1.0, 1.0, 0.0]))
        self.given = self.poses.given(rng)
        center, radius = self.solid.bound()
        skin, within = self.solid.skin(20, rng), self.solid.within(20, rng)
        points = []
        for k in range(self.count):
            way = rng.random()
            if way < 0.35 or (way < 0.7 and len(within) == 0):
                local = center + radius * rng.uniform(-1.3, 1.3, 3)
            elif way < 0.7:
                local = within[rng.integers(len(within))]
            else:
                local = skin[rng.integers(len(skin))] + rng.normal(size=3) * rng.choice([1e-3, 0.05])
            turn, place = self.poses.row(k)
            points.append(turn @ local + place)
        self.points = np.array(points)
        targets = []
        for k in range(self.count):
            turn, place = self.poses.row(k)
            # From the back, where the corners of meshes and hulls are: rays that hit a corner must not slip through.
            target = skin[-1 - rng.integers(min(5, len(skin)))] if rng.random() < 0.3 else skin[rng.integers(len(skin))]
            targets.append(turn @ (target + rng.choice([0.0, 0.02, 0.02]) * rng.normal(size=3)) + place)
        self.directions = np.array(targets) - self.points
        if rng.random() < 0.2:
            self.directions = np.eye(3)[rng.integers(3, size=self.count)] * rng.choice([-1.0, 1.0], (self.count, 1))
        self.directions *= rng.choice([1.0, 1.0, 1e-3, 100.0, 1e-150, 1e150])
        self.is_single = not isinstance(self.shape, thud.Compound)
        self.name = (describe(self.shape),)

    def at(self, row):
        """The solid at a row."""
        return self.solid.placed(*self.poses.row(row))

    @property
    def has_open_mesh(self):
        """Whether an open mesh is among the leaves."""
        return any(not leaf.is_solid for leaf, _, _ in self.solid.leaves)


# Options -----------------------------------------------------------------------------------------------------------------


NAN_ROW = np.array([[0.0, np.nan, 1.0]])

#: Values that no call may accept.
BAD = {
    "threads": [0, -1, True, 1.5, "2"],
    "margin": [-0.1, np.nan, np.inf, "wide", [0.1, 0.2]],
    "max_points": [0, 9, True, 2.5, "4", None, [4]],
    "max_distance": [np.nan, -1.0, "far", None, [1.0, 2.0]],
    "method": ["bullet", "", 3, "GJK", None],
    "contains method": ["gjk", "", 3, "Ray"],
    "axes": [NAN_ROW, np.ones((7, 3)), np.ones((1, 2)), "up", np.ones((1, 1, 3))],
    "cache": [{}, "yes", 0, np.zeros(3)],
    "pose": [
        np.full((1, 7), np.nan),
        np.array([0, 0, 0, 1.0, 1.0, 0, 0]),
        np.zeros(3),
        np.ma.masked_equal(np.array([0.0, 0, 0, 1, 0, 0, 0]), 1.0),
        "here",
        2.0 * np.eye(4),
    ],
    "shape": [None, "sphere", np.zeros(3), [thud.Sphere(1.0)]],
    "motion": [np.zeros(2), [np.nan, 0, 0], np.full(6, 1e7), "fast", 1.0],
    "points": [NAN_ROW, np.zeros(2), "here", np.array([0j, 0, 0]), None],
    "directions": [np.zeros(3), NAN_ROW, np.array([1, 0, 0], dtype=object), "up"],
    "pairs": [[[0, 9]], [[-1, 0]], [[0.5, 1.0]], [0, 1], "all", np.zeros((2, 3), int)],
    "shapes": [[], [None], ["sphere", "box"]],
}

PAIR_NAMES = {"a": "shape", "b": "shape", "pose_a": "pose", "pose_b": "pose", "threads": "threads"}


def spoil(rng, question, names):
    """Perhaps make one argument illegal; `names`: argument -> list of BAD."""
    if rng.random() > 0.15:
        return
    name = list(names)[rng.integers(len(names))]
    values = BAD[names[name]]
    value = values[rng.integers(len(values))]
    target = question.options if name not in question.arguments else question.arguments
    target[name] = value
    question.wrong.append(name)


def banish(rng, question, draw):
    """Perhaps put B beyond the limit of meshes and surfaces."""
    if rng.random() < 0.02 and not draw.is_packed and not question.wrong:
        question.arguments["pose_b"] = np.array([0.0, 2e15, 0.0, 1.0, 0.0, 0.0, 0.0])
        question.wrong.append("pose_b")


def pair_refusal(query, a, b):
    """Whether the table refuses a pair: "none", "must", or "may" where only some leaves have no answer."""
    if pair_plan(query, a.family, b.family).way == UNSUPPORTED:
        return "must"
    lost = any(pair_plan(query, x, y).way == UNSUPPORTED for x in families_in(a) for y in families_in(b))
    # Two that are unbounded have no way out of each other; convex ones are infinitely deep.
    endless = query == "signed_distance" and holds_half_space(a) and holds_half_space(b)
    return "may" if lost or (endless and not {a.family, b.family} <= {"convex", "parts"}) else "none"


def holds_half_space(shape):
    """Whether it is or holds a half-space."""
    return (
        any(holds_half_space(part) for part in shape.shapes)
        if isinstance(shape, thud.Compound)
        else isinstance(shape, thud.HalfSpace)
    )


def is_polytope(shape):
    """Whether the methods for hulls and boxes are for it."""
    return isinstance(shape, (thud.Box, thud.ConvexHull))


def method_of(rng, question, query, pairs, methods):
    """Draw a method for pairs of shapes; note whether the table lets it through."""
    if rng.random() > 0.3:
        return
    method = methods[rng.integers(len(methods))]
    fits = all(any(takes(entry, "method", method) for entry in pair_entries(query, *pair)) for pair in pairs)
    if not fits and rng.random() > STUBBORN:
        return
    question.options["method"] = method
    if method == "gjk":
        return
    for a, b in pairs:
        entries = pair_entries(query, a, b)
        if entries and not any(takes(entry, "method", method) for entry in entries):
            question.wrong.append("method")
        elif not (is_polytope(a) and is_polytope(b)) and question.refusal == "none":
            question.refusal = "may"


def axes_of(rng, question, query, pairs, count):
    """Draw axes; legal where every pair can use them."""
    fits = all(any(takes(entry, "axes") for entry in pair_entries(query, *pair)) for pair in pairs)
    if rng.random() > (0.4 if fits else STUBBORN * 0.3):
        return
    axes = rng.normal(size=(max(count, 1) if rng.random() < 0.7 else 1, 3))
    if rng.random() < 0.3:
        axes[0] = 0.0
    question.options["axes"] = axes if rng.random() < 0.8 else axes[0] if len(axes) == 1 else axes.tolist()
    for a, b in pairs:
        entries = pair_entries(query, a, b)
        if entries and not any(takes(entry, "axes") for entry in entries):
            question.wrong.append("axes")


def cache_of(rng, question, query, draw):
    """Draw a cache; legal where the pair can use one."""
    kept = "features" if question.options.get("method") == "v_clip" else "cache"
    fits = any(takes(entry, kept) for entry in pair_entries(query, draw.a, draw.b))
    if rng.random() > (0.5 if fits else STUBBORN * 0.3):
        return
    question.options["cache"] = thud.PairCache() if rng.random() < 0.8 else thud.PairCache(int(rng.integers(0, 20)))
    entries = pair_entries(query, draw.a, draw.b)
    if entries and not any(takes(entry, kept) for entry in entries):
        question.wrong.append("cache")
    elif question.refusal == "none" and not question.wrong and rng.random() < 0.4:
        # It has seen other rows, other shapes or another query before.
        other = getattr(thud, ["intersects", "distance"][rng.integers(2)])
        names = draw.arguments() if rng.random() < 0.7 else draw.swapped()
        moved = np.r_[rng.uniform(-1.0, 1.0, 3), 1.0, 0.0, 0.0, 0.0]
        with suppress(ThudError):
            other(**{**names, "pose_b": moved if rng.random() < 0.5 else names["pose_b"]}, cache=question.options["cache"])


def threads_of(rng, question):
    """Draw a number of threads."""
    if rng.random() < 0.4:
        question.options["threads"] = [None, 1, 2][rng.integers(3)]
