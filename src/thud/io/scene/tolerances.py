"""Tolerances of `io/scene/`, each with its reason."""

from __future__ import annotations

#: Significant digits of the scale and shear that go into a mesh (a count): below what products of rotations leave, so that
#: instances are recognised, and above what a drawing can mean.
STRETCH_DIGITS = 11
