"""Answers to random questions against `oracles/solids.py`, and against the same question asked in another way: the shapes
swapped, a row by itself, with a cache. A wrong one raises `Mismatch`."""

from __future__ import annotations

import traceback
from dataclasses import fields

import numpy as np

import thud
from tests.oracles.solids import Faces, Ground, Plane, cross, rodrigues, sphere_points, triangle_feet, winding_numbers

#: Metres: by how much points may miss a surface, and how deep a point must lie inside to count. Shapes are about 1 m wide.
TOUCH = 2e-6

SEPARATED, OVERLAPPING, UNCONVERGED = range(3)

MISS, HIT, AT_START, CAST_UNCONVERGED = range(4)


class Mismatch(AssertionError):
    """An answer that is wrong, an error without a name, or a question that was wrongly refused or answered."""


def require(condition, *what):
    """A `Mismatch` unless the condition holds."""
    if not condition:
        raise Mismatch(" ".join(str(word) for word in what))


def unnamed(error, when=""):
    """A `Mismatch` of an error that is not expected, with its place."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{where.filename.split('/thud/')[-1]}:{where.lineno}"
    return Mismatch(f"{when}{type(error).__name__} at {place}: {error}")


def same_fields(found, other, what, atol=0.0):
    """Require two results to be equal, field by field."""
    if isinstance(found, np.ndarray):
        require(np.array_equal(found, other), what, found, other)
        return
    for one in fields(type(other)):
        x, y = np.asarray(getattr(found, one.name)), np.asarray(getattr(other, one.name))
        require(x.shape == y.shape, what, one.name, "has shape", x.shape, "not", y.shape)
        with np.errstate(invalid="ignore"):
            near = np.array_equal(x, y) if atol == 0.0 else np.allclose(x, y, rtol=0.0, atol=atol)
        require(near, what, one.name, x.tolist(), "not", y.tolist())


def blur(solid):
    """By how much points may miss a solid's surface: patches are cut until they leave their pieces by 1/256 of the twist."""
    return TOUCH + solid.twist / 256.0


def check_rows(found, count, names):
    """Each of the fields has a row a pose."""
    for name in names:
        require(len(getattr(found, name)) == count, name, "has", len(getattr(found, name)), "rows, not", count)


# Distances and depths ----------------------------------------------------------------------------------------------------


def check_distance_row(draw, placed, found, k, reach, signed):
    """One row of `Distances` against the oracle."""
    d, n, x, y = found.distance[k], found.normal[k], found.point_a[k], found.point_b[k]
    status = found.status[k]
    what = f"row {k}:"
    require(np.isfinite(np.concatenate([n, x, y])).all() and not np.isnan(d), what, "NaN", d, n, x, y)
    if status == UNCONVERGED:
        return
    if d == -np.inf:
        # No translation parts two half-spaces that are not opposite.
        require(signed and not (placed.a.is_bounded or placed.b.is_bounded), what, "infinitely deep")
        return
    deep, where = placed.deepest_common()
    bound, _, _ = placed.nearest()
    if np.isinf(d):
        require(np.isfinite(reach) and d > 0.0, what, "inf without a limit")
        require(not x.any() and not y.any() and not n.any(), what, "inf, but points")
        require(bound >= reach - TOUCH, what, "inf, but distance at most", bound, "with limit", reach)
        require(deep <= TOUCH, what, "inf, but", where, "is", deep, "deep in both")
        return
    require(d <= reach + TOUCH, what, "distance", d, "beyond the limit", reach)
    require(
        np.abs(y - x - d * n).max() < 1e-8 + 1e-8 * np.abs(x).max(),
        what,
        "point_b is not point_a + distance * normal",
        d,
        n,
        x,
        y,
    )
    length = np.linalg.norm(n)
    # Shapes that touch may be rounded to either side.
    if d > 0.0 and not (signed and status == OVERLAPPING and d < 1e-12):
        require(status == SEPARATED, what, "status", status, "at distance", d)
        require(abs(length - 1.0) < 1e-6, what, "normal of length", length)
        for name, solid, point in (("point_a", placed.a, x), ("point_b", placed.b, y)):
            gap = solid.surface_gap(point[None])[0]
            require(gap <= blur(solid), what, name, "off its surface by", gap, "at distance", d)
        require(d <= bound + TOUCH, what, "distance", d, "but samples are at", bound)
        require(deep <= TOUCH, what, "distance", d, "but", where, "is", deep, "deep in both")
        return
    require(status == OVERLAPPING, what, "status", status, "at distance", d)
    if not signed:
        require(d == 0.0 and length == 0.0 and np.array_equal(x, y), what, "overlap:", d, n, x, y)
        for name, solid in (("A", placed.a), ("B", placed.b)):
            gap = solid.signed(x[None])[0]
            require(gap <= blur(solid), what, "the common point is outside of", name, "by", gap)
        return
    check_depth(draw, placed, k, d, n, x, y)


