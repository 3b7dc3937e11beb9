"""What the queries return: frozen dataclasses of arrays with fixed fields, all of them tables (`Columns`).
Frames are the world's, lengths metres."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.columns import Columns, extent, say_codes

Bytes = npt.NDArray[np.uint8]


class Status(IntEnum):
    """How an iterative pair query ended. A limit reached is never SEPARATED."""

    SEPARATED = 0
    OVERLAPPING = 1
    UNCONVERGED = 2


class CastStatus(IntEnum):
    """How a cast ended. With UNCONVERGED the time is a lower bound: no contact happens before it."""

    MISS = 0
    HIT = 1
    OVERLAPPING_AT_START = 2
    UNCONVERGED = 3


class ProjectionStatus(IntEnum):
    """How a backward projection ended."""

    INSIDE = 0
    OUTSIDE = 1
    AMBIGUOUS = 2
    UNCONVERGED = 3


@dataclass(frozen=True, slots=True, repr=False)
class Distances(Columns):
    """Distances of N pairs. `point_b = point_a + distance * normal` in separation and in penetration."""

    distance: Floats
    """(N,) metres; positive apart. Signed queries: negative in penetration. Unsigned: 0 where they overlap."""
    point_a: Floats
    """(N, 3) on A's surface. Unsigned overlap: one common point of both."""
    point_b: Floats
    """(N, 3) on B's surface."""
    normal: Floats
    """(N, 3) unit vector from A to B; 0 for an unsigned overlap."""
    status: Bytes
    """(N,) `Status`."""

    _words = (("status", Status),)

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class FormerDistances(Columns):
    """Distances in the former frame of N pairs, of those that collide in the predicted frame."""

    distance: Floats
    """(N,) metres; 0 where they overlap in the former frame already, inf where they do not collide in the predicted one."""
    point_a: Floats
    """(N, 3) on A's surface, former frame; 0 where they do not collide."""
    point_b: Floats
    """(N, 3) on B's surface: point_a + distance * normal."""
    normal: Floats
    """(N, 3) unit vector from A to B, former frame; 0 for an overlap and where they do not collide."""
    status: Bytes
    """(N,) `Status` of the distance."""
    collides: Bools
    """(N,) whether the two meet in the predicted frame; so does what stays undecided."""

    _words = (("status", Status),)

    def _say(self) -> list[str]:
        return [f"{self.collides.sum():,} collide", *extent(self.distance, "nearest", "m")]


@dataclass(frozen=True, slots=True, repr=False)
class PartDistances(Columns):
    """Distances in the former frame of the parts of a shape that collide with a surface in the predicted one."""

    part: Ints
    """(M,) which convex part of the shape, ascending."""
    distance: Floats
    """(M,) metres to the patches that it meets in the predicted frame; to the whole surface where it meets none and lies in the
    ground."""
    point_a: Floats
    """(M, 3) on the surface, world frame."""
    point_b: Floats
    """(M, 3) on the part."""
    normal: Floats
    """(M, 3) unit vector from the surface to the part; 0 where they overlap in the former frame already."""
    status: Bytes
    """(M,) `Status`."""
    patches: Ints
    """(M,) how many patches it meets in the predicted frame."""

    _unit = "part"
    _words = (("status", Status),)

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class Contacts(Columns):
    """Contact points of N pairs, M in all, sorted by row."""

    row: Ints
    """(M,) which pose row the point belongs to."""
    point: Floats
    """(M, 3) midway: A's surface lies at point + depth/2 * normal, B's at point - depth/2 * normal."""
    normal: Floats
    """(M, 3) unit vector from A to B, the same for all points of a patch."""
    depth: Floats
    """(M,) metres, positive in penetration, negative within `margin` of contact."""
    feature: Ints
    """(M,) id of what touches there, the same in the next frame while the same features do: A's feature times 2^32, and B's. 0:
    the deepest point, where no two faces or lines touch. With A and B swapped the two halves are swapped."""
    patch: Ints
    """(M,) number of the contact patch within its row: one for each pair of convex parts that touch, each connected crossing of
    meshes, each patch of a displaced surface, each run of like triangles of a height field."""
    status: Bytes
    """(N,) `Status` of each row."""
    triangle_a: Ints = None  # type: ignore[assignment]
    """(M,) the triangle of A that touches there, as a row of its faces; -1 where A is no mesh."""
    triangle_b: Ints = None  # type: ignore[assignment]
    """(M,) likewise of B."""

    def __post_init__(self) -> None:
        for name in ("triangle_a", "triangle_b"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, no_triangles(len(self.row)))

    _unit = "point"
    _beside = (("status", "row"),)
    _words = (("status", Status),)

    def of_row(self, row: int) -> Contacts:
        """Those of one pose row."""
        return self[self.row == row]

    def _say_rows(self) -> str:
        rows = self.status.size
        return f"{len(self):,} point{'s' * (len(self) != 1)} of {rows:,} row{'s' * (rows != 1)}"

    def _say(self) -> list[str]:
        return extent(self.depth, "deepest", "m", greatest=True)


