"""Copies out of a crowd and back into it, with all that steps know of them: what a copy does next is the same to the last bit.

Tables whose length differs from copy to copy (pairs, points of contact, joints) hold their rows copy by copy, so that those of
a copy are a run.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from thud._core.arrays import Ints
from thud.world.batch.crowd import BODY_COLUMNS, JOINT_COLUMNS, Crowd, joints_like, own_shapes
from thud.world.bodies import Bodies
from thud.world.body_rows import ROW_MASK
from thud.world.contact_records import ContactRecords, Elsewhere, PointList
from thud.world.contact_rows import ELSEWHERE, PairRecords
from thud.world.events import PairTouches
from thud.world.sleeping import _signs
from thud.world.step import Moments
from thud.world.step_contacts import StepContacts
from thud.world.world import World

#: What shifts both rows of a key of a pair by one.
_BOTH = np.uint64(2**32 + 1)


def _runs(copy: Ints, copies: int, which: Ints) -> tuple[Ints, Ints]:
    """Rows of the copies `which` of a table whose rows belong to `copy`, ascending; and by how many copies each row moves on:
    from which[n] to n."""
    start = np.searchsorted(copy, np.arange(copies + 1))
    count = np.diff(start)[which]
    ends = np.cumsum(count)
    rows = np.repeat(start[which] - (ends - count), count) + np.arange(int(ends[-1]) if len(ends) else 0)
    return rows, np.repeat(np.arange(len(which)) - which, count)


def _within(first: Ints, count: Ints) -> Ints:
    """first[k], first[k] + 1, ... of each, count[k] of them."""
    ends = np.cumsum(count)
    return np.repeat(first - (ends - count), count) + np.arange(int(ends[-1]) if len(ends) else 0)


def _pick_pairs(pairs: PairRecords, elsewhere: Elsewhere, rows: Ints, shift: Ints) -> tuple[PairRecords, Elsewhere]:
    """Rows of the records of pairs, with their points."""
    fresh = PairRecords._make([*(np.ascontiguousarray(column[rows]) for column in pairs[:8]), pairs.points, pairs.features])
    fresh = fresh._replace(keys=fresh.keys + shift.astype(np.uint64) * _BOTH, bits=fresh.frames.view(np.int64))
    away = fresh.how >= ELSEWHERE
    sources = []
    for mine in (~away, away):
        count = np.where(mine, fresh.counts, 0)[mine]
        sources.append(_within(fresh.places[mine], count))
        fresh.places[mine] = np.cumsum(count) - count
    near, far = sources
    fresh = fresh._replace(points=pairs.points[near], features=pairs.features[near])
    return fresh, Elsewhere(elsewhere.reals[far], elsewhere.ints[far])


def _join_pairs(crowd: Crowd, other: Crowd, shift: int) -> tuple[PairRecords, Elsewhere]:
    """Records of two crowds one behind the other, the rows of the second moved on."""
    a, b = crowd._records, other._records
    places = b.pairs.places + np.where(b.pairs.how >= ELSEWHERE, len(a.elsewhere.ints), len(a.pairs.features))
    second = b.pairs._replace(keys=b.pairs.keys + np.uint64(shift) * _BOTH, places=places)
    joined = PairRecords._make(np.concatenate([x, y]) for x, y in zip(a.pairs, second, strict=True))
    reals = np.concatenate([a.elsewhere.reals, b.elsewhere.reals])
    return joined, Elsewhere(reals, np.concatenate([a.elsewhere.ints, b.elsewhere.ints]))


def _pair_copies(pairs: PairRecords, size: int) -> Ints:
    return (pairs.keys >> np.uint64(32)).astype(np.int64) // size


def _moved_touches(touches: PairTouches, rows: Ints, shift: Ints) -> PairTouches:
    picked = PairTouches._make(np.ascontiguousarray(column[rows]) for column in touches)
    return picked._replace(pairs=picked.pairs + shift[:, None])


def _pick_contacts(contacts: StepContacts, rows: Ints, shift: Ints) -> StepContacts:
    picked = StepContacts(*(np.ascontiguousarray(getattr(contacts, field.name)[rows]) for field in fields(StepContacts)))
    picked.handle_a, picked.handle_b = picked.handle_a + shift, picked.handle_b + shift
    return picked


def gather(crowd: Crowd, which: Ints) -> Crowd:
    """A crowd of the copies `which`, (M,) in any order, each as often as it is named."""
    size = crowd.size
    made = Crowd(crowd, len(which), size)
    made._shapes, made.numbers = crowd._shapes, crowd.numbers[which]
    made.set_hook(crowd.hook)
    rows = (which[:, None] * size + np.arange(size)).ravel()
    bodies = Bodies()
    for name in BODY_COLUMNS:
        setattr(bodies, name, getattr(crowd._bodies, name)[rows])
    bodies.used, bodies.clock = len(rows), crowd._bodies.clock
    made._bodies = bodies
    made.times, made.substeps, made.resting = crowd.times[which], crowd.substeps[which], crowd.resting[which]
    chosen, shift = _runs(crowd.joint_copies(), crowd.copies, which)
    made._joints = joints_like(crowd._joints, chosen, shift * size)
    if crowd._moments is not None:
        whole = np.append(rows, len(crowd._moments.inertia) - 1)
        known = crowd._moments
        made._moments = Moments(
            known.given[rows], known.inertia[whole], known.inverse[whole], known.axes[whole], known.moments[whole]
        )
    if len(crowd._islands):
        island, way = crowd._islands[rows], np.repeat(np.arange(len(which)) - which, size) * size
        made._islands = np.where(island >= 0, island + way, -1)
    made._candidates = crowd._candidates
    _gather_records(crowd, which, made)
    chosen, shift = _runs(crowd.copy_of(crowd._step_contacts.handle_a), crowd.copies, which)
    made._step_contacts = _pick_contacts(crowd._step_contacts, chosen, shift * size)
    return made


def _gather_records(crowd: Crowd, which: Ints, made: Crowd) -> None:
    old, size = crowd._records, crowd.size
    records = made._records = ContactRecords(width=old.width, limit=old.limit)
    chosen, shift = _runs(_pair_copies(old.pairs, size), crowd.copies, which)
    records.pairs, records.elsewhere = _pick_pairs(old.pairs, old.elsewhere, chosen, shift * size)
    for name in ("touches", "touches_before"):
        touches = getattr(old, name)
        chosen, shift = _runs(crowd.copy_of(touches.pairs[:, 0]), crowd.copies, which)
        setattr(records, name, _moved_touches(touches, chosen, shift * size))
    points = old.points
    chosen, shift = _runs(crowd.copy_of(points.pairs[:, 0]), crowd.copies, which)
    length = points.length[chosen]
    own = _within(points.start[chosen], length)
    records.points = PointList(
        points.pairs[chosen] + (shift * size)[:, None], np.cumsum(length) - length, length, points.feature[own]
    )
    records.columns = old.columns[own] if old.width else np.empty((0, 0))


def put(crowd: Crowd, copies: Ints, other: Crowd) -> None:
    """Write the copies of another crowd, in order, over `copies`, (M,) that differ, of this one."""
    size, many = crowd.size, crowd.copies
    rows = (copies[:, None] * size + np.arange(size)).ravel()
    for name in BODY_COLUMNS:
        getattr(crowd._bodies, name)[rows] = getattr(other._bodies, name)[: len(rows)]
    crowd._bodies.clock += 1
    crowd._tree = None
    for name in ("times", "substeps", "resting"):
        getattr(crowd, name)[copies] = getattr(other, name)
    before, now = other._gravity_before, crowd._gravity_before
    if before is not None and now is not None and not np.array_equal(before, now):
        # What sleeps under another gravity wakes, as it does in a world whose gravity changes.
        crowd._bodies.asleep[rows], crowd._bodies.calm[rows] = False, 0.0
        crowd.resting[copies] = False
    if crowd._moments is not None:
        given = crowd._bodies.inertia[rows]
        if not np.array_equal(crowd._moments.given[rows], given, equal_nan=True):
            crowd._moments = None
    # Rows of both, one behind the other; then those that count, copy by copy.
    which = np.arange(many)
    which[copies] = many + np.arange(len(copies))
    shift = many * size
    _put_joints(crowd, other, which, shift)
    if not len(crowd._islands):
        crowd._islands = np.full(shift, -1)
    fresh = other._islands if len(other._islands) else np.full(len(rows), -1)
    crowd._islands[rows] = np.where(fresh >= 0, fresh + np.repeat(copies - np.arange(len(copies)), size) * size, -1)
    _put_records(crowd, other, which, shift)
    both = StepContacts(
        *(
            np.concatenate([getattr(crowd._step_contacts, field.name), getattr(other._step_contacts, field.name)])
            for field in fields(StepContacts)
        )
    )
    mine = len(crowd._step_contacts.depth)
    both.handle_a[mine:] += shift
    both.handle_b[mine:] += shift
    chosen, way = _runs(crowd.copy_of(both.handle_a), many + len(copies), which)
    crowd._step_contacts = _pick_contacts(both, chosen, way * size)


def _put_joints(crowd: Crowd, other: Crowd, which: Ints, shift: int) -> None:
    if not len(crowd._joints) and not len(other._joints):
        return
    same = np.array_equal(
        crowd._joints.handle, np.tile(crowd._joints.handle[: len(other._joints) // other.copies], crowd.copies)
    )
    second = joints_like(other._joints, np.arange(len(other._joints)), np.full(len(other._joints), shift))
    counts = len(crowd._joints), len(other._joints)
    for name in JOINT_COLUMNS:
        setattr(second, name, np.concatenate([getattr(crowd._joints, name), getattr(second, name)]))
    copy = ((second.bodies.max(axis=1)) & ROW_MASK) // crowd.size
    chosen, way = _runs(copy, crowd.copies + other.copies, which)
    second.changes = crowd._joints.changes
    crowd._joints = joints_like(second, chosen, way * crowd.size)
    if not same or len(crowd._joints) != counts[0]:
        crowd._parted = None


def _put_records(crowd: Crowd, other: Crowd, which: Ints, shift: int) -> None:
    old, new, size, many = crowd._records, other._records, crowd.size, len(which) + other.copies
    width = max(old.width, new.width)
    if old.width < width:
        old.widen(width)
    # Steps have one limit; 0 before the first.
    old.limit = max(old.limit, new.limit)
    pairs, elsewhere = _join_pairs(crowd, other, shift)
    chosen, way = _runs(_pair_copies(pairs, size), many, which)
    old.pairs, old.elsewhere = _pick_pairs(pairs, elsewhere, chosen, way * size)
    for name in ("touches", "touches_before"):
        a, b = getattr(old, name), getattr(new, name)
        both = PairTouches._make(np.concatenate([x, y]) for x, y in zip(a, b._replace(pairs=b.pairs + shift), strict=True))
        chosen, way = _runs(crowd.copy_of(both.pairs[:, 0]), many, which)
        setattr(old, name, _moved_touches(both, chosen, way * size))
    first, second = old.points, new.points
    ends = np.concatenate([first.pairs, second.pairs + shift])
    start = np.concatenate([first.start, second.start + len(first.feature)])
    length, feature = np.concatenate([first.length, second.length]), np.concatenate([first.feature, second.feature])
    chosen, way = _runs(crowd.copy_of(ends[:, 0]), many, which)
    own, length = _within(start[chosen], length[chosen]), length[chosen]
    fresh = new.columns if new.width == width else np.zeros((len(second.feature), width))
    columns = np.concatenate([old.columns, fresh])
    old.points = PointList(ends[chosen] + (way * size)[:, None], np.cumsum(length) - length, length, feature[own])
    old.columns = columns[own] if old.width else np.empty((0, 0))


def world_of(crowd: Crowd, k: int, like: World) -> World:
    """Copy k as a world of its own. `like`: names of its bodies, and rows that are free."""
    one = gather(crowd, np.array([k]))
    made = World(
        like.broadphase, like.midphase, image=like.image, filter=like.filter, caches=like.caches, threads=crowd.threads,
        gravity=crowd.gravity, friction_rule=like.friction_rule, restitution_rule=like.restitution_rule,
        bounce_threshold=crowd.bounce_threshold, sleep_after=crowd.sleep_after,
    )  # fmt: skip
    made._bodies, made._shapes = one._bodies, own_shapes(crowd)
    made._bodies.names, made._bodies.free = dict(like._bodies.names), list(like._bodies.free)
    made._joints, made._records, made._step_contacts = one._joints, one._records, one._step_contacts
    made._islands, made.time, made._substep = one._islands, float(one.times[0]), float(one.substeps[0])
    made._gravity_before = None if crowd._gravity_before is None else crowd._gravity_before.copy()
    if one.resting[0]:
        made._update()
        made._resting = _signs(made)
    return made