def least_overlap(a, b, first):
    """The shortest translation of B along one of many directions that parts the hulls of two solids; no less than the depth."""

    def along(way):
        return a.support(way) + b.support(-way)

    ways = np.concatenate([sphere_points(150), first[None], -first[None]])
    # The normals of half-spaces, along which alone they end.
    planes = [turn @ leaf.normal for leaf, turn, _ in a.leaves + b.leaves if isinstance(leaf, Plane)]
    ways = np.concatenate([ways, *([normal, -normal] for normal in planes)])
    lengths = np.array([along(way) for way in ways])
    best, way = lengths.min(), ways[lengths.argmin()]
    for angle in (0.1, 0.05, 0.02, 0.01, 0.003):
        tried = way + angle * sphere_points(16)
        tried /= np.linalg.norm(tried, axis=1, keepdims=True)
        lengths = np.array([along(one) for one in tried])
        if lengths.min() < best:
            best, way = lengths.min(), tried[lengths.argmin()]
    return best


def check_depth(draw, placed, k, d, n, x, y):
    """A signed overlap: B moved by the depth along the normal is free of A, and no direction is much shorter."""
    what, depth, length = f"row {k}:", -d, np.linalg.norm(n)
    if draw.has_ground:
        require(length < 1e-9 or abs(length - 1.0) < 1e-6, what, "normal of length", length)
        return
    require(abs(length - 1.0) < 1e-6, what, "normal of length", length, "at depth", depth)
    loose = 10.0 * TOUCH
    for name, solid, point in (("point_a", placed.a, x), ("point_b", placed.b, y)):
        gap = solid.surface_gap(point[None])[0]
        require(gap <= loose, what, name, "off its surface by", gap, "at depth", depth)
    if draw.is_packed:
        parts_a, parts_b = ([solid.part(i) for i in range(len(solid.leaves))] for solid in (placed.a, placed.b))
        most = max(least_overlap(part_a, part_b, n) for part_a in parts_a for part_b in parts_b)
        require(depth <= most + loose, what, "depth", depth, "but some direction needs", most)
        require(depth >= 0.9 * most - loose or np.isinf(most), what, "depth", depth, "but two parts overlap by", most)
        if not draw.is_convex:
            return
        along = placed.a.support(n) + placed.b.support(-n)
        if np.isfinite(along):
            require(abs(along - depth) <= loose, what, "depth", depth, "but", along, "along its normal")
    elif {draw.a.family, draw.b.family} <= {"convex", "mesh"}:
        most = least_overlap(placed.a, placed.b, n)
        require(depth <= most * (1.0 + 1e-5) + loose, what, "depth", depth, "but the hulls have at most", most)
    moved = draw.at(k, (depth * (1.0 + 1e-6) + TOUCH) * n)
    deep, where = moved.deepest_common()
    require(deep <= loose, what, "moved by depth", depth, "along", n, "but", where, "is", deep, "deep in both")


def check_turned_distance(draw, found, turned, k, signed, reach):
    """The answer with the shapes exchanged."""
    d, other = found.distance[k], turned.distance[k]
    if UNCONVERGED in (found.status[k], turned.status[k]) or np.isinf(d) or np.isinf(other):
        same = (
            np.isinf(d) == np.isinf(other)
            or min(d, other) >= reach - TOUCH
            or UNCONVERGED in (found.status[k], turned.status[k])
        )
        require(same, f"row {k}: swapped distance {other}, not {d}")
        return
    if signed and (d < 0.0 or other < 0.0) and not draw.is_convex:
        return
    require(abs(d - other) <= 10.0 * TOUCH, f"row {k}: swapped distance {other}, not {d}")
    if draw.is_convex and d > 0.01:
        off = np.abs(found.normal[k] + turned.normal[k]).max()
        require(off < 1e-3, f"row {k}: swapped normal {turned.normal[k]}, not {-found.normal[k]}")


