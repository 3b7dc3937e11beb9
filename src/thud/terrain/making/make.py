"""Making a displaced surface from a signed distance field or a triangle mesh ([Yang] 2.2, 5.2).

A net of quadrilaterals about the surface (`surface_nets.py`) is the base mesh; its vertices get directions (`directions.py`);
each quadrilateral becomes a quad of the map (`atlas.py`), whose nodes are traced to the surface (`trace.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError, InvalidShapeError
from thud.gates import as_positive, as_vector
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.making.aligned_plane_error import Optimised, aligned_plane_errors, optimised_directions, sample_heights
from thud.terrain.making.atlas import Atlas, SharedNodes
from thud.terrain.making.directions import facing, gradient_directions, relaxed
from thud.terrain.making.fields import Field, GridField, MeshField, distances, evaluate
from thud.terrain.making.progress import Progress
from thud.terrain.making.surface_nets import Net, surface_nets
from thud.terrain.making.tolerances import CELL_ROUNDING, FIELD_BLOCK, MADE_SAMPLES, MIDDLE_STEP, TRACE_REACH
from thud.terrain.making.trace import trace
from thud.terrain.surface import DisplacedSurface
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
) -> MadeSurface:
    """A displaced surface along the zero of a signed distance field.

    The surface ends between half a cell and one before the domain's border.

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
    thickness : how deep the ground is below the surface, metres; None: down to the lower bounding planes
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
    options = _checked(samples, smoothing, thickness, quadrilaterals, optimise_directions)
    net = surface_nets(field, low, tuple(int(n) for n in shape), size)  # type: ignore[arg-type]
    return _displaced(field, relaxed(field, net, options.smoothing), options)


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
    net = relaxed(field, surface_nets(field, start, tuple(int(n) for n in shape), size), options.smoothing)  # type: ignore[arg-type]
    if not mesh.is_closed:
        keep = ~field.beyond(net.positions)[net.quads].any(axis=1)
        if not keep.any():
            raise InvalidShapeError(f"cell: the mesh is too small for cells of {size:g} m; use smaller ones")
        used, quads = np.unique(net.quads[keep], return_inverse=True)
        net = replace(net, positions=net.positions[used], centers=net.centers[used], quads=quads.reshape(-1, 4))
    return _displaced(field, net, options)


@dataclass(frozen=True)
class _Options:
    samples: int
    smoothing: int
    thickness: float | None
    quadrilaterals: bool
    optimise_directions: bool


def as_side(samples: int) -> int:
    """A power of two that a quad's side may be."""
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)):
        raise InvalidInputError(f"samples: expected a power of two from 1 to {QUAD_SIDE}, got {samples!r}")
    if not 1 <= samples <= QUAD_SIDE or samples & (samples - 1):
        raise InvalidInputError(f"samples: expected a power of two from 1 to {QUAD_SIDE}, got {samples}")
    return int(samples)


def _checked(
    samples: int, smoothing: int, thickness: float | None, quadrilaterals: bool, optimise_directions: bool
) -> _Options:
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, np.integer)) or smoothing < 0:
        raise InvalidInputError(f"smoothing: expected a whole number of rounds from 0 on, got {smoothing!r}")
    if quadrilaterals and optimise_directions:
        raise InvalidInputError("optimise_directions: the aligned plane is a method for triangles; use quadrilaterals=False")
    thick = None if thickness is None else as_positive(thickness, "thickness")
    return _Options(as_side(samples), int(smoothing), thick, bool(quadrilaterals), bool(optimise_directions))