_NO_TRIANGLES = [np.full(64, -1, dtype=np.int64)]


def no_triangles(count: int) -> Ints:
    """(count,) -1, not to be written to: making them anew would cost a single call a tenth of its time."""
    none = _NO_TRIANGLES[0]
    if len(none) < count:
        none = np.full(2 * count, -1, dtype=np.int64)
    none.flags.writeable = False
    _NO_TRIANGLES[0] = none
    return none[:count]


@dataclass(frozen=True, slots=True, repr=False)
class Impacts(Columns):
    """First contacts of N moving pairs."""

    time: Floats
    """(N,) fraction of the motion in [0, 1] at first contact, never later than the true one; inf if there is none."""
    point: Floats
    """(N, 3) where they touch at that time; midway between the two surfaces where they overlap at the start; 0 where there is
    none."""
    normal: Floats
    """(N, 3) unit vector from A to B; 0 where there is none. Where they overlap at the start: along the shortest way
    out, as a signed distance gives it, 0 where none is known."""
    status: Bytes
    """(N,) `CastStatus`."""
    depth: Floats
    """(N,) metres, how deep they overlap at the start: B moved by depth * normal is free of A. 0 where they do not, NaN where
    no signed distance is known."""

    _words = (("status", CastStatus),)

    def _say(self) -> list[str]:
        return extent(self.time, "first at", "of the motion")


@dataclass(frozen=True, slots=True, repr=False)
class ElementaryImpacts(Columns):
    """First contacts of N moving vertex-face or edge-edge pairs."""

    time: Floats
    """(N,) fraction of the motion in [0, 1] at first contact, never later than the true one; inf if there is none."""
    status: Bytes
    """(N,) `CastStatus`; with UNCONVERGED the iteration limit was reached and the time is a lower bound."""
    iterations: Ints
    """(N,) cells of (t, u, v) that were looked at; 0 where the pair was separated at once."""

    @property
    def hit(self) -> npt.NDArray[np.bool_]:
        """(N,) whether there may be a contact: a limit reached counts as one."""
        return np.asarray(self.status != CastStatus.MISS)

    _words = (("status", CastStatus),)

    def _say(self) -> list[str]:
        return extent(self.time, "first at", "of the motion")


@dataclass(frozen=True, slots=True, repr=False)
class RayHits(Columns):
    """First hits of N rays."""

    distance: Floats
    """(N,) metres along the ray (directions are normalised); inf for a miss; 0 where the origin is inside a convex shape."""
    point: Floats
    """(N, 3) the hit; 0 for a miss."""
    normal: Floats
    """(N, 3) outward unit normal at the hit, of a triangle by its winding; 0 for a miss or a distance of 0 from inside."""
    triangle: Ints
    """(N,) triangle of a mesh or height field, quad of a displaced surface or part of a compound that was hit; -1 for other
    shapes and for a miss."""

    _unit = "ray"

    def _say(self) -> list[str]:
        return [f"{np.isfinite(self.distance).sum():,} hit", *extent(self.distance, "nearest", "m")]


