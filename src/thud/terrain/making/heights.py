"""A displaced surface from a height map: vertical directions, every height a sample.

Heights are whole multiples of a *quantum*, a power of two, and so few of them lie between a sample and the base that all
arithmetic on the way to the sample is exact. A sample's bits then depend on its height, its place and the quantum alone, not on
the quads and tiles around it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array, float_array, whole_array
from thud._core.decorators import exact_kernel
from thud._core.threads import run_rows
from thud.constants import MESH_COORDINATE, MESH_LEAST
from thud.errors import InvalidInputError, InvalidShapeError
from thud.gates import as_positive
from thud.terrain.making.make import MadeSurface, as_side
from thud.terrain.making.tolerances import (
    HEIGHT_BITS,
    HEIGHT_QUANTA,
    HEIGHT_STEP,
    LENGTH_QUANTA,
    MADE_SAMPLES,
    RELIEF_QUANTA,
    SPACING_BITS,
)
from thud.terrain.surface import DisplacedSurface
from thud.terrain.tolerances import FACING_FLAT, QUAD_SIDE


def from_heights(
    heights: npt.ArrayLike,
    spacing: npt.ArrayLike,
    *,
    samples: int = 16,
    thickness: float | None = None,
    quantum: float | None = None,
    first: npt.ArrayLike = (0, 0),
) -> MadeSurface:
    """A displaced surface over a height map.

    Sample [y, x] is the point ((x + first[0]) spacing, (y + first[1]) spacing, heights[y, x]), the height to the nearest
    multiple of `quantum`, exactly. Masked heights leave holes: squares with a masked corner are not there. Quads are smaller at
    holes, at the far borders where the map is no multiple of `samples`, and where it is very steep. Between samples the surface
    is bilinear.

    Tiles of one map may be made apart, each with its own `first` and all with the same spacing and quantum. They share the row
    or column of samples between them, and agree there bit for bit.

    Parameters
    ----------
    heights : (H, W) metres, indexed [y, x], at least 2 a side and at most 2^15; z up. A masked array may have holes
    spacing : metres between samples; one number, or two along x and y. It is rounded to 36 bits (3e-11 of it)
    samples : patches a side of the quads, a power of two from 1 to 64
    thickness : how deep the ground is below the surface, metres; None: half to all of the longest base edge
        of this surface, so that tiles should be given one
    quantum : metres of which heights are whole multiples, rounded down to a power of two; None: 2^-16 of the smaller spacing,
        which is 8 to 15 micrometres a metre. Heights reach up to 2^52 of them
    first : (2,) whole numbers, multiples of `samples`: column and row of heights[0, 0] in a larger map
    """
    z, kept = _as_heights(heights)
    step = as_spacing(spacing)
    side = as_side(samples)
    thick = None if thickness is None else as_positive(thickness, "thickness")
    unit = 2.0 ** np.floor(np.log2(step.min()))
    least = HEIGHT_STEP * unit if quantum is None else 2.0 ** np.floor(np.log2(as_positive(quantum, "quantum")))
    corner = _as_first(first, side, z.shape, step)
    if not np.abs(z).max() <= HEIGHT_QUANTA * least:
        raise InvalidInputError(
            f"heights: {np.abs(z).max():g} m is beyond 2^{HEIGHT_BITS} of the quantum of {least:g} m; use a larger quantum"
        )

    whole = np.round(z / least) * least
    quads = tiling(whole, kept, side, RELIEF_QUANTA * least)
    if len(quads) == 0:
        raise InvalidShapeError("heights: no square of four heights is left; all are masked or beside one that is")
    corners = quads[:, None, :2] + quads[:, 2][:, None, None] * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    name, vertex = np.unique(corners.reshape(-1, 2) @ np.array([1, z.shape[1]]), return_inverse=True)
    place = np.column_stack([name % z.shape[1], name // z.shape[1]])
    # Parts of 1 / QUAD_SIDE between the heights of the base are whole multiples of the quantum.
    coarse = QUAD_SIDE * least
    base = base_heights(np.round(whole / coarse) * coarse, quads)
    second = splits(whole, quads)
    lengths = np.zeros(z.shape, dtype=np.float32)
    run_rows(lengths_rows, len(quads), None, whole, base, quads, second, unit, lengths, rows_per_chunk=64)
    if np.abs(lengths).max() * unit > LENGTH_QUANTA * least:
        raise InvalidInputError(
            f"quantum: {least:g} m is too small for heights as steep as these beside holes or borders; use a larger one"
        )
    position = np.column_stack([(place + corner) * step, base[place[:, 1], place[:, 0]]])
    direction = np.tile([0.0, 0.0, unit], (len(place), 1))
    primitives = _triangles(second, vertex.reshape(-1, 4))
    _check_steep(position, primitives, place)
    deep = None if thick is None else thick / unit
    surface = DisplacedSurface(position, direction, place, primitives, quads, lengths, thickness=deep)
    error = np.abs(whole - z)[kept]
    missing = (z.shape[0] - 1) * (z.shape[1] - 1) - surface.sample_count
    report = (
        f"{len(quads)} quads of up to {side} x {side}, {len(primitives)} primitives, {surface.sample_count} patches"
        f"{f', {missing} left out as holes' if missing else ''}\n"
        f"distance to the original: largest {error.max():.3g} m, mean {error.mean():.3g} m (quantum {least:.3g} m)\n"
        f"ground down to {surface.ground_thickness * unit:.3g} m below the surface (thickness)"
    )
    return MadeSurface(surface, float(error.max()), float(error.mean()), int(kept.sum()), 0, report)


def _check_steep(position: Floats, primitives: Ints, place: Ints) -> None:
    """Directions are vertical: a base that is all but vertical, too, has no length above it."""
    if np.abs(position).max() > MESH_COORDINATE:
        # That is named elsewhere.
        return
    a, b, c = (position[primitives[:, k]] for k in range(3))
    slope = np.cross(b - a, c - a)
    steep = np.flatnonzero(~(slope[:, 2] > FACING_FLAT * np.linalg.norm(slope, axis=1)))
    if len(steep):
        corners = primitives[steep[0], :3]
        column, row = place[corners].min(axis=0)
        rise = np.ptp(position[corners, 2])
        raise InvalidInputError(
            f"heights: they differ by {rise:g} m within a quad at row {row}, column {column}, steeper than "
            f"{1 / FACING_FLAT:g} : 1 for this spacing; expected gentler ones, in metres, or mask them to leave a hole"
        )


def _as_heights(heights: npt.ArrayLike) -> tuple[Floats, Bools]:
    """(H, W) heights, 0 where masked, and which are not."""
    mask = np.ma.getmaskarray(heights) if isinstance(heights, np.ma.MaskedArray) else None
    values = np.ma.getdata(heights) if mask is not None else heights
    if mask is not None and mask.any():
        values = np.where(mask, np.zeros((), dtype=values.dtype), values)  # type: ignore[union-attr]
    z = float_array(values, "heights")
    if z.ndim == 2 and not np.isfinite(z).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(z))[0])
        raise InvalidInputError(
            f"heights: row {row}, column {column} is not finite ({z[row, column]}); expected finite numbers, or mask it to "
            "leave a hole there: np.ma.masked_invalid(heights)"
        )
    z = finite_array(z, "heights")
    if z.ndim != 2 or min(z.shape) < 2 or max(z.shape) > 2**15 or z.size > MADE_SAMPLES:
        raise InvalidInputError(f"heights: expected an array (H, W) of 2 to {2**15} a side, got shape {z.shape}")
    return z, np.ones(z.shape, dtype=bool) if mask is None else ~mask


def as_spacing(spacing: npt.ArrayLike) -> Floats:
    """(2,) metres along x and y."""
    given = finite_array(spacing, "spacing")
    if given.shape not in ((), (1,), (2,)) or (given <= 0.0).any():
        raise InvalidInputError(f"spacing: expected positive metres between samples, one number or two, got {spacing!r}")
    if (given < MESH_LEAST).any():
        raise InvalidInputError(f"spacing: {given.min():g} m is too small; expected at least {MESH_LEAST:g} m")
    mantissa, exponent = np.frexp(np.broadcast_to(given, (2,)).astype(float))
    return np.ldexp(np.round(np.ldexp(mantissa, SPACING_BITS)), exponent - SPACING_BITS)


def _as_first(first: npt.ArrayLike, side: int, shape: tuple[int, int], step: Floats) -> Ints:
    """(2,) column and row of the map's first sample, such that all products with the spacing are exact."""
    found = whole_array(first, "first")
    if found.shape != (2,) or (found % side != 0).any():
        raise InvalidInputError(f"first: expected two whole numbers that are multiples of samples ({side}), got {first!r}")
    for k in range(2):
        most = max(abs(int(found[k])), abs(int(found[k]) + shape[1 - k] - 1))
        bits = int(np.ldexp(np.frexp(step[k])[0], SPACING_BITS))
        used = bits.bit_length() - ((bits & -bits).bit_length() - 1)
        if used + most.bit_length() > 53:
            raise InvalidInputError(
                f"first: sample {most} is too far along {'xy'[k]} for a spacing of {step[k]:g} m to be exact; expected at most "
                f"2^{53 - used} samples, or a spacing that is a whole multiple of a power of two"
            )
    return found


