"""A shape, rays or points against all bodies of a world: N questions at once.

Candidates come from the tree over the bodies' boxes; the answers from the shapes themselves, in batches of the same two. Where
one body is looked for, the candidates of each row are asked in the order of their bounds, first one, then two, then four, as
long as a bound does not exceed what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, whole_array, writable
from thud._core.threads import run_rows
from thud.broadphase.boxes import FARTHEST, LAYER
from thud.bvh.morton_tree import boxes_in_tree, rays_in_tree
from thud.constants import TOUCH
from thud.convex import dispatch
from thud.convex.casts.dispatch import cast_packed
from thud.convex.queries import closest_of_many, crossings_of_many
from thud.errors import InvalidInputError
from thud.pairing.ask import ask_cast, ask_pair, ask_shape
from thud.pairing.families import COMPOUND, PACKED
from thud.pairing.groups import equal_rows
from thud.pairing.join import nearest_leaf, put_rows
from thud.pairing.leaves import leaves, placed
from thud.pairing.plans import resolve, shape_plan
from thud.pairing.start_depth import overlapping_rows, put_depths
from thud.results import ClosestPoints, Distances, Impacts, WorldCasts, WorldClosestPoints, WorldRayCrossings
from thud.shapes.packed import Packed, pack, pack_now
from thud.shapes.shape import Shape
from thud.world.bodies import Bodies
from thud.world.body_boxes import body_boxes
from thud.world.body_walks import bodies_near, bodies_on_the_way, body_of_nearest_box
from thud.world.narrow import Scene, no_impacts
from thud.world.rays import BodyTree, longest_edges, not_ignored
from thud.world.tolerances import CAST_ROOM

#: Convex shapes of so many bodies or fewer are asked shape by shape; more are packed together for the occasion.
_FEW_SHAPES = 8

#: So many candidates or fewer are asked at once: rounds cost more than they save.
_AT_ONCE = 16


class Asked(NamedTuple):
    """Which bodies a query is about."""

    seen: Bools
    """(B,) by the mask of layers."""
    ignored: Ints
    """(1, K) or (N, K) bodies that each row leaves out, -1 for none."""

    def keeps(self, row: Ints, body: Ints) -> Bools:
        """(M,) which candidates it lets through."""
        return self.seen[body] & not_ignored(self.ignored, row, body)


def seen_bodies(rules: npt.NDArray[np.uint64], mask: int) -> Bools:
    """(B,) bodies whose layer the mask has."""
    return (rules[:, LAYER] & np.uint64(mask & (2**64 - 1))) != 0


def as_ignored(bodies: Bodies, ignore: npt.ArrayLike | None, count: int) -> Ints:
    """The gate of `ignore`: (1, K) or (count, K) rows of bodies, -1 for none."""
    given = whole_array([] if ignore is None else ignore, "ignore")
    if given.size == 0:
        return np.empty((1, 0), np.int64)
    if given.ndim > 2 or (given.ndim and len(given) not in (1, count)):
        raise InvalidInputError(
            f"ignore: expected a handle, ({count},) handles or ({count}, K), -1 for none; got shape {given.shape}"
        )
    table = given.reshape(len(given) if given.ndim else 1, -1)
    rows = np.full(table.shape, -1, np.int64)
    named = np.nonzero(table != -1)
    if len(named[0]):
        rows[named] = bodies.rows(table[named], "ignore", named[0])
    return rows


# Candidates --------------------------------------------------------------------------------------------------------------


def _probe_boxes(shape: Shape, poses: Floats, threads: int | None) -> Floats:
    """(N, 6) boxes of a shape at N poses, wider by a few roundoffs as those of bodies are."""
    if shape.family in PACKED:
        packed = pack((shape,))
    else:
        entry = shape_plan("cover", shape.family).entry
        assert entry is not None
        packed = pack_now((resolve(entry.function)(shape, "auto"),))
    count = len(poses)
    bounds, zero = np.empty((count, 6)), np.zeros(1, np.int64)
    run_rows(body_boxes, count, threads, packed, zero, np.zeros(count, np.int64), writable(poses), np.arange(count), bounds)
    return bounds


def _grown(bounds: Floats, more: Floats) -> Floats:
    """Boxes that are larger by (N,) lengths on each side."""
    with np.errstate(over="ignore"):
        lower, upper = bounds[:, :3] - more[:, None], bounds[:, 3:] + more[:, None]
    return np.concatenate([np.maximum(lower, -FARTHEST), np.minimum(upper, FARTHEST)], axis=1)


def _sweep_boxes(scene: Scene, tree: BodyTree, shape: Shape, poses: Floats, moves: Floats) -> Floats:
    """(N, 6) boxes of a shape at the start of its motion, with room for what a cast counts as contact and for its rotation."""
    bounds = _probe_boxes(shape, poses, scene.threads)
    edge = longest_edges(bounds) + tree.longest_edge
    far = np.abs(np.where(np.abs(bounds) < np.sqrt(FARTHEST), bounds, 0.0)).max(axis=1) + np.abs(moves[:, :3]).max(axis=1)
    more = CAST_ROOM * edge + 64.0 * TOUCH * far
    angle = np.linalg.norm(moves[:, 3:], axis=1)
    if angle.any():
        center, radius = shape.bounding_sphere()
        reach = float(np.linalg.norm(center)) + radius
        # No point moves by more than the arc, nor by more than the diameter of its circle.
        with np.errstate(invalid="ignore"):
            more = more + np.where(angle > 0.0, np.minimum(angle, 2.0) * reach, 0.0)
    return _grown(bounds, np.minimum(more, FARTHEST))


# Batches -----------------------------------------------------------------------------------------------------------------


class _Batch(NamedTuple):
    """Candidates that one call answers."""

    chosen: Ints
    """Which of the candidates."""
    shape: Shape | None
    """The bodies' shape; None for many convex ones."""
    shapes: tuple[Shape, ...] = ()
    which: Ints = np.empty(0, np.int64)
    """Those many, and which of them each candidate has."""

    def packed(self, first: Shape) -> tuple[Packed, Ints]:
        """The many shapes behind a first one, and the pairs of it with theirs."""
        return pack_now((first, *self.shapes)), np.stack([np.zeros_like(self.which), 1 + self.which], axis=1)


