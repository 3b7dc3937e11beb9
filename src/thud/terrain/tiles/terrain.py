"""`thud.Terrain`: a store of tiles, open for reading."""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import MOST, Bools, Floats
from thud._core.threads import check_threads
from thud.bvh.height_tree import SPACING_X, SPACING_Y
from thud.constants import MANIFOLD_POINTS, MESH_COORDINATE
from thud.errors import ClosedTerrainError, DamagedStoreError, InvalidInputError, MissingTileError, UnsupportedQueryError
from thud.gates import (
    as_directions,
    as_flag,
    as_max_points,
    as_path,
    as_points,
    as_poses,
    as_positive,
    as_reach,
    as_vector,
    broadcast_rows,
)
from thud.pairing.advance import predicted_rows
from thud.pairing.ask import ask_cast, ask_pair, ask_shape
from thud.pairing.families import as_shape
from thud.pairing.motions import as_motion
from thud.pose import PoseLike
from thud.results import ClosestPoints, Contacts, Distances, Impacts, RayCrossings, RayHits
from thud.shapes.shape import IDENTITY, Part, Shape, box_of_points
from thud.terrain.tiles.ahead import tiles_ahead, tiles_in_view
from thud.terrain.tiles.environment import environment
from thud.terrain.tiles.ground_tile import GroundTile, check_reach, reach_of_ground
from thud.terrain.tiles.lmdb_pages import Place
from thud.terrain.tiles.loader import Loader, StreamStats
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.queries import points as point_queries
from thud.terrain.tiles.queries.names import TILE_STRIDE, Names, tile_names
from thud.terrain.tiles.queries.reach import key_of
from thud.terrain.tiles.queries.windows import rows_by_window
from thud.terrain.tiles.record import HEIGHTS, KINDS, TileKey, as_key
from thud.terrain.tiles.slide import Slides, slide
from thud.terrain.tiles.snapshot import Snapshot
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.tolerances import AHEAD_AGAIN, AHEAD_BUDGET, AHEAD_TURN, TOUCHED, WINDOW_UNITS
from thud.terrain.tiles.verify import Verified, verify

#: The terrain's own frame.
_STILL = IDENTITY[None]