# The same question in another way ----------------------------------------------------------------------------------------


def given_row(value, k):
    """Row k of poses or motions in any form, which may have one row for all."""
    many = len(value) > 1 if isinstance(value, thud.Pose) else np.ndim(value) > 1 and len(value) > 1
    return value[k] if many else value


def check_single_row(question, draw, found, k):
    """Row k asked by itself gives the same bytes; of a walk that started elsewhere the same distance."""
    if "cache" in question.options and question.options.get("method") == "v_clip":
        return
    single = {name: value if name in ("a", "b") else given_row(value, k) for name, value in question.arguments.items()}
    options = {name: value for name, value in question.options.items() if name not in ("axes", "cache")}
    one = getattr(thud, question.query)(**single, **options)
    for item in fields(type(one)):
        x, y = getattr(found, item.name)[k], getattr(one, item.name)[0]
        require(np.array_equal(x, y), f"row {k} by itself: {item.name} {y}, not {x}")


def check_cache(question, draw, found):
    """With a cache the answers are those without, also in the next frame."""
    if "cache" not in question.options:
        return
    call = getattr(thud, question.query)
    plain = {name: value for name, value in question.options.items() if name != "cache"}
    if plain.get("method") == "v_clip":
        # From other features the walk may end at other points that are as close.
        expected = call(**question.arguments, **plain)
        if isinstance(expected, np.ndarray):
            require(np.array_equal(found, expected), "with the features of a cache")
        else:
            require(np.allclose(found.distance, expected.distance, rtol=0, atol=1e-9), "with the features of a cache")
        return
    same_fields(found, call(**question.arguments, **plain), "with a cache:")
    moved = draw.poses_b.t + 0.01 * np.sin(1.0 + np.arange(3 * len(draw.poses_b.t))).reshape(-1, 3)
    after = {**question.arguments, "pose_b": np.column_stack([moved, draw.poses_b.q])}
    same_fields(call(**after, **question.options), call(**after, **plain), "with a cache, second frame:")


def check_prepared(draw, signed, margin, found):
    """What a prepared pair says against the queries and the oracle."""
    hit, apart, touching = found
    single = draw.arguments()
    require(hit.shape == (1,) and hit[0] == thud.intersects(**single)[0], "prepared intersects", hit)
    same_fields(apart, thud.distance(**single, signed=signed), "prepared distance:", 1e-9)
    same_fields(touching, thud.contacts(**single, margin=margin), "prepared contacts:", 1e-9)
    check_distance_row(draw, draw.at(0), apart, 0, np.inf, signed)


def check_pairs(question, kind, table, single, found):
    """Rows of a query of many pairs against the same query of each; `single`: its options."""
    shapes = question.arguments["shapes"]
    extra = {name: value for name, value in question.options.items() if name in ("method",)}
    rows = found if kind == "intersects" else found.status
    require(len(rows) == len(table), "rows", len(rows), "of", len(table), "pairs")
    axes = question.options.get("axes")
    for k, (i, j) in enumerate(table):
        given = {"pose_a": question.arguments["poses"][i], "pose_b": question.arguments["poses"][j]}
        if axes is not None:
            extra["axes"] = np.atleast_2d(axes)[k if np.ndim(axes) == 2 and len(axes) > 1 else 0]
        one = getattr(thud, kind)(shapes[i], shapes[j], **given, **single, **extra)
        if kind == "intersects":
            require(found[k] == one[0], f"pairs row {k}: {found[k]}, not {one[0]}")
        elif kind == "distance":
            mine = type(one)(*(getattr(found, item.name)[k : k + 1] for item in fields(thud.Distances)))
            same_fields(mine, one, f"pairs row {k}:", 1e-9)
        else:
            own = found.row == k
            require(found.status[k] == one.status[0], f"pairs row {k}: status {found.status[k]}, not {one.status[0]}")
            for name in ("point", "normal", "depth", "feature", "patch"):
                x, y = getattr(found, name)[own], getattr(one, name)
                require(x.shape == y.shape and np.allclose(x, y, rtol=0, atol=1e-9), f"pairs row {k}: {name} {x}, not {y}")