def _batches(scene: Scene, body: Ints, together: bool) -> Iterator[_Batch]:
    """Candidates by the shapes of their bodies; with `together` convex ones of many shapes at once."""
    kinds = scene.shape[body]
    rest = np.arange(len(body))
    if together:
        convex = ~scene.shapes.is_covered[kinds]
        few, which = np.unique(kinds[convex], return_inverse=True)
        if len(few) > _FEW_SHAPES:
            yield _Batch(rest[convex], None, tuple(scene.shapes.shape(int(k)) for k in few), which.reshape(-1))
            rest = rest[~convex]
    for group in equal_rows(kinds[rest]):
        yield _Batch(rest[group], scene.shapes.shape(int(kinds[rest[group[0]]])))


def _rounds(row: Ints, body: Ints, bound: Floats, best: Floats, ask: Callable[[Ints], None]) -> None:
    """Candidates of each row by their bounds, 1, 2, 4, ... of them at a time, as long as a bound does not exceed best[row],
    which `ask` lowers."""
    if len(row) <= _AT_ONCE:
        if len(row):
            ask(np.flatnonzero(bound <= best[row]))
        return
    order = np.lexsort([body, bound, row])
    row, bound = row[order], bound[order]
    first = np.flatnonzero(np.diff(row, prepend=-1))
    place = np.arange(len(row)) - np.repeat(first, np.diff(first, append=len(row)))
    low, high, most = 0, 1, int(place.max())
    while low <= most:
        chosen = order[(place >= low) & (place < high) & (bound <= best[row])]
        if len(chosen):
            ask(chosen)
        low, high = high, 3 * high - 2 * low


def _firsts(row: Ints, body: Ints, value: Floats) -> Ints:
    """Of the candidates of each row the one of the least value; of equal ones the lowest body."""
    order = np.lexsort([body, value, row])
    return order[np.flatnonzero(np.diff(row[order], prepend=-1))]


def _beats(value: Floats, body: Ints, best: Floats, holder: Ints) -> Bools:
    """(M,) which candidates take the place of what their rows have."""
    return (value < best) | ((value == best) & (value < np.inf) & (body < holder))


# Overlaps ----------------------------------------------------------------------------------------------------------------


def overlapping(scene: Scene, tree: BodyTree, asked: Asked, shape: Shape, poses: Floats) -> tuple[Ints, Ints]:
    """(M,) poses and (M,) bodies that meet there, sorted."""
    places, body = boxes_in_tree(tree.arrays, _probe_boxes(shape, poses, scene.threads), scene.threads)
    row = np.repeat(np.arange(len(poses)), np.diff(places))
    keep = asked.keeps(row, body)
    row, body = row[keep], body[keep]
    scene.stats.narrow_tested += len(row)
    hit = np.zeros(len(row), np.bool_)
    for batch in _batches(scene, body, shape.family in PACKED):
        rows_a, rows_b = poses[row[batch.chosen]], scene.poses[body[batch.chosen]]
        if batch.shape is None:
            packed, pairs = batch.packed(shape)
            hit[batch.chosen] = dispatch.intersects(packed, pairs, rows_a, rows_b, 0, len(pairs), threads=scene.threads)
        else:
            count = len(batch.chosen)
            hit[batch.chosen] = ask_pair("intersects", shape, batch.shape, rows_a, rows_b, count, threads=scene.threads)
    row, body = row[hit], body[hit]
    order = np.lexsort([body, row])
    return row[order], body[order]


