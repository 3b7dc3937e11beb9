"""What must hold for every pair of shapes at every pose, and the comparison with the oracles.

Each check returns errors and their limits, one a row; `run` turns what is above its limit into `Failure`s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import thud
from tests.fuzz.blocks import EPS, Block
from tests.fuzz.poses import POSES, random_rotations
from tests.fuzz.shapes import scaled
from tests.oracles import convex

SEPARATED, OVERLAPPING, UNCONVERGED = 0, 1, 2


@dataclass(frozen=True)
class Failure:
    """One row that breaks one rule."""

    check: str
    block: Block
    row: int
    error: float
    limit: float

    def __str__(self) -> str:
        b = self.block
        return (
            f"{b.kind_a}-{b.kind_b} block {b.number} row {self.row} ({POSES[self.row % len(POSES)]}): {self.check} is off by "
            f"{self.error:.3g}, allowed {self.limit:.3g}; see it with\n    python -m tests.fuzz --seed {b.seed} "
            f"--pair {b.kind_a} {b.kind_b} --block {b.number} --row {self.row}"
        )


def failures(block: Block, check: str, error: np.ndarray, limit: np.ndarray | float) -> Iterator[Failure]:
    """Rows whose error is not within the limit (a NaN is not)."""
    error, limit = np.broadcast_arrays(np.asarray(error, dtype=float), limit)
    for row in np.flatnonzero(~(error <= limit)):
        yield Failure(check, block, int(row), float(error[row]), float(limit[row]))


def query(block: Block, **options) -> thud.Distances:
    """The library's answer."""
    return thud.distance(block.a, block.b, block.pose_a, block.pose_b, threads=1, **options)


def check_invariants(block: Block) -> Iterator[Failure]:
    """All rules that need no reference."""
    signed, unsigned = query(block, signed=True), query(block)
    met = thud.intersects(block.a, block.b, block.pose_a, block.pose_b, threads=1)
    yield from check_fields(block, signed, unsigned, met)
    yield from check_witnesses(block, signed, unsigned)
    yield from check_planes(block, signed)
    yield from check_motions(block, signed)
    yield from check_options(block, signed, unsigned)
    if {block.kind_a, block.kind_b} <= {"Box", "ConvexHull"}:
        yield from check_methods(block, signed, met)


def check_fields(block: Block, signed: thud.Distances, unsigned: thud.Distances, met: np.ndarray) -> Iterator[Failure]:
    """No NaN, valid status, and boolean, unsigned and signed answers that agree."""
    for name, result in (("signed", signed), ("unsigned", unsigned)):
        for field in ("distance", "point_a", "point_b", "normal"):
            values = getattr(result, field).reshape(len(met), -1)
            bad = ~np.isfinite(values).all(axis=1)
            if field == "distance" and name == "signed":
                bad = np.isnan(values[:, 0]) | (values[:, 0] == np.inf)
            yield from failures(block, f"finite {name} {field}", bad, 0)
        yield from failures(block, f"{name} status", result.status > UNCONVERGED, 0)
    # Touching is decided to roundoff, by different formulas, and on curved surfaces to the precision of the search. What is
    # undecided counts as met and keeps its distance.
    touch = 256 * 2.0**-53 * (block.size + np.abs(block.pose_a.position - block.pose_b.position).max(axis=1))
    touching = np.abs(signed.distance) <= touch + (0.3e-6 * block.size if block.tolerance == 1e-6 else 0.0)
    touching |= (signed.status == UNCONVERGED) | (unsigned.status == UNCONVERGED)
    yield from failures(block, "intersects is unsigned distance 0", (met != (unsigned.distance <= 0)) & ~touching, 0)
    yield from failures(block, "intersects is not SEPARATED", (met != (signed.status != SEPARATED)) & ~touching, 0)
    yield from failures(block, "sign of the distance", (met != (signed.distance <= 0)) & ~touching, 0)
    yield from failures(block, "a negative unsigned distance", unsigned.distance < 0, 0)
    apart = unsigned.distance > 0
    error = np.abs(np.maximum(signed.distance, 0.0) - unsigned.distance)
    yield from failures(block, "signed and unsigned distance", error, 2 * block.limit)
    length = np.linalg.norm(signed.normal, axis=1)
    yield from failures(block, "unit normal", np.abs(length - 1), 1e-14)
    length = np.linalg.norm(unsigned.normal, axis=1)
    yield from failures(block, "unit or zero normal", np.where(apart, np.abs(length - 1), length), 1e-14)


