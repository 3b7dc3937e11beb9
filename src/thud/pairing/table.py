"""The pair table: which function answers which query for which families of shapes.

The order in which an answer is looked for:

1. the exact pair, (family of A, family of B);
2. the swapped pair, asked the other way round and turned back (`swap.py`);
3. a compound is taken apart into leaves, and their answers are joined (`leaves.py`, `join.py`);
4. unsupported, for the reason that `REASONS` gives.

Entries are text, "module:function", so that naming one imports nothing. A new family is one folder with its functions, a name
in `families.py` and one row set here; ARCHITECTURE.md says what else it may need. `docs/what_meets_what.md` is made from this
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from thud.pairing.families import CONVEX, FIELD, MESH, MIXED, PARTS, SURFACE, TERRAIN


class Entry(NamedTuple):
    """A function, and the options of the query that it can use: values it knows, or None where it takes any."""

    function: str
    options: Mapping[str, tuple[str, ...] | None] = {}


# Pairs -------------------------------------------------------------------------------------------------------------------
#
# intersects(a, b, rows_a, rows_b, count, *, threads)          (N,) bool; touching counts, and so does what stays undecided
# distance(a, b, rows_a, rows_b, count, *, reach, threads)     Distances, unsigned
# signed_distance(...)                                         the same, negative in an overlap
# contacts(a, b, rows_a, rows_b, count, *, margin, max_points, threads)
# cast(a, b, rows_a, rows_b, count, *, move_a, move_b, threads)            motions (N, 3)
# turning_cast(a, b, rows_a, rows_b, count, *, move_a, move_b, inner_a, inner_b, threads)
#                                             motions (N, 6) of the shapes whose frames A and B stand in at (12,) inner poses
# triangle_pairs(a, b, rows_a, rows_b, count, *, threads)
# overlap_patches(a, b, rows_a, rows_b, count, *, max_points, threads)     Contacts of what overlaps
#
# Poses are (N, 12) rows, or one row for all. Options that an entry lists come as further keywords: method, axes, cache,
# features (the cache of `cache=` where the method is "v_clip"), former (former_a and former_b: poses of an earlier frame).

PAIR_QUERIES = (
    "intersects", "distance", "signed_distance", "contacts", "overlap_patches", "cast", "turning_cast", "triangle_pairs",
)  # fmt: skip

_CACHE: dict[str, tuple[str, ...] | None] = {"cache": None}
_FORMER: dict[str, tuple[str, ...] | None] = {"former": None}

#: What `contacts` gives at a margin of 0.
_PATCHES = Entry("thud.mesh.patches:contact_patches")

#: Methods of convex pairs; V-Clip can start at the features where its last walk ended.
_WALKS: dict[str, tuple[str, ...] | None] = {"axes": None, "features": None}

_PACKED = {
    "intersects": Entry("thud.convex.queries:intersects", {"method": ("gjk", "chung_wang", "sat", "v_clip"), **_WALKS}),
    "distance": Entry("thud.convex.queries:distance", {"method": ("gjk", "v_clip"), **_WALKS}),
    "signed_distance": Entry("thud.convex.queries:signed_distance", {"method": ("gjk", "v_clip"), **_WALKS}),
    "contacts": Entry("thud.convex.queries:contacts"),
    "overlap_patches": _PATCHES,
    "cast": Entry("thud.convex.casts.dispatch:cast"),
    "turning_cast": Entry("thud.convex.casts.dispatch:turning_cast"),
}

_DEPTH = Entry("thud.mesh.depth:signed_distance")
_FIELD_DEPTH = Entry("thud.heightfield.depth:signed_distance")

#: A height field and a convex shape or a mesh.
_FIELD = {
    "intersects": Entry("thud.heightfield.queries:intersects"),
    "distance": Entry("thud.heightfield.queries:distance"),
    "signed_distance": _FIELD_DEPTH,
    "contacts": Entry("thud.heightfield.contacts:contacts", {"nearest": None}),
    "overlap_patches": _PATCHES,
    "cast": Entry("thud.heightfield.queries:cast"),
    "turning_cast": Entry("thud.heightfield.turning:turning_cast"),
}

PAIRS: dict[tuple[str, str], dict[str, Entry]] = {
    (CONVEX, CONVEX): _PACKED,
    (CONVEX, PARTS): _PACKED,
    (PARTS, CONVEX): _PACKED,
    (PARTS, PARTS): _PACKED,
    (MESH, MESH): {
        "intersects": Entry("thud.mesh.dispatch:intersects", _CACHE),
        "distance": Entry("thud.mesh.dispatch:distance", _CACHE),
        "signed_distance": Entry("thud.mesh.depth:mesh_signed_distance"),
        "contacts": Entry("thud.mesh.manifolds.contacts:mesh_mesh_contacts", {**_FORMER, "nearest": None}),
        "overlap_patches": Entry("thud.mesh.patches:overlap_patches"),
        "cast": Entry("thud.mesh.casts:cast"),
        "turning_cast": Entry("thud.mesh.casts:turning_cast"),
        "triangle_pairs": Entry("thud.mesh.dispatch:triangle_pairs", _CACHE),
    },
    (CONVEX, MESH): {
        "intersects": Entry("thud.mesh.dispatch:convex_intersects"),
        "distance": Entry("thud.mesh.dispatch:convex_distance", _CACHE),
        "signed_distance": Entry("thud.mesh.depth:convex_signed_distance"),
        "overlap_patches": Entry("thud.mesh.patches:convex_overlap_patches"),
        "cast": Entry("thud.mesh.casts:convex_cast"),
        "turning_cast": Entry("thud.mesh.casts:convex_turning_cast"),
    },
    (MESH, CONVEX): {
        "contacts": Entry("thud.mesh.manifolds.contacts:mesh_convex_contacts", _FORMER),
    },
    # One translation must clear all leaves of a compound: depths are not joined.
    (MESH, PARTS): {"signed_distance": _DEPTH},
    (PARTS, MESH): {"signed_distance": _DEPTH},
    (MIXED, CONVEX): {"signed_distance": _DEPTH},
    (CONVEX, MIXED): {"signed_distance": _DEPTH},
    (MIXED, PARTS): {"signed_distance": _DEPTH},
    (PARTS, MIXED): {"signed_distance": _DEPTH},
    (MIXED, MESH): {"signed_distance": _DEPTH},
    (MESH, MIXED): {"signed_distance": _DEPTH},
    (MIXED, MIXED): {"signed_distance": _DEPTH},
    (FIELD, CONVEX): _FIELD,
    (FIELD, PARTS): {"signed_distance": _FIELD_DEPTH},
    (FIELD, MESH): {**_FIELD, "triangle_pairs": Entry("thud.heightfield.triangle_pairs:triangle_pairs")},
    (MESH, FIELD): {"triangle_pairs": Entry("thud.heightfield.triangle_pairs:mesh_triangle_pairs")},
    (FIELD, MIXED): {"signed_distance": _FIELD_DEPTH},
    (FIELD, FIELD): {
        "intersects": Entry("thud.heightfield.two_fields:intersects"),
        "distance": Entry("thud.heightfield.two_fields:distance"),
        "signed_distance": Entry("thud.heightfield.two_fields:signed_distance"),
        "contacts": Entry("thud.heightfield.two_fields:contacts"),
        "overlap_patches": _PATCHES,
        "cast": Entry("thud.heightfield.two_fields:cast"),
        "turning_cast": Entry("thud.heightfield.two_fields:turning_cast"),
        "triangle_pairs": Entry("thud.heightfield.triangle_pairs:fields_triangle_pairs"),
    },
    (SURFACE, CONVEX): {
        "intersects": Entry("thud.terrain.collision.queries:intersects", _CACHE),
        "distance": Entry("thud.terrain.collision.queries:distance"),
        "signed_distance": Entry("thud.terrain.collision.queries:signed_distance"),
        "contacts": Entry("thud.terrain.collision.queries:contacts"),
        "overlap_patches": _PATCHES,
        "cast": Entry("thud.terrain.collision.queries:cast"),
        "turning_cast": Entry("thud.terrain.collision.queries:turning_cast"),
    },
    (SURFACE, MESH): {
        "intersects": Entry("thud.terrain.collision.mesh:intersects", _CACHE),
        "distance": Entry("thud.terrain.collision.mesh:distance"),
        "signed_distance": Entry("thud.terrain.collision.mesh:signed_distance"),
        "contacts": Entry("thud.terrain.collision.mesh:contacts"),
        "overlap_patches": _PATCHES,
        "cast": Entry("thud.terrain.collision.mesh:cast"),
        "turning_cast": Entry("thud.terrain.collision.mesh:turning_cast"),
    },
}
PAIRS[SURFACE, PARTS] = PAIRS[SURFACE, CONVEX]

#: A terrain asks its tiles, or windows stitched from them, whatever the other shape is.
_TERRAIN = {
    query: Entry(f"thud.terrain.tiles.queries.pairs:{query}") for query in PAIR_QUERIES if query != "triangle_pairs"
}  # fmt: skip
PAIRS.update({(TERRAIN, family): _TERRAIN for family in (CONVEX, PARTS, MESH, MIXED)})

#: Why there is no answer: of a pair of families, in either order, or of a query.
REASONS: dict[tuple[str, str] | str, str] = {
    (SURFACE, SURFACE): "two DisplacedSurfaces are not compared; give one of them as its to_mesh()",
    (
        SURFACE,
        FIELD,
    ): "a DisplacedSurface and a HeightField are both ground and not compared; give one of them as its to_mesh()",
    (TERRAIN, TERRAIN): "two Terrains are both ground and not compared",
    (TERRAIN, FIELD): "a Terrain and a HeightField are both ground and not compared; give the second as its to_mesh()",
    (TERRAIN, SURFACE): "a Terrain and a DisplacedSurface are both ground and not compared; give the second as its to_mesh()",
    "triangle_pairs": "only a TriangleMesh and a HeightField have triangles to pair; a DisplacedSurface has to_mesh()",
}


# Single shapes -----------------------------------------------------------------------------------------------------------
#
# raycast(shape, origins, directions, rows, count, *, reach, any_hit, threads)      directions of any length but 0
# raycast_all(shape, origins, directions, rows, count, *, reach, threads)
# contains(shape, points, rows, count, *, threads), option method
# closest_point(shape, points, rows, count, *, signed, threads)
# bounds(shape, pose)                         axis-aligned boxes
# mass(shape, mass)                           (3, 3) moment of inertia; volume and centroid go with it
# triangles(shape, segments)                  vertices and faces, for drawing
# save([shape])                               arrays that a file holds
# cover(shape, meshes)                        a convex shape that holds the shape; for meshes by `shapes/cover.MESH_COVERS`
# collider(shape)                             a collider of particles

SHAPE_QUERIES = (
    "raycast", "raycast_all", "contains", "closest_point", "bounds", "mass", "triangles", "save", "cover", "collider",
)  # fmt: skip

_OWN = {
    "bounds": Entry("thud.shapes.shape:Shape.bounds"),
    "mass": Entry("thud.shapes.shape:Shape.inertia"),
    "save": Entry("thud.world.shape_state:flatten"),
}

_PACKED_SHAPE = {
    **_OWN,
    "raycast": Entry("thud.convex.queries:raycast"),
    "raycast_all": Entry("thud.convex.queries:raycast_all"),
    "contains": Entry("thud.convex.queries:contains", {"method": ("parts",)}),
    "closest_point": Entry("thud.convex.queries:closest_point"),
    "triangles": Entry("thud.shapes.triangles:convex_triangles"),
    "cover": Entry("thud.shapes.cover:itself"),
    "collider": Entry("thud.particles.colliders.solid:Solid"),
}

SHAPES: dict[str, dict[str, Entry]] = {
    CONVEX: _PACKED_SHAPE,
    PARTS: {
        **{query: entry for query, entry in _PACKED_SHAPE.items() if query != "triangles"},
        "cover": Entry("thud.shapes.cover:parts_cover"),
    },
    MESH: {
        **_OWN,
        "triangles": Entry("thud.shapes.triangles:mesh_triangles"),
        "raycast": Entry("thud.mesh.raycast:raycast"),
        "raycast_all": Entry("thud.mesh.raycast:raycast_all"),
        "contains": Entry("thud.mesh.contains:contains", {"method": ("ray", "winding", "grid", "parts")}),
        "closest_point": Entry("thud.mesh.closest_point:closest_point"),
        "cover": Entry("thud.shapes.cover:mesh_cover"),
        "collider": Entry("thud.particles.colliders.mesh:Mesh"),
    },
    FIELD: {
        **_OWN,
        "triangles": Entry("thud.shapes.triangles:surface_triangles"),
        "raycast": Entry("thud.heightfield.rays:raycast"),
        "raycast_all": Entry("thud.heightfield.rays:raycast_all"),
        "contains": Entry("thud.heightfield.points:contains"),
        "closest_point": Entry("thud.heightfield.points:closest_point"),
        "cover": Entry("thud.shapes.cover:field_cover"),
        "collider": Entry("thud.particles.colliders.mesh:Mesh"),
    },
    SURFACE: {
        "bounds": _OWN["bounds"],
        "save": _OWN["save"],
        "triangles": Entry("thud.shapes.triangles:surface_triangles"),
        "raycast": Entry("thud.terrain.collision.queries:raycast"),
        "raycast_all": Entry("thud.terrain.collision.queries:raycast_all"),
        "contains": Entry("thud.terrain.collision.queries:contains"),
        "closest_point": Entry("thud.terrain.collision.queries:closest_point"),
        "cover": Entry("thud.shapes.cover:box_cover"),
        "collider": Entry("thud.particles.colliders.surface:Surface"),
    },
    TERRAIN: {
        "bounds": _OWN["bounds"],
        "raycast": Entry("thud.terrain.tiles.queries.rays:raycast"),
        "raycast_all": Entry("thud.terrain.tiles.queries.rays:raycast_all"),
        "contains": Entry("thud.terrain.tiles.queries.points:contains"),
        "closest_point": Entry("thud.terrain.tiles.queries.points:closest_point"),
        "cover": Entry("thud.terrain.tiles.cover:terrain_cover"),
    },
    MIXED: {
        **_OWN,
        "cover": Entry("thud.shapes.cover:ball_cover"),
    },
}

#: Why there is no answer for a family.
SHAPE_REASONS: dict[tuple[str, str], str] = {
    ("mass", SURFACE): "a DisplacedSurface is static ground, without volume and mass",
    ("mass", TERRAIN): "a Terrain is static ground, without volume and mass",
    ("save", TERRAIN): "a Terrain is a store of its own; remove its body before saving, and add it again after loading",
    ("triangles", TERRAIN): "a Terrain may be larger than memory; its tiles have shapes to draw: tile(key).shape",
    ("collider", TERRAIN): "a Terrain may be larger than memory; give the shapes of its tiles near the particles as colliders",
    (
        "collider",
        MIXED,
    ): "a Compound with a mesh, field or surface inside is no collider; give its shapes as colliders of their own",
}
