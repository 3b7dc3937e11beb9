"""Elevation models: rasters of heights through rasterio, as windows for `thud.terrain.build`.

Files are local, of a few formats without references to others. Several files are one model if their pixels lie on one grid.
"""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.constants import MESH_COORDINATE
from thud.errors import FileFormatError, InvalidInputError, MissingExtraError
from thud.gates import as_positive
from thud.io.tolerances import GRID_ALIGNED, MOST_PIXELS, MOST_STRETCH, NORTH_UP, OPEN_RASTERS, STATED_NO_DATA

#: Formats that are read: plain rasters that hold their pixels themselves.
DRIVERS = ("GTiff", "AAIGrid", "SRTMHGT", "DTED", "USGSDEM")

#: Ends of names of files that stand for others, or hold them.
_VIRTUAL = (".vrt", ".zip", ".gz", ".tar", ".tgz")

#: Metres of a vertical unit, by the names that files have.
VERTICAL = {
    "": 1.0, "m": 1.0, "metre": 1.0, "meter": 1.0, "metres": 1.0, "meters": 1.0, "cm": 0.01, "mm": 0.001, "km": 1000.0,
    "ft": 0.3048, "foot": 0.3048, "feet": 0.3048, "us-ft": 1200.0 / 3937.0, "us survey foot": 1200.0 / 3937.0,
    "ussurveyfoot": 1200.0 / 3937.0, "ftus": 1200.0 / 3937.0,
}  # fmt: skip


def read_elevation(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    band: int = 1,
    crs: str | None = None,
    project: str | None = None,
    spacing: float | None = None,
    vertical_unit: str | None = None,
) -> ElevationModel:
    """An elevation model from one raster file, or several of one grid. Nothing but heads is read yet.

    Heights are the file's values times its scale plus its offset, in metres by its vertical unit. A pixel is an area: its value
    is the height in its middle. No-data, masked and NaN pixels are holes.

    A raster in metres whose rows run north to south is taken as it is: samples are the middles of pixels. Any other is
    projected, and so is one whose metres differ from those on the ground by more than 2 %, as in Web Mercator: samples lie on a
    square grid of `project`, and their heights are bilinear between the four pixels around, none of which may be a hole.

    Parameters
    ----------
    paths : of GeoTIFF, Arc/Info ASCII grid, SRTM .hgt, DTED or USGS DEM files on this machine. Of several the first one that
        has a pixel gives it
    band : of the files, from 1 on
    crs : coordinate system of files that state none, or instead of theirs, as text that PROJ knows, such as "EPSG:4326"
    project : coordinate system in metres to project to; default: the UTM zone of the model's middle (beyond 84 degrees north or
        80 south, the polar stereographic one), where a projection is needed
    spacing : metres between samples of what is projected; default: the pixels' own in its middle
    vertical_unit : "m", "ft", "us-ft", "cm", ... if the files say nothing, or the wrong thing
    """
    rasterio = _rasterio()
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InvalidInputError("paths: expected at least one file")
    if vertical_unit is not None and str(vertical_unit).strip().lower() not in VERTICAL:
        raise InvalidInputError(f"vertical_unit: expected one of {', '.join(filter(None, VERTICAL))}, got {vertical_unit!r}")
    if isinstance(band, bool) or not isinstance(band, int) or band < 1:
        raise InvalidInputError(f"band: expected a whole number from 1 on, got {band!r}")
    rasters = [_head(rasterio, path, band, vertical_unit) for path in given]
    system = _system(rasterio, rasters, crs)
    mosaic = Mosaic(tuple(rasters), band, *_common_grid(rasters, given))
    wanted = None if project is None else _as_crs(rasterio, project, "project")
    if wanted is not None and not (wanted.is_projected and math.isclose(_metres(wanted), 1.0)):
        raise InvalidInputError(f"project: expected a projected coordinate system in metres, got {project!r}")
    return _model(mosaic, system, wanted, None if spacing is None else as_positive(spacing, "spacing"))


def _rasterio() -> Any:
    try:
        import rasterio
        import rasterio.warp
        import rasterio.windows
    except ImportError:
        raise MissingExtraError.for_package("rasterio", "geo") from None
    return rasterio


@contextmanager
def _quiet(rasterio: Any) -> Iterator[None]:
    """GDAL looks at no file but the one named, and at no network."""
    with rasterio.Env(
        GDAL_DISABLE_READDIR_ON_OPEN="EMPTY_DIR", GDAL_PAM_ENABLED="NO", CPL_VSIL_CURL_ALLOWED_EXTENSIONS=".none"
    ):
        yield


