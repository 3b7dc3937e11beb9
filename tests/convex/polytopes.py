"""Polytopes, degenerate placements and GJK's answers, for the tests of Chung-Wang and V-Clip."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from scipy.spatial.transform import Rotation

import thud
from thud._core.decorators import kernel
from thud.constants import TOUCH
from thud.convex.gjk import center_axis, gjk_distance, gjk_intersects
from thud.math.pose import load_rotation, load_translation, relative_rotation, unrotate
from thud.math.vec3 import norm, sub
from thud.shapes.packed import BOUND, PART_START, pack

SEPARATED, OVERLAPPING, UNCONVERGED = 0, 1, 2
IDENTITY = np.append(np.eye(3).ravel(), np.zeros(3))


@kernel
def gjk_rows(count, packed, pairs, poses_a, poses_b, status_out, distance_status_out, distance_out):
    """Status of `gjk_intersects`; status and distance of `gjk_distance`."""
    for i in range(count):
        a, b = packed.shape_ints[pairs[i, 0], PART_START], packed.shape_ints[pairs[i, 1], PART_START]
        rotation = load_rotation(poses_a, i)
        r = relative_rotation(rotation, load_rotation(poses_b, i))
        t = unrotate(rotation, sub(load_translation(poses_b, i), load_translation(poses_a, i)))
        axis = center_axis(packed.parts, a, b, r, t)
        status_out[i], _v = gjk_intersects(packed.parts, a, b, r, t, axis, 0.0)
        distance_status_out[i], v, _point, _lower = gjk_distance(packed.parts, a, b, r, t, axis, math.inf)
        distance_out[i] = norm(v)


class Pairs:
    """N placed pairs of single polytopes: shapes, (N, 2) indices, (N, 12) pose rows of A and B in the world."""

    def __init__(self, shapes, pairs, poses_a, poses_b):
        count = max(len(poses_a), len(poses_b))
        self.shapes, self.packed = tuple(shapes), pack(tuple(shapes))
        # Copies: what broadcasts is read-only, which is another type to Numba.
        self.pairs = np.array(np.broadcast_to(pairs, (count, 2)), dtype=np.int64, order="C")
        self.poses_a = np.array(np.broadcast_to(poses_a, (count, 12)), dtype=np.float64, order="C")
        self.poses_b = np.array(np.broadcast_to(poses_b, (count, 12)), dtype=np.float64, order="C")

    def __len__(self):
        return len(self.pairs)

    @property
    def size(self):
        """(N,) sum of the bounding radii and of the offset, which scales all tolerances."""
        bound = self.packed.parts.reals[self.packed.shape_ints[self.pairs, PART_START], BOUND].sum(axis=1)
        offset = np.einsum("nji,nj->ni", self.poses_a[:, :9].reshape(-1, 3, 3), self.poses_b[:, 9:] - self.poses_a[:, 9:])
        return bound + np.abs(offset).sum(axis=1)

    @property
    def touch(self):
        """(N,) gap up to which a pair touches."""
        return TOUCH * self.size

    def gjk(self):
        """(status of the boolean, status of the distance, distance), each (N,)."""
        status, distance_status, distance = np.empty(len(self), np.uint8), np.empty(len(self), np.uint8), np.empty(len(self))
        gjk_rows(len(self), self.packed, self.pairs, self.poses_a, self.poses_b, status, distance_status, distance)
        return status, distance_status, distance

    def in_world(self, rng, offset=0.0):
        """The same pairs, moved together by random rigid motions."""
        moves = random_rows(rng, len(self), 1.0)
        moves[:, 9:] += offset
        return Pairs(self.shapes, self.pairs, compose(moves, self.poses_a), compose(moves, self.poses_b))


def compose(outer, inner):
    """Pose rows outer * inner."""
    rotation = outer[:, :9].reshape(-1, 3, 3)
    position = np.einsum("nij,nj->ni", rotation, inner[:, 9:]) + outer[:, 9:]
    return np.concatenate([(rotation @ inner[:, :9].reshape(-1, 3, 3)).reshape(-1, 9), position], axis=1)


def random_rows(rng, count, spread):
    """(N, 12) random rotations, positions uniform in a cube of half width `spread`."""
    rotation = Rotation.random(count, random_state=rng.integers(2**31)).as_matrix().reshape(count, 9)
    return np.concatenate([rotation, rng.uniform(-spread, spread, (count, 3))], axis=1)


def ball_points(rng, count):
    """Points on the unit sphere."""
    points = rng.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def random_hulls(rng, count, scale=1.0):
    """Hulls of 4 to 60 points on stretched spheres."""
    return [
        thud.ConvexHull(scale * rng.uniform(0.3, 1.5, 3) * ball_points(rng, int(rng.integers(4, 61)))) for _ in range(count)
    ]


def prism(sides, half_length, radius=1.0):
    """Regular prism along z."""
    angle = 2 * np.pi * np.arange(sides) / sides
    circle = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return thud.ConvexHull([[x, y, z] for z in (-half_length, half_length) for x, y in circle])


def solids():
    """Polytopes with many symmetries, merged faces and parallel edges."""
    cube = list(product((-1.0, 1.0), repeat=3))
    golden = (1 + 5**0.5) / 2
    icosahedron = [np.roll([0.0, s, t * golden], k) for s, t in product((-1, 1), repeat=2) for k in range(3)]
    dodecahedron = cube + [np.roll([0.0, s / golden, t * golden], k) for s, t in product((-1, 1), repeat=2) for k in range(3)]
    return [
        thud.Box([1, 1, 1]),
        thud.ConvexHull(cube),
        thud.Box([1, 2, 0.5]),
        thud.ConvexHull([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]),
        thud.ConvexHull(icosahedron),
        thud.ConvexHull(dodecahedron),
        prism(6, 1.0),
        prism(32, 1.0),
        prism(64, 0.1),
    ]


ANGLES = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.785, np.pi / 4)


def cube_symmetries(rng):
    """Cubes of side 2 turned by small and not so small angles away from each of the 24 rotations of a cube, at offsets where
    faces, edges or corners meet exactly, nearly, or not at all. As boxes, as hulls, and as hulls in a skew frame of their own.
    """
    axes = [*np.eye(3), [1, 1, 0], [1, 1, 1], rng.normal(size=3)]
    axes = [np.asarray(axis) / np.linalg.norm(axis) for axis in axes]
    offsets = [
        *((0, 0, 0), (0, 0, 1e-9), (1, 1, 1), (2, 0, 0), (2, 2, 0), (2, 2, 2), (2, 0.5, 0.25), (2 + 1e-15, 1, 1)),
        *((2 + gap, 0, 0) for gap in (1e-12, 1e-9, -1e-12, -1e-9, 0.1)),
        *((2.5, 2.5, 0), (2.5, 2.5, 2.5), (2.2, -1.1, 0.3)),
    ]
    rows = []
    for symmetry in Rotation.create_group("O").as_matrix():
        for angle, axis in product(ANGLES, axes):
            rotation = Rotation.from_rotvec(angle * axis).as_matrix() @ symmetry
            rows += [[*rotation.ravel(), *offset] for offset in offsets]
    cube = np.array(list(product((-1.0, 1.0), repeat=3)))
    skew = Rotation.random(random_state=5).as_matrix()
    shapes = [thud.Box([1, 1, 1]), thud.ConvexHull(cube), thud.ConvexHull(cube @ skew.T)]
    kinds = np.array([(0, 0), (0, 1), (1, 1), (2, 2)])
    return Pairs(shapes, kinds[np.arange(len(rows)) % 4], IDENTITY[None], np.array(rows))


def lattice(rng, count):
    """Symmetric solids at half-integer offsets, turned by symmetries and tiny angles."""
    shapes = solids()
    pairs = rng.integers(0, len(shapes), (count, 2))
    alike = rng.random(count) < 0.4
    pairs[alike, 1] = pairs[alike, 0]
    cube, ico = Rotation.create_group("O").as_matrix(), Rotation.create_group("I").as_matrix()
    base = np.where(rng.random((count, 1, 1)) < 0.5, cube[rng.integers(0, 24, count)], ico[rng.integers(0, 60, count)])
    angle = np.where(rng.random(count) < 0.3, 0.0, 0.785 * 10.0 ** rng.uniform(-16, 0, count))
    axis = np.where(rng.random((count, 1)) < 0.5, np.eye(3)[rng.integers(0, 3, count)], ball_points(rng, count))
    rotation = Rotation.from_rotvec(axis * angle[:, None]).as_matrix() @ base
    noise = 10.0 ** rng.uniform(-16, -1, (count, 1)) * rng.normal(size=(count, 3))
    position = 0.5 * rng.integers(-6, 7, (count, 3)) + np.where(rng.random((count, 1)) < 0.5, 0.0, noise)
    return Pairs(shapes, pairs, IDENTITY[None], np.concatenate([rotation.reshape(-1, 9), position], axis=1))


GAPS = (0.0, 1e-16, 1e-15, 1e-13, 1e-12, 1e-10, 1e-9, 1e-6, 1e-3, -1e-12, -1e-9, -1e-3)


def kissing(rng, count):
    """Faces of A and B put on each other, with a gap of GAPS: middle on middle, corner or edge, aligned or twisted."""
    shapes = [*random_hulls(rng, 12), *solids()]
    pairs = rng.integers(0, len(shapes), (count, 2))
    rows = np.empty((count, 12))
    for row, (a, b) in zip(rows, pairs, strict=True):
        place_a, n_a, along_a = _spot(rng, shapes[a].topology)
        place_b, n_b, along_b = _spot(rng, shapes[b].topology)
        if rng.random() < 0.5:
            along_a = rng.normal(size=3)
        rotation = _frame(-n_a, along_a) @ _frame(n_b, along_b).T
        row[:9] = rotation.ravel()
        row[9:] = place_a + rng.choice(GAPS) * n_a - rotation @ place_b
    return Pairs(shapes, pairs, IDENTITY[None], rows)


def _spot(rng, topology):
    """A place on a face, its normal, the direction of its first edge."""
    face = rng.integers(len(topology.planes))
    loop = topology.vertices[topology.loops[topology.loop_starts[face] : topology.loop_starts[face + 1]]]
    place = (loop.mean(axis=0), loop[:2].mean(axis=0), loop[0])[rng.integers(3)]
    return place, topology.planes[face, :3], loop[1] - loop[0]


def _frame(normal, along):
    """Rotation whose columns are the normal and two directions in the plane, the first towards `along`."""
    u = along - normal * (normal @ along)
    u /= np.linalg.norm(u)
    return np.stack([normal, u, np.cross(normal, u)], axis=1)


def nested(rng, count):
    """Coincident copies, copies a nanometre apart, and small polytopes deep inside large ones."""
    large = [*random_hulls(rng, 8), *solids()]
    small = [thud.ConvexHull(0.01 * shape.topology.vertices) for shape in large]
    pairs = rng.integers(0, len(large), (count, 2))
    pairs[:, 1] = np.where(rng.random(count) < 0.5, pairs[:, 0], len(large) + pairs[:, 1])
    rows = random_rows(rng, count, 0.0)
    rows[rng.random(count) < 0.5, :9] = IDENTITY[:9]
    rows[:, 9:] += np.where(rng.random((count, 1)) < 0.5, 0.0, 1e-9 * rng.normal(size=(count, 3)))
    return Pairs([*large, *small], pairs, IDENTITY[None], rows)


def scattered(rng, count, scale=1.0):
    """Random hulls and boxes at random poses, about half of them apart."""
    shapes = [*random_hulls(rng, 24, scale), *(thud.Box(scale * rng.uniform(0.2, 1.5, 3)) for _ in range(12))]
    spread = 1.35 * scale
    pairs = rng.integers(0, len(shapes), (count, 2))
    return Pairs(shapes, pairs, random_rows(rng, count, spread), random_rows(rng, count, spread))
