"""Meshes: walks of two trees, distances, contacts, depth, casts, rays and points. Trees are made in bvh/."""