@dataclass(frozen=True, slots=True, repr=False)
class RayCrossings(Columns):
    """All crossings of N rays with a surface, M in all, sorted by row, then distance, then triangle."""

    row: Ints
    """(M,) which ray."""
    distance: Floats
    """(M,) metres along the ray (directions are normalised)."""
    point: Floats
    """(M, 3) where."""
    normal: Floats
    """(M, 3) outward unit normal, of a triangle by its winding: against the ray where it enters a solid, along it where it
    leaves."""
    triangle: Ints
    """(M,) triangle of a mesh or height field, quad of a displaced surface or part of a compound; -1 for other shapes."""

    _unit = "crossing"

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class ClosestPoints(Columns):
    """Closest surface points to N points."""

    distance: Floats
    """(N,) metres; signed queries: negative inside. Unsigned: the distance to the surface, inside as outside."""
    point: Floats
    """(N, 3) the closest point of the surface."""
    triangle: Ints
    """(N,) triangle of a mesh or height field, quad of a displaced surface or part of a compound; -1 for other shapes."""

    _unit = "point"

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class TrianglePairs(Columns):
    """Pairs of triangles of two meshes or height fields that meet, M in all, sorted by row, then triangle of A, then triangle
    of B."""

    row: Ints
    """(M,) which pose row."""
    triangle_a: Ints
    """(M,) row of A's faces."""
    triangle_b: Ints
    """(M,) row of B's faces."""

    _unit = "pair"


@dataclass(frozen=True, slots=True, repr=False)
class WorldContacts(Columns):
    """Contact points of a world's bodies, M in all, sorted by their rows; A is the body of the lower row."""

    handle_a: Ints
    """(M,) body A."""
    handle_b: Ints
    """(M,) body B."""
    point: Floats
    """(M, 3) midway: A's surface lies at point + depth/2 * normal, B's at point - depth/2 * normal."""
    normal: Floats
    """(M, 3) unit vector from A to B."""
    depth: Floats
    """(M,) metres, positive in penetration, negative within `margin` of contact."""
    feature: Ints
    """(M,) id of what touches there, the same in the next frame while the same features do: A's feature times 2^32, and B's. 0:
    the deepest point, where no two faces or lines touch. With A and B swapped the two halves are swapped."""
    patch: Ints
    """(M,) number of the contact patch within its pair."""
    status: Bytes
    """(M,) `Status` of the pair."""
    triangle_a: Ints
    """(M,) triangle of A that touches there; -1 where A is no mesh."""
    triangle_b: Ints
    """(M,) triangle of B; -1 where B is no mesh."""
    pairs: Ints
    """(P, 2) handles of the pairs that have contacts, sorted by their rows."""
    rows: Ints
    """(P, 2) rows of the bodies, as `World.pairs` has them."""
    start: Ints
    """(P,) first contact of each pair: its contacts are start[k] to start[k] + count[k]."""
    count: Ints
    """(P,) how many contacts each pair has."""
    sensor: Bools
    """(P,) whether a sensor takes part: such a pair reports, and does not respond."""

    _unit = "point"
    _beside: ClassVar[tuple[tuple[str, str], ...]] = (
        ("pairs", ""), ("rows", ""), ("start", ""), ("count", ""), ("sensor", ""),
    )  # fmt: skip
    _words = (("status", Status),)

    def _picked_beside(self, index: Any) -> dict[str, Any]:
        """The pairs of the points that are picked: one for each run of points of a pair."""
        pair = np.repeat(np.arange(len(self.count)), self.count)[index]
        start = np.flatnonzero(np.diff(pair, prepend=-1))
        counted = {"start": start, "count": np.diff(start, append=len(pair))}
        return {name: getattr(self, name)[pair[start]] for name, _by in self._beside if name not in counted} | counted

    def _say_rows(self) -> str:
        pairs = len(self.pairs)
        return f"{len(self):,} point{'s' * (len(self) != 1)} of {pairs:,} pair{'s' * (pairs != 1)}"

    def _say(self) -> list[str]:
        return extent(self.depth, "deepest", "m", greatest=True)

    def _say_words(self) -> list[str]:
        """Of pairs, as `Contacts` says it of its rows: not of each of their points."""
        return say_codes(self.status[self.start], Status)


