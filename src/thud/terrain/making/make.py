"""Making a displaced surface from a signed distance field or a triangle mesh ([Yang] 2.2, 5.2).

A net of quadrilaterals about the surface (`surface_nets.py`) is the base mesh; its vertices get directions (`directions.py`);
each quadrilateral becomes a quad of the map (`atlas.py`), whose nodes are traced to the surface (`trace.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, whole_array
from thud.errors import InvalidInputError, InvalidShapeError, NoSurfaceError
from thud.gates import as_flag, as_positive, as_vector
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.making.aligned_plane_error import Optimised, aligned_plane_errors, optimised_directions, sample_heights
from thud.terrain.making.atlas import Atlas, SharedNodes
from thud.terrain.making.directions import SPREAD, Facing, facing, gradient_directions, relaxed, rings
from thud.terrain.making.fields import Field, GridField, MeshField, sizes, slopes
from thud.terrain.making.progress import Progress
from thud.terrain.making.surface_nets import Net, surface_nets
from thud.terrain.making.tolerances import CELL_ROUNDING, FIELD_BLOCK, MADE_SAMPLES, MIDDLE_STEP, SLOPE_PATCHES, TRACE_REACH
from thud.terrain.making.trace import trace
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_check import folded_primitives
from thud.terrain.tolerances import QUAD_SIDE


@dataclass(frozen=True)
class MadeSurface:
    """A displaced surface and how well it follows what it was made from."""

    surface: DisplacedSurface
    error_max: float
    """Largest distance of samples and of middles of patches to the original, metres."""
    error_mean: float
    """Mean of them."""
    traced: int
    """Nodes whose direction met the original; those that quads share count once."""
    failed: int
    """Nodes whose direction did not; their lengths are filled in from their neighbours'."""
    report: str
    """All that in words."""

    def __str__(self) -> str:
        return self.report


def from_field(
    field: Field | GridField,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    cell: float | None = None,
    *,
    samples: int = 16,
    quadrilaterals: bool = False,
    smoothing: int = 2,
    optimise_directions: bool = False,
    thickness: float | None = None,
    cells: npt.ArrayLike | None = None,
    measure: bool = True,
) -> MadeSurface:
    """A displaced surface along the zero of a signed distance field.

    The surface ends between half a cell and one before the domain's border.

    Tiles of one surface may be made apart, each of its own `cells`, all else alike. Each quad belongs to exactly one tile: that
    whose cells hold the lower end of the grid edge that the quad goes round. The tiles together are the surface made at once,
    bit for bit, as long as the field gives a point the same bits in whatever company it is asked. The field is also asked a few
    cells around, as far as smoothing reaches.

    Parameters
    ----------
    field : callable from points (N, 3) to distances (N,), negative inside the ground; or a `GridField`. It need not be an exact
        distance, but its zero must be a surface. It is called with up to 2^18 points at once
    lower, upper : (3,) corners of the domain, metres; default the whole `GridField`. The upper one is moved out to whole cells
    cell : side of the cells of which each becomes about one quad of the map, metres. Features thinner than a cell are lost
    samples : patches a side of each quad, a power of two from 1 to 64
    quadrilaterals : one quadrilateral primitive a quad instead of two triangles
    smoothing : rounds in which vertices and directions are averaged with their neighbours
    optimise_directions : turn and scale directions to lessen the error of the aligned-plane backward projection
    thickness : how deep the ground is below the surface, metres; None: half to all of the longest base edge
        of this surface, so that tiles should be given one
    cells : (2, 3) whole numbers: make only the part of the cells from cells[0] up to, and without, cells[1], counted from
        `lower`; None: all. Where there is no surface that is a `NoSurfaceError`. Not together with `optimise_directions`, which
        looks at the whole surface
    measure : False: do not measure the error, which takes a few values of the field a sample; it is NaN then
    """
    if isinstance(field, GridField):
        lower = field.bounds[0] if lower is None else lower
        upper = field.bounds[1] if upper is None else upper
        cell = float(np.min(field.spacing)) if cell is None else cell
    elif not callable(field):
        raise InvalidInputError(
            f"field: expected a callable from points to distances or a GridField, got a {type(field).__name__}; "
            "for an array use GridField(values, origin, spacing)"
        )
    if lower is None or upper is None or cell is None:
        raise InvalidInputError("lower, upper, cell: needed for a callable field")
    low, high, size = as_vector(lower, "lower"), as_vector(upper, "upper"), as_positive(cell, "cell")
    if (high - low < 2.0 * size).any():
        axis = int(np.argmax(high - low < 2.0 * size))
        raise InvalidInputError(
            f"upper: the domain is {high[axis] - low[axis]:g} m along {'xyz'[axis]}; expected at least two cells of {size:g} m"
        )
    shape = np.ceil((high - low) / size - CELL_ROUNDING)
    if (shape > 2**30).any():
        raise InvalidInputError(f"cell: {size:g} m is too small for a domain of {(high - low).max():g} m")
    options = _checked(samples, smoothing, thickness, quadrilaterals, optimise_directions, as_flag(measure, "measure"))
    whole = shape.astype(np.int64)
    if cells is None:
        net = relaxed(field, surface_nets(field, low, whole, size, np.zeros(3, np.int64)), options.smoothing)
        return _displaced(field, _directed(field, net, options), options)
    if options.optimise_directions:
        raise InvalidInputError("optimise_directions: it looks at the whole surface; expected False for a part by cells")
    part = whole_array(cells, "cells")
    if part.shape != (2, 3) or (part[0] < 0).any() or (part[1] > whole).any() or (part[0] >= part[1]).any():
        raise InvalidInputError(
            f"cells: expected two rows of three whole numbers, first and last cell, within 0 .. {whole.tolist()}, got {cells!r}"
        )
    return _tile(field, low, whole, size, part, options)


