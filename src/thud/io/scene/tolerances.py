"""Tolerances of `io/scene/`, each with its reason."""

from __future__ import annotations

#: Significant digits of the scale and shear that go into a mesh (a count): below what products of rotations leave, so that
#: instances are recognised, and above what a drawing can mean.
STRETCH_DIGITS = 11

#: A mesh encloses nothing if its volume is below this, relative to the cube of its extent: a rounding of its sums.
FLAT_VOLUME = 1e-12