class EventKind(IntEnum):
    """What became of a pair from one call of `World.contacts` to the next."""

    BEGUN = 0
    KEPT = 1
    ENDED = 2


@dataclass(frozen=True, slots=True, repr=False)
class WorldEvents(Columns):
    """Pairs of a world's bodies that began to touch, go on or ended, E in all, sorted by their rows; A is the body of the lower
    row."""

    kind: Bytes
    """(E,) `EventKind`."""
    handle_a: Ints
    """(E,) body A; stale where it was removed."""
    handle_b: Ints
    """(E,) body B, likewise."""
    point: Floats
    """(E, 3) the deepest contact; of a pair that ended the last one."""
    normal: Floats
    """(E, 3) unit vector from A to B there."""
    approach_speed: Floats
    """(E,) m/s at which the bodies approach each other there along the normal, by their velocities at the time of the call;
    negative where they part. Of a pair that ended, as it was when it last touched."""
    sensor: Bools
    """(E,) whether a sensor takes part."""

    _unit = "pair"
    _words = (("kind", EventKind),)


@dataclass(frozen=True, slots=True, repr=False)
class WorldDistances(Columns):
    """Distances of a world's bodies, M pairs, the closest first."""

    handle_a: Ints
    """(M,) body A."""
    handle_b: Ints
    """(M,) body B."""
    distance: Floats
    """(M,) metres; positive apart. Signed queries: negative in penetration. Unsigned: 0 where they overlap."""
    point_a: Floats
    """(M, 3) on A's surface."""
    point_b: Floats
    """(M, 3) on B's surface."""
    normal: Floats
    """(M, 3) unit vector from A to B; 0 for an unsigned overlap."""
    status: Bytes
    """(M,) `Status`."""

    _unit = "pair"
    _words = (("status", Status),)

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class WorldImpacts(Columns):
    """First contacts of pairs of a world's bodies within a step, M in all, the earliest first."""

    handle_a: Ints
    """(M,) body A."""
    handle_b: Ints
    """(M,) body B."""
    time: Floats
    """(M,) fraction of the step in [0, 1], never later than the true one."""
    point: Floats
    """(M, 3) where they touch at that time."""
    normal: Floats
    """(M, 3) unit vector from A to B; where they overlap at the start, along the shortest way out as in `Impacts`."""
    status: Bytes
    """(M,) `CastStatus`."""
    depth: Floats
    """(M,) metres, how deep they overlap at the start; as in `Impacts`."""

    _unit = "pair"
    _words = (("status", CastStatus),)

    def seconds(self, dt: float) -> Floats:
        """(M,) the times in seconds from the begin of a step of `dt` seconds."""
        return np.asarray(self.time * float(dt))

    def _say(self) -> list[str]:
        return extent(self.time, "first at", "of the step")


@dataclass(frozen=True, slots=True, repr=False)
class WorldRayHits(Columns):
    """First hits of N rays on a world's bodies."""

    handle: Ints
    """(N,) the body; -1 for a miss."""
    distance: Floats
    """(N,) metres along the ray (directions are normalised); inf for a miss; 0 where the origin is inside a convex shape."""
    point: Floats
    """(N, 3) the hit; 0 for a miss."""
    normal: Floats
    """(N, 3) outward unit normal at the hit, of a triangle by its winding; 0 for a miss or a distance of 0 from inside."""
    triangle: Ints
    """(N,) as in `RayHits`."""

    _unit = "ray"

    def _say(self) -> list[str]:
        return [f"{np.isfinite(self.distance).sum():,} hit", *extent(self.distance, "nearest", "m")]


