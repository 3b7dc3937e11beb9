"""Contacts of triangles fit for response: a convex shape or a mesh on the triangles of a mesh or a height field."""
