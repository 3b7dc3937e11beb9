"""The convex volume of a cell: the hull of its eight bounding points, grown until it holds every sample of the cell.

With skewed directions a sample may lie beside the hull of the bounding points, even though it lies below the upper and above
the lower planes: the lengths that meet the planes differ from corner to corner, and so do the directions. Each cell
therefore has a growth e >= 0: its four upper points are moved away from their mean by the factor 1 + e, and so are the four
lower ones. Each four then hold what they held before, so the volume grows with e, mainly sideways where it was too small and
not upward, where it would cost most. A cell stores the least of 255 values of e for which all samples are inside.

"Inside" is decided by the facets of the hull, all planes through three of the eight points that have none beyond, and claimed
only by more than rounding: see `GROWTH_SLACK`. The points of `cell_points` are computed without fast-math and so have the same
bits wherever they are made.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.exact_vec3 import add_scaled, cross, dot, load3, norm2, sub
from thud.terrain.bounding.batch import quad_arrays
from thud.terrain.bounding.problem import node_point, quad_facing
from thud.terrain.bounding.tolerances import BOUND_EXTREME, GROWTH_LEAST, GROWTH_SLACK, GROWTH_ZERO

#: The code of a cell without a volume: use the finer level (3.5.7).
EXTREME = 255

#: Codes 1 to 254 double every so many steps: 19 make GROWTH_LEAST * 2^13 (1 + 6/19), just above 1, the last.
_STEPS_PER_OCTAVE = 19

#: Triples of eight points, each perhaps a facet on either side.
_PLANES = 112


@exact_device
def growth_of_code(code):
    """The growth e of a code from 0 to 254, the same bits on any machine."""
    if code == 0:
        return GROWTH_ZERO
    octave, part = (code - 1) // _STEPS_PER_OCTAVE, (code - 1) % _STEPS_PER_OCTAVE
    return GROWTH_LEAST * np.float64(1 << octave) * (1.0 + np.float64(part) / _STEPS_PER_OCTAVE)


@exact_device
def _store3(array, row, v):
    """array[row] = v."""
    array[row, 0], array[row, 1], array[row, 2] = v[0], v[1], v[2]


@exact_device
def grow_four(points, first, growth):
    """Move rows first .. first + 3 away from their mean by the factor 1 + growth."""
    for i in range(3):
        mean = 0.25 * (points[first, i] + points[first + 1, i] + points[first + 2, i] + points[first + 3, i])
        for k in range(first, first + 4):
            points[k, i] += growth * (points[k, i] - mean)


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f4[:,::1], f4[:,::1], i8, i8, i8, f8, f8[:,::1]")
def cell_points(p, r, upper, lower, ct, cs, step, growth, points_out):
    """The eight points of the volume of cell (ct, cs): upper at 00, 10, 01, 11 of (s, t), then lower likewise.

    p, r: (m, m, 3) of the quad; upper, lower: (n + 1, n + 1) lengths of the level; step: nodes between bounding points.
    """
    for k in range(4):
        t, s = ct + (k >> 1), cs + (k & 1)
        _store3(points_out, k, node_point(p, r, t * step, s * step, np.float64(upper[t, s])))
        _store3(points_out, k + 4, node_point(p, r, t * step, s * step, np.float64(lower[t, s])))
    grow_four(points_out, 0, growth)
    grow_four(points_out, 4, growth)


@exact_device
def _extent(points, centre):
    """Largest distance of the eight points from `centre`."""
    extent = 0.0
    for i in range(8):
        extent = max(extent, norm2(sub(load3(points, i, 0), centre)))
    return np.sqrt(extent)


@exact_kernel(inner="f8[:,::1], vec3, f8, f8, f8[:,::1]")
def hull_planes(points, centre, extent, roundoff, planes_out):
    """Planes (n, h) such that a point with n . (x - centre) <= h for all of them surely lies in the hull of eight points.

    Each is a supporting plane, drawn inward by what its normal and the products may be off. Returns their number; 0 where
    the hull has no volume. `roundoff`: what the points' own coordinates may be off (m).
    """
    count = 0
    for i in range(6):
        vi = sub(load3(points, i, 0), centre)
        for j in range(i + 1, 7):
            ej = sub(sub(load3(points, j, 0), centre), vi)
            for k in range(j + 1, 8):
                normal = cross(ej, sub(sub(load3(points, k, 0), centre), vi))
                size = np.sqrt(norm2(normal))
                # A needle of three points has no normal; a facet has other triples, or the volume is as thin as rounding.
                if not size > 64.0 * UNIT_ROUNDOFF * extent * extent:
                    continue
                n = (normal[0] / size, normal[1] / size, normal[2] / size)
                error = 32.0 * UNIT_ROUNDOFF * extent * (1.0 + extent * extent / size)
                slack = GROWTH_SLACK * extent + error + roundoff
                least, most = 0.0, 0.0
                for other in range(8):
                    if other != i and other != j and other != k:
                        d = dot(n, sub(sub(load3(points, other, 0), centre), vi))
                        least, most = min(least, d), max(most, d)
                h = dot(n, vi)
                if most <= error:
                    planes_out[count, 0], planes_out[count, 1], planes_out[count, 2] = n[0], n[1], n[2]
                    planes_out[count, 3] = h - slack
                    count += 1
                if least >= -error:
                    planes_out[count, 0], planes_out[count, 1], planes_out[count, 2] = -n[0], -n[1], -n[2]
                    planes_out[count, 3] = -h - slack
                    count += 1
    return count


#: The faces of a cell, each counter-clockwise seen from outside where the cell faces up.
_FACES = ((0, 1, 3, 2), (4, 6, 7, 5), (4, 5, 1, 0), (5, 7, 3, 1), (7, 6, 2, 3), (6, 4, 0, 2))


@exact_kernel(inner="f8[:,::1], vec3, f8, f8, f8, f8[:,::1]")
def face_planes(points, centre, facing, extent, roundoff, planes_out):
    """`hull_planes` of a cell that is not folded: of two triangles a face, split along the diagonal that bulges. Returns 12, or
    0 if they are not the hull.

    Twelve triangles that close a surface, are turned outward, and have no point beyond them cover the border of the hull.
    """
    count = 0
    for face in range(6):
        i0, i1, i2, i3 = _FACES[face]
        a, b = sub(load3(points, i0, 0), centre), sub(load3(points, i1, 0), centre)
        c, d = sub(load3(points, i2, 0), centre), sub(load3(points, i3, 0), centre)
        bulges = dot(cross(sub(b, a), sub(c, a)), sub(d, a)) * facing <= 0.0
        for half in range(2):
            if bulges:
                j0, j1, j2 = (i0, i1, i2) if half == 0 else (i0, i2, i3)
            else:
                j0, j1, j2 = (i0, i1, i3) if half == 0 else (i1, i2, i3)
            vi = sub(load3(points, j0, 0), centre)
            normal = cross(sub(sub(load3(points, j1, 0), centre), vi), sub(sub(load3(points, j2, 0), centre), vi))
            size = np.sqrt(norm2(normal))
            if not size > 64.0 * UNIT_ROUNDOFF * extent * extent:
                return 0
            over = facing / size
            n = (normal[0] * over, normal[1] * over, normal[2] * over)
            error = 32.0 * UNIT_ROUNDOFF * extent * (1.0 + extent * extent / size)
            for other in range(8):
                if other != j0 and other != j1 and other != j2:
                    if dot(n, sub(sub(load3(points, other, 0), centre), vi)) > error:
                        return 0
            planes_out[count, 0], planes_out[count, 1], planes_out[count, 2] = n[0], n[1], n[2]
            planes_out[count, 3] = dot(n, vi) - (GROWTH_SLACK * extent + error + roundoff)
            count += 1
    return count


@exact_device
def _inside(v, planes, count):
    """Whether v (relative to the centre) lies below all planes."""
    for plane in range(count):
        if not planes[plane, 0] * v[0] + planes[plane, 1] * v[1] + planes[plane, 2] * v[2] <= planes[plane, 3]:
            return False
    return True


@exact_device
def _six_volumes(a, b, c, d):
    """Six times the volume between the surface over a, b, d, c (cyclic) and the origin: that diagonal which bulges outward."""
    one = dot(a, cross(b, d)) + dot(a, cross(d, c))
    two = dot(a, cross(b, c)) + dot(b, cross(d, c))
    return max(one, two)


@exact_kernel(inner="f8[:,::1], f8")
def cell_volume(points, facing):
    """Volume (m^3) of the hexahedron of eight points, its faces split along the diagonals that bulge: that of the hull, for
    cells that are not folded."""
    c = load3(points, 0, 0)
    o0, o1, o2, o3 = sub(c, c), sub(load3(points, 1, 0), c), sub(load3(points, 2, 0), c), sub(load3(points, 3, 0), c)
    u0, u1 = sub(load3(points, 4, 0), c), sub(load3(points, 5, 0), c)
    u2, u3 = sub(load3(points, 6, 0), c), sub(load3(points, 7, 0), c)
    if facing < 0.0:
        o1, o2, u1, u2 = o2, o1, u2, u1
    total = _six_volumes(o0, o1, o2, o3) + _six_volumes(u0, u2, u1, u3)
    total += _six_volumes(u0, u1, o0, o1) + _six_volumes(u1, u3, o1, o3)
    total += _six_volumes(u3, u2, o3, o2) + _six_volumes(u2, u0, o2, o0)
    return abs(total) / 6.0


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f4[:,::1], f4[:,::1], i8, i8, i8")
def is_extreme(p, r, l, upper, lower, ct, cs, step):
    """Whether a bounding length of the cell leaves its range of lengths by more than BOUND_EXTREME * its reach (3.5.7)."""
    lowest, highest, longest = np.inf, -np.inf, 0.0
    for t in range(ct * step, (ct + 1) * step + 1):
        for s in range(cs * step, (cs + 1) * step + 1):
            lowest, highest = min(lowest, l[t, s]), max(highest, l[t, s])
            longest = max(longest, norm2(load3(r[t], s, 0)))
    t, s = ct * step, cs * step
    one = norm2(sub(load3(p[t + step], s + step, 0), load3(p[t], s, 0)))
    two = norm2(sub(load3(p[t + step], s, 0), load3(p[t], s + step, 0)))
    reach = highest - lowest
    if longest > 0.0:
        reach += np.sqrt(max(one, two) / longest)
    for k in range(4):
        t, s = ct + (k >> 1), cs + (k & 1)
        if not upper[t, s] <= highest + BOUND_EXTREME * reach or not lower[t, s] >= lowest - BOUND_EXTREME * reach:
            return True
    return False


@exact_kernel(
    inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f4[:,::1], f4[:,::1], i8, i8, i8, f8, f8, f8[:,::1], f8[:,::1], i8[::1]"
)
def holds_samples(p, r, l, upper, lower, ct, cs, step, growth, facing, points, planes, last):
    """Whether the cell's volume with this growth surely holds all its samples. last: the sample that failed last, and how many
    planes the volume has."""
    cell_points(p, r, upper, lower, ct, cs, step, growth, points)
    centre = load3(points, 0, 0)
    extent = _extent(points, centre)
    furthest = max(abs(centre[0]), abs(centre[1]), abs(centre[2])) + extent
    count = face_planes(points, centre, facing, extent, 8.0 * UNIT_ROUNDOFF * furthest, planes)
    if count == 0:
        count = hull_planes(points, centre, extent, 8.0 * UNIT_ROUNDOFF * furthest, planes)
    last[1] = count
    if count == 0:
        return False
    nodes = (step + 1) * (step + 1)
    for i in range(nodes):
        # Whatever failed last is likely to fail again.
        node = (i + last[0]) % nodes
        t, s = ct * step + node // (step + 1), cs * step + node % (step + 1)
        if not _inside(sub(node_point(p, r, t, s, l[t, s]), centre), planes, count):
            last[0] = node
            return False
    return True


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], i8, i8, i8, f8[:,::1], f8[:,::1], i8")
def likely_code(p, r, l, ct, cs, step, points, planes, count):
    """The growth code, from 1 to 254, with which the cell's volume likely holds its samples: by how far they are beyond the
    `planes` of the volume of `points`, and how far growth moves those."""
    centre = load3(points, 0, 0)
    middles = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for i in range(4):
        above = add_scaled(middles[0], sub(load3(points, i, 0), centre), 0.25)
        middles = (above, add_scaled(middles[1], sub(load3(points, i + 4, 0), centre), 0.25))
    growth = GROWTH_LEAST
    for plane in range(count):
        n = load3(planes, plane, 0)
        moves = 0.0
        for i in range(8):
            moves = max(moves, dot(n, sub(sub(load3(points, i, 0), centre), middles[i >> 2])))
        if moves > 0.0:
            for t in range(ct * step, (ct + 1) * step + 1):
                for s in range(cs * step, (cs + 1) * step + 1):
                    beyond = dot(n, sub(node_point(p, r, t, s, l[t, s]), centre)) - planes[plane, 3]
                    growth = max(growth, beyond / moves)
    code = np.int64(1)
    while code < EXTREME - 1 - _STEPS_PER_OCTAVE and growth_of_code(code + _STEPS_PER_OCTAVE) <= growth:
        code += _STEPS_PER_OCTAVE
    while code < EXTREME - 1 and growth_of_code(code) < growth:
        code += 1
    return code


@exact_kernel("i8, i8, f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], i8, b1, f4[:,:,::1], f4[:,:,::1], u1[:,:,::1], f8[:,:,:,::1]")
def growth_rows(start, stop, p_in, r_in, l_in, step, judge, upper_in, lower_in, code_out, volume_out):
    """Growth codes of all cells of quads [start, stop), and per cell: volume (m^3, inf where EXTREME), cube of its width."""
    points, planes, last = np.empty((8, 3)), np.empty((_PLANES, 4)), np.zeros(2, np.int64)
    cells = upper_in.shape[1] - 1
    for quad in range(start, stop):
        p, r, l, upper, lower = p_in[quad], r_in[quad], l_in[quad], upper_in[quad], lower_in[quad]
        facing = quad_facing(p, r)
        for ct in range(cells):
            for cs in range(cells):
                last[0] = 0
                code = EXTREME
                if not (judge and is_extreme(p, r, l, upper, lower, ct, cs, step)):
                    # The volume grows with the code: the least that holds, 0 most often; else in growing steps from the
                    # likely one, then by halves.
                    below, above, pace = np.int64(-1), np.int64(EXTREME), np.int64(1)
                    trial = np.int64(0)
                    while above - below > 1:
                        growth = growth_of_code(trial)
                        holds = holds_samples(p, r, l, upper, lower, ct, cs, step, growth, facing, points, planes, last)
                        if holds:
                            above = trial
                        else:
                            below = trial
                        if trial == 0:
                            trial = likely_code(p, r, l, ct, cs, step, points, planes, last[1])
                        elif (below > 0 and above < EXTREME) or pace > EXTREME // 2:
                            trial = (below + above) // 2
                        else:
                            trial = max(above - pace, below + 1) if holds else min(below + pace, above - 1)
                            pace *= 2
                    code = above
                code_out[quad, ct, cs] = code
                volume_out[quad, ct, cs, 0] = np.inf
                volume_out[quad, ct, cs, 1] = 0.0
                if code < EXTREME:
                    cell_points(p, r, upper, lower, ct, cs, step, growth_of_code(code), points)
                    volume_out[quad, ct, cs, 0] = cell_volume(points, facing)
                    one = sub(load3(points, 3, 0), load3(points, 0, 0))
                    two = sub(load3(points, 2, 0), load3(points, 1, 0))
                    area = 0.5 * np.sqrt(norm2(cross(one, two)))
                    volume_out[quad, ct, cs, 1] = area * np.sqrt(area)


@exact_kernel("i8, i8, f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], i8, f4[:,:,::1], f4[:,:,::1], u1[:,:,::1], f8, u1[::1]")
def holding_rows(start, stop, p_in, r_in, l_in, step, upper_in, lower_in, code_in, slack, holds_out):
    """Whether the volumes of all cells of quads [start, stop), as their codes say or grown by `slack` or twice that more, hold
    their samples. A cell that is EXTREME has none."""
    points, planes, last = np.empty((8, 3)), np.empty((_PLANES, 4)), np.zeros(2, np.int64)
    cells = upper_in.shape[1] - 1
    for quad in range(start, stop):
        p, r, l, upper, lower = p_in[quad], r_in[quad], l_in[quad], upper_in[quad], lower_in[quad]
        facing = quad_facing(p, r)
        holds_out[quad] = 1
        for ct in range(cells):
            for cs in range(cells):
                code = np.int64(code_in[quad, ct, cs])
                if code < EXTREME:
                    # What is judged strictly at one growth may fail by rounding at a larger one.
                    growth, holds = growth_of_code(code), False
                    for more in (0.0, slack, 2.0 * slack):
                        last[0] = 0
                        if not holds:
                            holds = holds_samples(
                                p, r, l, upper, lower, ct, cs, step, growth + more, facing, points, planes, last
                            )
                    if not holds:
                        holds_out[quad] = 0


@exact_kernel("f8[:,:,::1], f8[:,:,::1], f4[:,::1], f4[:,::1], u1[:,::1], i8, f8[:,:,:,::1]")
def _all_cell_points(p, r, upper, lower, codes, step, points_out):
    """`cell_points` of all cells of one quad at one level; NaN where EXTREME."""
    for ct in range(codes.shape[0]):
        for cs in range(codes.shape[1]):
            if codes[ct, cs] == EXTREME:
                points_out[ct, cs] = np.nan
            else:
                cell_points(p, r, upper, lower, ct, cs, step, growth_of_code(np.int64(codes[ct, cs])), points_out[ct, cs])


def volume_points(
    p: npt.ArrayLike,
    r: npt.ArrayLike,
    upper: npt.NDArray[np.float32],
    lower: npt.NDArray[np.float32],
    codes: npt.NDArray[np.uint8],
) -> npt.NDArray[np.float64]:
    """Points (n, n, 8, 3) whose hulls are the volumes of one quad's cells at one level, indexed [t, s]; NaN where EXTREME.

    Parameters
    ----------
    p, r : (m, m, 3) base positions (m) and directions of the quad's nodes
    upper, lower : (n + 1, n + 1) bounding lengths
    codes : (n, n) growth codes

    Returns
    -------
    Upper points at (s, t) = 00, 10, 01, 11 of the cell, then lower points likewise.
    """
    cells = len(codes)
    points = np.empty((cells, cells, 8, 3))
    base = [np.array(value, dtype=np.float64, order="C") for value in (p, r)]
    lengths = [np.array(value, dtype=np.float32, order="C") for value in (upper, lower)]
    _all_cell_points(*base, *lengths, np.array(codes, dtype=np.uint8, order="C"), (len(base[0]) - 1) // cells, points)
    return points


def growth_codes(
    upper: npt.NDArray[np.float32],
    lower: npt.NDArray[np.float32],
    p: npt.ArrayLike,
    r: npt.ArrayLike,
    l: npt.ArrayLike,
    step: int,
    *,
    judge: bool = True,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """Growth codes (B, n, n) of the cells of equal-sized quads at one level, indexed [t, s], and their volumes.

    Parameters
    ----------
    upper, lower : (B, n + 1, n + 1) bounding lengths
    p, r, l : as for `bounding_lengths`
    step : nodes from one bounding point to the next
    judge : whether lengths far outside of the cell's own range make it EXTREME
    threads : most threads, None for all cores

    Returns
    -------
    Codes: `growth_of_code(code)` is the least growth with which the cell's volume holds all its samples; EXTREME (255): none
    does, or its lengths are extreme. Volumes (B, n, n, 2): m^3 (inf where EXTREME) and the cube of the cell's width.
    """
    above, below = np.ascontiguousarray(upper, np.float32), np.ascontiguousarray(lower, np.float32)
    return cell_growth(above, below, *quad_arrays(p, r, l, step), step, judge, threads)


def cell_growth(
    upper: npt.NDArray[np.float32],
    lower: npt.NDArray[np.float32],
    p: npt.NDArray[np.float64],
    r: npt.NDArray[np.float64],
    l: npt.NDArray[np.float64],
    step: int,
    judge: bool,
    threads: int | None,
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """`growth_codes` of arrays that were checked."""
    count, cells = len(l), (l.shape[-1] - 1) // step
    codes, volumes = np.empty((count, cells, cells), np.uint8), np.empty((count, cells, cells, 2))
    run_rows(growth_rows, count, threads, p, r, l, step, judge, upper, lower, codes, volumes, rows_per_chunk=4)
    return codes, volumes