@dataclass(frozen=True, slots=True, repr=False)
class WorldRayCrossings(Columns):
    """All crossings of N rays with the surfaces of a world's bodies, M in all, sorted by row, then distance, then the body's
    row, then triangle."""

    row: Ints
    """(M,) which ray."""
    handle: Ints
    """(M,) the body."""
    distance: Floats
    """(M,) metres along the ray (directions are normalised)."""
    point: Floats
    """(M, 3) where."""
    normal: Floats
    """(M, 3) outward unit normal, as in `RayCrossings`."""
    triangle: Ints
    """(M,) as in `RayCrossings`."""

    _unit = "crossing"

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class WorldCasts(Columns):
    """The first of a world's bodies that a moving shape meets, for N motions."""

    handle: Ints
    """(N,) the body; -1 for a miss."""
    time: Floats
    """(N,) fraction of the motion in [0, 1], never later than the true one; inf for a miss."""
    point: Floats
    """(N, 3) where they touch at that time; midway between the two surfaces where they overlap at the start; 0 for a miss."""
    normal: Floats
    """(N, 3) unit vector from the shape to the body, as in `Impacts`; 0 for a miss."""
    status: Bytes
    """(N,) `CastStatus`."""
    depth: Floats
    """(N,) metres, how deep they overlap at the start; as in `Impacts`."""

    _unit = "motion"
    _words = (("status", CastStatus),)

    def _say(self) -> list[str]:
        return extent(self.time, "first at", "of the motion")


@dataclass(frozen=True, slots=True, repr=False)
class WorldClosestPoints(Columns):
    """The nearest points of the surfaces of a world's bodies to N points."""

    handle: Ints
    """(N,) the body; -1 for a miss."""
    distance: Floats
    """(N,) metres; signed queries: negative inside a solid; inf for a miss."""
    point: Floats
    """(N, 3) the nearest point of the surface; 0 for a miss."""
    triangle: Ints
    """(N,) as in `ClosestPoints`; -1 for a miss."""

    _unit = "point"

    def _say(self) -> list[str]:
        return extent(self.distance, "nearest", "m")


@dataclass(frozen=True, slots=True, repr=False)
class Projections(Columns):
    """Backward projections of N points onto base primitives."""

    u: Floats
    """(N,) along P1 - P0, never clipped to the primitive; inf where nothing was found."""
    v: Floats
    """(N,) along P2 - P0 (of a quadrilateral: along the side from the first corner to the last)."""
    length: Floats
    """(N,) displacement in units of the interpolated direction: the point is P(u, v) + length * N(u, v)."""
    iterations: Ints
    """(N,) steps of the method; 0 for one that does not iterate."""
    status: Bytes
    """(N,) `ProjectionStatus`. AMBIGUOUS: two solutions lie in the primitive; the one of largest length is given."""

    _unit = "point"
    _words = (("status", ProjectionStatus),)


class ParticleState(IntEnum):
    """What a particle is doing."""

    UNBORN = 0
    FLYING = 1
    REMOVED = 2
    RESTING = 3
    SLIDING = 4


@dataclass(frozen=True, slots=True, repr=False)
class ParticleImpacts(Columns):
    """Impacts of particles on colliders, M in all, in the order of time; at one time by particle, generation, bounce."""

    particle: Ints
    """(M,) row of the particle."""
    generation: Ints
    """(M,) which of its lives, from 0."""
    collider: Ints
    """(M,) place in the list of colliders."""
    part: Ints
    """(M,) piece of the collider: face of a mesh or solid, patch of a surface; 0 where it has one."""
    bounce: Ints
    """(M,) impacts of this generation before this one."""
    time: Floats
    """(M,) seconds."""
    point: Floats
    """(M, 3) on the collider."""
    normal: Floats
    """(M, 3) unit normal of the collider on the particle's side: velocity . normal <= 0."""
    velocity: Floats
    """(M, 3) on arrival, m/s."""
    speed: Floats
    """(M,) its length, m/s."""
    status: Bytes
    """(M,) `CastStatus`: HIT, or UNCONVERGED where a search ended at its limit; the time is then a lower bound."""
    mass: Floats
    """(M,) of the particle, kg; NaN where the system states none, and so are energy and momenta."""
    radius: Floats
    """(M,) the particle's own size, metres; 0 for a point. The point of impact is where its centre is."""

    _unit = "impact"
    _words = (("status", CastStatus),)
    _derived = ("energy", "momentum", "normal_momentum", "angle")

    @property
    def energy(self) -> Floats:
        """(M,) kinetic energy on arrival, mass speed^2 / 2, J."""
        return 0.5 * self.mass * self.speed**2

    @property
    def momentum(self) -> Floats:
        """(M, 3) on arrival, mass velocity, N s, world frame."""
        return np.asarray(self.mass)[:, None] * self.velocity

    @property
    def normal_momentum(self) -> Floats:
        """(M,) what of the momentum goes into the collider along its normal, -momentum . normal, N s; at least 0. A bounce
        of restitution e gives the collider 1 + e times as much."""
        return self.mass * np.maximum(0.0, -np.einsum("ij,ij->i", self.velocity, self.normal))

    @property
    def angle(self) -> Floats:
        """(M,) between the path and the normal, radians: 0 head on, pi / 2 along the surface."""
        head_on = -np.einsum("ij,ij->i", self.velocity, self.normal)
        along = self.velocity + head_on[:, None] * self.normal
        return np.arctan2(np.sqrt(np.einsum("ij,ij->i", along, along)), np.maximum(head_on, 0.0))

    def _say(self) -> list[str]:
        return [*extent(self.time, "from", "s"), *extent(self.time, "to", "s", greatest=True)]


