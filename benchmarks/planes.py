"""What a test by support planes takes, and what it would save distances in reach and casts: `python -m benchmarks.planes`.

A pair of roots hot in the cache; and pairs of the models of the reproduction at random poses: the share of them that the
roots' planes show to be beyond a reach, the share of the walk's box tests that these take, and the time of all pairs against
that of the planes and the rest. Processor time on one thread, the least of some.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import thud
from reproductions.models import models
from reproductions.vogiannou.configurations import IDENTITY, random_poses, space_for
from reproductions.vogiannou.scenes import unit_radius
from thud._core.decorators import kernel
from thud.bounds.support_planes import SupportPlanes, support_planes
from thud.bounds.support_tables import support_tables
from thud.mesh.box_tree import tree_pose
from thud.mesh.distance import walk_distance
from thud.mesh.trees import new_walk_space, obb_tree
from thud.mesh.volumes import surviving_levels
from thud.world.plane_trees import ROOTS_PART, PlaneSet, PlaneTrees, part_pairs_rows

Floats, Bools = npt.NDArray[np.float64], npt.NDArray[np.bool_]

#: Reaches of distances, ways of casts, in radii of the models.
REACHES, WAYS = (0.01, 0.1, 0.3), (0.1, 1.0)
#: Half sizes of the cube in which the second object is; None: that in which 60 % collide.
SPACES = {"close": None, "wide": 2.0, "far": 3.0}
REPEATS = 3
#: One in so many pairs is cast.
CASTS = 10


@kernel("i8, i8, obb_tree, obb_tree, f8[:,::1], f8[:,::1], f8, i8[::1]")
def count_tests_rows(start, stop, tree_a, tree_b, poses_a, poses_b, reach, tests_out):
    """How many times the walk of `thud.distance` tests eight boxes."""
    space = new_walk_space()
    for row in range(start, stop):
        r, t = tree_pose(poses_a, 0, poses_b, row, tree_a.origin, tree_b.origin)
        found = walk_distance(tree_a, tree_b, r, t, reach, (np.int64(-1), np.int64(-1)), space)
        tests_out[row] = found[5]


def least_time(rows: int, run: Callable[..., object], *arguments: object, **options: object) -> float:
    """Microseconds of processor time a row, the least of some."""
    run(*arguments, **options)
    found = np.inf
    for _ in range(REPEATS):
        begin = time.thread_time()
        run(*arguments, **options)
        found = min(found, time.thread_time() - begin)
    return found * 1e6 / rows


def one_test(mesh: thud.TriangleMesh, mapping: SupportPlanes | None, rows: Floats) -> float:
    """Nanoseconds of one level: the roots' spheres, and their planes if they meet."""
    options = {"bounding": "sphere", "mappings": (mapping, mapping), "threads": 1}
    return 1e3 * least_time(len(rows), surviving_levels, mesh, mesh, IDENTITY, rows, 1, **options)


def tests(mesh: thud.TriangleMesh, name: str) -> None:
    """Prices of a test at the roots, beyond that of the spheres."""
    tree = mesh.tree.skip, mesh.tree.first, mesh.corners
    # Spheres that meet, so that every pair is asked for planes.
    rows = random_poses(20_000, 1.1, 3)
    plain = one_test(mesh, None, rows)
    kinds = {
        "compact offsets": support_tables(*tree, 1, 32),
        "compact points, 1 direction": support_tables(*tree, 1, 32, 1, points=True),
        "compact points, 3 directions": support_tables(*tree, 1, 32, 3),
        "DVSPM": support_planes(*tree, "vertex", 1, 32),
        "DFSPM": support_planes(*tree, "face", 1, 32),
    }
    builds: dict[str, Callable[[], SupportPlanes]] = {
        "compact, 3 directions, 8 levels": lambda: support_tables(*tree, 8, 32, 3),
        "DVSPM, 8 levels": lambda: support_planes(*tree, "vertex", 8, 32),
        "DFSPM, 8 levels": lambda: support_planes(*tree, "face", 8, 32),
    }
    for kind, build in builds.items():
        print(f"{name:10} {kind:32} made in {least_time(1, build) * 1e-6:.2f} s", flush=True)
    for kind, mapping in kinds.items():
        price = one_test(mesh, mapping, rows) - plain
        print(f"{name:10} {kind:30} {price:6.0f} ns a pair beyond pose and spheres ({plain:.0f} ns)", flush=True)


def parted(trees: PlaneTrees, rows: Floats, reach: float) -> tuple[Bools, float]:
    """(rows whose roots' planes are farther apart than `reach`, microseconds a row)."""
    count = len(rows)
    pairs = np.stack([np.zeros(count, np.int64), np.arange(1, count + 1)], axis=1)
    shape, below, found = np.zeros(count + 1, np.int64), np.zeros(count, np.uint8), np.empty(count, np.uint8)
    arguments = (0, count, trees, shape, np.concatenate([IDENTITY, rows]), pairs, reach, below, found)
    price = least_time(count, part_pairs_rows, *arguments)
    return found == ROOTS_PART, price


def distances(mesh: thud.TriangleMesh, rows: Floats, reach: float) -> Floats:
    """Of the pairs at the rows."""
    return thud.distance(mesh, mesh, None, thud.Pose.from_rows(rows), max_distance=reach, threads=1).distance


def casts(mesh: thud.TriangleMesh, rows: Floats, ways: Floats) -> Floats:
    """Times of the pairs at the rows."""
    return thud.cast(mesh, mesh, None, thud.Pose.from_rows(rows), 0.0, ways, threads=1).time


def reaches(mesh: thud.TriangleMesh, name: str, count: int) -> None:
    """Distances within a reach, and casts."""
    trees, tree = PlaneSet().trees([mesh]), obb_tree(mesh)
    assert trees is not None

    def line(kind: str, beyond: Floats, found: Bools, every: float, rest: float) -> None:
        text = f"beyond {np.isinf(beyond).mean():4.0%}, by planes {found.mean():4.0%}; {every:6.2f} -> {rest:6.2f} us"
        print(f"{name:10} {kind:28} {text}", end="", flush=True)

    for where, size in SPACES.items():
        rows = random_poses(count, space_for(mesh, 1000) if size is None else size, 7)
        for reach in REACHES:
            found, price = parted(trees, rows, reach)
            kept, opened = np.ascontiguousarray(rows[~found]), np.empty(count, np.int64)
            every = least_time(count, distances, mesh, rows, reach)
            rest = price + least_time(count, distances, mesh, kept, reach)
            line(f"{where}, distance within {reach:g}", distances(mesh, rows, reach), found, every, rest)
            count_tests_rows(0, count, tree, tree, IDENTITY, rows, reach, opened)
            print(f"; {opened[found].sum() / opened.sum():.1%} of the box tests", flush=True)
        # These take milliseconds where the two meet.
        rows = np.ascontiguousarray(rows[: count // CASTS])
        ways = np.random.default_rng(5).normal(size=(len(rows), 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        for way in WAYS:
            # What is farther apart than the way is not met.
            found, price = parted(trees, rows, way)
            kept = np.ascontiguousarray(rows[~found])
            every = least_time(len(rows), casts, mesh, rows, way * ways)
            rest = price + least_time(len(rows), casts, mesh, kept, way * ways[~found])
            line(f"{where}, cast by {way:g}", casts(mesh, rows, way * ways), found, every, rest)
            print(flush=True)


def main() -> None:
    """Print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    for name, mesh in models().items():
        unit = unit_radius(thud.TriangleMesh(*mesh))
        tests(unit, name)
        reaches(unit, name, count)


if __name__ == "__main__":
    main()