def _displaced(field: Field, net: Net, options: _Options) -> MadeSurface:
    """Directions, lengths and errors of a net."""
    if len(net.quads) * (options.samples + 1) ** 2 > MADE_SAMPLES:
        raise InvalidInputError(
            f"samples: {len(net.quads)} quads of {options.samples} x {options.samples} are more than {MADE_SAMPLES} samples; "
            "use larger cells, fewer samples, or several surfaces"
        )
    directions = gradient_directions(field, net, options.smoothing)
    net, directions, primitives = facing(field, net, directions, options.quadrilaterals)
    lengths, traced, failed = _lengths(field, net, directions, primitives, options.samples)
    gain: Optimised | None = None
    before = None
    if options.optimise_directions:
        before = _assemble(net, directions, primitives, lengths, options)
        gain = optimised_directions(net.positions, directions, primitives[:, :3], sample_heights(before), net.cell)
        directions = gain.directions
        lengths, traced, failed = _lengths(field, net, directions, primitives, options.samples)
    surface = _assemble(net, directions, primitives, lengths, options)
    largest, mean = _errors(field, surface, net.cell)
    lines = [
        f"{len(net.quads)} quads of {options.samples} x {options.samples}, {len(primitives)} primitives, "
        f"{surface.sample_count} patches; cells of {net.cell:g} m",
        f"distance to the original: largest {largest:.3g} m, mean {mean:.3g} m",
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
    """The surface; without lengths its base. Directions are scaled by a power of two so that lengths are at most 1."""
    count, side = len(net.quads), options.samples
    atlas = Atlas.pack(count, side)
    # Each quad has corners of its own: vertex 4 q + k is corner k of quad q.
    per_quad = primitives.reshape(count, -1, 4)
    corner = np.argmax(per_quad[..., None] == net.quads[:, None, None, :], axis=3)
    rows = np.where(per_quad >= 0, 4 * np.arange(count)[:, None, None] + corner, -1).reshape(-1, 4)
    flat = net.quads.reshape(-1)
    unit, thickness = 1.0, None
    if lengths is not None:
        largest = float(np.abs(lengths).max())
        # Flat ground has no lengths to speak of.
        unit = 2.0 ** np.ceil(np.log2(max(largest, net.cell / 64.0)))
        thickness = None if options.thickness is None else options.thickness / unit
    whole = np.zeros(atlas.shape, dtype=np.float32) if lengths is None else atlas.fill(lengths / np.float32(unit))
    places = atlas.corners().reshape(-1, 2)
    return DisplacedSurface(net.positions[flat], unit * directions[flat], places, rows, atlas.quads, whole, thickness=thickness)


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
        _fill(lengths, nodes)
    return lengths, traced, failed


def _fill(lengths: npt.NDArray[np.float32], nodes: SharedNodes) -> None:
    """Lengths that are not known become the mean of their neighbours', from the known ones inward; shared nodes alike."""
    rows = np.flatnonzero(np.isnan(lengths).any(axis=(1, 2)))
    names = nodes.names(rows)
    border = names >= 0
    # Among the shared nodes of these quads alone.
    _, name = np.unique(names[border], return_inverse=True)
    values = lengths[rows].astype(np.float64)
    while np.isnan(values).any():
        known = ~np.isnan(values)
        total, number = np.zeros_like(values), np.zeros_like(values)
        wide = np.pad(np.where(known, values, 0.0), ((0, 0), (1, 1), (1, 1)))
        there = np.pad(known.astype(float), ((0, 0), (1, 1), (1, 1)))
        for t, s in ((0, 1), (2, 1), (1, 0), (1, 2)):
            window = (slice(None), slice(t, t + values.shape[1]), slice(s, s + values.shape[2]))
            total += wide[window]
            number += there[window]
        total[border] = np.bincount(name, weights=total[border])[name]
        number[border] = np.bincount(name, weights=number[border])[name]
        new = ~known & (number > 0)
        if not new.any():
            # A component of the net that no line from it meets: the base itself.
            values[~known] = 0.0
            break
        values[new] = total[new] / number[new]
    lengths[rows] = values


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
        at_middle, slope = distances(field, middles.reshape(-1, 3), MIDDLE_STEP * cell)
        # Samples take the slope of the patch that begins there.
        slopes = np.pad(slope.reshape(len(rows), side, side), ((0, 0), (0, 1), (0, 1)), mode="edge")
        at_sample = np.abs(evaluate(field, points.reshape(-1, 3))) / slopes.reshape(-1)
        largest = max(largest, float(at_middle.max()), float(at_sample.max()))
        total += float(at_middle.sum()) + float(at_sample.sum())
        number += len(at_middle) + len(at_sample)
        progress.add(len(rows))
    return largest, total / number