# Pairs of shapes ---------------------------------------------------------------------------------------------------------


def check_intersects(question, draw, found):
    """All rows of `intersects` against the oracle, and against the distance."""
    require(found.shape == (draw.count,) and found.dtype == bool, "shape", found.shape, found.dtype)
    if question.refusal == "none":
        apart = thud.distance(**draw.arguments())
    for k in range(draw.count):
        placed = draw.at(k)
        deep, where = placed.deepest_common()
        require(found[k] or deep <= TOUCH, f"row {k}: apart, but {where} is {deep} deep in both")
        if question.refusal != "none":
            continue
        d, status = apart.distance[k], apart.status[k]
        if found[k] and status != UNCONVERGED:
            # Its witness is checked here by the oracle: a point of both, or two that are next to each other.
            require(d <= TOUCH, f"row {k}: meets, but at distance {d}")
            gaps = [solid.signed(apart.point_a[k][None])[0] - blur(solid) for solid in (placed.a, placed.b)]
            require(max(gaps) <= TOUCH, f"row {k}: meets, but no common point: {gaps}")
        elif not found[k]:
            require(d > -TOUCH and (d > 0.0 or placed.nearest()[0] > -TOUCH), f"row {k}: apart, but at distance {d}")
            require(d > 0.0 or deep <= TOUCH, f"row {k}: apart, but at distance {d}")
    check_cache(question, draw, found)
    if question.refusal != "none":
        return
    turned = thud.intersects(**draw.swapped())
    for k in np.flatnonzero(turned != found):
        if question.refusal == "none":
            gap = apart.distance[k]
            deep = draw.at(k).deepest_common()[0]
            require(
                gap <= TOUCH and deep <= TOUCH,
                f"row {k}: swapped {turned[k]}, not {found[k]}; distance {gap}, depth {deep}",
            )


def check_contacts(draw, found, margin, most):
    """Contacts of all rows against the oracle."""
    require(len(found.status) == draw.count, "status has", len(found.status), "rows")
    require((np.diff(found.row) >= 0).all() and ((found.row >= 0) & (found.row < draw.count)).all(), "rows", found.row)
    for name in ("point", "normal", "depth"):
        require(
            np.isfinite(getattr(found, name)).all() and len(getattr(found, name)) == len(found.row), name, getattr(found, name)
        )
    require((np.abs(np.linalg.norm(found.normal, axis=1) - 1.0) < 1e-6).all(), "normals", found.normal)
    require((found.depth >= -margin - TOUCH).all(), "depth below the margin", found.depth, margin)
    for k in range(draw.count):
        own = found.row == k
        what, placed, status = f"row {k}:", draw.at(k), found.status[k]
        counts = np.unique(found.patch[own], return_counts=True)[1]
        require((counts <= most).all(), what, "patches of", counts, "points, at most", most)
        if status == UNCONVERGED:
            continue
        deep, where = placed.deepest_common()
        require(deep <= TOUCH or status == OVERLAPPING, what, "separated, but", where, "is", deep, "deep in both")
        if status == SEPARATED:
            require((found.depth[own] <= TOUCH).all(), what, "separated, but depths", found.depth[own])
        bound = placed.nearest()[0]
        if own.any() and not draw.has_ground:
            gaps = np.maximum(placed.a.signed(found.point[own]), placed.b.signed(found.point[own]))
            off = gaps - 0.5 * np.abs(found.depth[own])
            require(off.max() <= 10.0 * TOUCH, what, "a point is off by", gaps, "at depth", found.depth[own])
        for solid, sign in ((placed.a, 0.5), (placed.b, -0.5)):
            if own.any() and len(solid.leaves) == 1 and solid.has_ground:
                gaps = solid.surface_gap(found.point[own] + sign * found.depth[own][:, None] * found.normal[own])
                require(gaps.max() <= 10.0 * TOUCH + 0.25 * solid.twist, what, "the ground is off by", gaps)
        if draw.is_convex and own.any():
            half = 0.5 * found.depth[own][:, None] * found.normal[own]
            gaps = placed.a.surface_gap(found.point[own] + half), placed.b.surface_gap(found.point[own] - half)
            require(max(gap.max() for gap in gaps) < 10.0 * TOUCH, what, "surfaces are off by", *gaps)
            if status == OVERLAPPING:
                apart = thud.distance(**draw.arguments(), signed=True).distance[k]
                off = found.depth[own].max() + apart
                require(abs(off) < 10.0 * TOUCH, what, "depths", found.depth[own], "at distance", apart)
        both_planes = not (placed.a.is_bounded or placed.b.is_bounded)
        if status == OVERLAPPING and not both_planes:
            require(own.any(), what, "overlap without points")
        if bound < 0.9 * margin and not both_planes:
            require(own.any(), what, "no points at a distance of at most", bound, "within", margin)


