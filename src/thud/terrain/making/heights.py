"""A displaced surface from a height map: vertical directions, every height a sample."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import as_positive, finite_array
from thud.terrain.making.make import MadeSurface, as_side
from thud.terrain.making.tolerances import MADE_SAMPLES
from thud.terrain.surface import DisplacedSurface

# Bits that base heights and spacings keep, so that their dyadic parts along the edges of quads are exact.
_HEIGHT_BITS, _SPACING_BITS = 22, 36


def from_heights(
    heights: npt.ArrayLike, spacing: npt.ArrayLike, *, samples: int = 16, thickness: float | None = None
) -> MadeSurface:
    """A displaced surface over a height map.

    Sample [y, x] is the point (x spacing, y spacing, heights[y, x]), to within 2^-24 of its height above the base mesh, which
    follows the terrain. Quads at the far borders are smaller where the map is no multiple of `samples`. Between samples the
    surface is bilinear.

    Parameters
    ----------
    heights : (H, W) metres, indexed [y, x], at least 2 a side and at most 2^15; z up
    spacing : metres between samples; one number, or two along x and y. It is rounded to 36 bits (3e-11 of it)
    samples : patches a side of the quads, a power of two from 1 to 64
    thickness : how deep the ground is below the surface, metres; None: down to the lower bounding planes
    """
    z = finite_array(heights, "heights")
    if z.ndim != 2 or min(z.shape) < 2 or max(z.shape) > 2**15 or z.size > MADE_SAMPLES:
        raise InvalidInputError(f"heights: expected an array (H, W) of 2 to {2**15} a side, got shape {z.shape}")
    given = finite_array(spacing, "spacing")
    if given.shape not in ((), (1,), (2,)) or (given <= 0.0).any():
        raise InvalidInputError(f"spacing: expected positive metres between samples, one number or two, got {spacing!r}")
    step = _rounded(np.broadcast_to(given, (2,)).astype(float), _SPACING_BITS)
    side = as_side(samples)
    thick = None if thickness is None else as_positive(thickness, "thickness")

    quads = tiling(z.shape[1] - 1, z.shape[0] - 1, side)
    corners = quads[:, None, :2] + quads[:, 2][:, None, None] * np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    place, vertex = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    vertex = vertex.reshape(-1, 4)
    # Base heights keep few bits, so that parts of 1 / side between them are exact, from whichever quad they are seen.
    reach = float(np.abs(z).max())
    # Heights that are nothing beside the spacing have a level base.
    small = reach < 2.0**-100 * float(step.min())
    quantum = 1.0 if small else 2.0 ** (np.ceil(np.log2(reach)) - _HEIGHT_BITS)
    base = base_heights(np.zeros_like(z) if small else np.round(z / quantum) * quantum, quads)
    position = np.column_stack([place * step, base[place[:, 1], place[:, 0]]])
    primitives = _split(z, quads, vertex)
    lengths = z - base
    largest = float(np.abs(lengths).max())
    unit = 2.0 ** np.ceil(np.log2(max(largest, float(step.min()) / 64.0)))
    direction = np.tile([0.0, 0.0, unit], (len(place), 1))
    level = DisplacedSurface(position, direction, place, primitives, quads, np.zeros(z.shape, dtype=np.float32))
    lengths = z - node_heights(level, z.shape)
    surface = DisplacedSurface(
        position,
        direction,
        place,
        primitives,
        quads,
        (lengths / unit).astype(np.float32),
        thickness=None if thick is None else thick / unit,
    )
    error = np.abs(node_heights(surface, z.shape, projected=True) - z)
    report = (
        f"{len(quads)} quads of up to {side} x {side}, {len(primitives)} primitives, {surface.sample_count} patches\n"
        f"distance to the original: largest {error.max():.3g} m, mean {error.mean():.3g} m"
    )
    return MadeSurface(surface, float(error.max()), float(error.mean()), z.size, 0, report)


def tiling(width: int, height: int, side: int) -> Ints:
    """(Q, 3) squares s, t, side that tile a rectangle: of the given side, at the far borders of its halves, quarters, ..."""
    found = []
    level = side
    t, s = np.mgrid[0:height:side, 0:width:side].reshape(2, -1)
    while True:
        whole = (s + level <= width) & (t + level <= height)
        found.append(np.column_stack([s[whole], t[whole], np.full(whole.sum(), level)]))
        s, t = s[~whole], t[~whole]
        if len(s) == 0:
            return np.concatenate(found)
        level //= 2
        s = (s[:, None] + level * np.array([0, 1, 0, 1])).reshape(-1)
        t = (t[:, None] + level * np.array([0, 0, 1, 1])).reshape(-1)
        inside = (s < width) & (t < height)
        s, t = s[inside], t[inside]


def base_heights(heights: Floats, quads: Ints) -> Floats:
    """(H, W) heights of the base at nodes on the borders of quads, zero elsewhere: the given ones at corners, linear along
    edges. A corner on the edge of a larger quad lies on that edge."""
    out = np.zeros_like(heights)
    fixed = np.zeros(heights.shape, dtype=bool)
    for side in sorted(np.unique(quads[:, 2]).tolist(), reverse=True):
        own = quads[quads[:, 2] == side]
        for ds, dt in ((0, 0), (side, 0), (0, side), (side, side)):
            s, t = own[:, 0] + ds, own[:, 1] + dt
            free = ~fixed[t, s]
            out[t[free], s[free]] = heights[t[free], s[free]]
        # Corners first: an edge reads both of its ends.
        for ds, dt in ((0, 0), (side, 0), (0, side), (side, side)):
            fixed[own[:, 1] + dt, own[:, 0] + ds] = True
        for k in range(1, side):
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


def node_heights(surface: DisplacedSurface, shape: tuple[int, int], *, projected: bool = False) -> Floats:
    """(H, W) heights of the base, or of the samples, at all nodes of a surface that covers the whole map."""
    out = np.zeros(shape)
    quads = np.asarray(surface.quads)
    for side in np.unique(quads[:, 2]).tolist():
        rows = np.flatnonzero(quads[:, 2] == side)
        step = max(1, 2**18 // (side + 1) ** 2)
        t, s = np.mgrid[: side + 1, : side + 1]
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            found = surface.quad_samples(some)
            value = found.point if projected else found.position
            out[quads[some, 1][:, None, None] + t, quads[some, 0][:, None, None] + s] = value[..., 2]
    return out


def _split(heights: Floats, quads: Ints, vertex: Ints) -> Ints:
    """(2 Q, 4) triangles, by the diagonal whose middle is nearer to the heights in the middle of the quad."""
    s, t, side = quads.T
    low, high = side // 2, side - side // 2
    middle = 0.5 * (heights[t + low, s + low] + heights[t + high, s + high])
    along = 0.5 * (heights[t, s] + heights[t + side, s + side])
    across = 0.5 * (heights[t, s + side] + heights[t + side, s])
    second = np.abs(across - middle) < np.abs(along - middle)
    ways = np.array([[[0, 1, 2], [0, 2, 3]], [[0, 1, 3], [1, 2, 3]]])
    rows = np.take_along_axis(vertex[:, None, :], ways[second.astype(int)], axis=2).reshape(-1, 3)
    return np.column_stack([rows, np.full(len(rows), -1)])


def _rounded(values: Floats, bits: int) -> Floats:
    """To so many significant bits."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)
