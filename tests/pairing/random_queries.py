"""Random questions to every query of every family of shapes, legal and illegal, with answers checked by `oracles/solids.py`.

A legal question must be answered, and rightly; an illegal one, or one that the pair table does not support, must be refused
with a named error. `python -m tests.pairing.random_queries --draws 20000 --seed 0` asks many; `--only N` repeats one.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache

import numpy as np

import thud
from tests.oracles.solids import (
    Faces,
    Ground,
    Pair,
    Plane,
    cross,
    ground_from_heights,
    rodrigues,
    solid_of,
    sphere_points,
    triangle_feet,
    winding_numbers,
)
from thud.errors import ThudError
from thud.pairing.plans import UNSUPPORTED, families_in, pair_entries, pair_plan, shape_entries, shape_plan, takes

#: Metres: by how much points may miss a surface, and how deep a point must lie inside to count. Shapes are about 1 m wide.
TOUCH = 2e-6

SEPARATED, OVERLAPPING, UNCONVERGED = range(3)
MISS, HIT, AT_START, CAST_UNCONVERGED = range(4)

#: How often an option is given to shapes that have no use for it.
STUBBORN = 0.2

FAMILIES = ("convex", "parts", "mesh", "surface", "mixed")


class Mismatch(AssertionError):
    """An answer that is wrong, an error without a name, or a question that was wrongly refused or answered."""


def require(condition, *what):
    """A `Mismatch` unless the condition holds."""
    if not condition:
        raise Mismatch(" ".join(str(word) for word in what))


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
    if family == "surface":
        return surface_of(int(rng.integers(8)))
    if family == "parts":
        return draw_compound(rng, lambda _k: draw_convex(rng, bounded=rng.random() < 0.88), int(rng.integers(1, 4)))
    unpacked = rng.choice(["mesh", "surface"], p=[0.7, 0.3])
    kinds = [unpacked, rng.choice(["convex", "convex", "mesh", "surface"], p=[0.4, 0.3, 0.2, 0.1])]
    turned = rng.random() < 0.5

    def make(k):
        kind = kinds[(k + turned) % 2]
        return draw_convex(rng, bounded=rng.random() < 0.88) if kind == "convex" else draw_shape(rng, kind)

    return draw_compound(rng, make, int(rng.integers(1 if not turned else 2, 4)))


# Poses -------------------------------------------------------------------------------------------------------------------


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


# Questions ---------------------------------------------------------------------------------------------------------------


@dataclass
class Question:
    """A call, what is wrong with it, and how its answer is checked."""

    query: str
    arguments: dict
    options: dict = field(default_factory=dict)
    wrong: list = field(default_factory=list)
    """Arguments that are illegal: the question must be refused."""
    refusal: str = "none"
    """By the pair table: "none", "must" or "may" be refused."""
    check: object = None
    shapes: tuple = ()
    unsure: int = 0
    """Rows that ended at an iteration limit."""

    def __str__(self):
        options = {name: value for name, value in self.options.items() if value is not None}
        return f"{self.query}{self.shapes} {options} wrong={self.wrong} refusal={self.refusal}"

    def ask(self):
        """Put it; "answered" or "refused"."""
        call = getattr(thud, self.query) if self.query != "prepare" else prepared_answers
        try:
            found = call(**self.arguments, **self.options)
        except ThudError as error:
            text = str(error)
            require(self.wrong or self.refusal != "none", "refused a legal question:", type(error).__name__, text)
            names = [
                *self.wrong,
                *(["intersects", "distance", "contacts"] if self.query == "prepare" else []),
                self.query.replace("_pairs", ""),
            ]
            require(any(name in text for name in names), "the error names none of", names, ":", text)
            return "refused"
        except Exception as error:
            raise unnamed(error) from error
        require(not self.wrong, "answered, though illegal:", self.wrong, {k: self.options.get(k) for k in self.wrong})
        require(self.refusal != "must", "answered what the table does not support")
        status = getattr(found, "status", None)
        if status is not None:
            self.unsure = int((status == (CAST_UNCONVERGED if self.query == "cast" else UNCONVERGED)).sum())
        try:
            self.check(found)
        except Mismatch:
            raise
        except Exception as error:
            raise unnamed(error, "while checking: ") from error
        return "answered"


def unnamed(error, when=""):
    """A `Mismatch` of an error that is not expected, with its place."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.split('/thud/')[-1]}:{where.lineno}"
    return Mismatch(f"{when}{type(error).__name__} at {place}: {error}")


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
        np.zeros((0, 7)),
        "here",
        2.0 * np.eye(4),
    ],
    "shape": [None, "sphere", np.zeros(3), [thud.Sphere(1.0)]],
    "motion": [np.zeros(2), [np.nan, 0, 0], np.full(6, 1e7), "fast", 1.0],
    "points": [NAN_ROW, np.zeros(2), "here", np.zeros((0, 3)), None],
    "directions": [np.zeros(3), NAN_ROW, np.zeros((0, 3)), "up"],
    "pairs": [[[0, 9]], [[-1, 0]], [[0.5, 1.0]], [0, 1], "all", np.zeros((2, 3), int)],
    "shapes": [[], [None], ["sphere", "box"]],
}


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
    return "may" if lost else "none"


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


def threads_of(rng, question):
    """Draw a number of threads."""
    if rng.random() < 0.4:
        question.options["threads"] = [None, 1, 2][rng.integers(3)]


def same_fields(found, other, what, atol=0.0):
    """Require two results to be equal, field by field."""
    if isinstance(found, np.ndarray):
        require(np.array_equal(found, other), what, found, other)
        return
    for one in fields(type(other)):
        x, y = np.asarray(getattr(found, one.name)), np.asarray(getattr(other, one.name))
        require(x.shape == y.shape, what, one.name, "has shape", x.shape, "not", y.shape)
        with np.errstate(invalid="ignore"):
            near = np.array_equal(x, y) if atol == 0.0 else np.allclose(x, y, rtol=0.0, atol=atol)
        require(near, what, one.name, x.tolist(), "not", y.tolist())


def prepared_answers(a, b, pose_a, pose_b, signed, margin):
    """What a prepared pair says, all of it."""
    pair = thud.prepare(a, b)
    return (
        pair.intersects(pose_a, pose_b),
        pair.distance(pose_a, pose_b, signed=signed),
        pair.contacts(pose_a, pose_b, margin=margin),
    )


# Pairs of shapes ---------------------------------------------------------------------------------------------------------


class PairDraw:
    """Two shapes, their solids and poses."""

    def __init__(self, rng, families=None, count=None):
        family_a, family_b = (FAMILIES[k] for k in rng.integers(5, size=2)) if families is None else families
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


