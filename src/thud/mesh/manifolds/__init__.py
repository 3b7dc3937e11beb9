"""Contacts of triangles fit for response: manifolds of a convex shape or a mesh on the triangles of a mesh or a height field."""