def _tile(field: Field, lower: Floats, shape: Ints, cell: float, part: Ints, options: _Options) -> MadeSurface:
    """The surface of some cells, made with so many cells around it that it does not depend on where those end."""
    ghost = 2 * options.smoothing + SPREAD + 5
    while True:
        first, last = np.maximum(part[0] - ghost, 0), np.minimum(part[1] + ghost, shape)
        net = surface_nets(field, lower, last - first, cell, first)
        owned = ((net.edges >= part[0]) & (net.edges < part[1])).all(axis=1)
        if not owned.any():
            raise NoSurfaceError("cells: no part of the surface belongs to them; they are all ground or all air")
        needed = np.zeros(len(net.positions), dtype=bool)
        needed[net.quads[owned]] = True
        net = relaxed(field, net, options.smoothing)
        found = _directed(field, net, options, needed)
        # Cells beside those that were not looked at lack neighbours: what depends on them is not as in the whole.
        cut = ((net.cells == first) & (first > 0)) | ((net.cells == last - 1) & (last < shape))
        unsure = rings(cut.any(axis=1), net.quads, 2 * options.smoothing + SPREAD + 2)
        while True:
            wider = unsure | (found.moved & rings(unsure, net.quads, 1))
            if (wider == unsure).all():
                break
            unsure = wider
        if not (rings(unsure, net.quads, 1) & needed).any():
            return _displaced(field, found.of_quads(owned), options)
        ghost *= 2


