"""Rays and boxes against all bodies of a world, through a tree over their boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.broadphase.boxes import FARTHEST
from thud.bvh.morton_tree import build_morton_tree, entry_of_ray, rays_in_tree
from thud.convex.rows.raycast import ray_shape, write_hit
from thud.math.vec3 import load3
from thud.pairing.ask import ask_shape
from thud.pairing.groups import equal_rows
from thud.pairing.rows import row_of
from thud.results import WorldRayHits
from thud.world.narrow import Scene


@device
def is_ignored(ignored, i, body):
    """Whether row i, or the only row, of `ignored` names the body."""
    k, found = row_of(ignored, i), False
    for c in range(ignored.shape[1]):
        found |= ignored[k, c] == body
    return found


@kernel(
    "i8, i8, packed, i8[::1], i8[::1], f8[:,::1], b1[::1], f8[:,::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[::1], "
    "i8[:,::1], i8, i8[::1], f8[::1], f8[:,::1], f8[:,::1], i8[::1]"
)
def world_ray_rows(
    start, stop, packed, shape_rows, shape, poses, chosen, boxes, skip, item, origins, directions, reaches, ignored, any_hit,
    body_out, distance_out, point_out, normal_out, part_out,
):  # fmt: skip
    """First hit (any hit) of each ray on the chosen bodies, all of them convex or compounds, but those that it ignores; of
    equal ones the lowest row."""
    for i in range(start, stop):
        reach = reaches[i]
        o, d = load3(origins, i, 0), load3(directions, i, 0)
        best, best_part, body, normal = math.inf, -1, np.int64(-1), (0.0, 0.0, 0.0)
        k = 0
        while k < skip.shape[0]:
            if entry_of_ray(o, d, min(best, reach), boxes, k) == math.inf:
                k = skip[k]
                continue
            j = item[k]
            if j >= 0 and chosen[j] and not is_ignored(ignored, i, j):
                hit, part, n = ray_shape(packed, shape_rows[shape[j]], poses, j, o, d, min(best, reach), any_hit)
                if hit < best or (hit == best and hit < math.inf and j < body):
                    best, best_part, body, normal = hit, part, j, n
                    if any_hit:
                        break
            k += 1
        body_out[i] = body
        write_hit(i, best, best_part, o, d, normal, distance_out, point_out, normal_out, part_out)


def longest_edges(bounds: Floats) -> Floats:
    """(N,) longest bounded edge of each box; 0 for one that has none, or is not there."""
    with np.errstate(over="ignore", invalid="ignore"):
        edges = bounds[:, 3:] - bounds[:, :3]
    return np.where(edges < np.sqrt(FARTHEST), edges, 0.0).max(axis=1, initial=0.0)


@dataclass(frozen=True, slots=True)
class BodyTree:
    """A tree over the bodies' boxes."""

    boxes: Floats
    skip: Ints
    item: Ints
    longest_edge: float = 0.0
    """Of all boxes, as far as they have an end, metres."""

    @classmethod
    def of(cls, bounds: Floats) -> BodyTree:
        """Over (N, 6) boxes; those that are not there are left out."""
        return cls(*build_morton_tree(bounds), float(longest_edges(bounds).max(initial=0.0)))

    @property
    def arrays(self) -> tuple[Floats, Ints, Ints]:
        """As the kernels take it."""
        return self.boxes, self.skip, self.item


def not_ignored(ignored: Ints, row: Ints, body: Ints) -> Bools:
    """(M,) which bodies their rows do not ignore."""
    if ignored.shape[1] == 0:
        return np.ones(len(body), np.bool_)
    mine = ignored if len(ignored) == 1 else ignored[row]
    return (mine != body[:, None]).all(axis=1)


def first_hits(
    scene: Scene, tree: BodyTree, seen: Bools, ignored: Ints, origins: Floats, directions: Floats, reach: Floats, any_hit: bool
) -> WorldRayHits:
    """First hits of rays, directions of unit length, each as far as it reaches, on the bodies that are seen but for those that
    it ignores; `handle` is the row."""
    count = len(origins)
    covered = scene.shapes.is_covered[scene.shape] & (scene.shape >= 0)
    out = WorldRayHits(
        np.empty(count, np.int64), np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.int64)
    )
    run_rows(
        world_ray_rows, count, scene.threads, scene.packed, scene.shape_rows, scene.shape, scene.poses, seen & ~covered,
        *tree.arrays, origins, directions, reach, ignored, int(any_hit), out.handle, out.distance, out.point, out.normal,
        out.triangle, rows_per_chunk=64,
    )  # fmt: skip
    if (covered & seen).any() and count:
        _covered_hits(scene, tree, covered & seen, ignored, origins, directions, reach, any_hit, out)
    return out


def _covered_hits(
    scene: Scene, tree: BodyTree, chosen: Bools, ignored: Ints, origins: Floats, directions: Floats, reach: Floats,
    any_hit: bool, out: WorldRayHits,
) -> None:  # fmt: skip
    """Then the bodies that are surfaces or meshes or have some, as far as nothing nearer was hit."""
    places, items, _ = rays_in_tree(tree.arrays, origins, directions, np.minimum(out.distance, reach), scene.threads)
    ray = np.repeat(np.arange(len(origins)), np.diff(places))
    wanted = chosen[items] & not_ignored(ignored, ray, items)
    if any_hit:
        wanted &= out.handle[ray] < 0
    ray, body = ray[wanted], items[wanted]
    kinds = scene.shape[body]
    for rows in equal_rows(kinds):
        shape = scene.shapes.shape(int(kinds[rows[0]]))
        at, who = ray[rows], body[rows]
        limit = float(reach[at].max())
        # Any hit within the farthest reach may be beyond the ray's own.
        any_here = any_hit and float(reach[at].min()) == limit
        options = {"reach": limit, "any_hit": any_here, "threads": scene.threads}
        hits = ask_shape("raycast", shape, origins[at], directions[at], rows=scene.poses[who], count=len(who), **options)
        # The nearest of each ray; of equal ones the lowest row.
        found = np.flatnonzero(np.isfinite(hits.distance) & (hits.distance <= reach[at]))
        found = found[np.lexsort([who[found], hits.distance[found], at[found]])]
        first = found[np.flatnonzero(np.diff(at[found], prepend=-1))]
        i = at[first]
        nearer = (hits.distance[first] < out.distance[i]) | (
            (hits.distance[first] == out.distance[i]) & (who[first] < out.handle[i])
        )
        i, first = i[nearer], first[nearer]
        out.handle[i], out.distance[i], out.triangle[i] = who[first], hits.distance[first], hits.triangle[first]
        out.point[i], out.normal[i] = hits.point[first], hits.normal[first]
