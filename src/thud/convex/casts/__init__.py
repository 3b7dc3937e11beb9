"""When two convex shapes in motion first touch."""