def check_turned_contacts(question, draw, found):
    """The status with the shapes exchanged."""
    turned = thud.contacts(**draw.swapped(), **{k: v for k, v in question.options.items() if k != "threads"})
    for k in np.flatnonzero(turned.status != found.status):
        near = abs(thud.distance(**draw.arguments()).distance[k]) <= TOUCH and draw.at(k).deepest_common()[0] <= 1e-3
        unsure = UNCONVERGED in (turned.status[k], found.status[k])
        require(near or unsure, f"row {k}: swapped status {turned.status[k]}, not {found.status[k]}")


def at_time(poses, motion, row, s):
    """(rotation, place) of a moving shape."""
    turn, place = poses.row(row)
    move = motion[row if len(motion) > 1 else 0]
    if len(move) == 6:
        turn = rodrigues(s * move[3:])[0] @ turn
    return turn, place + s * move[:3]


def check_cast_row(draw, move_a, move_b, found, k):
    """One row of `Impacts` against the oracle at some times."""
    t, status, what = found.time[k], found.status[k], f"row {k}:"
    require(np.isfinite(found.point[k]).all() and np.isfinite(found.normal[k]).all() and not np.isnan(t), what, "NaN")
    end = 1.0 if status == MISS else min(t, 1.0)
    if status == MISS:
        require(np.isinf(t), what, "a miss at time", t)
    else:
        require(0.0 <= t <= 1.0, what, "time", t, "of status", status)
    if status == AT_START:
        require(t == 0.0, what, "overlapping at the start at time", t)
    # Up to a little before the contact: a time is a lower bound.
    for s in np.linspace(0.0, end, 12) if status == MISS else np.linspace(0.0, end, 6)[:-1] if end > 0.0 else ():
        placed = draw.pair.at(*at_time(draw.poses_a, move_a, k, s), *at_time(draw.poses_b, move_b, k, s))
        deep, where = placed.deepest_common(buried=s == 0.0)
        require(deep <= TOUCH, what, "status", status, "time", t, "but at", s, "point", where, "is", deep, "deep in both")
    if status in (HIT, AT_START):
        placed = draw.pair.at(*at_time(draw.poses_a, move_a, k, t), *at_time(draw.poses_b, move_b, k, t))
        gaps = [solid.signed(found.point[k][None])[0] - blur(solid) for solid in (placed.a, placed.b)]
        # At the start the point is midway between two points, one of each, that are the depth apart.
        room = 4.0 * TOUCH + (0.5 * found.depth[k] if found.depth[k] > 0.0 else 0.0)
        require(max(gaps) <= room, what, "status", status, "at", t, "the point is off by", gaps)
        length = np.linalg.norm(found.normal[k])
        # A shape that turns may meet the bottom or a side of the ground, which have no normal.
        bare = length == 0.0 and (status == AT_START or (draw.has_ground and (move_a.shape[1] == 6 or move_b.shape[1] == 6)))
        require(abs(length - 1.0) < 1e-6 or bare, what, "normal of length", length)
        if status == HIT and move_a.shape[1] == move_b.shape[1] == 3:
            closing = (move_b[k if len(move_b) > 1 else 0] - move_a[k if len(move_a) > 1 else 0]) @ found.normal[k]
            require(closing <= 1e-5, what, "they touch while parting along the normal by", closing)


def check_turned_cast(draw, move_a, move_b, found):
    """The times with the shapes exchanged."""
    options = {"motion_a": move_b, "motion_b": move_a}
    turned = thud.cast(**draw.swapped(), **options)
    speed = np.linalg.norm(move_a) + np.linalg.norm(move_b) + 1.0
    both = (found.status == HIT) & (turned.status == HIT)
    off = np.abs(found.time[both] - turned.time[both])
    require((off * speed < 1e-3).all(), "swapped times", turned.time, "not", found.time)