def describe(shape):
    """A shape in a word, compounds with their parts."""
    if isinstance(shape, thud.Compound):
        return f"Compound({', '.join(describe(part) for part in shape.shapes)})"
    if isinstance(shape, thud.TriangleMesh):
        number = next(k for k in range(24) if mesh_of(k) is shape)
        return f"mesh_of({number})"
    if shape.family == "surface":
        return f"surface_of({next(k for k in range(8) if surface_of(k) is shape)})"
    if isinstance(shape, thud.ConvexHull):
        return f"ConvexHull({len(np.asarray(shape.points))} points)"
    return repr(shape)


def blur(solid):
    """By how much points may miss a solid's surface: patches are cut until they leave their pieces by 1/256 of the twist."""
    return TOUCH + solid.twist / 256.0


def check_rows(found, count, names):
    """Each of the fields has a row a pose."""
    for name in names:
        require(len(getattr(found, name)) == count, name, "has", len(getattr(found, name)), "rows, not", count)


def check_distance_row(draw, placed, found, k, reach, signed):
    """One row of `Distances` against the oracle."""
    d, n, x, y = found.distance[k], found.normal[k], found.point_a[k], found.point_b[k]
    status = found.status[k]
    what = f"row {k}:"
    require(np.isfinite(np.concatenate([n, x, y])).all() and not np.isnan(d), what, "NaN", d, n, x, y)
    if status == UNCONVERGED:
        return
    if d == -np.inf:
        # No translation parts two half-spaces that are not opposite.
        require(signed and not (placed.a.is_bounded or placed.b.is_bounded), what, "infinitely deep")
        return
    deep, where = placed.deepest_common()
    bound, _, _ = placed.nearest()
    if np.isinf(d):
        require(np.isfinite(reach) and d > 0.0, what, "inf without a limit")
        require(not x.any() and not y.any() and not n.any(), what, "inf, but points")
        require(bound >= reach - TOUCH, what, "inf, but distance at most", bound, "with limit", reach)
        require(deep <= TOUCH, what, "inf, but", where, "is", deep, "deep in both")
        return
    require(d <= reach + TOUCH, what, "distance", d, "beyond the limit", reach)
    require(
        np.abs(y - x - d * n).max() < 1e-8 + 1e-8 * np.abs(x).max(),
        what,
        "point_b is not point_a + distance * normal",
        d,
        n,
        x,
        y,
    )
    length = np.linalg.norm(n)
    # Shapes that touch may be rounded to either side.
    if d > 0.0 and not (signed and status == OVERLAPPING and d < 1e-12):
        require(status == SEPARATED, what, "status", status, "at distance", d)
        require(abs(length - 1.0) < 1e-6, what, "normal of length", length)
        for name, solid, point in (("point_a", placed.a, x), ("point_b", placed.b, y)):
            gap = solid.surface_gap(point[None])[0]
            require(gap <= blur(solid), what, name, "off its surface by", gap, "at distance", d)
        require(d <= bound + TOUCH, what, "distance", d, "but samples are at", bound)
        require(deep <= TOUCH, what, "distance", d, "but", where, "is", deep, "deep in both")
        return
    require(status == OVERLAPPING, what, "status", status, "at distance", d)
    if not signed:
        require(d == 0.0 and length == 0.0 and np.array_equal(x, y), what, "overlap:", d, n, x, y)
        for name, solid in (("A", placed.a), ("B", placed.b)):
            gap = solid.signed(x[None])[0]
            require(gap <= blur(solid), what, "the common point is outside of", name, "by", gap)
        return
    check_depth(draw, placed, k, d, n, x, y)


def least_overlap(a, b, first):
    """The shortest translation of B along one of many directions that parts the hulls of two solids; no less than the depth."""

    def along(way):
        return a.support(way) + b.support(-way)

    ways = np.concatenate([sphere_points(150), first[None], -first[None]])
    # The normals of half-spaces, along which alone they end.
    planes = [turn @ leaf.normal for leaf, turn, _ in a.leaves + b.leaves if isinstance(leaf, Plane)]
    ways = np.concatenate([ways, *([normal, -normal] for normal in planes)])
    lengths = np.array([along(way) for way in ways])
    best, way = lengths.min(), ways[lengths.argmin()]
    for angle in (0.1, 0.05, 0.02, 0.01, 0.003):
        tried = way + angle * sphere_points(16)
        tried /= np.linalg.norm(tried, axis=1, keepdims=True)
        lengths = np.array([along(one) for one in tried])
        if lengths.min() < best:
            best, way = lengths.min(), tried[lengths.argmin()]
    return best


def check_depth(draw, placed, k, d, n, x, y):
    """A signed overlap: B moved by the depth along the normal is free of A, and no direction is much shorter."""
    what, depth, length = f"row {k}:", -d, np.linalg.norm(n)
    if draw.has_ground:
        require(length < 1e-9 or abs(length - 1.0) < 1e-6, what, "normal of length", length)
        return
    require(abs(length - 1.0) < 1e-6, what, "normal of length", length, "at depth", depth)
    loose = 10.0 * TOUCH
    for name, solid, point in (("point_a", placed.a, x), ("point_b", placed.b, y)):
        gap = solid.surface_gap(point[None])[0]
        require(gap <= loose, what, name, "off its surface by", gap, "at depth", depth)
    if draw.is_packed:
        parts_a, parts_b = ([solid.part(i) for i in range(len(solid.leaves))] for solid in (placed.a, placed.b))
        most = max(least_overlap(part_a, part_b, n) for part_a in parts_a for part_b in parts_b)
        require(depth <= most + loose, what, "depth", depth, "but some direction needs", most)
        require(depth >= 0.9 * most - loose or np.isinf(most), what, "depth", depth, "but two parts overlap by", most)
        if not draw.is_convex:
            return
        along = placed.a.support(n) + placed.b.support(-n)
        if np.isfinite(along):
            require(abs(along - depth) <= loose, what, "depth", depth, "but", along, "along its normal")
    elif {draw.a.family, draw.b.family} <= {"convex", "mesh"}:
        most = least_overlap(placed.a, placed.b, n)
        require(depth <= most * (1.0 + 1e-5) + loose, what, "depth", depth, "but the hulls have at most", most)
    moved = draw.at(k, (depth * (1.0 + 1e-6) + TOUCH) * n)
    deep, where = moved.deepest_common()
    require(deep <= loose, what, "moved by depth", depth, "along", n, "but", where, "is", deep, "deep in both")


