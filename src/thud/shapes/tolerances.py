"""Tolerances and limits of `shapes/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Hulls with more vertices than this are climbed along their edges from the best of the first HULL_SCAN vertices (a
#: well-spread sample); smaller ones are scanned whole with SIMD. Measured: the scan of 64 costs what 6 climbing steps do.
HULL_SCAN = 64

#: Two hull triangles whose unit normals differ by less than this (radians, relative to nothing) are one face.
HULL_COPLANAR = 1e-9

#: The box that covers a surface or a mesh is wider by this part of its coordinates: what touches the shape touches its cover,
#: and the cover of a flat shape has a volume.
COVER_ROOM = 1e-9

#: A closed mesh of less volume than this times the cube of its half extent is a folded sheet: roundoff of the sum of its
#: tetrahedra comes to 1e-16 times its area and extent. Dimensionless.
LEAST_VOLUME = 1e-13

#: The ball about a height field is larger by this part of its radius: roundoff of its making leaves no vertex outside.
FIELD_BALL = 1e-12
