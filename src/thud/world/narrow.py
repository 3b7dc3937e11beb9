"""From pairs of bodies whose boxes overlap to those that meet, and how: the mid and the narrow phase.

Convex pairs are one batch over the packed shapes. Pairs with a mesh or a displaced surface are first separated by their covers
(the mid phase); what is left goes to the queries of the shapes themselves in batches of the same two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.convex import dispatch
from thud.convex.casts.dispatch import cast_packed
from thud.imagespace.options import ImageOptions
from thud.pairing.ask import ask_cast, ask_pair, ask_shape
from thud.pairing.groups import ContactList, equal_rows
from thud.pairing.join import put_rows
from thud.pairing.leaves import leaves, placed, some_rows
from thud.pairing.plans import pair_entries, takes
from thud.results import CastStatus, Contacts, Distances, Impacts
from thud.shapes.packed import Packed
from thud.shapes.shape import Shape
from thud.world import image_pairs
from thud.world.mesh_caches import MeshCaches
from thud.world.pair_axes import PairAxes, axis_parts_rows
from thud.world.plane_gate import PlaneGate
from thud.world.plane_trees import LEVELS_PART, NO_PLANES, ROOTS_PART, part_pairs_rows
from thud.world.shape_set import ShapeSet
from thud.world.stats import WorldStats

#: Pairs for the mid phase "spm" that are worth a hand-over to another thread: one takes about 0.3 us.
_PLANE_ROWS = 256


@dataclass(frozen=True, slots=True)
class Scene:
    """The bodies as the narrow phase sees them."""

    shapes: ShapeSet
    packed: Packed
    shape_rows: Ints
    """(S,) row of each shape index in `packed`."""
    shape: Ints
    """(N,) shape index of each body."""
    poses: Floats
    """(N, 12)"""
    threads: int | None
    stats: WorldStats
    image: ImageOptions | None = None
    """How the mid phase "image" looks at meshes."""

    def with_cover(self, pairs: Ints) -> Bools:
        """(M,) pairs in which a mesh or a surface takes part."""
        covered = self.shapes.is_covered[self.shape]
        return covered[pairs[:, 0]] | covered[pairs[:, 1]]

    def table(self, pairs: Ints) -> tuple[Packed, Ints, Floats, Floats, bool, int]:
        """What `dispatch` takes: packed shapes, pairs of their rows, poses of both sides."""
        rows = self.shape_rows[self.shape[pairs]]
        return self.packed, rows, self.poses[pairs[:, 0]], self.poses[pairs[:, 1]], False, len(pairs)

    def groups(self, pairs: Ints) -> Iterator[tuple[Shape, Shape, Ints, Floats, Floats]]:
        """Pairs of the same two shapes together: (a, b, rows of `pairs`, poses of a, poses of b)."""
        kinds = self.shape[pairs]
        for rows in equal_rows(kinds):
            a, b = (self.shapes.shape(int(k)) for k in kinds[rows[0]])
            yield a, b, rows, self.poses[pairs[rows, 0]], self.poses[pairs[rows, 1]]


def covers_meet(scene: Scene, pairs: Ints, axes: PairAxes | None) -> Bools:
    """(M,) whether the covers of each pair meet: for convex pairs the answer itself, for meshes the mid phase."""
    if axes is None or len(pairs) == 0:
        return dispatch.intersects(*scene.table(pairs), threads=scene.threads) if len(pairs) else np.empty(0, np.bool_)
    known = axes.recall(pairs)
    apart = np.empty(len(pairs), np.uint8)
    arguments = (scene.packed, scene.shape_rows, scene.shape, scene.poses, pairs, known, apart)
    run_rows(axis_parts_rows, len(pairs), scene.threads, *arguments)
    scene.stats.kept_axes += int(apart.sum())
    hit = apart == 0
    ask = np.flatnonzero(hit)
    if len(ask):
        hit[ask] = dispatch.intersects(*scene.table(pairs[ask]), threads=scene.threads)
        # Those newly found apart get an axis, for the next frame.
        fresh = ask[~hit[ask]]
        known[ask] = 0.0
        if len(fresh):
            known[fresh] = dispatch.distance(*scene.table(pairs[fresh]), threads=scene.threads).normal
    axes.keep(pairs, known)
    return hit


def planes_part(scene: Scene, pairs: Ints, gate: PlaneGate | None, reach: float = 0.0) -> tuple[Bools, Bools]:
    """((M,) pairs of two meshes with support planes of [Vogiannou], (M,) those of them that these show to be farther apart than
    `reach`)."""
    found = np.zeros(len(pairs), np.uint8)
    trees = scene.shapes.planes.trees(scene.shapes.shapes)
    if trees is not None and len(pairs):
        # What is not parted at the roots is seldom beyond a reach further down.
        below = np.full(len(pairs), reach == 0.0, np.uint8) if gate is None else gate.choose(pairs)
        arguments = (trees, scene.shape, scene.poses, pairs, reach, below, found)
        run_rows(part_pairs_rows, len(pairs), scene.threads, *arguments, rows_per_chunk=_PLANE_ROWS)
        if gate is not None:
            gate.learn(below, found)
    return found != NO_PLANES, (found == ROOTS_PART) | (found == LEVELS_PART)


def seen(scene: Scene, pairs: Ints) -> Bools:
    """(M,) which pairs the mid phase "image" keeps: of two closed meshes those seen to overlap, and all others."""
    kinds, rows = np.unique(scene.shape[pairs], return_inverse=True)
    drawable = np.array([image_pairs.is_drawable(scene.shapes.shape(int(k))) for k in kinds], np.bool_)
    rows = rows.reshape(-1, 2)
    kept = ~(drawable[rows[:, 0]] & drawable[rows[:, 1]])
    ask = np.flatnonzero(~kept)
    if len(ask):
        shapes = {int(k): scene.shapes.shape(int(scene.shape[k])) for k in np.unique(pairs[ask])}
        kept[ask] = image_pairs.seen_pairs(shapes, scene.poses, pairs[ask], scene.image or ImageOptions(), scene.threads)
    return kept


def mid_phase(scene: Scene, pairs: Ints, covered: Bools, axes: PairAxes | None, midphase: str) -> Bools:
    """(M,) which pairs may meet: for convex ones the answer itself, for those marked in `covered` what their covers say."""
    stats = scene.stats
    hit = np.ones(len(pairs), np.bool_)
    # Pairs to ask covers of; those with a mesh that met a frame ago most likely still do, and are not asked.
    ask = ~covered if midphase == "none" else np.ones(len(pairs), np.bool_)
    with stats.phase("mid" if covered.any() and midphase != "none" else "narrow"):
        if axes is not None and midphase != "none":
            ask &= ~(covered & axes.met(pairs))
        if midphase == "spm":
            rows = np.flatnonzero(ask & covered)
            known, parted = planes_part(scene, np.ascontiguousarray(pairs[rows]), None if axes is None else axes.gate)
            # Hulls would part hardly any of the rest.
            ask[rows[known]], hit[rows[parted]] = False, False
        hit[ask] = covers_meet(scene, np.ascontiguousarray(pairs[ask]), axes)
        if midphase == "image":
            seen_rows = np.flatnonzero(covered & hit)
            hit[seen_rows] = seen(scene, pairs[seen_rows])
    if midphase != "none":
        stats.mid_tested += int(covered.sum())
        stats.mid_rejected += int((covered & ~hit).sum())
    return hit


def meeting(scene: Scene, pairs: Ints, axes: PairAxes | None, caches: MeshCaches | None, midphase: str) -> Bools:
    """(M,) whether each pair meets; what is undecided counts as meeting."""
    covered, stats = scene.with_cover(pairs), scene.stats
    hit = mid_phase(scene, pairs, covered, axes, midphase)
    ask = np.flatnonzero(covered & hit)
    stats.narrow_tested += int((~covered).sum()) + len(ask)
    with stats.phase("narrow"):
        if caches is not None:
            caches.begin()
        for a, b, rows, poses_a, poses_b in scene.groups(pairs[ask]):
            # What was kept of a mesh that has changed its shape is of no use.
            given = {} if caches is None or not _keeps(a, b) else {"cache": caches.cache(a, b, pairs[ask[rows]])}
            hit[ask[rows]] = ask_pair("intersects", a, b, poses_a, poses_b, len(rows), threads=scene.threads, **given)
        if caches is not None:
            caches.end()
    if axes is not None:
        axes.keep_met(pairs[covered & hit])
    stats.hits = int(hit.sum())
    return hit


def _keeps(a: Shape, b: Shape) -> bool:
    """Whether what was found in this frame is of use in the next one."""
    return not (a.is_refitted or b.is_refitted) and any(takes(entry, "cache") for entry in pair_entries("intersects", a, b))


def contacts(scene: Scene, pairs: Ints, margin: float, max_points: int, nearest: bool = False) -> Contacts:
    """Contacts of pairs that are known to meet, or are to be looked at anyway; `row` is that of `pairs`. nearest: of very many
    within the margin those that are nearer are enough."""
    covered = scene.with_cover(pairs)
    found = ContactList(len(pairs))
    convex = np.flatnonzero(~covered)
    options: dict[str, Any] = {"margin": margin, "max_points": max_points, "threads": scene.threads}
    if len(convex):
        found.put(convex, dispatch.contacts(*scene.table(pairs[convex]), **options))
    ask = np.flatnonzero(covered)
    if nearest:
        options["nearest"] = True
    for a, b, rows, poses_a, poses_b in scene.groups(pairs[ask]):
        found.put(ask[rows], ask_pair("contacts", a, b, poses_a, poses_b, len(rows), **options))
    return found.joined()


def distances(scene: Scene, pairs: Ints, reach: float, signed: bool, midphase: str) -> Distances:
    """Distances of all pairs; beyond `reach` inf."""
    covered = scene.with_cover(pairs)
    if midphase == "spm" and np.isfinite(reach) and covered.any():
        far = np.zeros(len(pairs), np.bool_)
        far[covered] = planes_part(scene, np.ascontiguousarray(pairs[covered]), None, reach)[1]
        if far.any():
            # As covers say of those beyond reach.
            scene.stats.mid_tested += int(far.sum())
            scene.stats.mid_rejected += int(far.sum())
            out, close = dispatch.empty_distances(len(pairs)), np.flatnonzero(~far)
            out.distance[far] = np.inf
            put_rows(out, close, distances(scene, np.ascontiguousarray(pairs[close]), reach, signed, "hull"))
            return out
    out = dispatch.empty_distances(len(pairs))
    convex = np.flatnonzero(~covered)
    if len(convex):
        part = dispatch.distance(*scene.table(pairs[convex]), signed=signed, max_distance=reach, threads=scene.threads)
        put_rows(out, convex, part)
    ask = np.flatnonzero(covered)
    if len(ask):
        # The mid phase: covers that are farther apart hold shapes that are.
        near = dispatch.distance(*scene.table(pairs[ask]), max_distance=reach, threads=scene.threads)
        put_rows(out, ask, near)
        scene.stats.mid_tested += len(ask)
        ask = ask[np.isfinite(near.distance)]
        scene.stats.mid_rejected += int(covered.sum()) - len(ask)
    for a, b, rows, poses_a, poses_b in scene.groups(pairs[ask]):
        query = "signed_distance" if signed else "distance"
        part = ask_pair(query, a, b, poses_a, poses_b, len(rows), reach=reach, threads=scene.threads)
        put_rows(out, ask[rows], part)
    scene.stats.narrow_tested += len(convex) + len(ask)
    return out


def impacts(scene: Scene, pairs: Ints, motion: Floats, bullet: Bools) -> Impacts:
    """First contacts of all pairs; motion (N, 6): displacement and rotation vector of each body over the step. Pairs with a
    body marked in `bullet` (N,) are asked by a ray."""
    count = len(pairs)
    out = no_impacts(count)
    covered, by_ray = scene.with_cover(pairs), bullet[pairs].any(axis=1)
    convex = np.flatnonzero(~covered & ~by_ray)
    if len(convex):
        chosen = pairs[convex]
        packed, rows, poses_a, poses_b, _, number = scene.table(chosen)
        moves = (motion[chosen[:, 0]], motion[chosen[:, 1]])
        put_rows(out, convex, cast_packed(packed, rows, poses_a, poses_b, *moves, number, scene.threads))
    ask = np.flatnonzero(covered & ~by_ray)
    for a, b, rows, poses_a, poses_b in scene.groups(pairs[ask]):
        chosen = pairs[ask[rows]]
        moves = (motion[chosen[:, 0]], motion[chosen[:, 1]])
        put_rows(out, ask[rows], ask_cast(a, b, poses_a, poses_b, *moves, len(rows), scene.threads))
    ask = np.flatnonzero(by_ray)
    if len(ask):
        # The bullet first, A if both are.
        swapped = ~bullet[pairs[ask, 0]]
        turned = np.where(swapped[:, None], pairs[ask, ::-1], pairs[ask])
        part = bullet_impacts(scene, turned, motion)
        part.normal[swapped] = 0.0 - part.normal[swapped]
        put_rows(out, ask, part)
    scene.stats.narrow_tested += count
    return out


def no_impacts(count: int) -> Impacts:
    """Rows without a contact."""
    missed = np.full(count, CastStatus.MISS, np.uint8)
    return Impacts(np.full(count, np.inf), np.zeros((count, 3)), np.zeros((count, 3)), missed, np.zeros(count))


def bullet_impacts(scene: Scene, pairs: Ints, motion: Floats) -> Impacts:
    """First contacts of bullets, pairs[:, 0], with other bodies, by rays ([Yang] 2.7.3); the normal points from the bullet on.

    The ray leads from the bullet's origin along its displacement relative to the other body, which stays as it is at the start
    of the step: the bullet's size and both rotations are left out.
    """
    count = len(pairs)
    out = no_impacts(count)
    origin, move = scene.poses[pairs[:, 0], 9:], motion[pairs[:, 1], :3]
    along = motion[pairs[:, 0], :3] - move
    length = np.linalg.norm(along, axis=1)
    kind = scene.shape[pairs[:, 1]]
    for index in np.unique(kind):
        shape = scene.shapes.shape(int(index))
        rows = np.flatnonzero(kind == index)
        poses = scene.poses[pairs[rows, 1]]
        inside, depth, surface = _in_solid(shape, origin[rows], poses, scene.threads)
        started = rows[inside]
        out.time[started], out.status[started] = 0.0, CastStatus.OVERLAPPING_AT_START
        # The bullet goes out to the nearest point of the surface; the other body the opposite way.
        back = origin[started] - surface[inside]
        deep = depth[inside] > 0.0
        out.depth[started] = np.where(deep, depth[inside], np.nan)
        out.normal[started[deep]] = back[deep] / depth[inside][deep, None]
        out.point[started] = origin[started] - 0.5 * back
        flies = ~inside & (length[rows] > 0.0)
        rows, poses = rows[flies], poses[flies]
        if not len(rows):
            continue
        options = {"reach": np.inf, "any_hit": False, "threads": scene.threads}
        hits = ask_shape("raycast", shape, origin[rows], along[rows], rows=poses, count=len(rows), **options)
        found = hits.distance <= length[rows]
        hit, distance, outward = rows[found], hits.distance[found], hits.normal[found]
        out.time[hit] = np.minimum(distance / length[hit], 1.0)
        out.status[hit] = CastStatus.HIT
        out.point[hit] = hits.point[found] + out.time[hit, None] * move[hit]
        # A sheet may be hit from either side.
        facing = np.einsum("ni,ni->n", outward, along[hit]) < 0.0
        out.normal[hit] = np.where(facing[:, None], 0.0 - outward, outward)
    return out


def _in_solid(shape: Shape, points: Floats, poses: Floats, threads: int | None) -> tuple[Bools, Floats, Floats]:
    """((N,) whether points lie in a shape, (N,) how deep, (N, 3) the nearest point of its surface); an open mesh holds none. Of
    a compound the shape that a point lies deepest in counts."""
    inside, depth, surface = np.zeros(len(points), np.bool_), np.zeros(len(points)), points.copy()
    for leaf, inner in leaves(shape):
        if leaf.is_solid:
            placed_at = placed(poses, inner)
            held = ask_shape("contains", leaf, points, rows=placed_at, count=len(points), threads=threads)
            rows = np.flatnonzero(held)
            inside |= held
            if not len(rows):
                continue
            options: dict[str, Any] = {
                "rows": some_rows(placed_at, rows, len(points)),
                "count": len(rows),
                "signed": True,
                "threads": threads,
            }
            near = ask_shape("closest_point", leaf, points[rows], **options)
            deeper = -near.distance > depth[rows]
            depth[rows[deeper]], surface[rows[deeper]] = -near.distance[deeper], near.point[deeper]
    return inside, depth, surface