@dataclass(frozen=True, slots=True, repr=False)
class ParticleStates(Columns):
    """N particles at one time."""

    position: Floats
    """(N, 3) metres; of one not yet born its start, of one removed the place of its last impact, and after its last
    generation where that ended."""
    velocity: Floats
    """(N, 3) m/s; 0 unless it is flying or sliding."""
    state: Bytes
    """(N,) `ParticleState`."""
    generation: Ints
    """(N,) which of its lives, from 0; -1 before birth, and the last one after all."""
    age: Floats
    """(N,) seconds since the birth of this generation; negative before birth."""
    bounce: Ints
    """(N,) impacts in this generation so far."""

    _unit = "particle"
    _words = (("state", ParticleState),)


@dataclass(frozen=True, slots=True, repr=False)
class Interference(Columns):
    """Objects that overlap, as seen in images: M pairs, and points of them."""

    pairs: Ints
    """(M, 2) objects, the lower first, sorted."""
    pixels: Ints
    """(M,) pixels of all views and layers in which an edge of one was seen inside the other, or, where no edge was, in which a
    ray was seen inside both; 0 if only an exact test says so."""
    points: Floats
    """(P, 3) where, world frame: one point of an edge a pixel, to about a pixel; of a pair that no edge shows, points inside
    both, or a vertex of one in the other."""
    point_pair: Ints
    """(P,) row of `pairs`."""
    edge_object: Ints
    """(P,) the object whose edge it is; the other one of the pair holds it. -1: no edge, the point is inside both."""
    edge: Ints
    """(P, 2) the edge's vertices in that object's mesh; -1 without an edge."""
    self_intersecting: Ints
    """Objects an edge of which was seen inside themselves (4.5.8), a hint: they intersect themselves, the image is too
    coarse, or they have sharp tips."""
    not_closed: Ints
    """Objects with more back than front faces before an edge: they are not closed, or inside out in part."""
    offset: float
    """How far outside of their objects edges may be seen inside others, metres: pairs farther apart than this are never
    reported. The largest of all views."""
    views: int
    """Images of edges that were drawn."""
    inward: int
    """Small images in which a pair that no edge had shown was looked at inward."""
    passes: int
    polygons: int
    fragments: int
    """Draw calls, triangles and pixels of triangles and edges that were processed."""
    renderer: str
    """What drew them."""

    _unit = "pair"
    _beside = tuple(
        (name, "")
        for name in (
            "points", "point_pair", "edge_object", "edge", "self_intersecting", "not_closed", "offset", "views", "inward",
            "passes", "polygons", "fragments", "renderer",
        )
    )  # fmt: skip

    def of_pair(self, pair: int) -> Floats:
        """The points of one row of `pairs`."""
        return self.points[self.point_pair == pair]

    def _picked_beside(self, index: Any) -> dict[str, Any]:
        """The points of the pairs that are picked, which count anew; what is of all pairs stays."""
        rows = np.arange(len(self))[index]
        first, last = (np.searchsorted(self.point_pair, rows, side) for side in ("left", "right"))
        own = np.concatenate([np.arange(0), *map(np.arange, first, last)])
        of_points = {name: getattr(self, name)[own] for name in ("points", "edge_object", "edge")}
        counted = {"point_pair": np.repeat(np.arange(len(rows)), last - first)}
        return {name: getattr(self, name) for name, _by in self._beside} | of_points | counted

    def _say(self) -> list[str]:
        return [f"{self.views} view{'s' * (self.views != 1)}", f"offset {self.offset:.3g} m"]