def distance_question(rng):
    """`distance`, unsigned or signed."""
    draw = PairDraw(rng)
    signed = bool(rng.random() < 0.5)
    query = "signed_distance" if signed else "distance"
    question = Question("distance", draw.arguments(), {"signed": signed}, shapes=draw.names)
    question.refusal = pair_refusal(query, draw.a, draw.b)
    reach = np.inf
    if rng.random() < 0.35:
        reach = [0.0, 0.05, 0.3, 2.0][rng.integers(4)]
        question.options["max_distance"] = reach
    method_of(rng, question, query, [(draw.a, draw.b)], ["gjk", "v_clip", "v_clip", "chung_wang"])
    axes_of(rng, question, query, [(draw.a, draw.b)], draw.count)
    cache_of(rng, question, query, draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"max_distance": "max_distance", "method": "method", "axes": "axes", "cache": "cache"})

    def check(found):
        check_rows(found, draw.count, ["distance", "point_a", "point_b", "normal", "status"])
        for k in range(draw.count):
            check_distance_row(draw, draw.at(k), found, k, reach, signed)
        check_cache(question, draw, found)
        if "axes" in question.options or "method" in question.options:
            return
        check_single_row(question, draw, found, draw.count - 1)
        turned = thud.distance(**draw.swapped(), signed=signed, max_distance=reach)
        for k in range(draw.count):
            check_turned_distance(draw, found, turned, k, signed, reach)

    question.check = check
    return question


def given_row(value, k):
    """Row k of poses or motions in any form, which may have one row for all."""
    many = len(value) > 1 if isinstance(value, thud.Pose) else np.ndim(value) > 1 and len(value) > 1
    return value[k] if many else value


def check_single_row(question, draw, found, k):
    """Row k asked by itself gives the same bytes."""
    single = {name: value if name in ("a", "b") else given_row(value, k) for name, value in question.arguments.items()}
    options = {name: value for name, value in question.options.items() if name not in ("axes", "cache")}
    one = getattr(thud, question.query)(**single, **options)
    for item in fields(type(one)):
        x, y = getattr(found, item.name)[k], getattr(one, item.name)[0]
        require(np.array_equal(x, y), f"row {k} by itself: {item.name} {y}, not {x}")


def check_turned_distance(draw, found, turned, k, signed, reach):
    """The answer with the shapes exchanged."""
    d, other = found.distance[k], turned.distance[k]
    if UNCONVERGED in (found.status[k], turned.status[k]) or np.isinf(d) or np.isinf(other):
        same = (
            np.isinf(d) == np.isinf(other)
            or min(d, other) >= reach - TOUCH
            or UNCONVERGED in (found.status[k], turned.status[k])
        )
        require(same, f"row {k}: swapped distance {other}, not {d}")
        return
    if signed and (d < 0.0 or other < 0.0) and not draw.is_convex:
        return
    require(abs(d - other) <= 10.0 * TOUCH, f"row {k}: swapped distance {other}, not {d}")
    if draw.is_convex and d > 0.01:
        off = np.abs(found.normal[k] + turned.normal[k]).max()
        require(off < 1e-3, f"row {k}: swapped normal {turned.normal[k]}, not {-found.normal[k]}")


PAIR_NAMES = {"a": "shape", "b": "shape", "pose_a": "pose", "pose_b": "pose", "threads": "threads"}


def cache_of(rng, question, query, draw):
    """Draw a cache; legal where the pair can use one."""
    fits = any(takes(entry, "cache") for entry in pair_entries(query, draw.a, draw.b))
    if rng.random() > (0.5 if fits else STUBBORN * 0.3):
        return
    question.options["cache"] = thud.PairCache() if rng.random() < 0.8 else thud.PairCache(int(rng.integers(0, 20)))
    entries = pair_entries(query, draw.a, draw.b)
    if entries and not any(takes(entry, "cache") for entry in entries):
        question.wrong.append("cache")
    elif question.refusal == "none" and not question.wrong and rng.random() < 0.4:
        # It has seen other rows, other shapes or another query before.
        other = getattr(thud, ["intersects", "distance"][rng.integers(2)])
        names = draw.arguments() if rng.random() < 0.7 else draw.swapped()
        moved = np.r_[rng.uniform(-1.0, 1.0, 3), 1.0, 0.0, 0.0, 0.0]
        with suppress(ThudError):
            other(**{**names, "pose_b": moved if rng.random() < 0.5 else names["pose_b"]}, cache=question.options["cache"])


def check_cache(question, draw, found):
    """With a cache the answers are those without, also in the next frame."""
    if "cache" not in question.options:
        return
    call = getattr(thud, question.query)
    plain = {name: value for name, value in question.options.items() if name != "cache"}
    same_fields(found, call(**question.arguments, **plain), "with a cache:")
    moved = draw.poses_b.t + 0.01 * np.sin(1.0 + np.arange(3 * len(draw.poses_b.t))).reshape(-1, 3)
    after = {**question.arguments, "pose_b": np.column_stack([moved, draw.poses_b.q])}
    same_fields(call(**after, **question.options), call(**after, **plain), "with a cache, second frame:")


def intersects_question(rng):
    """`intersects`."""
    draw = PairDraw(rng)
    question = Question("intersects", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("intersects", draw.a, draw.b)
    method_of(rng, question, "intersects", [(draw.a, draw.b)], ["gjk", "v_clip", "chung_wang"])
    axes_of(rng, question, "intersects", [(draw.a, draw.b)], draw.count)
    cache_of(rng, question, "intersects", draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"method": "method", "axes": "axes", "cache": "cache"})

    def check(found):
        require(found.shape == (draw.count,) and found.dtype == bool, "shape", found.shape, found.dtype)
        if question.refusal == "none":
            apart = thud.distance(**draw.arguments())
        for k in range(draw.count):
            placed = draw.at(k)
            deep, where = placed.deepest_common()
            require(found[k] or deep <= TOUCH, f"row {k}: apart, but {where} is {deep} deep in both")
            if question.refusal != "none":
                continue
            d, status = apart.distance[k], apart.status[k]
            if found[k] and status != UNCONVERGED:
                # Its witness is checked here by the oracle: a point of both, or two that are next to each other.
                require(d <= TOUCH, f"row {k}: meets, but at distance {d}")
                gaps = [solid.signed(apart.point_a[k][None])[0] - blur(solid) for solid in (placed.a, placed.b)]
                require(max(gaps) <= TOUCH, f"row {k}: meets, but no common point: {gaps}")
            elif not found[k]:
                require(d > -TOUCH and (d > 0.0 or placed.nearest()[0] > -TOUCH), f"row {k}: apart, but at distance {d}")
                require(d > 0.0 or deep <= TOUCH, f"row {k}: apart, but at distance {d}")
        check_cache(question, draw, found)
        if question.refusal != "none":
            return
        turned = thud.intersects(**draw.swapped())
        for k in np.flatnonzero(turned != found):
            if question.refusal == "none":
                gap = apart.distance[k]
                deep = draw.at(k).deepest_common()[0]
                require(
                    gap <= TOUCH and deep <= TOUCH,
                    f"row {k}: swapped {turned[k]}, not {found[k]}; distance {gap}, depth {deep}",
                )

    question.check = check
    return question


