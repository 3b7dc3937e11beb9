"""Tolerances and limits of `report/clash/`, each with its reason."""

from __future__ import annotations

#: Touching, where no tolerance is given, as a part of the scene's diagonal: ten times what coordinates in float32, as files
#: have them, are off by.
TOUCHING = 1e-6

#: Least tolerance, as a part of what coordinates reach to: some thousand roundings of float64, so that faces that were meant
#: to be in one plane are.
ROUNDING = 1e-12

#: How far below a surface a ray to the opposite side begins, as a part of the tolerance: beyond the surface's own roundings.
BELOW_SURFACE = 1e-3

#: How deep in both the middle of a thin sheet must be, as a part of its thickness, to be inside: it is half where it is cut.
DEEP_INSIDE = 0.1

#: How far beyond the tolerance two parts are moved to see whether it parts them, as a part of it: what overlaps by the very
#: tolerance touches there.
BEYOND = 1e-6

#: What may be missing of a convex part's hull, as a part of its volume: roundings of corners, and not the hollows of a part
#: whose corners are all in its hull.
HULL_LEAVES_OUT = 1e-3

#: How far apart the surfaces of duplicates may be at most, as a part of their thickness: sheets that lie on each other are two.
SAME = 0.1

#: How closely the deepest point is told from the tolerance, as a part of it.
NEARLY = 0.01

#: Points of one surface that are looked at to find the deepest (a count): some 10 ms.
MOST_HALVED = 6000

#: Triangle pairs of one clash that points are taken from (a count), spread evenly over all: a picture shows no more.
MOST_PAIRS = 4000

#: Vertices and other points of one surface whose depth below the other is measured (a count a side), spread evenly.
MOST_SAMPLES = 3000

#: Points that a clash is told by (a count): the extent of a patch and its middle.
MOST_POINTS = 8

#: Segments of the crossing that are kept to be drawn (a count).
MOST_SEGMENTS = 400

#: Triangles of two meshes together (a count) up to which the way out is searched in all directions, some 4 us a triangle;
#: beyond, only along some directions, and the depth is a bound.
MOST_SEARCHED = 600_000

#: The same of all clashes together (a count): some six minutes of one core. The largest pairs beyond it get bounds.
MOST_SEARCHED_ALL = 100_000_000

#: Halvings of the way along one direction (a count): the bound is then within a thousandth of the shortest way along it.
HALVINGS = 12

#: Triangles of two meshes together (a count) up to which their common volume is computed, some 2 us a triangle.
MOST_CUT = 3_000_000

#: A common volume below this part of the smaller body is a roundoff of the cut.
LEAST_VOLUME = 1e-12

#: How much deeper than when it was accepted a clash may be, as a part of that depth, before it is shown again: what another
#: version of the meshes' triangles may bring about.
DEEPER = 0.05

#: Pairs of triangles that two meshes are tried by before trees are made for them, times the triangles of both (a count): a
#: box test takes 1.5 ns, a triangle of a tree 0.8 us, and a tree is used for a few pairs.
LOCAL_PAIRS = 200

#: Rows of one pair of meshes that one task of a thread asks (a count).
ROWS_PER_TASK = 64

#: Triangles of meshes whose trees one task of a thread makes (a count): some 10 ms.
TRIANGLES_PER_TASK = 20_000

#: Configurations of a robot asked at a time (a count): it bounds the memory of the poses.
CONFIGURATIONS_AT_ONCE = 256
