"""thud tells a program what touches what, where, how deep and when.

Names are imported on first use, so that `import thud` costs little and pulls neither Numba nor SciPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Public names and the module each comes from.
_NAMES = {
    "Pose": "thud.pose",
    "Sphere": "thud.shapes",
    "Box": "thud.shapes",
    "Capsule": "thud.shapes",
    "Cylinder": "thud.shapes",
    "Cone": "thud.shapes",
    "Ellipsoid": "thud.shapes",
    "HalfSpace": "thud.shapes",
    "HeightField": "thud.shapes",
    "ConvexHull": "thud.shapes",
    "Compound": "thud.shapes",
    "TriangleMesh": "thud.shapes",
    "MassProperties": "thud.shapes.mass_properties",
    "mass_properties": "thud.shapes.mass_properties",
    "decompose": "thud.shapes.decompose",
    "PairCache": "thud.pairing.pair_cache",
    "intersects": "thud.queries",
    "distance": "thud.queries",
    "contacts": "thud.queries",
    "former_distance": "thud.queries",
    "cast": "thud.queries",
    "raycast": "thud.queries",
    "raycast_all": "thud.queries",
    "contains": "thud.queries",
    "closest_point": "thud.queries",
    "prepare": "thud.queries",
    "triangle_pairs": "thud.queries",
    "intersects_pairs": "thud.queries",
    "distance_pairs": "thud.queries",
    "contacts_pairs": "thud.queries",
    "overlap_patches": "thud.queries",
    "to_mesh": "thud.queries",
    "plot": "thud.report.plot",
    "picture": "thud.report.clash.picture",
    "Terrain": "thud.terrain.tiles.terrain",
    "World": "thud.world.world",
    "warmup": "thud.warm",
    "Status": "thud.results",
    "CastStatus": "thud.results",
    "Distances": "thud.results",
    "FormerDistances": "thud.results",
    "PartDistances": "thud.results",
    "Contacts": "thud.results",
    "Impacts": "thud.results",
    "ElementaryImpacts": "thud.results",
    "RayHits": "thud.results",
    "RayCrossings": "thud.results",
    "ClosestPoints": "thud.results",
    "TrianglePairs": "thud.results",
    "Projections": "thud.results",
    "ProjectionStatus": "thud.results",
    "WorldCasts": "thud.results",
    "WorldClosestPoints": "thud.results",
    "WorldContacts": "thud.results",
    "WorldDistances": "thud.results",
    "WorldEvents": "thud.results",
    "EventKind": "thud.results",
    "WorldImpacts": "thud.results",
    "WorldRayCrossings": "thud.results",
    "WorldRayHits": "thud.results",
    "ThudError": "thud.errors",
}

_MODULES = {
    "bounds",
    "broadphase",
    "cluster",
    "dynamics",
    "errors",
    "geometry",
    "shapes",
    "continuous",
    "imagespace",
    "io",
    "particles",
    "partitions",
    "report",
    "terrain",
}

__all__ = [
    "Box",
    "Capsule",
    "CastStatus",
    "ClosestPoints",
    "Compound",
    "Cone",
    "Contacts",
    "ConvexHull",
    "Cylinder",
    "Distances",
    "ElementaryImpacts",
    "Ellipsoid",
    "EventKind",
    "FormerDistances",
    "HalfSpace",
    "HeightField",
    "Impacts",
    "MassProperties",
    "PairCache",
    "PartDistances",
    "Pose",
    "ProjectionStatus",
    "Projections",
    "RayCrossings",
    "RayHits",
    "Sphere",
    "Status",
    "Terrain",
    "ThudError",
    "TriangleMesh",
    "TrianglePairs",
    "World",
    "WorldCasts",
    "WorldClosestPoints",
    "WorldContacts",
    "WorldDistances",
    "WorldEvents",
    "WorldImpacts",
    "WorldRayCrossings",
    "WorldRayHits",
    "bounds",
    "broadphase",
    "cast",
    "closest_point",
    "cluster",
    "contacts",
    "contacts_pairs",
    "contains",
    "continuous",
    "decompose",
    "distance",
    "distance_pairs",
    "dynamics",
    "errors",
    "former_distance",
    "geometry",
    "imagespace",
    "intersects",
    "intersects_pairs",
    "io",
    "mass_properties",
    "overlap_patches",
    "particles",
    "partitions",
    "picture",
    "plot",
    "prepare",
    "raycast",
    "raycast_all",
    "report",
    "shapes",
    "terrain",
    "to_mesh",
    "triangle_pairs",
    "warmup",
]

if TYPE_CHECKING:
    from thud import (
        bounds,
        broadphase,
        cluster,
        continuous,
        dynamics,
        errors,
        geometry,
        imagespace,
        io,
        particles,
        partitions,
        report,
        shapes,
        terrain,
    )
    from thud.errors import ThudError
    from thud.pairing.pair_cache import PairCache
    from thud.pose import Pose
    from thud.queries import (
        cast,
        closest_point,
        contacts,
        contacts_pairs,
        contains,
        distance,
        distance_pairs,
        former_distance,
        intersects,
        intersects_pairs,
        overlap_patches,
        prepare,
        raycast,
        raycast_all,
        to_mesh,
        triangle_pairs,
    )
    from thud.report.clash.picture import picture
    from thud.report.plot import plot
    from thud.results import (
        CastStatus,
        ClosestPoints,
        Contacts,
        Distances,
        ElementaryImpacts,
        EventKind,
        FormerDistances,
        Impacts,
        PartDistances,
        Projections,
        ProjectionStatus,
        RayCrossings,
        RayHits,
        Status,
        TrianglePairs,
        WorldCasts,
        WorldClosestPoints,
        WorldContacts,
        WorldDistances,
        WorldEvents,
        WorldImpacts,
        WorldRayCrossings,
        WorldRayHits,
    )
    from thud.shapes import (
        Box,
        Capsule,
        Compound,
        Cone,
        ConvexHull,
        Cylinder,
        Ellipsoid,
        HalfSpace,
        HeightField,
        Sphere,
        TriangleMesh,
    )
    from thud.shapes.decompose import decompose
    from thud.shapes.mass_properties import MassProperties, mass_properties
    from thud.terrain.tiles.terrain import Terrain
    from thud.warm import warmup
    from thud.world.world import World


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(importlib.import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"thud.{name}")
    raise AttributeError(f"module 'thud' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
