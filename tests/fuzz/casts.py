"""What must hold for linear casts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import thud
from tests.fuzz.blocks import Block
from tests.fuzz.invariants import UNCONVERGED, Failure, failures
from tests.fuzz.poses import random_directions
from tests.oracles import convex

MISS, HIT, AT_START, CAST_UNCONVERGED = range(4)
SAMPLES = 12


def motions(block: Block, signed: thud.Distances, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Displacements that often hit: B towards A by half to twice the distance, a little aside, A anywhere."""
    count = len(block.pose_a)
    towards = -signed.normal + 0.3 * rng.random((count, 1)) * random_directions(count, rng)
    gap = np.maximum(np.nan_to_num(signed.distance, neginf=0.0), 0.01 * block.size)
    motion_a = random_directions(count, rng) * rng.choice([0.0, 0.3, 3.0], (count, 1)) * gap[:, None]
    return motion_a, towards * (rng.uniform(0.5, 2.0, count) * gap)[:, None] + motion_a


def at_time(block: Block, motion_a: np.ndarray, motion_b: np.ndarray, time: np.ndarray) -> Block:
    """The block at fractions of its motions."""
    rows_a, rows_b = block.pose_a.rows.copy(), block.pose_b.rows.copy()
    rows_a[:, 9:] += time[:, None] * motion_a
    rows_b[:, 9:] += time[:, None] * motion_b
    poses = thud.Pose.from_rows(rows_a), thud.Pose.from_rows(rows_b)
    return Block(block.kind_a, block.kind_b, block.number, block.seed, block.a, block.b, *poses)


def distance_at(block: Block, motion_a: np.ndarray, motion_b: np.ndarray, time: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Signed distances at fractions of the motions; 0 for rows that are not asked for."""
    moved = at_time(block, motion_a, motion_b, time)
    distance = np.zeros(len(time))
    if asked.any():
        poses = moved.pose_a[asked], moved.pose_b[asked]
        distance[asked] = thud.distance(moved.a, moved.b, *poses, signed=True, threads=1).distance
    return distance


def check_casts(block: Block, signed: thud.Distances) -> Iterator[Failure]:
    """A hit touches and is the first touch; a miss never touches. `signed` are the signed distances at the start."""
    rng = np.random.default_rng([block.seed, block.number, 7])
    motion_a, motion_b = motions(block, signed, rng)
    cast = thud.cast(block.a, block.b, block.pose_a, block.pose_b, motion_a, motion_b, threads=1)
    limit = 2 * np.maximum(block.limit, at_time(block, motion_a, motion_b, np.ones(len(motion_a))).limit)

    finite = np.isfinite(cast.point).all(axis=1) & np.isfinite(cast.normal).all(axis=1) & ~np.isnan(cast.time)
    yield from failures(block, "cast: finite", ~finite, 0)
    hit, missed, undecided = cast.status == HIT, cast.status == MISS, cast.status == CAST_UNCONVERGED
    timed = (cast.time >= 0) & (cast.time <= 1)
    yield from failures(block, "cast: time and status", np.where(missed, cast.time != np.inf, ~timed), 0)
    touching = (np.abs(signed.distance) <= limit) | (signed.status == UNCONVERGED)
    wrong = ((cast.status == AT_START) != (signed.distance <= 0)) & ~touching
    yield from failures(block, "cast: overlap at the start", wrong, 0)

    # Never later than the true contact: up to the time given the shapes are apart; a miss is apart all the time.
    last = np.where(missed, 1.0, np.minimum(cast.time, 1.0))
    for k in range(SAMPLES + 1):
        apart = distance_at(block, motion_a, motion_b, last * k / SAMPLES, missed | hit | undecided)
        yield from failures(block, "cast: passes a collision", -apart, limit)
    # And not too early: at the time of a hit they touch, at the point given.
    at_hit = np.where(hit, last, 0.0)
    there = at_time(block, motion_a, motion_b, at_hit)
    apart = distance_at(block, motion_a, motion_b, at_hit, hit)
    yield from failures(block, "cast: touches at the hit", np.abs(apart), limit)
    for shape, pose, letter in ((block.a, there.pose_a, "A"), (block.b, there.pose_b, "B")):
        outside = convex.point_distance(shape, pose.rows, cast.point)
        yield from failures(block, f"cast: point in {letter}", np.where(hit, outside, 0.0), limit)
    length = np.linalg.norm(cast.normal, axis=1)
    yield from failures(block, "cast: unit normal", np.where(hit, np.abs(length - 1.0), 0.0), 1e-14)
    leaving = np.einsum("ni,ni->n", motion_b - motion_a, cast.normal) > 1e-9 * np.linalg.norm(motion_b - motion_a, axis=1)
    yield from failures(block, "cast: approaches along the normal", leaving & hit, 0)