def check_witnesses(block: Block, signed: thud.Distances, unsigned: thud.Distances) -> Iterator[Failure]:
    """Witness points lie in their shapes and span the distance along the normal."""
    rows_a, rows_b = block.pose_a.rows, block.pose_b.rows
    for name, result in (("signed", signed), ("unsigned", unsigned)):
        finite = np.isfinite(result.distance)
        d = np.where(finite, result.distance, 0.0)
        gap = np.abs(result.point_b - result.point_a - d[:, None] * result.normal).max(axis=1)
        largest = np.abs(result.point_a).max(axis=1) + np.abs(d)
        yield from failures(block, f"{name} point_b = point_a + distance * normal", gap, 4 * EPS * largest)
        # Where two half-spaces are all but parallel, the points may be far away.
        limit = block.limit + 8 * EPS * np.abs(result.point_a).max(axis=1)
        outside = convex.point_distance(block.a, rows_a, result.point_a)
        yield from failures(block, f"{name} point_a in A", outside, limit)
        outside = convex.point_distance(block.b, rows_b, result.point_b)
        yield from failures(block, f"{name} point_b in B", np.where(finite, outside, 0.0), limit)


def check_planes(block: Block, signed: thud.Distances) -> Iterator[Failure]:
    """The planes across the normal show the same distance as the witness points: lower and upper bound meet."""
    parts_a, parts_b = convex.parts_of(block.a), convex.parts_of(block.b)
    if len(parts_a) > 1 or len(parts_b) > 1 or "half_space" in (parts_a[0].kind, parts_b[0].kind):
        return  # not convex, or unbounded
    rotations, translations = convex.relative_poses(block.pose_a.rows, block.pose_b.rows)
    n = np.einsum("nji,nj->ni", block.pose_a.rows[:, :9].reshape(-1, 3, 3), signed.normal)
    inner = np.einsum("nji,nj->ni", rotations, n)
    shown = np.einsum("ni,ni->n", n, translations) - parts_a[0].heights(n) - parts_b[0].heights(-inner)
    yield from failures(block, "distance along the normal", np.abs(shown - signed.distance), block.limit)
    # B moved out by the depth just touches A.
    deep = signed.distance < 0
    if deep.any():
        rows = block.pose_b.rows.copy()
        rows[:, 9:] += np.where(deep, -signed.distance, 0.0)[:, None] * signed.normal
        moved = thud.distance(block.a, block.b, block.pose_a, thud.Pose.from_rows(rows), signed=True, threads=1)
        yield from failures(block, "freed by depth * normal", np.where(deep, np.abs(moved.distance), 0.0), 2 * block.limit)


def check_motions(block: Block, signed: thud.Distances) -> Iterator[Failure]:
    """Swapping the shapes, moving both rigidly and scaling both changes nothing else.

    Each of two answers may be off by the limit, so they may differ by twice that.
    """
    finite, open_rows = np.isfinite(signed.distance), ambiguous(block)

    def differs(name: str, other: np.ndarray, limit: np.ndarray, factor: float = 1.0) -> Iterator[Failure]:
        yield from failures(block, f"{name}: infinite depth", (finite != np.isfinite(other)) & ~open_rows, 0)
        both = finite & np.isfinite(other)
        error = np.abs(np.where(both, signed.distance, 0.0) * factor - np.where(both, other, 0.0))
        yield from failures(block, name, error, limit)

    swapped = thud.distance(block.b, block.a, block.pose_b, block.pose_a, signed=True, threads=1)
    yield from differs("swap of A and B", swapped.distance, 2 * block.limit)
    met = thud.intersects(block.b, block.a, block.pose_b, block.pose_a, threads=1)
    clear = (np.abs(swapped.distance) > block.limit) & (swapped.status != UNCONVERGED)
    yield from failures(block, "swap: intersects", (met != (swapped.distance <= 0)) & clear, 0)

    rng = np.random.default_rng(block.number)
    turn = random_rotations(1, rng)[0]
    motion = np.append(turn.ravel(), rng.normal(size=3) * block.size)
    move = thud.Pose.from_rows(motion[None])
    moved = Block(
        block.kind_a, block.kind_b, block.number, block.seed, block.a, block.b, move @ block.pose_a, move @ block.pose_b
    )
    # The move itself rounds the positions.
    yield from differs("rigid motion", query(moved, signed=True).distance, block.limit + moved.limit)

    for factor in (2.0 ** int(rng.integers(-12, 13)), 10.0 ** rng.uniform(-3, 3)):
        rows_a, rows_b = block.pose_a.rows.copy(), block.pose_b.rows.copy()
        rows_a[:, 9:] *= factor
        rows_b[:, 9:] *= factor
        a, b = scaled(block.a, factor), scaled(block.b, factor)
        answer = thud.distance(a, b, thud.Pose.from_rows(rows_a), thud.Pose.from_rows(rows_b), signed=True, threads=1)
        # A power of two scales every number exactly, so it scales every answer exactly: no tolerance is absolute. (A
        # half-space normalises its normal anew.)
        kinds = {part.kind for part in convex.parts_of(block.a) + convex.parts_of(block.b)}
        exact = np.log2(factor) % 1 == 0 and "half_space" not in kinds
        limit = 0.0 if exact else 2 * block.limit * factor
        yield from differs("scaling by a power of 2" if exact else "scaling", answer.distance, limit, factor)