def tiling(heights: Floats, kept: Bools, side: int, relief: float) -> Ints:
    """(Q, 3) squares s, t, side that tile what is kept of a map: of the given side, and of halves, quarters, ... of it where
    a larger one would reach beyond the map, over a hole, or over heights that differ by more than `relief`."""
    rows, columns = (-(-(n - 1) // side) * side for n in heights.shape)
    # Beyond the map and in holes they differ by infinity.
    low, high = np.full((rows, columns), -np.inf), np.full((rows, columns), np.inf)
    window = (slice(heights.shape[0] - 1), slice(heights.shape[1] - 1))
    corners = [heights[t : t + window[0].stop, s : s + window[1].stop] for t in (0, 1) for s in (0, 1)]
    there = kept[:-1, :-1] & kept[1:, :-1] & kept[:-1, 1:] & kept[1:, 1:]
    low[window] = np.where(there, np.minimum.reduce(corners), -np.inf)
    high[window] = np.where(there, np.maximum.reduce(corners), np.inf)
    ranges = [(low, high)]
    while 2 ** (len(ranges) - 1) < side:
        low, high = ranges[-1]
        blocks = (low.shape[0] // 2, 2, low.shape[1] // 2, 2)
        ranges.append((low.reshape(blocks).min(axis=(1, 3)), high.reshape(blocks).max(axis=(1, 3))))
    found = []
    t, s = np.mgrid[0 : rows // side, 0 : columns // side].reshape(2, -1)
    for level in range(len(ranges) - 1, -1, -1):
        low, high = ranges[level][0][t, s], ranges[level][1][t, s]
        fits = high - low <= relief if level else np.isfinite(high)
        found.append(np.column_stack([s[fits], t[fits], np.ones(fits.sum(), dtype=np.int64)]) << level)
        s = (2 * s[~fits][:, None] + np.array([0, 1, 0, 1])).reshape(-1)
        t = (2 * t[~fits][:, None] + np.array([0, 0, 1, 1])).reshape(-1)
    return np.concatenate(found)


def base_heights(heights: Floats, quads: Ints) -> Floats:
    """(H, W) heights of the base at the corners of quads: the given ones, but a corner on the edge of a larger quad lies on
    that edge. Elsewhere they mean nothing."""
    out = np.zeros_like(heights)
    fixed = np.zeros(heights.shape, dtype=bool)
    sides = sorted(np.unique(quads[:, 2]).tolist(), reverse=True)
    for side in sides:
        own = quads[quads[:, 2] == side]
        for ds, dt in ((0, 0), (side, 0), (0, side), (side, side)):
            s, t = own[:, 0] + ds, own[:, 1] + dt
            free = ~fixed[t, s]
            out[t[free], s[free]] = heights[t[free], s[free]]
        # Corners first: an edge reads both of its ends.
        for ds, dt in ((0, 0), (side, 0), (0, side), (side, side)):
            fixed[own[:, 1] + dt, own[:, 0] + ds] = True
        for k in range(sides[-1], side, sides[-1]):
            part = k / side
            for (s0, t0), (s1, t1) in (((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 0), (0, 1)), ((1, 0), (1, 1))):
                a = (own[:, 1] + t0 * side, own[:, 0] + s0 * side)
                b = (own[:, 1] + t1 * side, own[:, 0] + s1 * side)
                at = (own[:, 1] + t0 * side + k * (t1 - t0), own[:, 0] + s0 * side + k * (s1 - s0))
                value = (1.0 - part) * out[a] + part * out[b]
                free = ~fixed[at]
                out[at[0][free], at[1][free]] = value[free]
                fixed[at] = True
    return out


def splits(heights: Floats, quads: Ints) -> Bools:
    """(Q,) whether the diagonal 10-01 of a quad is the better one: its middle is nearer to the heights in the quad's middle."""
    s, t, side = quads.T
    low, high = side // 2, side - side // 2
    middle = 0.5 * (heights[t + low, s + low] + heights[t + high, s + high])
    along = 0.5 * (heights[t, s] + heights[t + side, s + side])
    across = 0.5 * (heights[t, s + side] + heights[t + side, s])
    return np.asarray(np.abs(across - middle) < np.abs(along - middle))


def _triangles(second: Bools, vertex: Ints) -> Ints:
    """(2 Q, 4) two triangles a quad of the vertices (Q, 4) at its corners 00, 10, 11, 01."""
    ways = np.array([[[0, 1, 2], [0, 2, 3]], [[0, 1, 3], [1, 2, 3]]])
    rows = np.take_along_axis(vertex[:, None, :], ways[second.astype(int)], axis=2).reshape(-1, 3)
    return np.column_stack([rows, np.full(len(rows), -1)])


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], i8[:,::1], b1[::1], f8, f4[:,::1]")
def lengths_rows(start, stop, heights, base, quads, second, unit, lengths_out):
    """Heights above the base, in units: whole multiples of the quantum, and no operation rounds."""
    for quad in range(start, stop):
        s, t, side = quads[quad, 0], quads[quad, 1], quads[quad, 2]
        a, b = base[t, s], base[t, s + side]
        d, c = base[t + side, s], base[t + side, s + side]
        for y in range(side + 1):
            for x in range(side + 1):
                # Seen from the corner of the triangle at which the right angle is.
                if second[quad]:
                    if x + y <= side:
                        level = a + ((b - a) * x + (d - a) * y) / side
                    else:
                        level = c + ((d - c) * (side - x) + (b - c) * (side - y)) / side
                elif x >= y:
                    level = b + ((a - b) * (side - x) + (c - b) * y) / side
                else:
                    level = d + ((c - d) * x + (a - d) * (side - y)) / side
                lengths_out[t + y, s + x] = np.float32((heights[t + y, s + x] - level) / unit)