# Casts -------------------------------------------------------------------------------------------------------------------


def no_casts(count: int) -> WorldCasts:
    """Misses."""
    none = no_impacts(count)
    return WorldCasts(np.full(count, -1), none.time, none.point, none.normal, none.status, none.depth)


def first_impacts(
    scene: Scene, tree: BodyTree, asked: Asked, shape: Shape, poses: Floats, motions: Floats, out: WorldCasts
) -> None:
    """The first bodies that a shape meets on its ways, (N, 3) or (N, 6), into rows of misses; `handle` is the row."""
    count = len(out.handle)
    moves = np.zeros((count, 6))
    moves[:, : motions.shape[1]] = motions
    poses = np.ascontiguousarray(np.broadcast_to(poses, (count, 12)))
    boxes = _sweep_boxes(scene, tree, shape, poses, moves)
    row, body, entry = bodies_on_the_way(tree, boxes, np.ascontiguousarray(moves[:, :3]), scene.threads)
    keep = asked.keeps(row, body)
    row, body, entry = row[keep], body[keep], entry[keep]

    def ask(chosen: Ints) -> None:
        scene.stats.narrow_tested += len(chosen)
        found = _cast_rows(scene, shape, poses, moves, row[chosen], body[chosen])
        hit = np.flatnonzero(found.time <= 1.0)
        hit = hit[_firsts(row[chosen[hit]], body[chosen[hit]], found.time[hit])]
        at, who = row[chosen[hit]], body[chosen[hit]]
        better = _beats(found.time[hit], who, out.time[at], out.handle[at])
        hit, at = hit[better], at[better]
        out.handle[at] = who[better]
        for name in ("time", "point", "normal", "status"):
            getattr(out, name)[at] = getattr(found, name)[hit]

    _rounds(row, body, entry, out.time, ask)
    _put_start_depths(scene, shape, poses, out)


def _cast_rows(scene: Scene, shape: Shape, poses: Floats, moves: Floats, row: Ints, body: Ints) -> Impacts:
    """First contacts of candidates, without the depths of those that overlap at the start."""
    out = no_impacts(len(row))
    still = np.zeros((1, 3))
    for batch in _batches(scene, body, shape.family in PACKED):
        at = row[batch.chosen]
        rows_a, rows_b, count = poses[at], scene.poses[body[batch.chosen]], len(at)
        if batch.shape is None:
            packed, pairs = batch.packed(shape)
            part = cast_packed(packed, pairs, rows_a, rows_b, moves[at], still, count, scene.threads, depths=False)
        else:
            part = ask_cast(shape, batch.shape, rows_a, rows_b, moves[at], still, count, scene.threads, depths=False)
        put_rows(out, batch.chosen, part)
    return out


def _put_start_depths(scene: Scene, shape: Shape, poses: Floats, out: WorldCasts) -> None:
    """Normals and depths of rows that overlap their bodies at the start."""
    started = overlapping_rows(out)
    body = out.handle[started]
    for batch in _batches(scene, body, shape.family in PACKED):
        rows_b, count = scene.poses[body[batch.chosen]], len(batch.chosen)

        def signed(rows: Ints, batch: _Batch = batch, rows_b: Floats = rows_b, count: int = count) -> Distances:
            if batch.shape is None:
                packed, pairs = batch.packed(shape)
                return dispatch.distance(packed, pairs, poses[rows], rows_b, 0, count, signed=True, threads=scene.threads)
            options = {"reach": np.inf, "threads": scene.threads}
            return ask_pair("signed_distance", shape, batch.shape, poses[rows], rows_b, count, **options)

        put_depths(out, started[batch.chosen], signed)


# Points ------------------------------------------------------------------------------------------------------------------


def no_closest(count: int) -> WorldClosestPoints:
    """Misses."""
    return WorldClosestPoints(np.full(count, -1), np.full(count, np.inf), np.zeros((count, 3)), np.full(count, -1))


