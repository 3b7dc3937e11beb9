"""From pairs of bodies whose boxes overlap to `WorldContacts`, with what is kept from the last call (`contact_rows.py`).

Pairs of plain convex shapes go straight to their contacts, with no boolean query before. Pairs with a compound, a mesh or a
surface are asked in batches of the same two shapes, those with meshes and surfaces after the mid phase; while neither body
changes, the last answer is theirs. While no body at all changes, the records stand as they are and are only turned into the
world. `follow_contacts` is the same for a step, in which contacts also follow bodies that hardly move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.status import SEPARATED
from thud._core.threads import run_rows
from thud.results import WorldContacts
from thud.world import contact_records, narrow
from thud.world.contact_records import NOTHING_ELSEWHERE, Elsewhere, new_columns
from thud.world.contact_rows import (
    ASKED,
    ELSEWHERE,
    ELSEWHERE_FOLLOWED,
    ELSEWHERE_KEPT,
    FOLLOWED,
    KEPT,
    MARGIN,
    PARTED,
    PairRecords,
    PairScene,
    Reaches,
    find_records,
    list_touching,
    pack_points,
    place_elsewhere,
    place_records,
)
from thud.world.events import touches_of

if TYPE_CHECKING:
    from thud.world.world import World

#: Pairs, and pairs that touch, that are worth a hand-over to another thread: one takes about 0.5 us, and 0.1 us to be placed.
_FIND_CHUNK, _PLACE_CHUNK = 256, 1024


def find_contacts(world: World, margin: float, limit: int) -> WorldContacts:
    """See `World.contacts`."""
    records, bodies = world._records, world._bodies
    world._update()
    if not world.caches:
        records.forget_pairs()
    asked, before = (margin, limit, bodies.clock, world._current_rules()), records.key
    stands = before is not None and before[:3] == asked[:3] and before[3] is asked[3]
    # A user's filter may change its mind.
    if not stands or world.filter is not None:
        pairs = world._broad_pairs() if margin == 0.0 else world._pairs_within(0.5 * margin)
        _renew(world, pairs, Reaches.alike(bodies.used, margin), False, limit)
        records.key = asked
    else:
        world.stats.broad_pairs = world.stats.kept_pairs = len(records.pairs.keys)
    with world.stats.phase("place"):
        return _placed(world)


def follow_contacts(world: World, reaches: Reaches, limit: int) -> WorldContacts:
    """Contacts of bodies that may meet in a step. Those of bodies that have moved by less than a part of their sizes are not
    found anew."""
    records = world._records
    if not world.caches:
        records.forget_pairs()
    _renew(world, world._pairs_within(reaches.reach), reaches, True, limit)
    records.key = None
    with world.stats.phase("place"):
        return _placed(world)


def _renew(world: World, pairs: Ints, reaches: Reaches, follow: bool, limit: int) -> None:
    """Records of these pairs. `follow`: contacts may follow their bodies."""
    records, bodies, stats = world._records, world._bodies, world.stats
    packed, shape_rows = world._shapes.packed()
    out = records.room(len(pairs), limit)
    if len(pairs) and packed is not None:
        used = bodies.used
        scene = PairScene(
            packed, shape_rows, world._shapes.is_covered, bodies.shape[:used], bodies.poses[:used], bodies.revision[:used],
            *reaches, records.elsewhere.reals,
        )  # fmt: skip
        with stats.phase("narrow"):
            # Those of a step and those of `contacts` are of no use to each other.
            same = records.limit == limit and records.of_step == follow
            out = _find(scene, pairs, records.pairs, same, follow, limit, out, world.threads)
            many = np.bincount(out.how, minlength=7)
        stats.narrow_tested += int(many[ASKED])
        stats.kept_axes += int(many[PARTED])
        stats.kept_pairs += int(many[KEPT] + many[FOLLOWED] + many[ELSEWHERE_KEPT] + many[ELSEWHERE_FOLLOWED])
        records.elsewhere = _elsewhere(world, pairs, follow, limit, out) if many[ELSEWHERE:].any() else NOTHING_ELSEWHERE
    records.keep_pairs(out, limit)


def _find(
    scene: PairScene,
    pairs: Ints,
    old: PairRecords,
    same: bool,
    follow: bool,
    limit: int,
    out: PairRecords,
    threads: int | None,
) -> PairRecords:
    """Records of the pairs, in `out`; more than BLOCK of them block by block, the points of each without room between them."""
    block, points, features, total = contact_records.BLOCK, [], [], 0
    for first in range(0, len(pairs), block):
        part = out
        if len(pairs) > block:
            part = PairRecords._make([*(column[first : first + block] for column in out[:8]), out.points, out.features])
        arguments = (scene, pairs[first : first + block], old, int(same), int(follow), limit, part)
        run_rows(find_records, len(part.keys), threads, *arguments, rows_per_chunk=_FIND_CHUNK)
        if part is out:
            return out
        most = int(part.counts.sum())
        points.append(np.empty((most, 4)))
        features.append(np.empty(most, np.int64))
        count = pack_points(part, total, points[-1], features[-1])
        points[-1], features[-1] = points[-1][:count], features[-1][:count]
        total += count
    return out._replace(points=np.concatenate(points), features=np.concatenate(features))


def _elsewhere(world: World, pairs: Ints, follow: bool, limit: int, out: PairRecords) -> Elsewhere:
    """Contacts of the pairs that the kernel left, those that changed asked anew. Writes their counts, places and status."""
    scene, stats = world._scene(), world.stats
    rows = np.flatnonzero(out.how >= ELSEWHERE)
    ask = rows[out.how[rows] == ELSEWHERE]
    out.status[ask] = SEPARATED
    margin = float(out.frames[ask, MARGIN].max(initial=0.0))
    if margin == 0.0 and len(ask):
        meets = np.ones(len(ask), np.bool_)
        covered = np.flatnonzero(scene.with_cover(pairs[ask]))
        if len(covered):
            axes = world._records.axes if world.caches else None
            every = np.ones(len(covered), np.bool_)
            meets[covered] = narrow.mid_phase(scene, pairs[ask[covered]], every, axes, world.midphase)
        ask = ask[meets]
        stats.narrow_tested += len(ask)
    elif len(ask):
        stats.narrow_tested += len(ask)
    old = world._records.elsewhere
    reals, ints, total = [old.reals], [old.ints], len(old.ints)
    with stats.phase("narrow"):
        groups = _by_margin(ask, out.frames[ask, MARGIN]) if follow else [(ask, margin)] if len(ask) else []
        for part, reach in groups:
            found = narrow.contacts(scene, pairs[part], reach, limit, nearest=follow)
            fresh = Elsewhere.of(found)
            counts = np.bincount(found.row, minlength=len(part))
            out.counts[part], out.status[part] = counts, found.status
            out.places[part] = total + np.cumsum(counts) - counts
            reals.append(fresh.reals)
            ints.append(fresh.ints)
            total += len(fresh.ints)
        # In the order of the pairs, of old and new ones.
        counts = out.counts[rows]
        if world.caches:
            world._records.axes.keep_met(pairs[rows[counts > 0]])
        starts = np.cumsum(counts) - counts
        out.places[rows[counts == 0]] = 0
        source = np.repeat(out.places[rows] - starts, counts) + np.arange(int(counts.sum()))
        out.places[rows] = starts
        return Elsewhere(np.concatenate(reals)[source], np.concatenate(ints)[source])


def _by_margin(rows: Ints, margins: Floats) -> list[tuple[Ints, float]]:
    """Rows that are looked for about as far in a step, two groups to a factor of 2: the triangles within reach grow with it.
    A group is looked for as far as any of it may be, so that what is found for a pair does not depend on who else is asked."""
    mantissa, exponent = np.frexp(margins)
    steps = np.where(mantissa > 0.75, 1.0, np.where(mantissa > 0.5, 0.75, mantissa))
    bounds = np.ldexp(steps, exponent)
    return [(rows[bounds == bound], bound) for bound in np.unique(bounds).tolist()]


def _placed(world: World) -> WorldContacts:
    """The records that have contacts, in the world."""
    records, bodies, threads = world._records, world._bodies, world.threads
    pairs, elsewhere = records.pairs, records.elsewhere
    which, starts = np.empty(len(pairs.counts), np.int64), np.empty(len(pairs.counts) + 1, np.int64)
    touching = list_touching(pairs.counts, which, starts)
    found = new_columns(int(starts[touching]), touching)
    poses = bodies.poses
    run_rows(
        place_records, touching, threads, poses, bodies.generation, bodies.sensor, pairs, which, starts, found,
        rows_per_chunk=_PLACE_CHUNK,
    )  # fmt: skip
    if len(elsewhere.ints):
        place_elsewhere(poses, pairs, which, starts, touching, elsewhere.reals, elsewhere.ints, found)
    world.stats.hits = touching
    records.renew(found, touches_of(found, poses, bodies.velocity, bodies.angular_velocity, threads), threads)
    return WorldContacts(*found)
