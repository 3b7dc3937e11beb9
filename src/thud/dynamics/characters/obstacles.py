"""All that is in reach of N characters, of whatever a world holds."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.dynamics.characters.solids import Solid, solids_of
from thud.dynamics.characters.tolerances import SLAB
from thud.dynamics.characters.types import BODY, FIRST, PART, RUN_INTS, SOLID, STOP, Obstacles
from thud.pairing.families import TERRAIN
from thud.pairing.groups import equal_rows
from thud.pairing.leaves import placed
from thud.shapes.ellipsoid import Ellipsoid
from thud.shapes.packed import Parts, pack_now
from thud.shapes.shape import IDENTITY, Shape

#: Part 0 of the packed shapes: the character, whose radii each row writes. Three unequal ones, so that it is no sphere.
_PLACEHOLDER = Ellipsoid((1.0, 2.0, 3.0))
_NO_PARTS = pack_now((_PLACEHOLDER,)).parts

#: Runs that are worth a hand-over to another thread.
_CHUNK = 256


class NearBodies(NamedTuple):
    """Bodies that N characters may meet: B of them, in M pairs of a character and a body, sorted by character."""

    row: Ints
    body: Ints
    """(M,) character, and place of the body in what follows."""
    handles: Ints
    """(B,) by their rows in the world."""
    poses: Floats
    """(B, 12)"""
    shapes: list[Shape]
    free: Bools
    """(B,) neither static nor kinematic."""


class CollisionQueries(Protocol):
    """What a character asks of a world; `World` has it, and says what each does."""

    gravity: Floats
    threads: int | None

    def near(self, boxes: Floats, mask: int) -> NearBodies: ...  # noqa: D102
    def handles(self) -> Ints: ...  # noqa: D102
    def poses(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def mass(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def inertia(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def center_of_mass(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def velocities(self, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]: ...  # noqa: D102
    def apply_impulse(  # noqa: D102
        self, handles: npt.ArrayLike, impulse: npt.ArrayLike, points: npt.ArrayLike | None = None
    ) -> None: ...


class Store:
    """Memory for triangles, kept from move to move: fresh pages cost as much as filling them."""

    def __init__(self) -> None:
        self.corners, self.planes = np.empty((0, 9)), np.empty((0, 4))

    def grow(self, count: int) -> None:
        """To so many triangles at least; those that are there stay."""
        if count > len(self.corners):
            more = count + count // 2 - len(self.corners)
            self.corners = np.concatenate([self.corners, np.empty((more, 9))])
            self.planes = np.concatenate([self.planes, np.empty((more, 4))])


def bodies_near(world: CollisionQueries, position: Floats, rooms: Floats, mask: int, ignore: Ints) -> NearBodies:
    """The bodies whose boxes are in reach.

    rooms : (N, 6) box about each character that it reaches, relative to it, metres
    mask, ignore : bits of the layers that it meets; (1, K) or (N, K) handles that each passes, -1 for none
    """
    boxes = rooms.copy()
    boxes[:, :3] += position
    boxes[:, 3:] += position
    near = with_windows(world.near(boxes, mask), boxes)
    if not ignore.size:
        return near
    passed = (np.broadcast_to(ignore, (len(position), ignore.shape[1]))[near.row] == near.handles[near.body][:, None]).any(
        axis=1
    )
    return near._replace(row=near.row[~passed], body=near.body[~passed])


def with_windows(near: NearBodies, boxes: Floats) -> NearBodies:
    """The same with windows of terrains in place of the terrains: a body for each window, with the characters that it is for.

    boxes : (N, 6) what each character reaches
    """
    terrains = [k for k, shape in enumerate(near.shapes) if shape.family == TERRAIN]
    if not terrains:
        return near
    kept = ~np.isin(near.body, terrains)
    row, body, source, shapes = [near.row[kept]], [near.body[kept]], list(range(len(near.shapes))), list(near.shapes)
    for k in terrains:
        rows = near.row[near.body == k]
        # The box of a box in the terrain's frame.
        turn, place = near.poses[k, :9].reshape(3, 3), near.poses[k, 9:]
        middle = (0.5 * (boxes[rows, :3] + boxes[rows, 3:]) - place) @ turn
        half = 0.5 * (boxes[rows, 3:] - boxes[rows, :3]) @ np.abs(turn)
        for shape, chosen in shapes[k].shapes_near(middle - half, middle + half):  # type: ignore[attr-defined]
            row.append(rows[chosen])
            body.append(np.full(len(chosen), len(shapes)))
            source.append(k)
            shapes.append(shape)
    order = np.lexsort((np.concatenate(body), np.concatenate(row)))
    return NearBodies(
        np.concatenate(row)[order], np.concatenate(body)[order], near.handles[source], near.poses[source], shapes,
        near.free[source],
    )  # fmt: skip


def gathered(
    near: NearBodies, position: Floats, radii: Floats, rooms: Floats, threads: int | None, store: Store
) -> tuple[Obstacles, Parts]:
    """What is in reach of those bodies, and their curved parts behind a placeholder for the character."""
    # A run for each leaf of each body in reach. Bodies of one shape share their solids.
    row, body = near.row, near.body
    # Of a terrain there are windows.
    own = [() if shape.family == TERRAIN else solids_of(shape) for shape in near.shapes]
    every = [solid for solids in own for solid in solids]
    numbers: dict[int, int] = {}
    same = np.array([numbers.setdefault(id(solid), k) for k, solid in enumerate(every)], dtype=np.int64)
    leaves = np.array([len(solids) for solids in own], dtype=np.int64)
    count = leaves[body]
    place = np.repeat((np.cumsum(leaves) - leaves)[body] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    row, body = np.repeat(row, count), np.repeat(body, count)
    runs = np.empty((len(row), RUN_INTS), dtype=np.int64)
    runs[:, PART], runs[:, BODY] = -1, body
    runs[:, FIRST] = SLAB * np.arange(len(row))
    runs[:, STOP] = runs[:, FIRST] + SLAB
    placed_at = near.poses[body]
    groups: list[tuple[Solid, Ints]] = []
    curved: list[Shape] = []
    number = same[place]
    for chosen in equal_rows(number) if len(every) > 1 else (np.arange(len(row)),):
        if not len(chosen):
            continue
        solid = every[int(number[chosen[0]])]
        runs[chosen, SOLID] = int(solid.has_inside)
        if solid.pose is not IDENTITY:
            placed_at[chosen] = placed(placed_at[chosen], solid.pose)
        if solid.kernel is None:
            curved.append(solid.data)
            runs[chosen, PART] = len(curved)
        else:
            groups.append((solid, chosen))
    placed_at[:, 9:] -= position[row]
    _gather(threads, groups, row, placed_at, rooms, radii, runs, store)
    parts = pack_now((_PLACEHOLDER, *curved)).parts if curved else _NO_PARTS
    first = np.searchsorted(row, np.arange(len(position) + 1))
    return Obstacles(first, runs, placed_at, store.corners, store.planes), parts


def _gather(
    threads: int | None, groups: list[tuple[Solid, Ints]], row: Ints, poses: Floats, rooms: Floats, radii: Floats, runs: Ints,
    store: Store,
) -> None:  # fmt: skip
    """Fill the store with the triangles of the runs, whose columns FIRST and STOP are set to where they are."""
    count = np.zeros(len(row), np.int64)
    store.grow(SLAB * len(row))
    arrays = (row, poses, rooms, radii, runs, count)
    for solid, chosen in groups:
        data = (solid.data, chosen, *arrays, store.corners, store.planes)
        run_rows(solid.kernel, len(chosen), threads, *data, rows_per_chunk=_CHUNK)
    large = count > SLAB
    if large.any():
        # Those that did not fit once more, behind all others.
        ends = SLAB * len(row) + np.cumsum(np.where(large, count, 0))
        runs[large, FIRST], runs[large, STOP] = (ends - count)[large], ends[large]
        store.grow(int(ends[-1]))
        for solid, chosen in groups:
            again = chosen[large[chosen]]
            data = (solid.data, again, *arrays, store.corners, store.planes)
            run_rows(solid.kernel, len(again), threads, *data, rows_per_chunk=_CHUNK)
    runs[:, STOP] = runs[:, FIRST] + count