def contacts_question(rng):
    """`contacts`."""
    draw = PairDraw(rng)
    question = Question("contacts", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("contacts", draw.a, draw.b)
    margin, most = 0.0, 8
    if rng.random() < 0.5:
        margin = question.options["margin"] = [0.0, 0.01, 0.2][rng.integers(3)]
    if rng.random() < 0.5:
        most = question.options["max_points"] = int(rng.integers(1, 9))
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"margin": "margin", "max_points": "max_points"})

    def check(found):
        check_contacts(draw, found, margin, most)
        if draw.count and question.refusal == "none":
            turned = thud.contacts(**draw.swapped(), **{k: v for k, v in question.options.items() if k != "threads"})
            for k in np.flatnonzero(turned.status != found.status):
                near = abs(thud.distance(**draw.arguments()).distance[k]) <= TOUCH and draw.at(k).deepest_common()[0] <= 1e-3
                unsure = UNCONVERGED in (turned.status[k], found.status[k])
                require(near or unsure, f"row {k}: swapped status {turned.status[k]}, not {found.status[k]}")

    question.check = check
    return question


def check_contacts(draw, found, margin, most):
    """Contacts of all rows against the oracle."""
    require(len(found.status) == draw.count, "status has", len(found.status), "rows")
    require((np.diff(found.row) >= 0).all() and ((found.row >= 0) & (found.row < draw.count)).all(), "rows", found.row)
    for name in ("point", "normal", "depth"):
        require(
            np.isfinite(getattr(found, name)).all() and len(getattr(found, name)) == len(found.row), name, getattr(found, name)
        )
    require((np.abs(np.linalg.norm(found.normal, axis=1) - 1.0) < 1e-6).all(), "normals", found.normal)
    require((found.depth >= -margin - TOUCH).all(), "depth below the margin", found.depth, margin)
    for k in range(draw.count):
        own = found.row == k
        what, placed, status = f"row {k}:", draw.at(k), found.status[k]
        counts = np.unique(found.patch[own], return_counts=True)[1]
        require((counts <= most).all(), what, "patches of", counts, "points, at most", most)
        if status == UNCONVERGED:
            continue
        deep, where = placed.deepest_common()
        require(deep <= TOUCH or status == OVERLAPPING, what, "separated, but", where, "is", deep, "deep in both")
        if status == SEPARATED:
            require((found.depth[own] <= TOUCH).all(), what, "separated, but depths", found.depth[own])
        bound = placed.nearest()[0]
        if own.any() and not draw.has_ground:
            gaps = np.maximum(placed.a.signed(found.point[own]), placed.b.signed(found.point[own]))
            off = gaps - 0.5 * np.abs(found.depth[own])
            require(off.max() <= 10.0 * TOUCH, what, "a point is off by", gaps, "at depth", found.depth[own])
        for solid, sign in ((placed.a, 0.5), (placed.b, -0.5)):
            if own.any() and len(solid.leaves) == 1 and solid.has_ground:
                gaps = solid.surface_gap(found.point[own] + sign * found.depth[own][:, None] * found.normal[own])
                require(gaps.max() <= 10.0 * TOUCH + 0.25 * solid.twist, what, "the ground is off by", gaps)
        if draw.is_convex and own.any():
            half = 0.5 * found.depth[own][:, None] * found.normal[own]
            gaps = placed.a.surface_gap(found.point[own] + half), placed.b.surface_gap(found.point[own] - half)
            require(max(gap.max() for gap in gaps) < 10.0 * TOUCH, what, "surfaces are off by", *gaps)
            if status == OVERLAPPING:
                apart = thud.distance(**draw.arguments(), signed=True).distance[k]
                off = found.depth[own].max() + apart
                require(abs(off) < 10.0 * TOUCH, what, "depths", found.depth[own], "at distance", apart)
        both_planes = not (placed.a.is_bounded or placed.b.is_bounded)
        if status == OVERLAPPING and not both_planes:
            require(own.any(), what, "overlap without points")
        if bound < 0.9 * margin and not both_planes:
            require(own.any(), what, "no points at a distance of at most", bound, "within", margin)


def at_time(poses, motion, row, s):
    """(rotation, place) of a moving shape."""
    turn, place = poses.row(row)
    move = motion[row if len(motion) > 1 else 0]
    if len(move) == 6:
        turn = rodrigues(s * move[3:])[0] @ turn
    return turn, place + s * move[:3]


def draw_motion(rng, count):
    """A motion, with or without rotation; one row or many."""
    width = 6 if rng.random() < 0.35 else 3
    motion = rng.uniform(-1.5, 1.5, (count if rng.random() < 0.6 else 1, width))
    if width == 6:
        motion[:, 3:] *= rng.choice([0.0, 0.3, 1.5, 8.0])
    if rng.random() < 0.1:
        motion[:, :3] = 0.0
    return motion


def cast_question(rng):
    """`cast`, with or without rotations."""
    draw = PairDraw(rng, count=int(rng.integers(1, 3)))
    draw.pair = Pair(draw.solid_a, draw.solid_b, 40)
    move_a, move_b = draw_motion(rng, draw.count), draw_motion(rng, draw.count)
    if rng.random() < 0.3:
        move_a = np.zeros((1, 3))
    turning = any(move.shape[1] == 6 and move[:, 3:].any() for move in (move_a, move_b))
    arguments = {
        **draw.arguments(),
        "motion_a": move_a,
        "motion_b": move_b if rng.random() < 0.7 or len(move_b) > 1 else move_b[0],
    }
    question = Question("cast", arguments, shapes=draw.names)
    question.refusal = pair_refusal("turning_cast" if turning else "cast", draw.a, draw.b)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"motion_a": "motion", "motion_b": "motion"})

    def check(found):
        check_rows(found, draw.count, ["time", "point", "normal", "status"])
        for k in range(draw.count):
            check_cast_row(draw, move_a, move_b, found, k)
        check_single_row(question, draw, found, draw.count - 1)
        options = {"motion_a": move_b, "motion_b": move_a}
        turned = thud.cast(**draw.swapped(), **options)
        speed = np.linalg.norm(move_a) + np.linalg.norm(move_b) + 1.0
        both = (found.status == HIT) & (turned.status == HIT)
        off = np.abs(found.time[both] - turned.time[both])
        require((off * speed < 1e-3).all(), "swapped times", turned.time, "not", found.time)

    question.check = check
    return question


