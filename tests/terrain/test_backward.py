"""Backward projection: the paper's tables, round trips, every root against an oracle, folds, degenerate and hostile input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thud
from tests.oracles import projection as oracle
from thud import ProjectionStatus as S
from thud.errors import InvalidInputError
from thud.terrain import backward_project, forward_project

TRIANGLE = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [2.0, 4.0, 2.0]])
TABLES = {
    "4.1": np.array([[0.5, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    "4.2": np.array([[-3.0, -2.0, 2.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
    "4.3": np.array([[-5.0, -2.0, 2.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]),
}
METHODS = ("aligned_plane", "aligned_direction", "alpha_plane", "cubic")
SQUARE = np.array([[0.0, 0.0, 0.0], [2.0, 0.1, 0.2], [2.1, 2.0, -0.3], [0.0, 1.9, 0.4]])
SQUARE_UP = np.array([[0.1, -0.2, 1.0], [-0.1, 0.1, 1.1], [0.3, 0.2, 0.9], [0.0, 0.2, 1.0]])


def random_triangles(count: int, seed: int, spread: float = 0.3):
    """Positions, directions and (u, v, length) in them."""
    rng = np.random.default_rng(seed)
    positions = rng.normal(size=(count, 3, 3))
    directions = rng.normal(size=(count, 3, 3)) * spread + [0, 0, 1]
    u, v = rng.random((2, count))
    over = u + v > 1
    u[over], v[over] = 1 - u[over], 1 - v[over]
    return positions, directions, u, v, rng.uniform(-1, 1, count)


def residual(found, positions, directions, points):
    """How far the forward projection of what was found is from the points, over their size."""
    again = forward_project(found.u, found.v, found.length, positions, directions)
    return np.abs(again - points).max(axis=1) / (np.abs(points).max(axis=1) + np.abs(positions).max(axis=(-1, -2)))


# --- the paper -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "expected"), [("4.1", (0.3055, 0.1901)), ("4.2", (0.2067, 0.1112)), ("4.3", (0.1792, 0.1079))]
)
def test_tables_aligned_plane(table: str, expected: tuple[float, float]) -> None:
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES[table])
    found = backward_project(point, TRIANGLE, TABLES[table], method="aligned_plane")
    assert (round(found.u[0], 4), round(found.v[0], 4)) == expected


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", ["alpha_plane", "cubic"])
@pytest.mark.parametrize("length_range", [(-np.inf, np.inf), (0.0, 2.0)])
def test_tables_alpha_plane_and_cubic(table: str, method: str, length_range: tuple[float, float]) -> None:
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES[table])
    found = backward_project(point, TRIANGLE, TABLES[table], method=method, length_range=length_range)
    assert found.status[0] == S.INSIDE
    np.testing.assert_allclose([found.u[0], found.v[0], found.length[0]], [0.3, 0.2, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("table", "expected", "status"),
    [("4.1", (0.3008, 0.1999), S.INSIDE), ("4.2", (0.3005, 0.2004), S.INSIDE), ("4.3", (1.0516, 0.7196), S.OUTSIDE)],
)
def test_tables_aligned_direction(table: str, expected: tuple[float, float], status: S) -> None:
    # The paper stops at f of 1e-4 to 1e-6, where (u, v) is off by up to 8e-4; ours goes on. The minimum is the same one.
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES[table])
    found = backward_project(point, TRIANGLE, TABLES[table], method="aligned_direction", start=(0.1, 0.25))
    np.testing.assert_allclose((found.u[0], found.v[0]), expected, atol=1e-3)
    assert found.status[0] == status
    assert residual(found, TRIANGLE, TABLES[table], point)[0] < 1e-9
    # From the centroid, the default, no table has a false minimum.
    found = backward_project(point, TRIANGLE, TABLES[table], method="aligned_direction")
    np.testing.assert_allclose((found.u[0], found.v[0]), (0.3, 0.2), atol=1e-9)


def test_aligned_direction_from_the_corner_fails_in_table_4_2() -> None:
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES["4.2"])
    found = backward_project(point, TRIANGLE, TABLES["4.2"], method="aligned_direction", start=(0.0, 0.0))
    assert found.u[0] == pytest.approx(0.7917, abs=1e-3)
    assert found.status[0] == S.OUTSIDE


def test_newton_from_zero_ends_at_the_wrong_root() -> None:
    # Between the start and the root at 1 the slope of (3.4) changes its sign, so the first step goes the other way.
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES["4.3"])
    found = backward_project(point, TRIANGLE, TABLES["4.3"], method="alpha_plane", start=0.0)
    assert found.length[0] == pytest.approx(-3.283, abs=1e-3)
    assert found.status[0] == S.OUTSIDE
    for start in (1.5, 2.0):
        found = backward_project(point, TRIANGLE, TABLES["4.3"], method="alpha_plane", start=start)
        assert found.length[0] == pytest.approx(1.0)


def test_roots_where_the_triangle_collapses_are_none() -> None:
    # Table 4.1: at alpha = -4 the alpha triangle is a line, and (3.4) vanishes for every point.
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES["4.1"])
    assert oracle.objective(-4.0, point[0], TRIANGLE, TABLES["4.1"]) == pytest.approx(0.0, abs=1e-12)
    found = backward_project(point, TRIANGLE, TABLES["4.1"], length_range=(-4.5, -3.5))
    assert found.status[0] == S.OUTSIDE
    assert np.isinf(found.u[0])
    found = backward_project(point, TRIANGLE, TABLES["4.1"], method="alpha_plane", start=-4.0)
    assert found.status[0] == S.UNCONVERGED


# --- round trips and the oracle --------------------------------------------------------------------------------------

whole = st.integers(-3, 3).map(float)
number = st.one_of(whole, st.floats(-4, 4).filter(lambda x: x == 0 or abs(x) > 1e-3))


def corners(count: int):
    return st.tuples(*[st.tuples(number, number, number)] * count).map(np.array)


@settings(deadline=None, max_examples=300)
@given(corners(3), corners(3), st.floats(0, 1), st.floats(0, 1), number, st.sampled_from([1e-40, 1e-3, 1.0, 1e5, 1e40]))
def test_round_trip(positions, directions, a, b, length, scale) -> None:
    u, v = (a, b) if a + b <= 1 else (1 - a, 1 - b)
    positions = positions * scale
    length = length * scale
    point = forward_project(u, v, length, positions, directions)
    found = backward_project(point, positions, directions)
    q = positions + length * directions
    m = np.array([1 - u - v, u, v]) @ directions
    sides = np.array([q[1] - q[0], q[2] - q[0]]) / scale
    if np.linalg.norm(np.cross(*sides)) < 1e-2:
        return  # the alpha triangle has (almost) no area
    size = (np.abs(point).max() + np.abs(positions).max() + abs(length) * np.abs(directions).max()) / scale
    if found.status[0] in (S.INSIDE, S.AMBIGUOUS):
        # Whatever is found is a solution; where directions fold, another one than that the point was made by.
        assert residual(found, positions, directions, point)[0] < 1e-12 * (1 + size / (np.abs(positions).max() / scale + 1e-9))
        margin = min(found.u[0], found.v[0], 1 - found.u[0] - found.v[0])
        assert margin >= -1e-6
        if found.status[0] == S.INSIDE and abs(np.dot(np.cross(*sides), m)) > 1e-2:
            np.testing.assert_allclose([found.u[0], found.v[0]], [u, v], atol=1e-6)
    elif abs(np.dot(np.cross(*sides), m)) > 1e-3:
        raise AssertionError(f"lost: {found}")


@settings(deadline=None, max_examples=100)
@given(corners(3), st.tuples(number, number, number).map(np.array), st.floats(0, 1), st.floats(0, 1), number)
def test_parallel_directions_make_the_cubic_linear(positions, direction, a, b, length) -> None:
    u, v = (a, b) if a + b <= 1 else (1 - a, 1 - b)
    normal = np.cross(positions[1] - positions[0], positions[2] - positions[0])
    if abs(normal @ direction) < 1e-2:
        return
    directions = np.tile(direction, (3, 1))
    point = forward_project(u, v, length, positions, directions)
    for method in METHODS:
        found = backward_project(point, positions, directions, method=method)
        assert found.status[0] == S.INSIDE, method
        tolerance = 1e-6 if method == "aligned_direction" else 1e-9
        np.testing.assert_allclose([found.u[0], found.v[0], found.length[0]], [u, v, length], atol=tolerance)


def test_all_roots_against_the_oracle() -> None:
    positions, directions, u, v, length = random_triangles(600, 5, spread=0.8)
    rng = np.random.default_rng(6)
    points = forward_project(u, v, length, positions, directions)
    points[::3] = rng.normal(size=points[::3].shape)
    counts = np.zeros(4, int)
    for i, (low, high) in enumerate(rng.choice([(-np.inf, np.inf), (-1.5, 1.5), (0.0, 40.0), (-np.inf, 0.5)], size=600)):
        found = backward_project(points[i], positions[i], directions[i], length_range=(low, high))
        solutions = oracle.triangle_solutions(points[i], positions[i], directions[i])
        near = [min(a, b, 1 - a - b, 1.0) for a, b, _ in solutions]
        if any(abs(m) < 1e-6 for m in near) or any(min(abs(s[2] - low), abs(s[2] - high)) < 1e-6 for s in solutions):
            continue
        inside = [s for s, m in zip(solutions, near) if m > 0 and low <= s[2] <= high]
        lengths = [s[2] for s in inside]
        if len(lengths) > 1 and min(np.diff(lengths)) < 1e-4:
            continue
        expected = S.OUTSIDE if not inside else (S.INSIDE if len(inside) == 1 else S.AMBIGUOUS)
        assert found.status[0] == expected, i
        counts[found.status[0]] += 1
        if inside:
            np.testing.assert_allclose([found.u[0], found.v[0], found.length[0]], inside[-1], rtol=1e-5, atol=1e-6)
        elif np.isfinite(found.u[0]):
            # Outside, one of the roots in the range.
            found_row = np.array([found.u[0], found.v[0], found.length[0]])
            assert min(np.abs((found_row - s) / (1 + np.abs(s))).max() for s in solutions) < 1e-4
    assert (counts[:3] > 20).all()


def test_residuals_of_many() -> None:
    positions, directions, u, v, length = random_triangles(20_000, 7)
    points = forward_project(u, v, length, positions, directions)
    for length_range in ((-np.inf, np.inf), (-1.0, 1.0), (-1e6, 1e9)):
        found = backward_project(points, positions, directions, length_range=length_range)
        assert np.isin(found.status, (S.INSIDE, S.AMBIGUOUS)).all()
        # The worst, one in 20,000, is a sliver near a fold, whose equations are solved to some thousand roundoffs.
        off = residual(found, positions, directions, points)
        assert np.quantile(off, 0.999) < 1e-14
        assert off.max() < 1e-11


def test_ambiguous_gives_the_upper_one() -> None:
    # With directions this unlike, surfaces of different bases cross: a tenth of the points is reached from two.
    positions, directions, u, v, length = random_triangles(4000, 8, spread=0.8)
    points = forward_project(u, v, length, positions, directions)
    found = backward_project(points, positions, directions)
    seen = 0
    for i in np.flatnonzero(found.status == S.AMBIGUOUS)[:100]:
        solutions = oracle.triangle_solutions(points[i], positions[i], directions[i])
        inside = [s for s in solutions if min(s[0], s[1], 1 - s[0] - s[1]) > -1e-9]
        assert len(inside) >= 2
        assert found.length[i] == pytest.approx(inside[-1][2])
        if min(np.diff([s[2] for s in inside])) < 2e-3:
            continue
        # Ranges that hold one of them alone.
        for _, _, alone in inside:
            single = backward_project(points[i], positions[i], directions[i], length_range=(alone - 1e-3, alone + 1e-3))
            assert single.status[0] == S.INSIDE
            assert single.length[0] == pytest.approx(alone)
        seen += 1
    assert seen > 50


def test_points_on_the_fold_are_found() -> None:
    # u = 0.25 at which the directions turn over: (3.4) has a double root, which roundoff makes two or none.
    positions = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rng = np.random.default_rng(9)
    count = 0
    for _ in range(400):
        directions = rng.normal(size=(3, 3))
        u, v = rng.random(2) * 0.5
        m = np.array([1 - u - v, u, v]) @ directions

        def det(length, directions=directions, m=m):
            q = positions + length * directions
            return np.cross(q[1] - q[0], q[2] - q[0]) @ m

        # The length at which the Jacobian vanishes, by a quadratic through three values.
        roots = np.roots(np.polyfit([-1.0, 0.0, 1.0], [det(-1.0), det(0.0), det(1.0)], 2))
        for root in roots[np.abs(roots.imag) < 1e-12].real:
            q = positions + root * directions
            if abs(root) > 20 or np.linalg.norm(np.cross(q[1] - q[0], q[2] - q[0])) < 0.05:
                continue
            # On it, and near it, where two roots lie close together: a search must not stop at the extremum between them.
            for beside in (0.0, 1e-6, -1e-5, 1e-4, -1e-3, 1e-2):
                point = forward_project(u, v, root + beside, positions, directions)
                found = backward_project(point, positions, directions)
                assert found.status[0] in (S.INSIDE, S.AMBIGUOUS)
                assert residual(found, positions, directions, point)[0] < (1e-12 if abs(beside) > 1e-6 else 1e-9)
                if abs(beside) > 1e-5 and found.status[0] == S.INSIDE:
                    np.testing.assert_allclose([found.u[0], found.v[0]], [u, v], atol=1e-6)
            count += 1
    assert count > 100


# --- edges, ranges, degenerate primitives, bad input ----------------------------------------------------------------


def test_edges_and_ends_of_the_range_are_closed() -> None:
    rng = np.random.default_rng(10)
    for offset in (0.0, 1e3, 1e6):
        positions = rng.normal(size=(500, 3, 3)) + offset
        directions = rng.normal(size=(500, 3, 3)) * 0.2 + [0, 0, 1]
        t, length = rng.random(500), rng.uniform(-0.3, 0.3, 500)
        zero = np.zeros(500)
        for u, v in ((t, zero), (zero, t), (t, 1 - t), (zero, zero), (zero + 1, zero), (zero, zero + 1)):
            points = forward_project(u, v, length, positions, directions)
            ranges = np.stack([length, length + 0.1], axis=1)
            found = backward_project(points, positions, directions, length_range=ranges)
            # A sliver seen edge on magnifies the roundoff of its points beyond any tolerance.
            sides = positions + length[:, None, None] * directions
            n = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
            good = np.abs(n[:, 2]) > 0.3
            assert np.isin(found.status[good], (S.INSIDE, S.AMBIGUOUS)).all()


def test_no_gap_between_primitives_that_share_an_edge() -> None:
    # Points on and at roundoff's distance from the edge's forward projection lie in one of the two at least.
    rng = np.random.default_rng(16)
    for offset in (0.0, 1e4, 1e6):
        corners = np.array([[0.0, 0, 0], [1, 0, 0.2], [0.2, 1, 0], [1.1, 1.2, -0.2]]) + offset
        up = np.array([[0.1, 0.2, 1], [-0.2, 0.1, 1.1], [0.3, -0.1, 0.9], [0.0, -0.2, 1.0]])
        t, length = rng.random(2000), rng.uniform(-0.4, 0.4, 2000)
        points = forward_project(t, 1 - t, length, corners[:3], up[:3])
        points = points * (1 + rng.integers(-2, 3, points.shape) * 2.0**-53)
        rows = [backward_project(points, corners[k], up[k], length_range=(-0.5, 0.5)) for k in ([0, 1, 2], [1, 3, 2])]
        held = [np.isin(row.status, (S.INSIDE, S.AMBIGUOUS)) for row in rows]
        assert (held[0] | held[1]).all()


def test_a_range_leaves_other_lengths_out() -> None:
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES["4.1"])
    found = backward_project(point, TRIANGLE, TABLES["4.1"], length_range=(1.1, 5.0))
    assert found.status[0] == S.OUTSIDE
    assert np.isinf(found.length[0])
    found = backward_project(point, TRIANGLE, TABLES["4.1"], length_range=[(0, 2), (-5, 0.9)])
    assert found.status.tolist() == [S.INSIDE, S.OUTSIDE]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_clipped(method: str) -> None:
    directions = np.tile([0.1, 0.2, 1.0], (3, 1))
    point = forward_project(-3.5, 7.25, 2.0, TRIANGLE, directions)
    found = backward_project(point, TRIANGLE, directions, method=method)
    assert found.status[0] == S.OUTSIDE
    np.testing.assert_allclose([found.u[0], found.v[0], found.length[0]], [-3.5, 7.25, 2.0], atol=1e-5)


DEGENERATE = {
    "point": (np.ones((3, 3)), np.tile([0.0, 0.0, 1.0], (3, 1))),
    "line": (np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.tile([0.0, 0.0, 1.0], (3, 1))),
    "no direction": (TRIANGLE, np.zeros((3, 3))),
    "direction in the plane": (np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.tile([1.0, 0.0, 0.0], (3, 1))),
    "all to one point": (TRIANGLE, -TRIANGLE + [1.0, 2.0, 3.0]),
    "all zero": (np.zeros((3, 3)), np.zeros((3, 3))),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("method", METHODS)
def test_degenerate_primitives(case: str, method: str) -> None:
    positions, directions = DEGENERATE[case]
    points = np.vstack([np.zeros(3), positions, positions + directions, positions.mean(axis=0), [[0.3, 0.0, 5.0]], [[1, 2, 3]]])
    found = backward_project(points, positions, directions, method=method)
    assert not np.isnan(np.concatenate([found.u, found.v, found.length])[np.tile(found.status == S.INSIDE, 3)]).any()
    inside = np.isin(found.status, (S.INSIDE, S.AMBIGUOUS))
    if case in ("point", "line", "no direction", "all zero"):
        assert not inside.any()
    elif inside.any() and method != "aligned_plane":
        again = forward_project(found.u[inside], found.v[inside], found.length[inside], positions, directions)
        np.testing.assert_allclose(again, points[inside], atol=1e-6)


def test_bad_input_is_named() -> None:
    up = TABLES["4.1"]
    with pytest.raises(InvalidInputError, match="points"):
        backward_project([0, np.nan, 0], TRIANGLE, up)
    with pytest.raises(InvalidInputError, match="positions"):
        backward_project([0, 0, 0], np.full((3, 3), np.nan), up)
    with pytest.raises(InvalidInputError, match="directions"):
        backward_project([0, 0, 0], TRIANGLE, np.full((3, 3), np.inf))
    with pytest.raises(InvalidInputError, match="positions: expected shape"):
        backward_project([0, 0, 0], np.zeros((5, 3)), up)
    with pytest.raises(InvalidInputError, match="as many corners"):
        backward_project([0, 0, 0], SQUARE, up)
    with pytest.raises(InvalidInputError, match="method"):
        backward_project([0, 0, 0], TRIANGLE, up, method="guess")
    with pytest.raises(InvalidInputError, match="is for triangles"):
        backward_project([0, 0, 0], SQUARE, SQUARE_UP, method="alpha_plane")
    with pytest.raises(InvalidInputError, match="is for quadrilaterals"):
        backward_project([0, 0, 0], TRIANGLE, up, method="bilinear_inverse")
    with pytest.raises(InvalidInputError, match="start: method 'cubic' takes none"):
        backward_project([0, 0, 0], TRIANGLE, up, start=1.0)
    with pytest.raises(InvalidInputError, match="start"):
        backward_project([0, 0, 0], TRIANGLE, up, method="aligned_direction", start=1.0)
    with pytest.raises(InvalidInputError, match="length_range: row 0"):
        backward_project([0, 0, 0], TRIANGLE, up, length_range=(2, 1))
    with pytest.raises(InvalidInputError, match="length_range: row 0"):
        backward_project([0, 0, 0], TRIANGLE, up, length_range=(np.nan, 1))
    with pytest.raises(InvalidInputError, match="length_range"):
        backward_project([0, 0, 0], TRIANGLE, up, length_range="all")
    with pytest.raises(InvalidInputError, match="equal numbers of rows"):
        backward_project(np.zeros((2, 3)), np.zeros((3, 3, 3)), up)
    with pytest.raises(InvalidInputError, match="u"):
        forward_project(np.nan, 0, 0, TRIANGLE, up)


# --- quadrilaterals --------------------------------------------------------------------------------------------------


def test_quadrilaterals_round_trip() -> None:
    rng = np.random.default_rng(11)
    count = 3000
    positions = SQUARE + rng.normal(size=(count, 4, 3)) * 0.15
    directions = SQUARE_UP + rng.normal(size=(count, 4, 3)) * 0.2
    u, v, length = rng.random(count), rng.random(count), rng.uniform(-0.5, 1, count)
    for k, value in ((0, 0.0), (1, 1.0)):
        u[k::7] = value
        v[k::5] = value
    points = forward_project(u, v, length, positions, directions)
    for length_range in ((-np.inf, np.inf), (-0.5, 1.0)):
        found = backward_project(points, positions, directions, length_range=length_range)
        assert np.isin(found.status, (S.INSIDE, S.AMBIGUOUS)).all()
        assert residual(found, positions, directions, points).max() < 1e-12
        one = found.status == S.INSIDE
        assert one.mean() > 0.95
        np.testing.assert_allclose(found.u[one], u[one], atol=1e-6)
        np.testing.assert_allclose(found.v[one], v[one], atol=1e-6)


def test_quadrilaterals_against_newton_from_everywhere() -> None:
    rng = np.random.default_rng(12)
    counts = np.zeros(4, int)
    for i in range(250):
        positions = SQUARE + rng.normal(size=(4, 3)) * 0.4
        directions = SQUARE_UP + rng.normal(size=(4, 3)) * (1.2 if i % 2 else 0.3)
        point = oracle.forward(*rng.random(2), rng.uniform(-2, 3), positions, directions)
        if i % 4 > 1:
            point = rng.uniform([0, 0, -1], [2, 2, 2])
        found = backward_project(point, positions, directions, length_range=(-2.0, 3.0))
        solutions = oracle.quadrilateral_solutions(point, positions, directions, -2.0, 3.0)
        near = [min(a, 1 - a, b, 1 - b, c + 2, 3 - c) for a, b, c in solutions]
        if any(abs(m) < 1e-6 for m in near) or found.status[0] == S.UNCONVERGED:
            continue
        # The oracle may miss one, never invent one.
        at_least = S.OUTSIDE if not solutions else (S.INSIDE if len(solutions) == 1 else S.AMBIGUOUS)
        assert found.status[0] == at_least, i
        counts[found.status[0]] += 1
        if solutions:
            np.testing.assert_allclose([found.u[0], found.v[0], found.length[0]], solutions[-1], atol=1e-7)
    assert (counts[:3] > 9).all()


def test_a_flat_quadrilateral_agrees_with_its_triangles() -> None:
    # A parallelogram with directions to match is linear, so that its first triangle has the same u and v.
    positions = np.array([[0.0, 0, 0], [4, 0, 1], [6, 4, 3], [2, 4, 2]])
    up = TABLES["4.1"]
    directions = np.array([up[0], up[1], up[1] + up[2] - up[0], up[2]])
    rng = np.random.default_rng(13)
    u, v, length = rng.random((3, 200)) * [[0.5], [0.5], [2.0]]
    points = forward_project(u, v, length, positions, directions)
    quad = backward_project(points, positions, directions, length_range=(0, 2))
    triangle = backward_project(points, positions[[0, 1, 3]], up, length_range=(0, 2))
    for a, b in ((quad.u, triangle.u), (quad.v, triangle.v), (quad.length, triangle.length), (quad.status, triangle.status)):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("case", ["point", "line", "no direction", "cone"])
def test_degenerate_quadrilaterals(case: str) -> None:
    positions, directions = {
        "point": (np.ones((4, 3)), SQUARE_UP),
        "line": (np.linspace(0, 1, 4)[:, None] * [1.0, 0, 0], np.tile([0.0, 0, 1], (4, 1))),
        "no direction": (SQUARE, np.zeros((4, 3))),
        "cone": (SQUARE, [1.0, 1.0, 3.0] - SQUARE),
    }[case]
    points = np.vstack([positions, positions.mean(axis=0) + 0.5 * np.mean(directions, axis=0), [[0.2, 0.3, 0.4], [1, 1, 3]]])
    found = backward_project(points, positions, directions)
    inside = np.isin(found.status, (S.INSIDE, S.AMBIGUOUS))
    if inside.any():
        again = forward_project(found.u[inside], found.v[inside], found.length[inside], positions, directions)
        np.testing.assert_allclose(again, points[inside], atol=1e-9)
    if case in ("line", "no direction"):
        assert not inside.any()


# --- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [*METHODS, "bilinear_inverse"])
def test_any_number_of_threads_gives_the_same_bytes(method: str) -> None:
    positions, directions, u, v, length = random_triangles(5000, 14)
    if method == "bilinear_inverse":
        rng = np.random.default_rng(15)
        positions, directions = SQUARE + rng.normal(size=(5000, 4, 3)) * 0.1, SQUARE_UP + rng.normal(size=(5000, 4, 3)) * 0.1
    points = forward_project(u, v, length, positions, directions)
    one, four = (backward_project(points, positions, directions, method=method, threads=k) for k in (1, 4))
    for name in ("u", "v", "length", "iterations", "status"):
        assert getattr(one, name).tobytes() == getattr(four, name).tobytes()


def test_every_kernel_has_one_signature() -> None:
    from thud.terrain.projection import aligned_direction, aligned_plane, alpha_cubic, alpha_plane, bilinear_inverse

    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, TABLES["4.1"])
    for method in METHODS:
        backward_project(point, TRIANGLE, TABLES["4.1"], method=method)
    backward_project(forward_project(0.3, 0.2, 1.0, SQUARE, SQUARE_UP), SQUARE, SQUARE_UP)
    locked = TRIANGLE.copy()
    locked.flags.writeable = False
    backward_project(point.astype(np.float32), locked, TABLES["4.1"].tolist())
    for kernel in (
        aligned_plane.aligned_plane_rows,
        aligned_direction.aligned_direction_rows,
        alpha_plane.alpha_plane_rows,
        alpha_cubic.cubic_rows,
        bilinear_inverse.bilinear_rows,
    ):
        assert len(kernel.signatures) == 1, kernel
    # Inner kernels have none in a process that loaded their callers from the cache.
    for kernel in (
        aligned_plane.aligned_project,
        aligned_direction.bfgs_project,
        alpha_plane.newton_project,
        alpha_cubic.cubic_project_counted,
        alpha_cubic.roots_by_pieces,
        alpha_cubic.bracketed_root,
        bilinear_inverse.bilinear_project_counted,
        bilinear_inverse.search_cells,
    ):
        assert len(kernel.signatures) <= 1, kernel


def test_inner_kernels_agree_with_the_rows() -> None:
    from thud.terrain.projection.aligned_plane import aligned_project
    from thud.terrain.projection.alpha_cubic import cubic_project
    from thud.terrain.projection.alpha_plane import newton_project
    from thud.terrain.projection.bilinear_inverse import bilinear_project

    def triples(array):
        return tuple(tuple(map(float, row)) for row in array)

    up = TABLES["4.2"]
    point = forward_project(0.3, 0.2, 1.0, TRIANGLE, up)
    arguments = (*triples(point), *triples(TRIANGLE), *triples(up), 0.0, 2.0)
    for kernel, method in ((cubic_project, "cubic"), (aligned_project, "aligned_plane")):
        row = backward_project(point, TRIANGLE, up, method=method, length_range=(0, 2))
        assert kernel(*arguments) == (row.status[0], row.u[0], row.v[0], row.length[0])
    row = backward_project(point, TRIANGLE, up, method="alpha_plane", length_range=(0, 2))
    assert newton_project(*arguments, 2.0) == (row.status[0], row.u[0], row.v[0], row.length[0], row.iterations[0])
    point = forward_project(0.3, 0.2, 1.0, SQUARE, SQUARE_UP)
    row = backward_project(point, SQUARE, SQUARE_UP, length_range=(0, 2))
    found = bilinear_project(*triples(point), *triples(SQUARE), *triples(SQUARE_UP), 0.0, 2.0)
    assert found == (row.status[0], row.u[0], row.v[0], row.length[0])


def test_results_are_public() -> None:
    assert isinstance(backward_project([0, 0, 1], TRIANGLE, TABLES["4.1"]), thud.Projections)
    assert [s.name for s in thud.ProjectionStatus] == ["INSIDE", "OUTSIDE", "AMBIGUOUS", "UNCONVERGED"]