@dataclass(frozen=True, slots=True, repr=False)
class Piercings(Columns):
    """Points at which edges of objects meet faces of others, K in all, sorted by pair, then edge, then face."""

    pair: Ints
    """(K,) row of `pairs`."""
    edge_object: Ints
    """(K,) the object whose edge it is."""
    edge: Ints
    """(K, 2) the edge's vertices in that object's mesh."""
    face_object: Ints
    """(K,) the object whose face it is: the other one of the pair."""
    face: Ints
    """(K,) row of that mesh's faces."""
    point: Floats
    """(K, 3) where, world frame, metres."""
    normal: Floats
    """(K, 3) unit normal of the face, out of its object."""
    along: Floats
    """(K,) where on the edge: 0 at its first vertex, 1 at its second."""
    entering: Bools
    """(K,) whether the edge, from its first vertex on, goes into the face's object there; False: out of it."""
    proper: Bools
    """(K,) through the inside of the face, from one side to the other. False: by an end of the edge, or on a side of the
    face, where all faces that share it have a row."""
    pairs: Ints
    """(M, 2) pairs of objects that were asked about, the lower first, sorted."""

    _unit = "point"
    _beside = (("pairs", ""),)

    def of_pair(self, pair: int) -> Piercings:
        """Those of one row of `pairs`."""
        return self[self.pair == pair]

    def _say_rows(self) -> str:
        pairs = len(self.pairs)
        return f"{len(self):,} point{'s' * (len(self) != 1)} of {pairs:,} pair{'s' * (pairs != 1)}"


@dataclass(frozen=True, slots=True, repr=False)
class ImageContacts(Columns):
    """Contact points of objects, measured in images, K in all, sorted by pair; the deepest of a pair first."""

    pair: Ints
    """(K,) row of `pairs`."""
    object_a: Ints
    """(K,) object A, the lower of the pair."""
    object_b: Ints
    """(K,) object B."""
    point: Floats
    """(K, 3) midway: A's surface lies at point + depth/2 * normal, B's at point - depth/2 * normal."""
    normal: Floats
    """(K, 3) unit vector from A to B: the shortest way out that was found, one for all points of a pair."""
    depth: Floats
    """(K,) metres, positive: from B's surface to A's along the normal. The first of a pair: how far B must be moved along the
    normal until no ray is inside both."""
    triangle_a: Ints
    """(K,) row of A's faces on which the point lies."""
    triangle_b: Ints
    """(K,) row of B's faces."""
    pixel: Floats
    """(K,) side of the pixels in which it was found, metres: the place across the normal is right to one of them."""
    pairs: Ints
    """(M, 2) pairs of objects that were asked about, the lower first, sorted."""
    count: Ints
    """(M,) how many contacts each pair has. 0: no ray was inside both, they share less than a pixel, touch, or are as far
    apart as `Interference.offset`."""

    _unit = "point"
    _beside = (("pairs", ""), ("count", ""))

    def of_pair(self, pair: int) -> ImageContacts:
        """Those of one row of `pairs`."""
        return self[self.pair == pair]

    def _picked_beside(self, index: Any) -> dict[str, Any]:
        """The pairs stay; of each as many points as are picked."""
        return {"pairs": self.pairs, "count": np.bincount(self.pair[index], minlength=len(self.pairs))}

    def _say_rows(self) -> str:
        pairs = len(self.pairs)
        return f"{len(self):,} point{'s' * (len(self) != 1)} of {pairs:,} pair{'s' * (pairs != 1)}"

    def _say(self) -> list[str]:
        return extent(self.depth, "deepest", "m", greatest=True)
