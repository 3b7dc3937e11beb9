"""What `surface_collision` counts, and its ways and stages, as numbers that kernels share."""

from __future__ import annotations

# What is counted: primitives in the swept box and between the planes; pairs of a part and a primitive whose boxes meet, and
# those of them that the planes reject; vertices that the planes reject; pairs of a part and a volume that their boxes reject;
# tests against coarsest, finer and finest volumes; backward projections onto the surface; walks for peaks; points tested
# for being in the ground.
(
    BOXES, PLANES, PAIRS, PAIRS_BEYOND, VERTICES_BEYOND, VOLUMES_APART, COARSEST, FINER, FINEST, PROJECTED, PEAKS, POINTS,
) = range(12)  # fmt: skip
COUNT_NAMES = (
    "boxes", "planes", "pairs", "pairs_beyond", "vertices_beyond", "volumes_apart", "coarsest", "finer", "finest", "projected",
    "peaks", "points",
)  # fmt: skip
COUNTS = len(COUNT_NAMES)

EVERY_VERTEX, PLAIN, MULTIRESOLUTION, AUTO = range(4)
METHODS = {"every_vertex": EVERY_VERTEX, "plain": PLAIN, "multiresolution": MULTIRESOLUTION, "auto": AUTO}

CUBIC, ALPHA_PLANE, ALIGNED_PLANE = range(3)
PROJECTIONS = {"cubic": CUBIC, "alpha_plane": ALPHA_PLANE, "aligned_plane": ALIGNED_PLANE}

# Stages, in order.
EARLY_OUT, COARSEST_LEVEL, FINER_LEVEL, FINEST_LEVEL, SURFACE = range(5)

# Columns of what a kernel is told: method, projection, whether peaks are looked for, the last stage to be done, whether to
# end with the first part that collides.
METHOD, PROJECTION, WITH_PEAKS, STAGE, FIRST_PART = range(5)

# Columns of what is kept of a part from frame to frame: quad, x and y of the patch whose tetrahedron confirmed it, primitive
# and vertex that was below it; -1 for none.
LAST_QUAD, LAST_X, LAST_Y, LAST_PRIMITIVE, LAST_VERTEX = range(5)
LAST = 5