def check_triangle_pairs(draw, found):
    """Pairs of triangles of all rows against the oracle."""
    key = np.stack([found.row, found.triangle_a, found.triangle_b], axis=1)
    require(np.array_equal(key, np.unique(key, axis=0)), "pairs are not sorted")
    for k in range(draw.count):
        placed = draw.at(k)
        (leaf_a, turn_a, place_a), (leaf_b, turn_b, place_b) = placed.a.leaves[0], placed.b.leaves[0]
        corners_a, corners_b = leaf_a.corners @ turn_a.T + place_a, leaf_b.corners @ turn_b.T + place_b
        surely, perhaps = crossing_triangles(corners_a, corners_b)
        listed = np.zeros(surely.shape, dtype=bool)
        own = found.row == k
        listed[found.triangle_a[own], found.triangle_b[own]] = True
        require(not (surely & ~listed).any(), f"row {k}: not listed", np.argwhere(surely & ~listed)[:3].tolist())
        require(not (listed & ~perhaps).any(), f"row {k}: listed", np.argwhere(listed & ~perhaps)[:3].tolist())


def crossing_triangles(a, b):
    """(A, B) pairs of triangles that surely meet, and those that may: an edge of one through the other."""
    surely, perhaps = np.zeros((len(a), len(b)), dtype=bool), np.zeros((len(a), len(b)), dtype=bool)
    for one, two, turned in ((a, b, False), (b, a, True)):
        edge, other = two[:, 1] - two[:, 0], two[:, 2] - two[:, 0]
        for k in range(3):
            start, along = one[:, k], one[:, (k + 1) % 3] - one[:, k]
            h = cross(along[:, None], other)
            det = (edge * h).sum(axis=2)
            s = start[:, None] - two[:, 0]
            q = cross(s, edge)
            size = np.linalg.norm(cross(edge, other), axis=1) * np.linalg.norm(along, axis=1)[:, None]
            steep = np.abs(det) > 1e-6 * size
            scale = 1.0 / np.where(steep, det, 1.0)
            u, v, t = (s * h).sum(axis=2) * scale, (q * along[:, None]).sum(axis=2) * scale, (q * other).sum(axis=2) * scale
            least = np.where(steep, np.minimum(np.minimum(np.minimum(u, v), 1.0 - u - v), np.minimum(t, 1.0 - t)), 0.0)
            sure, may = steep & (least > 1e-6), ~steep | (least > -1e-6)
            surely |= sure.T if turned else sure
            perhaps |= may.T if turned else may
    return surely, perhaps


# Points and rays ---------------------------------------------------------------------------------------------------------


def check_contains(draw, method, found):
    """All rows of `contains` against the oracle."""
    require(found.shape == (draw.count,) and found.dtype == bool, "shape", found.shape, found.dtype)
    for k in range(draw.count):
        held = []
        for leaf, turn, place in draw.at(k).leaves:
            local = (draw.points[k : k + 1] - place) @ turn
            if isinstance(leaf, Faces) and not leaf.is_convex and method == "winding":
                number = winding_numbers(local, leaf.corners)[0]
                near = abs(number - 0.5) < 0.03 or leaf.surface_gap(local)[0] < TOUCH
                held.append(None if near else number > 0.5)
            else:
                gap = leaf.signed(local)[0]
                held.append(None if abs(gap) < TOUCH else gap < 0.0)
        if any(held):
            require(found[k], f"row {k}: outside, but inside by the oracle")
        elif None not in held:
            require(not found[k], f"row {k}: inside, but outside by the oracle")