def local_file(path: Any) -> Path:
    """The gate of a path: a file of this machine, by a plain name."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise InvalidInputError(f"paths: expected a path, got {type(path).__name__}") from None
    if not isinstance(text, str):
        text = os.fsdecode(text)
    if "\0" in text or "://" in text or text.startswith(("/vsi", "\\vsi")) or text.lower().endswith(_VIRTUAL):
        raise InvalidInputError(f"paths: {text!r} is a virtual or network path; expected a file of this machine")
    where = Path(text)
    if not where.exists():
        raise FileNotFoundError(f"{text}: no such file")
    if not where.is_file():
        raise InvalidInputError(f"paths: {text!r} is no file")
    return where.resolve()


@dataclass(frozen=True)
class Raster:
    """The head of one file."""

    path: Path
    width: int
    height: int
    transform: tuple[float, ...]
    """a, b, c, d, e, f of pixel to place, corners of pixels."""
    crs: Any
    scale: float
    offset: float
    metres: float
    """Of one vertical unit."""
    no_data: float | None


def _head(rasterio: Any, path: Any, band: int, unit: str | None) -> Raster:
    where = local_file(path)
    with _quiet(rasterio):
        dataset = _opened(rasterio, where)
        with dataset:
            if band > dataset.count:
                raise InvalidInputError(f"band: {where} has {dataset.count} bands, not {band}")
            if np.dtype(dataset.dtypes[band - 1]).kind not in "fiu":
                raise FileFormatError(f"{where}: its pixels are {dataset.dtypes[band - 1]}; expected real numbers")
            if dataset.width * dataset.height > MOST_PIXELS:
                raise FileFormatError(f"{where}: {dataset.width} x {dataset.height} pixels; expected at most {MOST_PIXELS}")
            transform = tuple(float(x) for x in tuple(dataset.transform)[:6])
            a, b, _, d, e, _ = transform
            if not all(map(math.isfinite, transform)) or a * e - b * d == 0.0:
                raise FileFormatError(f"{where}: its pixels have no size; expected a georeferenced raster")
            scale, offset = float(dataset.scales[band - 1]), float(dataset.offsets[band - 1])
            if not math.isfinite(scale) or not math.isfinite(offset) or scale == 0.0:
                raise FileFormatError(f"{where}: a scale of {scale} and an offset of {offset}")
            named = str(unit if unit is not None else dataset.units[band - 1] or "").strip()
            if named.lower() not in VERTICAL:
                raise FileFormatError(f"{where}: heights in {named!r}; state vertical_unit, one of {', '.join(VERTICAL)}")
            none = dataset.nodatavals[band - 1]
            return Raster(
                where, dataset.width, dataset.height, transform, dataset.crs, scale, offset, VERTICAL[named.lower()],
                None if none is None else float(none),
            )  # fmt: skip


def _opened(rasterio: Any, where: Path) -> Any:
    """A file by the first of the formats that it is of. GDAL is asked for one at a time: it must not try others."""
    said = ""
    for driver in DRIVERS:
        try:
            return rasterio.open(where, driver=driver)
        except rasterio.errors.RasterioIOError as error:
            said = said or str(error)
    raise FileFormatError(f"{where}: no raster of a format that is read ({', '.join(DRIVERS)}): {said}")


def _as_crs(rasterio: Any, text: Any, name: str) -> Any:
    try:
        return rasterio.crs.CRS.from_user_input(text)
    except rasterio.errors.CRSError as error:
        raise InvalidInputError(f"{name}: {text!r} is no coordinate system ({error})") from None


def _system(rasterio: Any, rasters: list[Raster], crs: str | None) -> Any:
    if crs is not None:
        return _as_crs(rasterio, crs, "crs")
    first = rasters[0].crs
    for raster in rasters:
        if raster.crs is None or not (raster.crs.is_projected or raster.crs.is_geographic):
            raise InvalidInputError(f"crs: {raster.path} states no coordinate system; give one, such as crs='EPSG:4326'")
        if raster.crs != first:
            raise InvalidInputError(f"crs: {raster.path} has another coordinate system than {rasters[0].path}")
    return first


def _metres(crs: Any) -> float:
    """Of one unit of a projected system."""
    return float(crs.linear_units_factor[1])


def _common_grid(rasters: list[Raster], given: list[Any]) -> tuple[tuple[float, ...], int, int, tuple[tuple[int, int], ...]]:
    """Pixel to place of all files together, rows and columns, and where each begins."""
    a, b, c, d, e, f = rasters[0].transform
    determinant = a * e - b * d
    places = []
    for raster in rasters:
        same = np.allclose(raster.transform[:2] + raster.transform[3:5], (a, b, d, e), rtol=GRID_ALIGNED, atol=0.0)
        x, y = raster.transform[2] - c, raster.transform[5] - f
        column, row = (e * x - b * y) / determinant, (a * y - d * x) / determinant
        whole = (round(row), round(column))
        off = max(abs(row - whole[0]), abs(column - whole[1]))
        if not same or off > GRID_ALIGNED * 1e3:
            raise InvalidInputError(
                f"paths: pixels of {raster.path} do not lie on the grid of {rasters[0].path}; resample it first"
            )
        places.append(whole)
    top, left = min(row for row, _ in places), min(column for _, column in places)
    rows = max(row + raster.height for (row, _), raster in zip(places, rasters)) - top
    columns = max(column + raster.width for (_, column), raster in zip(places, rasters)) - left
    if rows * columns > MOST_PIXELS:
        raise InvalidInputError(f"paths: together {columns} x {rows} pixels; expected at most {MOST_PIXELS}")
    corner = (a, b, c + a * left + b * top, d, e, f + d * left + e * top)
    return corner, rows, columns, tuple((row - top, column - left) for row, column in places)


@dataclass(frozen=True, eq=False)
class Mosaic:
    """Files of one grid as one raster of heights in metres."""

    rasters: tuple[Raster, ...]
    band: int
    transform: tuple[float, ...]
    rows: int
    columns: int
    places: tuple[tuple[int, int], ...]
    """First row and column of each file."""
    _open: OrderedDict[int, Any] = field(default_factory=OrderedDict, repr=False)

    def pixels(self, rows: tuple[int, int], columns: tuple[int, int]) -> Floats:
        """Heights of pixels, from the first up to, and without, the second; NaN where there is none, also beyond the border."""
        out = np.full((rows[1] - rows[0], columns[1] - columns[0]), np.nan)
        for number, (raster, (row, column)) in enumerate(zip(self.rasters, self.places)):
            top, bottom = max(rows[0], row), min(rows[1], row + raster.height)
            left, right = max(columns[0], column), min(columns[1], column + raster.width)
            if top >= bottom or left >= right:
                continue
            here = out[top - rows[0] : bottom - rows[0], left - columns[0] : right - columns[0]]
            free = np.isnan(here)
            if free.any():
                found = self._read(number, top - row, bottom - row, left - column, right - column)
                here[free] = found[free]
        return out

    def _read(self, number: int, top: int, bottom: int, left: int, right: int) -> Floats:
        rasterio, raster = _rasterio(), self.rasters[number]
        window = rasterio.windows.Window(left, top, right - left, bottom - top)
        with _quiet(rasterio):
            try:
                dataset = self._dataset(rasterio, number)
                values = dataset.read(self.band, window=window)
                hidden = dataset.read_masks(self.band, window=window) == 0
            except (rasterio.errors.RasterioIOError, ValueError) as error:
                raise FileFormatError(f"{raster.path}: rows {top} to {bottom} cannot be read ({error})") from None
        out = np.asarray(values, np.float64)
        hidden |= np.isnan(out)
        if raster.no_data is not None and math.isfinite(raster.no_data):
            # A float32 file may state its no-data with more digits than it has.
            hidden |= np.abs(out - raster.no_data) <= STATED_NO_DATA * abs(raster.no_data)
        out = (out * raster.scale + raster.offset) * raster.metres
        out[hidden] = np.nan
        wrong = np.isinf(out) | (np.abs(np.nan_to_num(out, posinf=0.0, neginf=0.0)) > MESH_COORDINATE)
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise FileFormatError(
                f"{raster.path}: the height at row {top + row}, column {left + column} is {out[row, column]:g} m; if it is "
                "no data, state it in the file"
            )
        return out

    def _dataset(self, rasterio: Any, number: int) -> Any:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        while len(self._open) >= OPEN_RASTERS:
            self._open.popitem(last=False)[1].close()
        self._open[number] = _opened(rasterio, self.rasters[number].path)
        return self._open[number]

    def close(self) -> None:
        """Close the files."""
        while self._open:
            self._open.popitem()[1].close()

    def sample(self, x: Floats, y: Floats) -> Floats:
        """Heights at places of the files' coordinate system, bilinear between the middles of pixels; NaN where one of the four
        that count is a hole. Arrays of one shape, near one another."""
        a, b, c, d, e, f = self.transform
        determinant = a * e - b * d
        column = (e * (x - c) - b * (y - f)) / determinant - 0.5
        row = (a * (y - f) - d * (x - c)) / determinant - 0.5
        out = np.full(np.shape(x), np.nan)
        fine = np.isfinite(row) & np.isfinite(column)
        # In the outer half of the border's pixels there is nothing to interpolate with.
        slack = GRID_ALIGNED
        fine &= (row >= -slack) & (row <= self.rows - 1 + slack) & (column >= -slack) & (column <= self.columns - 1 + slack)
        if not fine.any():
            return out
        row, column = np.clip(row[fine], 0.0, self.rows - 1.0), np.clip(column[fine], 0.0, self.columns - 1.0)
        i, j = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
        top, left = int(i.min()), int(j.min())
        bottom, right = min(int(i.max()) + 2, self.rows), min(int(j.max()) + 2, self.columns)
        pixels = self.pixels((top, bottom), (left, right))
        u, v = column - j, row - i
        i1, j1 = np.minimum(i + 1, self.rows - 1), np.minimum(j + 1, self.columns - 1)
        total = np.zeros(len(row))
        for at_row, at_column, weight in (
            (i, j, (1 - u) * (1 - v)),
            (i, j1, u * (1 - v)),
            (i1, j, (1 - u) * v),
            (i1, j1, u * v),
        ):
            value = pixels[at_row - top, at_column - left]
            # A pixel without weight has no say, not even by being a hole.
            total += np.where(weight > 0.0, value, 0.0) * weight
        out[fine] = total
        return out


@dataclass(frozen=True, eq=False)
class ElevationModel:
    """Heights of raster files on a grid in metres, read window by window: a source of `thud.terrain.build`.

    It also answers `height(x, y)` in its own frame. A context manager that closes the files.
    """

    mosaic: Mosaic
    shape: tuple[int, int]
    """Rows (y, the first the southernmost) and columns (x) of samples."""
    spacing: tuple[float, float]
    """Metres along x and y."""
    crs: str
    """Of `origin`: the files' own, or what they are projected to."""
    origin: tuple[float, float, float]
    """Of sample [0, 0]."""
    projected: bool
    """Whether samples are interpolated at places of another coordinate system, or are the pixels themselves."""
    files_crs: str

    def __enter__(self) -> ElevationModel:
        return self

    def __exit__(self, *_: Any) -> None:
        self.mosaic.close()

    def read(self, rows: tuple[int, int], columns: tuple[int, int]) -> Floats:
        """(rows, columns) heights in metres; NaN for holes."""
        if not self.projected:
            last = self.mosaic.rows
            return np.ascontiguousarray(self.mosaic.pixels((last - rows[1], last - rows[0]), columns)[::-1])
        x = np.arange(*columns) * self.spacing[0]
        out = np.empty((rows[1] - rows[0], columns[1] - columns[0]))
        # Strips, so that the pixels of one are few.
        for first in range(rows[0], rows[1], 256):
            last = min(first + 256, rows[1])
            for left in range(columns[0], columns[1], 256):
                right = min(left + 256, columns[1])
                part = x[left - columns[0] : right - columns[0]]
                grid = np.meshgrid(part, np.arange(first, last) * self.spacing[1])
                out[first - rows[0] : last - rows[0], left - columns[0] : right - columns[0]] = self._sampled(*grid)
        return out

    def _sampled(self, x: Floats, y: Floats) -> Floats:
        rasterio = _rasterio()
        east, north = x + self.origin[0], y + self.origin[1]
        if not self.projected:
            return self.mosaic.sample(east, north)
        found = rasterio.warp.transform(self.crs, self.files_crs, east.reshape(-1), north.reshape(-1))
        return self.mosaic.sample(*(np.asarray(one, np.float64).reshape(x.shape) for one in found[:2]))

    def height(self, x: Any, y: Any) -> Floats:
        """Heights at places of the terrain's frame, metres from sample [0, 0], by bilinear sampling of the pixels."""
        east, north = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
        return self._sampled(np.atleast_1d(east), np.atleast_1d(north))

    def describe(self) -> dict[str, Any]:
        """What the manifest keeps."""
        return {
            "source": "elevation model",
            "files": [raster.path.name for raster in self.mosaic.rasters[:64]],
            "pixels": "bilinear, projected from " + self.files_crs[:200] if self.projected else "as they are",
        }