def check_cast_row(draw, move_a, move_b, found, k):
    """One row of `Impacts` against the oracle at some times."""
    t, status, what = found.time[k], found.status[k], f"row {k}:"
    require(np.isfinite(found.point[k]).all() and np.isfinite(found.normal[k]).all() and not np.isnan(t), what, "NaN")
    end = 1.0 if status == MISS else min(t, 1.0)
    if status == MISS:
        require(np.isinf(t), what, "a miss at time", t)
    else:
        require(0.0 <= t <= 1.0, what, "time", t, "of status", status)
    if status == AT_START:
        require(t == 0.0, what, "overlapping at the start at time", t)
    # Up to a little before the contact: a time is a lower bound.
    for s in np.linspace(0.0, end, 12) if status == MISS else np.linspace(0.0, end, 6)[:-1] if end > 0.0 else ():
        placed = draw.pair.at(*at_time(draw.poses_a, move_a, k, s), *at_time(draw.poses_b, move_b, k, s))
        deep, where = placed.deepest_common(buried=s == 0.0)
        require(deep <= TOUCH, what, "status", status, "time", t, "but at", s, "point", where, "is", deep, "deep in both")
    if status in (HIT, AT_START):
        placed = draw.pair.at(*at_time(draw.poses_a, move_a, k, t), *at_time(draw.poses_b, move_b, k, t))
        gaps = [solid.signed(found.point[k][None])[0] - blur(solid) for solid in (placed.a, placed.b)]
        require(max(gaps) <= 4.0 * TOUCH, what, "status", status, "at", t, "the point is off by", gaps)
        length = np.linalg.norm(found.normal[k])
        # A shape that turns may meet the bottom or a side of the ground, which have no normal.
        bare = length == 0.0 and (status == AT_START or (draw.has_ground and (move_a.shape[1] == 6 or move_b.shape[1] == 6)))
        require(abs(length - 1.0) < 1e-6 or bare, what, "normal of length", length)
        if status == HIT and move_a.shape[1] == move_b.shape[1] == 3:
            closing = (move_b[k if len(move_b) > 1 else 0] - move_a[k if len(move_a) > 1 else 0]) @ found.normal[k]
            require(closing <= 1e-5, what, "they touch while parting along the normal by", closing)


def triangle_pairs_question(rng):
    """`triangle_pairs`."""
    families = ("mesh", "mesh") if rng.random() < 0.8 else None
    draw = PairDraw(rng, families)
    question = Question("triangle_pairs", draw.arguments(), shapes=draw.names)
    question.refusal = pair_refusal("triangle_pairs", draw.a, draw.b)
    cache_of(rng, question, "triangle_pairs", draw)
    threads_of(rng, question)
    banish(rng, question, draw)
    spoil(rng, question, PAIR_NAMES | {"cache": "cache"})

    def check(found):
        key = np.stack([found.row, found.triangle_a, found.triangle_b], axis=1)
        require(np.array_equal(key, np.unique(key, axis=0)), "pairs are not sorted")
        for k in range(draw.count):
            placed = draw.at(k)
            (leaf_a, turn_a, place_a), (leaf_b, turn_b, place_b) = placed.a.leaves[0], placed.b.leaves[0]
            corners_a, corners_b = leaf_a.corners @ turn_a.T + place_a, leaf_b.corners @ turn_b.T + place_b
            surely, perhaps = crossing_triangles(corners_a, corners_b)
            listed = np.zeros(surely.shape, dtype=bool)
            own = found.row == k
            listed[found.triangle_a[own], found.triangle_b[own]] = True
            require(not (surely & ~listed).any(), f"row {k}: not listed", np.argwhere(surely & ~listed)[:3].tolist())
            require(not (listed & ~perhaps).any(), f"row {k}: listed", np.argwhere(listed & ~perhaps)[:3].tolist())
        check_cache(question, draw, found)

    question.check = check
    return question


def crossing_triangles(a, b):
    """(A, B) pairs of triangles that surely meet, and those that may: an edge of one through the other."""
    surely, perhaps = np.zeros((len(a), len(b)), dtype=bool), np.zeros((len(a), len(b)), dtype=bool)
    for one, two, turned in ((a, b, False), (b, a, True)):
        edge, other = two[:, 1] - two[:, 0], two[:, 2] - two[:, 0]
        for k in range(3):
            start, along = one[:, k], one[:, (k + 1) % 3] - one[:, k]
            h = cross(along[:, None], other)
            det = (edge * h).sum(axis=2)
            s = start[:, None] - two[:, 0]
            q = cross(s, edge)
            size = np.linalg.norm(cross(edge, other), axis=1) * np.linalg.norm(along, axis=1)[:, None]
            steep = np.abs(det) > 1e-6 * size
            scale = 1.0 / np.where(steep, det, 1.0)
            u, v, t = (s * h).sum(axis=2) * scale, (q * along[:, None]).sum(axis=2) * scale, (q * other).sum(axis=2) * scale
            least = np.where(steep, np.minimum(np.minimum(np.minimum(u, v), 1.0 - u - v), np.minimum(t, 1.0 - t)), 0.0)
            sure, may = steep & (least > 1e-6), ~steep | (least > -1e-6)
            surely |= sure.T if turned else sure
            perhaps |= may.T if turned else may
    return surely, perhaps


def prepare_question(rng):
    """`prepare`, and what the prepared pair says."""
    draw = PairDraw(rng, count=1)
    signed, margin = bool(rng.random() < 0.4), float(rng.choice([0.0, 0.1]))
    arguments = {**draw.arguments(), "signed": signed, "margin": margin}
    question = Question("prepare", arguments, shapes=draw.names)
    query = "signed_distance" if signed else "distance"
    refusals = {pair_refusal(name, draw.a, draw.b) for name in ("intersects", query, "contacts")}
    question.refusal = "must" if "must" in refusals else "may" if "may" in refusals else "none"
    spoil(rng, question, {"a": "shape", "b": "shape", "pose_a": "pose", "pose_b": "pose", "margin": "margin"})

    def check(found):
        hit, apart, touching = found
        single = draw.arguments()
        require(isinstance(hit, bool) and hit == thud.intersects(**single)[0], "prepared intersects", hit)
        same_fields(apart, thud.distance(**single, signed=signed), "prepared distance:", 1e-9)
        same_fields(touching, thud.contacts(**single, margin=margin), "prepared contacts:", 1e-9)
        check_distance_row(draw, draw.at(0), apart, 0, np.inf, signed)

    question.check = check
    return question