class Terrain(Shape):
    """A terrain larger than memory, read from its store. Open it by `Terrain.open`; a context manager.

    It is a shape like any other, and static ground: all queries of `thud` take it, and a `World` as a body. Tiles are read when
    a query needs them. The ground is solid below `heights` and `displaced` tiles, the borders between tiles are inside it;
    `triangles` are a surface.

    It shows the store as it was when it was opened; `refresh` takes what was written since. Any number of threads may use one,
    and any number of processes may open the same store, also while one writes it. In a child process after a fork it opens the
    store anew by itself.
    """

    family: ClassVar[str] = "terrain"
    is_ground: ClassVar[bool] = True

    def __init__(self, folder: Path, memory: int | None = None) -> None:
        if memory is None:
            raise InvalidInputError(f"Terrain: a store is opened by thud.Terrain.open(path), got {folder!r}")
        self.folder = folder
        self.memory = memory
        self._lock = threading.RLock()
        self._planes: Floats | None = None
        self._ahead: dict[int, tuple[float, ...]] = {}
        self._start()
        self._closed = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, memory: int = 512 * 2**20, trusted: bool = True) -> Terrain:
        """Open a store.

        Parameters
        ----------
        path : its folder
        memory : bytes of tiles that are kept ready
        trusted : False for a store of unknown origin: all of it is verified first, in a process of its own
        """
        if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
            raise InvalidInputError(f"memory: expected a number of bytes, got {memory!r}")
        folder = as_path(path, "path")
        if not as_flag(trusted, "trusted"):
            verify(folder)
        return cls(folder, memory)

    def _start(self) -> None:
        self._process = os.getpid()
        self._environment = environment(self.folder)
        try:
            self._snapshot = Snapshot(self._environment)
            self._snapshots = weakref.WeakSet([self._snapshot])
        except BaseException:
            self._environment.release()
            raise
        self.loader = Loader(self._snapshot, self.folder, self.memory)
        """Of this process; see `stats`."""
        self._forget()

    def _forget(self) -> None:
        """What was found out about another snapshot."""
        for name in ("_first", "apron", "box", "least_tile"):
            self.__dict__.pop(name, None)

    def _now(self) -> Snapshot:
        """The snapshot, of this process."""
        if self._closed:
            raise ClosedTerrainError(f"{self.folder}: this terrain was closed")
        if self._process != os.getpid():
            # A lock that another thread of the parent held would never be free here.
            self._lock = threading.RLock()
            self._start()
        return self._snapshot

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()

    def __reduce__(self) -> Any:
        """Another process opens the store itself."""
        return Terrain._reopened, (self.folder, self.memory)

    @classmethod
    def _reopened(cls, folder: Path, memory: int) -> Terrain:
        return cls.open(folder, memory=memory)

    def __enter__(self) -> Terrain:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return f"Terrain({os.fspath(self.folder)!r}, closed)"
        snapshot = self._now()
        return f"Terrain({os.fspath(self.folder)!r}, {len(snapshot.places)} tiles of {snapshot.manifest.kind})"

    def __len__(self) -> int:
        return len(self._now().places)

    def __contains__(self, key: Any) -> bool:
        return as_key(key) in self._now().places

    @property
    def manifest(self) -> Manifest:
        """What the terrain is."""
        return self._now().manifest

    @property
    def places(self) -> dict[TileKey, Place]:
        """Where the records of all tiles lie, in the order of the store."""
        return self._now().places

    @property
    def stats(self) -> StreamStats:
        """What was read, and kept, so far; of this process, since the last `refresh`."""
        self._now()
        return self.loader.stats

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def nbytes(self) -> int:
        """Bytes of the store's file that are in use."""
        return self._now().bytes_used

    def keys(self) -> list[TileKey]:
        """Keys of all tiles, in the order of the store: by k, then j, then i."""
        return list(self._now().places)

    def tile(self, key: Any) -> Tile:
        """A tile, checked, as views of the store's own memory; they end with the terrain's close.

        Parameters
        ----------
        key : (i, j) or (i, j, k)
        """
        where = as_key(key)
        return self.ground(where).tile

    def ground(self, key: TileKey) -> GroundTile:
        """A tile as queries need it; read now if it is not ready."""
        self._now()
        return self.loader.ground(key)

    def tile_shape(self, ground: GroundTile) -> Shape:
        """The shape of a tile, in the terrain's frame. A named error for one that reaches beyond the terrain's bounds."""
        made = "shape" in ground.__dict__
        shape = ground.shape
        if not made:
            try:
                check_reach(self.box, ground)
            except DamagedStoreError as error:
                del ground.__dict__["shape"]
                raise DamagedStoreError(f"{self.folder}: {error}") from None
            self.loader.grown(ground.tile.key)
        return shape

    def tiles_near(self, lower: Sequence[float] | Floats, upper: Sequence[float] | Floats) -> list[Tile]:
        """The tiles that may reach into a box, in the order of the store."""
        return [self.ground(key).tile for key in self.keys_near(lower, upper)]

    def keys_near(self, lower: Sequence[float] | Floats, upper: Sequence[float] | Floats) -> list[TileKey]:
        """Their keys."""
        snapshot = self._now()
        places = snapshot.places
        return [key for key in snapshot.manifest.keys_near(lower, upper) if key in places]

    def look(self, planes: npt.ArrayLike | None) -> None:
        """What is in sight.

        Parameters
        ----------
        planes : (P, 4) [A B C D], normals into the frustum, as `thud.geometry.sphere_frustum` takes them; None for all
        """
        self._planes = None if planes is None else as_points(planes, "planes", width=4, limit=MOST)
        self._ahead = {}

    def stream(self, position: npt.ArrayLike, motion: npt.ArrayLike = (0.0, 0.0, 0.0), *, room: float = 0.0) -> None:
        """Read ahead, in threads, the tiles that something at a place will soon need: along its motion, and in the frustum of
        `look`. `slide` does it by itself. A tile that is needed before it is there is read at once.

        Parameters
        ----------
        position : (3,) metres
        motion : (3,) metres, of one step: the next couple of hundred are looked at
        room : metres about the way that are needed
        """
        self._now()
        self.stream_one(-1, as_vector(position, "position"), as_vector(motion, "motion"), as_positive(room, "room", zero=True))

    def stream_one(self, camera: int, position: Floats, motion: Floats, room: float) -> None:
        """The same for one of several cameras; nothing where it has hardly moved or turned since the last time."""
        (x, y, z), (u, v, w) = position.tolist(), motion.tolist()
        before = self._ahead.get(camera)
        if before is not None:
            a, b, c, d, e, f, within = before
            gone, turned = (x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2, u * d + v * e + w * f
            lengths = (u * u + v * v + w * w) * (d * d + e * e + f * f)
            if gone <= within and turned >= AHEAD_TURN * math.sqrt(lengths):
                return
        self._ahead[camera] = (x, y, z, u, v, w, (AHEAD_AGAIN * self.least_tile) ** 2)
        # In the threads that read them: finding them takes longer than a frame's collision.
        position, motion, planes = position.copy(), motion.copy(), self._planes
        self.loader.later(lambda: self._read_ahead(position, motion, room, planes))

    def _read_ahead(self, position: Floats, motion: Floats, room: float, planes: Floats | None) -> None:
        manifest = self.manifest
        keys = tiles_ahead(manifest, position, motion, room)
        if planes is not None:
            keys += tiles_in_view(manifest, position, planes)
        places, left, wanted = self.places, AHEAD_BUDGET * self.memory, []
        for key in dict.fromkeys(keys):
            place = places.get(key)
            if place is not None:
                left -= place.size
                if left < 0.0:
                    break
                wanted.append(key)
        self.loader.prefetch(wanted)

    # As a shape -----------------------------------------------------------------------------------------------------------

    @cached_property
    def least_tile(self) -> float:
        """The shortest side of a tile's place, metres."""
        return min(size for size in self.manifest.tile_size if size > 0.0)

    def way_to_tiles(self, point: Sequence[float]) -> float:
        """Metres from a point to the box about the surfaces of all tiles, at most."""
        gaps = (max(low - x, x - high, 0.0) for x, low, high in zip(point, *self.manifest.reach))
        return math.sqrt(sum(gap * gap for gap in gaps))

    @cached_property
    def _first(self) -> GroundTile:
        """Some tile: what all have in common is looked up there."""
        places = self.places
        if not places:
            raise MissingTileError(f"{self.folder}: it has no tiles")
        return self.ground(next(iter(places)))

    @cached_property
    def apron(self) -> float:
        """Room about a shape that windows have at least, metres: more than a cell of heights."""
        manifest = self.manifest
        unit = self.least_tile / WINDOW_UNITS
        if KINDS[manifest.kind] != HEIGHTS:
            return unit
        numbers = self._first.tile.arrays.grid.numbers
        return max(unit, 2.0 * float(max(numbers[SPACING_X], numbers[SPACING_Y])))

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of all ground, in the terrain's frame; ground without end goes down to -inf."""
        return reach_of_ground(self.manifest, self._first)

    def parts(self) -> list[Part]:
        """A terrain has no convex parts."""
        raise UnsupportedQueryError("a Terrain has no convex parts; its tiles have shapes: tile(key).shape")

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        low, high = self.box
        deep = math.isinf(low[2])
        low = np.array([*low[:2], min(self.manifest.bounds[2], high[2])]) if deep else low
        corners = np.array([[(low, high)[k >> axis & 1][axis] for axis in range(3)] for k in range(8)])
        lower, upper = box_of_points(corners, rows)
        if deep:
            up = rows[:, :9].reshape(-1, 3, 3)[:, :, 2]
            lower, upper = np.where(up > 0.0, -math.inf, lower), np.where(up < 0.0, math.inf, upper)
        return lower, upper

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the box; inf without end."""
        low, high = self.box
        if math.isinf(low[2]):
            return np.array([*(0.5 * (low + high))[:2], high[2]]), math.inf
        return 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))

    @property
    def volume(self) -> float:
        """Not defined."""
        raise UnsupportedQueryError("a Terrain has no volume: it is static ground")

    @property
    def centroid(self) -> Floats:
        """Not defined."""
        raise UnsupportedQueryError("a Terrain has no centroid: it is static ground")

    def inertia(self, mass: float = 1.0) -> Floats:
        """Not defined."""
        raise UnsupportedQueryError("a Terrain has no inertia: it is static ground")

    def all_shapes(self) -> Iterator[tuple[Shape, Names]]:
        """The shapes of all tiles, one after the other, and what their features are called."""
        for key in list(self.places):
            ground = self.ground(key)
            yield self.tile_shape(ground), tile_names(self.manifest, ground)

    def shapes_near(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> list[tuple[Shape, npt.NDArray[np.int64]]]:
        """Shapes, stitched of tiles, that hold all ground in the boxes of rows, and the rows of each.

        Parameters
        ----------
        lower, upper : (N, 3) corners of boxes in the terrain's frame, metres
        """
        low, high = as_points(lower, "lower", limit=MOST), as_points(upper, "upper", limit=MOST)
        windows = rows_by_window(self, low - self.apron, high + self.apron)
        return [(window.shape, rows) for window, rows in windows if window.shape is not None]

    def triangle_of(self, numbers: npt.ArrayLike) -> list[tuple[TileKey, int] | None]:
        """Tile and number there of triangles that queries report; None for -1."""
        found = np.asarray(numbers, dtype=np.int64).reshape(-1).tolist()
        split = (divmod(number, TILE_STRIDE) for number in found)
        return [(key_of(self.manifest, tile), own) if tile >= 0 else None for tile, own in split]

    # Queries --------------------------------------------------------------------------------------------------------------

    def _posed(self, shape: Shape, pose: PoseLike, threads: int | None) -> tuple[Floats, int]:
        self._now()
        check_threads(threads)
        as_shape(shape, "shape")
        rows = as_poses(pose, "pose")
        return rows, len(rows)

    def intersects(self, shape: Shape, pose: PoseLike = None, *, threads: int | None = None) -> Bools:
        """(N,) whether a shape at one or N poses touches the ground, or is in it. See `thud.intersects`."""
        rows, count = self._posed(shape, pose, threads)
        return ask_pair("intersects", self, shape, _STILL, rows, count, threads=threads)

    def distance(
        self, shape: Shape, pose: PoseLike = None, *, signed: bool = False, max_distance: float = math.inf,
        threads: int | None = None,
    ) -> Distances:  # fmt: skip
        """Distance of a shape at one or N poses from the ground; normals point from the ground to it. See `thud.distance`.

        Parameters
        ----------
        shape, pose : what, and where: one pose or N
        signed : in the ground the negative length of a way out; else 0
        max_distance : metres; rows beyond it get distance inf
        threads : how many to use; default all cores
        """
        rows, count = self._posed(shape, pose, threads)
        query = "signed_distance" if as_flag(signed, "signed") else "distance"
        return ask_pair(query, self, shape, _STILL, rows, count, reach=as_reach(max_distance), threads=threads)

    def contacts(
        self, shape: Shape, pose: PoseLike = None, *, motion: npt.ArrayLike | None = None, margin: float = 0.0,
        max_points: int = MANIFOLD_POINTS, threads: int | None = None,
    ) -> Contacts:  # fmt: skip
        """Contact points of a shape at one or N poses with the ground; normals point out of it. See `thud.contacts`.

        Parameters
        ----------
        shape, pose : what, and where: one pose or N
        motion : (3,) or (N, 3), or (6,) or (N, 6) with a rotation vector: the shape goes that way first, up to where it touches
            the ground, and the contacts there are reported
        margin : metres; also report points that are apart by up to this much, with negative depth
        max_points : 1 to 8 points a patch
        threads : how many to use; default all cores
        """
        rows, count = self._posed(shape, pose, threads)
        room = as_positive(margin, "margin", zero=True)
        if motion is not None:
            moves = as_motion(motion, "motion")
            count = broadcast_rows("pose, motion", rows, moves)
            found = ask_cast(self, shape, _STILL, rows, np.zeros((1, moves.shape[1])), moves, count, threads, depths=False)
            moves = np.broadcast_to(moves, (count, moves.shape[1])) * np.minimum(found.time, 1.0)[:, None]
            rows = predicted_rows(rows, np.ascontiguousarray(moves))
            # A cast ends a hair before what it meets.
            room = max(room, TOUCHED * min(shape.bounding_sphere()[1], MESH_COORDINATE))
        given: dict[str, Any] = {"margin": room, "max_points": as_max_points(max_points)}
        return ask_pair("contacts", self, shape, _STILL, rows, count, threads=threads, **given)

    def cast(self, shape: Shape, pose: PoseLike = None, motion: npt.ArrayLike = 0.0, *, threads: int | None = None) -> Impacts:
        """When a shape in motion first touches the ground; normals point out of it. See `thud.cast`.

        Parameters
        ----------
        shape, pose : what, and where it begins: one pose or N
        motion : (3,) or (N, 3) displacement, metres; or (6,) or (N, 6) with a rotation vector
        threads : how many to use; default all cores
        """
        rows, _ = self._posed(shape, pose, threads)
        moves = as_motion(motion, "motion")
        count = broadcast_rows("pose, motion", rows, moves)
        return ask_cast(self, shape, _STILL, rows, np.zeros((1, moves.shape[1])), moves, count, threads)

    def raycast(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, *, max_distance: float = math.inf, any_hit: bool = False,
        threads: int | None = None,
    ) -> RayHits:  # fmt: skip
        """First hits of rays on the ground, from either side. See `thud.raycast`; `triangle_of` says what was hit."""
        start, along, count = self._rays(origins, directions, threads)
        options: dict[str, Any] = {"reach": as_reach(max_distance), "any_hit": any_hit, "threads": threads}
        return ask_shape("raycast", self, start, along, rows=_STILL, count=count, **options)

    def raycast_all(
        self, origins: npt.ArrayLike, directions: npt.ArrayLike, *, max_distance: float = math.inf, threads: int | None = None
    ) -> RayCrossings:
        """All crossings of rays with the ground's surface. See `thud.raycast_all`."""
        start, along, count = self._rays(origins, directions, threads)
        options: dict[str, Any] = {"reach": as_reach(max_distance), "threads": threads}
        return ask_shape("raycast_all", self, start, along, rows=_STILL, count=count, **options)

    def _rays(self, origins: npt.ArrayLike, directions: npt.ArrayLike, threads: int | None) -> tuple[Floats, Floats, int]:
        self._now()
        check_threads(threads)
        start, along = as_points(origins, "origins"), as_directions(directions, "directions")
        return start, along, broadcast_rows("origins, directions", start, along)

    def height(self, xy: npt.ArrayLike, *, threads: int | None = None) -> Floats:
        """(N,) how high the ground is, metres: the highest surface over each place; NaN where there is none.

        Parameters
        ----------
        xy : (2,) or (N, 2) places, metres
        threads : how many to use; default all cores
        """
        self._now()
        check_threads(threads)
        return point_queries.height(self, as_points(xy, "xy", width=2, limit=MESH_COORDINATE), threads)

    def contains(self, points: npt.ArrayLike, *, threads: int | None = None) -> Bools:
        """(N,) whether points are in the ground. See `thud.contains`. That of `triangles` lies behind them: where a line
        straight up leaves it more often than it enters it."""
        self._now()
        check_threads(threads)
        where = as_points(points, "points")
        return ask_shape("contains", self, where, rows=_STILL, count=len(where), threads=threads)

    def closest_point(self, points: npt.ArrayLike, *, signed: bool = False, threads: int | None = None) -> ClosestPoints:
        """The point of the ground's surface nearest to each point; signed: negative in the ground. See `thud.closest_point`."""
        self._now()
        check_threads(threads)
        where, options = as_points(points, "points"), {"signed": as_flag(signed, "signed"), "threads": threads}
        return ask_shape("closest_point", self, where, rows=_STILL, count=len(where), **options)

    # Flight ---------------------------------------------------------------------------------------------------------------

    def slide(
        self, position: npt.ArrayLike, motion: npt.ArrayLike, radius: float, *, method: str = "slide", near: float | None = None
    ) -> Slides:
        """Move cameras, spheres of a radius, through the terrain: where one meets it, it slides along it.

        Parameters
        ----------
        position : (3,) or (N, 3) where they are, metres
        motion : (3,) or (N, 3) where they want to go from there
        radius : metres
        method : "slide": no camera ever comes nearer to the surface than its radius, if it was not at the start; where land
            ends there is no wall. "euve": the one pass of the paper, faces only, trees in the frustum of `look` only, which
            lets cameras through
        near : distance of the near plane, if that is to be checked: the radius must be larger, or the picture cuts the ground

        Returns
        -------
        Slides of N rows
        """
        return slide(self, position, motion, radius, method=method, near=near, planes=self._planes)

    def refresh(self) -> bool:
        """Take what was written since; returns whether there was something. Tiles taken before stay as they are."""
        with self._lock:
            before = self._now()
            after = Snapshot(self._environment)
            if after.transaction == before.transaction:
                after.close()
                return False
            self._snapshot = after
            self._snapshots.add(after)
            self.loader.close()
            self.loader = Loader(after, self.folder, self.memory)
            self._forget()
            return True

    def verify(self) -> Verified:
        """Walk everything in a process of its own: named error for whatever is wrong."""
        self._now()
        return verify(self.folder)

    def close(self) -> None:
        """End. Its tiles answer no more; arrays taken of them stay mapped, but a writer may change what they show."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._process == os.getpid():
                self.loader.close()
                for snapshot in list(self._snapshots):
                    snapshot.close()
                self._environment.release()
