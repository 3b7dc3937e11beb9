"""Tolerances of `io/scene/`, each with its reason."""

from __future__ import annotations

#: Significant digits of the scale and shear that go into a mesh (a count): below what products of rotations leave, so that
#: instances are recognised, and above what a drawing can mean.
STRETCH_DIGITS = 11

#: A mesh encloses nothing if its volume is below this, relative to the cube of its extent: a rounding of its sums.
FLAT_VOLUME = 1e-12

#: A point counts as inside a triangle from this weight of each corner on (a fraction): edges that run along each other, as
#: real files have them, differ by roundings of float32.
CROSSING_INSIDE = 1e-6

#: Boxes of triangles that a box may overlap on average (a count): real meshes have some ten; a heap of triangles in one place
#: would take the square of their number.
CROSSING_CROWD = 200.0

#: Boxes that are looked at to estimate that (a count).
CROSSING_SAMPLE = 200

#: Pairs that are looked at together (a count): some 300 MB of scratch.
CROSSING_BLOCK = 2**20

#: Triangles of a mesh, and of all meshes of a file, that are looked through for crossings unless all are asked for (counts):
#: some 10 microseconds each, so at most some seconds.
CROSSING_MOST = 50_000
CROSSING_ALL = 300_000

#: Largest coordinate of a mesh in the file's unit: sixth powers of it are still numbers, and it is beyond what meshes allow in
#: metres, in whatever unit.
FARTHEST_RAW = 1e30