# Many pairs --------------------------------------------------------------------------------------------------------------


def pairs_question(rng):
    """`intersects_pairs`, `distance_pairs` or `contacts_pairs`."""
    count = int(rng.integers(1, 5))
    shapes = [draw_shape(rng, FAMILIES[rng.integers(5)] if rng.random() < 0.6 else "convex") for _ in range(count)]
    if rng.random() < 0.3:
        shapes.append(shapes[0])
    poses = Poses(draw_turn(rng, len(shapes)), rng.uniform(-0.8, 0.8, (len(shapes), 3)))
    table = rng.integers(len(shapes), size=(int(rng.integers(1, 5)) if rng.random() < 0.97 else 0, 2))
    kind = ["intersects", "distance", "contacts"][rng.integers(3)]
    signed = kind == "distance" and bool(rng.random() < 0.4)
    query = "signed_distance" if signed else kind
    pairs = [(shapes[i], shapes[j]) for i, j in table]
    names = tuple(describe(shape) for shape in shapes)
    question = Question(
        f"{kind}_pairs", {"shapes": shapes, "pairs": table, "poses": poses.given(rng)}, shapes=(names, table.tolist())
    )
    refusals = {pair_refusal(query, *pair) for pair in pairs}
    question.refusal = "must" if "must" in refusals else "may" if "may" in refusals else "none"
    names = {"shapes": "shapes", "pairs": "pairs", "poses": "pose", "threads": "threads"}
    single = {}
    if kind == "contacts":
        if rng.random() < 0.5:
            single = {"margin": 0.1, "max_points": int(rng.integers(1, 9))}
        names |= {"margin": "margin", "max_points": "max_points"}
    else:
        method_of(rng, question, query, pairs, ["gjk", "v_clip", "v_clip"])
        axes_of(rng, question, query, pairs, len(pairs))
        names |= {"method": "method", "axes": "axes"}
    if kind == "distance":
        single = {"signed": signed, "max_distance": float(rng.choice([np.inf, 0.2]))}
        names |= {"max_distance": "max_distance"}
    question.options |= single
    threads_of(rng, question)
    spoil(rng, question, names)

    def check(found):
        extra = {name: value for name, value in question.options.items() if name in ("method",)}
        rows = found if kind == "intersects" else found.status
        require(len(rows) == len(table), "rows", len(rows), "of", len(table), "pairs")
        axes = question.options.get("axes")
        for k, (i, j) in enumerate(table):
            given = {"pose_a": question.arguments["poses"][i], "pose_b": question.arguments["poses"][j]}
            if axes is not None:
                extra["axes"] = np.atleast_2d(axes)[k if np.ndim(axes) == 2 and len(axes) > 1 else 0]
            one = getattr(thud, kind)(shapes[i], shapes[j], **given, **single, **extra)
            if kind == "intersects":
                require(found[k] == one[0], f"pairs row {k}: {found[k]}, not {one[0]}")
            elif kind == "distance":
                mine = type(one)(*(getattr(found, item.name)[k : k + 1] for item in fields(thud.Distances)))
                same_fields(mine, one, f"pairs row {k}:", 1e-9)
            else:
                own = found.row == k
                require(found.status[k] == one.status[0], f"pairs row {k}: status {found.status[k]}, not {one.status[0]}")
                for name in ("point", "normal", "depth", "feature", "patch"):
                    x, y = getattr(found, name)[own], getattr(one, name)
                    require(x.shape == y.shape and np.allclose(x, y, rtol=0, atol=1e-9), f"pairs row {k}: {name} {x}, not {y}")

    question.check = check
    return question


# Single shapes -----------------------------------------------------------------------------------------------------------


class ShapeDraw:
    """One shape at one or N poses, and points or rays about it."""

    def __init__(self, rng):
        self.shape = draw_shape(rng, FAMILIES[rng.integers(5)])
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


def contains_question(rng):
    """`contains`."""
    draw = ShapeDraw(rng)
    arguments = {"shape": draw.shape, "points": disguised(rng, draw.points)}
    question = Question("contains", arguments, {"pose": draw.given}, shapes=draw.name)
    method = None
    if rng.random() < 0.5:
        method = ["ray", "winding", "grid", "parts"][rng.integers(4)]
        if method == "parts" and "mesh" in families_in(draw.shape):
            # It decomposes the mesh, which takes long.
            method = "winding"
        fits = any(takes(entry, "method", method) for entry in shape_entries("contains", draw.shape))
        if fits or rng.random() < STUBBORN:
            question.options["method"] = method
        else:
            method = None
        if method is not None and not fits:
            question.wrong.append("method")
    if draw.has_open_mesh and method != "winding":
        question.refusal = "may"
    threads_of(rng, question)
    spoil(
        rng, question, {"shape": "shape", "points": "points", "pose": "pose", "method": "contains method", "threads": "threads"}
    )

    def check(found):
        require(found.shape == (draw.count,) and found.dtype == bool, "shape", found.shape, found.dtype)
        for k in range(draw.count):
            held = []
            for leaf, turn, place in draw.at(k).leaves:
                local = (draw.points[k : k + 1] - place) @ turn
                if isinstance(leaf, Faces) and not leaf.is_convex and method == "winding":
                    number = winding_numbers(local, leaf.corners)[0]
                    near = abs(number - 0.5) < 0.03 or leaf.surface_gap(local)[0] < TOUCH
                    held.append(None if near else number > 0.5)
                else:
                    gap = leaf.signed(local)[0]
                    held.append(None if abs(gap) < TOUCH else gap < 0.0)
            if any(held):
                require(found[k], f"row {k}: outside, but inside by the oracle")
            elif None not in held:
                require(not found[k], f"row {k}: inside, but outside by the oracle")

    question.check = check
    return question


def closest_point_question(rng):
    """`closest_point`."""
    draw = ShapeDraw(rng)
    signed = bool(rng.random() < 0.5)
    arguments = {"shape": draw.shape, "points": disguised(rng, draw.points)}
    question = Question("closest_point", arguments, {"pose": draw.given, "signed": signed}, shapes=draw.name)
    if signed and draw.has_open_mesh:
        question.refusal = "may"
    threads_of(rng, question)
    spoil(rng, question, {"shape": "shape", "points": "points", "pose": "pose", "threads": "threads"})

    def check(found):
        check_rows(found, draw.count, ["distance", "point", "triangle"])
        for k in range(draw.count):
            check_closest_row(draw, draw.at(k), found, k, signed)

    question.check = check
    return question


