"""What must hold for contact manifolds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import thud
from tests.fuzz.blocks import EPS, Block
from tests.fuzz.invariants import SEPARATED, UNCONVERGED, Failure, failures
from tests.oracles import convex
from thud.convex.tolerances import MANIFOLD_PARALLEL, MANIFOLD_SLACK


def check_contacts(block: Block, signed: thud.Distances) -> Iterator[Failure]:
    """Without a margin and with one of a tenth of the size; `signed` are the signed distances of the same rows."""
    for margin in (0.0, 0.1 * block.size):
        found = thud.contacts(block.a, block.b, block.pose_a, block.pose_b, margin=margin, threads=1)
        yield from check_rows(block, signed, found, margin)
        yield from check_points(block, found, margin)


def by_row(block: Block, found: thud.Contacts, values: np.ndarray) -> np.ndarray:
    """Largest value of each row's contacts; -inf for a row without any."""
    worst = np.full(len(block.pose_a), -np.inf)
    np.maximum.at(worst, found.row, values)
    return worst


def check_rows(block: Block, signed: thud.Distances, found: thud.Contacts, margin: float) -> Iterator[Failure]:
    """Rows within the margin have contacts, the others none; the deepest is as deep as the signed distance says."""
    name = "contacts" if margin == 0 else "contacts with a margin"
    clear = (signed.status != UNCONVERGED) & np.isfinite(signed.distance)
    if all("half_space" in {part.kind for part in convex.parts_of(shape)} for shape in (block.a, block.b)):
        clear &= False  # two half-spaces have no contact points
    deepest = by_row(block, found, found.depth)
    missing = (deepest == -np.inf) & (signed.distance < margin - 2 * block.limit) & clear
    yield from failures(block, f"{name}: none", missing, 0)
    too_many = (deepest > -np.inf) & (signed.distance > margin + 2 * block.limit) & clear
    yield from failures(block, f"{name}: of shapes apart", too_many, 0)
    # No point is deeper than the truth, and one is all but as deep.
    asked = clear & (deepest > -np.inf)
    excess = np.where(asked, deepest, 0.0) + np.where(asked, signed.distance, 0.0)
    yield from failures(block, f"{name}: deeper than the truth", excess, 2 * block.limit)
    yield from failures(block, f"{name}: deepest point", -excess, 2 * block.limit + MANIFOLD_SLACK * block.size)
    yield from failures(block, f"{name}: order of rows", np.full(len(deepest), np.any(np.diff(found.row) < 0)), 0)
    # Touching is decided to the precision of the search.
    touching = np.abs(signed.distance) <= 2 * block.limit
    wrong = ((found.status == SEPARATED) != (signed.status == SEPARATED)) & ~touching & clear
    yield from failures(block, f"{name}: status", wrong, 0)


def check_points(block: Block, found: thud.Contacts, margin: float) -> Iterator[Failure]:
    """Each point lies midway between the two surfaces, and a patch has one normal and at most 8 points."""
    name = "contacts" if margin == 0 else "contacts with a margin"
    if len(found.row) == 0:
        return
    bad = ~(np.isfinite(found.point).all(axis=1) & np.isfinite(found.normal).all(axis=1) & np.isfinite(found.depth))
    yield from failures(block, f"{name}: finite", by_row(block, found, bad) > 0, 0)
    length = np.abs(np.linalg.norm(found.normal, axis=1) - 1.0)
    yield from failures(block, f"{name}: unit normal", by_row(block, found, length), 1e-14)
    patch = found.row * 100_000 + found.patch
    _, first, inverse, count = np.unique(patch, return_index=True, return_inverse=True, return_counts=True)
    yield from failures(block, f"{name}: points in a patch", by_row(block, found, count[inverse]), 8)
    turned = np.abs(found.normal - found.normal[first][inverse]).max(axis=1)
    yield from failures(block, f"{name}: one normal in a patch", by_row(block, found, turned), 0)
    limit = block.limit + 8 * EPS * np.maximum(by_row(block, found, np.abs(found.point).max(axis=1)), 0.0)
    if not {block.kind_a, block.kind_b} <= {"Sphere", "Box", "ConvexHull", "HalfSpace"}:
        # Two round sides that are parallel within MANIFOLD_PARALLEL touch along a line, but for the square of that angle.
        limit = limit + MANIFOLD_PARALLEL**2 * block.size
    for shape, pose, side in ((block.a, block.pose_a, 0.5), (block.b, block.pose_b, -0.5)):
        surface = found.point + side * found.depth[:, None] * found.normal
        outside = convex.point_distance(shape, pose.rows[found.row], surface)
        letter = "A" if side > 0 else "B"
        yield from failures(block, f"{name}: surface point in {letter}", by_row(block, found, outside), 2 * limit)
        # The point itself is no farther from the surface than half its depth.
        away = np.abs(convex.surface_distance(shape, pose.rows[found.row], found.point)) - 0.5 * np.abs(found.depth)
        yield from failures(block, f"{name}: within half the depth of {letter}", by_row(block, found, away), 2 * limit)