def from_mesh(
    mesh: TriangleMesh,
    cell: float,
    *,
    samples: int = 16,
    quadrilaterals: bool = False,
    smoothing: int = 2,
    optimise_directions: bool = False,
    thickness: float | None = None,
) -> MadeSurface:
    """A displaced surface along a mesh.

    A closed mesh is the ground whichever way its triangles run. Of an open one the ground is behind the triangles, which must
    run alike, and the surface ends up to two cells before its border.

    Parameters
    ----------
    mesh : the mesh
    cell : side of the cells of which each becomes about one quad of the map, metres; parts thinner than a cell are lost
    samples, quadrilaterals, smoothing, optimise_directions, thickness : as of `from_field`
    """
    field, size = MeshField(mesh), as_positive(cell, "cell")
    options = _checked(samples, smoothing, thickness, quadrilaterals, optimise_directions)
    low, high = field.bounds
    # Two cells around, and by a part of one more, so that flat faces on round numbers do not meet the grid's nodes.
    shape = np.ceil((high - low) / size) + 4
    if (shape > 2**30).any():
        raise InvalidInputError(f"cell: {size:g} m is too small for a mesh of {(high - low).max():g} m")
    start = low - 0.5 * (shape * size - (high - low)) - 0.0171 * size
    net = relaxed(field, surface_nets(field, start, shape.astype(np.int64), size, np.zeros(3, np.int64)), options.smoothing)
    if not mesh.is_closed:
        keep = np.asarray(~field.beyond(net.positions)[net.quads].any(axis=1))
        if not keep.any():
            raise InvalidShapeError(f"cell: the mesh is too small for cells of {size:g} m; use smaller ones")
        net = net.of_quads(keep)
    return _displaced(field, _directed(field, net, options), options)


@dataclass(frozen=True)
class _Options:
    samples: int
    smoothing: int
    thickness: float | None
    quadrilaterals: bool
    optimise_directions: bool
    measure: bool = True


def as_side(samples: int) -> int:
    """A power of two that a quad's side may be."""
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)):
        raise InvalidInputError(f"samples: expected a power of two from 1 to {QUAD_SIDE}, got {samples!r}")
    if not 1 <= samples <= QUAD_SIDE or samples & (samples - 1):
        raise InvalidInputError(f"samples: expected a power of two from 1 to {QUAD_SIDE}, got {samples}")
    return int(samples)


def _checked(
    samples: int, smoothing: int, thickness: float | None, quadrilaterals: bool, optimise_directions: bool, measure: bool = True
) -> _Options:
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, np.integer)) or smoothing < 0:
        raise InvalidInputError(f"smoothing: expected a whole number of rounds from 0 on, got {smoothing!r}")
    if quadrilaterals and optimise_directions:
        raise InvalidInputError("optimise_directions: the aligned plane is a method for triangles; use quadrilaterals=False")
    thick = None if thickness is None else as_positive(thickness, "thickness")
    return _Options(as_side(samples), int(smoothing), thick, bool(quadrilaterals), bool(optimise_directions), measure)


def _directed(field: Field, net: Net, options: _Options, needed: Bools | None = None) -> Facing:
    """Directions and primitives of a net."""
    directions = gradient_directions(field, net, options.smoothing)
    every = np.ones(len(net.positions), dtype=bool)
    return facing(field, net, directions, options.quadrilaterals, every if needed is None else needed)


def _displaced(field: Field, directed: Facing, options: _Options) -> MadeSurface:
    """Lengths and errors of a net with directions."""
    net, directions, primitives = directed.net, directed.directions, directed.primitives
    if len(net.quads) * (options.samples + 1) ** 2 > MADE_SAMPLES:
        raise InvalidInputError(
            f"samples: {len(net.quads)} quads of {options.samples} x {options.samples} are more than {MADE_SAMPLES} samples; "
            "use larger cells, fewer samples, or several surfaces"
        )
    lengths, traced, failed = _lengths(field, net, directions, primitives, options.samples)
    gain: Optimised | None = None
    before = None
    if options.optimise_directions:
        before = _assemble(net, directions, primitives, lengths, options)
        gain = optimised_directions(net.positions, directions, primitives[:, :3], sample_heights(before), net.cell)
        directions = gain.directions
        lengths, traced, failed = _lengths(field, net, directions, primitives, options.samples)
    surface = _assemble(net, directions, primitives, lengths, options)
    largest, mean = _errors(field, surface, net.cell) if options.measure else (math.nan, math.nan)
    depth = float(np.linalg.norm(surface.ways_down, axis=1).mean())
    lines = [
        f"{len(net.quads)} quads of {options.samples} x {options.samples}, {len(primitives)} primitives, "
        f"{surface.sample_count} patches; cells of {net.cell:g} m",
        f"distance to the original: largest {largest:.3g} m, mean {mean:.3g} m",
        f"ground down to {depth:.3g} m below the surface, or to the next sheet (thickness)",
        f"{traced} nodes traced, {failed} without a surface within {TRACE_REACH:g} cells (filled in from their neighbours)",
    ]
    if gain is not None and before is not None:
        old, new = aligned_plane_errors(before), aligned_plane_errors(surface)
        lines.append(
            f"aligned plane, error of the base point: mean {old.distance.mean():.3g} -> {new.distance.mean():.3g} m, "
            f"largest {old.distance.max():.3g} -> {new.distance.max():.3g} m; of (u, v): mean {old.uv.mean():.3g} -> "
            f"{new.uv.mean():.3g}; aligned triangles turned over at {(old.area <= 0.0).sum()} -> {(new.area <= 0.0).sum()} of "
            f"{len(new.area)} samples ({gain.iterations} iterations)"
        )
    return MadeSurface(surface, largest, mean, traced, failed, "\n".join(lines))


