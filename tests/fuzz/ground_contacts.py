"""`python -m tests.fuzz.ground_contacts`: contacts of a mesh, a height field and a large convex shape with each convex shape,
where the truth is known by construction and by no query.

A convex shape K of any kind is laid on ground that is flat around it, turned at random or resting on its flat side, and let
down into it by 1e-9 to 1e-1 of its size, or held above it within the margin. How low it reaches along the ground's normal is
a formula of its own (`lowest`), and so is the side that it rests on (`sides`). The ground: a face of a cube mesh, or of a big
open floor, each cut into triangles at random; a sloping height field; a wall of one, at its border, at a hole or along the
diagonals of its cells; the sloping underside of a layer; a flat side of a box, a cylinder, a cone, a hull, or a half-space.
With ground and shape swapped roles: a corner of a cube mesh or an edge of it under a flat side of K, whose normal then is the
truth.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, Delaunay
from scipy.spatial.transform import Rotation

import thud

KINDS = ("Sphere", "Box", "Capsule", "Cylinder", "Cone", "Ellipsoid", "ConvexHull", "HalfSpace")
GROUNDS = (
    "cube mesh", "floor mesh", "height field", "Box", "Cylinder", "Cone", "ConvexHull", "HalfSpace", "field wall", "underside",
)  # fmt: skip
#: Kinds that are laid on triangles as meshes too, of which the same is true.
MESHES = ("Box mesh", "ConvexHull mesh")
ON_TRIANGLES = ("cube mesh", "floor mesh", "height field", "field wall", "underside")
PENETRATIONS = (1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 1e-1)

#: Depth may be off by this part of the size.
DEPTH_ERROR = 1e-6

#: Along a normal of a mesh's own face a point may be deeper by this part of the depth.
OTHER_NORMALS = 0.2


class Case(NamedTuple):
    """A shape on ground, and what is true of it."""

    ground: thud.Shape
    shape: thud.Shape
    pose_g: thud.Pose
    pose_s: thud.Pose
    normal: np.ndarray
    """From the ground to the shape."""
    depth: float
    size: float
    patch: np.ndarray | None
    """(P, 3) corners of the true patch; None: a single point."""


def make_shape(kind: str, rng: np.random.Generator) -> thud.Shape:
    """Of a size of about 1."""
    x, y, z = rng.uniform(0.2, 1.0, 3)
    if kind == "ConvexHull":
        return thud.ConvexHull(rng.normal(size=(int(rng.integers(8, 40)), 3)) * [x, y, z] * 0.4)
    made = {
        "Sphere": lambda: thud.Sphere(0.5 * x),
        "Box": lambda: thud.Box(np.array([x, y, z]) * 0.5),
        "Capsule": lambda: thud.Capsule(0.4 * x, 0.5 * y),
        "Cylinder": lambda: thud.Cylinder(0.5 * x, 0.5 * y),
        "Cone": lambda: thud.Cone(0.5 * x, 0.5 * y),
        "Ellipsoid": lambda: thud.Ellipsoid(np.array([x, y, z]) * 0.5),
        "HalfSpace": lambda: thud.HalfSpace([0.0, 0.0, 1.0], 0.0),
    }
    return made[kind]()


def lowest(shape: thud.Shape, along: np.ndarray) -> float:
    """Least of along . x over the shape, in its frame; each kind by its own formula."""
    n, kind = np.asarray(along), type(shape).__name__
    across = np.hypot(n[0], n[1])
    if kind == "Sphere":
        return -shape.radius
    if kind == "Box":
        return -float(np.abs(n) @ np.asarray(shape.half_extents))
    if kind == "Capsule":
        return -shape.radius - abs(n[2]) * shape.half_length
    if kind == "Cylinder":
        return -shape.radius * across - abs(n[2]) * shape.half_length
    if kind == "Cone":
        return min(n[2] * shape.half_length, -n[2] * shape.half_length - shape.radius * across)
    if kind == "Ellipsoid":
        return -float(np.linalg.norm(n * np.asarray(shape.radii)))
    return float((np.asarray(shape.vertices) @ n).min())


def sides(shape: thud.Shape) -> list[tuple[np.ndarray, np.ndarray]]:
    """Flat sides: outward normal and corners, in the shape's frame; a disc as 64 corners, a capsule's line as two."""
    kind = type(shape).__name__
    ring = np.linspace(0.0, 2.0 * np.pi, 64, endpoint=False)
    if kind == "Box":
        half, found = np.asarray(shape.half_extents), []
        for axis in range(3):
            u, v = (axis + 1) % 3, (axis + 2) % 3
            for sign in (-1.0, 1.0):
                corners = np.zeros((4, 3))
                corners[:, axis] = sign * half[axis]
                corners[:, u] = half[u] * np.array([-1, 1, 1, -1])
                corners[:, v] = half[v] * np.array([-1, -1, 1, 1])
                found.append((sign * np.eye(3)[axis], corners))
        return found
    if kind in ("Cylinder", "Cone"):
        disc = np.stack([shape.radius * np.cos(ring), shape.radius * np.sin(ring), np.full(64, -shape.half_length)], axis=1)
        return [(np.array([0.0, 0.0, -1.0]), disc)]
    if kind == "Capsule":
        line = np.array([[shape.radius, 0.0, -shape.half_length], [shape.radius, 0.0, shape.half_length]])
        return [(np.array([1.0, 0.0, 0.0]), line)]
    if kind == "ConvexHull":
        hull, found = ConvexHull(np.asarray(shape.vertices)), []
        _, first = np.unique(np.round(hull.equations, 9), axis=0, return_index=True)
        for plane in hull.equations[first]:
            on = np.abs(hull.points @ plane[:3] + plane[3]) < 1e-7
            found.append((plane[:3] / np.linalg.norm(plane[:3]), hull.points[on]))
        return found
    return []


def turn_to(a: np.ndarray, b: np.ndarray) -> Rotation:
    """A rotation of a onto b, to the last digits."""
    axis = np.cross(a, b)
    if np.linalg.norm(axis) < 1e-12:
        axis = np.cross(a, [0.3, 0.5, 0.8])
        axis *= (0.0 if np.dot(a, b) > 0 else np.pi) / np.linalg.norm(axis)
        return Rotation.from_rotvec(axis)
    return Rotation.from_rotvec(axis / np.linalg.norm(axis) * np.arctan2(np.linalg.norm(axis), np.dot(a, b)))


def cut_cube(half: float, rng: np.random.Generator, points: int = 12) -> thud.TriangleMesh:
    """A closed cube; each face is cut at random points inside of it."""
    vertices, faces = [], []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            flat = np.concatenate(
                [half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), rng.uniform(-half, half, (points, 2))]
            )
            cut = Delaunay(flat).simplices
            place = np.zeros((len(flat), 3))
            place[:, axis], place[:, (axis + 1) % 3], place[:, (axis + 2) % 3] = sign * half, flat[:, 0], flat[:, 1]
            faces.append((cut if sign > 0 else cut[:, ::-1]) + sum(map(len, vertices)))
            vertices.append(place)
    mesh = thud.TriangleMesh(np.concatenate(vertices), np.concatenate(faces))
    assert mesh.is_closed
    return mesh


def make_ground(name: str, rng: np.random.Generator) -> tuple[thud.Shape, np.ndarray, np.ndarray]:
    """(ground, a point on it, its normal there), flat for at least 2 m around."""
    corners = np.array([[x, y, z] for x in (-4.0, 4.0) for y in (-4.0, 4.0) for z in (-4.0, 4.0)])
    up, top = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 4.0])
    if name in KINDS:
        made = {
            "Box": (thud.Box([4.0, 4.0, 4.0]), top, up),
            "Cylinder": (thud.Cylinder(4.0, 4.0), top, up),
            "Cone": (thud.Cone(4.0, 4.0), -top, -up),
            "ConvexHull": (thud.ConvexHull(corners), top, up),
            "HalfSpace": (thud.HalfSpace(up, 4.0), top, up),
        }
        return made[name]
    if name == "cube mesh":
        return cut_cube(4.0, rng), np.array([0.0, 0.0, 4.0]), np.array([0.0, 0.0, 1.0])
    if name == "floor mesh":
        points = np.concatenate([4.0 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]), rng.uniform(-4, 4, (40, 2))])
        floor = thud.TriangleMesh(np.c_[points, np.zeros(len(points))], Delaunay(points).simplices)
        return floor, np.zeros(3), np.array([0.0, 0.0, 1.0])
    if name == "field wall":
        return make_wall(rng)
    slope = rng.normal(size=2) * 0.4
    grid = np.arange(-6.0, 6.01, 0.5)
    heights, thickness = slope[0] * grid[None] + slope[1] * grid[:, None], 2.0 if name == "underside" else None
    field = thud.HeightField(heights, 0.5, origin=[-6.0, -6.0, 0.0], thickness=thickness)
    normal = np.array([-slope[0], -slope[1], 1.0]) / np.hypot(np.hypot(*slope), 1.0)
    return (field, np.array([0.0, 0.0, -2.0]), -normal) if thickness else (field, np.zeros(3), normal)


def make_wall(rng: np.random.Generator) -> tuple[thud.HeightField, np.ndarray, np.ndarray]:
    """(field, a point amid one of its walls, the wall's normal): rough ground at least 3 m above the point, without end or down
    to 3 m below it."""
    side, across = int(rng.integers(4)), rng.choice(["border", "hole", "diagonal"])
    x, y = rng.uniform(0.2, 0.7, 2)
    rows, columns = int(12.0 / y), int(12.0 / x)
    heights = rng.uniform(3.0, 4.0, (rows + 1, columns + 1))
    thickness = None if rng.random() < 0.5 else 7.0
    if across == "diagonal":
        x, y, rows, columns = 0.4, 0.3, 40, 40
        heights = rng.uniform(3.0, 4.0, (rows + 1, columns + 1))
        j, i = np.mgrid[: rows + 1, : columns + 1]
        heights[i > j if side % 2 else j > i] = np.nan
        normal = (1.0 if side % 2 else -1.0) * np.array([y, -x, 0.0])
        point = np.array([20 * x, 20 * y, 0.0])
    else:
        # Towards +x, -x, +y, -y: out of the field, or from beyond a hole of 8 m into it.
        normal = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])[side]
        end = np.array([columns * x, rows * y, 0.0])
        point = 0.5 * end + 0.5 * end * normal
        if across == "hole":
            # Only samples within are holes: the wall stands a cell before the first of them.
            inner = slice(rows // 6, rows - rows // 6), slice(columns // 6, columns - columns // 6)
            heights[inner] = np.nan
            first = (
                np.array([inner[1].start - 1, inner[0].start - 1]) * [x, y],
                np.array([inner[1].stop, inner[0].stop]) * [x, y],
            )
            point = 0.5 * end
            axis = side // 2
            point[axis] = first[0][axis] if normal[axis] > 0 else first[1][axis]
    field = thud.HeightField(heights, (x, y), thickness=thickness)
    return field, point, normal / np.linalg.norm(normal)


def lay_down(ground_name: str, kind: str, rng: np.random.Generator) -> Case:
    """A shape on flat ground, resting on a flat side or turned at random."""
    ground, point, normal = make_ground(ground_name, rng)
    # Searches on two convex shapes are right to a millionth of both.
    shape, size = make_shape(kind.removesuffix(" mesh"), rng), 8.0 if ground_name in KINDS else 1.0
    depth = float(rng.choice(PENETRATIONS)) * (1.0 if rng.random() < 0.75 else -0.5)
    flat, patch = sides(shape), None
    if kind == "HalfSpace":
        # All corners of a cube's face are in contact; other grounds have no end of their own.
        turn = turn_to(np.array([0.0, 0.0, 1.0]), -normal)
        patch = np.array([[x, y, 4.0] for x in (-4, 4) for y in (-4, 4)], dtype=float)
        inner = thud.Pose(point - depth * normal, turn.as_quat()[[3, 0, 1, 2]])
        return place_all(Case(ground, shape, thud.Pose(), inner, normal, depth, 4.0, patch), rng)
    if flat and rng.random() < 0.6:
        outward, corners = flat[int(rng.integers(len(flat)))]
        turn = Rotation.from_rotvec(normal * rng.uniform(0, 2 * np.pi)) * turn_to(outward, -normal)
        patch = corners
    else:
        turn = Rotation.random(random_state=int(rng.integers(2**31)))
    low = lowest(shape, turn.inv().apply(normal))
    aside = rng.normal(size=3) * 0.3
    place = point + aside - (aside @ normal) * normal - (low + depth) * normal
    inner = thud.Pose(place, turn.as_quat()[[3, 0, 1, 2]])
    patch = None if patch is None else turn.apply(patch) + place
    shape = thud.to_mesh(shape) if kind in MESHES else shape
    return place_all(Case(ground, shape, thud.Pose(), inner, normal, depth, size, patch), rng)


def under_a_side(kind: str, rng: np.random.Generator) -> Case:
    """A corner of a cube mesh under a flat side of the shape: the side's normal is the truth."""
    shape = make_shape(kind, rng)
    cube = cut_cube(0.5, rng)
    depth = float(rng.choice(PENETRATIONS[:-1])) * (1.0 if rng.random() < 0.75 else -0.5)
    outward, corners = max(sides(shape), key=lambda side: np.linalg.norm(np.ptp(side[1], axis=0)))
    # The cube on its corner, turned by no less than it takes to leave its faces and edges 10 degrees off.
    turn = turn_to(np.ones(3) / np.sqrt(3.0), np.array([0.0, 0.0, 1.0]))
    turn = Rotation.from_rotvec(rng.uniform(-0.3, 0.3, 3)) * turn
    corners_now = turn.apply(np.array(cube.vertices))
    highest = corners_now[np.argmax(corners_now[:, 2])]
    top = float(highest[2])
    lie = turn_to(outward, np.array([0.0, 0.0, -1.0]))
    middle = lie.apply(corners.mean(axis=0))
    place = np.array([highest[0] - middle[0], highest[1] - middle[1], top - middle[2] - depth])
    pose_s = thud.Pose(place, lie.as_quat()[[3, 0, 1, 2]])
    case = Case(
        cube, shape, thud.Pose(quaternion=turn.as_quat()[[3, 0, 1, 2]]), pose_s, np.array([0.0, 0, 1]), depth, 1.0, None
    )
    return place_all(case, rng)


def place_all(case: Case, rng: np.random.Generator) -> Case:
    """The same somewhere else in the world."""
    turn, move = Rotation.random(random_state=int(rng.integers(2**31))), rng.normal(size=3) * 3.0
    world = thud.Pose(move, turn.as_quat()[[3, 0, 1, 2]])
    patch = None if case.patch is None else turn.apply(case.patch) + move
    return case._replace(pose_g=world @ case.pose_g, pose_s=world @ case.pose_s, normal=turn.apply(case.normal), patch=patch)


def width_ratio(points: np.ndarray, patch: np.ndarray, normal: np.ndarray) -> float:
    """Least ratio, over directions across the normal, of the points' width to the patch's, where that has one."""
    u = np.cross(normal, [1.0, 0, 0] if abs(normal[0]) < 0.9 else [0, 1.0, 0])
    u /= np.linalg.norm(u)
    v = np.cross(normal, u)
    angle = np.linspace(0.0, np.pi, 36, endpoint=False)
    across = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
    own, true = np.ptp(points @ across.T, axis=0), np.ptp(patch @ across.T, axis=0)
    wide = true > 0.05 * true.max()
    return float((own[wide] / true[wide]).min())


def is_curved(shape: thud.Shape) -> bool:
    """Whether its distances are found by a search over a curved surface."""
    return type(shape).__name__ in ("Cylinder", "Cone", "Ellipsoid")


def is_graze(case: Case) -> bool:
    """Whether neither other faces nor other corners than those of the side that it rests on are in reach."""
    return abs(case.depth) < 5e-3


def own_patch(case: Case, found: thud.Contacts) -> tuple[thud.Contacts, bool]:
    """(the points with the ground's normal, whether there are others that are wrong). A mesh's own faces may give normals too,
    where the way out along them is hardly longer, which it always is at a graze."""
    same = np.degrees(np.arccos(np.clip(found.normal @ case.normal, -1.0, 1.0))) <= 0.1
    if case.shape.family != "mesh":
        return found, not same.all()
    wrong = not same.all() and (is_graze(case) or found.depth[~same].max() > case.depth + OTHER_NORMALS * abs(case.depth))
    columns = {name: getattr(found, name)[same] for name in ("row", "point", "normal", "depth", "feature", "patch")}
    return replace(found, **columns, triangle_a=found.triangle_a[same], triangle_b=found.triangle_b[same]), wrong


def check(case: Case) -> list[str]:
    """What is wrong with the contacts of a case."""
    margin = 0.0 if case.depth > 0 else 2.0 * abs(case.depth)
    found = thud.contacts(case.ground, case.shape, case.pose_g, case.pose_s, margin=margin)
    wrong = []
    expected = thud.Status.OVERLAPPING if case.depth > 0 else thud.Status.SEPARATED
    # Searches on curved shapes tell a gap from none down to some 1e-8.
    if found.status[0] != expected and (abs(case.depth) > 1e-7 or not is_curved(case.shape)):
        wrong.append(f"status {found.status[0]}")
    if len(found.row) == 0:
        return [*wrong, "no contact"]
    found, others = own_patch(case, found)
    if others:
        wrong.append("normal")
    if len(found.row) == 0:
        return wrong
    if abs(found.depth.max() - case.depth) > DEPTH_ERROR * case.size:
        wrong.append("depth")
    if (found.depth < -margin - 1e-12).any():
        wrong.append("beyond the margin")
    if len(set(found.feature.tolist())) != len(found.row):
        wrong.append("ids are not unique")
    if case.patch is not None:
        # Sides of a mesh that sink in are part of its patch, which has more corners then; those of a box stand upright on it.
        plain = is_graze(case) or case.shape.family != "mesh" or len(case.patch) == 4
        least = 0.95 if len(case.patch) <= 4 and plain else 0.699
        if width_ratio(found.point, case.patch, case.normal) < least:
            wrong.append("extent")
    swapped, _ = own_patch(
        case._replace(normal=-case.normal), thud.contacts(case.shape, case.ground, case.pose_s, case.pose_g, margin=margin)
    )
    halves = {(f & 0xFFFFFFFF, f >> 32) for f in swapped.feature.tolist()}
    if halves != {(f >> 32, f & 0xFFFFFFFF) for f in found.feature.tolist()}:
        wrong.append("swapped ids")
    return [*wrong, *check_next_frame(case, found, margin)]


def check_next_frame(case: Case, found: thud.Contacts, margin: float) -> list[str]:
    """After a motion of a millionth, an id that is still there has stayed where it was."""
    moved = thud.Pose(
        np.asarray(case.pose_s.position) + 1e-6 * case.size * np.cross(case.normal, [0.3, 0.5, 0.8]), case.pose_s.quaternion
    )
    again, _ = own_patch(case, thud.contacts(case.ground, case.shape, case.pose_g, moved, margin=margin))
    before = dict(zip(found.feature.tolist(), found.point))
    jumps = [f for f, p in zip(again.feature.tolist(), again.point) if f in before and np.linalg.norm(p - before[f]) > 0.01]
    return ["an id jumped"] if jumps else []


def is_under_a_side(kind: str, name: str, number: int) -> bool:
    """Whether the roles are swapped in a case of this number."""
    return name == "cube mesh" and kind in ("Box", "Cylinder", "Cone", "ConvexHull") and number % 3 == 2


def make_case(kind: str, name: str, number: int, seed: int) -> Case:
    """A case of a kind on a ground, by its number."""
    rng = np.random.default_rng([seed, (*KINDS, *MESHES).index(kind), GROUNDS.index(name), number])
    return under_a_side(kind, rng) if is_under_a_side(kind, name, number) else lay_down(name, kind, rng)


def run(kind: str, name: str, count: int, seed: int) -> Counter[str]:
    """Number of cases by what is wrong with them."""
    tally: Counter[str] = Counter()
    for number in range(count):
        for what in check(make_case(kind, name, number, seed)):
            tally[f"{'under a side: ' if is_under_a_side(kind, name, number) else ''}{what}"] += 1
            tally[f"first of {what}: {number}"] += 1 if tally[what] == 1 else 0
    return +tally


def pairs() -> list[tuple[str, str]]:
    """Kinds and grounds that are asked: a half-space on a cube mesh only, where its patch ends, meshes on triangles only."""
    convex = [(kind, name) for kind in KINDS for name in GROUNDS if kind != "HalfSpace" or name == "cube mesh"]
    return convex + [(kind, name) for kind in MESHES for name in ON_TRIANGLES]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.ground_contacts", description=__doc__)
    parser.add_argument("--poses", type=int, default=4000, help="of each pair of kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=(*KINDS, *MESHES))
    parser.add_argument("--ground", choices=GROUNDS)
    parser.add_argument("--skip", type=int, default=0, help="so many of the pairs, in the order in which they are listed")
    chosen = parser.parse_args()
    failed = 0
    for kind, name in pairs()[chosen.skip :]:
        if chosen.kind in (None, kind) and chosen.ground in (None, name):
            tally = run(kind, name, chosen.poses, chosen.seed)
            failed += sum(number for what, number in tally.items() if not what.startswith("first"))
            print(f"{kind:12} {name:14} {dict(tally) or 'right'}", flush=True)
    print(f"{failed} failures")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
