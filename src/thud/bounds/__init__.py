"""Bounding volumes on arrays, as payloads of the tree in `bvh/`."""