def check_closest_row(draw, solid, found, k, signed):
    """One row of `ClosestPoints` against the oracle."""
    what, p, x, d, number = f"row {k}:", draw.points[k], found.point[k], found.distance[k], found.triangle[k]
    require(np.isfinite(x).all() and np.isfinite(d), what, "not finite", x, d)
    require(abs(np.linalg.norm(p - x) - abs(d)) < TOUCH, what, "distance", d, "but the point is at", np.linalg.norm(p - x))
    require(signed or d >= 0.0, what, "negative distance", d)
    expected = []
    for leaf, turn, place in solid.leaves:
        local = (p[None] - place) @ turn
        gap = np.linalg.norm(local - leaf.foot(local))
        side = leaf.signed(local)[0]
        expected.append(-gap if leaf.is_solid and side < 0.0 else gap)
    best = min(expected)
    where = solid if draw.is_single else solid.part(int(number))
    if not draw.is_single:
        require(0 <= number < len(solid.leaves), what, "part", number)
    off = where.surface_gap(x[None])[0]
    require(off < blur(where), what, "the point is off the surface by", off, "of part", number)
    value = d if signed else abs(d)
    if not solid.has_ground:
        best = best if signed else abs(best)
        require(abs(value - best) < TOUCH, what, "distance", value, "but", best, "by the oracle", expected)
    elif best > 0.0:
        require(value <= best + TOUCH, what, "distance", value, "but", best, "by the oracle", expected)
    if isinstance(draw.shape, thud.TriangleMesh):
        leaf, turn, place = solid.leaves[0]
        near = triangle_feet((x[None] - place) @ turn, leaf.corners[number : number + 1])[0] @ turn.T + place
        require(np.linalg.norm(near[0] - x) < TOUCH, what, "the point is not on triangle", number)


def first_hits(solid, start, along):
    """(leaves,) distances by which a ray has surely hit each leaf, inf where that is not known."""
    t = np.concatenate([[0.0], np.geomspace(1e-4, 12.0, 160)])
    points = start + t[:, None] * along
    hits = []
    for leaf, turn, place in solid.leaves:
        local = (points - place) @ turn
        if isinstance(leaf, Ground):
            beyond, lift = leaf.lift(local)
            sure = (beyond == 0.0) & (np.abs(lift) > 1e-5)
            change = sure[1:] & sure[:-1] & (np.sign(lift[1:]) != np.sign(lift[:-1]))
            hits.append(t[1:][change][0] if change.any() else np.inf)
        elif not leaf.is_convex:
            found, clean = leaf.crossings((start - place) @ turn, along @ turn)
            hits.append(found[0] if clean and len(found) else np.inf)
        else:
            deep = leaf.depth(local) > TOUCH
            hits.append(t[deep][0] if deep.any() else np.inf)
    return np.array(hits)


def check_ray_row(draw, solid, found, k, reach, any_hit):
    """One row of `RayHits` against the oracle."""
    what, start, d, x, n = f"row {k}:", draw.points[k], found.distance[k], found.point[k], found.normal[k]
    along = draw.directions[k] / np.linalg.norm(draw.directions[k])
    require(np.isfinite(x).all() and np.isfinite(n).all() and not np.isnan(d) and d >= 0.0, what, "not finite", d, x, n)
    sure = first_hits(solid, start, along).min()
    if np.isinf(d):
        require(not x.any() and not n.any() and found.triangle[k] == -1, what, "a miss with a point", x, n, found.triangle[k])
        require(sure > reach - TOUCH or np.isinf(sure), what, "a miss, but a hit by", sure, "within", reach)
        return
    require(d <= reach * (1.0 + 1e-9) + 1e-12, what, "hit at", d, "beyond", reach)
    require(np.abs(start + d * along - x).max() < 1e-8, what, "the point is not on the ray", x, d)
    if not any_hit:
        require(d <= sure + TOUCH, what, "hit at", d, "but another by", sure)
    if d == 0.0:
        gaps = [leaf.signed((start[None] - place) @ turn)[0] for leaf, turn, place in solid.leaves if leaf.is_convex]
        gap = min([*gaps, solid.surface_gap(start[None])[0]])
    else:
        gap = solid.surface_gap(x[None])[0]
        require(abs(np.linalg.norm(n) - 1.0) < 1e-6, what, "normal", n)
    require(gap < TOUCH, what, "the hit at", d, "is off the surface by", gap)
    number = found.triangle[k]
    if not draw.is_single:
        require(0 <= number < len(solid.leaves), what, "part", number)
        gap = solid.part(int(number)).surface_gap(x[None])[0] if d > 0.0 else 0.0
        require(gap < TOUCH, what, "the hit is off part", number, "by", gap)
        leaf = solid.leaves[number][0]
    else:
        leaf = solid.leaves[0][0]
    if draw.is_single and isinstance(draw.shape, thud.TriangleMesh):
        _, turn, place = solid.leaves[0]
        near = triangle_feet((x[None] - place) @ turn, leaf.corners[number : number + 1])[0] @ turn.T + place
        require(np.linalg.norm(near[0] - x) < TOUCH, what, "the hit is not on triangle", number)
        require(np.abs(turn @ leaf.normals[number] - n).max() < 1e-6, what, "normal", n, "of triangle", number)
    if isinstance(leaf, Ground):
        _, turn, place = solid.leaves[0 if draw.is_single else number]
        up = turn @ leaf.normal((x[None] - place) @ turn)[0]
        require(np.isnan(up[0]) or np.abs(up - n).max() < 1e-3, what, "normal", n, "of the surface, not", up)
    if leaf.is_convex and d > 0.0:
        require(n @ along <= 1e-6, what, "enters a convex shape along its normal", n)
        off = (solid if draw.is_single else solid.part(int(number))).signed((x + 1e-4 * n)[None])[0]
        require(abs(off - 1e-4) < 2e-5, what, "the normal", n, "leads to", off, "instead of 1e-4")


