"""Dose maps: areas of pixels are those of the surface, doses times areas the sums of impacts; PNG and GLB."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thud
from tests.particles.test_parameters import box_mesh, wavy_mesh
from thud import particles
from thud.errors import InvalidInputError
from thud.particles import Blobs, Disc, ImplicitPatches, Mesh, ParticleSystem, Polygon, Quadric, Rectangle, Solid, dose_map
from thud.particles.maps.parameters import map_charts
from thud.particles.maps.pixel_areas import pixel_areas

WAVY = wavy_mesh()
CORNERS = np.asarray(WAVY.vertices)[np.asarray(WAVY.faces)]
WAVY_AREA = 0.5 * np.linalg.norm(np.cross(CORNERS[:, 1] - CORNERS[:, 0], CORNERS[:, 2] - CORNERS[:, 0]), axis=1).sum()
SLANT = np.sqrt(1.0 + 0.5**2)

#: Collider, its area in closed form, and how exact that of the pixels is.
CASES: dict[str, tuple[Any, float, float]] = {
    "rectangle": (Rectangle([0, 0, 0], [2, 0, 0.5], [0, 1, 0]), np.sqrt(4.25), 1e-12),
    "disc": (Disc([0, 0, 0], [0, 1, 1], 1.5), np.pi * 2.25, 1e-3),
    "polygon": (
        Polygon([[0, 0, 1], [4, 0, 1], [4, 1, 1], [1, 1, 1], [1, 3, 1], [0, 3, 1]],
            [[[0.2, 0.2, 1], [0.8, 0.2, 1], [0.8, 0.7, 1]]]),
        6.0 - 0.15, 1e-3,
    ),
    "sphere": (Quadric.ellipsoid([1, 2, 3], 1.5), 4.0 * np.pi * 2.25, 1e-12),
    "spheroid": (Quadric.ellipsoid([0, 0, 0], [1, 1, 2]), 2 * np.pi * (1 + 2 / np.sqrt(0.75) * np.arcsin(np.sqrt(0.75))), 1e-9),
    "cap": (Quadric.ellipsoid([0, 0, 0], 1.0, clip=[[0.6, 0.0, 0.8, 0.5]]), 2.0 * np.pi * 1.5, 2e-3),
    "cylinder": (Quadric.cylinder([0, 0, 0], 0.5, 1.0), 2.0 * np.pi, 1e-12),
    "cone": (Quadric.cone([0, 0, 1], 0.5, 2.0), np.pi * 1.0 * 2.0 * SLANT, 1e-9),
    "paraboloid": (Quadric.paraboloid([0, 0, 0], 1.0, 1.0), np.pi / 6.0 * (5.0**1.5 - 1.0), 2e-3),
    "box": (Solid(thud.Box([1, 2, 3])), 88.0, 1e-12),
    "capsule": (Solid(thud.Capsule(0.5, 1.0)), 2.0 * np.pi + np.pi, 1e-9),
    "mesh": (Mesh(WAVY, thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])), WAVY_AREA, 1e-12),
    "box mesh": (Mesh(box_mesh([1, 2, 3])), 88.0, 1e-12),
    "patches": (
        ImplicitPatches.from_field(lambda p: (p**2).sum(axis=1) - 1.0, [-1.2] * 3, [1.2] * 3, 1.2), 4.0 * np.pi, 1e-2
    ),
    "blob": (Blobs([[0, 0, 0]], 1.0, 1.0, 0.5), 4.0 * np.pi * (1.0 - 0.5 ** (1 / 3)), 5e-3),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_pixels_have_the_area_of_the_surface(name: str) -> None:
    collider, area, exact = CASES[name]
    chart = map_charts(particles.ColliderSet([collider]), 10.0).charts[0]
    for p, q in ((48, 36), (37, 41)):
        if name == "blob" and p == 37:
            continue
        found = pixel_areas(chart, p, q)
        assert found.shape == (q, p)
        assert (found >= 0.0).all()
        np.testing.assert_allclose(found.sum(), area, rtol=exact)


@pytest.mark.parametrize("name", CASES)
def test_doses_times_areas_are_the_sums_of_impacts(name: str) -> None:
    collider = CASES[name][0]
    rng = np.random.default_rng(1)
    aim = particles.surface_points([collider], 0, rng.uniform(0.01, 0.99, (600, 2)))
    aim = aim[np.isfinite(aim).all(axis=1)]
    start = rng.normal(size=aim.shape) * 6.0
    system = ParticleSystem(start, aim - start, mass=rng.uniform(0.1, 2.0, len(aim)), lifetime=2.0, generations=1)
    impacts = system.impacts([collider], 0.0, 2.0)
    assert len(impacts) > 100
    made = dose_map(system, [collider], 0.0, 2.0, resolution=(31, 23))
    assert made.outside == 0
    for dose, total in (
        (made.number, len(impacts)), (made.energy, impacts.energy.sum()), (made.normal_momentum, impacts.normal_momentum.sum()),
        (made.momentum, np.linalg.norm(impacts.momentum, axis=1).sum()),
    ):  # fmt: skip
        assert dose.shape == (1, 23, 31)
        assert not dose[made.area == 0.0].any()
        np.testing.assert_allclose((dose * made.area).sum(), total, rtol=1e-9)


def test_a_dose_is_what_falls_on_a_square_metre() -> None:
    plate = Rectangle([0, 0, 0], [2, 0, 0], [0, 1, 0])
    x, y = np.meshgrid((np.arange(20) + 0.5) / 10, (np.arange(10) + 0.5) / 10)
    system = ParticleSystem(np.column_stack([x.ravel(), y.ravel(), np.ones(200)]), [3, 0, -4.0], mass=0.5, generations=1)
    made = dose_map(system, [Rectangle([-1, -1, 0], [8, 0, 0], [0, 4, 0]), plate], 0.0, 5.0, resolution=(8, 4))
    assert made.number.sum() * 1.0 == 200
    np.testing.assert_allclose(made.energy, made.number * 0.5 * 0.5 * 25.0)
    np.testing.assert_allclose(made.momentum, made.number * 0.5 * 5.0)
    np.testing.assert_allclose(made.normal_momentum, made.number * 0.5 * 4.0)


def scene() -> tuple[ParticleSystem, list[Any]]:
    rng = np.random.default_rng(2)
    start = np.column_stack([rng.uniform(-1, 3, 500), rng.uniform(-1, 1, 500), np.full(500, 4.0)])
    mesh = Mesh(box_mesh([0.5, 0.6, 0.7]), thud.Pose([2, 0, 0], [1, 0, 0, 0]))
    return ParticleSystem(start, [0, 0, -4.0], mass=0.01), [Quadric.ellipsoid([0, 0, 0], 0.8), mesh]


def test_png_files(tmp_path: Path) -> None:
    system, colliders = scene()
    made = dose_map(system, colliders, 0.0, 1.5, resolution=(32, 16))
    made.to_png(tmp_path / "dose.png", 1, "number")
    data = (tmp_path / "dose.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    size = int.from_bytes(data[33:37])
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(16, 1 + 4 * 32)[:, 1:]
    pixels = np.cumsum(rows, axis=0, dtype=np.uint8).reshape(16, 32, 4)[::-1]
    np.testing.assert_array_equal(pixels, made.image(1, "number"))
    np.testing.assert_array_equal(pixels[..., 3] == 0, made.area[1] == 0.0)
    brightest = np.unravel_index(np.argmax(made.number[1]), (16, 32))
    assert pixels[brightest][:3].sum() == pixels[..., :3].sum(axis=2).max()
    with pytest.raises(InvalidInputError, match="quantity"):
        made.to_png(tmp_path / "x.png", 0, "heat")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="collider"):
        made.to_png(tmp_path / "x.png", 2)
    with pytest.raises(FileNotFoundError, match="no folder"):
        made.to_png(tmp_path / "none" / "x.png")


def test_glb_files_have_no_seams(tmp_path: Path) -> None:
    # Squares across the border of a tile were left out: a tenth of a ball of patches was missing.
    trimesh = pytest.importorskip("trimesh")

    def ball(points: np.ndarray) -> np.ndarray:
        return np.asarray((points**2).sum(axis=1) - 0.25)

    patches = ImplicitPatches.from_field(ball, [-0.6] * 3, [0.6] * 3, 0.6)
    for collider, area in ((patches, np.pi), (Blobs([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]], [1.0, 1.0]), None)):
        dose_map(ParticleSystem([0, 0, 3.0], [0, 0, -1.0]), [collider], 0.0, 1.0, resolution=64).to_glb(
            tmp_path / "dose.glb", "number"
        )
        (drawn,) = trimesh.load(tmp_path / "dose.glb").geometry.values()
        whole = collider.to_mesh(128)
        area = trimesh.Trimesh(whole.vertices, whole.faces).area if area is None else area
        assert drawn.area == pytest.approx(area, rel=0.01)


@pytest.mark.parametrize("pixels", [1, 2, 4])
@pytest.mark.parametrize("cell", [0.3, 0.15])
def test_areas_of_patches_are_right_with_few_pixels_a_tile(cell: float, pixels: int) -> None:
    # Places were a grid, and sides of tetrahedra, diagonals of their tiles, ran through its points: a tenth too much.
    middle = np.array([0.013, 0.027, 0.041])
    ball = ImplicitPatches.from_field(lambda p: np.linalg.norm(p - middle, axis=1) - 0.5, [-0.61] * 3, [0.6] * 3, cell)
    side = pixels * int(np.ceil(np.sqrt(len(ball._active))))
    dose = dose_map(ParticleSystem([0, 0, 3.0], [0, 0, -1.0], mass=1.0), [ball], 0.0, 5.0, resolution=(side, side))
    assert dose.area.sum() == pytest.approx(np.pi, rel=0.02)


def test_glb_files_have_the_map_as_texture(tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("PIL")
    system, colliders = scene()
    made = dose_map(system, colliders, 0.0, 1.5, resolution=64)
    made.to_glb(tmp_path / "dose.glb", "number")
    loaded = trimesh.load(tmp_path / "dose.glb")
    assert len(loaded.geometry) == 2
    box = next(g for name, g in loaded.geometry.items() if name.startswith("1"))
    assert len(box.faces) == 12
    np.testing.assert_allclose(box.area, 4 * 2 * (0.5 * 0.6 + 0.5 * 0.7 + 0.6 * 0.7), rtol=1e-6)
    image = np.asarray(box.visual.material.baseColorTexture.convert("RGBA"))
    np.testing.assert_array_equal(image, made.image(1, "number"))
    # The texture at each impact's own place on the mesh is its pixel's colour; trimesh counts v from the bottom.
    impacts = system.impacts(colliders, 0.0, 1.5)
    mine = impacts.collider == 1
    uv = particles.impact_coordinates(impacts, colliders)[mine]
    local = impacts.point[mine]
    part = impacts.part[mine]
    corners = box.vertices[box.faces][part]
    edges = corners[:, 1:] - corners[:, :1]
    for k in range(0, len(local), 7):
        b = np.linalg.lstsq(edges[k].T, local[k] - corners[k, 0], rcond=None)[0]
        flat = np.asarray(box.visual.uv)[box.faces[part[k]]]
        at = flat[0] + b @ (flat[1:] - flat[0])
        np.testing.assert_allclose([at[0], 1.0 - at[1]], uv[k], atol=1e-5)


def test_errors_name_the_argument() -> None:
    system, colliders = scene()
    for arguments, name in (((1.0, 1.0), "t1"), ((0.0, [1.0]), "t1")):
        with pytest.raises(InvalidInputError, match=name):
            dose_map(system, colliders, *arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="resolution"):
        dose_map(system, colliders, 0.0, 1.0, resolution=0)
    with pytest.raises(InvalidInputError, match="extent"):
        dose_map(system, colliders, 0.0, 1.0, extent=-1.0)


def test_files_are_named_as_what_they_hold(tmp_path: Path) -> None:
    # A file named .jpg held a PNG.
    system = ParticleSystem([0.5, 0.5, 1], [0, 0, -1], mass=1.0)
    doses = dose_map(system, [Rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0])], 0.0, 2.0)
    assert "\n" not in repr(doses)
    with pytest.raises(InvalidInputError, match=r"path: expected a name that ends in \.png, got 'x\.jpg'"):
        doses.to_png(tmp_path / "x.jpg")
    with pytest.raises(InvalidInputError, match=r"path: expected a name that ends in \.glb"):
        doses.to_glb(tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_a_mass_there_is_a_number_alone(tmp_path: Path) -> None:
    system = ParticleSystem([[0.1, 0.2, 1.0]] * 3, [0, 0, -1.0])
    found = dose_map(system, [Rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0])], 0.0, 5.0, resolution=4)
    assert np.nansum(found.number * found.area) == 3
    assert found.image(0, "number").shape == (4, 4, 4)
    with pytest.raises(InvalidInputError, match="mass"):
        found.to_png(tmp_path / "dose.png")
