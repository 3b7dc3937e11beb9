"""Tolerances and limits of `particles/colliders/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: A polygon's vertices lie in one plane if they are within this part of its size of it: loose, since corners come rounded
#: to float32 from files.
PLANAR_POLYGON = 1e-6

#: Closed bounds of a collider reach this part of its size and of its distance from the origin beyond it: a path through the
#: edge between two of them hits one, whatever way its point is rounded. Boxes of elements are wider by more than that.
BOUNDS_SLACK = 1e-13
ELEMENT_BOX_SLACK = 1e-12
