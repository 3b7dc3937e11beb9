"""Points of one shape that come into the box of another: those alone can lie in it."""

from __future__ import annotations

from thud._core.decorators import kernel
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.pairing.rows import row_of


@kernel("f8[:,::1], i8, f8[:,::1], f8[:,::1], f8[::1], f8[::1], b1[::1], i8[::1], f8[:,::1], f8[:,::1]")
def points_near_box(points, k, poses_points, poses_box, origin, half, done, rows_out, local_out, world_out):
    """Rows, of those not `done`, in which point k lies in the box about `origin`: how many; their numbers, and the point in the
    box's frame and in the world. Poses are one for all rows or one each."""
    found = 0
    for row in range(done.shape[0]):
        if done[row]:
            continue
        i, j = row_of(poses_points, row), row_of(poses_box, row)
        at = (points[k, 0], points[k, 1], points[k, 2])
        world = transform(load_rotation(poses_points, i), load_translation(poses_points, i), at)
        local = untransform(load_rotation(poses_box, j), load_translation(poses_box, j), world)
        if (
            abs(local[0] - origin[0]) <= half[0]
            and abs(local[1] - origin[1]) <= half[1]
            and abs(local[2] - origin[2]) <= half[2]
        ):
            rows_out[found] = row
            local_out[found, 0], local_out[found, 1], local_out[found, 2] = local
            world_out[found, 0], world_out[found, 1], world_out[found, 2] = world
            found += 1
    return found