def check_closest_row(draw, solid, found, k, signed):
    """One row of `ClosestPoints` against the oracle."""
    what, p, x, d, number = f"row {k}:", draw.points[k], found.point[k], found.distance[k], found.triangle[k]
    require(np.isfinite(x).all() and np.isfinite(d), what, "not finite", x, d)
    require(abs(np.linalg.norm(p - x) - abs(d)) < TOUCH, what, "distance", d, "but the point is at", np.linalg.norm(p - x))
    require(signed or d >= 0.0, what, "negative distance", d)
    expected = []
    for leaf, turn, place in solid.leaves:
        local = (p[None] - place) @ turn
        gap = np.linalg.norm(local - leaf.foot(local))
        side = leaf.signed(local)[0]
        if leaf.is_ground and leaf.thickness is None and side == 0.0:
            return
        expected.append(-gap if leaf.is_solid and side < 0.0 else gap)
    best = min(expected)
    where = solid if draw.is_single else solid.part(int(number))
    if not draw.is_single:
        require(0 <= number < len(solid.leaves), what, "part", number)
    off = where.surface_gap(x[None])[0]
    require(off < blur(where), what, "the point is off the surface by", off, "of part", number)
    value = d if signed else abs(d)
    if not solid.has_ground:
        best = best if signed else abs(best)
        require(abs(value - best) < TOUCH, what, "distance", value, "but", best, "by the oracle", expected)
    elif best > 0.0:
        require(value <= best + TOUCH, what, "distance", value, "but", best, "by the oracle", expected)
    if isinstance(draw.shape, thud.TriangleMesh):
        leaf, turn, place = solid.leaves[0]
        near = triangle_feet((x[None] - place) @ turn, leaf.corners[number : number + 1])[0] @ turn.T + place
        require(np.linalg.norm(near[0] - x) < TOUCH, what, "the point is not on triangle", number)


def rays_of(rng, query):
    """A question about rays, and its limit."""
    draw = ShapeDraw(rng)
    arguments = {"shape": draw.shape, "origins": disguised(rng, draw.points), "directions": disguised(rng, draw.directions)}
    question = Question(query, arguments, {"pose": draw.given}, shapes=draw.name)
    question.refusal = "must" if shape_plan(query, draw.shape.family).way == UNSUPPORTED else "none"
    reach = np.inf
    if rng.random() < 0.35:
        reach = question.options["max_distance"] = [0.0, 0.3, 1.0, 5.0][rng.integers(4)]
    names = {"shape": "shape", "origins": "points", "directions": "directions", "pose": "pose", "threads": "threads"}
    return draw, question, reach, names | {"max_distance": "max_distance"}


def first_hits(solid, start, along):
    """(leaves,) distances by which a ray has surely hit each leaf, inf where that is not known."""
    t = np.concatenate([[0.0], np.geomspace(1e-4, 12.0, 160)])
    points = start + t[:, None] * along
    hits = []
    for leaf, turn, place in solid.leaves:
        local = (points - place) @ turn
        if isinstance(leaf, Ground):
            beyond, lift = leaf.lift(local)
            sure = (beyond == 0.0) & (np.abs(lift) > 1e-5)
            change = sure[1:] & sure[:-1] & (np.sign(lift[1:]) != np.sign(lift[:-1]))
            hits.append(t[1:][change][0] if change.any() else np.inf)
        elif not leaf.is_convex:
            found, clean = leaf.crossings((start - place) @ turn, along @ turn)
            hits.append(found[0] if clean and len(found) else np.inf)
        else:
            deep = leaf.depth(local) > TOUCH
            hits.append(t[deep][0] if deep.any() else np.inf)
    return np.array(hits)


def raycast_question(rng):
    """`raycast`."""
    draw, question, reach, names = rays_of(rng, "raycast")
    any_hit = bool(rng.random() < 0.3)
    if any_hit:
        question.options["any_hit"] = True
    threads_of(rng, question)
    spoil(rng, question, names)

    def check(found):
        check_rows(found, draw.count, ["distance", "point", "normal", "triangle"])
        for k in range(draw.count):
            check_ray_row(draw, draw.at(k), found, k, reach, any_hit)

    question.check = check
    return question


def check_ray_row(draw, solid, found, k, reach, any_hit):
    """One row of `RayHits` against the oracle."""
    what, start, d, x, n = f"row {k}:", draw.points[k], found.distance[k], found.point[k], found.normal[k]
    along = draw.directions[k] / np.linalg.norm(draw.directions[k])
    require(np.isfinite(x).all() and np.isfinite(n).all() and not np.isnan(d) and d >= 0.0, what, "not finite", d, x, n)
    sure = first_hits(solid, start, along).min()
    if np.isinf(d):
        require(not x.any() and not n.any() and found.triangle[k] == -1, what, "a miss with a point", x, n, found.triangle[k])
        require(sure > reach - TOUCH or np.isinf(sure), what, "a miss, but a hit by", sure, "within", reach)
        return
    require(d <= reach * (1.0 + 1e-9) + 1e-12, what, "hit at", d, "beyond", reach)
    require(np.abs(start + d * along - x).max() < 1e-8, what, "the point is not on the ray", x, d)
    if not any_hit:
        require(d <= sure + TOUCH, what, "hit at", d, "but another by", sure)
    if d == 0.0:
        gaps = [leaf.signed((start[None] - place) @ turn)[0] for leaf, turn, place in solid.leaves if leaf.is_convex]
        gap = min([*gaps, solid.surface_gap(start[None])[0]])
    else:
        gap = solid.surface_gap(x[None])[0]
        require(abs(np.linalg.norm(n) - 1.0) < 1e-6, what, "normal", n)
    require(gap < TOUCH, what, "the hit at", d, "is off the surface by", gap)
    number = found.triangle[k]
    if not draw.is_single:
        require(0 <= number < len(solid.leaves), what, "part", number)
        gap = solid.part(int(number)).surface_gap(x[None])[0] if d > 0.0 else 0.0
        require(gap < TOUCH, what, "the hit is off part", number, "by", gap)
        leaf = solid.leaves[number][0]
    else:
        leaf = solid.leaves[0][0]
    if draw.is_single and isinstance(draw.shape, thud.TriangleMesh):
        _, turn, place = solid.leaves[0]
        near = triangle_feet((x[None] - place) @ turn, leaf.corners[number : number + 1])[0] @ turn.T + place
        require(np.linalg.norm(near[0] - x) < TOUCH, what, "the hit is not on triangle", number)
        require(np.abs(turn @ leaf.normals[number] - n).max() < 1e-6, what, "normal", n, "of triangle", number)
    if isinstance(leaf, Ground):
        _, turn, place = solid.leaves[0 if draw.is_single else number]
        up = turn @ leaf.normal((x[None] - place) @ turn)[0]
        require(np.isnan(up[0]) or np.abs(up - n).max() < 1e-3, what, "normal", n, "of the surface, not", up)
    if leaf.is_convex and d > 0.0:
        require(n @ along <= 1e-6, what, "enters a convex shape along its normal", n)
        off = (solid if draw.is_single else solid.part(int(number))).signed((x + 1e-4 * n)[None])[0]
        require(abs(off - 1e-4) < 2e-5, what, "the normal", n, "leads to", off, "instead of 1e-4")