def _assemble(
    net: Net, directions: Floats, primitives: Ints, lengths: npt.NDArray[np.float32] | None, options: _Options
) -> DisplacedSurface:
    """The surface; without lengths its base. The unit of lengths is the power of two next to a cell, whatever they are: tiles
    have the same."""
    count, side = len(net.quads), options.samples
    atlas = Atlas.pack(count, side)
    # Each quad has corners of its own: vertex 4 q + k is corner k of quad q.
    per_quad = primitives.reshape(count, -1, 4)
    corner = np.argmax(per_quad[..., None] == net.quads[:, None, None, :], axis=3)
    rows = np.where(per_quad >= 0, 4 * np.arange(count)[:, None, None] + corner, -1).reshape(-1, 4)
    flat = net.quads.reshape(-1)
    unit, thickness = 1.0, None
    if lengths is not None:
        unit = 2.0 ** round(math.log2(net.cell))
        thickness = None if options.thickness is None else options.thickness / unit
    whole = np.zeros(atlas.shape, dtype=np.float32) if lengths is None else atlas.fill(lengths / np.float32(unit))
    places = atlas.corners().reshape(-1, 2)
    arrays = (net.positions[flat], unit * directions[flat], places, rows)
    folded = folded_primitives(*arrays, whole)
    if len(folded):
        place = ", ".join(f"{x:g}" for x in net.centers[primitives[folded[0], 0]])
        raise InvalidShapeError(
            f"cell: directions cross before they reach the surface in the cell at ({place}); use a smaller cell than "
            f"{net.cell:g} m or a smoother field"
        )
    return DisplacedSurface(*arrays, atlas.quads, whole, thickness=thickness)


