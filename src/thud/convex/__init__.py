"""Convex shapes and compounds of them: searches, closed forms, manifolds; kernels over rows in rows/, casts in casts/."""
