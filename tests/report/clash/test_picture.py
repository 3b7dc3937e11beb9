"""Pictures: what is where, and files that others read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from tests.report.clash.planted import planted, two
from thud._core.png import png_bytes
from thud.errors import InvalidInputError
from thud.report import check, clash_pictures
from thud.report.clash.candidates import place
from thud.report.clash.view import clash_view
from thud.report.decimate import decimated

BOX = thud.Box([0.5, 0.5, 0.5]).to_mesh()


def shares(pixels: np.ndarray) -> tuple[float, float, float]:
    """How much of a picture is blue, orange and red."""
    r, g, b = (pixels[..., k].astype(int) for k in range(3))
    blue, orange = (b > r + 60) & (b > g + 30), (r > b + 60) & (g > b + 30) & (r > g)
    red = (r > 150) & (g < 60) & (b < 90)
    return float(blue.mean()), float(orange.mean()), float(red.mean())


def test_both_parts_and_where_they_meet_are_in_the_picture(tmp_path: Path) -> None:
    report = check(two(BOX, BOX, [0.9, 0.1, 0.2]))
    pixels = thud.picture(report, report.clashes[0], file=tmp_path / "p.png", width=160, height=120)
    assert pixels.shape == (120, 160, 3)
    blue, orange, red = shares(pixels)
    assert blue > 0.05
    assert orange > 0.05
    assert red > 0.001
    from matplotlib.image import imread

    np.testing.assert_allclose(imread(tmp_path / "p.png")[..., :3] * 255, pixels, atol=0.01)
    np.testing.assert_array_equal(thud.picture(report, report.clashes[0].id[:8], width=160, height=120), pixels)
    # All of the scene: what clashes is orange.
    assert shares(thud.picture(report, width=160, height=120))[1] > 0.05
    assert shares(thud.picture(report.scene, width=160, height=120))[:2] == (0.0, 0.0)


def test_what_is_inside_is_seen_and_the_rest_is_glass() -> None:
    small = thud.Sphere(0.2).to_mesh()
    scene = thud.io.Scene.from_parts(
        ["inner", "outer", "rest"], [small, BOX, BOX], thud.Pose([[0, 0, 0], [0, 0, 0], [0.9, 3, 0]])
    )
    report = check(scene)
    (clash,) = report
    with_it = thud.picture(report, clash, width=160, height=120)
    without = thud.picture(check(two(BOX, thud.Sphere(0.02).to_mesh())), None, width=160, height=120)
    assert with_it.shape == without.shape
    middle = with_it[50:70, 70:90].reshape(-1, 3).mean(axis=0)
    edge = with_it[60, 30:40].reshape(-1, 3).mean(axis=0)
    assert np.abs(middle - edge).max() > 12


def test_a_part_that_reaches_behind_the_eye_is_cut_not_lost() -> None:
    # A floor a hundred times as wide as what stands in it: its corners are all behind or far beside the eye.
    floor, pin = thud.Box([50.0, 50.0, 0.1]).to_mesh(), thud.Cylinder(0.05, 0.3).to_mesh()
    report = check(two(floor, pin, [10.0, 3.0, 0.1]))
    blue, orange, _ = shares(thud.picture(report, report.clashes[0], width=160, height=120))
    assert blue > 0.2
    assert orange > 0.005


def test_pictures_of_all_in_any_number_of_threads() -> None:
    report = check(planted(60).scene)
    one, two_ = (clash_pictures(report, most=5, width=40, height=30, threads=threads) for threads in (1, 2))
    assert list(one) == [clash.id for clash in report][:5]
    assert one == two_


def test_the_view_is_level_and_beside_the_normal() -> None:
    report = check(planted(60).scene)
    at = place(report.scene)
    for clash in report:
        view = clash_view(clash, at.lower, at.upper)
        assert abs(view.direction @ clash.normal) < 0.8
        assert view.up[2] > 0.0
        assert np.linalg.norm(view.up) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": 10_000}, {"clash": "zz"}])
def test_wrong_arguments_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        thud.picture(check(two(BOX, BOX, [0.9, 0, 0])), **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="report"):
        thud.picture(BOX)  # type: ignore[arg-type]


def test_fewer_triangles_look_alike() -> None:
    mesh = thud.Sphere(1.0).to_mesh(64)
    vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    for most in (50, 500, 2000):
        some, rows = decimated(vertices, faces, most)
        assert 0.3 * most < len(rows) <= most
        assert rows.max() < len(some)
        assert np.linalg.norm(some, axis=1).min() > 0.6
        assert np.linalg.norm(some, axis=1).max() <= 1.0 + 1e-12
    same, rows = decimated(vertices, faces, len(faces))
    np.testing.assert_array_equal(same[rows], vertices[faces])
    # Slivers all in one cell leave something.
    line = np.array([[k, 1e-9 * (k % 2), 0.0] for k in np.linspace(0, 1, 101)])
    thin = np.stack([np.arange(99), np.arange(1, 100), np.arange(2, 101)], axis=1)
    assert 0 < len(decimated(line, thin, 5)[1]) <= 5


def test_png_of_one_pixel() -> None:
    assert png_bytes(np.zeros((1, 1, 3), dtype=np.uint8)).startswith(b"\x89PNG")
