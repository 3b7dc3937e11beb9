"""Surfaces made in tiles are, node by node and bit for bit, the surface made at once."""

from __future__ import annotations

import numpy as np
import pytest

from thud.errors import InvalidInputError, NoSurfaceError
from thud.terrain import GridField, from_field, from_heights

#: Tiles a side, patches a side of a quad.
TILES, SAMPLES = 8, 4


def nodes_of(surface):
    """(position, direction, length, point) of each quad's nodes as bytes, by the bytes of its first point and its side."""
    found = {}
    for row in range(len(surface.quads)):
        one = surface.samples(row)
        found[one.position.tobytes()] = (one.direction.tobytes(), one.length.tobytes(), one.point.tobytes())
    return found


def check_tiles(whole, tiles):
    """Each quad of the whole is in exactly one tile, with the same bits; so are planes and bounding maps."""
    wanted, found = nodes_of(whole), {}
    for tile in tiles:
        own = nodes_of(tile)
        assert not found.keys() & own.keys()
        found |= own
    assert found == wanted
    planes = {row.tobytes() for row in whole.bounding_planes}
    assert {row.tobytes() for tile in tiles for row in tile.bounding_planes} == planes


def hills(shape):
    rng = np.random.default_rng(8)
    y, x = np.mgrid[: shape[0], : shape[1]]
    return 900.0 + 7.0 * np.sin(0.11 * x) * np.cos(0.07 * y) + rng.normal(size=shape) * 0.4


@pytest.mark.parametrize("spacing", [1.0, 0.1, (3.0, 0.7)])
def test_heights_in_tiles_are_the_heights_at_once(spacing):
    # The unit of lengths and the grid of base heights came from the largest height of each tile: nodes differed by 3e-12 m,
    # base planes by 1e-4 m.
    size = 2 * SAMPLES
    heights = hills((TILES * size + 4, TILES * size + 1))
    # From high above to sea level, gently.
    heights = np.min(spacing) * (heights - 890.0) + 900.0 * np.exp(-0.001 * np.arange(heights.shape[1]))
    whole = from_heights(heights, spacing, samples=SAMPLES).surface
    tiles = []
    for i, j in np.ndindex(TILES, TILES):
        # What is left over at the far border goes to the last tile.
        rows = slice(i * size, (i + 1) * size + 1 if i < TILES - 1 else None)
        columns = slice(j * size, (j + 1) * size + 1)
        tiles.append(from_heights(heights[rows, columns], spacing, samples=SAMPLES, first=(j * size, i * size)).surface)
    check_tiles(whole, tiles)
    maps = whole.bounding_maps()
    first, last = tiles[0].bounding_maps(), tiles[-1].bounding_maps()
    assert first.upper(0, 4).tobytes() == maps.upper(0, 4).tobytes()
    row = int(np.flatnonzero((whole.quads[:, :2] == np.array(size * (TILES - 1))).all(axis=1))[0])
    assert last.lower(0, 2).tobytes() == maps.lower(row, 2).tobytes()


@pytest.mark.parametrize("samples", [4, 16])
def test_a_sample_does_not_depend_on_the_quads_around_it(samples):
    # Holes and cliffs beside a border make quads smaller on one side of it only, and with them their base.
    heights = np.ma.array(hills((33, 65)), mask=False)
    heights[:, 40:] += 700.0
    heights.mask[16, 36] = True
    whole = from_heights(np.ma.getdata(heights), 0.3, samples=16).surface.to_mesh().vertices
    wanted = {tuple(v) for v in whole.tolist()}
    left = from_heights(heights[:, :33], 0.3, samples=16).surface.to_mesh().vertices
    right = from_heights(heights[:, 32:], 0.3, samples=samples, first=(32, 0)).surface.to_mesh().vertices
    assert len(left) == 33 * 33
    assert len(right) == 33 * 33 - 1
    assert {tuple(v) for v in left.tolist()} | {tuple(v) for v in right.tolist()} <= wanted
    assert np.count_nonzero(left[:, 0] == right[:, 0].min()) == 33


def test_tiles_may_lie_far_out():
    heights = hills((9, 9))
    far = 2**40
    one = from_heights(heights, 0.5, samples=8, first=(far, -far)).surface
    np.testing.assert_array_equal(one.samples(0).point[..., 0], np.tile((far + np.arange(9)) * 0.5, (9, 1)))


# --- fields -------------------------------------------------------------------------------------------------------------------


def cave(points):
    """Hills with a tunnel. Arithmetic alone: a point has the same bits in whatever company it is asked."""
    x, y, z = points.T
    hill = 6.0 / (1.0 + 0.02 * ((x - 9.0) ** 2 + (y - 11.0) ** 2)) + 4.0 / (1.0 + 0.05 * ((x - 30.0) ** 2 + (y - 27.0) ** 2))
    return np.maximum(0.8 * (z - hill - 1.0), 2.0 - np.sqrt((y - 11.0) ** 2 + (z - 2.0) ** 2))


#: Noise on a grid, with folds at which vertices have to give way.
ROUGH = GridField(np.arange(8.0) - 3.0 + 0.7 * np.random.default_rng(1).normal(size=(49, 49, 8)), [-0.5, -0.5, -0.5], 1.0)


@pytest.mark.parametrize(
    ("field", "smoothing", "quadrilaterals", "many"),
    [(cave, 2, False, TILES), (cave, 0, True, 5), (ROUGH, 1, False, 4)],
    ids=["cave", "raw", "rough"],
)
def test_a_field_in_tiles_is_the_field_at_once(field, smoothing, quadrilaterals, many):
    # Tiles ended a cell before their border, and smoothing at their border was another one.
    options = {"samples": 2, "smoothing": smoothing, "quadrilaterals": quadrilaterals, "thickness": 2.0}
    lower, upper, cell = [-0.3, -0.2, -0.1], [45.3, 45.2, 6.1], 1.1
    arguments = (field, lower, upper, cell)
    whole = from_field(*arguments, **options).surface
    count = np.ceil((np.array(upper) - lower) / cell - 1e-9).astype(int)
    at = [np.linspace(0, n, many + 1).astype(int) for n in count[:2]]
    tiles = []
    for i, j in np.ndindex(many, many):
        # Some are cut along the vertical, too.
        middle = 2 if i == j else count[2]
        for low, high in ((0, middle), (middle, count[2])):
            part = [(at[0][i], at[1][j], low), (at[0][i + 1], at[1][j + 1], high)]
            try:
                tiles += [from_field(*arguments, **options, cells=part).surface] if low < high else []
            except NoSurfaceError:
                continue
    assert len(tiles) > many * many
    check_tiles(whole, tiles)


def test_parts_of_a_field_that_are_refused():
    given = {"field": cave, "lower": [0.0] * 3, "upper": [27.0, 27.0, 10.0], "cell": 1.0, "samples": 2}
    for cells in (
        [0, 0, 0],
        [[0, 0, 0], [0, 4, 4]],
        [[-1, 0, 0], [4, 4, 4]],
        [[0, 0, 0], [4, 4, 11]],
        [[0.5, 0, 0], [4, 4, 4]],
    ):
        with pytest.raises(InvalidInputError, match="cells: "):
            from_field(**given, cells=cells)
    with pytest.raises(InvalidInputError, match="optimise_directions: it looks at the whole surface"):
        from_field(**given, cells=[[0, 0, 0], [4, 4, 4]], optimise_directions=True)
    with pytest.raises(NoSurfaceError, match="all ground or all air"):
        from_field(**given, cells=[[0, 0, 9], [4, 4, 10]])
