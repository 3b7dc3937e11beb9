"""Which parts of a compound hang together."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud._core.status import SEPARATED
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis
from thud.math.pose import compose_rotation, load_rotation, load_translation, transform, unrotate
from thud.math.vec3 import norm2, sub
from thud.shapes.packed import BOUND, CENTER

_I = np.int64


@kernel("parts, f8[:,::1], i8[::1]")
def group_parts(parts, poses, group_out):
    """group_out[k]: the first of the parts that part k is joined with, by parts that overlap. The last part is left out."""
    count = group_out.shape[0]
    for k in range(count):
        group_out[k] = k
    for i in range(count):
        ri, ti = load_rotation(poses, i), load_translation(poses, i)
        ci = transform(ri, ti, (parts.reals[i, CENTER], parts.reals[i, CENTER + 1], parts.reals[i, CENTER + 2]))
        back = (ri[0], ri[3], ri[6], ri[1], ri[4], ri[7], ri[2], ri[5], ri[8])
        for j in range(i + 1, count):
            if group_out[i] == group_out[j]:
                continue
            rj, tj = load_rotation(poses, j), load_translation(poses, j)
            cj = transform(rj, tj, (parts.reals[j, CENTER], parts.reals[j, CENTER + 1], parts.reals[j, CENTER + 2]))
            reach = parts.reals[i, BOUND] + parts.reals[j, BOUND]
            if norm2(sub(ci, cj)) > reach * reach:
                continue
            a, b, r, t = _I(i), _I(j), compose_rotation(back, rj), unrotate(ri, sub(tj, ti))
            if pair_intersects(parts, a, b, r, t, center_axis(parts, a, b, r, t))[0] == SEPARATED:
                continue
            one, two = min(group_out[i], group_out[j]), max(group_out[i], group_out[j])
            for k in range(count):
                if group_out[k] == two:
                    group_out[k] = one
