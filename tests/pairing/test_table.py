"""The pair table: every entry exists, every cell of the page is true, options are checked, no shape class decides elsewhere."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thud
from tests.terrain.tiles.stores import height_tiles
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.pairing.families import FAMILIES, NAMES
from thud.pairing.plans import SWAPPED, UNSUPPORTED, pair_plan, resolve, shape_plan
from thud.pairing.table import PAIR_QUERIES, PAIRS, SHAPE_QUERIES, SHAPES
from tools.what_meets_what import PAGE, page

TWO = thud.Pose(np.zeros((2, 3)))

SOURCE = Path(thud.__file__).parent


def _tetrahedron() -> thud.TriangleMesh:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) - 0.2
    return thud.TriangleMesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@pytest.fixture(scope="module")
def shapes(tmp_path_factory) -> dict[str, thud.shapes.Shape]:
    """One shape of each family, all of them about the origin."""
    x, y = np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-1, 1, 9), indexing="ij")
    surface = thud.terrain.from_heights(0.1 * np.sin(3 * x) * np.cos(2 * y), spacing=0.25).surface
    shifted = np.asarray(surface.positions) - [1.0, 1.0, 0.0]
    surface = replace(surface, positions=shifted, materials=None, details=None)
    box, mesh = thud.Box([0.4, 0.3, 0.2]), _tetrahedron()
    two = thud.Pose([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    return {
        "convex": box,
        "parts": thud.Compound([box, thud.Sphere(0.3)], two),
        "mesh": mesh,
        "field": thud.HeightField(0.1 * np.sin(3 * x) * np.cos(2 * y), 0.25, (-1.0, -1.0, 0.0), thickness=0.5),
        "surface": surface,
        "terrain": height_tiles(tmp_path_factory.mktemp("table") / "terrain", 0.1 * np.sin(3 * x) * np.cos(2 * y)),
        "mixed": thud.Compound([mesh, thud.Cone(0.3, 0.4)], two),
    }


def test_the_sample_shapes_are_of_all_families(shapes):
    """And say so themselves."""
    assert {name: shape.family for name, shape in shapes.items()} == {family: family for family in FAMILIES}


def test_all_entries_exist():
    """Each text names a function."""
    for entries in (*PAIRS.values(), *SHAPES.values()):
        for entry in entries.values():
            assert callable(resolve(entry.function)), entry


def test_queries_of_the_table_are_known():
    """No row set has a query that nobody asks."""
    assert all(set(entries) <= set(PAIR_QUERIES) for entries in PAIRS.values())
    assert all(set(entries) <= set(SHAPE_QUERIES) for entries in SHAPES.values())


def test_the_page_is_made_from_the_table():
    """`python -m tools.what_meets_what` has been run."""
    assert PAGE.read_text() == page()


def _falls(a, b, motion):
    """B falls onto A, or A onto ground."""
    if b.is_ground:
        return thud.cast(a, b, thud.Pose([0.0, 0.0, 3.0]), None, motion)
    return thud.cast(a, b, None, thud.Pose([0.0, 0.0, 3.0]), motion_b=motion)


PAIR_CALLS = {
    "intersects": lambda a, b: thud.intersects(a, b),
    "distance": lambda a, b: thud.distance(a, b, None, thud.Pose([0.0, 0.0, 4.0])),
    "signed_distance": lambda a, b: thud.distance(a, b, signed=True),
    "contacts": lambda a, b: thud.contacts(a, b),
    "overlap_patches": lambda a, b: thud.overlap_patches(a, b),
    "cast": lambda a, b: _falls(a, b, [0.0, 0.0, -4.0]),
    "turning_cast": lambda a, b: _falls(a, b, [0.0, 0.0, -4.0, 0.1, 0.2, 0.3]),
    "triangle_pairs": lambda a, b: thud.triangle_pairs(a, b),
}


@pytest.mark.parametrize("query", PAIR_QUERIES)
@pytest.mark.parametrize("a", FAMILIES)
@pytest.mark.parametrize("b", FAMILIES)
def test_every_cell_of_a_pair(shapes, query, a, b):
    """A cell that promises an answer has one that is right in kind; one that does not says why."""
    plan = pair_plan(query, a, b)
    if plan.way == UNSUPPORTED:
        with pytest.raises(UnsupportedQueryError) as error:
            PAIR_CALLS[query](shapes[a], shapes[b])
        assert plan.reason in str(error.value)
        return
    found = PAIR_CALLS[query](shapes[a], shapes[b])
    if query == "intersects":
        assert found.tolist() == [True]
    elif query == "distance":
        assert 1.0 < found.distance[0] < 4.0
        np.testing.assert_allclose(found.normal[0, 2], 1.0, atol=0.6)
    elif query == "signed_distance":
        assert found.distance[0] <= 0.0
        assert found.status[0] == thud.Status.OVERLAPPING
    elif query in ("contacts", "overlap_patches"):
        assert found.status.tolist() == [thud.Status.OVERLAPPING]
        assert len(found.row) > 0
    elif query in ("cast", "turning_cast"):
        assert found.status.tolist() == [thud.CastStatus.HIT]
        assert 0.2 < found.time[0] < 0.9
        assert (found.normal[0, 2] > 0.0) == (b not in ("surface", "terrain"))
    else:
        assert len(found.row) > 0


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("query", ["raycast", "raycast_all", "contains", "closest_point"])
def test_every_cell_of_one_shape(shapes, query, family):
    """Each shape answers each of them."""
    assert shape_plan(query, family).way != UNSUPPORTED
    shape = shapes[family]
    down = ([[0.05, 0.05, 5.0]], [[0.0, 0.0, -2.0]])
    if query == "raycast":
        assert 3.0 < thud.raycast(shape, *down).distance[0] < 6.0
    elif query == "raycast_all":
        crossings = thud.raycast_all(shape, *down)
        assert len(crossings.row) >= (1 if family == "surface" else 2)
        assert (np.diff(crossings.distance) >= 0.0).all()
    elif query == "contains":
        assert thud.contains(shape, [[0.05, 0.05, -0.1], [0.0, 0.0, 9.0]]).tolist() == [True, False]
    else:
        assert thud.closest_point(shape, [[0.0, 0.0, 9.0]]).distance[0] > 8.0


def test_swapped_pairs_are_the_same_pair(shapes):
    """Asked the other way round, the answer is turned."""
    away = thud.Pose([0.1, 0.2, 2.5])
    for a in FAMILIES:
        for b in FAMILIES:
            if pair_plan("distance", a, b).way != SWAPPED:
                continue
            one = thud.distance(shapes[a], shapes[b], None, away)
            two = thud.distance(shapes[b], shapes[a], away, None)
            np.testing.assert_array_equal(one.distance, two.distance)
            np.testing.assert_array_equal(one.normal, 0.0 - two.normal)
            np.testing.assert_array_equal(one.point_a, two.point_b)


# Options -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["nonsense", 3, object()])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_cache_is_a_pair_cache(shapes, family, cache):
    """Whatever the shapes: a thing that is no cache is an error."""
    with pytest.raises(InvalidInputError, match=r"cache: expected a thud\.PairCache"):
        thud.distance(shapes["convex"], shapes[family], cache=cache)


@pytest.mark.parametrize("family", ["mesh", "field", "surface", "terrain", "mixed"])
def test_axes_that_nobody_reads_are_an_error(shapes, family):
    """And wrong ones are one for everybody."""
    for wrong in ([[np.nan, 0.0, 0.0]], [[1.0, 0.0, 0.0]] * 3):
        with pytest.raises(InvalidInputError, match="axes"):
            thud.distance(shapes["mesh"], shapes[family], axes=wrong)
    with pytest.raises(UnsupportedQueryError, match="axes is of no use to"):
        thud.distance(shapes["mesh"], shapes[family], axes=[[1.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: thud.intersects(s["convex"], s["convex"], cache=thud.PairCache()), "cache is of no use"),
        (lambda s: thud.intersects(s["mesh"], s["mesh"], method="v_clip"), "method 'v_clip' is of no use"),
        (lambda s: thud.intersects(s["mesh"], s["mesh"], method="bsp"), "method 'bsp' does not exist"),
        (lambda s: thud.distance(s["convex"], s["convex"], method="chung_wang"), "method 'chung_wang' does not exist"),
        (lambda s: thud.distance(s["mesh"], s["mesh"], signed=True, cache=thud.PairCache()), "cache is of no use"),
        (lambda s: thud.distance(s["surface"], s["convex"], cache=thud.PairCache()), "cache is of no use"),
        (lambda s: thud.contains(s["convex"], [[0, 0, 0]], method="winding"), "method 'winding' is of no use"),
        (lambda s: thud.contains(s["surface"], [[0, 0, 0]], method="ray"), "method 'ray' is of no use"),
        (lambda s: thud.contains(s["field"], [[0, 0, 0]], method="ray"), "method 'ray' is of no use"),
        (lambda s: thud.contains(s["terrain"], [[0, 0, 0]], method="ray"), "method 'ray' is of no use"),
        (lambda s: thud.distance(s["terrain"], s["mesh"], cache=thud.PairCache()), "cache is of no use"),
        (lambda s: thud.distance(s["field"], s["mesh"], cache=thud.PairCache()), "cache is of no use"),
        (lambda s: thud.contains(s["mesh"], [[0, 0, 0]], method="guess"), "method 'guess' does not exist"),
        (
            lambda s: thud.distance_pairs([s["convex"], s["mesh"]], [[0, 0], [0, 1]], TWO, axes=[[0, 0, 1]]),
            "axes is of no use to pairs row 1",
        ),
    ],
)  # fmt: skip
def test_an_option_of_no_use_is_an_error(shapes, call, text):
    """With a name, for every family."""
    with pytest.raises(UnsupportedQueryError, match=text):
        call(shapes)


def test_tables_of_pairs_are_the_single_calls(shapes):
    """Rows of all families at once, signed too."""
    several = [shapes["convex"], shapes["parts"], shapes["mesh"], shapes["mixed"], shapes["surface"], shapes["field"]]
    pairs = [[a, b] for a in range(6) for b in range(6) if not (a == 4 and b >= 4) and not (a == 5 and b == 4)]
    rng = np.random.default_rng(2)
    turns = rng.normal(size=(6, 4))
    poses = thud.Pose(rng.uniform(-0.5, 0.5, (6, 3)), turns / np.linalg.norm(turns, axis=1)[:, None])
    hits, points = thud.intersects_pairs(several, pairs, poses), thud.contacts_pairs(several, pairs, poses)
    gaps = {signed: thud.distance_pairs(several, pairs, poses, signed=signed) for signed in (False, True)}
    for row, (a, b) in enumerate(pairs):
        at = poses[a : a + 1], poses[b : b + 1]
        assert hits[row] == thud.intersects(several[a], several[b], *at)[0]
        for signed, found in gaps.items():
            alone = thud.distance(several[a], several[b], *at, signed=signed)
            assert found.distance[row] == pytest.approx(alone.distance[0], abs=1e-12)
            assert found.status[row] == alone.status[0]
        alone = thud.contacts(several[a], several[b], *at)
        own = points.row == row
        np.testing.assert_allclose(points.depth[own], alone.depth, atol=1e-12)
        assert points.status[row] == alone.status[0]


# The house ---------------------------------------------------------------------------------------------------------------

SHAPE_CLASSES = {
    "Sphere", "Box", "Capsule", "Cylinder", "Cone", "Ellipsoid", "HalfSpace", "ConvexHull", "Compound", "TriangleMesh",
    "DisplacedSurface", "HeightField", "Terrain",
}  # fmt: skip


def _tests_of_classes(path: Path) -> list[str]:
    """Lines where a shape's class decides."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
            names = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            if names & SHAPE_CLASSES:
                found.append(f"{path.name}:{node.lineno}")
        if isinstance(node, ast.Compare):
            texts = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)}
            if texts & SHAPE_CLASSES:
                found.append(f"{path.name}:{node.lineno}")
    return found


def test_shape_classes_decide_nothing_outside_of_shapes():
    """Families do: in the queries, the world, particles and the Python side of the kernels."""
    folders = ("pairing", "convex", "mesh", "heightfield", "continuous", "world", "particles", "broadphase")
    files = [SOURCE / "queries.py", *(path for folder in folders for path in sorted((SOURCE / folder).rglob("*.py")))]
    files += [path for path in sorted((SOURCE / "terrain").rglob("*.py")) if path.stem.startswith(("surface_", "query_"))]
    assert [line for path in files for line in _tests_of_classes(path)] == []


def test_the_check_sees_such_lines(tmp_path):
    """It can fail."""
    sample = tmp_path / "sample.py"
    sample.write_text("def f(x):\n    return isinstance(x, (int, Box)) or type(x).__name__ == 'Compound'\n")
    assert _tests_of_classes(sample) == ["sample.py:2", "sample.py:2"]


def test_the_table_imports_nothing():
    """Naming a function is not importing it."""
    text = (SOURCE / "pairing" / "table.py").read_text()
    modules = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "collections.abc", "typing", "thud.pairing.families"}
    assert set(NAMES) == set(FAMILIES)