def _lengths(
    field: Field, net: Net, directions: Floats, primitives: Ints, side: int
) -> tuple[npt.NDArray[np.float32], int, int]:
    """(Q, m, m) lengths, how many nodes were traced, and how many of them in vain. Shared nodes are traced once."""
    base = _assemble(net, directions, primitives, None, _Options(side, 0, None, primitives[0, 3] >= 0, False))
    m = side + 1
    lengths = np.empty((len(net.quads), m, m), dtype=np.float32)
    nodes = SharedNodes(net.quads, side)
    shared = np.zeros(nodes.count, dtype=np.float32)
    known = np.zeros(nodes.count, dtype=bool)
    step = max(1, FIELD_BLOCK // (m * m))
    traced = failed = 0
    progress = Progress("quads traced", len(net.quads))
    for start in range(0, len(net.quads), step):
        rows = np.arange(start, min(start + step, len(net.quads)))
        found = base.quad_samples(rows)
        names = nodes.names(rows).reshape(-1)
        inner = names < 0
        fresh = np.flatnonzero(~inner & ~known[names])
        name, first = np.unique(names[fresh], return_index=True)
        wanted = np.concatenate([np.flatnonzero(inner), fresh[first]])
        new = trace(
            field,
            found.position.reshape(-1, 3)[wanted],
            found.direction.reshape(-1, 3)[wanted],
            TRACE_REACH * net.cell,
            net.cell,
        )
        traced += int((~np.isnan(new)).sum())
        failed += int(np.isnan(new).sum())
        block = np.empty(len(names), dtype=np.float32)
        count = int(inner.sum())
        block[inner] = new[:count]
        shared[name], known[name] = new[count:], True
        block[~inner] = shared[names[~inner]]
        lengths[rows] = block.reshape(-1, m, m)
        progress.add(len(rows))
    if failed:
        _fill(lengths)
    return lengths, traced, failed


def _fill(lengths: npt.NDArray[np.float32]) -> None:
    """Lengths that are not known: at corners those of the base, on edges the means of their neighbours along the edge, inside
    those of all neighbours, from the known ones inward. A node comes out alike from whichever quad it is seen."""
    rows = np.flatnonzero(np.isnan(lengths).any(axis=(1, 2)))
    values = lengths[rows].astype(np.float64)
    for t, s in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        corner = values[:, t, s]
        corner[np.isnan(corner)] = 0.0
    for edge in (values[:, 0], values[:, -1], values[:, :, 0], values[:, :, -1]):
        _fill_inward(edge, (1,))
    _fill_inward(values, (1, 2))
    lengths[rows] = values


def _fill_inward(values: Floats, axes: tuple[int, ...]) -> None:
    """Fill in NaN, in place, by means of the neighbours along the axes, those that have a neighbour first."""
    while np.isnan(values).any():
        known = ~np.isnan(values)
        padding = [(1, 1) if axis in axes else (0, 0) for axis in range(values.ndim)]
        wide, there = np.pad(np.where(known, values, 0.0), padding), np.pad(known.astype(float), padding)
        total, number = np.zeros_like(values), np.zeros_like(values)
        for axis in axes:
            for shift in (0, 2):
                window = tuple(slice(shift if k == axis else (1 if k in axes else 0), None) for k in range(values.ndim))
                size = tuple(slice(n) for n in values.shape)
                total += wide[window][size]
                number += there[window][size]
        new = ~known & (number > 0)
        values[new] = total[new] / number[new]


def _errors(field: Field, surface: DisplacedSurface, cell: float) -> tuple[float, float]:
    """Largest and mean distance of samples and of middles of patches."""
    count, side = len(np.asarray(surface.quads)), int(np.asarray(surface.quads)[0, 2])
    step = max(1, FIELD_BLOCK // (side + 1) ** 2)
    largest, total, number = 0.0, 0.0, 0
    progress = Progress("quads measured", count)
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        points = surface.quad_samples(rows).point
        middles = 0.25 * (points[:, :-1, :-1] + points[:, 1:, :-1] + points[:, :-1, 1:] + points[:, 1:, 1:])
        at_middle, at_sample = (sizes(field, x.reshape(-1, 3)).reshape(x.shape[:3]) for x in (middles, points))
        # A slope for each SLOPE_PATCHES x SLOPE_PATCHES patches; samples take that of the patch that begins there.
        part = min(side, SLOPE_PATCHES)
        coarse = middles[:, part // 2 :: part, part // 2 :: part]
        slope = slopes(field, coarse.reshape(-1, 3), MIDDLE_STEP * cell).reshape(coarse.shape[:3])
        slope = slope.repeat(part, axis=1).repeat(part, axis=2)
        at_middle /= slope
        at_sample /= np.pad(slope, ((0, 0), (0, 1), (0, 1)), mode="edge")
        largest = max(largest, float(at_middle.max()), float(at_sample.max()))
        total += float(at_middle.sum()) + float(at_sample.sum())
        number += at_middle.size + at_sample.size
        progress.add(len(rows))
    return largest, total / number