def _model(mosaic: Mosaic, system: Any, wanted: Any, spacing: float | None) -> ElevationModel:
    rasterio = _rasterio()
    a, b, c, d, e, f = mosaic.transform
    straight = max(abs(b), abs(d)) <= NORTH_UP * min(abs(a), abs(e)) and a > 0.0 > e
    plain = system.is_projected and math.isclose(_metres(system), 1.0) and straight
    if plain and wanted is None:
        # A place and the next pixel's along both axes.
        x, y = (
            c + a * (0.5 * mosaic.columns + np.array([0.0, 1.0, 0.0])),
            f + e * (0.5 * mosaic.rows + np.array([0.0, 0.0, 1.0])),
        )
        plain = _stretch(rasterio, system, x, y) <= MOST_STRETCH
    if plain and wanted is None and spacing is None:
        if min(mosaic.rows, mosaic.columns) < 2:
            raise FileFormatError(
                f"{mosaic.rasters[0].path}: {mosaic.columns} x {mosaic.rows} pixels; expected at least 2 a side"
            )
        origin = (c + 0.5 * a, f + e * (mosaic.rows - 0.5), 0.0)
        return ElevationModel(mosaic, (mosaic.rows, mosaic.columns), (a, -e), _text(system), origin, False, _text(system))
    # The middles of the border's pixels, every one of up to 1,000 a side, say how far the model reaches.
    along = np.linspace(0.5, mosaic.columns - 0.5, min(mosaic.columns, 1000))
    down = np.linspace(0.5, mosaic.rows - 0.5, min(mosaic.rows, 1000))
    ring = np.concatenate(
        [
            np.column_stack([along, np.full(len(along), row)]) for row in (0.5, mosaic.rows - 0.5)
        ] + [np.column_stack([np.full(len(down), column), down]) for column in (0.5, mosaic.columns - 0.5)]
        + [np.array([[mosaic.columns / 2, mosaic.rows / 2], [mosaic.columns / 2 + 1, mosaic.rows / 2], [mosaic.columns / 2,
        mosaic.rows / 2 + 1]])]
    )  # fmt: skip
    x, y = a * ring[:, 0] + b * ring[:, 1] + c, d * ring[:, 0] + e * ring[:, 1] + f
    target = wanted if wanted is not None else (system if plain else _local(rasterio, system, float(x[-3]), float(y[-3])))
    east, north = (np.asarray(one) for one in rasterio.warp.transform(system, target, x, y)[:2])
    if not (np.isfinite(east).all() and np.isfinite(north).all()):
        raise InvalidInputError(f"project: the model does not lie within {_text(target)}; give another one")
    middle = [math.hypot(east[k] - east[-3], north[k] - north[-3]) for k in (-2, -1)]
    step = spacing if spacing is not None else min(middle)
    low, high = (east.min(), north.min()), (east.max(), north.max())
    count = [int((high[k] - low[k]) / step) + 1 for k in (0, 1)]
    if min(count) < 2 or count[0] * count[1] > MOST_PIXELS:
        raise InvalidInputError(
            f"spacing: {step:g} m makes {count[0]} x {count[1]} samples; expected 2 a side to {MOST_PIXELS}"
        )
    origin = (float(low[0]), float(low[1]), 0.0)
    return ElevationModel(mosaic, (count[1], count[0]), (step, step), _text(target), origin, True, _text(system))