def raycast_all_question(rng):
    """`raycast_all`."""
    draw, question, reach, names = rays_of(rng, "raycast_all")
    threads_of(rng, question)
    spoil(rng, question, names)

    def check(found):
        require((np.diff(found.row) >= 0).all(), "rows", found.row)
        for name in ("distance", "point", "normal"):
            require(np.isfinite(getattr(found, name)).all(), name, getattr(found, name))
        require((np.abs(np.linalg.norm(found.normal, axis=1) - 1.0) < 1e-6).all(), "normals", found.normal)
        for k in range(draw.count):
            check_crossings_row(draw, draw.at(k), found, k, reach)

    question.check = check
    return question


def check_crossings_row(draw, solid, found, k, reach):
    """One row of `RayCrossings` against the oracle."""
    what, start = f"row {k}:", draw.points[k]
    along = draw.directions[k] / np.linalg.norm(draw.directions[k])
    own = found.row == k
    d, x, number = found.distance[own], found.point[own], found.triangle[own]
    require((np.diff(d) >= 0.0).all() and (d >= 0.0).all() and (d <= reach * (1.0 + 1e-9)).all(), what, "distances", d, reach)
    require(np.abs(start + d[:, None] * along - x).max(initial=0.0) < 1e-8, what, "points are not on the ray")
    for j, (leaf, turn, place) in enumerate(solid.leaves):
        here = np.ones(len(d), dtype=bool) if draw.is_single else number == j
        part, origin, way = solid.part(j), (start - place) @ turn, along @ turn
        gap = part.surface_gap(x[here]).max(initial=0.0) if here.any() else 0.0
        require(gap < TOUCH, what, "a crossing is off the surface of part", j, "by", gap)
        count, depth = int(here.sum()), leaf.signed(origin[None])[0]
        if isinstance(leaf, Ground):
            t = np.concatenate([[0.0], np.geomspace(1e-4, min(12.0, reach) + 1e-9, 160)])
            beyond, lift = leaf.lift(origin + t[:, None] * way)
            sure = (beyond == 0.0) & (np.abs(lift) > 1e-5)
            changes = int((sure[1:] & sure[:-1] & (np.sign(lift[1:]) != np.sign(lift[:-1]))).sum())
            require(count >= changes, what, count, "crossings of part", j, "but at least", changes)
        elif not leaf.is_convex:
            crossings, clean = leaf.crossings(origin, way)
            if clean and not (np.abs(crossings - reach) < 1e-6).any():
                expected = crossings[crossings <= reach]
                right = len(expected) == count and np.abs(expected - d[here]).max(initial=0.0) < TOUCH
                require(right, what, "crossings of part", j, "at", d[here], "but", expected)
            if leaf.is_solid and np.isinf(reach) and abs(depth) > TOUCH:
                require(count % 2 == (depth < 0.0), what, count, "crossings of part", j, "from depth", -depth)
        elif np.isinf(reach) and abs(depth) > TOUCH:
            if isinstance(leaf, Plane):
                slope = way @ leaf.normal
                right = abs(slope) < 1e-9 or count == ((slope > 0.0) == (depth < 0.0))
            else:
                right = count == 1 if depth < 0.0 else count in (0, 2)
            require(right, what, count, "crossings of part", j, "from depth", -depth)
            if np.isfinite(first_hits(part, start, along)[0]) and depth > 0.0:
                require(count >= 1, what, "no crossing of part", j)


# Runs --------------------------------------------------------------------------------------------------------------------

QUESTIONS = {
    "distance": (distance_question, 5),
    "intersects": (intersects_question, 3),
    "contacts": (contacts_question, 3),
    "cast": (cast_question, 3),
    "triangle_pairs": (triangle_pairs_question, 1),
    "prepare": (prepare_question, 1),
    "pairs": (pairs_question, 2),
    "raycast": (raycast_question, 2),
    "raycast_all": (raycast_all_question, 2),
    "contains": (contains_question, 2),
    "closest_point": (closest_point_question, 2),
}


def draw_question(seed, number):
    """Question `number` of a seed."""
    rng = np.random.default_rng([seed, number])
    weights = np.array([weight for _, weight in QUESTIONS.values()], dtype=float)
    make, _ = list(QUESTIONS.values())[rng.choice(len(weights), p=weights / weights.sum())]
    return make(rng)


def run_draws(seed, first, count, progress=False, tally=None):
    """Ask questions; (number, text) of those that failed."""
    failures = []
    tally = Counter() if tally is None else tally
    begin = time.perf_counter()
    for number in range(first, first + count):
        question = draw_question(seed, number)
        try:
            tally[question.query, question.ask()] += 1
            tally[question.query, "rows unconverged"] += question.unsure
        except Mismatch as error:
            failures.append((number, f"--seed {seed} --only {number}: {question}\n    {error}"))
            tally[question.query, "failed"] += 1
            if progress:
                print(f"\r{failures[-1][1]}", flush=True)
        if progress and (number % 50 == 0 or number == first + count - 1):
            rate = (number - first + 1) / (time.perf_counter() - begin)
            print(
                f"\r{number - first + 1} of {count} draws, {len(failures)} failed, {rate:.0f} a second ",
                end="",
                file=sys.stderr,
                flush=True,
            )
    return failures


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int)
    given = parser.parse_args()
    first, count = (given.first, given.draws) if given.only is None else (given.only, 1)
    tally = Counter()
    failures = run_draws(given.seed, first, count, True, tally)
    print()
    for (query, how), number in sorted(tally.items()):
        print(f"{query:18} {how:16} {number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