def nearest(
    scene: Scene, tree: BodyTree, asked: Asked, points: Floats, reach: Floats, signed: bool, out: WorldClosestPoints
) -> None:
    """The bodies' nearest points of their surfaces within reach, into rows of misses; `handle` is the row."""

    def ask(row: Ints, body: Ints) -> None:
        scene.stats.narrow_tested += len(row)
        found = _closest_rows(scene, points[row], body, signed)
        near = np.flatnonzero(found.distance <= reach[row])
        near = near[_firsts(row[near], body[near], found.distance[near])]
        at, who = row[near], body[near]
        better = _beats(found.distance[near], who, out.distance[at], out.handle[at])
        near, at = near[better], at[better]
        out.handle[at] = who[better]
        for name in ("distance", "point", "triangle"):
            getattr(out, name)[at] = getattr(found, name)[near]

    # The body of the nearest box first; what it says bounds the others.
    first = body_of_nearest_box(tree, points, reach, asked.seen, asked.ignored, signed, scene.threads)
    row = np.flatnonzero(first >= 0)
    ask(row, first[row])
    limit = np.where(first >= 0, np.minimum(out.distance, reach), -np.inf)
    row, body, gap = bodies_near(tree, points, limit, signed, scene.threads)
    keep = asked.keeps(row, body) & (body != first[row])
    row, body, gap = row[keep], body[keep], gap[keep]
    _rounds(row, body, gap, out.distance, lambda chosen: ask(row[chosen], body[chosen]))


def _closest_rows(scene: Scene, points: Floats, body: Ints, signed: bool) -> ClosestPoints:
    """Closest points of candidates."""
    count = len(body)
    out = ClosestPoints(np.empty(count), np.empty((count, 3)), np.empty(count, np.int64))
    for batch in _batches(scene, body, True):
        where, rows = points[batch.chosen], scene.poses[body[batch.chosen]]
        if batch.shape is None:
            part = closest_of_many(batch.shapes, batch.which, where, rows, signed, scene.threads)
        else:
            part = _closest_of(batch.shape, where, rows, signed, scene.threads)
        put_rows(out, batch.chosen, part)
    return out


def _closest_of(shape: Shape, points: Floats, rows: Floats, signed: bool, threads: int | None) -> ClosestPoints:
    """As `thud.closest_point`; what has no inside is asked for the plain distance, in a compound too."""
    own = leaves(shape)
    if signed and not all(leaf.is_solid for leaf, _ in own):
        count = len(points)
        found = [
            ask_shape(
                "closest_point", leaf, points, rows=placed(rows, inner), count=count, signed=leaf.is_solid, threads=threads
            )
            for leaf, inner in own
        ]
        return nearest_leaf(found, {}) if shape.family in COMPOUND else found[0]
    return ask_shape("closest_point", shape, points, rows=rows, count=len(points), signed=signed, threads=threads)


# Rays --------------------------------------------------------------------------------------------------------------------


def no_crossings() -> WorldRayCrossings:
    """None at all."""
    none = np.empty(0, np.int64)
    return WorldRayCrossings(none, none.copy(), np.empty(0), np.empty((0, 3)), np.empty((0, 3)), none.copy())


def all_crossings(
    scene: Scene, tree: BodyTree, asked: Asked, origins: Floats, directions: Floats, reach: Floats
) -> WorldRayCrossings:
    """All crossings of rays, directions of unit length, with the bodies, each as far as it reaches; `handle` is the row."""
    places, body, _ = rays_in_tree(tree.arrays, origins, directions, reach, scene.threads)
    row = np.repeat(np.arange(len(origins)), np.diff(places))
    keep = asked.keeps(row, body)
    row, body = row[keep], body[keep]
    scene.stats.narrow_tested += len(row)
    parts = [no_crossings()]
    for batch in _batches(scene, body, True):
        at, who = row[batch.chosen], body[batch.chosen]
        rays, limit = (origins[at], directions[at]), float(reach[at].max())
        if batch.shape is None:
            found = crossings_of_many(batch.shapes, batch.which, *rays, scene.poses[who], limit, scene.threads)
        else:
            options: dict[str, Any] = {"reach": limit, "threads": scene.threads}
            found = ask_shape("raycast_all", batch.shape, *rays, rows=scene.poses[who], count=len(at), **options)
        near = np.flatnonzero(found.distance <= reach[at[found.row]])
        ray = found.row[near]
        parts.append(
            WorldRayCrossings(
                at[ray], who[ray], found.distance[near], found.point[near], found.normal[near], found.triangle[near]
            )
        )
    names = ("row", "handle", "distance", "point", "normal", "triangle")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    order = np.lexsort([columns["triangle"], columns["handle"], columns["distance"], columns["row"]])
    return WorldRayCrossings(**{name: column[order] for name, column in columns.items()})
