"""`contacts`: points, normal and depth of overlaps, measured in images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.imagespace.interference import interference
from thud.imagespace.inward import chord_maps
from thud.imagespace.options import checked_options
from thud.imagespace.piercings import checked_pairs
from thud.imagespace.scene import Scene, checked_meshes, scene_of, world_boxes
from thud.imagespace.tolerances import CONTACT_SHARE, MOST_CONTACTS, WAY_PIXELS
from thud.imagespace.view import directions
from thud.imagespace.ways import Ways, look_at_corners, measure, shadow_views, shorten
from thud.results import ImageContacts, Interference
from thud.shapes.triangle_mesh import TriangleMesh


def contacts(
    meshes: Sequence[TriangleMesh],
    poses: Any = None,
    seen: Interference | Any = None,
    *,
    views: int = 3,
    backend: str = "cpu",
    threads: int | None = None,
) -> ImageContacts:
    """Contacts of closed meshes that overlap: points, normal and depth, measured along rays of images.

    A ray is inside each object in some pieces. How far B must be moved along the rays until no ray is inside both is a way out.
    Ways along both senses of all views are measured in images of 48 pixels a side, then closer ones around where they end, and
    each goes on to the normal of the faces or edges that end it, as long as that is shorter. The shortest is the pair's
    normal and depth; up to three more points are where it is at least half as deep, spread apart.

    A depth is measured where a ray meets the triangles as they are: along the normal it is right to `pixel` times the slopes
    of the two surfaces, unless it is deepest in a tip of the overlap thinner than a pixel of the first image. Other normals may
    have a shorter way that no view led to; more `views` try more.

    Parameters
    ----------
    meshes : closed meshes, not intersecting themselves
    poses : one each; None: all at the origin
    seen : what `interference` returned for the same meshes and poses, or (M, 2) pairs of objects; None: looked at here
    views : directions in which ways out are sought first, 1 to 9, each in both senses
    backend : "cpu" (Numba) or "gl" (OpenGL) draws the images in which pairs are found, if `seen` is None; ways are always
        measured by Numba
    threads : at most so many; None: all cores
    """
    _, views, _, _ = checked_options(WAY_PIXELS, views, 1, None, backend)
    chosen, rows = checked_meshes(meshes, poses)
    if seen is None:
        seen = interference(chosen, poses, views=views, backend=backend, threads=threads)
    pairs = checked_pairs(seen, len(chosen))
    objects, numbered = np.unique(pairs, return_inverse=True)
    numbered = numbered.reshape(-1, 2)
    boxes = world_boxes([chosen[k] for k in objects], rows[objects], threads)
    scene = scene_of([chosen[k] for k in objects], rows[objects], boxes, threads)
    best = shortest_ways(scene, numbered, directions(views), threads)
    found = [_points(scene, best, row, threads) for row in range(len(pairs))]
    pair = np.repeat(np.arange(len(pairs)), [len(depth) for _, depth, _, _ in found])
    point = np.concatenate([points for points, _, _, _ in (_NONE, *found)])
    depth = np.concatenate([depths for _, depths, _, _ in (_NONE, *found)])
    face = np.concatenate([faces for _, _, faces, _ in (_NONE, *found)])
    pixel = np.concatenate([pixels for _, _, _, pixels in (_NONE, *found)])
    return ImageContacts(
        pair, pairs[pair, 0], pairs[pair, 1], point, best.direction[pair], depth,
        face[:, 0] - scene.triangle_starts[numbered[pair, 0]], face[:, 1] - scene.triangle_starts[numbered[pair, 1]], pixel,
        pairs, np.bincount(pair, minlength=len(pairs)),
    )  # fmt: skip


_NONE: tuple[Floats, Floats, Ints, Floats] = (np.empty((0, 3)), np.empty(0), np.empty((0, 2), np.int64), np.empty(0))


def shortest_ways(scene: Scene, pairs: Ints, rays: Floats, threads: int | None) -> Ways:
    """The shortest way of each pair that was found from rays in both senses; length 0 where no ray is inside both."""
    starts = np.concatenate([rays, -rays])
    many = len(starts)
    ways = measure(scene, np.repeat(pairs, many, axis=0), np.tile(starts, (len(pairs), 1)), threads)
    ways = shorten(scene, ways, threads)
    if not len(pairs):
        return ways
    looked = np.zeros(len(ways.length), bool)
    while True:
        length = np.where(ways.length > 0.0, ways.length, np.inf).reshape(-1, many)
        best = np.arange(len(pairs)) * many + length.argmin(axis=1)
        # A way that turns out to be longer may no longer be the shortest.
        rows = best[~looked[best] & (ways.length[best] > 0.0)]
        if not len(rows):
            return ways.only(best)
        look_at_corners(scene, ways, rows, threads)
        looked[rows] = True


def _points(scene: Scene, ways: Ways, row: int, threads: int | None) -> tuple[Floats, Floats, Ints, Floats]:
    """Points, depths, triangles and pixels of the contacts of one pair."""
    if not ways.length[row] > 0.0:
        return _NONE
    # The deepest was measured closest.
    depth, normal = float(ways.length[row]), ways.direction[row]
    point, faces = [0.5 * (ways.point_a[row] + ways.point_b[row])], [ways.faces[row]]
    depths, pixels = [depth], [float(ways.pixel[row])]
    one = np.array([row])
    views, _ = shadow_views(scene, ways.pairs[one], ways.direction[one], WAY_PIXELS)
    seen = chord_maps(scene, ways.pairs[one], views, threads)
    deep = seen.leave[0] - seen.enter[0]
    pixel = np.flatnonzero((seen.length[0] > 0.0) & (deep >= CONTACT_SHARE * depth) & (deep <= depth))
    places = views.unproject(0, pixel, 0.5 * (seen.leave[0, pixel] + seen.enter[0, pixel]))
    across = places - (places @ normal)[:, None] * normal
    chosen = point[0] - (point[0] @ normal) * normal
    away = np.linalg.norm(across - chosen, axis=1)
    # The one that is farthest from those there are, again and again; not within a pixel.
    while len(point) < MOST_CONTACTS and len(pixel) and away.max() > 2.0 * views.pixels[0]:
        k = int(np.argmax(away))
        point.append(places[k])
        depths.append(float(deep[pixel[k]]))
        faces.append(seen.faces[0, pixel[k]])
        pixels.append(float(views.pixels[0]))
        away = np.minimum(away, np.linalg.norm(across - across[k], axis=1))
    return np.array(point), np.array(depths), np.array(faces), np.array(pixels)
