"""Elevation models: pixels in the right place, units, holes, mosaics, projections; and files that are refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rasterio")
pytest.importorskip("lmdb")

import rasterio
from rasterio.transform import Affine, from_origin

import thud
from tests.io.rasters import bilinear, sample_file, write
from thud.errors import FileFormatError, InvalidInputError
from thud.io import read_elevation
from thud.terrain import build

UTM = "EPSG:32616"


def ramp(rows=40, columns=50):
    """Height = 3 east + 5 north, in pixels from the lower left one's middle."""
    row, column = np.mgrid[:rows, :columns]
    return (3.0 * column + 5.0 * (rows - 1 - row)).astype(np.float32)


def test_pixels_are_areas(tmp_path):
    file = write(tmp_path / "a.tif", ramp(), from_origin(500_000.0, 4_000_000.0, 10.0, 10.0), UTM)
    with read_elevation(file) as model:
        assert model.shape == (40, 50)
        assert model.spacing == (10.0, 10.0)
        assert not model.projected
        # The middle of the lower left pixel: half a pixel in.
        assert model.origin == (500_005.0, 4_000_000.0 - 395.0, 0.0)
        assert model.crs == UTM
        part = model.read((2, 5), (7, 9))
        np.testing.assert_array_equal(part, [[3 * x + 5 * y for x in (7, 8)] for y in (2, 3, 4)])
        assert model.height(70.0, 20.0) == 31.0
        assert model.height(75.0, 25.0) == 31.0 + 1.5 + 2.5
        assert np.isnan(model.height(-1.0, 0.0))


@pytest.mark.parametrize(
    ("file", "given", "factor", "shift"),
    [
        ({}, {}, 1.0, 0.0),
        ({"scale": 0.1, "offset": -100.0}, {}, 0.1, -100.0),
        ({"unit": "ft"}, {}, 0.3048, 0.0),
        ({"unit": "US survey foot"}, {}, 1200.0 / 3937.0, 0.0),
        ({"unit": "ft"}, {"vertical_unit": "cm"}, 0.01, 0.0),
        ({"unit": "ft", "scale": 2.0, "offset": 1.0}, {}, 2.0 * 0.3048, 0.3048),
    ],
)
def test_vertical_units_scale_and_offset(tmp_path, file, given, factor, shift):
    path = write(tmp_path / "a.tif", ramp(), from_origin(0.0, 400.0, 10.0, 10.0), UTM, **file)
    with read_elevation(path, **given) as model:
        np.testing.assert_allclose(model.read((0, 40), (0, 50)), factor * ramp()[::-1].astype(float) + shift, rtol=1e-12)


def test_no_data_masks_and_nan_are_holes(tmp_path):
    transform = from_origin(0.0, 400.0, 10.0, 10.0)
    values = ramp()
    values[3, 4], values[10:12, 20:25] = -9999.0, -9999.0
    wanted = np.isnan(np.where(values == -9999.0, np.nan, values))[::-1]
    infinite = {"no_data": np.inf}
    for number, options in enumerate(({"no_data": -9999.0}, {"mask": values != -9999.0}, {}, infinite)):
        other = np.inf if options is infinite else -9999.0 if options else np.nan
        given = np.where(values == -9999.0, other, values).astype(np.float32)
        path = write(tmp_path / f"{number}.tif", given, transform, UTM, **options)
        with read_elevation(path) as model:
            np.testing.assert_array_equal(np.isnan(model.read((0, 40), (0, 50))), wanted)
    # A value beside a hole counts where it has all the weight, and else not.
    with read_elevation(tmp_path / "0.tif") as model:
        assert model.height(50.0, 360.0) == 15.0 + 180.0
        assert np.isnan(model.height(49.0, 360.0))
    done = build(read_elevation(tmp_path / "0.tif"), tmp_path / "store", tile=8, progress=False)
    assert done.origin == (5.0, 5.0, 0.0)
    with thud.Terrain.open(tmp_path / "store") as terrain:
        assert np.isnan(np.asarray(terrain.tile((0, 4)).shape.heights)[4, 4])


