"""Bounding-volume hierarchies on arrays: one tree topology, bounding volumes as payload."""
