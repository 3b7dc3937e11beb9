"""Formulas that know no shape class: tests of points, planes, rays, segments, triangles, polygons, boxes and spheres.

Every function but `camera_rays` and `frustum_planes` takes rows, broadcasts one row against N, and returns arrays or frozen
dataclasses of arrays. World frame, metres. Sets are closed: touching intersects, and a point on a surface is inside. Lengths
from about 1e-75 to 1e75 are handled; larger ones are refused.

The functions are imported when first asked for, so that importing this package compiles and loads nothing. Kernels of
other packages use the devices of the same names in the modules `plane`, `point`, `segment`, `triangle`, `box`,
`ray_local` and `moving_sphere` (fast) and `predicates`, `segment_exact`, `triangle_exact`, `polygon`, `rectangle` and
`mesh` (exact).
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "planes": ["box_frustum", "point_plane", "sphere_frustum", "sphere_plane", "sphere_plane_distance"],
    "contains": [
        "point_in_aabb",
        "point_in_convex",
        "point_in_convex_polygon",
        "point_in_mesh",
        "point_in_obb",
        "point_in_polygon",
        "point_in_sphere",
    ],
    "rays": [
        "ray_aabb",
        "ray_capsule",
        "ray_cone",
        "ray_convex",
        "ray_cylinder",
        "ray_ellipsoid",
        "ray_mesh",
        "ray_mesh_all",
        "ray_obb",
        "ray_plane",
        "ray_sphere",
        "ray_triangle",
    ],
    "closest_points": [
        "closest_box_box",
        "closest_point_box",
        "closest_point_segment",
        "closest_point_triangle",
        "closest_segment_box",
        "closest_segment_segment",
        "closest_segment_triangle",
        "closest_triangle_box",
        "closest_triangle_triangle",
    ],
    "frustum": ["camera_rays", "frustum_planes"],
    "intersections": ["moving_sphere_sphere", "rectangle_triangle", "segment_segment", "segment_triangle", "triangle_triangle"],
    "results": ["ClosestPairs", "Intersections"],
}

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a function from its module when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
