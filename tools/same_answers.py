"""`python -m tools.same_answers CHECKOUT`: does this checkout give the same bytes as another one?

Both answer the same 10,000 rows and more: every ordered pair of shapes and every query, and each shape alone, with one thread,
in a process each. Printed is each query whose answers differ, with the largest difference in units in the last place, and how
many were refused by one checkout and answered by the other.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]

#: Poses a pair and query: with 16 shapes and 10 queries, 15,000 rows. Contacts of meshes take seconds each, so they get fewer.
ROWS, SLOW_ROWS = 6, 2


def shapes() -> dict[str, Any]:
    """One of every shape, of about the same size."""
    import thud

    rng = np.random.default_rng(14)
    corners = np.array([[x, y, z] for x in (-0.6, 0.6) for y in (-0.7, 0.7) for z in (-0.5, 0.5)])
    sides = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
    solid = thud.TriangleMesh(corners, [*sides, [1, 5, 7], [1, 7, 3]])
    sheet = thud.TriangleMesh(corners, sides)
    ring = _ring(thud)
    box, cone = thud.Box([0.5, 0.4, 0.6]), thud.Cone(0.5, 0.6)
    x, y = np.meshgrid(np.linspace(-1, 1, 17), np.linspace(-1, 1, 17), indexing="ij")
    heights = 0.3 * np.sin(2.0 * x) * np.cos(3.0 * y)
    place = thud.Pose([0.1, 0.2, 0.3], [0.8, 0.0, 0.6, 0.0])
    places = thud.Pose([[0.4, 0.0, 0.0], [-0.4, 0.1, 0.0]])
    return {
        "sphere": thud.Sphere(0.6),
        "capsule": thud.Capsule(0.3, 0.5),
        "box": box,
        "hull": thud.ConvexHull(rng.normal(size=(30, 3)) * 0.5),
        "large hull": thud.ConvexHull(rng.normal(size=(150, 3)) * 0.4),
        "cylinder": thud.Cylinder(0.5, 0.5),
        "cone": cone,
        "ellipsoid": thud.Ellipsoid([0.4, 0.5, 0.7]),
        "half-space": thud.HalfSpace([0.0, 0.0, 1.0], -0.2),
        "compound": thud.Compound([box, cone], places),
        "compound of one": thud.Compound([box], place),
        "mesh": solid,
        "open mesh": sheet,
        "ring": ring,
        "compound with a mesh": thud.Compound([solid, thud.Compound([cone, thud.Sphere(0.3)], places)], places),
        "surface": thud.terrain.from_heights(heights, spacing=0.125).surface,
    }


def _ring(thud: Any, rows: int = 12) -> Any:
    angles = np.linspace(0, 2 * np.pi, rows, endpoint=False), np.linspace(0, 2 * np.pi, 2 * rows, endpoint=False)
    u, v = np.meshgrid(*angles, indexing="ij")
    across = 0.7 + 0.25 * np.cos(u)
    points = np.stack([across * np.cos(v), across * np.sin(v), 0.25 * np.sin(u)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(rows), np.arange(2 * rows), indexing="ij")
    a, b = i * 2 * rows + j, i * 2 * rows + (j + 1) % (2 * rows)
    c, d = (i + 1) % rows * 2 * rows + j, (i + 1) % rows * 2 * rows + (j + 1) % (2 * rows)
    return thud.TriangleMesh(
        points, np.concatenate([np.stack([a, b, c], axis=-1), np.stack([b, d, c], axis=-1)]).reshape(-1, 3)
    )


def _pairs_call(thud: Any, name: str) -> Any:
    if hasattr(thud, name):
        return getattr(thud, name)
    import importlib

    return getattr(importlib.import_module("thud.narrowphase"), name)


def _prepared_distance(a: Any, b: Any, pose_a: Any, pose_b: Any) -> Any:
    import thud

    return thud.prepare(a, b).distance(pose_a, pose_b)


def answers() -> dict[str, Any]:
    """Name of a question -> arrays by field, or the name of the error it gave."""
    import thud

    rng = np.random.default_rng(41)
    every, out = shapes(), {}

    def poses(count: int) -> Any:
        turns = rng.normal(size=(count, 4))
        return thud.Pose(rng.uniform(-0.9, 0.9, (count, 3)), turns / np.linalg.norm(turns, axis=1)[:, None])

    def ask(name: str, call: Any, *given: Any, **options: Any) -> None:
        try:
            found = call(*given, **options)
        except (thud.ThudError, ValueError, TypeError, AttributeError) as error:
            out[name] = type(error).__name__
            return
        if isinstance(found, np.ndarray):
            out[name] = {"": found}
        else:
            out[name] = {field: np.asarray(getattr(found, field)) for field in found.__dataclass_fields__}

    one = {"threads": 1}
    for a, shape_a in every.items():
        for b, shape_b in every.items():
            at_a, at_b = poses(ROWS), poses(ROWS)
            few_a, few_b = at_a[:SLOW_ROWS], at_b[:SLOW_ROWS]
            move_a, move_b = rng.uniform(-1, 1, (ROWS, 3)), rng.uniform(-1, 1, (ROWS, 6))
            axes = rng.normal(size=(ROWS, 3))
            pair, here = (shape_a, shape_b), f"{a} / {b}: "
            ask(here + "intersects", thud.intersects, *pair, at_a, at_b, **one)
            for method in ("chung_wang", "v_clip"):
                ask(here + method, thud.intersects, *pair, at_a, at_b, method=method, **one)
            ask(here + "distance", thud.distance, *pair, at_a, at_b, **one)
            ask(here + "distance from axes", thud.distance, *pair, at_a, at_b, axes=axes, **one)
            ask(here + "distance, near", thud.distance, *pair, at_a, at_b, max_distance=0.2, **one)
            ask(here + "v_clip distance", thud.distance, *pair, at_a, at_b, method="v_clip", **one)
            ask(here + "signed distance", thud.distance, *pair, few_a, few_b, signed=True, **one)
            ask(here + "contacts", thud.contacts, *pair, few_a, few_b, margin=0.05, **one)
            ask(here + "cast", thud.cast, *pair, at_a, at_b, move_a, **one)
            ask(here + "turning cast", thud.cast, *pair, few_a, few_b, move_a[:SLOW_ROWS], move_b[:SLOW_ROWS], **one)
            ask(here + "triangle pairs", thud.triangle_pairs, *pair, at_a, at_b, **one)
            cache = thud.PairCache()
            for frame in range(2):
                ask(here + f"cached {frame}", thud.intersects, *pair, at_a, at_b, cache=cache, **one)
            single = at_a[:1], at_b[:1]
            ask(here + "prepared", _prepared_distance, *pair, *single)
    for name, shape in every.items():
        at, origins, directions = poses(60), rng.uniform(-2, 2, (60, 3)), rng.normal(size=(60, 3))
        points = rng.uniform(-1, 1, (60, 3))
        ask(f"{name}: raycast", thud.raycast, shape, origins, directions, pose=at, **one)
        ask(f"{name}: any hit", thud.raycast, shape, origins, directions, pose=at, any_hit=True, max_distance=2.0, **one)
        ask(f"{name}: raycast_all", thud.raycast_all, shape, origins, directions, pose=at, **one)
        ask(f"{name}: contains", thud.contains, shape, points, pose=at, **one)
        ask(f"{name}: closest point", thud.closest_point, shape, points, pose=at, **one)
        ask(f"{name}: signed closest point", thud.closest_point, shape, points, pose=at, signed=True, **one)
    _many(thud, every, poses, ask)
    return out


def _many(thud: Any, every: dict[str, Any], poses: Any, ask: Any) -> None:
    """Tables of pairs, a world, particles."""
    rng = np.random.default_rng(4)
    convex = [shape for name, shape in every.items() if "mesh" not in name and name not in ("ring", "surface")]
    solid = [shape for name, shape in every.items() if name != "surface"]
    for name, shapes in (("convex", convex), ("all", solid)):
        at = poses(len(shapes))
        pairs = rng.integers(0, len(shapes), (100, 2))
        ask(f"{name}: intersects_pairs", _pairs_call(thud, "intersects_pairs"), shapes, pairs, at, threads=1)
        ask(f"{name}: distance_pairs", _pairs_call(thud, "distance_pairs"), shapes, pairs, at, threads=1)
        signed = {"signed": True, "threads": 1}
        ask(f"{name}: signed distance_pairs", _pairs_call(thud, "distance_pairs"), shapes, pairs[:30], at, **signed)
    for midphase in ("hull", "none", "spm"):
        for ground in (False, True):
            world = thud.World(midphase=midphase, threads=1)
            if ground:
                # With convex shapes alone: a surface met no meshes once.
                world.add(every["surface"], thud.Pose([-2.0, -2.0, -1.0]))
            crowd = [shape for shape in (convex if ground else solid) if shape is not every["half-space"]] * 2
            places = poses(len(crowd))
            spread = thud.Pose(places.position * 2.5, places.quaternion)
            world.add_many(crowd, spread, velocity=rng.uniform(-1, 1, (len(crowd), 3)))
            name = f"world {midphase}{' on ground' if ground else ''}"
            ask(f"{name}: contacts", world.contacts)
            ask(f"{name}: distances", world.distances, 0.3)
            ask(f"{name}: impacts", world.impacts, 0.5)
            ask(f"{name}: raycast", world.raycast, rng.uniform(-4, 4, (60, 3)), rng.normal(size=(60, 3)))
    colliders = [every[name] for name in ("box", "mesh", "ring", "cone")]
    system = thud.particles.ParticleSystem(
        [0.0, 0.0, 3.0], [0.0, 0.0, -3.0], lifetime=3.0, birth=np.linspace(0, 1, 200), seed=3, position_spread=0.8
    )
    ask("particles", system.impacts, colliders, 0.0, 3.0)


def _ulps(a: Any, b: Any) -> float:
    """Largest difference in units in the last place of the larger; inf where it is no matter of rounding."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if not np.issubdtype(a.dtype, np.floating):
        return 0.0 if np.array_equal(a, b) else float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if same.all():
        return 0.0
    x, y = a[~same], b[~same]
    if not (np.isfinite(x) & np.isfinite(y)).all():
        return float("inf")
    return float((np.abs(x - y) / np.spacing(np.maximum(np.maximum(np.abs(x), np.abs(y)), 1.0))).max())