def check_crossings(draw, reach, found):
    """All rows of `RayCrossings` against the oracle."""
    require((np.diff(found.row) >= 0).all(), "rows", found.row)
    for name in ("distance", "point", "normal"):
        require(np.isfinite(getattr(found, name)).all(), name, getattr(found, name))
    require((np.abs(np.linalg.norm(found.normal, axis=1) - 1.0) < 1e-6).all(), "normals", found.normal)
    for k in range(draw.count):
        check_crossings_row(draw, draw.at(k), found, k, reach)


def check_crossings_row(draw, solid, found, k, reach):
    """One row of `RayCrossings` against the oracle."""
    what, start = f"row {k}:", draw.points[k]
    along = draw.directions[k] / np.linalg.norm(draw.directions[k])
    own = found.row == k
    d, x, number = found.distance[own], found.point[own], found.triangle[own]
    require((np.diff(d) >= 0.0).all() and (d >= 0.0).all() and (d <= reach * (1.0 + 1e-9)).all(), what, "distances", d, reach)
    require(np.abs(start + d[:, None] * along - x).max(initial=0.0) < 1e-8, what, "points are not on the ray")
    for j, (leaf, turn, place) in enumerate(solid.leaves):
        here = np.ones(len(d), dtype=bool) if draw.is_single else number == j
        part, origin, way = solid.part(j), (start - place) @ turn, along @ turn
        gap = part.surface_gap(x[here]).max(initial=0.0) if here.any() else 0.0
        require(gap < TOUCH, what, "a crossing is off the surface of part", j, "by", gap)
        count, depth = int(here.sum()), leaf.signed(origin[None])[0]
        if isinstance(leaf, Ground):
            t = np.concatenate([[0.0], np.geomspace(1e-4, min(12.0, reach) + 1e-9, 160)])
            beyond, lift = leaf.lift(origin + t[:, None] * way)
            sure = (beyond == 0.0) & (np.abs(lift) > 1e-5)
            changes = int((sure[1:] & sure[:-1] & (np.sign(lift[1:]) != np.sign(lift[:-1]))).sum())
            require(count >= changes, what, count, "crossings of part", j, "but at least", changes)
        elif not leaf.is_convex:
            crossings, clean = leaf.crossings(origin, way)
            if clean and not (np.abs(crossings - reach) < 1e-6).any():
                expected = crossings[crossings <= reach]
                right = len(expected) == count and np.abs(expected - d[here]).max(initial=0.0) < TOUCH
                require(right, what, "crossings of part", j, "at", d[here], "but", expected)
            if leaf.is_solid and np.isinf(reach) and abs(depth) > TOUCH:
                require(count % 2 == (depth < 0.0), what, count, "crossings of part", j, "from depth", -depth)
        elif np.isinf(reach) and abs(depth) > TOUCH:
            if isinstance(leaf, Plane):
                slope = way @ leaf.normal
                right = abs(slope) < 1e-9 or count == ((slope > 0.0) == (depth < 0.0))
            else:
                right = count == 1 if depth < 0.0 else count in (0, 2)
            require(right, what, count, "crossings of part", j, "from depth", -depth)
            if np.isfinite(first_hits(part, start, along)[0]) and depth > 0.0:
                require(count >= 1, what, "no crossing of part", j)
