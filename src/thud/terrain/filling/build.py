"""`thud.terrain.build`: any source -> a store of tiles."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import as_flag
from thud.errors import InvalidInputError, ThudError
from thud.gates import as_path, as_positive, as_vector, kind_of
from thud.shapes.height_field import HeightField
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.filling.field_tiles import field_plan
from thud.terrain.filling.generated import GeneratedWorld, world_plan
from thud.terrain.filling.height_tiles import height_plan
from thud.terrain.filling.height_windows import HeightWindows, as_heights
from thud.terrain.filling.mesh_tiles import mesh_plan
from thud.terrain.filling.plan import Plan, Runner, here
from thud.terrain.filling.processes import Processes
from thud.terrain.filling.progress import BuildProgress
from thud.terrain.filling.tolerances import QUANTUM, TILE_SAMPLES
from thud.terrain.making.fields import GridField, MeshField
from thud.terrain.making.make import as_side
from thud.terrain.tiles.lmdb_pages import DATA_FILE
from thud.terrain.tiles.manifest import Manifest
from thud.terrain.tiles.record import KINDS, TileKey, record_key
from thud.terrain.tiles.tolerances import LEAF_TRIANGLES, MAP_SIZE, TREE_LEVELS
from thud.terrain.tiles.triangle_tile import as_quantum
from thud.terrain.tiles.writer import TileWriter

#: Options that only some sources take.
_ONLY = {
    "heights": ("spacing", "error", "samples", "thickness", "crs", "origin"),
    "windows": ("error", "samples", "thickness"),
    "mesh": ("crs", "origin"),
    "field": ("lower", "upper", "cell", "samples", "smoothing", "thickness", "crs", "origin"),
    "world": ("smoothing", "thickness"),
}


def build(
    source: Any,
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    tile: float | None = None,
    workers: int = 1,
    resume: bool = True,
    progress: bool | Callable[[int, int, TileKey], None] = True,
    quantum: float | None = None,
    spacing: npt.ArrayLike | None = None,
    error: float | None = None,
    samples: int | None = None,
    thickness: float | None = None,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    cell: float | None = None,
    smoothing: int | None = None,
    crs: str | None = None,
    origin: npt.ArrayLike | None = None,
    leaf: int = LEAF_TRIANGLES,
    levels: int = TREE_LEVELS,
    map_size: int = MAP_SIZE,
    runner: Runner | None = None,
) -> Manifest:
    """Fill a store of tiles from any source. What is there is not made again: a build that ended, however, goes on and ends
    with the same records and content hash as an undisturbed one.

    Each tile is made by a pure function of its place and of its window of the source; workers hand records back, and this
    process alone writes. A few tiles a worker are in memory at a time.

    Parameters
    ----------
    source : heights: an array (H, W) indexed [y, x], masked or NaN where there is a hole, or anything with the windows of
        `thud.io.read_elevation`; a `TriangleMesh`; a signed distance field: a `GridField` or a function of points (N, 3),
        negative inside the ground; or a `generated_world`
    path : the folder of the store
    kind : "heights", "displaced" or "triangles"; by default heights for heights, triangles for meshes, displaced for the rest
    tile : samples along a side of a tile, by default 256; for a mesh metres, and needed
    workers : processes that make tiles
    resume : False: a store that is there is an error
    progress : True for a bar, or lines, on stderr; or a function of tiles done, all tiles and the key of the last one
    quantum : metres, a power of two, of which heights and vertices are whole multiples; by default 2^-10
    spacing : of an array of heights: metres between samples, one number or two along x and y
    error : of triangles from heights: the largest vertical distance of any sample from them, metres; by default the spacing / 8
    samples : of displaced tiles: patches a side of their quads, a power of two; by default 16
    thickness : how deep the ground is below the surface, metres; by default without end for heights, one quad for displaced
        tiles
    lower, upper, cell : of a field: the domain's corners and the side of the cells, metres, as of `from_field`
    smoothing : of a field: rounds, as of `from_field`
    crs, origin : coordinate system as text, and where the terrain's frame begins in it
    leaf, levels : N and M of the sphere trees
    map_size : bytes that the store may reach; addresses, not memory
    runner : runs the job elsewhere, see `thud.cluster`

    Returns
    -------
    The manifest of the finished store
    """
    given = {
        "spacing": spacing, "error": error, "samples": samples, "thickness": thickness, "lower": lower, "upper": upper,
        "cell": cell, "smoothing": smoothing, "crs": crs, "origin": origin,
    }  # fmt: skip
    # What is wrong with these is said before a long look at the source.
    folder = as_path(path, "path")
    run = runner if runner is not None else (here if workers == 1 and workers is not True else Processes(workers))
    if not as_flag(resume, "resume") and (folder / DATA_FILE).exists():
        raise InvalidInputError(f"path: there is a store in {folder} already; resume=True goes on with it")
    if not (callable(progress) or isinstance(progress, bool)):
        raise InvalidInputError(f"progress: expected True, False or a function, got {progress!r}")
    made = plan(source, kind=kind, tile=tile, quantum=quantum, leaf=leaf, levels=levels, **given)
    return fill(folder, made, run, progress=progress, map_size=map_size)


def plan(
    source: Any, *, kind: str | None, tile: float | None, quantum: float | None, leaf: int, levels: int, **given: Any
) -> Plan:
    """How to fill a store from a source."""
    if kind is not None and kind not in KINDS:
        raise InvalidInputError(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    step = as_quantum(QUANTUM if quantum is None else quantum)
    tree: dict[str, Any] = {"leaf": _count(leaf, "leaf", 1, 2**20), "levels": _count(levels, "levels", 0, 32)}
    if isinstance(source, (str, os.PathLike)):
        raise InvalidInputError("source: a file is read by thud.io.read_elevation(path), whose answer goes here")
    if isinstance(source, HeightField):
        raise InvalidInputError("source: a HeightField; give the heights and the spacing= that it was made of")
    if isinstance(source, type) or (isinstance(source, Shape) and not isinstance(source, TriangleMesh)):
        raise InvalidInputError(
            f"source: expected heights, a TriangleMesh, a field or a generated_world, got {kind_of(source)}"
        )
    if isinstance(source, TriangleMesh):
        _only("a triangle mesh", given, _ONLY["mesh"])
        if tile is None:
            raise InvalidInputError("tile: needed for a mesh: metres along a side of a tile")
        side = as_positive(tile, "tile")
        place: dict[str, Any] = {"crs": given["crs"] or "", "origin": _origin(given["origin"])}
        return mesh_plan(source, kind or "triangles", tile=side, quantum=step, **tree, **place)
    many = _count(TILE_SAMPLES if tile is None else tile, "tile", 1, 2**14)
    quad = as_side(16 if given["samples"] is None else given["samples"])
    rounds = _count(2 if given["smoothing"] is None else given["smoothing"], "smoothing", 0, 64)
    thick = None if given["thickness"] is None else as_positive(given["thickness"], "thickness")
    if isinstance(source, GeneratedWorld):
        _only("a generated world", given, _ONLY["world"])
        return world_plan(
            source, kind or "displaced", tile=many, smoothing=rounds, thickness=thick, quantum=step, **tree
        )  # fmt: skip
    if isinstance(source, GridField) or (callable(source) and not isinstance(source, HeightWindows)):
        _only("a field", given, _ONLY["field"])
        return field_plan(
            source, kind or "displaced", lower=given["lower"], upper=given["upper"], cell=given["cell"], tile=many,
            samples=quad, smoothing=rounds, thickness=thick, quantum=step, **tree, crs=given["crs"] or "",
            origin=_origin(given["origin"]), about=_field_name(source),
        )  # fmt: skip
    windows = isinstance(source, HeightWindows)
    _only("an elevation model" if windows else "an array of heights", given, _ONLY["windows" if windows else "heights"])
    heights = as_heights(source, given["spacing"], given["crs"] or "", _origin(given["origin"]))
    bound = given["error"]
    off = float(np.min(heights.spacing)) / 8.0 if bound is None else as_positive(bound, "error", zero=True)
    chosen = kind or "heights"
    for name, kinds in (("error", ("triangles",)), ("samples", ("displaced",)), ("thickness", ("heights", "displaced"))):
        if given[name] is not None and chosen not in kinds:
            raise InvalidInputError(f"{name}: of no use to {chosen!r}; expected the kind {' or '.join(kinds)}")
    if thick is None and chosen == "displaced":
        thick = quad * float(np.max(heights.spacing))
    return height_plan(heights, chosen, tile=many, quantum=step, samples=quad, thickness=thick, error=off, **tree)


def fill(
    folder: Path, made: Plan, run: Runner, *, progress: bool | Callable[[int, int, TileKey], None], map_size: int = MAP_SIZE
) -> Manifest:
    """Write what is missing, and finish."""
    total = len(made.keys)
    with TileWriter(folder, made.manifest, map_size=map_size) as writer:
        missing = [key for key in made.keys if key not in writer.keys]
        done = total - len(missing)
        shown = BuildProgress(f"building {folder.name}", total, done, made.samples) if progress is True else nullcontext()
        # Read as they are asked for, not before.
        tasks = ((key, made.piece(key)) for key in missing)
        # Closed at once, whatever happens: workers end with it.
        with shown as bar, closing(_records(run(_Named(made.job), tasks))) as records:
            for key, record in records:
                if record is not None:
                    if record_key(record) != key:
                        raise InvalidInputError(f"source: the record made for {tuple(key)} is that of another tile")
                    writer.put(record)
                done += 1
                if bar is not None:
                    bar.add()
                elif callable(progress):
                    progress(done, total, key)
        return writer.finish()


def _records(found: Iterator[tuple[TileKey, bytes | None]]) -> Generator[tuple[TileKey, bytes | None], None, None]:
    """What a runner gives, as something that can be closed."""
    yield from found


class _Named:
    """A job whose errors name the tile."""

    def __init__(self, job: Any) -> None:
        self.job = job

    def __call__(self, key: TileKey, piece: Any) -> bytes | None:
        """As of `Job`."""
        try:
            found: bytes | None = self.job(key, piece)
        except ThudError as error:
            raise type(error)(f"tile {tuple(key)}: {error}") from error
        return found


def _only(what: str, given: dict[str, Any], takes: tuple[str, ...]) -> None:
    """Named error for options that are of no use."""
    for name, value in given.items():
        if value is not None and name not in takes:
            raise InvalidInputError(f"{name}: of no use to {what}")


def _count(value: Any, name: str, least: int, most: int) -> int:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    # NaN is not between.
    if not number or not least <= value <= most or value != int(value):
        raise InvalidInputError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
    return int(value)


def _origin(origin: npt.ArrayLike | None) -> tuple[float, float, float]:
    if origin is None:
        return (0.0, 0.0, 0.0)
    x, y, z = as_vector(origin, "origin").tolist()
    return (x, y, z)


def _field_name(field: Any) -> dict[str, Any]:
    """What tells one field from another: the numbers of a grid or mesh; of a function only its name."""
    if isinstance(field, GridField):
        values = np.ascontiguousarray(np.asarray(field.values), "<f8")
        digest = hashlib.blake2b(values.tobytes(), digest_size=16)
        for more in (field.origin, field.spacing):
            digest.update(np.ascontiguousarray(more, "<f8").tobytes())
        return {"source": "grid field", "values": digest.hexdigest()}
    if isinstance(field, MeshField):
        digest = hashlib.blake2b(np.ascontiguousarray(field.mesh.vertices, "<f8").tobytes(), digest_size=16)
        digest.update(np.ascontiguousarray(field.mesh.faces, "<i8").tobytes())
        return {"source": "distance to a mesh", "mesh": digest.hexdigest()}
    return {"source": "field", "name": getattr(field, "__qualname__", type(field).__qualname__)}