def check_options(block: Block, signed: thud.Distances, unsigned: thud.Distances) -> Iterator[Failure]:
    """A warm start and a distance limit change nothing but the time."""
    warm = query(block, signed=True, axes=signed.normal)
    error = np.abs(np.nan_to_num(warm.distance, neginf=0.0) - np.nan_to_num(signed.distance, neginf=0.0))
    yield from failures(block, "warm start", error, 2 * block.limit)
    reach = float(np.median(unsigned.distance))
    near = query(block, max_distance=reach)
    beyond = unsigned.distance > reach + 2 * block.limit
    within = unsigned.distance < reach - 2 * block.limit
    yield from failures(block, "beyond max_distance", beyond & (near.distance != np.inf), 0)
    error = np.abs(np.where(within, near.distance - unsigned.distance, 0.0))
    yield from failures(block, "within max_distance", error, 2 * block.limit)


def check_methods(block: Block, signed: thud.Distances, met: np.ndarray) -> Iterator[Failure]:
    """Chung-Wang and V-Clip give the booleans of GJK, V-Clip its distances too."""
    clear = (np.abs(signed.distance) > block.limit) & (signed.status != UNCONVERGED)
    for method in ("chung_wang", "sat", "v_clip"):
        other = thud.intersects(block.a, block.b, block.pose_a, block.pose_b, method=method, threads=1)
        yield from failures(block, f"{method}: intersects", (other != met) & clear, 0)
    result = query(block, signed=True, method="v_clip")
    yield from failures(block, "v_clip: distance", np.abs(result.distance - signed.distance), 2 * block.limit)
    yield from failures(block, "v_clip: status", (result.status != signed.status) & clear, 0)
    outside = convex.point_distance(block.b, block.pose_b.rows, result.point_b)
    yield from failures(block, "v_clip: point_b in B", outside, 2 * block.limit)


def ambiguous(block: Block) -> np.ndarray:
    """Rows of two half-spaces that are parallel but for roundoff: nobody can say whether they face each other exactly."""
    if not block.kind_a == block.kind_b == "HalfSpace":
        return np.zeros(len(block.pose_a), dtype=bool)
    rotations, _ = convex.relative_poses(block.pose_a.rows, block.pose_b.rows)
    angle = np.linalg.norm(rotations @ block.b.normal + block.a.normal, axis=1)
    return (angle > 1e-16) & (angle < 1e-13)


def check_oracles(block: Block) -> Iterator[Failure]:
    """Signed distances against the references."""
    signed = query(block, signed=True)
    truth = convex.signed_distance(block.a, block.b, block.pose_a.rows, block.pose_b.rows, directions=signed.normal)
    finite = np.isfinite(truth)
    yield from failures(block, "oracle: infinite depth", (finite != np.isfinite(signed.distance)) & ~ambiguous(block), 0)
    compared = finite & np.isfinite(signed.distance)
    error = np.abs(np.where(compared, signed.distance, 0.0) - np.where(compared, truth, 0.0))
    yield from failures(block, "oracle: signed distance", error, block.limit)