def test_a_mosaic_is_one_model(tmp_path):
    values = ramp(40, 50)
    whole = write(tmp_path / "whole.tif", values, from_origin(0.0, 400.0, 10.0, 10.0), UTM)
    files = []
    for k, (rows, columns) in enumerate(
        ((slice(0, 18), slice(0, 30)), (slice(18, 40), slice(0, 31)), (slice(0, 40), slice(29, 50)))
    ):
        transform = from_origin(10.0 * columns.start, 400.0 - 10.0 * rows.start, 10.0, 10.0)
        files.append(write(tmp_path / f"{k}.tif", values[rows, columns], transform, UTM))
    with read_elevation(whole) as one, read_elevation(files) as many:
        assert many.shape == one.shape
        assert many.origin == one.origin
        np.testing.assert_array_equal(many.read((3, 33), (11, 44)), one.read((3, 33), (11, 44)))
        # Between the pixels of two files, too.
        np.testing.assert_array_equal(many.height([299.0, 123.4], [111.0, 221.0]), one.height([299.0, 123.4], [111.0, 221.0]))
    # What one file does not have another may; what none has is a hole.
    with read_elevation([files[0], files[2]]) as model:
        part = np.isnan(model.read((0, 40), (0, 50)))
        assert part[:22, :29].all()
        assert not part[22:].any()
    shifted = write(tmp_path / "off.tif", values, from_origin(3.0, 400.0, 10.0, 10.0), UTM)
    coarse = write(tmp_path / "coarse.tif", values, from_origin(0.0, 400.0, 20.0, 20.0), UTM)
    other = write(tmp_path / "other.tif", values, from_origin(0.0, 400.0, 10.0, 10.0), "EPSG:32617")
    for wrong, match in (
        (shifted, "do not lie on the grid"),
        (coarse, "do not lie on the grid"),
        (other, "another coordinate system"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            read_elevation([whole, wrong])


@pytest.mark.parametrize(
    ("crs", "transform"),
    [
        ("EPSG:4326", from_origin(-84.4, 36.7, 0.001, 0.0008)),
        # US feet, and rows that run along a slant.
        ("EPSG:2274", Affine.translation(1.7e6, 7e5) @ Affine.rotation(17.0) @ Affine.scale(300.0, -300.0)),
        # South up.
        (UTM, Affine.translation(6e5, 4e6) @ Affine.scale(25.0, 25.0)),
    ],
)
def test_other_systems_are_projected(tmp_path, crs, transform):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:60, :80]
    values = (300.0 + 50.0 * np.sin(0.2 * x) + 40.0 * np.cos(0.13 * y) + rng.normal(size=x.shape)).astype(np.float32)
    path = write(tmp_path / "a.tif", values, transform, crs)
    with read_elevation(path) as model:
        assert model.projected
        target = rasterio.crs.CRS.from_user_input(model.crs)
        assert target.is_projected
        assert target.linear_units_factor[1] == 1.0
        heights = model.read((0, model.shape[0]), (0, model.shape[1]))
        there = ~np.isnan(heights)
        assert there.mean() > 0.4
        # Each sample by hand: to the files' system, then bilinear between the middles of pixels.
        j, i = np.nonzero(there)
        east, north = model.origin[0] + i * model.spacing[0], model.origin[1] + j * model.spacing[1]
        a, b = rasterio.warp.transform(model.crs, crs, east, north)
        np.testing.assert_allclose(
            heights[there], bilinear(values.astype(float), np.array(a), np.array(b), transform), atol=1e-6
        )
        # All of the raster is there.
        assert there.sum() * model.spacing[0] * model.spacing[1] > 0.9 * 58 * 78 * _pixel_area(transform, crs)


def _pixel_area(transform, crs):
    if crs == "EPSG:4326":
        return abs(transform.a * transform.e) * 111_320.0**2 * np.cos(np.radians(36.7))
    unit = 1200.0 / 3937.0 if crs == "EPSG:2274" else 1.0
    return abs(transform.determinant) * unit * unit


def test_projections_and_spacings_that_are_asked_for(tmp_path):
    path = write(tmp_path / "a.tif", ramp(), from_origin(-84.4, 36.7, 0.001, 0.001), "EPSG:4326")
    with read_elevation(path, project="EPSG:5070", spacing=200.0) as model:
        assert model.crs == "EPSG:5070"
        assert model.spacing == (200.0, 200.0)
    north = write(tmp_path / "b.tif", ramp(), from_origin(10.0, 86.0, 0.01, 0.01), "EPSG:4326")
    with read_elevation(north) as model:
        assert model.crs == "EPSG:32661"


@pytest.mark.parametrize(
    ("crs", "corner", "kept", "length"),
    [
        # Cosine of the latitude on a sphere; UTM to 0.1 %.
        ("EPSG:3857", (-400_000.0, 5_300_000.0), False, 1.0 / np.cosh(5_300_000.0 / 6_378_137.0)),
        ("EPSG:4087", (1_000_000.0, 6_679_000.0), False, None),
        ("EPSG:3035", (4_321_000.0, 3_210_000.0), True, 1.0),
        ("EPSG:5070", (0.0, 1_800_000.0), True, 1.0),
    ],
)
def test_metres_that_are_none_on_the_ground_are_projected(tmp_path, crs, corner, kept, length):
    # Web Mercator says that its unit is the metre: terrains from it were a third too large, and as high as they are.
    path = write(tmp_path / "a.tif", ramp(), from_origin(*corner, 30.0, 30.0), crs)
    with read_elevation(path) as model:
        assert (model.crs == crs) == kept
        assert model.projected != kept
        if length is not None:
            np.testing.assert_allclose(model.spacing, 30.0 * length, rtol=0.006)
    # Who wants them has them.
    with read_elevation(path, project=crs) as model:
        assert model.crs == crs
        np.testing.assert_allclose(model.spacing, 30.0, rtol=1e-9)


def test_the_srtm_sample_is_our_own_bilinear_sampling_at_10000_points(tmp_path):
    file = sample_file(tmp_path / "fault.tif")
    with read_elevation(file) as model:
        done = build(model, tmp_path / "store", tile=64, progress=False)
        assert done.crs == "EPSG:32616"
        with rasterio.open(file) as raster:
            values, transform = raster.read(1).astype(float), raster.transform
        rng = np.random.default_rng(4)
        with thud.Terrain.open(tmp_path / "store") as terrain:
            samples = np.full(model.shape, np.nan)
            for key in sorted(terrain.keys()):
                part = np.asarray(terrain.tile(key).shape.heights, float)
                j, i = 64 * key.j, 64 * key.i
                samples[j : j + part.shape[0], i : i + part.shape[1]] = part
        inner = ~np.isnan(samples)
        inner[:-1] &= ~np.isnan(samples[1:])
        inner[:, :-1] &= ~np.isnan(samples[:, 1:])
        inner[:-1, :-1] &= ~np.isnan(samples[1:, 1:])
        j, i = np.argwhere(inner[:-1, :-1])[rng.integers(0, inner[:-1, :-1].sum(), 10_000)].T
        # At the samples themselves: to the quantum. Between them the ground is a triangle, the raster bilinear on another grid.
        a, b = rasterio.warp.transform(
            model.crs, "EPSG:4326", model.origin[0] + i * model.spacing[0], model.origin[1] + j * model.spacing[1]
        )
        there = bilinear(values, np.array(a), np.array(b), transform)
        np.testing.assert_allclose(samples[j, i], there, atol=2.0**-10)
        u, v = rng.random(10_000), rng.random(10_000)
        x, y = (i + u) * model.spacing[0], (j + v) * model.spacing[1]
        corner = [samples[j, i], samples[j, i + 1], samples[j + 1, i], samples[j + 1, i + 1]]
        ground = np.where(
            u >= v,
            corner[0] + u * (corner[1] - corner[0]) + v * (corner[3] - corner[1]),
            corner[0] + v * (corner[2] - corner[0]) + u * (corner[3] - corner[2]),
        )
        a, b = rasterio.warp.transform(model.crs, "EPSG:4326", model.origin[0] + x, model.origin[1] + y)
        raster_says = bilinear(values, np.array(a), np.array(b), transform)
        np.testing.assert_allclose(model.height(x, y), raster_says, atol=1e-6)
        off = np.abs(ground - raster_says)
        relief = np.ptp(np.stack(corner), axis=0)
        # Samples are 74 m apart, and the ground rises by 23 m from one to the next.
        assert np.median(off) < 0.04 * np.mean(relief)
        assert (off <= relief + 1.0).mean() > 0.999


# --- files that are refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/vsicurl/http://example.com/a.tif",
        "/vsizip/a.zip/a.tif",
        "/vsimem/a.tif",
        "http://example.com/a.tif",
        "s3://bucket/a.tif",
        "zip://a.zip!a.tif",
        "GTIFF_DIR:1:a.tif",
        "a.vrt",
        "N36W085.SRTMGL1.hgt.zip",
        "a\0.tif",
    ],
)
def test_virtual_and_network_paths(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((InvalidInputError, FileNotFoundError), match=r"virtual or network path|no such file"):
        read_elevation(path)


def test_files_that_are_no_elevation_models(tmp_path):
    # A VRT by another name: it would open whatever it names.
    inner = write(tmp_path / "inner.tif", ramp(), from_origin(0.0, 400.0, 10.0, 10.0), UTM)
    virtual = (
        '<VRTDataset rasterXSize="50" rasterYSize="40"><GeoTransform>0,10,0,400,0,-10</GeoTransform>'
        '<VRTRasterBand dataType="Float32" band="1"><SimpleSource><SourceFilename relativeToVRT="0">'
        f"{inner}</SourceFilename></SimpleSource></VRTRasterBand></VRTDataset>"
    )
    for name, data in {
        "a.tif": virtual.encode(),
        "b.tif": b"",
        "c.tif": b"II*\0" + b"\xff" * 100,
        "d.tif": inner.read_bytes()[:200],
        "e.png": _png(tmp_path),
        "f.asc": b"ncols 3\nnrows two\n",
        # More pixels than any disk has.
        "g.asc": b"ncols 2000000\nnrows 2000000\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n",
    }.items():
        (tmp_path / name).write_bytes(data)
        # Of d the head is whole, but not what it refers to.
        with pytest.raises(InvalidInputError if name == "d.tif" else FileFormatError):
            read_elevation(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_elevation(tmp_path / "nothing.tif")
    with pytest.raises(InvalidInputError, match="is no file"):
        read_elevation(tmp_path)
    with pytest.raises(InvalidInputError, match="at least one file"):
        read_elevation([])
    with pytest.raises(InvalidInputError, match="expected a path"):
        read_elevation([7])


def _png(folder):
    with rasterio.open(folder / "x.png", "w", driver="PNG", height=4, width=4, count=1, dtype="uint8") as file:
        file.write(np.zeros((4, 4), np.uint8), 1)
    return (folder / "x.png").read_bytes()


def test_what_is_refused_of_good_files(tmp_path):
    transform = from_origin(0.0, 400.0, 10.0, 10.0)
    plain = write(tmp_path / "plain.tif", ramp(), transform, None)
    with pytest.raises(InvalidInputError, match=r"crs: .* states no coordinate system"):
        read_elevation(plain)
    with read_elevation(plain, crs=UTM) as model:
        assert model.crs == UTM
    good = write(tmp_path / "good.tif", ramp(), transform, UTM)
    for options, match in (
        ({"crs": "EPSG:99999999"}, "crs: .* is no coordinate system"),
        ({"project": "EPSG:4326"}, "project: expected a projected"),
        ({"project": "EPSG:2274"}, "project: expected a projected coordinate system in metres"),
        ({"band": 2}, "band: .* has 1 bands"),
        ({"band": 0}, "band: expected"),
        ({"vertical_unit": "cubits"}, "vertical_unit: expected one of"),
        ({"spacing": 0.0}, "spacing: expected a positive"),
        ({"spacing": 1e-5}, "spacing: 1e-05 m makes"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            read_elevation(good, **options)
    unit = write(tmp_path / "unit.tif", ramp(), transform, UTM, unit="furlong")
    with pytest.raises(FileFormatError, match="heights in 'furlong'; state vertical_unit"):
        read_elevation(unit)
    number = write(tmp_path / "complex.tif", ramp().astype(np.complex64), transform, UTM)
    with pytest.raises(FileFormatError, match="expected real numbers"):
        read_elevation(number)
    infinite = ramp()
    infinite[4, 5] = np.inf
    path = write(tmp_path / "inf.tif", infinite, transform, UTM)
    with pytest.raises(FileFormatError, match="row 4, column 5 is inf"):
        build(read_elevation(path), tmp_path / "store", progress=False)
    none = write(tmp_path / "none.tif", np.full((4, 4), -1.0, np.float32), transform, UTM, no_data=-1.0)
    with pytest.raises(InvalidInputError, match="all of them are holes"):
        build(read_elevation(none), tmp_path / "store", progress=False)


def test_a_file_that_ends_early_is_an_error_when_it_is_read(tmp_path):
    path = write(tmp_path / "a.tif", np.tile(ramp(), (10, 10)), from_origin(0.0, 4000.0, 10.0, 10.0), UTM)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - 40_000])
    with pytest.raises(FileFormatError):
        build(read_elevation(path), tmp_path / "store", progress=False)
