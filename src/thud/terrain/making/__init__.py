"""Displaced surfaces from heights, fields and meshes."""