def compare(before: dict[str, Any], after: dict[str, Any], allowed: float) -> int:
    """Print the differences; the number of questions with other answers."""
    wrong = rows = refused = options = 0
    newly: list[str] = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if isinstance(old, str) and isinstance(new, str):
            refused += 1
        elif isinstance(old, str):
            newly.append(name)
        elif new == "UnsupportedQueryError" and ("cached" in name or "axes" in name):
            options += 1
        elif isinstance(new, str) or old is None or new is None:
            wrong += 1
            print(f"{name}: was answered, now {new}")
        else:
            rows += len(next(iter(new.values())))
            worst = {field: _ulps(old[field], new[field]) for field in old}
            bad = {field: value for field, value in worst.items() if value > allowed}
            if bad:
                wrong += 1
                print(f"{name}: differs, in units in the last place: {bad}")
    print(f"{rows} rows compared, {wrong} questions differ, {refused} refused by both, {len(newly)} answered only now,")
    print(f"{options} refused now for an option, a cache or axes, that is of no use to the shapes")
    return wrong


def record(checkout: Path, target: Path) -> None:
    """Run `answers` with the sources of a checkout."""
    environment = {**os.environ, "PYTHONPATH": f"{checkout / 'src'}{os.pathsep}{ROOT}", "NUMBA_NUM_THREADS": "1"}
    code = f"import pickle; from tools.same_answers import answers; pickle.dump(answers(), open({str(target)!r}, 'wb'))"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment, cwd=ROOT)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of the other checkout")
    parser.add_argument("--ulps", type=float, default=0.0, help="units in the last place that are allowed")
    parser.add_argument("--keep", type=Path, help="file of the other checkout's answers: read if it is there, else written")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        before = given.keep or Path(folder) / "before"
        if not before.exists():
            record(given.checkout.resolve(), before)
        after = Path(folder) / "after"
        record(ROOT, after)
        return 1 if compare(pickle.loads(before.read_bytes()), pickle.loads(after.read_bytes()), given.ulps) else 0


if __name__ == "__main__":
    sys.exit(main())
