"""`Crowd`: N copies of a world in one table of bodies. Row k * B + i is row i of copy k; copies never meet.

It is a `World` to the phases that work pair by pair and row by row, whatever the number of rows: their answers do not depend on
the other rows. What looks at a world as a whole is done copy by copy (`crowd_rows.py`, `crowd_step.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.broadphase.boxes import FARTHEST, LAYER, MASK, STATIC
from thud.errors import InvalidInputError
from thud.world.batch.batch_results import BatchStepContacts, step_contacts_of
from thud.world.batch.crowd_rows import pairs_of_copies, widen_boxes
from thud.world.bodies import Bodies
from thud.world.body_rows import ROW_MASK
from thud.world.joint_table import WORLD, JointTable
from thud.world.shape_set import ShapeSet
from thud.world.sleeping import _signs
from thud.world.step_contacts import StepContacts
from thud.world.tolerances import REACH_SLACK
from thud.world.world import World

Hook = Callable[[BatchStepContacts], None]

#: Columns of the table of bodies.
BODY_COLUMNS = tuple(name for name, value in vars(Bodies()).items() if isinstance(value, np.ndarray))

#: Columns of the table of joints.
JOINT_COLUMNS = ("handle", "bodies", "kind", "frames", "reals", "impulses", "value", "load", "breaks", "collide")

#: Candidates of a copy's pairs (boxes tested) that are worth a hand-over to another thread: one takes about a nanosecond.
_TESTS = 20_000

#: Boxes that are worth one: 5 ns each.
_ROWS = 20_000


class Crowd(World):
    """See the module. Handles of its bodies are those of the world, plus k * B."""

    copies: int
    """N."""
    size: int
    """B, rows of a copy."""
    times: Floats
    """(N,) seconds that each copy has gone on by."""
    substeps: Floats
    """(N,) seconds of the last sub-step of each; 0 before the first."""
    resting: Bools
    """(N,) copies whose last step left all bodies asleep, and that nothing has touched since."""

    def __init__(self, world: World, copies: int, size: int) -> None:
        super().__init__(
            world.broadphase, world.midphase, image=world.image, caches=world.caches, threads=world.threads,
            gravity=world.gravity, friction_rule=world.friction_rule, restitution_rule=world.restitution_rule,
            bounce_threshold=world.bounce_threshold, sleep_after=world.sleep_after,
        )  # fmt: skip
        self.copies, self.size = copies, size
        self.user_filter: Any = world.user_filter if isinstance(world, Crowd) else world.filter
        self.times, self.substeps, self.resting = np.zeros(copies), np.zeros(copies), np.zeros(copies, np.bool_)
        self.numbers = np.arange(copies)
        """(N,) by which copies are named to others: a crowd may be a part of another."""
        self.hook: Hook | None = None
        self._candidates: Ints | None = None
        self._parted_by: Bools | None = None
        self._gravity_before = None if world._gravity_before is None else world._gravity_before.copy()

    @classmethod
    def of(cls, world: World, copies: int) -> Crowd:
        """So many copies of a world as it is now."""
        from thud.world.batch.crowd_parts import gather

        one = cls(world, 1, world._bodies.used)
        one._shapes = own_shapes(world)
        _share(world, one)
        one.times[0], one.substeps[0] = world.time, world._substep
        calm = not world._bodies.moved[: world._bodies.used].any()
        one.resting[0] = world._resting is not None and calm and world._resting == _signs(world)
        made = gather(one, np.zeros(copies, np.int64))
        made.numbers = np.arange(copies)
        return made

    def set_hook(self, hook: Hook | None) -> None:
        """What is called with the contacts of each step, before they are solved."""
        self.hook = hook
        self.contact_hook = None if hook is None else self._call_hook

    def _call_hook(self, contacts: StepContacts) -> None:
        assert self.hook is not None
        a, b = contacts.handle_a, contacts.handle_b
        shown = step_contacts_of(contacts, self.local(a), self.local(b), self.numbers[self.copy_of(a)])
        self.hook(shown)
        for name in ("normal", "depth", "friction", "restitution", "surface_velocity", "keep"):
            setattr(contacts, name, getattr(shown, name))

    def copy_of(self, handles: Ints) -> Ints:
        """Copies of handles, or of rows."""
        return (handles & ROW_MASK) // self.size

    def _in_copies_of(self, rows: Ints) -> Bools:
        chosen = np.zeros(self.copies, np.bool_)
        chosen[rows // self.size] = True
        return np.repeat(chosen, self.size)

    def _with_sleepers(self) -> Bools:
        return np.repeat(self.by_copy(self._bodies.asleep).any(axis=1), self.size)

    def _disturb(self, rows: Ints) -> None:
        uneasy = rows[self._with_sleepers()[rows]]
        super()._disturb(rows)
        self.resting[uneasy // self.size] = False

    def _copies_of(self, rows: Ints) -> Ints:
        return rows // self.size

    def local(self, handles: Ints) -> Ints:
        """Handles as the world has them, of handles of the crowd."""
        found: Ints = handles - self.copy_of(handles) * self.size
        return found

    def by_copy(self, column: Any) -> Any:
        """(N, B, ...) of N * B rows."""
        return column[: self.copies * self.size].reshape(self.copies, self.size, *column.shape[1:])

    def joint_copies(self) -> Ints:
        """(J,) the copy of each joint."""
        return self.copy_of(self._joints.bodies.max(axis=1)) if len(self._joints) else np.empty(0, np.int64)

    def set_mass(self, handles: npt.ArrayLike, mass: npt.ArrayLike | None) -> None:
        """As of a world."""
        super().set_mass(handles, mass)
        self._moments = None

    # Who may meet whom

    def _may_meet(self) -> Ints:
        """(C, 2) rows within a copy that the rules let meet, sorted. All copies have the rules of the first."""
        if self._candidates is None:
            rules = self._bodies.rules[: self.size]
            low, high = np.triu_indices(self.size, 1)
            layer, mask, static = rules[:, LAYER], rules[:, MASK], rules[:, STATIC] != 0
            allowed = (layer[low] & mask[high] != 0) & (layer[high] & mask[low] != 0) & ~(static[low] & static[high])
            alive = self._bodies.alive[: self.size]
            chosen = allowed & alive[low] & alive[high]
            self._candidates = np.ascontiguousarray(np.stack([low[chosen], high[chosen]], axis=1).astype(np.int64))
        return self._candidates

    def _parted_pairs(self) -> Bools:
        """(N, C) pairs that a joint keeps from colliding; (1, C) if they are the same in all copies."""
        if self._parted_by is None or self._parted is None:
            rows = self._may_meet()
            keys = (rows[:, 0] << 32) | rows[:, 1]
            parted = self._parted = self._joints.parted_pairs()
            copies = (parted >> 32) // self.size
            own = parted - copies * self.size * (2**32 + 1)
            found = np.zeros((self.copies, len(keys)), np.bool_)
            place = np.searchsorted(keys, own)
            known = place < len(keys)
            known[known] = keys[place[known]] == own[known]
            found[copies[known], place[known]] = True
            self._parted_by = found[:1].copy() if (found == found[:1]).all() else found
        return self._parted_by

    def _copy_pairs(self, bounds: Floats) -> Ints:
        """(M, 2) rows whose boxes overlap, sorted, within copies; through the user's filter."""
        rows, parted = self._may_meet(), self._parted_pairs()
        starts = np.zeros(self.copies + 1, np.int64)
        chunk = max(1, _TESTS // max(len(rows), 1))
        none = np.empty((0, 2), np.int64)
        for fill in (0, 1):
            out = none if not fill else np.empty((int(starts[-1]), 2), np.int64)
            run_rows(
                pairs_of_copies, self.copies, self.threads, self.size, bounds, rows, parted, fill, starts, out,
                rows_per_chunk=chunk,
            )  # fmt: skip
            if not fill:
                np.cumsum(starts, out=starts)
        if self.user_filter is None or not len(out):
            return out
        a, b = (self.local(self._bodies.handles(out[:, side])) for side in range(2))
        keep = np.asarray(self.user_filter(a, b))
        if keep.shape != (len(out),) or keep.dtype != np.bool_:
            raise InvalidInputError(f"filter: expected it to return ({len(out)},) bool, got {keep.dtype} of shape {keep.shape}")
        return np.ascontiguousarray(out[keep])

    def _pairs_within(self, reach: float | Floats) -> Ints:
        self._update()
        with self.stats.phase("broad"):
            used = self._bodies.used
            bounds, more = np.empty((used, 6)), np.array(np.broadcast_to(np.asarray(reach) * REACH_SLACK, used))
            run_rows(
                widen_boxes, used, self.threads, self._bodies.bounds, more, FARTHEST, bounds, rows_per_chunk=_ROWS
            )  # fmt: skip
            found = self._copy_pairs(bounds)
        self.stats.broad_pairs = len(found)
        return found

    def _broad_pairs(self) -> Ints:
        boxes = self._boxes()
        with self.stats.phase("broad"):
            found = self._copy_pairs(boxes.bounds)
        self.stats.broad_pairs = len(found)
        return found

    def _swept_pairs(self, bounds: Floats) -> Ints:
        return self._copy_pairs(bounds)


def own_shapes(world: World) -> ShapeSet:
    """The shapes of a world, in a set that does not change with it."""
    shapes = world._shapes
    found = ShapeSet(shapes._covers)
    found.restore(shapes.shapes, shapes.users, shapes.free_indices())
    return found


def _share(world: World, one: Crowd) -> None:
    """Give a crowd of one copy what a world has. Nothing is written to through it: it is copied on."""
    used = world._bodies.used
    for name in BODY_COLUMNS:
        setattr(one._bodies, name, getattr(world._bodies, name)[:used])
    one._bodies.used, one._bodies.clock = used, world._bodies.clock
    one._joints = world._joints
    one._records, one._step_contacts = replace(world._records), world._step_contacts
    if not one._records.of_step:
        # Those of `World.contacts` are of no use to steps.
        one._records.limit = 0
        one._records.forget_pairs()
    one._islands, one.broken, one.lost = world._islands, world.broken, world.lost


def joints_like(table: JointTable, rows: Ints, shift: Ints) -> JointTable:
    """Rows of a table of joints, the handles of their bodies moved on."""
    made = JointTable()
    made.next, made.changes = table.next, table.changes
    for name in JOINT_COLUMNS:
        setattr(made, name, np.ascontiguousarray(getattr(table, name)[rows]))
    made.bodies = np.where(made.bodies == WORLD, WORLD, made.bodies + shift[:, None])
    return made
