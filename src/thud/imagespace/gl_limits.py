"""What is too deep or too wide for OpenGL, whose depth has 24 bits and whose coordinates are 32-bit floats."""

from __future__ import annotations

import numpy as np

from thud.imagespace.rasteriser import Drawing

#: Depth of a view over how far in front of their object edges are drawn, at most: 64 steps of depth. Measured on random scenes:
#: up to 1e5 both rasterisers find the same in all pixels, at 1e6 1 in 10,000 differs, at 3e7 all depths by a pixel.
MOST_DEPTH = 2.0**18

#: Largest coordinate of what is seen, pixels; 32-bit floats have it to 1/64 of a pixel.
MOST_REACH = 2.0**18


def too_deep(drawing: Drawing) -> bool:
    """Whether 32-bit floats do not tell edges from the faces below them, or where faces that are seen end."""
    offset = float(np.abs(drawing.edge_points[:, 2] - drawing.points[:, 2]).max(initial=0.0))
    if 0.0 < offset * MOST_DEPTH < drawing.depth:
        return True
    size = [drawing.width, drawing.height]
    for points, rows in ((drawing.points, drawing.triangles), (drawing.edge_points, drawing.edges)):
        # Column by column, which is quicker than row by row.
        if any(float(np.abs(points[:, k]).max(initial=0.0)) > MOST_REACH for k in (0, 1)):
            far = np.abs(points[rows][:, :, :2]).max(axis=(1, 2)) > MOST_REACH
            corners = points[rows][far][:, :, :2]
            if ((corners.max(axis=1) >= 0.0) & (corners.min(axis=1) <= size)).all(axis=1).any():
                return True
    return False
