"""Whether two bounding volumes meet, for all pairs of kinds: [Slides], "Bounding Volumes", as NumPy reads it.

Exact up to rounding, touching counts, for spheres, boxes along the axes and oriented boxes. With a k-DOP only its own
directions and the other's axes are tried: a "no" is proven, a "yes" may be wrong where corners or edges pass each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thud._core.arrays import Bools, Floats
from thud.bounds.tolerances import OVERLAP_ROUNDOFF
from thud.bounds.volumes import Aabb, BoundingSphere, Kdop, Obb, Volume
from thud.errors import InvalidInputError


def overlap(a: Volume, b: Volume) -> Bools | bool:
    """Whether volumes meet: a boolean for one and one, (S,) for S and S or S and one, which may be a set of one.

    Parameters
    ----------
    a, b : `Aabb`, `BoundingSphere`, `Obb` or `Kdop`, in one frame
    """
    for volume, name in ((a, "a"), (b, "b")):
        if not isinstance(volume, Volume):
            raise InvalidInputError(
                f"{name}: expected a bounding volume of thud.bounds, got a {type(volume).__name__}; shapes have fit()"
            )
    if not a.is_one and not b.is_one and len(a) != len(b) and 1 not in (len(a), len(b)):
        raise InvalidInputError(f"a, b: expected equal numbers of volumes or one, got {len(a)} and {len(b)}")
    test = _TESTS.get((type(a), type(b)))
    found = test(a, b) if test is not None else _TESTS[type(b), type(a)](b, a)
    return found if found.ndim else bool(found)


def _aabbs(a: Aabb, b: Aabb) -> Bools:
    return np.asarray(((a.lower <= b.upper) & (b.lower <= a.upper)).all(axis=-1))


def _spheres(a: BoundingSphere, b: BoundingSphere) -> Bools:
    d = a.center - b.center
    reach = np.asarray(a.radius) + np.asarray(b.radius)
    return np.asarray((d * d).sum(axis=-1) <= reach * reach)


def _sphere_aabb(a: BoundingSphere, b: Aabb) -> Bools:
    d = a.center - np.clip(a.center, b.lower, b.upper)
    return np.asarray((d * d).sum(axis=-1) <= np.asarray(a.radius) ** 2)


def _sphere_obb(a: BoundingSphere, b: Obb) -> Bools:
    along = ((a.center - b.center)[..., None, :] * b.axes).sum(axis=-1)
    d = along - np.clip(along, -b.half_extents, b.half_extents)
    return np.asarray((d * d).sum(axis=-1) <= np.asarray(a.radius) ** 2)


def _as_obb(a: Aabb) -> Obb:
    return Obb(a.center, np.broadcast_to(np.eye(3), (*a.lower.shape[:-1], 3, 3)), a.half_extents)


def _obbs(a: Obb, b: Obb) -> Bools:
    """The 15 axes of the separating-axis test (Gottschalk 1996)."""
    # B in A's frame: row i, column j is a_i . b_j.
    turn = a.axes @ np.swapaxes(b.axes, -1, -2)
    t = ((b.center - a.center)[..., None, :] * a.axes).sum(axis=-1)
    ha, hb = np.broadcast_arrays(a.half_extents, b.half_extents)
    # Where two axes are parallel their cross product is rounding alone: it must not separate.
    size = np.abs(turn) + OVERLAP_ROUNDOFF
    apart = (np.abs(t) > ha + (size * hb[..., None, :]).sum(axis=-1)).any(axis=-1)
    along = (t[..., :, None] * turn).sum(axis=-2)
    apart |= (np.abs(along) > hb + (size * ha[..., :, None]).sum(axis=-2)).any(axis=-1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for m in range(3):
            n, o = (m + 1) % 3, (m + 2) % 3
            reach_a = ha[..., j] * size[..., k, m] + ha[..., k] * size[..., j, m]
            reach_b = hb[..., n] * size[..., i, o] + hb[..., o] * size[..., i, n]
            apart |= np.abs(t[..., k] * turn[..., j, m] - t[..., j] * turn[..., k, m]) > reach_a + reach_b
    return np.asarray(~apart)


def _kdops(a: Kdop, b: Kdop) -> Bools:
    """Along the directions that both have, those of the smaller one being the first of the larger, but for 14 and 18; and each
    against the box of the other where directions are its own."""
    own, other = a.low.shape[-1], b.low.shape[-1]
    if {own, other} == {7, 9}:
        return _kdop_aabb(a, b.aabb) & _kdop_aabb(b, a.aabb)
    columns = [*range(3), *range(7, 13)] if 9 in (own, other) and own != other and 13 in (own, other) else None

    def cut(volume: Kdop) -> tuple[Floats, Floats]:
        few = min(own, other)
        if columns is not None and volume.low.shape[-1] == 13:
            return volume.low[..., columns], volume.high[..., columns]
        return volume.low[..., :few], volume.high[..., :few]

    (low_a, high_a), (low_b, high_b) = cut(a), cut(b)
    meets = np.asarray(((low_a <= high_b) & (low_b <= high_a)).all(axis=-1))
    if own == other:
        return meets
    return meets & (_kdop_aabb(a, b.aabb) if own > other else _kdop_aabb(b, a.aabb))


def _meets_along(a: Kdop, center: Floats, reach: Floats) -> Bools:
    """Whether what reaches so far from `center` along the directions meets the k-DOP's intervals."""
    middle = center @ a.directions.T
    slack = OVERLAP_ROUNDOFF * (np.abs(middle) + reach)
    return np.asarray(((middle - reach <= a.high + slack) & (middle + reach >= a.low - slack)).all(axis=-1))


def _kdop_aabb(a: Kdop, b: Aabb) -> Bools:
    return _meets_along(a, b.center, b.half_extents @ np.abs(a.directions).T)


def _kdop_sphere(a: Kdop, b: BoundingSphere) -> Bools:
    lengths = np.linalg.norm(a.directions, axis=1)
    return _meets_along(a, b.center, np.asarray(b.radius)[..., None] * lengths) & _sphere_aabb(b, a.aabb)


def _kdop_obb(a: Kdop, b: Obb) -> Bools:
    reach = (b.half_extents[..., None, :] * np.abs(a.directions @ np.swapaxes(b.axes, -1, -2))).sum(axis=-1)
    return _meets_along(a, b.center, reach) & _obbs(_as_obb(a.aabb), b)


_TESTS: dict[tuple[type, type], Callable[[Any, Any], Bools]] = {
    (Aabb, Aabb): _aabbs,
    (BoundingSphere, BoundingSphere): _spheres,
    (BoundingSphere, Aabb): _sphere_aabb,
    (BoundingSphere, Obb): _sphere_obb,
    (Aabb, Obb): lambda a, b: _obbs(_as_obb(a), b),
    (Obb, Obb): _obbs,
    (Kdop, Kdop): _kdops,
    (Kdop, Aabb): _kdop_aabb,
    (Kdop, BoundingSphere): _kdop_sphere,
    (Kdop, Obb): _kdop_obb,
}