def _stretch(rasterio: Any, system: Any, x: Floats, y: Floats) -> float:
    """By how much of their length two steps, from the first of three places to the others, differ from those on the ground; 0
    where that is not known."""
    try:
        target = _local(rasterio, system, float(x[0]), float(y[0]))
        east, north = (np.asarray(one) for one in rasterio.warp.transform(system, target, x, y)[:2])
    except (InvalidInputError, rasterio.errors.CRSError):
        return 0.0
    stated, real = np.hypot(x[1:] - x[0], y[1:] - y[0]), np.hypot(east[1:] - east[0], north[1:] - north[0])
    off = np.abs(real / stated - 1.0)
    return float(off.max()) if np.isfinite(off).all() else 0.0


def _local(rasterio: Any, system: Any, x: float, y: float) -> Any:
    """The UTM zone, or the polar stereographic system, of a place."""
    longitude, latitude = (float(one[0]) for one in rasterio.warp.transform(system, "EPSG:4326", [x], [y])[:2])
    if not (math.isfinite(longitude) and math.isfinite(latitude)):
        raise InvalidInputError("project: where the model lies is not known; give a coordinate system in metres")
    if latitude > 84.0 or latitude < -80.0:
        return rasterio.crs.CRS.from_epsg(32661 if latitude > 0.0 else 32761)
    zone = int((longitude + 180.0) // 6.0) % 60 + 1
    return rasterio.crs.CRS.from_epsg((32600 if latitude >= 0.0 else 32700) + zone)


def _text(crs: Any) -> str:
    """As short as it can be said."""
    code = crs.to_epsg()
    return f"EPSG:{code}" if code else str(crs.to_wkt())
